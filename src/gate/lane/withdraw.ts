import { definitionOf, labelChange, type LifecycleLabel } from '../../core/people/labels.ts';
import { needsOfTask } from '../../core/people/notifications.ts';
import { issueLane, taskIdOfIssue } from '../../core/tasks/ids.ts';
import type { Issue } from '../../ports/forge.ts';
import type { GateDeps } from '../deps.ts';
import { endIntake, type Intake } from '../../handover/intake.ts';
import type { Intent } from '../event/intent.ts';
import { hasTaskLabel } from '../work.ts';

type EndIntake = Extract<Intake, { kind: 'end' }>;

/** An issue stopped being a task: our labels come off it. Needs nobody's permission, since nothing is worked for it. */
export async function withdraw(
  deps: GateDeps,
  { issue: number, because }: Extract<Intent, { kind: 'withdraw' }>,
): Promise<EndIntake> {
  const name = `#${String(number)}`;
  if (because === 'deleted' || because === 'transferred')
    return updated(
      deps,
      `${name} was ${because}, so it is out of the queue. If it has a branch of its own, no run works on that one; the branch and pull request stay as they are.`,
    );
  // The event may be minutes old: what counts is how the issue stands now.
  const issue = await deps.forge.issue(number);
  if (issue === null) return updated(deps, `${name} no longer exists, so it is out of the queue.`);
  if (issue.state === 'open' && hasTaskLabel(deps, issue))
    return updated(
      deps,
      `${name} is open and has the label "${deps.config.taskLabel}" again, so it stays in the queue.`,
    );
  const wanted =
    issue.state === 'closed' && issue.labels.some((label) => label.toLowerCase() === 'ralph:done')
      ? 'ralph:done'
      : null;
  const what =
    wanted === null
      ? `was ${because}: it is out of the queue, and no run works on it until it is open and labelled "${deps.config.taskLabel}" again`
      : 'was closed, and is done';
  await takeLabelsOff(deps, issue, wanted);
  return {
    ...updated(deps, `${name} ${what}.`),
    over: { thread: number, needs: needsOfTask(taskIdOfIssue(number)), why: wanted === null ? 'gone' : 'done' },
  };
}

/** An issue with the task label was opened again. */
export async function takeBack(
  deps: GateDeps,
  { issue: number }: Extract<Intent, { kind: 'take-back' }>,
): Promise<EndIntake> {
  const name = `#${String(number)}`;
  const issue = await deps.forge.issue(number);
  if (issue === null || issue.state === 'closed' || !hasTaskLabel(deps, issue))
    return updated(deps, `${name} is no longer open with the label "${deps.config.taskLabel}", so it is not a task.`);
  const own = deps.config.branchPrefix + issueLane(number);
  const hasLane = (await deps.remote.branches(own))[own] !== undefined;
  const next = hasLane
    ? `It has a branch of its own (${own}): comment \`/ralph run\` there, or add the label again, to continue`
    : 'The next run of the queue looks at it; finished work starts again only if somebody with write permission reopened it or adds the label again';
  return updated(deps, `${name} is open again. ${next}.`);
}

/** The end of a run that had only to take notice. */
export function updated({ log }: Pick<GateDeps, 'log'>, message: string): EndIntake {
  log.info(message);
  return endIntake({ kind: 'idle', reason: 'updated', message });
}

export async function takeLabelsOff(
  { forge }: GateDeps,
  { number, labels }: Issue,
  wanted: LifecycleLabel | null,
): Promise<void> {
  const { add, remove } = labelChange(labels, wanted);
  if (add.length + remove.length > 0)
    await forge.changeLabels(number, { from: labels, add: add.map(definitionOf), remove });
}
