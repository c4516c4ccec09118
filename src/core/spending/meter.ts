import type { Analysis } from '../analysis/analysis.ts';
import { countBytes } from '../text/phrase.ts';
import { describeMissingPrice } from './prices.ts';

/** The usage of requests to the model: all tokens, the output tokens among them, and the cost in US dollars. */
export interface Spent {
  readonly tokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

/** Limits of one agent call; null = no limit. */
export interface CallLimits {
  readonly tokens: number | null;
  readonly costUsd: number | null;
}

/** The limit that is used up. */
type Exhausted = 'cost' | 'tokens';

/** The usage of a call so far, the maximum usage of its open requests, and the expected usage of the next one. */
interface Standing {
  readonly spent: Spent;
  readonly open: Spent;
  readonly next: Spent;
}

/** The decision on a request: it is sent now, waits until others have ended, or is refused. */
type Admission =
  | { readonly kind: 'admitted' }
  | { readonly kind: 'waits' }
  | { readonly kind: 'refused'; readonly by: Exhausted };

export const NO_SPENDING: Spent = { tokens: 0, outputTokens: 0, costUsd: 0 };

/** Returns the sum of two usages. */
export function addSpent(a: Spent, b: Spent): Spent {
  return { tokens: a.tokens + b.tokens, outputTokens: a.outputTokens + b.outputTokens, costUsd: a.costUsd + b.costUsd };
}

/** Maximum number of input tokens; no provider accepts more. */
const MAX_INPUT_TOKENS = 1_000_000;

/** Number of tokens that a provider adds to a request that uses tools. */
const ADDED_TOKENS = 1_000;

/** Maximum number of tokens of an image, whatever its size: the highest is that of gpt-4o-mini. */
const IMAGE_TOKENS = 50_000;

/** Matches the types of enclosed files in serialized JSON; within a text, the quotation marks would be escaped. */
const FILE_TYPE =
  /(?<!\\)"(?:(?:media|mime)_?type":"|data:)(?<kind>image\/|audio\/|video\/|application\/(?:pdf|msword|vnd))/gi;

/**
 * Returns the maximum input of a request in tokens. `text` is its body as `JSON.stringify` writes it: no tokenizer
 * makes more than one token per byte, but a few bytes can be a large image or a file of many pages. The model reads
 * everything again after each search that the provider's servers run, together with the results.
 */
export function computeMaxInput(text: string, searches: number): number {
  if (searches > 0) return (searches + 1) * MAX_INPUT_TOKENS;
  const kinds = [...text.matchAll(FILE_TYPE)].map(({ groups }) => groups?.['kind']?.toLowerCase());
  if (kinds.some((kind) => kind !== 'image/')) return MAX_INPUT_TOKENS;
  return Math.min(countBytes(text) + ADDED_TOKENS + kinds.length * IMAGE_TOKENS, MAX_INPUT_TOKENS);
}

/**
 * Decides on a request. A limit can be exceeded by one request at most: parallel ones must fit into the rest at their
 * maximum usage.
 */
export function decideAdmission(limits: CallLimits, { spent, open, next }: Standing): Admission {
  const by = findExhaustedLimit(limits, spent);
  if (by !== null) return { kind: 'refused', by };
  const isAlone = open.tokens === 0 && open.costUsd === 0;
  return isAlone || fits(limits, addSpent(addSpent(spent, open), next)) ? { kind: 'admitted' } : { kind: 'waits' };
}

/** Returns the limit that `spent` has reached; null if none. */
export function findExhaustedLimit(limits: CallLimits, spent: Spent): Exhausted | null {
  if (limits.costUsd !== null && spent.costUsd >= limits.costUsd) return 'cost';
  return limits.tokens !== null && spent.tokens >= limits.tokens ? 'tokens' : null;
}

function fits({ tokens, costUsd }: CallLimits, spent: Spent): boolean {
  return (costUsd === null || spent.costUsd <= costUsd) && (tokens === null || spent.tokens <= tokens);
}

/** The usage of an agent call, as counted between the agent and the model. */
export interface MeteredUsage extends Spent {
  readonly requests: number;
  /** The limit that ended the call; null if no limit ended it. */
  readonly exhausted: Exhausted | null;
  /** Other reasons for refused requests, in order, each once. */
  readonly refused: readonly string[];
  /** A model that was not called because its price is unknown; null if none. */
  readonly unpriced: string | null;
}

const LIMIT: Readonly<Record<Exhausted, string>> = { cost: 'the maximum cost', tokens: 'the remaining tokens' };

/**
 * Returns the analysis with the call's real usage: what the broker counted, or what the agent reports if that is more.
 * A killed agent reports nothing, its report lacks the calls of programs that bypass the CLI, and such a program could
 * also have written the report.
 */
export function withBilledUsage(given: Analysis, bill: MeteredUsage): Analysis {
  const analysis = withMissingPrice(given, bill);
  if (bill.requests === 0) return analysis;
  // For a model without a price only tokens are counted, so its cost is unknown.
  const isPriced = bill.costUsd > 0 || bill.tokens === 0 || analysis.costUsd !== null;
  return {
    ...analysis,
    tokens: Math.max(analysis.tokens ?? 0, bill.tokens),
    outputTokens: Math.max(analysis.outputTokens ?? 0, bill.outputTokens),
    costUsd: isPriced ? Math.max(analysis.costUsd ?? 0, bill.costUsd) : null,
    agentError:
      analysis.agentError === null || bill.exhausted === null || bill.unpriced !== null
        ? analysis.agentError
        : { kind: 'budget', text: `The call reached its limit: ${LIMIT[bill.exhausted]}.` },
  };
}

/** Turns a call that failed for lack of a price into a configuration problem, however its CLI reported the failure. */
function withMissingPrice(analysis: Analysis, { requests, unpriced }: MeteredUsage): Analysis {
  if (unpriced === null || (analysis.agentError === null && requests > 0)) return analysis;
  return { ...analysis, agentError: { kind: 'model', text: describeMissingPrice(unpriced) }, usageLimit: null };
}
