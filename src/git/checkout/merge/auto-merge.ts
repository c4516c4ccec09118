import { isUtf8 } from 'node:buffer';
import type { ObjectId } from '../../../core/evidence.ts';
import { toRootPath, type Folder } from '../../../core/folder.ts';
import { isLockFile } from '../../../core/review/test-files.ts';
import { MINUTE_MS } from '../../../core/countdown.ts';
import { taskFilePaths } from '../../../core/tasks/files/form/root-plan.ts';
import { mergePlans } from '../../../core/tasks/files/plan-merge.ts';
import { UserError } from '../../../errors.ts';
import { type Git, lastLinesOfError, LOCAL_IDENTITY, MERGE_ALONE } from '../../git.ts';
import { decodeNames } from '../../names.ts';
import type { Inspection } from '../../inspection/inspection.ts';
import { writeTreeWith, type PathChange, type ObjectReader } from '../../objects.ts';
import type { PrivateRepository } from '../private-repository.ts';

/** The commits to merge, and the names of their branches. */
export interface MergeSides {
  /** The commit at which the lane left the base branch. */
  readonly fork: ObjectId;
  readonly lane: { readonly branch: string; readonly commit: ObjectId };
  readonly base: { readonly branch: string; readonly commit: ObjectId };
}

/**
 * The result of a merge as trees: `markedTree` has conflict markers, and `settled` has the base's version of each
 * conflicting file.
 */
export interface MergedTrees {
  readonly markedTree: ObjectId;
  readonly settled: ObjectId;
  /** Files that a person should look at: those with markers, and those with the content of one side only. */
  readonly conflicts: readonly string[];
  /** Conflicts that have markers. */
  readonly marked: readonly string[];
  /** Conflicts that git wrote under another name, because both sides use their path for different things. */
  readonly beside: readonly string[];
  /** Lock files that conflicted; the trees have the base's version of them. */
  readonly lockFiles: readonly string[];
}

/** The repository for the merge, and the run's working directory, whose plan is merged by its tasks. */
interface MergePlace {
  readonly repository: Pick<PrivateRepository, 'git' | 'withIndex'>;
  readonly inspection: Inspection;
  readonly folder: Folder;
}

/** Maximum time of one merge, in ms: large trees take long. */
const MERGE_MS = 3 * MINUTE_MS;

/**
 * Merges trees as objects: touches no work tree, applies no attributes, and runs no driver. `repository` must not have
 * a work tree.
 */
export async function mergeTrees(
  { repository, inspection, folder }: MergePlace,
  objects: ObjectReader,
  sides: MergeSides,
): Promise<MergedTrees> {
  const { lane, base } = sides;
  const merged = await repository.withIndex('empty', (indexFile) => mergeInIndex(repository, indexFile, sides));
  const [fromBase, fromLane, ofLane] = await Promise.all([
    changesByPath(objects, base.commit, merged.tree),
    changesByPath(objects, lane.commit, merged.tree),
    changesByPath(objects, sides.fork, lane.commit),
  ]);
  const judged = Map.groupBy(merged.conflicts, ({ path }) => path);
  // For files that need a person's permission to change, use the base's version, unless only the lane changed the file
  // before.
  const kept = inspection.inspectPaths([...fromBase.values()]);
  const isOfLaneAlone = (path: string): boolean => ofLane.has(path) && !fromLane.has(path) && !judged.has(path);
  const restored = [...fromBase.values()].filter(({ path }) => kept.has(path) && !isOfLaneAlone(path));
  const plans = await mergedPlans({ repository, folder }, objects, judged);
  const found = [...judged]
    .filter(([path]) => !kept.has(path) && !plans.has(path))
    .map(([path, stages]) =>
      resolveConflict(path, stages, { fromLane: fromLane.get(path) ?? null, fromBase: fromBase.get(path) ?? null }),
    );
  const put = async (tree: ObjectId, changes: readonly PathChange[]): Promise<ObjectId> =>
    changes.length === 0
      ? tree
      : await repository.withIndex('empty', (indexFile) =>
          writeTreeWith(repository.git, indexFile, { base: tree, changes }),
        );
  const markedTree = await put(merged.tree, [
    ...restored.map(reversed),
    ...[...plans].filter(([path]) => !kept.has(path)).map(([, plan]) => changeOfStage(plan)),
    ...found.flatMap(({ is, base: version }) => (is === 'lock-file' || is === 'base' ? version : [])),
  ]);
  const settled = await put(
    markedTree,
    found.flatMap(({ is, base: version }) => (is === 'marked' || is === 'beside' ? version : [])),
  );
  const pathsOf = (...kinds: readonly Resolution['is'][]): readonly string[] =>
    found.filter(({ is }) => kinds.includes(is)).map(({ path }) => path);
  return {
    markedTree,
    settled,
    conflicts: pathsOf('marked', 'base', 'beside', 'kept'),
    marked: pathsOf('marked'),
    beside: pathsOf('beside'),
    lockFiles: pathsOf('lock-file'),
  };
}

