import { DAY_MS, HOUR_MS, MINUTE_MS } from '../time.ts';

/** What announces a time from which calls are taken again. */
export const ANNOUNCES = String.raw`\b(?:re-?sets?|try(?: it)? again|retry|wait(?:ing)?|available(?: again)?|(?:re)?gain access|renews?|refresh(?:es|ed)?|lifted|back)\b`;

const SECOND_MS = 1_000;
/** Later than this is no reset. */
const MAX_RELATIVE_MS = 400 * DAY_MS;

const UNITS: readonly (readonly [RegExp, number])[] = [
  [/^(?:ms|msecs?|milliseconds?)$/i, 1],
  [/^(?:s|secs?|seconds?)$/i, SECOND_MS],
  [/^(?:m|mins?|minutes?)$/i, MINUTE_MS],
  [/^(?:h|hrs?|hours?)$/i, HOUR_MS],
  [/^(?:d|days?)$/i, DAY_MS],
  [/^(?:w|weeks?)$/i, 7 * DAY_MS],
];
const UNIT = String.raw`(?:milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w)`;
/** Without blanks, too: `14h32m10s`. */
const PARTS = String.raw`\d{1,9}(?:\.\d{1,9})?\s?${UNIT}(?:(?:,? and |, ?| ?)\d{1,9}(?:\.\d{1,9})?\s?${UNIT})*(?![a-z])`;
const SPAN = new RegExp(
  String.raw`${ANNOUNCES}[^\n\d]{0,40}?(?:\b(?:in|after|for|about|another)\b ?)?(?:about |approximately |~ ?)?(${PARTS})`,
  'i',
);
const ONE_PART = new RegExp(String.raw`(\d{1,9}(?:\.\d{1,9})?)\s?(${UNIT})(?![a-z])`, 'gi');
const GLUED_PART = new RegExp(String.raw`(\d{1,9}(?:\.\d{1,9})?)\s?(${UNIT})`, 'gi');
/** One `an hour`, `a minute`. */
const ONE = new RegExp(
  String.raw`${ANNOUNCES}[^\n\d]{0,40}?\b(?:in|after|for) (?:an?|one) (minute|hour|day|week)\b`,
  'i',
);
/** A field of the provider, or a header. */
const FIELD =
  /["']?\b(?:(resets?_in|reset_after|resets?_in_seconds|resets?_after_seconds|retry[-_]after|retryDelay|retry_after_seconds)|(retry[-_]after[-_]ms))["']?\s{0,4}[:=]\s{0,4}["']?(\d{1,12}(?:\.\d{1,9})?)(s|ms)?["']?(?![\w:-])/i;

/** How long the text says to wait, in ms: `in 58 hours`, `reset after 14h32m10s`, `5 days 22 hours`, `retry-after: 30`; null: it does not. */
export function relativeReset(text: string): number | null {
  const field = FIELD.exec(text);
  if (field !== null) {
    const [, , inMs, number, unit] = field;
    return bounded(Number(number) * (inMs !== undefined || unit === 'ms' ? 1 : SECOND_MS));
  }
  const spans = SPAN.exec(text)?.[1];
  if (spans !== undefined) return bounded(sumOf(spans));
  const one = ONE.exec(text)?.[1];
  return one === undefined ? null : unitMs(one);
}

function sumOf(spans: string): number {
  const apart = [...spans.matchAll(ONE_PART)];
  const parts = apart.length === [...spans.matchAll(/\d+(?:\.\d+)?/g)].length ? apart : [...spans.matchAll(GLUED_PART)];
  return parts.reduce((sum, [, number, unit = '']) => sum + Number(number) * unitMs(unit), 0);
}

function unitMs(unit: string): number {
  return UNITS.find(([form]) => form.test(unit))?.[1] ?? 0;
}

function bounded(ms: number): number | null {
  return Number.isFinite(ms) && ms <= MAX_RELATIVE_MS ? ms : null;
}
