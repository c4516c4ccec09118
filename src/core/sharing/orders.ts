import { z } from 'zod';
import { isFeedback } from '../feedback/subject.ts';
import { resetRounds, withRequest } from '../feedback/rounds.ts';
import { resetCircuit, retryTask } from '../lane/settle/settle-circuit.ts';
import type { LaneState } from '../lane/state/state.ts';
import { withTransition } from '../lane/session.ts';
import { anyInstant, type Immutable, instantSchema } from '../policy.ts';
import { getProgress, withChangedTasks } from '../tasks/queue.ts';
import { isIssueTask, type TaskId } from '../tasks/ids.ts';
import { isFinished, isStuck } from '../tasks/task.ts';

/**
 * The orders that a person may give for a lane. The lane's next run obeys them before it works. `stop` is a pause that
 * a run in progress obeys as well, after its current iteration. `request`: a comment describes work.
 */
export const orderKinds = ['pause', 'resume', 'stop', 'retry', 'reset-circuit', 'reset-session', 'request'] as const;
export type OrderKind = (typeof orderKinds)[number];

/** The origins of an order. `event`: an action of people on GitHub implies it, as a merge that ends a session. */
export const orderOrigins = ['comment', 'dispatch', 'event', 'command-line'] as const;

export const orderSchema = z.object({
  /** Number of the order, which grows and is at least `at`, so that numbers keep growing even if the list is lost. */
  number: anyInstant,
  kind: z.enum(orderKinds),
  // Orders of older versions have neither task nor run.
  /**
   * The subject of `retry`, null for everything that failed or is blocked; of `request`, the issue or the comment's
   * task; null for all other orders.
   */
  task: z.string().max(80).nullable().default(null),
  /** Id of the Actions run that gave it, the same in every attempt; null without a run. */
  run: z.string().max(40).nullable().default(null),
  /** Login of the person who gave it; outside of GitHub, the user's name. */
  by: z.string().max(100),
  from: z.enum(orderOrigins),
  at: instantSchema,
  /**
   * The consent that a request on an issue gives: the hash of the text that the person saw, the id of their account,
   * and when they wrote; absent for any other order.
   */
  consent: z.object({ text: z.string().max(64), id: z.int().positive().nullable(), at: instantSchema }).optional(),
});

/** An order as it is stored. */
export type Order = Immutable<z.infer<typeof orderSchema>>;

export type OrderGiven = Omit<Order, 'number'>;

/** Applies the pending orders, oldest first, and records each with the person who gave it. */
export function applyOrders(state: LaneState, orders: readonly Order[]): LaneState {
  return listOpenOrders(state, orders).reduce(
    (next, order) => ({ ...obey(next, order), ordersApplied: order.number }),
    state,
  );
}

/** Returns the orders that the state has not obeyed yet, oldest first. */
export function listOpenOrders(state: LaneState, orders: readonly Order[]): readonly Order[] {
  // A list always keeps its newest order. If all numbers are below the obeyed one, the list was lost and begun again:
  // then only instants tell which orders are new, since a clock may have been ahead when the obeyed number was given.
  const inOrder = orders.toSorted((a, b) => a.number - b.number);
  const isOtherList = inOrder.every(({ number }) => number < state.ordersApplied);
  const first = inOrder.findIndex(({ number, at }) =>
    isOtherList ? at > state.savedAt : number > state.ordersApplied,
  );
  return first === -1 ? [] : inOrder.slice(first);
}

/**
 * Returns the person who wants the run on this state to end after its iteration; null if nobody does. A later `resume`
 * cancels the request.
 */
export function findStopRequester(state: LaneState, orders: readonly Order[]): string | null {
  const newest = listOpenOrders(state, orders).findLast(({ kind }) => kind === 'stop' || kind === 'resume');
  return newest?.kind === 'stop' ? newest.by : null;
}

/** Returns the subject of an order: the newest order on a subject decides, whatever the older ones said. */
export function findOrderSubject({ kind, task }: Pick<OrderGiven, 'kind' | 'task'>): string {
  switch (kind) {
    case 'pause':
    case 'resume':
    case 'stop':
      return 'pause';
    case 'retry':
      return task === null ? 'retry' : `retry ${task}`;
    case 'request':
      return `request ${task ?? ''}`;
    case 'reset-circuit':
    case 'reset-session':
      return kind;
  }
}

