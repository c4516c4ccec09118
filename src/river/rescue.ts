import type { LaneId } from '../core/tasks/ids.ts';
import type { Outcome } from '../core/outcome.ts';
import type { RunReport } from '../handover/report.ts';
import type { Work } from '../handover/work.ts';
import { messageOf } from '../errors.ts';
import type { Released } from '../ports/state.ts';
import { publish } from '../publish/publish.ts';
import { within } from '../publish/within.ts';
import type { RunDeps } from './deps.ts';
import { giveBack, reportUnpublished, reportWithoutWork, withRequests } from './ends.ts';
import { failureOf } from './failure.ts';
import type { RunRecord } from './run-record.ts';
import { connectStages } from './stages.ts';

/** What post has of a run that main did not end itself. */
export interface RescueDeps extends RunDeps {
  /** null: main's record is gone or unreadable; `folder` says where it was. */
  readonly record: RunRecord | null;
  /** The lane that main claimed last, as far as the runner remembers it; null: none. */
  readonly lane: LaneId | null;
  readonly folder: string;
  readonly limits: RescueLimits;
}

/** In ms. What is not done by then is left: the state must get its turn whatever hangs before it. */
export interface RescueLimits {
  /** All of publishing. */
  readonly publishMs: number;
  /** Each step of it whose port sets no limit of its own. */
  readonly stepMs: number;
  /** Giving the lane back, where publishing did not. */
  readonly releaseMs: number;
}

/** What post could do: `report` is null when there was nothing to report, `lane` says whether it was given back. */
interface Rescued {
  readonly report: RunReport | null;
  readonly lane: Released;
}

const untried: Released = { kind: 'claimed', why: 'it was not tried' };

/** Does what main could not: pushed commits, pull request, state, lane given back. Null when main did everything, but perhaps give back its lane. Safe to repeat. */
export async function rescueRun(deps: RescueDeps): Promise<RunReport | null> {
  const { record } = deps;
  const claimed = record === null ? deps.lane : record.claimed;
  // Even the report may be impossible to make: the record is not what main wrote.
  const { report, lane } = await rescue(deps).catch((error: unknown) =>
    unusable(deps, `The record of this run in ${deps.folder} cannot be used: ${messageOf(error)}.`),
  );
  if (claimed !== null && lane.kind === 'claimed')
    await giveBackInTime(deps, claimed, record === null || record.work !== null ? 'claim' : 'claim-and-reservation');
  return report;
}

async function rescue(deps: RescueDeps): Promise<Rescued> {
  const { record, limits } = deps;
  if (record === null)
    return unusable(
      deps,
      `The record of this run in ${deps.folder} is gone or unreadable, though main wrote one: the agent or another program of this machine removed or changed it. What main did not publish itself is not published; processes that the agent left behind were ended.`,
    );
  const { work, stage } = record;
  if (stage === 'ended') return { report: null, lane: untried };
  if (work === null) {
    const killed: Outcome = { kind: 'cancelled', reason: 'killed' };
    return { report: reportWithoutWork(deps, killed, record.startedAt), lane: untried };
  }
  return within(limits.publishMs, publishWork(deps, work)).catch((error: unknown) => ({
    report: unpublished(deps, work, error),
    lane: untried,
  }));
}

async function publishWork(deps: RescueDeps, work: Work): Promise<Rescued> {
  const agent = await deps.connect.agent();
  const { report, lane } = await publish(await connectStages(deps, { agent, stepWithinMs: deps.limits.stepMs }), work);
  return { report: withRequests(deps, report), lane };
}

async function giveBackInTime(deps: RescueDeps, lane: LaneId, what: Parameters<typeof giveBack>[2]): Promise<void> {
  const { limits, log } = deps;
  const limitMs = what === 'claim' ? limits.releaseMs : limits.publishMs;
  const released = await within(limitMs, giveBack(deps, lane, what)).catch((error: unknown): Released => ({
    kind: 'claimed',
    why: messageOf(error),
  }));
  if (released.kind === 'claimed')
    log.warning(
      `Lane ${lane} could not be given back: ${released.why}. It is free again when this run's time is over.`,
    );
}

/** The report of work that could not be published, as far as main got with it. */
function unpublished(deps: RescueDeps, work: Work, error: unknown): RunReport {
  failureOf(error, deps.debug);
  const outcome = failed(deps, `The post step could not publish this run: ${messageOf(error)}.`);
  return reportUnpublished(deps, { ...work, outcome });
}

function unusable(deps: RescueDeps, problem: string): Rescued {
  return { report: reportWithoutWork(deps, failed(deps, problem), deps.clock.now()), lane: untried };
}

function failed({ log }: RescueDeps, problem: string): Outcome {
  const message = `${problem} The next run begins from what was saved before.`;
  log.error(message);
  return { kind: 'failed', reason: 'infrastructure', message };
}
