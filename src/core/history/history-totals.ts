import { DAY_MS } from '../countdown.ts';
import { groupByKey } from '../grouped.ts';
import type { TaskHistory } from './task-history.ts';

/** The sums of a group of tasks. Money in US dollars; what is unknown is never counted as 0. */
export interface HistoryTotals {
  readonly tasks: number;
  readonly merged: number;
  /** Tasks whose pull request was closed, or merged without them. */
  readonly notMerged: number;
  readonly open: number;
  /** Merged tasks of known cost, and what they cost together; null if there are none. */
  readonly priced: number;
  readonly costUsd: number | null;
  /** Known cost of the tasks that were not merged; null if there is none. */
  readonly lostUsd: number | null;
  /** Merged tasks of which is known whether people changed them, and those that they did not. */
  readonly judged: number;
  readonly untouched: number;
  /** Rounds of reviews of all merged tasks. */
  readonly reviewRounds: number;
  /** Merged tasks that a label asked for, and the median time from the label to the merge in ms; null without any. */
  readonly timed: number;
  readonly medianMs: number | null;
  readonly reverted: number;
}

/** The tasks of one week, agent, model or label. */
export interface HistoryGroup extends HistoryTotals {
  /** null for tasks without any. A week is its Monday: `2026-11-23`, UTC. */
  readonly name: string | null;
}

/** The totals of all tasks, and of each group; a task with several labels is in several groups. */
export interface HistorySummary {
  readonly all: HistoryTotals;
  /** Oldest first, without weeks in which no task ended. Open tasks are in the week in which they were opened. */
  readonly weeks: readonly HistoryGroup[];
  /** Those with the most merged tasks first. */
  readonly agents: readonly HistoryGroup[];
  readonly models: readonly HistoryGroup[];
  readonly labels: readonly HistoryGroup[];
}

/** Returns the totals of the tasks and of their groups. */
export function historySummaryOf(tasks: readonly TaskHistory[]): HistorySummary {
  return {
    all: totalsOf(tasks),
    weeks: groupsOf(tasks, (task) => [weekOf(task.endedAt ?? task.openedAt)]).toSorted(byName),
    agents: groupsOf(tasks, ({ agent }) => [agent]),
    models: groupsOf(tasks, ({ model }) => [model]),
    labels: groupsOf(tasks, ({ labels }) => (labels.length === 0 ? [null] : labels)),
  };
}

/** Returns the cost of a merged task on average, in US dollars; null if it is unknown. */
export function costPerMergedTask({ costUsd, priced }: Pick<HistoryTotals, 'costUsd' | 'priced'>): number | null {
  return costUsd === null || priced === 0 ? null : costUsd / priced;
}

/** Returns the Monday of an instant's week, in UTC: `2026-11-23`. */
export function weekOf(instant: number): string {
  // The first Monday was the fifth day of 1970.
  const weeks = Math.floor((instant - 4 * DAY_MS) / (7 * DAY_MS));
  return new Date((weeks * 7 + 4) * DAY_MS).toISOString().slice(0, 10);
}

function totalsOf(tasks: readonly TaskHistory[]): HistoryTotals {
  const merged = tasks.filter(({ end }) => end === 'merged');
  const lost = tasks.filter(({ end }) => end === 'closed' || end === 'unfinished');
  const costs = merged.flatMap(({ costUsd }) => costUsd ?? []);
  const judged = merged.filter(({ isUntouched }) => isUntouched !== null);
  const times = merged.flatMap(({ labelledAt, endedAt }) =>
    labelledAt === null || endedAt === null ? [] : [Math.max(0, endedAt - labelledAt)],
  );
  return {
    tasks: tasks.length,
    merged: merged.length,
    notMerged: lost.length,
    open: tasks.length - merged.length - lost.length,
    priced: costs.length,
    costUsd: sumOf(costs),
    lostUsd: sumOf(lost.flatMap(({ costUsd }) => costUsd ?? [])),
    judged: judged.length,
    untouched: judged.filter(({ isUntouched }) => isUntouched).length,
    reviewRounds: merged.reduce((sum, { reviewRounds }) => sum + reviewRounds, 0),
    timed: times.length,
    medianMs: medianOf(times),
    reverted: merged.filter(({ revertedAt }) => revertedAt !== null).length,
  };
}

function groupsOf(
  tasks: readonly TaskHistory[],
  namesOf: (task: TaskHistory) => readonly (string | null)[],
): readonly HistoryGroup[] {
  const pairs = tasks.flatMap((task) => [...new Set(namesOf(task))].map((name) => ({ name, task })));
  return [...groupByKey(pairs, ({ name }) => name)]
    .map(([name, own]) => ({ name, ...totalsOf(own.map(({ task }) => task)) }))
    .toSorted((one, other) => other.merged - one.merged || other.tasks - one.tasks || byName(one, other));
}

/** Compares groups by name; tasks without any come last. */
function byName({ name: one }: HistoryGroup, { name: other }: HistoryGroup): number {
  if (one === other) return 0;
  return one === null || (other !== null && one > other) ? 1 : -1;
}

function sumOf(amounts: readonly number[]): number | null {
  return amounts.length === 0 ? null : amounts.reduce((sum, amount) => sum + amount, 0);
}

function medianOf(values: readonly number[]): number | null {
  const sorted = values.toSorted((one, other) => one - other);
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}
