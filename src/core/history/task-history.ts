import type { Snapshot } from '../snapshot/snapshot.ts';
import { pullsIn, type StoredPull } from '../snapshot/stored-pull.ts';
import type { TaskState } from '../tasks/task.ts';

/** What a task took, and what became of its pull request. Instants in ms, money in US dollars. */
export interface TaskHistory {
  readonly id: string;
  readonly title: string;
  readonly state: TaskState;
  readonly pullRequest: number;
  /** Labels of its issue without those of Ralph. */
  readonly labels: readonly string[];
  /** null if unknown; `model` also if the agent chose it. */
  readonly agent: string | null;
  readonly model: string | null;
  /** Its own iterations. */
  readonly iterations: number;
  /** With an equal part of what its pull request's reviews and checks cost; null if a part of it is unknown. */
  readonly costUsd: number | null;
  /** The instant at which a person asked for it by a label; null for a task of a file. */
  readonly labelledAt: number | null;
  readonly openedAt: number;
  /** `merged` only if the task was done; `unfinished`: its pull request was merged without it. */
  readonly end: 'open' | 'merged' | 'unfinished' | 'closed';
  readonly endedAt: number | null;
  /** True if it was merged without a commit of a person; null if it was not merged, or that is unknown. */
  readonly isUntouched: boolean | null;
  /** Number of runs that answered reviews of its pull request. */
  readonly reviewRounds: number;
  /** Known commits of people on its branch; a push that a run found counts as one. null if unknown. */
  readonly peopleCommits: number | null;
  /** The instant of a revert within 30 days; null if none was found. */
  readonly revertedAt: number | null;
}

/** Returns the tasks of all known pull requests, those opened last first. */
export function taskHistoriesIn(snapshot: Snapshot): readonly TaskHistory[] {
  return pullsIn(snapshot).flatMap(tasksOfPull);
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

/** Returns each task's part of the cost of no task, such as answers to reviews; null if it is unknown. */
function answersShareOf({ costUsd, tasks }: StoredPull): number | null {
  if (costUsd === null) return null;
  const own = tasks.reduce((sum, task) => sum + (task.costUsd ?? 0), 0);
  return Math.max(0, costUsd - own) / Math.max(1, tasks.length);
}
