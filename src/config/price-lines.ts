import type { Price } from '../core/spending/list-prices.ts';
import type { Prices } from '../core/spending/prices.ts';
import { capped } from '../core/text/cut.ts';

/** What the lines say, and what is wrong with them, as predicates. */
interface PriceLines {
  readonly prices: Prices;
  readonly problems: readonly string[];
}

const MAX_LINES = 100;
const MAX_PROBLEMS = 5;
/** A million tokens of the dearest model cost hundreds of dollars. */
const MAX_USD = 100_000;
const NAME = /^[A-Za-z0-9][\w.:@/+-]{0,99}$/;
const USD = /^\d{1,6}(?:\.\d{1,9})?$/;
const FORM = 'NAME=INPUT/OUTPUT or NAME=INPUT/CACHED/OUTPUT';

/** Reads lines such as `gpt-5.5=1.25/0.125/10`. */
export function parsePriceLines(lines: readonly string[]): PriceLines {
  if (lines.length > MAX_LINES) return { prices: {}, problems: [`has more than ${String(MAX_LINES)} lines`] };
  const prices = new Map<string, Price>();
  const problems: string[] = [];
  for (const line of lines) {
    const read = priceIn(line);
    if (typeof read === 'string') problems.push(`has the line ${JSON.stringify(capped(line, 80))}, ${read}`);
    else if (prices.has(read.name)) problems.push(`names ${read.name} twice: keep one of the lines`);
    else prices.set(read.name, read.price);
  }
  const more = problems.length - MAX_PROBLEMS;
  return {
    prices: Object.fromEntries(prices),
    problems: [
      ...problems.slice(0, MAX_PROBLEMS),
      ...(more > 0 ? [`has ${String(more)} more ${more === 1 ? 'problem' : 'problems'} like these`] : []),
    ],
  };
}

/** A text says what is wrong with the line. */
function priceIn(line: string): { readonly name: string; readonly price: Price } | string {
  const [name = '', amounts, ...more] = line.split('=').map((part) => part.trim());
  const texts = amounts?.split('/').map((amount) => amount.trim()) ?? [];
  if (more.length > 0 || texts.length < 2 || texts.length > 3)
    return `which is not a price: write ${FORM}, in US dollars per million tokens, for example gpt-5.5=1.25/0.125/10`;
  if (!NAME.test(name)) return "whose name no model has: write a model's name, or a part of it, before the equals sign";
  const wrong = texts.find((text) => !USD.test(text) || Number(text) > MAX_USD);
  if (wrong !== undefined)
    return `in which ${JSON.stringify(capped(wrong, 20))} is not a number from 0 to ${String(MAX_USD)}: write US dollars per million tokens, without a sign or a currency`;
  const [input = 0, second = 0, third] = texts.map(Number);
  // Case tells no models apart.
  return {
    name: name.toLowerCase(),
    price: { input, cachedInput: third === undefined ? input : second, output: third ?? second },
  };
}
