import { z } from 'zod';
import type { LedgerDay } from '../lane/ledger.ts';
import type { LaneState } from '../lane/state/state.ts';
import {
  limitWindows,
  chargeUsage,
  useUpWindows,
  windowsSchema,
  type Windows,
  keepOpenWindows,
} from '../lane/windows.ts';
import { countMaxCalls, amountSchema, countSchema, type Immutable, instantSchema, type Policy } from '../policy.ts';
import type { LaneId, TaskId } from '../tasks/ids.ts';
import { tryJson } from '../text/try-json.ts';
import { belongsToEndedAttempt, type LiveAttempt, MAX_LEASE_MS, withRunTag, withStoredTag } from './lease.ts';
import { DAY_MS, HOUR_MS, isTooFarAhead } from '../countdown.ts';

const MAX_RESERVATIONS = 100;
/** Maximum number of tasks in a reservation, more than any run reaches, for a document of 64 KiB. */
const MAX_TASKS = 100;
const MAX_BUDGET_CHARS = 64 * 1024;

const reservationSchema = z
  .object({
    mark: z.string().max(100),
    lane: z.string().max(120),
    runUrl: z.string().max(500),
    /** GitHub's id of the run, and its attempt; absent in earlier versions. */
    runId: z.string().max(40).default(''),
    runAttempt: countSchema.default(1),
    expiresAt: instantSchema,
    /** The tasks that the run may work on. Runs on other lanes do not work on them. */
    tasks: z.array(z.string().max(120)).max(MAX_TASKS),
    calls: countSchema,
    tokens: countSchema,
    costUsd: amountSchema,
  })
  .transform(withRunTag);

/** The maximum usage of a run. An unsettled reservation counts as used. */
export type Reservation = Immutable<z.infer<typeof reservationSchema>>;

const schema = z.object({
  version: z.literal(1),
  windows: windowsSchema,
  reservations: z.array(reservationSchema).max(MAX_RESERVATIONS),
});

/**
 * The repository's usage windows, over all lanes. A run reserves what it may use before its first call and settles its
 * usage at its end, so no two runs are ever granted the same call or dollar. Instants in ms, money in US dollars.
 */
export type Budget = Immutable<z.infer<typeof schema>>;

export type RunUsage = Pick<Reservation, 'calls' | 'tokens' | 'costUsd'>;

export const emptyBudget: Budget = { version: 1, windows: { hour: null, day: null }, reservations: [] };

export type ParsedBudget =
  | { readonly kind: 'budget'; readonly budget: Budget; readonly problem: string | null }
  | { readonly kind: 'newer'; readonly version: number };

/**
 * Parses a stored budget. An unreadable one grants nothing: both windows count as used up from `now`. Windows that
 * begin far in the future begin at `now` instead.
 */
export function parseBudget(text: string, now: number): ParsedBudget {
  const json = text.length > MAX_BUDGET_CHARS ? undefined : tryJson(text);
  const head = z.object({ version: z.int().min(2) }).safeParse(json);
  if (head.success) return { kind: 'newer', version: head.data.version };
  const parsed = schema.safeParse(json);
  if (parsed.success) return plausibleBudget(parsed.data, now);
  return {
    kind: 'budget',
    budget: { ...emptyBudget, windows: useUpWindows(now) },
    problem: "The repository's usage counters cannot be read: this hour and this day count as used up.",
  };
}

/** Returns a plausible budget: a machine whose clock is years ahead must not park the repository for years. */
function plausibleBudget(budget: Budget, now: number): ParsedBudget {
  const windows = limitWindows(budget.windows, now);
  const isEndless = ({ expiresAt }: Reservation): boolean => isTooFarAhead(expiresAt - MAX_LEASE_MS, now);
  if (windows === budget.windows && !budget.reservations.some(isEndless))
    return { kind: 'budget', budget, problem: null };
  const reservations = budget.reservations.map((reservation) =>
    isEndless(reservation) ? { ...reservation, expiresAt: now } : reservation,
  );
  return {
    kind: 'budget',
    budget: { ...budget, windows, reservations },
    problem:
      "The repository's usage counters begin in the future, because the clock of a machine was wrong: they now begin with this run.",
  };
}

/** Returns the file to store. */
export function serializeUsage({ reservations, ...budget }: Budget): string {
  return `${JSON.stringify({ ...budget, reservations: reservations.map(withStoredTag) }, null, 1)}\n`;
}

