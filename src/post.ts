import { actionFolderOf, createAgent, endAgent, giveCredentialsBack, secretsOf, systemClock, type World } from './adapters.ts';
import { parseInputs } from './config/inputs.ts';
import type { Work } from './loop/work.ts';
import { publish } from './publish/publish.ts';
import { renderClosingBlock } from './report/progress.ts';
import { reportWithoutLane, type RunReport } from './report/run-report.ts';
import { renderSummary } from './report/summary.ts';
import { createLog, debug } from './runner/log.ts';
import { addSummary, inputTexts, mask, recall } from './runner/results.ts';
import { readRunContext } from './runner/run-context.ts';
import { connectPublisher } from './river.ts';
import { readRunRecord, writeRunRecord, type RunRecord } from './run-record.ts';

/** GitHub gives a cancelled job five minutes in all; other actions' post steps need some of them. */
const PUBLISH_WITHIN_MS = 50_000;

/** The action's post step: finishes what a killed or cancelled main could not. Does nothing after a main that ended by itself. */
export async function post(): Promise<void> {
  const environment = process.env;
  const runFolder = recall('run-folder');
  const record = runFolder === '' ? null : readRunRecord(runFolder);
  if (record === null) {
    // Main never got to its first line of work, and said why in its own log if it could.
    process.exit(0);
  }
  const config = parseInputs(inputTexts(environment));
  const context = readRunContext(environment);
  const { secrets, redact } = secretsOf(environment, config.agent.envNames);
  mask(secrets);
  const log = createLog(redact);
  const world: World = { environment, actionFolder: actionFolderOf(process.argv[1]), config, context, secrets, redact, log, debug: (text) => { debug(redact(text)); }, runFolder, mark: record.mark };

  // Whatever the agent left running in a session of its own.
  await endAgent(record.mark);
  await giveCredentialsBack(world).catch((error: unknown) => { log.error(`The checkout's credentials could not be put back: ${error instanceof Error ? error.message : String(error)}`); });
  if (record.stage !== 'ended') {
    const report = await within(PUBLISH_WITHIN_MS, finishRun(world, record), () => leftOver(record, 'The post step ran out of time: GitHub or the cache did not answer. The next run begins from what was saved before.', world));
    addSummary(redact(renderSummary(report)), environment.GITHUB_STEP_SUMMARY);
    log.info(renderClosingBlock(report));
  }
  process.exit(0);
}

async function finishRun(world: World, record: RunRecord): Promise<RunReport> {
  if (record.work === null) return leftOver(record, null, world);
  const work: Work = record.work;
  const report = await publish(await connectPublisher(world, await createAgent(world)), work).catch((error: unknown) => leftOver(record, error instanceof Error ? error.message : String(error), world));
  writeRunRecord(world.runFolder, { ...record, stage: 'ended' });
  return report;
}

/** The report of a run that could not be finished. */
function leftOver(record: RunRecord, why: string | null, { context }: World): RunReport {
  return {
    ...reportWithoutLane({ outcome: record.work?.outcome ?? { kind: 'cancelled', reason: 'killed' }, repositoryUrl: '', runUrl: context.runUrl, startedAt: record.startedAt, endedAt: systemClock.now() }),
    iterations: record.work?.journal ?? [],
    warnings: why === null ? [] : [why],
  };
}

async function within<T>(limitMs: number, work: Promise<T>, otherwise: () => T): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  const timer = setTimeout(() => { resolve(otherwise()); }, limitMs);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
