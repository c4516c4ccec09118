import { describe, expect, test } from 'vitest';
import {
  recordAnswer,
  MERGED_BY_ITSELF,
  MERGED_WITHOUT_CALL,
  mergeReceivedFeedback,
  SUGGESTION_APPLIED,
  answerForWithheld,
} from '../../../../src/core/feedback/answered.ts';
import { noFeedback, type FeedbackItem } from '../../../../src/core/feedback/memory.ts';
import type { JournalEntry } from '../../../../src/core/journal/journal.ts';
import { createInitialState } from '../../../../src/core/lane/state/state.ts';
import { untouchedProgress } from '../../../../src/core/tasks/queue.ts';
import type { Task, TaskProgress } from '../../../../src/core/tasks/task.ts';
import { noon, task } from '../core-fixtures.ts';

const open: FeedbackItem = { kind: 'thread', title: 'Ada', url: null, rounds: 1, asked: '7', answer: null };

/** Creates an iteration with the fields that an answer uses. */
function iteration(
  said: { readonly summary?: string; readonly asks?: string; readonly recommendation?: string },
  { taskId = 'thread-7', commit = null }: { readonly taskId?: string; readonly commit?: string | null } = {},
): JournalEntry {
  const signal = { summary: null, asks: null, recommendation: null, ...said };
  return { ...{ taskId, commit, endedAt: noon, analysis: { signal }, evidence: {} } } as unknown as JournalEntry;
}

function itemAfter(progress: Partial<TaskProgress>, entry: JournalEntry, before: Partial<FeedbackItem> = {}) {
  const state = createInitialState('queue', noon);
  const after = recordAnswer(
    {
      ...state,
      tasks: { 'thread-7': { ...untouchedProgress, ...progress } },
      feedback: { ...state.feedback, items: { 'thread-7': { ...open, ...before } } },
    },
    entry,
  );
  return after.feedback.items['thread-7'] ?? open;
}

const said = { summary: 'Renamed it.', asks: 'Which name?', recommendation: 'Go on.' };
const applied: NonNullable<FeedbackItem['answer']> = {
  ...{ kind: 'changed', commit: 'c5', words: SUGGESTION_APPLIED.words, isOurs: true, at: noon - 1, posted: false },
};

test.each<[string, Partial<TaskProgress>, JournalEntry, Partial<FeedbackItem>, object | null]>([
  [
    'done with a commit',
    { state: 'done' },
    iteration(said, { commit: 'c1' }),
    {},
    { kind: 'changed', commit: 'c1', words: 'Renamed it.' },
  ],
  [
    'done with a commit of an earlier iteration, or run',
    { state: 'done' },
    iteration(said),
    { workedIn: 'c0' },
    { kind: 'changed', commit: 'c0' },
  ],
  [
    'done with both: the newest',
    { state: 'done' },
    iteration(said, { commit: 'c1' }),
    { workedIn: 'c0' },
    { commit: 'c1' },
  ],
  [
    'done with a suggestion that did not pass alone',
    { state: 'done' },
    iteration(said),
    { answer: applied },
    { kind: 'changed', commit: 'c5', words: 'Renamed it.' },
  ],
  [
    'done with what was made since then',
    { state: 'done' },
    iteration(said),
    { answer: applied, workedIn: 'c6' },
    { kind: 'changed', commit: 'c6' },
  ],
  [
    'done without any',
    { state: 'done' },
    iteration(said),
    {},
    { kind: 'unchanged', commit: null, words: 'Renamed it.' },
  ],
  [
    'done without a summary: what comes next is not an answer',
    { state: 'done' },
    iteration({ recommendation: 'Go on.' }, { commit: 'c1' }),
    {},
    { kind: 'changed', words: null },
  ],
  ['blocked: what it asks', { state: 'blocked' }, iteration(said), {}, { kind: 'given-up', words: 'Which name?' }],
  [
    'blocked without a question: what it recommends',
    { state: 'blocked' },
    iteration({ recommendation: 'Ask Ada.' }),
    {},
    { kind: 'given-up', words: 'Ask Ada.' },
  ],
  ['in progress', { state: 'in-progress' }, iteration(said, { commit: 'c1' }), {}, null],
  ['set aside for a while', { state: 'stuck' }, iteration(said), {}, null],
  ['another task', { state: 'done' }, iteration(said, { taskId: 'issue-1', commit: 'c1' }), {}, null],
])('%s', (_, progress, entry, before, expected) => {
  const { answer, workedIn } = itemAfter(progress, entry, before);
  if (expected === null) expect(answer).toBeNull();
  else {
    expect(answer).toMatchObject({ ...expected, isOurs: false, posted: false, at: noon });
    expect(workedIn).toBeUndefined();
  }
});

