import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { RALPHS, type Ralph } from '../ralphs.ts';
import { ralph } from './cli/fixture.ts';

const samples = fileURLToPath(new URL('../samples/ralphs/', import.meta.url));

/** Open entries in the lists of other Ralphs, in the order of work, without optional ones. */
const open: Readonly<Record<Ralph, readonly string[]>> = {
  'ralph-claude-code': ['Greet several people at once', 'Say goodbye'],
  bmalph: ['Story 1.2: Turn umlauts into two letters', 'Story 2.1: Cut at sixty characters'],
  'go-ralph': ['Read from standard input', 'Say which file is missing'],
  'early-bash': ['Roll one die', 'Roll several dice', 'Add the dice up'],
  snarktank: ['Sort a shelf', 'Sort backwards'],
};

test.each(RALPHS)('ralph tasks finds the list of %s as it is', async (name) => {
  const { code, out, error } = await ralph(['tasks', '--dir', `${samples}${name}`, '--json']);
  expect([code, error]).toEqual([0, '']);
  const { tasks } = JSON.parse(out) as { tasks: { title: string; state: string }[] };
  const titles = tasks.filter(({ state }) => state !== 'done' && state !== 'failed').map(({ title }) => title);
  expect(titles.slice(0, open[name].length)).toEqual(open[name]);
  expect(tasks.filter(({ state }) => state === 'failed').map(({ title }) => title)).toEqual(
    name === 'go-ralph' ? ['Count characters'] : [],
  );
});
