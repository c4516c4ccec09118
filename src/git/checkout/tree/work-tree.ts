import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, chmod, lstat, rmdir, stat, utimes } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ObjectId } from '../../../core/evidence.ts';
import { toRootPath, type Folder } from '../../../core/folder.ts';
import { isPrdJson, ROOT_PRD } from '../../../core/tasks/files/form/root-plan.ts';
import { MAX_IGNORED_PATHS, type Substitute } from '../../../core/work-tree/answers.ts';
import { locateNamedFile } from '../../names.ts';
import { diffTrees, formatIndexLine, type PathChange } from '../../objects.ts';
import { readRegular } from '../../regular-files.ts';
import { removeTree } from '../../remove-tree.ts';
import type { PrivateRepository } from '../private-repository.ts';
import { isLoopState, listNoteGlobs } from '../../inspection/protected-paths.ts';
import type { Workspace } from '../workspace.ts';
import { hasFewerEntries } from './untracked.ts';
import { tolerateChanges, revertToleratedChanges, type ToleratedChange } from './differences/tolerated-changes.ts';

/** Content of the work tree. `substitutes` are paths that are in the tree under a substitute for their own content. */
export interface TreeContent {
  readonly tree: ObjectId;
  readonly substitutes: ReadonlyMap<string, Substitute>;
}

/** Maximum size of a file: GitHub rejects larger ones, and hashing them would only cost time. */
const MAX_PUSHED_FILE_BYTES = 100 * 1024 * 1024;

/** Options of one reading of the work tree. */
interface ReadingOptions {
  /** Paths that are treated as unchanged while they are as they were found. */
  readonly tolerated: readonly ToleratedChange[];
  /**
   * A tree whose files are tracked: all other files that git ignores now are left out, even if they were read before.
   * If it is null, every file that was read before is kept.
   */
  readonly tracked: ObjectId | null;
  /** The agent's own index, in which it may have untracked ignored files; null if nobody else has an index. */
  readonly agentIndex: string | null;
  /** Resolves when objects that need not be written again are here; files are read only afterwards. */
  readonly taken: Promise<unknown> | null;
}

/** Reads the work tree as it is, and keeps every file that was read before. */
export const plainReading: ReadingOptions = { tolerated: [], tracked: null, agentIndex: null, taken: null };

/**
 * Records the work tree as a tree object: tracked and untracked files, without ignored ones and the loop's own state.
 * Uses `ls-files` and `update-index`, because `git add` starts git inside nested repositories, with their config.
 */
export async function readWorkTree(
  repository: PrivateRepository,
  workspace: Pick<Workspace, 'top' | 'objectFormat'>,
  { tolerated, tracked, agentIndex, taken }: ReadingOptions,
): Promise<TreeContent & { readonly trackedAndIgnored: readonly string[] }> {
  await repository.seal();
  // One call looks at every file once: changed (C), removed (R; also listed as C) and untracked ones (?).
  const listed = await repository.git.names([
    'ls-files',
    '-t',
    '-z',
    '--modified',
    '--deleted',
    '--others',
    '--exclude-standard',
  ]);
  const paths = [...new Set(listed.map((record) => record.slice(2).replace(/\/$/, '')))].filter(
    (path) => !isLoopState(path),
  );
  const entries = await Promise.all(paths.map((path) => entryFor(workspace.top, path)));

  await taken;
  const refused = await stage(
    repository,
    entries.filter((entry) => entry.kind === 'content').map((entry) => entry.path),
  );
  const notes = await Promise.all(refused.map((path) => noteOnRefused(workspace.top, path)));
  const lines = await Promise.all(entries.map((entry) => substituteLine(repository, workspace, entry)));
  const repositories = entries.flatMap(({ kind, path }) => (kind === 'repository' ? [path] : []));
  const before = await entriesAt(repository, repositories);
  if (lines.join('') !== '') await repository.git.text([...TAKE_LINES], { input: lines.join('') });
  const named: Entry[] = [];
  for (const note of notes.filter((one) => one !== null)) {
    const input = await substituteLine(repository, workspace, note);
    // git also refuses a substitute under an invalid name, so leave out the name, which no tree can contain.
    if ((await repository.git.answer([...TAKE_LINES], { input })).exitCode === 0) named.push(note);
  }
  const known = paths.length === 0 ? await knownTree(repository) : null;
  let tree = known ?? (await repository.git.text(['write-tree']));
  const isToList = tracked !== null && (tree !== tracked || (await hasFewerEntries(agentIndex, repository.indexFile)));
  const ignored = isToList
    ? await repository.git.names(['ls-files', '-z', '--cached', '--ignored', '--exclude-standard'])
    : [];
  if (tracked !== null && ignored.length > 0 && (await dropIgnored(repository, ignored, tracked)))
    tree = await repository.git.text(['write-tree']);
  if (repositories.length > 0) {
    // Replace the entry of a repository: it would look like an absent submodule, and once its .git is gone, git would
    // skip its files.
    const none = '0'.repeat(workspace.objectFormat === 'sha256' ? 64 : 40);
    const input = [...repositories.map((path) => formatIndexLine('0', none, path)), ...before].join('');
    await repository.git.text([...TAKE_LINES], { input });
  }
  const index = repositories.length > 0 ? null : await digestOf(repository.indexFile);
  if (tree !== known) knownTrees.set(repository, { index, tree });
  await settleIndex(repository.indexFile);
  const substitutes = new Map(
    [...entries, ...named].flatMap((entry) => ('substitute' in entry ? [[entry.path, entry.substitute] as const] : [])),
  );
  const reverted = await revertToleratedChanges(repository, tree, tolerated);
  return { tree: reverted, substitutes, trackedAndIgnored: ignored };
}

