import { z } from 'zod';
import type { JournalEntry } from '../journal/journal.ts';
import type { Journal } from '../journal/parse-journal.ts';
import { type KindsOfDenial, replayChanged, type ReplayedRun } from '../journal/replay.ts';
import type { Immutable, Policy } from '../policy.ts';
import type { TaskId } from '../tasks/ids.ts';
import { getProgress } from '../tasks/queue.ts';
import { isFinished, type TaskProgress } from '../tasks/task.ts';

const count = z.number().int().nonnegative();

export const spentSchema = z.object({
  iterations: count,
  costUsd: z.number().nullable().describe('Known cost of these iterations in US dollars; null: no cost is known.'),
  unpriced: count.describe('Number of these iterations without a known cost.'),
});

/** Iterations with their cost. An unknown cost is never counted as zero. */
export type SpentIterations = Immutable<z.infer<typeof spentSchema>>;

const taskSchema = z.object({ id: z.string(), title: z.string() });

export const effectSchema = z.object({
  runs: count.describe('Number of runs that would have taken another course.'),
  saved: spentSchema.describe('Iterations that no run would have made.'),
  lost: z
    .array(taskSchema)
    .describe('Tasks that only these iterations finished, or that would have been given up instead.'),
  later: spentSchema.describe('Iterations that later runs would have made instead.'),
  undecided: count.describe('Number of runs that would have continued in a way that their journals do not contain.'),
});

/** The effect that other limits would have had on the recorded runs. */
export type LimitEffect = Immutable<z.infer<typeof effectSchema>>;

/** Recorded runs whose replay makes the recorded decisions, and the rules by which their refused calls are judged. */
export interface ReplayableRuns {
  readonly journals: readonly Journal[];
  readonly kindsOf: KindsOfDenial;
  /** The newest state of each task that was worked on, and the start of the run that left it so. */
  readonly ends: ReadonlyMap<TaskId, TaskEnd>;
}

interface TaskEnd {
  readonly kind: 'finished' | 'given-up' | 'open';
  readonly startedAt: number;
}

/**
 * Returns the runs that can be replayed: those for which this version, under their limits, makes the recorded
 * decisions.
 */
export function selectReplayableRuns(journals: readonly Journal[], kindsOf: KindsOfDenial): ReplayableRuns {
  const played = journals
    .map((journal) => ({ journal, replayed: replayChanged(journal, (policy) => policy, kindsOf) }))
    .filter(({ journal, replayed }) => isAsRecorded(journal, replayed))
    .toSorted((one, other) => one.journal.start.startedAt - other.journal.start.startedAt);
  const ends = new Map<TaskId, TaskEnd>();
  for (const { journal, replayed } of played) {
    const tasks = journal.entries.flatMap(({ taskId, verdict }) => [taskId, ...verdict.alsoDone]);
    for (const id of tasks) {
      const progress = getProgress(replayed.state.tasks, id);
      const kind = isFinished(progress) ? 'finished' : isGivenUp(progress) ? 'given-up' : 'open';
      ends.set(id, { kind, startedAt: journal.start.startedAt });
    }
  }
  return { journals: played.map(({ journal }) => journal), kindsOf, ends };
}

/** Returns true if only a person can reopen the task; one that was set aside gets another turn. */
function isGivenUp({ state }: Pick<TaskProgress, 'state'>): boolean {
  return state === 'failed' || state === 'blocked';
}

function isAsRecorded({ end: recorded }: Journal, { end, skipped, left }: ReplayedRun): boolean {
  const isSameEnd = recorded === null || ('outcome' in end && end.outcome.reason === recorded.outcome.reason);
  return skipped.length + left.length === 0 && isSameEnd;
}

