import { answerWith, beginRound } from '../../core/feedback/rounds.ts';
import { CONFLICT_TASK } from '../../core/feedback/subject.ts';
import { progressOf } from '../../core/tasks/queue.ts';
import type { TaskId } from '../../core/tasks/ids.ts';
import type { Work } from '../../handover/work.ts';
import type { MergeBegun } from '../../ports/repository.ts';
import type { LoopDeps } from '../deps.ts';

/** Files of a merge that lies in the work tree; null: none does. `settled`: the branch has the base's newest commit already. */
type Laid =
  | { readonly kind: 'ready'; readonly merge: Extract<MergeBegun, { kind: 'begun' }> | null }
  | { readonly kind: 'settled'; readonly work: Work };

/** Lays the merge of the base branch in the work tree where that is the task; takes one away that is not finished where it is another. */
export async function layMerge(deps: LoopDeps, work: Work, id: TaskId): Promise<Laid> {
  const { repository, clock, log } = deps;
  if (id !== CONFLICT_TASK) {
    await repository.abandonMerge();
    return { kind: 'ready', merge: null };
  }
  const merge = await repository.beginMerge();
  if (merge.kind === 'begun') {
    log.info(`merging ${work.lane.baseBranch}: ${String(merge.conflicts.length)} files conflict`);
    return { kind: 'ready', merge };
  }
  const { state } = work;
  const progress = { ...progressOf(state.tasks, id), state: 'done' as const, reason: null, doneCommit: work.head };
  const feedback = answerWith(beginRound(state.feedback, id, progressOf(state.tasks, id)), id, {
    kind: 'unchanged',
    commit: null,
    words: `The branch has the newest commit of ${work.lane.baseBranch} already.`,
    isOurs: true,
    at: clock.now(),
  });
  return {
    kind: 'settled',
    work: { ...work, state: { ...state, feedback, tasks: { ...state.tasks, [id]: progress } } },
  };
}
