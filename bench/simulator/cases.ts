import type { TaskId } from '../../src/core/tasks/ids.ts';
import { behaviours, type Mind } from './behaviours.ts';
import { queues } from './queues.ts';
import { createRandom, integer, pick } from './random.ts';
import { after, createWorld, isTaskDone, type World } from './world.ts';

/** The name of a case: one agent for all tasks, or a queue of tasks of several kinds. */
export type CaseName = keyof typeof behaviours | keyof typeof queues;

/** The case that a seed selects: an agent, its work, and the schedule of the loop. */
export interface Case {
  readonly seed: number;
  readonly name: CaseName;
  readonly mind: Mind;
  readonly world: World;
  /** Time from the end of a run to the start of the next, in ms. */
  readonly gapMs: number;
  readonly runs: number;
}

export const agentNames = Object.keys(behaviours) as [CaseName, ...CaseName[]];
export const queueNames = Object.keys(queues) as [CaseName, ...CaseName[]];

/** Maximum number of scheduled runs per history; a task that was set aside waits for up to a day. */
export const MAX_SCHEDULED_RUNS = { agent: 8, queue: 40 } as const;
const MINUTE = 60_000;
/** Number of calls within which an agent must show that it would have finished. */
const MAX_CALLS_TO_FINISH = 60;

/** Creates the case of a seed. */
export function createCase(seed: number, name: CaseName): Case {
  const random = createRandom(seed);
  if (name in queues) {
    const { steps, mind } = queues[name as keyof typeof queues](random);
    const world = createWorld(steps, random() < 0.2);
    return { seed, name, world, mind, gapMs: gap(), runs: MAX_SCHEDULED_RUNS.queue };
  }
  const {
    steps: [least, most],
    create,
  } = behaviours[name as keyof typeof behaviours];
  const steps = Array.from({ length: integer(random, 1, random() < 0.3 ? 8 : 4) }, () => integer(random, least, most));
  const world = createWorld(steps, random() < 0.4);
  return { seed, name, world, gapMs: gap(), runs: MAX_SCHEDULED_RUNS.agent, mind: create(random) };

  function gap(): number {
    return pick(random, [15, 35, 60, 240]) * MINUTE;
  }
}

/**
 * True if the agent would have done an open task if it had been called further. `calls` are those made so far,
 * with their tasks.
 */
export function wouldDo(
  { mind }: Case,
  task: TaskId,
  { world: from, calls }: { readonly world: World; readonly calls: readonly { readonly task: TaskId }[] },
): boolean {
  let world = from;
  const before = calls.filter((call) => call.task === task).length;
  for (let more = 0; more < MAX_CALLS_TO_FINISH && !isTaskDone(world, task); more += 1) {
    const turns = { turn: calls.length + more, taskTurn: before + more, sessionTurn: 0 };
    world = after(world, mind({ ...turns, task, world, now: 0 }).deed, task);
  }
  return isTaskDone(world, task);
}
