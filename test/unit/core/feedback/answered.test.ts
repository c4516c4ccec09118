import { expect, test } from 'vitest';
import { MERGED_WITHOUT_CALL } from '../../../../src/core/feedback/answer-words.ts';
import { answerAfter, receivedFeedback } from '../../../../src/core/feedback/answered.ts';
import { noFeedback, type FeedbackItem } from '../../../../src/core/feedback/memory.ts';
import type { JournalEntry } from '../../../../src/core/journal/journal.ts';
import { initialState } from '../../../../src/core/lane/state.ts';
import { untouched } from '../../../../src/core/tasks/queue.ts';
import type { TaskProgress } from '../../../../src/core/tasks/task.ts';
import { noon } from '../core-fixtures.ts';

const open: FeedbackItem = { kind: 'thread', title: 'Ada', url: null, rounds: 1, asked: '7', answer: null };

/** An iteration as far as an answer is made of it. */
function iteration(
  said: { readonly summary?: string; readonly asks?: string; readonly recommendation?: string },
  {
    taskId = 'thread-7',
    commit = null,
    tree = 't0',
  }: { readonly taskId?: string; readonly commit?: string | null; readonly tree?: string } = {},
): JournalEntry {
  const signal = { summary: null, asks: null, recommendation: null, ...said };
  return {
    ...{ taskId, commit, endedAt: noon, analysis: { signal } },
    evidence: { after: { tree } },
  } as unknown as JournalEntry;
}

function answerOf(progress: Partial<TaskProgress>, entry: JournalEntry, earlier: readonly JournalEntry[] = []) {
  const state = initialState('queue', noon);
  const after = answerAfter(
    {
      ...state,
      tasks: { 'thread-7': { ...untouched, ...progress } },
      feedback: { ...state.feedback, items: { 'thread-7': open } },
    },
    entry,
    earlier,
  );
  return after.feedback.items['thread-7']?.answer ?? null;
}

const said = { summary: 'Renamed it.', asks: 'Which name?', recommendation: 'Go on.' };

test.each<[string, Partial<TaskProgress>, JournalEntry, readonly JournalEntry[], object | null]>([
  [
    'done with a commit',
    { state: 'done' },
    iteration(said, { commit: 'c1' }),
    [],
    { kind: 'changed', commit: 'c1', words: 'Renamed it.' },
  ],
  [
    'done with an earlier commit',
    { state: 'done' },
    iteration(said),
    [iteration({}, { commit: 'c0' })],
    { kind: 'changed', commit: 'c0' },
  ],
  [
    'done with what an earlier run had begun',
    { state: 'done', startedTree: 't0', doneCommit: 'c9' },
    iteration(said, { tree: 't1' }),
    [],
    { kind: 'changed', commit: 'c9' },
  ],
  [
    "done, and another task's commit before",
    { state: 'done' },
    iteration(said),
    [iteration({}, { taskId: 'issue-1', commit: 'c0' })],
    { kind: 'unchanged', commit: null, words: 'Renamed it.' },
  ],
  [
    'done without a summary: what comes next is no answer',
    { state: 'done' },
    iteration({ recommendation: 'Go on.' }, { commit: 'c1' }),
    [],
    { kind: 'changed', words: null },
  ],
  ['blocked: what it asks', { state: 'blocked' }, iteration(said), [], { kind: 'given-up', words: 'Which name?' }],
  [
    'blocked without a question: what it recommends',
    { state: 'blocked' },
    iteration({ recommendation: 'Ask Ada.' }),
    [],
    { kind: 'given-up', words: 'Ask Ada.' },
  ],
  ['in progress', { state: 'in-progress' }, iteration(said, { commit: 'c1' }), [], null],
  ['set aside for a while', { state: 'stuck' }, iteration(said), [], null],
  ['another task', { state: 'done' }, iteration(said, { taskId: 'issue-1', commit: 'c1' }), [], null],
])('%s', (_, progress, entry, earlier, expected) => {
  const answer = answerOf(progress, entry, earlier);
  if (expected === null) expect(answer).toBeNull();
  else expect(answer).toMatchObject({ ...expected, isOurs: false, posted: false, at: noon });
});

test('of a merge, what came of its lock files is part of the answer', () => {
  const lockFiles = [{ path: 'go.sum', tool: 'go', result: 'made' }] as const;
  const entry = iteration(said, { commit: 'c1' });
  const merged = { ...entry, evidence: { ...entry.evidence, lockFiles } };
  expect(answerOf({ state: 'done' }, merged)).toMatchObject({ lockFiles });
  expect(answerOf({ state: 'done' }, entry)).not.toHaveProperty('lockFiles');
});

test.each([
  ['conflict', MERGED_WITHOUT_CALL, true],
  ['conflict', `${MERGED_WITHOUT_CALL}, says Ann`, false],
  ['thread', MERGED_WITHOUT_CALL, true],
] as const)('of another job, a %s answered with %j is in our words: %s', (kind, words, isOurs) => {
  const lockFiles = [{ path: 'go.sum', tool: 'go', result: 'made' }] as const;
  const answer = { kind: 'changed', commit: 'c1', words, isOurs: true, lockFiles, at: noon, posted: true } as const;
  const before = { ...noFeedback, items: { one: { ...open, kind } } };
  const received = { ...noFeedback, items: { one: { ...open, kind, answer } } };
  const item = receivedFeedback(received, { before, tasks: ['one'], commits: ['c1'] }).items['one'];
  expect(item?.answer).toMatchObject({ words, isOurs, commit: 'c1', posted: false });
  expect(item?.answer?.lockFiles).toEqual(kind === 'conflict' ? lockFiles : undefined);
});
