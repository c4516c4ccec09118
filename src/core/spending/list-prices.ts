/** US dollars per million tokens. */
export interface Price {
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
}

const price = (input: number, cachedInput: number, output: number): Price => ({ input, cachedInput, output });

/** What OpenAI and Google ask for by their public lists, by the model's exact name. Models that are not listed need the input `prices`. */
const LISTED: Readonly<Record<string, Price>> = {
  'gpt-4.1': price(2, 0.5, 8),
  'gpt-4.1-mini': price(0.4, 0.1, 1.6),
  'gpt-4.1-nano': price(0.1, 0.025, 0.4),
  'gpt-4o': price(2.5, 1.25, 10),
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

/** A dated version costs what its model does. */
const DATE = /-(?:\d{4}-\d{2}-\d{2}|\d{8})$/;

/** The list price of a model: by its name as it is, behind a provider's (`openai/gpt-5`), or with a date. null: it is not listed. */
export function listPriceOf(model: string): Price | null {
  const name = model.toLowerCase().split('/').at(-1)?.replace(DATE, '') ?? '';
  return Object.hasOwn(LISTED, name) ? (LISTED[name] ?? null) : null;
}