/** Returns the effect that changed limits would have had on these runs, each replayed alone from its own start. */
export function effectOfLimits(replays: ReplayableRuns, change: (policy: Policy) => Policy): LimitEffect {
  const { journals, kindsOf } = replays;
  const effects = journals.map((journal) => effectOnRun(replays, journal, replayChanged(journal, change, kindsOf)));
  const changed = effects.filter(({ saved, later, isUndecided }) => saved.length + later.length > 0 || isUndecided);
  return {
    runs: changed.length,
    saved: sumSpentOn(effects.flatMap(({ saved }) => saved)),
    lost: effects.flatMap(({ lost }) => lost),
    later: sumSpentOn(effects.flatMap(({ later }) => later)),
    undecided: effects.filter(({ isUndecided }) => isUndecided).length,
  };
}

/** A limit or threshold for replays. Lower is stricter; 0 means no limit where its input allows that. */
export interface ReplayLimit {
  readonly name: string;
  readonly of: (policy: Policy) => number;
  readonly change: (policy: Policy, value: number) => Policy;
  readonly isWhole: boolean;
}

/** A value of a limit, and its effect. */
interface Tried {
  readonly value: number;
  readonly effect: LimitEffect;
}

/** The effects that other values of a limit would have had. */
export interface TunedLimit {
  readonly limit: ReplayLimit;
  /** Number of runs that the limit ended, or in which it made Ralph give up a task, while work was left. */
  readonly heldBack: number;
  readonly tried: readonly Tried[];
}

/** Tries stricter values of a limit than `now`, and keeps those whose effect differs from that of the value before. */
export function tuneLimit(replays: ReplayableRuns, limit: ReplayLimit, now: number): TunedLimit {
  const tried: Tried[] = [];
  for (const value of valuesBelow(now, limit.isWhole)) {
    const effect = effectOfLimits(replays, stricterChange(limit, value));
    const before = tried.at(-1);
    const isNew = before === undefined ? effect.runs > 0 : JSON.stringify(before.effect) !== JSON.stringify(effect);
    if (isNew) tried.push({ value, effect });
  }
  return { limit, heldBack: countHeldBack(replays, limit), tried };
}

/** Returns the effect of exactly this value. */
export function replayWithValue(replays: ReplayableRuns, limit: ReplayLimit, value: number): TunedLimit {
  const effect = effectOfLimits(replays, (policy) => limit.change(policy, value));
  return { limit, heldBack: countHeldBack(replays, limit), tried: [{ value, effect }] };
}

/** Minimum number of runs for a recommendation. */
export const RUNS_TO_RECOMMEND = 5;

/**
 * Returns the values that would have saved money without losing a task, alone and together: for each limit the value
 * that saved most, and the least strict one if several saved as much.
 */
export function recommendValues(
  replays: ReplayableRuns,
  tuned: readonly TunedLimit[],
): readonly (Tried & { limit: ReplayLimit })[] {
  if (replays.journals.length < RUNS_TO_RECOMMEND) return [];
  const isHarmless = ({ lost, undecided }: LimitEffect): boolean => lost.length + undecided === 0;
  const most = (all: readonly (Tried & { limit: ReplayLimit })[]): typeof all =>
    all.toSorted((one, other) => (other.effect.saved.costUsd ?? 0) - (one.effect.saved.costUsd ?? 0));
  const best = tuned.flatMap(({ limit, tried }) => {
    const saving = tried.filter(({ effect }) => (effect.saved.costUsd ?? 0) > 0 && isHarmless(effect));
    return most(saving.map((one) => ({ ...one, limit }))).slice(0, 1);
  });
  return most(best).reduce<typeof best>((kept, one) => {
    const together = [...kept, one];
    const change = (policy: Policy): Policy =>
      together.reduce((next, { limit, value }) => stricterChange(limit, value)(next), policy);
    return isHarmless(effectOfLimits(replays, change)) ? together : kept;
  }, []);
}

const SHARES = [0.8, 0.6, 0.4, 0.2];
const MAX_STEPS = 10;

/** Returns values that are stricter than `now`, the least strict first; empty if `now` means no limit. */
function valuesBelow(now: number, isWhole: boolean): readonly number[] {
  if (isWhole && now <= MAX_STEPS) return Array.from({ length: Math.max(0, now - 1) }, (_, index) => now - 1 - index);
  const values = SHARES.map((share) => (isWhole ? Math.round(now * share) : Math.round(now * share * 100) / 100));
  return [...new Set(values)].filter((value) => value > 0 && value < now);
}

