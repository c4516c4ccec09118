import { z } from 'zod';
import { isFeedback } from '../feedback/subject.ts';
import { forgetRounds } from '../feedback/rounds.ts';
import { resetCircuit, retryTask } from '../lane/settle.ts';
import type { LaneState } from '../lane/state.ts';
import { withTransition } from '../lane/session.ts';
import { anyInstant, type Immutable, instant } from '../policy.ts';
import { progressOf, withEach } from '../tasks/queue.ts';
import { isIssueTask, type TaskId } from '../tasks/ids.ts';
import { isFinished, isStuck } from '../tasks/task.ts';

/**
 * What a person may order of a lane. The next run of the lane obeys before it does anything else.
 * `stop` is a pause that a run which works now obeys as well, after its running iteration.
 */
export const orderKinds = ['pause', 'resume', 'stop', 'retry', 'reset-circuit', 'reset-session'] as const;
export type OrderKind = (typeof orderKinds)[number];

/** `event`: what people did on GitHub says so, as a merge that ends a conversation. */
export const orderOrigins = ['comment', 'dispatch', 'event', 'command-line'] as const;

export const orderSchema = z.object({
  /** Grows from order to order and is never below its instant, so that a lost list starts no second count. */
  number: anyInstant,
  kind: z.enum(orderKinds),
  // Orders of older versions have neither task nor run.
  /** What `retry` is about, null: everything that failed or is blocked; null for all other orders. */
  task: z.string().max(80).nullable().default(null),
  /** Id of the Actions run that brought it, the same in every attempt; null: none did. */
  run: z.string().max(40).nullable().default(null),
  /** Login of who gave it; the user's name outside of GitHub. */
  by: z.string().max(100),
  from: z.enum(orderOrigins),
  at: instant,
});

/** An order as it is kept. */
export type Order = Immutable<z.infer<typeof orderSchema>>;

/** An order as it was given. */
export type OrderGiven = Omit<Order, 'number'>;

/** The state after every order that it has not obeyed yet, oldest first; each is in the transitions with who gave it. */
export function applyOrders(state: LaneState, orders: readonly Order[]): LaneState {
  return openOrders(state, orders).reduce(
    (next, order) => ({ ...obey(next, order), ordersApplied: order.number }),
    state,
  );
}

/** The orders that the state has not obeyed yet, oldest first. */
export function openOrders(state: LaneState, orders: readonly Order[]): readonly Order[] {
  // A list keeps its newest order: one that ends before what was obeyed is not the one of then. Numbers do not tell what is
  // new in it, since a giver's clock may have been ahead; instants do.
  const inOrder = orders.toSorted((a, b) => a.number - b.number);
  const isOtherList = inOrder.every(({ number }) => number < state.ordersApplied);
  const first = inOrder.findIndex(({ number, at }) =>
    isOtherList ? at > state.savedAt : number > state.ordersApplied,
  );
  return first === -1 ? [] : inOrder.slice(first);
}

/** Who wants the run that works on this state to end after its iteration; null: nobody. A later `resume` takes it back. */
export function stoppedBy(state: LaneState, orders: readonly Order[]): string | null {
  const newest = openOrders(state, orders).findLast(({ kind }) => kind === 'stop' || kind === 'resume');
  return newest?.kind === 'stop' ? newest.by : null;
}

/** What an order is about: the newest order about a thing decides how it stands, whatever the older ones said. */
export function subjectOf({ kind, task }: Pick<OrderGiven, 'kind' | 'task'>): string {
  switch (kind) {
    case 'pause':
    case 'resume':
    case 'stop':
      return 'pause';
    case 'retry':
      return task === null ? 'retry' : `retry ${task}`;
    case 'reset-circuit':
    case 'reset-session':
      return kind;
  }
}

/** Keeps of the orders about a thing the newest one, which is the one that holds. */
export function holdingOrders<T extends Pick<OrderGiven, 'kind' | 'task'>>(orders: readonly T[]): readonly T[] {
  return orders.filter((order, at) => orders.findLastIndex((one) => subjectOf(one) === subjectOf(order)) === at);
}

/** The tasks that a retry gives their attempts again; of what was asked of the pull request its rounds, if that is named. */
export function tasksToRetry(state: LaneState, task: TaskId | null): readonly TaskId[] {
  const asked = task === null ? Object.keys(state.tasks) : [task];
  return asked.filter((id) => isStuck(progressOf(state.tasks, id)) || (task === id && hasHadRounds(state, id)));
}

/** That it was asked once more than it may be is not in the state that a run without a call leaves behind. */
function hasHadRounds({ feedback: { items, botRounds = 0 } }: LaneState, id: TaskId): boolean {
  const item = Object.hasOwn(items, id) ? items[id] : undefined;
  if (item === undefined) return botRounds > 0 && isFeedback(id);
  return item.rounds > 0 || item.botRound !== undefined;
}

function retried(state: LaneState, id: TaskId, order: Pick<Order, 'at'> & { readonly reason: string }): LaneState {
  return isStuck(progressOf(state.tasks, id))
    ? retryTask(state, id, order.reason, order.at)
    : { ...state, feedback: forgetRounds(state.feedback, id) };
}

/** Who has a task tried again by its name wants it next, whatever is in progress; while the circuit is open the probe is for it, and for what opened it where all are tried again. */
function takenUpNext(state: LaneState, asked: TaskId | null): LaneState {
  const { circuit } = state;
  const task = asked ?? (circuit.kind === 'open' ? circuit.taskId : null);
  if (task === null || isFinished(progressOf(state.tasks, task))) return state;
  return { ...state, circuit: circuit.kind === 'open' ? { ...circuit, taskId: null } : circuit, currentTask: task };
}

/** What only its file calls failed is not in the state, or would be failed again by its file. */
function triedAgain(state: LaneState, asked: TaskId | null): LaneState {
  if (asked === null) return { ...state, retriesAll: true };
  if (isIssueTask(asked) || isFeedback(asked)) return state;
  return { ...state, tasks: withEach(state.tasks, [asked], (progress) => ({ ...progress, retried: true })) };
}

function obey(state: LaneState, order: Order): LaneState {
  const { at } = order;
  const reason = `by ${order.by} (${order.from})`;
  switch (order.kind) {
    case 'pause':
    case 'stop':
      return state.pause === null
        ? withTransition(
            { ...state, pause: { by: order.by, at } },
            { at, subject: 'pause', from: 'working', to: 'paused', reason },
          )
        : state;
    case 'resume':
      return state.pause === null
        ? state
        : withTransition({ ...state, pause: null }, { at, subject: 'pause', from: 'paused', to: 'working', reason });
    case 'retry':
      return tasksToRetry(state, order.task).reduce(
        (next, id) => retried(next, id, { reason, at }),
        takenUpNext(triedAgain(state, order.task), order.task),
      );
    case 'reset-circuit':
      return withoutSession(resetCircuit(state, reason, at), order);
    case 'reset-session':
      return withoutSession(state, order);
  }
}

/** The next call begins a new conversation, whoever's turn it is. */
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