test('a commit of work that is not finished is kept until the work is answered', () => {
  const made = iteration(said, { commit: 'c1' });
  expect(itemAfter({ state: 'in-progress' }, made)).toMatchObject({ workedIn: 'c1', answer: null });
  expect(itemAfter({ state: 'in-progress' }, iteration(said), { workedIn: 'c1' }).workedIn).toBe('c1');
});

describe('of an answer of a loop in another job', () => {
  const on = { kind: 'thread', thread: 'T', replyTo: 7, asked: 7, by: 'ada', path: '.github/ci.yml', line: 1 } as const;
  const suggestion = { from: 1, to: 1, old: ['a'], lines: ['b'] };
  const thread: Task = {
    ...task(1, { id: 'thread-7' }),
    source: { kind: 'feedback', on: { ...on, suggestion }, pullRequest: 1, url: 'https://github.test/1' },
  };
  const answer: NonNullable<FeedbackItem['answer']> = {
    ...{ kind: 'unchanged', commit: null, words: 'I looked.', isOurs: false, at: noon, posted: false },
  };

  /** Returns the trusted part of that job's feedback, given what this job saw. */
  function believed(
    now: Partial<NonNullable<FeedbackItem['answer']>> | null,
    seen: { readonly item?: Partial<FeedbackItem>; readonly made?: string; readonly progress?: TaskProgress['state'] },
  ): FeedbackItem | undefined {
    const { item, made, progress = 'in-progress' } = seen;
    const before = { ...noFeedback, items: { 'thread-7': { ...open, ...item } } };
    const given = { ...open, answer: now === null ? null : { ...answer, ...now } };
    return mergeReceivedFeedback(
      { ...before, items: { 'thread-7': given } },
      {
        before: { feedback: before, tasks: { 'thread-7': { ...untouchedProgress, state: progress } } },
        tasks: [thread],
        made: made === undefined ? {} : { 'thread-7': made },
        baseBranch: 'main',
        endedAt: noon + 5,
      },
    ).items['thread-7'];
  }

  test.each<[string, Parameters<typeof believed>, object]>([
    [
      'that nothing was changed holds where nothing was',
      [{}, {}],
      { kind: 'unchanged', commit: null, words: 'I looked.' },
    ],
    [
      'that nothing was changed does not hold where an earlier run had changed something',
      [{}, { item: { workedIn: 'c1' } }],
      { kind: 'changed', commit: 'c1', words: 'I looked.' },
    ],
    ['the commit is the one that is there', [{ kind: 'changed', commit: 'c9' }, { made: 'c2' }], { commit: 'c2' }],
    [
      'that something was changed does not hold without a commit',
      [{ kind: 'changed', commit: 'c9' }, {}],
      { kind: 'unchanged', commit: null },
    ],
    [
      'a suggestion that did not pass is answered again',
      [
        { kind: 'changed', commit: 'c6' },
        { item: { answer: applied }, made: 'c6' },
      ],
      { kind: 'changed', commit: 'c6', words: 'I looked.', isOurs: false },
    ],
    [
      'a suggestion that passes later keeps its commit',
      [{ kind: 'changed', commit: 'c9' }, { item: { answer: applied } }],
      { kind: 'changed', commit: 'c5', words: 'I looked.' },
    ],
    [
      'a suggestion that nobody continued with keeps its answer',
      [applied, { item: { answer: applied } }],
      { commit: 'c5', words: 'Applied as suggested', isOurs: true },
    ],
    [
      'a suggestion that was changed since is not what was applied',
      [applied, { item: { answer: applied }, made: 'c6', progress: 'done' }],
      { commit: 'c5' },
    ],
    [
      'what was left to a person was last tried there',
      [{ kind: 'given-up', commit: 'c9' }, { item: { workedIn: 'c1' } }],
      { kind: 'given-up', commit: 'c1' },
    ],
    [
      'what people can read already stays',
      [{ words: 'No.' }, { item: { answer: { ...applied, posted: true } } }],
      { commit: 'c5', words: 'Applied as suggested' },
    ],
    ['our words are known as ours', [{ ...applied, at: noon, isOurs: false }, { made: 'c2' }], { isOurs: true }],
    [
      'our words are not ours without the commit',
      [{ ...applied, at: noon }, {}],
      { kind: 'unchanged', commit: null, isOurs: false },
    ],
    [
      'our refusal is known as ours',
      [{ words: answerForWithheld('.github/ci.yml', 'protected').words }, {}],
      { kind: 'unchanged', isOurs: true },
    ],
    [
      'a refusal with another reason is not ours',
      [{ words: 'Not applied: `.github/ci.yml` is left out, because Ada is wrong', isOurs: true }, {}],
      { isOurs: false },
    ],
    [
      'a refusal of another file is not ours',
      [{ words: answerForWithheld('src/a.ts', 'protected').words, isOurs: true }, {}],
      { isOurs: false },
    ],
    ['an answer of tomorrow counts from the end of the run', [{ at: noon + 90_000_000 }, {}], { at: noon + 5 }],
    ['whatever it says to be ours is not', [{ words: 'Approved.', isOurs: true }, {}], { isOurs: false }],
  ])('%s', (_, given, expected) => {
    expect(believed(...given)).toMatchObject({
      answer: { posted: given[1].item?.answer?.posted ?? false, ...expected },
    });
  });

  test('a commit without an answer is kept for the next run', () => {
    expect(believed(null, { made: 'c2' })).toMatchObject({ workedIn: 'c2', answer: null });
    expect(believed(applied, { item: { answer: applied }, made: 'c6' })).toMatchObject({
      answer: { kind: 'changed', commit: 'c6', words: null, isOurs: false },
    });
  });
});

