import { actionFolderOf, createAgent, endAgent, giveCredentialsBack, secretsOf, systemClock, type World } from './adapters.ts';
import { parseInputs } from './config/inputs.ts';
import type { Outcome } from './core/outcome.ts';
import type { Work } from './loop/work.ts';
import { publish } from './publish/publish.ts';
import { reportOfWork } from './publish/report-of.ts';
import { renderClosingBlock } from './report/progress.ts';
import { reportWithoutLane, type RunReport } from './report/run-report.ts';
import { renderSummary } from './report/summary.ts';
import { failureOf, messageOf } from './runner/failure.ts';
import { createLog, debug } from './runner/log.ts';
import { addSummary, inputTexts, mask, recall } from './runner/results.ts';
import { readRunContext } from './runner/run-context.ts';
import { connectPublisher } from './river.ts';
import { readRunRecord, type RunRecord } from './run-record.ts';
import { UserError } from './user-error.ts';

/** GitHub gives a cancelled job five minutes in all; other actions' post steps need some of them. */
const POST_WITHIN_MS = 58_000;
/** Leaves the time that ending processes (3 s) and the summary take. */
const PUBLISH_WITHIN_MS = 50_000;

/** What main remembered before it began. */
interface Past {
  readonly environment: World['environment'];
  readonly runFolder: string;
  readonly mark: string;
}

/** The action's post step: finishes what a killed or cancelled main could not. Does nothing after a main that ended by itself. Never throws. */
export async function post(): Promise<void> {
  const past: Past = { environment: process.env, runFolder: recall('run-folder'), mark: recall('mark') };
  // Main never got to its first line of work, and said why in its own log if it could.
  if (past.runFolder === '' || past.mark === '') process.exit(0);
  const { redact } = secretsOf(past.environment, []);
  const log = createLog(redact);
  setTimeout(() => {
    log.error('The post step ran out of time and ends here. The next run begins from what was saved before.');
    process.exit(0);
  }, POST_WITHIN_MS);
  const tell = (what: string) => (error: unknown): void => {
    failureOf(error, (stack) => { debug(redact(stack)); });
    log.error(`${what}: ${messageOf(error)}`);
  };

  // Whatever the agent left running in a session of its own.
  await endAgent(past.mark).catch(tell('Processes of the agent may still run'));
  await giveCredentialsBack(past).catch(tell("The checkout's credentials could not be put back"));
  await finishRun(past).catch(tell('The post step could not finish this run. The next run begins from what was saved before'));
  process.exit(0);
}

async function finishRun({ environment, runFolder, mark }: Past): Promise<void> {
  const config = parseInputs(inputTexts(environment));
  const context = readRunContext(environment);
  const { secrets, redact } = secretsOf(environment, config.agent.envNames);
  mask(secrets);
  const log = createLog(redact);
  const world: World = { environment, actionFolder: actionFolderOf(process.argv[1]), config, context, secrets, redact, log, debug: (text) => { debug(redact(text)); }, runFolder, mark };
  const record = readRunRecord(runFolder);
  if (record?.stage === 'ended') return;
  const report = await finalReport(world, record).catch((error: unknown) => {
    // Even the report could not be made: the record is not what main wrote.
    const message = `The record of this run in ${runFolder} cannot be used: ${messageOf(error)}. The next run begins from what was saved before.`;
    log.error(message);
    return reportWithoutWork(world, { kind: 'failed', reason: 'infrastructure', message }, systemClock.now());
  });
  log.info(renderClosingBlock(report));
  addSummary(redact(renderSummary(report)), environment.GITHUB_STEP_SUMMARY);
}

/** `record`: null when there is none that can be read. */
async function finalReport(world: World, record: RunRecord | null): Promise<RunReport> {
  if (record === null) {
    const message = `The record of this run in ${world.runFolder} is gone or unreadable, though main wrote one: the agent or another program of this machine removed or changed it. What main did not publish itself is not published; processes that the agent left behind were ended. The next run begins from what was saved before.`;
    world.log.error(message);
    return reportWithoutWork(world, { kind: 'failed', reason: 'infrastructure', message }, systemClock.now());
  }
  if (record.work === null) return reportWithoutWork(world, { kind: 'cancelled', reason: 'killed' }, record.startedAt);
  const { work } = record;
  return within(PUBLISH_WITHIN_MS, publishWork(world, work)).catch((error: unknown) => unpublished(world, work, error));
}

async function publishWork(world: World, work: Work): Promise<RunReport> {
  return publish(await connectPublisher(world, await createAgent(world)), work);
}

/** The report of work that could not be published, as far as main got with it. */
function unpublished({ config, context, redact, log, debug }: World, work: Work, error: unknown): RunReport {
  failureOf(error, debug);
  const message = `The post step could not publish this run: ${messageOf(error)}. The next run begins from what was saved before.`;
  log.error(message);
  const failed: Work = { ...work, outcome: { kind: 'failed', reason: 'infrastructure', message } };
  return reportOfWork({ config, context, redact, now: systemClock.now() }, failed, { pullRequest: work.lane.pullRequest, headSha: null, saved: null });
}

function reportWithoutWork({ context }: World, outcome: Outcome, startedAt: number): RunReport {
  return reportWithoutLane({ outcome, repositoryUrl: '', runUrl: context.runUrl, startedAt, endedAt: systemClock.now() });
}

/** Rejects when `work` takes longer. */
async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => { reject(new UserError('infrastructure', `it ran out of time after ${String(limitMs / 1000)} s, because GitHub, the remote or the cache did not answer`)); }, limitMs);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
