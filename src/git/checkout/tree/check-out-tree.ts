import { access, chmod, cp, mkdir } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import type { ObjectId } from '../../../core/evidence.ts';
import { completeSentence } from '../../../core/text/phrase.ts';
import { MINUTE_MS } from '../../../core/countdown.ts';
import { getErrorMessage, UserError } from '../../../errors.ts';
import type { Log } from '../../../ports/machine.ts';
import type { AgentSandbox } from '../../../ports/agent-sandbox.ts';
import { collectOutput, describeCollected } from '../../../processes/collect-output.ts';
import { buildTrustedEnvironment, findTrustedProgram } from '../../../processes/trusted-programs.ts';
import { removeCredentials, type FoundCredentials } from '../credentials/credentials.ts';
import { createGit, lastLinesOfError, type Git } from '../../git.ts';
import { isLoopState, LOOP_STATE } from '../../inspection/protected-paths.ts';
import { encodeNames } from '../../names.ts';
import { readFollowingLinks, writeRegular } from '../../regular-files.ts';
import { removeTree } from '../../remove-tree.ts';
import { mapPathToCopy, type MovedFolder } from '../../../core/clean-clone/searched-upward.ts';
import { movePaths } from '../moved-paths.ts';
import { locateTreeFolder, type TreeKind } from './tree-folder.ts';
import type { OwnSetup, PrivateRepository } from '../private-repository.ts';
import { readConfig, type Workspace, type WorkspacePlace } from '../workspace.ts';

/** The places of trees, and the sources from which they are made. The checkout is only read. */
export interface TreeOptions {
  readonly workspace: Workspace;
  /** The repository over the checkout's own objects and files. */
  readonly repository: PrivateRepository & { readonly setup: OwnSetup };
  /** Credentials in the checkout's files: they are removed from every tree. */
  readonly credentials: FoundCredentials;
  readonly workFolder: string;
  readonly env: NodeJS.ProcessEnv;
  /** The agent's sandbox, whose user works in the trees, or null if this process's user does. */
  readonly agentSandbox: Pick<AgentSandbox, 'folders' | 'takeBack'> | null;
  /** Aborting it ends the commands that still run. */
  readonly signal: AbortSignal;
  readonly log: Pick<Log, 'warning'>;
}

/** A commit to check out on a branch; if `branch` is null, on none. */
export interface CommitToCheckOut {
  readonly kind: TreeKind;
  readonly commit: ObjectId;
  readonly branch: string | null;
  /** The base branch and its tip, or null if the tree has only the refs of the checkout. */
  readonly base: { readonly branch: string; readonly commit: ObjectId } | null;
  /** True if files that git ignores in the checkout are copied as well, with submodules and files of git-lfs. */
  readonly hasIgnored: boolean;
  /** Folders of objects in which the tree finds its commits; nothing in the tree can write to them. */
  readonly objects: readonly string[];
  /**
   * The commit from which a file must differ in order to be written into a sparse checkout regardless of the patterns.
   */
  readonly sparseSince: ObjectId;
}

/**
 * Maximum time of one copy, in ms: packages of a large project take a few hundred megabytes in tens of thousands of
 * files.
 */
const COPY_MS = 5 * MINUTE_MS;

/**
 * Checks out a tree as the job did: the files of a commit (by the patterns of a sparse checkout), files that
 * git ignores in the checkout (whose paths into the checkout lead into the tree), submodules and files of git-lfs,
 * refs, and settings without credentials. The previous tree is removed. The new one belongs to this user until it is
 * given to the sandbox's user.
 */
