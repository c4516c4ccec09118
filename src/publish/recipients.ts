import type { Config } from '../config/config.ts';
import { isSameRedBase } from '../core/lane/base/red-base.ts';
import { isLimitTold } from '../core/lane/known-limits.ts';
import type { LaneState } from '../core/lane/state/state.ts';
import { findLabeller } from '../core/people/consent.ts';
import { lifecycleLabels } from '../core/people/labels.ts';
import type { Need } from '../core/people/notifications.ts';
import { listLanesOnRedBase, listLanesWithLimits } from '../core/snapshot/snapshot.ts';
import { issueOfId, QUEUE, type TaskId } from '../core/tasks/ids.ts';
import { getProgress } from '../core/tasks/queue.ts';
import { isListedTask, issueOfTask, type Task } from '../core/tasks/task.ts';
import type { Work } from '../handover/intake.ts';
import type { WorkedReport } from '../handover/report.ts';
import type { PullRequest } from '../ports/forge.ts';
import type { PublishDeps } from './deps.ts';

/** Maximum number of issues whose labeller is looked up. */
const MAX_LOOKED_UP = 5;

/** A run that worked, at its end. `pullRequest` is the lane's open pull request. */
export interface WorkedEnd {
  readonly work: Work;
  readonly report: WorkedReport;
  readonly pullRequest: PullRequest | null;
}

/**
 * Returns the people to notify: this run's actor, and those who approved the tasks concerned, or all tasks if a need
 * concerns the whole lane.
 */
export async function listAskers(
  deps: PublishDeps,
  { work }: WorkedEnd,
  needs: readonly Need[],
): Promise<readonly (string | null)[]> {
  const concerned = tasksOfNeeds(needs, work.tasks);
  const reviewers = listTaskReviewers(concerned);
  // A failed check concerns everybody who asked for the work, just like a need of the whole lane.
  const isOfLane =
    concerned.length < Math.max(1, needs.length) || (reviewers.length === 0 && !concerned.some(isListedTask));
  const about = isOfLane ? work.tasks : concerned;
  const approvers = [
    ...listApprovers(work.state, about),
    ...work.notes.notices
      .filter(({ issue }) => needs.some((need) => need.kind === 'needs_approval' && issueOfId(need.about) === issue))
      .map(({ by }) => by),
  ];
  // Ask GitHub, because the post step's record of approvals is not trusted.
  return [
    deps.asked.by,
    ...reviewers,
    ...(approvers.length > 0 ? approvers : await findLabellers(deps, about.map(issueOfTask))),
  ];
}

/** Returns the people who added the label, task by task. */
export function listApprovers(
  { tasks: known }: Pick<LaneState, 'tasks'>,
  tasks: readonly { readonly id: TaskId }[],
): readonly string[] {
  return tasks.flatMap(({ id }) => getProgress(known, id).approval?.by ?? []);
}

/** Returns the authors of the reviews that the tasks answer. */
export function listTaskReviewers(tasks: readonly Pick<Task, 'source'>[]): readonly string[] {
  return tasks.flatMap(({ source }) => (source.kind === 'feedback' && 'by' in source.on ? [source.on.by] : []));
}

/** Returns the people who added the label, according to GitHub. */
export async function findLabellers(
  { forge, config }: Pick<PublishDeps, 'forge'> & { readonly config: Pick<Config, 'taskLabel'> },
  issues: readonly (number | null)[],
): Promise<readonly (string | null)[]> {
  const numbers = issues.filter((issue) => issue !== null).slice(0, MAX_LOOKED_UP);
  if (numbers.length === 0) return [];
  const histories = await forge.issueHistories(numbers, config.taskLabel);
  return [...histories.values()].map((history) => {
    const labeller = findLabeller(history, config.taskLabel);
    return labeller?.kind === 'user' ? labeller.login : null;
  });
}

/** Returns the only issue that the needs are about, or null if they are about several issues or none. */
export function issueOfNeeds(needs: readonly Need[]): number | null {
  const [need, ...more] = needs;
  return need === undefined || more.length > 0 ? null : issueOfId(need.about);
}

/** Returns the tasks that the needs are about. */
export function tasksOfNeeds(needs: readonly Need[], tasks: readonly Task[]): readonly Task[] {
  return needs.flatMap(({ about }) => tasks.filter(({ id }) => id === about));
}

/**
 * Returns the thread of the lane: its pull request, or the first issue of its tasks; returns null if it has neither.
 */
export function threadOfLane(
  pullRequest: { readonly number: number } | null,
  tasks: readonly Pick<Task, 'source'>[],
): number | null {
  return pullRequest?.number ?? tasks.map(issueOfTask).find((issue) => issue !== null) ?? null;
}

/**
 * Finds the queue's pull request, otherwise the first issue with the task label. Returns a refusal only if neither is
 * found.
 */
export async function findOpenThread(
  deps: Pick<PublishDeps, 'forge' | 'asked'> & {
    readonly config: Pick<Config, 'branchPrefix' | 'taskLabel' | 'taskSources'>;
  },
): Promise<{ readonly thread: number | null; readonly askers: readonly (string | null)[] }> {
  const { config, forge, asked } = deps;
  const refusals: unknown[] = [];
  const passOver = (error: unknown): null => (refusals.push(error), null);
  const prefix = config.branchPrefix;
  const pullRequest = prefix === '' ? null : await forge.pullRequestOf(prefix + QUEUE).catch(passOver);
  const byIssues = config.taskLabel !== '' && config.taskSources.includes('issues');
  const issues = (byIssues ? await forge.openIssuesWithLabel(config.taskLabel).catch(passOver) : null) ?? [];
  // A run is likely to work on this issue first, and then settles the notification, so prefer it.
  const first = (issues.find(({ labels }) => !labels.some(isAtRest)) ?? issues[0])?.number ?? null;
  const thread = pullRequest?.state === 'open' ? pullRequest.number : first;
  if (thread === null && refusals.length > 0) throw refusals[0];
  return { thread, askers: [asked.by, ...(await findLabellers(deps, [first]))] };
}

function isAtRest(label: string): boolean {
  const name = label.toLowerCase();
  return Object.hasOwn(lifecycleLabels, name) && name !== 'ralph:working';
}

/**
 * Returns the needs that people know from another branch, which may have found them in the same run a moment ago: a
 * base on which `verify` fails, and a limit of the provider.
 */
export async function listNeedsKnownElsewhere(
  { store, config, clock }: Pick<PublishDeps, 'store' | 'config' | 'clock'>,
  { work: { lane, state } }: WorkedEnd,
  needs: readonly Need[],
): Promise<readonly Need[]> {
  const isShared = needs.some(({ kind }) => kind === 'base_is_red' || kind === 'usage_limit');
  if (!isShared || config.stateStore === 'none') return [];
  const read = await store.read();
  if (read.kind !== 'snapshot') return [];
  const { snapshot } = read;
  const isKnown: Readonly<Record<string, () => boolean>> = {
    usage_limit: () => isLimitTold(state, listLanesWithLimits(snapshot, lane.id), clock.now()),
    base_is_red: () =>
      listLanesOnRedBase(snapshot, lane.id).some(
        ({ redBase, notified }) =>
          state.redBase !== null &&
          redBase !== null &&
          isSameRedBase(state.redBase, redBase) &&
          notified.some(({ kind }) => kind === 'base_is_red'),
      ),
  };
  return needs.filter(({ kind }) => isKnown[kind]?.());
}
