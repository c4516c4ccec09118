import { constants, type Dirent } from 'node:fs';
import { lstat, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** A place to search for named pipes: a whole git directory, or a work tree at the paths that git itself reads. */
export interface PipePlace {
  readonly kind: 'git-directory' | 'work-tree';
  readonly folder: string;
}

/** Files that git reads in any folder of a work tree. Other pipes belong to the project. */
const READ_BY_GIT: ReadonlySet<string> = new Set(['.git', '.gitignore', '.gitattributes']);

/**
 * Removes named pipes at paths where git reads files, and returns their paths. A process that waits for one reads an
 * empty file.
 */
export async function removePipes(places: readonly PipePlace[]): Promise<readonly string[]> {
  const removed: string[] = [];

  async function visit(folder: string, kind: PipePlace['kind']): Promise<void> {
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      const path = join(folder, entry.name);
      const isRead = kind === 'git-directory' || READ_BY_GIT.has(entry.name);
      if (entry.isDirectory()) await visit(path, isRead ? 'git-directory' : 'work-tree');
      else if (isRead && (await isPipe(entry, path)) && (await removePipe(path))) removed.push(path);
    }
  }

  for (const { kind, folder } of places) await visit(folder, kind);
  return removed;
}

async function isPipe(entry: Dirent, path: string): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isFIFO();
  return (await stat(path).catch(() => null))?.isFIFO() === true;
}

/**
 * Removes a pipe after opening it in both directions, so that every process that waits for its other end continues and
 * finds it empty.
 */
async function removePipe(path: string): Promise<boolean> {
  const pipe = await open(path, constants.O_RDWR | constants.O_NONBLOCK).catch(() => null);
  try {
    await rm(path, { force: true });
    return true;
  } catch {
    return false;
  } finally {
    await pipe?.close();
  }
}

/** Removes anything at a path; a process that waits there for the other end of a pipe continues. */
export async function removeAndUnblock(path: string): Promise<void> {
  const stats = await lstat(path).catch(() => null);
  if (stats === null) return;
  if (stats.isFIFO() && (await removePipe(path))) return;
  await rm(path, { recursive: true, force: true });
}
