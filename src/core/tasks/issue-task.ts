import { waitsForApproval } from '../people/labels.ts';
import { oneLine } from '../text/phrase.ts';
import { NORMAL_PRIORITY, priorityOfLabel } from './priority.ts';
import { taskIdOfIssue } from './ids.ts';
import { issueOfTask, type Task, type TaskObstacle } from './task.ts';

/** Title and body of an issue, as GitHub has them. */
export interface IssueText {
  readonly title: string;
  readonly body: string;
}

/** What decisions need of an issue: raw text of strangers, and how many others GitHub says that it waits for. */
export interface TaskIssue extends IssueText {
  readonly number: number;
  readonly url: string;
  readonly labels: readonly string[];
  /** Open ones that block it, and open sub-issues of it. */
  readonly blockedBy: number;
  readonly openSubIssues: number;
}

const MAX_TITLE_CHARS = 200;

/** An issue as a task of the queue: what decisions need, and a title for people. Its text is not fit for a prompt yet. */
export function taskOfIssue({ number, title, url, labels }: TaskIssue): Task {
  return {
    id: taskIdOfIssue(number),
    title: titleOfIssue(oneLine(title, MAX_TITLE_CHARS), number),
    body: '',
    source: { kind: 'issue', number, url, labels },
    comments: [],
    obstacle: null,
    priority: priorityOf(labels),
    dependsOn: [],
    optional: false,
  };
}

/** What people call an issue of which they see no title. */
export function titleOfIssue(seen: string, number: number): string {
  return seen === '' ? `Issue ${number}` : seen;
}

/** Tasks in the order of work: priority, then issue number. */
export function tasksOfIssues(issues: readonly TaskIssue[]): readonly Task[] {
  return issues.map(taskOfIssue).sort((a, b) => a.priority - b.priority || byIssueNumber(a, b));
}

/** Order of tasks that are issues. */
export function byIssueNumber(a: Task, b: Task): number {
  return (issueOfTask(a) ?? 0) - (issueOfTask(b) ?? 0);
}

/** What an earlier run found and reported by the issue's label; who takes no second look leaves it so. */
export function obstacleByLabel({ source }: Pick<Task, 'source'>): TaskObstacle | null {
  return source.kind === 'issue' && waitsForApproval(source.labels) ? 'needs-approval' : null;
}

/** The highest that labels such as `P0` or `priority:high` give. */
function priorityOf(labels: readonly string[]): number {
  const given = labels.map(priorityOfLabel).filter((priority) => priority !== null);
  return given.length > 0 ? Math.min(...given) : NORMAL_PRIORITY;
}
