import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectId } from '../../core/evidence.ts';
import type { Folder } from '../../core/folder.ts';
import { isEmailOfBot } from '../../core/snapshot/stored-pull.ts';
import { isBranchName } from '../../core/refusals/refusal.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import type { Log } from '../../ports/machine.ts';
import type { OpenedLane, WantedLane } from '../../ports/repository.ts';
import { buildAuthVariables, encodeBasicCredentials, FETCH_REFS_ONLY, type Git, lastLinesOfError } from '../git.ts';
import type { PublishingRules } from '../inspection/inspection.ts';
import { tasksOfCommits, readTreeId } from '../objects.ts';
import { EXPIRED_TOKEN, isExpiredToken } from '../refusal.ts';
import { readFollowingLinks, readRegular, writeRegular } from '../regular-files.ts';
import { commitTree, type Identity } from './commit.ts';
import { findEditedMerges } from './merge/auto-merge.ts';
import {
  createPrivateRepository,
  createLostObjectsError,
  type OwnRepository,
  type PrivateRepository,
  refuseIgnoredFiles,
} from './private-repository.ts';
import type { RepositorySandbox } from './tree/agent-tree.ts';
import {
  readHeadBranch,
  findWorkspace,
  readHead,
  readConfig,
  readRef,
  setHeadAndIndex,
  type Workspace,
} from './workspace.ts';

/** The checkout to open, and everything that opening it needs. */
export interface OpenOptions {
  /** A folder in the checkout. */
  readonly folder: string;
  /**
   * The server from which branches are fetched: an HTTP(S) URL without user name or password. An empty token is not
   * sent.
   */
  readonly remote: { readonly url: string; readonly token: string };
  /** A folder outside of the checkout for this program's own files; `post` uses the same one. */
  readonly workFolder: string;
  /** The folder of task files and notes; paths of the port's texts are relative to it. */
  readonly workingDirectory: Folder;
  /** The environment of this process; git gets PATH, HOME and proxy settings from it. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: Pick<Log, 'warning'>;
}

export interface RepositoryOptions extends OpenOptions {
  /** Publishing rules, whose secret values include the token. */
  readonly rules: PublishingRules;
  /** Author of the loop's commits. */
  readonly identity: Identity;
  /** True if commits are signed off by their author. */
  readonly signOff: boolean;
  /**
   * Called with the credentials found in the checkout: from then on, they must never be shown, and `rules` include
   * them.
   */
  readonly learnSecrets: (secrets: readonly string[]) => void;
  /**
   * Returns the sandbox in which the lane's code runs as a separate user, or null without isolation. Called only when
   * it is needed.
   */
  readonly agentSandbox: () => Promise<RepositorySandbox | null>;
}

/** The checkout as the job made it. */
export interface OpenedCheckout {
  readonly workspace: Workspace;
  /** The repository over the checkout's own objects, which the job checked out before an agent could touch them. */
  readonly repository: OwnRepository;
  /** The commit that the job checked out, or null if the branch has no commit yet. */
  readonly startHead: ObjectId | null;
  /** The reason why commits or files that the checkout lacks could not be fetched, or null if none are missing. */
  readonly stillShallow: string | null;
}

/** The branch of a lane. `tip` is kept here because the agent can move every ref of the workspace. */
export interface LaneBranch {
  readonly branch: string;
  readonly tip: ObjectId;
}

/**
 * A lane whose commits are available here. `base` is the tip of the base branch, and `fork` the commit at which the
 * lane left it. `roots` are both of these and all commits of the base branch that the lane builds on. `published` are
 * commits that the server has.
 */
interface StartedLane {
  readonly lane: LaneBranch;
  readonly base: ObjectId;
  readonly fork: ObjectId;
  readonly roots: readonly ObjectId[];
  readonly published: readonly ObjectId[];
  readonly answer: Omit<OpenedLane, 'warnings'>;
}

/** The server from which branches are fetched; `variables` authenticate at `url`. */
interface BranchSource {
  readonly workspace: Workspace;
  readonly repository: PrivateRepository;
  /** The commit that the job checked out, or null if the branch has no commit yet. */
  readonly startHead: ObjectId | null;
  readonly url: string;
  readonly variables: Readonly<Record<string, string>>;
}

interface LaneSource extends BranchSource {
  readonly identity: Identity;
  readonly signOff: boolean;
}

