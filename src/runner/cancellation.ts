import { setTimeout as sleep } from 'node:timers/promises';
import type { Sleep } from '../ports/machine.ts';

/** Waits on this machine. */
export const sleepFor: Sleep = async (ms, signal) => {
  await sleep(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
};

/** GitHub's runner sends SIGINT, SIGTERM 7.5 s later and SIGKILL 2.5 s after that, to this process only. */
const FIRST_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Time after the first signal at which the run gives up, in ms. Main must end within 7 s of that signal, and ending the
 * agent's processes takes up to 3 s of that time.
 */
const GIVE_UP_AFTER_MS = 5_000;

/**
 * Returns a signal that is aborted when the run is cancelled. Calls `giveUp` if this process still runs
 * GIVE_UP_AFTER_MS later.
 */
export function listenForCancel(giveUp: (why: string) => Promise<void>): AbortSignal {
  const controller = new AbortController();
  for (const name of FIRST_SIGNALS) {
    process.on(name, () => {
      if (controller.signal.aborted) return;
      controller.abort(new Error(`the run was cancelled (${name})`));
      setTimeout(() => {
        giveUp(name).catch(() => process.exit(1));
      }, GIVE_UP_AFTER_MS).unref();
    });
  }
  return controller.signal;
}
