import { isPromptTask, type TaskId } from '../tasks/ids.ts';
import { progressOf } from '../tasks/queue.ts';
import { isFinished } from '../tasks/task.ts';
import type { Outcome } from '../outcome.ts';
import type { LaneState } from '../lane/state/state.ts';
import { withTransition } from '../lane/session.ts';

/**
 * Returns true if the run ended because the agent claimed completion repeatedly. A prompt cannot be completed in any
 * other way.
 */
export function endsOpenEnded({ kind, reason }: Outcome): boolean {
  return kind === 'complete' && reason !== 'plan_complete';
}

/**
 * Returns the state at the end of a run that worked on `taskId`. If that task is a prompt and the run is complete, the
 * task is finished at `commit`.
 */
export function settleOpenEnded(
  state: LaneState,
  { outcome, taskId, commit }: { readonly outcome: Outcome; readonly taskId: TaskId | null; readonly commit: string },
  now: number,
): LaneState {
  if (taskId === null || !isPromptTask(taskId) || !endsOpenEnded(outcome)) return state;
  const before = progressOf(state.tasks, taskId);
  const finished = { ...before, state: 'finished' as const, reason: null, setAside: null, doneCommit: commit };
  return withTransition(
    { ...state, tasks: { ...state.tasks, [taskId]: finished }, currentTask: null },
    { at: now, subject: 'task', from: `${taskId} ${before.state}`, to: 'finished', reason: outcome.reason },
  );
}

/**
 * Returns the state with a finished task recorded under another id as well. A prompt's id changes with its documents,
 * and the run's own changes to them must not start the task again.
 */
export function markDoneUnder(state: LaneState, taskId: TaskId, other: TaskId): LaneState {
  const done = progressOf(state.tasks, taskId);
  return !isFinished(done) || other === taskId ? state : { ...state, tasks: { ...state.tasks, [other]: done } };
}
