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
const PRICES: readonly (readonly [RegExp, Price])[] = [
  [/opus-5[.-]5/, price(4, 20, 0.2)],
  [/opus-4[.-](0|1|20\d{6})|opus-4$|3-opus/, price(15, 75, 1.5)],
  [/opus/, price(5, 25, 0.5)],
  [/sonnet-5[.-]5/, price(2, 10, 0.1)],
  [/sonnet-5/, price(2, 10, 0.2)],
  [/sonnet/, price(3, 15, 0.3)],
  [/haiku-5[.-]5/, price(0.5, 0.5, 0.05)],
  [/3[.-]5-haiku/, price(0.8, 4, 0.08)],
  [/haiku/, price(1, 5, 0.1)],
  [/mythos|fable/, price(10, 50, 1)],
];

/** A name that nobody knows, of a gateway for example, is counted like the default model, as the CLI does. */
const UNKNOWN = price(5, 25, 0.5);

/** Writing to the cache costs more than reading a token afresh: a quarter, or as much again for an hour. */
const CACHE_WRITE = 1.25;
const CACHE_WRITE_HOUR = 2;
const WEB_SEARCH_USD = 0.01;
/** What the provider charges for its fast mode at most. */
const FAST = 6;
const MILLION = 1_000_000;

/** What tokens of a model cost, in US dollars. */
export function costUsd(counts: TokenCounts, model: string, isFast: boolean): number {
  const { input, output, cacheRead } = priceOf(model);
  const tokens =
    input * (counts.input + CACHE_WRITE * counts.cacheWrite + CACHE_WRITE_HOUR * counts.cacheWriteHour) +
    cacheRead * counts.cacheRead +
    output * counts.output;
  return (tokens / MILLION) * (isFast ? FAST : 1) + WEB_SEARCH_USD * counts.webSearches;
}

function priceOf(model: string): Price {
  const name = model.toLowerCase();
  return PRICES.find(([form]) => form.test(name))?.[1] ?? UNKNOWN;
}
