import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, readdir, readlink, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { isSearchedUpward, findSearchedNames } from '../core/clean-clone/searched-upward.ts';
import { toOneLine, completeSentence } from '../core/text/phrase.ts';
import { getErrorMessage, UserError } from '../errors.ts';
import { listPathAndAncestors } from './trusted-programs.ts';

/** Paths that were restored to an earlier state; `undo` reverts that. */
interface Restoration {
  /** Paths that were added, changed or removed, by the names that they had before. */
  readonly paths: readonly string[];
  /** Puts everything back; never throws. */
  readonly undo: () => Promise<void>;
}

/** A memory of the files that build tools look for, in the folders above those where programs run. */
interface FoldersAbove {
  /** Restores the remembered state and puts added files aside, until `undo`. Throws a UserError if that fails. */
  readonly restore: () => Promise<Restoration>;
}

interface Places {
  /**
   * The folder directly below which programs will run. Files in the folders above it can change what a build does, so
   * they must be restored.
   */
  readonly trees: string;
  /**
   * The folder in which programs create temporary projects. Tools search upward from those as well, but a file that
   * cannot be moved there is tolerated.
   */
  readonly temporary: string;
  /** Folders that are never moved: the work tree and the home folder. */
  readonly inUse: readonly string[];
}

/** Maximum size of a file whose content is kept; a larger file is not a configuration written by hand. */
const MAX_CONFIGURATION_BYTES = 256 * 1024;

/** Maximum size of all contents that are kept. */
const MAX_CONTENTS_BYTES = 8 * 1024 * 1024;

/**
 * Maximum number of entries, in total, that are read in existing folders; an installed project has a few tens of
 * thousands.
 */
const MAX_FOLDER_ENTRIES = 50_000;

/** The state of a path. States with the same `fingerprint` are equal. */
interface PathState {
  readonly fingerprint: string;
  /** The content and mode of the original file, or null if the original cannot be restored. */
  readonly original: { readonly content: Buffer; readonly mode: number } | null;
  /** True if the path is above the trees. */
  readonly isAboveTrees: boolean;
}

interface SurveyedFolders {
  readonly deciding: readonly string[];
  readonly others: readonly string[];
  /** Folders that are never moved: the work tree and the home folder. */
  readonly inUse: readonly string[];
}

/** The `fingerprint` of a folder whose content cannot be read. */
const UNREADABLE = 'unreadable';

/** The number of entries and bytes that may still be read. */
interface Budget {
  entries: number;
  bytes: number;
}

/** The state of a folder of which only some entries are compared. */
const FOLDER_STATE = { fingerprint: 'folder', original: null } as const;

/**
 * Remembers the files that build tools look for in the folders above `trees`, which need not exist yet, and above
 * `temporary`.
 */
export async function rememberFoldersAbove({ trees, temporary, inUse }: Places): Promise<FoldersAbove> {
  const place = await realPathOf(trees);
  // Leave out the folder `trees` itself, which contains only the clones.
  const ways = {
    deciding: listPathAndAncestors(dirname(place)),
    others: listPathAndAncestors(await realPathOf(temporary)),
    inUse,
  };
  const before = await survey(ways);
  return {
    restore: async () => {
      if ((await realPathOf(trees)) !== place)
        throw new UserError(
          'infrastructure',
          `The folder ${trees} is no longer where it was: the agent or another program on this machine put a link in its place.`,
        );
      const now = await survey(ways);
      const undos: (() => Promise<void>)[] = [];
      const hidden: Restoration = { paths: differences(before, now), undo: () => undoAll(undos) };
      for (const path of hidden.paths)
        try {
          if (now.get(path)?.fingerprint === UNREADABLE) throw new Error('the folder can no longer be read');
          undos.push(await restorePath(path, before.get(path)?.original ?? null));
        } catch (error) {
          if (!(before.get(path) ?? now.get(path))?.isAboveTrees) continue;
          await hidden.undo();
          throw changedAbove(path, error);
        }
      return hidden;
    },
  };
}

async function undoAll(undos: readonly (() => Promise<void>)[]): Promise<void> {
  for (const undo of undos.toReversed()) await undo().catch(() => undefined);
}

/** Returns the paths that differ, without those inside a folder that differs. */
function differences(before: ReadonlyMap<string, PathState>, now: ReadonlyMap<string, PathState>): readonly string[] {
  const different = [...new Set([...before.keys(), ...now.keys()])]
    .filter((path) => before.get(path)?.fingerprint !== now.get(path)?.fingerprint)
    // Ignore a missing path that cannot be restored.
    .filter((path) => now.has(path) || before.get(path)?.original !== null);
  return different.filter((path) => !different.includes(dirname(path)));
}

function changedAbove(path: string, error: unknown): UserError {
  return new UserError(
    'infrastructure',
    `${toOneLine(path, 300)} was added or changed since the run began, and build tools look for it from the clean clone, so a verification there cannot be trusted. It cannot be put aside: ${completeSentence(getErrorMessage(error))} Remove it or put it back, then re-run the workflow.`,
    { cause: error },
  );
}

