import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parsePrd } from '../../../../../src/core/tasks/files/prd.ts';
import { findPrdPositions } from '../../../../../src/core/tasks/files/prd-entries.ts';
import { hashId } from '../../../../../src/core/tasks/ids.ts';

const PATH = '.ralph/prd.json';
const read = (prd: unknown): ReturnType<typeof parsePrd> => parsePrd(PATH, JSON.stringify(prd, null, 2));
const readTask = (entry: object): ReturnType<typeof parsePrd>['tasks'][number] | undefined =>
  read({ tasks: [{ id: 'T1', title: 'Do it', ...entry }] }).tasks[0];
const problemsOf = (prd: unknown): readonly string[] =>
  read(prd).problems.map(({ line, message }) => `${String(line)}: ${message}`);

/** The form that the Go Ralph writes. */
const TASKS_FORM = `{
  "version": 1,
  "tasks": [
    { "id": "T101", "title": "Create suite.yaml", "details": "Create the file.", "priority": "high", "status": "done", "tests": "it is valid YAML" },
    { "id": "T102", "title": "Add a loader", "priority": "low", "status": "todo" }
  ]
}`;

/** The form that snarktank/ralph writes. */
const STORIES_FORM = `{
  "project": "MyApp",
  "branchName": "ralph/task-priority",
  "userStories": [
    {
      "id": "US-001",
      "title": "Add priority field",
      "description": "As a developer, I need it.",
      "acceptanceCriteria": ["Add the column", "Typecheck passes"],
      "priority": 1,
      "passes": true,
      "notes": ""
    },
    { "id": "US-002", "title": "Show it", "description": "", "acceptanceCriteria": [], "priority": 2, "passes": false, "notes": "see #4" }
  ]
}`;

describe('both forms are read', () => {
  test('tasks with a status', () => {
    const { tasks, problems } = parsePrd(PATH, TASKS_FORM);
    expect(problems).toEqual([]);
    expect(tasks.map(({ state, task }) => [task.id, task.title, task.priority, state, task.body])).toEqual([
      ['prd-T101', 'Create suite.yaml', 1, 'done', 'Create the file.\n\nTests: it is valid YAML'],
      ['prd-T102', 'Add a loader', 3, 'todo', ''],
    ]);
    expect(tasks[0]?.task).toMatchObject({
      source: { kind: 'prd', path: PATH, key: 'T101', issue: null },
      comments: [],
      dependsOn: [],
      optional: false,
      obstacle: null,
    });
  });

  test('user stories that pass', () => {
    const { tasks, problems } = parsePrd(PATH, STORIES_FORM);
    expect(problems).toEqual([]);
    expect(tasks.map(({ state, task }) => [task.id, task.priority, state, task.body])).toEqual([
      [
        'prd-US-001',
        1,
        'done',
        'As a developer, I need it.\n\nAcceptance criteria:\n\n- Add the column\n- Typecheck passes',
      ],
      ['prd-US-002', 2, 'todo', 'Notes: see #4'],
    ]);
  });

  test('both in one file, with CR LF and a byte order mark', () => {
    const { tasks } = parsePrd(
      PATH,
      `\uFEFF${JSON.stringify({ userStories: [{ id: 'U', title: 'u' }], tasks: [{ id: 'T', title: 't' }] }, null, 1).replaceAll('\n', '\r\n')}`,
    );
    expect(tasks.map(({ task }) => task.id)).toEqual(['prd-T', 'prd-U']);
  });
});

