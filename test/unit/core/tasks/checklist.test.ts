import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareChecklists, tasksOfNewItems, type ChecklistFacts } from '../../../../src/core/tasks/checklist.ts';
import type { Checklist } from '../../../../src/core/evidence.ts';
import { needsVerification } from '../../../../src/core/lane/verdict/verdict.ts';
import { createInitialState } from '../../../../src/core/lane/state/state.ts';
import type { FileTask } from '../../../../src/core/tasks/files/form/root-plan.ts';
import type { Task, TaskProgress } from '../../../../src/core/tasks/task.ts';
import { analysis, evidence, noon, play, policy, progress, describeStep, task, type Play } from '../core-fixtures.ts';

/** Returns an item of the plan, such as `- [ ] a` with the id `plan-a`. */
function item(text: string, change: Partial<Task> = {}): FileTask {
  const [, box = ' ', title = ''] = /^\[(.)\] (.+)$/.exec(text) ?? [];
  const fileTask = task(0, {
    id: `plan-${title.replaceAll(' ', '-')}`,
    title,
    source: { kind: 'plan', path: '.ralph/fix_plan.md', line: 1 },
    ...change,
  });
  return { task: fileTask, state: box === 'x' ? 'done' : 'todo' };
}

const done: TaskProgress = {
  state: 'done',
  attempts: 1,
  startedTree: null,
  doneCommit: null,
  reason: null,
  setAside: null,
};

/**
 * Returns the facts of an iteration on `plan-a` that changed `before` to `after`; the lane knows every task of
 * `before`.
 */
function facts(
  before: readonly string[],
  after: readonly string[],
  change: Partial<ChecklistFacts> = {},
): ChecklistFacts {
  const listed = before.map((text) => item(text));
  return {
    before: listed,
    after: after.map((text) => item(text)),
    taskId: 'plan-a',
    tasks: listed.map((one) => one.task),
    progress: {},
    ...change,
  };
}

