import { z } from 'zod';
import type { Denial } from '../analysis/analysis.ts';
import { callUsageSchema } from '../lane/ledger.ts';
import { count, type Immutable, instant, type Policy } from '../policy.ts';
import { oneLine } from '../text/phrase.ts';
import { type Breaker, stepKinds } from './pipeline.ts';

const stepCircuitSchema = z.object({
  /** In a row, up to the newest. */
  failures: count,
  /** null: it is closed. */
  openedAt: instant.nullable(),
});

/** A step's own circuit. */
export type StepCircuit = Immutable<z.infer<typeof stepCircuitSchema>>;

const resultSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('passed') }),
  /** `code`: of a command that exited. */
  z.object({ kind: z.literal('failed'), why: z.string(), code: z.number().int().nullable() }),
  z.object({ kind: z.literal('skipped'), why: z.enum(['done-once', 'circuit-open']) }),
  z.object({ kind: z.literal('not-reached'), why: z.string() }),
]);

/** What became of a step in one iteration. */
export type StepResult = Immutable<z.infer<typeof resultSchema>>;

export const stepRecordSchema = z.object({
  name: z.string(),
  kind: z.enum(stepKinds),
  /** Its failure is told, and overrules nothing. */
  optional: z.boolean(),
  result: resultSchema,
  attempts: count,
  durationMs: z.number(),
  /** End of a command's output. */
  tail: z.string(),
  /** Whether the content of the work tree was another behind it. */
  changed: z.boolean(),
  calls: z.array(callUsageSchema),
  /** Tool calls that its agent was refused, and the rules that it had; null: those of the run. */
  denials: z.array(z.object({ tool: z.string(), command: z.string().nullable() })),
  allowedTools: z.array(z.string()).nullable(),
  /** The marker that it set; null: none. */
  marker: z.string().nullable(),
  /** Its circuit as the iteration leaves it; null: it has none. */
  circuit: stepCircuitSchema.nullable(),
});

/** A step of an iteration's pipeline, measured. */
export type StepRecord = Immutable<z.infer<typeof stepRecordSchema>>;

/** Agent calls of an iteration: one where it had no pipeline. */
export function callsIn(steps: readonly StepRecord[]): number {
  return steps.length === 0 ? 1 : steps.reduce((sum, { calls }) => sum + calls.length, 0);
}

/** The required steps that did not pass, one whose circuit is open included: nothing of such an iteration is done. */
export function failingSteps(steps: readonly StepRecord[]): readonly StepRecord[] {
  return steps.filter(
    ({ optional, result }) =>
      !optional && result.kind !== 'passed' && !(result.kind === 'skipped' && result.why === 'done-once'),
  );
}

/** Whether an agent was called at all. */
export function askedAgent(steps: readonly StepRecord[]): boolean {
  return callsIn(steps) > 0;
}

/** Whether an agent changed content; what a command changes each time is no progress. */
export function changedByAgent(steps: readonly StepRecord[]): boolean {
  return steps.length === 0 || steps.some(({ kind, changed }) => kind === 'agent' && changed);
}

/** What was refused in an iteration, with the rules that held; null: those of the run. */
export function refusedIn(
  steps: readonly StepRecord[],
  denials: readonly Denial[],
): readonly { readonly denials: readonly Denial[]; readonly allowedTools: readonly string[] | null }[] {
  return steps.length === 0 ? [{ denials, allowedTools: null }] : steps;
}

/** From when on an open circuit is probed; null: the step may run now. A clock that went back leaves it open. */
export function probeAtOf(
  { openedAt }: StepCircuit,
  { resetAfterMs }: Pick<Breaker, 'resetAfterMs'>,
  now: number,
): number | null {
  if (openedAt === null || (now >= openedAt && now - openedAt >= resetAfterMs)) return null;
  return openedAt + resetAfterMs;
}

/** The circuit after the step ran once more. A probe that fails opens it again. */
export function afterRun(circuit: StepCircuit, passed: boolean, { threshold }: Breaker, now: number): StepCircuit {
  if (passed) return { failures: 0, openedAt: null };
  const failures = circuit.failures + 1;
  return { failures, openedAt: circuit.openedAt !== null || failures >= threshold ? now : null };
}

const MAX_SAID_CHARS = 600;

const MAX_TAIL_CHARS = 400;

const MAX_NOTED = 5;

/** A step of this iteration that is over, and what its agent said; null: it has none. */
export interface EarlierStep {
  readonly record: Pick<StepRecord, 'name' | 'kind' | 'result' | 'tail'>;
  readonly said: string | null;
}

/** What the next agent reads of steps: those of its own iteration, else those that failed in the one before. Holds text of agents and commands: it is to be shown as data. */
export function stepNotes(earlier: readonly EarlierStep[], lastIteration: readonly StepRecord[]): string {
  const now = earlier
    .filter(({ record: { kind, result } }) => kind !== 'noop' && kind !== 'git-commit' && result.kind !== 'skipped')
    .map(({ record, said }) => note(record, said));
  const before = lastIteration
    .filter(({ result }) => result.kind === 'failed')
    .map((record) => `In the last iteration: ${note(record, null)}`);
  return [...(now.length === 0 ? before : []), ...now].slice(-MAX_NOTED).join('\n');
}

