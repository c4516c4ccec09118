import { z } from 'zod';
import type { PassingLimit } from '../outcome.ts';
import { amountSchema, countSchema, type Immutable, instantSchema, isCostReached, type Policy } from '../policy.ts';
import { boundUsage, type Usage } from './ledger.ts';
import { DAY_MS, HOUR_MS, isTooFarAhead } from '../countdown.ts';

/** The value that stands for an unreadable counter: more than any limit, but small enough to be added to. */
const USED_UP_AMOUNT = 1e15;

const hourSchema = z.object({ openedAt: instantSchema, calls: countSchema, tokens: countSchema }).nullable();
const daySchema = z.object({ openedAt: instantSchema, costUsd: amountSchema }).nullable();
export const windowsSchema = z.object({ hour: hourSchema, day: daySchema });
/** The two windows, each of which is parsed separately. */
const partsSchema = z.object({ hour: z.unknown().optional(), day: z.unknown().optional() });
const openedSchema = z.object({ openedAt: instantSchema });

/**
 * The usage windows. A window opens with its first call; `hour` ends an hour later, `day` at the next midnight UTC.
 * null means that the window is not open.
 */
export type Windows = Immutable<z.infer<typeof windowsSchema>>;

/** Charges a call at its start, so that failed and killed calls count as well. */
export function chargeCall(windows: Windows, now: number): Windows {
  const hour = currentHour(windows, now);
  // If only the usage of an earlier call opened the window, the window starts with its first own call. A clock that was
  // set back does not move the start.
  const openedAt = hour.calls === 0 ? Math.max(hour.openedAt, now) : hour.openedAt;
  return { hour: { ...hour, openedAt, calls: hour.calls + 1 }, day: currentDay(windows, now) };
}

/** Charges the usage of a call when it ends. */
export function chargeUsage(windows: Windows, usage: Usage, now: number): Windows {
  const hour = currentHour(windows, now);
  const day = currentDay(windows, now);
  const { tokens, costUsd } = boundUsage(usage);
  return { hour: { ...hour, tokens: hour.tokens + tokens }, day: { ...day, costUsd: day.costUsd + costUsd } };
}

/** Returns the limit that is reached at `now` and ends last, or null if a call may start. */
export function findExhaustedWindow(
  windows: Windows,
  policy: Policy,
  now: number,
): { readonly reason: PassingLimit; readonly resumeAt: number } | null {
  const { hour, day } = keepOpenWindows(windows, now);
  const reached: { reason: PassingLimit; resumeAt: number }[] = [];
  if (hour !== null && hour.calls >= policy.maxCallsPerHour)
    reached.push({ reason: 'calls_per_hour', resumeAt: hour.openedAt + HOUR_MS });
  if (hour !== null && policy.maxTokensPerHour > 0 && hour.tokens >= policy.maxTokensPerHour)
    reached.push({ reason: 'tokens_per_hour', resumeAt: hour.openedAt + HOUR_MS });
  if (day !== null && isCostReached(day.costUsd, policy.maxCostUsdPerDay))
    reached.push({ reason: 'cost_per_day', resumeAt: dayStart(day.openedAt) + DAY_MS });
  return reached.sort((a, b) => b.resumeAt - a.resumeAt)[0] ?? null;
}

/** Returns the stricter combination of two views of the same usage. */
export function combineWindows(a: Windows, b: Windows): Windows {
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

/** The usage of the open windows and the instants at which they end in ms; a window that is not open is null. */
export interface OpenUsage {
  readonly hour: { readonly calls: number; readonly tokens: number; readonly endsAt: number } | null;
  readonly day: { readonly costUsd: number; readonly endsAt: number } | null;
}

/** Returns the usage of the windows that are open at `now`. */
export function measureUsageAt(windows: Windows, now: number): OpenUsage {
  const { hour, day } = keepOpenWindows(windows, now);
  return {
    hour: hour === null ? null : { calls: hour.calls, tokens: hour.tokens, endsAt: hour.openedAt + HOUR_MS },
    day: day === null ? null : { costUsd: day.costUsd, endsAt: dayStart(day.openedAt) + DAY_MS },
  };
}

/** Returns the number of calls that remain in the hour window at `now`. */
export function countCallsRemaining(windows: Windows, policy: Policy, now: number): number {
  return Math.max(0, policy.maxCallsPerHour - (keepOpenWindows(windows, now).hour?.calls ?? 0));
}

/** Returns both windows, opened at `openedAt` and used up. */
export function useUpWindows(openedAt: number): Windows {
  return { hour: usedUpHour(openedAt), day: usedUpDay(openedAt) };
}

/**
 * Parses stored windows. A corrupt window counts as used up, so that it never grants calls; its start is the readable
 * start or `savedAt`.
 */
export function parseWindows(
  json: unknown,
  savedAt: number,
): { readonly windows: Windows; readonly problems: readonly string[] } {
  const parts = partsSchema.safeParse(json);
  const hour = hourSchema.safeParse(parts.data?.hour);
  const day = daySchema.safeParse(parts.data?.day);
  const problems = [
    ...(hour.success ? [] : ['The hour window in the stored state cannot be read: it counts as used up.']),
    ...(day.success ? [] : ['The day window in the stored state cannot be read: it counts as used up.']),
  ];
  const openedAt = (part: unknown): number => openedSchema.safeParse(part).data?.openedAt ?? savedAt;
  return {
    windows: {
      hour: hour.success ? hour.data : usedUpHour(openedAt(parts.data?.hour)),
      day: day.success ? day.data : usedUpDay(openedAt(parts.data?.day)),
    },
    problems,
  };
}

/**
 * Returns the windows with implausibly late starts, which only a wrong clock can have written, moved to `now`. Usage is
 * kept. Returns the same object if all starts are plausible.
 */
export function limitWindows(windows: Windows, now: number): Windows {
  const { hour, day } = windows;
  if (!isTooFarAhead(hour?.openedAt ?? 0, now) && !isTooFarAhead(day?.openedAt ?? 0, now)) return windows;
  return {
    hour: hour === null ? null : { ...hour, openedAt: plausibleStart(hour.openedAt, now) },
    day: day === null ? null : { ...day, openedAt: plausibleStart(day.openedAt, now) },
  };
}

/** Returns the windows that are open at `now`. A window ends only at its own end, not because a clock was set back. */
export function keepOpenWindows(windows: Windows, now: number): Windows {
  return {
    hour: windows.hour !== null && now < windows.hour.openedAt + HOUR_MS ? windows.hour : null,
    day: windows.day !== null && now < dayStart(windows.day.openedAt) + DAY_MS ? windows.day : null,
  };
}

function currentHour(windows: Windows, now: number): NonNullable<Windows['hour']> {
  return keepOpenWindows(windows, now).hour ?? { openedAt: now, calls: 0, tokens: 0 };
}

function currentDay(windows: Windows, now: number): NonNullable<Windows['day']> {
  return keepOpenWindows(windows, now).day ?? { openedAt: now, costUsd: 0 };
}

function dayStart(instant: number): number {
  return Math.floor(instant / DAY_MS) * DAY_MS;
}

function plausibleStart(instant: number, now: number): number {
  return isTooFarAhead(instant, now) ? now : instant;
}

function usedUpHour(openedAt: number): NonNullable<Windows['hour']> {
  return { openedAt, calls: USED_UP_AMOUNT, tokens: USED_UP_AMOUNT };
}

function usedUpDay(openedAt: number): NonNullable<Windows['day']> {
  return { openedAt, costUsd: USED_UP_AMOUNT };
}