export async function checkOutTree(options: TreeOptions, wanted: CommitToCheckOut): Promise<WorkspacePlace> {
  const { workspace, repository, credentials, env, agentSandbox, signal, log } = options;
  const top = locateTreeFolder(wanted.kind, { ...options, top: workspace.top });
  const parent = dirname(top);
  await agentSandbox?.takeBack(top);
  await removeTree(parent);
  const gitFolder = join(top, '.git');
  const moves = [
    { from: workspace.gitFolder, to: gitFolder },
    { from: workspace.commonFolder, to: gitFolder },
    { from: workspace.top, to: top },
  ];
  await mkdir(top, { recursive: true });
  // Open the folders to the sandbox's user, regardless of the umask of this process.
  if (agentSandbox !== null) for (const folder of [parent, top]) await chmod(folder, 0o755);
  const own = wanted.branch === null ? null : `refs/heads/${wanted.branch}`;
  const tip = wanted.base === null ? null : `refs/remotes/origin/${wanted.base.branch}`;
  const theirs = (await refsOf(workspace)).filter(({ name }) => name !== own && name !== tip);
  const ofBase = wanted.base === null || tip === null ? [] : [{ id: wanted.base.commit, name: tip, target: '' }];
  const shallow = (await readFollowingLinks(join(workspace.commonFolder, 'shallow')))?.bytes ?? null;
  const git = await checkOutCommit({ ...wanted, top, setup: repository.setup, refs: [...theirs, ...ofBase], shallow });
  // Both folders may contain the git directories of submodules, so look in both.
  for (const folder of new Set([workspace.commonFolder, workspace.gitFolder]))
    await cp(join(folder, 'modules'), join(gitFolder, 'modules'), { recursive: true }).catch(() => undefined);
  if (wanted.hasIgnored && !signal.aborted)
    await copyIgnoredFiles(options, git, { top, moves }).catch((error: unknown) => {
      if (signal.aborted) return;
      log.warning(
        `Files that git ignores cannot be copied, so ${wanted.kind === 'work' ? 'the agent works' : '`verify` runs'} without them. ${completeSentence(getErrorMessage(error))}`,
      );
    });
  // An incomplete tree would make a verification meaningless, so give up; a run that is cancelled ends anyway.
  if (wanted.kind === 'clean') signal.throwIfAborted();
  await copySettings(options, gitFolder);
  await removeCredentials(credentials, { moves, env });
  return { top, gitFolder, commonFolder: gitFolder, objectFormat: workspace.objectFormat };
}

/** Copies the files that git ignores in the checkout, with submodules and files of git-lfs. */
async function copyIgnoredFiles(
  { workspace, repository, env, signal }: TreeOptions,
  git: Git,
  { top, moves }: { readonly top: string; readonly moves: readonly MovedFolder[] },
): Promise<void> {
  const ofOthers = await filesOfOthers(workspace, repository);
  const ignored = await listIgnored(repository);
  if (ignored.length + ofOthers.length === 0) return;
  await copyFiles([...ignored, ...ofOthers], { from: workspace.top, to: top, env, signal });
  await movePaths(top, [...ignored, ...ofOthers], { moves, signal });
  if (workspace.gitFolder !== join(workspace.top, '.git'))
    await joinSubmodules(ofOthers, { from: workspace.top, to: top, moves, env });
  await putBackTracked(git, ignored, ofOthers);
}

interface Ref {
  readonly id: ObjectId;
  readonly name: string;
  /** The target of a symbolic ref; empty if the ref names the commit itself. */
  readonly target: string;
}

/** Returns the refs of the checkout, without those of the loop and the stash. */
async function refsOf({ git }: Workspace): Promise<readonly Ref[]> {
  const listed = await git.answer(['for-each-ref', '--format=%(objectname) %(refname) %(symref)']);
  return listed.stdout
    .toString()
    .split('\n')
    .map((line) => line.split(' '))
    .flatMap(([id = '', name = '', target = '']) =>
      name === '' || /^refs\/(?:ralph\/|stash$)/.test(name) ? [] : [{ id, name, target }],
    );
}

/**
 * Writes the files of a commit into a folder, with a git directory that knows its branch and `refs` and whose objects
 * are elsewhere.
 */
export async function checkOutCommit(
  wanted: Pick<CommitToCheckOut, 'commit' | 'branch' | 'objects' | 'sparseSince'> & {
    readonly top: string;
    readonly setup: OwnSetup;
    readonly refs: readonly Ref[];
    readonly shallow: Buffer | null;
  },
): Promise<Git> {
  const { top, setup, commit, branch, refs: others, objects, shallow, sparseSince } = wanted;
  const gitFolder = join(top, '.git');
  await Promise.all(
    ['objects/info', 'objects/pack', 'refs/heads', 'hooks', 'info'].map((name) =>
      mkdir(join(gitFolder, name), { recursive: true }),
    ),
  );
  const own = branch === null ? null : `refs/heads/${branch}`;
  const ours = own === null ? [] : [{ id: commit, name: own, target: '' }];
  const refs = [...others, ...ours].sort((one, other) => (one.name < other.name ? -1 : 1));
  const packed = refs.filter(({ target }) => target === '').map(({ id, name }) => `${id} ${name}\n`);
  await Promise.all([
    writeRegular(join(gitFolder, 'HEAD'), own === null ? `${commit}\n` : `ref: ${own}\n`),
    writeRegular(join(gitFolder, 'config'), setup.config),
    writeRegular(join(gitFolder, 'packed-refs'), packed.join('')),
    ...refs.filter(({ target }) => target !== '').map(({ name, target }) => writeSymbolic(gitFolder, name, target)),
    writeRegular(join(gitFolder, 'info', 'exclude'), setup.excludes),
    writeRegular(join(gitFolder, 'objects', 'info', 'alternates'), objects.map((folder) => `${folder}\n`).join('')),
    ...(setup.sparse === null ? [] : [writeRegular(join(gitFolder, 'info', 'sparse-checkout'), setup.sparse)]),
    ...(shallow === null ? [] : [writeRegular(join(gitFolder, 'shallow'), shallow)]),
  ]);
  const git = createGit({ folder: top, env: setup.env });
  await checkOut(git, setup, { commit, sparseSince });
  return git;
}

