import type { ObjectId } from '../../../core/evidence.ts';
import { hasNewMarkers } from '../../../core/feedback/conflict/conflict-markers.ts';
import type { KeepAloneResult, WithheldChange } from '../../../ports/repository.ts';
import { isLoopState } from '../../inspection/protected-paths.ts';
import { listFilesToLookAt } from '../../inspection/review.ts';
import { type PathChange, readCommits, type ObjectReader, withholdMovedFiles, writeTreeWith } from '../../objects.ts';
import {
  type Committer,
  commitTree,
  type IterationContent,
  type MadeCommits,
  addSubjects,
  selectWithheldChanges,
  type WithheldPaths,
} from '../commit.ts';
import type { PrivateRepository } from '../private-repository.ts';
import type { WorkTreeContent } from '../tree/work-tree-access.ts';
import type { MergedTrees } from './auto-merge.ts';

/** A merge of the base branch that is in the work tree and not committed yet. */
export interface OpenMerge extends MergedTrees {
  /** Tip of the base branch. */
  readonly base: ObjectId;
  /** The lane's newest commit. */
  readonly tip: ObjectId;
  /** The whole work tree before the merge. */
  readonly before: ObjectId;
}

/** The reasons why files of a merge are left out of the commit. */
const MARKED = 'it still has conflict markers';

const BOTH_AT_PATH = 'each branch has something different at its path: rename it, or remove it';

const UNDONE = "the base branch's changes to it had been undone, so they were merged again";

/** Changes to apply to a tree: the differences from one commit or tree to another. */
interface Overlay {
  readonly on: ObjectId;
  readonly from: ObjectId;
  readonly to: ObjectId;
  /** Paths that stay as they are unless another entry takes their place. */
  readonly withheld: readonly string[];
  /** The paths to which the changes are limited, or null to apply all changes. */
  readonly only: readonly string[] | null;
}

/** Returns the tree with the overlay applied. */
export async function applyOverlay(
  repository: PrivateRepository,
  objects: ObjectReader,
  { on, from, to, withheld, only }: Overlay,
): Promise<ObjectId> {
  const kept = new Set(withheld);
  const isWanted = (path: string): boolean => (only === null ? !kept.has(path) : only.includes(path));
  const brought = (await objects.changesBetween(from, to)).filter(({ path }) => isWanted(path));
  if (brought.length === 0) return on;
  const there = (await objects.changesBetween(from, on)).filter(({ newId }) => newId !== null);
  const replaced = there.filter(({ path }) => brought.some((change) => isInWay(path, change)));
  const removed = replaced.map((change) => ({ ...change, oldId: change.newId, newId: null }));
  return await repository.withIndex('empty', (indexFile) =>
    writeTreeWith(repository.git, indexFile, { base: on, changes: [...removed, ...brought] }),
  );
}

/** Returns true if one path is a file where the other needs a folder, or vice versa. */
function isInWay(path: string, { path: other, newId }: PathChange): boolean {
  return newId !== null && (path.startsWith(`${other}/`) || other.startsWith(`${path}/`));
}

/**
 * If somebody undid the merge in the work tree, returns the paths that are as before the merge. It is undone if no path
 * that git merged without a conflict still has its merged content. Otherwise returns an empty list.
 */
async function undoneIn(
  objects: ObjectReader,
  merge: OpenMerge,
  { tip, now }: { readonly tip: ObjectId; readonly now: ObjectId },
): Promise<readonly string[]> {
  const brought = await objects.changesBetween(tip, merge.markedTree);
  const changed = new Set((await objects.changesBetween(tip, now)).map(({ path }) => path));
  const inConflict = new Set([...merge.conflicts, ...merge.lockFiles]);
  // Leave out new files of the merge, because `git reset` would not remove them.
  const byGit = brought.filter(({ path, oldId }) => oldId !== null && !inConflict.has(path) && !isLoopState(path));
  if (byGit.length === 0 || byGit.some(({ path }) => changed.has(path))) return [];
  return brought.filter(({ path }) => !changed.has(path)).map(({ path }) => path);
}

/** Maximum size of a merged file that is examined: nobody merges larger files by hand. */
const MAX_MERGED_BYTES = 32 * 1024 * 1024;

