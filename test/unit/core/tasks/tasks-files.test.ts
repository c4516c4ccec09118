import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fileSources, type FileSource, type FileTask } from '../../../../src/core/tasks/files/file-task.ts';
import { readTaskFiles } from '../../../../src/core/tasks/files/files.ts';
import { unreadableTasks } from '../../../../src/core/tasks/files/unreadable.ts';
import { inWorkOrder } from '../../../../src/core/tasks/work-order.ts';
import type { TaskProgress } from '../../../../src/core/tasks/task.ts';
import { runs } from '../../../runs.ts';

const prd = (...tasks: readonly object[]): string => JSON.stringify({ tasks });
const bead = (id: string, fields: object = {}): string =>
  JSON.stringify({ id, title: `bead ${id}`, status: 'open', ...fields });
const titles = (
  files: Readonly<Record<string, string>>,
  sources: readonly FileSource[] = fileSources,
): readonly string[] => readTaskFiles(files, sources).tasks.map(({ task }) => task.title);

describe('files of tasks', () => {
  const all = {
    '.ralph/fix_plan.md': '- [ ] item',
    '.ralph/prd.json': prd({ id: 'S1', title: 'story' }),
    '.beads/issues.jsonl': bead('b', { priority: 1 }),
    'README.md': '- [ ] no task',
  };

  test.each<[readonly FileSource[], readonly string[]]>([
    [
      ['plan', 'prd', 'beads'],
      ['item', 'story', 'bead b'],
    ],
    [
      ['beads', 'prd', 'plan'],
      ['bead b', 'story', 'item'],
    ],
    [['prd'], ['story']],
    [[], []],
  ])('are those of the sources %j, in their order at the same priority', (sources, expected) => {
    expect(titles(all, sources)).toEqual(expected);
  });

  test('required tasks come first, then by priority, then as they stand', () => {
    const plan = '## Optional\n- [ ] optional\n## Low\n- [ ] low\n## High\n- [ ] high 1\n- [x] high 2\n';
    expect(
      titles({ '.ralph/fix_plan.md': plan, '.ralph/prd.json': prd({ id: '1', title: 'story', priority: 1 }) }),
    ).toEqual(['high 1', 'high 2', 'story', 'low', 'optional']);
  });

  test.each<[string, readonly string[], string]>([
    ['.ralph/fix_plan.md', ['@fix_plan.md', '.ralph/@fix_plan.md', '.ralph/fix_plan.md'], '.ralph/fix_plan.md'],
    ['else .ralph/@fix_plan.md', ['@fix_plan.md', '.ralph/@fix_plan.md'], '.ralph/@fix_plan.md'],
    ['else @fix_plan.md', ['@fix_plan.md', 'fix_plan.md'], '@fix_plan.md'],
  ])('the plan is %s, and no other one', (_, paths, expected) => {
    expect(titles(Object.fromEntries(paths.map((path) => [path, `- [ ] ${path.replace('@', 'at ')}`])))).toEqual([
      expected.replace('@', 'at '),
    ]);
  });

  test('the first plan is the only one even when it has no boxes', () => {
    expect(titles({ '.ralph/fix_plan.md': '# nothing', '@fix_plan.md': '- [ ] a' })).toEqual([]);
  });

  test('a malformed file is a problem with its place, and loses nothing of the others', () => {
    const { tasks, problems } = readTaskFiles(
      { ...all, '.ralph/prd.json': '{ "tasks": [ { "id": "S1", "title": ' },
      fileSources,
    );
    expect(tasks.map(({ task }) => task.title)).toEqual(['item', 'bead b']);
    expect(problems).toMatchObject([{ file: '.ralph/prd.json', line: 1 }]);
  });

  const open = (count: number): string => '- [ ] a\n'.repeat(count);
  const beads = (count: number, status: string): string =>
    Array.from({ length: count }, (_, at) => bead(`b${String(at)}`, { status })).join('\n');
  test.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
    [
      'a malformed prd',
      { '.ralph/prd.json': '{\n  "tasks": [' },
      ['prd-unreadable: .ralph/prd.json:2:13 cannot be read'],
    ],
    ['a prd without a list', { '.ralph/prd.json': '{}' }, ['prd-unreadable: .ralph/prd.json:1:1 cannot be read']],
    [
      'a list that is none',
      { '.ralph/prd.json': '{ "tasks": 7 }' },
      ['prd-unreadable: .ralph/prd.json:1:12 cannot be read'],
    ],
    [
      'an entry that is no task',
      { '.ralph/prd.json': '{ "tasks": [{ "name": "a" }] }' },
      ['prd-unreadable: .ralph/prd.json:1:13 cannot be read'],
    ],
    [
      'a prd that is too long',
      { '.ralph/prd.json': prd(...Array.from({ length: 1_001 }, (_, at) => ({ id: at, title: 'a' }))) },
      [expect.stringMatching(/^prd-unreadable: /) as string],
    ],
    [
      'a broken line of beads, told once',
      { '.beads/issues.jsonl': `${bead('a')}\n<<<<<<< HEAD\n{` },
      ['beads-unreadable: .beads/issues.jsonl:2:1 cannot be read'],
    ],
    [
      'a bead without a title',
      { '.beads/issues.jsonl': '{"id":"a"}' },
      ['beads-unreadable: .beads/issues.jsonl:1 cannot be read'],
    ],
    [
      'more open beads than are read',
      { '.beads/issues.jsonl': beads(1_001, 'open') },
      ['beads-unreadable: .beads/issues.jsonl cannot be read'],
    ],
    [
      'a plan of more lines than are read',
      { '@fix_plan.md': '\n'.repeat(5_001) },
      ['plan-unreadable: @fix_plan.md:5001 cannot be read'],
    ],
    [
      'more open boxes than are read',
      { '@fix_plan.md': open(1_001) },
      ['plan-unreadable: @fix_plan.md cannot be read'],
    ],
    [
      'several files',
      { '@fix_plan.md': open(1_001), '.ralph/prd.json': '{' },
      ['plan-unreadable: @fix_plan.md cannot be read', 'prd-unreadable: .ralph/prd.json:1:2 cannot be read'],
    ],
  ])('that may hide tasks have one that nobody can work: %s', (_, files, expected) => {
    const tasks = unreadableTasks(readTaskFiles(files, fileSources).problems, fileSources);
    expect(tasks.map(({ id, title }) => `${id}: ${title}`)).toEqual(expected);
    for (const task of tasks)
      expect(task).toMatchObject({ obstacle: 'unreadable', optional: false, source: { kind: task.id.split('-')[0] } });
  });

  test.each<[string, Readonly<Record<string, string>>]>([
    ['two items of the same title', { '@fix_plan.md': open(2) }],
    ['an unknown dependency', { '.ralph/prd.json': prd({ id: 'a', title: 'a', depends_on: ['b'] }) }],
    ['an unknown status and priority', { '.ralph/prd.json': prd({ id: 'a', title: 'a', status: 'x', priority: 'x' }) }],
    [
      'too many that are done',
      { '@fix_plan.md': `${'- [x] b\n'.repeat(1_000)}${open(1)}`, '.beads/issues.jsonl': beads(1_001, 'closed') },
    ],
    ['another kind of record', { '.beads/issues.jsonl': `${bead('a')}\n{"_type":"memory","key":"k"}` }],
  ])('of which nothing is hidden have none: %s', (_, files) => {
    expect(unreadableTasks(readTaskFiles(files, fileSources).problems, fileSources)).toEqual([]);
  });

  test('any text is answered; every id is one of a kind, safe and short', () => {
    const piece = fc.constantFrom(
      '- [ ] ',
      '- [x] ',
      '  ',
      '\n',
      '## High',
      '## Optional',
      'a',
      'depends on T1',
      'T1: ',
      '```',
      '<!--',
      '-->',
      '>',
      '{',
      '}',
      '[',
      ']',
      '"',
      ':',
      ',',
      '"id":',
      '"tasks":',
      '"title":',
      '\0',
      '\r',
      '\u202e',
      '🚧',
    );
    const text = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(text, text, text, (plan, list, beads) => {
        const { tasks } = readTaskFiles(
          { '@fix_plan.md': plan, '.ralph/prd.json': list, '.beads/x.jsonl': beads },
          fileSources,
        );
        expect(new Set(tasks.map(({ task }) => task.id)).size).toBe(tasks.length);
        for (const { task } of tasks) expect(task.id).toMatch(/^(?:plan|prd|beads)-[\w.-]{1,74}$/);
      }),
      { numRuns: runs(200) },
    );
  });
});

