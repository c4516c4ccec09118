export const SECOND_MS = 1_000;

export const MINUTE_MS = 60 * SECOND_MS;

export const HOUR_MS = 60 * MINUTE_MS;

export const DAY_MS = 24 * HOUR_MS;

/** Maximum difference between two clocks that are set to local times: UTC+14 and UTC-12. */
const MAX_AHEAD_MS = 26 * HOUR_MS;

/**
 * Returns true if an instant is implausibly far ahead. A smaller lead is accepted: this machine's clock may be slow,
 * and an instant in the future does not start a second window.
 */
export function isTooFarAhead(instant: number, now: number): boolean {
  return instant > now + MAX_AHEAD_MS;
}

/** Intervals at which the log shows the rest of a wait: every half hour at first, then more and more often. */
const STEPS: readonly { readonly beyondMs: number; readonly everyMs: number }[] = [
  { beyondMs: 60 * MINUTE_MS, everyMs: 30 * MINUTE_MS },
  { beyondMs: 15 * MINUTE_MS, everyMs: 15 * MINUTE_MS },
  { beyondMs: 5 * MINUTE_MS, everyMs: 5 * MINUTE_MS },
  { beyondMs: MINUTE_MS, everyMs: MINUTE_MS },
  { beyondMs: 30 * SECOND_MS, everyMs: 30 * SECOND_MS },
];

/**
 * Returns the remaining time, in ms, at which the log reports next; 0 if it does not report again. `leftMs` is the time
 * that remains now.
 */
export function computeNextRest(leftMs: number): number {
  const step = STEPS.find(({ beyondMs }) => leftMs > beyondMs);
  return step === undefined ? 0 : (Math.ceil(leftMs / step.everyMs) - 1) * step.everyMs;
}

/**
 * Formats the remaining time of a wait: `1 h 20 min`, `45 s`. Rounds up, so that the wait never lasts longer than
 * shown, and never returns an empty text.
 */
export function formatTimeLeft(leftMs: number): string {
  if (leftMs < MINUTE_MS) return `${Math.max(1, Math.ceil(leftMs / SECOND_MS))} s`;
  const minutes = Math.ceil(leftMs / MINUTE_MS);
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  return [...(hours > 0 ? [`${hours} h`] : []), ...(rest > 0 ? [`${rest} min`] : [])].join(' ');
}

/** Formats an instant in ms: `2026-11-21 17:00 UTC`. */
export function formatInstant(instant: number): string {
  return `${new Date(instant).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
