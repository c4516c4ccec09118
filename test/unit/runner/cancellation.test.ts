import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { listenForCancel } from '../../../src/wiring/machine.ts';

const listeners = new Map<string | symbol, (...values: unknown[]) => void>();

beforeEach(() => {
  listeners.clear();
  vi.useFakeTimers();
  // This process must not receive the signals.
  vi.spyOn(process, 'on').mockImplementation((name, listener) => {
    listeners.set(name, listener);
    return process;
  });
});
afterEach(() => {
  vi.useRealTimers();
});

test.each(['SIGINT', 'SIGTERM'])('%s cancels at once, and main gives up five seconds later, once', async (name) => {
  const giveUp = vi.fn(() => Promise.resolve());
  const signal = listenForCancel(giveUp);
  expect(signal.aborted).toBe(false);
  listeners.get(name)?.();
  expect(signal.reason).toEqual(new Error(`the run was cancelled (${name})`));
  await vi.advanceTimersByTimeAsync(4_999);
  expect(giveUp).not.toHaveBeenCalled();
  // The runner sends the second signal after seven and a half seconds.
  listeners.get('SIGTERM')?.();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(giveUp.mock.calls).toEqual([[name]]);
});
