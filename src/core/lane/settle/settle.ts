import type { AgentName } from '../../agent-names.ts';
import {
  isLimitRepeated,
  recordProviderCall,
  chooseAgent,
  isFailure,
  isOutage,
  listPassedOverAgents,
  type Providers,
} from '../../agents/providers.ts';
import type { Evidence } from '../../evidence.ts';
import { isFeedback } from '../../feedback/subject.ts';
import type { Outcome } from '../../outcome.ts';
import { hasCalledAgent, hasAgentChangedContent, updateStepMemory } from '../../pipeline/step-record.ts';
import type { Policy } from '../../policy.ts';
import { isIssueTask, isPromptTask, type TaskId } from '../../tasks/ids.ts';
import { getProgress } from '../../tasks/queue.ts';
import { addToCeiling, type SetAsideReason, computeProgressAfter, stepAside } from '../../tasks/stepping-aside.ts';
import type { TaskProgress } from '../../tasks/task.ts';
import { listWithheldLines } from '../../review/left-out.ts';
import { countSameFailures, TIMES_TO_DOUBT_BASE, withFixedFailures } from '../base/compare-failures.ts';
import { stopForRedBase } from '../verification.ts';
import { hasAgentAnswered, type CircuitView, noSignals, recordSignals, type Signals, viewCircuit } from '../circuit.ts';
import type { IterationFacts } from '../verdict/claims.ts';
import { bookCall, bookUsage, type CallUsage } from '../ledger.ts';
import {
  keepSession,
  resetSession,
  resetSessions,
  resetUnfitSession,
  dropExpiredSessions,
  switchAgent,
  withTransition,
} from '../session.ts';
import { probeOrCloseCircuit, withTask } from './settle-circuit.ts';
import { type LaneState, MAX_BESIDE } from '../state/state.ts';
import { judgeIteration, type Judgement, type Verdict } from '../verdict/verdict.ts';
import { chargeCall, chargeUsage } from '../windows.ts';

/** The state after an iteration, with its verdict. */
export interface SettledIteration {
  readonly state: LaneState;
  readonly verdict: Verdict;
}

/** The start of an iteration: its agent, its task, and the content of the work tree. */
export interface IterationStart {
  readonly taskId: TaskId;
  readonly tree: string;
  readonly agent: AgentName;
}

/**
 * Returns the state at the start of an iteration of one call: the call is charged, the task is in progress, `session`
 * is the session to resume (null for a new one), and `circuit-auto-reset` has closed an open circuit.
 */
export function beginIteration(state: LaneState, call: IterationStart, policy: Policy, now: number): LaneState {
  return chargeCallAt(beginSteps(state, call, policy, now), policy, now);
}

/** Returns the state at the start of an iteration whose pipeline makes the calls, so no call is charged yet. */
export function beginSteps(state: LaneState, call: IterationStart, policy: Policy, now: number): LaneState {
  const before = getProgress(state.tasks, call.taskId);
  const ready = resetUnfitSession(
    probeOrCloseCircuit(inTurnOf(state, call.agent, policy, now), policy, now),
    call.taskId,
    policy,
    now,
  );
  // Changes between two iterations are not the agent's work, so a task without changes of its own gets a new starting
  // tree.
  const untouched = before.startedTree === null || before.startedTree === state.lastIteration?.tree;
  const started: TaskProgress = {
    ...before,
    state: 'in-progress',
    reason: null,
    attempts: before.attempts + 1,
    startedTree: untouched ? call.tree : before.startedTree,
    // Another lane's result for a task is obsolete once this lane works on the task.
    answer: undefined,
    unmarked: undefined,
    retried: undefined,
  };
  return { ...withTask(ready, call.taskId, started, { reason: 'started', now }), currentTask: call.taskId, park: null };
}

/** Returns the state with this agent's turn, in which it continues its own session. */
function inTurnOf(state: LaneState, agent: AgentName, policy: Policy, now: number): LaneState {
  const [before] = listPassedOverAgents(policy.agents, state.providers, agent, now);
  return dropExpiredSessions(switchAgent(state, agent, before?.why ?? 'by_order', now), policy, now);
}

