import type { ObjectId } from '../../evidence.ts';
import { cleanTitle } from '../../text/clean.ts';
import type { Task } from '../../tasks/task.ts';
import { CONFLICT_TASK, FEEDBACK_PRIORITY } from '../subject.ts';

/** A pull request that conflicts with its base branch; `base` is the tip of that branch, `url` the page of the pull request. */
interface Conflict {
  readonly branch: string;
  readonly base: ObjectId;
  readonly pullRequest: number;
  readonly url: string;
}

/** Creates the task to merge a base branch that conflicts. */
export function taskOfConflict({ branch, base, pullRequest, url }: Conflict): Task {
  const name = cleanTitle(branch).text;
  return {
    id: CONFLICT_TASK,
    title: `Merge ${name} and resolve the conflicts`,
    body: `The base branch ${name} has moved on, and pull request #${pullRequest} can no longer be merged into it.`,
    source: { kind: 'feedback', on: { kind: 'conflict', branch: name, base }, pullRequest, url },
    comments: [],
    obstacle: null,
    priority: FEEDBACK_PRIORITY.conflict,
    dependsOn: [],
    optional: false,
  };
}
