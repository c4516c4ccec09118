import fc from 'fast-check';
import { expect, test } from 'vitest';
import { computeModelCost, type Price, type Prices } from '../../../../src/core/spending/prices.ts';
import { runs } from '../../../runs.ts';

const price = (input: number, cachedInput: number, output: number): Price => ({ input, cachedInput, output });
const prices: Prices = {
  'gpt-5': price(1, 0.5, 10),
  'gpt-5.5-mini': price(3, 2, 30),
  'gpt-5.5': price(2, 1, 20),
  'Gemini-2.5': price(4, 4, 40),
  mini: price(0, 0, 0),
};
const MILLION = 1_000_000;
const outputPrice = (model: string, given: Prices = prices): number | null =>
  computeModelCost(given, model, { input: 0, cached: 0, output: MILLION });

test.each<[string, number | null]>([
  ['gpt-5', 10],
  ['gpt-5-codex', 10],
  ['gpt-5.5', 20],
  ['openai/gpt-5.5-2026-01-01', 20],
  ['gpt-5.5-mini', 30],
  ['GPT-5.5-Mini', 30],
  ['models/gemini-2.5-pro', 40],
  ['another-mini', 0],
  ['gpt-4', null],
  ['', null],
])('a million tokens of %j cost %j', (model, expected) => {
  expect(outputPrice(model)).toBe(expected);
});

test.each<[string, number | null]>([
  ['gpt-5', 10],
  ['openai/gpt-5', 10],
  ['gpt-5-2025-08-07', 10],
  ['models/gemini-2.5-pro', 10],
  // The first version cost twice as much, and these are not the model of that name.
  ['gpt-4o-2024-05-13', 15],
  ['gpt-4o-2024-08-06', 10],
  ['chatgpt-4o-latest', null],
  ['gpt-5-chat-latest', null],
  ['gpt-5-pro', null],
  ['gpt-5-pro-2025-10-06', null],
  ['openai/gpt-5:online', null],
  ['ft:gpt-4o-mini:acme::abc', null],
  ['gemini-2.5-flash-image', null],
  ['gemini-2.5-pro-preview-05-06', null],
  ['gpt-4o-audio-preview-2024-12-17', null],
  ['gpt-5.9', null],
  ['gpt-5-of-a-gateway', null],
  ['constructor', null],
])('where the user says nothing, a million tokens of %j cost %j by the public list', (model, expected) => {
  expect(outputPrice(model, {})).toBe(expected);
});

test('nothing is known of other models without a list', () => {
  expect(outputPrice('constructor', {})).toBeNull();
});

test('of two parts that are as long as each other the dearer one counts', () => {
  const both = { abc: price(1, 1, 1), bcd: price(1, 1, 2) };
  expect(outputPrice('abcd', both)).toBe(2);
  expect(outputPrice('abcd', { bcd: both.bcd, abc: both.abc })).toBe(2);
});

test.each<[string, { input: number; cached: number; output: number }, number]>([
  ['input', { input: MILLION, cached: 0, output: 0 }, 2],
  ['input, a part of it from the cache', { input: MILLION, cached: 250_000, output: 0 }, 1.75],
  ['all of it from the cache', { input: MILLION, cached: MILLION, output: 0 }, 1],
  ['more from the cache than there is', { input: MILLION, cached: 5 * MILLION, output: 0 }, 1],
  ['all kinds', { input: 1_000, cached: 400, output: 100 }, 0.0036],
  ['none', { input: 0, cached: 0, output: 0 }, 0],
  ['invalid numbers', { input: NaN, cached: -5, output: Infinity }, 0],
])('%s', (_what, tokens, expected) => {
  expect(computeModelCost(prices, 'gpt-5.5', tokens)).toBeCloseTo(expected, 9);
});

test('more tokens never cost less, and the price of one model is not that of another', () => {
  const amount = fc.nat({ max: 1_000 });
  const any = fc.record({ input: amount, cachedInput: amount, output: amount });
  fc.assert(
    fc.property(any, amount, amount, amount, (one, input, output, more) => {
      const given = { m: one };
      const cost = (tokens: { input: number; output: number }) =>
        computeModelCost(given, 'm', { ...tokens, cached: 0 }) ?? NaN;
      const before = cost({ input, output });
      expect(cost({ input: input + more, output })).toBeGreaterThanOrEqual(before);
      expect(cost({ input, output: output + more })).toBeGreaterThanOrEqual(before);
      expect(computeModelCost(given, 'x', { input, cached: 0, output })).toBeNull();
    }),
    { numRuns: runs(200) },
  );
});
