import { lstat, mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import type { ObjectId } from '../../core/evidence.ts';
import { UserError } from '../../errors.ts';
import { createGit, type Git } from '../git.ts';
import { removeAndUnblock } from '../pipes.ts';
import { LOST_COMMITS } from '../refusal.ts';
import { readFollowingLinks, writeRegular } from '../regular-files.ts';
import { copyIndex, readHead, type Workspace } from './workspace.ts';
import { listFirstNames, toOneLine } from '../../core/text/phrase.ts';

/**
 * Our own git directory over the workspace's files and objects. All content is read through it, so config, hooks,
 * replaced objects, grafts and index flags that an agent may leave in `.git` have no effect. Consequence: content
 * filters (git-lfs) do not run; files to which they apply are left as they are and never committed.
 */
export interface PrivateRepository {
  readonly git: Git;
  /** The repository's git directory. */
  readonly folder: string;
  /** An index that follows the work tree; kept from one snapshot to the next, so that only changed files are read. */
  readonly indexFile: string;
  /**
   * Writes config and excludes again, because an agent that runs as the same user may have changed them. Must be called
   * before each use.
   */
  seal(): Promise<void>;
  /** Runs `body` with the path of a temporary index that begins as a copy of `indexFile` or empty. */
  withIndex<T>(begin: 'copy' | 'empty', body: (indexFile: string) => Promise<T>): Promise<T>;
}

/** The setup that all our git directories over the workspace share. Errors never contain a text of `hide`. */
export interface OwnSetup {
  readonly env: NodeJS.ProcessEnv;
  readonly hide: readonly string[];
  readonly config: string;
  readonly excludes: string;
  /** Patterns of a sparse checkout, or null if all files are checked out. */
  readonly sparse: string | null;
}

/**
 * The folders of a repository. `objects` contains its objects, `borrowed` are further folders that it can read, and
 * `shallow` are commits whose past is missing.
 */
interface OwnFolders {
  readonly folder: string;
  readonly objects: string;
  readonly borrowed: readonly string[];
  readonly shallow: readonly ObjectId[];
}

/**
 * The files over which one of our git directories works. `gitFolder` is named in errors if its objects are lost.
 * `removePipes` removes pipes for which git would wait in vain.
 */
export type OwnTree = Pick<Workspace, 'top' | 'gitFolder' | 'removePipes'>;

/** A private repository, and the setup for making others over the same workspace. */
export interface OwnRepository extends PrivateRepository {
  readonly setup: OwnSetup;
}

/** Creates the repository that uses the workspace's objects, in a new folder under `workFolder`. */
export async function createPrivateRepository(
  workspace: Workspace,
  { workFolder, env, hide }: Pick<OwnSetup, 'env' | 'hide'> & { readonly workFolder: string },
): Promise<OwnRepository> {
  await mkdir(workFolder, { recursive: true });
  const folder = await mkdtemp(join(workFolder, 'repository-'));
  const sparse = await sparsePatterns(workspace);
  const setup = await setupOfWholeWorkspace(workspace, { env, treesIn: workFolder });
  const repository = await createOwnRepository(workspace, {
    ...setup,
    hide,
    config: setup.config + (sparse === null ? '' : SPARSE),
    sparse,
    folder,
    objects: join(workspace.commonFolder, 'objects'),
    borrowed: [],
    shallow: [],
  });
  await startIndex(workspace, repository.git, repository.indexFile);
  return repository;
}

/**
 * Returns the setup of our git directories over all files of the workspace, and over trees on the file system of
 * `treesIn`.
 */
export async function setupOfWholeWorkspace(
  workspace: Workspace,
  { env, treesIn }: { readonly env: NodeJS.ProcessEnv; readonly treesIn: string },
): Promise<OwnSetup> {
  const settings = await readContentSettings(workspace, env);
  const ofPerson = settings.findLast(({ name }) => name === 'excludesfile')?.value ?? '';
  const files = [ofPerson, join(workspace.commonFolder, 'info', 'exclude')].filter(isAbsolute);
  const texts = await Promise.all(files.map((path) => readFollowingLinks(path)));
  const excludes = texts.map((text) => text?.bytes.toString() ?? '').join('\n');
  return { env, hide: [], config: await configText(settings, workspace, treesIn), sparse: null, excludes };
}

/** Creates a repository in `folder`, with an empty index. */
export async function createOwnRepository(tree: OwnTree, options: OwnSetup & OwnFolders): Promise<OwnRepository> {
  const repository = await createUncheckedRepository(tree, options);
  await repository.seal();
  return repository;
}

/** Creates the repository without checking that its objects exist. */
export async function createUncheckedRepository(
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
      ...buildObjectSources(borrowed),
    },
    unblock: () => tree.removePipes([folder]),
  });

  async function seal(): Promise<void> {
    if (!(await stat(objects).catch(() => null))) throw createLostObjectsError(tree);
    await Promise.all([
      writeRegular(join(folder, 'HEAD'), 'ref: refs/heads/none\n'),
      writeRegular(join(folder, 'config'), setup.config),
      writeRegular(join(folder, 'info', 'exclude'), setup.excludes),
      ...(setup.sparse === null ? [] : [writeRegular(join(folder, 'info', 'sparse-checkout'), setup.sparse)]),
      ...(shallow.length === 0 ? [] : [writeRegular(join(folder, 'shallow'), shallow.map((id) => `${id}\n`).join(''))]),
      ...unwanted.map((name) => removeAndUnblock(join(folder, name))),
      removeUnlessFile(indexFile),
    ]);
  }

  /** Entries that would give this repository objects, settings or history from elsewhere. */
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

