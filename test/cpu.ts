import { test } from 'vitest';

/**
 * A test that is slow regardless of the code; `npm run mutation` skips it, because it runs its tests for every mutant.
 */
export const costly = process.env.RALPH_MUTATION === undefined ? test : test.skip;

/**
 * Returns the CPU time that `work` takes on this thread, in ms. Unlike wall-clock time it excludes other load on the
 * machine.
 */
export function cpuMs(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
