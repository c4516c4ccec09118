import { describe, expect, test } from 'vitest';
import { costly } from '../../../../cpu.ts';
import { nameOfTask } from '../../../../../src/core/tasks/task.ts';
import { parsePlan } from '../../../../../src/core/tasks/files/plan.ts';
import { optionalSections } from '../../core-fixtures.ts';

const read = (text: string) => parsePlan('plan.md', text, optionalSections);
/** Returns `title` for an open box and `x title` for a done one. */
const boxes = (text: string): readonly string[] =>
  read(text).tasks.map(({ task, state }) => (state === 'done' ? `x ${task.title}` : task.title));
const ids = (text: string): readonly string[] => read(text).tasks.map(({ task }) => task.id);
const priorities = (text: string): readonly number[] => read(text).tasks.map(({ task }) => task.priority);
const problems = (text: string): readonly string[] =>
  read(text).problems.map(({ line, message }) => `${String(line)}: ${message}`);
const lines = (...text: readonly string[]): string => text.join('\n');

describe('a box is one character in brackets at the start of a list item, and white space', () => {
  test.each<[string, string, readonly string[]]>([
    [
      'all bullets',
      lines('- [ ] a', '', '* [ ] b', '', '+ [ ] c', '', '1. [ ] d', '', '2) [ ] e'),
      ['a', 'b', 'c', 'd', 'e'],
    ],
    ['x and X are done', lines('- [x] a', '- [X] b'), ['x a', 'x b']],
    [
      'any other character is open',
      lines('- [~] a', '- [-] b', '- [✓] c', '- [/] d', '- [🚧] e', '- [\u00a0] f', '- [*] g', '- [_] h'),
      ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'],
    ],
    ['a character with a variation selector', '- [\u2714\uFE0F] a', ['a']],
    ['none: empty or longer brackets', lines('- [] a', '- [NOTE] b', '- [#12] c', '- [xx] d', '- [  ] e'), []],
    ['none: no white space behind', lines('- [ ]a', '- [x](url) b', '- [x]: c'), []],
    ['none: no text behind', lines('- [ ]', '- [ ] ', '- [ ] <!-- add a task -->'), []],
    ['none: not at the start, or not in a list', lines('- a [ ] b', '', '[ ] c'), []],
    [
      'nested boxes are counted each',
      lines('- [ ] a', '  - [x] b', '    1. [ ] c', '- d', '  - [ ] e'),
      ['a', 'x b', 'c', 'e'],
    ],
    ['tabs', lines('-\t[ ]\ta', '\t- [ ] b'), ['a', 'b']],
    ['the text in the next line', lines('- [ ]', '  a', '-', '  [ ] b'), ['a', 'b']],
    ['none: quotes', lines('> - [ ] a', '', '- [ ] b', '  > - [ ] c'), ['b']],
    ['none: fences, closed or not', lines('```', '- [ ] a', '```', '- [ ] b', '', '~~~md', '- [ ] c'), ['b']],
    ['none: a fence in an item', lines('- [ ] a', '  ```', '  - [ ] b', '  ```'), ['a']],
    ['none: indented code', lines('text', '', '    - [ ] a'), []],
    [
      'none: HTML comments, closed or not',
      lines('<!--', '- [ ] a', '', '- [ ] b', '-->', '- [ ] c', '', '<!--', '- [ ] d'),
      ['c'],
    ],
    ['a reference of the same name makes it no link', lines('- [x] a', '', '[x]: http://example.org'), ['x a']],
    ['a byte order mark', '\uFEFF- [ ] a', ['a']],
    ['nothing', '', []],
  ])('%s', (_, text, expected) => {
    expect(boxes(text)).toEqual(expected);
    expect(boxes(text.replaceAll('\n', '\r\n')), 'with CR LF').toEqual(expected);
    expect(boxes(text.replaceAll('\n', '\r')), 'with CR').toEqual(expected);
  });
});

