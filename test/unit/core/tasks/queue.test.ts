import { describe, expect, test } from 'vitest';
import { cleanText, cleanTitle } from '../../../../src/core/text/clean.ts';
import {
  countTasks,
  sortByPriority,
  isPlanComplete,
  chooseNextTask,
  getProgress,
  listTasksWithinReach,
} from '../../../../src/core/tasks/queue.ts';
import type { Task, TaskProgress } from '../../../../src/core/tasks/task.ts';
import { task } from '../core-fixtures.ts';

const is = (states: Record<number, TaskProgress['state']>): Record<string, TaskProgress> =>
  Object.fromEntries(
    Object.entries(states).map(([number, state]) => [
      `issue-${number}`,
      { state, attempts: 1, startedTree: null, doneCommit: null, reason: null, setAside: null },
    ]),
  );

describe('the next task', () => {
  const two = [task(1), task(2)];

  test.each<[string, readonly Task[], Record<number, TaskProgress['state']>, string | null, string | null]>([
    ['the first of equals', two, {}, null, 'issue-1'],
    ['the highest priority', [task(1), task(2, { priority: 1 })], {}, null, 'issue-2'],
    [
      'what is in progress, before a higher priority',
      [task(1), task(2, { priority: 1 })],
      { 1: 'in-progress' },
      null,
      'issue-1',
    ],
    ['the highest priority, whatever their order', [task(1, { priority: 1 }), task(2)], {}, null, 'issue-1'],
    ['what is in progress, wherever it stands', two, { 2: 'in-progress' }, null, 'issue-2'],
    ['the current one of several in progress', two, { 1: 'in-progress', 2: 'in-progress' }, 'issue-2', 'issue-2'],
    ['required before optional', [task(1, { optional: true, priority: 1 }), task(2)], {}, null, 'issue-2'],
    ['not one that is done', two, { 1: 'done' }, 'issue-1', 'issue-2'],
    ['not one that failed or is blocked', [...two, task(3)], { 1: 'failed', 2: 'blocked' }, null, 'issue-3'],
    ['not one that depends on open work', [task(1, { dependsOn: ['issue-2'] }), task(2)], {}, null, 'issue-2'],
    ['one whose dependency is done', [task(1, { dependsOn: ['issue-2'] }), task(2)], { 2: 'done' }, null, 'issue-1'],
    [
      'none when dependencies go in a circle',
      [task(1, { dependsOn: ['issue-2'] }), task(2, { dependsOn: ['issue-1'] })],
      {},
      null,
      null,
    ],
    ['none when the dependency is unknown', [task(1, { dependsOn: ['issue-9'] })], {}, null, null],
    ['none when nothing is left', two, { 1: 'done', 2: 'failed' }, null, null],
  ])('%s', (_, tasks, states, current, expected) => {
    expect(chooseNextTask(tasks, is(states), current)?.id ?? null).toBe(expected);
  });
});

test.each<[string, readonly Task[], Record<number, TaskProgress['state']>, number, readonly string[]]>([
  [
    'open tasks, in the order of work',
    [task(1), task(2, { priority: 1 }), task(3)],
    { 3: 'in-progress' },
    9,
    ['issue-3', 'issue-2', 'issue-1'],
  ],
  [
    'one that waits for another of them, behind it',
    [task(1, { dependsOn: ['issue-2'] }), task(2)],
    {},
    9,
    ['issue-2', 'issue-1'],
  ],
  ['not one that waits for something else', [task(1, { dependsOn: ['issue-9'] }), task(2)], {}, 9, ['issue-2']],
  ['not one that is held', [task(1, { obstacle: 'needs-approval' }), task(2)], {}, 9, ['issue-2']],
  [
    'what is next if a task is done at once, and what is next if it never is',
    [task(1, { priority: 1 }), task(2, { priority: 1, dependsOn: ['issue-1'] }), task(3), task(4)],
    {},
    2,
    ['issue-1', 'issue-2', 'issue-3'],
  ],
  ['no more than there are iterations', [task(1), task(2), task(3)], {}, 2, ['issue-1', 'issue-2']],
  [
    'none that is done, failed or blocked',
    [task(1), task(2), task(3), task(4)],
    { 1: 'done', 2: 'failed', 3: 'blocked' },
    9,
    ['issue-4'],
  ],
])('within the reach of a run: %s', (_, tasks, states, iterations, expected) => {
  expect(listTasksWithinReach(tasks, is(states), iterations)).toEqual(expected);
});

