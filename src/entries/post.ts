import { claudeProvider } from '../agents/claude/provider.ts';
import { endAgent } from '../wiring/agent.ts';
import { giveCredentialsBack } from '../wiring/git.ts';
import { connect } from '../wiring/connect.ts';
import { createWorld, secretsOf, type Patience, type World } from '../wiring/world.ts';
import { parseInputs } from '../config/inputs.ts';
import { rescueRun, type RescueLimits } from '../river/rescue.ts';
import { renderClosingBlock } from '../report/pages/progress.ts';
import { renderSummary } from '../report/pages/summary.ts';
import { failureOf } from '../river/failure.ts';
import { messageOf } from '../errors.ts';
import { createLog, debug } from '../runner/log.ts';
import { addSummary, inputTexts, mask, recall } from '../runner/results.ts';
import { readRunContext } from '../runner/run-context.ts';
import { readRunRecord } from '../river/run-record.ts';

/** GitHub gives a cancelled job five minutes in all; other actions' post steps need some of them. */
const POST_WITHIN_MS = 58_000;
/** Leaves the time that ending processes (3 s) and the summary take. Push and pull request may hang, and the state still gets the 20 s that a ref and a cache may take that hang as well. */
const LIMITS: RescueLimits = { publishMs: 50_000, stepMs: 15_000, releaseMs: 4_000 };
/** A healthy command takes a second or two, a healthy request less than one. */
const PATIENCE: Patience = { gitCommandMs: 8_000, request: { requestMs: 5_000, secondMs: 1_000, retries: 0 } };

/** What main remembered before it began. */
interface Past {
  readonly environment: World['environment'];
  readonly runFolder: string;
  readonly runTag: string;
  readonly lane: string;
}

/** The action's post step: finishes what a killed or cancelled main could not. Does nothing after a main that ended by itself. Never throws. */
export async function post(): Promise<void> {
  const past: Past = {
    environment: process.env,
    runFolder: recall('run-folder'),
    runTag: recall('run-tag'),
    lane: recall('lane'),
  };
  // Main never got to its first line of work, and said why in its own log if it could.
  if (past.runFolder === '' || past.runTag === '') process.exit(0);
  const { redact } = secretsOf(past.environment, []);
  const log = createLog(redact);
  setTimeout(() => {
    log.error('The post step ran out of time and ends here. The next run begins from what was saved before.');
    process.exit(0);
  }, POST_WITHIN_MS);
  const logFailure =
    (what: string) =>
    (error: unknown): void => {
      failureOf(error, (stack) => {
        debug(redact(stack));
      });
      log.error(`${what}: ${messageOf(error)}`);
    };

  // Whatever the agent left running in a session of its own.
  await endAgent(past.runTag).catch(logFailure('Processes of the agent may still run'));
  await giveCredentialsBack(past).catch(logFailure("The checkout's credentials could not be put back"));
  await finish(past).catch(
    logFailure('The post step could not finish this run. The next run begins from what was saved before'),
  );
  process.exit(0);
}

async function finish({ environment, runFolder, runTag, lane }: Past): Promise<void> {
  const world = createWorld({
    environment,
    config: parseInputs(inputTexts(environment)),
    context: await readRunContext(environment, claudeProvider),
    runFolder,
    runTag,
  });
  mask(world.secrets);
  const report = await rescueRun({
    ...world,
    connect: connect(world, PATIENCE),
    record: readRunRecord(runFolder),
    lane: lane === '' ? null : lane,
    folder: runFolder,
    limits: LIMITS,
  });
  if (report === null) return;
  world.log.info(renderClosingBlock(report));
  addSummary(world.redact(renderSummary(report)), environment.GITHUB_STEP_SUMMARY);
}
