import type { AgentName } from '../agent-names.ts';
import { progressOf } from '../tasks/queue.ts';
import type { TaskId } from '../tasks/ids.ts';
import { isSettled, type TaskProgress } from '../tasks/task.ts';
import type { Circuit } from '../lane/circuit.ts';
import type { LedgerDay } from '../lane/ledger.ts';
import type { LaneState } from '../lane/state.ts';
import { openWindows, tighter, type Windows } from '../lane/windows.ts';
import { allowedCalls, type Policy } from '../policy.ts';

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
  const ids = new Set([...Object.keys(stored.tasks), ...Object.keys(recorded.tasks)]);
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
export function boundedUsage(
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
    (id) => progressOf(recorded.tasks, id).state === 'done' && progressOf(stored.tasks, id).state !== 'done',
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
