import { describe, expect, test } from 'vitest';
import { parseBeads } from '../../../../../src/core/tasks/files/beads.ts';
import { hashId } from '../../../../../src/core/tasks/ids.ts';
import { costly, cpuMs } from '../../../../cpu.ts';

type Fields = Readonly<Record<string, unknown>>;
const PATH = '.beads/issues.jsonl';
/** Returns a line as `bd export` writes it. */
const bead = (id: string, fields: Fields = {}): string =>
  JSON.stringify({
    id,
    title: `Title of ${id}`,
    description: '',
    status: 'open',
    priority: 2,
    issue_type: 'task',
    created_at: '2025-12-13T08:41:34.956552+11:00',
    updated_at: '2025-12-13T08:43:49.970591+11:00',
    ...fields,
  });
const link = (from: string, to: string, type: string): Fields => ({
  issue_id: from,
  depends_on_id: to,
  type,
  created_at: '2025-12-13T08:44:50+11:00',
  created_by: 'daemon',
});
const read = (...lines: readonly string[]) => parseBeads({ [PATH]: `${lines.join('\n')}\n` });
const waits = (...lines: readonly string[]): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(read(...lines).tasks.map(({ task }) => [task.id, task.dependsOn]));

test('an issue as a task', () => {
  expect(
    read(
      bead('bd-a1.2', {
        description: 'Do *it*.',
        design: 'So.',
        acceptance_criteria: '- works',
        notes: 'soon',
        priority: 0,
      }),
    ),
  ).toEqual({
    tasks: [
      {
        state: 'todo',
        task: {
          id: 'beads-bd-a1.2',
          title: 'Title of bd-a1.2',
          body: 'Do *it*.\n\nSo.\n\nAcceptance criteria:\n\n- works\n\nNotes: soon',
          source: { kind: 'beads', path: PATH, key: 'bd-a1.2' },
          comments: [],
          priority: 1,
          dependsOn: [],
          optional: false,
          obstacle: null,
        },
      },
    ],
    problems: [],
  });
});

test.each<[string, string, boolean]>([
  ['open', 'todo', false],
  ['in_progress', 'in-progress', false],
  ['hooked', 'in-progress', false],
  ['blocked', 'blocked', false],
  ['closed', 'done', false],
  ['deferred', 'blocked', true],
])('status %s is state %s', (status, state, optional) => {
  expect(read(bead('bd-1', { status })).tasks).toMatchObject([{ state, task: { optional } }]);
});

test.each(['ready', 'constructor'])('an unknown status counts as open, and is said: %s', (status) => {
  expect(read(bead('bd-1', { status }))).toMatchObject({
    tasks: [{ state: 'todo' }],
    problems: [{ file: PATH, line: 1, column: null, message: `the status "${status}" is unknown and counts as open` }],
  });
});

test.each<[string, Fields, number]>([
  ['0', { priority: 0 }, 1],
  ['4', { priority: 4 }, 5],
  ['none', { priority: undefined }, 3],
  ['nonsense', { priority: 'x' }, 3],
  ['below 0', { priority: -1 }, 3],
  ['above 4', { priority: 5 }, 3],
  ['1.5', { priority: 1.5 }, 3],
])('priority %s', (_, fields, priority) => {
  expect(read(bead('bd-1', fields)).tasks[0]?.task.priority).toBe(priority);
});

test.each<[string, Fields, string]>([
  ['each part alone', { description: 'a <!-- b', design: ' c ', notes: 'd' }, 'a\n\nc\n\nNotes: d'],
  ['nothing of parts that nobody sees', { description: '<!-- a -->', design: 'b' }, 'b'],
  ['criteria alone', { acceptance_criteria: 'works' }, 'Acceptance criteria:\n\nworks'],
  ['nothing', {}, ''],
])('the body has %s', (_, fields, body) => {
  expect(read(bead('a', fields)).tasks[0]?.task.body).toBe(body);
});

test('an issue without a visible title is called by its id; a hidden character is not part of the id that people see', () => {
  expect(read(bead('a\u200B', { title: '\u200B' })).tasks[0]?.task).toMatchObject({
    title: 'Issue "a"',
    source: { key: 'a' },
  });
});

test('an issue that says that it is one is one', () => {
  expect(read(bead('a', { _type: 'issue' })).tasks).toHaveLength(1);
});

