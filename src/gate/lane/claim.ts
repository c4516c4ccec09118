import { jobsOf, leaseOf } from '../../config/config.ts';
import { formatInstant } from '../../core/countdown.ts';
import { openWindows, type Windows } from '../../core/lane/windows.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { Policy } from '../../core/policy.ts';
import {
  boundPolicy,
  type Budget,
  reservationFor,
  reserveUsage,
  seedBudget,
  spentBetween,
  tasksElsewhere,
  windowsFor,
} from '../../core/sharing/budget.ts';
import { expiryOf, type Lease, leaseMs } from '../../core/sharing/lease.ts';
import { planRenewal, type Renewal } from '../../core/sharing/renewal.ts';
import { changeUsage, claimInSnapshot, mayHold, releaseInSnapshot } from '../../core/snapshot/changes.ts';
import { budgetIn, emptySnapshot, type Snapshot } from '../../core/snapshot/snapshot.ts';
import { type LaneId, nameOfLane, type TaskId } from '../../core/tasks/ids.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import type { Work } from '../../handover/intake.ts';
import type { Released, Unavailable } from '../../ports/state.ts';
import type { GateDeps } from '../deps.ts';

/** The budget of a run that waited, or the reason why it is unknown. */
type Renewed = ({ readonly kind: 'renewed' } & Pick<Renewal, 'windows' | 'policy'>) | Unavailable;

/** The result of claiming a lane. */
export type LaneClaim =
  /** `sequence` is what a new copy must exceed, `at` the instant from which the lease and the run's time count. */
  | (Granted & { readonly kind: 'claimed'; readonly sequence: number; readonly at: number })
  | { readonly kind: 'changed' }
  | { readonly kind: 'refused'; readonly outcome: Outcome };

/**
 * The budget of a run: the repository's windows as the run must see them (null if unknown), and its policy, bounded by
 * its reservation.
 */
interface Granted {
  /** Tasks that another run may be working on now, and the latest instant at which that ends. */
  readonly elsewhere: ReadonlyMap<TaskId, number>;
  readonly windows: Windows | null;
  readonly policy: Policy;
  readonly warnings: readonly string[];
}

/** A lane, its known usage, and its tasks that a run can get to when tasks in progress elsewhere are left out. */
interface Wanted {
  readonly lane: LaneId;
  readonly windows: Windows;
  /** The snapshot of this run's decision; null if nothing keeps runs apart. */
  readonly seen: Snapshot | null;
  /** The sequence of the state of this run's decision. */
  readonly sequence: number;
  /** See `Claiming`. */
  readonly named: readonly TaskId[];
  readonly purpose: 'tasks' | 'answers';
  readonly tasks: (elsewhere: ReadonlyMap<TaskId, number>) => readonly TaskId[];
}

type ClaimDeps = Pick<GateDeps, 'config' | 'context' | 'store' | 'clock' | 'runTag'>;

const NOT_ELSEWHERE: ReadonlyMap<TaskId, number> = new Map();

/**
 * Makes this run the only one that works on the lane, and reserves what it may use. Throws a UserError if the store
 * does not answer, since other runs and the budget are then unknown.
 */
export async function claimLane(deps: ClaimDeps, wanted: Wanted): Promise<LaneClaim> {
  const { lane, seen, named, purpose } = wanted;
  const { config, store } = deps;
  const at = deps.clock.now();
  const { policy } = config;
  const unguarded = { kind: 'claimed', at, sequence: 0, windows: null, policy, elsewhere: NOT_ELSEWHERE } as const;
  if (config.stateStore === 'none') return { ...unguarded, warnings: [] };
  const updated = await store.update(
    claimInSnapshot({
      ...{ lane, seen: seen ?? emptySnapshot, lease: leaseOf(deps, at), now: at, named, purpose },
      reserve: (budget) => reservedFor(deps, wanted, { budget, now: at }),
    }),
  );
  switch (updated.kind) {
    case 'updated': {
      const { answer, snapshot } = updated;
      if (answer.kind === 'leased') return { kind: 'refused', outcome: anotherRun(lane, answer.lease) };
      if (answer.kind === 'changed') return answer;
      const { sequence, problem } = answer;
      return {
        kind: 'claimed',
        at,
        sequence,
        warnings: problem === null ? [] : [problem],
        ...grantedTo(deps, lane, { snapshot, now: at }),
      };
    }
    case 'unavailable':
      throw new UserError(
        'infrastructure',
        `This run cannot claim ${nameOfLane(lane)}, so no call is made: ${completeSentence(updated.why)}`,
      );
    case 'unguarded':
      // With the cache alone, the limitation is reported where the cache is chosen.
      if (config.stateStore === 'cache') return { ...unguarded, warnings: [] };
      // Only now is it known that a copy may be where this lane's runs save.
      if (await hasNewerState(deps, wanted)) return { kind: 'changed' };
      return {
        ...unguarded,
        warnings: [
          `Nothing keeps a second run from working on ${nameOfLane(lane)} at the same time, and limits are counted for ${nameOfLane(lane)} only: ${completeSentence(updated.why)} Let this token write refs/ralph/v2/, or set \`state-store: cache\`.`,
        ],
      };
  }
}

