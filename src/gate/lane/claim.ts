import { jobsOf } from '../../config/config.ts';
import {
  boundBy,
  reservationFor,
  reserve,
  seededWith,
  settleBudget,
  tasksElsewhere,
  windowsFor,
  withAsked,
} from '../../core/sharing/budget.ts';
import { expiryOf, leaseMs, type Lease } from '../../core/sharing/lease.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { Policy } from '../../core/policy.ts';
import { nameOfLane, type LaneId, type TaskId } from '../../core/tasks/ids.ts';
import type { Windows } from '../../core/lane/windows.ts';
import type { Released } from '../../ports/state.ts';
import { UserError } from '../../errors.ts';
import type { GateDeps } from '../deps.ts';
import { formatInstant } from '../../core/time.ts';
import { sentence } from '../../core/text/sentence.ts';

/** What came of asking for a lane. */
export type LaneClaim =
  /** `sequence` is what a new copy must go beyond, `at` the instant from which the lease and the run's time count. */
  | (Granted & { readonly kind: 'claimed'; readonly sequence: number; readonly at: number })
  | { readonly kind: 'changed' }
  | { readonly kind: 'refused'; readonly outcome: Outcome };

/** What a run may use: the repository's windows as it must see them, null: unknown; and its policy, which what it reserved bounds. */
interface Granted {
  /** Tasks that another run may be working on now, and until when at the longest. */
  readonly elsewhere: ReadonlyMap<TaskId, number>;
  readonly windows: Windows | null;
  readonly policy: Policy;
  readonly warnings: readonly string[];
}

/** A lane, what it knows of the usage, and the tasks of it that a run can get to when those that are worked elsewhere are left out. */
interface Wanted {
  readonly lane: LaneId;
  readonly windows: Windows;
  /** Tasks that a person asks for by name: they wait no more. */
  readonly named: readonly TaskId[];
  readonly tasks: (elsewhere: ReadonlyMap<TaskId, number>) => readonly TaskId[];
}

type ClaimDeps = Pick<GateDeps, 'config' | 'context' | 'store' | 'budget' | 'clock' | 'runTag'>;

const nowhere: ReadonlyMap<TaskId, number> = new Map();

/** Makes this run the only one that works on the lane, and reserves what it may use. Throws a UserError when a store does not answer: then nobody knows who else works, or what is left. */
export async function claimLane(deps: ClaimDeps, wanted: Wanted): Promise<LaneClaim> {
  const { lane } = wanted;
  const at = deps.clock.now();
  const { policy } = deps.config;
  if (deps.config.stateStore === 'none')
    return { kind: 'claimed', at, sequence: 0, windows: null, policy, elsewhere: nowhere, warnings: [] };
  const claimed = await deps.store.claim(lane);
  switch (claimed.kind) {
    case 'leased':
      return { kind: 'refused', outcome: anotherRun(lane, claimed.lease) };
    case 'changed':
      return claimed;
    case 'unavailable':
      throw new UserError(
        'infrastructure',
        `This run cannot claim ${nameOfLane(lane)}, so no call is made: ${sentence(claimed.why)}`,
      );
    case 'unguarded':
      // For the cache alone this is reported where it is chosen.
      return {
        kind: 'claimed',
        at,
        sequence: 0,
        windows: null,
        policy,
        elsewhere: nowhere,
        warnings:
          deps.config.stateStore === 'cache'
            ? []
            : [
                `Nothing keeps a second run from working on ${nameOfLane(lane)} at the same time, and limits are counted for ${nameOfLane(lane)} only: ${sentence(claimed.why)} Let this token write refs/ralph/state/, or set \`state-store: cache\`.`,
              ],
      };
    case 'claimed':
      return { kind: 'claimed', at, sequence: claimed.sequence, ...(await reserveFor(deps, wanted)) };
  }
}

/** Gives back what `claimLane` claimed and reserved, for a run that ends without publishing. Never throws. */
export async function releaseLane(
  { store, budget, clock, runTag }: Pick<GateDeps, 'store' | 'budget' | 'clock' | 'runTag'>,
  lane: LaneId,
): Promise<Released> {
  const released = await store.release(lane);
  await budget?.update((newest) => settleBudget(newest, runTag, { calls: 0, tokens: 0, costUsd: 0 }, clock.now()));
  return released;
}

/** The end of a run that found another one at work. */
export function anotherRun(lane: LaneId, lease: Lease): Outcome {
  return {
    kind: 'refused',
    reason: 'another_run',
    message: `Another run works on ${nameOfLane(lane)}: ${lease.runUrl || lease.runId}. If it was killed, its claim ends at ${formatInstant(expiryOf(lease))} at the latest.`,
  };
}

async function reserveFor(
  { config, context: { runUrl, runId, runAttempt }, budget, clock, runTag }: ClaimDeps,
  { lane, windows, named, tasks }: Wanted,
): Promise<Granted> {
  const { policy } = config;
  if (budget === null) return { windows: null, policy, elsewhere: nowhere, warnings: [] };
  const now = clock.now();
  const reserved = await budget.update((stored) => {
    const newest = withAsked(seededWith(stored, windows), named, now);
    const elsewhere = tasksElsewhere(newest, lane, now);
    const holder = { runTag, lane, runUrl, runId, runAttempt };
    const run = { ...holder, expiresAt: now + leaseMs(policy.maxRunMs, jobsOf(config)), tasks: tasks(elsewhere) };
    return reserve(newest, reservationFor(run, windowsFor(newest, runTag, now), policy), now);
  });
  if (reserved.kind === 'unavailable')
    throw new UserError(
      'infrastructure',
      `What this run may use cannot be reserved, so no call is made: the repository's counters cannot be written (${reserved.why}).`,
    );
  const own = reserved.budget.reservations.find((reservation) => reservation.runTag === runTag);
  return {
    windows: windowsFor(reserved.budget, runTag, now),
    policy: own === undefined ? policy : boundBy(policy, own),
    elsewhere: tasksElsewhere(reserved.budget, lane, now),
    warnings: reserved.problem === null ? [] : [reserved.problem],
  };
}
