import type { LaneState } from '../core/lane/state.ts';
import { issueLane, QUEUE, type LaneId } from '../core/tasks/ids.ts';
import type { Outcome } from '../core/outcome.ts';
import { parseIntent } from '../gate/event/events.ts';
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
      `The record of this run in ${deps.folder} is gone or unreadable, or it is not the one that main wrote: the agent or another program of this machine removed or changed it. What main did not publish itself is not published; processes that the agent left behind were ended.`,
    );
  const { work, stage, actionDigest } = record;
  if (actionDigest !== null && deps.digestAction() !== actionDigest)
    return unusable(
      deps,
      "The action's own files were changed after main began: the agent or another program of this machine did it. What main did not publish itself is not published; processes that the agent left behind were ended.",
    );
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

/** Publishes as main does, through the same ports: what they inspect before a push, they inspect here as well. */
async function publishWork(deps: RescueDeps, recorded: Work): Promise<Rescued> {
  const agent = await deps.connect.agent();
  const stages = await connectStages(deps, { agent, stepWithinMs: deps.limits.stepMs });
  const work = believed(recorded, await storedState(deps, recorded.lane.id));
  const { report, lane } = await publish(stages, work);
  return { report: withRequests(deps, report), lane };
}

/** The lane's state as it is stored; null where none can be had. */
async function storedState({ connect, limits, debug }: RescueDeps, lane: LaneId): Promise<LaneState | null> {
  try {
    const restored = await within(limits.stepMs, (await connect.store()).restore(lane));
    return restored.kind === 'found' ? restored.state : null;
  } catch (error) {
    debug(messageOf(error));
    return null;
  }
}

/** The record without what it says of approvals: it lay where the agent could write, and another run's saved state is never replaced by it. */
function believed(work: Work, stored: LaneState | null): Work {
  const approvals = stored?.approvals ?? {};
  return { ...work, stateBefore: { ...work.stateBefore, approvals }, state: { ...work.state, approvals } };
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
      `Lane ${lane} could not be given back: ${sentence(released.why)} It is free again when this run's time is over.`,
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
  const message = `${sentence(problem)} The next run begins from what was saved before.`;
  log.error(message);
  return { kind: 'failed', reason: 'infrastructure', message };
}
