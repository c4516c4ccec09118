import { describe, expect, test } from 'vitest';
import { type Circuit, createClosedCircuit, noSignals, type Signals } from '../../../../src/core/lane/circuit.ts';
import { noFeedback, type answerKinds, type Feedback } from '../../../../src/core/feedback/memory.ts';
import type { Outcome } from '../../../../src/core/outcome.ts';
import {
  isKnownReady,
  mayNotify,
  listNeedsAtRest,
  listResolvedNeeds,
  planNotifications,
  type LaneEnd,
} from '../../../../src/core/people/needs.ts';
import { MAX_NOTIFICATIONS, type Need, type Notification } from '../../../../src/core/people/notifications.ts';
import type { TaskProgress } from '../../../../src/core/tasks/task.ts';
import { DAY_MS } from '../../../../src/core/countdown.ts';

const at = Date.UTC(2026, 10, 21, 12);
const todo: TaskProgress = {
  state: 'todo',
  attempts: 0,
  startedTree: null,
  doneCommit: null,
  reason: null,
  setAside: null,
};
const done: TaskProgress = { ...todo, state: 'done', attempts: 1 };
const blocked: TaskProgress = { ...todo, state: 'blocked', attempts: 2, reason: 'status_blocked' };
const idle: TaskProgress = { ...blocked, reason: 'nothing_to_do' };
const failed: TaskProgress = { ...todo, state: 'failed', attempts: 8, reason: 'max_iterations_per_task' };
const stuck: TaskProgress = { ...todo, state: 'stuck', attempts: 3, reason: 'no_progress', setAside: { times: 1, at } };
const anotherTurn: TaskProgress = { ...stuck, state: 'in-progress', reason: null };
const open: Circuit = { kind: 'open', totalOpens: 1, reason: 'no_progress', openedAt: at, taskId: null };

const notification = (kind: Notification['kind'], about: string, thread = 1): Notification => ({
  kind,
  about,
  thread,
  comment: 5,
  at,
});

interface Row {
  readonly before?: TaskProgress;
  readonly after?: TaskProgress;
  readonly notified?: readonly Notification[];
  /** The notifications at the start of the run; defaults to those at its end. */
  readonly notifiedBefore?: readonly Notification[];
  readonly end?: Partial<LaneEnd>;
  readonly circuit?: Circuit;
  readonly signals?: Signals;
  /** The progress of the thread at the end; `askedBefore` and `asked` are the feedback at the start and the end. */
  readonly threadAfter?: TaskProgress;
  readonly askedBefore?: Feedback;
  readonly asked?: Feedback;
}

/** Returns the feedback with one thread that had this many rounds. */
function thread(rounds: number, kind: (typeof answerKinds)[number] | null = null, answeredAt = at): Feedback {
  const answer =
    kind === null ? null : { kind, commit: null, words: null, isOurs: false, at: answeredAt, posted: true };
  const item = { kind: 'thread', title: 'Rename it', url: null, rounds, asked: '41', answer } as const;
  return { ...noFeedback, items: { 'thread-1': item } };
}
const needsHuman: Outcome = { kind: 'blocked', reason: 'needs_human' };
const spent: TaskProgress = { ...blocked, attempts: 0, reason: 'feedback_rounds' };

function plan(row: Row) {
  const {
    before = todo,
    after = todo,
    notified = [],
    end = {},
    circuit = createClosedCircuit(0),
    signals = noSignals,
  } = row;
  const { notifiedBefore = notified, askedBefore = noFeedback, asked = noFeedback } = row;
  const { notify, settle } = planNotifications({
    lane: 'queue',
    startedAt: at + 1,
    before: {
      tasks: { 'issue-1': before },
      circuit: createClosedCircuit(0),
      notified: notifiedBefore,
      signals: noSignals,
      redBase: null,
      feedback: askedBefore,
    },
    after: {
      tasks: { 'issue-1': after, 'thread-1': row.threadAfter ?? todo },
      circuit,
      notified,
      signals,
      redBase: null,
      feedback: asked,
    },
    tasks: [{ id: 'issue-1', obstacle: null }],
    outcome: { kind: 'limit', reason: 'iterations' },
    pullRequest: 7,
    addedWork: false,
    unapproved: [],
    maxRounds: 3,
    ...end,
  });
  return [
    ...notify.map(({ kind, about }) => `+ ${kind} ${about}`),
    ...settle.map(({ notification: { kind }, why }) => `- ${kind} ${why}`),
  ].join(', ');
}