describe('the task files before and after an iteration on a', () => {
  test.each<[string, readonly string[], readonly string[], Partial<Checklist> | null]>([
    ['no file of tasks', [], [], null],
    ['nothing changed', ['[ ] a', '[x] b'], ['[ ] a', '[x] b'], { current: 'open', done: ['plan-b'] }],
    ['its box is ticked', ['[ ] a', '[ ] b'], ['[x] a', '[ ] b'], { current: 'done', done: ['plan-a'], finished: 1 }],
    [
      'its box was ticked before',
      ['[x] a', '[ ] b'],
      ['[x] a', '[ ] b'],
      { current: 'done', wasMarked: true, done: ['plan-a'], finished: 1 },
    ],
    [
      'another one is ticked, too',
      ['[ ] a', '[ ] b'],
      ['[x] a', '[x] b'],
      { current: 'done', done: ['plan-a', 'plan-b'], finished: 2 },
    ],
    ['another one alone', ['[ ] a', '[ ] b'], ['[ ] a', '[x] b'], { current: 'open', done: ['plan-b'], finished: 1 }],
    ['a box is opened again', ['[ ] a', '[x] b'], ['[ ] a', '[ ] b'], { current: 'open' }],
    ['it is deleted', ['[ ] a', '[ ] b'], ['[ ] b'], { current: 'gone', removed: 1 }],
    [
      'others are deleted',
      ['[ ] a', '[ ] b', '[ ] c'],
      ['[x] a'],
      { current: 'done', done: ['plan-a'], finished: 1, removed: 2 },
    ],
    ['a done one is deleted', ['[ ] a', '[x] b'], ['[ ] a'], { current: 'open' }],
    ['the file can no longer be read', ['[ ] a', '[ ] b'], [], { current: 'gone', removed: 2 }],
    ['its order changed', ['[ ] a', '[ ] b'], ['[ ] b', '[ ] a'], { current: 'open' }],
    ['an item is added', ['[ ] a'], ['[ ] a', '[ ] b'], { current: 'open', added: 1 }],
    ['a ticked item is added', ['[ ] a'], ['[ ] a', '[x] b'], { current: 'open', added: 1 }],
    [
      'it was reworded when it was ticked',
      ['[ ] a', '[ ] b'],
      ['[x] a (done in 1a2b3c)', '[ ] b'],
      { current: 'done', done: ['plan-a'], finished: 1 },
    ],
    [
      'it is deleted, and another one with a longer name is done',
      ['[ ] a', '[ ] b'],
      ['[x] a cart', '[ ] b'],
      { current: 'gone', removed: 1, added: 1 },
    ],
    ...[
      '✅ Read the header row',
      '[DONE] Read the header row',
      'Done: read the header row.',
      'Read header row',
      'Read the header row in src/header.ts',
      'Implemented: read the header row in src/csv.ts',
    ].map((title): [string, readonly string[], readonly string[], Partial<Checklist>] => [
      `at its place it became "${title}" when it was ticked`,
      ['[ ] Read the header row', '[ ] a'],
      [`[x] ${title}`, '[ ] a'],
      { current: 'open', done: ['plan-Read-the-header-row'], finished: 1 },
    ]),
    ...['✅ Add tests', 'DONE: add tests', 'Added tests', 'Add tests for CSV'].map(
      (title): [string, readonly string[], readonly string[], Partial<Checklist>] => [
        `at its place it became "${title}" when it was ticked`,
        ['[ ] Add tests', '[ ] a'],
        [`[x] ${title}`, '[ ] a'],
        { current: 'open', done: ['plan-Add-tests'], finished: 1 },
      ],
    ),
    [
      'a short one elsewhere is another one',
      ['[ ] Add tests', '[ ] a'],
      ['[ ] a', '[x] ✅ Add tests', '[ ] b', '[ ] c'],
      { current: 'open', removed: 1, added: 3 },
    ],
    ...[
      ['it became another task', '[x] Write the header'],
      ['it became much more', '[x] Read the header row and write the footer of each page again'],
      ['it was reworded and is open, with other letters', '[ ] read the header row'],
    ].map(([what = '', line = '']): [string, readonly string[], readonly string[], Partial<Checklist>] => [
      what,
      ['[ ] Read the header row', '[ ] a'],
      [line, '[ ] a'],
      { current: 'open', removed: 1, added: 1 },
    ]),
    [
      'it was reworded, and an item was added below it',
      ['[ ] Read the header row', '[ ] a'],
      ['[x] ✅ Read header row', '[ ] a', '[ ] b'],
      { current: 'open', done: ['plan-Read-the-header-row'], finished: 1, added: 1 },
    ],
    [
      'it was reworded, and an item was added above it',
      ['[ ] Read the header row', '[ ] a'],
      ['[ ] b', '[x] ✅ Read header row', '[ ] a'],
      { current: 'open', done: ['plan-Read-the-header-row'], finished: 1, added: 1 },
    ],
    [
      'it was reworded, and other items are gone',
      ['[ ] Read the header row', '[ ] a', '[ ] b'],
      ['[x] ✅ Read the header row', '[ ] a'],
      { current: 'open', done: ['plan-Read-the-header-row'], finished: 1, removed: 1 },
    ],
    [
      'it was moved and reworded with all of its words when it was ticked',
      ['[ ] Read the header row', '[ ] a', '[ ] b'],
      ['[ ] a', '[ ] b', '[x] 1. DONE: read the header row'],
      { current: 'open', done: ['plan-Read-the-header-row'], finished: 1 },
    ],
    [
      'it is gone, and an item with most of its words is ticked elsewhere',
      ['[ ] Read the header row', '[ ] a', '[ ] b'],
      ['[ ] a', '[x] Read the footer row', '[ ] b'],
      { current: 'open', removed: 1, added: 1 },
    ],
    [
      'it was reworded and is open',
      ['[ ] a', '[ ] b'],
      ['[ ] a, later', '[ ] b'],
      { current: 'gone', removed: 1, added: 1 },
    ],
    ['a file appeared', [], ['[ ] b'], { current: null, added: 1 }],
    ['its file does not list it', ['[ ] b'], ['[ ] b', '[x] a'], { current: null, added: 1 }],
  ])('%s', (_, before, after, expected) => {
    expect(compareChecklists(facts(before, after))).toEqual(
      expected === null
        ? null
        : { current: null, wasMarked: false, done: [], finished: 0, removed: 0, added: 0, ...expected },
    );
  });

  test('an item that moved, and got another id there, is still there', () => {
    const moved = { ...item('[x] a'), task: { ...item('[x] a').task, id: 'plan-elsewhere' } };
    expect(compareChecklists(facts(['[ ] a', '[ ] b'], [], { after: [moved, item('[ ] b')] }))).toMatchObject({
      current: 'done',
      removed: 0,
      added: 0,
    });
  });

  test('one new item is the successor of one old item alone', () => {
    const double = (id: string): FileTask => ({ ...item('[ ] a'), task: { ...item('[ ] a').task, id } });
    expect(
      compareChecklists(facts([], [], { before: [double('one'), double('two')], after: [double('three')] })),
    ).toMatchObject({ removed: 1, added: 0 });
  });

  test('what the lane has done, or does not know, is nothing new', () => {
    const { tasks } = facts(['[x] a'], []);
    expect(
      compareChecklists(
        facts(['[x] a', '[x] b', '[x] c'], ['[x] a', '[x] b', '[x] c'], {
          tasks: [...tasks, item('[x] b').task],
          progress: { 'plan-b': done },
        }),
      )?.done,
    ).toEqual(['plan-a']);
  });

  const box = fc.constantFrom('[ ] ', '[x] ');
  const list = fc
    .uniqueArray(fc.tuple(box, fc.constantFrom('a', 'b', 'c', 'd', 'a (done)')), { selector: ([, title]) => title })
    .map((rows) => rows.map(([mark, title]) => `${mark}${title}`));
  test('nothing is counted twice', () => {
    fc.assert(
      fc.property(list, list, (before, after) => {
        const found = compareChecklists(facts(before, after));
        if (found === null) return;
        const open = before.filter((text) => text.startsWith('[ ]')).length;
        expect(found.finished + found.removed).toBeLessThanOrEqual(open + 1);
        expect(found.added).toBeLessThanOrEqual(after.length);
        expect(tasksOfNewItems(facts(before, after)).length).toBeLessThanOrEqual(found.added);
      }),
    );
  });
});