/** Returns the lines of the index at these paths and below them. */
async function entriesAt({ git }: PrivateRepository, paths: readonly string[]): Promise<readonly string[]> {
  if (paths.length === 0) return [];
  const listed = await git.names(['ls-files', '--stage', '-z', '--full-name']);
  const isAt = (place: string): boolean => paths.some((path) => place === path || place.startsWith(`${path}/`));
  return listed.filter((line) => isAt(line.slice(line.indexOf('\t') + 1))).map((line) => `${line}\0`);
}

/** Returns the files and folders that git ignores in the work tree; empty if git cannot list them. */
export async function listIgnoredPaths({ git }: Pick<PrivateRepository, 'git'>): Promise<readonly string[]> {
  const listed = ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory'];
  const paths = await git.names(listed).catch(() => []);
  return paths.filter((path) => !isLoopState(path.replace(/\/$/, ''))).slice(0, MAX_IGNORED_PATHS);
}

/** The tree that each index was last written as. */
const knownTrees = new WeakMap<PrivateRepository, { readonly index: string | null; readonly tree: ObjectId }>();

/** Returns the tree of an index whose bytes did not change since it was last written, or null if git must be asked. */
async function knownTree(repository: PrivateRepository): Promise<ObjectId | null> {
  const known = knownTrees.get(repository);
  const isSame = known !== undefined && known.index !== null && known.index === (await digestOf(repository.indexFile));
  return isSame ? known.tree : null;
}

async function digestOf(file: string): Promise<string | null> {
  const found = await readRegular(file);
  return found === null ? null : createHash('sha256').update(found.bytes).digest('hex');
}

const TAKE_LINES = ['update-index', '-z', '--add', '--replace', '--index-info'] as const;

/** Removes from the index those of the ignored files that `tracked` lacks. Returns false if none. */
async function dropIgnored(
  { git }: PrivateRepository,
  ignored: readonly string[],
  tracked: ObjectId,
): Promise<boolean> {
  const isTracked = new Set(await git.names(['ls-tree', '-r', '-z', '--full-tree', '--name-only', tracked]));
  const dropped = ignored.filter((path) => !isTracked.has(path));
  if (dropped.length === 0) return false;
  await git.text(['update-index', '-z', '--force-remove', '--stdin'], {
    input: dropped.map((path) => `${path}\0`).join(''),
  });
  return true;
}

/** Coarsest resolution of file times: some file systems store steps of two seconds. */
const COARSEST_MS = 2_000;

/**
 * Makes git look again at the content of every file that changed shortly before the index was written: git compares the
 * two times, and a coarse time would hide a change in between.
 */
async function settleIndex(indexFile: string): Promise<void> {
  const stats = await lstat(indexFile).catch(() => null);
  // A time in whole seconds was set here, so the index has not been written since.
  if (stats?.isFile() !== true || stats.mtimeMs % 1000 === 0) return;
  const seconds = Math.floor((stats.mtimeMs - COARSEST_MS) / 1000);
  await utimes(indexFile, seconds, seconds);
}

/** The result of putting back the work tree. */
export interface RestoredTree {
  /** All paths that differed, sorted. */
  readonly paths: readonly string[];
  /** The paths that could not be put back, as they are now. */
  readonly left: readonly ToleratedChange[];
}

/** Maximum number of attempts, because git puts nothing back if a file changes between the listing and its own look. */
const PUT_BACK_ATTEMPTS = 3;