function note({ name, result, tail }: EarlierStep['record'], said: string | null): string {
  const words = said === null || said.trim() === '' ? '' : `: ${oneLine(said, MAX_SAID_CHARS)}`;
  const output = result.kind === 'failed' ? tail.trim().slice(-MAX_TAIL_CHARS) : '';
  return `Step ${name} ${resultWords(result)}${words}${output === '' ? '' : `\n${output}`}`;
}

/** What became of a step, in words. */
export function resultWords(result: StepRecord['result']): string {
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

/** Steps of one pipeline, and so markers and circuits of a lane. */
export const MAX_STEPS = 20;

/** Of a step's name. */
export const MAX_NAME_CHARS = 60;

/** Of the path of a file that a pipeline names. */
export const MAX_FILE_CHARS = 300;

export const stepMemorySchema = z.object({
  /** Names of marker files of steps that have run on this lane. */
  markers: z.array(z.string().max(MAX_FILE_CHARS)).max(MAX_STEPS),
  /** By the step's name; one that never failed has none. */
  circuits: z.record(z.string().max(MAX_NAME_CHARS), stepCircuitSchema),
});

/** What a lane keeps of its pipeline from one run to the next. */
export type StepMemory = Immutable<z.infer<typeof stepMemorySchema>>;

export const noStepMemory: z.infer<typeof stepMemorySchema> = { markers: [], circuits: {} };

/** The step's circuit; one that never failed is closed. */
export function circuitOf({ circuits }: Pick<StepMemory, 'circuits'>, name: string): StepCircuit {
  return (Object.hasOwn(circuits, name) ? circuits[name] : undefined) ?? { failures: 0, openedAt: null };
}

type PipelinePolicy = Pick<Policy, 'agentSteps' | 'otherSteps'>;

/** What keeps iterations from being worth a call, and until when. `step`: the required one; null: none that is open is required, and no agent step may run. */
export interface OpenSteps {
  readonly step: string | null;
  readonly resumeAt: number;
}

/** Whether an iteration would be in vain: of the steps that are still to run the circuit of a required one is open, or that of each agent step; null: it would not. */
export function openSteps(
  { markers, circuits }: StepMemory,
  { agentSteps, otherSteps }: PipelinePolicy,
  now: number,
): OpenSteps | null {
  const due = agentSteps.filter(({ marker }) => marker === null || !markers.includes(marker));
  const openOf = ({ name, resetAfterMs }: { readonly name: string; readonly resetAfterMs: number | null }) => {
    const probeAt = resetAfterMs === null ? null : probeAtOf(circuitOf({ circuits }, name), { resetAfterMs }, now);
    return probeAt === null ? [] : [{ step: name, resumeAt: probeAt }];
  };
  const open = due.flatMap((step) => openOf(step).map((one) => ({ ...one, required: step.required })));
  const others = otherSteps.flatMap(openOf).map((one) => ({ ...one, required: true }));
  const byProbe = [...open, ...others].sort((a, b) => a.resumeAt - b.resumeAt);
  // Nothing is done before the last required one may run, while one of the others is enough for a call.
  const last = byProbe.findLast(({ required }) => required);
  if (last !== undefined) return { step: last.step, resumeAt: last.resumeAt };
  const first = byProbe[0];
  return first === undefined || open.length < due.length ? null : { step: null, resumeAt: first.resumeAt };
}

/** Every open circuit as one that has cooled down, by a person's order: one try decides. */
export function probingSteps({ markers, circuits }: StepMemory): StepMemory {
  const probing = Object.entries(circuits).map(
    ([name, { failures, openedAt }]) => [name, { failures, openedAt: openedAt === null ? null : 0 }] as const,
  );
  return { markers, circuits: Object.fromEntries(probing) };
}

/** What another job says that the lane keeps: an instant to come would keep a circuit open for as long as anybody likes. */
export function believableSteps({ markers, circuits }: StepMemory, now: number): StepMemory {
  const bounded = Object.entries(circuits)
    .slice(0, MAX_STEPS)
    .map(([name, { failures, openedAt }]) => {
      return [name, { failures, openedAt: openedAt === null ? null : Math.min(openedAt, now) }] as const;
    });
  return { markers, circuits: Object.fromEntries(bounded) };
}

/** The step that another job says was waited for; null: the pipeline has no such step, or none was named. */
export function believableStep(step: string | null, { agentSteps, otherSteps }: PipelinePolicy): string | null {
  return [...agentSteps, ...otherSteps].some(({ name }) => name === step) ? step : null;
}

/** What the lane keeps after an iteration. Of steps that the pipeline does not have any more nothing is kept; without a pipeline nothing changes. */
export function rememberSteps(memory: StepMemory, records: readonly StepRecord[]): StepMemory {
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
