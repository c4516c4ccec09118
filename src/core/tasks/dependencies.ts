import { idOfForeignIssue, taskIdOfIssue, type TaskId } from './ids.ts';
import type { QueuedTask } from './task.ts';
import { listFirstNames } from '../text/phrase.ts';

/** A task with the dependencies that its text or GitHub gives it. */
export interface DependentTask<T extends QueuedTask = QueuedTask> {
  readonly task: T;
  /** The name that people use. */
  readonly name: string;
  readonly waitsFor: readonly AwaitedIssue[];
}

/**
 * `issue`: one of this repository; `elsewhere`: GitHub itself says that the task waits for an open issue of another
 * repository. A mere mention of another repository is not a dependency: nobody here can finish it.
 */
export type AwaitedIssue =
  | { readonly kind: 'task'; readonly id: TaskId }
  | { readonly kind: 'issue'; readonly number: number }
  | { readonly kind: 'elsewhere'; readonly name: string };

/** The state of an issue or pull request that is not a task of the lane. */
export type IssueState = 'open' | 'closed' | 'missing';

/** Tasks with their dependencies, and warnings about mistakes that people should correct. */
export interface SettledTasks<T extends QueuedTask> {
  readonly tasks: readonly T[];
  readonly warnings: readonly string[];
}

/**
 * Returns the numbers of issues that tasks wait for and that are not tasks of the lane: their states must be looked up.
 */
export function listIssuesToLookUp(
  dependents: readonly DependentTask[],
  tasks: readonly QueuedTask[],
): readonly number[] {
  const listed = new Set(tasks.map(({ id }) => id));
  const numbers = dependents.flatMap(({ waitsFor }) =>
    waitsFor.flatMap((awaited) =>
      awaited.kind === 'issue' && !listed.has(taskIdOfIssue(awaited.number)) ? [awaited.number] : [],
    ),
  );
  return [...new Set(numbers)].sort((a, b) => a - b);
}

/**
 * Gives each task its `dependsOn`, and an obstacle if its wait cannot end. `states` are those of issues that are not
 * tasks of the lane; an issue without a state does not exist. `isDone` returns true for tasks that others need not wait
 * for.
 */
export function settleDependencies<T extends QueuedTask>(
  dependents: readonly DependentTask<T>[],
  known: { readonly states: ReadonlyMap<number, IssueState>; readonly isDone: (id: TaskId) => boolean },
): SettledTasks<T> {
  const listed = new Set(dependents.map(({ task }) => task.id));
  const warnings: string[] = [];
  const settled = dependents.map((dependent): DependentTask<T> => {
    const { task, name } = dependent;
    if (known.isDone(task.id)) return dependent;
    const { ids, missing, isSelf } = sort(dependent);
    // A missing reference in a file was already reported with line and column when the file was parsed, so only issues
    // are named here.
    const unsaid = missing.flatMap((awaited) => (awaited.kind === 'issue' ? [`#${String(awaited.number)}`] : []));
    if (isSelf) warnings.push(`${name} says that it depends on itself, which is ignored.`);
    if (unsaid.length > 0)
      warnings.push(
        `${name} depends on ${listFirstNames(unsaid)}, which does not exist, so it is not worked on. Correct its text, or remove the dependency.`,
      );
    return {
      ...dependent,
      task: { ...task, dependsOn: ids, obstacle: task.obstacle ?? (missing.length > 0 ? 'dependency-unknown' : null) },
    };
  });
  const circles = findCycles(settled.filter(({ task }) => !known.isDone(task.id)).map(({ task }) => task));
  const names = new Map(settled.map(({ task, name }) => [task.id, name]));
  const inCircle = new Set(circles.flat());
  for (const circle of circles)
    warnings.push(
      `${[...circle, ...circle.slice(0, 1)].map((id) => names.get(id) ?? id).join(' → ')}: these depend on each other, so none of them can start. Remove one of the dependencies.`,
    );
  return {
    tasks: settled.map(({ task }) =>
      inCircle.has(task.id) ? { ...task, obstacle: task.obstacle ?? 'dependency-cycle' } : task,
    ),
    warnings,
  };

  function sort({ task, waitsFor }: DependentTask): {
    readonly ids: readonly TaskId[];
    readonly missing: readonly AwaitedIssue[];
    readonly isSelf: boolean;
  } {
    const ids = new Set<TaskId>();
    const missing = new Map<TaskId, AwaitedIssue>();
    let isSelf = false;
    for (const awaited of waitsFor) {
      const id = idOf(awaited);
      if (id === task.id) isSelf = true;
      else if (listed.has(id) || known.isDone(id) || awaited.kind === 'elsewhere') ids.add(id);
      else if (awaited.kind === 'task') missing.set(id, awaited);
      else if (known.states.get(awaited.number) === 'open') ids.add(id);
      else if (known.states.get(awaited.number) !== 'closed') missing.set(id, awaited);
    }
    return { ids: [...ids], missing: [...missing.values()], isSelf };
  }
}

