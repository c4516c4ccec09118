import type { AgentName } from '../agent-names.ts';
import { believableProviders, MAX_USAGE_WAIT_MS } from '../agents/providers.ts';
import type { Circuit } from '../lane/circuit.ts';
import { bookCall, bookUsage, type LedgerDay } from '../lane/ledger.ts';
import type { LaneState } from '../lane/state.ts';
import { chargeCall, chargeUsage, openWindows, tighter, type Windows } from '../lane/windows.ts';
import { believableStep, believableSteps } from '../pipeline/step-record.ts';
import { allowedCalls, type Policy } from '../policy.ts';
import type { TaskId } from '../tasks/ids.ts';
import { progressOf } from '../tasks/queue.ts';
import { isBegun, isFinished, isSettled, type TaskProgress } from '../tasks/task.ts';

type Closed = Circuit & { readonly kind: 'closed' };

/** What a run was allowed: the record of it can have used no more. */
type Allowed = Pick<Policy, 'maxIterations' | 'callsPerIteration' | 'maxCalls' | 'maxCostUsd' | 'maxCostUsdPerDay'>;

/** `overshootUsd`: how far the account of a run is believed beyond its limit. */
type Bounds = Allowed & { readonly overshootUsd: number };

/** A record that says more was written by who wants the next runs to wait. */
const RECORD_OVERSHOOT_USD = 5;

/**
 * The stored state, with what the record of a run that was killed adds to it: the conversation, and what was used, as far
 * as the run was allowed to. A task is done if it is stored so. Nothing stops the next run that is not stored: no
 * park, no open circuit, no task that is stuck; approvals, pauses, checks and signals are what is stored.
 */
export function believedState(
  stored: LaneState,
  recorded: LaneState,
  { now, policy }: { readonly now: number; readonly policy: Allowed },
): LaneState {
  const begun = Object.keys(recorded.tasks).filter((id) => isBegun(progressOf(recorded.tasks, id)));
  const ids = new Set([...Object.keys(stored.tasks), ...begun]);
  return {
    ...stored,
    ...boundedUsage(stored, recorded, { now, policy, overshootUsd: RECORD_OVERSHOOT_USD }),
    circuit: stricter(stored.circuit, recorded.circuit),
    tasks: Object.fromEntries(
      [...ids].map((id) => [id, believedTask(progressOf(stored.tasks, id), progressOf(recorded.tasks, id), policy)]),
    ),
    agent: recorded.agent,
    session: recorded.session,
    resting: recorded.resting,
    transcript: null,
    journalHash: recorded.journalHash,
  };
}

/** What was used as the record has it: no less than what is stored, and beyond that no more calls than the run was allowed, and money with the overshoot. */
function boundedUsage(
  stored: Pick<LaneState, 'windows' | 'ledger'>,
  recorded: Pick<LaneState, 'windows' | 'ledger'>,
  { now, policy, overshootUsd }: { readonly now: number; readonly policy: Allowed; readonly overshootUsd: number },
): Pick<LaneState, 'windows' | 'ledger'> {
  const bounds = { ...policy, overshootUsd };
  const open = openWindows(stored.windows, now);
  return {
    windows: boundedWindows(tighter(open, openWindows(recorded.windows, now)), open, bounds),
    ledger: greater(stored.ledger, recorded.ledger, bounds),
  };
}

/** Tasks that the record calls done and the stored state does not. */
export function unstoredTasks(stored: LaneState, recorded: LaneState): readonly TaskId[] {
  return Object.keys(recorded.tasks).filter(
    (id) => isFinished(progressOf(recorded.tasks, id)) && progressOf(stored.tasks, id).state !== 'done',
  );
}

function believedTask(stored: TaskProgress, recorded: TaskProgress, { maxIterations }: Allowed): TaskProgress {
  const attempts = Math.max(stored.attempts, Math.min(recorded.attempts, stored.attempts + maxIterations));
  if (isSettled(stored)) return { ...stored, attempts };
  return {
    ...stored,
    state: isSettled(recorded) ? 'in-progress' : recorded.state,
    attempts,
    // What it was when the task began: only from there its own content is seen.
    startedTree: stored.startedTree ?? recorded.startedTree,
    doneCommit: null,
  };
}