describe('of a task', () => {
  test.each<[string, Row, string]>([
    ['a task that continues needs nobody', { after: anotherTurn }, ''],
    ['one that is blocked does', { after: blocked }, '+ blocked issue-1'],
    ['one with nothing to do does', { after: idle }, '+ nothing_to_do issue-1'],
    ['one that failed does', { after: failed }, '+ failed issue-1'],
    ['one that is stuck does', { after: stuck }, '+ stuck issue-1'],
    [
      'what people know is not repeated',
      { before: blocked, after: blocked, notified: [notification('blocked', 'issue-1')] },
      '',
    ],
    [
      'nor is a stuck one that had another turn and is stuck again',
      { before: stuck, after: stuck, notified: [notification('stuck', 'issue-1')] },
      '',
    ],
    [
      'while that turn has no end, nothing is settled',
      { before: stuck, after: anotherTurn, notified: [notification('stuck', 'issue-1')] },
      '',
    ],
    [
      'progress settles it',
      { before: stuck, after: { ...anotherTurn, setAside: null }, notified: [notification('stuck', 'issue-1')] },
      '- stuck goes_on',
    ],
    [
      'done settles everything',
      { before: todo, after: done, notified: [notification('blocked', 'issue-1')] },
      '- blocked done',
    ],
    [
      'a person who asks for a retry has answered: the next question is another one',
      { before: todo, after: blocked, notified: [notification('blocked', 'issue-1')] },
      '+ blocked issue-1, - blocked goes_on',
    ],
    [
      'but not one that this very run has asked already',
      { before: todo, after: blocked, notified: [{ ...notification('blocked', 'issue-1'), at: at + 1 }] },
      '',
    ],
    [
      'another reason is another matter',
      { before: stuck, after: failed, notified: [notification('stuck', 'issue-1')] },
      '+ failed issue-1, - stuck goes_on',
    ],
    [
      'an issue that is closed or has its label off is settled',
      { notified: [notification('blocked', 'issue-9')] },
      '- blocked gone',
    ],
    [
      'while another one is not: what people know of this one is not repeated',
      {
        before: blocked,
        after: blocked,
        notified: [notification('blocked', 'issue-1'), notification('blocked', 'issue-9')],
      },
      '- blocked gone',
    ],
    [
      'nor by another task beside it',
      {
        before: blocked,
        after: blocked,
        notified: [notification('blocked', 'issue-1')],
        end: { tasks: ['issue-1', 'issue-2'].map((id) => ({ id, obstacle: null })) },
      },
      '',
    ],
    [
      'a stuck one whose other turn has not come is not settled',
      { before: stuck, after: { ...anotherTurn, state: 'todo' }, notified: [notification('stuck', 'issue-1')] },
      '',
    ],
    [
      'one that fails in its other turn is no longer stuck',
      { before: stuck, after: { ...failed, setAside: stuck.setAside }, notified: [notification('stuck', 'issue-1')] },
      '+ failed issue-1, - stuck goes_on',
    ],
    [
      'a blocked one that is worked on continues, also if it was set aside before',
      { before: blocked, after: anotherTurn, notified: [notification('blocked', 'issue-1')] },
      '- blocked goes_on',
    ],
    [
      'what waits for the label has a notice of its own',
      { after: blocked, end: { tasks: [{ id: 'issue-1', obstacle: 'needs-approval' }] } },
      '',
    ],
    ['one whose text changed after approval does', { end: { unapproved: ['issue-1'] } }, '+ needs_approval issue-1'],
    [
      'it is not repeated',
      {
        end: { tasks: [{ id: 'issue-1', obstacle: 'needs-approval' }], unapproved: ['issue-1'] },
        notified: [notification('needs_approval', 'issue-1')],
      },
      '',
    ],
    [
      'nor settled by a run that did not check',
      {
        end: { tasks: [{ id: 'issue-1', obstacle: 'unchecked' }] },
        notified: [notification('needs_approval', 'issue-1')],
      },
      '',
    ],
    [
      'it is settled by approval',
      { notified: [notification('needs_approval', 'issue-1')] },
      '- needs_approval approved',
    ],
    [
      'also where something else is in the way',
      {
        end: { tasks: [{ id: 'issue-1', obstacle: 'dependency-cycle' }] },
        notified: [notification('needs_approval', 'issue-1')],
      },
      '- needs_approval approved',
    ],
    [
      'and by an issue that is closed',
      {
        end: { tasks: [{ id: 'issue-2', obstacle: 'needs-approval' }] },
        notified: [notification('needs_approval', 'issue-1')],
      },
      '- needs_approval gone',
    ],
  ])('%s', (_, row, expected) => {
    expect(plan(row)).toBe(expected);
  });
});

