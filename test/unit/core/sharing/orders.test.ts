import { describe, expect, test } from 'vitest';
import { createLaneRecord, addOrderToRecord } from '../../../../src/core/sharing/lane-record.ts';
import {
  applyOrders,
  orderSchema,
  findStopRequester,
  findOrderSubject,
  type Order,
  type OrderGiven,
  type OrderKind,
} from '../../../../src/core/sharing/orders.ts';
import { createClosedCircuit } from '../../../../src/core/lane/circuit.ts';
import { createInitialState, type LaneState, parseState } from '../../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../../src/core/lane/state/serialize-state.ts';
import { untouchedProgress, withChangedTasks } from '../../../../src/core/tasks/queue.ts';
import type { TaskProgress } from '../../../../src/core/tasks/task.ts';
import { HOUR, MINUTE, noon } from '../core-fixtures.ts';

const working: LaneState = {
  ...createInitialState('queue', noon),
  sequence: 7,
  session: { id: 'session-1', startedAt: noon, lastUsedAt: noon, taskId: 'issue-1' },
  circuit: { kind: 'open', totalOpens: 2, reason: 'no_progress', openedAt: noon, taskId: null },
};
const paused: LaneState = { ...working, pause: { by: 'octocat', at: noon - MINUTE } };
const bare: LaneState = { ...working, session: null, circuit: createClosedCircuit(2) };

const given = (kind: OrderKind, change: Partial<OrderGiven> = {}): OrderGiven => ({
  kind,
  task: null,
  run: null,
  by: 'ada',
  from: 'comment',
  at: noon,
  ...change,
});
const order = (number: number, kind: OrderKind, change: Partial<OrderGiven> = {}): Order => ({
  ...given(kind, change),
  number,
});

describe('the effect of an order, and its line in the history', () => {
  test.each<[OrderKind, string, LaneState, Partial<LaneState>, string]>([
    ['pause', 'a lane at work', working, { pause: { by: 'ada', at: noon } }, 'pause: working → paused'],
    ['stop', 'a lane at work, as a pause', working, { pause: { by: 'ada', at: noon } }, 'pause: working → paused'],
    ['resume', 'a paused lane', paused, { pause: null }, 'pause: paused → working'],
    [
      'reset-circuit',
      'an open circuit, and the session with it',
      working,
      { circuit: createClosedCircuit(2), session: null },
      'circuit: open → closed, session: active → none',
    ],
    [
      'reset-circuit',
      'a closed circuit with a session',
      { ...working, circuit: createClosedCircuit(2) },
      { session: null },
      'circuit: closed → closed, session: active → none',
    ],
    [
      'reset-circuit',
      'a closed one, whose counters go',
      { ...bare, circuit: { ...createClosedCircuit(2), noProgress: 2 } },
      { circuit: createClosedCircuit(2) },
      'circuit: closed → closed, session: none → none',
    ],
    ['reset-session', 'a lane with a session', working, { session: null }, 'session: active → none'],
    ['reset-session', 'a lane without one', bare, { session: null }, 'session: none → none'],
  ])('%s on %s', (kind, _, state, change, transition) => {
    const obeyed = applyOrders(state, [order(noon, kind)]);
    expect(obeyed).toEqual({ ...state, ...change, ordersApplied: noon, transitions: obeyed.transitions });
    expect(obeyed.transitions.map(({ subject, from, to }) => `${subject}: ${from} → ${to}`).join(', ')).toBe(
      transition,
    );
    for (const made of obeyed.transitions) expect(made).toMatchObject({ at: noon, reason: 'by ada (comment)' });
  });

  test.each<[OrderKind, string, LaneState]>([
    ['pause', 'a paused lane stays with who paused it first', paused],
    ['stop', 'a paused lane stays with who paused it first', paused],
    ['resume', 'a lane that is not paused', working],
  ])('%s: %s, and the history is silent', (kind, _, state) => {
    expect(applyOrders(state, [order(noon, kind)])).toEqual({ ...state, ordersApplied: noon });
  });

  const retrying = (...ids: readonly string[]): LaneState => ({
    ...working,
    tasks: withChangedTasks(working.tasks, ids, (known) => ({ ...known, retried: true })),
  });
  const retryingAll: LaneState = { ...working, retriesAll: true };
  test.each<[string, string | null, LaneState, LaneState]>([
    ['of everything', null, working, retryingAll],
    ['of everything, once more', null, retryingAll, retryingAll],
    ['of one entry', 'prd-1', working, retrying('prd-1')],
    ['of the same entry again', 'prd-1', retrying('prd-1', 'prd-2'), retrying('prd-1', 'prd-2')],
    ['of one entry, when it is everything already', 'prd-1', retryingAll, { ...retrying('prd-1'), retriesAll: true }],
    ['of an issue, which no file calls failed', 'issue-1', retrying('prd-1'), retrying('prd-1')],
  ])('a retry %s is kept for what only its file calls failed, and the history is silent', (_, task, before, after) => {
    const obeyed = applyOrders(before, [order(noon, 'retry', { task })]);
    expect(obeyed).toEqual({ ...after, currentTask: task, ordersApplied: noon });
  });

  test.each(['comment', 'dispatch', 'command-line'] as const)('the history says that it came by %s', (from) => {
    expect(applyOrders(working, [order(noon, 'pause', { from })]).transitions[0]?.reason).toBe(`by ada (${from})`);
  });
});