test.each<[string, Fields]>([
  ['deleted', { status: 'tombstone', deleted_at: '2025-12-17T16:11:17Z' }],
  ['pinned', { status: 'pinned' }],
  ['a pinned note', { pinned: true }],
  ['a template', { is_template: true }],
  ['ephemeral', { ephemeral: true }],
  ['a message', { issue_type: 'message' }],
  ['a gate', { issue_type: 'gate' }],
  ['an agent', { issue_type: 'agent' }],
  ['another kind of record', { _type: 'memory' }],
])('what is %s is neither a task nor a problem', (_, fields) => {
  expect(read(bead('bd-1', fields))).toEqual({ tasks: [], problems: [] });
});

describe('dependencies', () => {
  test.each<[string, readonly string[]]>([
    ['blocks', ['beads-b']],
    ['waits-for', ['beads-b']],
    ['conditional-blocks', ['beads-b']],
    ['related', []],
    ['discovered-from', []],
  ])('%s', (type, expected) => {
    expect(waits(bead('a', { dependencies: [link('a', 'b', type)] }), bead('b'))['beads-a']).toEqual(expected);
  });

  test('a parent waits for its children, not they for it', () => {
    expect(
      waits(
        bead('e', { issue_type: 'epic' }),
        bead('e.1', { dependencies: [link('e.1', 'e', 'parent-child')] }),
        bead('e.2', { dependencies: [link('e.2', 'e', 'parent-child')] }),
      ),
    ).toEqual({ 'beads-e': ['beads-e.1', 'beads-e.2'], 'beads-e.1': [], 'beads-e.2': [] });
  });

  test('what blocks a parent blocks everything below it', () => {
    const child = (id: string, parent: string): string =>
      bead(id, { dependencies: [link(id, parent, 'parent-child')] });
    expect(
      waits(
        bead('e', { dependencies: [link('e', 'x', 'blocks')] }),
        child('e.1', 'e'),
        child('e.1.1', 'e.1'),
        bead('x'),
      )['beads-e.1.1'],
    ).toEqual(['beads-x']);
  });

  test('an epic that is blocked by its own children makes no circle of them', () => {
    const child = (id: string): string => bead(id, { dependencies: [link(id, 'e', 'parent-child')] });
    expect(
      waits(
        bead('e', { dependencies: [link('e', 'e.1', 'blocks'), link('e', 'e.2', 'blocks')] }),
        child('e.1'),
        child('e.2'),
      ),
    ).toEqual({ 'beads-e': ['beads-e.1', 'beads-e.2'], 'beads-e.1': [], 'beads-e.2': [] });
  });

  test('what is deleted, or closed and no work, blocks no more; an open gate does', () => {
    const on = (id: string): Fields => link('a', id, 'blocks');
    expect(
      waits(
        bead('a', { dependencies: [on('gone'), on('shut'), on('gate'), on('done')] }),
        bead('gone', { status: 'tombstone' }),
        bead('shut', { status: 'closed', issue_type: 'gate' }),
        bead('gate', { issue_type: 'gate' }),
        bead('done', { status: 'closed' }),
      )['beads-a'],
    ).toEqual(['beads-gate', 'beads-done']);
  });

  test.each<[string, unknown, readonly string[]]>([
    ['a link that does not say its kind blocks', [{ depends_on_id: 'b' }], ['beads-b']],
    ['links with one that is invalid do not count', [{ depends_on_id: 'b' }, { type: 'blocks' }], []],
    ['twice the same is one', [link('a', 'b', 'blocks'), link('a', 'b', 'waits-for')], ['beads-b']],
    ['nothing waits for itself', [link('a', 'a', 'blocks'), link('a', 'a', 'parent-child')], []],
  ])('%s', (_, dependencies, expected) => {
    expect(waits(bead('a', { dependencies }), bead('b'))['beads-a']).toEqual(expected);
  });

  test('a parent does not wait for a child that waits for it', () => {
    expect(
      waits(bead('e'), bead('c', { dependencies: [link('c', 'e', 'parent-child'), link('c', 'e', 'blocks')] })),
    ).toEqual({ 'beads-e': [], 'beads-c': ['beads-e'] });
  });

  test('a child of several parents waits for what blocks any of them', () => {
    expect(
      waits(
        bead('c', { dependencies: [link('c', 'e', 'parent-child'), link('c', 'f', 'parent-child')] }),
        bead('e', { dependencies: [link('e', 'x', 'blocks')] }),
        bead('f', { dependencies: [link('f', 'y', 'blocks'), link('f', 'z', 'related')] }),
        bead('x'),
        bead('y'),
        bead('z'),
      ),
    ).toMatchObject({ 'beads-c': ['beads-x', 'beads-y'], 'beads-e': ['beads-c', 'beads-x'] });
  });

  test('a parent waits for children that are work, not for others', () => {
    const child = (id: string, fields: Fields = {}): string =>
      bead(id, { dependencies: [link(id, 'e', 'parent-child')], ...fields });
    expect(waits(bead('e'), child('a'), child('b', { issue_type: 'message' }), child('c', { pinned: true }))).toEqual({
      'beads-e': ['beads-a'],
      'beads-a': [],
    });
  });

  test('what is unknown is said once', () => {
    const { problems } = read(
      bead('b'),
      bead('a', { dependencies: [link('a', 'x', 'blocks'), link('a', 'x', 'waits-for')] }),
    );
    expect(problems).toEqual([
      {
        file: PATH,
        line: 2,
        column: null,
        message: 'depends on "x", which is not in this file, so it is not worked on',
      },
    ]);
  });

  test('what is not in the file stays, and is said', () => {
    expect(read(bead('a', { dependencies: [link('a', 'external:shop:cart', 'blocks')] }))).toMatchObject({
      tasks: [{ task: { dependsOn: [expect.stringMatching(/^beads-external-shop-cart-[0-9a-f]{12}$/)] } }],
      problems: [
        {
          file: PATH,
          line: 1,
          message: 'depends on "external:shop:cart", which is not in this file, so it is not worked on',
        },
      ],
    });
  });

  test('parents in a circle are answered', () => {
    expect(
      waits(
        bead('a', { dependencies: [link('a', 'b', 'parent-child')] }),
        bead('b', { dependencies: [link('b', 'a', 'parent-child')] }),
      ),
    ).toEqual({ 'beads-a': ['beads-b'], 'beads-b': ['beads-a'] });
  });
});

