import { alreadyMerged } from '../../core/feedback/answer-words.ts';
import { CONFLICT_TASK } from '../../core/feedback/subject.ts';
import type { TaskId } from '../../core/tasks/ids.ts';
import type { Work } from '../../handover/work.ts';
import type { MergeBegun } from '../../ports/repository.ts';
import type { LoopDeps } from '../deps.ts';
import { answerWithoutCall } from './answering.ts';

/** Files of a merge that lies in the work tree; null: none does. `settled`: the branch has the base's newest commit already. */
type Laid =
  | { readonly kind: 'ready'; readonly merge: Extract<MergeBegun, { kind: 'begun' }> | null }
  | { readonly kind: 'settled'; readonly work: Work };

/** Lays the merge of the base branch in the work tree where that is the task; takes one away that is not finished where it is another. */
export async function layMerge(deps: LoopDeps, work: Work, id: TaskId): Promise<Laid> {
  const { repository, log } = deps;
  if (id !== CONFLICT_TASK) {
    await repository.abandonMerge();
    return { kind: 'ready', merge: null };
  }
  const merge = await repository.beginMerge();
  if (merge.kind === 'begun') {
    const many = merge.conflicts.length;
    log.info(`merging ${work.lane.baseBranch}: ${String(many)} ${many === 1 ? 'file conflicts' : 'files conflict'}`);
    return { kind: 'ready', merge };
  }
  return { kind: 'settled', work: answerWithoutCall(deps, work, { id, own: alreadyMerged(work.lane.baseBranch) }) };
}
