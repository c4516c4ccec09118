import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectId } from '../../core/evidence.ts';
import { toOneLine } from '../../core/text/phrase.ts';
import type { Log } from '../../ports/machine.ts';
import { createGit, type Git } from '../git.ts';
import { removePipes } from '../pipes.ts';
import { readFollowingLinks, readRegular, writeRegular } from '../regular-files.ts';

/**
 * The place of a checkout; the folders are absolute. `commonFolder` differs from `gitFolder` only in a linked work
 * tree.
 */
export interface WorkspacePlace {
  readonly top: string;
  readonly gitFolder: string;
  readonly commonFolder: string;
  readonly objectFormat: 'sha1' | 'sha256';
}

/** A checkout as git sees it. */
export interface Workspace extends WorkspacePlace {
  readonly shallow: boolean;
  /**
   * Runs git on the workspace's own git directory. Its config may be hostile, so this is only for refs, and never for
   * objects, the index or the work tree.
   */
  readonly git: Git;
  /** Removes named pipes at paths where git reads files, here and in other git directories over the workspace. */
  removePipes(gitDirectories: readonly string[]): Promise<void>;
}

interface WorkspaceOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly log: Pick<Log, 'warning'>;
  /** Git directories from which git also reads objects. */
  readonly borrowed?: readonly string[];
}

/** Finds the work tree around `folder`, or returns git's words if there is no work tree. */
export async function findWorkspace(
  folder: string,
  options: WorkspaceOptions,
): Promise<Workspace | { readonly why: string }> {
  const questions = [
    '--show-toplevel',
    '--absolute-git-dir',
    '--git-common-dir',
    '--is-shallow-repository',
    '--show-object-format',
  ];
  const found = await createGit({ folder, env: options.env }).answer([
    'rev-parse',
    '--path-format=absolute',
    ...questions,
  ]);
  if (found.exitCode !== 0) return { why: found.stderr.trim().split('\n')[0] ?? '' };
  const [top = '', gitFolder = '', commonFolder = '', shallow, format] = found.stdout.toString().split('\n');
  const objectFormat = format === 'sha256' ? 'sha256' : 'sha1';
  const place = { top, gitFolder, commonFolder, objectFormat } as const;
  return { ...createWorkspaceAt(place, options), shallow: shallow === 'true' };
}

/** Returns the workspace at a known place without running git, whose answer an agent may have changed. */
export function createWorkspaceAt(place: WorkspacePlace, { env, log, borrowed = [] }: WorkspaceOptions): Workspace {
  const { top, gitFolder, commonFolder } = place;
  async function removeAll(gitDirectories: readonly string[]): Promise<void> {
    const folders = new Set([gitFolder, commonFolder, ...borrowed, ...gitDirectories]);
    const removed = await removePipes([
      ...[...folders].map((folder) => ({ kind: 'git-directory', folder }) as const),
      { kind: 'work-tree', folder: top },
    ]);
    if (removed.length > 0)
      log.warning(
        `git waited for named pipes in place of its files, so they were removed: ${toOneLine(removed.join(', '), 300)}.`,
      );
  }
  return {
    ...place,
    shallow: false,
    git: createGit({ folder: top, env, variables: { GIT_DIR: gitFolder }, unblock: () => removeAll([]) }),
    removePipes: removeAll,
  };
}

/** Returns the commit id that HEAD names without reading the object, or null if HEAD names none. */
export async function readHead(workspace: Workspace): Promise<ObjectId | null> {
  return await readRef(workspace, 'HEAD');
}

/** Returns the object to which a ref points, or null if the ref does not exist. */
export async function readRef(workspace: Pick<Workspace, 'git'>, ref: string): Promise<ObjectId | null> {
  const { exitCode, stdout } = await workspace.git.answer([
    'rev-parse',
    '--verify',
    '--quiet',
    '--end-of-options',
    ref,
  ]);
  return exitCode === 0 ? stdout.toString().trim() : null;
}

/** Returns the branch that HEAD is on, or null if HEAD is detached. */
export async function readHeadBranch(workspace: Workspace): Promise<string | null> {
  const { exitCode, stdout } = await workspace.git.answer(['symbolic-ref', '--quiet', '--short', 'HEAD']);
  return exitCode === 0 ? stdout.toString().trim() : null;
}

/**
 * Puts HEAD, the branch and the index where a plain checkout of `commit` would have them. Undoes half-done merges and
 * removes stale locks.
 */
export async function setHeadAndIndex(
  workspace: Workspace,
  branch: string,
  at: { readonly commit: ObjectId; readonly indexFile: string },
): Promise<void> {
  const ref = `refs/heads/${branch}`;
  const leftovers = [
    ...Object.keys(operations),
    'MERGE_MSG',
    'MERGE_MODE',
    'AUTO_MERGE',
    'SQUASH_MSG',
    'sequencer',
    'index.lock',
    'HEAD.lock',
  ];
  await Promise.all([
    ...leftovers.map((name) => rm(join(workspace.gitFolder, name), { recursive: true, force: true })),
    ...[`${ref}.lock`, 'packed-refs.lock', 'config.lock'].map((name) =>
      rm(join(workspace.commonFolder, name), { recursive: true, force: true }),
    ),
  ]);
  await workspace.git.text(['update-ref', '--no-deref', ref, at.commit]);
  const there = await readRegular(join(workspace.gitFolder, 'HEAD'));
  if (there?.bytes.toString() !== `ref: ${ref}\n`) await workspace.git.text(['symbolic-ref', 'HEAD', ref]);
  await copyIndex(at.indexFile, join(workspace.gitFolder, 'index'));
}

/**
 * Copies an index and rounds its file time down: git compares that time with those of the entries to find which files
 * may have changed since, and a newer time would hide changes. If `from` does not exist, `to` is removed.
 */
export async function copyIndex(from: string, to: string): Promise<void> {
  const index = await readRegular(from);
  if (index === null) await rm(to, { recursive: true, force: true });
  else await writeRegular(to, index.bytes, { seconds: Math.floor(index.mtimeMs) / 1000 });
}

/** Returns the operation that was left half done, in git's words, or null if none. */
export async function findOperationInProgress(workspace: Workspace): Promise<string | null> {
  for (const [name, operation] of Object.entries(operations)) {
    if (await stat(join(workspace.gitFolder, name)).catch(() => null)) return operation;
  }
  return null;
}

const operations = {
  MERGE_HEAD: 'merge',
  'rebase-merge': 'rebase',
  'rebase-apply': 'rebase',
  CHERRY_PICK_HEAD: 'cherry-pick',
  REVERT_HEAD: 'revert',
  BISECT_LOG: 'bisect',
};

/** Returns the bytes of the workspace's config file, or null if none. */
export async function readConfig(workspace: Workspace): Promise<Buffer | null> {
  return (await readFollowingLinks(join(workspace.commonFolder, 'config')))?.bytes ?? null;
}
