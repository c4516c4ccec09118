import { keepOpenWindows, type Windows } from '../lane/windows.ts';
import type { Policy } from '../policy.ts';
import { boundPolicy, planReservation, sumWindows, type Budget, type Reservation, type RunUsage } from './budget.ts';

/** A run that renews its reservation. */
export interface RenewingRun {
  readonly run: Omit<Reservation, keyof RunUsage>;
  /** The usage of the run so far. */
  readonly spent: RunUsage;
  /** The usage windows as the run knew them. */
  readonly windows: Windows;
  /** The policy without the bounds of the earlier reservation. */
  readonly policy: Policy;
}

/** The budget of a run from now on: a reservation that replaces the earlier one and also covers the usage so far. */
export interface Renewal {
  readonly reservation: Reservation;
  readonly windows: Windows;
  readonly policy: Policy;
}

/**
 * Returns the renewed reservation of a run that waited for the end of a window. The run's whole usage is counted in
 * every window that was open before: some of it may be counted twice, but no call is granted twice.
 */
export function planRenewal(budget: Budget, { run, spent, windows: known, policy }: RenewingRun, now: number): Renewal {
  const windows = withOwnUsage(sumWindows(budget, run.runTag, now), { known: keepOpenWindows(known, now), spent, now });
  const free = planReservation(run, windows, { ...policy, maxCostUsd: remainingUsd(policy.maxCostUsd, spent.costUsd) });
  const reservation = {
    ...free,
    calls: spent.calls + free.calls,
    tokens: spent.tokens + free.tokens,
    costUsd: spent.costUsd + free.costUsd,
  };
  return { reservation, windows, policy: boundPolicy(policy, reservation) };
}

/** Returns the windows with the run's own usage, which no counter has yet. */
function withOwnUsage(
  others: Windows,
  { known, spent, now }: { readonly known: Windows; readonly spent: RunUsage; readonly now: number },
): Windows {
  return {
    hour:
      known.hour === null
        ? others.hour
        : {
            openedAt: Math.max(known.hour.openedAt, others.hour?.openedAt ?? 0),
            calls: (others.hour?.calls ?? 0) + spent.calls,
            tokens: (others.hour?.tokens ?? 0) + spent.tokens,
          },
    day:
      known.day === null
        ? others.day
        : {
            openedAt: others.day?.openedAt ?? Math.min(known.day.openedAt, now),
            costUsd: (others.day?.costUsd ?? 0) + spent.costUsd,
          },
  };
}

/** Returns the remaining money. A used-up limit leaves a tiny amount, since 0 means no limit. */
function remainingUsd(maxCostUsd: number, spentUsd: number): number {
  return maxCostUsd === 0 ? 0 : Math.max(Number.EPSILON, maxCostUsd - spentUsd);
}
