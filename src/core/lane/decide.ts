import type { AgentName } from '../agent-names.ts';
import type { Analysis } from '../analysis/analysis.ts';
import { listUnverifiedTasks, listTasksHeldByOthers } from './verification.ts';
import { type CircuitView, countTrue, viewCircuit, WINDOW_SIZE } from './circuit.ts';
import type { AgentEnd } from '../evidence.ts';
import { isChangeFull, hasTaskShare } from './change.ts';
import { isFeedback } from '../feedback/subject.ts';
import { selectHintsFor, type HintCode } from '../prompt/hints.ts';
import type { Outcome, RunBound } from '../outcome.ts';
import { isAllWithdrawn } from '../people/withdrawal.ts';
import { findOpenSteps, findStepRefusal, type StepRecord } from '../pipeline/step-record.ts';
import { isCostReached, type Policy } from '../policy.ts';
import { chooseAgent, findLongestRefusedAgent, type ChosenAgent } from '../agents/providers.ts';
import type { LaneState } from './state/state.ts';
import { reopenDueTasks, isPromptTask, QUEUE } from '../tasks/ids.ts';
import { isPlanComplete, chooseNextTask, getProgress } from '../tasks/queue.ts';
import { computeCeilingLeftUsd } from '../tasks/stepping-aside.ts';
import { isSettled, isStuck, type QueuedTask, type Task, type TaskProgress } from '../tasks/task.ts';
import { findAccessError, type Verdict } from './verdict/verdict.ts';
import { findExhaustedWindow, type Windows } from './windows.ts';
import { MINUTE_MS } from '../countdown.ts';
import { completeSentence } from '../text/phrase.ts';

/** The course of a run so far. Instants in ms. */
export interface RunSoFar {
  readonly startedAt: number;
  readonly iterations: number;
  /** Number of agent calls, which may exceed `iterations` if a pipeline makes several calls per iteration. */
  readonly calls: number;
  readonly costUsd: number;
  readonly cancelled: boolean;
  /** The person who ordered the run to end after its iteration; null if nobody did. */
  readonly stoppedBy: string | null;
  /** Value of `totalOpens` at the start of the run; a higher value now means that the circuit tripped in this run. */
  readonly opensAtStart: number;
  readonly last: {
    readonly analysis: Analysis;
    readonly verdict: Verdict;
    readonly end: AgentEnd;
    readonly steps: readonly StepRecord[];
  } | null;
}

/** The next step of a run. */
export type LaneDecision<T extends QueuedTask = Task> =
  | {
      readonly kind: 'iterate';
      readonly task: T;
      readonly agent: AgentName;
      readonly circuit: CircuitView;
      readonly hints: readonly HintCode[];
    }
  | { readonly kind: 'stop'; readonly outcome: Outcome };

/** All inputs of a decision. */
export interface Situation<T extends QueuedTask = QueuedTask> {
  readonly state: LaneState;
  readonly tasks: readonly T[];
  readonly run: RunSoFar;
  readonly policy: Policy;
  readonly now: number;
}

/** The usage of a run, including its current iteration, when a step is about to call the agent. */
interface Used extends Pick<RunSoFar, 'startedAt' | 'calls' | 'costUsd'> {
  readonly windows: Windows;
  /** The progress on the task of the current iteration. */
  readonly task: Pick<TaskProgress, 'ceiling'>;
}

type Parked = Extract<Outcome, { kind: 'parked' }>;

/** Minimum time for a call, in ms. */
const MIN_CALL_MS = MINUTE_MS;
/** Number of completion indicators in the window that complete the project. */
const INDICATORS_TO_COMPLETE = 2;

/**
 * Returns the next step of a run, before its first call and after every iteration. The order of the rules is their
 * precedence.
 */
export function decideNextStep<T extends QueuedTask>(situation: Situation<T>): LaneDecision<T> {
  for (const rule of rules) {
    const outcome = rule(situation);
    if (outcome !== null) return { kind: 'stop', outcome };
  }
  const { state, policy, now } = situation;
  const task = taskToWork(situation);
  if (task === null) return { kind: 'stop', outcome: { kind: 'idle', reason: 'no_tasks' } };
  const circuit = viewCircuit(state.circuit, policy.circuit, now);
  return { kind: 'iterate', task, agent: chooseAgentToCall(situation), circuit, hints: hintsNow(state, task, circuit) };
}

/**
 * Returns the agent that an iteration would call now. If all are refused, returns the one that was refused first: this
 * run has not called it yet, and its key may have been replaced.
 */
export function chooseAgentToCall(situation: Pick<Situation, 'state' | 'policy' | 'now'>): AgentName {
  const { state, policy, now } = situation;
  const { agents } = policy;
  const chosen = chooseAgent(agents, state.providers, now);
  return chosen.kind === 'agent' ? chosen.name : findLongestRefusedAgent(agents, state.providers);
}

