import { lstat, mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectId } from '../../core/evidence.ts';
import { UserError } from '../../errors.ts';
import { createGit, type Git } from '../git.ts';
import { removeAsPipe } from '../pipes.ts';
import { LOST_COMMITS } from '../refusal.ts';
import { readLinked, writeRegular } from '../regular-files.ts';
import { copyIndex, headOf, type Workspace } from './workspace.ts';

/**
 * A git directory of our own over the workspace's files and objects. Everything that reads content goes through it,
 * so the config, hooks, replaced objects, grafts and index flags that an agent may leave in `.git` are simply not seen.
 * Consequence: content filters (git-lfs) do not run; files they apply to are left as they are and never committed.
 */
export interface PrivateRepository {
  readonly git: Git;
  /** Its git directory. */
  readonly folder: string;
  /** An index that follows the work tree; kept from one snapshot to the next, so that only changed files are read. */
  readonly indexFile: string;
  /** Writes config and excludes again: the agent runs as the same user and could have found them. Call before each use. */
  seal(): Promise<void>;
  /** Runs `body` with the path of an index that exists only so long; it begins as a copy of `indexFile`, or with nothing. */
  withIndex<T>(begin: 'copy' | 'empty', body: (indexFile: string) => Promise<T>): Promise<T>;
}

/** What every git directory of ours over the workspace has in common. `hide`: texts that no error may repeat. */
export interface OwnSetup {
  readonly env: NodeJS.ProcessEnv;
  readonly hide: readonly string[];
  readonly config: string;
  readonly excludes: string;
  /** Patterns of a sparse checkout; null: all files are checked out. */
  readonly sparse: string | null;
}

/** `objects`: where its objects are; `borrowed`: where others are that it can read, null: nowhere; `shallow`: commits whose past is not there. */
interface OwnFolders {
  readonly folder: string;
  readonly objects: string;
  readonly borrowed: string | null;
  readonly shallow: readonly ObjectId[];
}

/** The files that a git directory of ours is for. `gitFolder` is named where its objects are lost; `removePipes` removes what git waits for in vain. */
export type OwnTree = Pick<Workspace, 'top' | 'gitFolder' | 'removePipes'>;

/** A private repository, and what another one over the same workspace is made with. */
export interface OwnRepository extends PrivateRepository {
  readonly setup: OwnSetup;
}

/** The one whose objects are the workspace's. Built in a new folder under `workFolder`. */
export async function createPrivateRepository(
  workspace: Workspace,
  { workFolder, env, hide }: Pick<OwnSetup, 'env' | 'hide'> & { readonly workFolder: string },
): Promise<OwnRepository> {
  await mkdir(workFolder, { recursive: true });
  const folder = await mkdtemp(join(workFolder, 'repository-'));
  const sparse = await sparsePatterns(workspace);
  const setup = await wholeSetup(workspace, env);
  const repository = await createOwnRepository(workspace, {
    ...setup,
    hide,
    config: setup.config + (sparse === null ? '' : SPARSE),
    sparse,
    folder,
    objects: join(workspace.commonFolder, 'objects'),
    borrowed: null,
    shallow: [],
  });
  await startIndex(workspace, repository.git, repository.indexFile);
  return repository;
}

/** How a git directory of ours over all files of the workspace is set up. */
export async function wholeSetup(workspace: Workspace, env: NodeJS.ProcessEnv): Promise<OwnSetup> {
  const excludes = (await readLinked(join(workspace.commonFolder, 'info', 'exclude')))?.bytes.toString() ?? '';
  return { env, hide: [], config: await configText(workspace, env), sparse: null, excludes };
}

/** Builds one in `folder`, with an empty index. */
export async function createOwnRepository(tree: OwnTree, options: OwnSetup & OwnFolders): Promise<OwnRepository> {
  const repository = await layOwnRepository(tree, options);
  await repository.seal();
  return repository;
}

