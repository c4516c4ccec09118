import { expect, test } from 'vitest';
import { bookCall, bookUsage } from '../../../../src/core/lane/ledger.ts';
import { HOUR, noon } from '../core-fixtures.ts';

test('adds up per UTC day, in order, also when the clock goes back', () => {
  const next = Date.parse('2026-11-22T00:05:00Z');
  const used = bookUsage(
    bookCall(bookCall([], noon, null), next, null),
    { tokens: 5, costUsd: 0.5, durationMs: 90_000 },
    next,
  );
  expect(bookCall(used, noon + HOUR, null)).toEqual([
    { day: '2026-11-21', calls: 2, tokens: 0, costUsd: 0, minutes: 0 },
    { day: '2026-11-22', calls: 1, tokens: 5, costUsd: 0.5, minutes: 1.5 },
  ]);
});

test('keeps the newest 31 days', () => {
  let ledger = bookCall([], 0, null);
  for (let day = 1; day <= 40; day += 1) ledger = bookCall(ledger, day * 86_400_000, null);
  expect(ledger).toHaveLength(31);
  expect([ledger[0]?.day, ledger.at(-1)?.day]).toEqual(['1970-01-11', '1970-02-10']);
});

test('what several calls of a day used adds up, whatever days stand beside it', () => {
  const next = noon + 24 * HOUR;
  const usage = { tokens: 5, costUsd: 0.5, durationMs: 30_000 };
  expect(bookUsage(bookUsage(bookCall(bookCall([], next, null), next, null), usage, next), usage, next)).toEqual([
    { day: '2026-11-22', calls: 2, tokens: 10, costUsd: 1, minutes: 1 },
  ]);
  expect(bookUsage([], usage, noon)).toEqual([{ day: '2026-11-21', calls: 0, tokens: 5, costUsd: 0.5, minutes: 0.5 }]);
});

test('says whose calls they were, on a day on which several agents could be called', () => {
  const both = bookCall(bookCall(bookCall([], noon, 'claude'), noon, 'codex'), noon, 'claude');
  expect(both).toEqual([
    { day: '2026-11-21', calls: 3, agents: { claude: 2, codex: 1 }, tokens: 0, costUsd: 0, minutes: 0 },
  ]);
});
