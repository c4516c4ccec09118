import { countJobs } from '../../config/config.ts';
import type { LaneState } from '../../core/lane/state/state.ts';
import { getLabelDefinition, hasLabel, computeLabelChange, type LifecycleLabel } from '../../core/people/labels.ts';
import { needsOfPullRequest, needsOfTask } from '../../core/people/notifications.ts';
import { explainRefusal } from '../../core/refusals/refusal.ts';
import { listOtherReservations } from '../../core/sharing/budget.ts';
import { orderInSnapshot } from '../../core/snapshot/changes.ts';
import { parseBudgetIn } from '../../core/snapshot/snapshot.ts';
import type { ClosedPull } from '../../core/snapshot/stored-pull.ts';
import {
  isIssueTask,
  isLaneId,
  toIssueLane,
  issueOfId,
  nameOfLane,
  nameOfTaskId,
  taskIdOfIssue,
} from '../../core/tasks/ids.ts';
import { isStuck } from '../../core/tasks/task.ts';
import { getProgress } from '../../core/tasks/queue.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { endIntake, type GateResult, gateResultOfLane, type EndIntake } from '../../handover/intake.ts';
import type { Issue } from '../../ports/forge.ts';
import type { BranchDeleted } from '../../ports/remote.ts';
import { explainOrderNotKept } from '../command/save-order.ts';
import type { GateDeps } from '../deps.ts';
import type { Intent } from '../event/intent.ts';
import { isTaskIssue } from '../tasks/queued-issues.ts';
import { startWaitingPull } from '../work.ts';
import { restoreLane } from './restore.ts';
import { rememberEnds } from './train.ts';

type Remains = 'done' | 'unfinished';

/** Maximum number of names in a message. */
const MAX_NAMED = 10;

/**
 * Handles a closed pull request of Ralph. Not merged, the lane rests. Merged, the lane's work is over, and the run
 * takes up the first of the other open ones that needs work.
 */
export async function endLane(deps: GateDeps, intent: Extract<Intent, { kind: 'end-lane' }>): Promise<GateResult> {
  const end = await endClosed(deps, intent);
  if (!intent.pullRequest.merged || end.over === null) return gateResultOfLane(deps, end);
  const { work, unnotified, train, warnings } = await startWaitingPull(deps);
  const { number, branch } = intent.pullRequest;
  // Merging one of several changes the order of the others.
  const others = train === null ? null : { ...train, pulls: train.pulls.filter((one) => one.branch !== branch) };
  if (!train?.closed.some((one) => one.number === number))
    await rememberEnds(deps, [closedPullOf(deps, intent.pullRequest)]);
  const further = [...end.notes.warnings, ...warnings];
  const next = work ?? unnotified ?? end;
  const notes = {
    ...next.notes,
    before: next === end || end.outcome.reason !== 'updated' ? null : end.outcome.message,
    train: others,
    warnings: next === end ? further : [...further, ...next.notes.warnings],
  };
  return next.kind === 'work'
    ? { ...gateResultOfLane(deps, { ...next, notes }), over: end.over }
    : gateResultOfLane(deps, { ...next, over: end.over, notes });
}

/** Ends the lane of a closed pull request: `over` is null for a branch that belongs to no lane. */
async function endClosed(
  deps: GateDeps,
  { pullRequest, actor }: Extract<Intent, { kind: 'end-lane' }>,
): Promise<EndIntake> {
  const { number, branch, merged } = pullRequest;
  const name = `Pull request #${String(number)}`;
  const lane = branch.slice(deps.config.branchPrefix.length);
  if (!isLaneId(lane))
    return endAsUpdated(
      deps,
      `${name} belongs to the branch ${branch}, which is neither the queue's nor an issue's. There is nothing to do.`,
    );
  const over: EndIntake['over'] = { thread: number, needs: needsOfPullRequest(lane), why: 'pull_request_over' };
  if (!merged) {
    const { claimedBy } = await restoreLane({ lane, expected: false, elsewhere: [], deps });
    await rememberEnds(deps, [closedPullOf(deps, pullRequest)]);
    const now =
      claimedBy === null
        ? ''
        : countJobs(deps.config) === 'one'
          ? ` A run is working on it (${claimedBy.runUrl}): it ends its call within two minutes, makes no other, and marks none of its work as done.`
          : ` A run is working on it (${claimedBy.runUrl}): its agent cannot be reached while it works; the job that publishes marks none of its work as done.`;
    return {
      ...endAsUpdated(
        deps,
        `${name} was closed without merging, so work on ${nameOfLane(lane)} is on hold.${now} Reopen it to continue from there, or delete the branch ${branch} to start again.`,
      ),
      over,
    };
  }
  const { state, claimedBy, warnings } = await restoreLane({ lane, expected: false, elsewhere: [], deps });
  const remains = await remainingWork(deps, state);
  // A run that works on the lane now pushes to its branch, so the branch must stay.
  const stays = remains === 'done' || (remains === 'unfinished' && claimedBy !== null);
  const deleted = stays ? null : await deps.remote.deleteBranch(pullRequest);
  const isOver = deleted === null || deleted.kind === 'deleted' || deleted.kind === 'gone';
  const problem = isOver && claimedBy === null ? await endSession(deps, state, actor.login) : null;
  const end = endAsUpdated(
    deps,
    `${name} was merged. ${doneSentence(state)} ${branchSentence(branch, deleted, remains)}${remains === 'unfinished' ? ` ${continuationSentence(state, deleted)}` : ''}`,
  );
  return {
    ...end,
    over,
    notes: {
      ...end.notes,
      warnings: [
        ...warnings,
        ...(deleted?.kind === 'rejected'
          ? [`The branch ${branch} could not be deleted: ${completeSentence(deleted.why)}`]
          : []),
        ...(deleted?.kind === 'refused' && deleted.refusal.rule !== 'deletion'
          ? [`The branch ${branch} could not be deleted: ${completeSentence(explainRefusal(deleted.refusal))}`]
          : []),
        ...(problem === null ? [] : [problem]),
      ],
    },
  };
}

