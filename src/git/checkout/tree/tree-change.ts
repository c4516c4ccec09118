import type { ObjectId, Snapshot } from '../../../core/evidence.ts';
import type { TreeChange } from '../../../ports/repository.ts';
import type { Git } from '../../git.ts';
import { shownName } from '../../names.ts';
import { changesBetween, type Change } from '../../objects.ts';

const MOST_FILES_NAMED = 200;

/** What changed from one snapshot to the next. `known`: what differs between their trees, where that is known. */
export async function changeBetween(
  git: Git,
  {
    before,
    after,
    known,
  }: { readonly before: Snapshot; readonly after: Snapshot; readonly known: readonly Change[] | null },
): Promise<TreeChange> {
  const [changes, agentCommits] = await Promise.all([
    known ?? changesBetween(git, before.tree, after.tree),
    countCommits(git, before.head, after.head),
  ]);
  return {
    files: changes.slice(0, MOST_FILES_NAMED).map(({ path }) => shownName(path)),
    fileCount: changes.length,
    insertions: changes.reduce((sum, change) => sum + (change.insertions ?? 0), 0),
    deletions: changes.reduce((sum, change) => sum + (change.deletions ?? 0), 0),
    agentCommits,
  };
}

async function countCommits(git: Git, before: ObjectId, after: ObjectId): Promise<number> {
  if (before === after) return 0;
  return Number((await git.answer(['rev-list', '--count', `${before}..${after}`])).stdout.toString().trim());
}
