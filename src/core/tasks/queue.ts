import { isFeedback } from '../feedback/subject.ts';
import type { FileTask } from './files/form/root-plan.ts';
import { isIssueTask, isPromptTask, type TaskId } from './ids.ts';
import { isFinished, isSettled, type QueuedTask, type TaskProgress } from './task.ts';

type ProgressById = Readonly<Record<TaskId, TaskProgress>>;

/** Numbers of tasks by state. */
export interface TaskCounts {
  readonly all: number;
  readonly done: number;
  /** Number of tasks that are not done. */
  readonly open: number;
  /** Number of open tasks that completion waits for. */
  readonly requiredOpen: number;
  readonly failed: number;
  readonly blocked: number;
  readonly stuck: number;
}

/** The progress of a task that no run has begun. */
export const untouchedProgress: TaskProgress = {
  state: 'todo',
  attempts: 0,
  startedTree: null,
  doneCommit: null,
  reason: null,
  setAside: null,
};

/**
 * Returns tasks in the order in which they would be worked on if each took one iteration: those in progress first, and
 * none before its dependencies. Done tasks keep their rank; tasks that wait for themselves or for missing ones come
 * last. Dependencies on issues count as done.
 */
export function simulateWorkOrder(tasks: readonly FileTask[]): readonly FileTask[] {
  const byId = new Map(tasks.map((task) => [task.task.id, task]));
  const rank = sortByPriority(tasks.map(({ task }) => task)).flatMap(({ id }) => byId.get(id) ?? []);
  const left = [
    ...rank.filter(({ state }) => state === 'in-progress'),
    ...rank.filter(({ state }) => state !== 'in-progress'),
  ];
  const waiting = new Set<TaskId>(left.flatMap(({ task, state }) => (state === 'done' ? [] : [task.id])));
  const order: FileTask[] = [];
  while (left.length > 0) {
    const next = left.findIndex(
      ({ task, state }) =>
        state === 'done' ||
        task.dependsOn.every((id) => id === task.id || (!waiting.has(id) && (byId.has(id) || isIssueTask(id)))),
    );
    // Without a match, the rest cannot be worked on and keeps its order.
    const [task] = left.splice(Math.max(next, 0), 1);
    if (task === undefined) break;
    waiting.delete(task.task.id);
    order.push(task);
  }
  return order;
}

/** Returns the lane's progress on a task; an unknown task is `todo`. */
export function getProgress(progress: ProgressById, id: TaskId): TaskProgress {
  // Ids can be any text, so `constructor` must not be found in an empty record.
  return (Object.hasOwn(progress, id) ? progress[id] : undefined) ?? untouchedProgress;
}

/** Resets a task's progress to not begun; keeps data from people and from other lanes. */
export function resetProgress({ approval, answer, retried }: TaskProgress): TaskProgress {
  const isUnknown = approval === undefined && answer === undefined && retried === undefined;
  return isUnknown ? untouchedProgress : { ...untouchedProgress, approval, answer, retried };
}

/** Returns the progress with this change for some tasks. */
export function withChangedTasks(
  known: ProgressById,
  ids: readonly TaskId[],
  change: (progress: TaskProgress, id: TaskId) => TaskProgress,
): ProgressById {
  return { ...known, ...Object.fromEntries(ids.map((id) => [id, change(getProgress(known, id), id)])) };
}

/**
 * Returns the task to work on now: feedback of people and CI first, then tasks in progress (`current` before others),
 * then required ones, by priority, by order; those set aside come last. Returns null if nothing is eligible.
 */
export function chooseNextTask<T extends QueuedTask>(
  tasks: readonly T[],
  progress: ProgressById,
  current: TaskId | null,
): T | null {
  let first: { readonly task: T; readonly rank: readonly number[] } | null = null;
  for (const task of tasks) {
    if (!isEligible(task, progress)) continue;
    const rank = rankOf(task, progress, current);
    if (first === null || compare(rank, first.rank) < 0) first = { task, rank };
  }
  return first?.task ?? null;
}

/**
 * Returns the open tasks that a run of this many iterations can get to, in the order of work: those that it would work
 * on if each took one iteration, and those that come next if none is ever done.
 */
