import { describe, expect, test } from 'vitest';
import type { FileTask } from '../../../../../src/core/tasks/files/form/root-plan.ts';
import { fileProgress, mergeFileTasks, stillUnmarked } from '../../../../../src/core/tasks/files/merge-file-tasks.ts';
import type { TaskProgress } from '../../../../../src/core/tasks/task.ts';
import { task } from '../../core-fixtures.ts';

type State = TaskProgress['state'];
const item = (name: string, state: State, line = 1): FileTask => ({
  task: task(0, { id: `plan-${name}`, title: name, source: { kind: 'plan', path: 'fix_plan.md', line } }),
  state,
});
const worked = (state: State): TaskProgress => ({
  state,
  attempts: 2,
  startedTree: 't',
  doneCommit: state === 'done' ? 'c' : null,
  reason: null,
  setAside: null,
});
const summaries = (items: readonly FileTask[]) =>
  items.map(({ task: { id }, state }) => `${id.slice('plan-'.length)} ${state}`);

describe('the tasks of a file on a lane that continues', () => {
  test.each<[string, readonly FileTask[], readonly FileTask[], readonly string[]]>([
    [
      'are those of both',
      [item('a', 'todo'), item('b', 'todo')],
      [item('a', 'todo'), item('c', 'todo')],
      ['a todo', 'c todo', 'b todo'],
    ],
    ['are done where the base says so, whatever the lane says', [item('a', 'done')], [item('a', 'todo')], ['a done']],
    ['are not done because the lane alone says so', [item('a', 'todo')], [item('a', 'done')], ['a todo']],
    ['stay although the agent deleted them', [item('a', 'todo'), item('b', 'todo')], [], ['a todo', 'b todo']],
    [
      'are not what the agent noted as done by itself',
      [item('a', 'todo')],
      [item('a', 'todo'), item('note', 'done')],
      ['a todo'],
    ],
  ])('%s', (_, base, lane, expected) => {
    expect(summaries(mergeFileTasks(base, { now: lane, fork: [] }, {}))).toEqual(expected);
  });

  test('that the agent added and worked on stay tasks when they are ticked', () => {
    expect(
      summaries(
        mergeFileTasks(
          [item('a', 'todo')],
          { now: [item('a', 'todo'), item('added', 'done')], fork: [] },
          { 'plan-added': worked('done') },
        ),
      ),
    ).toEqual(['a todo', 'added todo']);
  });

  test.each<[string, TaskProgress | null, readonly string[]]>([
    ['are no more what people took out of the base', null, ['a todo']],
    ['nor what was being worked on then', worked('in-progress'), ['a todo']],
    ['but what is done stays reported', worked('done'), ['a todo', 'taken todo']],
  ])('%s', (_, progress, expected) => {
    const lane = { now: [item('a', 'todo'), item('taken', 'todo')], fork: [item('a', 'todo'), item('taken', 'todo')] };
    expect(
      summaries(mergeFileTasks([item('a', 'todo')], lane, progress === null ? {} : { 'plan-taken': progress })),
    ).toEqual(expected);
  });

  test('of a lane that begins are those of the base', () => {
    expect(summaries(mergeFileTasks([item('a', 'todo')], null, {}))).toEqual(['a todo']);
  });

  test('stand where the lane has them, and are worth what the base says', () => {
    const base = { task: { ...item('a', 'todo', 3).task, priority: 1, body: 'as asked' }, state: 'todo' } as const;
    const lane = {
      task: { ...item('a', 'todo', 9).task, priority: 3, body: 'as changed', optional: true },
      state: 'todo',
    } as const;
    expect(mergeFileTasks([base], { now: [lane], fork: [] }, {})[0]?.task).toMatchObject({
      priority: 1,
      body: 'as asked',
      optional: false,
      source: { line: 9 },
    });
  });
});

describe('progress with what the files say', () => {
  test.each<[string, State, TaskProgress | null, boolean, State | null]>([
    ['done in the base is done', 'done', null, false, 'done'],
    ['done in the base is done, whatever the lane was at', 'done', worked('failed'), false, 'done'],
    ['blocked in the base is blocked', 'blocked', null, false, 'blocked'],
    ['open in the base is open', 'todo', null, false, null],
    ['what an iteration was spent on counts by itself', 'todo', worked('failed'), false, 'failed'],
    ['so does what the lane did', 'todo', worked('done'), false, 'done'],
    ['and what it did along with another task', 'todo', { ...worked('done'), attempts: 0 }, false, 'done'],
    ['but not when the lane begins again: then it is undone', 'todo', worked('done'), true, null],
    ['attempts count on when the lane begins again', 'todo', worked('in-progress'), true, 'in-progress'],
    [
      'what the file said earlier is forgotten',
      'todo',
      { state: 'blocked', attempts: 0, startedTree: null, doneCommit: null, reason: null, setAside: null },
      false,
      null,
    ],
  ])('%s', (_, inFile, known, beginsAgain, expected) => {
    const progress = fileProgress(known === null ? {} : { 'plan-a': known }, [item('a', inFile)], {
      beginsAgain,
      unmarked: [],
      retried: [],
    });
    expect(progress['plan-a']?.state ?? null).toBe(expected);
  });

  test('keeps what a task took that both the lane and the base have done, also when the lane begins again', () => {
    expect(
      fileProgress({ 'plan-a': worked('done') }, [item('a', 'done')], { beginsAgain: true, unmarked: [], retried: [] })[
        'plan-a'
      ],
    ).toEqual(worked('done'));
  });

  test('leaves the other tasks alone, and puts what files say anyway where it is pruned first', () => {
    const progress = fileProgress(
      { 'issue-1': worked('done'), 'plan-b': worked('in-progress') },
      [item('b', 'todo'), item('a', 'done')],
      { beginsAgain: false, unmarked: [], retried: [] },
    );
    expect(Object.keys(progress)).toEqual(['plan-a', 'issue-1', 'plan-b']);
  });
});

describe('what is done without a mark', () => {
  test('stays done when the lane begins again, whatever the base says', () => {
    expect(
      fileProgress({ 'plan-a': worked('done') }, [item('a', 'todo')], {
        beginsAgain: true,
        unmarked: ['plan-a'],
        retried: [],
      })['plan-a']?.state,
    ).toBe('done');
  });

  test.each<[string, readonly FileTask[], boolean, TaskProgress | null, readonly string[]]>([
    ['while a file has it open', [item('a', 'todo')], true, worked('done'), ['plan-a']],
    ['no more when it is marked', [item('a', 'done')], true, worked('done'), []],
    ['no more when it is in no file', [item('b', 'todo')], true, worked('done'), []],
    ['but not if a file cannot be read', [item('b', 'todo')], false, worked('done'), ['plan-a']],
    ['no more when it is to be done again', [item('a', 'todo')], true, null, []],
  ])('is remembered %s', (_, tasks, areWhole, progress, expected) => {
    expect(stillUnmarked(['plan-a'], progress === null ? {} : { 'plan-a': progress }, { tasks, areWhole })).toEqual(
      expected,
    );
  });
});