/** Returns the pull request of an event, without its commits, which are unknown. */
function closedPullOf(
  { clock }: GateDeps,
  { number, branch, head, merged, closedAt, mergeCommit }: Extract<Intent, { kind: 'end-lane' }>['pullRequest'],
): ClosedPull {
  const kind = merged ? 'merged' : 'closed';
  return { number, branch, kind, at: closedAt ?? clock.now(), head, commit: mergeCommit, commits: [] };
}

/**
 * Returns `done` or `unfinished` for an issue's own lane while its issue is open and labelled; returns null for any
 * other lane, such as the queue. The branch of a done issue must stay, because the queue would start the issue again
 * without it (a merge into a branch other than the default one closes no issue); an unfinished issue continues.
 */
async function remainingWork(deps: GateDeps, { lane, tasks }: LaneState): Promise<Remains | null> {
  const number = issueOfId(lane);
  const issue = number === null ? null : await deps.forge.issue(number);
  if (issue === null || issue.state === 'closed' || !(await isTaskIssue(deps, issue))) return null;
  const progress = Object.hasOwn(tasks, lane) ? tasks[lane] : undefined;
  return progress === undefined || progress.state === 'done' ? 'done' : 'unfinished';
}

/**
 * Ends the agent's session, because its work is merged. Returns the problem as a sentence, or null if none.
 */
async function endSession(
  { store, config, context, clock }: GateDeps,
  { lane, session }: LaneState,
  by: string,
): Promise<string | null> {
  // Copies cannot keep orders, so there is nothing to do.
  if (session === null || config.stateStore === 'none' || config.stateStore === 'cache') return null;
  const now = clock.now();
  const given = { kind: 'reset-session', task: null, by, from: 'event', run: context.runId, at: now } as const;
  const ordered = explainOrderNotKept(await store.update(orderInSnapshot(lane, given)));
  return ordered !== null
    ? `The agent's conversation about ${nameOfLane(lane)} could not be ended: ${completeSentence(ordered)} Comment \`/ralph reset session\` to end it.`
    : null;
}

function doneSentence({ tasks }: LaneState): string {
  const done = Object.keys(tasks).filter((id) => tasks[id]?.state === 'done');
  const issues = done.filter(isIssueTask).map(nameOfTaskId);
  const others = done.length - Math.min(issues.length, MAX_NAMED);
  const names = [
    ...issues.slice(0, MAX_NAMED),
    ...(others === 0
      ? []
      : [`${String(others)} ${issues.length === 0 ? '' : 'more '}${others === 1 ? 'task' : 'tasks'}`]),
  ];
  return names.length === 0 ? 'No task on its branch is done.' : `Done on its branch: ${names.join(', ')}.`;
}

/** Returns a sentence that says how an unfinished issue continues. */
function continuationSentence({ lane, tasks }: LaneState, deleted: BranchDeleted | null): string {
  const name = nameOfTaskId(lane);
  if (isStuck(getProgress(tasks, lane)))
    return `${name} still waits for a person: comment \`/ralph retry\` on it to continue.`;
  const isOfQueue = deleted?.kind === 'deleted' || deleted?.kind === 'gone';
  return isOfQueue
    ? `The queue continues with ${name}, from what was merged.`
    : `${name} is not done: comment \`/ralph run\` on it to continue.`;
}

function branchSentence(branch: string, deleted: BranchDeleted | null, remains: Remains | null): string {
  if (deleted === null && remains === 'unfinished') return `The branch ${branch} stays: a run is working on it.`;
  if (deleted === null)
    return `The branch ${branch} stays while its issue is open and labelled, or the queue would start the issue again.`;
  switch (deleted.kind) {
    case 'deleted':
      return `The branch ${branch} was deleted.`;
    case 'gone':
      return `The branch ${branch} was already deleted.`;
    case 'moved':
      return `The branch ${branch} stays: it holds commits that were not merged.`;
    case 'rejected':
      return `The branch ${branch} stays.`;
    case 'refused':
      if (deleted.refusal.rule !== 'deletion') return `The branch ${branch} stays.`;
      return `The branch ${branch} stays, since the repository does not let it be deleted: the next work begins on it from the base.`;
  }
}

