import { createLogTail } from '../src/core/feedback/checks/log-tail.ts';
import { trimJobLog } from '../src/core/feedback/checks/check-task.ts';
import { spread, type Row } from './measure.ts';

/** Goal in MiB/s: a log of 64 MiB, which is the longest that is read, should take at most a second. */
const GOAL = 64;
const ROUNDS = 9;
const MEGABYTE = 1e6;
const PIECE = 16 * 1024;
const AT = '2026-11-21T12:00:11.0000000Z ';

/** Measures the speed of extracting the end of a CI log, with lines as people write them and lines as programs do. */
export function measureCiLog(): Promise<readonly Row[]> {
  const short = Array.from({ length: 40_000 }, (_, index) => `${AT}test ${String(index)} passed in 3 ms\n`).join('');
  const long = `${AT}${'x'.repeat(20_000)}\n`.repeat(150);
  return Promise.resolve([rowOf('lines of 30 characters', short), rowOf('lines of 20,000 characters', long)]);
}

function rowOf(what: string, log: string): Row {
  const rates = Array.from({ length: ROUNDS + 1 }, () => {
    const startedAt = performance.now();
    const tail = createLogTail({ from: null, to: null });
    for (let at = 0; at < log.length; at += PIECE) tail.push(log.slice(at, at + PIECE));
    trimJobLog(tail.end());
    return log.length / MEGABYTE / ((performance.now() - startedAt) / 1000);
  });
  // The first round only warms up.
  const { median, min, max } = spread(rates.slice(1));
  return {
    measure: `CI log: cut to its end, ${what}`,
    value: `${median.toFixed(0)} MB/s (${min.toFixed(0)}–${max.toFixed(0)})`,
    goal: `≥ ${String(GOAL)} MB/s`,
    isMet: median >= GOAL,
  };
}