describe('headings', () => {
  test.each<[string, number]>([
    ['## High', 1],
    ['## High Priority', 1],
    ['### high priority (this week)', 1],
    ['## 🔴 High: now', 1],
    ['## 1. High', 1],
    ['## **High** Priority', 1],
    ['High\n---', 1],
    ['## Critical', 1],
    ['## P0', 1],
    ['## [P0] now', 1],
    ['## Priority: high', 1],
    ['## High-Priority ##', 1],
    ['## Medium Priority', 2],
    ['## P1 – next', 2],
    ['## Anything', 2],
    ['## Low Priority', 3],
    ['## P2', 3],
    ['## P3', 4],
    ['## Highlights', 2],
    ['## Low-level API', 2],
    ['## lower', 2],
    ['## P10', 2],
    ['## The high ones', 2],
  ])('%j gives priority %d', (heading, priority) => {
    expect(priorities(`${heading}\n- [ ] a`)).toEqual([priority]);
  });

  test('a priority holds for the headings below it, until one says otherwise', () => {
    expect(
      priorities(
        lines(
          '- [ ] a',
          '# High',
          '## Parser',
          '- [ ] b',
          '### Low',
          '- [ ] c',
          '## Printer',
          '- [ ] d',
          '# Later',
          '- [ ] e',
        ),
      ),
    ).toEqual([2, 1, 3, 1, 2]);
  });

  test.each<[string, boolean]>([
    ['## Optional', true],
    ['## OPTIONAL (later)', true],
    ['## 3. Optional', true],
    ['## *Optional*', true],
    ['# Future Work', true],
    ['## Nice to have', true],
    ['## Nice-to-haves', true],
    ['### (Optional) polish', true],
    ['## Optionally typed fields', false],
    ['## Futures market', false],
    ['## Not optional', false],
    ['## Nice', false],
  ])('under %j optional is %s', (heading, optional) => {
    expect(read(`${heading}\n- [ ] a`).tasks[0]?.task.optional).toBe(optional);
  });

  test('optional holds for the headings below it, and ends with it', () => {
    const { tasks } = read(lines('## Future', '### Parser', '- [ ] a', '## High', '- [ ] b'));
    expect(tasks.map(({ task }) => task.optional)).toEqual([true, false]);
  });

  test('a heading in a quote, a list or a fence does not count', () => {
    expect(priorities(lines('> ## High', '', '- ## High', '', '```', '## High', '```', '- [ ] a'))).toEqual([2]);
  });
});

describe('title and body', () => {
  test.each<[string, string]>([
    [
      '- [ ] Use *the* **new** `parse()` of [the docs](http://x "t"), a\\_b &amp; c',
      'Use the new parse() of the docs, a_b & c',
    ],
    ['- [ ] one\n  two\n  three', 'one two three'],
    ['- [ ] # no heading', '# no heading'],
    ['- [ ] 1. Install', '1. Install'],
    ['- [ ] a <!-- hidden --> b ![picture](x.png)', 'a b'],
    ['- [ ] [x] a', '[x] a'],
    ['- [*] do *this*', 'do this'],
  ])('%j has the title %j', (text, title) => {
    expect(read(text).tasks[0]?.task.title).toBe(title);
  });

  test('the body is the rest of the item without the boxes nested in it', () => {
    const { tasks } = read(
      lines(
        '- [ ] a',
        '',
        '  More of it.',
        '',
        '  - a note',
        '    - [ ] b',
        '',
        '      with a body',
        '',
        '  - another',
        '',
        '      code',
        '  - [ ] c',
        '- [ ] d',
      ),
    );
    expect(tasks.map(({ task }) => [task.title, task.body])).toEqual([
      ['a', 'More of it.\n\n- a note\n\n- another\n\n    code'],
      ['b', 'with a body'],
      ['c', ''],
      ['d', ''],
    ]);
  });

  test('a title that is too long is reported in full in the body', () => {
    const long = 'very '.repeat(60).trim();
    const [{ task } = { task: null }] = read(`- [ ] ${long}\n  - and more`).tasks;
    expect(task?.title.length).toBeLessThanOrEqual(200);
    expect(task?.body).toBe(`${long}\n\n- and more`);
  });

  test('hidden characters, NUL and comments of the body do not come through', () => {
    const [{ task } = { task: null }] = read('- [ ] a\u202eb\0c\n\n  d\u200be <!-- f -->').tasks;
    expect([task?.title, task?.body.trim()]).toEqual(['abc', 'de']);
  });

  test('people find it: path and line of the box', () => {
    expect(read('# Plan\n\ntext\n\n- [ ] a\n-\n  [ ] b').tasks.map(({ task }) => nameOfTask(task))).toEqual([
      'plan.md:5',
      'plan.md:7',
    ]);
  });
});