/** Removes our labels from an issue that is no longer a task. Checks no permission, because no work starts. */
export async function withdrawIssue(
  deps: GateDeps,
  { issue: number, because }: Extract<Intent, { kind: 'withdraw' }>,
): Promise<EndIntake> {
  const name = `#${String(number)}`;
  if (because === 'deleted' || because === 'transferred')
    return endAsUpdated(
      deps,
      `${name} was ${because}, so it is out of the queue. ${await workingRunSentence(deps, number)} If it has a branch of its own, the branch and its pull request stay as they are.`,
    );
  // The event may be minutes old, so look at the current state of the issue.
  const issue = await deps.forge.issue(number);
  if (issue === null)
    return endAsUpdated(
      deps,
      `${name} no longer exists, so it is out of the queue. ${await workingRunSentence(deps, number)}`,
    );
  if (issue.state === 'open' && (await isTaskIssue(deps, issue)))
    return endAsUpdated(
      deps,
      `${name} is open and ${hasLabel(issue.labels, deps.config.taskLabel) ? `has the label "${deps.config.taskLabel}" again` : 'found by `issue-query`'}, so it stays in the queue.`,
    );
  const wanted =
    issue.state === 'closed' && issue.labels.some((label) => label.toLowerCase() === 'ralph:done')
      ? 'ralph:done'
      : null;
  const what =
    wanted === null
      ? `was ${because}: it is out of the queue until it is open and labelled "${deps.config.taskLabel}" again. ${await workingRunSentence(deps, number)}`
      : 'was closed, and is done.';
  await setLifecycleLabel(deps, issue, wanted);
  return {
    ...endAsUpdated(deps, `${name} ${what}`),
    over: { thread: number, needs: needsOfTask(taskIdOfIssue(number)), why: wanted === null ? 'gone' : 'done' },
  };
}

/**
 * Returns a sentence about the run that works on the issue now, which notices by itself that the issue is no longer a
 * task.
 */
async function workingRunSentence({ store, config, clock, runTag }: GateDeps, number: number): Promise<string> {
  const known = await store.read();
  const read = known.kind === 'snapshot' ? parseBudgetIn(known.snapshot, clock.now()) : null;
  if (read?.kind !== 'budget')
    return 'A run that is working on it makes no more calls for it, and does not mark it as done.';
  const id = taskIdOfIssue(number);
  const [run] = listOtherReservations(read.budget, runTag, clock.now()).filter(({ tasks }) => tasks.includes(id));
  if (run === undefined) return 'No run is working on it.';
  const at = `A run that has it among its tasks is at work (${run.runUrl}).`;
  return countJobs(config) === 'one'
    ? `${at} It ends a call that runs for it within two minutes, makes no other for it, and does not mark it as done.`
    : `${at} Its agent cannot be reached while it works; the job that publishes keeps what it did on the branch, and does not mark it as done.`;
}

/** Handles a reopened issue with the task label. */
export async function resumeReopenedIssue(
  deps: GateDeps,
  { issue: number }: Extract<Intent, { kind: 'take-back' }>,
): Promise<EndIntake> {
  const name = `#${String(number)}`;
  const issue = await deps.forge.issue(number);
  if (issue === null || issue.state === 'closed' || !(await isTaskIssue(deps, issue)))
    return endAsUpdated(
      deps,
      `${name} is no longer open with the label "${deps.config.taskLabel}", so it is not a task.`,
    );
  const own = deps.config.branchPrefix + toIssueLane(number);
  const hasLane = (await deps.remote.branches(own))[own] !== undefined;
  const next = hasLane
    ? `It has a branch of its own (${own}): comment \`/ralph run\` there, or add the label again, to continue`
    : 'The next run of the queue looks at it; finished work starts again only if somebody with write permission reopened it or adds the label again';
  return endAsUpdated(deps, `${name} is open again. ${next}.`);
}

/** Returns the end of a run that only had to record something. */
export function endAsUpdated({ log }: Pick<GateDeps, 'log'>, message: string): EndIntake {
  log.info(message);
  return endIntake({ kind: 'idle', reason: 'updated', message });
}

/** Removes our lifecycle labels from an issue, all but `wanted`, which is added if it is missing. */
export async function setLifecycleLabel(
  { forge }: GateDeps,
  { number, labels }: Issue,
  wanted: LifecycleLabel | null,
): Promise<void> {
  const { add, remove } = computeLabelChange(labels, wanted);
  if (add.length + remove.length > 0)
    await forge.changeLabels(number, { from: labels, add: add.map(getLabelDefinition), remove });
}
