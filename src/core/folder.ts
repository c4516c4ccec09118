import type { TaskProblem } from './tasks/files/form/root-plan.ts';
import type { Task } from './tasks/task.ts';

/** A folder of the repository, as a path from its root; empty: the root. Tasks, prompts and `.ralph/` of a run are looked for there. */
export type Folder = string;

/** A path that is seen from the folder, as one from the root. */
export function fromRoot(folder: Folder, path: string): string {
  return folder === '' ? path : `${folder}/${path}`;
}

/** A path from the root, as it is seen from the folder; one outside of it stays as it is. */
export function seenFrom(folder: Folder, path: string): string {
  return isInFolder(folder, path) && folder !== '' ? path.slice(folder.length + 1) : path;
}

/** Whether a path from the root is one of the folder's files. */
export function isInFolder(folder: Folder, path: string): boolean {
  return folder === '' || path.startsWith(`${folder}/`);
}

/** The same values by their paths as they are seen from the folder. */
export function allSeenFrom<T>(folder: Folder, byPath: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(byPath).map(([path, value]) => [seenFrom(folder, path), value]));
}

/** A task of one of the folder's files, which people find from the root. */
export function taskFromRoot<T extends Pick<Task, 'source'>>(folder: Folder, task: T): T {
  const { source } = task;
  return 'path' in source ? { ...task, source: { ...source, path: fromRoot(folder, source.path) } } : task;
}

/** And one that an agent finds from the folder that it works in. */
export function taskSeenFrom<T extends Pick<Task, 'source'>>(folder: Folder, task: T): T {
  const { source } = task;
  return 'path' in source ? { ...task, source: { ...source, path: seenFrom(folder, source.path) } } : task;
}

/** A problem of one of the folder's files, which people find from the root. */
export function problemFromRoot(folder: Folder, problem: TaskProblem): TaskProblem {
  return { ...problem, file: fromRoot(folder, problem.file) };
}
