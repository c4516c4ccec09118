import type { Config } from '../config/config.ts';
import type { LaneState } from '../core/lane/state.ts';
import { labellerOf } from '../core/people/consent.ts';
import type { Need } from '../core/people/notifications.ts';
import { issueOfId, type TaskId } from '../core/tasks/ids.ts';
import { progressOf } from '../core/tasks/queue.ts';
import { isListed, issueOfTask, type Task } from '../core/tasks/task.ts';
import type { Work } from '../handover/intake.ts';
import type { WorkedReport } from '../handover/report.ts';
import type { PullRequest } from '../ports/forge.ts';
import type { PublishDeps } from './deps.ts';

/** So many issues are asked about who labelled them. */
const MAX_LOOKED_UP = 5;

/** A run that worked, as it ends. `pullRequest`: the lane's open one. */
export interface WorkedEnd {
  readonly work: Work;
  readonly report: WorkedReport;
  readonly pullRequest: PullRequest | null;
}

/** Who asked for what is needed: this run's actor, and who approved the tasks that it is about; all of the lane's, where it is about the lane. */
export async function askersOf(
  deps: PublishDeps,
  { work }: WorkedEnd,
  needs: readonly Need[],
): Promise<readonly (string | null)[]> {
  const concerned = tasksOfNeeds(needs, work.tasks);
  const reviewers = reviewersOf(concerned);
  // Of a failed check, as of the lane as a whole, those must know who asked for the work.
  const isOfLane =
    concerned.length < Math.max(1, needs.length) || (reviewers.length === 0 && !concerned.some(isListed));
  const about = isOfLane ? work.tasks : concerned;
  const approvers = [
    ...approversOf(work.state, about),
    ...work.notes.notices
      .filter(({ issue }) => needs.some((need) => need.kind === 'needs_approval' && issueOfId(need.about) === issue))
      .map(({ by }) => by),
  ];
  // Post does not believe its record who approved what.
  return [
    deps.asked.by,
    ...reviewers,
    ...(approvers.length > 0 ? approvers : await labellersOf(deps, about.map(issueOfTask))),
  ];
}

/** Who put the label on, task by task. */
export function approversOf(
  { tasks: known }: Pick<LaneState, 'tasks'>,
  tasks: readonly { readonly id: TaskId }[],
): readonly string[] {
  return tasks.flatMap(({ id }) => progressOf(known, id).approval?.by ?? []);
}

/** Who wrote the reviews that the tasks answer. */
export function reviewersOf(tasks: readonly Pick<Task, 'source'>[]): readonly string[] {
  return tasks.flatMap(({ source }) => (source.kind === 'feedback' && 'by' in source.on ? [source.on.by] : []));
}

/** The same, as GitHub says it. */
export async function labellersOf(
  { forge, config }: Pick<PublishDeps, 'forge'> & { readonly config: Pick<Config, 'taskLabel'> },
  issues: readonly (number | null)[],
): Promise<readonly (string | null)[]> {
  const numbers = issues.filter((issue) => issue !== null).slice(0, MAX_LOOKED_UP);
  if (numbers.length === 0) return [];
  const histories = await forge.issueHistories(numbers, config.taskLabel);
  return [...histories.values()].map((history) => {
    const labeller = labellerOf(history, config.taskLabel);
    return labeller?.kind === 'user' ? labeller.login : null;
  });
}

/** The issue that is all they are about; null: they are about more, or no issue. */
export function issueOfNeeds(needs: readonly Need[]): number | null {
  const [need, ...more] = needs;
  return need === undefined || more.length > 0 ? null : issueOfId(need.about);
}

/** The tasks that the needs are about. */
export function tasksOfNeeds(needs: readonly Need[], tasks: readonly Task[]): readonly Task[] {
  return needs.flatMap(({ about }) => tasks.filter(({ id }) => id === about));
}
