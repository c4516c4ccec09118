import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, chmod, lstat, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ObjectId } from '../../../core/evidence.ts';
import { fromRoot, type Folder } from '../../../core/folder.ts';
import { holdsPrd, ROOT_PRD } from '../../../core/tasks/files/form/root-prd.ts';
import { oneLine } from '../../../core/text/one-line.ts';
import { sentence } from '../../../core/text/sentence.ts';
import type { StandIn } from '../../../core/work-tree/stand-in.ts';
import { UserError } from '../../../errors.ts';
import { lastWords } from '../../git.ts';
import { changesBetween, indexLine } from '../../objects.ts';
import type { PrivateRepository } from '../private-repository.ts';
import { isLoopState, notesIn } from '../../inspection/protected-paths.ts';
import type { Workspace } from '../workspace.ts';

/** Content of the work tree. `standIns`: paths that are in the tree under a substitute for their own content. */
export interface TreeContent {
  readonly tree: ObjectId;
  readonly standIns: ReadonlyMap<string, StandIn>;
}

/** GitHub takes no larger file; hashing one would only cost time. */
const LARGEST_FILE_BYTES = 100 * 1024 * 1024;

/**
 * Records the work tree as a tree object: tracked and untracked files, without ignored ones and the loop's own state.
 * `taken`: brings objects that need not be written again here, so files are only taken in after it.
 * Made of `ls-files` and `update-index` because `git add` starts git inside nested repositories, with their config.
 */
