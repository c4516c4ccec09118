import { describe, expect, test } from 'vitest';
import type { FileTask } from '../../../../../src/core/tasks/files/form/root-plan.ts';
import { mergeFileProgress, mergeFileTasks } from '../../../../../src/core/tasks/files/merge-file-tasks.ts';
import { untouchedProgress } from '../../../../../src/core/tasks/queue.ts';
import type { TaskProgress, TaskState } from '../../../../../src/core/tasks/task.ts';
import { task } from '../../core-fixtures.ts';

type State = TaskState;
const item = (name: string, state: State, line = 1): FileTask => ({
  task: task(0, { id: `plan-${name}`, title: name, source: { kind: 'plan', path: 'fix_plan.md', line } }),
  state,
});
const entry = (id: string, state: State): FileTask => ({
  task: task(0, { id, source: { kind: 'prd', path: 'prd.json', key: id, issue: null } }),
  state,
});
/** The facts of a lane that continues without a person's request, and whose files can all be read. */
const facts = { beginsAgain: false, retriesAll: false, byHand: false, allFilesRead: true };
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
    const progress = mergeFileProgress(known === null ? {} : { 'plan-a': known }, [item('a', inFile)], {
      ...facts,
      beginsAgain,
    });
    expect(progress['plan-a']?.state ?? null).toBe(expected);
  });

  test('keeps what a task took that both the lane and the base have done, also when the lane begins again', () => {
    expect(
      mergeFileProgress({ 'plan-a': worked('done') }, [item('a', 'done')], { ...facts, beginsAgain: true })['plan-a'],
    ).toEqual(worked('done'));
  });

  test('leaves the other tasks alone, and puts what files say anyway where it is pruned first', () => {
    const progress = mergeFileProgress(
      { 'issue-1': worked('done'), 'plan-b': worked('in-progress') },
      [item('b', 'todo'), item('a', 'done')],
      facts,
    );
    expect(Object.keys(progress)).toEqual(['plan-a', 'issue-1', 'plan-b']);
  });
});

describe('what is done without a mark', () => {
  const unmarked: TaskProgress = { ...worked('done'), unmarked: true };

  test('stays done when the lane begins again, whatever the base says', () => {
    const progress = mergeFileProgress({ 'plan-a': unmarked }, [item('a', 'todo')], { ...facts, beginsAgain: true });
    expect(progress['plan-a']).toEqual(unmarked);
  });

  test.each<[string, readonly FileTask[], boolean, TaskProgress, boolean]>([
    ['while a file has it open', [item('a', 'todo')], true, unmarked, true],
    ['no more when it is marked', [item('a', 'done')], true, unmarked, false],
    ['no more when it is in no file', [item('b', 'todo')], true, unmarked, false],
    ['but not if a file cannot be read', [item('b', 'todo')], false, unmarked, true],
    ['no longer when it must be done again', [item('a', 'todo')], true, { ...worked('todo'), unmarked: true }, false],
  ])('is remembered %s', (_, tasks, allFilesRead, known, expected) => {
    const progress = mergeFileProgress({ 'plan-a': known }, tasks, { ...facts, allFilesRead });
    expect(progress['plan-a']?.unmarked === true).toBe(expected);
  });
});

describe('what its file calls failed or blocked is tried again', () => {
  const retried: TaskProgress = { ...untouchedProgress, retried: true };
  test.each<[string, State, TaskProgress | null, object, TaskProgress | null]>([
    ['by an order', 'failed', retried, {}, retried],
    ['by an order, also of what is blocked', 'blocked', retried, {}, retried],
    ['by an order for everything', 'failed', null, { retriesAll: true }, retried],
    ['not what is open by now', 'todo', retried, {}, null],
    ['not without an order', 'failed', null, {}, { ...untouchedProgress, state: 'failed' }],
    ['by the person who starts a run', 'failed', null, { byHand: true }, retried],
    ['but then nothing that is blocked', 'blocked', null, { byHand: true }, { ...untouchedProgress, state: 'blocked' }],
    [
      'also what was worked on',
      'failed',
      { ...worked('failed'), retried: true },
      {},
      { ...worked('failed'), retried: true },
    ],
  ])('%s', (_, inFile, known, change, expected) => {
    const progress = mergeFileProgress(known === null ? {} : { 'prd-a': known }, [entry('prd-a', inFile)], {
      ...facts,
      ...change,
    });
    expect(progress['prd-a'] ?? null).toEqual(expected);
  });

  test('and is forgotten once no file has it', () => {
    expect(mergeFileProgress({ 'prd-a': retried }, [], facts)).toEqual({});
  });
});