describe('the state', () => {
  test.each([
    [{}, 'todo'],
    [{ status: null }, 'todo'],
    [{ status: 'todo' }, 'todo'],
    [{ status: 'pending' }, 'todo'],
    [{ status: 'To Do' }, 'todo'],
    [{ status: 'open' }, 'todo'],
    [{ status: 'not_started' }, 'todo'],
    [{ status: 'in  _ progress' }, 'in-progress'],
    [{ passes: false }, 'todo'],
    [{ status: null, passes: true }, 'done'],
    [{ status: 'nobody knows', passes: true }, 'done'],
    [{ status: 'in-progress' }, 'in-progress'],
    [{ status: 'in_progress' }, 'in-progress'],
    [{ status: ' In Progress ' }, 'in-progress'],
    [{ status: 'done' }, 'done'],
    [{ status: 'COMPLETED' }, 'done'],
    [{ status: 'complete' }, 'done'],
    [{ status: 'failed' }, 'failed'],
    [{ status: 'blocked' }, 'blocked'],
    [{ passes: true }, 'done'],
    [{ status: 'todo', passes: true }, 'todo'],
  ])('of a task %j is %s', (entry, state) => {
    expect(readTask(entry)?.state).toBe(state);
  });

  test.each([
    [{}, 'todo'],
    [{ passes: null }, 'todo'],
    [{ passes: false, status: 'done' }, 'todo'],
    [{ passes: true, status: 'todo' }, 'done'],
    [{ status: 'done' }, 'done'],
    [{ passes: null, status: 'failed' }, 'failed'],
  ])('of a story %j is %s', (entry, state) => {
    expect(read({ userStories: [{ id: 'U', title: 'u', ...entry }] }).tasks[0]?.state).toBe(state);
  });

  test.each([
    [
      { status: 'reviewing' },
      '6: the status "reviewing" is unknown and counts as todo: expected todo, in_progress, done, failed or blocked',
    ],
    [
      { status: 7 },
      '6: the status "7" is unknown and counts as todo: expected todo, in_progress, done, failed or blocked',
    ],
    [
      { status: 'constructor' },
      '6: the status "constructor" is unknown and counts as todo: expected todo, in_progress, done, failed or blocked',
    ],
    [{ passes: 'yes' }, '6: `passes` is a string and counts as false: expected true or false'],
  ])('%j is a problem, and the task is open', (entry, problem) => {
    const prd = { tasks: [{ id: 'T1', title: 'Do it', ...entry }] };
    expect(problemsOf(prd)).toEqual([problem]);
    expect(read(prd).tasks[0]?.state).toBe('todo');
  });
});

describe('the priority', () => {
  test.each([
    [undefined, 2],
    [null, 2],
    [1, 1],
    [7, 7],
    ['3', 3],
    ['critical', 1],
    [' High ', 1],
    [' 12 ', 12],
    ['medium', 2],
    ['low', 3],
    ['P0', 1],
    ['P3', 4],
  ])('%j is %i', (priority, expected) => {
    expect(readTask({ priority })?.task.priority).toBe(expected);
    expect(problemsOf({ tasks: [{ id: 'T1', title: 'Do it', priority }] })).toEqual([]);
  });

  test.each([[0], [-1], [1.5], [1e300], ['soon'], [true], [[1]]])(
    '%j is a problem and counts as medium',
    (priority) => {
      expect(readTask({ priority })?.task.priority).toBe(2);
      expect(read({ tasks: [{ id: 'T1', title: 'Do it', priority }] }).problems).toEqual([
        {
          file: PATH,
          line: 6,
          column: 19,
          message: `the priority ${JSON.stringify(JSON.stringify(priority))} counts as 2: expected a whole number from 1 (highest), or critical, high, medium or low`,
        },
      ]);
    },
  );
});

