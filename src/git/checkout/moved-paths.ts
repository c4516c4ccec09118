import { isUtf8 } from 'node:buffer';
import type { Dirent } from 'node:fs';
import { lstat, readdir, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import {
  mapPathToCopy,
  replaceMovedPaths,
  namesPaths,
  type MovedFolder,
} from '../../core/clean-clone/searched-upward.ts';
import { readRegular, writeRegular } from '../regular-files.ts';

/**
 * Maximum size of a text to rewrite; it exceeds the length of any script that a package manager writes to start a
 * program.
 */
const MAX_SCRIPT_BYTES = 256 * 1024;
/** Maximum number of folders that are read at the same time. */
const AT_ONCE = 64;

/**
 * Rewrites absolute links, and absolute paths in small texts of known kinds, at and below `paths` in `folder`. Those
 * that lead into a moved folder afterwards lead into its copy.
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

/** Rewrites one path and returns its entries if it is a folder. Links are not followed. */
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

/** Returns the entries of a folder, or null for anything else. */
async function readdirOf(path: string): Promise<readonly Dirent[] | null> {
  const stats = await lstat(path).catch(() => null);
  return stats?.isDirectory() === true ? await readdir(path, { withFileTypes: true }) : null;
}

async function moveLink(path: string, moves: readonly MovedFolder[]): Promise<void> {
  const target = await readlink(path).catch(() => '');
  const moved = mapPathToCopy(target, moves);
  if (moved === target) return;
  await rm(path);
  await symlink(moved, path);
}

async function moveText(path: string, moves: readonly MovedFolder[]): Promise<void> {
  const found = await readRegular(path, MAX_SCRIPT_BYTES);
  if (found === null || found.bytes.includes(0) || !isUtf8(found.bytes)) return;
  const text = found.bytes.toString();
  const moved = replaceMovedPaths(text, moves);
  if (moved !== text) await writeRegular(path, moved, { mode: found.mode });
}
