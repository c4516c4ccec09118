import { describe, expect, test } from 'vitest';
import {
  countCallsRemaining,
  chargeCall,
  chargeUsage,
  measureUsageAt,
  findExhaustedWindow,
  type Windows,
} from '../../../../src/core/lane/windows.ts';
import { policy as defaults } from '../core-fixtures.ts';

const at = (time: string): number => Date.parse(`2026-11-21T${time}Z`);
const none: Windows = { hour: null, day: null };
const calls = (times: readonly string[], windows = none): Windows =>
  times.reduce((next, time) => chargeCall(next, at(time)), windows);
const usage = (change: Partial<{ tokens: number; costUsd: number; durationMs: number }>) => ({
  tokens: 0,
  costUsd: 0,
  durationMs: 0,
  ...change,
});

describe('the hour of calls', () => {
  const policy = { ...defaults, maxCallsPerHour: 2 };

  test.each([
    ['before any call', [], '10:00', null],
    ['one call left', ['10:20'], '10:30', null],
    ['used up', ['10:20', '10:59'], '10:59', '11:20'],
    ['used up, one ms before it ends', ['10:20', '10:59'], '11:19:59.999', '11:20'],
    ['ended an hour after its first call', ['10:20', '10:59'], '11:20', null],
    ['used up, clock set back', ['10:20', '10:59'], '10:10', '11:20'],
    ['used up, clock set back by a day', ['10:20', '10:59'], '00:00', '11:20'],
    ['a call after its end opens the next one', ['10:20', '10:59', '11:30'], '11:40', null],
    ['which is used up in turn', ['10:20', '10:59', '11:30', '12:20'], '12:25', '12:30'],
    ['a call with the clock set back is charged to the same window', ['10:20', '10:10'], '10:30', '11:20'],
  ] as const)('%s: calls at %j, asked at %s → free at %o', (_, times, now, free) => {
    const expected = free === null ? null : { reason: 'calls_per_hour', resumeAt: at(free) };
    expect(findExhaustedWindow(calls(times), policy, at(now))).toEqual(expected);
  });

  test('opens at its first call, not at the usage of a call before it', () => {
    const late = chargeUsage(calls(['10:00']), usage({ tokens: 5 }), at('11:01'));
    expect(chargeCall(late, at('11:51')).hour).toEqual({ openedAt: at('11:51'), calls: 1, tokens: 5 });
    expect(chargeCall(late, at('10:30')).hour?.openedAt).toBe(at('11:01'));
  });

  test('reports the calls that are left', () => {
    expect(countCallsRemaining(calls(['10:20']), policy, at('10:30'))).toBe(1);
    expect(countCallsRemaining(calls(['10:20', '10:21', '10:22']), policy, at('10:30'))).toBe(0);
    expect(countCallsRemaining(calls(['10:20', '10:59']), policy, at('11:20'))).toBe(2);
  });

  test('reports what is used, and until when it counts', () => {
    const windows = chargeUsage(calls(['10:20', '10:30']), usage({ tokens: 7, costUsd: 0.5 }), at('10:40'));
    const day = { costUsd: 0.5, endsAt: at('00:00') + 24 * 3_600_000 };
    expect(measureUsageAt(windows, at('11:19'))).toEqual({ hour: { calls: 2, tokens: 7, endsAt: at('11:20') }, day });
    expect(measureUsageAt(windows, at('11:20'))).toEqual({ hour: null, day });
    expect(measureUsageAt(windows, day.endsAt)).toEqual({ hour: null, day: null });
  });
});

describe('tokens and cost', () => {
  const policy = { ...defaults, maxTokensPerHour: 100, maxCostUsdPerDay: 1 };
  const windows = calls(['10:20']);

  test('tokens are charged when a call ends', () => {
    expect(
      findExhaustedWindow(chargeUsage(windows, usage({ tokens: 99 }), at('10:30')), policy, at('10:30')),
    ).toBeNull();
    expect(findExhaustedWindow(chargeUsage(windows, usage({ tokens: 100 }), at('10:30')), policy, at('10:30'))).toEqual(
      { reason: 'tokens_per_hour', resumeAt: at('11:20') },
    );
  });

  test('money is counted per UTC day', () => {
    const spent = chargeUsage(windows, usage({ costUsd: 1 }), at('10:30'));
    const midnight = Date.parse('2026-11-22T00:00:00Z');
    expect(findExhaustedWindow(spent, policy, at('23:59'))).toEqual({ reason: 'cost_per_day', resumeAt: midnight });
    expect(findExhaustedWindow(spent, policy, midnight)).toBeNull();
    expect(findExhaustedWindow(spent, policy, at('10:30') - 48 * 3_600_000)).toEqual({
      reason: 'cost_per_day',
      resumeAt: midnight,
    });
  });

  test('of several used up windows the one that ends last is reported', () => {
    const spent = chargeUsage(windows, usage({ tokens: 100, costUsd: 1 }), at('10:30'));
    expect(findExhaustedWindow(spent, policy, at('10:31'))?.reason).toBe('cost_per_day');
  });

  test('0 means no limit', () => {
    expect(
      findExhaustedWindow(
        chargeUsage(windows, usage({ tokens: 1e9, costUsd: 1e9 }), at('10:30')),
        defaults,
        at('10:30'),
      ),
    ).toBeNull();
  });

  test.each([Number.NaN, -5, Number.NEGATIVE_INFINITY])('%s gives nothing back', (odd) => {
    expect(chargeUsage(windows, usage({ tokens: odd, costUsd: odd }), at('10:30'))).toEqual(windows);
  });

  test('a call that ends after its window is charged to the next one', () => {
    expect(chargeUsage(windows, usage({ tokens: 7 }), at('11:25')).hour).toEqual({
      openedAt: at('11:25'),
      calls: 0,
      tokens: 7,
    });
  });
});
