import { isAbsolute } from 'node:path';
import type { ObjectId, Snapshot } from '../../core/evidence.ts';
import { allSeenFrom, fromRoot } from '../../core/folder.ts';
import { nameOfBeside, newBeside, type BesideWork } from '../../core/work-tree/answers.ts';
import { namesOf, oneLine, sentence } from '../../core/text/phrase.ts';
import type {
  CommittedIteration,
  MergeBegun,
  Repository,
  Review,
  Withheld,
  WorkTreeFiles,
} from '../../ports/repository.ts';
import { messageOf, UserError } from '../../errors.ts';
import { commitIteration, commitTextsOn, publishableTree, type Committer, type WithheldPaths } from './commit.ts';
import { findCredentials } from './credentials/credentials.ts';
import { authorization, type Git } from '../git.ts';
import { shownName } from '../names.ts';
import { createInspection } from '../inspection/inspection.ts';
import {
  type Lane,
  moveCheckout,
  notAWorkTree,
  openCheckout,
  type Opened,
  openLane,
  type RepositoryOptions,
} from './lane.ts';
import { changeBetween, createLaneTrees, type LaneTrees, type TreesOfLane, type WorkTree } from './lane-trees.ts';
import { mergeTrees } from './merge/auto-merge.ts';
import {
  commitMerge,
  judgeAlone,
  lockFilesLeft,
  onto,
  type OpenMerge,
  overlaid,
  publishableMerge,
} from './merge/open-merge.ts';
import { withObjects, type Change, type Objects } from '../objects.ts';
import { lostObjects } from './private-repository.ts';
import { createQuarantine, type Quarantine } from './quarantine.ts';
import { createQuestions } from './questions.ts';
import { checkFolderOf, textsOf } from './texts.ts';
import { addAsFound, type AsFound } from './tree/found/as-found.ts';
import { contentOf, createExchange, noSide, type WorkTreeContent, type WorkTreeSide } from './tree/local-side.ts';
import { type RefusedFile, reviewBranch, withRefusedFiles } from '../inspection/review.ts';

/** The checkout, with the functions that only the wiring needs. */
export interface Checkout extends Repository {
  /**
   * Returns the text files of the tree that the agent works in, or of the checkout while no tree is laid. `filesOf`
   * returns the files below a folder that this process reads.
   */
  files(filesOf: (top: string) => WorkTreeFiles): WorkTreeFiles;
}

/** Maximum number of places beside the work tree that are searched for work. */
const MOST_ASKED = 10;

