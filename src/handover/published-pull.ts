import type { AgentName } from '../core/agent-names.ts';
import { isOfPeople } from '../core/feedback/subject.ts';
import { findTaskShare } from '../core/lane/change.ts';
import { isSameLabel, lifecycleLabels } from '../core/people/labels.ts';
import { MAX_TASKS_OF_PULL, type PublishedPull, type PullTask } from '../core/snapshot/stored-pull.ts';
import { getProgress } from '../core/tasks/queue.ts';
import { isListedTask, computeShownState, type Task } from '../core/tasks/task.ts';
import { toOneLine } from '../core/text/phrase.ts';
import type { Work } from './intake.ts';

/** Facts about a published branch that the work lacks. */
interface Publication {
  readonly number: number;
  readonly head: string;
  readonly taskLabel: string;
  readonly agents: readonly { readonly name: AgentName; readonly model: string | null }[];
  readonly redact: (text: string) => string;
}

/** Maximum number of labels of a task. */
const MAX_LABELS = 10;

/** Returns the stored record of a pull request. People's texts are redacted and cut. */
export function buildPublishedPull(work: Work, { number, head, ...publication }: Publication): PublishedPull {
  const { lane, state, startedAt, endedAt } = work;
  const { change } = state;
  return {
    number,
    head: head.slice(0, 64),
    lane: lane.id,
    baseBranch: lane.baseBranch.slice(0, 300),
    publishedAt: endedAt,
    personHead: lane.start.kind === 'continue' ? (lane.start.personHead?.slice(0, 64) ?? null) : null,
    reviewedAt: answersReview(work) ? startedAt : null,
    iterations: change.iterations,
    costUsd: change.unpriced > 0 ? null : change.costUsd,
    tasks: work.tasks
      .filter((task) => isListedTask(task) && Object.hasOwn(change.tasks, task.id))
      .slice(0, MAX_TASKS_OF_PULL)
      .map((task) => toPullTask(task, work, publication)),
  };
}

function toPullTask(
  { id, title, source }: Task,
  { state }: Work,
  { taskLabel, agents, redact }: Omit<Publication, 'number' | 'head'>,
): PullTask {
  const share = findTaskShare(state.change, id);
  const progress = getProgress(state.tasks, id);
  const agent = share.agents.at(-1) ?? null;
  const isOurs = (label: string): boolean =>
    isSameLabel(label, taskLabel) || Object.hasOwn(lifecycleLabels, label.toLowerCase());
  const labels = source.kind === 'issue' ? source.labels.filter((label) => !isOurs(label)) : [];
  return {
    id: id.slice(0, 120),
    title: toOneLine(redact(title), 200),
    state: computeShownState(progress),
    labels: labels.slice(0, MAX_LABELS).map((label) => toOneLine(redact(label), 60)),
    labelledAt: progress.approval?.at ?? null,
    agent,
    model: agents.find(({ name }) => name === agent)?.model?.slice(0, 100) ?? null,
    iterations: share.iterations,
    costUsd: share.unpriced > 0 ? null : share.costUsd,
  };
}

/** Returns true if this run answered a thread or a review. */
function answersReview({ state: { feedback }, startedAt }: Work): boolean {
  return Object.values(feedback.items).some(
    ({ kind, answer }) => isOfPeople(kind) && answer !== null && answer.at >= startedAt,
  );
}
