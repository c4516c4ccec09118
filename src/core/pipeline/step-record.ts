import { z } from 'zod';
import type { Denial } from '../analysis/analysis.ts';
import type { Immutable } from '../immutable.ts';
import { callUsageSchema } from '../lane/usage.ts';
import { count } from '../numbers.ts';
import { stepKinds } from './pipeline.ts';
import { stepCircuitSchema } from './step-circuit.ts';

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