/** One version of a file in conflict. `stage` 1 is the version of the fork, 2 that of the lane, 3 that of the base. */
interface Stage {
  readonly path: string;
  readonly stage: 1 | 2 | 3;
  readonly mode: string;
  readonly id: ObjectId;
}

interface Merged {
  readonly tree: ObjectId;
  readonly conflicts: readonly Stage[];
}

/**
 * Merges copies of the commits without their past, so that git's own merge base is not used. Refs give the markers the
 * names of branches.
 */
async function mergeInIndex(
  { git }: Pick<PrivateRepository, 'git'>,
  indexFile: string,
  { fork, lane, base }: MergeSides,
): Promise<Merged> {
  const variables = { GIT_INDEX_FILE: indexFile };
  const copy = (commit: ObjectId, ...parents: readonly string[]): Promise<string> =>
    git.text(['commit-tree', `${commit}^{tree}`, ...parents, '-m', 'side'], { variables: LOCAL_IDENTITY });
  const root = await copy(fork);
  const named = await Promise.all(
    [lane, base].map(async ({ branch, commit }) => ({
      branch,
      ref: `refs/tags/${branch}`,
      commit: await copy(commit, '-p', root),
    })),
  );
  for (const { ref, commit } of named) await git.text(['update-ref', ref, commit]);
  try {
    // A branch may have the name of one of git's own files, which would take precedence, so check what the name means.
    const meant = await git.answer(['rev-parse', ...named.map(({ branch }) => branch)]);
    const isMeant = meant.stdout.toString() === named.map(({ commit }) => `${commit}\n`).join('');
    const merged = await git.answer(
      [...MERGE_ALONE, '-z', '--', ...named.map(({ branch, ref }) => (isMeant ? branch : ref))],
      { variables, timeoutMs: MERGE_MS },
    );
    const [tree = '', ...records] = decodeNames(merged.stdout).split('\0');
    if (![0, 1].includes(merged.exitCode) || !/^[0-9a-f]{40,64}$/.test(tree))
      throw new UserError(
        'infrastructure',
        `Branch ${base.branch} could not be merged into ${lane.branch}: ${lastLinesOfError(merged.stderr)}`,
      );
    return { tree, conflicts: records.flatMap(parseStage) };
  } finally {
    for (const { ref } of named) await git.answer(['update-ref', '-d', ref]);
  }
}

function parseStage(record: string): readonly Stage[] {
  const [, mode = '', id = '', stage = '', path = ''] = /^(\d+) ([0-9a-f]+) ([123])\t([^]*)$/.exec(record) ?? [];
  return path === '' ? [] : [{ path, mode, id, stage: Number(stage) as Stage['stage'] }];
}

/** Maximum number of merges that are made again. */
const MAX_MERGES = 20;

/**
 * Returns the commits that differ from git's own merge of their two parents: merges with edits of a person, and commits
 * that merge nothing. Leaves out commits that git lacks.
 */
export async function findEditedMerges(git: Git, commits: readonly ObjectId[]): Promise<readonly ObjectId[]> {
  const edited: ObjectId[] = [];
  for (const commit of commits.slice(0, MAX_MERGES)) {
    const shown = await git.answer(['show', '-s', '--format=%T %P', commit]);
    const [tree, one = '', other, third] = shown.stdout.toString().trim().split(' ');
    if (shown.exitCode !== 0 || third !== undefined) continue;
    const made = other === undefined ? null : await git.answer([...MERGE_ALONE, one, other], { timeoutMs: MERGE_MS });
    // git exits with 1 after a conflict, which a person has settled, so such a merge is edited.
    const isMade =
      made !== null && made.exitCode !== 1 && (made.exitCode !== 0 || made.stdout.toString().trim() === tree);
    if (!isMade) edited.push(commit);
  }
  return edited;
}

