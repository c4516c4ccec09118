import { laneStateParts } from './state-schema.ts';

/** Usage windows: opened by their first call; `hour` ends an hour later, `day` at the next midnight UTC. `null`: none is open. */
export interface Windows {
  readonly hour: { readonly openedAt: number; readonly calls: number; readonly tokens: number } | null;
  readonly day: { readonly openedAt: number; readonly costUsd: number } | null;
}

const hourMs = 3_600_000;
/** Two clocks that show the local times of two places differ by no more: UTC+14 and UTC-12. */
const maxAheadMs = 26 * hourMs;
/** More than any limit, with room to count on: what a counter that cannot be read counts for. */
const usedUp = 1e15;

/** Both windows used up from `openedAt` on. */
export function usedUpWindows(openedAt: number): Windows {
  return { hour: usedUpHour(openedAt), day: usedUpDay(openedAt) };
}

/** Reads stored windows. A corrupt counter never grants calls: its window, opened at the latest when the state was saved, counts as used up. */
export function parseWindows(
  json: unknown,
  savedAt: number,
): { readonly windows: Windows; readonly problems: readonly string[] } {
  const parts = laneStateParts.windows.safeParse(json);
  const hour = laneStateParts.hour.safeParse(parts.data?.hour);
  const day = laneStateParts.day.safeParse(parts.data?.day);
  const problems = [
    ...(hour.success ? [] : ['The hour window in the stored state cannot be read: it counts as used up.']),
    ...(day.success ? [] : ['The day window in the stored state cannot be read: it counts as used up.']),
  ];
  const openedAt = (part: unknown): number => laneStateParts.opened.safeParse(part).data?.openedAt ?? savedAt;
  return {
    windows: {
      hour: hour.success ? hour.data : usedUpHour(openedAt(parts.data?.hour)),
      day: day.success ? day.data : usedUpDay(openedAt(parts.data?.day)),
    },
    problems,
  };
}

/** The windows without a start that no clock in order can have written: such a one starts `now`, with what was used. Same object: all are fine. */
export function believableWindows(windows: Windows, now: number): Windows {
  const { hour, day } = windows;
  if (!isTooFarAhead(hour?.openedAt ?? 0, now) && !isTooFarAhead(day?.openedAt ?? 0, now)) return windows;
  return {
    hour: hour === null ? null : { ...hour, openedAt: believable(hour.openedAt, now) },
    day: day === null ? null : { ...day, openedAt: believable(day.openedAt, now) },
  };
}

/** A start that is less ahead stays: this machine's clock may be the one that is behind, and that grants no second quota. */
export function isTooFarAhead(instant: number, now: number): boolean {
  return instant > now + maxAheadMs;
}

function believable(instant: number, now: number): number {
  return isTooFarAhead(instant, now) ? now : instant;
}

function usedUpHour(openedAt: number): NonNullable<Windows['hour']> {
  return { openedAt, calls: usedUp, tokens: usedUp };
}

function usedUpDay(openedAt: number): NonNullable<Windows['day']> {
  return { openedAt, costUsd: usedUp };
}
