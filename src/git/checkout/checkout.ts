import { isAbsolute, join } from 'node:path';
import type { ObjectId, Snapshot } from '../../core/evidence.ts';
import { allSeenFrom, fromRoot } from '../../core/folder.ts';
import { namesOf } from '../../core/text/lists.ts';
import { nameOfBeside, newBeside, type BesideWork } from '../../core/work-tree/beside.ts';
import { oneLine } from '../../core/text/one-line.ts';
import type { CommittedIteration, MergeBegun, Repository, Withheld, WorkTreeFiles } from '../../ports/repository.ts';
import { UserError } from '../../errors.ts';
import { keepIgnored, layCleanClone, putBackIgnored, type KeptFiles } from './clean-clone.ts';
import { commitIteration, commitTextsOn, publishableTree, type Committer, type WithheldPaths } from './commit.ts';
import { hideCredentials } from './credentials/credentials.ts';
import { authorization, type Git } from '../git.ts';
import { shownName } from '../names.ts';
import { createInspection } from '../inspection/inspection.ts';
import { withRefusedFiles, type RefusedFile } from '../inspection/refused-files.ts';
import { openLane, type Lane } from './lane.ts';
import { mergeTrees } from './merge/auto-merge.ts';
import { commitMerge, judgeAlone, lockFilesLeft, publishableMerge } from './merge/commit-merge.ts';
import { onto, overlaid, type OpenMerge } from './merge/open-merge.ts';
import { withObjects, type Change, type Objects } from '../objects.ts';
import { notAWorkTree, openCheckout, type Opened, type RepositoryOptions } from './opened.ts';
import { lostObjects } from './private-repository.ts';
import { createQuarantine, type Quarantine } from './quarantine.ts';
import { createQuestions } from './questions.ts';
import { textsOf } from './texts.ts';
import { changeBetween } from './tree/tree-change.ts';
import { addAsFound, type AsFound } from './tree/found/as-found.ts';
import { createExchange } from './tree/exchange.ts';
import { handOverWorkTree } from './tree/hand-over.ts';
import { createLocalSide, withoutNotesOf } from './tree/local-side.ts';
import { configToRestore, createWorkspaceRestorer } from './tree/restore.ts';
import { contentOf, noSide, type WorkTreeContent, type WorkTreeSide } from './tree/side.ts';
import { plainReading, readWorkTree } from './tree/work-tree.ts';
import { reviewBranch } from '../inspection/review.ts';
import { checkWorkingDirectory } from './working-directory.ts';
import { headOf } from './workspace.ts';

/** The checkout, and what only those need who wire it. */
export interface Checkout extends Repository {
  /** Text files of the work tree: by way of `own`, which reads them as this process, unless they are another user's. */
  files(own: WorkTreeFiles): WorkTreeFiles;
}

/** More work beside the work tree is not looked into. */
const MOST_ASKED = 10;

