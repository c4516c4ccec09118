import type { ObjectId } from '../../core/evidence.ts';
import { toRootPath } from '../../core/folder.ts';
import type { CommittedIteration, Repository, WithheldChange } from '../../ports/repository.ts';
import type { Git } from '../git.ts';
import { decodeGitName } from '../names.ts';
import { readTreeId, withObjects, writeTreeWith } from '../objects.ts';
import { commitIteration, commitTextsOn, commitTree, type WithheldPaths } from './commit.ts';
import { overlayMerge } from './lane-merge.ts';
import { readWorkBeside, restoreWorkTree, readContent, takeSnapshot, getTipTree, type LaneWork } from './lane-work.ts';
import { commitMerge, moveMergeOnto } from './merge/open-merge.ts';

/** Implements `Repository.commit`: rewrites the agent's commits and commits the rest. */
export async function commitLane(
  work: LaneWork,
  iteration: Parameters<Repository['commit']>[0],
): Promise<CommittedIteration> {
  const { lane, quarantine, committer, access, merge, tolerated, opened } = work;
  await quarantine.seal();
  const known = lane.tip;
  // Commit what was measured, because an agent's process that still runs may move HEAD in the meantime.
  const read = work.lastRead?.tree === iteration.after.tree ? work.lastRead : await readContent(work);
  const { head, content: now, ignored } = read;
  const found = await readWorkBeside(work, read, known);
  const done = await withObjects(quarantine.git, async (objects) => {
    const tip = { commit: known, tree: await getTipTree(opened, objects, known) };
    const withheldBefore = { paths: work.withheld, tree: work.withheldIn };
    const content = { tip, head, now, tolerated, ignored, withheldBefore, iteration };
    const finished =
      merge === null
        ? { kind: 'made' as const, made: await commitIteration(committer, objects, content) }
        : await commitMerge(committer, objects, { ...content, merge });
    return { before: tip.tree, ...finished };
  });
  work.withheldIn = now.tree;
  const has = head === null ? [known] : [...new Set([known, head])];
  if (done.kind === 'open') {
    work.withheld = done.withheldPaths;
    await access.leavePlainCheckout({ ...lane, has, hasIndex: false });
    if (done.putBack.length > 0 && merge !== null)
      await overlayMerge(work, merge, { on: now.tree, only: done.putBack });
    const { withheld: newly } = done;
    return {
      ...{ head: known, commit: null, lookAt: [], withheld: newly, withheldNow: listWithheld(work.withheld) },
      ...{ ...found, publishedPaths: [], published: await takeSnapshot(work), merge: 'open' },
    };
  }
  const { tree, changes, withheldPaths, ...made } = done.made;
  if (merge !== null) work.fork = merge.base;
  work.merge = null;
  work.withheld = withheldPaths;
  work.committed = { before: done.before, after: tree, changes };
  work.lane = { ...lane, tip: made.head };
  if (work.lastRead !== null) work.lastRead = { ...work.lastRead, head: made.head };
  await quarantine.keep(made.head);
  await access.leavePlainCheckout({ ...work.lane, has, hasIndex: tree === now.tree && tolerated.length === 0 });
  const evidence = tree === now.tree ? now.evidence : await access.withoutNotes(tree);
  return {
    ...made,
    ...found,
    withheldNow: listWithheld(work.withheld),
    publishedPaths: changes.map(({ path }) => decodeGitName(path)),
    published: { head: made.head, tree: evidence },
    merge: merge === null ? 'none' : 'made',
  };
}

/** Implements `Repository.commitTexts`: commits only these files. */
export async function commitLaneTexts(
  work: LaneWork,
  wanted: Parameters<Repository['commitTexts']>[0],
): ReturnType<Repository['commitTexts']> {
  const { lane, quarantine, committer, access, merge, options, opened } = work;
  await quarantine.seal();
  const known = lane.tip;
  const { open, ...made } = await withObjects(quarantine.git, async (objects) => {
    const tree = await getTipTree(opened, objects, known);
    const texts = Object.fromEntries(
      Object.entries(wanted.texts).map(([path, text]) => [toRootPath(options.workingDirectory, path), text]),
    );
    const committed = await commitTextsOn(committer, objects, { ...wanted, texts, tip: { commit: known, tree } });
    const open = merge === null ? null : await moveMergeOnto(quarantine, objects, { merge, tip: committed.head });
    return { ...committed, open };
  });
  if (made.head === known) return made;
  work.merge = open;
  work.lane = { ...lane, tip: made.head };
  await quarantine.keep(made.head);
  await access.leavePlainCheckout({ ...work.lane, has: [known], hasIndex: false });
  return made;
}

