import { waitsForApproval } from '../people/labels.ts';
import { toOneLine } from '../text/phrase.ts';
import { NORMAL_PRIORITY, priorityOfLabel } from './priority.ts';
import { taskIdOfIssue } from './ids.ts';
import { issueOfTask, type Task, type TaskObstacle } from './task.ts';

/** The title and body of an issue, as GitHub has them. */
export interface IssueText {
  readonly title: string;
  readonly body: string;
}

/**
 * The part of an issue that decisions need: untrusted raw text, and the number of issues that it waits for on GitHub.
 */
export interface TaskIssue extends IssueText {
  readonly number: number;
  readonly url: string;
  readonly labels: readonly string[];
  /** Number of issues that must be closed first, according to GitHub's own dependencies. */
  readonly blockedBy: number;
  readonly openSubIssues: number;
}

const MAX_TITLE_CHARS = 200;

/** Returns an issue as a task of the queue: what decisions need, and a title. Its text is not prepared for a prompt. */
export function taskOfIssue({ number, title, url, labels }: TaskIssue): Task {
  return {
    id: taskIdOfIssue(number),
    title: titleOfIssue(toOneLine(title, MAX_TITLE_CHARS), number),
    body: '',
    source: { kind: 'issue', number, url, labels },
    comments: [],
    obstacle: null,
    priority: priorityOf(labels),
    dependsOn: [],
    optional: false,
  };
}

/** Returns the title of an issue for people; a substitute if no visible title is left. */
export function titleOfIssue(seen: string, number: number): string {
  return seen === '' ? `Issue ${number}` : seen;
}

/** Returns issues as tasks in the order of work: by priority, then by issue number. */
export function tasksOfIssues(issues: readonly TaskIssue[]): readonly Task[] {
  return issues.map(taskOfIssue).sort((a, b) => a.priority - b.priority || compareIssueNumbers(a, b));
}

/** Compares tasks of issues by number. */
export function compareIssueNumbers(a: Task, b: Task): number {
  return (issueOfTask(a) ?? 0) - (issueOfTask(b) ?? 0);
}

/** Returns the obstacle that an earlier run reported by a label of the issue, for callers that do not judge consent. */
export function findLabelObstacle({ source }: Pick<Task, 'source'>): TaskObstacle | null {
  return source.kind === 'issue' && waitsForApproval(source.labels) ? 'needs-approval' : null;
}

/** Returns the highest priority that labels such as `P0` or `priority:high` give. */
function priorityOf(labels: readonly string[]): number {
  const given = labels.map(priorityOfLabel).filter((priority) => priority !== null);
  return given.length > 0 ? Math.min(...given) : NORMAL_PRIORITY;
}
