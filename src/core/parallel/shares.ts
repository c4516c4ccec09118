import { countMaxCalls, type Policy } from '../policy.ts';
import { planReservation, type Reservation, type RunUsage } from '../sharing/budget.ts';
import type { Windows } from '../lane/windows.ts';

/** Assumed cost of a call in US dollars before a repository's first call. */
const ASSUMED_COST_USD = 0.5;

/** One lane's share of a run's limits. */
export interface LaneShare {
  /** Number of the lane, from 0. */
  readonly at: number;
  /** Number of lanes. */
  readonly of: number;
}

/** Returns the policy of one lane: the run's iterations and money are divided among the lanes. */
export function policyOfShare(policy: Policy, share: LaneShare): Policy {
  return share.of === 1
    ? policy
    : { ...policy, maxIterations: partOf(policy.maxIterations, share), maxCostUsd: policy.maxCostUsd / share.of };
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
    costUsd: costUsd / share.of,
  };
}

/**
 * Returns the number of wanted lanes that the free budget allows: each needs an iteration and, where these are limited,
 * the tokens and money of a call. `costOfCallUsd` is the expected cost of a call; null if unknown.
 */
export function countAffordableLanes(
  wanted: number,
  budget: { readonly windows: Windows; readonly policy: Policy; readonly costOfCallUsd: number | null },
): number {
  const { windows, policy, costOfCallUsd } = budget;
  const free = planReservation({ ...UNUSED_FIELDS, tasks: [] }, windows, policy);
  const bounds = [
    wanted,
    policy.maxIterations,
    free.calls / policy.callsPerIteration,
    policy.maxTokensPerHour > 0 ? free.tokens : wanted,
    ...(policy.maxCostUsd > 0 ? [lanesFor(policy.maxCostUsd, costOfCallUsd)] : []),
    ...(policy.maxCostUsdPerDay > 0 ? [lanesFor(free.costUsd, costOfCallUsd)] : []),
  ];
  return Math.max(1, Math.floor(Math.min(...bounds)));
}

function lanesFor(freeUsd: number, costOfCallUsd: number | null): number {
  const cost = costOfCallUsd ?? ASSUMED_COST_USD;
  if (freeUsd <= 0) return 0;
  return cost > 0 ? freeUsd / cost : Infinity;
}

/** Returns a lane's integer share of a number; the first lanes get the remainder. */
function partOf(whole: number, { at, of }: LaneShare): number {
  return Math.floor(whole / of) + (at < whole % of ? 1 : 0);
}

const UNUSED_FIELDS = { runTag: '', lane: '', runUrl: '', runId: '', runAttempt: 1, expiresAt: 0 };