/** Returns the state with one more call, which is charged as it begins. */
export function chargeCallAt(state: LaneState, { agents }: Policy, now: number): LaneState {
  const agent = agents.length > 1 ? state.agent : null;
  return { ...state, windows: chargeCall(state.windows, now), ledger: bookCall(state.ledger, now, agent) };
}

/** Books the usage of a call as soon as it ends, before any step that can fail. No other code books a call's usage. */
export function bookCallUsage(state: LaneState, { startedAt, endedAt, tokens, costUsd }: CallUsage): LaneState {
  const durationMs = Math.max(0, endedAt - startedAt);
  const usage = { tokens: tokens ?? 0, costUsd: costUsd ?? 0, durationMs };
  return {
    ...state,
    windows: chargeUsage(state.windows, usage, endedAt),
    ledger: bookUsage(state.ledger, usage, endedAt),
    tasks: addToCeiling(state.tasks, state.currentTask, usage.costUsd),
  };
}

/** Returns the new state and the verdict for one iteration's facts. The result depends only on the arguments. */
export function settleIteration(
  state: LaneState,
  facts: IterationFacts,
  policy: Policy,
  now: number,
): SettledIteration {
  const judged = judgeIteration(state, facts, policy);
  const { agentFailed, progress } = judged.verdict;
  const { analysis } = facts;
  const before = state.providers[state.agent ?? policy.agents[0]];
  const isRepeated = !progress && isLimitRepeated(analysis, before);
  const providers = providersAfter(state, { ...facts, agentFailed }, policy, now);
  const isHanded = isLeftToOtherAgent({ ...facts, agentFailed }, providers, policy, now);
  const judgement = { ...judged, neutral: judged.neutral || isHanded };
  const { circuit, aside } = stepAside(state, facts, { judgement, policy, now });
  const withheld = listWithheldLines(facts.evidence);
  const failed = countSameFailures(state.lastIteration, facts.evidence.verification);
  const signalled: LaneState = {
    ...state,
    circuit,
    providers: withLimitsOfSteps(providers, facts.evidence),
    signals:
      judgement.neutral || agentFailed
        ? state.signals
        : recordSignals(signalsFor(state, facts.task.id), iterationSignals(facts, judgement)),
    lastIteration: {
      taskId: facts.task.id,
      progress: judgement.verdict.progress,
      fileCount: facts.evidence.fileCount,
      tree: facts.evidence.after.tree,
      verification: judgement.verification,
      ...(failed === null ? {} : { failed }),
      hints: judgement.hints,
      ...(withheld.length === 0 ? {} : { withheld }),
      ...(facts.evidence.beside === undefined ? {} : { beside: facts.evidence.beside.slice(0, MAX_BESIDE) }),
      ...(facts.evidence.failedServers === undefined
        ? {}
        : { failedServers: facts.evidence.failedServers.map((name) => name.slice(0, 120)) }),
    },
    steps: updateStepMemory(state.steps, facts.evidence.steps),
  };
  const steps: readonly ((state: LaneState) => LaneState)[] = [
    (next) => settleTime(next, facts, now),
    (next) => settleTask(next, facts, { judgement, aside, policy, now }),
    (next) => judgement.verdict.alsoDone.reduce((settled, id) => settleAlsoDone(settled, id, now), next),
    (next) =>
      keepSession(next, { analysis, taskId: facts.task.id, agentFailed: agentFailed || isRepeated }, policy, now),
    (next) => settleCircuit(state, next, policy, now),
    (next) => settlePark(next, facts, policy, now),
    (next) =>
      judgement.verdict.baseIsRed
        ? stopForRedBase(next)
        : { ...next, redBase: withFixedFailures(next.redBase, facts.evidence.verification) },
    (next) =>
      failed?.times === TIMES_TO_DOUBT_BASE && next.redBase === null ? { ...next, baseVerification: null } : next,
  ];
  return {
    state: steps.reduce((next, step) => step(next), signalled),
    verdict: { ...judgement.verdict, setAside: aside, circuit: viewCircuit(circuit, policy.circuit, now).kind },
  };
}

/**
 * Returns the state at the end of a run that worked. A streak that ended this run is cleared, so that it does not end
 * the next run before its first call.
 */
