import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  countAffordableLanes,
  endBeforeTurn,
  policyOfShare,
  reservationOfShare,
} from '../../../../src/core/parallel/shares.ts';
import { boundPolicy, planReservation } from '../../../../src/core/sharing/budget.ts';
import type { Policy } from '../../../../src/core/policy.ts';
import { noon, policy as defaults } from '../core-fixtures.ts';
import { runs } from '../../../runs.ts';

const run = { runTag: 'a', lane: 'queue', runUrl: '', runId: '1', runAttempt: 1, expiresAt: noon, tasks: [] };
const unused = { hour: null, day: null };
const policy: Policy = { ...defaults, maxCostUsd: 5, maxCostUsdPerDay: 20 };

describe('a run can afford', () => {
  test.each<[string, number, Partial<Policy>, number | null, number]>([
    ['all lanes that it wants', 3, {}, 1, 3],
    ['a lane for each iteration', 5, { maxIterations: 2 }, null, 2],
    ['a lane for each call of the hour', 5, { maxCallsPerHour: 4 }, null, 4],
    ['lanes for whole iterations of several calls', 5, { maxCallsPerHour: 9, callsPerIteration: 3 }, null, 3],
    ['a lane for each call that its money pays', 5, {}, 2, 2],
    ['the same with what is left of the day', 5, { maxCostUsdPerDay: 3.5 }, 1, 3],
    ['lanes of half a dollar while no call has cost anything yet', 5, { maxCostUsd: 1 }, null, 2],
    ['any number if calls cost nothing', 5, { maxCostUsd: 1 }, 0, 5],
    ['any number without a limit of money', 5, { maxCostUsd: 0, maxCostUsdPerDay: 0 }, 9, 5],
    ['always one', 5, { maxIterations: 0 }, 100, 1],
  ])('%s', (_, wanted, change, costOfCallUsd, expected) => {
    const budget = { windows: unused, policy: { ...policy, ...change }, costOfCallUsd, atOnce: 5 };
    expect(countAffordableLanes(wanted, budget)).toBe(expected);
  });

  test('what others have left', () => {
    const windows = { hour: { openedAt: noon, calls: 98, tokens: 0 }, day: { openedAt: noon, costUsd: 19 } };
    expect(countAffordableLanes(5, { windows, policy, costOfCallUsd: 0.1, atOnce: 5 })).toBe(2);
  });
});

describe('more lanes than machines', () => {
  const free = { maxCostUsd: 0, maxCostUsdPerDay: 0 };

  test.each<[string, Partial<Policy>, number]>([
    ['are as many as get three iterations each', { ...free, maxIterations: 30 }, 7],
    ['do not begin if that is not possible', { ...free, maxIterations: 10 }, 3],
    ['are as many as get the money of three calls', { maxIterations: 100, maxCostUsd: 14 }, 5],
    ['are no more than there is work for', { ...free, maxIterations: 1000 }, 12],
  ])('%s', (_, change, expected) => {
    const budget = { windows: unused, policy: { ...policy, ...change }, costOfCallUsd: 0.7, atOnce: 3 };
    expect(countAffordableLanes(12, budget)).toBe(expected);
  });

  test('leave the first one the part of a machine, and divide the rest', () => {
    const own = { ...policy, maxIterations: 30, maxCostUsd: 18 };
    const shares = Array.from({ length: 7 }, (_, at) => policyOfShare(own, { at, of: 7, atOnce: 3 }));
    expect(shares.map(({ maxIterations }) => maxIterations)).toEqual([10, 4, 4, 3, 3, 3, 3]);
    expect(shares.map(({ maxCostUsd }) => Math.round(maxCostUsd))).toEqual([6, 2, 2, 2, 2, 2, 2]);
  });
});

test.each([
  ['begins at once in the first round, by any clock', 2, false, noon + 9, null],
  ['begins in time once a machine is free', 3, false, noon, null],
  ['does not begin when its claim could end before its work', 3, false, noon + 1, 'infrastructure'],
  ['does not begin while its run ends', 2, true, noon, 'signal'],
])('a lane %s', (_, at, isEnding, now, expected) => {
  const end = endBeforeTurn({ at, of: 5, atOnce: 3 }, { startBy: noon, isEnding, now });
  expect(end?.reason ?? null).toBe(expected);
});

test('one lane has everything', () => {
  const share = { at: 0, of: 1, atOnce: 3 };
  expect(policyOfShare(policy, share)).toBe(policy);
  expect(reservationOfShare(run, { windows: unused, policy, share })).toEqual(planReservation(run, unused, policy));
});

test('the shares of several lanes are together at most what one lane would have', () => {
  fc.assert(
    fc.property(
      fc.record({
        maxIterations: fc.nat(30),
        maxCallsPerHour: fc.nat(60),
        maxTokensPerHour: fc.nat(1000),
        maxCostUsd: fc.nat(9),
        maxCostUsdPerDay: fc.nat(20),
        callsPerIteration: fc.integer({ min: 1, max: 3 }),
      }),
      fc.record({ calls: fc.nat(70), tokens: fc.nat(1200), costUsd: fc.nat(25) }),
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 20 }),
      (change, used, wanted, atOnce) => {
        const own = { ...policy, ...change };
        const windows = { hour: { openedAt: noon, ...used }, day: { openedAt: noon, costUsd: used.costUsd } };
        const of = countAffordableLanes(wanted, { windows, policy: own, costOfCallUsd: 0.5, atOnce });
        expect(of).toBeLessThanOrEqual(wanted);
        const whole = planReservation(run, windows, own);
        const shares = Array.from({ length: of }, (_, at) => {
          const share = { at, of, atOnce };
          const reserved = reservationOfShare(run, { windows, policy: own, share });
          return { reserved, bound: boundPolicy(policyOfShare(own, share), reserved) };
        });
        const sum = (value: (one: (typeof shares)[number]) => number): number =>
          shares.reduce((total, one) => total + value(one), 0);
        expect(sum(({ reserved }) => reserved.calls)).toBeLessThanOrEqual(whole.calls);
        expect(sum(({ reserved }) => reserved.tokens)).toBeLessThanOrEqual(whole.tokens);
        expect(sum(({ reserved }) => reserved.costUsd)).toBeLessThanOrEqual(whole.costUsd + 1e-9);
        expect(sum(({ bound }) => bound.maxIterations)).toBeLessThanOrEqual(own.maxIterations);
        if (own.maxCostUsd > 0) expect(sum(({ bound }) => bound.maxCostUsd)).toBeLessThanOrEqual(own.maxCostUsd + 1e-9);
        if (of > 1)
          for (const { bound, reserved } of shares) {
            expect(bound.maxIterations).toBeGreaterThan(0);
            expect(reserved.calls).toBeGreaterThan(0);
            if (own.maxTokensPerHour > 0) expect(reserved.tokens).toBeGreaterThan(0);
            if (own.maxCostUsd > 0 || own.maxCostUsdPerDay > 0) expect(bound.maxCostUsd).toBeGreaterThan(0);
          }
      },
    ),
    { numRuns: runs(1000) },
  );
});
