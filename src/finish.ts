import type { Outcome } from './core/outcome.ts';
import { letGo } from './gate/claim.ts';
import type { Work } from './loop/work.ts';
import { publish } from './publish/publish.ts';
import { reportOfWork } from './publish/report-of.ts';
import { reportWithoutLane, type RunReport } from './report/run-report.ts';
import { failureOf, messageOf } from './runner/failure.ts';
import { connectPublisher, type RunFrame } from './river.ts';
import type { RunRecord } from './run-record.ts';
import { UserError } from './user-error.ts';

/** A run that main did not end itself, as post finds it. */
export interface UnfinishedRun extends RunFrame {
  /** null: main's record is gone or unreadable; `folder` says where it was. */
  readonly record: RunRecord | null;
  readonly folder: string;
  readonly sessionFolder: string;
  /** The longest that publishing may take, in ms. */
  readonly publishWithinMs: number;
}

/** Does what main could not: pushed commits, pull request, state, lane given back. Null when main did everything. Safe to repeat. */
export async function finishRun(run: UnfinishedRun): Promise<RunReport | null> {
  const { record, clock, connect, mark } = run;
  if (record !== null && record.held !== null && record.work === null) {
    const lane = record.held;
    await within(run.publishWithinMs, Promise.all([connect.store(), connect.budget()]).then(([store, budget]) => letGo({ store, budget, clock, mark }, lane))).catch((error: unknown) => {
      run.log.warning(`Lane ${lane} could not be given back: ${messageOf(error)}. It is free again when this run's time is over.`);
    });
  }
  if (record?.stage === 'ended') return null;
  return reportOf(run).catch((error: unknown) => {
    // Even the report could not be made: the record is not what main wrote.
    const message = `The record of this run in ${run.folder} cannot be used: ${messageOf(error)}. The next run begins from what was saved before.`;
    run.log.error(message);
    return reportWithoutWork(run, { kind: 'failed', reason: 'infrastructure', message }, clock.now());
  });
}

async function reportOf(run: UnfinishedRun): Promise<RunReport> {
  const { record, clock, log } = run;
  if (record === null) {
    const message = `The record of this run in ${run.folder} is gone or unreadable, though main wrote one: the agent or another program of this machine removed or changed it. What main did not publish itself is not published; processes that the agent left behind were ended. The next run begins from what was saved before.`;
    log.error(message);
    return reportWithoutWork(run, { kind: 'failed', reason: 'infrastructure', message }, clock.now());
  }
  const { work } = record;
  if (work === null) return reportWithoutWork(run, { kind: 'cancelled', reason: 'killed' }, record.startedAt);
  return within(run.publishWithinMs, publishWork(run, work)).catch((error: unknown) => unpublished(run, work, error));
}

async function publishWork(run: UnfinishedRun, work: Work): Promise<RunReport> {
  return publish(await connectPublisher(run, await run.connect.agent(), run.sessionFolder), work);
}

/** The report of work that could not be published, as far as main got with it. */
function unpublished({ config, context, redact, clock, log, debug }: UnfinishedRun, work: Work, error: unknown): RunReport {
  failureOf(error, debug);
  const message = `The post step could not publish this run: ${messageOf(error)}. The next run begins from what was saved before.`;
  log.error(message);
  const failed: Work = { ...work, outcome: { kind: 'failed', reason: 'infrastructure', message } };
  return reportOfWork({ config, context, redact, now: clock.now() }, failed, { pullRequest: work.lane.pullRequest, headSha: null, saved: null });
}

function reportWithoutWork({ context, clock }: UnfinishedRun, outcome: Outcome, startedAt: number): RunReport {
  return reportWithoutLane({ outcome, repositoryUrl: '', runUrl: context.runUrl, startedAt, endedAt: clock.now() });
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
