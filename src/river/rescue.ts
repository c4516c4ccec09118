import { believedBefore, believedState, unstoredTasks } from '../core/sharing/believed.ts';
import { initialState, parseStateAt, probeState, serializeState, type LaneState } from '../core/lane/state.ts';
import { applyOrders } from '../core/sharing/orders.ts';
import { issueLane, nameOfLane, QUEUE, type LaneId } from '../core/tasks/ids.ts';
import type { Outcome } from '../core/outcome.ts';
import { parseIntent } from '../gate/event/events.ts';
import type { RunReport } from '../handover/report.ts';
import type { Work } from '../handover/work.ts';
import { messageOf } from '../errors.ts';
import type { Released, RestoredState } from '../ports/state.ts';
import { publish } from '../publish/publish.ts';
import { within } from '../publish/within.ts';
import type { RunDeps } from './deps.ts';
import { giveBack, reportUnpublished, reportWithoutWork, withRequests } from './ends.ts';
import { failureOf } from './failure.ts';
import type { RunRecord } from './run-record.ts';
import { connectStages } from './stages.ts';
import { sentence } from '../core/text/sentence.ts';

/** What post has of a run that main did not end itself. */
export interface RescueDeps extends RunDeps {
  /** null: what is in `folder` is not what main wrote. */
  readonly record: RunRecord | null;
  readonly folder: string;
  /** Digest of the action's own files as they are now. */
  readonly digestAction: () => string;
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
  const { report, lane } = await rescue(deps).catch((error: unknown) =>
    unusable(deps, `The record of this run in ${deps.folder} cannot be used: ${messageOf(error)}`),
  );
  if (record === null) {
    for (const claimable of lanesOf(deps)) await giveBackInTime(deps, claimable, 'claim');
    return report;
  }
  const { claimed, work } = record;
  if (claimed !== null && lane.kind === 'claimed')
    await giveBackInTime(deps, claimed, work !== null ? 'claim' : 'claim-and-reservation');
  return report;
}

/** For a run whose folder is not there: main never made it, or it was removed. Only where a lane is still this run's was there something; null: nothing. */
export async function rescueLost(deps: RescueDeps): Promise<RunReport | null> {
  for (const lane of lanesOf(deps)) if (await isOurs(deps, lane)) return rescueRun(deps);
  return null;
}

/** The lanes that an event can make this run claim. What another run has claimed, this one cannot give back. */
function lanesOf({ context, config }: RescueDeps): readonly LaneId[] {
  const intent = parseIntent(context.event, config);
  switch (intent.kind) {
    case 'not-for-us':
    case 'refused':
      return [];
    case 'command': {
      const { thread } = intent;
      return [QUEUE, issueLane(thread.number)];
    }
    case 'work-queue':
    case 'dispatched-command':
    case 'end-lane':
      return [QUEUE];
    case 'work-issue':
    case 'withdraw':
    case 'take-back':
    case 'recheck':
      return [issueLane(intent.issue), QUEUE];
  }
}

async function isOurs({ connect, limits, runTag, debug }: RescueDeps, lane: LaneId): Promise<boolean> {
  try {
    const restored = await within(limits.stepMs, (await connect.store()).restore(lane));
    return 'lease' in restored && restored.lease?.runTag === runTag;
  } catch (error) {
    debug(messageOf(error));
    return false;
  }
}

async function rescue(deps: RescueDeps): Promise<Rescued> {
  const { record, limits } = deps;
  if (record === null)
    return unusable(
      deps,
      `The record of this run in ${deps.folder} is gone or unreadable, or it is not the one that the main step wrote: the agent or another program on this machine removed or changed it. Nothing more is published; processes that the agent left behind were ended.`,
    );
  const { work, stage, actionDigest } = record;
  if (actionDigest !== null && deps.digestAction() !== actionDigest)
    return unusable(
      deps,
      "The action's own files were changed after the main step began: the agent or another program on this machine did it. Nothing more is published; processes that the agent left behind were ended.",
    );
  if (stage === 'ended') return { report: null, lane: untried };
  if (work === null) {
    const killed: Outcome = { kind: 'cancelled', reason: 'killed' };
    return { report: reportWithoutWork(deps, killed, record.startedAt), lane: untried };
  }
  return within(limits.publishMs, publishWork(deps, work)).catch((error: unknown) => ({
    report: unpublished(deps, believed(deps, work, null), error),
    lane: untried,
  }));
}

