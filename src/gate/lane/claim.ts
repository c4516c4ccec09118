import { countJobs, createLease } from '../../config/config.ts';
import { formatInstant } from '../../core/countdown.ts';
import { keepOpenWindows, type Windows } from '../../core/lane/windows.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { Policy } from '../../core/policy.ts';
import { claimLanesInSnapshot, type SideClaimAnswer } from '../../core/parallel/claim-lanes.ts';
import { countAffordableLanes, policyOfShare, reservationOfShare, type LaneShare } from '../../core/parallel/shares.ts';
import {
  boundPolicy,
  type Budget,
  emptyBudget,
  reserveUsage,
  seedBudget,
  measureSpent,
  tasksOfOtherLanes,
  sumWindows,
  planRenewal,
  type Renewal,
} from '../../core/sharing/budget.ts';
import {
  computeMaxLeaseMs,
  computeMaxStartMs,
  countLanesBefore,
  computeExpiry,
  type Lease,
} from '../../core/sharing/lease.ts';
import { changeUsage, mayStillHoldClaim, releaseInSnapshot } from '../../core/snapshot/changes.ts';
import { parseBudgetIn, emptySnapshot, type Snapshot } from '../../core/snapshot/snapshot.ts';
import { type LaneId, nameOfLane, type TaskId } from '../../core/tasks/ids.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import type { Work } from '../../handover/intake.ts';
import type { ReleaseResult, Unavailable } from '../../ports/state.ts';
import type { GateDeps } from '../deps.ts';

/** The budget of a run that waited, or the reason why it is unknown. */
type Renewed = ({ readonly kind: 'renewed' } & Pick<Renewal, 'windows' | 'policy'>) | Unavailable;

export type LaneClaim =
  /**
   * `sequence` is what a new copy must exceed, `at` the instant from which the lease and the run's time count, and
   * `startBy` the last one at which another job can begin the calls.
   */
  | (Granted & { readonly kind: 'claimed'; readonly sequence: number; readonly at: number; readonly startBy: number })
  | { readonly kind: 'changed' }
  | { readonly kind: 'refused'; readonly outcome: Outcome }
  /**
   * A lane after the first wanted one that was dropped, because the first one was not claimed or no budget is left for
   * more lanes.
   */
  | { readonly kind: 'dropped' };

/**
 * The budget of a run: its policy, bounded by its reservation, and the repository's windows as the run must see them;
 * null `windows` are unknown.
 */
interface Granted {
  /** Tasks that another run may be working on now, and the latest instant at which that ends. */
  readonly elsewhere: ReadonlyMap<TaskId, number>;
  readonly windows: Windows | null;
  readonly policy: Policy;
  readonly warnings: readonly string[];
}

/** A lane, its known usage, and its tasks that a run can get to when tasks in progress elsewhere are left out. */
export interface WantedClaim {
  readonly lane: LaneId;
  /** The tag under which the lane is claimed: the run's own, unless it wants several. */
  readonly runTag: string;
  readonly windows: Windows;
  /** The snapshot on which this run decided, or null if nothing keeps runs apart. */
  readonly seen: Snapshot | null;
  /** The sequence of the state on which this run decided. */
  readonly sequence: number;
  /** The tasks that a person named, as in `Claiming`. */
  readonly named: readonly TaskId[];
  readonly purpose: 'tasks' | 'answers' | 'notice';
  /** The average cost of a call of this lane, or null if it is unknown. */
  readonly costOfCallUsd: number | null;
  readonly tasks: (elsewhere: ReadonlyMap<TaskId, number>) => readonly TaskId[];
}

type ClaimDeps = Pick<GateDeps, 'config' | 'context' | 'store' | 'clock' | 'runTag'>;

const NOT_ELSEWHERE: ReadonlyMap<TaskId, number> = new Map();

/**
 * Makes this run the only one that works on these lanes, with one update, and divides the run's budget among them. The
 * first lane matters most: if nothing keeps runs apart, only that one is claimed. Throws a UserError if the store does
 * not answer, because other runs and the budget are then unknown.
 */
