import { z } from 'zod';
import type { Immutable } from '../immutable.ts';
import { anyInstant } from '../numbers.ts';

const amount = z.number().nonnegative().nullable();

export const callUsageSchema = z.object({
  startedAt: anyInstant,
  endedAt: anyInstant,
  tokens: amount,
  costUsd: amount,
});

/** One agent call: when it was charged, when it ended, and what it used; null: not known. */
export type CallUsage = Immutable<z.infer<typeof callUsageSchema>>;

/** What a call used up, known when it ended. Unknown amounts are 0. */
export interface Usage {
  readonly tokens: number;
  readonly costUsd: number;
  readonly durationMs: number;
}

/** Amounts come from the agent's output: a negative one must not give back what is used, a huge one not make the state unreadable. */
export function boundUsage({ tokens, costUsd, durationMs }: Usage): Usage {
  return {
    tokens: Math.ceil(boundedAmount(tokens)),
    costUsd: boundedAmount(costUsd),
    durationMs: boundedAmount(durationMs),
  };
}

function boundedAmount(value: number): number {
  return value > 0 ? Math.min(value, 1e12) : 0;
}
