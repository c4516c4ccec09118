import { isDashboardText } from '../../core/dashboard/boxes.ts';
import { formatCommentTaskId } from '../../core/feedback/subject.ts';
import { hasLabel } from '../../core/people/labels.ts';
import { toIssueLane, QUEUE } from '../../core/tasks/ids.ts';
import { UserError } from '../../errors.ts';
import type { Intake } from '../../handover/intake.ts';
import type { GateDeps } from '../deps.ts';
import type { Intent } from '../event/intent.ts';
import { answerFeedback } from '../feedback/answer.ts';
import { hashOfText } from '../people/trust.ts';
import { startIssueWork } from '../work.ts';
import { refuseCommand, withReceipt } from './answering.ts';
import { saveOrder } from './save-order.ts';

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
    return startIssueWork(deps, { number, redo: true, approvedText: null, triesLimits: true });
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
  return withReceipt(
    await startIssueWork(deps, { number, redo: true, approvedText: then, triesLimits: true }),
    number,
    receipt,
  );
}