/**
 * Returns the task that an iteration would work on now. Tasks that only wait for a verification of the head come after
 * all others except optional tasks that have not been begun.
 */
function taskToWork<T extends QueuedTask>(situation: Situation<T>): T | null {
  const { state, tasks } = situation;
  const awaiting = listUnverifiedTasks(state);
  const open = tasks.filter(({ id }) => !awaiting.includes(id));
  const next = chooseTaskAmong(situation, open);
  if (next !== null && (!next.optional || getProgress(state.tasks, next.id).attempts > 0)) return next;
  const waiting = listTasksHeldByOthers(state, tasks);
  const last = tasks.filter(({ id }) => awaiting.includes(id) && !waiting.includes(id));
  return chooseTaskAmong(situation, last) ?? next;
}

/**
 * Returns the task that an iteration takes, also as the probe of an open circuit: preferably not the task that opened
 * the circuit, and one that has not been begun.
 */
function chooseTaskAmong<T extends QueuedTask>({ state, policy, now }: Situation, tasks: readonly T[]): T | null {
  const progress = reopenDueTasks(state.tasks, policy.circuit.cooldownMs, now);
  const opener = state.circuit.kind === 'open' ? state.circuit.taskId : null;
  const others = opener === null ? [] : tasks.filter(({ id }) => id !== opener);
  // A failed call does not count as an attempt, but the task has had its turn, so other tasks come first.
  const unbegun = others.filter(({ id }) => {
    const known = getProgress(progress, id);
    return known.attempts === 0 && (policy.agentFailures === 'idle' || known.state === 'todo');
  });
  return (
    chooseNextTask(unbegun, progress, state.currentTask) ??
    chooseNextTask(others, progress, state.currentTask) ??
    chooseNextTask(tasks, progress, state.currentTask)
  );
}

/** Returns the record of a run that has made no call yet. */
export function createRunSoFar(state: LaneState, now: number): RunSoFar {
  return {
    startedAt: now,
    iterations: 0,
    calls: 0,
    costUsd: 0,
    cancelled: false,
    stoppedBy: null,
    opensAtStart: state.circuit.totalOpens,
    last: null,
  };
}

/** Returns the run after one more iteration, which made this number of calls. */
export function addIterationToRun(run: RunSoFar, last: NonNullable<RunSoFar['last']>, calls: number): RunSoFar {
  return {
    ...run,
    iterations: run.iterations + 1,
    calls: run.calls + calls,
    costUsd: run.costUsd + Math.max(0, last.analysis.costUsd ?? 0),
    last,
  };
}

type Rule = (situation: Situation) => Outcome | null;

const rules: readonly Rule[] = [
  cancelled,
  permissionDenied,
  withdrawn,
  projectComplete,
  completionSignals,
  planComplete,
  accessProblem,
  testSaturation,
  safety,
  baseIsRed,
  checksLeft,
  waitingForReview,
  blocked,
  circuitOpen,
  parked,
  ({ run, policy, now }) => findReachedRunLimit(run, policy, now),
  stopped,
];

function cancelled({ run }: Situation): Outcome | null {
  return run.cancelled || run.last?.end.kind === 'cancelled' ? { kind: 'cancelled', reason: 'signal' } : null;
}

function permissionDenied({ run, policy }: Situation): Outcome | null {
  const halts = policy.onPermissionDenied === 'halt' && (run.last?.verdict.countedDenials ?? 0) > 0;
  return halts ? { kind: 'halted', reason: 'permission_denied' } : null;
}

/** Ends the run if people withdrew all its tasks: the run is then never complete, whatever the agent claims. */
function withdrawn({ tasks }: Situation): Outcome | null {
  return isAllWithdrawn(tasks) ? { kind: 'paused', reason: 'withdrawn' } : null;
}

function projectComplete({ state, run }: Situation): Outcome | null {
  const complete =
    run.last?.analysis.signal.exitSignal === true &&
    isUncontested(run) &&
    countTrue(state.signals.indicators) >= INDICATORS_TO_COMPLETE;
  return complete ? { kind: 'complete', reason: 'project_complete' } : null;
}

function completionSignals({ state, run, policy }: Situation): Outcome | null {
  const complete = isUncontested(run) && state.signals.doneInARow >= policy.completionSignals;
  return complete ? { kind: 'complete', reason: 'completion_signals' } : null;
}

function planComplete({ state, tasks }: Situation): Outcome | null {
  return isPlanComplete(tasks, state.tasks) ? { kind: 'complete', reason: 'plan_complete' } : null;
}

/**
 * Ends the run on a wrong key, missing credit or an unknown model, because every call would fail the same way. A key or
 * credit belongs to one provider, so another agent is called or waited for if possible.
 */
