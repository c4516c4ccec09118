import { lstat, readFile, readlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ObjectId } from '../../core/evidence.ts';
import { toFolderKeys, toRootPath } from '../../core/folder.ts';
import { listFirstNames, completeSentence } from '../../core/text/phrase.ts';
import type { FileTexts, Repository } from '../../ports/repository.ts';
import { buildAuthVariables, createGit, type Git, findGitVersionProblem } from '../git.ts';
import { locateNamedFile, decodeGitName } from '../names.ts';
import { diffTrees, type PathChange } from '../objects.ts';
import { readBranchesWith, readEditedMerges, readHistory, readReverts } from './history.ts';
import { compareOpenPulls } from './merge/open-pulls.ts';
import { checkWorkingDirectory, findNamesIn, readCommitTexts, findWorkingDirectoryProblem } from './texts.ts';
import { fetchLane, describeNoWorkTree, type OpenedCheckout, type OpenOptions } from './lane.ts';
import { mayHavePaths, findCheckoutTop } from './on-disk.ts';
import type { PrivateRepository } from './private-repository.ts';
import { plainReading, readWorkTree } from './tree/work-tree.ts';
import { readHeadBranch, findOperationInProgress, type Workspace } from './workspace.ts';

/** The checkout that is read. */
interface Asked {
  readonly opened: () => Promise<OpenedCheckout | { readonly why: string }>;
  /** Returns the opened checkout; throws if the folder is not a checkout. */
  readonly needOpened: () => Promise<OpenedCheckout>;
}

/** Creates the part of Repository that reads the checkout before a lane is opened. */
export function createQuestions(
  options: OpenOptions,
  { opened, needOpened }: Asked,
): Pick<
  Repository,
  | 'missing'
  | 'problems'
  | 'readTexts'
  | 'namesOf'
  | 'namesAtRoot'
  | 'compareOpen'
  | 'history'
  | 'revertsIn'
  | 'editedMerges'
  | 'branchesWith'
> {
  const { folder, env, remote, workingDirectory } = options;
  const namesAtRoot = async (names: readonly string[]): Promise<readonly string[]> => {
    const { repository, startHead } = await needOpened();
    if (startHead === null) return [];
    await repository.seal();
    return findNamesIn(repository.git, startHead, names);
  };
  return {
    namesAtRoot,

    async compareOpen(asked) {
      const found = await opened();
      return 'why' in found || found.stillShallow !== null ? null : compareOpenPulls(options, found, asked);
    },

    async history(asked) {
      const found = await opened();
      return 'why' in found || found.stillShallow !== null ? null : readHistory(options, found, asked);
    },

    async revertsIn(tip, since) {
      const found = await opened();
      return 'why' in found || found.stillShallow !== null ? [] : readReverts(found, { tip, since });
    },

    async editedMerges(asked) {
      const found = await opened();
      return 'why' in found || found.stillShallow !== null ? [] : readEditedMerges(options, found, asked);
    },

    async branchesWith(commit, branches) {
      const found = await opened();
      return 'why' in found || found.stillShallow !== null
        ? []
        : readBranchesWith(options, found, { commit, branches });
    },

    async missing() {
      return (await findCheckoutTop(folder)) !== null
        ? null
        : `There is no git checkout in ${folder}, so no task files can be read. Run actions/checkout before this action, with "fetch-depth: 0" and without "path:".`;
    },

    async problems() {
      const old = findGitVersionProblem((await createGit({ folder, env }).answer(['version'])).stdout.toString());
      if (old !== null) return [old];
      const found = await opened();
      if ('why' in found) return [describeNoWorkTree(folder, found.why)];
      const misplaced = await findWorkingDirectoryProblem(found.workspace.top, workingDirectory);
      return [...(await problemsOf(found.workspace, found)), ...(misplaced === null ? [] : [misplaced])];
    },

    async readTexts(asked, wanted) {
      const paths = asked.map((path) => toRootPath(workingDirectory, path));
      const top = wanted === null ? await findCheckoutTop(folder) : null;
      // A missing folder must end in an error, because it would look like a folder without tasks, so check it.
      if (top !== null) await checkWorkingDirectory(top, workingDirectory);
      if (wanted === null && !(await mayHavePaths(folder, paths)))
        return { base: {}, lane: null, fork: null, unread: {}, links: {} };
      const { workspace, repository, startHead } = await needOpened();
      const { url, token } = remote;
      await repository.seal();
      if (wanted !== null)
        await fetchLane({ workspace, repository, startHead, url, variables: buildAuthVariables(url, token) }, wanted);
      const fork = wanted === null || startHead === null ? null : await forkOf(repository.git, startHead, wanted.head);
      const [base, ofLane, ofFork] = await Promise.all(
        [startHead, wanted?.head ?? null, fork].map(async (commit) =>
          commit === null ? null : await readCommitTexts(repository.git, commit, paths),
        ),
      );
      const seen = (texts: FileTexts | undefined): FileTexts => toFolderKeys(workingDirectory, texts ?? {});
      return {
        base: seen(base?.texts),
        lane: ofLane == null ? null : seen(ofLane.texts),
        fork: ofFork == null ? null : seen(ofFork.texts),
        unread: seen(base?.unread),
        links: seen(base?.links),
      };
    },

    async namesOf(asked) {
      const found = await namesAtRoot(asked.map((path) => toRootPath(workingDirectory, path)));
      return Object.keys(toFolderKeys(workingDirectory, Object.fromEntries(found.map((path) => [path, null]))));
    },
  };
}

