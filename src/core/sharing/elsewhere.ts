import type { Outcome } from '../outcome.ts';
import { nameOfLane, type TaskId } from '../tasks/ids.ts';
import { nameOfTask, type Task } from '../tasks/task.ts';
import { formatInstant } from '../countdown.ts';
import type { Reservation } from './budget.ts';

/** Returns true if a run that ends like this on the queue may continue with other lanes. */
export function mayServeOtherLanes(outcome: Outcome): boolean {
  return outcome.kind === 'blocked' || (outcome.kind === 'idle' && outcome.reason !== 'updated');
}

/**
 * Returns a park until the end of the hour or day, shortened to the end of another run's reservation; null if no
 * reservation ends earlier.
 */
export function shortenPark(
  outcome: Outcome,
  others: readonly Reservation[],
): { readonly outcome: Outcome; readonly why: string } | null {
  const first = others.toSorted((a, b) => a.expiresAt - b.expiresAt)[0];
  if (
    first === undefined ||
    outcome.kind !== 'parked' ||
    outcome.reason === 'usage_limit' ||
    outcome.reason === 'step_circuit' ||
    first.expiresAt >= outcome.resumeAt
  )
    return null;
  const runs = others.map(
    ({ lane, runUrl, expiresAt }) =>
      `a run on ${nameOfLane(lane)} (${runUrl}, until ${formatInstant(expiresAt)} at the latest)`,
  );
  return {
    outcome: { ...outcome, resumeAt: first.expiresAt },
    why: `Part of the limit is reserved by ${runs.join(', ')}. Whatever stays unused becomes available when that run ends.`,
  };
}

/**
 * Returns the outcome of a run if another run may be working on all of its tasks, each until the given instant at the
 * latest.
 */
export function buildOtherRunRefusal(tasks: readonly Task[], until: ReadonlyMap<TaskId, number>): Outcome {
  const last = Math.max(...tasks.map(({ id }) => until.get(id) ?? 0));
  return {
    kind: 'refused',
    reason: 'another_run',
    message: `Another run may be working on ${tasks.map(nameOfTask).join(', ')} on another branch right now. If it was killed, its claim ends at ${formatInstant(last)} at the latest.`,
  };
}
