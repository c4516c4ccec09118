import { taskIdOfIssue, type TaskId } from '../../src/core/tasks/ids.ts';
import {
  act,
  asking,
  blocked,
  blockedAsking,
  complaining,
  crashed,
  denied,
  exiting,
  honest,
  idle,
  lying,
  prose,
  shrinking,
  talking,
  unavailable,
  unclaimed,
  until,
  type Mind,
} from './behaviours.ts';
import { integer, pick, type Random } from './random.ts';

/** A list of tasks of several kinds, and an agent that behaves differently for each kind. */
export interface Queue {
  /** Useful steps that each task needs; 0 for one that was done from the start. */
  readonly steps: readonly number[];
  readonly mind: Mind;
}

/** One task of a queue, with the agent's behaviour on it. `turn` counts the calls for this task. */
interface Part {
  readonly steps: number;
  readonly mind: Mind;
}

/** Draws a task; `honestly` is the agent's behaviour on tasks that it can do. */
type Kind = (random: Random, honestly: Mind) => Part;

const easy: Kind = (_, honestly) => ({ steps: 1, mind: honestly });
const ofSteps: Kind = (random, honestly) => ({ steps: integer(random, 2, 4), mind: honestly });
const done: Kind = () => ({ steps: 0, mind: () => act('nothing', { status: 'COMPLETE', tasks: 1 }) });
const noisy: Kind = () => ({ steps: 2, mind: () => act('noise', { status: 'IN_PROGRESS', files: 1 }) });
const doable: readonly [Kind, ...Kind[]] = [easy, ofSteps, easy];

/** Returns a task on which the agent never makes progress. */
function impossible(mind: Mind): Kind {
  return () => ({ steps: 2, mind });
}

/** Returns a task that the agent can do, after an obstacle that lasts this number of calls. */
function hesitant(calls: number, first: Mind): Kind {
  return (random, honestly) => ({ steps: integer(random, 1, 2), mind: until(calls, first, honestly) });
}

const repeatingAnError = complaining(idle);
const claimingTooMuch: readonly [Mind, ...Mind[]] = [
  lying,
  exiting(lying),
  () => act('nothing', { status: 'COMPLETE', tasks: 2, files: 1 }),
];

/** All kinds of queues, by name. */
export const queues = {
  'queue-easy': (random) => drawn(random, { kinds: doable, hard: doable }),
  'queue-impossible': (random) => drawn(random, { kinds: doable, hard: [impossible(idle)] }),
  'queue-already-done': (random) => drawn(random, { kinds: [done, ...doable], hard: [impossible(idle)] }),
  'queue-noisy': (random) => drawn(random, { kinds: doable, hard: [noisy, impossible(idle)] }),
  'queue-asks': (random) => drawn(random, { kinds: doable, hard: [impossible(asking)] }),
  'queue-repeats-an-error': (random) => drawn(random, { kinds: doable, hard: [impossible(repeatingAnError)] }),
  'queue-errors-beside-work': (random) =>
    drawn(random, { kinds: doable, hard: [impossible(idle)], change: (mind) => complaining(mind) }),
  'queue-claims-too-much': (random) =>
    drawn(random, { kinds: [done, ...doable], hard: [impossible(pick(random, claimingTooMuch))] }),
  'queue-claims-nothing-to-do': (random) =>
    drawn(random, {
      kinds: doable,
      hard: [impossible(until(integer(random, 1, 5), idle, () => act('nothing', { status: 'COMPLETE', tasks: 1 })))],
    }),
  'queue-forgets-the-block': (random) =>
    drawn(random, {
      kinds: doable,
      hard: [impossible(idle)],
      change: (mind) => prose(mind, 'I changed the code as asked.'),
    }),
  'queue-never-says-done': (random) =>
    drawn(random, { kinds: doable, hard: [impossible(idle)], change: (mind) => unclaimed(mind) }),
  'queue-BLOCKED': (random) => drawn(random, { kinds: doable, hard: [impossible(blocked)] }),
  'queue-BLOCKED-asks': (random) => drawn(random, { kinds: doable, hard: [impossible(blockedAsking)] }),
  'queue-denied': (random) => drawn(random, { kinds: doable, hard: [impossible(denied)] }),
  'queue-crashes': (random) => drawn(random, { kinds: doable, hard: [impossible(crashed)] }),
  'queue-shrinking': (random) => drawn(random, { kinds: doable, hard: [impossible(talking(idle, shrinking))] }),
  'queue-hesitant': (random) =>
    drawn(random, {
      kinds: [hesitant(1, idle), hesitant(2, idle), hesitant(1, asking), hesitant(1, blocked), ...doable],
      hard: [impossible(idle)],
    }),
  'queue-provider-fails': (random) => {
    const { steps, mind } = drawn(random, { kinds: doable, hard: [impossible(idle)] });
    const from = integer(random, 3, 12);
    return { steps, mind: until(from, mind, until(from + integer(random, 1, 9), unavailable, mind)) };
  },
  'queue-mixed': (random) =>
    drawn(random, {
      kinds: [done, hesitant(1, idle), hesitant(1, asking), ...doable],
      hard: [idle, asking, lying, blocked, blockedAsking, crashed, repeatingAnError].map(impossible) as [
        Kind,
        ...Kind[],
      ],
    }),
} satisfies Readonly<Record<string, (random: Random) => Queue>>;

/** Draws two to seven tasks in random order; about half of them are `hard`. */
function drawn(
  random: Random,
  {
    kinds,
    hard,
    change = (mind) => mind,
  }: {
    readonly kinds: readonly [Kind, ...Kind[]];
    readonly hard: readonly [Kind, ...Kind[]];
    /** Changes the behaviour of an otherwise honest agent. */
    readonly change?: (mind: Mind) => Mind;
  },
): Queue {
  const honestly = change(honest(random));
  const hardShare = random() * 0.8;
  const parts = Array.from({ length: integer(random, 2, 7) }, () =>
    pick(random, random() < hardShare ? hard : kinds)(random, honestly),
  );
  const minds = new Map<TaskId, Mind>(parts.map(({ mind }, index) => [taskIdOfIssue(index + 1), mind]));
  return {
    steps: parts.map(({ steps }) => steps),
    mind: (call) => (minds.get(call.task) ?? idle)({ ...call, turn: call.taskTurn }),
  };
}
