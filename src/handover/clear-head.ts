import { findPushHold, combineHolds, type Hold, type ReviewState } from '../core/feedback/pull-request-now.ts';
import type { Feedback } from '../core/feedback/memory.ts';
import { isFeedback } from '../core/feedback/subject.ts';
import { isForReview, type Outcome } from '../core/outcome.ts';
import { completeSentence } from '../core/text/phrase.ts';
import type { Forge } from '../ports/forge.ts';
import type { Log } from '../ports/machine.ts';
import type { Work } from './intake.ts';
import type { ObjectId } from '../core/evidence.ts';
import { createRunSoFar, decideNextStep } from '../core/lane/decide.ts';
import { reopenDoneSince } from '../core/lane/verification.ts';
import type { Policy } from '../core/policy.ts';
import { isPlanComplete } from '../core/tasks/queue.ts';

/** The dependencies of `clearHead`. `draft` is true if unfinished pull requests are drafts. */
export interface HeadDeps {
  readonly forge: Pick<Forge, 'headNow' | 'withdrawFromMerging' | 'makeDraft'>;
  readonly config: { readonly draft: boolean };
  readonly clock: { readonly now: () => number };
  readonly log: Log;
}

/**
 * The result of clearing a head for a push. `clear`: commits may be pushed, and `feedback` contains the decisions that
 * they overtake. `why` is a sentence.
 */
export type ClearedHead =
  | { readonly kind: 'clear'; readonly feedback: Feedback }
  | { readonly kind: 'unknown'; readonly why: string }
  | { readonly kind: 'held'; readonly why: string };

/**
 * Reads the lane's pull request right before a push, because people approve and enable auto-merge while an agent works.
 * Ends auto-merge and the merge queue first, so that no commit reaches a head that people approved or that is about to
 * be merged. Makes a ready pull request a draft before unfinished new work reaches it, and if anybody approved it.
 * Takes one request, or none without a pull request.
 */
export async function clearHead(deps: HeadDeps, work: Work): Promise<ClearedHead> {
  const { lane, state } = work;
  const { feedback } = state;
  if (lane.pullRequest === null) return { kind: 'clear', feedback };
  const { number } = lane.pullRequest;
  let standing: ReviewState | null;
  try {
    standing = await deps.forge.headNow(lane.branch);
  } catch (error) {
    // A draft can hardly have been merged since the run began, so the failed request does not matter.
    if (lane.pullRequest.draft) return { kind: 'clear', feedback };
    return { kind: 'unknown', why: messageOfUnknown(error) };
  }
  if (standing === null) return { kind: 'clear', feedback };
  const hold = findPushHold(standing);
  if (hold !== null) return freeHeldHead(deps, work, { standing, hold });
  const { approvedBy, isDraft } = standing;
  const isUnfinished = deps.config.draft && hasNewWork(work) && !isForReview(work.outcome);
  if (!isDraft && (isUnfinished || approvedBy.length > 0)) await tryToMakeDraft(deps, number);
  if (approvedBy.length === 0) return { kind: 'clear', feedback };
  // Nobody merges a draft, or a change that others object to, by mistake, but the approvers have not seen the new
  // commits, so record that.
  const unseen = { approvedBy, autoMerge: false, queued: false };
  return { kind: 'clear', feedback: recordOvertakenHold(feedback, unseen, deps.clock.now()) };
}

/**
 * Remembers that new commits overtake people's decisions (`hold`). Its `at` is the instant at which auto-merge was last
 * ended.
 */
export function recordOvertakenHold(feedback: Feedback, hold: Hold, now: number): Feedback {
  const { overtaken: known } = feedback;
  const isArmed = hold.autoMerge || hold.queued;
  const wasApproved = hold.approvedBy.length > 0 || (known !== null && known.wasApproved !== false);
  const at = isArmed ? now : (known?.at ?? now);
  return { ...feedback, overtaken: { ...combineHolds(known, hold), wasApproved, at } };
}

