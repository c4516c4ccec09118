import type { ObjectId } from '../../core/evidence.ts';
import type { KeepAloneResult, MergeBegun } from '../../ports/repository.ts';
import { decodeGitName } from '../names.ts';
import { withObjects } from '../objects.ts';
import { restoreWorkTree, readContent, rememberRead, getTipTree, type LaneWork } from './lane-work.ts';
import { mergeTrees } from './merge/auto-merge.ts';
import { judgeSingleFile, findLockFilesLeft, applyOverlay, type OpenMerge } from './merge/open-merge.ts';

/** Implements `Repository.beginMerge`: merges the base branch's tip into the work tree without a commit. */
export async function beginLaneMerge(work: LaneWork): Promise<MergeBegun> {
  const { lane, quarantine, committer, fork, start, merge } = work;
  const { detached: repository, base } = start;
  if (fork === base.commit) return { kind: 'up-to-date' };
  if (merge !== null) return begunOf(merge);
  const sides = { fork, lane: { branch: lane.branch, commit: lane.tip }, base };
  await quarantine.seal();
  const { content } = await readContent(work, 'content');
  const merged = await withObjects(repository.git, (objects) =>
    mergeTrees({ repository, inspection: committer.inspection, folder: committer.folder }, objects, sides),
  );
  const begun = { ...merged, base: base.commit, tip: lane.tip, before: content.tree };
  await overlayMerge(work, begun, { on: content.tree, only: null });
  work.merge = begun;
  return begunOf(begun);
}

/**
 * Puts a merge's changes into the work tree, whose content was read as the tree `on`. `only` limits the changes to
 * these files; if it is null, all are put there.
 */
export async function overlayMerge(
  work: LaneWork,
  { tip, markedTree }: OpenMerge,
  { on, only }: { readonly on: ObjectId; readonly only: readonly string[] | null },
): Promise<void> {
  const { quarantine, withheld } = work;
  const wanted = await withObjects(quarantine.git, (objects) =>
    applyOverlay(quarantine, objects, { on, from: tip, to: markedTree, withheld: [...withheld.keys()], only }),
  );
  work.lastRead = null;
  await restoreWorkTree(work, wanted);
}

/** Implements `Repository.lockFilesLeft`: returns the lock files that still conflict. */
export async function listLockFilesLeft(work: LaneWork): Promise<readonly string[]> {
  const { merge, lane, quarantine, committer, opened } = work;
  if (merge === null) return [];
  const { content } = await rememberRead(work, await readContent(work));
  return await withObjects(quarantine.git, async (objects) =>
    findLockFilesLeft(committer, objects, {
      merge,
      tip: await getTipTree(opened, objects, lane.tip),
      now: content.tree,
    }),
  );
}

/** Implements `Repository.keepAlone`: keeps a tool's change of one lock file. */
export async function keepLockFileAlone(work: LaneWork, path: string): Promise<KeepAloneResult> {
  const { merge, lane, quarantine, committer, lastRead, opened } = work;
  if (merge === null || lastRead === null) throw new Error('keepAlone() before lockFilesLeft()');
  const before = lastRead.content.tree;
  const read = await readContent(work);
  const judged = await withObjects(quarantine.git, async (objects) => {
    const tip = await getTipTree(opened, objects, lane.tip);
    return judgeSingleFile(committer, objects, { path, merge, tip, before, now: read.content });
  });
  if (judged === 'kept') await rememberRead(work, read);
  else await restoreWorkTree(work, before);
  return judged;
}

/** Implements `Repository.abandonMerge`: resets the work tree if a merge is unfinished. */
export async function abandonLaneMerge(work: LaneWork): Promise<void> {
  if (work.merge === null) return;
  const { before } = work.merge;
  work.merge = null;
  work.lastRead = null;
  await restoreWorkTree(work, before);
}

function begunOf({ conflicts, lockFiles }: OpenMerge): MergeBegun {
  return { kind: 'begun', conflicts: conflicts.map(decodeGitName), lockFiles: lockFiles.map(decodeGitName) };
}
