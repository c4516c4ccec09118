import type { AgentName } from '../agent-names.ts';
import { finishWithoutCall } from '../feedback/answered.ts';
import { recordHeadVerification, recordProofs } from '../lane/verification.ts';
import { recordLeftOut } from '../refusals/left-out.ts';
import { addIterationToRun, decideNextStep, createRunSoFar, type LaneDecision, type RunSoFar } from '../lane/decide.ts';
import { isWorthWaiting } from '../loop/next-action.ts';
import { classifyRefused, type KindOfDenial } from '../lane/denials.ts';
import { recordIteration, countEntryCalls, type JournalEntry, type JournalEvent } from './journal.ts';
import type { Outcome } from '../outcome.ts';
import { extendPolicyByWait, type Policy } from '../policy.ts';
import type { Journal } from './parse-journal.ts';
import { resetSession } from '../lane/session.ts';
import {
  beginIteration,
  beginSteps,
  bookCallUsage,
  listCallUsages,
  chargeCallAt,
  settleIteration,
  type SettledIteration,
} from '../lane/settle/settle.ts';
import type { LaneState } from '../lane/state/state.ts';
import type { Verdict } from '../lane/verdict/verdict.ts';
import { withdrawTasks } from '../people/withdrawal.ts';
import type { TaskId } from '../tasks/ids.ts';
import { getProgress } from '../tasks/queue.ts';
import { isStuck, type QueuedTask } from '../tasks/task.ts';

/** A decision whose replay differs from the journal. */
export interface Difference {
  /** Line of the journal, 1-based. */
  readonly line: number;
  /** The decision that differs: `task`, `agent`, `outcome`, or a field of the verdict. */
  readonly of: 'task' | 'agent' | 'outcome' | `verdict.${keyof Verdict}`;
  readonly recorded: unknown;
  readonly replayed: unknown;
}

/** The end of a recorded run under another policy, assuming the same behaviour of agent and clock. */
export type ReplayedEnd =
  | { readonly kind: 'ended'; readonly iterations: number; readonly outcome: Outcome }
  /** The run would have waited for the end of a limit. Its allowance after the wait cannot be replayed. */
  | { readonly kind: 'waits'; readonly iterations: number; readonly outcome: Outcome }
  /** The run would have continued with a task that the journal does not have at this point. */
  | { readonly kind: 'other-task'; readonly iterations: number; readonly taskId: TaskId }
  /** The run would have continued after the last iteration of the journal. */
  | { readonly kind: 'goes-on'; readonly iterations: number; readonly taskId: TaskId };

/** Returns the classification of an agent's refused calls. */
export type KindsOfDenial = (agent: AgentName) => KindOfDenial;

/** Repeats every decision of a recorded run and returns the differences from the record. */
export function replayDecisions(journal: Journal, kindsOf: KindsOfDenial): readonly Difference[] {
  const { entries, end } = journal;
  let position = startPosition(journal, journal.start.policy);
  const differences: Difference[] = [];
  for (const [index, entry] of entries.entries()) {
    const line = lineOf(journal, index);
    position = applyEventsAfter(position, journal, index);
    const step = decide(position, { policy: position.policy, now: entry.startedAt, ...outsideCausesOf(null) });
    if (step.kind === 'stop' || step.task.id !== entry.taskId) {
      differences.push({
        line,
        of: 'task',
        recorded: entry.taskId,
        replayed: step.kind === 'stop' ? step.outcome : step.task.id,
      });
    }
    if (step.kind === 'iterate' && entry.agent !== null && step.agent !== entry.agent)
      differences.push({ line, of: 'agent', recorded: entry.agent, replayed: step.agent });
    const settled = advance(position, entry, position.policy, kindsOf);
    differences.push(...verdictDifferences(line, entry.verdict, settled.verdict));
    position = settled.position;
  }
  if (end !== null) {
    position = applyEventsAfter(position, journal, entries.length);
    const step = decide(position, { policy: position.policy, now: end.decidedAt, ...outsideCausesOf(end) });
    const replayed = step.kind === 'stop' ? step.outcome : step.task.id;
    if (!isSame(comparable(end.outcome), typeof replayed === 'string' ? replayed : comparable(replayed)))
      differences.push({ line: lineOf(journal, entries.length), of: 'outcome', recorded: end.outcome, replayed });
  }
  return differences;
}

/** Replays a recorded run under another policy, as far as the journal reaches. */
export function replayUnderPolicy(journal: Journal, policy: Policy, kindsOf: KindsOfDenial): ReplayedEnd {
  return replay(journal, { policy, policyAfterWait: (allowed) => allowed, mayGiveUp: false }, kindsOf).end;
}

/** A run replayed under another policy: its end, and the recorded iterations that it would not have made. */
export interface ReplayedRun {
  readonly end: ReplayedEnd;
  /** Iterations on tasks that the run would already have given up. */
  readonly skipped: readonly JournalEntry[];
  /** Iterations after the end. */
  readonly left: readonly JournalEntry[];
  /** The lane's state at the end of the replay. */
  readonly state: LaneState;
}

