import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ACTION_FOLDER } from '../../testbed/testbed.ts';
import type { Row } from '../measure.ts';

/**
 * Maximum size of dist/ in MB, including licences: 3.6 for the first features, 0.1 for settings of several
 * repositories, memory of runs and named waits, 0.15 for proofs, receipts, costs and plans, and 0.25 for the protocol
 * of other agents and telemetry.
 */
const GOAL_MB = 4.1;

/** Measures all files of dist/, including the licences. */
export async function measureBundleSize(): Promise<readonly Row[]> {
  const folder = join(ACTION_FOLDER, 'dist');
  const names = await readdir(folder, { recursive: true });
  const files = (await Promise.all(names.map((name) => stat(join(folder, name))))).filter((found) => found.isFile());
  const megabytes = files.reduce((sum, { size }) => sum + size, 0) / 1e6;
  return [
    {
      measure: 'bundle: all of dist/',
      value: `${megabytes.toFixed(2)} MB in ${String(files.length)} files`,
      goal: `≤ ${String(GOAL_MB)} MB`,
      isMet: megabytes <= GOAL_MB,
    },
  ];
}
