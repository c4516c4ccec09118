import { constants, type Dirent } from 'node:fs';
import { lstat, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Where named pipes are looked for: everywhere in a git directory, or in a work tree where git reads files for itself. */
export interface PipePlace {
  readonly kind: 'git-directory' | 'work-tree';
  readonly folder: string;
}

/** What git reads in a work tree, in whatever folder. Other pipes are the project's own. */
const READ_BY_GIT: ReadonlySet<string> = new Set(['.git', '.gitignore', '.gitattributes']);

/** Removes named pipes that stand where git reads files; whoever waits for one reads an empty file. Returns their paths. */
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

/** Opened for both, a pipe lets everybody go on who waits for its other end, and they find it empty. */
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

/** Removes whatever stands at a path; who waits there for the other end of a pipe goes on. */
export async function removeAsPipe(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found === null) return;
  if (found.isFIFO() && (await removePipe(path))) return;
  await rm(path, { recursive: true, force: true });
}