/** The checkout behind the port Repository. Nothing is read or written before the first call. */
export function createRepository(options: RepositoryOptions): Checkout {
  if (!isAbsolute(options.workFolder)) throw new Error(`workFolder must be absolute, got ${options.workFolder}`);
  const { workingDirectory } = options;
  const roomOf = once(options.room);
  const opened = once(() => openCheckout(options));
  let lane: Lane | null = null;
  let lastRead: LastRead | null = null;
  /** The trees on both sides of the last commit, and what differs: evidence mostly asks for the same again. */
  let committed: { readonly before: ObjectId; readonly after: ObjectId; readonly changes: readonly Change[] } | null =
    null;
  let withheld: WithheldPaths = new Map();
  /** The work tree in which these files lay as they were withheld; null: none were yet. */
  let withheldIn: ObjectId | null = null;
  /** What of the work tree is nobody's work, and counts as its commit has it while it stays so. */
  let asFound: readonly AsFound[] = [];
  /** What the server did not take of the lane that is open. */
  const refusedFiles = new Map<string, RefusedFile>();
  /** null: none is to be finished. */
  let merge: OpenMerge | null = null;
  /** Work beside the work tree: what was known after the last iteration (null: nothing was looked at yet), and what of it is not in the work tree yet. */
  let beside: { readonly known: readonly BesideWork[] | null; readonly standing: readonly BesideWork[] } = {
    known: null,
    standing: [],
  };
  /** From when a lane is open: no content is read by way of the checkout's own objects any more. */
  let quarantined: Quarantined | null = null;
  /** What git ignored before the agent worked; null: nothing. */
  let kept: KeptFiles | null = null;
  /** Text files of a work tree that is another user's; null: it is ours. */
  let theirFiles: WorkTreeFiles | null = null;
  /** From then on nothing of ours runs there as this process. */
  let isHandedOver = false;
  /** The checkout's config without credentials; null: they are not hidden. */
  let config: Buffer | null = null;

  async function needOpened(): Promise<Opened> {
    const found = await opened();
    if ('why' in found) throw new UserError('infrastructure', notAWorkTree(options.folder, found.why));
    return found;
  }

  /** For what is done in the work tree as this process. */
  async function needOurs(): Promise<Opened> {
    if (isHandedOver) throw new Error('the work tree was handed over');
    return await needOpened();
  }

  async function restore(): Promise<void> {
    const { workspace, config: found } = await needOurs();
    await createWorkspaceRestorer(workspace, config ?? found)();
  }

  async function snapshot(): Promise<Snapshot> {
    const read = await readContent();
    const { head, content } = read;
    const tree = await measured(content);
    lastRead = { ...read, tree };
    const known = head ?? lane?.tip;
    if (known === undefined)
      throw new UserError(
        'infrastructure',
        `The repository in ${(await needOpened()).workspace.top} has no commits yet.`,
      );
    return { head: known, tree };
  }

  async function readContent(): Promise<Omit<LastRead, 'tree'>> {
    if (quarantined === null || lane === null) {
      const { workspace, repository } = await needOurs();
      const [head, found] = await Promise.all([headOf(workspace), readWorkTree(repository, workspace, plainReading)]);
      return {
        head,
        beside: [],
        content: contentOf(
          found,
          await withoutNotesOf({ workspace, repository, folder: workingDirectory }, found.tree),
        ),
      };
    }
    const { side } = quarantined;
    const { head, beside: found, ...content } = await side.read(lane.tip, asFound);
    // What was there before the agent worked is not its work.
    beside = { ...beside, known: beside.known ?? found };
    return { head, beside: found, content: contentOf(content, await side.withoutNotes(content.tree)) };
  }

  /** The content that evidence is taken from: without notes, and without what is withheld, which nobody will get to see. */
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

  /** Lays what merging changes over the work tree as it was read; `only`: these files of it, null: all. */
  async function layMerge(begun: OpenMerge, on: ObjectId, only: readonly string[] | null): Promise<void> {
    if (quarantined === null) throw new Error('layMerge() before openLane()');
    const { quarantine, side } = quarantined;
    const wanted = await withObjects(quarantine.git, (objects) =>
      overlaid(quarantine, objects, { on, from: begun.tip, to: begun.laid, withheld: [...withheld.keys()], only }),
    );
    lastRead = null;
    await putBackTo(side, wanted);
  }

  /** Makes the work tree what `wanted` says. What cannot be put back is nobody's work from now on. */
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

  /** What the agent did beside the work tree, so that it is not lost: never a reason to end a run. */
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

  /** What judges and commits by way of a quarantine. */
  function over(quarantine: Quarantine): Pick<Quarantined, 'quarantine' | 'committer'> {
    const inspection = withRefusedFiles(createInspection(quarantine.git, options.rules), refusedFiles);
    const { identity } = options;
    return { quarantine, committer: { repository: quarantine, inspection, identity, folder: workingDirectory } };
  }

  return {
    ...createQuestions(options, { opened, needOurs, isUntouched: () => lane === null }),

    async openLane(wanted, known) {
      const { workspace, repository } = await needOurs();
      const { url, token } = options.remote;
      const source = {
        workspace,
        repository,
        url,
        variables: authorization(url, token),
        workedOn: lane !== null,
        identity: options.identity,
      };
      const {
        lane: started,
        base,
        fork,
        roots,
        asFound: found,
        answer,
      } = await openLane(source, wanted, known ?? null);
      if (repository.setup.sparse !== null)
        options.log.warning(
          'The checkout is sparse (`sparse-checkout` of actions/checkout): the agent and `verify` see the files that it has, here and in clean clones, and no others. Remove `sparse-checkout` if they need more.',
        );
      // A branch may lack a folder that the base has had since.
      await checkWorkingDirectory(workspace.top, workingDirectory);
      lane = started;
      withheld = new Map();
      withheldIn = null;
      asFound = found;
      refusedFiles.clear();
      merge = null;
      lastRead = null;
      const heads = [started.tip, base];
      const quarantine = await createQuarantine(workspace, repository, {
        workFolder: options.workFolder,
        heads,
        roots,
        asFound,
      });
      await quarantine.keep(started.tip);
      const exchange = createExchange({ workspace, checkout: repository, own: quarantine, roots, heads });
      const side = createLocalSide({
        ...{ workspace, folder: workingDirectory, own: quarantine, exchange, restore },
        besideWith: {
          own: repository,
          objects: [quarantine.folder, workspace.commonFolder].map((one) => join(one, 'objects')),
        },
      });
      beside = { known: null, standing: [] };
      quarantined = {
        ...over(quarantine),
        start: started.tip,
        fork,
        base: { branch: wanted.baseBranch, commit: base },
        side,
      };
      return answer;
    },

    snapshot,

    async compare(before, after) {
      const repository = quarantined?.quarantine ?? (await needOpened()).repository;
      await repository.seal();
      const known = committed?.before === before.tree && committed.after === after.tree ? committed.changes : null;
      return await changeBetween(repository.git, { before, after, known });
    },

    async commit(iteration) {
      if (lane === null || quarantined === null) throw new Error('commit() before openLane()');
      const { quarantine, committer, side } = quarantined;
      await quarantine.seal();
      const known = lane.tip;
      // What was measured is what is committed: an agent's process that is still there may move HEAD meanwhile.
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
      // A merge that was made and is not taken is not the lane's.
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
      // What a verification leaves behind is measured against this.
      await snapshot();
    },

    async beginMerge() {
      if (lane === null || quarantined === null) throw new Error('beginMerge() before openLane()');
      const { quarantine, committer, fork, base } = quarantined;
      if (fork === base.commit) return { kind: 'up-to-date' };
      if (merge !== null) return begunOf(merge);
      const sides = { fork, lane: { branch: lane.branch, commit: lane.tip }, base };
      await quarantine.seal();
      // Its index and work tree are nobody's.
      const repository = await quarantine.detach();
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
      return await reviewBranch(quarantine.git, { fork, roots, tip: lane.tip, folder: workingDirectory });
    },

    async keepIgnored(signal) {
      const { workspace, repository } = await needOurs();
      kept = null;
      kept = await keepIgnored({ ...options, workspace, signal }, repository);
    },

    async putBackIgnored(signal) {
      // Nobody else is there any more, or ever was: the run's own git looks at it, with its own settings.
      const { workspace, repository } = await needOpened();
      return (await putBackIgnored({ ...options, workspace, signal }, repository, kept)).map(shownName);
    },

    async cleanClone(commit, signal) {
      const { workspace, repository } = await needOpened();
      const room = (await roomOf())?.room ?? null;
      const patterns = repository.setup.sparse;
      // The base is as the job checks it out; in the lane, what was worked on since is there as well.
      const start = quarantined === null || quarantined.base.commit === commit ? commit : quarantined.start;
      const sparse = patterns === null ? null : { patterns, start };
      return layCleanClone({ ...options, workspace, room, signal }, { commit, kept, sparse });
    },

    async bundle(file) {
      if (quarantined === null) throw new Error('bundle() before openLane()');
      const { quarantine, base } = quarantined;
      await quarantine.bundle({ ...file, base: base.commit });
    },

    async hideCredentials() {
      const { workspace } = await needOurs();
      const giveBack = await hideCredentials(workspace, { ...options, token: options.remote.token });
      // What is made again of a broken git directory must not bring them back.
      config = await configToRestore(workspace);
      return giveBack;
    },

    async handOver() {
      const given = await roomOf();
      if (given === null) return () => Promise.resolve();
      if (lane === null || quarantined === null) throw new Error('handOver() before openLane()');
      const { workspace, repository } = await needOurs();
      const { quarantine, side, takeBack } = await handOverWorkTree(
        { ...options, ...given, workspace, folder: workingDirectory, branch: lane.branch, own: repository.setup },
        quarantined.quarantine,
        lane.tip,
      );
      isHandedOver = true;
      theirFiles = side.files;
      quarantined = { ...quarantined, ...over(quarantine), side };
      return once(async () => {
        theirFiles = null;
        if (quarantined !== null) quarantined = { ...quarantined, side: noSide };
        await takeBack();
      });
    },

    files: (own) => ({
      read: async (paths) => {
        const placed = paths.map((path) => fromRoot(workingDirectory, path));
        return allSeenFrom(workingDirectory, await (theirFiles ?? own).read(placed));
      },
      readEnd: (path, maxBytes) => (theirFiles ?? own).readEnd(fromRoot(workingDirectory, path), maxBytes),
      replace: (change) => (theirFiles ?? own).replace({ ...change, path: fromRoot(workingDirectory, change.path) }),
      remove: (path) => (theirFiles ?? own).remove(fromRoot(workingDirectory, path)),
    }),
  };
}

/** The work tree as it was read last. `tree`: what evidence is taken from; `head`: the HEAD beside it, null: none that can be had. */
interface LastRead {
  readonly content: WorkTreeContent;
  readonly tree: ObjectId;
  readonly head: ObjectId | null;
  readonly beside: readonly BesideWork[];
}

interface Quarantined {
  readonly quarantine: Quarantine;
  /** The lane's tip when it was opened. */
  readonly start: ObjectId;
  /** Where the lane left the base branch. */
  readonly fork: ObjectId;
  /** Tip of the base branch. */
  readonly base: { readonly branch: string; readonly commit: ObjectId };
  readonly committer: Committer;
  readonly side: WorkTreeSide;
}

/** The contents of files of a commit, by path. */
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
