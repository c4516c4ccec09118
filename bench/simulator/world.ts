import type { TreeSnapshot } from '../../src/core/evidence.ts';
import type { Task } from '../../src/core/tasks/task.ts';
import { taskIdOfIssue, type TaskId } from '../../src/core/tasks/ids.ts';

/** The content of the repository, as far as the simulation needs it. */
interface Content {
  /** Number of useful steps that each task still needs. */
  readonly left: Readonly<Record<TaskId, number>>;
  /** Number of useless changes so far. */
  readonly noise: number;
  /** Set if something broken was left behind. */
  readonly broken: boolean;
  /** Number of the agent's own commits. */
  readonly commits: number;
}

/**
 * An agent's change of the repository in one call. `step`s are useful; `noise` is useless new content; `swing` undoes
 * the last swing.
 */
export type Deed =
  | 'nothing'
  | 'step'
  | 'test-step'
  | 'broken-step'
  | 'noise'
  | 'test-noise'
  | 'swing'
  | 'commit-and-revert'
  | 'empty-commit';

/** A repository and the requested tasks. */
export interface World {
  readonly tasks: readonly Task[];
  readonly content: Content;
  /** Total number of steps that each task needs. */
  readonly steps: Readonly<Record<TaskId, number>>;
  /** Set if the tests fail while a task is half done. */
  readonly isRedMidway: boolean;
}

/** Creates a world with one task per number of steps; 0 for a task that was done from the start. */
export function createWorld(steps: readonly number[], isRedMidway: boolean): World {
  const tasks = steps.map((_, index) => taskOf(index + 1));
  const byTask = Object.fromEntries(tasks.map((task, index) => [task.id, steps[index] ?? 1]));
  return { tasks, steps: byTask, isRedMidway, content: { left: byTask, noise: 0, broken: false, commits: 0 } };
}

/** Returns the world after a deed for a task. */
export function after(world: World, deed: Deed, task: TaskId): World {
  const { content } = world;
  const left = content.left[task] ?? 0;
  const stepped = left === 0 ? content : { ...content, broken: false, left: { ...content.left, [task]: left - 1 } };
  switch (deed) {
    case 'nothing':
      return world;
    case 'step':
    case 'test-step':
      return { ...world, content: stepped };
    case 'broken-step':
      return { ...world, content: { ...stepped, noise: content.noise + 1, broken: true } };
    case 'noise':
    case 'test-noise':
      return { ...world, content: { ...content, noise: content.noise + 1 } };
    case 'swing':
      return { ...world, content: { ...content, noise: content.noise === 0 ? 1 : 0 } };
    case 'commit-and-revert':
      return { ...world, content: { ...content, commits: content.commits + 2 } };
    case 'empty-commit':
      return { ...world, content: { ...content, commits: content.commits + 1 } };
  }
}

/** Returns head and tree as the loop measures them: the agent's own commits move only the head. */
export function snapshotOf({ content }: World): TreeSnapshot {
  const tree = `${Object.values(content.left).join('.')}-${String(content.noise)}-${content.broken ? 'red' : 'green'}`;
  return { head: `${tree}+${String(content.commits)}`, tree };
}

/** True if the user's tests pass. */
export function testsPass({ content, steps, isRedMidway }: World): boolean {
  const halfDone = Object.entries(content.left).some(([id, left]) => left > 0 && left < (steps[id] ?? 0));
  return !content.broken && !(isRedMidway && halfDone);
}

/** Returns true if all tasks are in the repository and nothing is broken. */
export function isDone(world: World): boolean {
  return stepsLeft(world) === 0 && testsPass(world);
}

/** Returns true if no step of the task is missing and nothing is broken. */
export function isTaskDone({ content }: World, task: TaskId): boolean {
  return content.left[task] === 0 && !content.broken;
}

/** Returns the total number of missing useful steps. */
export function stepsLeft({ content }: World): number {
  return Object.values(content.left).reduce((sum, left) => sum + left, 0);
}

function taskOf(number: number): Task {
  return {
    id: taskIdOfIssue(number),
    title: `Task ${String(number)}`,
    body: '',
    source: { kind: 'issue', number, url: `https://example.test/${String(number)}`, labels: [] },
    comments: [],
    obstacle: null,
    priority: 3,
    dependsOn: [],
    optional: false,
  };
}