test.each<[OrderKind, string | null, string]>([
  ['pause', null, 'pause'],
  ['resume', null, 'pause'],
  ['stop', null, 'pause'],
  ['retry', null, 'retry'],
  ['retry', 'issue-1', 'retry issue-1'],
  ['reset-circuit', null, 'reset-circuit'],
  ['reset-session', null, 'reset-session'],
])('%s of %s is about: %s', (kind, task, subject) => {
  expect(findOrderSubject({ kind, task })).toBe(subject);
});

describe('a retry', () => {
  const progress = (state: TaskProgress['state']): TaskProgress => ({
    state,
    attempts: 8,
    startedTree: 'tree',
    doneCommit: null,
    reason: null,
    setAside: null,
  });
  const state: LaneState = {
    ...working,
    tasks: {
      'issue-1': progress('failed'),
      'issue-2': progress('blocked'),
      'issue-3': progress('done'),
      'issue-4': progress('in-progress'),
    },
  };
  const fresh: TaskProgress = {
    state: 'todo',
    attempts: 0,
    startedTree: null,
    doneCommit: null,
    reason: null,
    setAside: null,
  };

  test.each<[string, string | null, readonly string[]]>([
    ['of no task alone: all that failed or are blocked', null, ['issue-1', 'issue-2']],
    ['of a failed one', 'issue-1', ['issue-1']],
    ['of a blocked one', 'issue-2', ['issue-2']],
    ['of one that is done', 'issue-3', []],
    ['of one that is being worked on', 'issue-4', []],
    ['of one that nobody knows', 'plan-3f9a12c0', []],
    ['of what every object has', 'constructor', []],
  ])('%s', (_, task, again) => {
    const obeyed = applyOrders(state, [order(noon, 'retry', { task })]);
    const known = Object.entries(obeyed.tasks).filter(([id]) => Object.hasOwn(state.tasks, id));
    expect(Object.fromEntries(known)).toEqual({
      ...state.tasks,
      ...Object.fromEntries(again.map((id) => [id, fresh])),
    });
    expect(obeyed.transitions.map(({ from, to, reason }) => `${from} → ${to} ${reason}`)).toEqual(
      again.map((id) => `${id} ${state.tasks[id]?.state ?? ''} → todo by ada (comment)`),
    );
  });
});

describe('a retry is what comes next, and the next probe of an open circuit', () => {
  const openOn = (taskId: string | null): LaneState => ({
    ...working,
    circuit: { kind: 'open', totalOpens: 2, reason: 'no_progress', openedAt: noon, taskId },
    currentTask: 'issue-3',
    tasks: { 'issue-7': { ...untouchedProgress, state: 'done' } },
  });
  test.each<[string, LaneState, string | null, string | null]>([
    ['for the task that opened it', openOn('issue-1'), 'issue-1', 'issue-1'],
    ['for what opened it, if everything is tried again', openOn('issue-1'), null, 'issue-1'],
    ['for another task that waits behind it', openOn('issue-1'), 'issue-2', 'issue-2'],
    ['for the task that is asked for, where nobody knows what opened it', openOn(null), 'issue-2', 'issue-2'],
    ['for no task of everything, where nobody knows what opened it', openOn(null), null, null],
    ['for no task that is done', openOn('issue-1'), 'issue-7', null],
    ['for no task of everything, where it is closed', { ...bare, currentTask: 'issue-3' }, null, null],
    ['for the task that is asked for, where it is closed', { ...bare, currentTask: 'issue-3' }, 'issue-1', 'issue-1'],
  ])('%s', (_, state, task, probed) => {
    const next = applyOrders(state, [order(noon, 'retry', { task })]);
    const circuit = state.circuit.kind === 'open' ? openOn(null).circuit : state.circuit;
    const probing = probed === null ? {} : { circuit, currentTask: probed };
    expect(next).toEqual({ ...state, ...probing, retriesAll: task === null, ordersApplied: noon });
  });
});

