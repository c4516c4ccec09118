import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ACTION_FOLDER, type Testbed } from '../testbed/testbed.ts';
import { environmentOf, OTHER_LABEL, wallOf } from './cold-start.ts';
import { alternate, costOf, ratioRow, type Row } from './measure.ts';

const GOAL_KB = 520;
/**
 * Maximum ratio of CPU time to that of an empty file; the target is 3. A busy machine reached 4.9. Most of the
 * remaining time is spent on parsing the code, on evaluating zod, and on Node's own crypto.
 */
const GOAL_CPU = 5.7;
const ROUNDS = 5;
/** Several runs per round are needed because Linux counts the CPU time of children in units of 10 ms. */
const RUNS_A_ROUND = 3;

/** A module that records each module that main loads. */
const NOTING = `
const { registerHooks } = require('node:module');
const { appendFileSync } = require('node:fs');
registerHooks({
  load(url, context, next) {
    appendFileSync(process.env.LOADED_LOG, url + '\\n');
    return next(url, context);
  },
});
`;

/** Measures the bytes of dist/ that an ignored event loads, and its CPU time against an empty file. */
export async function measureLightEvent(testbed: Testbed, folder: string): Promise<readonly Row[]> {
  await mkdir(folder, { recursive: true });
  const main = join(ACTION_FOLDER, 'dist', 'main.js');
  const [nothing, noting, log] = [join(folder, 'nothing.mjs'), join(folder, 'noting.cjs'), join(folder, 'loaded')];
  await writeFile(nothing, '');
  await writeFile(noting, NOTING);
  const environment = await environmentOf(testbed, OTHER_LABEL, folder);
  let runs = 0;
  const nextRun = () => ({ ...environment, GITHUB_RUN_ID: `light-${String((runs += 1))}` });
  await wallOf(main, { ...nextRun(), NODE_OPTIONS: `--require=${noting}`, LOADED_LOG: log }, folder);
  const urls = new Set((await readFile(log, 'utf8')).split('\n').filter((url) => url.includes('/dist/')));
  const sizes = await Promise.all([...urls].map(async (url) => (await stat(fileURLToPath(url))).size));
  const kilobytes = sizes.reduce((sum, size) => sum + size, 0) / 1000;
  const several = async (once: () => Promise<unknown>): Promise<number> => {
    const { cpuMs } = await costOf(async () => {
      for (let run = 0; run < RUNS_A_ROUND; run += 1) await once();
    });
    return (cpuMs ?? NaN) / RUNS_A_ROUND;
  };
  const pairs = await alternate(
    ROUNDS,
    () => several(() => wallOf(main, nextRun(), folder)),
    () => several(() => wallOf(nothing, environment, folder)),
  );
  return [
    {
      measure: 'an event that is not for us: loaded of dist/',
      value: `${kilobytes.toFixed(0)} kB in ${String(urls.size)} files`,
      goal: `≤ ${String(GOAL_KB)} kB`,
      isMet: urls.size > 0 && kilobytes <= GOAL_KB,
    },
    // Only Linux reports the CPU time of children.
    ...(process.platform === 'linux'
      ? [ratioRow('an event that is not for us: CPU, against an empty file', pairs, GOAL_CPU)]
      : []),
  ];
}