/** Returns the files that are not merged yet, with the reason for each. */
async function unfinishedIn(
  objects: ObjectReader,
  merge: OpenMerge,
  { tip, now }: { readonly tip: ObjectId; readonly now: ObjectId },
): Promise<ReadonlyMap<string, string>> {
  const [fromLane, fromBase, sinceLaid] = await Promise.all([
    objects.changesBetween(tip, now),
    objects.changesBetween(merge.base, now),
    objects.changesBetween(merge.markedTree, now),
  ]);
  const [lane, base] = [fromLane, fromBase].map((changes) => new Map(changes.map((change) => [change.path, change])));
  const marked = new Set(merge.marked);
  const touched = new Set([...marked, ...sinceLaid.map(({ path }) => path)]);
  // A file that equals one of the sides was resolved on purpose, so do not search it for markers.
  const asked = [...touched].flatMap((path) => {
    const [ours, theirs] = [lane?.get(path), base?.get(path)];
    return ours?.newId == null || theirs === undefined
      ? []
      : [{ path, now: ours.newId, sides: [ours.oldId, theirs.oldId] }];
  });
  const texts = await readMergedTexts(
    objects,
    asked.flatMap(({ now: id, sides }) => [id, ...sides]),
  );
  const left = asked.filter(({ path, now: id, sides }) => {
    const text = texts.get(id);
    const known = sides.map((side) => (side === null ? null : (texts.get(side) ?? null)));
    return text !== undefined && hasNewMarkers({ now: text, sides: known, conflicted: marked.has(path) });
  });
  const moved = new Set(sinceLaid.map(({ path }) => path));
  return new Map([
    ...left.map(({ path }) => [path, MARKED] as const),
    ...merge.beside.filter((path) => !moved.has(path)).map((path) => [path, BOTH_AT_PATH] as const),
  ]);
}

/** Returns the merge on top of a newer commit of the lane. */
export async function moveMergeOnto(
  repository: PrivateRepository,
  objects: ObjectReader,
  { merge, tip }: { readonly merge: OpenMerge; readonly tip: ObjectId },
): Promise<OpenMerge> {
  const change = { from: merge.tip, to: tip, withheld: [], only: null };
  const markedTree = await applyOverlay(repository, objects, { ...change, on: merge.markedTree });
  return {
    ...merge,
    markedTree,
    settled: await applyOverlay(repository, objects, { ...change, on: merge.settled }),
    tip,
  };
}

/** Returns the contents that are text and not too large. */
async function readMergedTexts(
  objects: ObjectReader,
  ids: readonly (ObjectId | null)[],
): Promise<ReadonlyMap<ObjectId | null, string>> {
  const sizes = await objects.sizesOf([...new Set(ids.filter((id) => id !== null))]);
  const texts = new Map<ObjectId | null, string>();
  await objects.each(new Map([...sizes].filter(([, size]) => size <= MAX_MERGED_BYTES)), (id, content) => {
    if (!content.includes(0)) texts.set(id, content.toString());
  });
  return texts;
}

/**
 * The changes that an open merge commits. `judged` are the agent's own changes, which are inspected; the others come
 * from the base.
 */
interface MergeChanges {
  readonly all: readonly PathChange[];
  readonly judged: readonly PathChange[];
}

/** Returns the differences from the merge as git left it. Files that equal the base branch are treated as unchanged. */
async function changesSince(objects: ObjectReader, merge: OpenMerge, now: ObjectId): Promise<MergeChanges> {
  const [all, fromBase] = await Promise.all([
    objects.changesBetween(merge.markedTree, now),
    objects.changesBetween(merge.base, now),
  ]);
  const own = new Set(fromBase.map(({ path }) => path));
  return { all, judged: all.filter(({ path }) => own.has(path)) };
}

/** Returns the lock files of the merge that are in this tree. */
async function lockFilesIn(
  { git }: PrivateRepository,
  tree: ObjectId,
  { lockFiles }: OpenMerge,
): Promise<readonly string[]> {
  if (lockFiles.length === 0) return [];
  const listed = await git.records(['--literal-pathspecs', 'ls-tree', '-z', '--full-tree', tree, '--', ...lockFiles]);
  const files = new Set(listed.flatMap((entry) => /^100(?:644|755) blob [0-9a-f]+\t([^]*)$/.exec(entry)?.[1] ?? []));
  return lockFiles.filter((path) => files.has(path));
}

/**
 * The result of committing a merge. `open`: the merge is not finished, and `putBack` are the files that were undone.
 * `made`: it is a commit.
 */
type CommittedMerge =
  | { readonly kind: 'made'; readonly made: MadeCommits }
  | {
      readonly kind: 'open';
      readonly putBack: readonly string[];
      readonly withheld: readonly WithheldChange[];
      readonly withheldPaths: WithheldPaths;
    };

/** Maximum number of the agent's commits that are named in the message. */
const MAX_MERGE_SUBJECTS = 50;