describe('ids', () => {
  test.each([
    ['as they are', 'US-001', 'prd-US-001'],
    ['numbers', 12, 'prd-12'],
    ['with other characters, distinguished by a hash', 'a b', `prd-a-b-${hashId('a b')}`],
    ['that would otherwise be the same', 'a/b', `prd-a-b-${hashId('a/b')}`],
    ['in any script', '任务', `prd---${hashId('任务')}`],
    ['with every sign that an id may have', 'a.b_c-1', 'prd-a.b_c-1'],
    ['of 76 characters', 'x'.repeat(76), `prd-${'x'.repeat(76)}`],
    ['of 77 characters', 'x'.repeat(77), `prd-${'x'.repeat(63)}-${hashId('x'.repeat(77))}`],
    ['with blanks around them', ' T1 ', 'prd-T1'],
    ['too long', 'x'.repeat(200), `prd-${'x'.repeat(63)}-${hashId('x'.repeat(200))}`],
    ['absent: from the title', undefined, `prd-${hashId('Do it')}`],
    ['empty: from the title', ' ', `prd-${hashId('Do it')}`],
    ['no text: from the title', { a: 1 }, `prd-${hashId('Do it')}`],
  ])('%s', (_, id, expected) => {
    expect(readTask({ id })?.task.id).toBe(expected);
  });

  test('given twice: both are tasks, whatever their order, and the problem names both lines', () => {
    const first = { id: 'T1', title: 'One' };
    const second = { id: 'T1', title: 'Two' };
    expect(read({ tasks: [first, second] }).tasks.map(({ task }) => task.id)).toEqual([
      'prd-T1',
      `prd-T1-${hashId('Two')}`,
    ]);
    expect(problemsOf({ tasks: [first, second] })).toEqual([
      `7: the id "T1" is already used on line 3: this second entry is called prd-T1-${hashId('Two')}`,
    ]);
  });

  test('a title without an id given twice: the problem names it', () => {
    expect(problemsOf({ tasks: [{ title: 'One' }, { title: 'One' }] })).toEqual([
      `6: the title "One" is already used on line 3: this second entry is called prd-${hashId('One')}-${hashId('One')}`,
    ]);
  });

  test('an entry is found by its own id, or else by the hash of its title', () => {
    expect(
      read({ tasks: [{ id: 'a b', title: 'One' }, { title: 'Two' }] }).tasks.map(({ task }) => task.source),
    ).toEqual([
      { kind: 'prd', path: PATH, key: 'a b', issue: null },
      { kind: 'prd', path: PATH, key: hashId('Two'), issue: null },
    ]);
  });

  test('places of entries are known by the ids of their tasks', () => {
    expect([...findPrdPositions('{"tasks": [{"id": "A", "title": "a"},\n {"title": "b"}]}')]).toEqual([
      ['prd-A', { line: 1, column: 12 }],
      [`prd-${hashId('b')}`, { line: 2, column: 2 }],
    ]);
    expect(findPrdPositions('{"tasks": [').size).toBe(0);
  });

  test('an entry copied three times is three tasks', () => {
    const entry = { id: 'T1', title: 'One' };
    expect(read({ tasks: [entry, entry, entry, entry] }).tasks.map(({ task }) => task.id)).toEqual([
      'prd-T1',
      `prd-T1-${hashId('One')}`,
      `prd-T1-${hashId('One')}-2`,
      `prd-T1-${hashId('One')}-3`,
    ]);
  });
});

describe('dependencies', () => {
  test.each([
    ['depends_on', ['A', 2]],
    ['dependsOn', ['A', 2]],
    ['dependencies', ['A', 2, 'A']],
  ])('%s', (name, ids) => {
    const prd = {
      tasks: [
        { id: 'A', title: 'a' },
        { id: 2, title: 'b' },
        { id: 'C', title: 'c', [name]: ids },
      ],
    };
    expect(read(prd).tasks[2]?.task.dependsOn).toEqual(['prd-A', 'prd-2']);
    expect(problemsOf(prd)).toEqual([]);
  });

  test('one id without an array, and null', () => {
    expect(
      read({
        tasks: [
          { id: 'A', title: 'a', dependencies: null },
          { id: 'B', title: 'b', depends_on: 'A' },
        ],
      }).tasks.map(({ task }) => task.dependsOn),
    ).toEqual([[], ['prd-A']]);
  });

  test('of two entries with the same id the first one is meant', () => {
    expect(
      read({
        tasks: [
          { id: 'A', title: 'a' },
          { id: 'A', title: 'b' },
          { title: 'c', dependsOn: ' A ' },
        ],
      }).tasks[2]?.task.dependsOn,
    ).toEqual(['prd-A']);
  });

  test.each<[string, object, readonly string[], readonly string[]]>([
    ['done in the archive: nothing waits for it', { id: 'Z', title: 'z', status: 'done' }, [], []],
    [
      'open in the archive',
      { id: 'Z', title: 'z' },
      ['prd-Z'],
      ['depends on "Z", which is not in this file, so it is not worked on'],
    ],
    [
      'done in the archive without an id',
      { title: 'Z', status: 'done' },
      ['prd-Z'],
      ['depends on "Z", which is not in this file, so it is not worked on'],
    ],
  ])('%s', (_, archived, dependsOn, messages) => {
    const { tasks, problems } = parsePrd(
      PATH,
      JSON.stringify({ tasks: [{ id: 'A', title: 'a', depends_on: ['Z'] }] }),
      JSON.stringify({ tasks: [archived] }),
    );
    expect(tasks[0]?.task.dependsOn).toEqual(dependsOn);
    expect(problems.map(({ message }) => message)).toEqual(messages);
  });

  test('an archive that cannot be read says of nothing that it is done', () => {
    const { tasks } = parsePrd(PATH, '{"tasks":[{"id":"A","title":"a","depends_on":["B"]}]}', '{"tasks":[');
    expect(tasks[0]?.task.dependsOn).toEqual(['prd-B']);
  });

  test('the same in two members is said and waited for once; an id of any text is a safe one', () => {
    const prd = { tasks: [{ id: 'A', title: 'a', depends_on: ['x y'], dependencies: ['x y', true, ['B'], null] }] };
    expect(read(prd).tasks[0]?.task.dependsOn).toEqual([`prd-x-y-${hashId('x y')}`]);
    expect(problemsOf(prd)).toEqual([
      '7: depends on "x y", which is not in this file, so it is not worked on',
      '11: `dependencies` names other entries by their ids, but this is true or false',
      '12: `dependencies` names other entries by their ids, but this is an array',
      '15: `dependencies` names other entries by their ids, but this is null',
    ]);
  });

  test('one that is not in the file stays, and is a problem with its line', () => {
    const prd = { tasks: [{ id: 'A', title: 'a', depends_on: ['B', {}] }] };
    expect(read(prd).tasks[0]?.task.dependsOn).toEqual(['prd-B']);
    expect(problemsOf(prd)).toEqual([
      '7: depends on "B", which is not in this file, so it is not worked on',
      '8: `depends_on` names other entries by their ids, but this is an object',
    ]);
  });
});

