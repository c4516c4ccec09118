import type { Outcome } from '../outcome.ts';
import { countMaxCalls, type Policy } from '../policy.ts';
import { planReservation, type Reservation, type RunUsage } from '../sharing/budget.ts';
import type { Windows } from '../lane/windows.ts';

/** Assumed cost of a call in US dollars before a repository's first call. */
const ASSUMED_COST_USD = 0.5;

/** Minimum number of calls of a lane that waits for a machine. With fewer, its task would need another run. */
const MIN_CALLS_AFTER_WAIT = 3;

/**
 * One lane's share of a run's limits. The first lane gets the share of one machine, and the others divide the rest, so
 * that lanes that wait for a machine take nothing from the queue.
 */
export interface LaneShare {
  /** Number of the lane, from 0. */
  readonly at: number;
  /** Number of lanes. */
  readonly of: number;
  /** Number of lanes that work at the same time. */
  readonly atOnce: number;
}

/** Returns the policy of one lane: the run's iterations and money are divided among the lanes. */
export function policyOfShare(policy: Policy, share: LaneShare): Policy {
  return share.of === 1
    ? policy
    : {
        ...policy,
        maxIterations: partOf(policy.maxIterations, share),
        maxCostUsd: policy.maxCostUsd * fractionOf(share),
      };
}

/**
 * Returns the reservation of one lane: its share of the reservation that the run would make with a single lane.
 * `windows` are those that limit the whole run.
 */
export function reservationOfShare(
  run: Omit<Reservation, keyof RunUsage>,
  { windows, policy, share }: { readonly windows: Windows; readonly policy: Policy; readonly share: LaneShare },
): Reservation {
  const { calls, tokens, costUsd, ...whole } = planReservation(run, windows, policy);
  return {
    ...whole,
    calls: Math.min(countMaxCalls(policyOfShare(policy, share)), partOf(calls, share)),
    tokens: partOf(tokens, share),
    costUsd: costUsd * fractionOf(share),
  };
}

/**
 * Returns the number of wanted lanes that the free budget allows: each needs an iteration and, where these are limited,
 * the tokens and money of a call. Lanes that wait for a machine need `MIN_CALLS_AFTER_WAIT` calls. `costOfCallUsd` is
 * the expected cost of a call; null if unknown.
 */
export function countAffordableLanes(
  wanted: number,
  budget: {
    readonly windows: Windows;
    readonly policy: Policy;
    readonly costOfCallUsd: number | null;
    readonly atOnce: number;
  },
): number {
  const { windows, policy, costOfCallUsd, atOnce } = budget;
  const free = planReservation({ ...UNUSED_FIELDS, tasks: [] }, windows, policy);
  const calls = Math.min(
    policy.maxIterations,
    free.calls / policy.callsPerIteration,
    ...(policy.maxTokensPerHour > 0 ? [free.tokens] : []),
    ...(policy.maxCostUsd > 0 ? [callsFor(policy.maxCostUsd, costOfCallUsd)] : []),
    ...(policy.maxCostUsdPerDay > 0 ? [callsFor(free.costUsd, costOfCallUsd)] : []),
  );
  const beside = calls * (1 - 1 / atOnce);
  const affordable = Math.max(Math.min(atOnce, calls), 1 + beside / MIN_CALLS_AFTER_WAIT);
  return Math.max(1, Math.floor(Math.min(wanted, affordable)));
}

function callsFor(freeUsd: number, costOfCallUsd: number | null): number {
  const cost = costOfCallUsd ?? ASSUMED_COST_USD;
  if (freeUsd <= 0) return 0;
  return cost > 0 ? freeUsd / cost : Infinity;
}

/**
 * Returns the outcome of a lane that must not begin now, because its run is ending or because it waited so long that
 * its claim could expire during its work; null if it may begin.
 */
export function endBeforeTurn(
  { at, atOnce }: LaneShare,
  { startBy, isEnding, now }: { readonly startBy: number; readonly isEnding: boolean; readonly now: number },
): Outcome | null {
  if (isEnding) return { kind: 'cancelled', reason: 'signal' };
  const message = 'the branches before it took too long';
  return at >= atOnce && now > startBy ? { kind: 'failed', reason: 'infrastructure', message } : null;
}

/** Returns a lane's integer share of a number; the first lanes get the remainder. */
function partOf(whole: number, { at, of, atOnce }: LaneShare): number {
  const first = Math.ceil(whole / Math.min(of, atOnce));
  if (at === 0) return first;
  const rest = whole - first;
  return Math.floor(rest / (of - 1)) + (at <= rest % (of - 1) ? 1 : 0);
}

function fractionOf({ at, of, atOnce }: LaneShare): number {
  const first = 1 / Math.min(of, atOnce);
  return at === 0 ? first : (1 - first) / (of - 1);
}

const UNUSED_FIELDS = { runTag: '', lane: '', runUrl: '', runId: '', runAttempt: 1, expiresAt: 0 };
