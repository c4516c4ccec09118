import { isDashboardText } from '../../core/dashboard/boxes.ts';
import { formatCommentTaskId } from '../../core/feedback/subject.ts';
import { hasLabel } from '../../core/people/labels.ts';
import { toIssueLane, QUEUE, isLaneId, issueOfId, nameOfLane } from '../../core/tasks/ids.ts';
import { UserError } from '../../errors.ts';
import { type Intake, endIntake } from '../../handover/intake.ts';
import type { GateDeps } from '../deps.ts';
import type { Intent } from '../event/intent.ts';
import { hashOfText, isTrustedAccount } from '../people/trust.ts';
import { startIssueWork, startQueueWork } from '../work.ts';
import { refuseCommand, withReceipt } from './answering.ts';
import { saveOrder } from './save-order.ts';
import { withUnansweredRequest } from '../../core/snapshot/going-on.ts';
import { admitWork } from '../lane/side-by-side.ts';
import { endAsUpdated } from '../lane/end-lane.ts';
import { createOwnRequest, type RunPurpose } from '../tasks/sources.ts';
import { isTaskIssue, explainNoTask } from '../tasks/queued-issues.ts';

/** A comment of a trusted person that describes work. */
type Asked = Pick<Extract<Intent, { kind: 'command' }>, 'actor' | 'reactTo' | 'thread' | 'issueThen'>;

/**
 * Does the work for which a comment on one of Ralph's pull requests asks. `issue` is the one for which its branch was
 * made, or null if it is the queue's branch.
 */
export async function requestOnPull(
  deps: GateDeps,
  { actor, reactTo, thread }: Asked,
  issue: number | null,
): Promise<Intake> {
  const refused = (why: string): Intake => refuseCommand(deps, thread.number, why);
  if (reactTo?.kind !== 'comment')
    return refused(
      '`answer-reviews` is `false`, so Ralph does not work on what reviews ask for. Write it as a comment on the pull request.',
    );
  if (thread.isClosed === true)
    return refused('This pull request is closed, so nothing is changed in it. Reopen it, or comment on an issue.');
  const lane = issue === null ? QUEUE : toIssueLane(issue);
  const task = formatCommentTaskId(reactTo.id);
  const receipt = await saveOrder(deps, lane, { kind: 'request', task, by: actor.login, from: 'comment' });
  const pullRequest = { number: thread.number, branch: deps.config.branchPrefix + lane, head: null };
  const intake = await answerFeedback(deps, { kind: 'answer', pullRequest, about: 'review', actor });
  return intake.kind === 'end' && intake.outcome.reason === 'updated'
    ? refused(intake.outcome.message)
    : withReceipt(intake, thread.number, receipt);
}

/**
 * Works on an issue because a comment on it asks for that; the agent reads the comment. The request is the person's
 * consent, so the task label is added.
 */
export async function requestOnIssue(deps: GateDeps, { actor, thread, issueThen }: Asked): Promise<Intake> {
  const { number } = thread;
  const { commentsFrom, stateStore, taskLabel } = deps.config;
  const refused = (why: string): Intake => refuseCommand(deps, number, why);
  if (commentsFrom === 'nobody')
    return refused(
      '`comments-from` is `nobody`, so the agent would not read this comment. Write it into the text of the issue, then comment `/ralph run`.',
    );
  if (stateStore === 'cache' || stateStore === 'none')
    return refused(
      `\`state-store: ${stateStore}\` keeps no requests on issues. If the issue has the label "${taskLabel}", comment \`/ralph run\`: the agent then reads this comment.`,
    );
  const issue = await deps.forge.issue(number);
  if (issue?.state !== 'open' || issue.isPullRequest || isDashboardText(issue.body))
    return startIssueWork(deps, { number, redo: true, approvedText: null });
  const then = issueThen ?? { ...issue, at: deps.clock.now() };
  const isLabelled = hasLabel(issue.labels, taskLabel);
  const isSame = then.title === issue.title && then.body === issue.body && !hasLabel(then.labels, taskLabel);
  // With a person's token, adding the label would be that person's consent to the issue as it is now, so refuse.
  if (!isLabelled && !isSame)
    return refused(
      `After your comment, the text of this issue was changed, or the label "${taskLabel}" was removed. Look at it, then comment again.`,
    );
  const consent = { text: hashOfText(then, deps.sha256), id: actor.id, at: then.at };
  const task = toIssueLane(number);
  const receipt = await saveOrder(deps, task, { kind: 'request', task, by: actor.login, from: 'comment', consent });
  if (!isLabelled) {
    const added = await deps.forge.addLabels(number, [taskLabel]);
    if (added.kind === 'refused') throw new UserError('infrastructure', added.why);
  }
  return withReceipt(await startIssueWork(deps, { number, redo: true, approvedText: then }), number, receipt);
}

/** Starts work on the lane of a pull request that people or CI commented on. The lane reads the comments itself. */
export async function answerFeedback(
  deps: GateDeps,
  { pullRequest, about, actor, reactTo = null }: Extract<Intent, { kind: 'answer' }>,
): Promise<Intake> {
  const { branch } = pullRequest;
  const lane = branch.slice(deps.config.branchPrefix.length);
  if (!isLaneId(lane))
    return endAsUpdated(deps, `The branch ${branch} is neither the queue's nor an issue's. There is nothing to do.`);
  // Strangers get no answer, so their comments must not start work either.
  if (actor !== null && !(await isTrustedAccount(deps, actor))) {
    deps.log.info(
      `Nothing to do: ${actor.login} does not have write permission in this repository, so the review is not answered.`,
    );
    return endIntake({ kind: 'idle', reason: 'not_for_us' });
  }
  if (reactTo !== null) await deps.forge.react(reactTo, 'eyes');
  const failedOn = about === 'check' ? pullRequest.head : null;
  const purpose: RunPurpose = { kind: 'answers', failedOn, of: 'event' };
  const issue = issueOfId(lane);
  return lane === QUEUE || issue === null
    ? startQueueWork(deps, { asked: false, byHand: false, purpose })
    : answerOnIssueLane(deps, issue, purpose);
}

/** Answers on an issue's own lane, if the issue is still a task. */
async function answerOnIssueLane(deps: GateDeps, number: number, purpose: RunPurpose): Promise<Intake> {
  const issue = await deps.forge.issue(number);
  const name = `Issue #${String(number)}`;
  if (issue?.state !== 'open') return endAsUpdated(deps, `${name} is closed, so its pull request is not answered.`);
  if (!(await isTaskIssue(deps, issue)))
    return endAsUpdated(deps, `${name} ${explainNoTask(deps.config)}, so its pull request is not answered.`);
  const intake = await admitWork(deps, createOwnRequest(issue, purpose));
  // If an obstacle prevents an answer now, the store records that one is due, and the next scheduled run tries again.
  const isLeft = intake.kind === 'end' && intake.outcome.kind !== 'idle' && intake.outcome.kind !== 'complete';
  const lane = toIssueLane(number);
  const message = `${nameOfLane(lane)}: asked, and not answered yet by run ${deps.context.runId}`;
  if (isLeft)
    await deps.store.update((newest) => ({ snapshot: withUnansweredRequest(newest, lane), message, answer: null }));
  return intake;
}