/** The same, of which nobody knows yet whether its objects are there. */
export async function layOwnRepository(
  tree: OwnTree,
  { folder, objects, borrowed, shallow, ...setup }: OwnSetup & OwnFolders,
): Promise<OwnRepository> {
  const indexFile = join(folder, 'index');
  const git = createGit({
    folder: tree.top,
    env: setup.env,
    hide: setup.hide,
    variables: {
      GIT_DIR: folder,
      GIT_WORK_TREE: tree.top,
      GIT_INDEX_FILE: indexFile,
      GIT_OBJECT_DIRECTORY: objects,
      ...(borrowed === null ? {} : { GIT_ALTERNATE_OBJECT_DIRECTORIES: borrowed }),
    },
    unblock: () => tree.removePipes([folder]),
  });

  async function seal(): Promise<void> {
    if (!(await stat(objects).catch(() => null))) throw lostObjects(tree);
    await Promise.all([
      writeRegular(join(folder, 'HEAD'), 'ref: refs/heads/none\n'),
      writeRegular(join(folder, 'config'), setup.config),
      writeRegular(join(folder, 'info', 'exclude'), setup.excludes),
      ...(setup.sparse === null ? [] : [writeRegular(join(folder, 'info', 'sparse-checkout'), setup.sparse)]),
      ...(shallow.length === 0 ? [] : [writeRegular(join(folder, 'shallow'), shallow.map((id) => `${id}\n`).join(''))]),
      ...unwanted.map((name) => removeAsPipe(join(folder, name))),
      removeUnlessFile(indexFile),
    ]);
  }

  /** What would lend this repository objects, settings or a past that are not its own. */
  const unwanted = [
    'commondir',
    'config.worktree',
    'info/attributes',
    'info/grafts',
    'index.lock',
    'objects/info/alternates',
    'objects/info/commit-graph',
    'objects/pack/multi-pack-index',
    'packed-refs',
    ...(shallow.length === 0 ? ['shallow'] : []),
  ];

  async function withIndex<T>(begin: 'copy' | 'empty', body: (indexFile: string) => Promise<T>): Promise<T> {
    const scratch = join(await mkdtemp(join(folder, 'scratch-')), 'index');
    try {
      if (begin === 'copy') await copyIndex(indexFile, scratch);
      return await body(scratch);
    } finally {
      await rm(join(scratch, '..'), { recursive: true, force: true });
    }
  }

  await Promise.all([
    mkdir(join(folder, 'refs', 'heads'), { recursive: true }),
    mkdir(join(folder, 'refs', 'ralph'), { recursive: true }),
    mkdir(join(folder, 'info'), { recursive: true }),
  ]);
  return { git, folder, indexFile, seal, withIndex, setup };
}

/** The workspace's index knows when each file was last looked at; where it is missing or unreadable, the work tree is read once. */
async function startIndex(workspace: Workspace, git: Git, indexFile: string): Promise<void> {
  const theirs = join(workspace.gitFolder, 'index');
  await copyIndex(theirs, indexFile);
  const refreshed = await git.answer(['update-index', '-q', '--unmerged', '--refresh']);
  // 1 means "some files differ"; anything else is an index that git cannot read.
  if (refreshed.exitCode === 0 || refreshed.exitCode === 1) return;
  await rm(indexFile, { force: true });
  const head = await headOf(workspace);
  // Not simply empty: an ignored file that is tracked all the same is found by its entry only.
  if (head !== null) await git.answer(['read-tree', head]);
}

/** Without an index the work tree is read anew. */
async function removeUnlessFile(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found?.isFile() === false) await rm(path, { recursive: true, force: true });
}

/** What a git directory stands on is gone: what was not pushed cannot be saved. */
export function lostObjects({ gitFolder }: Pick<Workspace, 'gitFolder'>): UserError {
  return new UserError('infrastructure', `${LOST_COMMITS} (The git directory was ${gitFolder}.)`);
}

/** In a section of its own: a file of settings may have several of one name. */
const SPARSE = '[core]\n\tsparseCheckout = true\n';

/** Which files the job checked out, as patterns; null: all. */
async function sparsePatterns({ gitFolder, commonFolder }: Workspace): Promise<string | null> {
  const patterns = await readLinked(join(gitFolder, 'info', 'sparse-checkout'));
  if (patterns === null) return null;
  const settings = await Promise.all(
    [join(commonFolder, 'config'), join(gitFolder, 'config.worktree')].map((path) => readLinked(path)),
  );
  const isSparse = settings.some((file) => /^\s*sparsecheckout\s*=\s*true\s*$/im.test(file?.bytes.toString() ?? ''));
  return isSparse ? patterns.bytes.toString() : null;
}

/** Settings of the workspace that change what content means, not what runs. Read before any agent has run. */
async function configText(workspace: Workspace, env: NodeJS.ProcessEnv): Promise<string> {
  const names = ['autocrlf', 'eol', 'filemode', 'symlinks', 'ignorecase', 'precomposeunicode'];
  const git = createGit({ folder: workspace.top, env, variables: { GIT_DIR: workspace.gitFolder } });
  const listed = await git.answer([
    'config',
    '--local',
    '--no-includes',
    '-z',
    '--get-regexp',
    `^core\\.(${names.join('|')})$`,
  ]);
  const lines = listed.stdout
    .toString()
    .split('\0')
    .flatMap((record) => {
      const [, name, value] = /^core\.([a-z]+)\n(true|false|input|lf|crlf|native)$/.exec(record) ?? [];
      return name && value ? [`\t${name} = ${value}`] : [];
    });
  const format = workspace.objectFormat === 'sha256' ? '[extensions]\n\tobjectformat = sha256\n' : '';
  return `[core]\n\trepositoryformatversion = ${format ? 1 : 0}\n\tbare = false\n\tsafecrlf = false\n${lines.map((line) => `${line}\n`).join('')}${format}`;
}
