import { MINUTE_MS } from '../countdown.ts';
import {
  listUnverifiedTasks,
  type VerificationSubject,
  listVerifiedTasks,
  isVerificationOf,
} from '../lane/verification.ts';
import {
  findReachedRunLimit,
  decideNextStep,
  type LaneDecision,
  type RunSoFar,
  type Situation,
  createRunSoFar,
} from '../lane/decide.ts';
import type { Outcome, RunBound } from '../outcome.ts';
import { extendPolicyByWait, type Policy } from '../policy.ts';
import type { MergeToFinish } from '../prompt/learnings.ts';
import { isProofCutOff } from '../proof/proof.ts';
import { type Order, stopRequesterOf } from '../sharing/orders.ts';
import type { TaskId } from '../tasks/ids.ts';
import type { Task } from '../tasks/task.ts';

type Moment = Pick<Situation, 'run' | 'policy' | 'now'>;

/** Approximate time in ms for starting another run. */
const MAX_SHORT_WAIT_MS = 2 * MINUTE_MS;

type Iterate = Extract<LaneDecision, { kind: 'iterate' }>;

type Parked = Extract<Outcome, { kind: 'parked' }>;

/** The last action on the branch. */
type Stage = 'unopened' | 'ready' | keyof typeof AFTER_STAGE;

/**
 * The action that follows each stage: what was begun on the branch is finished before anything that became due in
 * between, so that every commit is pushed.
 */
const AFTER_STAGE = {
  opened: 'verify-base',
  'base-verified': 'merge-repaired-base',
  'base-merged': 'apply-suggestions',
  'suggestions-applied': 'push',
  merged: 'push',
  iterated: 'push',
} as const;

/** The decision to end a run: the outcome, the instant, and whether the run was cancelled by then. */
interface Ending<End extends Outcome = Outcome> {
  readonly outcome: End;
  readonly decidedAt: number;
  readonly cancelled: boolean;
}

/** The loop's knowledge besides its work, grouped by how long it holds. */
export interface LoopFacts {
  readonly stage: Stage;
  /** The outcome with which the run breaks off; null if it does not. */
  readonly failure: Outcome | null;

  // The following fields hold until the next iteration, the verification of the head also until the next merge.
  /** The task before whose call people's changes were looked up; null if there is none. */
  readonly lookedFor: TaskId | null;
  readonly isHeadVerified: boolean;
  readonly isBaseVerified: boolean;
  /** True if the run asked for more than it had reserved. */
  readonly hasAskedForMore: boolean;

  // The following fields hold until the next action that takes time.
  /** People's orders; null if the store was not asked. */
  readonly orders: readonly Order[] | null;
  /** The task for which the work tree is prepared, with its unfinished merge (null if there is none). */
  readonly prepared: { readonly task: TaskId; readonly merge: MergeToFinish | null } | null;
  /** A decided end that must not be reconsidered, since the remaining budget is unknown; null if there is none. */
  readonly ending: Ending | null;
}

/** The knowledge of a run as it begins. */
export const NOTHING_KNOWN: LoopFacts = {
  stage: 'unopened',
  failure: null,
  lookedFor: null,
  isHeadVerified: false,
  isBaseVerified: false,
  hasAskedForMore: false,
  orders: null,
  prepared: null,
  ending: null,
};

/** The knowledge of a run after an iteration. */
export const ITERATED: LoopFacts = { ...NOTHING_KNOWN, stage: 'iterated' };

/** Drops the facts that a lengthy action made stale, and adds the new ones. */
export function updateFacts(known: LoopFacts, news: Partial<LoopFacts>): LoopFacts {
  return { ...known, orders: null, prepared: null, ending: null, ...news };
}