function stricterChange({ of, change }: ReplayLimit, value: number): (policy: Policy) => Policy {
  return (policy) => (of(policy) === 0 || value < of(policy) ? change(policy, value) : policy);
}

function countHeldBack({ journals, kindsOf }: ReplayableRuns, { change }: ReplayLimit): number {
  const loosen = (policy: Policy): Policy => change(policy, Infinity);
  return journals.filter((journal) => journal.end !== null && goesOn(replayChanged(journal, loosen, kindsOf))).length;
}

function goesOn({ end }: ReplayedRun): boolean {
  return end.kind === 'goes-on' || end.kind === 'other-task';
}

/** Returns the cost of iterations. */
export function sumSpentOn(entries: readonly JournalEntry[]): SpentIterations {
  const known = entries.flatMap(({ analysis: { costUsd } }) => costUsd ?? []);
  return {
    iterations: entries.length,
    costUsd: entries.length > 0 && known.length === 0 ? null : known.reduce((sum, costUsd) => sum + costUsd, 0),
    unpriced: entries.length - known.length,
  };
}

function effectOnRun({ ends }: ReplayableRuns, journal: Journal, replayed: ReplayedRun) {
  const { end, skipped, left } = replayed;
  // If nothing is left out, the run would have continued beyond its journal.
  const isUndecided = goesOn(replayed) && (left.length > 0 || (skipped.length === 0 && journal.end !== null));
  const isPaused = end.kind === 'waits' || ('outcome' in end && ['limit', 'parked', 'idle'].includes(end.outcome.kind));
  const notMade = [...skipped, ...(isPaused || isUndecided ? [] : left)];
  const finished = tasksFinishedIn(notMade);
  const isLost = (id: TaskId): boolean => {
    const known = ends.get(id);
    if (known?.kind === 'finished' && known.startedAt === journal.start.startedAt) return finished.has(id);
    const hasProgress = notMade.some(({ taskId, verdict }) => taskId === id && verdict.progress);
    // No later run works on a task that was given up, so its later work is lost.
    const isOver = isGivenUp(getProgress(replayed.state.tasks, id)) && known?.kind !== 'given-up';
    return isOver && (hasProgress || known?.kind === 'finished');
  };
  const titles = new Map([...finished, ...notMade.map(({ taskId, taskTitle }) => [taskId, taskTitle] as const)]);
  const lost = [...titles].filter(([id]) => isLost(id)).map(([id, title]) => ({ id, title }));
  const isLater = ({ taskId, verdict }: JournalEntry): boolean =>
    verdict.progress && ends.get(taskId)?.kind !== 'given-up' && !isLost(taskId);
  const saved = notMade.filter((entry) => !isLater(entry));
  const later = [...notMade.filter(isLater), ...(isPaused ? left : [])];
  const last = notMade.at(-1);
  // No iteration finishes a prompt, because its claims complete the run: losing that end loses the prompt.
  const isCompletionLost =
    last !== undefined &&
    ends.get(last.taskId)?.kind !== 'finished' &&
    isComplete(journal.end?.outcome) &&
    !('outcome' in end && isComplete(end.outcome));
  return isCompletionLost
    ? { saved: notMade, lost: [{ id: last.taskId, title: last.taskTitle }], later: [], isUndecided }
    : { saved, lost, later, isUndecided };
}

function isComplete(outcome: { readonly kind: string } | undefined): boolean {
  return outcome?.kind === 'complete';
}

/** Returns the titles of the tasks that iterations finished; those finished along the way have their ids. */
function tasksFinishedIn(entries: readonly JournalEntry[]): ReadonlyMap<TaskId, string> {
  return new Map(
    entries.flatMap(({ taskId, taskTitle, verdict }) => [
      ...verdict.alsoDone.map((id) => [id, id] as const),
      ...(verdict.taskDone ? [[taskId, taskTitle] as const] : []),
    ]),
  );
}
