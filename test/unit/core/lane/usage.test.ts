import { expect, test } from 'vitest';
import { boundUsage } from '../../../../src/core/lane/ledger.ts';

test.each([
  ['as they are', 5, 5],
  ['0', 0, 0],
  ['negative ones give nothing back', -1, 0],
  ['of what is not a number nothing', Number.NaN, 0],
  ['the largest', 1e12, 1e12],
  ['larger ones are cut', 1e12 + 1, 1e12],
  ['endless ones too', Infinity, 1e12],
])('amounts are bounded: %s', (_, amount, expected) => {
  expect(boundUsage({ tokens: amount, costUsd: amount, durationMs: amount })).toEqual({
    tokens: expected,
    costUsd: expected,
    durationMs: expected,
  });
});

test('a part of a token is a whole one; costs and durations stay exact', () => {
  expect(boundUsage({ tokens: 1.2, costUsd: 1.2, durationMs: 1.2 })).toEqual({
    tokens: 2,
    costUsd: 1.2,
    durationMs: 1.2,
  });
});
