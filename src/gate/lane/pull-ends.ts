import type { ObjectId } from '../../core/evidence.ts';
import type { Snapshot } from '../../core/snapshot/snapshot.ts';
import {
  andRememberPulls,
  type ClosedPull,
  pullsIn,
  type RevertCommit,
  REVERT_WITHIN_MS,
  withPullNews,
} from '../../core/snapshot/stored-pull.ts';
import type { GateDeps } from '../deps.ts';

/** Stores how known pull requests ended. Makes no request if the last known snapshot has it all. */
export async function rememberEnds(
  { store, context }: Pick<GateDeps, 'store' | 'context'>,
  closed: readonly ClosedPull[],
): Promise<void> {
  const seen = store.lastSeen();
  const news = { closed, reverts: [] };
  if (seen === null || withPullNews(seen, news) === seen) return;
  const message = `pull requests: run ${context.runId} saw how they ended`;
  // After a failure, the next run sees the same.
  await store.update(andRememberPulls((snapshot) => ({ snapshot, message, answer: null }), null, news));
}

/** Returns the reverts on a base branch, if a known pull request was merged so lately that one would count. */
export async function findReverts(
  { repository, clock }: Pick<GateDeps, 'repository' | 'clock'>,
  snapshot: Snapshot,
  base: ObjectId,
): Promise<readonly RevertCommit[]> {
  const merged = pullsIn(snapshot).flatMap(({ end, reverted }) =>
    end?.kind === 'merged' && reverted === null ? [end.at] : [],
  );
  const since = clock.now() - REVERT_WITHIN_MS;
  return merged.some((at) => at >= since) ? repository.revertsIn(base, since) : [];
}