/** Renames the entry at a path to an unused name in the same folder and restores the earlier one; returns the undo. */
async function restorePath(path: string, original: PathState['original']): Promise<() => Promise<void>> {
  const aside = join(dirname(path), `ralph-aside-${randomUUID()}`);
  const isMoved = await rename(path, aside).then(
    () => true,
    (error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    },
  );
  let written: number | null = null;
  const undo = async (): Promise<void> => {
    const there = await lstat(path).catch(() => null);
    // Leave a path alone whose present entry was not written here.
    if (there !== null && there.ino !== written) return;
    await rm(path, { force: true });
    if (isMoved) await rename(aside, path);
  };
  if (original === null) return undo;
  try {
    await writeFile(path, original.content, { flag: 'wx', mode: original.mode });
    written = (await lstat(path)).ino;
  } catch (error) {
    await undo();
    throw error;
  }
  return undo;
}

/** Returns the state of the files that tools look for in these folders, by path. */
async function survey({ deciding, others, inUse }: SurveyedFolders): Promise<ReadonlyMap<string, PathState>> {
  const found = new Map<string, PathState>();
  const budget: Budget = { entries: MAX_FOLDER_ENTRIES, bytes: MAX_CONTENTS_BYTES };
  const kept = [...deciding, ...others, ...inUse];
  for (const folder of new Set([...deciding, ...others])) {
    const isAboveTrees = deciding.includes(folder);
    const names = await readdir(folder).catch(() => null);
    // Record the folder as unreadable: nothing in it can be compared or moved.
    if (names === null) found.set(join(folder, '*'), { fingerprint: UNREADABLE, original: null, isAboveTrees });
    for (const name of names ?? []) {
      const path = join(folder, name);
      if (kept.some((way) => way === path || way.startsWith(path + sep))) continue;
      const kind = await kindOf(path);
      if (kind === null || !isSearchedUpward(name, kind)) continue;
      const inside = kind === 'folder' ? findSearchedNames(name) : null;
      const parts = inside === null ? [] : (await readdir(path).catch(() => [])).filter((part) => inside.test(part));
      found.set(path, { ...(inside === null ? await stateOf(path, budget) : FOLDER_STATE), isAboveTrees });
      for (const part of parts)
        found.set(join(path, part), { ...(await stateOf(join(path, part), budget)), isAboveTrees });
    }
  }
  return found;
}

/** Returns the kind of a path, with a link followed; null if the path is gone. */
async function kindOf(path: string): Promise<'file' | 'folder' | null> {
  const stats = await stat(path).catch(() => lstat(path).catch(() => null));
  return stats === null ? null : stats.isDirectory() ? 'folder' : 'file';
}

async function stateOf(path: string, budget: Budget): Promise<Omit<PathState, 'isAboveTrees'>> {
  const target = await readlink(path).catch(() => '');
  const stats = await stat(path).catch(() => null);
  const of = (fingerprint: string): Omit<PathState, 'isAboveTrees'> => ({
    fingerprint: `${target} ${fingerprint}`,
    original: null,
  });
  if (stats === null) return of('nothing');
  if (stats.isDirectory()) return of(await fingerprintOfFolder(path, budget));
  if (!stats.isFile()) return of('other');
  const { size, ino, ctimeMs, mode } = stats;
  const content = size <= MAX_CONFIGURATION_BYTES ? await readSmall(path) : null;
  if (content === null) return of([size, ino, ctimeMs].join(':'));
  budget.bytes -= content.length;
  return {
    fingerprint: `${target} ${createHash('sha256').update(content).digest('hex')}`,
    original: budget.bytes < 0 ? null : { content, mode: mode & 0o777 },
  };
}

/** Returns the content of a small file, or null if it cannot be read or has grown. Does not wait for a named pipe. */
async function readSmall(path: string): Promise<Buffer | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => null);
  if (file === null) return null;
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(MAX_CONFIGURATION_BYTES + 1), position: 0 });
    return bytesRead > MAX_CONFIGURATION_BYTES ? null : buffer.subarray(0, bytesRead);
  } catch {
    return null;
  } finally {
    await file.close();
  }
}

/** Returns a hash of the names, modes, sizes and times of change in a folder; times of change cannot be set by hand. */
async function fingerprintOfFolder(folder: string, budget: Budget): Promise<string> {
  const hash = createHash('sha256');
  const waiting = [folder];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const paths = (await readdir(next).catch(() => [])).sort().map((name) => join(next, name));
    budget.entries -= paths.length;
    if (budget.entries < 0) return 'large';
    const all = await Promise.all(paths.map((path) => lstat(path).catch(() => null)));
    for (const [at, path] of paths.entries()) {
      const found = all[at];
      const isFolder = found?.isDirectory() === true;
      if (isFolder) waiting.push(path);
      hash.update(JSON.stringify([path, found?.mode, ...(isFolder ? [] : [found?.size, found?.ino, found?.ctimeMs])]));
    }
  }
  return hash.digest('hex');
}

/** Returns the real path of a folder, or of the place where it will be created. */
async function realPathOf(folder: string): Promise<string> {
  const above = dirname(folder);
  return await realpath(folder).catch(async () =>
    above === folder ? folder : join(await realPathOf(above), basename(folder)),
  );
}
