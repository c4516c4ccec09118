import type { ObjectId, TreeSnapshot } from '../../core/evidence.ts';
import { listFirstNames, toOneLine } from '../../core/text/phrase.ts';
import { nameOfBeside, findNewBesideWork, type BesideWork } from '../../core/work-tree/answers.ts';
import type { CommittedIteration, Review } from '../../ports/repository.ts';
import { createInspection } from '../inspection/inspection.ts';
import { withRefusedFiles, type RefusedFile } from '../inspection/review.ts';
import { decodeGitName } from '../names.ts';
import { withObjects, type PathChange, type ObjectReader } from '../objects.ts';
import { buildPublishableTree, type Committer, type WithheldPaths } from './commit.ts';
import type { LaneBranch, OpenedCheckout, RepositoryOptions } from './lane.ts';
import type { LaneTrees, LaneAtOpening, WorkTree } from './lane-trees.ts';
import { buildPublishableMerge, type OpenMerge } from './merge/open-merge.ts';
import { createLostObjectsError } from './private-repository.ts';
import type { Quarantine } from './quarantine.ts';
import { addTolerated, type ToleratedChange } from './tree/differences/tolerated-changes.ts';
import {
  selectContent,
  noAccess,
  type ReadPart,
  type WorkTreeContent,
  type WorkTreeAccess,
} from './tree/work-tree-access.ts';

/** Maximum number of places outside of the work tree that are searched for work. */
const MAX_SEARCHED_PLACES = 10;

/**
 * The work tree as it was read last. `tree` is the content that is used as evidence. `head` is the work tree's HEAD, or
 * null if HEAD cannot be read.
 */
export interface LastRead {
  readonly content: WorkTreeContent;
  readonly tree: ObjectId;
  readonly head: ObjectId | null;
  readonly beside: readonly BesideWork[];
  readonly ignored: readonly string[];
}

/**
 * An open lane, and all that its methods change. From its opening on, content is never read through the checkout's own
 * objects.
 */
export interface LaneWork {
  readonly options: RepositoryOptions;
  readonly opened: OpenedCheckout;
  /** The state of the lane when it was opened. */
  readonly start: LaneAtOpening;
  readonly trees: LaneTrees;
  /** Commits of the lane that the server had when it was opened. */
  readonly published: readonly ObjectId[];
  /** The files that the server refused for this lane. */
  readonly refusedFiles: Map<string, RefusedFile>;
  lane: LaneBranch;
  /** The commit at which the lane left the base branch. */
  fork: ObjectId;
  /** The quarantine, bound to the tree if this process may work in the tree. */
  quarantine: Quarantine;
  committer: Committer;
  access: WorkTreeAccess;
  /** The tree in which the agent works, or null while no tree is checked out. */
  tree: WorkTree | null;
  lastRead: LastRead | null;
  /** The trees before and after the last commit, and their changes, because evidence often asks for this pair again. */
  committed: { readonly before: ObjectId; readonly after: ObjectId; readonly changes: readonly PathChange[] } | null;
  /** The files that are kept out of the branch. */
  withheld: WithheldPaths;
  /** The work tree that contained the withheld files when they were withheld, or null while no file is withheld. */
  withheldIn: ObjectId | null;
  /** The paths that differ from their commit although nobody changed them. */
  tolerated: readonly ToleratedChange[];
  /** The newest review, and the commits that it covers. */
  reviewed: { readonly of: string; readonly review: Review } | null;
  /** The unfinished merge, or null if none. */
  merge: OpenMerge | null;
  /**
   * Work outside of the work tree. `known` is the work after the last iteration, or null before the first look.
   * `standing` is the work that the work tree does not contain yet.
   */
  beside: { readonly known: readonly BesideWork[] | null; readonly standing: readonly BesideWork[] };
  /** Ignored paths that the last reading found for the first time. */
  newlyIgnored: readonly string[];
}

/** Creates the work on a lane that was just opened, without a tree. */
export function startLaneWork(
  fixed: Pick<LaneWork, 'options' | 'opened' | 'start' | 'trees' | 'published' | 'lane' | 'fork'>,
): LaneWork {
  const refusedFiles = new Map<string, RefusedFile>();
  return {
    ...fixed,
    refusedFiles,
    ...judgedIn(fixed.start.detached, { options: fixed.options, refusedFiles }),
    access: noAccess,
    tree: null,
    lastRead: null,
    committed: null,
    withheld: new Map(),
    withheldIn: null,
    tolerated: [],
    reviewed: null,
    merge: null,
    beside: { known: null, standing: [] },
    newlyIgnored: [],
  };
}

/** Returns the parts of a lane's work that judge and commit through a quarantine. */
function judgedIn(
  quarantine: Quarantine,
  { options, refusedFiles }: Pick<LaneWork, 'options' | 'refusedFiles'>,
): Pick<LaneWork, 'quarantine' | 'committer'> {
  const inspection = withRefusedFiles(createInspection(quarantine.git, options.rules), refusedFiles);
  const { identity, signOff, workingDirectory: folder } = options;
  return { quarantine, committer: { repository: quarantine, inspection, identity, signOff, folder } };
}

/** Makes this the tree of the lane's work; if `tree` is null, the work no longer has a tree. */
export function bindToTree(work: LaneWork, tree: WorkTree | null): void {
  const { quarantine, committer } = judgedIn(tree?.quarantine ?? work.start.detached, work);
  work.quarantine = quarantine;
  work.committer = committer;
  work.access = tree?.access ?? noAccess;
  work.tree = tree;
  if (tree !== null) work.tolerated = tree.tolerated;
}