export function endRun(state: LaneState, outcome: Outcome, branchHead: string | null, now: number): LaneState {
  const ended: LaneState = {
    ...state,
    lastRun: { outcome: outcome.kind, reason: outcome.reason, at: now, published: state.lastRun?.published ?? null },
  };
  switch (outcome.kind) {
    case 'complete':
      return resetSessions({ ...ended, signals: noSignals, currentTask: null }, 'completed', now);
    case 'cancelled':
      return outcome.reason === 'signal' ? resetSession(ended, 'cancelled', now) : ended;
    case 'blocked':
      return { ...ended, signals: noSignals };
    case 'halted':
      return outcome.reason === 'circuit_open' ? ended : { ...ended, signals: noSignals };
    case 'parked': {
      const where = { resumeAt: outcome.resumeAt, taskId: state.currentTask, branchHead };
      const park =
        outcome.reason === 'step_circuit'
          ? { reason: outcome.reason, step: outcome.step, ...where }
          : { reason: outcome.reason, ...where };
      return withTransition(
        { ...ended, park },
        { at: now, subject: 'park', from: 'running', to: 'parked', reason: outcome.reason },
      );
    }
    default:
      return ended;
  }
}

/**
 * Returns the signals for a task: a BLOCKED streak does not carry over to another task, and completion signals do not
 * carry over to another prompt.
 */
function signalsFor({ signals, lastIteration }: LaneState, id: TaskId): Signals {
  const isOther = lastIteration !== null && lastIteration.taskId !== id;
  if (!isOther) return signals;
  return { ...signals, blockedInARow: 0, ...(isPromptTask(id) ? { indicators: [], doneInARow: 0 } : {}) };
}

function iterationSignals(
  facts: IterationFacts,
  { verdict, claimsEverything }: Judgement,
): Parameters<typeof recordSignals>[1] {
  const { analysis, evidence } = facts;
  const overruled = verdict.vetoes.length > 0 || verdict.discrepancies.length > 0;
  return {
    indicator: (analysis.completionIndicator || claimsEverything) && !overruled,
    done: claimsEverything && !overruled,
    vetoed: analysis.signal.exitSignal === true && overruled && !verdict.taskDone,
    blocked: analysis.signal.status === 'BLOCKED' && !verdict.taskDone,
    // An agent that finishes test tasks is making progress, so it is not halted for writing only tests.
    testOnly: verdict.testOnly && !verdict.taskDone,
    outputChars: hasAgentAnswered(facts) ? evidence.outputChars : null,
  };
}

/** Books the time of an iteration outside of its calls, because calls are booked when they end. */
function settleTime(state: LaneState, { evidence, startedAt }: IterationFacts, now: number): LaneState {
  const calls = listCallUsages(evidence);
  // In journals of earlier versions, the only call of an iteration is booked with the iteration's whole time, so
  // nothing is left to book.
  if (calls === null) return state;
  const called = calls.reduce((sum, call) => sum + call.endedAt - call.startedAt, 0);
  const rest = { tokens: 0, costUsd: 0, durationMs: Math.max(0, now - startedAt - called) };
  return { ...state, ledger: bookUsage(state.ledger, rest, now) };
}

/** Returns the booked agent calls of an iteration, or null for a journal of an earlier version, which lacks them. */
export function listCallUsages({ steps, call }: Pick<Evidence, 'steps' | 'call'>): readonly CallUsage[] | null {
  if (steps.length > 0) return steps.flatMap(({ calls }) => calls);
  return call === undefined ? null : [call];
}

function settleTask(
  state: LaneState,
  facts: IterationFacts,
  judged: {
    readonly judgement: Judgement;
    readonly aside: SetAsideReason;
    readonly policy: Policy;
    readonly now: number;
  },
): LaneState {
  const { id } = facts.task;
  const { progress, taskDone } = judged.judgement.verdict;
  const after = computeProgressAfter(state, facts, judged);
  // A task that was worked on without being finished, or given back to a person, no longer has the content that was
  // finished, so a later verification must not make it done.
  const holds = !taskDone && !progress && facts.analysis.signal.status !== 'BLOCKED';
  // If the branch's file does not list the task as done, the task would seem open after the merge.
  const isOfFile = !isIssueTask(id) && !isFeedback(id);
  const isUnmarked = taskDone && isOfFile && facts.evidence.checklist?.current !== 'done';
  const next: TaskProgress = {
    ...after,
    unproven: holds ? after.unproven : undefined,
    unmarked: isUnmarked ? true : undefined,
  };
  const settled = withTask(state, id, next, { reason: next.reason ?? next.state, now: judged.now });
  return { ...settled, currentTask: next.state === 'in-progress' ? settled.currentTask : null };
}

