import type { AgentName } from '../agent-names.ts';
import type { Analysis } from '../analysis/analysis.ts';
import { NO_SIGNAL } from '../analysis/analyze.ts';
import type { AgentEnd } from '../evidence.ts';
import { findAccessError } from '../lane/verdict/verdict.ts';
import type { AgentStep, Pipeline, Step } from './pipeline.ts';
import {
  findStepCircuit,
  computeProbeInstant,
  type StepMemory,
  type StepRecord,
  type StepResult,
} from './step-record.ts';

/** The progress of an iteration's pipeline. */
export interface PipelineProgress {
  readonly steps: Pipeline['steps'];
  /** Records of the finished steps, in order. */
  readonly records: readonly Pick<StepRecord, 'optional' | 'result'>[];
  readonly memory: StepMemory;
  /** The reason why the agent may not be called now, in words; null if it may be called. */
  readonly callObstacle: string | null;
  /** Agents of steps whose provider's usage limit is reached. */
  readonly limited: readonly AgentName[];
  /**
   * The reason why a finished call ends the run, in words, so that no further step may run; null if the run continues.
   */
  readonly runEnds: string | null;
  readonly cancelled: boolean;
  readonly now: number;
}

/** The action for the next step. */
type StepAction =
  | { readonly kind: 'run'; readonly step: Step }
  /** The step does not run and gets this result. */
  | { readonly kind: 'leave'; readonly step: Step; readonly result: StepResult }
  | { readonly kind: 'over' };

export interface Attempt {
  readonly result: Extract<StepResult, { kind: 'passed' | 'failed' }>;
  /** True if another attempt may have a different result. */
  readonly isWorthAnother: boolean;
}

/** Maximum delay in ms reached by doubling; a longer initial delay stays unchanged. */
const MAX_DOUBLED_DELAY_MS = 30_000;

const AT_LIMIT = "the provider's usage limit is reached";

/** Kinds of errors of the agent's CLI that may be temporary. */
const PASSING_ERRORS: readonly string[] = ['server', 'rate-limit', 'other'];

/** The messages and results that an iteration received from its agent. */
export interface StepOutput {
  readonly analysis: Analysis;
  readonly end: AgentEnd;
  readonly outputChars: number;
  readonly fencedBlock: boolean;
  /** MCP servers whose tools the agent lacked, see `AgentRun`. */
  readonly failedServers: readonly string[];
  /**
   * True if the iteration uses only the call's usage: for a review whose failure does not end the run, and for a failed
   * call of a step's own agent.
   */
  readonly isUsageOnly?: boolean;
}

const SILENCE: Analysis = {
  format: 'text',
  signal: { from: 'none', ...NO_SIGNAL },
  completionIndicator: false,
  confidence: 0,
  testOnly: false,
  noWork: false,
  question: false,
  agentError: null,
  errors: [],
  denials: [],
  usageLimit: null,
  sessionId: null,
  turns: null,
  tokens: null,
  costUsd: null,
};

const PASSED: AgentEnd = { kind: 'exited', code: 0 };

/**
 * Returns why a call is the last one of its run, in words: people took its task back, the provider's limit is reached,
 * or the access fails for every call. Null if the run may continue.
 */
export function explainRunEnd({
  analysis,
  end,
  isUsageOnly,
}: Pick<StepOutput, 'analysis' | 'end' | 'isUsageOnly'>): string | null {
  if (end.kind === 'withdrawn') return 'people took its task back';
  if (isUsageOnly === true) return null;
  if (analysis.usageLimit !== null) return AT_LIMIT;
  return findAccessError(analysis) === null ? null : `the agent cannot work (${analysis.agentError?.kind ?? ''})`;
}

/**
 * Joins the calls of an iteration into one. The result is that of the call that ends the run, else that of the last
 * call, which has seen the work of the others. Usage and denials come from all calls. `failed` are the failed calls of
 * optional steps, which decide only if no other call can; `sessionId` is the lane's conversation after the iteration.
 */
export function joinOutputs(
  calls: readonly StepOutput[],
  {
    failed,
    sessionId,
    cancelled,
  }: { readonly failed: readonly StepOutput[]; readonly sessionId: string | null; readonly cancelled: boolean },
): StepOutput {
  const deciding = calls.filter(({ isUsageOnly }) => isUsageOnly !== true);
  const last: StepOutput = calls.find((call) => explainRunEnd(call) !== null) ??
    deciding.findLast((call) => !failed.includes(call)) ??
    deciding.at(-1) ?? { analysis: SILENCE, end: PASSED, outputChars: 0, fencedBlock: false, failedServers: [] };
  const analyses = calls.map(({ analysis }) => analysis);
  return {
    ...last,
    end: cancelled ? { kind: 'cancelled' } : last.end,
    failedServers: [...new Set(calls.flatMap(({ failedServers }) => failedServers))],
    analysis: {
      ...last.analysis,
      denials: analyses.flatMap(({ denials }) => denials),
      sessionId,
      ...usageOf(analyses),
    },
  };
}

/** Joins a failed call with its repetition and adds up their usage. Denials of the failed call are dropped. */
export function joinRepetition<Call extends StepOutput>(failed: StepOutput, again: Call): Call {
  return { ...again, analysis: { ...again.analysis, ...usageOf([failed.analysis, again.analysis]) } };
}