/** Reads the work tree, remembers it as `lastRead`, and returns the snapshot from which evidence is taken. */
export async function takeSnapshot(work: LaneWork): Promise<TreeSnapshot> {
  const { tree, head } = await rememberRead(work, await readContent(work));
  return { head: head ?? work.lane.tip, tree };
}

/** Remembers a reading of the work tree in the field `lastRead` of `work`. */
export async function rememberRead(work: LaneWork, read: Omit<LastRead, 'tree'>): Promise<LastRead> {
  const lastRead = { ...read, tree: await measured(work, read.content) };
  const known = new Set(work.lastRead?.ignored ?? read.ignored);
  work.newlyIgnored = read.ignored.filter((path) => !known.has(path));
  work.lastRead = lastRead;
  return lastRead;
}

/** Reads the work tree without remembering it. Only a reading of `all` may be remembered. */
export async function readContent(work: LaneWork, wanted: ReadPart = 'all'): Promise<Omit<LastRead, 'tree'>> {
  const { access } = work;
  const { head, beside: found, ignored, ...content } = await access.read(work.lane.tip, work.tolerated, wanted);
  // Work outside of the tree that existed before the agent began is not the agent's, so record it at the first reading.
  work.beside = { ...work.beside, known: work.beside.known ?? found };
  return { head, beside: found, ignored, content: selectContent(content, await access.withoutNotes(content.tree)) };
}

/**
 * Returns the content from which evidence is taken: without notes and without withheld files, which are never
 * published.
 */
async function measured(
  { withheld, quarantine, committer, access, lane, merge, opened }: LaneWork,
  content: WorkTreeContent,
): Promise<ObjectId> {
  if (withheld.size === 0) return content.evidence;
  const { tree } = await withObjects(quarantine.git, async (objects) => {
    const base = await getTipTree(opened, objects, lane.tip);
    return merge === null
      ? buildPublishableTree(committer, objects, { base, now: content })
      : buildPublishableMerge(committer, objects, { merge, now: content, instead: merge.markedTree });
  });
  return await access.withoutNotes(tree);
}

/**
 * Makes the work tree equal to `wanted`, and returns the paths that were put back. Paths that cannot be put back are
 * treated as unchanged from now on.
 */
export async function restoreWorkTree(work: LaneWork, wanted: ObjectId): Promise<readonly string[]> {
  const { paths, left } = await work.access.putBack(wanted, work.tolerated);
  if (left.length > 0) {
    work.tolerated = addTolerated(work.tolerated, left);
    const names = listFirstNames(left.map(({ path }) => decodeGitName(path)));
    work.options.log.warning(
      `Changes that verify or the agent left in the work tree cannot be undone. They stay there and are not published: ${toOneLine(names, 500)}.`,
    );
  }
  return paths.map(decodeGitName);
}

/** Undoes all that happened in the work tree since a reading of it; see `Repository.putBack`. */
export async function undoChangesSince(work: LaneWork, read: LastRead): Promise<readonly string[]> {
  const { head, beside } = await readContent(work, 'content');
  const paths = await restoreWorkTree(work, read.content.tree);
  if (head !== read.head) {
    const has = [work.lane.tip, ...(read.head === null ? [] : [read.head])];
    const { access, lane } = work;
    await access.leavePlainCheckout({ ...lane, tip: read.head ?? lane.tip, has, hasIndex: false });
  }
  const known = work.beside.known ?? [];
  work.beside = { ...work.beside, known: [...known, ...findNewBesideWork(read.beside, beside)] };
  return paths;
}

/**
 * Returns patches of the work that the agent left outside of the checked-out branch, so that it is not lost. A failure
 * never ends a run.
 */
export async function readWorkBeside(
  work: LaneWork,
  { head, content, beside: found }: Pick<LastRead, 'head' | 'content' | 'beside'>,
  tip: ObjectId,
): Promise<Pick<CommittedIteration, 'beside' | 'besideNow' | 'newlyIgnored'>> {
  const { access, beside } = work;
  const news = findNewBesideWork(beside.known ?? found, found);
  const isStill = (one: BesideWork): boolean => found.some(({ is, id }) => is === one.is && id === one.id);
  const asked = [...beside.standing.filter(isStill), ...news].slice(0, MAX_SEARCHED_PLACES);
  const known = [...new Set([tip, ...(head === null ? [] : [head])])];
  const patches: { readonly item: BesideWork; readonly patch: string }[] = [];
  for (const item of asked) {
    const patch = await access.patchOf({ item, known, now: content.tree }).catch(() => null);
    if (patch !== null) patches.push({ item, patch });
  }
  work.beside = { known: found, standing: patches.map(({ item }) => item) };
  return {
    beside: patches
      .filter(({ item }) => news.includes(item))
      .map(({ item, patch }) => ({ name: nameOfBeside(item), patch })),
    besideNow: patches.map(({ item }) => nameOfBeside(item)),
    newlyIgnored: work.newlyIgnored.map(decodeGitName),
  };
}

/** Returns the tree of one of the lane's commits; throws a UserError if its objects are gone. */
export async function getTipTree(
  { workspace }: Pick<OpenedCheckout, 'workspace'>,
  objects: ObjectReader,
  tip: ObjectId,
): Promise<ObjectId> {
  const tree = await objects.treeOf(tip);
  if (tree === null) throw createLostObjectsError(workspace);
  return tree;
}