describe('a run that works ends for a stop that it has not obeyed', () => {
  test.each<[string, readonly Order[], string | null]>([
    ['nobody ordered anything', [], null],
    ['a stop', [order(1, 'stop')], 'ada'],
    ['a pause lets it continue', [order(1, 'pause')], null],
    ['a stop and then a pause', [order(1, 'stop'), order(2, 'pause')], 'ada'],
    ['a stop that was taken back', [order(1, 'stop'), order(2, 'resume')], null],
    ['a stop after that', [order(1, 'stop'), order(2, 'resume'), order(3, 'stop', { by: 'bob' })], 'bob'],
    ['other orders behind it', [order(1, 'stop'), order(2, 'retry'), order(3, 'reset-session')], 'ada'],
  ])('%s', (_, orders, expected) => {
    expect(findStopRequester(working, orders)).toBe(expected);
    expect(findStopRequester(applyOrders(working, orders), orders)).toBeNull();
  });
});

test('orders of older versions, which name neither task nor run, are read', () => {
  expect(orderSchema.parse({ number: 1, kind: 'pause', by: 'ada', from: 'comment', at: noon })).toEqual(
    order(1, 'pause'),
  );
});

describe('each order is obeyed once, in the order in which it was given', () => {
  test.each<[string, readonly Order[], { readonly paused: boolean; readonly steps: number }]>([
    ['none', [], { paused: false, steps: 0 }],
    ['pause, resume', [order(1, 'pause'), order(2, 'resume')], { paused: false, steps: 2 }],
    ['resume, pause', [order(1, 'resume'), order(2, 'pause')], { paused: true, steps: 1 }],
    ['the same, stored out of order', [order(2, 'resume'), order(1, 'pause')], { paused: false, steps: 2 }],
    ['pause twice', [order(1, 'pause'), order(2, 'pause')], { paused: true, steps: 1 }],
  ])('%s', (_, orders, expected) => {
    const once = applyOrders(working, orders);
    expect({ paused: once.pause !== null, steps: once.transitions.length }).toEqual(expected);
    expect(once.ordersApplied).toBe(Math.max(0, ...orders.map(({ number }) => number)));
    expect(applyOrders(once, orders)).toEqual(once);
  });

  test('only those that the stored state has not obeyed yet', () => {
    const first = applyOrders(working, [order(1, 'pause')]);
    const stored = parseState(serializeState(first), 'queue');
    const resumed = applyOrders((stored as { state: LaneState }).state, [order(1, 'pause'), order(2, 'resume')]);
    expect(resumed).toMatchObject({
      pause: null,
      ordersApplied: 2,
      transitions: [{ to: 'paused' }, { to: 'working' }],
    });
  });

  test('a resume from the terminal after a pause by comment names both', () => {
    const transitions = applyOrders(working, [
      order(1, 'pause', { by: 'ada' }),
      order(2, 'resume', { by: 'bob', from: 'command-line' }),
    ]).transitions;
    expect(transitions.map(({ reason }) => reason)).toEqual(['by ada (comment)', 'by bob (command-line)']);
  });
});

describe('the number of an order', () => {
  const numbers = (...orders: readonly OrderGiven[]): readonly number[] =>
    orders.reduce(addOrderToRecord, createLaneRecord('queue')).orders.map(({ number }) => number);
  test.each<[string, readonly OrderGiven[], readonly number[]]>([
    ['is its instant', [given('pause', { at: 10 })], [10]],
    ['grows within one millisecond', [given('pause', { at: 10 }), given('resume', { at: 10 })], [10, 11]],
    [
      'grows also when the clock of who gives it is behind',
      [given('pause', { at: 10 }), given('resume', { at: 3 })],
      [10, 11],
    ],
  ])('%s', (_, orders, expected) => {
    expect(numbers(...orders)).toEqual(expected);
  });

  test('is obeyed also after the list of orders was lost', () => {
    const obeyed = applyOrders(working, addOrderToRecord(createLaneRecord('queue'), given('pause')).orders);
    const { orders } = addOrderToRecord(createLaneRecord('queue'), given('resume', { at: noon + MINUTE }));
    expect(applyOrders(obeyed, orders).pause).toBeNull();
  });
});