/** Makes the work tree equal to `wanted`, except for ignored files and paths that cannot be changed here. */
export async function putBackWorkTree(
  repository: PrivateRepository,
  workspace: Pick<Workspace, 'top' | 'objectFormat'>,
  { wanted, tolerated }: { readonly wanted: ObjectId; readonly tolerated: readonly ToleratedChange[] },
): Promise<RestoredTree> {
  const found = new Set<string>();
  for (let attempt = 1; ; attempt += 1) {
    // An ignored file that is read although `wanted` lacks it is one that the agent untracked, which stays on the disk.
    const reading = { ...plainReading, tolerated, tracked: wanted };
    const { tree } = await readWorkTree(repository, workspace, reading);
    const changes = await diffTrees(repository.git, wanted, tree);
    for (const { path } of changes) found.add(path);
    if (changes.length === 0 || attempt > PUT_BACK_ATTEMPTS)
      return { paths: [...found].sort(), left: tolerateChanges(changes) };
    // Refresh first: a file that was rewritten with the same content differs only in its time, and git would refuse to
    // touch it.
    await repository.git.answer(['update-index', '-q', '--refresh']);
    if (attempt > 1) await putBackEach(repository, workspace, { wanted, changes });
    // Leave files outside of the patterns of a sparse checkout as they are.
    else await repository.git.answer(['read-tree', '-m', '-u', '--no-sparse-checkout', tree, wanted]);
  }
}

/** Puts paths back one by one, where possible, because a single git command puts back all of them or none. */
async function putBackEach(
  repository: PrivateRepository,
  workspace: Pick<Workspace, 'top'>,
  { wanted, changes }: { readonly wanted: ObjectId; readonly changes: readonly PathChange[] },
): Promise<void> {
  await makeWay(workspace, changes);
  const there = changes.filter(({ oldId, oldMode }) => oldId !== null && oldMode !== '160000');
  if (there.length === 0) return;
  await repository.withIndex('empty', async (indexFile) => {
    const variables = { GIT_INDEX_FILE: indexFile };
    await repository.git.answer(['read-tree', wanted], { variables });
    await repository.git.answer(['checkout-index', '--quiet', '--force', '-z', '--stdin'], {
      input: there.map(({ path }) => `${path}\0`).join(''),
      variables,
    });
  });
}

/**
 * Makes read-only folders writable, such as those of a package cache, and removes what git would leave in place: a
 * repository, or anything that is not a file.
 */
async function makeWay({ top }: Pick<Workspace, 'top'>, changes: readonly PathChange[]): Promise<void> {
  const folders = new Set(changes.flatMap(({ path }) => foldersAbove(path)));
  // Work from the outside in, because entries of a closed folder cannot even be looked at.
  for (const folder of [...folders].sort()) {
    const stats = await lstat(locateNamedFile(top, folder)).catch(() => null);
    if (stats?.isDirectory()) await chmod(locateNamedFile(top, folder), stats.mode | 0o700).catch(() => undefined);
  }
  for (const { path, oldId, newMode } of changes) {
    const place = locateNamedFile(top, path);
    const stats = await lstat(place).catch(() => null);
    if (stats === null) continue;
    const isSpecial = !stats.isFile() && !stats.isSymbolicLink() && !stats.isDirectory();
    const isInWay = stats.isDirectory() && (newMode === '160000' || oldId !== null);
    if (!isSpecial && !isInWay && oldId !== null) continue;
    await removeTree(place).catch(() => undefined);
    // Remove folders that become empty, as git does.
    for (const folder of foldersAbove(path).toReversed())
      await rmdir(locateNamedFile(top, folder)).catch(() => undefined);
  }
}

function foldersAbove(path: string): readonly string[] {
  const above = dirname(path);
  return above === '.' ? [] : [...foldersAbove(above), above];
}

/**
 * Returns the tree without the agent's notes. With them, an agent that only ever writes notes would keep the circuit
 * closed.
 */
export async function withoutNotes(repository: PrivateRepository, folder: Folder, tree: ObjectId): Promise<ObjectId> {
  const notes = listNoteGlobs(folder).map((path) => `:(top,glob)${path}`);
  return await repository.withIndex('empty', async (indexFile) => {
    const variables = { GIT_INDEX_FILE: indexFile };
    await repository.git.text(['read-tree', tree], { variables });
    const found = await repository.git.names(['ls-files', '-z', '--cached', '--', ...notes], { variables });
    const other = toRootPath(folder, ROOT_PRD);
    const isOther = found.includes(other) && !(await isPrd(repository, tree, other));
    const listed = isOther ? found.filter((path) => path !== other) : found;
    if (listed.length === 0) return tree;
    await repository.git.text(['update-index', '-z', '--force-remove', '--stdin'], {
      input: listed.map((path) => `${path}\0`).join(''),
      variables,
    });
    return await repository.git.text(['write-tree'], { variables });
  });
}

