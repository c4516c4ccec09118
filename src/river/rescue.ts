import type { Outcome } from '../core/outcome.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import { releaseLane } from '../gate/lane/claim.ts';
import type { Work } from '../handover/work.ts';
import type { Released } from '../ports/state.ts';
import { publish, type Published } from '../publish/publish.ts';
import { reportOfWork } from '../publish/report-of.ts';
import { within } from '../publish/within.ts';
import { reportWithoutLane, type RunReport } from '../handover/report.ts';
import { failureOf } from './failure.ts';
import { messageOf } from '../errors.ts';
import { connectPublisher, requestsSent, type RunFrame } from './river.ts';
import type { RunRecord } from './run-record.ts';

/** A run that main did not end itself, as post finds it. */
export interface UnfinishedRun extends RunFrame {
  /** null: main's record is gone or unreadable; `folder` says where it was. */
  readonly record: RunRecord | null;
  /** The lane that main held last, as far as the runner remembers it; null: none. */
  readonly lane: LaneId | null;
  readonly folder: string;
  readonly sessionFolder: string;
  readonly limits: FinishLimits;
}

/** In ms. What is not done by then is left: the state must get its turn whatever hangs before it. */
export interface FinishLimits {
  /** All of publishing. */
  readonly publishMs: number;
  /** Each step of it whose port sets no limit of its own. */
  readonly stepMs: number;
  /** Giving the lane back, where publishing did not. */
  readonly releaseMs: number;
}

/** What post could do: `report` is null when there was nothing to report, `lane` says whether it was given back. */
interface Finished {
  readonly report: RunReport | null;
  readonly lane: Released;
}

const untried: Released = { kind: 'claimed', why: 'it was not tried' };

/** Does what main could not: pushed commits, pull request, state, lane given back. Null when main did everything, but perhaps give back its lane. Safe to repeat. */
export async function finishRun(run: UnfinishedRun): Promise<RunReport | null> {
  const { record } = run;
  const held = record === null ? run.lane : record.held;
  const { report, lane } = await finish(run).catch((error: unknown): Finished => {
    // Even the report could not be made: the record is not what main wrote.
    const message = `The record of this run in ${run.folder} cannot be used: ${messageOf(error)}. The next run begins from what was saved before.`;
    run.log.error(message);
    return {
      report: reportWithoutWork(run, { kind: 'failed', reason: 'infrastructure', message }, run.clock.now()),
      lane: untried,
    };
  });
  if (held !== null && lane.kind === 'claimed')
    await giveBack(run, { lane: held, hasWorked: record === null || record.work !== null });
  return report;
}

async function finish(run: UnfinishedRun): Promise<Finished> {
  const { record, clock, log, limits } = run;
  if (record === null) {
    const message = `The record of this run in ${run.folder} is gone or unreadable, though main wrote one: the agent or another program of this machine removed or changed it. What main did not publish itself is not published; processes that the agent left behind were ended. The next run begins from what was saved before.`;
    log.error(message);
    return {
      report: reportWithoutWork(run, { kind: 'failed', reason: 'infrastructure', message }, clock.now()),
      lane: untried,
    };
  }
  const { work, stage } = record;
  if (stage === 'ended') return { report: null, lane: untried };
  if (work === null)
    return { report: reportWithoutWork(run, { kind: 'cancelled', reason: 'killed' }, record.startedAt), lane: untried };
  return within(limits.publishMs, publishWork(run, work)).catch((error: unknown) => ({
    report: unpublished(run, work, error),
    lane: untried,
  }));
}

async function publishWork(run: UnfinishedRun, work: Work): Promise<Published> {
  const { connect, sessionFolder, limits } = run;
  const { report, lane } = await publish(
    await connectPublisher(run, { agent: await connect.agent(), sessionFolder, stepWithinMs: limits.stepMs }),
    work,
  );
  return { report: { ...report, requests: await requestsSent(connect) }, lane };
}

/** A run that worked keeps what it reserved: that stands for its calls where they could not be counted. */
async function giveBack(
  { connect, clock, mark, limits, log }: UnfinishedRun,
  { lane, hasWorked }: { readonly lane: LaneId; readonly hasWorked: boolean },
): Promise<void> {
  const letting = async (): Promise<Released> => {
    const store = await connect.store();
    return hasWorked ? store.release(lane) : releaseLane({ store, budget: await connect.budget(), clock, mark }, lane);
  };
  const released = await within(hasWorked ? limits.releaseMs : limits.publishMs, letting()).catch(
    (error: unknown): Released => ({ kind: 'claimed', why: messageOf(error) }),
  );
  if (released.kind === 'claimed')
    log.warning(
      `Lane ${lane} could not be given back: ${released.why}. It is free again when this run's time is over.`,
    );
}

/** The report of work that could not be published, as far as main got with it. */
function unpublished(
  { config, context, redact, clock, log, debug }: UnfinishedRun,
  work: Work,
  error: unknown,
): RunReport {
  failureOf(error, debug);
  const message = `The post step could not publish this run: ${messageOf(error)}. The next run begins from what was saved before.`;
  log.error(message);
  const failed: Work = { ...work, outcome: { kind: 'failed', reason: 'infrastructure', message } };
  return reportOfWork({ config, context, redact, now: clock.now() }, failed, {
    pullRequest: work.lane.pullRequest,
    headSha: null,
    saved: null,
  });
}

function reportWithoutWork({ context, clock }: UnfinishedRun, outcome: Outcome, startedAt: number): RunReport {
  return reportWithoutLane({ outcome, repositoryUrl: '', runUrl: context.runUrl, startedAt, endedAt: clock.now() });
}
