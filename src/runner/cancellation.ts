import { setTimeout as sleep } from 'node:timers/promises';
import type { Sleep } from '../ports/machine.ts';

/** Lets time pass on this machine. */
export const pause: Sleep = async (ms, signal) => {
  await sleep(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
};

/** GitHub's runner sends SIGINT, SIGTERM 7.5 s later and SIGKILL 2.5 s after that, to this process alone. */
const FIRST_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Main must be gone within 7 s of the first signal; ending the agent's processes takes up to 3 s of them. */
const GIVE_UP_AFTER_MS = 5_000;

/** Aborts the returned signal when the run is cancelled; calls `giveUp` if this process is still here when its time is up. */
export function onCancel(giveUp: (why: string) => Promise<void>): AbortSignal {
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
