import { readFileSync } from 'node:fs';

/** One line of the table. `isMet` is null for a row without a goal. */
export interface Row {
  readonly measure: string;
  readonly value: string;
  readonly goal: string;
  readonly isMet: boolean | null;
}

/**
 * The cost of one side of a comparison. CPU time includes child processes that have ended; it is null if the system
 * does not report it.
 */
export interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number | null;
}

/** The median and the extremes of several rounds. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Runs `one` and `other` alternately, so that a slowdown of the machine affects both. The first round is a warm-up. */
export async function alternate<T>(
  rounds: number,
  one: () => Promise<T>,
  other: () => Promise<T>,
): Promise<readonly (readonly [T, T])[]> {
  const pairs: [T, T][] = [];
  for (let round = 0; round <= rounds; round += 1) pairs.push([await one(), await other()]);
  return pairs.slice(1);
}

/** Measures the cost of `work` in this process and its children. */
export async function costOf(work: () => Promise<void>): Promise<Cost> {
  const [startedAt, cpuBefore] = [performance.now(), cpuSoFarMs()];
  await work();
  const cpuNow = cpuSoFarMs();
  return {
    wallMs: performance.now() - startedAt,
    cpuMs: cpuNow === null || cpuBefore === null ? null : cpuNow - cpuBefore,
  };
}

/** Pairs of times in ms: ours and the other side's. */
export type Pairs = readonly (readonly [number, number])[];

/**
 * Returns a comparison as a row: the median ratio over the pairs, and the two medians. `goal` is null if none.
 */
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

/** Returns median, minimum and maximum. */
export function spread(numbers: readonly number[]): Spread {
  const sorted = [...numbers].sort((a, b) => a - b);
  const at = (index: number): number => sorted[index] ?? NaN;
  const middle = (sorted.length - 1) / 2;
  return { median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2, min: at(0), max: at(sorted.length - 1) };
}

/**
 * Returns the CPU time of this process and its ended children, in ms. Only Linux reports the latter, in ticks of 10 ms.
 */
function cpuSoFarMs(): number | null {
  if (process.platform !== 'linux') return null;
  const { user, system } = process.cpuUsage();
  // The name in parentheses may contain spaces; cutime and cstime are fields 16 and 17 of proc_pid_stat(5).
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (user + system) / 1000 + (Number(fields[13]) + Number(fields[14])) * 10;
}