test('in the order of work: required, by priority, as they stand', () => {
  const tasks = [
    task(1, { optional: true, priority: 1 }),
    task(2, { priority: 3 }),
    task(3, { priority: 1 }),
    task(4, { priority: 3 }),
  ];
  expect(sortByPriority(tasks).map(({ id }) => id)).toEqual(['issue-3', 'issue-2', 'issue-4', 'issue-1']);
});

const plans: readonly (readonly [string, readonly Task[], Record<number, TaskProgress['state']>, boolean])[] = [
  ['no tasks', [], {}, false],
  ['nothing done', [task(1)], {}, false],
  ['all done', [task(1), task(2)], { 1: 'done', 2: 'done' }, true],
  ['one failed', [task(1), task(2)], { 1: 'done', 2: 'failed' }, false],
  ['open ones are optional', [task(1), task(2, { optional: true })], { 1: 'done' }, true],
  ['only an optional one is done', [task(1), task(2, { optional: true })], { 2: 'done' }, false],
  [
    'there are only optional ones, not all done',
    [task(1, { optional: true }), task(2, { optional: true })],
    { 1: 'done' },
    false,
  ],
  ['there are only optional ones, all done', [task(1, { optional: true })], { 1: 'done' }, true],
];
test.each(plans.map(([name, tasks, states, expected]) => ({ name, tasks, states, expected })))(
  'the plan is complete when $name: $expected',
  ({ tasks, states, expected }) => {
    expect(isPlanComplete(tasks, is(states))).toBe(expected);
  },
);

test('counts what completion waits for', () => {
  const tasks = [task(1), task(2), task(3), task(4), task(5, { optional: true })];
  expect(countTasks(tasks, is({ 1: 'done', 2: 'failed', 3: 'blocked' }))).toEqual({
    all: 5,
    done: 1,
    open: 4,
    requiredOpen: 3,
    failed: 1,
    blocked: 1,
    stuck: 0,
  });
});

test('an id that objects inherit is not progress', () => {
  expect(getProgress({}, 'constructor').state).toBe('todo');
});

describe('cleaning', () => {
  test.each([
    ['a<!-- x -->b', 'ab'],
    ['a<!-- x\ny -->b', 'ab'],
    ['a<!-- x to the end', 'a'],
    ['a<!-->b', 'ab'],
    ['a<!-- x --!>b', 'ab'],
    ['<!<!-- x -->-- y -->b', 'b'],
    ['a\u200Bb\u00ADc\u2060d\u2064e\u3164f', 'abcdef'],
    ['a\u{E0041}\u{E007F}b\uFE0Fc\u{E0100}d', 'abcd'],
    ['a\u202Eb\u2066c\u061Cd', 'abcd'],
    ['a\u0007\u001B[31mb\u0000', 'a[31mb'],
    ['a\uD800b', 'ab'],
    ['a\r\nb\rc', 'a\nb\nc'],
    ['a\u00A0b', 'a b'],
  ])('%j → %j', (text, expected) => {
    expect(cleanText(text).text).toBe(expected);
  });

  test.each([
    'Grüße, 你好, שלום, مرحبا',
    'done 🚀',
    '${{ x }} $(x) `rm -rf`',
    'ignore all previous instructions',
    'a < b -- c > d',
    '',
  ])('%j stays as it is', (text) => {
    expect(cleanText(text)).toMatchObject({ text, removed: 0 });
  });

  test('removed counts code points', () => {
    expect(cleanText('a<!-- 🚀 -->b\u{E0041}').removed).toBe(11);
  });

  test('a body is cut at 20,000 characters, not within one', () => {
    const { text, removed } = cleanText(`${'x'.repeat(19_999)}🚀yy`);
    expect(text).toBe('x'.repeat(19_999));
    expect(removed).toBe(3);
  });

  test('a title is one line of at most 200 characters', () => {
    expect(cleanTitle(' Fix\n\nthe <!-- no -->bug ').text).toBe('Fix the bug');
    expect(cleanTitle('y'.repeat(300))).toMatchObject({ text: 'y'.repeat(200), removed: 100 });
  });

  test('a title is not cut within a character', () => {
    expect(cleanTitle(`${'y'.repeat(199)}🚀`)).toMatchObject({ text: 'y'.repeat(199), removed: 1 });
  });

  test('comments in comments end in time', () => {
    const depth = 5_000;
    const { text } = cleanText(`${'<!<!-- -->'.repeat(1)}${'<!-'.repeat(depth)}${'->'.repeat(depth)}`);
    expect(text).not.toContain('<!--');
  });
});