async function freeHeldHead(
  { forge, clock, log }: HeadDeps,
  { lane, state }: Work,
  { standing, hold }: { readonly standing: ReviewState; readonly hold: Hold },
): Promise<ClearedHead> {
  const number = lane.pullRequest?.number ?? 0;
  try {
    await forge.withdrawFromMerging(number, standing);
  } catch (error) {
    const isTemporary = error instanceof Error && 'kind' in error && error.kind === 'infrastructure';
    return { kind: isTemporary ? 'unknown' : 'held', why: messageOfUnknown(error) };
  }
  log.warning(
    `Pull request #${String(number)} was approved or set to be merged while this run worked. It is a draft again, and auto-merge is off, so that the new commits are reviewed.`,
  );
  return { kind: 'clear', feedback: recordOvertakenHold(state.feedback, hold, clock.now()) };
}

function hasNewWork({ journal }: Work): boolean {
  return journal.some(({ taskId, commit }) => commit !== null && !isFeedback(taskId));
}

async function tryToMakeDraft({ forge, log }: HeadDeps, number: number): Promise<void> {
  try {
    await forge.makeDraft(number);
  } catch (error) {
    log.warning(
      `Pull request #${String(number)} gets new commits and could not be made a draft again: ${completeSentence(messageOfUnknown(error))}`,
    );
  }
}

/** Returns the outcome of a run whose commits cannot be pushed, because its head is held and could not be freed. */
export function outcomeOfHeldHead({ lane: { pullRequest } }: Work, why: string): Outcome {
  const name = `pull request #${String(pullRequest?.number ?? 0)}`;
  return {
    kind: 'failed',
    reason: 'configuration',
    message: `Nothing more is pushed to ${name}: people approved it or set it to be merged while this run worked, and Ralph could not make it a draft again. ${completeSentence(why)} Switch auto-merge off and make it a draft by hand (or dismiss the approval, where there are no drafts), or merge it: then the next run continues.`,
  };
}

/** Returns the message of any error. Nothing is pushed, regardless of what kept the head from being read or freed. */
function messageOfUnknown(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The dependencies of judging a head that this job cannot verify. */
interface UnverifiedDeps {
  readonly config: { readonly policy: Policy };
  readonly clock: { now(): number };
}

/**
 * Returns the work at a head that differs from the loop's, in a job that cannot verify it. Tasks that this run finished
 * wait until the next run verifies the head, without a call, and the run is not complete.
 */
export function judgeUnverifiedHead(work: Work, { config: { policy }, clock }: UnverifiedDeps): Work {
  const now = clock.now();
  const { tasks, outcome } = work;
  const state = policy.verifies ? reopenDoneSince(work.state, work.stateBefore, now) : work.state;
  const left = { ...work, cleanVerification: null, state };
  if (outcome.kind !== 'complete' || (!policy.verifies && isPlanComplete(tasks, state.tasks))) return left;
  const step = decideNextStep({ state, tasks, run: createRunSoFar(state, now), policy, now });
  const isBlocked = step.kind === 'stop' && step.outcome.kind === 'blocked';
  return { ...left, outcome: isBlocked ? step.outcome : { kind: 'limit', reason: 'unverified' } };
}

/** Returns the work at a merge with commits that people pushed in the meantime, in a job that cannot verify it. */
export function judgeUnverifiedMerge(work: Work, head: ObjectId, deps: UnverifiedDeps): Work {
  if (!deps.config.policy.verifies) return { ...work, head, cleanVerification: null };
  const merged = judgeUnverifiedHead({ ...work, head }, deps);
  // An outcome that the push has changed says so itself.
  if (merged.outcome !== work.outcome) return merged;
  const warning = `Somebody pushed to ${work.lane.branch} while this run worked, and its commits are merged with theirs. The next run verifies the result.`;
  return { ...merged, warnings: [...work.warnings, warning] };
}
