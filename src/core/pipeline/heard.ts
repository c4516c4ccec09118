import type { Analysis } from '../analysis/analysis.ts';
import type { AgentEnd } from '../evidence.ts';
import { configurationProblem } from '../lane/verdict.ts';
import type { AgentStep, Pipeline, Step } from './pipeline.ts';
import { circuitOf, probeAtOf, type StepMemory, type StepRecord, type StepResult } from './step-record.ts';

/** An iteration's pipeline, as far as it went. */
export interface Progress {
  readonly steps: Pipeline['steps'];
  /** Of the steps that are over, in their order. */
  readonly records: readonly Pick<StepRecord, 'optional' | 'result'>[];
  readonly memory: StepMemory;
  /** Why no call of the agent may be made now, as words; null: one may be. */
  readonly callObstacle: string | null;
  /** Why no step may run now, as words: what a call said ends the run; null: nothing does. */
  readonly runEnds: string | null;
  readonly cancelled: boolean;
  readonly now: number;
}

/** What to do with the next step. */
type StepAction =
  | { readonly kind: 'run'; readonly step: Step }
  /** It does not run: this is its result. */
  | { readonly kind: 'leave'; readonly step: Step; readonly result: StepResult }
  | { readonly kind: 'over' };

/** How one attempt at a step went. */
export interface Attempt {
  readonly result: Extract<StepResult, { kind: 'passed' | 'failed' }>;
  /** Whether another attempt may come out otherwise. */
  readonly isWorthAnother: boolean;
}

/** The delay doubles up to half a minute; one that begins longer stays. */
const MAX_DOUBLED_DELAY_MS = 30_000;

/** Errors of the agent's CLI that come and go. */
const PASSING_ERRORS: readonly string[] = ['server', 'rate-limit', 'other'];

/** What an iteration heard of its agent. */
export interface Heard {
  readonly analysis: Analysis;
  readonly end: AgentEnd;
  readonly outputChars: number;
  readonly fencedBlock: boolean;
  /** See AgentRun. */
  readonly failedServers: readonly string[];
}