/** Creates the merge commit once no conflict is left, regardless of the agent's own commits. */
export async function commitMerge(
  committer: Committer,
  objects: ObjectReader,
  { merge, ...content }: IterationContent & { readonly merge: OpenMerge },
): Promise<CommittedMerge> {
  const { tip, now, iteration } = content;
  const sides = { tip: tip.tree, now: now.tree };
  const putBack = await undoneIn(objects, merge, sides);
  const left =
    putBack.length > 0 ? new Map(putBack.map((path) => [path, UNDONE])) : await unfinishedIn(objects, merge, sides);
  const publishable = await buildPublishableMerge(committer, objects, { merge, now, instead: merge.settled });
  const newly = await selectWithheldChanges(objects, content, { objections: left, withheld: publishable.withheld });
  if (left.size > 0)
    return { kind: 'open', putBack, withheld: newly, withheldPaths: new Map([...publishable.withheld, ...left]) };
  const { tree, withheld, own } = publishable;
  const subjects = await subjectsOf(committer, objects, { head: content.head, merge, tip: tip.commit });
  const message = await addSubjects(committer, iteration.message, subjects);
  const commit = await commitTree(committer, {
    tree,
    parents: [tip.commit, merge.base],
    message,
    trailers: iteration.trailers,
  });
  return {
    kind: 'made',
    made: {
      head: commit,
      commit,
      tree,
      changes: await objects.changesBetween(tip.tree, tree),
      lookAt: await listFilesToLookAt(
        objects,
        own.filter(({ path }) => !withheld.has(path)),
        committer.folder,
      ),
      withheld: newly,
      withheldPaths: withheld,
    },
  };
}

/** Returns the current merged tree with the version of `instead` for every file that must not be published. */
export async function buildPublishableMerge(
  { repository, inspection }: Committer,
  objects: ObjectReader,
  { merge, now, instead }: { merge: OpenMerge; now: WorkTreeContent; instead: ObjectId },
): Promise<{
  readonly tree: ObjectId;
  readonly withheld: WithheldPaths;
  readonly own: Awaited<ReturnType<typeof changesSince>>['judged'];
}> {
  const { all, judged } = await changesSince(objects, merge, now.tree);
  const withheld = new Map(await inspection.inspect(objects, judged, now.substitutes));
  if (withheld.size === 0) return { tree: now.tree, withheld, own: judged };
  await withholdMovedFiles(repository.git, [instead, now.tree], withheld);
  const tree = await repository.withIndex('empty', (indexFile) =>
    writeTreeWith(repository.git, indexFile, { base: instead, changes: all.filter(({ path }) => !withheld.has(path)) }),
  );
  return { tree, withheld, own: judged };
}

/** Returns the lock files that can be regenerated; empty while other files are unresolved. */
export async function findLockFilesLeft(
  { repository }: Committer,
  objects: ObjectReader,
  { merge, tip, now }: { readonly merge: OpenMerge; readonly tip: ObjectId; readonly now: ObjectId },
): Promise<readonly string[]> {
  const sides = { tip, now };
  if ((await undoneIn(objects, merge, sides)).length > 0) return [];
  const isLeft = (await unfinishedIn(objects, merge, sides)).size > 0;
  return isLeft ? [] : await lockFilesIn(repository, now, merge);
}

/**
 * Judges whether the file at `path` is the only one that differs from `before`, and whether the merge's commit may
 * contain it.
 */
export async function judgeSingleFile(
  committer: Committer,
  objects: ObjectReader,
  judged: {
    readonly path: string;
    readonly merge: OpenMerge;
    readonly tip: ObjectId;
    readonly before: ObjectId;
    readonly now: WorkTreeContent;
  },
): Promise<KeepAloneResult> {
  const { path, merge, tip, before, now } = judged;
  const changes = await objects.changesBetween(before, now.tree);
  if (changes.length === 0) return 'kept';
  if (changes.some((change) => change.path !== path)) return 'elsewhere';
  if (!(await lockFilesIn(committer.repository, now.tree, merge)).includes(path)) return 'failed';
  if ((await unfinishedIn(objects, merge, { tip, now: now.tree })).has(path)) return 'marked';
  const { withheld } = await buildPublishableMerge(committer, objects, { merge, now, instead: merge.markedTree });
  return withheld.has(path) ? 'withheld' : 'kept';
}

/** Returns the subjects of the agent's commits, without those of the base branch. */
async function subjectsOf(
  { repository }: Committer,
  objects: ObjectReader,
  { head, merge, tip }: { readonly head: ObjectId | null; readonly merge: OpenMerge; readonly tip: ObjectId },
): Promise<readonly string[]> {
  if (head === null || head === tip) return [];
  const listed = await repository.git.answer([
    'rev-list',
    '--topo-order',
    '--reverse',
    head,
    `^${tip}`,
    `^${merge.base}`,
  ]);
  const ids = listed.exitCode === 0 ? (listed.stdout.toString().match(/^[0-9a-f]+$/gm) ?? []) : [];
  return (await readCommits(objects, ids.slice(0, MAX_MERGE_SUBJECTS))).map(
    ({ message }) => message.split('\n', 1)[0] ?? '',
  );
}
