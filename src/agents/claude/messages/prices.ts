import { givenPriceOf, type Prices } from '../../../core/spending/prices.ts';

/** Tokens of one answer by kind, as the Messages API counts them. */
export interface TokenCounts {
  readonly input: number;
  /** Written to the cache for five minutes, or for an hour. */
  readonly cacheWrite: number;
  readonly cacheWriteHour: number;
  readonly cacheRead: number;
  readonly output: number;
  readonly webSearches: number;
}

export const NO_TOKENS: TokenCounts = {
  input: 0,
  cacheWrite: 0,
  cacheWriteHour: 0,
  cacheRead: 0,
  output: 0,
  webSearches: 0,
};

/** US dollars per million tokens. */
interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
}

const price = (input: number, output: number, cacheRead: number): Price => ({ input, output, cacheRead });

/** The first that a model's name holds. Measured on Claude Code 2.1.330, which prints what a million tokens cost; the old Opus by the list of 2025. */
const FAMILIES: readonly (readonly [RegExp, Price])[] = [
  [/opus-5[.-]5/, price(4, 20, 0.2)],
  [/opus-4[.-](0|1|20\d{6})|opus-4(?:$|@)|3-opus/, price(15, 75, 1.5)],
  [/opus/, price(5, 25, 0.5)],
  [/sonnet-5[.-]5/, price(2, 10, 0.1)],
  [/sonnet-5/, price(2, 10, 0.2)],
  [/sonnet/, price(3, 15, 0.3)],
  [/haiku-5[.-]5/, price(0.5, 0.5, 0.05)],
  [/3[.-]5-haiku/, price(0.8, 4, 0.08)],
  [/haiku/, price(1, 5, 0.1)],
  [/mythos|fable/, price(10, 50, 1)],
];

/** Names that hold for Claude, as Anthropic, the clouds and gateways write them: `claude-…`, `us.anthropic.claude-…`, `anthropic/claude-…`. */
const OF_CLAUDE = /^(?:[a-z-]+\.)?(?:anthropic\.)?claude-/;
/** What the CLI takes for a model, each of them one of Claude's. */
const ALIAS = /^(?:default|best|opusplan|opus|sonnet|haiku|mythos|fable)(?:\[1m\])?$/;

/** A name that nobody knows, of a gateway for example, is counted like the default model, as the CLI does. */
const UNKNOWN = price(5, 25, 0.5);

/** Writing to the cache costs more than reading a token afresh: a quarter, or as much again for an hour. */
const CACHE_WRITE = 1.25;
const CACHE_WRITE_HOUR = 2;
const WEB_SEARCH_USD = 0.01;
/** What the provider charges for its fast mode at most. */
const FAST = 6;
/** What it charges for a promise to stay in one country. */
const IN_ONE_PLACE = 1.1;
/** Models that cost more where the question is longer than this: twice for what goes in, half as much again for what comes out. */
const LONG_DEARER = /sonnet-4/;
const LONG_TOKENS = 200_000;
const MILLION = 1_000_000;

/** What of a request, beside its tokens, decides what they cost. */
export interface Terms {
  readonly model: string;
  readonly isFast: boolean;
  readonly isInOnePlace: boolean;
  /** What the user says that models cost. */
  readonly prices: Prices;
}

/** What tokens of a model cost, in US dollars. */
export function costUsd(counts: TokenCounts, { model, isFast, isInOnePlace, prices }: Terms): number {
  const given = priceOfClaude(model, prices) ?? UNKNOWN;
  const asked = counts.input + counts.cacheWrite + counts.cacheWriteHour + counts.cacheRead;
  const isLong = asked > LONG_TOKENS && LONG_DEARER.test(nameOf(model));
  const tokens =
    (isLong ? 2 : 1) *
      (given.input * (counts.input + CACHE_WRITE * counts.cacheWrite + CACHE_WRITE_HOUR * counts.cacheWriteHour) +
        given.cacheRead * counts.cacheRead) +
    (isLong ? 1.5 : 1) * given.output * counts.output;
  return (
    (tokens / MILLION) * (isFast ? FAST : 1) * (isInOnePlace ? IN_ONE_PLACE : 1) + WEB_SEARCH_USD * counts.webSearches
  );
}

/** What a model costs: what the user says, else the price of its family; null: nobody has said it. */
export function priceOfClaude(model: string, prices: Prices): Price | null {
  const given = givenPriceOf(prices, model);
  if (given !== null) return { input: given.input, output: given.output, cacheRead: given.cachedInput };
  const name = nameOf(model);
  if (ALIAS.test(name)) return FAMILIES.find(([form]) => form.test(name))?.[1] ?? UNKNOWN;
  return OF_CLAUDE.test(name) ? (FAMILIES.find(([form]) => form.test(name))?.[1] ?? null) : null;
}

/** Without what stands before a slash: the path of an ARN, or a gateway's name of the provider. */
function nameOf(model: string): string {
  return model.toLowerCase().split('/').at(-1) ?? '';
}
