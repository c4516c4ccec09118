import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { historySchema } from '../../../../src/cli/history/history.ts';
import { wholeHistory } from '../../core/history/history-fixture.ts';
import { ralph } from '../fixture.ts';
import { at, createPlace } from '../state-fixture.ts';
import { publishedSchema } from '../../../published-schema.ts';

const place = createPlace('ref');
for (const [file, text] of wholeHistory()) place.write(file, text);

test('the published JSON Schema is the one of the code (vitest -u writes it)', async () => {
  await expect(
    `${JSON.stringify(publishedSchema('ralph history --json', historySchema), null, 2)}\n`,
  ).toMatchFileSnapshot('../../../../schemas/ralph-history.schema.json');
});

test('the published JSON Schema accepts what is printed', async () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  const validate = ajv.compile(publishedSchema('ralph history --json', historySchema));
  const json = JSON.parse((await ralph(['history', '--json'], '', at(place))).out) as { readonly tasks: object[] };
  validate(json);
  expect(validate.errors).toBeNull();
  expect(json).toMatchObject({ repository: null, all: { merged: 35, pricedTasks: 30, reverted: 2 }, problems: [] });
  expect(json.tasks).toHaveLength(45);
});

test('a table is printed, and the page is written beside it', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'ralph-history-'));
  try {
    const file = path.join(folder, 'history.html');
    const { code, out, error } = await ralph(['history', '--html', file], '', at(place));
    expect([code, error]).toEqual([0, '']);
    expect(out).toMatch(/^2026-11-21 12:00 UTC: 45 tasks: 35 merged, 7 not merged, 3 open\n/);
    expect(await readFile(file, 'utf8')).toMatch(/^<!doctype html>[^]*<\/html>\n$/);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a page that cannot be written is a failure, which does not hide the table', async () => {
  const { code, out, error } = await ralph(['history', '--html', '/nowhere/a/b.html'], '', at(place));
  expect([code, error]).toEqual([1, 'ralph history: "/nowhere/a/b.html" cannot be written: there is no such file.\n']);
  expect(out).toContain('all tasks');
});

test('a place that cannot be reached is named', async () => {
  const other = createPlace('ref');
  other.place.outage = 'the server does not answer';
  const { code, out, error } = await ralph(['history'], '', at(other));
  expect([code, error]).toEqual([1, 'ralph history: The remote cannot be reached: the server does not answer.\n']);
  expect(out).toBe('');
});

test.each([
  [['--html'], '--html needs a value.'],
  [['--nonsense'], 'there is no option --nonsense.'],
  [['x'], 'too many arguments: "x".'],
])('%j is wrong: %s', async (args, problem) => {
  const { code, error } = await ralph(['history', ...args], '', at(place));
  expect([code, error]).toEqual([2, expect.stringContaining(problem)]);
});
