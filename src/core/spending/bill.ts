import type { Analysis } from '../analysis/analysis.ts';
import type { Exhausted, Spent } from './meter.ts';
import { noPriceText } from './prices.ts';

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