export async function claimLanes(
  deps: ClaimDeps,
  wanted: readonly [WantedClaim, ...WantedClaim[]],
): Promise<readonly [LaneClaim, ...LaneClaim[]]> {
  const [first, ...others] = wanted;
  const { lane } = first;
  const { config, store } = deps;
  const at = deps.clock.now();
  const { policy } = config;
  const startByOf = (place: number): number =>
    at + computeMaxStartMs(policy.maxRunMs, countJobs(config), countLanesBefore(place, config.parallel));
  const times = { at, startBy: startByOf(0) };
  const unguarded = {
    kind: 'claimed',
    ...times,
    sequence: 0,
    windows: null,
    policy,
    elsewhere: NOT_ELSEWHERE,
  } as const;
  const alone = (claim: LaneClaim): readonly [LaneClaim, ...LaneClaim[]] => [
    claim,
    ...others.map(() => ({ kind: 'dropped' }) as const),
  ];
  if (config.stateStore === 'none') return alone({ ...unguarded, warnings: [] });
  const updated = await store.update(
    claimLanesInSnapshot({
      now: at,
      claims: wanted.map((one, place) => ({
        ...{ lane: one.lane, seen: one.seen ?? emptySnapshot, now: at, named: one.named, purpose: one.purpose },
        lease: createLease({ ...deps, runTag: one.runTag }, at, countLanesBefore(place, config.parallel)),
      })),
      reserve: (budget, claims) => {
        const free = wanted.filter((one) => claims.some((claim) => claim.lane === one.lane));
        return reservedFor(deps, free, { budget, now: at });
      },
    }),
  );
  switch (updated.kind) {
    case 'updated': {
      const { answer, snapshot } = updated;
      const taken = wanted.filter((_, place) => answer[place]?.kind === 'claimed');
      const claimOf = (one: WantedClaim, place: number): LaneClaim => {
        const share = { at: taken.indexOf(one), of: taken.length, atOnce: config.parallel };
        // The reservation ends with the place among the claimed lanes.
        const startBy = startByOf(Math.max(0, share.at));
        return claimFrom(deps, one, { answer: answer[place] ?? { kind: 'dropped' }, snapshot, at, startBy, share });
      };
      return [claimOf(first, 0), ...others.map((one, place) => claimOf(one, place + 1))];
    }
    case 'unavailable':
      throw new UserError(
        'infrastructure',
        `This run cannot claim ${nameOfLane(lane)}, so no call is made: ${completeSentence(updated.why)}`,
      );
    case 'unguarded':
      // With the cache alone, the limitation is reported where the cache is chosen, so it needs no warning here.
      if (config.stateStore === 'cache') return alone({ ...unguarded, warnings: [] });
      // Without a shared store, runs of this lane save only to a copy. This run's decision may have missed it, so
      // compare.
      if (await hasNewerState(deps, first)) return alone({ kind: 'changed' });
      return alone({
        ...unguarded,
        warnings: [
          `Nothing keeps a second run from working on ${nameOfLane(lane)} at the same time, and limits are counted for ${nameOfLane(lane)} only: ${completeSentence(updated.why)} Let this token write refs/ralph/v2/, or set \`state-store: cache\`.`,
        ],
      });
  }
}

function claimFrom(
  deps: ClaimDeps,
  { lane, runTag }: WantedClaim,
  made: {
    readonly answer: SideClaimAnswer;
    readonly snapshot: Snapshot;
    readonly at: number;
    readonly startBy: number;
    readonly share: LaneShare;
  },
): LaneClaim {
  const { answer, snapshot, at, startBy, share } = made;
  if (answer.kind === 'leased') return { kind: 'refused', outcome: outcomeOfHeldLane(lane, answer.lease) };
  if (answer.kind !== 'claimed') return answer;
  const { sequence, problem } = answer;
  return {
    kind: 'claimed',
    at,
    startBy,
    sequence,
    warnings: problem === null ? [] : [problem],
    ...grantedTo({ ...deps, runTag }, lane, { snapshot, now: at, share }),
  };
}

/** Returns true if a copy of the lane is newer than the state on which this run decided. */
async function hasNewerState({ store }: ClaimDeps, { lane, sequence }: WantedClaim): Promise<boolean> {
  const { lane: restored } = await store.restore(lane);
  return restored.kind === 'found' && restored.state.sequence > sequence;
}

/**
 * Releases what `claimLanes` claimed, for a run that ends without publishing; with `isUnused`, also its reservation.
 * Never throws.
 */
export async function releaseLane(
  { store, clock, ...run }: Pick<GateDeps, 'config' | 'context' | 'store' | 'clock' | 'runTag'>,
  lane: LaneId,
  isUnused = true,
): Promise<ReleaseResult> {
  const now = clock.now();
  const updated = await store.update(releaseInSnapshot(lane, { holder: createLease(run, now), isUnused, now }));
  return updated.kind === 'updated' || !mayStillHoldClaim(updated, lane, run.runTag)
    ? { kind: 'free' }
    : { kind: 'claimed', why: updated.why };
}

/** Returns the outcome of a run that ends because another one works on its lane. */
export function outcomeOfHeldLane(lane: LaneId, lease: Lease): Outcome {
  return {
    kind: 'refused',
    reason: 'another_run',
    message: `Another run is working on ${nameOfLane(lane)}: ${lease.runUrl || lease.runId}. If it was killed, its claim ends at ${formatInstant(computeExpiry(lease))} at the latest.`,
  };
}

