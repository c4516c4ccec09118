import { progressOf } from '../tasks/queue.ts';
import type { TaskId } from '../tasks/ids.ts';
import { isStuck, type TaskProgress } from '../tasks/task.ts';
import type { Circuit } from '../lane/circuit.ts';
import type { LedgerDay } from '../lane/ledger.ts';
import { MAX_USAGE_WAIT_MS } from '../lane/settle.ts';
import type { LaneState } from '../lane/state.ts';
import { openWindows, tighter } from '../lane/windows.ts';

type Closed = Circuit & { readonly kind: 'closed' };

/**
 * The stored state, with what the record of a run that was killed adds to it: only what can make the next runs more
 * cautious, and the conversation. A call that was made is charged and an attempt is used up, but a task is done only if it
 * is so in both, and approvals, pauses, checks and signals are what is stored.
 */
export function believedState(stored: LaneState, recorded: LaneState, now: number): LaneState {
  const ids = new Set([...Object.keys(stored.tasks), ...Object.keys(recorded.tasks)]);
  return {
    ...stored,
    circuit: stricter(stored.circuit, recorded.circuit, now),
    windows: tighter(openWindows(stored.windows, now), openWindows(recorded.windows, now)),
    ledger: greater(stored.ledger, recorded.ledger),
    tasks: Object.fromEntries(
      [...ids].map((id) => [id, believedTask(progressOf(stored.tasks, id), progressOf(recorded.tasks, id), now)]),
    ),
    session: recorded.session,
    transcript: null,
    park: later(stored.park, recorded.park, now),
    journalHash: recorded.journalHash,
    refusedPush: stored.refusedPush ?? recorded.refusedPush,
  };
}

/** Tasks that the record calls done and the stored state does not. */
export function unstoredTasks(stored: LaneState, recorded: LaneState): readonly TaskId[] {
  return Object.keys(recorded.tasks).filter(
    (id) => progressOf(recorded.tasks, id).state === 'done' && progressOf(stored.tasks, id).state !== 'done',
  );
}

function believedTask(stored: TaskProgress, recorded: TaskProgress, now: number): TaskProgress {
  const attempts = Math.max(stored.attempts, recorded.attempts);
  if (stored.state === 'done' && recorded.state === 'done') return { ...stored, attempts };
  const { state, reason } = isStuck(stored) ? stored : recorded;
  const [one, other] = [stored.setAside, recorded.setAside];
  const setAside = (other?.times ?? 0) > (one?.times ?? 0) ? other : one;
  return {
    state: state === 'done' ? 'in-progress' : state,
    reason,
    attempts,
    setAside: setAside && { ...setAside, at: Math.min(setAside.at, now) },
    // What it was when the task began: only from there its own content is seen.
    startedTree: stored.startedTree ?? recorded.startedTree,
    doneCommit: null,
  };
}

function stricter(a: Circuit, b: Circuit, now: number): Circuit {
  const totalOpens = Math.max(a.totalOpens, b.totalOpens);
  if (a.kind === 'closed' && b.kind === 'closed') return { ...worse(a, b), totalOpens };
  const open = [a, b].filter((circuit) => circuit.kind === 'open').sort((x, y) => y.openedAt - x.openedAt)[0];
  return open === undefined ? a : { ...open, totalOpens, openedAt: Math.min(open.openedAt, now) };
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

function greater(a: readonly LedgerDay[], b: readonly LedgerDay[]): readonly LedgerDay[] {
  const days = [...new Set([...a, ...b].map(({ day }) => day))].sort();
  return days.flatMap((day) => {
    const found = [...a, ...b].filter((entry) => entry.day === day);
    return found.length === 0 ? [] : [found.reduce((one, other) => combined(one, other, Math.max))];
  });
}

/** The ledger from before a run, as its record has it: of a day it cannot hold more than what is stored after the run. */
export function believedBefore(recorded: readonly LedgerDay[], stored: readonly LedgerDay[]): readonly LedgerDay[] {
  return recorded.map((entry) => combined(entry, stored.find(({ day }) => day === entry.day) ?? entry, Math.min));
}

function combined(one: LedgerDay, other: LedgerDay, pick: (a: number, b: number) => number): LedgerDay {
  return {
    day: one.day,
    calls: pick(one.calls, other.calls),
    tokens: pick(one.tokens, other.tokens),
    costUsd: pick(one.costUsd, other.costUsd),
    minutes: pick(one.minutes, other.minutes),
  };
}

type Park = LaneState['park'];

/** A limit of the provider that the record knows of, as long as one can be. */
function later(stored: Park, recorded: Park, now: number): Park {
  const isSooner = recorded === null || (stored !== null && stored.resumeAt >= recorded.resumeAt);
  return isSooner || recorded.resumeAt > now + MAX_USAGE_WAIT_MS ? stored : recorded;
}
