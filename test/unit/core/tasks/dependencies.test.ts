import { describe, expect, test } from 'vitest';
import {
  listIssuesToLookUp,
  settleDependencies,
  type AwaitedIssue,
  type DependentTask,
} from '../../../../src/core/tasks/dependencies.ts';
import { isPlanComplete, chooseNextTask } from '../../../../src/core/tasks/queue.ts';
import { task } from '../core-fixtures.ts';
import { cpuMs } from '../../../cpu.ts';

type State = 'open' | 'closed' | 'missing';
const issue = (number: number): AwaitedIssue => ({ kind: 'issue', number });
/** Returns dependent tasks: `3: [5]` means that #3 waits for #5. */
const dependents = (waits: Readonly<Record<number, readonly (number | AwaitedIssue)[]>>): readonly DependentTask[] =>
  Object.entries(waits).map(([number, on]) => ({
    task: task(Number(number)),
    name: `#${number}`,
    waitsFor: on.map((awaited) => (typeof awaited === 'number' ? issue(awaited) : awaited)),
  }));
const settle = (
  waits: Parameters<typeof dependents>[0],
  states: Readonly<Record<number, State>> = {},
  done: readonly string[] = [],
) =>
  settleDependencies(dependents(waits), {
    states: new Map(Object.entries(states).map(([number, state]) => [Number(number), state])),
    isDone: (id) => done.includes(id),
  });
const obstacles = ({ tasks }: ReturnType<typeof settle>) =>
  Object.fromEntries(tasks.filter(({ obstacle }) => obstacle !== null).map(({ id, obstacle }) => [id, obstacle]));

