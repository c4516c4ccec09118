import { type Budget, listOtherReservations } from '../../core/sharing/budget.ts';
import type { LiveAttempt } from '../../core/sharing/lease.ts';
import type { LaneId } from '../../core/tasks/ids.ts';
import type { GateDeps } from '../deps.ts';

/** Maximum number of other runs about which GitHub is asked, with a request for each. */
const MAX_RUNS_ASKED = 3;

/**
 * Asks GitHub for the attempts that may still be working, of other runs that hold something: first of the run that
 * holds this lane, then of the oldest ones, so that newer runs at work never hide one that has ended.
 */
export async function readLiveAttempts(
  { forge, context, runTag }: Pick<GateDeps, 'forge' | 'context' | 'runTag'>,
  { budget, lane, now }: { readonly budget: Budget; readonly lane: LaneId; readonly now: number },
): Promise<readonly LiveAttempt[]> {
  const held = listOtherReservations(budget, runTag, now)
    .toSorted((one, other) => Number(other.lane === lane) - Number(one.lane === lane))
    .map(({ runId }) => runId);
  // Runs at home have no number.
  const others = [...new Set(held)].filter((runId) => runId !== context.runId && /^\d{1,20}$/.test(runId));
  return Promise.all(
    others.slice(0, MAX_RUNS_ASKED).map(async (runId) => {
      // If GitHub does not answer, the run's claims last as long as it reserved them for.
      const ended = await forge.countEndedAttempts(runId).catch(() => 0);
      return { runId, runAttempt: ended + 1 };
    }),
  );
}