/** True if a copy of the lane is newer than the state of this run's decision. */
async function hasNewerState({ store }: ClaimDeps, { lane, sequence }: Wanted): Promise<boolean> {
  const { lane: restored } = await store.restore(lane);
  return restored.kind === 'found' && restored.state.sequence > sequence;
}

/**
 * Releases what `claimLane` claimed, for a run that ends without publishing; with `isUnused` also its reservation.
 * Never throws.
 */
export async function releaseLane(
  { store, clock, ...run }: Pick<GateDeps, 'config' | 'context' | 'store' | 'clock' | 'runTag'>,
  lane: LaneId,
  isUnused = true,
): Promise<Released> {
  const now = clock.now();
  const updated = await store.update(releaseInSnapshot(lane, { holder: leaseOf(run, now), isUnused, now }));
  return updated.kind === 'updated' || !mayHold(updated, lane, run.runTag)
    ? { kind: 'free' }
    : { kind: 'claimed', why: updated.why };
}

/** Returns the outcome of a run that ends because another one works on its lane. */
export function anotherRun(lane: LaneId, lease: Lease): Outcome {
  return {
    kind: 'refused',
    reason: 'another_run',
    message: `Another run works on ${nameOfLane(lane)}: ${lease.runUrl || lease.runId}. If it was killed, its claim ends at ${formatInstant(expiryOf(lease))} at the latest.`,
  };
}

/** Returns the counters with this run's reservation, in place of an earlier one of its own. */
function reservedFor(
  { config, context: { runUrl, runId, runAttempt }, runTag }: ClaimDeps,
  { lane, windows, tasks }: Wanted,
  { budget, now }: { readonly budget: Budget; readonly now: number },
): Budget {
  const { policy } = config;
  const newest = seedBudget(budget, windows);
  const holder = { runTag, lane, runUrl, runId, runAttempt };
  const expiresAt = now + leaseMs(policy.maxRunMs, jobsOf(config));
  const run = { ...holder, expiresAt, tasks: tasks(tasksElsewhere(newest, lane, now)) };
  return reserveUsage(newest, reservationFor(run, windowsFor(newest, runTag, now), policy), now);
}

function grantedTo(
  { config: { policy }, runTag }: ClaimDeps,
  lane: LaneId,
  { snapshot, now }: { readonly snapshot: Snapshot; readonly now: number },
): Pick<Granted, 'windows' | 'policy' | 'elsewhere'> {
  const counted = budgetIn(snapshot, now);
  if (counted.kind === 'newer') return { windows: null, policy, elsewhere: NOT_ELSEWHERE };
  const { budget } = counted;
  const own = budget.reservations.find((reservation) => reservation.runTag === runTag);
  return {
    windows: windowsFor(budget, runTag, now),
    policy: own === undefined ? policy : boundPolicy(policy, own),
    elsewhere: tasksElsewhere(budget, lane, now),
  };
}

/**
 * Asks the repository's counters what a run may use from now on if its whole time is `maxRunMs`, and reserves it. Never
 * throws.
 */
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
  // Only the reservations and usage of others decide, so asking again with the new reservation gives the same result.
  const renewed = (stored: Budget): Renewal => {
    const newest = seedBudget(stored, state.windows);
    const run = {
      ...(newest.reservations.find((reservation) => reservation.runTag === runTag) ?? {
        ...{ runTag, lane: lane.id, runUrl, runId, runAttempt },
        tasks: tasks.map(({ id }) => id),
      }),
      expiresAt: now + leaseMs(startedAt + maxRunMs - now, jobsOf(config)),
    };
    return planRenewal(newest, { run, spent: spentBetween(stateBefore, state), windows: state.windows, policy }, now);
  };
  const change = (stored: Budget): Budget =>
    reserveUsage(seedBudget(stored, state.windows), renewed(stored).reservation, now);
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
