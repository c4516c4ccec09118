import { chmod, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { addReportSchema } from '../../../src/cli/tasks/add.ts';
import { parsePlan } from '../../../src/core/tasks/files/plan.ts';
import { ralph, type CliRun } from './fixture.ts';
import { optionalSections } from '../core/core-fixtures.ts';
import { publishedSchema } from '../../published-schema.ts';

const PLAN = '.ralph/fix_plan.md';
const PRD = '.ralph/prd.json';
const PRD_TEXT = '{"tasks":[{"id":"T1","title":"a"}]}';
let folder = '';
let checkout = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ralph-add-'));
  checkout = join(folder, 'checkout');
  await mkdir(join(checkout, '.ralph'), { recursive: true });
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const write = (path: string, text: string | Uint8Array): Promise<void> => writeFile(join(checkout, path), text);
const read = (path: string): Promise<string> => readFile(join(checkout, path), 'utf8');
const add = (...args: readonly string[]): Promise<CliRun> => ralph(['add', '--dir', checkout, ...args]);
const idOf = (title: string): string => parsePlan(PLAN, `- [ ] ${title}`, optionalSections).tasks[0]?.task.id ?? '';
const addedTo = (where: string): string => `ralph add: added to ${where}. Commit it: runs read the last commit.\n`;

describe('ralph add prints the id of what it added', () => {
  test('to the plan that is there', async () => {
    await write('@fix_plan.md', '## High\n\n- [ ] a\n');
    expect(await add('Do it', '--priority', 'high')).toEqual({
      code: 0,
      out: `${idOf('Do it')}\n`,
      error: addedTo('@fix_plan.md:4'),
    });
    expect(await read('@fix_plan.md')).toBe('## High\n\n- [ ] a\n- [ ] Do it\n');
  });

  test('to a fix_plan.md at the root, where that is the plan of an early Ralph', async () => {
    await write('fix_plan.md', '- [ ] a\n');
    await add('Elsewhere');
    expect(await read(PLAN)).toContain('Elsewhere');
    await rm(join(checkout, PLAN));
    await write('PROMPT.md', 'Work.');
    await add('Do it');
    expect(await read('fix_plan.md')).toBe('- [ ] a\n- [ ] Do it\n');
  });

  test('to the prd.json that is there', async () => {
    await write(PRD, PRD_TEXT);
    expect(await add('Do it', '--body', 'More', '--optional')).toEqual({
      code: 0,
      out: 'prd-T2\n',
      error: addedTo(`${PRD}:1`),
    });
    expect(await read(PRD)).toBe(
      '{"tasks":[{"id":"T1","title":"a"},{"id":"T2","title":"Do it","description":"More","priority":"medium","status":"todo","optional":true}]}',
    );
  });

  test('to the plan when both are there, unless the prd is asked for', async () => {
    await Promise.all([write(PLAN, '- [ ] a\n'), write(PRD, PRD_TEXT)]);
    await add('One');
    await add('Two', '--to', 'prd');
    expect([await read(PLAN), await read(PRD)]).toEqual(['- [ ] a\n- [ ] One\n', expect.stringContaining('"Two"')]);
  });

  test.each([
    ['a plan', [], PLAN, '# Fix plan\n\n## Medium Priority\n\n- [ ] Do it\n'],
    [
      'a prd',
      ['--to', 'prd'],
      PRD,
      '{\n  "tasks": [\n    {\n      "id": "T001",\n      "title": "Do it",\n      "priority": "medium",\n      "status": "todo"\n    }\n  ]\n}\n',
    ],
  ])('to %s that is created, with its folder', async (_, args, path, text) => {
    await rm(join(checkout, '.ralph'), { recursive: true });
    expect(await add('Do it', ...args)).toMatchObject({ code: 0 });
    expect(await read(path)).toBe(text);
  });

  test('with a body from stdin', async () => {
    expect(await ralph(['add', 'Do it', '--dir', checkout, '--body', '-'], '\nFirst line\n\nlast\n\n')).toMatchObject({
      code: 0,
    });
    expect(await read(PLAN)).toBe('# Fix plan\n\n## Medium Priority\n\n- [ ] Do it\n\n  First line\n\n  last\n');
  });

  test('ids of archived entries are not given again', async () => {
    await Promise.all([write(PRD, PRD_TEXT), write('.ralph/prd_archive.json', '{"tasks":[{"id":"T8","title":"z"}]}')]);
    expect((await add('Do it')).out).toBe('prd-T9\n');
  });
});

describe('the file', () => {
  test('keeps its mode, and nothing is left beside it', async () => {
    await write(PLAN, '- [ ] a\n');
    await chmod(join(checkout, PLAN), 0o640);
    await add('Do it');
    expect((await stat(join(checkout, PLAN))).mode & 0o777).toBe(0o640);
    expect(await readdir(join(checkout, '.ralph'))).toEqual(['fix_plan.md']);
  });

  test('that is a link inside the checkout stays one', async () => {
    await write('PLAN.md', '- [ ] a\n');
    await symlink('../PLAN.md', join(checkout, PLAN));
    expect(await add('Do it')).toMatchObject({ code: 0 });
    expect([await readlink(join(checkout, PLAN)), await read('PLAN.md')]).toEqual([
      '../PLAN.md',
      '- [ ] a\n- [ ] Do it\n',
    ]);
  });

  test.each([
    [
      'leads out of the checkout',
      async () => {
        await writeFile(join(folder, 'outside.md'), '- [ ] a\n');
        await symlink('../../outside.md', join(checkout, PLAN));
      },
      'leads out of the checkout',
    ],
    ['leads nowhere', () => symlink('nowhere.md', join(checkout, PLAN)), 'there is no such file'],
    [
      'is in a folder that leads out',
      async () => {
        await rm(join(checkout, '.ralph'), { recursive: true });
        await mkdir(join(folder, 'elsewhere'));
        await symlink('../elsewhere', join(checkout, '.ralph'));
      },
      'leads out of the checkout',
    ],
    ['is a folder', () => mkdir(join(checkout, PLAN)), 'is not a file'],
    [
      'contains NUL bytes',
      () => write(PLAN, '# Plan\n- [ ] a\0\n'),
      'ralph add: .ralph/fix_plan.md:2: contains NUL bytes, so no run reads it: remove them, or save it as UTF-8. Nothing was written.\n',
    ],
    ['is not a text', () => write(PLAN, Uint8Array.of(0x2d, 0xff, 0xfe)), 'is not UTF-8 text'],
    ['is larger than 1 MiB', () => write(PLAN, 'x'.repeat(1024 * 1024 + 1)), 'is larger than 1 MiB'],
  ])('is not touched when it %s', async (_, prepare, why) => {
    await prepare();
    const before = await readdir(folder, { recursive: true });
    expect(await add('Do it')).toMatchObject({ code: 1, out: '', error: expect.stringContaining(why) as string });
    expect(await readdir(folder, { recursive: true })).toEqual(before);
    expect(await readFile(join(folder, 'outside.md'), 'utf8').catch(() => '- [ ] a\n')).toBe('- [ ] a\n');
  });

  test('that is malformed is not touched, and line and column are reported', async () => {
    await write(PRD, '{\n  "tasks": [\n    {"id": "T1",}\n  ]\n}\n');
    expect(await add('Do it')).toEqual({
      code: 1,
      out: '',
      error:
        'ralph add: .ralph/prd.json:3:17: not valid JSON: expected a name in double quotes (and no comma before `}`). None of its tasks are read. Nothing was written.\n',
    });
    expect(await read(PRD)).toBe('{\n  "tasks": [\n    {"id": "T1",}\n  ]\n}\n');
  });
});

test('a title that is there already is not added again', async () => {
  await write(PLAN, '- [ ] a\n- [x] **Do** it\n');
  expect(await add('Do it')).toEqual({
    code: 1,
    out: '',
    error: `ralph add: .ralph/fix_plan.md:2: "Do it" exists already (${idOf('Do it')}, done); nothing was written. To add another one, give it a different title.\n`,
  });
  expect(await read(PLAN)).toBe('- [ ] a\n- [x] **Do** it\n');
});

describe('arguments that make no sense end with 2, say what to do, and write nothing', () => {
  test.each([
    ['no title', [], 'TITLE is missing.'],
    ['an empty title', [''], 'TITLE is empty, or has no visible text: say in a few words what to do.'],
    ['a title that nobody would see', ['\u200B'], 'TITLE is empty, or has no visible text'],
    ['a title over lines', ['Do\nit'], 'TITLE is more than one line: give its first line, and the rest as --body.'],
    ['a title with an escape', ['Do \u001B[2Jit'], 'TITLE contains control characters: remove them.'],
    [
      'a title that is too long',
      ['x'.repeat(201)],
      'TITLE is longer than 200 characters: shorten it, and give the rest as --body.',
    ],
    [
      'a body with control characters',
      ['Do it', '--body', 'a\u0007b'],
      '--body: it contains control characters: remove them.',
    ],
    ['a body that is too long', ['Do it', '--body', 'x'.repeat(20_001)], '--body: it is longer than 20000 characters'],
    [
      'an unknown priority',
      ['Do it', '--priority', 'soon'],
      '--priority: "soon" is not a priority. Expected high, medium or low.',
    ],
    [
      'a priority of what is optional',
      ['Do it', '--priority', 'high', '--optional'],
      '--priority and --optional: an optional item of a plan has no priority. Leave one of them out, or use --to prd.',
    ],
    ['an unknown place', ['Do it', '--to', 'issues'], '--to: "issues" is not a place for tasks. Expected plan or prd.'],
    [
      'a title in several words',
      ['Do', 'it'],
      'too many arguments: "it". Put quotes around TITLE if it contains spaces.',
    ],
  ])('%s', async (_, args, problem) => {
    const { code, out, error } = await add(...args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(error).toContain(`ralph add: ${problem}`);
    expect(await readdir(join(checkout, '.ralph'))).toEqual([]);
  });

  test('no such folder, and everything else that is wrong at once', async () => {
    const { code, error } = await ralph(['add', 'a\nb', '--dir', join(folder, 'nothing'), '--to', 'x']);
    expect(code).toBe(2);
    expect(error.match(/^ralph add: /gm)).toHaveLength(3);
  });
});

describe('--json', () => {
  const validate = new Ajv2020({ strict: false }).compile(publishedSchema('ralph add --json', addReportSchema));

  test('the published JSON Schema is the one of the code (vitest -u writes it)', async () => {
    await expect(
      `${JSON.stringify(publishedSchema('ralph add --json', addReportSchema), null, 2)}\n`,
    ).toMatchFileSnapshot('../../../schemas/ralph-add.schema.json');
  });

  test.each([
    ['added', '- [ ] a\n', 0, { kind: 'added', id: idOf('Do it'), file: PLAN, line: 2 }],
    ['there already', '- [x] Do it\n', 1, { kind: 'there', id: idOf('Do it'), file: PLAN, line: 1, state: 'done' }],
    [
      'refused',
      '<!--\n',
      1,
      {
        kind: 'refused',
        file: PLAN,
        line: null,
        column: null,
        message: expect.stringContaining('no place was found') as string,
      },
    ],
  ])('%s', async (_, text, code, expected) => {
    await write(PLAN, text);
    const run = await add('Do it', '--json');
    expect({ code: run.code, json: JSON.parse(run.out) as unknown }).toEqual({ code, json: expected });
    expect(validate(JSON.parse(run.out))).toBe(true);
  });

  test('nothing else is of that shape', () => {
    expect(validate({ kind: 'added', id: 'x', file: PLAN })).toBe(false);
  });
});
