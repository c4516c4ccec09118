import { findGivenPrice, type Prices } from '../../../core/spending/prices.ts';

/** Tokens of one answer by kind, as the Messages API reports them. */
export interface ClaudeTokenCounts {
  readonly input: number;
  /** Tokens written to the cache for five minutes. */
  readonly cacheWrite: number;
  /** Tokens written to the cache for an hour. */
  readonly cacheWriteHour: number;
  readonly cacheRead: number;
  readonly output: number;
  readonly webSearches: number;
}

export const NO_TOKENS: ClaudeTokenCounts = {
  input: 0,
  cacheWrite: 0,
  cacheWriteHour: 0,
  cacheRead: 0,
  output: 0,
  webSearches: 0,
};

/** Price in US dollars per million tokens. */
interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
}

const price = (input: number, output: number, cacheRead: number): Price => ({ input, output, cacheRead });

/**
 * Prices by model family; the first match in the model's name is used. Source: Claude Code 2.1.330, which prints the
 * price of a million tokens; for the old Opus, the price list of 2025.
 */
const FAMILIES: readonly (readonly [RegExp, Price])[] = [
  [/opus-5[.-]5/, price(4, 20, 0.2)],
  [/opus-4(?:[.-](?:0|1|20\d{6})(?!\d)|(?![\d.-])|-(?!\d))|[34]-opus/, price(15, 75, 1.5)],
  [/opus/, price(5, 25, 0.5)],
  [/sonnet-5[.-]5/, price(2, 10, 0.1)],
  [/sonnet-5/, price(2, 10, 0.2)],
  [/sonnet/, price(3, 15, 0.3)],
  [/haiku-5[.-]5/, price(0.5, 0.5, 0.05)],
  [/3[.-]5-haiku/, price(0.8, 4, 0.08)],
  [/haiku/, price(1, 5, 0.1)],
  [/mythos|fable/, price(10, 50, 1)],
];

/**
 * Names of Claude models, as Anthropic, the clouds and gateways write them: `claude-…`, `us.anthropic.claude-…`,
 * `anthropic/claude-…`.
 */
const CLAUDE_MODEL = /^(?:[a-z-]+\.)?(?:anthropic\.)?claude-/;
/** The CLI's aliases for Claude models. */
const ALIAS = /^(?:default|best|opusplan|opus|sonnet|haiku|mythos|fable)(?:\[1m\])?$/;

/**
 * Price of a model with an unknown name, such as a gateway's own name. The CLI, too, uses its default model's price
 * then.
 */
const UNKNOWN = price(5, 25, 0.5);

/** Price factor for writing to the cache for five minutes; for an hour, the price doubles. */
const CACHE_WRITE = 1.25;
const CACHE_WRITE_HOUR = 2;
const WEB_SEARCH_USD = 0.01;
/** Maximum price factor of the provider's fast mode. */
const FAST_MODE_FACTOR = 6;
/** Price factor for requests that are guaranteed to be processed in one country. */
const ONE_COUNTRY_FACTOR = 1.1;
/**
 * Models for which a prompt of more than `LONG_TOKENS` doubles the input's price and raises the output's price by half.
 */
const LONG_CONTEXT_PRICED = /sonnet-4/;
const LONG_TOKENS = 200_000;
const MILLION = 1_000_000;

/** Properties of a request, apart from its tokens, that decide its price. */
export interface PricingTerms {
  readonly model: string;
  readonly isFast: boolean;
  readonly staysInOneCountry: boolean;
  /** Prices of models set by the user. */
  readonly prices: Prices;
}

/** Returns the cost of a model's tokens in US dollars. */
export function computeCostUsd(
  counts: ClaudeTokenCounts,
  { model, isFast, staysInOneCountry, prices }: PricingTerms,
): number {
  const given = priceOfClaude(model, prices) ?? UNKNOWN;
  const inputTokens = counts.input + counts.cacheWrite + counts.cacheWriteHour + counts.cacheRead;
  const isLong = inputTokens > LONG_TOKENS && LONG_CONTEXT_PRICED.test(plainModelName(model));
  const tokens =
    (isLong ? 2 : 1) *
      (given.input * (counts.input + CACHE_WRITE * counts.cacheWrite + CACHE_WRITE_HOUR * counts.cacheWriteHour) +
        given.cacheRead * counts.cacheRead) +
    (isLong ? 1.5 : 1) * given.output * counts.output;
  return (
    (tokens / MILLION) * (isFast ? FAST_MODE_FACTOR : 1) * (staysInOneCountry ? ONE_COUNTRY_FACTOR : 1) +
    WEB_SEARCH_USD * counts.webSearches
  );
}

/** Returns the price that the user set for a model, otherwise the price of its family; null if it is unknown. */
export function priceOfClaude(model: string, prices: Prices): Price | null {
  const given = findGivenPrice(prices, model);
  if (given !== null) return { input: given.input, output: given.output, cacheRead: given.cachedInput };
  const name = plainModelName(model);
  if (ALIAS.test(name)) return FAMILIES.find(([form]) => form.test(name))?.[1] ?? UNKNOWN;
  return CLAUDE_MODEL.test(name) ? (FAMILIES.find(([form]) => form.test(name))?.[1] ?? null) : null;
}

/**
 * Returns the part of a model's name after the last slash, without the path of an ARN or a gateway's name for the
 * provider.
 */
function plainModelName(model: string): string {
  return model.toLowerCase().split('/').at(-1) ?? '';
}