function accessProblem({ state, run, policy, now }: Situation): Outcome | null {
  const refusal = findStepRefusal(run.last?.steps ?? []);
  if (refusal !== null) return { kind: 'failed', reason: 'configuration', message: refusal };
  const problem = run.last === null ? null : findAccessError(run.last.analysis);
  const isOfProvider = run.last?.analysis.agentError?.kind !== 'model';
  const isHandedOn = isOfProvider && chooseAgent(policy.agents, state.providers, now).kind !== 'refused';
  return problem === null || isHandedOn
    ? null
    : {
        kind: 'failed',
        reason: 'configuration',
        // The length must not change: earlier journals contain this exact text, and replay compares it.
        message: `${cannotWork(policy.agents)}: ${completeSentence(problem.slice(0, 500))} Check its key, its credit and the input model, then run again.`,
      };
}

/** Returns the beginning of the message that quotes the agent that was called last. */
function cannotWork(agents: Policy['agents']): string {
  return agents.length === 1
    ? 'The agent cannot work'
    : `None of the agents ${agents.join(', ')} can work. The last one said`;
}

function testSaturation({ state, run, policy }: Situation): Outcome | null {
  return hasIterated(run) && state.signals.testOnlyInARow >= policy.testOnlyIterations
    ? { kind: 'halted', reason: 'test_saturation' }
    : null;
}

function safety({ state, run }: Situation): Outcome | null {
  return hasIterated(run) && countTrue(state.signals.vetoed) >= WINDOW_SIZE
    ? { kind: 'halted', reason: 'safety' }
    : null;
}

/**
 * Ends the run if `verify` fails on the base branch itself and one iteration could not fix it, because another call
 * would only cost money.
 */
function baseIsRed({ state, run }: Situation): Outcome | null {
  const isRed = run.last?.verdict.baseIsRed === true || state.redBase?.stage === 'tried';
  return isRed ? { kind: 'blocked', reason: 'base_is_red' } : null;
}

/**
 * Ends the run if its tasks are done but CI reports more failures than one run reads. The next run reads CI's result
 * for the new commit.
 */
function checksLeft(situation: Situation): Outcome | null {
  const { state, tasks } = situation;
  const isLeft = tasks.some(({ id, obstacle }) => obstacle === 'unread' && !isSettled(getProgress(state.tasks, id)));
  if (!isLeft) return null;
  const isOver = taskToWork(situation) === null || waitingForReview(situation) !== null;
  return isOver ? { kind: 'limit', reason: 'checks' } : null;
}

/**
 * Ends the run if the queue's pull request is full: no new task is begun before people review it, but feedback on it is
 * still answered.
 */
function waitingForReview(situation: Situation): Outcome | null {
  const { state, tasks, policy } = situation;
  if (isHeldOnly(situation)) return { kind: 'idle', reason: 'waiting_for_review' };
  if (state.lane !== QUEUE || !isChangeFull(state.change, state.tasks, policy)) return null;
  const goesOn = taskToWork(situation);
  if (goesOn !== null && isFeedback(goesOn.id)) return null;
  const unbegun = tasks.filter(({ id }) => !hasTaskShare(state.change, id) && !isFeedback(id));
  const next = taskToWork({ ...situation, tasks: unbegun });
  // An open-ended prompt is never finished, so the pull request is reviewed before its work continues.
  if (goesOn !== null && isPromptTask(goesOn.id)) return { kind: 'idle', reason: 'waiting_for_review' };
  return next !== null && (goesOn === null || !hasTaskShare(state.change, goesOn.id))
    ? { kind: 'idle', reason: 'waiting_for_review' }
    : null;
}

/**
 * Returns true if all remaining work waits for the merge of an approved pull request. Returns false if feedback needs a
 * person, because that is reported first.
 */
function isHeldOnly(situation: Situation): boolean {
  const { state, tasks } = situation;
  const isSaid = tasks.every(({ id }) => !isFeedback(id) || !isStuck(getProgress(state.tasks, id)));
  const isWaiting = tasks.some(({ id, obstacle }) => obstacle === 'held' && !isSettled(getProgress(state.tasks, id)));
  return isSaid && isWaiting && taskToWork(situation) === null;
}

/** Ends the run if no task can be worked on: the open ones failed, are blocked, or wait for failed or blocked ones. */
function blocked(situation: Situation): Outcome | null {
  const stuck = situation.tasks.length > 0 && taskToWork(situation) === null;
  return stuck ? { kind: 'blocked', reason: 'needs_human' } : null;
}

