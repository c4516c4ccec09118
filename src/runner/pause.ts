import { setTimeout as sleep } from 'node:timers/promises';
import type { Sleep } from '../ports/machine.ts';

/** Lets time pass on this machine. */
export const pause: Sleep = async (ms, signal) => {
  await sleep(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
};
