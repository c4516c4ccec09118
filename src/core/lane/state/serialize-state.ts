import { keepNewestItems, withShorterWords } from '../../feedback/memory.ts';
import type { TaskId } from '../../tasks/ids.ts';
import { untouchedProgress, withChangedTasks } from '../../tasks/queue.ts';
import { isTaskBegun, isFinished, isStuck, type TaskProgress } from '../../tasks/task.ts';
import { capText, countBytes } from '../../text/phrase.ts';
import type { BranchChange } from '../change.ts';
import { MAX_LEDGER_DAYS } from '../ledger.ts';
import { MAX_TRANSITIONS } from '../session.ts';
import { type LaneState, MAX_DONE_IDS, MAX_STATE_BYTES } from './state.ts';

/** The stored form of the state. If the state is large, `done` holds the ids of done tasks instead of their records. */
type Stored = LaneState & { readonly done?: readonly TaskId[] };

/**
 * Returns the document to store, at most `MAX_STATE_BYTES` long. History is dropped first. Done tasks are always kept,
 * because otherwise they would be worked on and paid for again.
 */
export function serializeState(state: LaneState): string {
  let kept: Stored = {
    ...state,
    transitions: state.transitions.slice(-MAX_TRANSITIONS),
    ledger: state.ledger.slice(-MAX_LEDGER_DAYS),
  };
  for (const prune of prunings) {
    const document = stateText(kept);
    if (countBytes(document) <= MAX_STATE_BYTES) return document;
    kept = prune(kept);
  }
  return stateText(kept);
}

/** Returns the state to store, without copies of results from other lanes, whose own states hold them. */
export function withoutCopies(state: LaneState): LaneState {
  const isTheirs = ([, task]: [TaskId, TaskProgress]): boolean => task.answer !== undefined && isStuck(task);
  const theirs = Object.entries(state.tasks).filter(isTheirs);
  return theirs.length === 0
    ? state
    : withUnanswered(
        state,
        theirs.map(([id]) => id),
      );
}

/** Returns the state with these tasks, which this lane did not work on, reset to untouched. */
export function withUnanswered(state: LaneState, ids: readonly TaskId[]): LaneState {
  const tasks = withChangedTasks(state.tasks, ids, ({ approval, startedTree }) => ({
    ...untouchedProgress,
    approval,
    startedTree,
  }));
  return { ...state, tasks };
}

/**
 * Serializes the state without null fields of tasks, because a document may contain hundreds of tasks with little more
 * than their approvals.
 */
function stateText(state: Stored): string {
  const tasks = Object.entries(state.tasks).map(([id, task]) => [
    id,
    Object.fromEntries(Object.entries(task).filter(([, value]) => value !== null)),
  ]);
  return JSON.stringify({ ...state, tasks: Object.fromEntries(tasks) as object });
}

const prunings: readonly ((state: Stored) => Stored)[] = [
  (state) => ({ ...state, transitions: state.transitions.slice(-10), ledger: state.ledger.slice(-2) }),
  (state) => ({ ...state, tasks: keepTasks(state, (task) => isTaskBegun(task) || isAskedByPerson(task)) }),
  (state) => ({
    ...state,
    tasks: Object.fromEntries(
      Object.entries(state.tasks).map(([id, task]) => [
        id,
        { ...task, doneCommit: null, needs: undefined, ...(isFinished(task) ? { startedTree: null } : {}) },
      ]),
    ),
  }),
  // Words are dropped before notifications, because people would be notified again about forgotten ones.
  (state) => ({ ...state, transitions: [], change: { ...state.change, tasks: newestEntries(state.change.tasks, 20) } }),
  (state) => ({
    ...state,
    change: withShortShares(state.change),
    feedback: withShorterWords({ ...state.feedback, items: keepNewestItems(state.feedback.items, 60) }),
  }),
  // Only a lane with hundreds of tasks reaches this step.
  (state) => {
    const isShort = (task: TaskProgress): boolean => task.state === 'done' && task.unmarked === undefined;
    const done = Object.entries(state.tasks).flatMap(([id, task]) => (isShort(task) ? [id] : []));
    return { ...state, done: done.slice(-MAX_DONE_IDS), tasks: keepTasks(state, (task) => !isShort(task)) };
  },
  // The oldest open items are dropped, because they are the likeliest to be closed by now.
  (state) => ({
    ...state,
    tasks: {
      ...newestEntries(
        keepTasks(state, (task) => !isTaskBegun(task)),
        50,
      ),
      ...newestEntries(keepTasks(state, isTaskBegun), 150),
    },
    change: { ...state.change, ...withFewerLeftOut(state.change) },
    notified: state.notified.slice(-50),
    feedback: { ...state.feedback, items: keepNewestItems(state.feedback.items, 20) },
  }),
];

function withShortShares(change: BranchChange): BranchChange {
  const shorter = (words: string | null): string | null => (words === null ? null : capText(words, 100));
  const tasks = Object.entries(change.tasks).map(([id, share]) => {
    const { commits, summary, question, recommendation } = share;
    const said = { summary: shorter(summary), question: shorter(question), recommendation: shorter(recommendation) };
    return [id, { ...share, ...said, proof: undefined, commits: commits.slice(-3) }] as const;
  });
  return { ...change, tasks: Object.fromEntries(tasks) };
}

function withFewerLeftOut({ leftOut, leftOutMore }: BranchChange): Pick<BranchChange, 'leftOut' | 'leftOutMore'> {
  const kept = leftOut.slice(0, 10);
  return { leftOut: kept, leftOutMore: leftOutMore + leftOut.length - kept.length };
}

function keepTasks(state: LaneState, keep: (task: TaskProgress) => boolean): Readonly<Record<TaskId, TaskProgress>> {
  return Object.fromEntries(Object.entries(state.tasks).filter(([, task]) => keep(task)));
}

/** Returns true if a person approved or retried a task, even if no run worked on it. */
function isAskedByPerson({ approval, retried }: TaskProgress): boolean {
  return approval !== undefined || retried !== undefined;
}

function newestEntries<T>(entries: Readonly<Record<TaskId, T>>, count: number): Readonly<Record<TaskId, T>> {
  return Object.fromEntries(Object.entries(entries).slice(-count));
}
