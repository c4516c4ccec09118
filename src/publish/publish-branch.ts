import type { Outcome } from '../core/outcome.ts';
import {
  isWithdrawn,
  decideAfterWithdrawal,
  unclaimTasks,
  describeWithdrawal,
  withdrawTasks,
} from '../core/people/withdrawal.ts';
import { describePushFailure } from '../core/refusals/refusal.ts';
import { pauseLane } from '../core/sharing/orders.ts';
import { completeSentence } from '../core/text/phrase.ts';
import { getErrorText, UserError } from '../errors.ts';
import {
  type ClearedHead,
  clearHead,
  type HeadDeps,
  outcomeOfHeldHead,
  judgeUnverifiedMerge,
} from '../handover/clear-head.ts';
import type { Work } from '../handover/intake.ts';
import { pushSigned, type SignDeps } from '../handover/signed.ts';
import type { LaneStart } from '../ports/repository.ts';
import type { PushResult } from '../ports/remote.ts';
import { withTimeLimit } from './answers.ts';
import type { PublishDeps } from './deps.ts';
import { type LaneWithdrawal, lookAtLane, findWithdrawnTasks } from './people-now.ts';

/** Share of a step's time limit for asking GitHub about withdrawals, so that time is left for saving and notifying. */
const LOOK_SHARE = 0.25;

function lookWithin({ stepWithinMs }: PublishDeps): number | null {
  return stepWithinMs === null ? null : stepWithinMs * LOOK_SHARE;
}

/**
 * Returns the work with the tasks that people withdrew in the meantime marked as withdrawn, and the withdrawal of the
 * lane, if any. `isAnswered` is false if GitHub did not answer in time.
 */
export async function markWithdrawnWork(
  deps: PublishDeps,
  work: Work,
): Promise<{ readonly work: Work; readonly lane: LaneWithdrawal | null; readonly isAnswered: boolean }> {
  const { forge, remote, config, log } = deps;
  const looking = { forge, remote, config, debug: log.info };
  const seen = await withTimeLimit(
    lookWithin(deps),
    // An earlier attempt of this run may have deleted a branch without commits, so do not blame a person for that.
    Promise.all([findWithdrawnTasks(looking, work), hasBranchToLose(work) ? lookAtLane(looking, work) : null]),
  ).catch(() => null);
  const [withdrawals, lane] = seen ?? ([[], null] as const);
  const tasks = withdrawTasks(work.tasks, withdrawals);
  const warnings = withdrawals.flatMap(({ task: id, why }) => {
    const task = work.tasks.find((one) => one.id === id);
    return task === undefined ? [] : [describeWithdrawal(task, why)];
  });
  for (const warning of warnings) log.warning(warning);
  const unclaimed = tasks.filter((task) => lane !== null || isWithdrawn(task)).map(({ id }) => id);
  const now = deps.clock.now();
  const kept = unclaimTasks(work.state, { before: work.stateBefore, ids: unclaimed, now });
  const state = lane?.kind === 'renamed' ? pauseLane(kept, { by: lane.by, at: now }, 'renamed') : kept;
  const outcome = decideAfterWithdrawal(work.outcome, tasks, state.tasks);
  return {
    work: {
      ...work,
      tasks,
      state,
      outcome: lane === null ? outcome : outcomeOfLane(outcome, lane),
      warnings: [...work.warnings, ...warnings],
    },
    lane,
    isAnswered: seen !== null,
  };
}

function hasBranchToLose({ hasNewCommits, lane }: Work): boolean {
  return hasNewCommits || lane.start.kind === 'continue' || lane.start.kind === 'reuse';
}

/**
 * Returns the outcome of a run whose lane was withdrawn. A push that found no branch did not fail if a person deleted
 * the branch.
 */
function outcomeOfLane(outcome: Outcome, { kind, by }: LaneWithdrawal): Outcome {
  const isOwn = outcome.kind === 'cancelled' || outcome.reason === 'configuration';
  if (isOwn || (outcome.kind === 'failed' && kind === 'closed')) return outcome;
  return { kind: 'paused', reason: 'by_person', by };
}

/**
 * Result of publishing the branch. `lost`: the newest commits of this run did not reach the remote; `refused`: a rule
 * of the server keeps them out. `remoteHead` is null while the lane has no branch on the remote.
 */
export interface PublishedBranch {
  readonly kind: 'published' | 'lost' | 'refused';
  readonly remoteHead: string | null;
  readonly outcome: Outcome;
  /** The work with the names of its commits on the branch, and with the feedback that it overtakes. */
  readonly work: Work;
}

/**
 * Pushes the new commits of a run, or returns why the branch could not be published. A branch without commits is
 * deleted.
 */