describe('of a lane', () => {
  const opened = {
    kind: 'halted',
    reason: 'circuit_open',
    circuitReason: 'no_progress',
    tripped: 'this-run',
    probeAt: at,
  } as const;
  const halted = { kind: 'halted', reason: 'permission_denied' } as const;
  const complete = { kind: 'complete', reason: 'plan_complete' } as const;
  const unusable = { kind: 'failed', reason: 'configuration', message: 'No key.' } as const;
  const cancelled = { kind: 'cancelled', reason: 'signal' } as const;
  const waiting = { kind: 'idle', reason: 'waiting_for_review' } as const;
  const parked = { kind: 'parked', reason: 'calls_per_hour', resumeAt: at + 1 } as const;
  const paused = { kind: 'paused', reason: 'by_person', by: 'ann' } as const;
  test.each<[string, Row, string]>([
    ['a circuit that opened', { circuit: open, end: { outcome: opened } }, '+ circuit_open lane-queue'],
    [
      'one that an earlier run opened, which could notify nobody',
      { circuit: open, end: { outcome: { ...opened, tripped: 'earlier' } } },
      '+ circuit_open lane-queue',
    ],
    [
      'nor one whose probe failed again',
      { circuit: open, end: { outcome: opened }, notified: [notification('circuit_open', 'lane-queue')] },
      '',
    ],
    [
      'it is settled when it closes',
      { notified: [notification('circuit_open', 'lane-queue')] },
      '- circuit_open circuit_closed',
    ],
    ['a run that was stopped for a person', { end: { outcome: halted } }, '+ halted lane-queue'],
    [
      'not again while every run is',
      { end: { outcome: { ...halted, reason: 'safety' } }, notified: [notification('halted', 'lane-queue')] },
      '',
    ],
    [
      'nor by a run that could not work',
      {
        end: { outcome: { kind: 'failed', reason: 'infrastructure', message: 'Down.' } },
        notified: [notification('halted', 'lane-queue')],
      },
      '',
    ],
    ['settled by one that is not', { notified: [notification('halted', 'lane-queue')] }, '- halted works_again'],
    [
      'nor settled by one that was cut off',
      { end: { outcome: cancelled }, notified: [notification('halted', 'lane-queue')] },
      '',
    ],
    [
      'nor while tests alone are what changes',
      { signals: { ...noSignals, testOnlyInARow: 2 }, notified: [notification('halted', 'lane-queue')] },
      '',
    ],
    [
      'nor while claims are overruled',
      { signals: { ...noSignals, vetoed: [true, true] }, notified: [notification('halted', 'lane-queue')] },
      '',
    ],
    [
      'nor by one that waits for an hour to pass',
      { end: { outcome: parked }, notified: [notification('halted', 'lane-queue')] },
      '',
    ],
    [
      'nor by one that a person paused',
      { end: { outcome: paused }, notified: [notification('halted', 'lane-queue')] },
      '',
    ],
    [
      'a halt is known apart from a pull request that was ready before',
      { end: { outcome: halted }, notified: [notification('ready', 'lane-queue', 7)] },
      '+ halted lane-queue',
    ],
    ['a configuration that stops every run', { end: { outcome: unusable } }, '+ configuration every-run'],
    ['an incident passes', { end: { outcome: { kind: 'failed', reason: 'infrastructure', message: 'Down.' } } }, ''],
    [
      'it is settled by a run that works',
      { notified: [notification('configuration', 'every-run')] },
      '- configuration works_again',
    ],
    [
      'not again while it does',
      { end: { outcome: unusable }, notified: [notification('configuration', 'every-run')] },
      '',
    ],
    [
      'also by one that was cut off: it could start',
      { end: { outcome: cancelled }, notified: [notification('configuration', 'every-run')] },
      '- configuration works_again',
    ],
    ['a pull request that is complete', { after: done, end: { outcome: complete } }, '+ ready lane-queue'],
    [
      'not again while nothing is added to it',
      { after: done, end: { outcome: complete }, notified: [notification('ready', 'lane-queue', 7)] },
      '',
    ],
    [
      'ready with more than people were notified of',
      { after: done, end: { outcome: complete, addedWork: true }, notified: [notification('ready', 'lane-queue', 7)] },
      '+ ready lane-queue, - ready more_work',
    ],
    [
      'no longer ready: there is more, and it is not complete',
      { end: { addedWork: true }, notified: [notification('ready', 'lane-queue', 7)] },
      '- ready more_work',
    ],
    [
      'no longer ready: a person must decide what was asked since',
      {
        after: done,
        end: { outcome: needsHuman },
        asked: thread(1, 'given-up', at + 1),
        notified: [notification('ready', 'lane-queue', 7)],
      },
      '- ready held_up',
    ],
    [
      'still ready after an answer that is in its thread',
      {
        after: done,
        end: { outcome: complete },
        asked: thread(1, 'unchanged', at + 1),
        notified: [notification('ready', 'lane-queue', 7)],
      },
      '',
    ],
    [
      'ready with the work of this very run, which post finishes',
      {
        after: done,
        end: { outcome: complete, addedWork: true },
        notifiedBefore: [],
        notified: [notification('ready', 'lane-queue', 7)],
      },
      '',
    ],
    [
      'also if people were notified of something else before',
      {
        after: done,
        end: { outcome: complete, addedWork: true },
        notifiedBefore: [{ ...notification('blocked', 'issue-1'), comment: 4 }],
        notified: [notification('ready', 'lane-queue', 7)],
      },
      '',
    ],
    [
      'the next one is another',
      { after: done, end: { outcome: complete }, notified: [notification('ready', 'lane-queue', 6)] },
      '+ ready lane-queue, - ready pull_request_over',
    ],
    ['nothing is ready without a pull request', { after: done, end: { outcome: complete, pullRequest: null } }, ''],
    ['a lane without tasks needs nobody', { end: { outcome: { kind: 'idle', reason: 'no_tasks' } } }, ''],
    ['work that waits for review', { end: { outcome: waiting } }, '+ waiting_for_review lane-queue'],
    [
      'not again while it waits',
      { end: { outcome: waiting }, notified: [notification('waiting_for_review', 'lane-queue')] },
      '',
    ],
    [
      'settled when it continues',
      { notified: [notification('waiting_for_review', 'lane-queue')] },
      '- waiting_for_review works_again',
    ],
  ])('%s', (_, row, expected) => {
    expect(plan(row)).toBe(expected);
  });
});

