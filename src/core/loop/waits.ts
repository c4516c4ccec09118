import { limitOf, nextStep, startRun, type Situation } from '../lane/decide.ts';
import type { Outcome, RunBound } from '../outcome.ts';
import { afterWait, type Policy } from '../policy.ts';
import { MINUTE_MS } from '../time.ts';

type Parked = Extract<Outcome, { kind: 'parked' }>;
type Moment = Pick<Situation, 'run' | 'policy' | 'now'>;

/** Beginning another run takes about as long as this, in ms. */
const MAX_SHORT_WAIT_MS = 2 * MINUTE_MS;

/** Whether a run that would park waits instead: where its policy says so, or a step's circuit is open for a moment only, and time for a call is left then. `policy`: where it says so, without what bounds the run by its reservation. */
export function isWorthWaiting(outcome: Outcome, { run, policy, now }: Moment): outcome is Parked {
  return (
    outcome.kind === 'parked' &&
    (policy.onLimit === 'wait' || isShortWait(outcome, now)) &&
    !run.cancelled &&
    run.stoppedBy === null &&
    boundBehind(outcome, { run, policy, now }) === null
  );
}

function isShortWait({ reason, resumeAt }: Parked, now: number): boolean {
  return reason === 'step_circuit' && resumeAt - now <= MAX_SHORT_WAIT_MS;
}

/** Which bound of a run would let it make no call behind the wait; null: none, so that waiting is worth it. */
export function boundBehind({ resumeAt }: Parked, { run, policy, now }: Moment): RunBound | null {
  return limitOf(run, afterWait(policy, resumeAt - now), Math.max(now, resumeAt))?.reason ?? null;
}

/** Whether it is only its reservation that keeps a run from a further call, so that it may ask for more. */
export function isHeldByReservation(outcome: Outcome, { run, policy, now }: Moment): boolean {
  return outcome.kind === 'limit' && policy.onLimit === 'wait' && limitOf(run, policy, now) === null;
}

/** Why a run must not begin; null: it may call, its wait is worth it, or what is complete, or owed to people (`owes`), is still to be published. */
export function stopBeforeWork(
  { state, tasks, owes }: Pick<Situation, 'state' | 'tasks'> & { readonly owes: boolean },
  policy: Policy,
  now: number,
): Outcome | null {
  const situation = { run: startRun(state, now), policy, now };
  const step = nextStep({ state, tasks, ...situation });
  if (step.kind === 'iterate' || step.outcome.kind === 'complete' || (owes && step.outcome.kind === 'blocked'))
    return null;
  // The lane is this run's while it waits.
  return isWorthWaiting(step.outcome, situation) ? null : step.outcome;
}
