import { z } from 'zod';
import type { JournalEntry } from '../journal/journal.ts';
import type { Journal } from '../journal/parse-journal.ts';
import { type KindsOfDenial, replayChanged, type ReplayedRun } from '../journal/replay.ts';
import type { Immutable, Policy } from '../policy.ts';
import type { TaskId } from '../tasks/ids.ts';
import { progressOf } from '../tasks/queue.ts';
import { isFinished } from '../tasks/task.ts';

const count = z.number().int().nonnegative();

export const spentSchema = z.object({
  iterations: count,
  costUsd: z.number().nullable().describe('Known cost of these iterations in US dollars; null: no cost is known.'),
  unpriced: count.describe('How many of these iterations have no known cost.'),
});

/** Iterations and what they cost. An unknown cost is never counted as zero. */
export type SpentIterations = Immutable<z.infer<typeof spentSchema>>;

const taskSchema = z.object({ id: z.string(), title: z.string() });

export const effectSchema = z.object({
  runs: count.describe('Runs that would have gone otherwise.'),
  saved: spentSchema.describe('Iterations that no run would have made.'),
  lost: z.array(taskSchema).describe('Tasks that these iterations finished, and no later run.'),
  later: spentSchema.describe('Iterations that later runs would have made instead.'),
  laterTasks: z.array(taskSchema).describe('Tasks that would have been finished later.'),
  undecided: count.describe('Runs that would have gone on in a way that their journals do not contain.'),
});

/** The effect that other limits would have had on the recorded runs. */
export type Effect = Immutable<z.infer<typeof effectSchema>>;

/** A recorded run whose replay makes the recorded decisions. */
export interface ReplayableRun {
  readonly journal: Journal;
  /** The tasks that were done when it ended. */
  readonly done: ReadonlySet<TaskId>;
}

/** Returns the run for replays with other limits; null if this version would decide otherwise under its own limits. */
export function replayableRun(journal: Journal, kindsOf: KindsOfDenial): ReplayableRun | null {
  const { end, skipped, left, state } = replayChanged(journal, (policy) => policy, kindsOf);
  const recorded = journal.end?.outcome ?? null;
  const isSameEnd = recorded === null || ('outcome' in end && end.outcome.reason === recorded.reason);
  if (skipped.length + left.length > 0 || !isSameEnd) return null;
  const tasks = journal.entries.flatMap(finishedIn).map(({ id }) => id);
  return { journal, done: new Set(tasks.filter((id) => isFinished(progressOf(state.tasks, id)))) };
}

/** Returns the effect that changed limits would have had on these runs, each replayed alone from its own start. */
export function effectOfLimits(
  runs: readonly ReplayableRun[],
  change: (policy: Policy) => Policy,
  kindsOf: KindsOfDenial,
): Effect {
  const effects = runs.map((run) => effectOnRun(runs, run, replayChanged(run.journal, change, kindsOf)));
  const changed = effects.filter(({ saved, later, isUndecided }) => saved.length + later.length > 0 || isUndecided);
  return {
    runs: changed.length,
    saved: spentOn(effects.flatMap(({ saved }) => saved)),
    lost: effects.flatMap(({ lost }) => lost),
    later: spentOn(effects.flatMap(({ later }) => later)),
    laterTasks: effects.flatMap(({ laterTasks }) => laterTasks),
    undecided: effects.filter(({ isUndecided }) => isUndecided).length,
  };
}

/** A limit or threshold for replays. Lower is stricter; 0 means no limit where its input allows that. */
export interface Limit {
  readonly name: string;
  readonly of: (policy: Policy) => number;
  readonly change: (policy: Policy, value: number) => Policy;
  readonly isWhole: boolean;
}

/** A value of a limit, and what it would have done. */
interface Tried {
  readonly value: number;
  readonly effect: Effect;
}

/** The effects that other values of a limit would have had. */
export interface TunedLimit {
  readonly limit: Limit;
  /** Number of runs that it ended, or made give up a task, while work was left. */
  readonly heldBack: number;
  readonly tried: readonly Tried[];
}

/** The remembered runs, and the rules by which their refused calls are judged. */
export interface Replays {
  readonly runs: readonly ReplayableRun[];
  readonly kindsOf: KindsOfDenial;
}

/** Tries stricter values of a limit than `now`, and keeps those whose effect differs from that of the one before. */
export function tuneLimit({ runs, kindsOf }: Replays, limit: Limit, now: number): TunedLimit {
  const tried: Tried[] = [];
  for (const value of valuesBelow(now, limit.isWhole)) {
    const effect = effectOfLimits(runs, stricterChange(limit, value), kindsOf);
    const before = tried.at(-1);
    const isNew = before === undefined ? effect.runs > 0 : JSON.stringify(before.effect) !== JSON.stringify(effect);
    if (isNew) tried.push({ value, effect });
  }
  return { limit, heldBack: countHeldBack({ runs, kindsOf }, limit), tried };
}

/** Returns the effect of exactly this value. */
export function tryValue({ runs, kindsOf }: Replays, limit: Limit, value: number): TunedLimit {
  const effect = effectOfLimits(runs, (policy) => limit.change(policy, value), kindsOf);
  return { limit, heldBack: countHeldBack({ runs, kindsOf }, limit), tried: [{ value, effect }] };
}

/** Returns the change to several values at once, each only where it is stricter than what the run had. */
export function stricterChanges(values: ReadonlyMap<Limit, number>): (policy: Policy) => Policy {
  const changes = [...values].map(([limit, value]) => stricterChange(limit, value));
  return (policy) => changes.reduce((next, change) => change(next), policy);
}

