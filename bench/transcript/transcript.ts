import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { spread, type Row } from '../measure.ts';
import { LINE_AGENTS } from './agent-lines.ts';

/** The measured values of a process, or their limits. */
interface Reading {
  readonly megabytesPerSecond: number;
  readonly peakMegabytes: number;
}

const STREAM_GOALS: Reading = { megabytesPerSecond: 100, peakMegabytes: 150 };
/** Goals for text. Node's type stripping takes about 40 MB of the peak; the bundle needs less than 150 MB. */
const TEXT_GOALS: Reading = { megabytesPerSecond: 60, peakMegabytes: 190 };
const ROUNDS = 3;

/**
 * Reads 100 MB of each agent's output and 100 MB of tiny lines, each in a new process; memory is the peak of that
 * process.
 */
export async function measureTranscript(): Promise<readonly Row[]> {
  return [
    ...(await measure('transcript of 100 MB', STREAM_GOALS, [])),
    ...(await measure('text of 100 MB in tiny lines', TEXT_GOALS, ['short-lines'])),
    ...(await measureOthers()),
  ];
}

/** Measures the readers of other agents, which keep no more in memory than Claude's. */
async function measureOthers(): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const agent of LINE_AGENTS)
    rows.push(speedOf(`output of ${agent}, 100 MB`, STREAM_GOALS, await readingsOf([agent])));
  return rows;
}

async function measure(what: string, goals: Reading, args: readonly string[]): Promise<readonly Row[]> {
  const readings = await readingsOf(args);
  const memory = spread(readings.map((reading) => reading.peakMegabytes));
  return [
    speedOf(what, goals, readings),
    {
      measure: `${what}: memory in all`,
      value: `${memory.median.toFixed(0)} MB (${memory.min.toFixed(0)}–${memory.max.toFixed(0)})`,
      goal: `< ${String(goals.peakMegabytes)} MB`,
      isMet: memory.max < goals.peakMegabytes,
    },
  ];
}

async function readingsOf(args: readonly string[]): Promise<readonly Reading[]> {
  const readings: Reading[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { stdout } = await promisify(execFile)(process.execPath, [
      fileURLToPath(new URL('transcript-process.ts', import.meta.url)),
      ...args,
    ]);
    readings.push(JSON.parse(stdout) as Reading);
  }
  return readings;
}

function speedOf(what: string, goals: Reading, readings: readonly Reading[]): Row {
  const speed = spread(readings.map((reading) => reading.megabytesPerSecond));
  return {
    measure: `${what}: speed`,
    value: `${speed.median.toFixed(0)} MB/s (${speed.min.toFixed(0)}–${speed.max.toFixed(0)})`,
    goal: `≥ ${String(goals.megabytesPerSecond)} MB/s`,
    isMet: speed.median >= goals.megabytesPerSecond,
  };
}
