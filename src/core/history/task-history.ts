import { DAY_MS } from '../countdown.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { listStoredPulls, type StoredPull } from '../snapshot/stored-pull.ts';
import type { TaskState } from '../tasks/task.ts';

/** The cost and result of a task, and the end of its pull request. Instants are in ms, money is in US dollars. */
export interface TaskHistory {
  readonly id: string;
  readonly title: string;
  readonly state: TaskState;
  readonly pullRequest: number;
  /** Labels of the task's issue except Ralph's own. */
  readonly labels: readonly string[];
  /** The agent that worked on the task; null if unknown. */
  readonly agent: string | null;
  /** The model that the user chose; null if the agent chose it or if it is unknown. */
  readonly model: string | null;
  readonly iterations: number;
  /**
   * The task's own cost plus an equal share of the cost of reviews and checks of its pull request; null if one of these
   * is unknown.
   */
  readonly costUsd: number | null;
  /** The instant at which a person added the label to its issue; null for a task from a file. */
  readonly labelledAt: number | null;
  readonly openedAt: number;
  /**
   * `merged`: the pull request was merged and the task was done; `unfinished`: the pull request was merged before the
   * task was done.
   */
  readonly end: 'open' | 'merged' | 'unfinished' | 'closed';
  readonly endedAt: number | null;
  /** True if the task was merged without a person's commits; null if it was not merged or this is unknown. */
  readonly isUntouched: boolean | null;
  /** Number of runs that answered reviews of its pull request. */
  readonly reviewRounds: number;
  /**
   * Number of known commits by people on its branch, where a push that a run noticed counts as one; null if unknown.
   */
  readonly peopleCommits: number | null;
  /** The instant at which the task was reverted within 30 days of its merge; null if no revert was found. */
  readonly revertedAt: number | null;
}

/** Returns the tasks of all known pull requests, newest pull request first. */
export function listTaskHistories(snapshot: Snapshot): readonly TaskHistory[] {
  return listStoredPulls(snapshot).flatMap(tasksOfPull);
}

function tasksOfPull(pull: StoredPull): readonly TaskHistory[] {
  const { number: pullRequest, openedAt, reviewRounds, peoplePushes, end, tasks } = pull;
  const onTop = end === null ? 0 : end.peopleCommits;
  const peopleCommits = onTop === null ? (peoplePushes > 0 ? peoplePushes : null) : peoplePushes + onTop;
  const share = answersShareOf(pull);
  return tasks.map((task) => {
    const isMerged = end?.kind === 'merged' && task.state === 'done';
    return {
      ...task,
      ...{ pullRequest, openedAt, reviewRounds, peopleCommits },
      costUsd: task.costUsd === null || share === null ? null : task.costUsd + share,
      end: end === null ? 'open' : isMerged ? 'merged' : end.kind === 'merged' ? 'unfinished' : 'closed',
      endedAt: end?.at ?? null,
      isUntouched: !isMerged || peopleCommits === null ? null : peopleCommits === 0,
      revertedAt: isMerged ? (pull.reverted?.at ?? null) : null,
    };
  });
}

/** Returns each task's share of the costs that belong to no task, such as answers to reviews; null if unknown. */
function answersShareOf({ costUsd, tasks }: StoredPull): number | null {
  if (costUsd === null) return null;
  const own = tasks.reduce((sum, task) => sum + (task.costUsd ?? 0), 0);
  return Math.max(0, costUsd - own) / Math.max(1, tasks.length);
}

/**
 * The totals of a group of tasks. Money is in US dollars, and unknown amounts are left out rather than counted as 0.
 */