describe('lines', () => {
  test('one that cannot be read is said with its place, the others are read', () => {
    const { tasks, problems } = read(
      bead('a'),
      '<<<<<<< HEAD',
      '',
      bead('b').slice(0, -1),
      '[]',
      '{"id":"c"}',
      bead('d'),
    );
    expect(tasks.map(({ task }) => task.id)).toEqual(['beads-a', 'beads-d']);
    expect(problems.map(({ line, column }) => [line, column])).toEqual([
      [2, 1],
      [4, expect.any(Number)],
      [5, null],
      [6, null],
    ]);
    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^not valid JSON: .+\. This line is not read$/),
      expect.stringMatching(/^not valid JSON: .+\. This line is not read$/),
      'is not an issue: expected an object with an id and a title',
      'is not an issue: expected an object with an id and a title',
    ]);
    expect(problems.every(({ hidesTasks }) => hidesTasks === true)).toBe(true);
  });

  test.each<[string, unknown, unknown, string]>([
    ['the newer one', '2025-12-14T00:00:00Z', '2025-12-13T00:00:00Z', 'first'],
    ['the newer one', '2025-12-13T00:00:00Z', '2025-12-14T00:00:00Z', 'second'],
    ['the newer one in any time zone', '2025-12-13T01:00:00+02:00', '2025-12-13T00:00:00Z', 'second'],
    ['the last of equals', '2025-12-13T00:00:00Z', '2025-12-13T00:00:00Z', 'second'],
    ['the one whose time is known', '2025-12-13T00:00:00Z', 'yesterday', 'first'],
  ])('of two with the same id %s counts, and it is said', (_, first, second, title) => {
    const { tasks, problems } = read(
      bead('a', { title: 'first', updated_at: first }),
      bead('a', { title: 'second', updated_at: second }),
    );
    expect(tasks.map(({ task }) => task.title)).toEqual([title]);
    expect(problems).toMatchObject([
      {
        line: 2,
        message: `the id "a" is on line 1 already: ${title === 'first' ? 'that' : 'this'} line is newer and counts`,
      },
    ]);
  });

  test('CR LF, a byte order mark, wrong types and hidden characters', () => {
    const { tasks, problems } = parseBeads({
      [PATH]: `\uFEFF${bead('a', { title: 'a\u202e\nb\0', description: 7, dependencies: 'x', notes: null })}\r\n${bead('b')}\r\n`,
    });
    expect(tasks.map(({ task }) => [task.title, task.body, task.dependsOn])).toEqual([
      ['a b', '', []],
      ['Title of b', '', []],
    ]);
    expect(problems).toEqual([]);
  });

  test('a line of its own for the newest of several, which later ones name', () => {
    const at = (day: number, title: string): string =>
      bead('a', { title, updated_at: `2025-12-0${String(day)}T00:00:00Z` });
    const { tasks, problems } = read(at(2, 'second'), at(3, 'third'), at(1, 'first'));
    expect(tasks.map(({ task }) => task.title)).toEqual(['third']);
    expect(problems.map(({ line, message }) => `${String(line)}: ${message}`)).toEqual([
      '2: the id "a" is on line 1 already: this line is newer and counts',
      '3: the id "a" is on line 2 already: that line is newer and counts',
    ]);
  });

  test.each([
    [20_000, ['beads-last'], []],
    [
      20_001,
      [],
      [{ file: PATH, line: 20_001, column: null, message: 'only the first 20000 lines are read', hidesTasks: true }],
    ],
  ])('of %i lines the last is read or said', (count, ids, problems) => {
    const { tasks, problems: said } = parseBeads({ [PATH]: `${'\n'.repeat(count - 1)}${bead('last')}` });
    expect(tasks.map(({ task }) => task.id)).toEqual(ids);
    expect(said).toEqual(problems);
  });

  test.each([
    [1_000, []],
    [
      1_001,
      [
        {
          file: PATH,
          line: null,
          column: null,
          message: 'only 1000 of its 1001 issues are tasks, open ones first',
          hidesTasks: true,
        },
      ],
    ],
  ])('%i open issues: what is beyond the limit is said', (count, problems) => {
    const { tasks, problems: said } = read(...Array.from({ length: count }, (_, index) => bead(`o${String(index)}`)));
    expect(tasks).toHaveLength(1_000);
    expect(said).toEqual(problems);
  });

  test('more than 1,000 issues: open ones first, and it is said', () => {
    const { tasks, problems } = read(
      ...Array.from({ length: 1_000 }, (_, index) => bead(`c${String(index)}`, { status: 'closed' })),
      bead('last', { dependencies: [link('last', 'c999', 'blocks')] }),
    );
    expect(tasks).toHaveLength(1_000);
    expect(tasks.at(-1)?.task).toMatchObject({ id: 'beads-last', dependsOn: [] });
    expect(problems).toMatchObject([
      { line: null, message: 'only 1000 of its 1001 issues are tasks, open ones first' },
    ]);
  });
});