/** Minimum number of runs for a recommendation. */
export const RUNS_TO_RECOMMEND = 5;

/**
 * Returns the values that would have saved most without losing a task, alone and together; of equal ones the least
 * strict.
 */
export function recommendValues({ runs, kindsOf }: Replays, tuned: readonly TunedLimit[]): ReadonlyMap<Limit, number> {
  const savedBy = ({ effect }: Tried): number => effect.saved.costUsd ?? 0;
  const best = tuned.flatMap(({ limit, tried }) => {
    const [most] = tried.filter(isHarmless).toSorted((one, other) => savedBy(other) - savedBy(one));
    return most === undefined ? [] : [{ limit, ...most }];
  });
  const chosen = new Map<Limit, number>();
  if (runs.length < RUNS_TO_RECOMMEND) return chosen;
  for (const { limit, value } of best.toSorted((one, other) => savedBy(other) - savedBy(one))) {
    const together = new Map([...chosen, [limit, value]]);
    if (isHarmless({ effect: effectOfLimits(runs, stricterChanges(together), kindsOf) })) chosen.set(limit, value);
  }
  return chosen;
}

function isHarmless({ effect: { saved, lost, undecided } }: Pick<Tried, 'effect'>): boolean {
  return (saved.costUsd ?? 0) > 0 && lost.length === 0 && undecided === 0;
}

const SHARES = [0.8, 0.6, 0.4, 0.2];
const MAX_STEPS = 10;

/** Returns values that are stricter than this one, the least strict first; none below no limit. */
function valuesBelow(now: number, isWhole: boolean): readonly number[] {
  if (isWhole && now <= MAX_STEPS) return Array.from({ length: Math.max(0, now - 1) }, (_, index) => now - 1 - index);
  const values = SHARES.map((share) => (isWhole ? Math.round(now * share) : Math.round(now * share * 100) / 100));
  return [...new Set(values)].filter((value) => value > 0 && value < now);
}

function stricterChange({ of, change }: Limit, value: number): (policy: Policy) => Policy {
  return (policy) => (of(policy) === 0 || value < of(policy) ? change(policy, value) : policy);
}

function countHeldBack({ runs, kindsOf }: Replays, { change }: Limit): number {
  const loosen = (policy: Policy): Policy => change(policy, Infinity);
  return runs.filter(({ journal }) => hasEnded(journal) && goesOn(replayChanged(journal, loosen, kindsOf))).length;
}

function goesOn({ end }: ReplayedRun): boolean {
  return end.kind === 'goes-on' || end.kind === 'other-task';
}

/** Returns the cost of iterations. */
export function spentOn(entries: readonly JournalEntry[]): SpentIterations {
  const known = entries.flatMap(({ analysis: { costUsd } }) => costUsd ?? []);
  return {
    iterations: entries.length,
    costUsd: entries.length > 0 && known.length === 0 ? null : known.reduce((sum, costUsd) => sum + costUsd, 0),
    unpriced: entries.length - known.length,
  };
}

interface RunEffect {
  readonly saved: readonly JournalEntry[];
  readonly lost: Effect['lost'];
  readonly later: readonly JournalEntry[];
  readonly laterTasks: Effect['laterTasks'];
  readonly isUndecided: boolean;
}

function effectOnRun(
  runs: readonly ReplayableRun[],
  { journal, done }: ReplayableRun,
  replayed: ReplayedRun,
): RunEffect {
  const { end, skipped, left } = replayed;
  // Under looser limits nothing is left out, but the run would have gone on.
  const isUndecided =
    left.length > 0 ? goesOn(replayed) : goesOn(replayed) && skipped.length === 0 && hasEnded(journal);
  const isPaused = end.kind === 'waits' || ('outcome' in end && ['limit', 'parked', 'idle'].includes(end.outcome.kind));
  const notMade = [...skipped, ...(isPaused || isUndecided ? [] : left)];
  const after = new Set(
    runs
      .filter((other) => other.journal.start.startedAt > journal.start.startedAt)
      .flatMap((other) => other.journal.entries.flatMap(finishedIn).map(({ id }) => id)),
  );
  const postponed = notMade.filter(({ taskId }) => after.has(taskId));
  const saved = notMade.filter(({ taskId }) => !after.has(taskId));
  const later = [...postponed, ...(isPaused ? left : [])];
  const finished = (entries: readonly JournalEntry[]): Effect['lost'] =>
    [...new Map(entries.flatMap(finishedIn).map((task) => [task.id, task])).values()].filter(({ id }) => done.has(id));
  const lost = finished(notMade).filter(({ id }) => !after.has(id));
  const last = saved.at(-1);
  // No iteration finishes a prompt: claims complete the run.
  const isCompletionLost =
    last !== undefined &&
    lost.length === 0 &&
    isComplete(journal.end?.outcome) &&
    !('outcome' in end && isComplete(end.outcome));
  return {
    saved,
    lost: isCompletionLost ? [{ id: last.taskId, title: last.taskTitle }] : lost,
    later,
    laterTasks: finished(later),
    isUndecided,
  };
}

function hasEnded({ end }: Journal): boolean {
  return end !== null;
}

function isComplete(outcome: { readonly kind: string } | undefined): boolean {
  return outcome?.kind === 'complete';
}

/** Returns the tasks that an iteration finished; those that it finished along the way are named by their ids. */
function finishedIn({ taskId, taskTitle, verdict }: JournalEntry): Effect['lost'] {
  const own = verdict.taskDone ? [{ id: taskId, title: taskTitle }] : [];
  return [...own, ...verdict.alsoDone.map((id) => ({ id, title: id }))];
}
