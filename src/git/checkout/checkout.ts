import { isAbsolute } from 'node:path';
import { toFolderKeys, toRootPath } from '../../core/folder.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import type { Repository, WorkTreeFiles } from '../../ports/repository.ts';
import { getErrorMessage, UserError } from '../../errors.ts';
import { findCredentials } from './credentials/credentials.ts';
import { buildAuthVariables } from '../git.ts';
import { changesOfTasks, reviewBranch } from '../inspection/review.ts';
import {
  moveCheckout,
  describeNoWorkTree,
  openCheckout,
  type OpenedCheckout,
  openLane,
  type RepositoryOptions,
} from './lane.ts';
import { commitLane, commitLaneTexts, commitRevertedFiles, takeRemadeHead } from './lane-commits.ts';
import { abandonLaneMerge, beginLaneMerge, keepLockFileAlone, listLockFilesLeft } from './lane-merge.ts';
import { measureChange, createLaneTrees } from './lane-trees.ts';
import { bindToTree, startLaneWork, takeSnapshot, type LaneWork, undoChangesSince } from './lane-work.ts';
import { createQuarantine } from './quarantine.ts';
import { createQuestions } from './questions.ts';
import { requireFolder, readCommitTexts } from './texts.ts';
import { createExchange } from './tree/work-tree-access.ts';

/** The warning about a sparse checkout: the trees of the run lack the same files. */
const SPARSE_CHECKOUT =
  'The checkout is sparse (`sparse-checkout` of actions/checkout): the agent and `verify` see the files that it has, and no others. Remove `sparse-checkout` if they need more.';

/** The checkout, with the functions that only the wiring needs. */
export interface Checkout extends Repository {
  /**
   * Returns access to the text files of the tree that the agent works in, or of the checkout while no tree is checked
   * out. `filesOf` creates such access for a folder that this process may read itself.
   */
  files(filesOf: (top: string) => WorkTreeFiles): WorkTreeFiles;
}

