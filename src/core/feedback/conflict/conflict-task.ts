import type { ObjectId } from '../../evidence.ts';
import { cleanTitle } from '../../text/clean.ts';
import type { Task } from '../../tasks/task.ts';
import { CONFLICT_TASK, FEEDBACK_PRIORITY } from '../subject.ts';

/** A base branch that conflicts, by its tip, with a pull request; `url`: its page. */
interface Conflict {
  readonly branch: string;
  readonly base: ObjectId;
  readonly pullRequest: number;
  readonly url: string;
}

/** The merge of a base branch that conflicts, as a task. */
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