export type LoopAction =
  | {
      readonly kind:
        | 'open-branch'
        | 'verify-base'
        | 'merge-repaired-base'
        | 'apply-suggestions'
        | 'push'
        | 'ask-orders';
    }
  | { readonly kind: 'look-at-people'; readonly task: Task }
  /** `finished` are the tasks that the verification decides on. */
  | { readonly kind: 'verify-head'; readonly subject: VerificationSubject; readonly finished: readonly TaskId[] }
  | { readonly kind: 'prepare-merge'; readonly task: Task }
  /** `startedAt` is the instant of the decision, at which the call is charged. */
  | {
      readonly kind: 'iterate';
      readonly step: Iterate;
      readonly startedAt: number;
      readonly merge: MergeToFinish | null;
      readonly orders: readonly Order[];
    }
  | { readonly kind: 'wait'; readonly ending: Ending<Parked> }
  | { readonly kind: 'ask-for-more'; readonly ending: Ending }
  /** `waitSkippedBy` is the bound of the run because of which it does not wait for a limit; null if there is none. */
  | { readonly kind: 'end'; readonly ending: Ending; readonly waitSkippedBy: RunBound | null }
  /** Ends the run without a decision by the loop. */
  | { readonly kind: 'break-off'; readonly outcome: Outcome };

/** All inputs of the next action. `cancelled` and `endingBy` replace the fields of `run`. */
export interface LoopSituation extends Situation<Task> {
  readonly known: LoopFacts;
  readonly cancelled: boolean;
  /** The person who asked only this run to end after its iteration; null if nobody did. */
  readonly endingBy: string | null;
  /** The head with the verify commands. */
  readonly head: VerificationSubject;
  /** True if this job can see people's changes on GitHub. */
  readonly canLook: boolean;
  /** The user's policy, without the bounds of a reservation; null if the run cannot ask for more. */
  readonly unreserved: Policy | null;
}

/** Returns the next action: the first clause that holds decides. */
export function decideLoopAction(situation: LoopSituation): LoopAction {
  const { known, cancelled, endingBy, now } = situation;
  if (known.failure !== null) return { kind: 'break-off', outcome: known.failure };
  if (known.stage !== 'unopened' && known.stage !== 'ready') return { kind: AFTER_STAGE[known.stage] };
  if (known.ending !== null) return end(situation, known.ending, null);
  const ordered = known.orders === null ? null : stopRequesterOf(situation.state, known.orders);
  const run = { ...situation.run, cancelled, stoppedBy: situation.run.stoppedBy ?? ordered ?? endingBy };
  const step = decideNextStep({ ...situation, run });
  return step.kind === 'iterate'
    ? beforeCall(situation, step)
    : beforeEnd(situation, run, { outcome: step.outcome, decidedAt: now, cancelled });
}

function beforeCall(situation: LoopSituation, step: Iterate): LoopAction {
  const { known, state, run, now } = situation;
  const { task } = step;
  // A run that has just begun has obeyed every order.
  if (run.iterations > 0 && known.orders === null) return { kind: 'ask-orders' };
  // The gate has just looked up people's changes.
  const isLongAgo = run.iterations > 0 || now - run.startedAt > MINUTE_MS;
  if (isLongAgo && situation.canLook && known.lookedFor !== task.id) return { kind: 'look-at-people', task };
  // A finished task may become done without a call.
  const action = listUnverifiedTasks(state).includes(task.id) ? dueHeadVerification(situation, null) : null;
  if (action !== null) return action;
  if (known.stage === 'unopened') return { kind: 'open-branch' };
  // The failures of the last iterations may be those of the base.
  const doubtsBase = run.iterations > 0 && state.baseVerification === null && !known.isBaseVerified;
  if (doubtsBase && situation.policy.verifies) return { kind: 'verify-base' };
  if (known.prepared?.task !== task.id) return { kind: 'prepare-merge', task };
  return { kind: 'iterate', step, startedAt: now, merge: known.prepared.merge, orders: known.orders ?? [] };
}

function beforeEnd(situation: LoopSituation, run: RunSoFar, ending: Ending): LoopAction {
  const { known, now, policy: own, unreserved } = situation;
  const { outcome } = ending;
  // After a limit, a run that can ask gets more to use. The time that earlier waits cost still counts.
  const { maxRunMs, maxWaitMs } = own;
  const asks = unreserved !== null && own.onLimit === 'wait';
  const policy = asks ? { ...unreserved, maxRunMs, maxWaitMs } : { ...own, onLimit: 'park' as const };
  const moment = { run, policy, now };
  const skippedBy = outcome.kind === 'parked' && policy.onLimit === 'wait' ? boundAfterWait(outcome, moment) : null;
  if (isWorthWaiting(outcome, moment)) return { kind: 'wait', ending: { ...ending, outcome } };
  if (run.stoppedBy !== null) return end(situation, ending, null);
  // The window of its reservation may have ended before its first call.
  const mayGrow = !known.hasAskedForMore && own.maxIterations < policy.maxIterations;
  if (mayGrow && isHeldByReservation(outcome, moment)) return { kind: 'ask-for-more', ending };
  return end(situation, ending, skippedBy);
}

