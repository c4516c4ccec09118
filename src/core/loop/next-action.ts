import { MINUTE_MS } from '../countdown.ts';
import { unknownFrom } from '../lane/base/red-base.ts';
import {
  listUnverifiedTasks,
  type VerificationSubject,
  listVerifiedTasks,
  matchesVerification,
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
import { type Order, findStopRequester } from '../sharing/orders.ts';
import type { TaskId } from '../tasks/ids.ts';
import type { Task } from '../tasks/task.ts';

type Moment = Pick<Situation, 'run' | 'policy' | 'now'>;

/** Maximum wait in ms for a step's circuit, about the time that starting another run takes. */
const MAX_SHORT_WAIT_MS = 2 * MINUTE_MS;

type Iterate = Extract<LaneDecision, { kind: 'iterate' }>;

type Parked = Extract<Outcome, { kind: 'parked' }>;

/** The last action completed on the branch. */
type Stage = 'unopened' | 'ready' | keyof typeof AFTER_STAGE;

/**
 * The action that follows each stage. Work begun on the branch is finished before anything that became due in between,
 * so that every commit is pushed.
 */
const AFTER_STAGE = {
  opened: 'verify-base',
  'base-verified': 'merge-repaired-base',
  'base-merged': 'apply-suggestions',
  'suggestions-applied': 'push',
  merged: 'push',
  iterated: 'push',
} as const;

/** The decision to end a run: the outcome, its instant, and whether the run was cancelled by then. */
interface Ending<End extends Outcome = Outcome> {
  readonly outcome: End;
  readonly decidedAt: number;
  readonly cancelled: boolean;
}

/** The loop's knowledge besides its work, grouped by validity. */
export interface LoopFacts {
  readonly stage: Stage;
  /** The outcome with which the run breaks off; null while it continues. */
  readonly failure: Outcome | null;

  // The following fields are valid until the next iteration; `isHeadVerified` also ends with a merge.
  readonly isHeadVerified: boolean;
  readonly isBaseVerified: boolean;
  /** True if the run asked for more than its reservation. */
  readonly hasAskedForMore: boolean;

  // The following fields are valid until the next lengthy action.
  /** The task for which people's changes were looked up before its call; null if none. */
  readonly lookedFor: TaskId | null;
  /** People's orders; null if the store has not been asked. */
  readonly orders: readonly Order[] | null;
  /** The task for which the work tree is prepared, with its unfinished merge, if any; null if none is prepared. */
  readonly prepared: { readonly task: TaskId; readonly merge: MergeToFinish | null } | null;
  /** A decided end that must not be reconsidered, because the remaining budget is unknown; null if none. */
  readonly ending: Ending | null;
}

/** The knowledge at the beginning of a run. */
export const FACTS_AT_START: LoopFacts = {
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

/** The knowledge after an iteration. */
export const FACTS_AFTER_ITERATION: LoopFacts = { ...FACTS_AT_START, stage: 'iterated' };

/** Drops the facts that a lengthy action made stale and adds new ones. */
export function updateFacts(known: LoopFacts, news: Partial<LoopFacts>): LoopFacts {
  return { ...known, lookedFor: null, orders: null, prepared: null, ending: null, ...news };
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
  /** `finished` are the tasks that the verification decides. */
  | { readonly kind: 'verify-head'; readonly subject: VerificationSubject; readonly finished: readonly TaskId[] }
  | { readonly kind: 'prepare-merge'; readonly task: Task }
  /** `startedAt` is the instant of the decision; the call is charged at that time. */
  | {
      readonly kind: 'iterate';
      readonly step: Iterate;
      readonly startedAt: number;
      readonly merge: MergeToFinish | null;
      readonly orders: readonly Order[];
    }
  | { readonly kind: 'wait'; readonly ending: Ending<Parked> }
  | { readonly kind: 'ask-for-more'; readonly ending: Ending }
  /** `waitSkippedBy` is the run's bound that prevents waiting for a limit; null if none. */
  | { readonly kind: 'end'; readonly ending: Ending; readonly waitSkippedBy: RunBound | null }
  /** Ends the run with a failure instead of a decision of the loop. */
  | { readonly kind: 'break-off'; readonly outcome: Outcome };

/** All inputs of the next decision. */
export interface LoopSituation extends Situation<Task> {
  readonly known: LoopFacts;
  /** True if the run is cancelled; replaces the field of `run`. */
  readonly cancelled: boolean;
  /** The person who asked to end this run only, after its iteration; null if nobody did. Orders come first. */
  readonly endingBy: string | null;
  /** The head and the hash of the verify commands. */
  readonly head: VerificationSubject;
  /** True if this job can see people's changes on GitHub. */
  readonly canLook: boolean;
  /** The user's policy without the bounds of the run's reservation; null if the run cannot ask for more. */
  readonly unreserved: Policy | null;
}

/** Returns the next action; the first clause that applies decides. */
export function decideLoopAction(situation: LoopSituation): LoopAction {
  const { known, cancelled, endingBy, now } = situation;
  if (known.failure !== null) return { kind: 'break-off', outcome: known.failure };
  if (known.stage !== 'unopened' && known.stage !== 'ready') return { kind: AFTER_STAGE[known.stage] };
  if (known.ending !== null) return endAfterVerification(situation, known.ending, null);
  const ordered = known.orders === null ? null : findStopRequester(situation.state, known.orders);
  const run = { ...situation.run, cancelled, stoppedBy: situation.run.stoppedBy ?? ordered ?? endingBy };
  const step = decideNextStep({ ...situation, run });
  return step.kind === 'iterate'
    ? beforeCall(situation, step)
    : beforeEnd(situation, run, { outcome: step.outcome, decidedAt: now, cancelled });
}

function beforeCall(situation: LoopSituation, step: Iterate): LoopAction {
  const { known, state, run, now } = situation;
  const { task } = step;
  // The gate has just obeyed every order and looked up people's changes, so a run asks again only after an iteration or
  // a minute, which the verification of the base may take.
  const isLongAgo = run.iterations > 0 || now - run.startedAt > MINUTE_MS;
  if (isLongAgo && known.orders === null) return { kind: 'ask-orders' };
  if (isLongAgo && situation.canLook && known.lookedFor !== task.id) return { kind: 'look-at-people', task };
  // A finished task may become done without a call, so its verification comes first.
  const action = listUnverifiedTasks(state).includes(task.id) ? dueHeadVerification(situation, null) : null;
  if (action !== null) return action;
  if (known.stage === 'unopened') return { kind: 'open-branch' };
  // The failures of the last iterations may be those of the base, so the base is verified again.
  const isUnknown = state.baseVerification === null || unknownFrom(state.redBase) !== null;
  const doubtsBase = run.iterations > 0 && isUnknown && !known.isBaseVerified;
  if (doubtsBase && situation.policy.verifies) return { kind: 'verify-base' };
  if (known.prepared?.task !== task.id) return { kind: 'prepare-merge', task };
  return { kind: 'iterate', step, startedAt: now, merge: known.prepared.merge, orders: known.orders ?? [] };
}

function beforeEnd(situation: LoopSituation, run: RunSoFar, ending: Ending): LoopAction {
  const { known, now, policy: own, unreserved } = situation;
  const { outcome } = ending;
  // If the run can ask for more after a limit, only the user's policy bounds it. Its time limits stay, because they
  // already include earlier waits.
  const { maxRunMs, maxWaitMs } = own;
  const asks = unreserved !== null && own.onLimit === 'wait';
  const policy = asks ? { ...unreserved, maxRunMs, maxWaitMs } : { ...own, onLimit: 'park' as const };
  const moment = { run, policy, now };
  const skippedBy = outcome.kind === 'parked' && policy.onLimit === 'wait' ? boundAfterWait(outcome, moment) : null;
  if (isWorthWaiting(outcome, moment)) return { kind: 'wait', ending: { ...ending, outcome } };
  if (run.stoppedBy !== null) return endAfterVerification(situation, ending, null);
  // The reservation's window may have ended before the first call, so a run without calls may ask for more as well.
  const mayGrow = !known.hasAskedForMore && own.maxIterations < policy.maxIterations;
  if (mayGrow && isHeldByReservation(outcome, moment)) return { kind: 'ask-for-more', ending };
  return endAfterVerification(situation, ending, skippedBy);
}

/** Returns the action at the end of a run. The head is verified first if this can still change which tasks are done. */
function endAfterVerification(situation: LoopSituation, ending: Ending, waitSkippedBy: RunBound | null): LoopAction {
  return dueHeadVerification(situation, ending.outcome) ?? { kind: 'end', ending, waitSkippedBy };
}

/**
 * Returns the verification of the head that is due before the run ends with `outcome`, or before a call if `outcome` is
 * null. Returns null if none is due.
 */
function dueHeadVerification(
  { known, state, policy, head }: LoopSituation,
  outcome: Outcome | null,
): Extract<LoopAction, { kind: 'verify-head' }> | null {
  if (!policy.verifies || known.isHeadVerified || outcome?.kind === 'cancelled') return null;
  const finished = listVerifiedTasks(state, outcome?.kind === 'complete');
  // An earlier run that was stopped may have left proofs unfinished, which only another verification completes.
  const lacksProof =
    state.lastRun?.outcome !== 'complete' &&
    Object.values(state.change.tasks).some(({ proof }) => proof !== undefined && isProofCutOff(proof));
  const isKnown =
    state.headVerification?.kind === 'passed' && matchesVerification(state.headVerification, head) && !lacksProof;
  const isDue =
    outcome === null ||
    ((finished.length > 0 || outcome.kind === 'complete') && !isKnown) ||
    // If the work tree fails, a clone would fail as well, so a verification would add nothing.
    (listUnverifiedTasks(state).length > 0 && state.lastIteration?.verification !== 'failed');
  return isDue ? { kind: 'verify-head', subject: head, finished } : null;
}

/**
 * Returns true if a run waits instead of parking: the policy says so or a step's circuit is open only briefly, and time
 * for a call remains afterwards. A run that can ask for more passes its policy without the reservation's bounds.
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

/** Returns the bound that would prevent a call after the wait; null if a call would be possible. */
function boundAfterWait({ resumeAt }: Parked, { run, policy, now }: Moment): RunBound | null {
  return findReachedRunLimit(run, extendPolicyByWait(policy, resumeAt - now), Math.max(now, resumeAt))?.reason ?? null;
}

/** Returns true if only the reservation prevents another call, so that the run may ask for more. */
function isHeldByReservation(outcome: Outcome, { run, policy, now }: Moment): boolean {
  return outcome.kind === 'limit' && policy.onLimit === 'wait' && findReachedRunLimit(run, policy, now) === null;
}

/**
 * Returns why a run must not begin. Returns null if the run may call or wait for a call, or if it must publish
 * completed work or unposted answers (`hasUnpostedAnswers`).
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
  // A run that waits keeps its lane, so it begins and waits there.
  return isWorthWaiting(step.outcome, situation) ? null : step.outcome;
}