describe('a list that ends before what was obeyed is another list, and instants tell what is new in it', () => {
  const tomorrow = noon + 24 * HOUR;
  /** A lane that was paused from a laptop whose clock is a day ahead; its run saved a minute later. */
  const obeyed: LaneState = {
    ...applyOrders(working, [order(tomorrow, 'pause', { at: tomorrow })]),
    savedAt: noon + MINUTE,
  };
  const later = noon + 2 * MINUTE;
  test.each<[string, readonly Order[], { readonly paused: boolean; readonly applied: number }]>([
    [
      'the list is the one of then: obeyed once',
      [order(tomorrow, 'pause', { at: tomorrow })],
      { paused: true, applied: tomorrow },
    ],
    [
      'it continues: the new order is beyond',
      [order(tomorrow, 'pause', { at: tomorrow }), order(tomorrow + 1, 'resume', { at: later })],
      { paused: false, applied: tomorrow + 1 },
    ],
    [
      'it was lost: a resume counts at once',
      [order(later, 'resume', { at: later })],
      { paused: false, applied: later },
    ],
    [
      'it was lost: what follows counts too, though its clock is behind',
      [order(later, 'resume', { at: later }), order(later + 1, 'pause', { at: noon })],
      { paused: true, applied: later + 1 },
    ],
    [
      'it was set back: what is older than the save was obeyed',
      [order(noon, 'resume')],
      { paused: true, applied: tomorrow },
    ],
    ['it was lost, and nobody ordered since', [], { paused: true, applied: tomorrow }],
  ])('%s', (_, orders, expected) => {
    const once = applyOrders(obeyed, orders);
    expect({ paused: once.pause !== null, applied: once.ordersApplied }).toEqual(expected);
    expect(applyOrders(once, orders)).toEqual(once);
  });
});

test.each<[string, object]>([
  ['an unknown kind', { kind: 'delete-repository' }],
  ['an unknown source', { from: 'agent' }],
  ['a task of a megabyte', { task: 'x'.repeat(1e6) }],
  ['a name of a megabyte', { by: 'x'.repeat(1e6) }],
  ['a number beyond the calendar', { number: 9e15 }],
  ['an instant at the end of the calendar', { at: 8.64e15 }],
])('a stored order with %s is refused', (_, change) => {
  expect(orderSchema.safeParse({ ...order(1, 'pause'), ...change }).success).toBe(false);
});

describe('a request', () => {
  const asked = (number: number, task: string): Order => order(number, 'request', { task });

  test('in a comment on a pull request is remembered, without its text', () => {
    expect(applyOrders(bare, [asked(1, 'comment-7')]).feedback.items).toEqual({
      'comment-7': { kind: 'comment', title: '', url: null, rounds: 0, asked: '7', answer: null },
    });
  });

  test('that is known already changes nothing of it', () => {
    const once = applyOrders(bare, [asked(1, 'comment-7')]);
    const item = { ...once.feedback.items['comment-7'], rounds: 2 };
    const worked = { ...once, feedback: { ...once.feedback, items: { 'comment-7': item } } } as LaneState;
    expect(applyOrders(worked, [asked(2, 'comment-7')]).feedback).toEqual(worked.feedback);
  });

  test('supersedes none of another comment', () => {
    expect(findOrderSubject(asked(1, 'comment-7'))).not.toBe(findOrderSubject(asked(2, 'comment-8')));
    expect(findOrderSubject(asked(1, 'comment-7'))).toBe(findOrderSubject(asked(2, 'comment-7')));
  });

  test('on an issue gives failed work all its attempts again', () => {
    const failed: TaskProgress = {
      ...untouchedProgress,
      state: 'failed',
      attempts: 3,
      reason: 'status_failed' as never,
    };
    const state = { ...bare, tasks: { 'issue-7': failed } };
    expect(applyOrders(state, [asked(1, 'issue-7')]).tasks['issue-7']).not.toMatchObject({ state: 'failed' });
  });
});