/** Returns the action at the end of a run: its head is verified first if that can still change which tasks are done. */
function end(situation: LoopSituation, ending: Ending, waitSkippedBy: RunBound | null): LoopAction {
  return dueHeadVerification(situation, ending.outcome) ?? { kind: 'end', ending, waitSkippedBy };
}

/**
 * Returns the verification of the head that is due before the run ends with the outcome, or before another call (null).
 * Returns null if none is due.
 */
function dueHeadVerification(
  { known, state, policy, head }: LoopSituation,
  outcome: Outcome | null,
): Extract<LoopAction, { kind: 'verify-head' }> | null {
  if (!policy.verifies || known.isHeadVerified || outcome?.kind === 'cancelled') return null;
  const finished = listVerifiedTasks(state, outcome?.kind === 'complete');
  // A run that was ended early has left its proofs to the next one.
  const lacksProof =
    state.lastRun?.outcome !== 'complete' &&
    Object.values(state.change.tasks).some(({ proof }) => proof !== undefined && isProofCutOff(proof));
  const isKnown =
    state.headVerification?.kind === 'passed' && isVerificationOf(state.headVerification, head) && !lacksProof;
  const isDue =
    outcome === null ||
    ((finished.length > 0 || outcome.kind === 'complete') && !isKnown) ||
    // A failure in the work tree would also fail in the clone: a verification would say nothing new.
    (listUnverifiedTasks(state).length > 0 && state.lastIteration?.verification !== 'failed');
  return isDue ? { kind: 'verify-head', subject: head, finished } : null;
}

/**
 * True if a run waits instead of parking: the policy says so or a step's circuit opens only briefly, and time for
 * a call is left afterwards. A run that can ask for more passes its policy without the reservation's bounds.
 */
export function isWorthWaiting(outcome: Outcome, { run, policy, now }: Moment): outcome is Parked {
  return (
    outcome.kind === 'parked' &&
    (policy.onLimit === 'wait' || (outcome.reason === 'step_circuit' && outcome.resumeAt - now <= MAX_SHORT_WAIT_MS)) &&
    !run.cancelled &&
    run.stoppedBy === null &&
    boundAfterWait(outcome, { run, policy, now }) === null
  );
}

/** Returns the bound that would keep the run from a call after the wait; null if a call would be possible. */
function boundAfterWait({ resumeAt }: Parked, { run, policy, now }: Moment): RunBound | null {
  return findReachedRunLimit(run, extendPolicyByWait(policy, resumeAt - now), Math.max(now, resumeAt))?.reason ?? null;
}

/** Returns true if only the reservation keeps a run from another call, so that the run may ask for more. */
function isHeldByReservation(outcome: Outcome, { run, policy, now }: Moment): boolean {
  return outcome.kind === 'limit' && policy.onLimit === 'wait' && findReachedRunLimit(run, policy, now) === null;
}

/**
 * Returns why a run must not begin. Null if it may call or wait for a call, or if completed work or unposted answers
 * (`hasUnpostedAnswers`) must be published.
 */
export function stopBeforeWork(
  { state, tasks, hasUnpostedAnswers }: Pick<Situation, 'state' | 'tasks'> & { readonly hasUnpostedAnswers: boolean },
  policy: Policy,
  now: number,
): Outcome | null {
  const situation = { run: createRunSoFar(state, now), policy, now };
  const step = decideNextStep({ state, tasks, ...situation });
  if (
    step.kind === 'iterate' ||
    step.outcome.kind === 'complete' ||
    (hasUnpostedAnswers && step.outcome.kind === 'blocked')
  )
    return null;
  // The lane belongs to this run while it waits.
  return isWorthWaiting(step.outcome, situation) ? null : step.outcome;
}
