import { constants, lstatSync, mkdirSync } from 'node:fs';
import { chmod, copyFile, opendir, readlink, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type CopyLimits, type MeasuredPath, selectCopies } from '../../core/local/ignored-copies.ts';
import { isSecretFile, isSecretFolder } from '../../core/secrets/secret-files.ts';
import { getErrorMessage, UserError } from '../../errors.ts';
import type { Git } from '../git.ts';

/** An entry of a tree, by its path from the top. A folder comes before its entries. */
type Walked =
  | { readonly kind: 'folder' | 'file' | 'link'; readonly path: string; readonly bytes: number; readonly mode: number }
  | { readonly kind: 'pruned'; readonly path: string }
  | { readonly kind: 'unreadable'; readonly path: string; readonly why: string };

/** Number of folder entries that are read at once; signals are handled between two reads. */
const ENTRIES_AT_ONCE = 256;

/** A person's ignored files that were not copied, as paths from the top. */
interface LeftOut {
  /** Files whose names say that they contain secrets. */
  readonly secrets: readonly string[];
  /** Files beyond the limits. */
  readonly tooMuch: readonly string[];
  /** Files that failed, with the reason in words. */
  readonly failed: readonly string[];
}

/** The files to copy: those that git ignores below `top`, up to the limits. */
export interface CopyRequest {
  readonly git: Git;
  readonly top: string;
  /** The clone. */
  readonly folder: string;
  readonly limits: CopyLimits;
  /** Files that are not copied; the caller reports them. */
  readonly leaveOut: readonly string[];
  /** Ends the copying; the files copied by then stay. */
  readonly signal: AbortSignal;
  /**
   * The limit of a slow copy. `say` is called once if it takes longer than `afterMs`, with the number of files that
   * were examined or copied.
   */
  readonly slow: { readonly afterMs: number; readonly say: (files: number) => void };
}

/** The run's own files in the person's checkout, and those that another run left; they are never copied. */
const OWN_FILES = /(?:^|\/)\.ralph\/(?:state|logs|status\.json|progress\.json)(?:\/|$)/;

/** Maximum number of measured files, as a multiple of the limit of copied ones. */
const MEASURE_FACTOR = 5;

/** Maximum number of files that are copied at the same time. */
const AT_ONCE = 16;

/**
 * Copies the files that git ignores in the person's checkout (installed packages, settings) into the clone, as files
 * and not as links to them; each path of git's list as a whole or not at all.
 */