/** Fetches the base branch and, to continue it, the lane's branch. The files of the checkout stay as they are. */
export async function openLane(source: LaneSource, wanted: WantedLane, known: ObjectId | null): Promise<StartedLane> {
  const { repository } = source;
  const { git } = repository;
  const { branch, baseBranch, start } = wanted;
  await repository.seal();
  for (const name of [branch, baseBranch]) checkName(name);

  await keepStart(source);
  const base = await commitOf(
    source,
    { branch: baseBranch, ref: 'refs/ralph/base', what: 'The base branch (input base-branch)' },
    known,
  );
  const expected = start.kind === 'continue' ? start.remoteHead : start.kind === 'reuse' ? start.mergedHead : null;
  const remoteHead =
    expected === null
      ? null
      : await commitOf(
          source,
          { branch, ref: 'refs/ralph/lane', what: 'The branch to work on' },
          known === null ? null : expected,
        );
  if (expected !== null && remoteHead !== expected) throw moved(branch, expected, remoteHead);
  const tip = start.kind === 'reuse' ? await beginOn(source, { base, merged: start.mergedHead }) : (remoteHead ?? base);

  const isNew = tip === base;
  const fork = isNew ? base : (await git.answer(['merge-base', tip, base])).stdout.toString().trim() || base;
  const { edge, ...commits } = isNew
    ? { ahead: 0, below: 0, edge: [], personHead: null, tasks: [] }
    : await commitsOfLane(git, { base, tip, own: source.identity.email });
  return {
    lane: { branch, tip },
    base,
    fork,
    roots: [...new Set([fork, base, ...edge])],
    published: [base, ...(remoteHead === null ? [] : [remoteHead])],
    answer: { head: tip, base, fork, baseTree: await needTree(source, fork), ...commits },
  };
}

async function needTree({ repository, workspace }: LaneSource, commit: ObjectId): Promise<ObjectId> {
  const tree = await readTreeId(repository.git, commit);
  if (tree === null) throw createLostObjectsError(workspace);
  return tree;
}

/**
 * Returns the commit from which work starts again on a merged branch that cannot be deleted. This is the base if it
 * builds on the branch, otherwise (after a squash or rebase) a merge of both with the content of the base.
 */
async function beginOn(
  source: LaneSource,
  { base, merged }: { readonly base: ObjectId; readonly merged: ObjectId },
): Promise<ObjectId> {
  const { git } = source.repository;
  if ((await git.answer(['merge-base', '--is-ancestor', merged, base])).exitCode === 0) return base;
  const parents = [merged, base];
  return commitTree(source, { tree: `${base}^{tree}`, parents, message: 'Begin again from the base', trailers: {} });
}

/**
 * Returns facts about the lane's commits that the base branch lacks: `ahead` is their number, `below` the number of
 * those before the first commit of a run, `edge` the base commits that they build on (several if the base was merged),
 * `personHead` the newest commit of a person, and `tasks` the tasks that the lane's commits name. `own` is the address
 * with which the loop makes commits.
 */
async function commitsOfLane(
  git: Git,
  { base, tip, own }: { readonly base: ObjectId; readonly tip: ObjectId; readonly own: string },
): Promise<Pick<OpenedLane, 'ahead' | 'below' | 'personHead' | 'tasks'> & { readonly edge: readonly ObjectId[] }> {
  const listed = (await git.text(['rev-list', '--boundary', `${base}..${tip}`])).split('\n').filter((id) => id !== '');
  const edge = listed.filter((id) => id.startsWith('-')).map((id) => id.slice(1));
  const ofOthers = ['--invert-grep', '--grep=^Ralph-Run: ', '--format=%H%x00%P%x00%ae'];
  const others = (await git.text(['log', ...ofOthers, `${base}..${tip}`]))
    .split('\n')
    .map((line) => line.split('\0'))
    .filter(([, , email = own]) => email !== own && !isEmailOfBot(email));
  const merges = others.flatMap(([id = '', parents = '']) => (parents.includes(' ') ? [id] : []));
  const edited = await findEditedMerges(git, merges);
  const personHead = others.find(([id = '']) => !merges.includes(id) || edited.includes(id))?.[0] ?? null;
  const ahead = listed.length - edge.length;
  const runOfEach = ['--first-parent', '--reverse', '--format=- %(trailers:key=Ralph-Run,valueonly,separator=%x20)'];
  const runs = (await git.text(['log', ...runOfEach, `${base}..${tip}`])).split('\n');
  const below = Math.max(
    0,
    runs.findIndex((line) => line.length > 2),
  );
  // Include commits that are already merged into the base; a squashed commit may name several tasks.
  const named = await tasksOfCommits(git, tip);
  const isKnown = ahead === 0 || named.some(({ commit, tasks }) => tasks.length > 0 && listed.includes(commit));
  return { ahead, below, edge, personHead, tasks: isKnown ? [...new Set(named.flatMap(({ tasks }) => tasks))] : null };
}