/** Creates the checkout behind the port Repository. Nothing is read or written before the first call. */
export function createRepository(options: RepositoryOptions): Checkout {
  if (!isAbsolute(options.workFolder)) throw new Error(`workFolder must be absolute, got ${options.workFolder}`);
  const { workingDirectory } = options;
  const roomOf = once(options.room);
  const opened = once(() => openCheckout(options));
  let lane: Lane | null = null;
  let lastRead: LastRead | null = null;
  /** The trees before and after the last commit, and their changes: evidence mostly asks for this pair again. */
  let committed: { readonly before: ObjectId; readonly after: ObjectId; readonly changes: readonly Change[] } | null =
    null;
  let withheld: WithheldPaths = new Map();
  /** The work tree in which the withheld files were when they were withheld; null while no file was withheld. */
  let withheldIn: ObjectId | null = null;
  /** The paths that differ from their commit through nobody's change; they count as unchanged while they stay as found. */
  let asFound: readonly AsFound[] = [];
  /** The newest review, and the commits that it covers. */
  let reviewed: { readonly of: string; readonly review: Review } | null = null;
  /** The files that the server refused for the open lane. */
  const refusedFiles = new Map<string, RefusedFile>();
  /** The merge that is not finished; null if there is no such merge. */
  let merge: OpenMerge | null = null;
  /**
   * Work beside the work tree: `known` after the last iteration (null before the first look), and `standing`, which the
   * work tree does not contain yet.
   */
  let beside: { readonly known: readonly BesideWork[] | null; readonly standing: readonly BesideWork[] } = {
    known: null,
    standing: [],
  };
  /** Set when a lane is open: from then on, content is never read through the checkout's own objects. */
  let quarantined: Quarantined | null = null;
  /** The tree that the agent works in; null while no tree is laid. */
  let tree: WorkTree | null = null;
  const credentials = once(async () => {
    const found = await findCredentials((await needOpened()).workspace, options);
    options.learnSecrets(found.secrets);
    return found;
  });

  async function needOpened(): Promise<Opened> {
    const found = await opened();
    if ('why' in found) throw new UserError('infrastructure', notAWorkTree(options.folder, found.why));
    return found;
  }

  async function snapshot(): Promise<Snapshot> {
    const read = await readContent();
    const { head, content } = read;
    const tree = await measured(content);
    lastRead = { ...read, tree };
    return { head: head ?? lane?.tip ?? '', tree };
  }

  async function readContent(): Promise<Omit<LastRead, 'tree'>> {
    if (quarantined === null || lane === null) throw new Error('snapshot() before openLane()');
    const { side } = quarantined;
    const { head, beside: found, ...content } = await side.read(lane.tip, asFound);
    // Work that existed before the agent began is not its work.
    beside = { ...beside, known: beside.known ?? found };
    return { head, beside: found, content: contentOf(content, await side.withoutNotes(content.tree)) };
  }

  /** Returns the content that evidence is taken from: without notes and without withheld files, which are never published. */
  async function measured(content: WorkTreeContent): Promise<ObjectId> {
    if (withheld.size === 0 || lane === null || quarantined === null) return content.evidence;
    const { quarantine, committer, side } = quarantined;
    const { tip } = lane;
    const { tree } = await withObjects(quarantine.git, async (objects) => {
      const base = await tipTree(objects, tip);
      return merge === null
        ? publishableTree(committer, objects, { base, now: content })
        : publishableMerge(committer, objects, { merge, now: content, instead: merge.laid });
    });
    return await side.withoutNotes(tree);
  }

  /** Lays the changes of a merge over the work tree as it was read. `only` limits them to these files; null lays all. */
  async function layMerge(begun: OpenMerge, on: ObjectId, only: readonly string[] | null): Promise<void> {
    if (quarantined === null) throw new Error('layMerge() before openLane()');
    const { quarantine, side } = quarantined;
    const wanted = await withObjects(quarantine.git, (objects) =>
      overlaid(quarantine, objects, { on, from: begun.tip, to: begun.laid, withheld: [...withheld.keys()], only }),
    );
    lastRead = null;
    await putBackTo(side, wanted);
  }

  /** Makes the work tree equal to `wanted`. Paths that cannot be put back count as unchanged from now on. */
  async function putBackTo(side: WorkTreeSide, wanted: ObjectId): Promise<readonly string[]> {
    const { paths, left } = await side.putBack(wanted, asFound);
    if (left.length > 0) {
      asFound = addAsFound(asFound, left);
      const names = namesOf(left.map(({ path }) => shownName(path)));
      options.log.warning(
        `What verify or the agent left in the work tree cannot be put back as it was, so it is left alone and not published: ${oneLine(names, 500)}.`,
      );
    }
    return paths.map(shownName);
  }

  /** Saves what the agent did beside the work tree, so that it is not lost. A failure never ends a run. */
  async function lookBeside(
    { head, content, beside: found }: Pick<LastRead, 'head' | 'content' | 'beside'>,
    tip: ObjectId,
  ): Promise<Pick<CommittedIteration, 'beside' | 'besideNow'>> {
    if (quarantined === null) return { beside: [], besideNow: [] };
    const { side } = quarantined;
    const news = newBeside(beside.known ?? found, found);
    const isStill = (one: BesideWork): boolean => found.some(({ is, id }) => is === one.is && id === one.id);
    const asked = [...beside.standing.filter(isStill), ...news].slice(0, MOST_ASKED);
    const known = [...new Set([tip, ...(head === null ? [] : [head])])];
    const patches: { readonly item: BesideWork; readonly patch: string }[] = [];
    for (const item of asked) {
      const patch = await side.patchOf({ item, known, now: content.tree }).catch(() => null);
      if (patch !== null) patches.push({ item, patch });
    }
    beside = { known: found, standing: patches.map(({ item }) => item) };
    return {
      beside: patches
        .filter(({ item }) => news.includes(item))
        .map(({ item, patch }) => ({ name: nameOfBeside(item), patch })),
      besideNow: patches.map(({ item }) => nameOfBeside(item)),
    };
  }

  async function tipTree(objects: Objects, tip: ObjectId): Promise<ObjectId> {
    const tree = await objects.treeOf(tip);
    if (tree === null) throw lostObjects((await needOpened()).workspace);
    return tree;
  }

  /** Returns what judges and commits through a quarantine. */
  function over(quarantine: Quarantine): Pick<Quarantined, 'quarantine' | 'committer'> {
    const inspection = withRefusedFiles(createInspection(quarantine.git, options.rules), refusedFiles);
    const { identity } = options;
    return { quarantine, committer: { repository: quarantine, inspection, identity, folder: workingDirectory } };
  }

  return {
    ...createQuestions(options, { opened, needOpened }),

    async openLane(wanted, known) {
      const found = await needOpened();
      const { workspace, repository, startHead } = found;
      const { url, token } = options.remote;
      const { identity, workFolder } = options;
      const source = { workspace, repository, startHead, url, variables: authorization(url, token), identity };
      const started = await openLane(source, wanted, known ?? null);
      if (repository.setup.sparse !== null)
        options.log.warning(
          'The checkout is sparse (`sparse-checkout` of actions/checkout): the agent and `verify` see the files that it has, and no others. Remove `sparse-checkout` if they need more.',
        );
      // A branch may lack a folder that was added to the base later.
      await checkFolderOf(repository.git, started.lane, workingDirectory);
      ({ lane } = started);
      withheld = new Map();
      withheldIn = null;
      asFound = [];
      refusedFiles.clear();
      merge = null;
      lastRead = null;
      tree = null;
      beside = { known: null, standing: [] };
      const { base, fork, roots, published } = started;
      const heads = [lane.tip, base];
      const quarantine = await createQuarantine(workspace, repository, { workFolder, heads, roots });
      await quarantine.keep(lane.tip);
      const ofLane = {
        branch: lane.branch,
        start: lane.tip,
        base: { branch: wanted.baseBranch, commit: base },
        apart: quarantine,
      };
      const trees = createLaneTrees(options, found, { credentials, roomOf, lane: ofLane });
      quarantined = { ...over(quarantine), ...ofLane, trees, published, fork, side: noSide };
      return started.answer;
    },

    async layTree(signal) {
      if (lane === null || quarantined === null) throw new Error('layTree() before openLane()');
      tree = await quarantined.trees.layWork(signal);
      ({ asFound } = tree);
      quarantined = { ...quarantined, ...over(tree.quarantine), side: tree.side };
      return once(leaveTree);
    },

    snapshot,

    async compare(before, after) {
      if (quarantined === null) throw new Error('compare() before openLane()');
      const repository = quarantined.quarantine;
      await repository.seal();
      const known = committed?.before === before.tree && committed.after === after.tree ? committed.changes : null;
      return await changeBetween(repository.git, { before, after, known });
    },

    async commit(iteration) {
      if (lane === null || quarantined === null) throw new Error('commit() before openLane()');
      const { quarantine, committer, side } = quarantined;
      await quarantine.seal();
      const known = lane.tip;
      // The commit contains what was measured: an agent's process that still runs may move HEAD in the meantime.
      const read = lastRead?.tree === iteration.after.tree ? lastRead : await readContent();
      const { head, content: now } = read;
      const found = await lookBeside(read, known);
      const done = await withObjects(quarantine.git, async (objects) => {
        const tip = { commit: known, tree: await tipTree(objects, known) };
        const withheldBefore = { paths: withheld, tree: withheldIn };
        const content = { tip, head, now, asFound, withheldBefore, iteration };
        const finished =
          merge === null
            ? { kind: 'made' as const, made: await commitIteration(committer, objects, content) }
            : await commitMerge(committer, objects, { ...content, merge });
        return { before: tip.tree, ...finished };
      });
      withheldIn = now.tree;
      const has = head === null ? [known] : [...new Set([known, head])];
      if (done.kind === 'open') {
        withheld = done.withheldPaths;
        await side.leavePlainCheckout({ ...lane, has, hasIndex: false });
        if (done.putBack.length > 0 && merge !== null) await layMerge(merge, now.tree, done.putBack);
        const { withheld: newly } = done;
        return {
          ...{ head: known, commit: null, lookAt: [], withheld: newly, withheldNow: named(withheld) },
          ...{ ...found, publishedPaths: [], published: await snapshot(), merge: 'open' },
        };
      }
      const { tree, changes, withheldPaths, ...made } = done.made;
      const { before } = done;
      const isMerge = merge !== null;
      if (merge !== null) quarantined = { ...quarantined, fork: merge.base };
      merge = null;
      withheld = withheldPaths;
      committed = { before, after: tree, changes };
      lane = { ...lane, tip: made.head };
      if (lastRead !== null) lastRead = { ...lastRead, head: made.head };
      await quarantine.keep(made.head);
      await side.leavePlainCheckout({ ...lane, has, hasIndex: tree === now.tree && asFound.length === 0 });
      const evidence = tree === now.tree ? now.evidence : await side.withoutNotes(tree);
      return {
        ...made,
        ...found,
        withheldNow: named(withheld),
        publishedPaths: changes.map(({ path }) => shownName(path)),
        published: { head: made.head, tree: evidence },
        merge: isMerge ? 'made' : 'none',
      };
    },

    async publishedTexts(paths) {
      if (lane === null || quarantined === null) return {};
      const placed = paths.map((path) => fromRoot(workingDirectory, path));
      const { texts } = await textsOf(quarantined.quarantine.git, lane.tip, placed);
      return allSeenFrom(workingDirectory, texts);
    },

    async commitTexts(wanted) {
      if (lane === null || quarantined === null) throw new Error('commitTexts() before openLane()');
      const { quarantine, committer, side } = quarantined;
      await quarantine.seal();
      const known = lane.tip;
      const { open, ...made } = await withObjects(quarantine.git, async (objects) => {
        const tree = await tipTree(objects, known);
        const texts = Object.fromEntries(
          Object.entries(wanted.texts).map(([path, text]) => [fromRoot(workingDirectory, path), text]),
        );
        const committed = await commitTextsOn(committer, objects, { ...wanted, texts, tip: { commit: known, tree } });
        const open = merge === null ? null : await onto(quarantine, objects, { merge, tip: committed.head });
        return { ...committed, open };
      });
      if (made.head === known) return made;
      merge = open;
      lane = { ...lane, tip: made.head };
      await quarantine.keep(made.head);
      await side.leavePlainCheckout({ ...lane, has: [known], hasIndex: false });
      return made;
    },

    async takeHead({ head, refused, putBack }) {
      if (lane === null || quarantined === null) throw new Error('takeHead() before openLane()');
      const { quarantine, side, base } = quarantined;
      const { tip: before } = lane;
      const left = await quarantine.git.answer(['merge-base', head, base.commit]);
      if (left.exitCode === 0) quarantined = { ...quarantined, fork: left.stdout.toString().trim() };
      const contents = await contentsOf(
        quarantine.git,
        before,
        refused.map(({ path }) => path),
      );
      for (const { path, why, whatever } of refused)
        refusedFiles.set(path, { why, content: whatever ? null : (contents.get(path) ?? null) });
      // A merge that was made but not accepted is not part of the lane.
      merge = null;
      committed = null;
      lane = { ...lane, tip: head };
      withheld = putBack ? new Map() : new Map([...withheld, ...refused.map(({ path, why }) => [path, why] as const)]);
      await quarantine.keep(head);
      if (putBack) {
        const tree = await withObjects(quarantine.git, (objects) => tipTree(objects, head));
        await putBackTo(side, tree);
      }
      lastRead = null;
      await side.leavePlainCheckout({ ...lane, has: [before], hasIndex: false });
      // The files that a verification leaves behind are measured against this snapshot.
      await snapshot();
    },

    async beginMerge() {
      if (lane === null || quarantined === null) throw new Error('beginMerge() before openLane()');
      const { quarantine, apart: repository, committer, fork, base } = quarantined;
      if (fork === base.commit) return { kind: 'up-to-date' };
      if (merge !== null) return begunOf(merge);
      const sides = { fork, lane: { branch: lane.branch, commit: lane.tip }, base };
      await quarantine.seal();
      const { content } = await readContent();
      const merged = await withObjects(repository.git, (objects) =>
        mergeTrees({ repository, inspection: committer.inspection }, objects, sides),
      );
      const begun = { ...merged, base: base.commit, tip: lane.tip, before: content.tree };
      await layMerge(begun, content.tree, null);
      merge = begun;
      return begunOf(begun);
    },

    async lockFilesLeft() {
      if (merge === null || lane === null || quarantined === null) return [];
      const open = merge;
      const { tip } = lane;
      const { quarantine, committer } = quarantined;
      const read = await readContent();
      const now = read.content.tree;
      lastRead = { ...read, tree: await measured(read.content) };
      return await withObjects(quarantine.git, async (objects) =>
        lockFilesLeft(committer, objects, { merge: open, tip: await tipTree(objects, tip), now }),
      );
    },

    async keepAlone(path) {
      if (merge === null || lane === null || quarantined === null || lastRead === null)
        throw new Error('keepAlone() before lockFilesLeft()');
      const open = merge;
      const { tip } = lane;
      const { quarantine, committer, side } = quarantined;
      const before = lastRead.content.tree;
      const read = await readContent();
      const { content: now } = read;
      const judged = await withObjects(quarantine.git, async (objects) =>
        judgeAlone(committer, objects, { path, merge: open, tip: await tipTree(objects, tip), before, now }),
      );
      if (judged === 'kept') lastRead = { ...read, tree: await measured(now) };
      else await putBackTo(side, before);
      return judged;
    },

    async abandonMerge() {
      if (merge === null || quarantined === null) return;
      const { before } = merge;
      merge = null;
      lastRead = null;
      await putBackTo(quarantined.side, before);
    },

    async putBack() {
      if (quarantined === null || lastRead === null) return [];
      return await putBackTo(quarantined.side, lastRead.content.tree);
    },

    async review() {
      if (quarantined === null || lane === null) return null;
      const { quarantine, fork } = quarantined;
      const { roots } = quarantine;
      const branch = { fork, roots, tip: lane.tip, folder: workingDirectory };
      const of = JSON.stringify(branch);
      if (reviewed?.of !== of) reviewed = { of, review: await reviewBranch(quarantine.git, branch) };
      return reviewed.review;
    },

    async layClean(commit, signal) {
      if (quarantined === null) throw new Error('layClean() before openLane()');
      return await quarantined.trees.layClean(commit, signal);
    },

    async bundle(file) {
      if (quarantined === null) throw new Error('bundle() before openLane()');
      const { quarantine, base } = quarantined;
      await quarantine.bundle({ ...file, base: base.commit });
    },

    files: (filesOf) => {
      const now = (): WorkTreeFiles => tree?.files ?? filesOf(tree?.top ?? options.folder);
      return {
        read: async (paths) => {
          const placed = paths.map((path) => fromRoot(workingDirectory, path));
          return allSeenFrom(workingDirectory, await now().read(placed));
        },
        readEnd: (path, maxBytes) => now().readEnd(fromRoot(workingDirectory, path), maxBytes),
        replace: (change) => now().replace({ ...change, path: fromRoot(workingDirectory, change.path) }),
        remove: (path) => now().remove(fromRoot(workingDirectory, path)),
      };
    },
  };

  /** Publishes the checkout, which was only read until now, instead of the tree, in which nobody works any longer. */
  async function leaveTree(): Promise<void> {
    await tree?.leave();
    tree = null;
    // The quarantine over the tree no longer has a folder to run git in.
    if (quarantined !== null) quarantined = { ...quarantined, ...over(quarantined.apart), side: noSide };
    if (quarantined === null || lane === null) return;
    await moveToTip(quarantined, lane).catch((error: unknown) => {
      options.log.warning(`The checkout stays as the job made it: ${sentence(messageOf(error))}`);
    });
  }

  async function moveToTip({ apart, start, published }: Quarantined, { branch, tip }: Lane): Promise<void> {
    const { workspace, repository } = await needOpened();
    const exchange = createExchange({
      workspace,
      checkout: repository,
      own: apart,
      roots: apart.roots,
      heads: [start],
    });
    await exchange.give({ head: tip, has: [start] });
    await moveCheckout({ workspace, repository }, { branch, commit: tip, published });
  }
}