const SILENCE: Analysis = {
  format: 'text',
  signal: {
    from: 'none',
    status: null,
    exitSignal: null,
    testsStatus: null,
    workType: null,
    tasksCompleted: null,
    filesModified: null,
    recommendation: null,
    summary: null,
    asks: null,
    unreadable: [],
  },
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

/** Why a call is the last one of its run, whatever its step may do, as words: the provider's limit, or an access that is wrong for every call alike; null: it is not. */
export function endsTheRun({ analysis, end }: Pick<Heard, 'analysis' | 'end'>): string | null {
  if (end.kind === 'withdrawn') return 'people took its task back';
  if (analysis.usageLimit !== null) return "the provider's usage limit is reached";
  return configurationProblem(analysis) === null ? null : `the agent cannot work (${analysis.agentError?.kind ?? ''})`;
}

/**
 * The calls of an iteration as one. The last one's word counts: it has seen what those before it made; before it counts
 * what ends the run. What was used and refused is that of all. `failed`: those of them whose step may fail and did, so that they
 * overrule nothing; `sessionId`: the lane's conversation as the iteration leaves it.
 */
export function heardTogether(
  calls: readonly Heard[],
  {
    failed,
    sessionId,
    cancelled,
  }: { readonly failed: readonly Heard[]; readonly sessionId: string | null; readonly cancelled: boolean },
): Heard {
  const last =
    calls.find((call) => endsTheRun(call) !== null) ?? calls.findLast((call) => !failed.includes(call)) ?? calls.at(-1);
  const end: AgentEnd = cancelled ? { kind: 'cancelled' } : (last?.end ?? { kind: 'exited', code: 0 });
  if (last === undefined)
    return { analysis: { ...SILENCE, sessionId }, end, outputChars: 0, fencedBlock: false, failedServers: [] };
  const analyses = calls.map(({ analysis }) => analysis);
  return {
    ...last,
    end,
    failedServers: [...new Set(calls.flatMap(({ failedServers }) => failedServers))],
    analysis: {
      ...last.analysis,
      denials: analyses.flatMap(({ denials }) => denials),
      sessionId,
      turns: sumOf(analyses.map(({ turns }) => turns)),
      tokens: sumOf(analyses.map(({ tokens }) => tokens)),
      costUsd: sumOf(analyses.map(({ costUsd }) => costUsd)),
    },
  };
}

/** A call that was made again, with what both used; the failed one was refused nothing that counts. */
export function heardAgain<Call extends Heard>(failed: Heard, again: Call): Call {
  const analyses = [failed.analysis, again.analysis];
  return {
    ...again,
    analysis: {
      ...again.analysis,
      turns: sumOf(analyses.map(({ turns }) => turns)),
      tokens: sumOf(analyses.map(({ tokens }) => tokens)),
      costUsd: sumOf(analyses.map(({ costUsd }) => costUsd)),
    },
  };
}

/** null: none of them is known. */
function sumOf(amounts: readonly (number | null)[]): number | null {
  const known = amounts.filter((amount) => amount !== null);
  return known.length === 0 ? null : known.reduce((sum, amount) => sum + Math.max(0, amount), 0);
}

/** Which step is next, and whether it runs. A step that failed, a call that may not be made, or one that ends the run, ends the iteration's steps. */
export function nextAction({ steps, records, memory, callObstacle, runEnds, cancelled, now }: Progress): StepAction {
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
  if (step.breaker !== null && probeAtOf(circuitOf(memory, step.name), step.breaker, now) !== null)
    return leave({ kind: 'skipped', why: 'circuit-open' });
  if (step.kind === 'agent' && callObstacle !== null) return leave({ kind: 'not-reached', why: callObstacle });
  return { kind: 'run', step };
}

/** The agent step that an iteration calls first, if all steps before it pass; null: none is called. */
export function firstCall({ steps, memory, now }: Pick<Progress, 'steps' | 'memory' | 'now'>): AgentStep | null {
  const records: Progress['records'][number][] = [];
  for (;;) {
    const action = nextAction({ steps, records, memory, callObstacle: null, runEnds: null, cancelled: false, now });
    if (action.kind === 'over') return null;
    if (action.kind === 'run' && action.step.kind === 'agent') return action.step;
    const result = action.kind === 'leave' ? action.result : ({ kind: 'passed' } as const);
    records.push({ optional: action.step.continueOnError, result });
  }
}

function isSet({ file, isOnBase }: { readonly file: string; readonly isOnBase: boolean }, memory: StepMemory): boolean {
  return isOnBase || memory.markers.includes(file);
}

/** How long to wait before the step is tried again; null: it is not. `leftMs`: what the run still has. */
export function retryAfter(
  { maxRetries, retryDelayMs }: Pick<Step, 'maxRetries' | 'retryDelayMs'>,
  { result, isWorthAnother }: Attempt,
  { attempts, leftMs }: { readonly attempts: number; readonly leftMs: number },
): number | null {
  if (result.kind === 'passed' || !isWorthAnother || attempts > maxRetries) return null;
  const delayMs = Math.min(retryDelayMs * 2 ** (attempts - 1), Math.max(retryDelayMs, MAX_DOUBLED_DELAY_MS));
  return delayMs < leftMs ? delayMs : null;
}

/** How an agent's call went as a step: what it says of its task is for the end of the iteration. One that ran out of time is not worth another: the next iteration continues. */
export function agentAttempt({
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
  if (usageLimit !== null) return failed("the provider's usage limit is reached", false);
  if (agentError !== null)
    return failed(`the agent ended with an error (${agentError.kind})`, PASSING_ERRORS.includes(agentError.kind));
  if (end.kind === 'stalled') return failed('its CLI only retried', true);
  if (end.kind === 'signalled') return failed(`it was ended by ${end.signal}`, true);
  if (end.code !== 0) return failed(`it ended with exit code ${end.code}`, true);
  return { result: { kind: 'passed' }, isWorthAnother: false };
}