describe('the order of work', () => {
  const entry = (
    id: string,
    fields: {
      readonly priority?: number;
      readonly dependsOn?: readonly string[];
      readonly optional?: boolean;
      readonly state?: TaskProgress['state'];
    } = {},
  ): FileTask => ({
    state: fields.state ?? 'todo',
    task: {
      id,
      title: id,
      body: '',
      source: { kind: 'prd', path: 'p', key: id },
      comments: [],
      priority: fields.priority ?? 2,
      dependsOn: fields.dependsOn ?? [],
      optional: fields.optional ?? false,
      obstacle: null,
    },
  });

  test.each<[string, readonly FileTask[], readonly string[]]>([
    ['as they stand', [entry('b'), entry('a')], ['b', 'a']],
    [
      'required first, then by priority',
      [entry('a', { optional: true, priority: 1 }), entry('b', { priority: 3 }), entry('c', { priority: 1 })],
      ['c', 'b', 'a'],
    ],
    ['what is in progress before', [entry('a', { priority: 1 }), entry('b', { state: 'in-progress' })], ['b', 'a']],
    [
      'nothing before what it waits for',
      [entry('a', { dependsOn: ['b'], priority: 1 }), entry('b', { dependsOn: ['c'] }), entry('c', { priority: 3 })],
      ['c', 'b', 'a'],
    ],
    [
      'what comes free goes by its rank',
      [entry('a', { dependsOn: ['c'], priority: 1 }), entry('c', { priority: 2 }), entry('d', { priority: 2 })],
      ['c', 'a', 'd'],
    ],
    [
      'done tasks keep their rank, and nothing waits for them',
      [entry('a', { dependsOn: ['b'] }), entry('b', { state: 'done' })],
      ['a', 'b'],
    ],
    ['issues and itself hold nothing up', [entry('a', { dependsOn: ['issue-7', 'a'] }), entry('b')], ['a', 'b']],
    [
      'what waits for something unknown comes last, optional tasks or not',
      [entry('a', { dependsOn: ['x'] }), entry('b', { dependsOn: ['a'] }), entry('c', { optional: true })],
      ['c', 'a', 'b'],
    ],
    [
      'circles come last',
      [entry('a', { dependsOn: ['b'] }), entry('b', { dependsOn: ['a'] }), entry('c')],
      ['c', 'a', 'b'],
    ],
  ])('%s', (_, tasks, expected) => {
    expect(inWorkOrder(tasks).map(({ task }) => task.id)).toEqual(expected);
  });
});
