import type { Policy } from '../policy.ts';
import { DAY_MS } from '../time.ts';
import type { TaskId } from './ids.ts';
import type { TaskProgress } from './task.ts';

/** However often a task was set aside, it has another turn after so long. */
const MAX_WAIT_MS = DAY_MS;

/** When a stuck task has another turn: after the cooldown, doubled each time; null: it is not stuck. */
export function turnOf({ state, setAside }: TaskProgress, cooldownMs: number): number | null {
  if (state !== 'stuck' || setAside === null) return null;
  const doublings = Math.min(30, Math.max(0, setAside.times - 1));
  return setAside.at + Math.min(cooldownMs * 2 ** doublings, MAX_WAIT_MS);
}

/** The same progress, in which stuck tasks whose turn has come are open again. */
export function awake(
  tasks: Readonly<Record<TaskId, TaskProgress>>,
  cooldownMs: number,
  now: number,
): Readonly<Record<TaskId, TaskProgress>> {
  const woken = Object.entries(tasks).flatMap(([id, progress]) => {
    const turn = turnOf(progress, cooldownMs);
    return turn === null || turn > now ? [] : [[id, { ...progress, state: 'todo', reason: null }] as const];
  });
  return woken.length === 0 ? tasks : { ...tasks, ...Object.fromEntries(woken) };
}

/** The same, in which stuck tasks are open whose turn comes before a run that begins now is over. */
export function awakeInRun(
  tasks: Readonly<Record<TaskId, TaskProgress>>,
  { circuit, maxRunMs }: Pick<Policy, 'circuit' | 'maxRunMs'>,
  now: number,
): Readonly<Record<TaskId, TaskProgress>> {
  return awake(tasks, circuit.cooldownMs, now + maxRunMs);
}

/** The progress of a task that is set aside once more. */
export function setAside(progress: TaskProgress, reason: 'no_progress' | 'output_decline', now: number): TaskProgress {
  return { ...progress, state: 'stuck', reason, setAside: { times: (progress.setAside?.times ?? 0) + 1, at: now } };
}
