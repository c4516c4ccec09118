import { existsSync, lstatSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { claudeProvider } from '../agents/claude/provider.ts';
import { endAgent } from '../wiring/agent.ts';
import { giveCredentialsBack } from '../wiring/git.ts';
import { connect } from '../wiring/connect.ts';
import { createWorld, secretsOf, type Patience, type World } from '../wiring/world.ts';
import type { Config, RunContext } from '../config/config.ts';
import { parseInputs } from '../config/inputs.ts';
import { withKeyInputs } from '../config/key-inputs.ts';
import { rescueLost, rescueRun, type RescueLimits } from '../river/rescue.ts';
import { renderClosingBlock } from '../report/pages/progress.ts';
import { renderSummary } from '../report/pages/summary.ts';
import { failureOf } from '../river/failure.ts';
import { messageOf } from '../errors.ts';
import { digestActionFiles } from '../runner/action-files.ts';
import { createLog, debug } from '../runner/log.ts';
import { addSummary, inputTexts, mask } from '../runner/results.ts';
import { readRunContext } from '../runner/run-context.ts';
import { identitiesOf, type RunIdentity } from '../runner/run-identity.ts';
import { createRunnerFiles, type RunnerFiles } from '../runner/runner-files.ts';
import { readRunRecord, writeRunRecord } from '../river/run-record.ts';
import { sentence } from '../core/text/sentence.ts';

/** GitHub gives a cancelled job five minutes in all; other actions' post steps need some of them. */
const POST_WITHIN_MS = 58_000;
/** Leaves the time that ending processes (3 s) and the summary take. Push and pull request may hang, and the state still gets the 20 s that a ref and a cache may take that hang as well. */
const LIMITS: RescueLimits = { publishMs: 50_000, stepMs: 15_000, releaseMs: 4_000 };
/** A healthy command takes a second or two, a healthy request less than one. */
const PATIENCE: Patience = {
  gitCommandMs: 8_000,
  request: { requestMs: 5_000, secondMs: 1_000, retries: 0, outageMs: 10_000 },
};

/** Stands for the record of a run of which nothing is known. */
const UNKNOWN = { version: 1, startedAt: 0, actionDigest: null, claimed: null, work: null } as const;

type Environment = World['environment'];

/** The action's post step: finishes what a killed or cancelled main could not. Does nothing after a main that ended by itself. Never throws. */
export async function post(): Promise<void> {
  const environment = withKeyInputs(process.env);
  const { redact } = secretsOf(environment, []);
  const log = createLog(redact);
  const runnerFiles = createRunnerFiles(environment, () => undefined);
  setTimeout(() => {
    log.error('The post step ran out of time and ends here. The next run continues from what was saved before.');
    process.exit(0);
  }, POST_WITHIN_MS);
  const logFailure =
    (what: string) =>
    (error: unknown): void => {
      failureOf(error, (stack) => {
        debug(redact(stack));
      });
      log.error(`${what}: ${sentence(messageOf(error))}`);
    };

  const token = (inputTexts(environment)['github-token'] ?? '').trim();
  // Found by what this process has of the runner alone: an agent can write to everything that main could leave for it.
  const [first, ...others] = identitiesOf(environment);
  for (const identity of [first, ...others.filter(isThere)]) {
    // Whatever the agent left running in a session of its own.
    await endAgent(identity.runTag).catch(logFailure('Processes of the agent may still run'));
    await giveCredentialsBack(identity, { token, log }).catch(
      logFailure("The checkout's credentials could not be restored"),
    );
    runnerFiles.putBack();
    await finish({ environment, identity, runnerFiles }).catch(
      logFailure('The post step could not finish this run. The next run continues from what was saved before'),
    );
  }
  runnerFiles.putBack();
  process.exit(0);
}

async function finish({
  environment,
  identity,
  runnerFiles,
}: {
  readonly environment: Environment;
  readonly identity: RunIdentity;
  readonly runnerFiles: RunnerFiles;
}): Promise<void> {
  const { runFolder, key } = identity;
  const hasFolder = isThere(identity);
  if (!existsSync(dirname(runFolder))) return;
  const read = await readRun(environment).catch((error: unknown) => {
    // Main said so, and did nothing.
    if (hasFolder) throw error;
    return null;
  });
  if (read === null) return;
  const world = createWorld({ environment, ...read, identity });
  mask(world.secrets);
  const record = hasFolder ? readRunRecord(runFolder, key) : null;
  const report = await (hasFolder ? rescueRun : rescueLost)({
    ...world,
    connect: connect(world, PATIENCE),
    record,
    folder: runFolder,
    digestAction: () => digestActionFiles(world.actionFolder),
    limits: LIMITS,
  });
  if (report === null) {
    // Nothing was there, and nothing stays.
    if (!hasFolder) rmSync(runFolder, { recursive: true, force: true });
    return;
  }
  world.log.info(renderClosingBlock(report));
  runnerFiles.write(() => {
    addSummary(world.redact(renderSummary(report)), environment.GITHUB_STEP_SUMMARY);
  });
  // The post step of the job's next use of the action finds this run as well.
  writeRunRecord(runFolder, { ...(record ?? UNKNOWN), stage: 'ended' }, key);
}

async function readRun(environment: Environment): Promise<{ readonly config: Config; readonly context: RunContext }> {
  return { config: parseInputs(inputTexts(environment)), context: await readRunContext(environment, claudeProvider) };
}

/** Whether main made the folder, or something lies in its place. */
function isThere({ runFolder }: RunIdentity): boolean {
  return lstatSync(runFolder, { throwIfNoEntry: false }) !== undefined;
}