describe('what the agent added', () => {
  test('becomes work of the lane, if it is open and new', () => {
    expect(
      tasksOfNewItems(facts(['[ ] a', '[ ] b'], ['[x] a (done)', '[ ] b', '[ ] c', '[x] d'])).map(({ id }) => id),
    ).toEqual(['plan-c']);
  });

  test('an item that was there before, and is not a task of the lane, stays so', () => {
    expect(tasksOfNewItems(facts(['[ ] a'], ['[ ] a'], { tasks: [] }))).toEqual([]);
  });

  test('depends on nothing that the lane does not know', () => {
    const added = item('[ ] c', { dependsOn: ['plan-a', 'plan-d', 'plan-x'] });
    const [found] = tasksOfNewItems(facts(['[ ] a'], [], { after: [item('[ ] a'), added, item('[ ] d')] }));
    expect(found?.dependsOn).toEqual(['plan-a', 'plan-d']);
  });

  test('of one iteration at most 20', () => {
    const many = Array.from({ length: 30 }, (_, at) => `[ ] new ${String(at)}`);
    expect(tasksOfNewItems(facts(['[ ] a'], ['[ ] a', ...many]))).toHaveLength(20);
  });
});

/** An iteration on the task `plan-a` of a lane that also has `plan-b`. */
const lane = [item('[ ] a').task, item('[ ] b').task];
const verifies = { ...policy, verifies: true };
const marked: Play['checklist'] = { current: 'done', done: ['plan-a'], finished: 1 };
const open: Play['checklist'] = { current: 'open' };
const claims: Play['output'] = { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } };

