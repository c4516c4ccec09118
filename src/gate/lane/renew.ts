import { jobsOf } from '../../config/config.ts';
import { reserve, seededWith, spentBetween, type Budget } from '../../core/sharing/budget.ts';
import { changeUsage } from '../../core/snapshot/changes.ts';
import { budgetIn } from '../../core/snapshot/snapshot.ts';
import { nameOfLane } from '../../core/tasks/ids.ts';
import { leaseMs } from '../../core/sharing/lease.ts';
import { renew, type Renewal } from '../../core/sharing/renewal.ts';
import { openWindows } from '../../core/lane/windows.ts';
import type { Work } from '../../handover/work.ts';
import type { Unavailable } from '../../ports/state.ts';
import type { GateDeps } from '../deps.ts';

/** What a run that waited may use now, or why that is not known. */
export type Renewed = ({ readonly kind: 'renewed' } & Pick<Renewal, 'windows' | 'policy'>) | Unavailable;

/** Asks the repository's counters what a run whose time is `maxRunMs` in all may use from now on, and reserves it. Never throws. */
export async function renewReservation(
  {
    config,
    context: { runUrl, runId, runAttempt },
    store,
    clock,
    runTag,
  }: Pick<GateDeps, 'config' | 'context' | 'store' | 'clock' | 'runTag'>,
  { lane, startedAt, tasks, stateBefore, state }: Work,
  maxRunMs: number,
): Promise<Renewed> {
  const { policy } = config;
  const now = clock.now();
  // What others have reserved and used decides, so asking a budget with the new reservation gives the same.
  const renewed = (stored: Budget): Renewal => {
    const newest = seededWith(stored, state.windows);
    const run = {
      ...(newest.reservations.find((reservation) => reservation.runTag === runTag) ?? {
        ...{ runTag, lane: lane.id, runUrl, runId, runAttempt },
        tasks: tasks.map(({ id }) => id),
      }),
      expiresAt: now + leaseMs(startedAt + maxRunMs - now, jobsOf(config)),
    };
    return renew(newest, { run, spent: spentBetween(stateBefore, state), windows: state.windows, policy }, now);
  };
  const change = (stored: Budget): Budget =>
    reserve(seededWith(stored, state.windows), renewed(stored).reservation, now);
  const message = `${nameOfLane(lane.id)}: run ${runId} has waited, and reserves again`;
  const written = await store.update(changeUsage(change, { message, now }));
  // Nothing is counted for the whole repository.
  if (written.kind === 'unguarded') return { kind: 'renewed', windows: openWindows(state.windows, now), policy };
  if (written.kind === 'unavailable') return { kind: 'unavailable', why: written.why };
  const counted = budgetIn(written.snapshot, now);
  return counted.kind === 'newer' || written.answer !== null
    ? { kind: 'unavailable', why: written.answer ?? '' }
    : { kind: 'renewed', ...renewed(counted.budget) };
}