/** Settles a task that an iteration finished in addition to its own; the iteration is counted for both. */
function settleAlsoDone(state: LaneState, id: TaskId, now: number): LaneState {
  const before = getProgress(state.tasks, id);
  return withTask(
    state,
    id,
    {
      ...before,
      state: 'finished',
      attempts: Math.max(1, before.attempts),
      reason: null,
      setAside: null,
      unproven: undefined,
    },
    { reason: 'finished', now },
  );
}

function settleCircuit(before: LaneState, state: LaneState, policy: Policy, now: number): LaneState {
  if (state.circuit === before.circuit) return state;
  // An iteration on an open circuit was its probe, so the circuit counts as half-open before it.
  const from: CircuitView['kind'] =
    before.circuit.kind === 'open' ? 'half-open' : viewCircuit(before.circuit, policy.circuit, now).kind;
  const to = viewCircuit(state.circuit, policy.circuit, now).kind;
  const opens = state.circuit.kind === 'open';
  if (from === to && !opens) return state;
  const reason = state.circuit.kind === 'open' ? state.circuit.reason : to === 'closed' ? 'progress' : 'no_progress';
  const settled = withTransition(state, { at: now, subject: 'circuit', from, to: opens ? 'open' : to, reason });
  return opens ? resetSession(settled, 'circuit_opened', now) : settled;
}

/**
 * Returns the provider circuits after an iteration. Its only call is recorded or, with a pipeline, the last call of its
 * agent.
 */
function providersAfter(state: LaneState, facts: JudgedFacts, policy: Policy, now: number): Providers {
  const { analysis, evidence, agentFailed } = facts;
  if (!hasCalledAgent(evidence.steps)) return state.providers;
  const progress = evidence.before.tree !== evidence.after.tree && hasAgentChangedContent(evidence.steps);
  const agent = state.agent ?? policy.agents[0];
  return recordProviderCall(state.providers, agent, { analysis, end: evidence.end, progress, agentFailed }, now);
}

/** Returns the provider circuits with the usage limits that steps with their own agent hit. */
function withLimitsOfSteps(providers: Providers, { steps }: Pick<Evidence, 'steps'>): Providers {
  const limits = steps.flatMap(({ agent, refused }) =>
    agent === undefined || refused?.until == null
      ? []
      : [[agent, { kind: 'open', why: 'limit', until: refused.until }] as const],
  );
  return limits.length === 0 ? providers : { ...providers, ...Object.fromEntries(limits) };
}

/**
 * Returns true if the provider failed and another agent can be called or waited for. The failure is then recorded in
 * the provider's circuit and not in the circuit of the lane.
 */
function isLeftToOtherAgent(
  { analysis, evidence: { end }, agentFailed }: JudgedFacts,
  providers: Providers,
  { agents }: Policy,
  now: number,
): boolean {
  return agents.length > 1 && isFailure({ analysis, end, agentFailed }) && !isOutage(agents, providers, now);
}

/** The facts of an iteration, and the part of the verdict that the provider's circuit needs. */
type JudgedFacts = IterationFacts & Pick<Verdict, 'agentFailed'>;

/** Parks the lane at a provider's limit if no other agent can be called. */
function settlePark(
  state: LaneState,
  { analysis, evidence, task }: IterationFacts,
  { agents }: Policy,
  now: number,
): LaneState {
  if (analysis.usageLimit === null) return state;
  const chosen = chooseAgent(agents, state.providers, now);
  if (chosen.kind !== 'parked') return state;
  const where = { taskId: task.id, branchHead: evidence.after.head };
  return { ...state, park: { reason: 'usage_limit', resumeAt: chosen.until, ...where } };
}
