import type { ObjectId } from '../../evidence.ts';
import { cleanTitle } from '../../text/clean.ts';
import type { Task } from '../../tasks/task.ts';
import { CONFLICT_TASK, FEEDBACK_PRIORITY } from '../subject.ts';

/** A pull request that conflicts with its base branch, or that a rule requires to be up to date. */
interface Conflict {
  readonly branch: string;
  /** The tip of the base branch. */
  readonly base: ObjectId;
  readonly pullRequest: number;
  /** Page of the pull request. */
  readonly url: string;
  readonly conflicts: boolean;
}

/** Creates the task to merge a base branch. */
export function taskOfConflict({ branch, base, pullRequest, url, conflicts }: Conflict): Task {
  const name = cleanTitle(branch).text;
  return {
    id: CONFLICT_TASK,
    title: conflicts ? `Merge ${name} and resolve the conflicts` : `Merge ${name}, as a rule of the branch requires`,
    body: `The base branch ${name} has moved on, and pull request #${pullRequest} ${conflicts ? 'can no longer be merged into it' : 'must have its newest commits before it is merged'}.`,
    source: { kind: 'feedback', on: { kind: 'conflict', branch: name, base }, pullRequest, url },
    comments: [],
    obstacle: null,
    priority: FEEDBACK_PRIORITY.conflict,
    dependsOn: [],
    optional: false,
  };
}