describe('ids', () => {
  const [id] = ids('- [ ] Add a parser');

  test('are `plan-` and twelve hex digits', () => {
    expect(id).toMatch(/^plan-[0-9a-f]{12}$/);
  });

  test.each([
    ['ticked', '- [x] Add a parser'],
    ['with another bullet and box', '1. [~] Add a parser'],
    ['emphasised', '- [ ] **Add** a `parser`'],
    ['wrapped', '- [ ] Add\n  a   parser'],
    ['moved below another heading', '# Plan\n\n## Low\n\n- [ ] Add a parser'],
    ['with a body, and boxes nested in it', '- [ ] Add a parser\n\n  for TOML\n  - [ ] tests'],
  ])('stay when the item is %s', (_, text) => {
    expect(ids(text)[0]).toBe(id);
  });

  test('stay when items are sorted', () => {
    expect(ids(lines('- [ ] b', '- [ ] Add a parser', '- [ ] a')).toSorted()).toEqual(
      ids(lines('- [ ] a', '- [ ] b', '- [ ] Add a parser')).toSorted(),
    );
  });

  test('the same title below another box is another task', () => {
    const [, first, , second] = ids(lines('- [ ] a', '  - [ ] tests', '- [ ] b', '  - [ ] tests'));
    expect(first).not.toBe(second);
  });

  test('the same title in the same place is distinguished by order, and reported, unless it is done', () => {
    const text = lines('- [x] same', '- [x] same', '- [ ] same');
    const [first = ''] = ids(text);
    expect(ids(text)).toEqual([first, `${first}-2`, `${first}-3`]);
    expect(problems(text)).toEqual(['3: has the same title as line 1: only their order tells them apart']);
  });
});

describe('dependencies', () => {
  const waits = (text: string): Readonly<Record<string, readonly string[]>> => {
    const { tasks } = read(text);
    const titles = new Map(tasks.map(({ task }) => [task.id, task.title]));
    return Object.fromEntries(
      tasks.map(({ task }) => [task.title, task.dependsOn.map((other) => titles.get(other) ?? other)]),
    );
  };

  test('a box waits for those nested in it, done or not, at any depth of plain items', () => {
    expect(waits(lines('- [ ] a', '  - [x] b', '  - note', '    - [ ] c', '      - [ ] d'))).toEqual({
      a: ['b', 'c'],
      b: [],
      c: ['d'],
      d: [],
    });
  });

  test.each<[string, string, readonly string[]]>([
    ['an issue', 'Depends on #12 and #13', ['issue-12', 'issue-13']],
    ['an item by the name that it begins with', 'blocked by T1', ['T1: first']],
    ['names in any case', 'depends on: t1, us-7', ['T1: first', '[US-7] second']],
    ['an item with a blank in its name', 'depends on Task 3', ['Task 3 - third']],
    ['a name that is in the file, but on no item', 'depends on T9', ['plan-t9']],
    ['a word that is not a name here', 'depends on HTTP2 and Python3', []],
    ['code', '`depends on T1`', []],
    ['a name twice', 'depends on T1. Blocked by t1', ['T1: first']],
  ])('%s', (_, said, expected) => {
    const plan = lines('- [ ] T1: first', '- [ ] [US-7] second', '- [ ] Task 3 - third', '- [ ] last', '', `  ${said}`);
    expect(waits(plan)['last']).toEqual(expected);
  });

  test.each([
    ['T7: a', 'T7'],
    ['[T7] a', 'T7'],
    ['(T7) a', 'T7'],
    ['T7. a', 'T7'],
    ['T7 : a', 'T7'],
    ['T7 – a', 'T7'],
    ['T7 — a', 'T7'],
    ['T7 - a', 'T7'],
    ['T7.2: a', 'T7.2'],
    ['T7-2: a', 'T7-2'],
    ['US-7: a', 'us-7'],
    ['my_task7: a', 'my_task7'],
    ['Story.7: a', 'story.7'],
    ['ABC-7 a', 'abc-7'],
  ])('%j begins with the name %s', (title, name) => {
    expect(waits(lines(`- [ ] ${title}`, '- [ ] last', '', `  depends on ${name}`))['last']).toEqual([title]);
  });

  test.each([['T7 a'], ['T7a: b'], ['a T7: b'], ['T7.a'], ['T7 -a'], ['T7- a'], ['abc-7 a'], ['an ABC-7 a']])(
    '%j begins with no name',
    (title) => {
      expect(
        problems(lines(`- [ ] ${title}`, '- [ ] T1: a', '- [ ] ABC-1: a', '', '  depends on T7 and ABC-7')),
      ).toEqual([
        '3: depends on T7, but no item begins with that name, so it is not worked on',
        '3: depends on ABC-7, but no item begins with that name, so it is not worked on',
      ]);
    },
  );

  test('of two items with the same name the first one is meant', () => {
    expect(waits(lines('- [ ] T1: a', '- [ ] T1: b', '- [ ] c', '', '  depends on T1'))['c']).toEqual(['T1: a']);
  });

  test('a name that no item begins with is said, with the line', () => {
    expect(problems(lines('- [ ] T1: a', '', '- [ ] T2: b (depends on T3)'))).toEqual([
      '3: depends on T3, but no item begins with that name, so it is not worked on',
    ]);
  });

  test('neither itself nor a box around it', () => {
    expect(waits(lines('- [ ] T1: a', '  - [ ] T2: depends on T1 and T2'))).toEqual({
      'T1: a': ['T2: depends on T1 and T2'],
      'T2: depends on T1 and T2': [],
    });
  });
});

