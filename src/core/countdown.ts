export const SECOND_MS = 1_000;

export const MINUTE_MS = 60 * SECOND_MS;

export const HOUR_MS = 60 * MINUTE_MS;

export const DAY_MS = 24 * HOUR_MS;

/** How often the log says how much is left of a wait: every half hour while it is long, then ever more often. */
const STEPS: readonly { readonly beyondMs: number; readonly everyMs: number }[] = [
  { beyondMs: 60 * MINUTE_MS, everyMs: 30 * MINUTE_MS },
  { beyondMs: 15 * MINUTE_MS, everyMs: 15 * MINUTE_MS },
  { beyondMs: 5 * MINUTE_MS, everyMs: 5 * MINUTE_MS },
  { beyondMs: MINUTE_MS, everyMs: MINUTE_MS },
  { beyondMs: 30 * SECOND_MS, everyMs: 30 * SECOND_MS },
];

/** How much is left, in ms, when the log says so next; `leftMs`: what is left now. 0: it says nothing more. */
export function nextMark(leftMs: number): number {
  const step = STEPS.find(({ beyondMs }) => leftMs > beyondMs);
  return step === undefined ? 0 : (Math.ceil(leftMs / step.everyMs) - 1) * step.everyMs;
}

/** What is left of a wait: `1 h 20 min`, `45 s`. Rounded up, so that the wait is over when it says so, and never nothing. */
export function leftInWords(leftMs: number): string {
  if (leftMs < MINUTE_MS) return `${Math.max(1, Math.ceil(leftMs / SECOND_MS))} s`;
  const minutes = Math.ceil(leftMs / MINUTE_MS);
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  return [...(hours > 0 ? [`${hours} h`] : []), ...(rest > 0 ? [`${rest} min`] : [])].join(' ');
}

/** `2026-11-21 17:00 UTC`; `instant` in ms. */
export function formatInstant(instant: number): string {
  return `${new Date(instant).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
