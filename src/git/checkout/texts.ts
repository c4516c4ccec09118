import { lstat, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import type { ObjectId } from '../../core/evidence.ts';
import { createPathMatcher, type Folder } from '../../core/folder.ts';
import { UserError } from '../../errors.ts';
import type { FileTexts } from '../../ports/repository.ts';
import { type Git, withBareRepository } from '../git.ts';
import { withObjects } from '../objects.ts';
import { readFollowingLinks } from '../regular-files.ts';
import { type BaseOnDisk, isBaseBranchName, mayHavePaths } from './on-disk.ts';
import { readHeadBranch, findWorkspace, readHead, readRef, type Workspace } from './workspace.ts';

/** Maximum size of a text file in bytes; longer lists are not written by hand. */
const MAX_TASK_FILE_BYTES = 1024 * 1024;

/** Maximum number of files that a pattern may match. */
const MAX_MATCHED_FILES = 100;

/**
 * Plain text files of a commit by path, and the paths that were left out: `unread` files, and `links` at a path or in
 * the folders of a path.
 */
interface CommitTexts {
  readonly texts: FileTexts;
  readonly unread: FileTexts;
  readonly links: FileTexts;
}

const LINK = 'is a symbolic link, which is not followed: put a file there';

/** The files of the base branch to read, and the checkout that has them. */
interface BaseQuestion extends BaseOnDisk {
  readonly env: NodeJS.ProcessEnv;
}

/**
 * The texts of the base branch. `unknown`: the checkout has files of these names but lacks the commit of the base
 * branch.
 */
export type BaseTexts =
  | { readonly kind: 'texts'; readonly read: Pick<CommitTexts, 'texts' | 'unread'> }
  | { readonly kind: 'unknown' };

const NOTHING: BaseTexts = { kind: 'texts', read: { texts: {}, unread: {} } };

/**
 * Reads text files of the base branch from the checkout's objects, before anything else is done with it. Fetches
 * nothing.
 */
export async function readBaseTexts(question: BaseQuestion): Promise<BaseTexts> {
  const { folder, paths, env } = question;
  const isOnDisk = await mayHavePaths(folder, paths);
  const workspace = await findWorkspace(folder, { env, log: { warning: () => undefined } });
  if ('why' in workspace) return NOTHING;
  const commit = await baseCommit(workspace, question);
  if (commit === null) return isOnDisk ? { kind: 'unknown' } : NOTHING;
  const workFolder = await mkdtemp(join(tmpdir(), 'ralph-base-'));
  try {
    const shallow = (await readFollowingLinks(join(workspace.commonFolder, 'shallow')))?.bytes.toString() ?? '';
    const borrow = { objects: join(workspace.commonFolder, 'objects'), shallow };
    // Use our own repository, which ignores the checkout's config.
    const { texts, unread, links } = await withBareRepository({ workFolder, env, borrow }, (git) =>
      readCommitTexts(git, commit, paths),
    );
    const asked = Object.entries(links).filter(([path]) => paths.includes(path));
    return { kind: 'texts', read: { texts, unread: { ...unread, ...Object.fromEntries(asked) } } };
  } finally {
    await rm(workFolder, { recursive: true, force: true });
  }
}

/** Returns the tip of the base branch as the checkout knows it, or null if the checkout does not know it. */
async function baseCommit(workspace: Workspace, question: BaseQuestion): Promise<ObjectId | null> {
  const branch = await readHeadBranch(workspace);
  if (branch !== null && isBaseBranchName(branch, question)) return readHead(workspace);
  return question.baseBranch === null ? null : readRef(workspace, `refs/remotes/origin/${question.baseBranch}`);
}

/**
 * Reads files of a commit from its objects: runs no filter and follows no link. `*` in a path stays within its folder,
 * and `**` at its end matches everything below it.
 */
export async function readCommitTexts(git: Git, commit: ObjectId, paths: readonly string[]): Promise<CommitTexts> {
  const { files: listed, links } = await listPathEntries(git, commit, paths);
  const texts = new Map<ObjectId, string>();
  const sizes = await withObjects(git, async (objects) => {
    const found = await objects.sizesOf([...new Set(listed.values())]);
    await objects.each(new Map([...found].filter(([, size]) => size <= MAX_TASK_FILE_BYTES)), (id, content) => {
      if (!content.includes(0)) texts.set(id, content.toString());
    });
    return found;
  });
  const read = [...listed].map(([path, id]) => ({
    path,
    text: texts.get(id),
    why:
      (sizes.get(id) ?? 0) > MAX_TASK_FILE_BYTES
        ? 'is larger than 1 MiB'
        : 'contains NUL bytes, so it is not UTF-8 text',
  }));
  return {
    texts: Object.fromEntries(read.flatMap(({ path, text }) => (text === undefined ? [] : [[path, text]]))),
    unread: Object.fromEntries(read.flatMap(({ path, text, why }) => (text === undefined ? [[path, why]] : []))),
    links: Object.fromEntries(links.map((path) => [path, LINK])),
  };
}

/** Returns the entries that the paths name: object ids of regular files by path, and links. */
async function listPathEntries(
  git: Git,
  commit: ObjectId,
  paths: readonly string[],
): Promise<{ readonly files: ReadonlyMap<string, ObjectId>; readonly links: readonly string[] }> {
  if (paths.length === 0) return { files: new Map(), links: [] };
  const isWanted = createPathMatcher(paths);
  // `ls-tree` does not support patterns, so list the whole folder of a pattern.
  const asked = paths.map((path) => (path.includes('*') ? `${posix.dirname(path)}/` : path));
  const below = paths.some((path) => path.endsWith('/**')) ? ['-r'] : [];
  // In a recursive listing, the parent folders could include the whole repository, so leave them out.
  const onTheWay = below.length > 0 ? new Set<string>() : new Set(paths.flatMap(foldersAbove));
  const records = await git.records([
    ...['ls-tree', ...below, '-z', '--full-tree', commit, '--'],
    ...new Set([...onTheWay, ...asked]),
  ]);
  const entries = records.flatMap((record) => {
    const [, mode = '', id = '', path = ''] = /^(100644|100755|120000) blob ([0-9a-f]+)\t([^]*)$/.exec(record) ?? [];
    return [{ isLink: mode === '120000', id, path }];
  });
  const files = entries.filter(({ isLink, path }) => !isLink && isWanted(path));
  const links = entries.filter(({ isLink, path }) => isLink && (isWanted(path) || onTheWay.has(path)));
  return {
    files: new Map(files.slice(0, MAX_MATCHED_FILES).map(({ path, id }) => [path, id])),
    links: links.slice(0, MAX_MATCHED_FILES).map(({ path }) => path),
  };
}

/**
 * Returns those of the names that exist in a commit. Names of folders end with a slash; `*` matches any part of the
 * last name of a path.
 */
export async function findNamesIn(git: Git, commit: ObjectId, names: readonly string[]): Promise<readonly string[]> {
  const isWanted = createPathMatcher(names);
  const asked = names.map((name) => (name.includes('*') ? `${posix.dirname(name)}/` : name.replace(/\/$/, '')));
  const records = await git.records(['ls-tree', '-z', '--full-tree', commit, '--', ...new Set(asked)]);
  const found = records.flatMap((record) => {
    const [, type = '', path = ''] = /^\d+ (\w+) [0-9a-f]+\t([^]*)$/.exec(record) ?? [];
    return type === 'tree' ? [`${path}/`] : [path];
  });
  return found.filter(isWanted).slice(0, MAX_MATCHED_FILES);
}

/** Returns the folders above a path: `a` and `a/b` for `a/b/c`. */
function foldersAbove(path: string): readonly string[] {
  const above = posix.dirname(path);
  return above === '.' ? [] : [...foldersAbove(above), above];
}

/**
 * Returns the reason why the input working-directory cannot be used in the checkout at `top`, as a sentence for a
 * person, or null if it can be used. Allows only folders of the repository itself, never through a link.
 */
export async function findWorkingDirectoryProblem(top: string, folder: Folder): Promise<string | null> {
  if (folder === '') return null;
  const steps = folder.split('/');
  for (const index of steps.keys()) {
    const path = steps.slice(0, index + 1).join('/');
    const stats = await lstat(join(top, path)).catch(() => null);
    const why = stats === null ? 'does not exist' : folderProblem(stats);
    if (why !== null)
      return `\`working-directory\` is ${JSON.stringify(folder)}, but ${path === folder ? 'that' : JSON.stringify(path)} ${why} in the checkout in ${top}. Name a folder of the repository, as a path from its root.`;
    if ((await lstat(join(top, path, '.git')).catch(() => null)) !== null)
      return `\`working-directory\` is ${JSON.stringify(folder)}, but ${JSON.stringify(path)} is a repository of its own (a submodule, for example), where nothing can be committed. Name a folder of the repository itself.`;
  }
  return null;
}

/** Throws a UserError if the folder cannot be used. */
export async function checkWorkingDirectory(top: string, folder: Folder): Promise<void> {
  const problem = await findWorkingDirectoryProblem(top, folder);
  if (problem !== null) throw new UserError('configuration', problem);
}

/** Throws a UserError if a commit of a branch does not have the folder. */
export async function requireFolder(
  git: Git,
  { branch, tip }: { readonly branch: string; readonly tip: string },
  folder: Folder,
): Promise<void> {
  if (folder === '') return;
  const found = await git.answer(['cat-file', '-t', `${tip}:${folder}`]);
  if (found.exitCode === 0 && found.stdout.toString().trim() === 'tree') return;
  throw new UserError(
    'configuration',
    `\`working-directory\` is ${JSON.stringify(folder)}, but that is not a folder on the branch ${branch}. Name a folder of the repository, as a path from its root.`,
  );
}

function folderProblem(found: { isSymbolicLink(): boolean; isDirectory(): boolean }): string | null {
  if (found.isSymbolicLink()) return 'is a link, which is not followed,';
  return found.isDirectory() ? null : 'is not a folder';
}
