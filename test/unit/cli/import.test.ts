import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type AskedAgent, importReportSchema, type ImportWorld } from '../../../src/cli/tasks/import.ts';
import { ralph, type CliRun } from './fixture.ts';
import { publishedSchema } from '../../published-schema.ts';

let checkout = '';
let asked: AskedAgent[] = [];

beforeEach(async () => {
  checkout = await mkdtemp(join(tmpdir(), 'ralph-import-'));
  asked = [];
  await mkdir(join(checkout, '.ralph'));
  await writeFile(join(checkout, 'wishes.md'), 'A cart, please.\n');
});
afterEach(async () => {
  await rm(checkout, { recursive: true, force: true });
});

/** An agent that answers with this text. */
const answering = (text: string): ImportWorld => ({
  askAgent: (asking) => {
    asked.push(asking);
    return Promise.resolve({ kind: 'answer', text });
  },
  issues: () =>
    Promise.resolve({
      kind: 'tasks',
      tasks: [{ title: 'Fix the login (#7)', body: '', priority: 'high', optional: false }],
    }),
});
const two = JSON.stringify({
  tasks: [
    { title: 'Add a cart', body: 'With a total.', priority: 'high' },
    { title: 'Animate it', optional: true },
  ],
});
const imported = (args: readonly string[], world: ImportWorld = answering(two), stdin = ''): Promise<CliRun> =>
  ralph(['import', '--dir', checkout, ...args], stdin, undefined, { world });
const plan = (): Promise<string> => readFile(join(checkout, '.ralph/fix_plan.md'), 'utf8').catch(() => 'none');
const wishes = (): string => join(checkout, 'wishes.md');

describe('ralph import FILE', () => {
  test('puts what the agent finds into the plan, each under its heading', async () => {
    expect(await imported([wishes()])).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^added +plan-[0-9a-f]{12} +Add a cart\nadded +plan-[0-9a-f]{12} +Animate it\n2 added, 0 not\.\n$/,
      ) as string,
      error: '',
    });
    expect(await plan()).toMatch(/High[^]*- \[ \] Add a cart\n\n {2}With a total\.[^]*Optional[^]*- \[ \] Animate it/);
  });

  test('gives the agent the document as a file, and no word of it in the prompt', async () => {
    await imported([wishes(), '--agent-path', '/opt/claude', '--model', 'opus', '--max-cost-usd', '0.5']);
    expect(asked).toMatchObject([
      { agentPath: '/opt/claude', model: 'opus', maxCostUsd: 0.5, document: { text: 'A cart, please.\n' } },
    ]);
    expect(asked[0]?.prompt).not.toContain('A cart');
  });

  test('reads stdin for -', async () => {
    await imported(['-'], undefined, 'From stdin');
    expect(asked[0]?.document.text).toBe('From stdin');
  });

  test('a second time adds nothing', async () => {
    await imported([wishes()]);
    const before = await plan();
    expect(await imported([wishes()])).toMatchObject({
      code: 0,
      out: expect.stringContaining('0 added, 2 not.') as string,
    });
    expect(await plan()).toBe(before);
  });

  test('goes into the prd that is there', async () => {
    await writeFile(join(checkout, '.ralph/prd.json'), '{"tasks":[]}');
    await imported([wishes()]);
    expect(JSON.parse(await readFile(join(checkout, '.ralph/prd.json'), 'utf8'))).toMatchObject({
      tasks: [
        { title: 'Add a cart', description: 'With a total.' },
        { title: 'Animate it', optional: true },
      ],
    });
  });

  test('--dry-run writes nothing', async () => {
    expect(await imported([wishes(), '--dry-run'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('2 found; nothing was written.') as string,
    });
    expect(await plan()).toBe('none');
  });

  test.each<[string, ImportWorld, string]>([
    [
      'an agent that fails',
      { ...answering(''), askAgent: () => Promise.resolve({ kind: 'failed', why: 'The agent failed: no credit.' }) },
      'The agent failed: no credit. Nothing was written.',
    ],
    [
      'an invalid list',
      answering('Sure! Here are the tasks'),
      "The agent's list of tasks cannot be used: it is not JSON",
    ],
    ['an empty list', answering('{"tasks":[]}'), 'The agent found no task in the document.'],
  ])('%s ends with 1 and says so', async (_, world, error) => {
    expect(await imported([wishes()], world)).toMatchObject({
      code: 1,
      error: expect.stringContaining(error) as string,
    });
    expect(await plan()).toBe('none');
  });

  test('a file that cannot be added to ends with 1, and loses nothing', async () => {
    await writeFile(join(checkout, '.ralph/prd.json'), '{"tasks":[');
    expect(await imported([wishes()])).toMatchObject({
      code: 1,
      error: expect.stringMatching(/"Add a cart" was not added to \.ralph\/prd\.json/) as string,
    });
    expect(await readFile(join(checkout, '.ralph/prd.json'), 'utf8')).toBe('{"tasks":[');
  });
});

test('ralph import --issues puts labelled issues into the plan', async () => {
  expect(await imported(['--issues'])).toMatchObject({ code: 0 });
  expect(await plan()).toContain('- [ ] Fix the login (#7)');
});

test('--json prints what the published schema says', async () => {
  const { out } = await imported([wishes(), '--json']);
  const valid = new Ajv2020({ strict: false }).compile(publishedSchema('ralph import --json', importReportSchema));
  expect(valid(JSON.parse(out)), JSON.stringify(valid.errors)).toBe(true);
  await expect(
    `${JSON.stringify(publishedSchema('ralph import --json', importReportSchema), null, 2)}\n`,
  ).toMatchFileSnapshot('../../../schemas/ralph-import.schema.json');
});

test.each<[string, readonly string[], string]>([
  ['nothing to import', [], 'FILE or --issues is missing'],
  ['two things at once', ['wishes.md', '--issues'], 'cannot be used together'],
  ['a file that is not there', ['nowhere.md'], 'there is no such file'],
  ['--label without --issues', ['-', '--label', 'x'], '--label can only be used with --issues'],
  ['no amount', ['-', '--max-cost-usd', 'much'], '--max-cost-usd: "much" is not an amount above 0'],
  ['another place', ['-', '--to', 'wiki'], '--to: "wiki" is not a place for tasks'],
])('%s is reported before anything is asked', async (_, args, why) => {
  expect(await imported(args, undefined, 'x')).toMatchObject({
    code: 2,
    error: expect.stringContaining(why) as string,
  });
  expect(asked).toEqual([]);
});
