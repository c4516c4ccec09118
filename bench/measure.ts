import { readFileSync } from 'node:fs';

/** One line of the table. `isMet`: null where there is no goal. */
export interface Row {
  readonly measure: string;
  readonly value: string;
  readonly goal: string;
  readonly isMet: boolean | null;
}

/** What one side of a comparison cost. CPU includes the processes that it started and waited for; null where the system does not say. */
export interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number | null;
}

/** Numbers of several rounds, as their middle and their ends. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Runs `one` and `other` in turns, so that what slows the machine down slows both. The first round only warms up. */
export async function alternate<T>(
  rounds: number,
  one: () => Promise<T>,
  other: () => Promise<T>,
): Promise<readonly (readonly [T, T])[]> {
  const pairs: [T, T][] = [];
  for (let round = 0; round <= rounds; round += 1) pairs.push([await one(), await other()]);
  return pairs.slice(1);
}

/** What `work` costs this process and the ones that it starts. */
export async function costOf(work: () => Promise<void>): Promise<Cost> {
  const [startedAt, cpuBefore] = [performance.now(), cpuSoFarMs()];
  await work();
  const cpuNow = cpuSoFarMs();
  return {
    wallMs: performance.now() - startedAt,
    cpuMs: cpuNow === null || cpuBefore === null ? null : cpuNow - cpuBefore,
  };
}

/** Times in ms: ours and theirs. */
export type Pairs = readonly (readonly [number, number])[];

/** A comparison as a row: the median ratio over the pairs, and the two medians. `goal`: null where there is none. */
export function ratioRow(measure: string, pairs: Pairs, goal: number | null): Row {
  const ratio = spread(pairs.map(([ours, theirs]) => ours / theirs));
  const [ours, theirs] = [spread(pairs.map(([ms]) => ms)), spread(pairs.map(([, ms]) => ms))];
  return {
    measure,
    value: `${ratio.median.toFixed(2)}× (${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)}); ${ours.median.toFixed(0)} ms against ${theirs.median.toFixed(0)} ms`,
    goal: goal === null ? '' : `≤ ${String(goal)}×`,
    isMet: goal === null ? null : ratio.median <= goal,
  };
}

/** Median, minimum and maximum. */
export function spread(numbers: readonly number[]): Spread {
  const sorted = [...numbers].sort((a, b) => a - b);
  const at = (index: number): number => sorted[index] ?? NaN;
  const middle = (sorted.length - 1) / 2;
  return { median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2, min: at(0), max: at(sorted.length - 1) };
}

/** CPU time of this process and of its children that ended; only Linux gives the latter, in ticks of 10 ms. */
function cpuSoFarMs(): number | null {
  if (process.platform !== 'linux') return null;
  const { user, system } = process.cpuUsage();
  // The name in parentheses may hold blanks; cutime and cstime are fields 16 and 17 of proc_pid_stat(5).
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (user + system) / 1000 + (Number(fields[13]) + Number(fields[14])) * 10;
}
