import { bookCall, bookUsage } from '../lane/ledger.ts';
import { believableProviders, MAX_USAGE_WAIT_MS } from '../agents/providers.ts';
import type { LaneState } from '../lane/state.ts';
import { chargeCall, chargeUsage } from '../lane/windows.ts';
import { allowedCalls, type Policy } from '../policy.ts';
import { believableStep, believableSteps } from '../pipeline/step-memory.ts';
import type { TaskId } from '../tasks/ids.ts';
import { progressOf } from '../tasks/queue.ts';
import { boundedUsage } from './believed.ts';

/** What the gate admitted and allowed, which the job of the loop cannot change. */
export interface Admitted {
  readonly before: LaneState;
  /** Tasks that may have been worked on. */
  readonly tasks: readonly TaskId[];
  /** Bound by what the run reserved. */
  readonly policy: Policy;
  /** Tip of the base branch. */
  readonly base: string;
}

/**
 * The state of a lane after a loop in another job, as far as that job has a say in it: how its tasks, its circuit and its
 * conversation stand, and what was used, in calls within what was reserved. What people said, what was published and of what they
 * were notified is what the gate knew.
 */
export function receivedState(received: LaneState, { before, tasks, policy, base }: Admitted, now: number): LaneState {
  const known = new Set(tasks);
  const ids = [...new Set([...Object.keys(before.tasks), ...tasks])];
  const isOf = (id: TaskId): boolean => known.has(id);
  const { park, circuit } = received;
  return {
    ...received,
    ...boundedUsage(before, received, { now, policy, overshootUsd: MAX_OVERSHOOT_USD }),
    sequence: before.sequence,
    savedAt: now,
    tasks: Object.fromEntries(
      ids
        .filter((id) => Object.hasOwn(isOf(id) ? received.tasks : before.tasks, id))
        .map((id) => [id, progressOf((isOf(id) ? received : before).tasks, id)]),
    ),
    approvals: before.approvals,
    // What was worked on holds to no other lane's answer any more; no answer is new.
    answers: Object.fromEntries(
      Object.entries(before.answers).filter(([id]) => !isOf(id) || Object.hasOwn(received.answers, id)),
    ),
    unmarked: received.unmarked.filter((id) => isOf(id) || before.unmarked.includes(id)),
    unverified: received.unverified.filter((id) => isOf(id) || before.unverified.includes(id)),
    retried: stillAsked(before.retried, received.retried),
    currentTask: received.currentTask !== null && isOf(received.currentTask) ? received.currentTask : null,
    leftCircuit: before.leftCircuit,
    pause: before.pause,
    ordersApplied: before.ordersApplied,
    lastRun: before.lastRun,
    refusedPush: before.refusedPush,
    // Only the commits tell what of its answers is true.
    feedback: before.feedback,
    notified: before.notified,
    notifiedAt: before.notifiedAt,
    transcript: null,
    baseCheck: received.baseCheck?.commit === base ? received.baseCheck : before.baseCheck,
    redBase: received.redBase === null || received.redBase.commit === base ? received.redBase : before.redBase,
    park: park === null ? null : believablePark(park, policy, now),
    // An instant to come would keep it open for as long as anybody likes.
    circuit: circuit.kind === 'open' ? { ...circuit, openedAt: Math.min(circuit.openedAt, now) } : circuit,
    providers: believableProviders(received.providers, now),
    steps: believableSteps(received.steps, now),
  };
}

/** How long another job says that it is to be waited, and for which step: no longer than for a provider, and for a step of the pipeline. */
export function believablePark<Park extends { readonly resumeAt: number; readonly step?: string | null }>(
  park: Park,
  policy: Pick<Policy, 'agentSteps' | 'otherSteps'>,
  now: number,
): Park {
  return {
    ...park,
    resumeAt: Math.min(park.resumeAt, now + MAX_USAGE_WAIT_MS),
    ...(park.step === undefined ? {} : { step: believableStep(park.step, policy) }),
  };
}

/** What a loop worked on is asked for no more; nothing is asked for by a loop. */
function stillAsked(before: LaneState['retried'], received: LaneState['retried']): LaneState['retried'] {
  if (before === 'all' || received === 'all') return before;
  return before.filter((id) => received.includes(id));
}

/** What was spent is spent, also beyond the limit; but a number without bounds would make the ledger useless for a month. */
const MAX_OVERSHOOT_USD = 1_000;

/** The state before a loop of which nothing is known: all that it had reserved counts as used. */
export function withReservationUsed(before: LaneState, policy: Policy, now: number): LaneState {
  let { windows, ledger } = before;
  const calls = allowedCalls(policy);
  for (let call = 0; call < calls; call += 1) {
    windows = chargeCall(windows, now);
    ledger = bookCall(ledger, now, null);
  }
  const usage = { tokens: 0, costUsd: policy.maxCostUsd, durationMs: 0 };
  return { ...before, windows: chargeUsage(windows, usage, now), ledger: bookUsage(ledger, usage, now) };
}
