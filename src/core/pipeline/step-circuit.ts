import { z } from 'zod';
import type { Immutable } from '../immutable.ts';
import { count, instant } from '../numbers.ts';
import type { Breaker } from './pipeline.ts';

export const stepCircuitSchema = z.object({
  /** In a row, up to the newest. */
  failures: count,
  /** null: it is closed. */
  openedAt: instant.nullable(),
});

/** A step's own circuit. */
export type StepCircuit = Immutable<z.infer<typeof stepCircuitSchema>>;

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