/** Returns true if a prd.json is a task list; otherwise it is content like any other. */
async function isPrd({ git }: PrivateRepository, tree: ObjectId, path: string): Promise<boolean> {
  const size = await git.answer(['cat-file', '-s', `${tree}:${path}`]);
  if (size.exitCode !== 0 || Number(size.stdout.toString()) > MAX_PRD_BYTES) return false;
  const { exitCode, stdout } = await git.answer(['cat-file', 'blob', `${tree}:${path}`]);
  return exitCode === 0 && isPrdJson(stdout.toString());
}

/** Maximum size of a prd.json that is parsed, the same as for reading task lists. */
const MAX_PRD_BYTES = 1024 * 1024;

/** Returns the paths that may have notes: files, or the folders of those that a pattern names. */
export function listNotePlaces(folder: Folder): readonly string[] {
  return [
    ...new Set(listNoteGlobs(folder).map((path) => (path.includes('*') ? dirname(path).replace(/\/\*\*$/, '') : path))),
  ];
}

/**
 * The way in which a path enters the tree: with its content (or its absence), with a note instead of its content, as a
 * repository, or not at all.
 */
type Entry =
  | { readonly kind: 'content'; readonly path: string }
  | { readonly kind: 'note'; readonly path: string; readonly substitute: Substitute; readonly note: string }
  | { readonly kind: 'repository'; readonly path: string; readonly substitute: Substitute }
  | { readonly kind: 'removed'; readonly path: string };

async function entryFor(top: string, path: string): Promise<Entry> {
  const full = locateNamedFile(top, path);
  const stats = await lstat(full).catch(() => null);
  if (!stats) return { kind: 'content', path };
  if (stats.isDirectory()) {
    // This is either a repository inside the repository, or a folder that replaced a file and whose own files are
    // listed separately.
    const nested = await stat(locateNamedFile(top, `${path}/.git`)).catch(() => null);
    return nested ? { kind: 'repository', path, substitute: { is: 'repository' } } : { kind: 'removed', path };
  }
  if (stats.isSymbolicLink()) return { kind: 'content', path };
  // git does not track pipes, sockets or devices, so treat them as absent.
  if (!stats.isFile()) return { kind: 'removed', path };
  if (stats.size > MAX_PUSHED_FILE_BYTES) {
    return {
      kind: 'note',
      path,
      substitute: { is: 'too-large', bytes: stats.size },
      note: `${stats.size} bytes, changed at ${stats.mtimeMs}`,
    };
  }
  const readable = await access(full, constants.R_OK).then(
    () => true,
    () => false,
  );
  return readable
    ? { kind: 'content', path }
    : { kind: 'note', path, substitute: { is: 'unreadable' }, note: `unreadable, changed at ${stats.mtimeMs}` };
}

/** Returns a note for a path that git refused, or null if the file is gone or is behind a link. */
async function noteOnRefused(top: string, path: string): Promise<Extract<Entry, { kind: 'note' }> | null> {
  const above = await Promise.all(
    foldersAbove(path).map((folder) => lstat(locateNamedFile(top, folder)).catch(() => null)),
  );
  if (above.some((folder) => folder?.isDirectory() !== true)) return null;
  const stats = await lstat(locateNamedFile(top, path)).catch(() => null);
  if (stats?.isFile() !== true) return null;
  const note = `refused by git, ${stats.size} bytes, changed at ${stats.mtimeMs}`;
  return { kind: 'note', path, substitute: { is: 'refused' }, note };
}

/**
 * Adds files to the index and returns those that git refused. One such file (it vanished, it is being written, it is
 * behind a link, its encoding is wrong) must not cost us the others, so the list is bisected.
 */
async function stage(repository: PrivateRepository, paths: readonly string[]): Promise<readonly string[]> {
  if (paths.length === 0) return [];
  const { exitCode } = await repository.git.answer(
    ['update-index', '-z', '--add', '--remove', '--replace', '--stdin'],
    { input: paths.map((path) => `${path}\0`).join('') },
  );
  if (exitCode === 0) return [];
  if (paths.length === 1) return paths;
  const middle = Math.ceil(paths.length / 2);
  return [...(await stage(repository, paths.slice(0, middle))), ...(await stage(repository, paths.slice(middle)))];
}

async function substituteLine(
  repository: PrivateRepository,
  workspace: Pick<Workspace, 'objectFormat'>,
  entry: Entry,
): Promise<string> {
  switch (entry.kind) {
    case 'content':
      return '';
    case 'note':
      return formatIndexLine(
        '100644',
        await repository.git.text(['hash-object', '-w', '--stdin'], { input: entry.note }),
        entry.path,
      );
    case 'repository':
      return formatIndexLine(
        '160000',
        createHash(workspace.objectFormat).update('a repository inside the repository').digest('hex'),
        entry.path,
      );
    case 'removed':
      return formatIndexLine('0', '0'.repeat(workspace.objectFormat === 'sha256' ? 64 : 40), entry.path);
  }
}
