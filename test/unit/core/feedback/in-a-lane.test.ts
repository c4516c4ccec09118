import { describe, expect, test } from 'vitest';
import { MAX_ITEMS, noFeedback, type Feedback, type FeedbackItem } from '../../../../src/core/feedback/memory.ts';
import { subjectOfTask, mergeSubjects } from '../../../../src/core/feedback/rounds.ts';
import {
  CONFLICT_TASK,
  FEEDBACK_PRIORITY,
  isFeedback,
  formatReviewTaskId,
  formatThreadTaskId,
} from '../../../../src/core/feedback/subject.ts';
import { selectRestrictiveParts, selectSignedParts, withSafeParts } from '../../../../src/core/snapshot/judged.ts';
import { discountProgress } from '../../../../src/core/lane/settle/settle-published.ts';
import { addIteration, noChange, EMPTY_SHARE } from '../../../../src/core/lane/change.ts';
import { decideNextStep, createRunSoFar } from '../../../../src/core/lane/decide.ts';
import {
  createInitialState,
  type LaneState,
  MAX_STATE_BYTES,
  parseState,
} from '../../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../../src/core/lane/state/serialize-state.ts';
import { applyOrders } from '../../../../src/core/sharing/orders.ts';
import { parseTaskName } from '../../../../src/core/tasks/ids.ts';
import {
  isPlanComplete,
  chooseNextTask,
  untouchedProgress,
  listTasksWithinReach,
} from '../../../../src/core/tasks/queue.ts';
import type { Task, TaskProgress } from '../../../../src/core/tasks/task.ts';
import { describeStep, noon, play, policy, progress, task } from '../core-fixtures.ts';

const CHECK = 'check-0123456789ab';
const thread = (id: number): Task =>
  task(id, {
    id: formatThreadTaskId(id),
    source: {
      kind: 'feedback',
      on: { kind: 'thread', thread: 'T', replyTo: id, asked: id, by: 'Ada', path: 'a.js', line: 1, suggestion: null },
      pullRequest: 5,
      url: 'https://example.test/5',
    },
    priority: FEEDBACK_PRIORITY.thread,
  });
const check = task(1, { id: CHECK, priority: FEEDBACK_PRIORITY.check });
const conflict = task(1, { id: CONFLICT_TASK, priority: FEEDBACK_PRIORITY.conflict });
const being = (state: TaskProgress['state'], change: Partial<TaskProgress> = {}): TaskProgress => ({
  ...untouchedProgress,
  state,
  attempts: 1,
  ...change,
});
const finishes = { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } } as const;
const fresh = createInitialState('queue', noon);

describe('the next task', () => {
  const aside = being('todo', { setAside: { times: 1, at: noon } });
  test.each<[string, readonly Task[], Readonly<Record<string, TaskProgress>>, string | null, string | null]>([
    ['a thread, before the highest priority', [task(1, { priority: 1 }), thread(7)], {}, null, 'thread-7'],
    [
      'a thread, before what is in progress',
      [task(1), thread(7)],
      { 'issue-1': being('in-progress') },
      'issue-1',
      'thread-7',
    ],
    ['a conflict, before threads and checks', [check, thread(7), conflict], {}, null, CONFLICT_TASK],
    ['a thread, before a check', [check, thread(7)], {}, null, 'thread-7'],
    ['threads as they stand', [thread(9), thread(7)], {}, null, 'thread-9'],
    [
      'a check that was begun, before another thread',
      [thread(7), check],
      { [CHECK]: being('in-progress') },
      CHECK,
      CHECK,
    ],
    ['a task, when all is answered', [task(1), thread(7)], { 'thread-7': being('done') }, null, 'issue-1'],
    [
      'a task, when a person must decide',
      [task(1), thread(7)],
      { 'thread-7': being('blocked', { reason: 'feedback_rounds' }) },
      null,
      'issue-1',
    ],
    ['a task, before a thread that was set aside', [task(1), thread(7)], { 'thread-7': aside }, null, 'issue-1'],
  ])('%s', (_, tasks, states, current, expected) => {
    expect(chooseNextTask(tasks, states, current)?.id ?? null).toBe(expected);
  });

  test('a run gets to what was asked first', () => {
    expect(listTasksWithinReach([task(1), task(2), thread(7), thread(8)], {}, 3)).toEqual([
      'thread-7',
      'thread-8',
      'issue-1',
    ]);
  });
});