function idOf(awaited: AwaitedIssue): TaskId {
  switch (awaited.kind) {
    case 'task':
      return awaited.id;
    case 'issue':
      return taskIdOfIssue(awaited.number);
    case 'elsewhere':
      return idOfForeignIssue(awaited.name);
  }
}

/**
 * Returns the cycles in which tasks wait for each other, each as the list of its tasks in order; every task in a cycle
 * is in one of them.
 */
function findCycles(tasks: readonly QueuedTask[]): readonly (readonly TaskId[])[] {
  const waiting = withoutEnds(new Map(tasks.map(({ id, dependsOn }) => [id, dependsOn])));
  // Tasks that only wait for a cycle are removed as well: no task in it waits for them.
  const knotted = withoutEnds(waitersOf(waiting));
  const circles: (readonly TaskId[])[] = [];
  const inCycles = new Set<TaskId>();
  for (const id of waiting.keys()) {
    const cycle = inCycles.has(id) || !knotted.has(id) ? null : shortestCycle(id, waiting);
    if (cycle === null) continue;
    for (const member of cycle) inCycles.add(member);
    circles.push(cycle);
  }
  return circles;
}

type Waits = ReadonlyMap<TaskId, readonly TaskId[]>;

/**
 * Removes tasks that can be worked on, one after another, until only tasks are left that are in a cycle or wait for
 * one.
 */
function withoutEnds(waits: Waits): Waits {
  const waiters = waitersOf(waits);
  const open = new Map([...waits].map(([id, ids]) => [id, ids.filter((awaited) => waits.has(awaited)).length]));
  const ready = [...open].filter(([, count]) => count === 0).map(([id]) => id);
  for (const id of ready) {
    open.delete(id);
    for (const waiter of waiters.get(id) ?? []) {
      const count = (open.get(waiter) ?? 0) - 1;
      open.set(waiter, count);
      if (count === 0) ready.push(waiter);
    }
  }
  return new Map([...waits].filter(([id]) => open.has(id)));
}

/** Returns the tasks that wait for each task. */
function waitersOf(waits: Waits): Waits {
  const waiters = new Map<TaskId, TaskId[]>([...waits.keys()].map((id) => [id, []]));
  for (const [id, ids] of waits) for (const awaited of ids) waiters.get(awaited)?.push(id);
  return waiters;
}

/** Returns the shortest way from a task back to itself, the task first, or null if none. */
function shortestCycle(start: TaskId, waits: Waits): readonly TaskId[] | null {
  const before = new Map<TaskId, TaskId | null>([[start, null]]);
  // A Map also iterates over entries that are added during the iteration, so this is a breadth-first search.
  for (const id of before.keys()) {
    for (const next of waits.get(id) ?? []) {
      if (next === start) return pathTo(id, before);
      if (waits.has(next) && !before.has(next)) before.set(next, id);
    }
  }
  return null;
}

function pathTo(end: TaskId, before: ReadonlyMap<TaskId, TaskId | null>): readonly TaskId[] {
  const way: TaskId[] = [];
  for (let id: TaskId | null = end; id !== null; id = before.get(id) ?? null) way.unshift(id);
  return way;
}
