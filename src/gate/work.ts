import { issueLane, QUEUE } from '../core/state.ts';
import type { Issue } from '../ports.ts';
import { admit, type GateRun } from './admit.ts';
import { endIntake, type Intake } from './intake.ts';
import { tasksOfIssues } from './tasks.ts';

/** An issue that somebody asks to be worked on now. `approvedText`: as it was when they put the label on, where the event says it. */
export interface AskedIssue {
  readonly number: number;
  readonly approvedText: { readonly title: string; readonly body: string } | null;
}

/** Works every admitted task on the lane `queue`. */
export async function workQueue(run: GateRun): Promise<Intake> {
  const issues = await run.forge.openIssuesWithLabel(run.config.taskLabel);
  if (issues.length === 0) return endIntake({ kind: 'idle', reason: 'no_tasks' });
  const { tasks, removed } = tasksOfIssues(issues);
  return admit(run, { id: QUEUE, tasks, removed, requested: 'by-queue' });
}

/** Works one issue on its own lane. */
export async function workIssue(run: GateRun, { number }: AskedIssue): Promise<Intake> {
  const { taskLabel } = run.config;
  const issue = await run.forge.issue(number);
  const refused = (why: string): Intake => ({ ...endIntake({ kind: 'idle', reason: 'no_tasks' }), answer: { thread: number, text: { kind: 'refusal', why } } });
  if (issue === null) return endIntake({ kind: 'idle', reason: 'no_tasks' });
  if (issue.isPullRequest) return refused('This is a pull request, not an issue.');
  if (issue.state === 'closed') return refused('This issue is closed. Reopen it, then label it again.');
  if (!hasTaskLabel(run, issue)) return refused(`This issue does not have the label "${taskLabel}". Add it, and the work begins.`);
  const { tasks, removed } = tasksOfIssues([issue]);
  return admit(run, { id: issueLane(number), tasks, removed, requested: 'by-name' });
}

export function hasTaskLabel({ config }: GateRun, { labels }: Issue): boolean {
  return labels.some((label) => label.toLowerCase() === config.taskLabel.toLowerCase());
}
