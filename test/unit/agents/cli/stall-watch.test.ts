import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type CallEvent, createStallWatch } from '../../../../src/agents/cli/stall-watch.ts';
import type { ProviderSign } from '../../../../src/ports/broker.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
});
afterEach(() => {
  vi.useRealTimers();
});

const STALL_MS = 180_000;
const failed: ProviderSign = { kind: 'failed', status: 429, words: 'Slow down.', waitMs: 3_600_000 };
const asked: ProviderSign = { kind: 'asked' };
const answered: ProviderSign = { kind: 'answered' };
const said: CallEvent = { kind: 'work', line: 'hi' };
const retried: CallEvent = { kind: 'retry', line: '', retry: { status: null, cause: 'an error', waitMs: null } };

/** An event at a second of the call. */
type Moment = readonly [second: number, sign: ProviderSign | CallEvent];

/** Returns the result of the watch at the 300th second. */
function stalledBy(moments: readonly Moment[], printsRetries: boolean) {
  const watch = createStallWatch({ stallMs: STALL_MS, now: () => Date.now(), printsRetries });
  for (const [second, sign] of moments) {
    vi.advanceTimersByTime(second * 1_000 - Date.now());
    if ('line' in sign) watch.see(sign);
    else watch.hear(sign);
  }
  vi.advanceTimersByTime(300_000 - Date.now());
  const stalled = watch.stalled();
  watch.end();
  return stalled && { ...stalled, retryAt: watch.failure()?.retryAt ?? null };
}

const words = { status: 429, cause: 'Slow down.' };

test.each<readonly [what: string, moments: readonly Moment[], stalled: object | null]>([
  [
    'when its provider fails and nothing more comes',
    [
      [0, asked],
      [1, failed],
    ],
    { ...words, retryAt: 3_601_000 },
  ],
  [
    'when it only tries again',
    [
      [0, asked],
      [1, failed],
      [2, asked],
      [3, failed],
    ],
    { ...words, retryAt: 3_603_000 },
  ],
  [
    'not while a try is on its way',
    [
      [1, failed],
      [2, asked],
    ],
    null,
  ],
  [
    'not when it was answered',
    [
      [1, failed],
      [2, asked],
      [3, answered],
    ],
    null,
  ],
  [
    'not when it works anyway',
    [
      [1, failed],
      [2, said],
    ],
    null,
  ],
  ['not before anything failed', [[0, asked]], null],
])('a CLI that is silent about its retries stalls %s', (_what, moments, stalled) => {
  const found = stalledBy(moments, false);
  expect(found).toEqual(stalled === null ? null : expect.objectContaining(stalled));
});

test.each<readonly [what: string, moments: readonly Moment[], stalled: object | null]>([
  ['not by what its provider does alone', [[1, failed]], null],
  [
    'by what it prints, in the words of its provider',
    [
      [1, failed],
      [2, retried],
    ],
    { ...words, retryAt: 3_601_000 },
  ],
  [
    'in its own words where its provider answered',
    [
      [1, failed],
      [2, answered],
      [3, retried],
    ],
    { status: null, cause: 'an error', retryAt: null },
  ],
  [
    'in its own words where its provider has none',
    [
      [1, { ...failed, words: null }],
      [2, retried],
    ],
    { status: 429, cause: 'an error' },
  ],
])('a CLI that tells its retries stalls %s', (_what, moments, stalled) => {
  const found = stalledBy(moments, true);
  expect(found).toEqual(stalled === null ? null : expect.objectContaining(stalled));
});

test.each<readonly [what: string, moments: readonly Moment[], retryAt: number | null]>([
  ['as its provider asked', [[1, failed]], 3_601_000],
  [
    'no more when it was answered',
    [
      [1, failed],
      [2, answered],
    ],
    null,
  ],
  ['not where its provider did not say', [[1, { ...failed, waitMs: null }]], null],
])('a call that ends by itself is over a limit %s', (_what, moments, retryAt) => {
  const watch = createStallWatch({ stallMs: STALL_MS, now: () => Date.now(), printsRetries: true });
  for (const [second, sign] of moments) {
    vi.setSystemTime(second * 1_000);
    watch.hear(sign as ProviderSign);
  }
  watch.end();
  expect(watch.failure()?.retryAt ?? null).toBe(retryAt);
});
