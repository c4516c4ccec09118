/** What requests to the model come to: tokens of all kinds, and their price in US dollars. */
export interface Spent {
  readonly tokens: number;
  readonly costUsd: number;
}

/** What one call of the agent may spend; null = no limit. */
export interface CallLimits {
  readonly tokens: number | null;
  readonly costUsd: number | null;
}

/** Which of the limits is used up. */
export type Exhausted = 'cost' | 'tokens';

/** What a call has spent, what its open requests may still come to, and what the next one is expected to. */
interface Standing {
  readonly spent: Spent;
  readonly open: Spent;
  readonly next: Spent;
}

/** Whether a request goes on its way now, when others have ended, or never. */
export type Admission =
  | { readonly kind: 'admitted' }
  | { readonly kind: 'waits' }
  | { readonly kind: 'refused'; readonly by: Exhausted };

export const NOTHING: Spent = { tokens: 0, costUsd: 0 };

export function plus(a: Spent, b: Spent): Spent {
  return { tokens: a.tokens + b.tokens, costUsd: a.costUsd + b.costUsd };
}

/** No provider takes a longer question. */
const MAX_INPUT_TOKENS = 1_000_000;
/** What a provider adds to a request that uses tools, in tokens. */
const ADDED_TOKENS = 1_000;

/** Tokens that a text can come to at most: no tokenizer makes more than one of a byte. */
export function mostTokensIn(text: string): number {
  return Math.min(new TextEncoder().encode(text).length + ADDED_TOKENS, MAX_INPUT_TOKENS);
}

/** A limit is overshot by one request at most: several at once must fit into what is left, whatever they come to. */
export function admission(limits: CallLimits, { spent, open, next }: Standing): Admission {
  const by = exhausted(limits, spent);
  if (by !== null) return { kind: 'refused', by };
  const isAlone = open.tokens === 0 && open.costUsd === 0;
  return isAlone || fits(limits, plus(plus(spent, open), next)) ? { kind: 'admitted' } : { kind: 'waits' };
}

/** The limit that `spent` has reached; null: none. */
export function exhausted(limits: CallLimits, spent: Spent): Exhausted | null {
  if (limits.costUsd !== null && spent.costUsd >= limits.costUsd) return 'cost';
  return limits.tokens !== null && spent.tokens >= limits.tokens ? 'tokens' : null;
}

function fits({ tokens, costUsd }: CallLimits, spent: Spent): boolean {
  return (costUsd === null || spent.costUsd <= costUsd) && (tokens === null || spent.tokens <= tokens);
}