export async function copyIgnoredIntoClone(asked: CopyRequest): Promise<LeftOut> {
  const { git, top, limits, leaveOut, signal, slow } = asked;
  const isLeftOut = leftOutBeside(leaveOut);
  let looked = 0;
  const timer = setTimeout(() => {
    slow.say(looked);
  }, slow.afterMs);
  const count = (): boolean => {
    looked += 1;
    return !signal.aborted;
  };
  try {
    const listed = (await listIgnored(git)).filter((path) => !leaveOut.includes(path));
    const measured: MeasuredPath[] = [];
    for (const path of listed) {
      if (signal.aborted) break;
      const left = looked < MEASURE_FACTOR * limits.files;
      measured.push({ path, size: left ? await measure({ top, start: path }, { limits, count, isLeftOut }) : null });
    }
    const { fits, tooMuch } = selectCopies(measured, limits);
    return { ...(await copyAll(asked, fits, { count, isLeftOut })), tooMuch };
  } catch (error) {
    // Without a list, or with a list that is too long, the run works without these files, so only real errors are
    // thrown.
    if (!(error instanceof UserError)) throw error;
    return { secrets: [], tooMuch: [], failed: [getErrorMessage(error)] };
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Lists the ignored paths, with whole folders where possible. git also names entries of some of these folders, which
 * are dropped.
 */
async function listIgnored(git: Git): Promise<readonly string[]> {
  const listed = await git.records(['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory']);
  const folders = new Set(listed.filter((one) => one.endsWith('/')));
  const isInOne = (path: string): boolean =>
    [...path.matchAll(/\/(?=.)/g)].some(({ index }) => folders.has(path.slice(0, index + 1)));
  return listed
    .filter((one) => !isInOne(one))
    .map((one) => one.replace(/\/$/, ''))
    .filter((one) => !OWN_FILES.test(one));
}

/** Measures a path, or returns null beyond the limits. */
async function measure(
  from: { readonly top: string; readonly start: string },
  rules: { readonly limits: CopyLimits; readonly count: () => boolean; readonly isLeftOut: IsLeftOut },
): Promise<CopyLimits | null> {
  const { limits, count, isLeftOut } = rules;
  let files = 0;
  let bytes = 0;
  for await (const found of walk(from, isLeftOut)) {
    if (!count()) break;
    files += 1;
    if (found.kind === 'file') bytes += found.bytes;
    if (files > limits.files || bytes > limits.bytes) return null;
  }
  return { files, bytes };
}

async function copyAll(
  { top, folder, leaveOut, signal }: CopyRequest,
  paths: readonly string[],
  { count, isLeftOut }: { readonly count: () => boolean; readonly isLeftOut: IsLeftOut },
): Promise<Pick<LeftOut, 'secrets' | 'failed'>> {
  const secrets: string[] = [];
  const failed: string[] = [];
  /** The modes that copied folders get at the end, so that a read-only folder can be filled first. */
  const modes: { readonly path: string; readonly mode: number }[] = [];
  const closed = new Set<string>();
  let copying: Promise<void>[] = [];
  const attempt = async (path: string, act: () => Promise<void>): Promise<void> => {
    await act().catch((error: unknown) => {
      if (!isThere(error)) failed.push(`${path} (${getErrorMessage(error)})`);
    });
  };
  for (const start of paths) {
    if (signal.aborted) break;
    try {
      makeFolders(folder, start.includes('/') ? dirname(start) : '');
    } catch (error) {
      failed.push(`${start} (${getErrorMessage(error)})`);
      continue;
    }
    for await (const found of walk({ top, start }, isLeftOut)) {
      if (!count()) break;
      if (closed.has(dirname(found.path))) {
        if (found.kind === 'folder') closed.add(found.path);
      } else if (found.kind === 'folder') {
        try {
          makeFolders(folder, found.path);
          modes.push(found);
        } catch (error) {
          closed.add(found.path);
          failed.push(`${found.path} (${getErrorMessage(error)})`);
        }
      } else if (found.kind === 'pruned') {
        if (!OWN_FILES.test(found.path) && !leaveOut.includes(found.path)) secrets.push(found.path);
      } else if (found.kind === 'unreadable') {
        failed.push(`${found.path} (${found.why})`);
      } else {
        copying.push(attempt(found.path, () => copyOne(found, join(top, found.path), join(folder, found.path))));
        if (copying.length < AT_ONCE) continue;
        await Promise.all(copying);
        copying = [];
      }
    }
  }
  await Promise.all(copying);
  for (const { path, mode } of modes.reverse()) await attempt(path, () => chmod(join(folder, path), mode | OWNERS));
  return { secrets, failed };
}

/** The mode with which the owner of the copy can list and remove it. */
const OWNERS = 0o700;

type IsLeftOut = (path: string, kind: 'folder' | 'file') => boolean;

/** Returns the filter for an ignored folder: it leaves out our own files, secret files and named files. */
function leftOutBeside(named: readonly string[]): IsLeftOut {
  const names = new Set(named);
  return (path, kind) =>
    OWN_FILES.test(path) || names.has(path) || (kind === 'folder' ? isSecretFolder(path) : isSecretFile(path));
}

/** Copies one entry. Leaves a file that the branch already has, because the person committed it. */
async function copyOne({ kind }: Pick<Walked, 'kind'>, from: string, to: string): Promise<void> {
  // Share blocks if the disk can, so that a copy costs nothing.
  if (kind === 'file') await copyFile(from, to, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
  else await symlink(await readlink(from), to);
}

/**
 * Makes a folder of the clone. Throws if the branch has a link or a file on its path, because the copy could otherwise
 * end up outside of the clone.
 */
function makeFolders(top: string, path: string): void {
  let folder = top;
  for (const part of path === '' ? [] : path.split('/')) {
    folder = join(folder, part);
    const stats = lstatSync(folder, { throwIfNoEntry: false });
    if (stats === undefined) mkdirSync(folder);
    else if (!stats.isDirectory()) throw new Error('the branch has a link or a file in its place');
  }
}

function isThere(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}

/**
 * Yields every entry at and below a path without following links. Skips pipes, sockets and devices, and does not enter
 * folders that `prune` matches. Never throws because of the content of the disk.
 */
async function* walk(
  { top, start }: { readonly top: string; readonly start: string },
  prune: (path: string, kind: 'folder' | 'file') => boolean,
): AsyncGenerator<Walked> {
  const first = examineEntry(top, start, prune);
  if (first !== null) yield first;
  const waiting = first?.kind === 'folder' ? [start] : [];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    try {
      for await (const { name } of await opendir(join(top, folder), { bufferSize: ENTRIES_AT_ONCE })) {
        const found = examineEntry(top, `${folder}/${name}`, prune);
        if (found === null) continue;
        yield found;
        if (found.kind === 'folder') waiting.push(found.path);
      }
    } catch (error) {
      yield { kind: 'unreadable', path: folder, why: getErrorMessage(error) };
    }
  }
}

function examineEntry(
  top: string,
  path: string,
  prune: (path: string, kind: 'folder' | 'file') => boolean,
): Walked | null {
  try {
    const stats = lstatSync(join(top, path));
    const isFolder = stats.isDirectory();
    if (!isFolder && !stats.isFile() && !stats.isSymbolicLink()) return null;
    if (prune(path, isFolder ? 'folder' : 'file')) return { kind: 'pruned', path };
    const kind = isFolder ? 'folder' : stats.isFile() ? 'file' : 'link';
    return { kind, path, bytes: stats.isFile() ? stats.size : 0, mode: stats.mode & 0o7777 };
  } catch (error) {
    return { kind: 'unreadable', path, why: getErrorMessage(error) };
  }
}