/** Fetches the branch of a lane without checking it out, unless its tip is already available. */
export async function fetchLane(
  source: BranchSource,
  { branch, head }: { readonly branch: string; readonly head: ObjectId },
): Promise<void> {
  if ((await readTreeId(source.repository.git, head)) !== null) return;
  checkName(branch);
  await keepStart(source);
  const tip = await fetchBranch(source, { branch, ref: 'refs/ralph/lane', what: 'The branch to work on' });
  if ((await readTreeId(source.repository.git, head)) === null) throw moved(branch, head, tip);
}

/** Keeps the start commit reachable, so that it need not be fetched again. */
async function keepStart({ repository, startHead }: BranchSource): Promise<void> {
  if (startHead !== null) await writeRegular(join(repository.folder, 'refs', 'ralph', 'start'), `${startHead}\n`);
}

function moved(branch: string, from: ObjectId, to: ObjectId | null): UserError {
  return new UserError(
    'infrastructure',
    `Branch ${branch} moved from ${from} to ${to ?? 'nothing'} while this run began; another run or a person pushed to it. Run the workflow again.`,
  );
}

function checkName(name: string): void {
  if (!isBranchName(name))
    throw new UserError(
      'configuration',
      `"${name}" cannot be the name of a branch. Check the inputs branch-prefix and base-branch.`,
    );
}

/**
 * Makes a commit of a branch available and returns it. This is `known`, which is fetched only if the checkout lacks it,
 * or the tip if `known` is null.
 */
async function commitOf(
  source: BranchSource,
  branch: Parameters<typeof fetchBranch>[1],
  known: ObjectId | null,
): Promise<ObjectId> {
  if (known === null) return await fetchBranch(source, branch);
  const { git } = source.repository;
  const isWhole = async (): Promise<boolean> =>
    (await git.answer(['rev-list', '--quiet', '--objects', '--max-count=1', known])).exitCode === 0;
  if (await isWhole()) await writeRegular(join(source.repository.folder, branch.ref), `${known}\n`);
  else {
    const tip = await fetchBranch(source, branch);
    if (!(await isWhole())) throw moved(branch.branch, known, tip);
  }
  return known;
}