describe('large plans', () => {
  test('of more than 1,000 items open ones stay first, and it is said', () => {
    const { tasks, problems: reported } = read(
      lines(
        ...Array.from({ length: 900 }, (_, index) => `- [x] done ${String(index)}`),
        ...Array.from({ length: 200 }, (_, index) => `- [ ] open ${String(index)}`),
      ),
    );
    expect(tasks).toHaveLength(1_000);
    expect(tasks.filter(({ state }) => state === 'todo')).toHaveLength(200);
    expect(reported).toEqual([
      {
        file: 'plan.md',
        line: null,
        column: null,
        message: 'only 1000 of its 1100 items are tasks, open ones first: remove what is done',
      },
    ]);
  });

  test('of more than 1,000 open items the first stay, and that others are hidden is said', () => {
    const open = (count: number) =>
      read(Array.from({ length: count }, (_, index) => `- [ ] a${String(index)}`).join('\n'));
    expect(open(1_000).problems).toEqual([]);
    const { tasks, problems: reported } = open(1_001);
    expect(tasks.at(-1)?.task.title).toBe('a999');
    expect(reported).toMatchObject([{ line: null, hidesTasks: true }]);
  });

  test('those that stay are in the order of the file', () => {
    const { tasks } = read(
      lines(...Array.from({ length: 1_001 }, (_, index) => `- [${index % 2 === 0 ? 'x' : ' '}] a${String(index)}`)),
    );
    const numbers = tasks.map(({ task }) => Number(task.title.slice(1)));
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(numbers.slice(-2)).toEqual([998, 999]);
  });

  test('a parent does not wait for a done child that was left out', () => {
    const { tasks } = read(
      lines('- [ ] parent', ...Array.from({ length: 1_100 }, (_, index) => `  - [x] done ${String(index)}`)),
    );
    const known = new Set(tasks.map(({ task }) => task.id));
    expect(tasks[0]?.task.dependsOn.every((id) => known.has(id))).toBe(true);
  });

  test('lines beyond 5,000 are not read, and it is said', () => {
    const { tasks, problems: reported } = read(`${'text\n'.repeat(4_998)}\n- [ ] last\n- [ ] beyond\n`);
    expect(tasks.map(({ task }) => task.title)).toEqual(['last']);
    expect(reported).toEqual([
      {
        file: 'plan.md',
        line: 5_001,
        column: null,
        message: 'only the first 5000 lines are read: split the plan, or remove what is done',
        hidesTasks: true,
      },
    ]);
  });

  costly.each<[string, string, number]>([
    [
      'a thousand boxes, each nested in the one before',
      Array.from({ length: 1_000 }, (_, depth) => `${'  '.repeat(depth)}- [ ] a ${String(depth)}`).join('\n'),
      1_000,
    ],
    ['a box below 60,000 quotes', `${'>'.repeat(60_000)}\n\n- [ ] a`, 1],
    ['a box below 30,000 bullets', `${'- '.repeat(30_000)}\n\n- [ ] a`, 1],
    ['a box of 60,000 stars', `- [ ] ${'*'.repeat(30_000)}a${'*'.repeat(30_000)}`, 1],
  ])('%s: hostile text is read in no time', (_, text, count) => {
    expect(read(text).tasks).toHaveLength(count);
  });
});
