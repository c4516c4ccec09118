import type { ObjectId } from '../../../core/evidence.ts';
import type { KeptAlone, Withheld } from '../../../ports/repository.ts';
import { lookAtOf } from '../../inspection/review.ts';
import { commitsOf, treeWith, type Objects } from '../../objects.ts';
import {
  commitTree,
  messageWithSubjects,
  withheldOf,
  withTrailers,
  type Committer,
  type IterationContent,
  type MadeCommits,
  type WithheldPaths,
} from '../commit.ts';
import type { WorkTreeContent } from '../tree/side.ts';
import { asUndone, changesSince, lockFilesIn, undoneIn, unfinishedIn, type OpenMerge } from './open-merge.ts';

/** `open`: it is not finished, and `putBack` is what was undone of it; `made`: it is a commit. */
export type CommittedMerge =
  | { readonly kind: 'made'; readonly made: MadeCommits }
  | {
      readonly kind: 'open';
      readonly putBack: readonly string[];
      readonly withheld: readonly Withheld[];
      readonly withheldPaths: WithheldPaths;
    };

/** More commits of the agent are not named. */
const MOST_SUBJECTS = 50;

/** Makes the commit of a merge, whatever commits the agent made, once nothing of it is left to do. */
export async function commitMerge(
  committer: Committer,
  objects: Objects,
  { merge, ...content }: IterationContent & { readonly merge: OpenMerge },
): Promise<CommittedMerge> {
  const { tip, now, iteration } = content;
  const sides = { tip: tip.tree, now: now.tree };
  const putBack = await undoneIn(objects, merge, sides);
  const left = putBack.length > 0 ? asUndone(putBack) : await unfinishedIn(objects, merge, sides);
  const publishable = await publishableMerge(committer, objects, { merge, now, instead: merge.settled });
  const newly = await withheldOf(objects, content, { objections: left, withheld: publishable.withheld });
  if (left.size > 0)
    return { kind: 'open', putBack, withheld: newly, withheldPaths: new Map([...publishable.withheld, ...left]) };
  const { tree, withheld, own } = publishable;
  const subjects = await subjectsOf(committer, objects, { head: content.head, merge, tip: tip.commit });
  const message = await messageWithSubjects(committer, iteration.message, subjects);
  const commit = await commitTree(committer, {
    tree,
    parents: [tip.commit, merge.base],
    message: withTrailers(message, iteration.trailers),
  });
  return {
    kind: 'made',
    made: {
      head: commit,
      commit,
      tree,
      changes: await objects.changesBetween(tip.tree, tree),
      lookAt: await lookAtOf(
        objects,
        own.filter(({ path }) => !withheld.has(path)),
        committer.folder,
      ),
      withheld: newly,
      withheldPaths: withheld,
    },
  };
}

/** The merged tree as it is now, without what must not be published, which stays as it is in `instead`. */
export async function publishableMerge(
  { repository, inspection }: Committer,
  objects: Objects,
  { merge, now, instead }: { merge: OpenMerge; now: WorkTreeContent; instead: ObjectId },
): Promise<{
  readonly tree: ObjectId;
  readonly withheld: WithheldPaths;
  readonly own: Awaited<ReturnType<typeof changesSince>>['judged'];
}> {
  const { all, judged } = await changesSince(objects, merge, now.tree);
  const withheld = await inspection.inspect(objects, judged, now.standIns);
  if (withheld.size === 0) return { tree: now.tree, withheld, own: judged };
  const tree = await repository.withIndex('empty', (indexFile) =>
    treeWith(repository.git, indexFile, { base: instead, changes: all.filter(({ path }) => !withheld.has(path)) }),
  );
  return { tree, withheld, own: judged };
}

/** Lock files that can be made again; none while something else is left to do. */
export async function lockFilesLeft(
  { repository }: Committer,
  objects: Objects,
  { merge, tip, now }: { readonly merge: OpenMerge; readonly tip: ObjectId; readonly now: ObjectId },
): Promise<readonly string[]> {
  const sides = { tip, now };
  if ((await undoneIn(objects, merge, sides)).length > 0) return [];
  const isLeft = (await unfinishedIn(objects, merge, sides)).size > 0;
  return isLeft ? [] : await lockFilesIn(repository, now, merge);
}

/** Whether what differs from `before` is this file alone, and can be part of the merge's commit. */
export async function judgeAlone(
  committer: Committer,
  objects: Objects,
  {
    path,
    merge,
    tip,
    before,
    now,
  }: {
    readonly path: string;
    readonly merge: OpenMerge;
    readonly tip: ObjectId;
    readonly before: ObjectId;
    readonly now: WorkTreeContent;
  },
): Promise<KeptAlone> {
  const changes = await objects.changesBetween(before, now.tree);
  if (changes.length === 0) return 'kept';
  if (changes.some((change) => change.path !== path)) return 'elsewhere';
  if (!(await lockFilesIn(committer.repository, now.tree, merge)).includes(path)) return 'failed';
  if ((await unfinishedIn(objects, merge, { tip, now: now.tree })).has(path)) return 'marked';
  const { withheld } = await publishableMerge(committer, objects, { merge, now, instead: merge.laid });
  return withheld.has(path) ? 'withheld' : 'kept';
}

/** What the agent called its commits; those of the base branch are nobody's work here. */
async function subjectsOf(
  { repository }: Committer,
  objects: Objects,
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
  return (await commitsOf(objects, ids.slice(0, MOST_SUBJECTS))).map(({ message }) => message.split('\n', 1)[0] ?? '');
}