describe('a task of a file is done when its file says so, content changed or verify passes, and nothing contradicts it', () => {
  test.each<[string, readonly Play[], typeof policy, boolean]>([
    ['marked, and nothing said', [progress({ checklist: marked })], policy, true],
    [
      'marked, and IN_PROGRESS said',
      [
        progress({
          checklist: marked,
          output: { signal: { status: 'IN_PROGRESS', exitSignal: false, tasksCompleted: 0 } },
        }),
      ],
      policy,
      true,
    ],
    [
      'marked by an iteration that ran out of time',
      [progress({ checklist: marked, end: { kind: 'timeout', of: 'call' } })],
      policy,
      true,
    ],
    [
      'marked by an iteration that was cancelled',
      [progress({ checklist: marked, end: { kind: 'cancelled' } })],
      policy,
      false,
    ],
    [
      'claimed, and not marked',
      [progress({ checklist: open, output: { signal: { status: 'COMPLETE', exitSignal: false } } })],
      policy,
      false,
    ],
    ['a mark alone', [{ checklist: marked }], policy, false],
    ['a mark alone, verify passes', [{ checklist: marked, verification: 'passed' }], verifies, true],
    [
      'a mark alone, verify passed on this content before',
      [progress({ checklist: open, verification: 'passed' }), { checklist: marked }],
      verifies,
      true,
    ],
    ['a mark alone, verify fails', [{ checklist: marked, verification: 'failed' }], verifies, false],
    ['a mark after an earlier change', [progress({ checklist: open }), { checklist: marked }], policy, true],
    [
      'marked earlier, verify passes now',
      [
        progress({ checklist: marked, verification: 'failed' }),
        progress({ checklist: marked, verification: 'passed' }),
      ],
      verifies,
      true,
    ],
    ['marked, verify fails', [progress({ checklist: marked, verification: 'failed' })], verifies, false],
    ['marked, other items deleted', [progress({ checklist: { ...marked, removed: 1 } })], policy, false],
    [
      'marked, more claimed than marked',
      [progress({ checklist: marked, output: { signal: { tasksCompleted: 3 } } })],
      policy,
      false,
    ],
    ['marked, a file withheld', [progress({ checklist: marked, withheld: ['.env'] })], policy, false],
    [
      'not in its file on this branch, claimed',
      [progress({ checklist: { current: null }, output: claims })],
      policy,
      true,
    ],
    ['not in its file on this branch, not claimed', [progress({ checklist: { current: null } })], policy, false],
    ['deleted, claimed', [progress({ checklist: { current: 'gone', removed: 1 }, output: claims })], policy, false],
  ])('%s: %o', (_, script, bounds, expected) => {
    const { state, verdicts } = play(script, { tasks: lane, policy: bounds });
    expect(verdicts.at(-1)?.taskDone).toBe(expected);
    expect(state.tasks['plan-a']?.state === 'finished').toBe(expected);
  });

  test('the last box and a passing verify in one iteration, nothing said: the plan is complete at once', () => {
    const { step, verdicts } = play([progress({ checklist: marked, verification: 'passed' })], {
      tasks: lane.slice(0, 1),
      policy: verifies,
    });
    expect(describeStep(step)).toBe('complete (plan_complete)');
    expect(verdicts).toMatchObject([{ taskDone: true, discrepancies: [], vetoes: [] }]);
  });

  test('EXIT_SIGNAL true with its box open is overruled', () => {
    const { step, verdicts } = play([progress({ checklist: open, output: { signal: { exitSignal: true } } })], {
      tasks: lane.slice(0, 1),
    });
    expect(describeStep(step)).toBe('iterate');
    expect(verdicts[0]?.vetoes).toEqual(['It claimed that everything is done, but required tasks are open: 1.']);
  });
});

describe('a mark is progress', () => {
  test.each<[string, Play, typeof policy, boolean]>([
    ['with changed content', progress({ checklist: marked }), policy, true],
    ['with a passing verification', { checklist: marked, verification: 'passed' }, verifies, true],
    ['alone', { checklist: marked }, policy, false],
    ['with a failing verification', { checklist: marked, verification: 'failed' }, verifies, false],
    ['that was not accepted', { checklist: { ...marked, removed: 1 }, verification: 'passed' }, verifies, false],
  ])('%s: %o', (_, iteration, bounds, expected) => {
    expect(play([iteration], { tasks: lane, policy: bounds }).verdicts[0]?.progress).toBe(expected);
  });
});