describe('what a task waits for', () => {
  test.each<[string, readonly (number | AwaitedIssue)[], Readonly<Record<number, State>>, readonly string[]]>([
    ['another task of the lane', [2], {}, ['issue-2']],
    ['an open issue that is not a task', [9], { 9: 'open' }, ['issue-9']],
    ['not a closed issue', [9], { 9: 'closed' }, []],
    ['each once', [2, 2, 9], { 9: 'open' }, ['issue-2', 'issue-9']],
    ['an entry of its own file', [{ kind: 'task', id: 'issue-2' }], {}, ['issue-2']],
    ['an open issue of another repository', [{ kind: 'elsewhere', name: 'acme/api#4' }], {}, ['elsewhere-acme.api.4']],
  ])('%s', (_, on, states, expected) => {
    const { tasks, warnings } = settle({ 1: on, 2: [] }, states);
    expect(tasks[0]).toMatchObject({ dependsOn: expected, obstacle: null });
    expect(warnings).toEqual([]);
  });

  test('itself, which is ignored and said', () => {
    const { tasks, warnings } = settle({ 1: [1, 2], 2: [] });
    expect(tasks[0]).toMatchObject({ dependsOn: ['issue-2'], obstacle: null });
    expect(warnings).toEqual(['#1 says that it depends on itself, which is ignored.']);
  });

  test.each<[string, number | AwaitedIssue, Readonly<Record<number, State>>, string]>([
    ['an issue that does not exist', 99, { 99: 'missing' }, '#99'],
    ['an issue that nobody could be asked about', 99, {}, '#99'],
  ])('%s: the task is held, and the report names which', (_, on, states, name) => {
    const settled = settle({ 1: [on], 2: [] }, states);
    expect(obstacles(settled)).toEqual({ 'issue-1': 'dependency-unknown' });
    expect(settled.warnings).toEqual([
      `#1 depends on ${name}, which does not exist, so it is not worked on. Correct its text, or remove the dependency.`,
    ]);
  });

  test('an entry that its file does not have: the task is held, and its file has said which', () => {
    const settled = settle({ 1: [{ kind: 'task', id: 'prd-US-9' }, 99], 2: [] });
    expect(obstacles(settled)).toEqual({ 'issue-1': 'dependency-unknown' });
    expect(settled.warnings.join()).toMatch(/^#1 depends on #99, which does not exist[^9]*$/);
    const alone = settle({ 1: [{ kind: 'task', id: 'prd-US-9' }] });
    expect([obstacles(alone), alone.warnings]).toEqual([{ 'issue-1': 'dependency-unknown' }, []]);
  });

  test('nothing, once it is done', () => {
    expect(settle({ 1: [99], 2: [] }, { 99: 'missing' }, ['issue-1'])).toMatchObject({
      tasks: [{ dependsOn: [], obstacle: null }, {}],
      warnings: [],
    });
  });

  test('a task done on this lane, although its issue is still open and has stopped being a task', () => {
    const { tasks } = settle({ 1: [9] }, { 9: 'open' }, ['issue-9']);
    expect(
      chooseNextTask(
        tasks,
        {
          'issue-9': { state: 'done', attempts: 1, startedTree: null, doneCommit: null, reason: null, setAside: null },
        },
        null,
      )?.id,
    ).toBe('issue-1');
  });

  test('an obstacle that is there stays', () => {
    const held: DependentTask = { task: task(1, { obstacle: 'needs-approval' }), name: '#1', waitsFor: [issue(99)] };
    expect(settleDependencies([held], { states: new Map(), isDone: () => false }).tasks[0]?.obstacle).toBe(
      'needs-approval',
    );
  });
});

describe('circles', () => {
  test.each<[string, Parameters<typeof dependents>[0], readonly string[], readonly string[]]>([
    ['of two', { 3: [5], 5: [3] }, ['issue-3', 'issue-5'], ['#3 → #5 → #3']],
    ['of three', { 3: [5], 5: [7], 7: [3] }, ['issue-3', 'issue-5', 'issue-7'], ['#3 → #5 → #7 → #3']],
    ['with one that only waits for them', { 1: [3], 3: [5], 5: [3] }, ['issue-3', 'issue-5'], ['#3 → #5 → #3']],
    ['with one that only they wait for', { 1: [], 3: [5, 1], 5: [3] }, ['issue-3', 'issue-5'], ['#3 → #5 → #3']],
    [
      'and a bridge between two',
      { 1: [2], 2: [1, 4], 4: [5], 5: [6], 6: [5] },
      ['issue-1', 'issue-2', 'issue-5', 'issue-6'],
      ['#1 → #2 → #1', '#5 → #6 → #5'],
    ],
    [
      'through one task',
      { 1: [2, 3], 2: [1], 3: [1] },
      ['issue-1', 'issue-2', 'issue-3'],
      ['#1 → #2 → #1', '#3 → #1 → #3'],
    ],
    ['none', { 1: [2], 2: [3], 3: [] }, [], []],
  ])('%s', (_, waits, held, walks) => {
    const settled = settle(waits);
    expect(obstacles(settled)).toEqual(Object.fromEntries(held.map((id) => [id, 'dependency-cycle'])));
    expect(settled.warnings).toEqual(
      walks.map(
        (walk) => `${walk}: these depend on each other, so none of them can start. Remove one of the dependencies.`,
      ),
    );
  });

  test('do not include a task that is done', () => {
    expect(obstacles(settle({ 3: [5], 5: [3] }, {}, ['issue-5']))).toEqual({});
  });

  test('never lets the plan be complete, nor anything else stop', () => {
    const { tasks } = settle({ 1: [], 3: [5], 5: [3] });
    const done = {
      'issue-1': { state: 'done', attempts: 1, startedTree: null, doneCommit: null, reason: null, setAside: null },
    } as const;
    expect(chooseNextTask(tasks, {}, null)?.id).toBe('issue-1');
    expect(isPlanComplete(tasks, done)).toBe(false);
  });

  test('are found in a queue of a thousand that all wait for each other in a row', () => {
    const row = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => [index + 1, index === 999 ? [1] : [index + 2]]),
    );
    const cost = cpuMs(() => {
      expect(Object.keys(obstacles(settle(row)))).toHaveLength(1000);
    });
    expect(cost).toBeLessThan(2_000);
  });
});

test('two thousand tasks that wait in a row for a circle are not part of it, and cost no seconds', () => {
  const row = Object.fromEntries(
    Array.from({ length: 2000 }, (_, index) => [index + 1, index === 1999 ? [1999] : [index + 2]]),
  );
  const cost = cpuMs(() => {
    expect(Object.keys(obstacles(settle(row)))).toEqual(['issue-1999', 'issue-2000']);
  });
  expect(cost).toBeLessThan(1_000);
});

test('only issues that are not tasks are looked up, each once', () => {
  const all = dependents({
    1: [2, 9, 7],
    2: [9, { kind: 'elsewhere', name: 'a/b#5' }, { kind: 'task', id: 'issue-6' }],
  });
  expect(
    listIssuesToLookUp(
      all,
      all.map(({ task: one }) => one),
    ),
  ).toEqual([7, 9]);
});
