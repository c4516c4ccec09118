import type { AgentName } from '../agent-names.ts';
import { capProviderTimes, MAX_USAGE_WAIT_MS } from '../agents/providers.ts';
import type { Circuit } from '../lane/circuit.ts';
import { bookCall, bookUsage, type LedgerDay } from '../lane/ledger.ts';
import type { LaneState } from '../lane/state/state.ts';
import { chargeCall, chargeUsage, keepOpenWindows, combineWindows, type Windows } from '../lane/windows.ts';
import { limitWaitingStep, limitStepMemory } from '../pipeline/step-record.ts';
import { countMaxCalls, type Policy } from '../policy.ts';
import type { TaskId } from '../tasks/ids.ts';
import { getProgress } from '../tasks/queue.ts';
import { computeCeilingLeftUsd } from '../tasks/stepping-aside.ts';
import { isTaskBegun, isFinished, isSettled, type TaskProgress } from '../tasks/task.ts';

type Closed = Circuit & { readonly kind: 'closed' };

/** The limits of a run. Its record cannot truthfully exceed them. */
type Allowed = Pick<Policy, 'maxIterations' | 'callsPerIteration' | 'maxCalls' | 'maxCostUsd' | 'maxCostUsdPerDay'>;

/** `overshootUsd` is the accepted excess over a run's cost limit. */
type Bounds = Allowed & { readonly overshootUsd: number };

/** Maximum accepted excess in US dollars: a higher record was forged to make the next runs wait. */
const RECORD_OVERSHOOT_USD = 5;

/**
 * Returns the stored state plus what the record of a killed run adds: the session, and usage within the run's limits. A
 * task is done only if the store says so. Nothing that is only in the record stops the next run: no park, no open
 * circuit, no stuck task, except one whose ceiling is used up; approvals, pauses, verifications and signals come from
 * the store.
 */
export function mergeTrustedState(
  stored: LaneState,
  recorded: LaneState,
  { now, policy }: { readonly now: number; readonly policy: Allowed },
): LaneState {
  const begun = Object.keys(recorded.tasks).filter((id) => isTaskBegun(getProgress(recorded.tasks, id)));
  const ids = new Set([...Object.keys(stored.tasks), ...begun]);
  return {
    ...stored,
    ...boundedUsage(stored, recorded, { now, policy, overshootUsd: RECORD_OVERSHOOT_USD }),
    circuit: stricter(stored.circuit, recorded.circuit),
    tasks: Object.fromEntries(
      [...ids].map((id) => [id, trustedTask(getProgress(stored.tasks, id), getProgress(recorded.tasks, id), policy)]),
    ),
    agent: recorded.agent,
    session: recorded.session,
    resting: recorded.resting,
    transcript: null,
    journalHash: recorded.journalHash,
  };
}

/**
 * Returns the record's usage within bounds: at least what is stored, and beyond that no more calls than allowed, and
 * money with the accepted excess.
 */
function boundedUsage(
  stored: Pick<LaneState, 'windows' | 'ledger'>,
  recorded: Pick<LaneState, 'windows' | 'ledger'>,
  { now, policy, overshootUsd }: { readonly now: number; readonly policy: Allowed; readonly overshootUsd: number },
): Pick<LaneState, 'windows' | 'ledger'> {
  const bounds = { ...policy, overshootUsd };
  const open = keepOpenWindows(stored.windows, now);
  return {
    windows: boundedWindows(combineWindows(open, keepOpenWindows(recorded.windows, now)), open, bounds),
    ledger: greater(stored.ledger, recorded.ledger, bounds),
  };
}

/** Returns the tasks that only the record calls done. */
export function listUnstoredTasks(stored: LaneState, recorded: LaneState): readonly TaskId[] {
  return Object.keys(recorded.tasks).filter(
    (id) => isFinished(getProgress(recorded.tasks, id)) && getProgress(stored.tasks, id).state !== 'done',
  );
}

function trustedTask(stored: TaskProgress, recorded: TaskProgress, { maxIterations }: Allowed): TaskProgress {
  const attempts = Math.max(stored.attempts, Math.min(recorded.attempts, stored.attempts + maxIterations));
  if (isSettled(stored)) return { ...stored, attempts };
  const known: TaskProgress = {
    ...stored,
    state: isSettled(recorded) ? 'in-progress' : recorded.state,
    attempts,
    // The task's own changes are measured against the tree at its start.
    startedTree: stored.startedTree ?? recorded.startedTree,
    doneCommit: null,
  };
  return withMoreSpent(known, stored, recorded);
}

/**
 * Returns the progress with the stored ceiling and the higher spending of both. A killed call has no iteration that
 * ends, so a task whose ceiling it used up is given up here.
 */
function withMoreSpent(
  progress: TaskProgress,
  { ceiling }: Pick<TaskProgress, 'ceiling'>,
  recorded: Pick<TaskProgress, 'ceiling'>,
): TaskProgress {
  if (ceiling === undefined) return { ...progress, ceiling };
  const spentUsd = Math.max(ceiling.spentUsd, recorded.ceiling?.spentUsd ?? 0);
  const capped = { ...progress, ceiling: { ...ceiling, spentUsd } };
  return computeCeilingLeftUsd(capped) === 0 && !isSettled(capped)
    ? { ...capped, state: 'failed', reason: 'ceiling' }
    : capped;
}