export interface HistoryTotals {
  readonly tasks: number;
  readonly merged: number;
  /** Tasks whose pull request was closed, or merged before they were done. */
  readonly notMerged: number;
  readonly open: number;
  /** Number of merged tasks of known cost. */
  readonly priced: number;
  /** Total cost of these tasks in US dollars; null if none. */
  readonly costUsd: number | null;
  /** Known total cost of the tasks that were not merged; null if none. */
  readonly lostUsd: number | null;
  /** Number of merged tasks for which changes by people are known. */
  readonly judged: number;
  /** Number of those tasks without such changes. */
  readonly untouched: number;
  /** Review rounds of all merged tasks. */
  readonly reviewRounds: number;
  /** Median time from the label to the merge in ms; null if no merged task had a label. */
  readonly medianMs: number | null;
  readonly reverted: number;
}

/** The tasks of one week, agent, model or label. */
export interface HistoryGroup extends HistoryTotals {
  /** The week's Monday in UTC (`2026-11-23`), or the agent, model or label; null for the tasks without one. */
  readonly name: string | null;
}

/** The totals of all tasks, and of each group; a task with several labels is in several groups. */
export interface HistorySummary {
  readonly all: HistoryTotals;
  /**
   * The weeks, oldest first. Finished tasks are in the week in which they ended, open ones in the week in which they
   * were opened; empty weeks are omitted.
   */
  readonly weeks: readonly HistoryGroup[];
  /** The groups by agent, those with the most merged tasks first. */
  readonly agents: readonly HistoryGroup[];
  readonly models: readonly HistoryGroup[];
  readonly labels: readonly HistoryGroup[];
}

/** Returns the totals of the tasks and of their groups. */
export function summarizeHistory(tasks: readonly TaskHistory[]): HistorySummary {
  return {
    all: totalsOf(tasks),
    weeks: groupsOf(tasks, (task) => [formatWeek(task.endedAt ?? task.openedAt)]).toSorted(byName),
    agents: groupsOf(tasks, ({ agent }) => [agent]),
    models: groupsOf(tasks, ({ model }) => [model]),
    labels: groupsOf(tasks, ({ labels }) => (labels.length === 0 ? [null] : labels)),
  };
}

/** Returns the average cost of a merged task in US dollars; null if unknown. */
export function computeMergedTaskCost({ costUsd, priced }: Pick<HistoryTotals, 'costUsd' | 'priced'>): number | null {
  return costUsd === null || priced === 0 ? null : costUsd / priced;
}

/** Returns the Monday of an instant's week, in UTC: `2026-11-23`. */
export function formatWeek(instant: number): string {
  // The first Monday was the fifth day of 1970, so weeks are counted from that day.
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
    costUsd: sumUsd(costs),
    lostUsd: sumUsd(lost.flatMap(({ costUsd }) => costUsd ?? [])),
    judged: judged.length,
    untouched: judged.filter(({ isUntouched }) => isUntouched).length,
    reviewRounds: merged.reduce((sum, { reviewRounds }) => sum + reviewRounds, 0),
    medianMs: medianOf(times),
    reverted: merged.filter(({ revertedAt }) => revertedAt !== null).length,
  };
}

function groupsOf(
  tasks: readonly TaskHistory[],
  namesOf: (task: TaskHistory) => readonly (string | null)[],
): readonly HistoryGroup[] {
  const pairs = tasks.flatMap((task) => [...new Set(namesOf(task))].map((name) => ({ name, task })));
  return [...Map.groupBy(pairs, ({ name }) => name)]
    .map(([name, own]) => ({ name, ...totalsOf(own.map(({ task }) => task)) }))
    .toSorted((one, other) => other.merged - one.merged || other.tasks - one.tasks || byName(one, other));
}

/** Compares groups by name; the group without a name comes last. */
function byName({ name: one }: HistoryGroup, { name: other }: HistoryGroup): number {
  if (one === other) return 0;
  return one === null || (other !== null && one > other) ? 1 : -1;
}

function sumUsd(amounts: readonly number[]): number | null {
  return amounts.length === 0 ? null : amounts.reduce((sum, amount) => sum + amount, 0);
}

function medianOf(values: readonly number[]): number | null {
  const sorted = values.toSorted((one, other) => one - other);
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}