/** Returns the newest order on each subject, which supersedes the older ones. */
export function selectEffectiveOrders<T extends Pick<OrderGiven, 'kind' | 'task'>>(orders: readonly T[]): readonly T[] {
  return orders.filter(
    (order, at) => orders.findLastIndex((one) => findOrderSubject(one) === findOrderSubject(order)) === at,
  );
}

/**
 * Returns the tasks that a retry reopens: they get all their attempts again. Feedback that is retried by name gets its
 * rounds again.
 */
export function listTasksToRetry(state: LaneState, task: TaskId | null): readonly TaskId[] {
  const asked = task === null ? Object.keys(state.tasks) : [task];
  return asked.filter((id) => isStuck(getProgress(state.tasks, id)) || (task === id && hasHadRounds(state, id)));
}

/**
 * Returns true if a feedback task has used rounds, or may have. An unknown task may be a bot's request whose rounds are
 * used up: a run without an agent call does not store it.
 */
function hasHadRounds({ feedback: { items, botRounds = 0 } }: LaneState, id: TaskId): boolean {
  const item = Object.hasOwn(items, id) ? items[id] : undefined;
  if (item === undefined) return botRounds > 0 && isFeedback(id);
  return item.rounds > 0 || item.botRound !== undefined;
}

function retryOne(state: LaneState, id: TaskId, order: Pick<Order, 'at'> & { readonly reason: string }): LaneState {
  return isStuck(getProgress(state.tasks, id))
    ? retryTask(state, id, order.reason, order.at)
    : { ...state, feedback: resetRounds(state.feedback, id) };
}

/**
 * Makes a task that a person retries by name the next one, even if another is in progress; it becomes the probe of an
 * open circuit. If everything is retried, the task that opened the circuit becomes the probe.
 */
function makeNext(state: LaneState, asked: TaskId | null): LaneState {
  const { circuit } = state;
  const task = asked ?? (circuit.kind === 'open' ? circuit.taskId : null);
  if (task === null || isFinished(getProgress(state.tasks, task))) return state;
  return { ...state, circuit: circuit.kind === 'open' ? { ...circuit, taskId: null } : circuit, currentTask: task };
}

/** Marks tasks as retried, so that tasks that are failed or blocked only in their file are open again. */
function markRetried(state: LaneState, asked: TaskId | null): LaneState {
  if (asked === null) return { ...state, retriesAll: true };
  if (isIssueTask(asked) || isFeedback(asked)) return state;
  return { ...state, tasks: withChangedTasks(state.tasks, [asked], (progress) => ({ ...progress, retried: true })) };
}

/** Returns the state of a lane that rests until a person resumes it. */
export function pauseLane(state: LaneState, { by, at }: Pick<Order, 'by' | 'at'>, reason: string): LaneState {
  return state.pause === null
    ? withTransition({ ...state, pause: { by, at } }, { at, subject: 'pause', from: 'working', to: 'paused', reason })
    : state;
}

function obey(state: LaneState, order: Order): LaneState {
  const { at } = order;
  const reason = `by ${order.by} (${order.from})`;
  switch (order.kind) {
    case 'pause':
    case 'stop':
      return pauseLane(state, order, reason);
    case 'resume':
      return state.pause === null
        ? state
        : withTransition({ ...state, pause: null }, { at, subject: 'pause', from: 'paused', to: 'working', reason });
    case 'retry':
      return listTasksToRetry(state, order.task).reduce(
        (next, id) => retryOne(next, id, { reason, at }),
        makeNext(markRetried(state, order.task), order.task),
      );
    case 'request':
      return order.task !== null && isFeedback(order.task)
        ? { ...state, feedback: withRequest(state.feedback, order.task) }
        : listTasksToRetry(state, order.task).reduce((next, id) => retryOne(next, id, { reason, at }), state);
    case 'reset-circuit':
      return withoutSession(resetCircuit(state, reason, at), order);
    case 'reset-session':
      return withoutSession(state, order);
  }
}

/** Drops every session, so that the next call of any agent begins a new one. */
function withoutSession(state: LaneState, { by, from, at }: Order): LaneState {
  return withTransition(
    { ...state, session: null, resting: {} },
    {
      at,
      subject: 'session',
      from: state.session === null ? 'none' : 'active',
      to: 'none',
      reason: `by ${by} (${from})`,
    },
  );
}