/** What the record calls open is at most about to open: the next iteration decides. */
function stricter(stored: Circuit, recorded: Circuit): Circuit {
  if (stored.kind === 'open') return stored;
  return recorded.kind === 'closed' ? worse(stored, recorded) : { ...stored, probes: true };
}

function worse(a: Closed, b: Closed): Closed {
  return {
    ...a,
    noProgress: Math.max(a.noProgress, b.noProgress),
    denials: Math.max(a.denials, b.denials),
    decline: Math.max(a.decline, b.decline),
    questionHeld: a.questionHeld || b.questionHeld,
    probes: a.probes || b.probes,
    errorStreaks: highest(b.errorStreaks) > highest(a.errorStreaks) ? b.errorStreaks : a.errorStreaks,
  };
}

function highest(streaks: Closed['errorStreaks']): number {
  return Math.max(0, ...streaks.map(({ count }) => count));
}

function greater(stored: readonly LedgerDay[], recorded: readonly LedgerDay[], allowed: Bounds): readonly LedgerDay[] {
  const days = [...new Set([...stored, ...recorded].map(({ day }) => day))].sort();
  return days.map((day) => {
    const known = stored.find((entry) => entry.day === day) ?? { day, calls: 0, tokens: 0, costUsd: 0, minutes: 0 };
    const more = recorded.find((entry) => entry.day === day) ?? known;
    const most = {
      ...more,
      calls: Math.min(more.calls, known.calls + allowedCalls(allowed)),
      costUsd: Math.min(more.costUsd, known.costUsd + believableCostUsd(allowed)),
    };
    return combined(known, most, Math.max);
  });
}

function boundedWindows({ hour, day }: Windows, stored: Windows, allowed: Bounds): Windows {
  return {
    hour: hour && { ...hour, calls: Math.min(hour.calls, (stored.hour?.calls ?? 0) + allowedCalls(allowed)) },
    day: day && { ...day, costUsd: Math.min(day.costUsd, (stored.day?.costUsd ?? 0) + believableCostUsd(allowed)) },
  };
}

/** 0 is no limit. The response that reaches a limit is paid in full. */
function believableCostUsd({ maxCostUsd, maxCostUsdPerDay, overshootUsd }: Bounds): number {
  return (maxCostUsd || maxCostUsdPerDay || Number.POSITIVE_INFINITY) + overshootUsd;
}

/** The ledger from before a run, as its record has it: of a day it cannot hold more than what is stored after the run. */
export function believedBefore(recorded: readonly LedgerDay[], stored: readonly LedgerDay[]): readonly LedgerDay[] {
  return recorded.map((entry) => combined(entry, stored.find(({ day }) => day === entry.day) ?? entry, Math.min));
}

function combined(one: LedgerDay, other: LedgerDay, pick: (a: number, b: number) => number): LedgerDay {
  const names = [...new Set([...keysOf(one.agents), ...keysOf(other.agents)])];
  const agents = names.map((name) => [name, pick(one.agents?.[name] ?? 0, other.agents?.[name] ?? 0)] as const);
  return {
    ...(agents.length === 0 ? {} : { agents: Object.fromEntries(agents) }),
    day: one.day,
    calls: pick(one.calls, other.calls),
    tokens: pick(one.tokens, other.tokens),
    costUsd: pick(one.costUsd, other.costUsd),
    minutes: pick(one.minutes, other.minutes),
  };
}

function keysOf(agents: LedgerDay['agents']): readonly AgentName[] {
  return Object.keys(agents ?? {}) as readonly AgentName[];
}

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
        .filter((id) => Object.hasOwn(before.tasks, id) || Object.hasOwn(received.tasks, id))
        .map((id) => {
          const known = progressOf(before.tasks, id);
          const { answer, retried, ...now } = progressOf(received.tasks, id);
          if (!isOf(id)) return [id, known];
          // What was worked on holds to no other lane's answer any more, and is asked for no more; neither is new.
          return [
            id,
            { ...now, approval: known.approval, answer: answer && known.answer, retried: retried && known.retried },
          ];
        }),
    ),
    retriesAll: before.retriesAll,
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