function usageOf(analyses: readonly Analysis[]): Pick<Analysis, 'turns' | 'tokens' | 'outputTokens' | 'costUsd'> {
  return {
    turns: sumKnown(analyses.map(({ turns }) => turns)),
    tokens: sumKnown(analyses.map(({ tokens }) => tokens)),
    outputTokens: sumKnown(analyses.map(({ outputTokens = null }) => outputTokens)),
    costUsd: sumKnown(analyses.map(({ costUsd }) => costUsd)),
  };
}

/** Adds up the known amounts; null if none is known. */
function sumKnown(amounts: readonly (number | null)[]): number | null {
  const known = amounts.filter((amount) => amount !== null);
  return known.length === 0 ? null : known.reduce((sum, amount) => sum + Math.max(0, amount), 0);
}

/**
 * Returns the next step and whether it runs. The iteration's steps end after a failed required step, a call that may
 * not be made, or a call that ends the run.
 */
export function decideStepAction({
  steps,
  records,
  memory,
  callObstacle,
  limited,
  runEnds,
  cancelled,
  now,
}: PipelineProgress): StepAction {
  const step = steps[records.length];
  if (step === undefined) return { kind: 'over' };
  const leave = (result: StepResult): StepAction => ({ kind: 'leave', step, result });
  if (cancelled) return leave({ kind: 'not-reached', why: 'the run was cancelled' });
  if (runEnds !== null) return leave({ kind: 'not-reached', why: runEnds });
  const stopped = records.find(({ result }) => result.kind === 'not-reached');
  if (stopped !== undefined) return leave(stopped.result);
  if (records.some(({ optional, result }) => !optional && result.kind === 'failed'))
    return leave({ kind: 'not-reached', why: 'an earlier step failed' });
  if (step.kind === 'agent' && step.marker !== null && isSet(step.marker, memory))
    return leave({ kind: 'skipped', why: 'done-once' });
  if (step.breaker !== null && computeProbeInstant(findStepCircuit(memory, step.name), step.breaker, now) !== null)
    return leave({ kind: 'skipped', why: 'circuit-open' });
  if (step.kind === 'agent' && callObstacle !== null) return leave({ kind: 'not-reached', why: callObstacle });
  // Only an optional step gets here: for a required one, the run waits for the limit before the iteration.
  if (step.kind === 'agent' && step.agent !== null && limited.includes(step.agent))
    return leave({ kind: 'failed', why: AT_LIMIT, code: null });
  return { kind: 'run', step };
}

/** Returns the agent step that an iteration calls first if all steps before it pass; null if it calls none. */
export function findFirstAgentStep({
  steps,
  memory,
  now,
}: Pick<PipelineProgress, 'steps' | 'memory' | 'now'>): AgentStep | null {
  const records: PipelineProgress['records'][number][] = [];
  for (;;) {
    const unhindered = { callObstacle: null, limited: [], runEnds: null, cancelled: false };
    const action = decideStepAction({ steps, records, memory, ...unhindered, now });
    if (action.kind === 'over') return null;
    if (action.kind === 'run' && action.step.kind === 'agent') return action.step;
    const result = action.kind === 'leave' ? action.result : ({ kind: 'passed' } as const);
    records.push({ optional: action.step.continueOnError, result });
  }
}

function isSet({ file, isOnBase }: { readonly file: string; readonly isOnBase: boolean }, memory: StepMemory): boolean {
  return isOnBase || memory.markers.includes(file);
}

/**
 * Returns the delay before the next attempt at a step, in ms; null if none. `leftMs` is the time left in the
 * run.
 */
export function computeRetryDelay(
  { maxRetries, retryDelayMs }: Pick<Step, 'maxRetries' | 'retryDelayMs'>,
  { result, isWorthAnother }: Attempt,
  { attempts, leftMs }: { readonly attempts: number; readonly leftMs: number },
): number | null {
  if (result.kind === 'passed' || !isWorthAnother || attempts > maxRetries) return null;
  const delayMs = Math.min(retryDelayMs * 2 ** (attempts - 1), Math.max(retryDelayMs, MAX_DOUBLED_DELAY_MS));
  return delayMs < leftMs ? delayMs : null;
}

/**
 * Judges whether an agent's call succeeded as an attempt at a step, and whether another attempt is worthwhile. Its
 * claims about the task are judged at the end of the iteration. A call that ran out of time is not repeated, because
 * the next iteration continues it.
 */
export function judgeAgentAttempt({
  analysis: { agentError, usageLimit },
  end,
}: {
  readonly analysis: Pick<Analysis, 'agentError' | 'usageLimit'>;
  readonly end: AgentEnd;
}): Attempt {
  const failed = (why: string, isWorthAnother: boolean): Attempt => ({
    result: { kind: 'failed', why, code: end.kind === 'exited' ? end.code : null },
    isWorthAnother,
  });
  if (end.kind === 'cancelled') return failed('it was cancelled', false);
  if (end.kind === 'withdrawn') return failed('people took its task back', false);
  if (end.kind === 'timeout') return failed('it ran out of time', false);
  if (usageLimit !== null) return failed(AT_LIMIT, false);
  if (agentError !== null)
    return failed(`the agent ended with an error (${agentError.kind})`, PASSING_ERRORS.includes(agentError.kind));
  if (end.kind === 'stalled') return failed('its CLI only retried', true);
  if (end.kind === 'signalled') return failed(`it was ended by ${end.signal}`, true);
  if (end.code !== 0) return failed(`it ended with exit code ${end.code}`, true);
  return { result: { kind: 'passed' }, isWorthAnother: false };
}
