import type { TaskIssue } from '../../../../src/core/tasks/issue-task.ts';
import type { TextDependencies } from '../../../../src/core/tasks/text-dependencies.ts';

/** Returns an open issue with the task label that waits for nothing. */
export function issue(number: number, change: Partial<TaskIssue> = {}): TaskIssue {
  return {
    number,
    title: `Title ${String(number)}`,
    body: `Body ${String(number)}`,
    url: `https://example.test/${String(number)}`,
    labels: ['ralph'],
    blockedBy: 0,
    openSubIssues: 0,
    ...change,
  };
}

/** Returns the dependencies that a text names. */
export function textDependencies(change: Partial<TextDependencies>): TextDependencies {
  return { issues: [], elsewhere: [], names: [], ...change };
}