/** Returns the newest commit that both histories contain, or null if none is known. */
async function forkOf(git: Git, one: ObjectId, other: ObjectId): Promise<ObjectId | null> {
  const { exitCode, stdout } = await git.answer(['merge-base', one, other]);
  return exitCode === 0 ? stdout.toString().trim() : null;
}

/**
 * Returns everything about a work tree that prevents a run. `stillShallow` is the reason why its history could not be
 * completed, or null.
 */
async function problemsOf(
  workspace: Workspace,
  opened: {
    readonly repository: PrivateRepository;
    readonly startHead: ObjectId | null;
    readonly stillShallow: string | null;
  },
): Promise<readonly string[]> {
  const { repository, startHead: head, stillShallow } = opened;
  if (head === null)
    return [
      `The repository in ${workspace.top} has no commits yet. Push a first commit (a README is enough), then run again.`,
    ];
  const operation = await findOperationInProgress(workspace);
  const problems: string[] = [];
  if (stillShallow !== null)
    problems.push(
      `The checkout in ${workspace.top} is shallow or partial (it lacks older commits or files), and they could not be fetched: ${completeSentence(stillShallow)} Set "fetch-depth: 0" on actions/checkout, without "filter:".`,
    );
  if ((await readHeadBranch(workspace)) === null)
    problems.push(
      `HEAD is detached at ${head.slice(0, 12)} in ${workspace.top}, so there is no branch to work from. That is what actions/checkout does for a tag, a commit and the events of a pull request. Set "ref:" on actions/checkout to a branch, for example "ref: \${{ github.event.repository.default_branch }}".`,
    );
  if (operation !== null)
    problems.push(
      `A ${operation} is in progress in ${workspace.top}. Finish or abort it ("git ${operation} ${operation === 'bisect' ? 'reset' : '--abort'}") before the run.`,
    );
  else problems.push(...(await dirtyPaths(workspace, repository, head)));
  return problems;
}

async function dirtyPaths(
  workspace: Workspace,
  repository: PrivateRepository,
  head: string,
): Promise<readonly string[]> {
  const { tree } = await readWorkTree(repository, workspace, plainReading);
  // An earlier step of the job may move a submodule (`git submodule update --remote`), which is part of the baseline.
  const isSubmodule = ({ oldMode, newMode }: PathChange): boolean =>
    [oldMode, newMode].every((mode) => mode === '160000');
  const changes = await diffTrees(repository.git, head, tree);
  const changed = changes.filter((change) => !isSubmodule(change)).map(({ path }) => path);
  // A file made by a filter (git-lfs) may differ from its commit although nobody changed it, so compare without
  // filters.
  const unlike = changed.length === 0 ? [] : await unfiltered(repository, changed);
  const dirty = unlike.length === 0 ? [] : await changedByHand(workspace, repository, { head, paths: unlike });
  if (dirty.length === 0) return [];
  return [
    `The work tree in ${workspace.top} is not clean: ${listFirstNames(dirty.map(decodeGitName))}. Commit these files, remove them before the run, or list them in .gitignore; otherwise they would count as the agent's work.`,
  ];
}

/**
 * Returns the paths that differ from the files that git makes of the commit in this checkout. A fresh clone may look
 * "modified" without differing (line ends, `ident`, encodings).
 */
async function changedByHand(
  { top }: Workspace,
  repository: PrivateRepository,
  { head, paths }: { readonly head: string; readonly paths: readonly string[] },
): Promise<readonly string[]> {
  return await repository.withIndex('empty', async (indexFile) => {
    const variables = { GIT_INDEX_FILE: indexFile };
    const folder = join(dirname(indexFile), 'as-git-lays-it');
    await repository.git.text(['read-tree', head], { variables });
    const laid = await repository.git.answer(['checkout-index', '-q', '-z', `--prefix=${folder}/`, '--stdin'], {
      input: paths.map((path) => `${path}\0`).join(''),
      variables,
    });
    // Exit code 128 means that a path is not in the commit, and that the paths after it were not written, so report
    // all.
    if (![0, 1].includes(laid.exitCode)) return paths;
    const isSame = await Promise.all(
      paths.map((path) => areAlike(locateNamedFile(top, path), locateNamedFile(folder, path))),
    );
    return paths.filter((_, at) => isSame[at] !== true);
  });
}

/** Returns true if two files have the same bytes, or two links the same target. */
async function areAlike(one: string | Buffer, other: string | Buffer): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map((path) => lstat(path).catch(() => null)));
  if (a === null || b === null || a === undefined || b === undefined) return false;
  if (a.isSymbolicLink() && b.isSymbolicLink()) return (await readlink(one)) === (await readlink(other));
  if (!a.isFile() || !b.isFile() || a.size !== b.size) return false;
  const [here, there] = await Promise.all([one, other].map((path) => readFile(path).catch(() => null)));
  return here != null && there != null && here.equals(there);
}

async function unfiltered(repository: PrivateRepository, paths: readonly string[]): Promise<readonly string[]> {
  const answers = await repository.git.names(['check-attr', '-z', '--stdin', 'filter'], {
    input: paths.map((path) => `${path}\0`).join(''),
  });
  return paths.filter((_, i) => ['unspecified', 'unset'].includes(answers[i * 3 + 2] ?? 'unspecified'));
}
