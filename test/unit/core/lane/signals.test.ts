import { describe, expect, test } from 'vitest';
import {
  hasOutputDeclined,
  recordSignals,
  type IterationSignals,
  noSignals,
  type Signals,
} from '../../../../src/core/lane/circuit.ts';

const nothing: IterationSignals = {
  indicator: false,
  done: false,
  vetoed: false,
  blocked: false,
  testOnly: false,
  outputChars: 100,
};
const after = (iterations: readonly Partial<IterationSignals>[]): Signals =>
  iterations.reduce<Signals>((signals, change) => recordSignals(signals, { ...nothing, ...change }), noSignals);

describe('a window holds the last five iterations', () => {
  const seven = () =>
    after([
      { vetoed: true, indicator: true, outputChars: 1 },
      {},
      {},
      {},
      {},
      { vetoed: true, indicator: true },
      { outputChars: 7 },
      {},
    ]);

  test('the newest last', () => {
    expect(seven()).toMatchObject({
      indicators: [false, false, true, false, false],
      vetoed: [false, false, true, false, false],
      outputChars: [100, 100, 100, 7, 100],
    });
  });

  test('an iteration without a final message measures none', () => {
    expect(after([{ outputChars: 5 }, { outputChars: null }]).outputChars).toEqual([5]);
  });
});

test.each(['done', 'blocked', 'testOnly'] as const)(
  'a streak of %s ends with the first iteration that is not',
  (signal) => {
    const streak = (iterations: readonly boolean[]): number =>
      after(iterations.map((is) => ({ [signal]: is })))[`${signal}InARow`];
    expect(streak([true, true, true])).toBe(3);
    expect(streak([true, true, false])).toBe(0);
    expect(streak([true, false, true])).toBe(1);
  },
);

test.each<[string, readonly number[], number, number, boolean]>([
  ['with nothing to compare it with', [], 0, 70, false],
  ['less than 30 % of the message before', [1_000], 299, 70, true],
  ['30 % of it', [1_000], 300, 70, false],
  ['less than 30 % of the median, whatever the order', [2_000, 9, 1_000], 299, 70, true],
  ['short, but so are most others', [10, 10, 5_000], 9, 70, false],
  ['of two before, the mean counts', [1_000, 3_000], 599, 70, true],
  ['of two before, not the shorter one', [1_000, 3_000], 600, 70, false],
  ['lengths are ordered as numbers, not as texts', [9, 10, 100], 5, 70, false],
  ['half as long at 50 %', [100], 50, 50, false],
])('output declines: %s', (_, before, chars, percent, expected) => {
  expect(hasOutputDeclined({ ...noSignals, outputChars: before }, chars, percent)).toBe(expected);
});
