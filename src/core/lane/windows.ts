import type { ParkReason } from '../outcome.ts';
import type { Policy } from '../policy.ts';
import { maxLedgerDays, type LedgerDay } from './state.ts';
import type { Windows } from './stored-windows.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** What a call used up, known when it ended. Unknown amounts are 0. */
export interface Usage {
  readonly tokens: number;
  readonly costUsd: number;
  readonly durationMs: number;
}

/** Charges a call at its start, so that a call that fails or is killed counts as well. */
export function chargeCall(windows: Windows, now: number): Windows {
  const hour = currentHour(windows, now);
  // What an earlier call used may have opened the window; it is the first call that counts. A clock that went back does not move it.
  const openedAt = hour.calls === 0 ? Math.max(hour.openedAt, now) : hour.openedAt;
  return { hour: { ...hour, openedAt, calls: hour.calls + 1 }, day: currentDay(windows, now) };
}

/** Charges what a call used, at its end. */
export function chargeUsage(windows: Windows, usage: Usage, now: number): Windows {
  const hour = currentHour(windows, now);
  const day = currentDay(windows, now);
  return {
    hour: { ...hour, tokens: hour.tokens + tokensOf(usage) },
    day: { ...day, costUsd: day.costUsd + amount(usage.costUsd) },
  };
}

/** The window that is used up at `now` and ends last; null when a call may start. */
export function usedUp(
  windows: Windows,
  policy: Policy,
  now: number,
): { readonly reason: ParkReason; readonly resumeAt: number } | null {
  const { hour, day } = openWindows(windows, now);
  const reached: { reason: ParkReason; resumeAt: number }[] = [];
  if (hour !== null && hour.calls >= policy.maxCallsPerHour)
    reached.push({ reason: 'calls_per_hour', resumeAt: hour.openedAt + hourMs });
  if (hour !== null && policy.maxTokensPerHour > 0 && hour.tokens >= policy.maxTokensPerHour)
    reached.push({ reason: 'tokens_per_hour', resumeAt: hour.openedAt + hourMs });
  if (day !== null && policy.maxCostUsdPerDay > 0 && day.costUsd >= policy.maxCostUsdPerDay)
    reached.push({ reason: 'cost_per_day', resumeAt: dayStart(day.openedAt) + dayMs });
  return reached.sort((a, b) => b.resumeAt - a.resumeAt)[0] ?? null;
}

/** Of two views of the same usage the one that grants less. */
export function tighter(a: Windows, b: Windows): Windows {
  const hour =
    a.hour === null || b.hour === null
      ? (a.hour ?? b.hour)
      : {
          openedAt: Math.max(a.hour.openedAt, b.hour.openedAt),
          calls: Math.max(a.hour.calls, b.hour.calls),
          tokens: Math.max(a.hour.tokens, b.hour.tokens),
        };
  const day =
    a.day === null || b.day === null
      ? (a.day ?? b.day)
      : { openedAt: Math.max(a.day.openedAt, b.day.openedAt), costUsd: Math.max(a.day.costUsd, b.day.costUsd) };
  return { hour, day };
}

/** What counts of the windows that are open, and the instants at which they end; null: none is open. */
export interface OpenUsage {
  readonly hour: { readonly calls: number; readonly tokens: number; readonly endsAt: number } | null;
  readonly day: { readonly costUsd: number; readonly endsAt: number } | null;
}

export function usageAt(windows: Windows, now: number): OpenUsage {
  const { hour, day } = openWindows(windows, now);
  return {
    hour: hour === null ? null : { calls: hour.calls, tokens: hour.tokens, endsAt: hour.openedAt + hourMs },
    day: day === null ? null : { costUsd: day.costUsd, endsAt: dayStart(day.openedAt) + dayMs },
  };
}

/** Calls that the hour window at `now` still grants. */
export function callsRemaining(windows: Windows, policy: Policy, now: number): number {
  return Math.max(0, policy.maxCallsPerHour - (openWindows(windows, now).hour?.calls ?? 0));
}

/** The ledger with one call more on the day of `now`. */
export function bookCall(ledger: readonly LedgerDay[], now: number): readonly LedgerDay[] {
  return booked(ledger, now, (day) => ({ ...day, calls: day.calls + 1 }));
}

/** The ledger with what a call used, on the day of `now`. */
export function bookUsage(ledger: readonly LedgerDay[], usage: Usage, now: number): readonly LedgerDay[] {
  return booked(ledger, now, (day) => ({
    ...day,
    tokens: day.tokens + tokensOf(usage),
    costUsd: day.costUsd + amount(usage.costUsd),
    minutes: day.minutes + amount(usage.durationMs) / 60_000,
  }));
}

/** Windows that have not ended. A clock that went back does not end one: only its own end does. */
function openWindows(windows: Windows, now: number): Windows {
  return {
    hour: windows.hour !== null && now < windows.hour.openedAt + hourMs ? windows.hour : null,
    day: windows.day !== null && now < dayStart(windows.day.openedAt) + dayMs ? windows.day : null,
  };
}

function currentHour(windows: Windows, now: number): NonNullable<Windows['hour']> {
  return openWindows(windows, now).hour ?? { openedAt: now, calls: 0, tokens: 0 };
}

function currentDay(windows: Windows, now: number): NonNullable<Windows['day']> {
  return openWindows(windows, now).day ?? { openedAt: now, costUsd: 0 };
}

function booked(
  ledger: readonly LedgerDay[],
  now: number,
  change: (day: LedgerDay) => LedgerDay,
): readonly LedgerDay[] {
  const name = new Date(now).toISOString().slice(0, 10);
  const day = ledger.find((entry) => entry.day === name) ?? { day: name, calls: 0, tokens: 0, costUsd: 0, minutes: 0 };
  return [...ledger.filter((entry) => entry.day !== name), change(day)]
    .sort((a, b) => (a.day < b.day ? -1 : 1))
    .slice(-maxLedgerDays);
}

function dayStart(instant: number): number {
  return Math.floor(instant / dayMs) * dayMs;
}

/** Amounts come from the agent's output: a negative one must not give a quota back, a huge one not make the state unreadable. */
function amount(value: number): number {
  return value > 0 ? Math.min(value, 1e12) : 0;
}

function tokensOf(usage: Usage): number {
  return Math.ceil(amount(usage.tokens));
}