test.each<[string, object, string]>([
  [
    'every part in its order',
    { notes: 'n', tests: 't', acceptanceCriteria: ['a'], acceptance_criteria: ['b'], details: 'd', description: 'e' },
    'e\n\nd\n\nAcceptance criteria:\n\n- a\n- b\n\nTests: t\n\nNotes: n',
  ],
  ['numbers as texts', { description: 7, notes: 8 }, '7\n\nNotes: 8'],
  ['nothing of other kinds', { description: true, details: ['d'], tests: null, notes: {} }, ''],
  ['one criterion without an array', { acceptanceCriteria: ' it works ' }, 'Acceptance criteria:\n\n- it works'],
  ['no criteria', { acceptanceCriteria: null, acceptance_criteria: [' ', ''] }, ''],
  [
    'criteria of other kinds as JSON',
    { acceptanceCriteria: [{ a: 1 }, true] },
    'Acceptance criteria:\n\n- {"a":1}\n- true',
  ],
  ['criteria of several lines', { acceptanceCriteria: ['a\r\nb\rc'] }, 'Acceptance criteria:\n\n- a\n  b\n  c'],
  ['nothing of what nobody sees', { description: '<!-- x -->', notes: ' y ' }, 'Notes: y'],
])('the body has %s', (_, entry, body) => {
  expect(readTask(entry)?.task.body).toBe(body);
});

test.each([
  [true, true],
  [false, false],
  ['true', false],
  [undefined, false],
])('optional: %j is %s', (optional, expected) => {
  expect(readTask({ optional })?.task.optional).toBe(expected);
});

describe('text of any kind is cleaned', () => {
  test.each([
    ['a title over lines', 'One\r\ntwo', 'One two'],
    ['NUL and direction marks', 'a\u0000b\u202Ec', 'abc'],
    ['a comment', 'Fix <!-- no -->it', 'Fix it'],
  ])('%s', (_, title, expected) => {
    expect(readTask({ title })?.task.title).toBe(expected);
  });

  test('a title without the end of a comment stays one line', () => {
    expect(readTask({ title: 'a --> b' })?.task.title).toBe('a --> b');
  });

  test('a description of 60,000 characters is cut', () => {
    expect(readTask({ description: 'word '.repeat(12_000) })?.task.body.length).toBeLessThanOrEqual(20_000);
  });

  test('what a description leaves open does not swallow the criteria', () => {
    expect(readTask({ description: 'Do <!-- it', acceptanceCriteria: ['it works', 'a\nb', 3] })?.task.body).toBe(
      'Do\n\nAcceptance criteria:\n\n- it works\n- a\n  b\n- 3',
    );
  });
});

