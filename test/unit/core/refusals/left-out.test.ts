import { describe, expect, test } from 'vitest';
import { acceptWork, recordLeftOut, withRenamedCommits } from '../../../../src/core/refusals/left-out.ts';
import { retryTask } from '../../../../src/core/lane/settle/settle-circuit.ts';
import { createInitialState, type LaneState, parseState } from '../../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../../src/core/lane/state/serialize-state.ts';
import { EMPTY_SHARE } from '../../../../src/core/lane/change.ts';
import { getProgress, untouchedProgress } from '../../../../src/core/tasks/queue.ts';
import { MAX_SERVER_WORDS_CHARS } from '../../../../src/core/tasks/task.ts';
import { noon } from '../core-fixtures.ts';

const done = { ...untouchedProgress, state: 'done', attempts: 1, doneCommit: 'c1' } as const;
const state: LaneState = {
  ...createInitialState('queue', noon),
  tasks: { 'issue-1': done, 'issue-2': { ...done, doneCommit: 'c2' } },
  lastIteration: {
    taskId: 'issue-1',
    progress: true,
    fileCount: 2,
    tree: 't1',
    verification: 'passed',
    hints: ['withheld'],
  },
};
const left = { tasks: ['issue-1'], files: ['src/config.ts'], words: 'Push cannot contain secrets', tree: 't2' };

describe('what the server refused', () => {
  test('once: its task continues, first, with the words of the server; others stay done', () => {
    const after = recordLeftOut(state, left, noon);
    expect(after.tasks).toMatchObject({
      'issue-1': { state: 'in-progress', doneCommit: null, refused: { times: 1, files: ['src/config.ts'] } },
      'issue-2': { state: 'done' },
    });
    expect(after.currentTask).toBe('issue-1');
    expect(after.lastIteration).toMatchObject({ tree: 't2', hints: ['push_refused'] });
  });

  test.each([
    ['again', recordLeftOut(state, left, noon), left],
    ['without a file that is known', state, { ...left, files: [] }],
  ])('%s: its task waits for a person', (_, before, what) => {
    const after = recordLeftOut(before, what, noon);
    expect(after.tasks['issue-1']).toMatchObject({ state: 'blocked', reason: 'push_refused' });
    expect(after.currentTask).toBeNull();
  });

  test('is over once the server accepts a push in which the task is done, or a person asks for a retry', () => {
    const refused = recordLeftOut(state, left, noon);
    expect(acceptWork(refused)).toBe(refused);
    const first = getProgress(refused.tasks, 'issue-1');
    const taken = acceptWork({ ...refused, tasks: { 'issue-1': { ...first, state: 'done' } } });
    expect(taken.tasks['issue-1']?.refused).toBeUndefined();
    expect(retryTask(refused, 'issue-1', 'retry', noon).tasks['issue-1']).toEqual(untouchedProgress);
  });

  test('is stored within bounds, and read again', () => {
    const long = {
      ...left,
      words: 'x'.repeat(5000),
      files: Array.from({ length: 40 }, (_, i) => `${'d/'.repeat(200)}${String(i)}`),
    };
    const parsed = parseState(serializeState(recordLeftOut(state, long, noon)), 'queue');
    expect(parsed).toMatchObject({ kind: 'state', problems: [] });
    const { refused } = parsed.kind === 'state' ? getProgress(parsed.state.tasks, 'issue-1') : {};
    expect(refused?.words.length).toBeLessThanOrEqual(MAX_SERVER_WORDS_CHARS);
    expect(refused?.files).toHaveLength(5);
  });
});

test('commits that were made again are named by their new ids, and those that are gone by none', () => {
  const change = { ...state.change, tasks: { 'issue-1': { ...EMPTY_SHARE, commits: ['c1', 'c9'], commitCount: 2 } } };
  const after = withRenamedCommits({ ...state, change }, { c1: null, c2: 'd2' });
  expect([after.tasks['issue-1']?.doneCommit, after.tasks['issue-2']?.doneCommit]).toEqual([null, 'd2']);
  expect(after.change.tasks['issue-1']).toMatchObject({ commits: ['c9'], commitCount: 1 });
});