describe('the plan is complete', () => {
  const prompt = task(1, { id: 'prompt-0123456789ab', optional: true });
  const optional = task(1, { optional: true });
  test.each<[string, readonly Task[], readonly string[], boolean]>([
    ['not before everything is answered', [task(1), thread(7)], ['issue-1'], false],
    ['when everything is done and answered', [task(1), thread(7)], ['issue-1', 'thread-7'], true],
    ['when nothing else is there', [thread(7)], ['thread-7'], true],
    ['not since everything is answered and the prompt continues', [prompt, thread(7)], ['thread-7'], false],
    ['not since everything is answered and optional tasks are open', [optional, thread(7)], ['thread-7'], false],
    ['with optional tasks as without', [optional, thread(7)], ['issue-1', 'thread-7'], true],
  ])('%s', (_, tasks, done, expected) => {
    const states = Object.fromEntries(done.map((id) => [id, being('done')]));
    expect(isPlanComplete(tasks, states)).toBe(expected);
  });
});

describe('a failed check that this run did not read', () => {
  const unread: Task = { ...check, id: 'check-0123456789ac', obstacle: 'unread' };
  test.each<[string, readonly Task[], LaneState['tasks'], number, string]>([
    ['lets those that it read be worked on', [task(1), check, unread], { 'issue-1': being('done') }, 0, 'iterate'],
    [
      'keeps a finished plan from being complete',
      [task(1), check, unread],
      { 'issue-1': being('done'), [CHECK]: being('done') },
      0,
      'limit (checks)',
    ],
    ['lets other tasks continue', [task(1), check, unread], { [CHECK]: being('done') }, 0, 'iterate'],
    [
      'comes before a review of what is full',
      [task(1), task(2), check, unread],
      { 'issue-1': being('done'), [CHECK]: being('done') },
      1,
      'limit (checks)',
    ],
    [
      'is left to the next run, also where a person must decide on another',
      [check, unread],
      { [CHECK]: being('blocked') },
      0,
      'limit (checks)',
    ],
    [
      'says nothing when a person must decide on it',
      [unread],
      { [unread.id]: being('blocked') },
      0,
      'blocked (needs_human)',
    ],
  ])('%s', (_, tasks, states, maxTasksPerPr, expected) => {
    const state = { ...fresh, change: { ...noChange, tasks: { 'issue-1': EMPTY_SHARE } }, tasks: states };
    const step = decideNextStep({
      state,
      tasks,
      run: createRunSoFar(state, noon),
      policy: { ...policy, maxTasksPerPr },
      now: noon,
    });
    expect(describeStep(step)).toBe(expected);
  });
});

describe('a pull request that is full', () => {
  const full: LaneState = {
    ...fresh,
    change: { ...noChange, tasks: { 'issue-1': EMPTY_SHARE, 'issue-2': EMPTY_SHARE } },
    tasks: { 'issue-1': being('done'), 'issue-2': being('done') },
  };
  const done = [task(1), task(2)];
  test.each<[string, readonly Task[], LaneState['tasks'], string]>([
    ['waits for its review', [task(3)], {}, 'idle (waiting_for_review)'],
    ['answers it', [task(3), thread(7)], {}, 'iterate'],
    [
      'waits again when it has its answers',
      [task(3), thread(7)],
      { 'thread-7': being('done') },
      'idle (waiting_for_review)',
    ],
    [
      'waits when a person must decide',
      [task(3), thread(7)],
      { 'thread-7': being('blocked') },
      'idle (waiting_for_review)',
    ],
  ])('%s', (_, more, states, expected) => {
    const state = { ...full, tasks: { ...full.tasks, ...states } };
    const step = decideNextStep({
      state,
      tasks: [...done, ...more],
      run: createRunSoFar(state, noon),
      policy: { ...policy, maxTasksPerPr: 2 },
      now: noon,
    });
    expect(describeStep(step)).toBe(expected);
    if (step.kind === 'iterate') expect(step.task.id).toBe('thread-7');
  });
});

test('an iteration that answers is in the totals, and in nothing that the branch holds of tasks', () => {
  const before = { ...noChange, tasks: { 'issue-1': EMPTY_SHARE } };
  const change = addIteration(before, {
    taskId: 'thread-7',
    title: 'Ada on src/a.js:12',
    signal: { summary: 'Renamed it.', asks: null, recommendation: null },
    costUsd: 0.5,
    tokens: 100,
    durationMs: 60_000,
    commit: 'c1',
    agent: null,
    verification: 'failed',
    overruled: ['It said A.'],
    alsoDone: { 'issue-2': 'Greet', 'review-8': 'Ada comments' },
  });
  expect(change).toMatchObject({ iterations: 1, costUsd: 0.5, tokens: 100, durationMs: 60_000, failingSince: 1 });
  expect(change.overruled).toEqual(['Iteration 1: It said A.']);
  expect(Object.keys(change.tasks)).toEqual(['issue-1', 'issue-2']);
});