async function writeSymbolic(gitFolder: string, name: string, target: string): Promise<void> {
  const path = join(gitFolder, name);
  await mkdir(dirname(path), { recursive: true });
  await writeRegular(path, `ref: ${target}\n`);
}

/**
 * Copies settings of the checkout that work in the tree needs: remotes, the committer's name. Must be the last step,
 * because git would run a filter that they name.
 */
async function copySettings({ workspace, repository: { setup }, env }: TreeOptions, gitFolder: string): Promise<void> {
  const theirs = (await readConfig(workspace))?.toString() ?? '';
  const file = join(gitFolder, 'config');
  await writeRegular(file, `${theirs}\n${setup.config}`);
  const git = createGit({ folder: '/', env });
  // Leave these settings out: they fit only the checkout's own folder, or name objects that are still on a server.
  for (const [form, key] of UNFIT)
    if (form.test(theirs)) await git.answer(['config', '--file', file, '--unset-all', key]);
}

const UNFIT: readonly (readonly [RegExp, string])[] = [
  [/worktree\s*=/i, 'core.worktree'],
  [/worktreeconfig/i, 'extensions.worktreeConfig'],
  [/refstorage/i, 'extensions.refStorage'],
  [/partialclone/i, 'extensions.partialClone'],
  [/promisor/i, 'remote.origin.promisor'],
  [/partialclonefilter/i, 'remote.origin.partialCloneFilter'],
];

/**
 * Points submodules of a linked work tree to the git directories in the new tree, because their old ones were
 * elsewhere.
 */
async function joinSubmodules(
  paths: readonly string[],
  options: { readonly from: string; readonly to: string; readonly moves: readonly MovedFolder[] } & Pick<
    TreeOptions,
    'env'
  >,
): Promise<void> {
  const { from, to, moves, env } = options;
  const git = createGit({ folder: '/', env });
  for (const path of paths) {
    const [, named] =
      /^gitdir:\s*(.+?)\s*$/m.exec((await readFollowingLinks(join(from, path, '.git')))?.bytes.toString() ?? '') ?? [];
    if (named === undefined) continue;
    const [top, folder] = [join(to, path), mapPathToCopy(resolve(from, path, named), moves)];
    await writeRegular(join(top, '.git'), `gitdir: ${relative(top, folder)}\n`);
    await git.answer(['config', '--file', join(folder, 'config'), 'core.worktree', relative(folder, top)]);
  }
}

async function checkOut(
  git: Git,
  { sparse }: OwnSetup,
  { commit, sparseSince }: Pick<CommitToCheckOut, 'commit' | 'sparseSince'>,
): Promise<void> {
  const { exitCode, stderr } = await git.answer(['read-tree', '-m', '-u', commit]);
  if (exitCode !== 0)
    throw new UserError(
      'infrastructure',
      `The files of commit ${commit} cannot be checked out: ${completeSentence(lastLinesOfError(stderr))}`,
    );
  if (sparse === null || sparseSince === commit) return;
  const question = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--diff-filter=d', sparseSince, commit];
  const changed = await git.answer(question);
  if (changed.exitCode !== 0 || changed.stdout.length === 0) return;
  await git.text(['update-index', '-z', '--no-skip-worktree', '--stdin'], { input: changed.stdout });
  await git.text(['checkout-index', '--quiet', '--force', '-z', '--stdin'], { input: changed.stdout });
}

