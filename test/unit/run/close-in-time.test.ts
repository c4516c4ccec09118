import { expect, test, vi } from 'vitest';
import { closeInTime } from '../../../src/entries/close-in-time.ts';

/**
 * Returns the time of the return in ms, and the result. `closes` is the time at which the closed object reports "left",
 * `cancel` that of a cancellation; null for never.
 */
async function play(closes: number | null, cancel: number | null): Promise<readonly [number, string | null]> {
  vi.useFakeTimers();
  try {
    const cancelled = new AbortController();
    if (cancel !== null) setTimeout(() => cancelled.abort(), cancel);
    const start = Date.now();
    const close = (): Promise<string | null> =>
      new Promise((resolve) => {
        if (closes !== null) setTimeout(() => resolve('left'), closes);
      });
    const end = closeInTime(close, cancelled.signal).then((said) => [Date.now() - start, said] as const);
    await vi.advanceTimersByTimeAsync(60_000);
    return await end;
  } finally {
    vi.useRealTimers();
  }
}

test.each([
  ['an idle machine', 300, null, [300, 'left']],
  ['a busy machine', 12_000, null, [12_000, 'left']],
  ['a machine that hangs', null, null, [20_000, null]],
  ['a cancelled run', 1_000, 0, [1_000, 'left']],
  ['a cancelled run on a busy machine', 12_000, 0, [1_500, null]],
  ['a run that is cancelled in the meantime', 12_000, 5_000, [6_500, null]],
] as const)('%s', async (_, closes, cancel, expected) => {
  expect(await play(closes, cancel)).toEqual(expected);
});
