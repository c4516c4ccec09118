/** What a call used up, known when it ended. Unknown amounts are 0. */
export interface Usage {
  readonly tokens: number;
  readonly costUsd: number;
  readonly durationMs: number;
}

/** Amounts come from the agent's output: a negative one must not give back what is used, a huge one not make the state unreadable. */
export function bounded({ tokens, costUsd, durationMs }: Usage): Usage {
  return {
    tokens: Math.ceil(boundedAmount(tokens)),
    costUsd: boundedAmount(costUsd),
    durationMs: boundedAmount(durationMs),
  };
}

function boundedAmount(value: number): number {
  return value > 0 ? Math.min(value, 1e12) : 0;
}
