import { z } from 'zod';
import { AGENT_NAMES, AGENTS } from '../agent-names.ts';
import type { Denial } from '../analysis/analysis.ts';
import { isTooFarAhead } from '../countdown.ts';
import { callUsageSchema } from '../lane/ledger.ts';
import { anyInstant, countSchema, type Immutable, instantSchema, type Policy } from '../policy.ts';
import { completeSentence, toOneLine } from '../text/phrase.ts';
import { type StepThresholds, stepKinds } from './pipeline.ts';
import { isHeldBy, type ReviewResult, reviewSchema } from './review.ts';

const stepCircuitSchema = z.lazy(() =>
  z.object({
    /** Number of failures in a row, up to the newest run. */
    failures: countSchema,
    /** Instant at which the circuit opened; null if it is closed. */
    openedAt: instantSchema.nullable(),
  }),
);

/** A step's own circuit. */
export type StepCircuit = Immutable<z.infer<typeof stepCircuitSchema>>;

const resultSchema = z.lazy(() =>
  z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('passed') }),
    /** `code` is the exit code of a command that exited. */
    z.object({ kind: z.literal('failed'), why: z.string(), code: z.number().int().nullable() }),
    z.object({ kind: z.literal('skipped'), why: z.enum(['done-once', 'circuit-open']) }),
    z.object({ kind: z.literal('not-reached'), why: z.string() }),
  ]),
);

export type StepResult = Immutable<z.infer<typeof resultSchema>>;

export const stepRecordSchema = z.lazy(() =>
  z.object({
    name: z.string(),
    kind: z.enum(stepKinds),
    /** True if a failure of the step is only reported and does not keep its tasks from being done. */
    optional: z.boolean(),
    result: resultSchema,
    attempts: countSchema,
    durationMs: z.number(),
    /** The end of a command's output. */
    tail: z.string(),
    /** True if the step changed the content of the work tree. */
    changed: z.boolean(),
    calls: z.array(callUsageSchema),
    /** The refused tool calls of the step's agent. */
    denials: z.array(z.object({ tool: z.string(), command: z.string().nullable() })),
    /** The step's own tool rules; null for the run's rules. */
    allowedTools: z.array(z.string()).nullable(),
    /** The marker that the step set; null if it set none. */
    marker: z.string().nullable(),
    /** The step's circuit after the iteration; null if it has none. */
    circuit: stepCircuitSchema.nullable(),
    /** The step's own agent; absent if it is the agent of the iteration. */
    agent: z.enum(AGENT_NAMES).exactOptional(),
    /**
     * The reason why that agent cannot be called at all, and until when; `until` is null if a person must change
     * something.
     */
    refused: z.object({ why: z.string(), until: anyInstant.nullable() }).exactOptional(),
    review: reviewSchema.exactOptional(),
  }),
);

/** A measured step of an iteration's pipeline. */
export type StepRecord = Immutable<z.infer<typeof stepRecordSchema>>;

/** Returns the number of agent calls of an iteration; one if it had no pipeline. */
export function countCallsIn(steps: readonly StepRecord[]): number {
  return steps.length === 0 ? 1 : steps.reduce((sum, { calls }) => sum + calls.length, 0);
}

/**
 * Returns the required steps that did not pass, including those whose circuit is open. They keep an iteration's tasks
 * from being done.
 */
export function listFailingSteps(steps: readonly StepRecord[]): readonly StepRecord[] {
  return steps.filter(
    ({ optional, result }) =>
      !optional && result.kind !== 'passed' && !(result.kind === 'skipped' && result.why === 'done-once'),
  );
}

/** Returns the reviews of an iteration, whether they ran or not. */
export function listReviews(
  steps: readonly StepRecord[],
): readonly { readonly step: string; readonly review: ReviewResult; readonly hasRun: boolean }[] {
  return steps.flatMap(({ name: step, review, attempts }) =>
    review === undefined ? [] : [{ step, review, hasRun: attempts > 0 }],
  );
}

/** Returns the reviews that keep an iteration's tasks from being done. */
export function listHoldingReviews(steps: readonly StepRecord[]): ReturnType<typeof listReviews> {
  return listReviews(steps).filter(({ review }) => isHeldBy(review));
}

/**
 * Returns why a step's own agent cannot be called until a person changes something; null if it can. Only required steps
 * and reviews that can hold a task are considered.
 */
export function findStepRefusal(steps: readonly StepRecord[]): string | null {
  const refused = steps.find(
    ({ optional, review, refused: why }) =>
      why?.until === null && (!optional || (review !== undefined && isHeldBy(review))),
  );
  return refused === undefined
    ? null
    : `The agent ${refused.agent ?? ''} of step ${refused.name} cannot work: ${completeSentence(refused.refused?.why ?? '')} Check its key, its credit and its model, then run again.`;
}