describe('of what people asked on the pull request', () => {
  const of = { end: { tasks: [{ id: 'thread-1', obstacle: null }] } };
  const known = [notification('feedback_rounds', 'thread-1', 7)];
  const earlier = [{ ...notification('feedback_rounds', 'thread-1', 7), at: 1 }];
  test.each<[string, Row, string]>([
    ['a first round needs nobody', { ...of, askedBefore: thread(0), asked: thread(1, 'changed') }, ''],
    [
      'the run in which the last allowed one ended does',
      { ...of, askedBefore: thread(2), asked: thread(3, 'changed') },
      '+ feedback_rounds thread-1',
    ],
    ['not the runs after it', { ...of, askedBefore: thread(3, 'changed'), asked: thread(3, 'changed') }, ''],
    ['nor any without a limit', { end: { ...of.end, maxRounds: 0 }, askedBefore: thread(2), asked: thread(3) }, ''],
    [
      'one that comes back after its last round does, where nobody was notified then',
      { end: { ...of.end }, askedBefore: thread(3), asked: thread(3), threadAfter: spent },
      '+ feedback_rounds thread-1',
    ],
    [
      'and is not repeated',
      { ...of, askedBefore: thread(3), asked: thread(3), threadAfter: spent, notified: known },
      '',
    ],
    [
      'what the last round ended with is said with it, and not once more',
      { ...of, askedBefore: thread(2), asked: thread(3, 'given-up'), threadAfter: blocked },
      '+ feedback_rounds thread-1',
    ],
    [
      'nor by a later run',
      {
        ...of,
        askedBefore: thread(3, 'given-up'),
        asked: thread(3, 'given-up'),
        threadAfter: blocked,
        notified: known,
      },
      '',
    ],
    [
      'a question of the agent does as for any task',
      { ...of, asked: thread(1), threadAfter: blocked },
      '+ blocked thread-1',
    ],
    [
      'an answer that stands settles it',
      { ...of, asked: thread(3, 'changed'), askedBefore: thread(3), notified: earlier },
      '- feedback_rounds done',
    ],
    [
      'not in the run that notified people, should post finish that',
      {
        ...of,
        asked: thread(3, 'changed'),
        askedBefore: thread(2),
        notified: [{ ...notification('feedback_rounds', 'thread-1', 7), at: at + 2 }],
      },
      '',
    ],
    [
      'a push of a person settles it',
      { ...of, asked: thread(0), askedBefore: thread(3), notified: earlier },
      '- feedback_rounds goes_on',
    ],
    [
      'a thread that was resolved settles it',
      { ...of, askedBefore: thread(3), notified: earlier },
      '- feedback_rounds gone',
    ],
    [
      'what a person must decide stays',
      { ...of, asked: thread(3, 'given-up'), askedBefore: thread(3), notified: earlier },
      '',
    ],
    [
      'and is not said once more after a push that did not end it',
      {
        ...of,
        asked: thread(0, 'given-up'),
        askedBefore: thread(0, 'given-up'),
        threadAfter: blocked,
        notified: earlier,
        end: { tasks: [{ id: 'thread-1', obstacle: null }] },
      },
      '',
    ],
  ])('%s', (_, row, expected) => {
    expect(plan(row)).toBe(expected);
  });
});

