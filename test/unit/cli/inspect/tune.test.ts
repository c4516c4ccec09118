import { dirname } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { tuneSchema } from '../../../../src/cli/inspect/tune-text.ts';
import { idle, type Play } from '../../core/core-fixtures.ts';
import { ralph, settingsOf } from '../fixture.ts';
import { at, createPlace } from '../state-fixture.ts';
import { packed, placeWithRuns, scripts, stuck } from './tune-fixture.ts';
import { publishedSchema } from '../../../published-schema.ts';

const journals = scripts.map((script, index) => packed(script, index));

async function tuned(args: readonly string[], stored: readonly (string | null)[] = journals) {
  return ralph(['tune', ...args], '', at(await placeWithRuns(stored)));
}

test('the published JSON Schema is the one of the code (vitest -u writes it)', async () => {
  await expect(`${JSON.stringify(publishedSchema('ralph tune --json', tuneSchema), null, 2)}\n`).toMatchFileSnapshot(
    '../../../../schemas/ralph-tune.schema.json',
  );
});

test('says of each value what it would have saved and lost, and of a limit how many runs it held back', async () => {
  const { code, out, error } = await tuned([]);
  expect({ code, error }).toEqual({ code: 0, error: '' });
  expect(out.split('\n')).toEqual([
    '5 of 5 runs replayed: $16.04 (19 iterations).',
    '',
    'circuit-no-progress, now 3; it held back 4 runs with work left, and no journal shows what more work would have cost:',
    '  2 would have saved $6.00 (5 iterations) and lost one task (Title 5)',
    '  1 would have saved $11.00 (10 iterations) and lost one task (Title 5)',
    '',
    'max-iterations-per-task, now 8:',
    '  3 would have saved $4.00 (4 iterations) and lost nothing',
    '  2 would have saved $10.00 (9 iterations) and lost one task (Title 5)',
    '  1 would have saved $15.00 (14 iterations) and lost one task (Title 5)',
    '',
    'max-iterations, now 10:',
    '  3 would have left $4.00 (4 iterations) to later runs',
    '  2 would have left $10.00 (9 iterations) to later runs',
    '  1 would have left $15.00 (14 iterations) to later runs',
    '',
    'max-cost-usd, now 5:',
    '  2 would have left $6.00 (5 iterations) to later runs',
    '  1 would have left $11.00 (10 iterations) to later runs',
    '',
    'No difference: circuit-same-error, circuit-permission-denials, circuit-output-decline, test-only-iterations, max-minutes, max-cost-usd-per-day, max-calls-per-hour, max-tokens-per-hour.',
    '',
    'Recommended: max-iterations-per-task: 3.',
    '',
  ]);
});

test('of a named value alone, also if it is looser', async () => {
  const { out } = await tuned(['circuit-no-progress=2']);
  expect(out).toContain('  2 would have saved $6.00 (5 iterations) and lost one task (Title 5)\n');
  expect(out).not.toContain('max-iterations');
  expect((await tuned(['circuit-no-progress=9'])).out).toContain(
    '  9 would have saved nothing; the journals do not say how 4 runs would have continued\n',
  );
});

test('an unknown cost is never zero', async () => {
  const mute = { ...idle, output: { costUsd: null } };
  const of = async (script: readonly Play[]): Promise<string> =>
    (await tuned(['circuit-no-progress=1'], [packed(script)])).out;
  expect(await of([mute, mute, mute])).toContain('would have saved 2 iterations of unknown cost and lost nothing\n');
  expect(await of([mute, mute, stuck])).toContain(
    'at least $1.00 (2 iterations, 1 of unknown cost) and lost nothing\n',
  );
});

test('runs without a usable journal are counted, not replayed', async () => {
  const { out } = await tuned([], [null, 'bm90IGd6aXA=', ...journals]);
  expect(out).toContain(
    '5 of 7 runs replayed (left out: 1 without a journal, 1 that this version decides differently): $16.04 (19 iterations).\n',
  );
  expect((await tuned([], [null])).out).toBe(
    '0 of 1 run replayed (left out: 1 without a journal): there is nothing to compare yet.\n',
  );
});

test('the values in force are those of the workflow', async () => {
  const setting = { input: 'circuit-no-progress', text: '2', origin: 'input', where: 'ralph.yml' } as const;
  const expression = { ...setting, input: 'max-iterations', text: '${{ vars.ITERATIONS }}' };
  settingsOf.set(dirname(import.meta.dirname), [
    { workflow: 'ralph.yml', settings: [setting, expression], problems: [] },
  ]);
  const { settings } = JSON.parse((await tuned(['--json'])).out) as {
    readonly settings: readonly {
      readonly name: string;
      readonly now: string | null;
      readonly tried: readonly object[];
    }[];
  };
  settingsOf.clear();
  const of = (name: string): unknown => settings.find((one) => one.name === name);
  expect(of('circuit-no-progress')).toMatchObject({ now: '2', tried: [{ value: '1' }] });
  expect(of('max-iterations')).toMatchObject({ now: null, tried: [] });
});

describe('the published JSON Schema accepts', () => {
  const validate = new Ajv2020({ strict: false }).compile(publishedSchema('ralph tune --json', tuneSchema));
  test.each<[string, readonly string[], readonly (string | null)[]]>([
    ['what is tried', [], journals],
    ['named values', ['circuit-no-progress=1', 'max-cost-usd=0.5'], journals],
    ['no runs', [], []],
  ])('%s', async (_, args, stored) => {
    const result: unknown = JSON.parse((await tuned(['--json', ...args], stored)).out);
    validate(result);
    expect(validate.errors).toBeNull();
    expect(Object.keys(result as object).sort()).toEqual(
      Object.keys((publishedSchema('ralph tune --json', tuneSchema) as { properties: object }).properties).sort(),
    );
  });
});

describe('arguments that cannot be used', () => {
  test.each([
    ['circuit-no-progres=2', 'expected NAME=VALUE with one of the settings in the help.'],
    ['circuit-no-progress', 'circuit-no-progress: it is not a whole number'],
    ['circuit-no-progress=0', 'circuit-no-progress: it is not a whole number from 1 to 100.'],
    ['session=fresh', '"session=fresh": expected NAME=VALUE with one of the settings in the help.'],
  ])('%s', async (arg, words) => {
    const { code, error } = await ralph(['tune', arg], '', at(createPlace('ref')));
    expect(code).toBe(2);
    expect(error).toContain(words);
  });

  test('a value that is given twice', async () => {
    const { error } = await ralph(['tune', 'max-iterations=2', 'max-iterations=3'], '', at(createPlace('ref')));
    expect(error).toContain('max-iterations is given twice.');
  });
});

test('a place that cannot be read is reported, and nothing is written', async () => {
  const place = await placeWithRuns(journals);
  place.place.outage = 'the server does not answer';
  const { code, error } = await ralph(['tune', 'max-iterations=3', '--write'], '', at(place));
  expect({ code, error }).toEqual({ code: 1, error: 'ralph tune: the server does not answer.\n' });
});
