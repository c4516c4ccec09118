import { z } from 'zod';
import type { Immutable } from '../immutable.ts';
import type { Policy } from '../policy.ts';
import { probeAtOf, stepCircuitSchema, type StepCircuit } from './step-circuit.ts';
import type { StepRecord } from './step-record.ts';

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
