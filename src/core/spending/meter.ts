import type { Analysis } from '../analysis/analysis.ts';
import { noPriceText } from './prices.ts';

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
type Exhausted = 'cost' | 'tokens';

/** What a call has spent, what its open requests may still come to, and what the next one is expected to. */
interface Standing {
  readonly spent: Spent;
  readonly open: Spent;
  readonly next: Spent;
}

/** Whether a request goes on its way now, when others have ended, or never. */
type Admission =
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

/** What a call of the agent came to, as it was counted between the agent and the model. */
export interface Bill extends Spent {
  readonly requests: number;
  /** The limit that ended it; null: none did. */
  readonly exhausted: Exhausted | null;
  /** What was refused for another reason, in order, each reason once. */
  readonly refused: readonly string[];
  /** A model that was not called because nobody has said what it costs; null: there was none. */
  readonly unpriced: string | null;
}

const LIMIT: Readonly<Record<Exhausted, string>> = { cost: 'what it may cost', tokens: 'the tokens that are left' };

/**
 * The analysis with what the call really spent. The agent's own account holds where it covers all tokens that were counted;
 * one that was killed gives none, and one that asks the model behind its CLI's back leaves some out.
 */
export function billed(given: Analysis, bill: Bill): Analysis {
  const analysis = withMissingPrice(given, bill);
  if (bill.requests === 0) return analysis;
  // A model without a price spends tokens alone, and says nothing of what it costs.
  const isPriced = bill.costUsd > 0 || bill.tokens === 0 || analysis.costUsd !== null;
  const isComplete = analysis.costUsd !== null && (analysis.tokens ?? 0) >= bill.tokens && bill.exhausted === null;
  return {
    ...analysis,
    tokens: Math.max(analysis.tokens ?? 0, bill.tokens),
    costUsd: isComplete || !isPriced ? analysis.costUsd : Math.max(analysis.costUsd ?? 0, bill.costUsd),
    agentError:
      analysis.agentError === null || bill.exhausted === null || bill.unpriced !== null
        ? analysis.agentError
        : { kind: 'budget', text: `The call reached its limit: ${LIMIT[bill.exhausted]}.` },
  };
}

/** A call that failed because its model has no price is a matter of the configuration, whatever its CLI makes of the answer. */
function withMissingPrice(analysis: Analysis, { requests, unpriced }: Bill): Analysis {
  if (unpriced === null || (analysis.agentError === null && requests > 0)) return analysis;
  return { ...analysis, agentError: { kind: 'model', text: noPriceText(unpriced) }, usageLimit: null };
}
