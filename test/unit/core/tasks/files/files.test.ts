import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatPosition, type FileTask } from '../../../../../src/core/tasks/files/form/root-plan.ts';
import { fileSources, type FileSource } from '../../../../../src/core/tasks/ids.ts';
import {
  fileOfSource,
  parseTaskFiles,
  parseTaskFilesAndArchive,
  createUnreadableTasks,
} from '../../../../../src/core/tasks/files/files.ts';
import { simulateWorkOrder } from '../../../../../src/core/tasks/queue.ts';
import type { TaskState } from '../../../../../src/core/tasks/task.ts';
import { runs } from '../../../../runs.ts';
import { optionalSections } from '../../core-fixtures.ts';

const prd = (...tasks: readonly object[]): string => JSON.stringify({ tasks });
const bead = (id: string, fields: object = {}): string =>
  JSON.stringify({ id, title: `bead ${id}`, status: 'open', ...fields });
const titles = (
  files: Readonly<Record<string, string>>,
  sources: readonly FileSource[] = fileSources,
): readonly string[] => parseTaskFiles(files, sources, optionalSections).tasks.map(({ task }) => task.title);

describe('task files', () => {
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

  test('without files there are no tasks, and nothing is wrong', () => {
    expect(parseTaskFiles({}, fileSources, optionalSections)).toEqual({ tasks: [], problems: [] });
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

  test.each<[FileSource, readonly string[], string | undefined]>([
    ['plan', ['@fix_plan.md', '.ralph/fix_plan.md'], '.ralph/fix_plan.md'],
    ['plan', ['README.md'], undefined],
    ['prd', ['.ralph/prd_archive.json', '.ralph/prd.json'], '.ralph/prd.json'],
    ['prd', ['prd.json', 'scripts/ralph/prd.json'], 'scripts/ralph/prd.json'],
    ['prd', ['prd.json'], 'prd.json'],
    ['prd', ['config/prd.json'], undefined],
    ['beads', ['.beads/b.jsonl', '.beads/a.jsonl'], '.beads/a.jsonl'],
    ['beads', ['.beads/beads.db', '.beads/more/a.jsonl', 'x/.beads/a.jsonl', '.beads/a.jsonl.bak'], undefined],
  ])('of the source %s among %j it is %s', (source, paths, expected) => {
    expect(fileOfSource(paths, source)).toBe(expected);
  });

  test('an archive beside the prd says what is done, and does not count as a list', () => {
    expect(
      parseTaskFiles(
        {
          '.ralph/prd.json': prd({ id: 'B', title: 'b', depends_on: ['A'] }),
          '.ralph/prd_archive.json': prd({ id: 'A', title: 'a', status: 'done' }),
        },
        fileSources,
        optionalSections,
      ),
    ).toMatchObject({ tasks: [{ task: { id: 'prd-B', dependsOn: [] } }], problems: [] });
  });

  describe('with the archive', () => {
    const archive = { '.ralph/prd_archive.json': prd({ id: 'S1', title: 'old' }, { id: 'S2', title: 'archived' }, []) };
    test.each<[string, Readonly<Record<string, string>>, readonly FileSource[], readonly string[]]>([
      [
        'its entries stand behind all others, unless they are listed',
        { ...all, ...archive },
        fileSources,
        ['item', 'story', 'bead b', 'archived'],
      ],
      ['not when the prd is not a source', { ...all, ...archive }, ['plan', 'beads'], ['item', 'bead b']],
      ['nor without that file', all, fileSources, ['item', 'story', 'bead b']],
    ])('%s', (_, files, sources, expected) => {
      const { tasks, problems } = parseTaskFilesAndArchive(files, sources, optionalSections);
      expect(tasks.map(({ task }) => task.title)).toEqual(expected);
      expect(problems).toEqual([]);
    });

    test('problems are those of the files', () => {
      expect(
        parseTaskFilesAndArchive({ ...archive, '.ralph/prd.json': '{' }, fileSources, optionalSections).problems.map(
          ({ file }) => file,
        ),
      ).toEqual(['.ralph/prd.json']);
    });
  });

  test.each([
    [3, 7, 'a.md:3:7'],
    [3, null, 'a.md:3'],
    [null, null, 'a.md'],
    [null, 7, 'a.md'],
  ])('line %j and column %j are the position %s', (line, column, position) => {
    expect(formatPosition({ file: 'a.md', line, column, message: '' })).toBe(position);
  });

  test('a file that may hide tasks has a task without a text, at the first of its problems', () => {
    const hidden = (file: string, line: number | null) =>
      ({ file, line, column: null, message: 'unreadable', hidesTasks: true }) as const;
    expect(
      createUnreadableTasks(
        [
          { file: '@fix_plan.md', line: 1, column: null, message: 'a title twice' },
          hidden('@fix_plan.md', 4),
          hidden('@fix_plan.md', 9),
          hidden('.ralph/prd.json', 2),
          hidden('.beads/issues.jsonl', null),
        ],
        ['beads', 'plan'],
      ),
    ).toEqual([
      {
        id: 'beads-unreadable',
        title: '.beads/issues.jsonl cannot be read',
        body: '',
        source: { kind: 'beads', path: '.beads/issues.jsonl', key: '.beads/issues.jsonl' },
        comments: [],
        priority: 2,
        dependsOn: [],
        optional: false,
        obstacle: 'unreadable',
      },
      {
        id: 'plan-unreadable',
        title: '@fix_plan.md:4 cannot be read',
        body: '',
        source: { kind: 'plan', path: '@fix_plan.md', line: 4 },
        comments: [],
        priority: 2,
        dependsOn: [],
        optional: false,
        obstacle: 'unreadable',
      },
    ]);
    expect(createUnreadableTasks([hidden('@fix_plan.md', null)], ['plan'])).toMatchObject([
      { title: '@fix_plan.md cannot be read', source: { line: 1 } },
    ]);
  });

  test('a malformed file is a problem with its place, and loses nothing of the others', () => {
    const { tasks, problems } = parseTaskFiles(
      { ...all, '.ralph/prd.json': '{ "tasks": [ { "id": "S1", "title": ' },
      fileSources,
      optionalSections,
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
      'an invalid list',
      { '.ralph/prd.json': '{ "tasks": 7 }' },
      ['prd-unreadable: .ralph/prd.json:1:12 cannot be read'],
    ],
    [
      'an entry that is not a task',
      { '.ralph/prd.json': '{ "tasks": [{ "name": "a" }] }' },
      ['prd-unreadable: .ralph/prd.json:1:13 cannot be read'],
    ],
    [
      'a prd that is too long',
      { '.ralph/prd.json': prd(...Array.from({ length: 1_001 }, (_, at) => ({ id: at, title: 'a' }))) },
      [expect.stringMatching(/^prd-unreadable: /) as string],
    ],
    [
      'a broken line of beads, reported once',
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
    const tasks = createUnreadableTasks(parseTaskFiles(files, fileSources, optionalSections).problems, fileSources);
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
  ])('without hidden text have nothing to report: %s', (_, files) => {
    expect(createUnreadableTasks(parseTaskFiles(files, fileSources, optionalSections).problems, fileSources)).toEqual(
      [],
    );
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
        const { tasks } = parseTaskFiles(
          { '@fix_plan.md': plan, '.ralph/prd.json': list, '.beads/x.jsonl': beads },
          fileSources,
          optionalSections,
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
      readonly state?: TaskState;
    } = {},
  ): FileTask => ({
    state: fields.state ?? 'todo',
    task: {
      id,
      title: id,
      body: '',
      source: { kind: 'prd', path: 'p', key: id, issue: null },
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
    expect(simulateWorkOrder(tasks).map(({ task }) => task.id)).toEqual(expected);
  });
});
