import { untouchedProgress } from '../../../../src/core/tasks/queue.ts';
import { describe, expect, test } from 'vitest';
import { createInitialState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import type { ReadableComments } from '../../../../src/core/people/comments.ts';
import type { ApprovedIssue } from '../../../../src/core/tasks/admission.ts';
import {
  prepareTasks,
  reopenWaitingTasks,
  listWorkableIssues,
  type JudgedCandidates,
} from '../../../../src/core/tasks/preparation.ts';
import type { Approval, Task, TaskProgress } from '../../../../src/core/tasks/task.ts';
import { noon, task } from '../core-fixtures.ts';

const issue = (number: number, text: Partial<ApprovedIssue['text']> = {}): ApprovedIssue => ({
  number,
  text: { title: `Title ${String(number)}`, body: `Body ${String(number)}`, ...text },
  by: 'ada',
  at: noon,
});
const fromFile = (id: string): Task =>
  task(0, { id, source: { kind: 'prd', path: 'p', key: id, issue: null }, title: 'From a file', body: 'as it is' });
const worked = (state: TaskProgress['state']): TaskProgress => ({
  state,
  attempts: 1,
  startedTree: null,
  doneCommit: null,
  reason: null,
  setAside: null,
});
const judgedOf = (
  tasks: readonly Task[],
  approved: readonly ApprovedIssue[],
  state: Partial<LaneState> = {},
): JudgedCandidates => ({
  tasks,
  state: { ...createInitialState('queue', noon), ...state },
  approved: new Map(approved.map((one) => [`issue-${String(one.number)}`, one])),
});
const prepare = (
  judged: JudgedCandidates,
  workable: readonly ApprovedIssue[],
  comments: readonly (readonly [number, ReadableComments])[] = [],
) => prepareTasks(judged, workable, new Map(comments), ({ title, body }) => `hash of ${title}, ${body}`);

describe('issues that a run may get to', () => {
  const workable = (judged: JudgedCandidates, maxIterations = 10): readonly number[] =>
    listWorkableIssues(judged, maxIterations).map(({ number }) => number);

  test.each<[string, readonly Task[], readonly number[], LaneState['tasks'], readonly number[]]>([
    ['are approved and open', [task(1), task(2)], [1, 2], {}, [1, 2]],
    ['the likeliest first', [task(1), task(2, { priority: 1 })], [1, 2], {}, [2, 1]],
    ['not those that nobody approved', [task(1), task(2)], [2], {}, [2]],
    ['not those that are not tasks', [task(1)], [1, 2], {}, [1]],
    ['nor files', [fromFile('prd-a'), task(1)], [1], {}, [1]],
    [
      'what is in progress, but not what is done, failed or blocked',
      [task(1), task(2), task(3), task(4)],
      [1, 2, 3, 4],
      {
        'issue-1': worked('done'),
        'issue-2': worked('failed'),
        'issue-3': worked('blocked'),
        'issue-4': worked('in-progress'),
      },
      [4],
    ],
    [
      'at last those that wait: what they wait for may be done by then',
      [task(1, { dependsOn: ['issue-9'] }), task(2)],
      [1, 2],
      {},
      [2, 1],
    ],
    [
      'among them what is in progress',
      [task(1, { dependsOn: ['issue-9'] }), task(2)],
      [1, 2],
      { 'issue-1': worked('in-progress') },
      [2, 1],
    ],
  ])('%s', (_, tasks, approved, progress, expected) => {
    expect(
      workable(
        judgedOf(
          tasks,
          approved.map((number) => issue(number)),
          { tasks: progress },
        ),
      ),
    ).toEqual(expected);
  });

  test('those beyond the reach of its iterations are behind them, as they stand', () => {
    const tasks = [task(1), task(2), task(3, { priority: 1 })];
    expect(workable(judgedOf(tasks, [issue(1), issue(2), issue(3)]), 1)).toEqual([3, 1, 2]);
  });
});

describe('a task that is prepared', () => {
  test('has the text and the comments of its issue; tasks of files, and issues that are not worked, stay', () => {
    const tasks = [task(1), fromFile('prd-a'), task(2)];
    const { tasks: prepared, warnings } = prepare(
      judgedOf(tasks, [issue(1)]),
      [issue(1, { title: 'New title', body: 'New body' })],
      [[1, { comments: [{ by: 'ada', text: 'In blue' }], unseen: 0 }]],
    );
    expect(prepared).toEqual([
      { ...tasks[0], title: 'New title', body: 'New body', comments: [{ by: 'ada', text: 'In blue' }] },
      tasks[1],
      tasks[2],
    ]);
    expect(warnings).toEqual([]);
  });

  test('has no comments when none were read', () => {
    const { tasks, warnings } = prepare(judgedOf([task(1)], []), [issue(1)]);
    expect(tasks[0]?.comments).toEqual([]);
    expect(warnings).toEqual([]);
  });
});

describe('the state', () => {
  test.each<[string, readonly Task[], string | null, string | null]>([
    ['keeps the current task while it is one', [task(1), task(2)], 'issue-2', 'issue-2'],
    ['has none when it is no longer a task', [task(1)], 'issue-2', null],
    ['has none when it had none', [task(1)], null, null],
  ])('%s', (_, tasks, currentTask, expected) => {
    expect(prepare(judgedOf(tasks, [], { currentTask }), []).state.currentTask).toBe(expected);
  });

  test('is otherwise as it was', () => {
    const judged = judgedOf([task(1)], [], { sequence: 7 });
    expect(prepare(judged, []).state).toEqual(judged.state);
  });

  const old: Approval = { text: 'old hash', by: 'bob', at: 1 };
  const now = (number: number): Approval => ({
    text: `hash of Title ${String(number)}, Body ${String(number)}`,
    by: 'ada',
    at: noon,
  });
  test.each<
    [
      string,
      readonly Task[],
      readonly number[],
      readonly number[],
      LaneState['tasks'],
      Readonly<Record<string, Approval>>,
    ]
  >([
    ['keeps who approved what may be worked on', [task(1)], [1], [1], {}, { 'issue-1': now(1) }],
    [
      'the newest approval counts',
      [task(1)],
      [1],
      [1],
      { 'issue-1': { ...untouchedProgress, approval: old } },
      { 'issue-1': now(1) },
    ],
    ['not of what may not be worked on', [task(1)], [1], [], {}, {}],
    [
      'but of what was settled before anybody kept it',
      [],
      [1],
      [],
      { 'issue-1': worked('done') },
      { 'issue-1': now(1) },
    ],
    [
      'which stays as it was kept',
      [],
      [1],
      [],
      { 'issue-1': { ...worked('done'), approval: old } },
      { 'issue-1': old },
    ],
    [
      'and of issues that are tasks still',
      [task(1)],
      [],
      [],
      { 'issue-1': { ...untouchedProgress, approval: old } },
      { 'issue-1': old },
    ],
    [
      'not of those that are no longer known',
      [fromFile('prd-a')],
      [],
      [],
      { 'issue-1': { ...untouchedProgress, approval: old } },
      {},
    ],
  ])('%s', (_, tasks, approved, workable, known, expected) => {
    const issues = approved.map((number) => issue(number));
    const { state } = prepare(
      judgedOf(tasks, issues, { tasks: known }),
      issues.filter(({ number }) => workable.includes(number)),
    );
    const approvals = Object.entries(state.tasks).flatMap(([id, { approval }]) => (approval ? [[id, approval]] : []));
    expect(Object.fromEntries(approvals)).toEqual(expected);
  });
});

describe('warnings of the texts', () => {
  const long = (over: number): Partial<ApprovedIssue['text']> => ({ body: 'x'.repeat(20_000 + over) });
  test.each<[string, readonly ApprovedIssue[], readonly (readonly [number, ReadableComments])[], readonly string[]]>([
    ['none, of texts that are read whole', [issue(1, long(0)), issue(2)], [], []],
    [
      'unseen characters of titles, bodies and comments are counted together',
      [issue(1, { title: 'a\u200B', body: 'b\u200B\u200B' }), issue(2)],
      [[2, { comments: [], unseen: 4 }]],
      ["7 characters that readers of the issues do not see were removed from the tasks' texts."],
    ],
    [
      'one that is too long',
      [issue(1, long(1_500)), issue(2)],
      [],
      ['The text of #1 is longer than 20,000 characters: its end is left out (1,500 characters).'],
    ],
    [
      'several that are too long',
      [issue(1, long(1)), issue(2, long(2))],
      [],
      ['The texts of #1, #2 are longer than 20,000 characters: their ends are left out (3 characters).'],
    ],
    [
      'what says nothing at all',
      [issue(1), issue(2, { title: ' ', body: '\n' })],
      [],
      ['The title and text of #2 have no visible content: the agent gets only the number.'],
    ],
  ])('%s', (_, issues, comments, expected) => {
    const tasks = issues.map(({ number }) => task(number));
    expect(prepare(judgedOf(tasks, issues), issues, comments).warnings).toEqual(expected);
  });
});

describe('an edit of its text by a person with write access opens a task again', () => {
  const hashOf = ({ body }: ApprovedIssue['text']): string => body;
  const approval = (text: string): Approval => ({ text, by: 'ada', at: noon });
  const gaveUp = { ...worked('failed'), attempts: 8, reason: 'max_iterations_per_task' } as const;
  test.each<[string, TaskProgress, Partial<TaskProgress>]>([
    [
      'that is blocked',
      { ...worked('blocked'), reason: 'status_blocked' },
      { state: 'todo', attempts: 1, reason: null },
    ],
    [
      'that is stuck',
      { ...worked('stuck'), reason: 'no_progress', setAside: { times: 2, at: noon } },
      { state: 'todo', attempts: 1, reason: null, setAside: null },
    ],
    ['that was given up: it has all its attempts', gaveUp, { state: 'todo', attempts: 0 }],
    ['that is done: it stays done', worked('done'), worked('done')],
    ['that is in progress: it stays so', worked('in-progress'), worked('in-progress')],
    ['whose approval is unknown: it stays as it is', { ...worked('blocked'), approval: undefined }, worked('blocked')],
    [
      'that another branch worked on since: what it worked on counts',
      { ...worked('blocked'), answer: { lane: 'issue-1', at: noon }, approval: approval('Body 1') },
      worked('blocked'),
    ],
  ])('%s', (_, known, expected) => {
    const judged = judgedOf([task(1)], [issue(1)], {
      tasks: { 'issue-1': { approval: approval('as it was'), ...known } },
    });
    expect(reopenWaitingTasks(judged, [], hashOf).tasks['issue-1']).toMatchObject(expected);
  });

  test.each<[string, Partial<TaskProgress>, boolean]>([
    ['all of which are allowed', { reason: 'withheld', needs: ['a/x', 'b'] }, true],
    ['one of which is not', { reason: 'withheld', needs: ['a/x', 'c'] }, false],
    ['that are not known', { reason: 'withheld', needs: [] }, false],
    ['but that is blocked for another reason since', { reason: 'status_blocked', needs: ['b'] }, false],
  ])('that waits for protected paths, %s', (_, known, isOpen) => {
    const progress = { ...worked('blocked'), approval: approval('Body 1'), ...known };
    const judged = judgedOf([task(1)], [issue(1)], { tasks: { 'issue-1': progress } });
    const { tasks } = reopenWaitingTasks(judged, ['a/*', 'b'], hashOf);
    expect(tasks['issue-1']?.state).toBe(isOpen ? 'todo' : 'blocked');
  });

  test('and leaves alone what nobody edited', () => {
    const judged = judgedOf([task(1)], [issue(1)], {
      tasks: { 'issue-1': { ...worked('blocked'), approval: approval('Body 1') } },
    });
    expect(reopenWaitingTasks(judged, [], hashOf)).toBe(judged.state);
  });
});