/** Fetches by URL and with a header for this one command. The remotes in the workspace's config are not used. */
async function fetchBranch(
  { repository, url, variables }: BranchSource,
  { branch, ref, what }: { branch: string; ref: string; what: string },
): Promise<ObjectId> {
  const fetched = await repository.git.answer([...FETCH_REFS_ONLY, url, `+refs/heads/${branch}:${ref}`], { variables });
  const tip = fetched.exitCode === 0 ? await readRegular(join(repository.folder, ref), 200) : null;
  if (tip !== null) return tip.bytes.toString().trim();
  if (/couldn't find remote ref/i.test(fetched.stderr))
    throw new UserError(
      'configuration',
      `${what}, "${branch}", does not exist in ${url}. Push it first, or name another one.`,
    );
  throw new UserError(
    'infrastructure',
    `Branch "${branch}" could not be fetched from ${url}: ${completeSentence(lastLinesOfError(fetched.stderr))} ${isExpiredToken(fetched.stderr) ? EXPIRED_TOKEN : 'The token needs the permission "contents: read".'}`,
  );
}

async function keepUnpublished(
  { workspace, repository }: Pick<BranchSource, 'workspace' | 'repository'>,
  branch: string,
  published: readonly ObjectId[],
): Promise<void> {
  const local = await readRef(workspace, `refs/heads/${branch}`);
  if (local === null || published.includes(local)) return;
  const only = await repository.git.answer([
    'rev-list',
    '--max-count=1',
    local,
    ...published.map((commit) => `^${commit}`),
  ]);
  if (only.exitCode === 0 && only.stdout.length > 0)
    await workspace.git.text(['update-ref', `refs/ralph/backup/${local}`, local]);
}

/**
 * Moves the untouched checkout to a commit of the lane, with the branch checked out. Replaces a branch of that name;
 * commits that only it has stay reachable under refs/ralph/backup/. Throws UserError if files are in the way, or if the
 * commit has new files where git ignores files in the checkout, because a later step may store such folders in a cache.
 */
export async function moveCheckout(
  { workspace, repository }: Pick<BranchSource, 'workspace' | 'repository'>,
  target: { readonly branch: string; readonly commit: ObjectId; readonly published: readonly ObjectId[] },
): Promise<void> {
  const { branch, commit, published } = target;
  const { git } = repository;
  await repository.seal();
  const head = await readHead(workspace);
  if (head !== null) await refuseIgnoredFiles(repository, branch, [head, commit]);
  const moved =
    head === commit ? null : await git.answer(['read-tree', '-m', '-u', ...(head === null ? [] : [head]), commit]);
  if (moved !== null && moved.exitCode !== 0)
    throw new UserError(
      'infrastructure',
      `Branch ${branch} could not be checked out over the files in ${workspace.top}: ${completeSentence(lastLinesOfError(moved.stderr))}`,
    );
  await keepUnpublished({ workspace, repository }, branch, published);
  await repository.withIndex('copy', async (indexFile) => {
    if (head === commit)
      await git.text(['read-tree', '-m', '-i', commit], { variables: { GIT_INDEX_FILE: indexFile } });
    await setHeadAndIndex(workspace, branch, { commit, indexFile });
  });
}

/** Opens the checkout and completes its history, or returns git's words if the folder is not a checkout. */
export async function openCheckout(
  options: Omit<OpenOptions, 'workingDirectory'>,
): Promise<OpenedCheckout | { readonly why: string }> {
  const { folder, workFolder, env, log, remote } = options;
  const workspace = await findWorkspace(folder, { env, log });
  if ('why' in workspace) return workspace;
  const repository = await createPrivateRepository(workspace, {
    workFolder,
    env,
    hide: [remote.token, encodeBasicCredentials(remote.token)],
  });
  const startHead = await readHead(workspace);
  const variables = buildAuthVariables(remote.url, remote.token);
  const stillShallow = await deepen({ workspace, repository, startHead, url: remote.url, variables });
  return { workspace, repository, startHead, stillShallow };
}

/** Returns the message for a folder that is not a checkout; `why` contains git's words. */
export function describeNoWorkTree(folder: string, why: string): string {
  return `${folder} is not a git checkout (git says: ${why || 'nothing'}). Run actions/checkout before this action, with "fetch-depth: 0" and without "path:".`;
}

/**
 * Fetches the missing parts of a checkout: the older commits of a shallow one, without which it is unknown where a
 * branch left the base, and the files of a partial one, which `sparse-checkout` of actions/checkout leaves on the
 * server. Uses our own git directory, as each fetch does. Returns the reason for a failure, or null if nothing is
 * missing.
 */
async function deepen({ workspace, repository, url, variables }: BranchSource): Promise<string | null> {
  const theirs = join(workspace.commonFolder, 'shallow');
  const missing = await readFollowingLinks(theirs);
  // The config shows a partial clone, in which git fetches the content of files only on demand, so fetch all now.
  const isPartial = /promisor|partialclone/i.test((await readConfig(workspace))?.toString() ?? '');
  if (missing === null && !isPartial) return null;
  const branch = await readHeadBranch(workspace);
  if (branch === null) return 'it is not on a branch';
  await repository.seal();
  // The server does not send the files of a commit that the fetch claims to have, so do not claim it.
  if (missing !== null && !isPartial) await writeRegular(join(repository.folder, 'shallow'), missing.bytes.toString());
  const fetched = await repository.git.answer(
    [...FETCH_REFS_ONLY, isPartial ? '--refetch' : '--unshallow', url, `+refs/heads/${branch}:refs/ralph/deepened`],
    { variables },
  );
  if (fetched.exitCode !== 0) return lastLinesOfError(fetched.stderr);
  await rm(theirs, { force: true });
  return null;
}
