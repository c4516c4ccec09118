import { listPriceOf, type Price } from './list-prices.ts';

/** What the user says that models cost, by a part of their name; the longest part that fits counts. */
export type Prices = Readonly<Record<string, Price>>;

const MILLION = 1_000_000;

/** What tokens of a model cost, in US dollars; null: nobody has said what it costs. `cached` is a part of `input`. */
export function costOf(
  prices: Prices,
  model: string,
  tokens: { readonly input: number; readonly cached: number; readonly output: number },
): number | null {
  const price = priceOf(prices, model);
  return price === null ? null : costAt(price, tokens);
}

/** What tokens cost at a price, in US dollars. `cached` is a part of `input`. */
export function costAt(
  price: Price,
  tokens: { readonly input: number; readonly cached: number; readonly output: number },
): number {
  const input = counted(tokens.input);
  const cached = Math.min(counted(tokens.cached), input);
  return (
    ((input - cached) * price.input + cached * price.cachedInput + counted(tokens.output) * price.output) / MILLION
  );
}

/** What a model costs: what the user says, else the list price; null: nobody has said it. */
export function priceOf(prices: Prices, model: string): Price | null {
  return givenPriceOf(prices, model) ?? listPriceOf(model);
}

/** What the user says of a model; null: nothing. */
export function givenPriceOf(prices: Prices, model: string): Price | null {
  const name = model.toLowerCase();
  const fitting = Object.entries(prices).filter(([part]) => name.includes(part.toLowerCase()));
  // Of two that are as long as each other, the dearer one: a limit must hold.
  const [best] = fitting.sort(([a, one], [b, other]) => b.length - a.length || other.output - one.output);
  return best?.[1] ?? null;
}

/** What a provider counts, and an agent hands on, may be anything. */
function counted(tokens: number): number {
  return Number.isFinite(tokens) && tokens > 0 ? tokens : 0;
}

/** Models are named by the agent's request. */
const NAME = /^[A-Za-z0-9][\w.:@/+-]{0,99}$/;

/** Why a model without a price is not called while a limit in dollars holds, and what to add. */
export function noPriceText(model: string): string {
  const isName = NAME.test(model);
  const named = isName ? `the model ${model}` : 'a model of an unusable name';
  return `No price is known for ${named}, so the limits in dollars could not bind it, and it is not called. Add its price in US dollars per million tokens to the input \`prices\` (\`${isName ? model : 'MODEL'}=INPUT/OUTPUT\`), or set \`max-cost-usd: 0\` and \`max-cost-usd-per-day: 0\` to run without these limits.`;
}