/** Returns the windows that limit the run with this tag: actual usage plus the reservations of other runs. */
export function sumWindows(budget: Budget, runTag: string, now: number): Windows {
  const others = budget.reservations.filter((reservation) => reservation.runTag !== runTag);
  const sum = (
    of: (reservation: Reservation) => number,
    counts: (reservation: Reservation, now: number) => boolean,
  ): number => others.reduce((total, reservation) => total + (counts(reservation, now) ? of(reservation) : 0), 0);
  const { hour, day } = budget.windows;
  const reserved = {
    calls: sum(({ calls }) => calls, countsInHour),
    tokens: sum(({ tokens }) => tokens, countsInHour),
    costUsd: sum(({ costUsd }) => costUsd, countsInDay),
  };
  const isOpen = hour !== null && now < hour.openedAt + HOUR_MS;
  const isToday = day !== null && now < endOfDay(day.openedAt);
  return {
    hour:
      isOpen || reserved.calls + reserved.tokens > 0
        ? {
            openedAt: isOpen ? hour.openedAt : now,
            calls: (isOpen ? hour.calls : 0) + reserved.calls,
            tokens: (isOpen ? hour.tokens : 0) + reserved.tokens,
          }
        : null,
    day:
      isToday || reserved.costUsd > 0
        ? { openedAt: isToday ? day.openedAt : now, costUsd: (isToday ? day.costUsd : 0) + reserved.costUsd }
        : null,
  };
}

/**
 * Returns the budget; if it has no windows, with those that the lane knows, because a deleted budget must not grant the
 * same usage again.
 */
export function seedBudget(budget: Budget, windows: Windows): Budget {
  const isNew = budget.windows.hour === null && budget.windows.day === null && budget.reservations.length === 0;
  return isNew ? { ...budget, windows } : budget;
}

/**
 * Returns the budget without the tasks held by attempts of runs that have ended. Their reservations still count as
 * used, since their real usage is unknown.
 */
export function endReservations(budget: Budget, live: readonly LiveAttempt[], now: number): Budget {
  const isDead = (reservation: Reservation): boolean =>
    now < reservation.expiresAt && belongsToEndedAttempt(reservation, live);
  if (!budget.reservations.some(isDead)) return budget;
  const reservations = budget.reservations.map((reservation) =>
    isDead(reservation) ? { ...reservation, expiresAt: now } : reservation,
  );
  return { ...budget, reservations };
}

/** Returns the other runs that still hold their reservations. */
export function listOtherReservations({ reservations }: Budget, runTag: string, now: number): readonly Reservation[] {
  return reservations.filter((reservation) => reservation.runTag !== runTag && now < reservation.expiresAt);
}

/**
 * Returns the reservation of a run with this policy: the calls that its iterations can make, and all free tokens and
 * money unless `max-cost-usd` asks for less.
 */
export function planReservation(run: Omit<Reservation, keyof RunUsage>, windows: Windows, policy: Policy): Reservation {
  const freeCost = Math.max(0, policy.maxCostUsdPerDay - (windows.day?.costUsd ?? 0));
  return {
    ...run,
    tasks: run.tasks.slice(0, MAX_TASKS),
    calls: Math.max(0, Math.min(countMaxCalls(policy), policy.maxCallsPerHour - (windows.hour?.calls ?? 0))),
    tokens: Math.max(0, policy.maxTokensPerHour - (windows.hour?.tokens ?? 0)),
    costUsd: policy.maxCostUsd > 0 ? Math.min(policy.maxCostUsd, freeCost) : freeCost,
  };
}

/**
 * Returns the tasks that another lane's run may be working on, each with the latest instant at which that run ends. The
 * lane's own lease ensures that it has only one run at a time.
 */
export function tasksOfOtherLanes({ reservations }: Budget, lane: LaneId, now: number): ReadonlyMap<TaskId, number> {
  const until = new Map<TaskId, number>();
  for (const { lane: of, tasks, expiresAt } of reservations)
    if (of !== lane && now < expiresAt)
      for (const task of tasks) until.set(task, Math.max(expiresAt, until.get(task) ?? 0));
  return until;
}

/**
 * Returns the policy of a run whose limits are cut to its reservation, so that the run cannot use more even if a window
 * ends while it works.
 */
