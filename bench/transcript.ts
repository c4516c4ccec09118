import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { spread, type Row } from './measure.ts';

const SPEED_GOAL = 100;
const MEMORY_GOAL_MB = 150;
const ROUNDS = 3;

interface Reading {
  readonly megabytesPerSecond: number;
  readonly peakMegabytes: number;
}

/** Reads 100 MB of stream-json, each time in a new process; the memory is all that this process ever had. */
export async function measureTranscript(): Promise<readonly Row[]> {
  const readings: Reading[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(new URL('transcript-process.ts', import.meta.url))]);
    readings.push(JSON.parse(stdout) as Reading);
  }
  const speed = spread(readings.map((reading) => reading.megabytesPerSecond));
  const memory = spread(readings.map((reading) => reading.peakMegabytes));
  return [
    { measure: 'transcript of 100 MB: speed', value: `${speed.median.toFixed(0)} MB/s (${speed.min.toFixed(0)}–${speed.max.toFixed(0)})`, goal: `≥ ${String(SPEED_GOAL)} MB/s`, isMet: speed.median >= SPEED_GOAL },
    { measure: 'transcript of 100 MB: memory in all', value: `${memory.median.toFixed(0)} MB (${memory.min.toFixed(0)}–${memory.max.toFixed(0)})`, goal: `< ${String(MEMORY_GOAL_MB)} MB`, isMet: memory.max < MEMORY_GOAL_MB },
  ];
}