/** Lists the ignored paths; a folder that is ignored as a whole is one entry. */
async function listIgnored(repository: PrivateRepository): Promise<readonly string[]> {
  await repository.seal();
  const question = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z'];
  const listed = await repository.git.names(question);
  return listed.map((path) => path.replace(/\/$/, '')).filter((path) => !isLoopState(path));
}

/** Lists paths whose content is not among a commit's objects: submodules, and files that git-lfs downloaded. */
async function filesOfOthers({ top, commonFolder }: Workspace, { git }: PrivateRepository): Promise<readonly string[]> {
  const has = (path: string): Promise<boolean> =>
    access(path).then(
      () => true,
      () => false,
    );
  const submodules = (await has(join(top, '.gitmodules')))
    ? (await git.names(['ls-files', '--stage', '-z'])).flatMap(
        (record) => /^160000 \S+ \d\t([^]*)$/.exec(record)?.[1] ?? [],
      )
    : [];
  const large = (await has(join(commonFolder, 'lfs')))
    ? await git.names(['ls-files', '-z', '--', ':(attr:filter=lfs)'])
    : [];
  const there = await Promise.all([...submodules, ...large].map((path) => has(join(top, path))));
  return [...submodules, ...large].filter((_, i) => there[i]);
}

/** Maximum number of paths that are passed to one git command. */
const MAX_PATHS_PER_COMMAND = 200;

/** Removes ignored files that take the place of a file in the commit, because the tree is what is published. */
async function putBackTracked(git: Git, ignored: readonly string[], ofOthers: readonly string[]): Promise<void> {
  if (ignored.length === 0) return;
  // Limit the question to these paths, because git would read the content of all files written within this second.
  const isShort = ignored.length <= MAX_PATHS_PER_COMMAND && ignored.every((path) => path.isWellFormed());
  const question = ['--literal-pathspecs', 'ls-files', '-z', '--modified', ...(isShort ? ['--', ...ignored] : [])];
  const changed = await git.names(question);
  const isOfOthers = (path: string): boolean =>
    ofOthers.some((other) => path === other || path.startsWith(`${other}/`));
  const paths = [...new Set(changed)].filter((path) => !isOfOthers(path));
  if (paths.length > 0)
    await git.text(['checkout-index', '--quiet', '--force', '-z', '--stdin'], {
      input: paths.map((path) => `${path}\0`).join(''),
    });
}

/**
 * TAR FOLDER MARK OPTIONS: copies the files named on standard input to the folder. Exit code 1 of the reading tar means
 * that a file changed in the meantime, as a log does.
 */
const COPY = `
tar="$1" to="$2" mark="$3"
shift 3
{ "$tar" -c -f - "$@" --null -T - || [ $? -eq 1 ] || : > "$mark"; } | "$tar" -x -p -f - -C "$to" && [ ! -e "$mark" ]
`;

/** State of the loop, which is excluded from a folder that is copied as a whole. */
const EXCLUDE_LOOP_STATE = LOOP_STATE.map((name) => `--exclude=.ralph/${name}`);

/** Copies files as one stream, which takes a fraction of the time of copying file by file. */
async function copyFiles(
  paths: readonly string[],
  { from, to, env, signal }: { readonly from: string; readonly to: string } & Pick<TreeOptions, 'env' | 'signal'>,
): Promise<void> {
  const [tar, sh] = ['tar', 'sh'].map((name) => findTrustedProgram(name, env));
  if (tar == null || sh == null)
    throw new UserError('infrastructure', 'The program tar was not found on PATH. Install it on the runner.');
  const { end, stderr } = await collectOutput(
    {
      file: sh,
      args: ['-c', COPY, 'sh', tar, to, `${to}.failed`, ...EXCLUDE_LOOP_STATE],
      cwd: from,
      environment: buildTrustedEnvironment(env),
      // A name that begins with a dash would be an option, so prefix all names.
      input: encodeNames(paths.map((path) => `./${path}\0`).join('')),
      timeoutMs: COPY_MS,
      signal,
      family: { kind: 'group', graceMs: 200, leftover: 'end' },
    },
    64 * 1024,
  );
  signal.throwIfAborted();
  if (end.kind !== 'exited' || end.code !== 0)
    throw new UserError(
      'infrastructure',
      `Files that git ignores in ${from} cannot be copied: tar ${describeCollected(end)}: ${completeSentence(lastLinesOfError(stderr.toString()))}`,
    );
}