/** Returns true if a call of a step has no known cost, except one that ended before it reported anything. */
export function hasUnpricedCall(steps: readonly StepRecord[]): boolean {
  return steps.some(({ calls, agent }) => {
    const isMute = agent !== undefined && !AGENTS[agent].cost && !AGENTS[agent].tokens;
    return calls.some(({ costUsd, tokens }) => costUsd === null && ((tokens ?? 0) > 0 || isMute));
  });
}

/** Returns true if any agent was called. */
export function hasCalledAgent(steps: readonly StepRecord[]): boolean {
  return countCallsIn(steps) > 0;
}

/** Returns true if an agent changed content. Changes by commands are not progress, because they repeat. */
export function hasAgentChangedContent(steps: readonly StepRecord[]): boolean {
  return steps.length === 0 || steps.some(({ kind, changed }) => kind === 'agent' && changed);
}

/** Returns the refused tool calls of an iteration with the rules that applied; null means the run's rules. */
export function groupRefusals(
  steps: readonly StepRecord[],
  denials: readonly Denial[],
): readonly { readonly denials: readonly Denial[]; readonly allowedTools: readonly string[] | null }[] {
  return steps.length === 0 ? [{ denials, allowedTools: null }] : steps;
}

/**
 * Returns the instant from which an open circuit may be probed; null if the step may run now. If the clock was turned
 * back, the circuit stays open, unless it opened implausibly far in the future.
 */
export function computeProbeInstant(
  { openedAt }: StepCircuit,
  { resetAfterMs }: Pick<StepThresholds, 'resetAfterMs'>,
  now: number,
): number | null {
  if (openedAt === null || now - openedAt >= resetAfterMs || isTooFarAhead(openedAt, now)) return null;
  return openedAt + resetAfterMs;
}

/** Returns the circuit after one more run of the step. A failed probe opens it again. */
export function recordStepRun(
  circuit: StepCircuit,
  passed: boolean,
  { threshold }: StepThresholds,
  now: number,
): StepCircuit {
  if (passed) return { failures: 0, openedAt: null };
  const failures = circuit.failures + 1;
  return { failures, openedAt: circuit.openedAt !== null || failures >= threshold ? now : null };
}

const MAX_SAID_CHARS = 600;

const MAX_TAIL_CHARS = 400;

const MAX_NOTED = 5;

/** A finished step of this iteration. */
export interface EarlierStep {
  readonly record: Pick<StepRecord, 'name' | 'kind' | 'result' | 'tail'>;
  /** The message of the step's agent; null if it has none. */
  readonly message: string | null;
}

/**
 * Returns the notes on steps for the next agent: the earlier steps of its iteration, else the failed steps of the
 * previous iteration. They contain text of agents and commands and must be shown as data.
 */
export function renderStepNotes(earlier: readonly EarlierStep[], lastIteration: readonly StepRecord[]): string {
  const now = earlier
    .filter(({ record: { kind, result } }) => kind !== 'noop' && kind !== 'git-commit' && result.kind !== 'skipped')
    .map(({ record, message }) => describeStep(record, message));
  const before = lastIteration
    .filter(({ result }) => result.kind === 'failed')
    .map((record) => `In the last iteration: ${describeStep(record, null)}`);
  return [...(now.length === 0 ? before : []), ...now].slice(-MAX_NOTED).join('\n');
}

function describeStep({ name, result, tail }: EarlierStep['record'], message: string | null): string {
  const words = message === null || message.trim() === '' ? '' : `: ${toOneLine(message, MAX_SAID_CHARS)}`;
  const output = result.kind === 'failed' ? tail.trim().slice(-MAX_TAIL_CHARS) : '';
  return `Step ${name} ${describeStepResult(result)}${words}${output === '' ? '' : `\n${output}`}`;
}

/** Describes a step's result as the end of a sentence. */
export function describeStepResult(result: StepRecord['result']): string {
  switch (result.kind) {
    case 'passed':
      return 'passed';
    case 'failed':
      return `failed (${result.why})`;
    case 'skipped':
      return result.why === 'done-once'
        ? 'was skipped: it has run before'
        : 'was skipped: its circuit is open after failures in a row';
    case 'not-reached':
      return `did not run: ${result.why}`;
  }
}

/** Maximum number of steps in a pipeline, and so of markers and circuits of a lane. */
export const MAX_STEPS = 20;

/** Maximum length of a step's name. */
export const MAX_STEP_NAME_CHARS = 60;

/** Maximum length of the path of a file that a pipeline names. */
export const MAX_FILE_CHARS = 300;

