/** US dollars per million tokens. */
export interface Price {
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
}

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
  if (price === null) return null;
  const input = counted(tokens.input);
  const cached = Math.min(counted(tokens.cached), input);
  return (
    ((input - cached) * price.input + cached * price.cachedInput + counted(tokens.output) * price.output) / MILLION
  );
}

function priceOf(prices: Prices, model: string): Price | null {
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