/** Maximum size of a plan that is merged by its tasks: nobody writes longer lists by hand. */
const MAX_PLAN_BYTES = 1024 * 1024;

/**
 * Returns the run's own plans that conflict although each side only ticked or added tasks, as blobs with the tasks of
 * both sides.
 */
async function mergedPlans(
  { repository: { git }, folder }: Pick<MergePlace, 'repository' | 'folder'>,
  objects: ObjectReader,
  conflicts: ReadonlyMap<string, readonly Stage[]>,
): Promise<ReadonlyMap<string, Stage>> {
  const merged = new Map<string, Stage>();
  for (const path of taskFilePaths.plan.map((name) => toRootPath(folder, name))) {
    const [fork, lane, base, ...more] = conflicts.get(path) ?? [];
    // git lists stages in order. Use a plan only if it is a file with the same mode on all sides.
    if (fork?.stage !== 1 || lane?.stage !== 2 || base?.stage !== 3 || more.length > 0) continue;
    if (lane.mode !== fork.mode || base.mode !== fork.mode || !base.mode.startsWith('100')) continue;
    const texts = new Map<ObjectId, string>();
    const sizes = await objects.sizesOf([fork.id, lane.id, base.id]);
    await objects.each(new Map([...sizes].filter(([, size]) => size <= MAX_PLAN_BYTES)), (id, content) => {
      // Leave out bytes that are not UTF-8, because they would change when they are written again.
      if (isUtf8(content)) texts.set(id, content.toString());
    });
    const [before, ours, theirs] = [fork, lane, base].map(({ id }) => texts.get(id));
    if (before === undefined || ours === undefined || theirs === undefined) continue;
    const input = mergePlans({ fork: before, lane: ours, base: theirs });
    if (input !== null) merged.set(path, { ...base, id: await git.text(['hash-object', '-w', '--stdin'], { input }) });
  }
  return merged;
}

/** The resolution of a conflict, and the base's version of the file if that is used. */
interface Resolution {
  readonly path: string;
  /**
   * The kind of resolution. `base`: the base's version, because both cannot be in one file. `kept`: the version of the
   * only side that has one.
   */
  readonly is: 'marked' | 'lock-file' | 'base' | 'beside' | 'kept' | 'gone';
  readonly base: readonly PathChange[];
}

/**
 * Decides how a conflicting file appears in the merged tree. `fromLane` and `fromBase` are its changes from that side's
 * tree to the merged one; each is null if the file is equal in both.
 */
function resolveConflict(
  path: string,
  stages: readonly Stage[],
  { fromLane, fromBase }: { readonly fromLane: PathChange | null; readonly fromBase: PathChange | null },
): Resolution {
  const [ours, theirs] = ([2, 3] as const).map((wanted) => stages.find(({ stage }) => stage === wanted));
  // Judge a lock file that one side removed like any other file, because a tool cannot know whether it is still wanted.
  if (isLockFile(path) && ours !== undefined && theirs !== undefined)
    return { path, is: 'lock-file', base: [changeOfStage(theirs)] };
  const isThere = fromBase === null ? theirs !== undefined : fromBase.newId !== null;
  if (!isThere) return { path, is: 'gone', base: [] };
  const isOfBoth = ours !== undefined && theirs !== undefined;
  if (fromBase?.oldId === null && fromLane?.oldId === null && !isOfBoth)
    return { path, is: 'beside', base: [reversed(fromBase)] };
  if (!isOfBoth) return { path, is: 'kept', base: [] };
  const merged = (fromBase ?? fromLane)?.newId;
  const isText = fromBase !== null && fromLane !== null && merged !== ours.id && merged !== theirs.id;
  return { path, is: isText ? 'marked' : 'base', base: [changeOfStage(theirs)] };
}

function changeOfStage({ path, mode, id }: Stage): PathChange {
  return { path, oldMode: mode, newMode: mode, oldId: null, newId: id, insertions: null, deletions: null };
}

function reversed({ path, oldMode, newMode, oldId, newId }: PathChange): PathChange {
  return { path, oldMode: newMode, newMode: oldMode, oldId: newId, newId: oldId, insertions: null, deletions: null };
}

async function changesByPath(
  objects: ObjectReader,
  before: ObjectId,
  after: ObjectId,
): Promise<ReadonlyMap<string, PathChange>> {
  return new Map((await objects.changesBetween(before, after)).map((change) => [change.path, change]));
}