/**
 * Replays a recorded run under a changed policy. Iterations on a task that is given up earlier are skipped, and the
 * replay continues with the recorded iterations on other tasks.
 */
export function replayChanged(
  journal: Journal,
  change: (policy: Policy) => Policy,
  kindsOf: KindsOfDenial,
): ReplayedRun {
  const policyAfterWait = (allowed: Policy): Policy => {
    const { maxIterations, maxCostUsd } = change(allowed);
    return { ...allowed, maxIterations, maxCostUsd };
  };
  return replay(journal, { policy: change(journal.start.policy), policyAfterWait, mayGiveUp: true }, kindsOf);
}

interface Changed {
  readonly policy: Policy;
  /** Returns the policy after a wait; `allowed` is the policy with the allowance that was recorded. */
  readonly policyAfterWait: (allowed: Policy) => Policy;
  /** True if iterations on tasks that the run would have given up are skipped. */
  readonly mayGiveUp: boolean;
}

function replay(
  journal: Journal,
  { policy, policyAfterWait, mayGiveUp }: Changed,
  kindsOf: KindsOfDenial,
): ReplayedRun {
  const { entries, end } = journal;
  const skipped: JournalEntry[] = [];
  let position = startPosition(journal, policy);
  const passEvents = (iterations: number): void => {
    const next = applyEventsAfter(position, journal, iterations);
    position = next.policy === position.policy ? next : { ...next, policy: policyAfterWait(next.policy) };
  };
  const endAt = (whatIf: ReplayedEnd, left: readonly JournalEntry[]): ReplayedRun => ({
    ...{ end: whatIf, skipped, left },
    state: position.state,
  });
  for (const [index, entry] of entries.entries()) {
    passEvents(index);
    const iterations = index - skipped.length;
    const at = { policy: position.policy, now: entry.startedAt };
    const step = decide(position, { ...at, ...outsideCausesOf(null) });
    const left = entries.slice(index);
    if (step.kind === 'stop') return endAt(stopped(position, iterations, { ...at, outcome: step.outcome }), left);
    if (step.task.id === entry.taskId) position = advance(position, entry, position.policy, kindsOf).position;
    else if (mayGiveUp && isStuck(getProgress(position.state.tasks, entry.taskId))) skipped.push(entry);
    else return endAt({ kind: 'other-task', iterations, taskId: step.task.id }, left);
  }
  passEvents(entries.length);
  const now = end?.decidedAt ?? entries.at(-1)?.endedAt ?? journal.start.startedAt;
  const step = decide(position, { policy: position.policy, now, ...outsideCausesOf(end) });
  const iterations = entries.length - skipped.length;
  return endAt(
    step.kind === 'stop'
      ? stopped(position, iterations, { policy: position.policy, now, outcome: step.outcome })
      : { kind: 'goes-on', iterations, taskId: step.task.id },
    [],
  );
}

function stopped(
  { run }: Position,
  iterations: number,
  { outcome, ...at }: { readonly policy: Policy; readonly now: number; readonly outcome: Outcome },
): ReplayedEnd {
  return { kind: isWorthWaiting(outcome, { run, ...at }) ? 'waits' : 'ended', iterations, outcome };
}

interface Position {
  /** The run's limits at this point. */
  readonly policy: Policy;
  /** The tasks of the start line and those that iterations added. */
  readonly tasks: readonly QueuedTask[];
  readonly state: LaneState;
  readonly run: RunSoFar;
}

function startPosition({ start: { tasks, state, startedAt } }: Journal, policy: Policy): Position {
  return { policy, tasks, state, run: createRunSoFar(state, startedAt) };
}

/** Returns the 1-based line of the entry at an index, or of the end if there is no such entry. */
function lineOf({ events }: Journal, index: number): number {
  return index + 2 + events.filter(({ after }) => after <= index).length;
}

/** Applies the events that follow the first `iterations` iterations. */
function applyEventsAfter(position: Position, { events }: Journal, iterations: number): Position {
  return events.filter(({ after }) => after === iterations).reduce((at, { event }) => applyEvent(at, event), position);
}

function applyEvent(at: Position, event: JournalEvent): Position {
  const { state } = at;
  switch (event.kind) {
    case 'withdrawal':
      return { ...at, tasks: withdrawTasks(at.tasks, event.withdrawals) };
    case 'left-out':
      return { ...at, state: recordLeftOut(state, event, event.leftOutAt) };
    case 'answer':
      return { ...at, state: finishWithoutCall(state, event.tasks, event.commit) };
    case 'check': {
      const { check: record, finished, checkedAt } = event;
      return { ...at, state: recordHeadVerification(state, { record, finished }, checkedAt) };
    }
    case 'proof':
      return { ...at, state: recordProofs(state, event.proofs) };
    case 'wait':
      return { ...at, ...resumeAfterWait(at, event) };
  }
}