describe('a file that is not a list of tasks has none, and says why', () => {
  test.each<[string, string, string]>([
    [
      'a file cut off in the middle',
      STORIES_FORM.slice(0, 300),
      '11:7 not valid JSON: the file ends in the middle of a value. None of its tasks are read',
    ],
    [
      'a trailing comma',
      '{\n "tasks": [\n  {"title": "a"},\n ]\n}',
      '4:2 not valid JSON: expected a value (and no comma before `]`). None of its tasks are read',
    ],
    ['nothing', '', '1:1 not valid JSON: the file ends in the middle of a value. None of its tasks are read'],
    ['a number', '42', '1:1 it is a number, not an object with `tasks` or `userStories`'],
    ['null', 'null', '1:1 it is null, not an object with `tasks` or `userStories`'],
    ['an array', '[{"id":1,"title":"a"}]', '1:1 it is an array, not an object with `tasks` or `userStories`'],
    ['an object without a list', '{"features": []}', '1:1 it has neither `tasks` nor `userStories`'],
    ['an invalid list', '{"tasks": {}}', '1:11 `tasks` is an object, not an array'],
    ['invalid stories', '{"userStories": true}', '1:17 `userStories` is true or false, not an array'],
    [
      'a list that comes again',
      '{"tasks": [{"title": "a"}], "tasks": []}',
      '1:2 there is another `tasks` below, and only the last one is read: put the entries into one list',
    ],
  ])('%s', (_, text, expected) => {
    const { tasks, problems } = parsePrd(PATH, text);
    expect(tasks).toEqual([]);
    expect(problems.map(({ line, column, message }) => `${String(line)}:${String(column)} ${message}`)).toEqual([
      expected,
    ]);
    expect(problems).toMatchObject([{ file: PATH, hidesTasks: true }]);
  });

  test('an invalid entry is reported and the others are read', () => {
    const prd = { tasks: ['Do it', null, { id: 'A' }, {}, { description: 'First line\nsecond' }] };
    expect(read(prd).tasks.map(({ task }) => task.title)).toEqual(['A', 'First line']);
    expect(problemsOf(prd)).toEqual([
      '3: an entry that is a string is not a task: expected an object with a title',
      '4: an entry that is null is not a task: expected an object with a title',
      '8: an entry without a title is not a task',
    ]);
  });

  test('of more than 1,000 entries the first are read', () => {
    const { tasks, problems } = read({
      tasks: Array.from({ length: 1_002 }, (_, index) => ({ id: index, title: `Task ${String(index)}` })),
    });
    expect(tasks).toHaveLength(1_000);
    expect(problems).toEqual([
      { file: PATH, line: 4_003, column: 5, message: 'only the first 1000 of 1002 entries are read', hidesTasks: true },
    ]);
  });
});

const anyEntry = fc.oneof(
  fc.jsonValue({ maxDepth: 1 }),
  fc.record(
    {
      id: fc.oneof(fc.string(), fc.nat(3), fc.constantFrom('A', 'a b', 'a/b')),
      title: fc.oneof(fc.string(), fc.constantFrom('same', 'other')),
      status: fc.jsonValue({ maxDepth: 0 }),
      depends_on: fc.jsonValue({ maxDepth: 1 }),
    },
    { requiredKeys: [] },
  ),
);

test('whatever the entries: each with a title is a task with an id of its own, letters, digits, `.`, `_` and `-`, at most 80', () => {
  fc.assert(
    fc.property(fc.array(anyEntry, { maxLength: 8 }), fc.boolean(), (entries, stories) => {
      const { tasks, problems } = read({ [stories ? 'userStories' : 'tasks']: entries });
      const ids = tasks.map(({ task }) => task.id);
      expect(new Set(ids).size).toBe(ids.length);
      for (const id of ids) expect(id).toMatch(/^prd-[A-Za-z0-9._-]{1,76}$/);
      expect(tasks.length + problems.filter(({ message }) => message.includes('is not a task')).length).toBe(
        entries.length,
      );
    }),
  );
});
