import { expect, test } from 'vitest';
import { type LedgerDay, addLedgers, sumLedgerDays } from '../../../../src/core/lane/ledger.ts';
import { DAY_MS } from '../../../../src/core/countdown.ts';
import { noon } from '../core-fixtures.ts';

const day = (daysAgo: number, costUsd: number): LedgerDay => ({
  day: new Date(noon - daysAgo * DAY_MS).toISOString().slice(0, 10),
  calls: 1,
  tokens: 10,
  costUsd,
  minutes: 2,
});

test('days of several lanes are added up, oldest first', () => {
  const days = addLedgers([[day(2, 1), day(0, 2)], [], [day(2, 4)]], noon);
  expect(days).toEqual([{ ...day(2, 5), calls: 2, tokens: 20, minutes: 4 }, day(0, 2)]);
  expect(sumLedgerDays(days)).toEqual({ calls: 3, tokens: 30, costUsd: 7, minutes: 6 });
});

test('days stand oldest first, whichever lane knows of them', () => {
  expect(addLedgers([[day(0, 1)], [day(2, 1), day(1, 1)]], noon)).toEqual([day(2, 1), day(1, 1), day(0, 1)]);
});

test.each([
  ['today', 0, 1],
  ['30 days ago', 30, 1],
  ['31 days ago', 31, 0],
])('of the last 31 days: %s', (_, daysAgo, kept) => {
  expect(addLedgers([[day(daysAgo, 1)]], noon)).toHaveLength(kept);
});

test('a day on which nothing was used is left out', () => {
  expect(addLedgers([[{ ...day(0, 0), calls: 0, tokens: 0, minutes: 0 }]], noon)).toEqual([]);
});

test.each(['calls', 'tokens', 'costUsd', 'minutes'] as const)('a day on which only %s were used is kept', (what) => {
  const used = { ...day(0, 0), calls: 0, tokens: 0, minutes: 0, [what]: 1 };
  expect(addLedgers([[used]], noon)).toEqual([used]);
});