export function boundPolicy(policy: Policy, { calls, costUsd }: Pick<Reservation, 'calls' | 'costUsd'>): Policy {
  const maxCostUsd = policy.maxCostUsd > 0 ? Math.min(policy.maxCostUsd, costUsd) : costUsd;
  return {
    ...policy,
    // An iteration makes at least one call, so the reserved calls bound the iterations; they may not be enough for
    // iterations with several calls.
    maxIterations: Math.min(policy.maxIterations, calls),
    maxCalls: policy.callsPerIteration > 1 ? calls : 0,
    maxCostUsd: policy.maxCostUsdPerDay > 0 ? maxCostUsd : policy.maxCostUsd,
  };
}

/** Returns the budget with the reservation, in place of an earlier one of the same run. */
export function reserveUsage(budget: Budget, reservation: Reservation, now: number): Budget {
  // A reservation is kept after it expires: this machine's clock may be ahead, and the owner must be able to settle it.
  const live = budget.reservations.filter(
    (other) => other.runTag !== reservation.runTag && now < other.expiresAt + 2 * DAY_MS,
  );
  return { ...budget, reservations: [...live, reservation].slice(-MAX_RESERVATIONS) };
}

/**
 * Returns the budget after a run, whose reservation is replaced by its usage. Without a reservation nothing changes: it
 * was settled before.
 */
export function settleBudget(budget: Budget, runTag: string, spent: RunUsage, now: number): Budget {
  if (!hasReserved(budget, runTag)) return budget;
  const reservations = budget.reservations.filter((reservation) => reservation.runTag !== runTag);
  // Without usage, no window opens: it would end earlier than one that the next call opens.
  if (!(spent.calls > 0 || spent.tokens > 0 || spent.costUsd > 0)) return { ...budget, reservations };
  const charged = chargeUsage(budget.windows, { tokens: spent.tokens, costUsd: spent.costUsd, durationMs: 0 }, now);
  const hour = charged.hour === null ? null : { ...charged.hour, calls: charged.hour.calls + spent.calls };
  return { ...budget, windows: { ...charged, hour }, reservations };
}

/** A run's effect on its lane. */
export interface LaneRun {
  readonly before: LaneState;
  readonly after: LaneState;
  /** True if nothing is left for a later run to publish or to notify people of. */
  readonly isPublished: boolean;
}

/**
 * Returns the budget after a run that brought its lane from one state to another. If the run's first call opened the
 * hour, the hour began with that call and not at the settlement.
 */
export function settleRun(budget: Budget, runTag: string, { before, after }: LaneRun, now: number): Budget {
  const spent = measureSpent(before, after);
  const { hour } = budget.windows;
  const opened = after.windows.hour;
  const isNew = opened !== null && spent.calls > 0 && (hour === null || hour.openedAt + HOUR_MS <= opened.openedAt);
  if (!isNew || !hasReserved(budget, runTag)) return settleBudget(budget, runTag, spent, now);
  return settleBudget(
    { ...budget, windows: { ...budget.windows, hour: { openedAt: opened.openedAt, calls: 0, tokens: 0 } } },
    runTag,
    spent,
    now,
  );
}

function hasReserved({ reservations }: Budget, runTag: string): boolean {
  return reservations.some((reservation) => reservation.runTag === runTag);
}

/** Returns the usage of the lane from one state to a later one, including a call that never returned. */
export function measureSpent(before: LaneState, after: LaneState): RunUsage {
  const sum = (state: LaneState, of: (day: LedgerDay) => number): number =>
    state.ledger
      .filter(({ day }) => after.ledger.some((kept) => kept.day === day))
      .reduce((total, day) => total + of(day), 0);
  const difference = (of: (day: LedgerDay) => number): number => Math.max(0, sum(after, of) - sum(before, of));
  return {
    calls: difference(({ calls }) => calls),
    tokens: difference(({ tokens }) => tokens),
    costUsd: difference(({ costUsd }) => costUsd),
  };
}

/**
 * Returns true if a reservation is counted in the hour window, which may have opened just before the reservation's end.
 */
function countsInHour({ expiresAt }: Reservation, now: number): boolean {
  return now < expiresAt + HOUR_MS;
}

function countsInDay({ expiresAt }: Reservation, now: number): boolean {
  return now < endOfDay(expiresAt);
}

/** Returns the next midnight UTC. */
function endOfDay(instant: number): number {
  return (Math.floor(instant / DAY_MS) + 1) * DAY_MS;
}

/** A run that renews its reservation. */
interface RenewingRun {
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
