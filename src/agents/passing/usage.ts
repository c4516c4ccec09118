import type { Spent } from '../../core/spending/meter.ts';
import { tryJson } from '../../core/text/try-json.ts';
import type { AnswerMeter } from '../../ports/broker.ts';
import { asObject, type JsonObject } from '../reading/json-value.ts';

/** Reads the usage in an answer while it passes. */
export interface UsageReader<Counts> {
  push(text: string): void;
  counts(): Counts;
  /** Returns true if the counts cover the whole answer. */
  isComplete(): boolean;
}

/** Approximate number of characters in a token. */
const CHARS_PER_TOKEN = 4;

/** Returns the approximate number of tokens in this many characters, rounded up. */
export function estimateTokens(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

/** Creates the meter for one answer. `spentBy` returns the cost of the counts and of the characters so far. */
export function createAnswerMeter<Counts>(
  usage: UsageReader<Counts>,
  spentBy: (counts: Counts, chars: number) => Spent,
): AnswerMeter {
  let chars = 0;
  return {
    push(text) {
      chars += text.length;
      usage.push(text);
    },
    spent: () => spentBy(usage.counts(), chars),
    isComplete: usage.isComplete,
  };
}

/**
 * Creates a reader for an answer that does not stream. It keeps the answer unless that exceeds `maxChars`; `read` may
 * be called with a part of it.
 */
export function createAnswerReader<Counts>(
  maxChars: number,
  read: (answer: string) => Pick<UsageReader<Counts>, 'counts' | 'isComplete'>,
): UsageReader<Counts> {
  let answer = '';
  let isTooLong = false;
  return {
    push(text) {
      isTooLong ||= answer.length + text.length > maxChars;
      answer = isTooLong ? '' : answer + text;
    },
    counts: () => read(answer.trim()).counts(),
    isComplete: () => read(answer.trim()).isComplete(),
  };
}

/** Returns the larger count of each kind: every event contains the sums so far, or omits some. */
export function mergeCounts<Counts extends object>(a: Counts | null, b: Counts | null): Counts | null {
  return a === null || b === null ? (a ?? b) : combineCounts(a, b, Math.max);
}

/** Returns the counts of each kind combined. */
export function combineCounts<Counts extends object>(
  a: Counts,
  b: Counts,
  together: (one: number, other: number) => number,
): Counts {
  const others = b as Readonly<Record<string, number>>;
  return Object.fromEntries(
    Object.entries(a as Readonly<Record<string, number>>).map(([kind, count]) => [
      kind,
      together(count, others[kind] ?? 0),
    ]),
  ) as Counts;
}

/** Parses a JSON object, or returns null for anything else. */
export function parseJsonObject(text: string): JsonObject | null {
  return asObject(tryJson(text));
}
