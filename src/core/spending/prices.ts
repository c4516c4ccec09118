/** A price in US dollars per million tokens. */
export interface Price {
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
}

const price = (input: number, cachedInput: number, output: number): Price => ({ input, cachedInput, output });

/** List prices of OpenAI and Google by the model's exact name. Other models need the setting `prices`. */
const LISTED: Readonly<Record<string, Price>> = {
  'gpt-4.1': price(2, 0.5, 8),
  'gpt-4.1-mini': price(0.4, 0.1, 1.6),
  'gpt-4.1-nano': price(0.1, 0.025, 0.4),
  'gpt-4o': price(2.5, 1.25, 10),
  'gpt-4o-2024-05-13': price(5, 5, 15),
  'gpt-4o-mini': price(0.15, 0.075, 0.6),
  'gpt-5': price(1.25, 0.125, 10),
  'gpt-5-codex': price(1.25, 0.125, 10),
  'gpt-5-mini': price(0.25, 0.025, 2),
  'gpt-5-nano': price(0.05, 0.005, 0.4),
  'gpt-5.1': price(1.25, 0.125, 10),
  'gpt-5.1-codex': price(1.25, 0.125, 10),
  'gpt-5.1-codex-max': price(1.25, 0.125, 10),
  'gpt-5.1-codex-mini': price(0.25, 0.025, 2),
  'gpt-5.2': price(1.75, 0.175, 14),
  'gpt-5.2-codex': price(1.75, 0.175, 14),
  o3: price(2, 0.5, 8),
  'o4-mini': price(1.1, 0.275, 4.4),
  'gemini-2.5-pro': price(1.25, 0.31, 10),
  'gemini-2.5-flash': price(0.3, 0.075, 2.5),
  'gemini-2.5-flash-lite': price(0.1, 0.025, 0.4),
  'gemini-3-pro-preview': price(2, 0.2, 12),
};

/** Number of searches of a request that names no maximum; no provider runs more for one answer. */
const UNBOUNDED_SEARCHES = 1_000;

/** The highest list price of one search in US dollars, used where a provider's own price is unknown. */
export const MAX_SEARCH_USD = 0.035;

/**
 * Returns the maximum number of searches that the provider's servers run for a request, by the limits of its tools. The
 * limit null belongs to a tool without a limit.
 */
export function computeMaxSearches(limits: readonly (number | null)[]): number {
  return limits.reduce<number>((sum, limit) => Math.min(sum + (limit ?? UNBOUNDED_SEARCHES), UNBOUNDED_SEARCHES), 0);
}

/** Matches the date of a model version, which costs the same as the model. */
const DATE = /-(?:\d{4}-\d{2}-\d{2}|\d{8})$/;

/** The user's prices by a part of a model's name; the longest matching part is used. */
export type Prices = Readonly<Record<string, Price>>;

const MILLION = 1_000_000;

/** Returns the cost of a model's tokens in US dollars; null if its price is unknown. `cached` is a part of `input`. */
export function computeModelCost(
  prices: Prices,
  model: string,
  tokens: { readonly input: number; readonly cached: number; readonly output: number },
): number | null {
  const price = findModelPrice(prices, model);
  return price === null ? null : computeCostAt(price, tokens);
}

/** Returns the cost of tokens at a price in US dollars. `cached` is a part of `input`. */
export function computeCostAt(
  price: Price,
  tokens: { readonly input: number; readonly cached: number; readonly output: number },
): number {
  const input = counted(tokens.input);
  const cached = Math.min(counted(tokens.cached), input);
  return (
    ((input - cached) * price.input + cached * price.cachedInput + counted(tokens.output) * price.output) / MILLION
  );
}

/** Returns the user's price of a model, else its list price; null if the price is unknown. */
export function findModelPrice(prices: Prices, model: string): Price | null {
  return findGivenPrice(prices, model) ?? listPriceOf(model);
}

/** Returns the user's price of a model; null if none. */
export function findGivenPrice(prices: Prices, model: string): Price | null {
  const name = model.toLowerCase();
  const fitting = Object.entries(prices).filter(([part]) => name.includes(part.toLowerCase()));
  // The more expensive of two equally long parts is used, so that a limit is kept.
  const [best] = fitting.sort(([a, one], [b, other]) => b.length - a.length || other.output - one.output);
  return best?.[1] ?? null;
}

/** Makes a token count safe, because a provider or agent may report any value. */
function counted(tokens: number): number {
  return Number.isFinite(tokens) && tokens > 0 ? tokens : 0;
}

/** Matches a usable model name; the name comes from the agent's request. */
const NAME = /^[A-Za-z0-9][\w.:@/+-]{0,99}$/;

/** Returns why a model without a price is not called under a dollar limit, and what to add. */
export function describeMissingPrice(model: string): string {
  const isName = NAME.test(model);
  const named = isName ? `the model ${model}` : 'a model with an unusable name';
  return `No price is known for ${named}, so it is not called: it could exceed the limits in dollars. Add its price in US dollars per million tokens to the setting \`prices\`, below \`settings:\` in the workflow (\`${isName ? model : 'MODEL'}=INPUT/OUTPUT\`), or set \`max-cost-usd: 0\` and \`max-cost-usd-per-day: 0\` to run without these limits.`;
}

/**
 * Returns the sentence that limits in dollars do not bind an agent whose requests nobody counts; `reports` are the
 * amounts that the agent reports.
 */
export function describeUnboundCost(
  title: string,
  reports: { readonly cost: boolean; readonly tokens: boolean },
): string {
  const later = reports.cost || reports.tokens;
  return `${title} has no limit in dollars during a call, because nobody counts its requests. ${
    later
      ? `Between calls, the limits hold if ${reports.cost ? 'it reports what a call cost' : 'it reports tokens and `prices` has its model'}.`
      : 'It reports no cost, so what bounds this run is `max-iterations`, `max-minutes` and `max-calls-per-hour`.'
  }`;
}

/**
 * Returns a model's list price, by its name alone, after a provider's name (`openai/gpt-5`), or with a date; null if it
 * is not listed.
 */
function listPriceOf(model: string): Price | null {
  const name = model.toLowerCase().split('/').at(-1) ?? '';
  const known = [name, name.replace(DATE, '')].find((one) => Object.hasOwn(LISTED, one));
  return known === undefined ? null : (LISTED[known] ?? null);
}
