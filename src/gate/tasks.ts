import { cleanText, cleanTitle } from '../core/tasks/clean.ts';
import { issueOfTask, type Task } from '../core/tasks/task.ts';
import type { Issue } from '../ports.ts';

/** A priority that no label gives. */
const MIDDLE_PRIORITY = 3;
const NAMED_PRIORITIES: ReadonlyMap<string, number> = new Map([['critical', 1], ['urgent', 1], ['high', 2], ['medium', 3], ['normal', 3], ['low', 4]]);

/** An issue as a task: text cleaned and capped; `removed` counts the characters that cleaning took. */
export function taskOfIssue(issue: Issue): { readonly task: Task; readonly removed: number } {
  const body = cleanText(issue.body);
  const title = cleanTitle(issue.title);
  return {
    task: {
      id: `issue-${String(issue.number)}`,
      title: title.text === '' ? `Issue ${String(issue.number)}` : title.text,
      body: body.text,
      source: { kind: 'issue', number: issue.number, url: issue.url, labels: issue.labels },
      comments: [],
      hold: null,
      priority: priorityOf(issue.labels),
      dependsOn: [],
      optional: false,
    },
    removed: body.removed + title.removed,
  };
}

/** Tasks in the order of work: priority, then issue number. */
export function tasksOfIssues(issues: readonly Issue[]): { readonly tasks: readonly Task[]; readonly removed: number } {
  const admitted = issues.map(taskOfIssue);
  const number = (task: Task): number => issueOfTask(task) ?? 0;
  return {
    tasks: admitted.map(({ task }) => task).sort((a, b) => a.priority - b.priority || number(a) - number(b)),
    removed: admitted.reduce((sum, { removed }) => sum + removed, 0),
  };
}

/** The highest that `P0`–`P3` or `priority:high` labels give. */
function priorityOf(labels: readonly string[]): number {
  const given = labels.map(priorityOfLabel).filter((priority) => priority !== null);
  return given.length > 0 ? Math.min(...given) : MIDDLE_PRIORITY;
}

function priorityOfLabel(label: string): number | null {
  const level = /^p([0-3])$/i.exec(label)?.[1];
  if (level !== undefined) return Number(level) + 1;
  const named = /^priority[:/ ]\s*(\w+)$/i.exec(label)?.[1]?.toLowerCase();
  return NAMED_PRIORITIES.get(named ?? '') ?? null;
}