function resumeAfterWait(
  { policy, state }: Position,
  { waitedFrom, resumedAt, windows, maxIterations, maxCostUsd }: Extract<JournalEvent, { kind: 'wait' }>,
): Partial<Position> {
  const later = extendPolicyByWait(policy, resumedAt - waitedFrom);
  return { policy: { ...later, maxIterations, maxCostUsd }, state: { ...state, windows } };
}

function decide(
  { tasks, state, run }: Position,
  at: { readonly policy: Policy; readonly now: number } & FromOutside,
): LaneDecision<QueuedTask> {
  const { policy, now, cancelled, stoppedBy } = at;
  return decideNextStep({ state, tasks, run: { ...run, cancelled, stoppedBy }, policy, now });
}

/** The causes outside of the loop that end a run. */
type FromOutside = Pick<RunSoFar, 'cancelled' | 'stoppedBy'>;

/**
 * Returns the outside causes that the end records; `end` is null if the run had not ended yet. A running loop ends as
 * paused only if a person orders it.
 */
function outsideCausesOf(end: Journal['end']): FromOutside {
  return { cancelled: end?.cancelled ?? false, stoppedBy: end?.outcome.reason === 'by_person' ? end.outcome.by : null };
}

/** Replays an iteration in the order of the loop: begun, called, settled. */
function advance(
  { tasks: known, state, run }: Position,
  entry: JournalEntry,
  policy: Policy,
  kindsOf: KindsOfDenial,
): { readonly position: Position; readonly verdict: Verdict } {
  const { taskId, startedAt, endedAt, sessionDroppedAt, madeAgain, analysis, evidence } = entry;
  const begun = chargeRecordedCalls(state, entry, policy);
  const dropped = sessionDroppedAt === null ? begun : resetSession(begun, 'unknown_session', sessionDroppedAt);
  const called = madeAgain === null ? dropped : chargeCallAt(dropped, policy, madeAgain.at);
  const tasks = [...known, ...entry.found];
  // The parser guarantees that the task is listed, so this task is only a fallback for the type.
  const task = tasks.find(({ id }) => id === taskId) ?? {
    id: taskId,
    priority: 0,
    dependsOn: [],
    optional: false,
    obstacle: null,
  };
  const denials = classifyRefused({ analysis, evidence }, policy, kindsOf(entry.agent ?? policy.agents[0]));
  const settled: SettledIteration = settleIteration(
    called,
    { task, tasks, analysis, denials, evidence, startedAt },
    policy,
    endedAt,
  );
  return {
    position: {
      policy,
      tasks,
      state: recordIteration(settled.state, entry, () => ''),
      run: addIterationToRun(
        run,
        { analysis, verdict: settled.verdict, end: evidence.end, steps: evidence.steps },
        countEntryCalls(entry),
      ),
    },
    verdict: settled.verdict,
  };
}

/** Returns the state before the iteration is judged: each call is charged at its start and booked at its end. */
function chargeRecordedCalls(state: LaneState, entry: JournalEntry, policy: Policy): LaneState {
  const { taskId, taskTree: tree, agent: named, startedAt, endedAt, analysis, evidence } = entry;
  const call = { taskId, tree, agent: named ?? policy.agents[0] };
  if (evidence.steps.length === 0) {
    const { tokens, costUsd } = analysis;
    const [called = { startedAt, endedAt, tokens, costUsd }] = listCallUsages(evidence) ?? [];
    return bookCallUsage(beginIteration(state, call, policy, startedAt), called);
  }
  return (listCallUsages(evidence) ?? []).reduce(
    (charged, called) => bookCallUsage(chargeCallAt(charged, policy, called.startedAt), called),
    beginSteps(state, call, policy, startedAt),
  );
}

function verdictDifferences(line: number, recorded: Verdict, replayed: Verdict): readonly Difference[] {
  return (Object.keys(replayed) as (keyof Verdict)[])
    .filter((field) => !isSame(recorded[field], replayed[field]))
    .map((field) => ({ line, of: `verdict.${field}`, recorded: recorded[field], replayed: replayed[field] }));
}

/**
 * Removes full stops and extra spaces from the message, because earlier versions joined sentences differently and no
 * decision depends on them.
 */
function comparable(outcome: Outcome): Outcome {
  return outcome.kind === 'failed'
    ? { ...outcome, message: outcome.message.replaceAll(/\.?\s+|\.$/g, ' ').trim() }
    : outcome;
}

/** Returns true if two values of the journal are equal, ignoring the order of an object's fields. */
function isSame(one: unknown, other: unknown): boolean {
  const canonical = (value: unknown): string =>
    JSON.stringify(typeof value === 'object' && value !== null ? Object.entries(value).sort() : value);
  return canonical(one) === canonical(other);
}
