import { z } from 'zod';
import { resetCircuit } from './settle.ts';
import { instant } from './state-schema.ts';
import { noted, type LaneState } from './state.ts';

/** What a person may order of a lane. The next run of the lane obeys before it does anything else. */
export const orderKinds = ['pause', 'resume', 'reset-circuit', 'reset-session'] as const;
export type OrderKind = (typeof orderKinds)[number];

/** An order as it was given. */
export interface OrderGiven {
  readonly kind: OrderKind;
  /** Login of who gave it; the user's name outside of GitHub. */
  readonly by: string;
  readonly from: 'comment' | 'dispatch' | 'command-line';
  readonly at: number;
}

/** An order as it is kept. `number` grows from order to order and is never below its instant, so that a lost list starts no second count. */
export interface Order extends OrderGiven {
  readonly number: number;
}

export const orderSchema = z.object({
  number: z.number().int().min(0).max(8.64e15),
  kind: z.enum(orderKinds),
  by: z.string().max(100),
  from: z.enum(['comment', 'dispatch', 'command-line']),
  at: instant,
});

/** The state after every order that it has not obeyed yet, oldest first; each is in the transitions with who gave it. */
export function applyOrders(state: LaneState, orders: readonly Order[]): LaneState {
  return openOrders(state, orders).reduce((next, order) => ({ ...obey(next, order), ordersApplied: order.number }), state);
}

/** The orders that the state has not obeyed yet, oldest first. */
export function openOrders(state: LaneState, orders: readonly Order[]): readonly Order[] {
  // A list keeps its newest order: one that ends before what was obeyed is not the one of then. Numbers do not tell what is
  // new in it, since a giver's clock may have been ahead; instants do.
  const inOrder = orders.toSorted((a, b) => a.number - b.number);
  const isOtherList = inOrder.every(({ number }) => number < state.ordersApplied);
  const first = inOrder.findIndex(({ number, at }) => (isOtherList ? at > state.savedAt : number > state.ordersApplied));
  return first === -1 ? [] : inOrder.slice(first);
}

function obey(state: LaneState, order: Order): LaneState {
  const { at } = order;
  const reason = `by ${order.by} (${order.from})`;
  switch (order.kind) {
    case 'pause':
      return state.pause === null ? noted({ ...state, pause: { by: order.by, at } }, { at, subject: 'pause', from: 'working', to: 'paused', reason }) : state;
    case 'resume':
      return state.pause === null ? state : noted({ ...state, pause: null }, { at, subject: 'pause', from: 'paused', to: 'working', reason });
    case 'reset-circuit':
      return resetCircuit(state, reason, at);
    case 'reset-session':
      return noted({ ...state, session: null }, { at, subject: 'session', from: state.session === null ? 'none' : 'active', to: 'none', reason });
  }
}