export async function readWorkTree(
  repository: PrivateRepository,
  workspace: Workspace,
  taken: Promise<unknown> | null = null,
): Promise<TreeContent> {
  await repository.seal();
  // One call looks at every file once: changed (C), removed (R; listed as C, too) and untracked ones (?).
  const listed = await repository.git.records([
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
  await stage(
    repository,
    entries.filter((entry) => entry.kind === 'content').map((entry) => entry.path),
  );
  const lines = await Promise.all(entries.map((entry) => substituteLine(repository, workspace, entry)));
  if (lines.join('') !== '')
    await repository.git.text(['update-index', '-z', '--add', '--replace', '--index-info'], { input: lines.join('') });
  const standIns = new Map(
    entries.flatMap((entry) => ('standIn' in entry ? [[entry.path, entry.standIn] as const] : [])),
  );
  return { tree: await repository.git.text(['write-tree']), standIns };
}

/** A file may change between the look at it and git's: then git puts nothing back at all. */
const PUT_BACK_ATTEMPTS = 3;

/** Makes the work tree what `wanted` says, but for ignored files; returns the paths that differed. Throws UserError when it cannot. */
export async function putBackWorkTree(
  repository: PrivateRepository,
  workspace: Workspace,
  wanted: ObjectId,
): Promise<readonly string[]> {
  const found = new Set<string>();
  let words = '';
  for (let attempt = 1; ; attempt += 1) {
    const { tree } = await readWorkTree(repository, workspace);
    const left = (await changesBetween(repository.git, wanted, tree)).map(({ path }) => path);
    if (left.length === 0) return [...found].sort();
    if (attempt > PUT_BACK_ATTEMPTS)
      throw new UserError(
        'infrastructure',
        `What verify or the agent left in the work tree (${oneLine(left.slice(0, 3).join(', '), 300)}) cannot be put back as it was, so the run ends here. ${words === '' ? '' : `git says: ${sentence(words)} `}Let them leave files that may be removed, or have git ignore them.`,
      );
    for (const path of left) found.add(path);
    // A folder that may not be written, such as one of a package cache, keeps its files.
    if (attempt > 1) await allowWriting(workspace, left);
    // A file that was written again as it was differs by its time alone, and git would not touch it.
    await repository.git.answer(['update-index', '-q', '--refresh']);
    const { exitCode, stderr } = await repository.git.answer(['read-tree', '-m', '-u', tree, wanted]);
    words = exitCode === 0 && stderr === '' ? '' : lastWords(stderr);
  }
}

async function allowWriting({ top }: Workspace, paths: readonly string[]): Promise<void> {
  const folders = new Set(paths.flatMap(foldersAbove));
  // From the outside in: what is below a closed folder cannot even be looked at.
  for (const folder of [...folders].sort()) {
    const found = await lstat(join(top, folder)).catch(() => null);
    if (found?.isDirectory()) await chmod(join(top, folder), found.mode | 0o700).catch(() => undefined);
  }
}

function foldersAbove(path: string): readonly string[] {
  const above = dirname(path);
  return above === '.' ? [] : [...foldersAbove(above), above];
}

/** The tree without the agent's notes: one that only ever writes notes would keep the circuit closed. */
export async function withoutNotes(repository: PrivateRepository, folder: Folder, tree: ObjectId): Promise<ObjectId> {
  const notes = notesIn(folder).map((path) => `:(top,glob)${path}`);
  return await repository.withIndex('empty', async (indexFile) => {
    const variables = { GIT_INDEX_FILE: indexFile };
    await repository.git.text(['read-tree', tree], { variables });
    const found = await repository.git.records(['ls-files', '-z', '--cached', '--', ...notes], { variables });
    const other = fromRoot(folder, ROOT_PRD);
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

/** What is called prd.json and is no list of tasks is content like any other. */
async function isPrd({ git }: PrivateRepository, tree: ObjectId, path: string): Promise<boolean> {
  const size = await git.answer(['cat-file', '-s', `${tree}:${path}`]);
  if (size.exitCode !== 0 || Number(size.stdout.toString()) > LARGEST_PRD_BYTES) return false;
  const { exitCode, stdout } = await git.answer(['cat-file', 'blob', `${tree}:${path}`]);
  return exitCode === 0 && holdsPrd(stdout.toString());
}

/** A longer one is not read as a list either. */
const LARGEST_PRD_BYTES = 1024 * 1024;

/** Where notes are, if there are any: files, or the folders of those that a pattern names. */
export function notePlaces(folder: Folder): readonly string[] {
  return [
    ...new Set(notesIn(folder).map((path) => (path.includes('*') ? dirname(path).replace(/\/\*\*$/, '') : path))),
  ];
}

/** How a path gets into the tree: with its content (or its absence), with a note in place of its content, as a foreign repository, or not at all. */
type Entry =
  | { readonly kind: 'content'; readonly path: string }
  | { readonly kind: 'note'; readonly path: string; readonly standIn: StandIn; readonly note: string }
  | { readonly kind: 'repository'; readonly path: string; readonly standIn: StandIn }
  | { readonly kind: 'removed'; readonly path: string };

async function entryFor(top: string, path: string): Promise<Entry> {
  const full = join(top, path);
  const found = await lstat(full).catch(() => null);
  if (!found) return { kind: 'content', path };
  if (found.isDirectory()) {
    // Either a repository inside the repository, or a folder where a file used to be (its files are listed by themselves).
    const nested = await stat(join(full, '.git')).catch(() => null);
    return nested ? { kind: 'repository', path, standIn: { is: 'repository' } } : { kind: 'removed', path };
  }
  if (!found.isFile()) return { kind: 'content', path };
  if (found.size > LARGEST_FILE_BYTES) {
    return {
      kind: 'note',
      path,
      standIn: { is: 'too-large', bytes: found.size },
      note: `${found.size} bytes, changed at ${found.mtimeMs}`,
    };
  }
  const readable = await access(full, constants.R_OK).then(
    () => true,
    () => false,
  );
  return readable
    ? { kind: 'content', path }
    : { kind: 'note', path, standIn: { is: 'unreadable' }, note: `unreadable, changed at ${found.mtimeMs}` };
}

/** Takes files into the index. One that git cannot take (it vanished, it is being written, it lies behind a link) must not cost us the others: bisect. */
async function stage(repository: PrivateRepository, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return;
  const { exitCode } = await repository.git.answer(
    ['update-index', '-z', '--add', '--remove', '--replace', '--stdin'],
    { input: paths.map((path) => `${path}\0`).join('') },
  );
  if (exitCode === 0 || paths.length === 1) return;
  const middle = Math.ceil(paths.length / 2);
  await stage(repository, paths.slice(0, middle));
  await stage(repository, paths.slice(middle));
}

async function substituteLine(repository: PrivateRepository, workspace: Workspace, entry: Entry): Promise<string> {
  switch (entry.kind) {
    case 'content':
      return '';
    case 'note':
      return indexLine(
        '100644',
        await repository.git.text(['hash-object', '-w', '--stdin'], { input: entry.note }),
        entry.path,
      );
    case 'repository':
      return indexLine(
        '160000',
        createHash(workspace.objectFormat).update('a repository inside the repository').digest('hex'),
        entry.path,
      );
    case 'removed':
      return indexLine('0', '0'.repeat(workspace.objectFormat === 'sha256' ? 64 : 40), entry.path);
  }
}
