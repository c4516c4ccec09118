import { MINUTE_MS } from './time.ts';

/** How often a wait is told of, by what is left of it: every half hour of a long one, the last minutes one by one in fives. */
const STEPS: readonly { readonly beyondMs: number; readonly everyMs: number }[] = [
  { beyondMs: 60 * MINUTE_MS, everyMs: 30 * MINUTE_MS },
  { beyondMs: 15 * MINUTE_MS, everyMs: 15 * MINUTE_MS },
  { beyondMs: 5 * MINUTE_MS, everyMs: 5 * MINUTE_MS },
];

/** What is left of a wait when the log says so next, in ms, from what is left now; 0: no more until it is over. */
export function nextMark(leftMs: number): number {
  const step = STEPS.find(({ beyondMs }) => leftMs > beyondMs);
  return step === undefined ? 0 : (Math.ceil(leftMs / step.everyMs) - 1) * step.everyMs;
}
