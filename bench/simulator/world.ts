import type { Snapshot } from '../../src/core/evidence.ts';
import type { Task } from '../../src/core/tasks/task.ts';
import { taskIdOfIssue, type TaskId } from '../../src/core/tasks/ids.ts';

/** What is in the repository, as far as the truth needs it. */
interface Content {
  /** Useful steps that each task still needs. */
  readonly left: Readonly<Record<TaskId, number>>;
  /** Grows with changes that are of no use. */
  readonly noise: number;
  /** Whether something that does not work was left in. */
  readonly broken: boolean;
  /** The agent's own commits. */
  readonly commits: number;
}

/** What an agent does to the repository in one call. `step`s are useful; `noise` is new content of no use; `swing` undoes the last swing. */
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

/** A repository and the tasks that are asked for. */
export interface World {
  readonly tasks: readonly Task[];
  readonly content: Content;
  /** Steps that each task needs in all. */
  readonly steps: Readonly<Record<TaskId, number>>;
  /** Whether the tests fail while a task is half done. */
  readonly isRedMidway: boolean;
}

/** A world with one task per number of steps; 0: it was done before anybody asked. */
export function createWorld(steps: readonly number[], isRedMidway: boolean): World {
  const tasks = steps.map((_, index) => taskOf(index + 1));
  const byTask = Object.fromEntries(tasks.map((task, index) => [task.id, steps[index] ?? 1]));
  return { tasks, steps: byTask, isRedMidway, content: { left: byTask, noise: 0, broken: false, commits: 0 } };
}

/** The world after a deed for a task. */
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

/** Head and tree as the loop measures them: own commits move the head only. */
export function snapshotOf({ content }: World): Snapshot {
  const tree = `${Object.values(content.left).join('.')}-${String(content.noise)}-${content.broken ? 'red' : 'green'}`;
  return { head: `${tree}+${String(content.commits)}`, tree };
}

/** Whether the user's tests pass. */
export function testsPass({ content, steps, isRedMidway }: World): boolean {
  const halfDone = Object.entries(content.left).some(([id, left]) => left > 0 && left < (steps[id] ?? 0));
  return !content.broken && !(isRedMidway && halfDone);
}

/** The truth: all that was asked for is in the repository, and it works. */
export function isDone(world: World): boolean {
  return stepsLeft(world) === 0 && testsPass(world);
}

/** The truth of one task: nothing of it is missing, and nothing is broken. */
export function isTaskDone({ content }: World, task: TaskId): boolean {
  return content.left[task] === 0 && !content.broken;
}

/** Useful steps that are missing in all. */
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