/** Publishes as main does, through the same ports: what they inspect before a push, they inspect here as well. */
async function publishWork(deps: RescueDeps, recorded: Work): Promise<Rescued> {
  const agent = await deps.connect.agent();
  const stages = await connectStages(deps, { agent, stepWithinMs: deps.limits.stepMs });
  const restored = await storedLane(deps, recorded.lane.id);
  const work = believed(deps, recorded, restored);
  const unstored = unstoredTasks(work.state, recorded.state).length;
  if (unstored > 0)
    deps.log.info(
      `${String(unstored)} ${unstored === 1 ? 'task was' : 'tasks were'} finished after the state was last saved: the next run verifies that.`,
    );
  const { report, lane } = await publish({ ...stages, unsaved: whyUnsaved(restored, deps.config) }, work);
  return { report: withRequests(deps, report), lane };
}

/** What could not be read is not replaced: what is stored is newer than nothing. */
function whyUnsaved(restored: RestoredState | null, { stateStore }: RescueDeps['config']): string | null {
  if (stateStore === 'none') return null;
  return restored === null || restored.kind === 'unavailable'
    ? `the stored state could not be read${restored === null ? '' : ` (${restored.why})`}, so it stays as it is`
    : null;
}

/** What the store knows of the lane; null where it keeps nothing, or does not answer. */
async function storedLane({ config, connect, limits, debug }: RescueDeps, lane: LaneId): Promise<RestoredState | null> {
  if (config.stateStore === 'none') return null;
  try {
    return await within(limits.stepMs, (await connect.store()).restore(lane));
  } catch (error) {
    debug(messageOf(error));
    return null;
  }
}

/**
 * The record as far as it is believed: it lay where the agent could write. What holds is the stored state; the record says
 * what was made and used besides, never that something is done.
 */
function believed({ clock, runTag }: RescueDeps, work: Work, restored: RestoredState | null): Work {
  const now = clock.now();
  const stored = storedState(work, restored, now);
  const parsed = parseStateAt(serializeState(work.state), work.lane.id, now);
  const recorded = parsed.kind === 'state' ? parsed.state : stored;
  const kept = restored !== null && 'savedBy' in restored ? restored : null;
  const isAtWork = kept?.lease?.runTag === runTag;
  const end = kept?.savedBy === runTag && !isAtWork ? stored.lastRun : null;
  // While the claim stands nobody else has saved: what is stored is this run's, or what it began from.
  const sequence = isAtWork ? Math.max(stored.sequence, recorded.sequence) : recorded.sequence;
  return {
    ...work,
    outcome: believedOutcome(work.outcome, end),
    stateBefore: {
      ...work.stateBefore,
      approvals: stored.approvals,
      ledger: believedBefore(work.stateBefore.ledger, stored.ledger),
    },
    state: { ...believedState(stored, recorded, now), sequence },
    safe: { ...work.safe, state: stored },
  };
}

/** What the run's own state is held against: with the orders that it has obeyed, and no other. */
function storedState({ lane, state }: Work, restored: RestoredState | null, now: number): LaneState {
  switch (restored?.kind) {
    case 'found':
    case 'unreadable':
    case 'absent': {
      const begun = restored.kind === 'unreadable' ? probeState(lane.id, now) : initialState(lane.id, now);
      const obeyed = restored.orders.filter(({ number }) => number <= state.ordersApplied);
      return applyOrders(restored.kind === 'found' ? restored.state : begun, obeyed);
    }
    default:
      return { ...initialState(lane.id, now), ordersApplied: state.ordersApplied };
  }
}

/** How a run ended that post finishes. `end`: how main has saved that it ended; null: it has not. */
function believedOutcome(recorded: Outcome, end: LaneState['lastRun']): Outcome {
  if (recorded.kind === 'cancelled' || recorded.kind === 'failed') return recorded;
  if (end?.outcome === recorded.kind && end.reason === recorded.reason) return recorded;
  if (end?.outcome !== 'failed') return { kind: 'cancelled', reason: 'killed' };
  return {
    kind: 'failed',
    reason: 'infrastructure',
    message:
      'The main step could not publish all that this run made, and the post step finished it. The next run verifies what is not known to be done.',
  };
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
      `The claim on ${nameOfLane(lane)} could not be released: ${sentence(released.why)} It ends when this run's time is over.`,
    );
}

/** The report of work that could not be published, as far as main got with it. */
function unpublished(deps: RescueDeps, work: Work, error: unknown): RunReport {
  failureOf(error, deps.debug);
  const outcome = failed(deps, `The post step could not publish this run: ${messageOf(error)}`);
  return reportUnpublished(deps, { ...work, outcome });
}

function unusable(deps: RescueDeps, problem: string): Rescued {
  return { report: reportWithoutWork(deps, failed(deps, problem), deps.clock.now()), lane: untried };
}

function failed({ log }: RescueDeps, problem: string): Outcome {
  const message = `${sentence(problem)} The next run continues from what was saved before.`;
  log.error(message);
  return { kind: 'failed', reason: 'infrastructure', message };
}
