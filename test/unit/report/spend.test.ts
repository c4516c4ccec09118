import { expect, test } from 'vitest';
import { drawSpendBars, summarizeSpend } from '../../../src/report/sentences/spend.ts';

const day = (name: string, costUsd: number, calls: number) => ({ day: name, calls, tokens: 0, costUsd, minutes: 0 });
const bar = (cells: number): string => '█'.repeat(cells).padEnd(24);

test('the greatest day has the longest bar, and what is not nothing is seen', () => {
  expect(drawSpendBars([day('2026-11-19', 12, 9), day('2026-11-20', 0.01, 1), day('2026-11-21', 0, 2)])).toEqual([
    `2026-11-19  ${bar(24)}  $12.00  9 calls`,
    `2026-11-20  ${bar(1)}   $0.01  1 call`,
    `2026-11-21  ${bar(0)}   $0.00  2 calls`,
  ]);
});

test('where nothing has a price, the bars are of calls', () => {
  expect(drawSpendBars([day('2026-11-20', 0, 4), day('2026-11-21', 0, 2)])).toEqual([
    `2026-11-20  ${bar(24)}  $0.00  4 calls`,
    `2026-11-21  ${bar(12)}  $0.00  2 calls`,
  ]);
});

test('the usage, and its cost if known', () => {
  const used = { ...day('2026-11-21', 0, 2), tokens: 5_000, minutes: 3 };
  expect(summarizeSpend([used])).toBe('2 calls, 5.0k tokens, 3 min of agent time');
  expect(summarizeSpend([used, day('2026-11-20', 1, 1)])).toBe('$1.00, 3 calls, 5.0k tokens, 3 min of agent time');
  expect(summarizeSpend([day('2026-11-20', 0, 1)])).toBe('$0.00, 1 call, 0 tokens, 0 s of agent time');
});

test('nothing', () => {
  expect([drawSpendBars([]), summarizeSpend([])]).toEqual([[], 'nothing']);
});