/** Creates the checkout, which implements the port Repository. Reads and writes nothing before the first call. */
export function createRepository(options: RepositoryOptions): Checkout {
  if (!isAbsolute(options.workFolder)) throw new Error(`workFolder must be absolute, got ${options.workFolder}`);
  const { workingDirectory } = options;
  const agentSandboxOf = once(options.agentSandbox);
  const opened = once(() => openCheckout(options));
  let work: LaneWork | null = null;
  const credentials = once(async () => {
    const found = await findCredentials((await needOpened()).workspace, options);
    options.learnSecrets(found.secrets);
    return found;
  });

  async function needOpened(): Promise<OpenedCheckout> {
    const found = await opened();
    if ('why' in found) throw new UserError('infrastructure', describeNoWorkTree(options.folder, found.why));
    return found;
  }

  /** Returns the open lane. The error for a missing one names `method`. */
  function needLane(method: keyof Repository): LaneWork {
    if (work === null) throw new Error(`${method}() before openLane()`);
    return work;
  }

  return {
    ...createQuestions(options, { opened, needOpened }),

    async openLane(wanted, known) {
      const found = await needOpened();
      const { workspace, repository, startHead } = found;
      const { url, token } = options.remote;
      const { identity, signOff, workFolder } = options;
      const variables = buildAuthVariables(url, token);
      const source = { workspace, repository, startHead, url, variables, identity, signOff };
      const { lane, base, fork, roots, published, answer } = await openLane(source, wanted, known ?? null);
      const warnings = repository.setup.sparse === null ? [] : [SPARSE_CHECKOUT];
      for (const warning of warnings) options.log.warning(warning);
      // A branch may lack a folder that was added to the base later, so check for the working directory.
      await requireFolder(repository.git, lane, workingDirectory);
      const heads = [lane.tip, base];
      const detached = await createQuarantine(workspace, repository, { workFolder, heads, roots });
      await detached.keep(lane.tip);
      const start = {
        branch: lane.branch,
        start: lane.tip,
        base: { branch: wanted.baseBranch, commit: base },
        detached,
      };
      const trees = createLaneTrees(options, found, { credentials, agentSandboxOf, lane: start });
      work = startLaneWork({ options, opened: found, start, trees, published, lane, fork });
      return { ...answer, warnings };
    },

    async checkOutTree(signal) {
      const lane = needLane('checkOutTree');
      bindToTree(lane, await lane.trees.layWork(signal));
      return once(() => returnToCheckout(lane));
    },

    snapshot: async () => takeSnapshot(needLane('snapshot')),

    async compare(before, after) {
      const { quarantine, committed } = needLane('compare');
      await quarantine.seal();
      const known = committed?.before === before.tree && committed.after === after.tree ? committed.changes : null;
      return await measureChange(quarantine.git, { before, after, known });
    },

    commit: async (iteration) => commitLane(needLane('commit'), iteration),
    commitTexts: async (wanted) => commitLaneTexts(needLane('commitTexts'), wanted),
    takeHead: async (remade) => takeRemadeHead(needLane('takeHead'), remade),

    async publishedTexts(paths) {
      if (work === null) return {};
      const placed = paths.map((path) => toRootPath(workingDirectory, path));
      const { texts } = await readCommitTexts(work.quarantine.git, work.lane.tip, placed);
      return toFolderKeys(workingDirectory, texts);
    },

    beginMerge: async () => beginLaneMerge(needLane('beginMerge')),
    lockFilesLeft: async () => (work === null ? [] : listLockFilesLeft(work)),
    keepAlone: async (path) => keepLockFileAlone(needLane('keepAlone'), path),

    async abandonMerge() {
      if (work !== null) await abandonLaneMerge(work);
    },

    async putBack() {
      const read = work?.lastRead ?? null;
      return work === null || read === null ? [] : await undoChangesSince(work, read);
    },

    async review() {
      if (work === null) return null;
      const { quarantine, fork, lane } = work;
      const branch = { fork, roots: quarantine.roots, tip: lane.tip, folder: workingDirectory };
      const of = JSON.stringify(branch);
      if (work.reviewed?.of !== of) work.reviewed = { of, review: await reviewBranch(quarantine.git, branch) };
      return work.reviewed.review;
    },

    async taskChanges() {
      if (work === null) return [];
      const { quarantine, fork, lane } = work;
      return await changesOfTasks(quarantine.git, { fork, roots: quarantine.roots, tip: lane.tip });
    },

    commitReverted: async (taken) => commitRevertedFiles(needLane('commitReverted'), taken),

    checkOutCommitAlone: async (commit, signal) =>
      needLane('checkOutCommitAlone').trees.checkOutCommitAlone(commit, signal),

    async bundle(file) {
      const { quarantine, start } = needLane('bundle');
      await quarantine.bundle({ ...file, base: start.base.commit });
    },

    files: (filesOf) => {
      const now = (): WorkTreeFiles => work?.tree?.files ?? filesOf(work?.tree?.top ?? options.folder);
      return {
        read: async (paths) => {
          const placed = paths.map((path) => toRootPath(workingDirectory, path));
          return toFolderKeys(workingDirectory, await now().read(placed));
        },
        readEnd: (path, maxBytes) => now().readEnd(toRootPath(workingDirectory, path), maxBytes),
        replace: (change) => now().replace({ ...change, path: toRootPath(workingDirectory, change.path) }),
        remove: (path) => now().remove(toRootPath(workingDirectory, path)),
      };
    },
  };
}

/** Ends the work in the tree and moves the checkout, which was only read until now, to the lane's newest commit. */
async function returnToCheckout(work: LaneWork): Promise<void> {
  await work.tree?.leave();
  // The tree no longer has a folder in which git can run, so unbind the quarantine from it.
  bindToTree(work, null);
  await moveCheckoutToTip(work).catch((error: unknown) => {
    work.options.log.warning(`The checkout stays as the job made it: ${completeSentence(getErrorMessage(error))}`);
  });
}

async function moveCheckoutToTip({ start, published, lane, opened }: LaneWork): Promise<void> {
  const { workspace, repository } = opened;
  const { detached } = start;
  const exchange = createExchange({
    workspace,
    checkout: repository,
    own: detached,
    roots: detached.roots,
    heads: [start.start],
  });
  await exchange.give({ head: lane.tip, has: [start.start] });
  await moveCheckout({ workspace, repository }, { branch: lane.branch, commit: lane.tip, published });
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => (made ??= make());
}
