import { test } from 'vitest';

/** For what takes long, whatever the code does: `npm run mutation` leaves it out, which runs its tests for every mutant. */
export const costly = process.env.RALPH_MUTATION === undefined ? test : test.skip;

/** CPU time that `work` takes on this thread, in ms: what else the machine is busy with does not count, as it does in a wall-clock limit. */
export function cpuMs(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