export async function publishBranch(deps: PublishDeps, work: Work, isAnswered: boolean): Promise<PublishedBranch> {
  const { lane, hasNewCommits, head, base, remoteHead, outcome } = work;
  if (!hasNewCommits) return { kind: 'published', remoteHead: await withoutEmptyBranch(deps, work), outcome, work };
  const { feedback } = work.state;
  const cleared: ClearedHead =
    head === remoteHead ? { kind: 'clear', feedback } : await clearHead(inTime(deps, isAnswered), work);
  if (cleared.kind === 'held') return { kind: 'lost', remoteHead, outcome: outcomeOfHeldHead(work, cleared.why), work };
  if (cleared.kind === 'unknown') return lostBranch(deps, work, { kind: 'unreachable', why: cleared.why });
  // Once the loop has pushed, continue the branch from there.
  const start: LaneStart = remoteHead === null ? lane.start : { kind: 'continue', remoteHead };
  const ready = { ...work, state: { ...work.state, feedback: cleared.feedback } };
  const push = ({ head: commit }: Work): Promise<PushResult> =>
    withTimeLimit(
      deps.stepWithinMs,
      deps.remote.push({ branch: lane.branch, commit, since: remoteHead ?? base, start }),
    ).catch(rejectedBy);
  const { result, taken } = await pushSigned(signing(deps), ready, async (signed) => ({
    result: await push(signed),
    taken: signed,
  }));
  if (result.kind === 'pushed') {
    // The loop has already logged its own pushes, so log only new ones.
    const at = result.merged ?? taken.head;
    if (at !== remoteHead) deps.log.info(`pushed ${at.slice(0, 7)} to ${lane.branch}`);
    const published = at === taken.head ? taken : judgeUnverifiedMerge(taken, at, deps);
    return { kind: 'published', remoteHead: at, outcome: published.outcome, work: published };
  }
  return lostBranch(deps, work, result);
}

/**
 * Returns the dependencies of signing with a time limit, and without a repository, because the work tree is no longer
 * in use.
 */
function signing({ remote, stepWithinMs, log }: PublishDeps): SignDeps {
  const sign: SignDeps['remote']['sign'] = (push) => withTimeLimit(stepWithinMs, remote.sign(push)).catch(rejectedBy);
  return { remote: { sign }, repository: null, record: null, log };
}

/**
 * Returns the dependencies of `clearHead` with a time limit on each request. If GitHub did not answer a moment ago,
 * they do not ask again.
 */
function inTime(deps: PublishDeps, isAnswered: boolean): HeadDeps {
  const { config, clock, log, forge, stepWithinMs } = deps;
  const silent = (): Promise<never> => Promise.reject(new UserError('infrastructure', 'GitHub does not answer'));
  return {
    config,
    clock,
    log,
    forge: {
      headNow: isAnswered ? (branch) => withTimeLimit(lookWithin(deps), forge.headNow(branch)) : silent,
      withdrawFromMerging: (number, standing) =>
        withTimeLimit(stepWithinMs, forge.withdrawFromMerging(number, standing)),
      makeDraft: (number) => withTimeLimit(stepWithinMs, forge.makeDraft(number)),
    },
  };
}

async function lostBranch(
  deps: PublishDeps,
  work: Work,
  result: Exclude<PushResult, { kind: 'pushed' }>,
): Promise<PublishedBranch> {
  const { lane, base, remoteHead, outcome } = work;
  const message = `The commits of this run could not be pushed to ${lane.branch}: ${completeSentence(describePushFailure(result))}`;
  deps.log.error(message);
  const left = remoteHead === base ? await withoutEmptyBranch(deps, work) : remoteHead;
  const kind = result.kind === 'refused' ? 'refused' : 'lost';
  // Keep an outcome that the loop has already reported, because people are notified with its message.
  const isKnown = kind === 'refused' && outcome.kind === 'failed' && outcome.reason === 'configuration';
  // The next run leaves out the content that the server refused, and does the work again, so no rule must be changed.
  const isByRule = result.kind === 'refused' && result.refusal.kind !== 'content';
  const reason = isByRule ? 'configuration' : 'infrastructure';
  const end: Outcome = isKnown ? outcome : { kind: 'failed', reason, message };
  return { kind, remoteHead: left, outcome: end, work };
}

/**
 * Deletes the branch if it was created for work that was never done, and returns the head of what is published: null
 * for such a branch, also if the server does not let it be deleted.
 */
async function withoutEmptyBranch(
  { remote, stepWithinMs }: PublishDeps,
  { lane, base, remoteHead }: Work,
): Promise<string | null> {
  if (lane.start.kind === 'continue' || lane.start.kind === 'reuse' || remoteHead === null) return remoteHead;
  const deleted = await withTimeLimit(stepWithinMs, remote.deleteBranch({ branch: lane.branch, head: base })).catch(
    rejectedBy,
  );
  // A person has pushed to it.
  return deleted.kind === 'moved' ? remoteHead : null;
}

/** Treats an error as a rejection, because a remote that cannot be reached has accepted nothing. */
function rejectedBy(error: unknown): Extract<PushResult, { kind: 'rejected' }> {
  return { kind: 'rejected', why: getErrorText(error) };
}