test('no file of tasks lacks a mark of it', () => {
  const { state } = play([progress({ output: finishes })], { tasks: [thread(7)] });
  expect(state.tasks['thread-7']?.state).toBe('finished');
  expect(state.tasks['thread-7']?.unmarked).toBeUndefined();
});

const item: FeedbackItem = { kind: 'thread', title: 'Ada on a.js:1', url: null, rounds: 3, asked: '7', answer: null };

describe('people name it', () => {
  test.each<[string, string | null]>([
    ['thread-123', 'thread-123'],
    ['Thread-123', 'thread-123'],
    ['review-9', 'review-9'],
    [CHECK, CHECK],
    ['conflict-base', CONFLICT_TASK],
    ['thread-', null],
    ['thread-0', null],
    ['thread-1x', null],
    ['check-test', null],
    ['conflict-main', null],
  ])('%s: %s', (name, id) => {
    expect(parseTaskName(name)).toBe(id);
    if (id !== null) expect(isFeedback(id)).toBe(true);
  });

  test('as we do', () => {
    expect([formatThreadTaskId(12), formatReviewTaskId(12)].map((id) => [id, isFeedback(id)])).toEqual([
      ['thread-12', true],
      ['review-12', true],
    ]);
  });

  test('to ask for another try, whose rounds were used up', () => {
    const found = {
      subjects: [subjectOfTask(thread(7))].filter((subject) => subject !== null),
      isUndecided: () => false,
      personHead: null,
      maxRounds: 3,
    };
    const spent = mergeSubjects({ feedback: { ...noFeedback, items: { 'thread-7': item } }, tasks: {} }, found);
    expect(spent.spent).toEqual(['thread-7']);
    const state = { ...fresh, feedback: spent.feedback, tasks: spent.tasks };
    const by = { task: 'thread-7', run: null, by: 'ada', from: 'comment', at: noon } as const;
    const obeyed = applyOrders(state, [{ number: noon, kind: 'retry', ...by }]);
    expect([obeyed.currentTask, obeyed.retriesAll]).toEqual(['thread-7', false]);
    expect(obeyed.tasks['thread-7']?.retried).toBeUndefined();
    expect(mergeSubjects(obeyed, found)).toMatchObject({ open: ['thread-7'], spent: [], tasks: {} });
  });
});

describe('the state', () => {
  const posted = { kind: 'changed', commit: 'c1', words: 'Renamed it.', isOurs: false, at: 1, posted: false } as const;
  const feedback: Feedback = { ...noFeedback, items: { 'thread-7': { ...item, answer: posted } } };

  test('of a place where others write has no words to post', () => {
    for (const signed of [false, true])
      expect(selectRestrictiveParts({ ...fresh, feedback }, signed).state.feedback.items['thread-7']).toEqual({
        ...item,
        title: '',
      });
    expect(selectSignedParts({ ...fresh, feedback }, true).state.feedback).toEqual(feedback);
  });

  test.each<[string, Partial<FeedbackItem>, Partial<FeedbackItem>]>([
    ['work that is begun', {}, { workedIn: 'c2' }],
    ['work that continues', { workedIn: 'c1' }, { workedIn: 'c2' }],
    ['an answer to it', { workedIn: 'c1' }, { answer: posted }],
  ])('does not remember %s whose commits are lost', (_, before, after) => {
    const [known, made] = [before, after].map((change): LaneState => ({
      ...fresh,
      feedback: { ...noFeedback, items: { 'thread-7': { ...item, ...change } } },
    }));
    if (known === undefined || made === undefined) throw new Error('There are two.');
    expect(discountProgress({ before: known, after: made, iterations: 1 }, policy, noon).feedback).toEqual(
      known.feedback,
    );
  });

  test('keeps the rounds of a run that saved it elsewhere', () => {
    expect(withSafeParts(fresh, { ...fresh, feedback }).feedback).toEqual(feedback);
  });

  test('fits with everything that can be asked, and what is open stays', () => {
    const long = { ...item, title: 'ß'.repeat(120), url: `https://example.test/${'x'.repeat(270)}` };
    const answer = { ...posted, words: 'ß'.repeat(500), posted: true };
    const items = Object.fromEntries(
      Array.from({ length: MAX_ITEMS }, (_, id) => [formatThreadTaskId(id + 1), id < 10 ? long : { ...long, answer }]),
    );
    const document = serializeState({ ...fresh, feedback: { ...noFeedback, items } });
    expect(new TextEncoder().encode(document).length).toBeLessThanOrEqual(MAX_STATE_BYTES);
    const parsed = parseState(document, 'queue');
    if (parsed.kind !== 'state') throw new Error('It cannot be read.');
    const kept = Object.keys(parsed.state.feedback.items);
    expect(kept).toEqual(expect.arrayContaining(Array.from({ length: 10 }, (_, id) => formatThreadTaskId(id + 1))));
  });
});
