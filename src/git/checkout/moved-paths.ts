import { isUtf8 } from 'node:buffer';
import type { Dirent } from 'node:fs';
import { lstat, readdir, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { movedPath, movedText, namesPaths, type MovedFolder } from '../../core/clean-clone/searched-upward.ts';
import { readRegular, writeRegular } from '../regular-files.ts';

/** Longer than any script that a package manager writes to start a program. */
const LARGEST_TEXT_BYTES = 256 * 1024;
/** Folders that are read at the same time. */
const AT_ONCE = 64;

/**
 * In what `paths` of `folder` hold: makes absolute links and the absolute paths in small texts of known kinds that lead into
 * a folder that moved lead into its copy.
 */
export async function movePaths(
  folder: string,
  paths: readonly string[],
  { moves, signal }: { readonly moves: readonly MovedFolder[]; readonly signal: AbortSignal },
): Promise<void> {
  let waiting = [...paths];
  while (waiting.length > 0) {
    signal.throwIfAborted();
    const found = await Promise.all(waiting.slice(0, AT_ONCE).map((path) => moveOne(folder, path, moves)));
    waiting = [...found.flat(), ...waiting.slice(AT_ONCE)];
  }
}

/** Returns what is inside of it. No link is followed. */
async function moveOne(folder: string, path: string, moves: readonly MovedFolder[]): Promise<readonly string[]> {
  const full = join(folder, path);
  const entries = await readdirOf(full);
  if (entries === null) {
    await moveLink(full, moves);
    if (namesPaths(path)) await moveText(full, moves);
    return [];
  }
  const inside: string[] = [];
  for (const entry of entries) {
    const below = join(path, entry.name);
    if (entry.isDirectory()) inside.push(below);
    else if (entry.isSymbolicLink()) await moveLink(join(folder, below), moves);
    else if (namesPaths(below)) await moveText(join(folder, below), moves);
  }
  return inside;
}

/** null: it is no folder. */
async function readdirOf(path: string): Promise<readonly Dirent[] | null> {
  const found = await lstat(path).catch(() => null);
  return found?.isDirectory() === true ? await readdir(path, { withFileTypes: true }) : null;
}

async function moveLink(path: string, moves: readonly MovedFolder[]): Promise<void> {
  const target = await readlink(path).catch(() => '');
  const moved = movedPath(target, moves);
  if (moved === target) return;
  await rm(path);
  await symlink(moved, path);
}

async function moveText(path: string, moves: readonly MovedFolder[]): Promise<void> {
  const found = await readRegular(path, LARGEST_TEXT_BYTES);
  if (found === null || found.bytes.includes(0) || !isUtf8(found.bytes)) return;
  const text = found.bytes.toString();
  const moved = movedText(text, moves);
  if (moved !== text) await writeRegular(path, moved, { mode: found.mode });
}