function circuitOpen({ state, run, policy, now }: Situation): Outcome | null {
  if (state.circuit.kind === 'closed') return null;
  const { reason, openedAt, totalOpens } = state.circuit;
  const trippedNow = totalOpens > run.opensAtStart;
  const circuitNow = viewCircuit(state.circuit, policy.circuit, now);
  // The next run makes the probe: a circuit that tripped in this run stays open, however short the cooldown is.
  if (!trippedNow && circuitNow.kind !== 'open') return null;
  const probeAt = policy.circuit.autoReset ? openedAt : openedAt + policy.circuit.cooldownMs;
  return {
    kind: 'halted',
    reason: 'circuit_open',
    circuitReason: reason,
    tripped: trippedNow ? 'this-run' : 'earlier',
    probeAt,
  };
}

/**
 * Parks until the latest end of all limits. If several limits end at that time, the provider's limit is named first,
 * then a step's.
 */
function parked({ state, policy, now }: Situation): Outcome | null {
  const window = findExhaustedWindow(state.windows, policy, now);
  const ofSteps = policy.agentSteps.flatMap<Policy['agents']>(({ agent, required }) =>
    agent === null || !required ? [] : [[agent]],
  );
  const chosen = [policy.agents, ...ofSteps].map((agents) => chooseAgent(agents, state.providers, now));
  const steps = findOpenSteps(state.steps, policy, now);
  const waits: readonly Parked[] = [
    ...chosen.flatMap((one) => (one.kind === 'parked' ? [providerLimit(one)] : [])),
    // With a required step's circuit open, an iteration cannot finish anything and would waste an attempt and calls.
    ...(steps === null ? [] : [{ kind: 'parked', reason: 'step_circuit', ...steps } as const]),
    ...(window === null ? [] : [{ kind: 'parked', ...window } as const]),
  ];
  return [...waits].sort((a, b) => b.resumeAt - a.resumeAt)[0] ?? null;
}

function providerLimit({ until, needsPerson }: Extract<ChosenAgent, { kind: 'parked' }>): Parked {
  const parked = { kind: 'parked', reason: 'usage_limit', resumeAt: until } as const;
  return needsPerson === null ? parked : { ...parked, needsPerson };
}

/** Returns the run's limit that forbids another call, or null if none. */
export function findReachedRunLimit(
  run: RunSoFar,
  policy: Policy,
  now: number,
): { readonly kind: 'limit'; readonly reason: RunBound } | null {
  const isOutOfCalls = policy.maxCalls > 0 && run.calls >= policy.maxCalls;
  if (run.iterations >= policy.maxIterations || isOutOfCalls) return { kind: 'limit', reason: 'iterations' };
  // The circuit ignores an iteration that the run's deadline cut off, so it must be the last one, whatever the clock
  // says.
  const outOfTime = run.last?.end.kind === 'timeout' && run.last.end.of === 'run';
  if (outOfTime || run.startedAt + policy.maxRunMs - now < MIN_CALL_MS) return { kind: 'limit', reason: 'minutes' };
  if (isCostReached(run.costUsd, policy.maxCostUsd)) return { kind: 'limit', reason: 'cost' };
  return null;
}

/**
 * Returns a clause that says why no call may be made now, or null if one may. The limits are those of `decideNextStep`,
 * checked between the steps of an iteration.
 */
export function findObstacle(used: Used, policy: Policy, now: number): string | null {
  const { windows, startedAt, calls, costUsd, task } = used;
  const window = findExhaustedWindow(windows, policy, now);
  if (window !== null) return `its limit is reached (${window.reason})`;
  if (policy.maxCalls > 0 && calls >= policy.maxCalls) return 'the run has no calls left';
  if (isCostReached(costUsd, policy.maxCostUsd)) return 'the run has no money left';
  if (computeCeilingLeftUsd(task) === 0) return 'the amount approved for its task is used up';
  return startedAt + policy.maxRunMs - now < MIN_CALL_MS ? 'the run has no time left' : null;
}

/** Ends the run if a person ordered it to stop. The rule is checked last, because any other reason explains more. */
function stopped({ run }: Situation): Outcome | null {
  return run.stoppedBy === null ? null : { kind: 'paused', reason: 'by_person', by: run.stoppedBy };
}

/**
 * Returns true if the run has made an iteration. Otherwise a streak that a killed run left would end every later run
 * before its first call.
 */
function hasIterated(run: RunSoFar): boolean {
  return run.last !== null;
}

/** Returns true if the last iteration's completion claim was neither overruled nor contradicted. */
function isUncontested({ last }: RunSoFar): boolean {
  return last !== null && last.verdict.vetoes.length === 0 && last.verdict.discrepancies.length === 0;
}

function hintsNow(state: LaneState, task: QueuedTask, circuit: CircuitView): readonly HintCode[] {
  const kept =
    state.lastIteration === null
      ? []
      : selectHintsFor(state.lastIteration.hints, state.lastIteration.taskId === task.id);
  const base: readonly HintCode[] = state.baseVerification?.kind === 'failed' ? ['base_fails'] : [];
  return [...(circuit.kind === 'half-open' ? [circuit.of] : []), ...kept, ...base];
}