export const stepMemorySchema = z.lazy(() =>
  z.object({
    /** Names of the marker files of steps that have run on this lane. */
    markers: z.array(z.string().max(MAX_FILE_CHARS)).max(MAX_STEPS),
    /** Circuits by the name of their step; a step that never failed has none. */
    circuits: z.record(z.string().max(MAX_STEP_NAME_CHARS), stepCircuitSchema),
  }),
);

/** The pipeline state that a lane keeps between runs. */
export type StepMemory = Immutable<z.infer<typeof stepMemorySchema>>;

export const noStepMemory: z.infer<typeof stepMemorySchema> = { markers: [], circuits: {} };

/** Returns a step's circuit; it is closed for a step that never failed. */
export function findStepCircuit({ circuits }: Pick<StepMemory, 'circuits'>, name: string): StepCircuit {
  return (Object.hasOwn(circuits, name) ? circuits[name] : undefined) ?? { failures: 0, openedAt: null };
}

type PipelinePolicy = Pick<Policy, 'agentSteps' | 'otherSteps'>;

/** An open circuit that makes iterations useless. */
export interface OpenSteps {
  /** The required step with the circuit; null if none, but no agent step may run. */
  readonly step: string | null;
  /** Instant from which an iteration is useful again. */
  readonly resumeAt: number;
}

/**
 * Returns the circuit that makes an iteration useless: that of a required step that still has to run, or, if the
 * circuits of all agent steps are open, the first that may be probed. Null if an iteration is useful.
 */
export function findOpenSteps(
  { markers, circuits }: StepMemory,
  { agentSteps, otherSteps }: PipelinePolicy,
  now: number,
): OpenSteps | null {
  const due = agentSteps.filter(({ marker }) => marker === null || !markers.includes(marker));
  const openOf = ({ name, resetAfterMs }: { readonly name: string; readonly resetAfterMs: number | null }) => {
    const probeAt =
      resetAfterMs === null ? null : computeProbeInstant(findStepCircuit({ circuits }, name), { resetAfterMs }, now);
    return probeAt === null ? [] : [{ step: name, resumeAt: probeAt }];
  };
  const open = due.flatMap((step) => openOf(step).map((one) => ({ ...one, required: step.required })));
  const others = otherSteps.flatMap(openOf).map((one) => ({ ...one, required: true }));
  const byProbe = [...open, ...others].sort((a, b) => a.resumeAt - b.resumeAt);
  // All required steps must be able to run, while one of the other agent steps is enough.
  const last = byProbe.findLast(({ required }) => required);
  if (last !== undefined) return { step: last.step, resumeAt: last.resumeAt };
  const first = byProbe[0];
  return first === undefined || open.length < due.length ? null : { step: null, resumeAt: first.resumeAt };
}

/** Makes every open circuit ready for a probe, as a person ordered. */
export function allowStepProbes({ markers, circuits }: StepMemory): StepMemory {
  const probing = Object.entries(circuits).map(
    ([name, { failures, openedAt }]) => [name, { failures, openedAt: openedAt === null ? null : 0 }] as const,
  );
  return { markers, circuits: Object.fromEntries(probing) };
}

/** Limits the memory from another job, in which an instant in the future could keep a circuit open indefinitely. */
export function limitStepMemory({ markers, circuits }: StepMemory, now: number): StepMemory {
  const bounded = Object.entries(circuits)
    .slice(0, MAX_STEPS)
    .map(([name, { failures, openedAt }]) => {
      return [name, { failures, openedAt: openedAt === null ? null : Math.min(openedAt, now) }] as const;
    });
  return { markers, circuits: Object.fromEntries(bounded) };
}

/**
 * Returns the step that another job claims to wait for; null if it names none, or one that the pipeline does not have.
 */
export function limitWaitingStep(step: string | null, { agentSteps, otherSteps }: PipelinePolicy): string | null {
  return [...agentSteps, ...otherSteps].some(({ name }) => name === step) ? step : null;
}

/**
 * Returns the lane's memory after an iteration. Circuits of steps that the pipeline no longer has are dropped; without
 * a pipeline nothing changes.
 */
export function updateStepMemory(memory: StepMemory, records: readonly StepRecord[]): StepMemory {
  if (records.length === 0) return memory;
  const set = records.flatMap(({ marker }) => marker ?? []);
  const circuits = records.flatMap(({ name, circuit }) =>
    circuit === null || circuit.failures === 0 ? [] : [[name, circuit] as const],
  );
  return {
    markers: [...new Set([...memory.markers, ...set])].slice(-MAX_STEPS),
    circuits: Object.fromEntries(circuits),
  };
}