costly('thousands that are nested in each other and block each other are read at once', () => {
  const chain = Array.from({ length: 4_000 }, (_, at) =>
    bead(`b${String(at)}`, {
      dependencies: [
        link(`b${String(at)}`, `b${String(at + 1)}`, 'parent-child'),
        link(`b${String(at)}`, `b${String(at + 2)}`, 'blocks'),
      ],
    }),
  );
  const cost = cpuMs(() => {
    expect(read(...chain).tasks).toHaveLength(1_000);
  });
  expect(cost).toBeLessThan(5_000);
});

test.each<[string, readonly string[], string | null]>([
  ['issues.jsonl', ['.beads/beads.jsonl', '.beads/issues.jsonl'], '.beads/issues.jsonl'],
  ['else beads.jsonl', ['.beads/a.jsonl', '.beads/beads.jsonl'], '.beads/beads.jsonl'],
  [
    'else the first other one',
    ['.beads/deletions.jsonl', '.beads/interactions.jsonl', '.beads/beads.left.jsonl', '.beads/work.jsonl'],
    '.beads/work.jsonl',
  ],
  ['none', ['.beads/deletions.jsonl'], null],
])('the file: %s', (_, paths, expected) => {
  const { tasks } = parseBeads(Object.fromEntries(paths.map((path) => [path, bead('a')])));
  expect(tasks.map(({ task }) => (task.source.kind === 'beads' ? task.source.path : ''))).toEqual(
    expected === null ? [] : [expected],
  );
});

test('ids stay apart and within 80 characters', () => {
  const ids = read(bead('a b'), bead('a/b'), bead('x'.repeat(100)), bead(`${'x'.repeat(99)}y`)).tasks.map(
    ({ task }) => task.id,
  );
  expect(new Set(ids).size).toBe(4);
  for (const id of ids) expect(id).toMatch(/^[\w.-]{1,80}$/);
});

test.each([
  ['x'.repeat(74), `beads-${'x'.repeat(74)}`],
  ['x'.repeat(75), `beads-${'x'.repeat(61)}-${hashId('x'.repeat(75))}`],
])('an id of its own, %s, is the id %s', (own, id) => {
  expect(read(bead(own)).tasks[0]?.task.id).toBe(id);
});
