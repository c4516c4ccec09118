/** CPU time that `work` takes on this thread, in ms: what else the machine is busy with does not count, as it does in a wall-clock limit. */
export function cpuMs(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