/** The work tree as it was read last. `tree` is what evidence is taken from; `head` is its HEAD, or null if that cannot be read. */
interface LastRead {
  readonly content: WorkTreeContent;
  readonly tree: ObjectId;
  readonly head: ObjectId | null;
  readonly beside: readonly BesideWork[];
}

interface Quarantined extends TreesOfLane {
  /** Bound to the tree if this process may work in it. */
  readonly quarantine: Quarantine;
  readonly trees: LaneTrees;
  /** Commits of the lane that the server has. */
  readonly published: readonly ObjectId[];
  /** The commit at which the lane left the base branch. */
  readonly fork: ObjectId;
  readonly committer: Committer;
  readonly side: WorkTreeSide;
}

/** Returns the contents of files of a commit, by path. */
async function contentsOf(
  git: Git,
  commit: ObjectId,
  paths: readonly string[],
): Promise<ReadonlyMap<string, ObjectId>> {
  if (paths.length === 0) return new Map();
  const listed = await git.records(['--literal-pathspecs', 'ls-tree', '-z', '--full-tree', commit, '--', ...paths]);
  return new Map(
    listed.flatMap((entry) => {
      const [, id, path] = /^\d+ blob ([0-9a-f]+)\t([^]*)$/.exec(entry) ?? [];
      return id === undefined || path === undefined ? [] : [[path, id] as const];
    }),
  );
}

function named(paths: WithheldPaths): readonly Withheld[] {
  return [...paths].map(([path, why]) => ({ path: shownName(path), why }));
}

function begunOf({ conflicts, lockFiles }: OpenMerge): MergeBegun {
  return { kind: 'begun', conflicts: conflicts.map(shownName), lockFiles: lockFiles.map(shownName) };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => (made ??= make());
}