/**
 * Returns the stricter circuit. A circuit that is open only in the record stays closed, but its next iteration is a
 * probe.
 */
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
      calls: Math.min(more.calls, known.calls + countMaxCalls(allowed)),
      costUsd: Math.min(more.costUsd, known.costUsd + maxPlausibleCostUsd(allowed)),
    };
    return combined(known, most, Math.max);
  });
}

function boundedWindows({ hour, day }: Windows, stored: Windows, allowed: Bounds): Windows {
  return {
    hour: hour && { ...hour, calls: Math.min(hour.calls, (stored.hour?.calls ?? 0) + countMaxCalls(allowed)) },
    day: day && { ...day, costUsd: Math.min(day.costUsd, (stored.day?.costUsd ?? 0) + maxPlausibleCostUsd(allowed)) },
  };
}

/** Returns the maximum plausible cost; 0 means no limit. The response that reaches a limit is paid in full. */
function maxPlausibleCostUsd({ maxCostUsd, maxCostUsdPerDay, overshootUsd }: Bounds): number {
  return (maxCostUsd || maxCostUsdPerDay || Number.POSITIVE_INFINITY) + overshootUsd;
}

/** Returns a run's record of the ledger, with no more usage on a day than the stored ledger has. */
export function limitTrustedLedger(recorded: readonly LedgerDay[], stored: readonly LedgerDay[]): readonly LedgerDay[] {
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

/** The tasks and limits that the gate admitted; the job of the loop cannot change them. */
export interface AdmittedWork {
  readonly before: LaneState;
  /** Tasks that may have been worked on. */
  readonly tasks: readonly TaskId[];
  /** The run's policy, bounded by its reservation. */
  readonly policy: Policy;
  /** Tip of the base branch. */
  readonly base: string;
}

/**
 * Returns the state of a lane after a loop in another job. That job decides only about tasks, circuit and session, and
 * about usage within its reservation. People's requests, publications and notifications come from the gate's state.
 */
export function mergeReceivedState(
  received: LaneState,
  { before, tasks, policy, base }: AdmittedWork,
  now: number,
): LaneState {
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
          const known = getProgress(before.tasks, id);
          const { answer, retried, ...now } = getProgress(received.tasks, id);
          if (!isOf(id)) return [id, known];
          // Work on a task settles another lane's answer and a person's request, but the job cannot add new ones, so
          // both must be known.
          const merged = {
            ...now,
            approval: known.approval,
            answer: answer && known.answer,
            retried: retried && known.retried,
          };
          return [id, withMoreSpent(merged, known, now)];
        }),
    ),
    retriesAll: before.retriesAll,
    currentTask: received.currentTask !== null && isOf(received.currentTask) ? received.currentTask : null,
    leftCircuit: before.leftCircuit,
    pause: before.pause,
    ordersApplied: before.ordersApplied,
    lastRun: before.lastRun,
    refusedPush: before.refusedPush,
    // Only the commits show which of the job's answers are true, so they are merged elsewhere.
    feedback: before.feedback,
    notified: before.notified,
    notifiedAt: before.notifiedAt,
    transcript: null,
    baseVerification: received.baseVerification?.commit === base ? received.baseVerification : before.baseVerification,
    redBase: received.redBase === null || received.redBase.commit === base ? received.redBase : before.redBase,
    park: park === null ? null : limitPark(park, policy, now),
    // An instant in the future would keep the circuit open for any length of time.
    circuit: circuit.kind === 'open' ? { ...circuit, openedAt: Math.min(circuit.openedAt, now) } : circuit,
    providers: capProviderTimes(received.providers, now),
    steps: limitStepMemory(received.steps, now),
  };
}

/**
 * Limits the wait that another job claims: it lasts at most as long as one for a provider, and is for a step that
 * exists.
 */
export function limitPark<Park extends { readonly resumeAt: number; readonly step?: string | null }>(
  park: Park,
  policy: Pick<Policy, 'agentSteps' | 'otherSteps'>,
  now: number,
): Park {
  return {
    ...park,
    resumeAt: Math.min(park.resumeAt, now + MAX_USAGE_WAIT_MS),
    ...(park.step === undefined ? {} : { step: limitWaitingStep(park.step, policy) }),
  };
}

/**
 * Maximum accepted excess of a settled run in US dollars: money beyond the limit is spent, but an unbounded number
 * would make the ledger useless for a month.
 */
const MAX_OVERSHOOT_USD = 1_000;

/** Returns the state before a loop without any record: its whole reservation counts as used. */
export function withReservationUsed(before: LaneState, policy: Policy, now: number): LaneState {
  let { windows, ledger } = before;
  const calls = countMaxCalls(policy);
  for (let call = 0; call < calls; call += 1) {
    windows = chargeCall(windows, now);
    ledger = bookCall(ledger, now, null);
  }
  const usage = { tokens: 0, costUsd: policy.maxCostUsd, durationMs: 0 };
  return { ...before, windows: chargeUsage(windows, usage, now), ledger: bookUsage(ledger, usage, now) };
}