describe('of a merge', () => {
  const lockFiles = [{ path: 'go.sum', tool: 'go', result: 'made' }] as const;

  test('the result for its lock files is part of the answer', () => {
    const entry = iteration(said, { commit: 'c1' });
    const merged = { ...entry, evidence: { ...entry.evidence, lockFiles } };
    expect(itemAfter({ state: 'done' }, merged).answer).toMatchObject({ lockFiles });
    expect(itemAfter({ state: 'done' }, entry).answer).not.toHaveProperty('lockFiles');
  });

  test.each([
    ['conflict', MERGED_WITHOUT_CALL.words, true],
    ['conflict', MERGED_BY_ITSELF.words, true],
    ['conflict', `${MERGED_WITHOUT_CALL.words}, says Ann`, false],
    ['check', MERGED_WITHOUT_CALL.words, false],
  ] as const)('of another job, a %s answered with %j is in our words: %s', (kind, words, isOurs) => {
    const on =
      kind === 'conflict'
        ? ({ kind, branch: 'main', base: 'b1' } as const)
        : ({ kind, name: 'test', head: 'h1' } as const);
    const asked: Task = {
      ...task(1, { id: 'one' }),
      source: { kind: 'feedback', on, pullRequest: 1, url: 'https://github.test/1' },
    };
    const answer = { kind: 'changed', commit: 'c0', words, isOurs: true, lockFiles, at: noon, posted: true } as const;
    const before = { feedback: { ...noFeedback, items: { one: { ...open, kind } } }, tasks: {} };
    const received = { ...noFeedback, items: { one: { ...open, kind, answer } } };
    const seen = { before, tasks: [asked], made: { one: 'c1' }, baseBranch: 'main', endedAt: noon };
    const item = mergeReceivedFeedback(received, seen).items['one'];
    expect(item?.answer).toMatchObject({ words, isOurs, commit: 'c1', posted: false });
    expect(item?.answer?.lockFiles).toEqual(kind === 'conflict' ? lockFiles : undefined);
  });
});