test('a memory that is full forgets nobody: what is new waits until something is settled, but not what is about the lane', () => {
  const many = Array.from({ length: MAX_NOTIFICATIONS }, (_, i) => notification('blocked', `issue-${String(i + 2)}`));
  const halted = { kind: 'halted', reason: 'permission_denied' } as const;
  const unusable = { kind: 'failed', reason: 'configuration', message: 'No key.' } as const;
  const planOf = (notified: readonly Notification[], outcome: Outcome): readonly string[] => {
    const tasks = ['issue-1', ...notified.map(({ about }) => about)].map((id) => ({ id, obstacle: null }));
    const stood = Object.fromEntries(notified.map(({ about }) => [about, blocked]));
    const before = {
      tasks: stood,
      circuit: createClosedCircuit(0),
      notified,
      signals: noSignals,
      feedback: noFeedback,
      redBase: null,
    };
    const after = { ...before, tasks: { ...stood, 'issue-1': blocked } };
    return planNotifications({
      lane: 'queue',
      startedAt: at + 1,
      before,
      after,
      tasks,
      outcome,
      pullRequest: 7,
      addedWork: false,
      unapproved: [],
      maxRounds: 3,
    }).notify.map(({ kind }) => kind);
  };
  expect(planOf(many.slice(0, MAX_NOTIFICATIONS - 21), halted)).toEqual(['blocked', 'halted']);
  expect(planOf(many.slice(0, MAX_NOTIFICATIONS - 20), halted)).toEqual(['halted']);
  expect(planOf(many.slice(0, MAX_NOTIFICATIONS - 20), unusable)).toEqual(['configuration']);
});

