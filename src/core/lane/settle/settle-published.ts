import type { Feedback } from '../../feedback/memory.ts';
import type { Policy } from '../../policy.ts';
import type { TaskId } from '../../tasks/ids.ts';
import { getProgress, withChangedTasks } from '../../tasks/queue.ts';
import { explainGivenUp } from '../../tasks/stepping-aside.ts';
import { isFinished } from '../../tasks/task.ts';
import { type CircuitFacts, recordInCircuit } from '../circuit.ts';
import { type LaneState, MAX_REFUSAL_CHARS, type PublishedLane } from '../state/state.ts';

/**
 * Returns the state with the commit at which tasks were done. The commit is made only after the iteration is settled.
 */
export function recordDoneCommit(state: LaneState, taskIds: readonly TaskId[], commit: string): LaneState {
  return {
    ...state,
    tasks: withChangedTasks(state.tasks, taskIds, (progress) => ({ ...progress, doneCommit: commit })),
  };
}

/** Returns the state with the head of the remote branch. */
export function recordPublished(state: LaneState, published: PublishedLane): LaneState {
  return state.lastRun === null ? state : { ...state, lastRun: { ...state.lastRun, published } };
}

/**
 * Returns the state with the result of the last push: `refused` is the reason why the server will refuse the push
 * again, or null if it accepted it.
 */
export function recordPush(
  state: LaneState,
  refused: { readonly why: string; readonly unprobed?: true } | null,
  now: number,
): LaneState {
  return {
    ...state,
    refusedPush: refused === null ? null : { ...refused, why: refused.why.slice(0, MAX_REFUSAL_CHARS), at: now },
  };
}

/**
 * Returns the state after a run whose commits did not reach the remote. Calls and attempts stay counted, but no
 * iteration counts as progress; otherwise a lane whose pushes are always refused would never stop.
 */
export function discountProgress(
  run: { readonly before: LaneState; readonly after: LaneState; readonly iterations: number },
  policy: Policy,
  now: number,
): LaneState {
  const { before, after } = run;
  let { circuit } = before;
  for (let left = run.iterations; left > 0; left -= 1) {
    ({ circuit } = countAsIdle({ ...before, circuit }, policy, now));
    // A circuit that was already open has been probed, and the probe failed, so no more iterations are recorded.
    if (circuit.kind === 'open') break;
  }
  const tasks = Object.fromEntries(
    Object.entries(after.tasks).map(([id, { attempts, approval, answer, ceiling }]) => {
      const reason = explainGivenUp(id, { attempts, ceiling }, policy);
      const known = { ...getProgress(before.tasks, id), attempts, approval, answer, ceiling };
      return [id, reason === null || isFinished(known) ? known : { ...known, state: 'failed' as const, reason }];
    }),
  );
  const { currentTask, signals, lastIteration, steps } = before;
  const feedback = withoutAnswers(before.feedback, after.feedback);
  return { ...after, circuit, tasks, feedback, currentTask, signals, lastIteration, steps, session: null, resting: {} };
}

/** Returns the state after a machine failure cut off an iteration; the attempt is not counted for its task. */
export function undoIterationCount(state: LaneState, policy: Policy, now: number): LaneState {
  const current = state.currentTask === null ? [] : [state.currentTask];
  const refunded = withChangedTasks(state.tasks, current, (known) => ({
    ...known,
    attempts: Math.max(0, known.attempts - 1),
  }));
  return countAsIdle({ ...state, tasks: refunded }, policy, now);
}

/** Returns the state with one more iteration without progress recorded in its circuit. */
function countAsIdle(state: LaneState, policy: Policy, now: number): LaneState {
  const nothing: CircuitFacts = {
    progress: false,
    neutral: false,
    failure: null,
    questionOnly: false,
    fingerprints: [],
    countedDenials: 0,
    output: 'unmeasured',
    taskId: state.currentTask,
    returned: false,
  };
  return { ...state, circuit: recordInCircuit(state.circuit, nothing, policy.circuit, now) };
}

/**
 * Returns the feedback with the new requests and used rounds but without new answers, because their commits are lost.
 */
function withoutAnswers(before: Feedback, after: Feedback): Feedback {
  const items = Object.entries(after.items).map(([id, item]) => {
    const known = Object.hasOwn(before.items, id) ? before.items[id] : undefined;
    return [id, { ...item, workedIn: known?.workedIn, answer: known?.answer ?? null }] as const;
  });
  return { ...after, items: Object.fromEntries(items) };
}
