import type { TaskProblem } from './tasks/files/form/root-plan.ts';
import type { Task } from './tasks/task.ts';

/**
 * A folder of the repository as a path from its root; empty for the root. A run looks for tasks, prompts and `.ralph/`
 * in it.
 */
export type Folder = string;

/** Converts a path relative to the folder to a path from the root. */
export function toRootPath(folder: Folder, path: string): string {
  return folder === '' ? path : `${folder}/${path}`;
}

/** Converts a path from the root to one relative to the folder; a path outside of the folder stays unchanged. */
export function toFolderPath(folder: Folder, path: string): string {
  return isInFolder(folder, path) && folder !== '' ? path.slice(folder.length + 1) : path;
}

/** Returns true if a path from the root is inside of the folder. */
export function isInFolder(folder: Folder, path: string): boolean {
  return folder === '' || path.startsWith(`${folder}/`);
}

/** Converts all keys, which are paths from the root, to paths relative to the folder. */
export function toFolderKeys<T>(folder: Folder, byPath: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(byPath).map(([path, value]) => [toFolderPath(folder, path), value]));
}

/** Returns a task of the folder with its path from the root, as people see it. */
export function toRootTask<T extends Pick<Task, 'source'>>(folder: Folder, task: T): T {
  const { source } = task;
  return 'path' in source ? { ...task, source: { ...source, path: toRootPath(folder, source.path) } } : task;
}

/** Returns a task with its path relative to the folder, in which the agent works. */
export function toFolderTask<T extends Pick<Task, 'source'>>(folder: Folder, task: T): T {
  const { source } = task;
  return 'path' in source ? { ...task, source: { ...source, path: toFolderPath(folder, source.path) } } : task;
}

/** Returns a problem of a file in the folder with its path from the root, as people see it. */
export function toRootProblem(folder: Folder, problem: TaskProblem): TaskProblem {
  return { ...problem, file: toRootPath(folder, problem.file) };
}

/** Returns a matcher of paths against globs: `*` and `?` stay within a folder, `**` does not. */
export function createPathMatcher(globs: readonly string[]): (path: string) => boolean {
  const patterns = globs.map(
    (glob) =>
      new RegExp(
        `^${glob
          .split(/(\*\*\/|\*\*|\*|\?)/)
          .map(translateGlob)
          .join('')}$`,
        'is',
      ),
  );
  return (path) => patterns.some((pattern) => pattern.test(path));
}

function translateGlob(piece: string): string {
  const wildcards: Record<string, string> = { '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' };
  return wildcards[piece] ?? piece.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
