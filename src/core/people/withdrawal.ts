import { reopenTasks } from '../lane/verification.ts';
import type { LaneState } from '../lane/state/state.ts';
import type { Outcome } from '../outcome.ts';
import type { TaskId } from '../tasks/ids.ts';
import { isPlanComplete, getProgress } from '../tasks/queue.ts';
import { isFinished, nameOfTask, type QueuedTask, type Task } from '../tasks/task.ts';
import { cutText } from '../text/phrase.ts';
import { hasLabel } from './labels.ts';

/** The ways in which a person takes an issue back during a run. `gone`: the issue was deleted or transferred. */
export const withdrawalKinds = ['closed', 'unlabeled', 'gone'] as const;
export type WithdrawalKind = (typeof withdrawalKinds)[number];

/** A task that a person took back. */
export interface Withdrawal {
  readonly task: TaskId;
  readonly why: WithdrawalKind;
}

/**
 * Returns how a person has taken the issue back, or null if it is still open and labelled. `issue` is null if it no
 * longer exists in the repository; `taskLabel` is null if a query made the issue a task.
 */
export function findWithdrawal(
  issue: { readonly state: 'open' | 'closed'; readonly labels: readonly string[] } | null,
  taskLabel: string | null,
): WithdrawalKind | null {
  if (issue === null) return 'gone';
  if (issue.state === 'closed') return 'closed';
  return taskLabel === null || hasLabel(issue.labels, taskLabel) ? null : 'unlabeled';
}

/**
 * Finds the new name of a branch that is gone: another branch at `head`, the newest commit known of the old one. Null
 * if none, or if the base branch is at `head`, because then the branch was probably merged and deleted.
 */
export function findRenamedBranch(
  head: string,
  branches: Readonly<Record<string, string>>,
  baseBranch: string,
): string | null {
  if (branches[baseBranch] === head) return null;
  return Object.keys(branches).find((name) => branches[name] === head) ?? null;
}

/** Describes how a person removed a branch, to complete "stopped by …". */
export function describeRemoval(branch: string, newName: string | null): string {
  return cutText(
    newName === null ? `the deletion of branch ${branch}` : `the renaming of branch ${branch} to ${newName}`,
    100,
  );
}

/** Returns all tasks; those that a person took back become ineligible. */
export function withdrawTasks<T extends QueuedTask>(
  tasks: readonly T[],
  withdrawals: readonly Pick<Withdrawal, 'task'>[],
): readonly T[] {
  const ids = new Set(withdrawals.map(({ task }) => task));
  return ids.size === 0 ? tasks : tasks.map((task) => (ids.has(task.id) ? { ...task, obstacle: 'withdrawn' } : task));
}

/** Returns true if people took back every task that the run could have worked on. */
export function isAllWithdrawn(tasks: readonly QueuedTask[]): boolean {
  return tasks.length > 0 && tasks.every(isWithdrawn);
}

/** Returns true if people took the task back. */
export function isWithdrawn({ obstacle }: Pick<QueuedTask, 'obstacle'>): boolean {
  return obstacle === 'withdrawn';
}

/**
 * Returns the state after people took tasks back: none of these tasks counts as done by this run. Their usage stays
 * booked.
 */
export function unclaimTasks(
  state: LaneState,
  { before, ids, now }: { readonly before: LaneState; readonly ids: readonly TaskId[]; readonly now: number },
): LaneState {
  const claimed = ids.filter(
    (id) => isFinished(getProgress(state.tasks, id)) && getProgress(before.tasks, id).state !== 'done',
  );
  return reopenTasks(state, claimed, { reason: 'withdrawn', now });
}

/**
 * Returns the outcome of a run from which people took back tasks. A run is not complete if none of its tasks remain.
 */
export function decideAfterWithdrawal(
  outcome: Outcome,
  tasks: readonly QueuedTask[],
  progress: LaneState['tasks'],
): Outcome {
  if (outcome.kind === 'failed' || outcome.kind === 'cancelled' || !tasks.some(isWithdrawn)) return outcome;
  if (isAllWithdrawn(tasks)) return { kind: 'paused', reason: 'withdrawn' };
  const isComplete = outcome.kind === 'complete' && isPlanComplete(tasks, progress);
  return outcome.kind === 'complete' && !isComplete ? { kind: 'paused', reason: 'withdrawn' } : outcome;
}

const WHY: Readonly<Record<WithdrawalKind, string>> = {
  closed: 'was closed',
  unlabeled: 'lost the task label',
  gone: 'was deleted or transferred',
};

/** Returns the warning for people about a task that was taken back. */
export function describeWithdrawal(task: Pick<Task, 'source'>, why: WithdrawalKind): string {
  return `${nameOfTask(task)} ${WHY[why]} while this run worked: Ralph makes no further call for it and does not report it as done.`;
}