test.each<[string, readonly number[], boolean]>([
  ['nobody was notified yet', [], true],
  ['nine times in 24 hours', Array.from({ length: 9 }, () => at - 1), true],
  ['ten times', Array.from({ length: 10 }, () => at - 1), false],
  ['ten times, the first of them a day ago', [at - DAY_MS, ...Array.from({ length: 9 }, () => at - 1)], true],
])('a day has its bound: %s', (_, given, expected) => {
  expect(mayNotify(given, at)).toBe(expected);
});

describe('of a lane that rests', () => {
  const stopped = { kind: 'blocked', reason: 'needs_human' } as const;
  const needsOf = (outcome: Outcome, notified: readonly Notification[]): readonly Need[] => {
    const state = {
      tasks: { 'issue-1': blocked },
      circuit: createClosedCircuit(0),
      notified,
      signals: noSignals,
      feedback: noFeedback,
      redBase: null,
    };
    return listNeedsAtRest(
      { lane: 'queue', state, tasks: [{ id: 'issue-1', obstacle: null }], outcome, maxRounds: 3 },
      at,
    );
  };
  const task: Need = { kind: 'blocked', about: 'issue-1' };
  test.each<[string, Outcome, readonly Notification[], readonly Need[]]>([
    ['what it needs people for', stopped, [], [task]],
    ['not what they know', stopped, [notification('blocked', 'issue-1')], []],
    ['also what waits for an hour to pass', { kind: 'parked', reason: 'calls_per_hour', resumeAt: at }, [], [task]],
    ['also what was halted', { kind: 'halted', reason: 'safety' }, [], [task, { kind: 'halted', about: 'lane-queue' }]],
    ['nothing where a person paused it', { kind: 'paused', reason: 'by_person', by: 'ann' }, [], []],
    ['nothing where the work is done', { kind: 'idle', reason: 'all_done' }, [], []],
  ])('%s', (_, outcome, notified, expected) => {
    expect(needsOf(outcome, notified)).toEqual(expected);
  });
});

describe('over with a run that works', () => {
  test.each<[string, Outcome, readonly string[]]>([
    [
      'a configuration that stopped every run, and a wait for review',
      { kind: 'limit', reason: 'iterations' },
      ['configuration every-run', 'waiting_for_review lane-issue-1'],
    ],
    [
      'with a complete one also what halted the lane',
      { kind: 'complete', reason: 'plan_complete' },
      ['configuration every-run', 'waiting_for_review lane-issue-1', 'halted lane-issue-1'],
    ],
    [
      'no configuration while runs fail',
      { kind: 'failed', reason: 'infrastructure', message: 'Down.' },
      ['waiting_for_review lane-issue-1'],
    ],
    ['no wait while it lasts', { kind: 'idle', reason: 'waiting_for_review' }, ['configuration every-run']],
  ])('%s', (_, outcome, expected) => {
    const over = listResolvedNeeds({ lane: 'issue-1', outcome });
    expect(over.map(({ kind, about }) => `${kind} ${about}`)).toEqual(expected);
  });
});

test.each<[string, readonly Notification[], boolean]>([
  ['of nothing', [], false],
  ["of the lane's own", [notification('blocked', 'issue-2'), notification('ready', 'lane-issue-1')], true],
  ['from another lane', [notification('ready', 'lane-queue')], false],
  ['of something else about it', [notification('halted', 'lane-issue-1')], false],
])('people know that a pull request is ready: notified %s', (_, notified, expected) => {
  expect(isKnownReady({ lane: 'issue-1', notified })).toBe(expected);
});