/**
 * Returns the counters with this run's reservations, which replace its earlier ones, and the number of lanes for which
 * some budget is left.
 */
function reservedFor(
  { config, context: { runUrl, runId, runAttempt } }: ClaimDeps,
  wanted: readonly WantedClaim[],
  { budget, now }: { readonly budget: Budget; readonly now: number },
): { readonly budget: Budget; readonly count: number } {
  const { policy, parallel: atOnce } = config;
  const newest = seedBudget(budget, wanted[0]?.windows ?? emptyBudget.windows);
  const tags = wanted.map(({ runTag }) => runTag);
  const others: Budget = {
    ...newest,
    reservations: newest.reservations.filter(({ runTag }) => !tags.includes(runTag)),
  };
  const windows = sumWindows(others, '', now);
  const costs = wanted.flatMap((one) => one.costOfCallUsd ?? []);
  const costOfCallUsd = costs.length === 0 ? null : Math.max(...costs);
  const count = countAffordableLanes(wanted.length, { windows, policy, costOfCallUsd, atOnce });
  const reserve = (known: Budget, { lane, runTag, tasks }: WantedClaim, share: LaneShare): Budget => {
    const expiresAt = now + computeMaxLeaseMs(policy.maxRunMs, countJobs(config), countLanesBefore(share.at, atOnce));
    const holder = { runTag, lane, runUrl, runId, runAttempt, expiresAt };
    const run = { ...holder, tasks: tasks(tasksOfOtherLanes(known, lane, now)) };
    return reserveUsage(known, reservationOfShare(run, { windows, policy, share }), now);
  };
  // Let the first lane reserve last, so that it does not take the shares of the others.
  const shared = wanted.slice(0, count).map((one, at) => ({ one, share: { at, of: count, atOnce } }));
  const reserved = shared.toReversed().reduce<Budget>((known, { one, share }) => reserve(known, one, share), others);
  return { budget: reserved, count };
}

function grantedTo(
  { config, runTag }: ClaimDeps,
  lane: LaneId,
  { snapshot, now, share }: { readonly snapshot: Snapshot; readonly now: number; readonly share: LaneShare },
): Pick<Granted, 'windows' | 'policy' | 'elsewhere'> {
  const policy = policyOfShare(config.policy, share);
  const counted = parseBudgetIn(snapshot, now);
  if (counted.kind === 'newer') return { windows: null, policy, elsewhere: NOT_ELSEWHERE };
  const { budget } = counted;
  const own = budget.reservations.find((reservation) => reservation.runTag === runTag);
  return {
    windows: sumWindows(budget, runTag, now),
    policy: own === undefined ? policy : boundPolicy(policy, own),
    elsewhere: tasksOfOtherLanes(budget, lane, now),
  };
}

/**
 * Reserves the budget that the repository's counters allow from now on to a run whose whole time is `maxRunMs`. Never
 * throws.
 */
export async function renewReservation(
  deps: Pick<GateDeps, 'config' | 'context' | 'store' | 'clock' | 'runTag'>,
  { lane, startedAt, tasks, stateBefore, state }: Work,
  maxRunMs: number,
): Promise<Renewed> {
  const { config, context, store, clock, runTag } = deps;
  const { runUrl, runId, runAttempt } = context;
  const { policy } = config;
  const now = clock.now();
  // Only the reservations and usage of others matter, so asking again with the new reservation gives the same result.
  const renewed = (stored: Budget): Renewal => {
    const newest = seedBudget(stored, state.windows);
    const run = {
      ...(newest.reservations.find((reservation) => reservation.runTag === runTag) ?? {
        ...{ runTag, lane: lane.id, runUrl, runId, runAttempt },
        tasks: tasks.map(({ id }) => id),
      }),
      expiresAt: now + computeMaxLeaseMs(startedAt + maxRunMs - now, countJobs(config)),
    };
    return planRenewal(newest, { run, spent: measureSpent(stateBefore, state), windows: state.windows, policy }, now);
  };
  const change = (stored: Budget): Budget =>
    reserveUsage(seedBudget(stored, state.windows), renewed(stored).reservation, now);
  const message = `${nameOfLane(lane.id)}: run ${runId} has waited, and reserves again`;
  const written = await store.update(changeUsage(change, { message, now }));
  // Without a shared store there are no counters for the whole repository, so only the lane's own windows apply.
  if (written.kind === 'unguarded') return { kind: 'renewed', windows: keepOpenWindows(state.windows, now), policy };
  if (written.kind === 'unavailable') return { kind: 'unavailable', why: written.why };
  const counted = parseBudgetIn(written.snapshot, now);
  return counted.kind === 'newer' || written.answer !== null
    ? { kind: 'unavailable', why: written.answer ?? '' }
    : { kind: 'renewed', ...renewed(counted.budget) };
}
