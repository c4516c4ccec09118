import { CONFLICT_TASK } from '../../core/feedback/subject.ts';
import { plainTitle } from '../../core/text/plain-text.ts';
import type { Work } from '../../handover/work.ts';
import type { OpenedLane } from '../../ports/repository.ts';
import { withCommit } from '../commit.ts';
import type { LoopDeps } from '../deps.ts';

/**
 * Merges the base branch into a lane that began on a red base, once the base passes again: on the old base `verify` would
 * still fail. Leaves a merge that conflicts to the task that resolves conflicts.
 */
export async function mergeRepairedBase(deps: LoopDeps, work: Work, opened: OpenedLane): Promise<Work> {
  const { repository, log, context } = deps;
  const { lane, state, tasks } = work;
  if (state.redBase?.stage !== 'repaired') return work;
  const cured: Work = { ...work, state: { ...state, redBase: null } };
  if (opened.fork === opened.base) return cured;
  if (tasks.some(({ id }) => id === CONFLICT_TASK)) return work;
  const before = await repository.snapshot();
  const begun = await repository.beginMerge();
  if (begun.kind === 'up-to-date') return cured;
  if (begun.conflicts.length > 0 || begun.lockFiles.length > 0) {
    await repository.abandonMerge();
    log.warning(
      `${lane.baseBranch} passes verify again, but cannot be merged into ${lane.branch} without conflicts. Resolve them on the pull request, or wait for the next run, which does.`,
    );
    return work;
  }
  const committed = await repository.commit({
    before,
    after: await repository.snapshot(),
    message: `Merge ${plainTitle(lane.baseBranch, 60)}, where verify passes again`,
    trailers: { 'Ralph-Run': context.runId, 'Ralph-Task': CONFLICT_TASK },
  });
  const merged = withCommit(work, committed);
  if (committed.merge !== 'made') return merged;
  log.info(`merged ${lane.baseBranch}, where verify passes again (${committed.head.slice(0, 7)})`);
  return { ...merged, state: cured.state };
}