describe('tasks that an iteration finished along with its own', () => {
  const both: Play['checklist'] = { current: 'done', done: ['plan-a', 'plan-b'], finished: 2 };

  test.each<[string, Play, typeof policy, readonly string[]]>([
    [
      'both marked, content changed, verify passes',
      progress({ checklist: both, output: { signal: { tasksCompleted: 2 } }, verification: 'passed' }),
      verifies,
      ['plan-b'],
    ],
    [
      'its own is still open, verify passes',
      progress({ checklist: { current: 'open', done: ['plan-b'], finished: 1 }, verification: 'passed' }),
      verifies,
      ['plan-b'],
    ],
    [
      'both marked, content changed, nothing verifies',
      progress({ checklist: both, output: { signal: { tasksCompleted: 2 } } }),
      policy,
      [],
    ],
    ['nothing changed', { checklist: both }, policy, []],
    ['nothing changed, verify passes', { checklist: both, verification: 'passed' }, verifies, ['plan-b']],
    ['verify fails', progress({ checklist: both, verification: 'failed' }), verifies, []],
    ['a claim is contradicted', progress({ checklist: both, output: { signal: { tasksCompleted: 5 } } }), policy, []],
    [
      'a task that the lane does not have',
      progress({ checklist: { ...both, done: ['plan-a', 'plan-x'] } }),
      policy,
      [],
    ],
  ])('%s', (_, iteration, bounds, expected) => {
    const { state, verdicts } = play([iteration], { tasks: lane, policy: bounds });
    expect(verdicts[0]?.alsoDone).toEqual(expected);
    expect(state.tasks['plan-b']?.state ?? 'todo').toBe(expected.length > 0 ? 'finished' : 'todo');
  });

  test('complete the plan without a call of their own', () => {
    const bounds = { tasks: lane, policy: verifies };
    expect(describeStep(play([progress({ checklist: both, verification: 'passed' })], bounds).step)).toBe(
      'complete (plan_complete)',
    );
  });

  const ticked: Play['checklist'] = { current: 'done', wasMarked: true, done: ['plan-b'], finished: 1 };

  test.each<[string, Play, typeof policy, boolean]>([
    ['that says so', { checklist: ticked, output: claims }, policy, true],
    ['that says nothing', { checklist: ticked }, policy, false],
    ['that says so, verify fails', { checklist: ticked, output: claims, verification: 'failed' }, verifies, false],
    [
      'that ticks it itself and changes nothing',
      { checklist: { ...ticked, wasMarked: false }, output: claims },
      policy,
      false,
    ],
  ])('without verify stay open until an iteration on them %s', (_, iteration, bounds, expected) => {
    const first = play([progress({ checklist: both })], { tasks: lane, policy: bounds });
    const { state, verdicts } = play([iteration], { ...first, tasks: lane.slice(1), policy: bounds });
    expect(state.tasks['plan-b']?.state === 'finished').toBe(expected);
    expect(verdicts[0]?.progress).toBe(expected);
  });

  test('a box of the plan that an iteration on an issue ticked counts as well', () => {
    const iteration = progress({
      checklist: { done: ['plan-b'], finished: 1 },
      output: claims,
      verification: 'passed',
    });
    const { verdicts, state } = play([iteration], { tasks: [task(1, { priority: 1 }), ...lane], policy: verifies });
    expect(verdicts[0]).toMatchObject({ taskDone: true, alsoDone: ['plan-b'], discrepancies: [] });
    expect(Object.keys(state.tasks).sort()).toEqual(['issue-1', 'plan-b']);
  });
});

describe('claims against the task files', () => {
  test.each<[string, Play, readonly string[], string | null]>([
    [
      'three claimed, none marked',
      progress({ checklist: open, output: { signal: { tasksCompleted: 3 } } }),
      ['It reported TASKS_COMPLETED_THIS_LOOP: 3, but the files of tasks show 0.'],
      'discrepancy_not_marked',
    ],
    ['one claimed, one marked', progress({ checklist: marked, output: claims }), [], null],
    [
      'one claimed, one marked, verify passed, no content changed',
      { checklist: marked, output: claims, verification: 'passed' },
      [],
      null,
    ],
    [
      'a file reported that is one of tasks',
      { checklist: { ...open, added: 1 }, output: { signal: { filesModified: 1 } } },
      [],
      null,
    ],
    [
      'two open items deleted',
      progress({ checklist: { ...open, removed: 2 } }),
      ['It deleted 2 open items of the files of tasks.'],
      'discrepancy_removed',
    ],
    [
      'one open item deleted',
      progress({ checklist: { ...open, removed: 1 } }),
      ['It deleted 1 open item of the files of tasks.'],
      'discrepancy_removed',
    ],
    [
      'COMPLETE said, the box open',
      progress({ checklist: open, output: { signal: { status: 'COMPLETE', exitSignal: false } } }),
      [],
      'not_marked',
    ],
  ])('%s', (_, iteration, discrepancies, hint) => {
    const { verdicts, state } = play([iteration], {
      tasks: lane,
      policy: { ...policy, verifies: iteration.verification !== undefined },
    });
    expect(verdicts[0]?.discrepancies).toEqual(discrepancies);
    const reported =
      state.lastIteration?.hints.filter((code) =>
        ['discrepancy_not_marked', 'discrepancy_removed', 'not_marked'].includes(code),
      ) ?? [];
    expect(reported.at(0) ?? null).toBe(hint);
  });

  test('of an issue on a lane with a plan are about the issue', () => {
    const { verdicts } = play([progress({ checklist: { added: 2 }, output: claims })], { tasks: [task(1)] });
    expect(verdicts[0]).toMatchObject({ taskDone: true, discrepancies: [] });
  });
});

test.each<[string, Play, boolean]>([
  ['a mark on content that was never verified', { checklist: marked }, true],
  ['no mark, no claim, no change', { checklist: open }, false],
])('verify runs for %s: %o', (_, iteration, expected) => {
  expect(
    needsVerification(
      createInitialState('queue', noon),
      { analysis: analysis(), evidence: evidence('a', iteration) },
      verifies,
    ),
  ).toBe(expected);
});
