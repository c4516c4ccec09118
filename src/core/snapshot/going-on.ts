import { withoutUnprovenAnswers } from '../feedback/unproven.ts';
import { parseState, type LaneState } from '../lane/state/state.ts';
import { blocksOtherHolder, type LeaseHolder } from '../sharing/lease.ts';
import { reopenWaiting } from '../sharing/waiting-issues.ts';
import { isIssueTask, type LaneId, type TaskId } from '../tasks/ids.ts';
import { isNowAllowed } from '../tasks/preparation.ts';
import { getProgress } from '../tasks/queue.ts';
import { isSettled } from '../tasks/task.ts';
import { parseLaneIn, listWaitingIssues, withLane, withWaiting, type Snapshot } from './snapshot.ts';

/** The run that asks about a lane. */
interface Asker extends LeaseHolder {
  readonly now: number;
  /** The protected paths that the run may publish. */
  readonly allowed: readonly string[];
}

/**
 * Returns true if a run without other work should examine the lane of an issue: a request is unanswered, a run left
 * something to publish or was killed, the work is unfinished, or a path that it waits for is allowed now. Returns false
 * while another run has the lane, or if one examined it and found nothing to do.
 */
export function hasWorkLeft(snapshot: Snapshot, lane: LaneId, asker: Asker): boolean {
  const parsed = parseLaneIn(snapshot, lane);
  if (!isIssueTask(lane) || parsed.kind !== 'record') return false;
  const { lease, goesOn: reason, restsAt, sequence, document } = parsed.record;
  if (lease !== null && blocksOtherHolder(lease, asker, asker.now)) return false;
  if (reason !== null || restsAt === sequence) return reason !== null;
  const state = document === null ? null : parseState(document, lane);
  return lease !== null || (state?.kind === 'state' && isUnfinished(state.state, asker.allowed));
}

/**
 * Returns true if the lane has work left on its issue without waiting for a person, has something to answer, or was
 * finished by a run that ended before it could verify the work or report it on the pull request.
 */
function isUnfinished({ lane, tasks, feedback, lastRun }: LaneState, allowed: readonly string[]): boolean {
  const own = getProgress(tasks, lane);
  const isCutOff = lastRun?.outcome === 'cancelled' || lastRun?.reason === 'unverified';
  if (own.state === 'done' && isCutOff) return true;
  const isOpen = own.state === 'stuck' || !isSettled(own) || isNowAllowed(own, allowed);
  const unanswered = Object.entries(withoutUnprovenAnswers({ feedback, tasks }).items).filter(
    ([id, { answer }]) => answer === null && !isSettled(getProgress(tasks, id)),
  );
  return (own.attempts > 0 && isOpen) || unanswered.length > 0;
}

/**
 * Returns the snapshot with an unanswered request for the lane. A run that is in progress cannot read the request, and
 * does not clear it at its end.
 */
export function withUnansweredRequest(snapshot: Snapshot, lane: LaneId): Snapshot {
  return withLane(snapshot, lane, (record) =>
    record.goesOn === 'unanswered' ? record : { ...record, goesOn: 'unanswered' },
  );
}

/** Returns the snapshot in which these tasks no longer wait, since a person asks for them. */
export function withAskedTasks(snapshot: Snapshot, asked: readonly TaskId[], now: number): Snapshot {
  const before = listWaitingIssues(snapshot);
  const waiting = reopenWaiting(before, asked, now);
  if (waiting === before) return snapshot;
  const own = waiting.filter(({ lane, task }) => lane === task && asked.includes(task));
  return own.reduce(
    (next, { lane }) => withLane(next, lane, (record) => ({ ...record, goesOn: record.goesOn ?? 'unfinished' })),
    withWaiting(snapshot, waiting),
  );
}

/** Returns the snapshot in which these lanes have nothing to do: a run examined and did not claim them. */
export function withNothingToDo(snapshot: Snapshot, lanes: readonly LaneId[]): Snapshot {
  return lanes.reduce(
    (next, lane) => withLane(next, lane, (record) => ({ ...record, goesOn: null, restsAt: record.sequence })),
    snapshot,
  );
}
