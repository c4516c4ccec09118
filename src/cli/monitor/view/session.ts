import { nameOfTaskId, type LaneId } from '../../../core/tasks/ids.ts';
import { isStuck } from '../../../core/tasks/task.ts';
import type { OverviewLane } from '../../../report/overview/lane-waits.ts';
import { laneOfLocalRun, type Picture } from '../monitor-schema.ts';
import { parseKnownLane } from './facts.ts';
import type { TextStyle } from './columns.ts';

/** The state of the screen after a person's keys. */
export interface ScreenState {
  readonly shows: Picture['shows'];
  /** The index of the branch that the keys apply to. */
  readonly selected: number;
  /** The question to answer with y or n, or null if no question is open. */
  readonly asking: { readonly question: string; readonly order: OrderOfKey } | null;
  /** The message that is shown until the next key, or null if there is no message. */
  readonly message: { readonly text: string; readonly look: TextStyle } | null;
  /** True while an order is being given; a second one must wait. */
  readonly isOrdering: boolean;
}

/** An order as its command takes it, for one place of a lane. */
export interface OrderOfKey {
  readonly words: readonly [name: 'pause' | 'resume' | 'stop' | 'retry', ...args: string[]];
  readonly lane: LaneId;
  readonly place: string;
}

/** An action that a key requests, other than a change of the screen. */
type Asked =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'quit' }
  | { readonly kind: 'order'; readonly order: OrderOfKey };

interface Pressed {
  readonly session: ScreenState;
  readonly asked: Asked;
}

const nothing: Asked = { kind: 'nothing' };

/** Returns the initial state of the screen. */
export function createScreenState(shows: Picture['shows']): ScreenState {
  return { shows, selected: 0, asking: null, message: null, isOrdering: false };
}

/** Returns the effect of a key; `picture` is what the person sees. */
export function pressKey(before: ScreenState, key: string, picture: Picture): Pressed {
  const session: ScreenState = { ...before, message: null, asking: null };
  if (key === 'q' || key === 'ctrl-c') return { session, asked: { kind: 'quit' } };
  if (before.asking !== null) {
    if (key === 'y') return give(session, before.asking.order);
    return { session: withMessage(session, 'No order was given.', 'faint'), asked: nothing };
  }
  switch (key) {
    case 'a':
      return { session: { ...session, shows: before.shows === 'all' ? 'local' : 'all', selected: 0 }, asked: nothing };
    case 'up':
    case 'k':
      return { session: select(session, -1, picture), asked: nothing };
    case 'down':
    case 'j':
      return { session: select(session, 1, picture), asked: nothing };
    case 'p':
    case 's':
    case 'r':
      return order(session, key, picture);
    default:
      return { session: before, asked: nothing };
  }
}

/** Returns the session with a message below the picture. */
export function withMessage(session: ScreenState, text: string, look: TextStyle): ScreenState {
  return { ...session, message: { text, look } };
}

function select(session: ScreenState, step: number, picture: Picture): ScreenState {
  const last = (picture.all?.branches.length ?? 0) - 1;
  return { ...session, selected: Math.max(0, Math.min(last, session.selected + step)) };
}

function order(session: ScreenState, key: 'p' | 's' | 'r', picture: Picture): Pressed {
  if (session.isOrdering)
    return {
      session: withMessage(session, 'An order is being given: wait until that is done.', 'warning'),
      asked: nothing,
    };
  const target = session.shows === 'all' ? targetOfAll(picture, session.selected) : targetOfLocal(picture);
  if (typeof target === 'string') return { session: withMessage(session, target, 'warning'), asked: nothing };
  const { lane, place, isPaused, stuck } = target;
  if (key === 'p') return give(session, { words: [isPaused ? 'resume' : 'pause'], lane, place });
  if (key === 's') return give(session, { words: ['stop'], lane, place });
  if (stuck === null)
    return {
      session: withMessage(session, 'There is no failed, blocked or set-aside task to retry.', 'warning'),
      asked: nothing,
    };
  return {
    session: {
      ...session,
      asking: {
        question: `Give ${stuck.name} all its attempts again? y/n`,
        order: { words: ['retry', stuck.id], lane, place },
      },
    },
    asked: nothing,
  };
}

function give(session: ScreenState, given: OrderOfKey): Pressed {
  return {
    session: { ...withMessage(session, `${given.words.join(' ')}: being given …`, 'faint'), isOrdering: true },
    asked: { kind: 'order', order: given },
  };
}

/** The lane to which the keys give orders; `stuck` is the task to retry. */
interface Target {
  readonly lane: LaneId;
  readonly place: string;
  readonly isPaused: boolean;
  readonly stuck: { readonly id: string; readonly name: string } | null;
}

/** Returns the target of orders to the local run, or a sentence if no run would obey them. */
function targetOfLocal({ local }: Picture): Target | string {
  if (local === null) return 'The local run has not been read yet.';
  if (local.run.kind === 'other' && parseKnownLane(local) === null)
    return 'This is a run of another Ralph, which takes no orders: end it where it was started.';
  const [place] = local.state?.places ?? [];
  if (place === undefined)
    return 'The run that is shown has no state in .ralph/state here, so it would not read the order.';
  if (place.kind !== 'branch') return place.why;
  const task = local.run.kind === 'ours' ? local.run.status.task : null;
  const name = (id: string): string => (task?.id === id ? `${nameOfTaskId(id)} (${task.title})` : nameOfTaskId(id));
  const stuck = lastStuck(place.tasks.map((each) => ({ ...each, current: each.id === place.currentTask })));
  return {
    lane: laneOfLocalRun(local.run),
    place: place.place,
    isPaused: place.pause !== null,
    stuck: stuck === null ? null : { id: stuck.id, name: name(stuck.id) },
  };
}

function targetOfAll({ all }: Picture, selected: number): Target | string {
  const lane = all?.branches[selected];
  if (lane === undefined) return 'Nothing has been read yet.';
  if (lane.kind !== 'branch') return lane.why;
  const stuck = lastStuck(lane.tasks);
  return {
    lane: lane.branchId,
    place: lane.place,
    isPaused: lane.waits.some(({ kind }) => kind === 'pause'),
    stuck: stuck === null ? null : { id: stuck.id, name: titled(stuck) },
  };
}

function titled({ name, title }: OverviewLane['tasks'][number]): string {
  return title === null ? name : `${name} (${title})`;
}

/** Returns the current task if a person can continue with it, or else the last such task. */
function lastStuck<
  T extends { readonly id: string; readonly state: OverviewLane['tasks'][number]['state']; readonly current: boolean },
>(tasks: readonly T[]): T | null {
  const stuck = tasks.filter(isStuck);
  return stuck.find(({ current }) => current) ?? stuck.at(-1) ?? null;
}
