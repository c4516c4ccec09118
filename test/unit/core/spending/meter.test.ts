import { expect, test } from 'vitest';
import {
  decideAdmission,
  findExhaustedLimit,
  addSpent,
  type CallLimits,
  type Spent,
} from '../../../../src/core/spending/meter.ts';

const usd = (costUsd: number): Spent => ({ tokens: 0, outputTokens: 0, costUsd });
const tokens = (count: number): Spent => ({ tokens: count, outputTokens: 0, costUsd: 0 });
const none = usd(0);
const noLimits: CallLimits = { tokens: null, costUsd: null };
const oneUsd: CallLimits = { tokens: null, costUsd: 1 };
const thousand: CallLimits = { tokens: 1_000, costUsd: null };

test.each<[string, CallLimits, { spent: Spent; open: Spent; next: Spent }, object]>([
  ['nothing is limited', noLimits, { spent: usd(1e9), open: usd(1e9), next: usd(1e9) }, { kind: 'admitted' }],
  ['it is alone and too dear', oneUsd, { spent: usd(0.99), open: none, next: usd(50) }, { kind: 'admitted' }],
  ['the money is gone', oneUsd, { spent: usd(1), open: none, next: none }, { kind: 'refused', by: 'cost' }],
  [
    'nothing was ever allowed',
    { tokens: null, costUsd: 0 },
    { spent: none, open: none, next: none },
    { kind: 'refused', by: 'cost' },
  ],
  ['both fit', oneUsd, { spent: usd(0.5), open: usd(0.25), next: usd(0.25) }, { kind: 'admitted' }],
  ['both may come to more', oneUsd, { spent: usd(0.5), open: usd(0.25), next: usd(0.26) }, { kind: 'waits' }],
  ['an open one costs nothing', oneUsd, { spent: usd(0.5), open: tokens(1), next: usd(0.6) }, { kind: 'waits' }],
  [
    'the tokens are gone',
    thousand,
    { spent: tokens(1_000), open: none, next: none },
    { kind: 'refused', by: 'tokens' },
  ],
  ['tokens are left for one', thousand, { spent: tokens(999), open: none, next: tokens(500) }, { kind: 'admitted' }],
  [
    'tokens are left for both',
    thousand,
    { spent: tokens(500), open: tokens(250), next: tokens(250) },
    { kind: 'admitted' },
  ],
  [
    'tokens are not left for both',
    thousand,
    { spent: tokens(500), open: tokens(250), next: tokens(251) },
    { kind: 'waits' },
  ],
  [
    'money is left, tokens are not',
    { tokens: 10, costUsd: 1 },
    { spent: tokens(10), open: none, next: none },
    { kind: 'refused', by: 'tokens' },
  ],
])('a request when %s', (_when, limits, standing, expected) => {
  expect(decideAdmission(limits, standing)).toEqual(expected);
});

test('sums and ends are of both kinds', () => {
  const one = { tokens: 2, outputTokens: 1, costUsd: 2 };
  expect(addSpent(one, { tokens: 20, outputTokens: 10, costUsd: 20 })).toEqual({
    tokens: 22,
    outputTokens: 11,
    costUsd: 22,
  });
  expect(findExhaustedLimit({ tokens: 5, costUsd: 5 }, { ...one, tokens: 5, costUsd: 5 })).toBe('cost');
  expect(findExhaustedLimit({ tokens: 5, costUsd: 5 }, { ...one, tokens: 5, costUsd: 4 })).toBe('tokens');
  expect(findExhaustedLimit({ tokens: 5, costUsd: 5 }, { ...one, tokens: 4, costUsd: 4 })).toBeNull();
});