export function listTasksWithinReach(
  tasks: readonly QueuedTask[],
  progress: ProgressById,
  iterations: number,
): readonly TaskId[] {
  const optimistic: TaskId[] = [];
  let imagined = progress;
  while (optimistic.length < iterations) {
    const next = chooseNextTask(tasks, imagined, null);
    if (next === null) break;
    optimistic.push(next.id);
    imagined = { ...imagined, [next.id]: { ...getProgress(imagined, next.id), state: 'done' } };
  }
  const eligible = inOrder(
    tasks.filter((task) => isEligible(task, progress)),
    progress,
  ).map(({ id }) => id);
  return [...new Set([...optimistic, ...eligible.slice(0, iterations)])];
}

/** Returns tasks in the order of work as if none was begun: required ones first, then by priority, then as given. */
export function sortByPriority<T extends QueuedTask>(tasks: readonly T[]): readonly T[] {
  return inOrder(tasks, {});
}

function inOrder<T extends QueuedTask>(tasks: readonly T[], progress: ProgressById): readonly T[] {
  // The sort is stable, so equal ranks keep the given order.
  return tasks
    .map((task) => ({ task, rank: rankOf(task, progress, null) }))
    .sort((a, b) => compare(a.rank, b.rank))
    .map(({ task }) => task);
}

function rankOf(task: QueuedTask, progress: ProgressById, current: TaskId | null): readonly number[] {
  const { state, setAside } = getProgress(progress, task.id);
  return [
    setAside === null ? 0 : 1,
    isFeedback(task.id) ? 0 : 1,
    task.id === current ? 0 : 1,
    state === 'in-progress' ? 0 : 1,
    task.optional ? 1 : 0,
    task.priority,
  ];
}

/** Returns `1 of 2 tasks done`. */
export function formatTasksDone(done: number, all: number): string {
  return `${String(done)} of ${String(all)} ${all === 1 ? 'task' : 'tasks'} done`;
}

/** Counts the lane's tasks, for the prompt and for completion. */
export function countTasks(tasks: readonly QueuedTask[], progress: ProgressById): TaskCounts {
  const wanted = tasks.filter(({ obstacle }) => obstacle !== 'withdrawn');
  const states = wanted.map((task) => ({ optional: task.optional, state: getProgress(progress, task.id).state }));
  const open = states.filter((task) => !isFinished(task));
  return {
    all: wanted.length,
    done: states.length - open.length,
    open: open.length,
    requiredOpen: open.filter(({ optional }) => !optional).length,
    failed: states.filter(({ state }) => state === 'failed').length,
    blocked: states.filter(({ state }) => state === 'blocked').length,
    stuck: states.filter(({ state }) => state === 'stuck').length,
  };
}

/**
 * Returns true if the lane's work is done: every required task is, and at least one was. Without required tasks, the
 * prompt decides, and without a prompt all of the optional ones. Feedback of people and CI is required as well, but is
 * not part of the plan.
 */
export function isPlanComplete(all: readonly QueuedTask[], progress: ProgressById): boolean {
  const tasks = all.filter(({ obstacle }) => obstacle !== 'withdrawn');
  const feedback = tasks.filter(({ id }) => isFeedback(id));
  const listed = tasks.filter(({ id }) => !isFeedback(id));
  const required = listed.filter((task) => !task.optional);
  const openEnded = listed.filter(({ id }) => isPromptTask(id));
  const wanted = [...feedback, ...([required, openEnded].find((some) => some.length > 0) ?? listed)];
  return wanted.length > 0 && wanted.every((task) => isFinished(getProgress(progress, task.id)));
}

/** Returns true if a task may be worked on now, as far as the lane knows. */
export function isEligible(task: QueuedTask, progress: ProgressById): boolean {
  return (
    task.obstacle === null &&
    !isSettled(getProgress(progress, task.id)) &&
    task.dependsOn.every((id) => isFinished(getProgress(progress, id)))
  );
}

function compare(a: readonly number[], b: readonly number[]): number {
  const differing = a.findIndex((value, index) => value !== b[index]);
  return differing === -1 ? 0 : (a[differing] ?? 0) - (b[differing] ?? 0);
}