/** Implements `Repository.takeHead`: makes rewritten commits the lane's newest ones. */
export async function takeRemadeHead(
  work: LaneWork,
  { head, refused, workTree }: Parameters<Repository['takeHead']>[0],
): Promise<void> {
  const { lane, quarantine, access, start, opened } = work;
  const { tip: before } = lane;
  const left = await quarantine.git.answer(['merge-base', head, start.base.commit]);
  if (left.exitCode === 0) work.fork = left.stdout.toString().trim();
  const contents = await contentsOf(
    quarantine.git,
    before,
    refused.map(({ path }) => path),
  );
  for (const { path, why, refusesAnyContent } of refused)
    work.refusedFiles.set(path, { why, content: refusesAnyContent ? null : (contents.get(path) ?? null) });
  const { merge } = work;
  const isSame =
    merge !== null && (await readTreeId(quarantine.git, head)) === (await readTreeId(quarantine.git, before));
  // An open merge continues on commits with the same content. If the merge commit was left out, it is not in the lane.
  work.merge = isSame ? { ...merge, tip: head } : null;
  work.committed = null;
  work.lane = { ...lane, tip: head };
  work.withheld =
    workTree === 'reset'
      ? new Map()
      : new Map([...work.withheld, ...refused.map(({ path, why }) => [path, why] as const)]);
  await quarantine.keep(head);
  if (workTree !== 'as-it-is') {
    const { tree, changes } = await withObjects(quarantine.git, async (objects) => {
      const wanted = await getTipTree(opened, objects, head);
      return { tree: wanted, changes: await objects.changesBetween(await getTipTree(opened, objects, before), wanted) };
    });
    if (workTree === 'reset') await restoreWorkTree(work, tree);
    else {
      const { content } = await readContent(work, 'content');
      const base = content.tree;
      const updated = await quarantine.withIndex('empty', (indexFile) =>
        writeTreeWith(quarantine.git, indexFile, { base, changes }),
      );
      await restoreWorkTree(work, updated);
      work.withheld = new Map([...work.withheld].filter(([path]) => !changes.some((change) => change.path === path)));
    }
  }
  work.lastRead = null;
  await access.leavePlainCheckout({ ...work.lane, has: [before], hasIndex: false });
  // Take a snapshot, because the files that a verification leaves behind are measured against it.
  await takeSnapshot(work);
}

/** Implements `Repository.commitReverted`. */
export async function commitRevertedFiles(
  { committer, opened, quarantine }: LaneWork,
  { commit, files }: Parameters<Repository['commitReverted']>[0],
): Promise<ObjectId> {
  const base = await withObjects(quarantine.git, (objects) => getTipTree(opened, objects, commit));
  const { repository } = committer;
  const write = (input: string): Promise<ObjectId> => repository.git.text(['hash-object', '-w', '--stdin'], { input });
  const changes = await Promise.all(
    files.map(async ({ path, before, after, text }) => ({
      ...{ path, oldMode: after?.mode ?? '000000', newMode: before?.mode ?? '000000' },
      ...{ oldId: after?.id ?? null, insertions: null, deletions: null },
      newId: text === undefined ? (before?.id ?? null) : await write(text),
    })),
  );
  const tree = await repository.withIndex('empty', (indexFile) =>
    writeTreeWith(repository.git, indexFile, { base, changes }),
  );
  return await commitTree(committer, { tree, parents: [commit], message: 'Take files back\n', trailers: {} });
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

function listWithheld(paths: WithheldPaths): readonly WithheldChange[] {
  return [...paths].map(([path, why]) => ({ path: decodeGitName(path), why }));
}
