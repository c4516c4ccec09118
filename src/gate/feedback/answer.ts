import { withUnansweredRequest } from '../../core/snapshot/going-on.ts';
import { isLaneId, toIssueLane, issueOfId, nameOfLane, QUEUE } from '../../core/tasks/ids.ts';
import { endIntake, type Intake } from '../../handover/intake.ts';
import type { GateDeps } from '../deps.ts';
import type { Intent } from '../event/intent.ts';
import { admitWork } from '../lane/side-by-side.ts';
import { endAsUpdated } from '../lane/end-lane.ts';
import { isTrustedAccount } from '../people/trust.ts';
import { createOwnRequest, type RunPurpose } from '../tasks/sources.ts';
import { isTaskIssue, explainNoTask } from '../tasks/queued-issues.ts';
import { startQueueWork } from '../work.ts';

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
  const purpose: RunPurpose = { kind: 'answers', failedOn, of: actor?.kind === 'user' ? 'person' : 'event' };
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