/**
 * Copies the workspace's index, which records when each file was last read. If it is missing or unreadable, reads the
 * work tree once.
 */
async function startIndex(workspace: Workspace, git: Git, indexFile: string): Promise<void> {
  const theirs = join(workspace.gitFolder, 'index');
  await copyIndex(theirs, indexFile);
  const refreshed = await git.answer(['update-index', '-q', '--unmerged', '--refresh']);
  // 1 means "some files differ". Any other code means an index that git cannot read, so make a new one.
  if (refreshed.exitCode === 0 || refreshed.exitCode === 1) return;
  await rm(indexFile, { force: true });
  const head = await readHead(workspace);
  // Do not start with an empty index, because only an index entry shows that an ignored file is tracked.
  if (head !== null) await git.answer(['read-tree', head]);
}

/** Removes the entry unless it is a file; without an index, the work tree is read again. */
async function removeUnlessFile(path: string): Promise<void> {
  const stats = await lstat(path).catch(() => null);
  if (stats?.isFile() === false) await rm(path, { recursive: true, force: true });
}

/** Returns the error for a git directory that lost its objects: commits that were not pushed cannot be saved. */
export function createLostObjectsError({ gitFolder }: Pick<Workspace, 'gitFolder'>): UserError {
  return new UserError('infrastructure', `${LOST_COMMITS} (The git directory was ${gitFolder}.)`);
}

/** A separate section is safe: a config file may contain several sections of one name. */
const SPARSE = '[core]\n\tsparseCheckout = true\n';

/** Returns the patterns of the files that the job checked out, or null if it checked out all. */
async function sparsePatterns({ gitFolder, commonFolder }: Workspace): Promise<string | null> {
  const patterns = await readFollowingLinks(join(gitFolder, 'info', 'sparse-checkout'));
  if (patterns === null) return null;
  const settings = await Promise.all(
    [join(commonFolder, 'config'), join(gitFolder, 'config.worktree')].map((path) => readFollowingLinks(path)),
  );
  const isSparse = settings.some((file) => /^\s*sparsecheckout\s*=\s*true\s*$/im.test(file?.bytes.toString() ?? ''));
  return isSparse ? patterns.bytes.toString() : null;
}

interface ContentSetting {
  readonly name: string;
  readonly value: string;
}

/**
 * Returns the settings in force in the workspace that change the meaning of content, but start no program: also those
 * of the person whose machine it is, by which git made the checkout. They are read before any agent has run.
 */
