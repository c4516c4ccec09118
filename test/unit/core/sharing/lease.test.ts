import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  computeExpiry,
  blocksOtherHolder,
  computeMaxLeaseMs,
  computeMaxStartMs,
  countLanesBefore,
  leaseSchema,
  withStoredTag,
} from '../../../../src/core/sharing/lease.ts';
import { HOUR, MINUTE, noon } from '../core-fixtures.ts';
import { leaseOf } from './lease-fixtures.ts';

describe('runs that a lease keeps out', () => {
  const lease = leaseOf('a', { runId: '7', runAttempt: 2 });
  test.each([
    ['another run', { runTag: 'b', runId: '8', runAttempt: 1 }, true],
    ['another run with more attempts', { runTag: 'b', runId: '8', runAttempt: 3 }, true],
    ['another job of the same workflow run', { runTag: 'b', runId: '7', runAttempt: 2 }, true],
    [
      'an earlier attempt of the same workflow run, which cannot be alive',
      { runTag: 'b', runId: '7', runAttempt: 1 },
      true,
    ],
    ['a later attempt: the one with the lease has ended', { runTag: 'b', runId: '7', runAttempt: 3 }, false],
    ['the run itself: post after main', { runTag: 'a', runId: '7', runAttempt: 2 }, false],
    ['the run itself, whatever else it says', { runTag: 'a', runId: 'local', runAttempt: 1 }, false],
  ])('%s', (_, other, expected) => {
    expect(blocksOtherHolder(lease, other, noon + MINUTE)).toBe(expected);
  });

  test('two processes on one machine outside of Actions keep each other out', () => {
    expect(blocksOtherHolder(leaseOf('a', { runId: 'local' }), leaseOf('b', { runId: 'local' }), noon)).toBe(true);
  });
});

describe('how long a lease of an hour keeps others out, by their clock', () => {
  const lease = leaseOf('a');
  test.each([
    ['from the start', noon, true],
    ['until its end', noon + HOUR - 1, true],
    ['no longer', noon + HOUR, false],
    ['a clock that is ahead by a day frees it early', noon + 24 * HOUR, false],
    ['a clock that is a little behind', noon - MINUTE, true],
    ['a clock that is behind by as much as the lease lasts', noon - HOUR, true],
    ['a lease from a future that cannot be is not believed', noon - HOUR - 1, false],
    ['nor one that is a year ahead', noon - 365 * 24 * HOUR, false],
  ])('%s', (_, now, expected) => {
    expect(blocksOtherHolder(lease, leaseOf('b'), now)).toBe(expected);
  });

  test('a lease of no time keeps nobody out', () => {
    expect(blocksOtherHolder(leaseOf('a', { durationMs: 0 }), leaseOf('b'), noon)).toBe(false);
  });

  test('whoever waits twice as long as a lease lasts is let in, whatever the owner took for the time', () => {
    const instant = fc.integer({ min: 0, max: 8.64e14 });
    fc.assert(
      fc.property(instant, instant, fc.integer({ min: 0, max: 120 * HOUR }), (acquiredAt, now, durationMs) => {
        expect(
          blocksOtherHolder(leaseOf('a', { acquiredAt, durationMs }), leaseOf('b'), now + 2 * durationMs + 1) &&
            blocksOtherHolder(leaseOf('a', { acquiredAt, durationMs }), leaseOf('b'), now),
        ).toBe(false);
      }),
    );
  });
});

describe('how long a lease is taken', () => {
  test.each([
    ['the run, and ten minutes for publishing', 50 * MINUTE, 'one', 0, HOUR],
    ['and an hour for jobs that wait for each other', 50 * MINUTE, 'three', 0, 2 * HOUR],
    ['and the same for each lane before it on its machine', 50 * MINUTE, 'three', 2, 6 * HOUR],
    ["never beyond GitHub's longest job", 30 * 24 * HOUR, 'three', 0, 120 * HOUR],
    ['not even behind other lanes', 10 * HOUR, 'three', 90, 120 * HOUR],
  ] as const)('%s', (_, maxRunMs, jobs, before, expected) => {
    expect(computeMaxLeaseMs(maxRunMs, jobs, before)).toBe(expected);
  });

  test.each([
    ['at once in one job', 50 * MINUTE, 'one', 0, 0],
    ['within an hour in three', 50 * MINUTE, 'three', 0, HOUR],
    ['after the lanes before it', 50 * MINUTE, 'three', 2, 5 * HOUR],
    ['so that the claim still holds at its end', 10 * HOUR - 10 * MINUTE, 'three', 90, 110 * HOUR],
    ['within an hour even if the claim cannot last as long as the run', 200 * HOUR, 'three', 90, HOUR],
  ] as const)('a run begins its calls %s', (_, maxRunMs, jobs, before, expected) => {
    expect(computeMaxStartMs(maxRunMs, jobs, before)).toBe(expected);
  });

  test('the lanes before one on its machine are as many as the rounds of all machines', () => {
    expect([0, 1, 2, 3, 5, 6].map((place) => countLanesBefore(place, 3))).toEqual([0, 0, 0, 1, 1, 2]);
  });

  test('it ends so long after it was taken', () => {
    expect(computeExpiry(leaseOf('a', { durationMs: 5 }))).toBe(noon + 5);
  });
});

describe('a stored lease', () => {
  test('is read back', () => {
    expect(leaseSchema.parse(withStoredTag(leaseOf('a')))).toEqual(leaseOf('a'));
  });

  test.each<[string, object]>([
    ['no run tag', { mark: '' }],
    ['an attempt before the first', { runAttempt: 0 }],
    ['half a millisecond', { durationMs: 0.5 }],
    ['longer than any job', { durationMs: 120 * HOUR + 1 }],
    ['taken before 1970', { acquiredAt: -1 }],
    ['taken so late that its end is not a date', { acquiredAt: 8.64e15 }],
    ['a text of a megabyte', { runUrl: 'x'.repeat(1e6) }],
  ])('with %s is refused', (_, change) => {
    expect(leaseSchema.safeParse({ ...withStoredTag(leaseOf('a')), ...change }).success).toBe(false);
  });
});
