import { waitsForApproval } from '../../core/people/labels.ts';
import { createHash } from 'node:crypto';
import { cap, flatten } from '../../core/text/plain-text.ts';
import type { CleanedText } from '../../core/text/clean.ts';
import { NORMAL_PRIORITY, priorityOfLabel } from '../../core/tasks/priority.ts';
import { issueOfTask, type Task, type TaskComment, type TaskObstacle } from '../../core/tasks/task.ts';
import type { Issue } from '../../ports/forge.ts';
import { taskIdOfIssue } from '../../core/tasks/ids.ts';

/** Title and body of an issue, as GitHub has them. */
export type IssueText = Pick<Issue, 'title' | 'body'>;

const MAX_TITLE_CHARS = 200;

/** An issue as a task of the queue: what decisions need, and a title for people. Its text is not fit for a prompt yet, see `withText`. */
export function taskOfIssue(issue: Issue): Task {
  const title = cap(flatten(issue.title), MAX_TITLE_CHARS);
  return {
    id: taskIdOfIssue(issue.number),
    title: title === '' ? nameless(issue.number) : title,
    body: '',
    source: { kind: 'issue', number: issue.number, url: issue.url, labels: issue.labels },
    comments: [],
    obstacle: null,
    priority: priorityOf(issue.labels),
    dependsOn: [],
    optional: false,
  };
}

/** Tasks in the order of work: priority, then issue number. */
export function tasksOfIssues(issues: readonly Issue[]): readonly Task[] {
  const number = (task: Task): number => issueOfTask(task) ?? 0;
  return issues.map(taskOfIssue).sort((a, b) => a.priority - b.priority || number(a) - number(b));
}

/** A task with its text, cleaned and capped. */
export interface CleanedTask {
  readonly task: Task;
  /** Characters that were taken out, since a reader of the issue does not see them. */
  readonly unseen: number;
  /** Characters at the end of the text that there was no room for. */
  readonly cut: number;
  /** Nothing of title and text was left. */
  readonly isEmpty: boolean;
}

/** Gives the task its text. */
export async function withText(task: Task, text: IssueText, comments: readonly TaskComment[]): Promise<CleanedTask> {
  // Brings a Markdown parser along, which a run that finds nothing to do does not need.
  const { cleanText, cleanTitle } = await import('../../core/text/clean.ts');
  const body = cleanText(text.body);
  const title = cleanTitle(text.title);
  return {
    task: {
      ...task,
      title: title.text === '' ? nameless(issueOfTask(task) ?? 0) : title.text,
      body: body.text,
      comments,
    },
    unseen: unseenIn(body) + unseenIn(title),
    cut: body.removed - unseenIn(body),
    isEmpty: title.text === '' && body.text.trim() === '',
  };
}

/** How many characters were taken out since a reader does not see them; what was only cut off is not among them. */
export function unseenIn({ kinds }: CleanedText): number {
  return Object.values(kinds).reduce((sum, count) => sum + count, 0);
}

/** What an earlier run found and told the issue by its label; who takes no second look leaves it so. */
export function obstacleByLabel({ source }: Pick<Task, 'source'>): TaskObstacle | null {
  const isWaiting = source.kind === 'issue' && waitsForApproval(source.labels);
  return isWaiting ? 'needs-approval' : null;
}

/** What consent is given to: first 32 hex digits of the SHA-256 of title and body. */
export function hashOfText({ title, body }: IssueText): string {
  return createHash('sha256')
    .update(JSON.stringify([title, body]))
    .digest('hex')
    .slice(0, 32);
}

function nameless(number: number): string {
  return `Issue ${String(number)}`;
}

/** The highest that labels such as `P0` or `priority:high` give. */
function priorityOf(labels: readonly string[]): number {
  const given = labels.map(priorityOfLabel).filter((priority) => priority !== null);
  return given.length > 0 ? Math.min(...given) : NORMAL_PRIORITY;
}
