import { definitionOf, labelChange, type LifecycleLabel } from '../../core/people/labels.ts';
import { jobsOf } from '../../config/config.ts';
import { budgetIn } from '../../core/snapshot/snapshot.ts';
import { reservedByOthers } from '../../core/sharing/budget.ts';
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
      `${name} was ${because}, so it is out of the queue. ${await whoWorksOnIt(deps, number)} If it has a branch of its own, the branch and its pull request stay as they are.`,
    );
  // The event may be minutes old: what counts is how the issue stands now.
  const issue = await deps.forge.issue(number);
  if (issue === null)
    return updated(deps, `${name} no longer exists, so it is out of the queue. ${await whoWorksOnIt(deps, number)}`);
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
      ? `was ${because}: it is out of the queue until it is open and labelled "${deps.config.taskLabel}" again. ${await whoWorksOnIt(deps, number)}`
      : 'was closed, and is done.';
  await takeLabelsOff(deps, issue, wanted);
  return {
    ...updated(deps, `${name} ${what}`),
    over: { thread: number, needs: needsOfTask(taskIdOfIssue(number)), why: wanted === null ? 'gone' : 'done' },
  };
}

/** What becomes of the issue in a run that works now, as a sentence: that run looks at the issue itself, by itself. */
async function whoWorksOnIt({ store, config, clock, runTag }: GateDeps, number: number): Promise<string> {
  const known = await store.read();
  const read = known.kind === 'snapshot' ? budgetIn(known.snapshot, clock.now()) : null;
  if (read?.kind !== 'budget')
    return 'A run that works on it now makes no further call for it, and does not call it done.';
  const id = taskIdOfIssue(number);
  const [run] = reservedByOthers(read.budget, runTag, clock.now()).filter(({ tasks }) => tasks.includes(id));
  if (run === undefined) return 'No run works on it.';
  const at = `A run that has it among its tasks is at work (${run.runUrl}).`;
  return jobsOf(config) === 'one'
    ? `${at} It ends a call that runs for it within two minutes, makes no other for it, and does not call it done.`
    : `${at} Its agent cannot be reached while it works; the job that publishes keeps what it did on the branch, and does not call it done.`;
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