async function readContentSettings(workspace: Workspace, env: NodeJS.ProcessEnv): Promise<readonly ContentSetting[]> {
  const names = ['autocrlf', 'eol', 'filemode', 'symlinks', 'precomposeunicode', 'excludesfile'];
  const variables = { GIT_DIR: workspace.gitFolder };
  const git = createGit({ folder: workspace.top, env, variables, configuration: 'own' });
  const listed = await git.answer(['config', '-z', '--get-regexp', `^core\\.(${names.join('|')})$`]);
  return listed.stdout
    .toString()
    .split('\0')
    .flatMap((record) => {
      // A key without a value is true.
      const [, name, value = 'true'] = /^core\.([a-z]+)(?:\n([^]*))?$/.exec(record) ?? [];
      return name === undefined ? [] : [{ name, value: name === 'excludesfile' ? withHome(value, env) : value }];
    });
}

/** Returns a path of git's config with the home folder in place of `~/`. */
function withHome(path: string, env: NodeJS.ProcessEnv): string {
  return path.replace(/^~(?=\/)/, () => env['HOME'] ?? '~');
}

/** Returns the config of our git directories with these settings. */
async function configText(
  settings: readonly ContentSetting[],
  { objectFormat }: Workspace,
  treesIn: string,
): Promise<string> {
  const lines = settings.flatMap(({ name, value }) =>
    /^(?:true|false|input|lf|crlf|native)$/.test(value) ? [`\t${name} = ${value}`] : [],
  );
  // The checkout may be on another file system, where git took names that differ only in case for one.
  if (await isCaseBlind(treesIn)) lines.push('\tignorecase = true');
  const format = objectFormat === 'sha256' ? '[extensions]\n\tobjectformat = sha256\n' : '';
  return `[core]\n\trepositoryformatversion = ${format ? 1 : 0}\n\tbare = false\n\tsafecrlf = false\n${lines.map((line) => `${line}\n`).join('')}${format}`;
}

/** Returns true if the file system of a folder takes names that differ only in case for one. */
async function isCaseBlind(folder: string): Promise<boolean> {
  const name = basename(folder);
  const other = name === name.toUpperCase() ? name.toLowerCase() : name.toUpperCase();
  return other !== name && (await lstat(join(dirname(folder), other)).catch(() => null)) !== null;
}

/**
 * Returns the variables by which git also reads objects of other folders, regardless of the characters in their paths.
 */
export function buildObjectSources(folders: readonly string[]): NodeJS.ProcessEnv {
  const quoted = folders.map((path) => (path.includes(':') ? `"${path.replaceAll(/["\\]/g, '\\$&')}"` : path));
  return folders.length === 0 ? {} : { GIT_ALTERNATE_OBJECT_DIRECTORIES: quoted.join(':') };
}

/** Throws UserError if the second commit adds files that the rules in the work tree ignore, or if git cannot tell. */
export async function refuseIgnoredFiles(
  repository: PrivateRepository,
  branch: string,
  commits: readonly [ObjectId, ObjectId],
): Promise<void> {
  const { git } = repository;
  const listed = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--diff-filter=A', ...commits];
  const added = await git.names(listed);
  const input = added.join('\0');
  const { exitCode, stdout } = await git.answer(['check-ignore', '--no-index', '-z', '--stdin'], { input });
  if (exitCode === 1) return;
  const ignored =
    exitCode === 0 ? stdout.toString().split('\0').filter(Boolean) : await ignoredOf(repository, added, commits[1]);
  if (ignored.length === 0) return;
  const names = toOneLine(listFirstNames(ignored), 300);
  throw new UserError('infrastructure', `Branch ${branch} has files that git ignores here: ${names}.`);
}

/** Returns the paths that git ignores. Unlike `check-ignore`, this answers for paths below a link of the work tree. */
async function ignoredOf(
  { git, withIndex }: PrivateRepository,
  paths: readonly string[],
  commit: ObjectId,
): Promise<readonly string[]> {
  return await withIndex('empty', async (indexFile) => {
    const variables = { GIT_INDEX_FILE: indexFile };
    await git.text(['read-tree', commit], { variables });
    const ignored = await git.names(['ls-files', '-z', '--cached', '--ignored', '--exclude-standard'], { variables });
    return ignored.filter((path) => paths.includes(path));
  });
}
