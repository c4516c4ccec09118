import type { Outcome } from '../outcome.ts';
import { nameOfLane, type TaskId } from '../tasks/ids.ts';
import { nameOfTask, type Task } from '../tasks/task.ts';
import { formatInstant } from '../countdown.ts';
import type { Reservation } from './budget.ts';

/** Whether a run that ended so on the queue may look at other lanes. */
export function hasTimeForOthers(outcome: Outcome): boolean {
  return outcome.kind === 'blocked' || (outcome.kind === 'idle' && outcome.reason !== 'updated');
}

/** A run that would be parked while others hold what they reserved waits for them, not for the end of the hour or day; null: it does not wait for them. */
export function waitForOthers(
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
    why: `Part of the limit is reserved by ${runs.join(', ')}. What it does not use becomes available when it ends.`,
  };
}

/** The end of a run all of whose tasks another run may be working on, until these instants at the longest. */
export function workedElsewhere(tasks: readonly Task[], until: ReadonlyMap<TaskId, number>): Outcome {
  const last = Math.max(...tasks.map(({ id }) => until.get(id) ?? 0));
  return {
    kind: 'refused',
    reason: 'another_run',
    message: `Another run may be working on ${tasks.map(nameOfTask).join(', ')} on another branch right now. If it was killed, its claim ends at ${formatInstant(last)} at the latest.`,
  };
}
