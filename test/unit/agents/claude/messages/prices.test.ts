import { expect, test } from 'vitest';
import {
  computeCostUsd as costBy,
  priceOfClaude,
  type Terms,
  type ClaudeTokenCounts,
} from '../../../../../src/agents/claude/messages/prices.ts';

const none: ClaudeTokenCounts = { input: 0, cacheWrite: 0, cacheWriteHour: 0, cacheRead: 0, output: 0, webSearches: 0 };
const MILLION = 1_000_000;
const terms = (model: string, isFast: boolean): Terms => ({ model, isFast, staysInOneCountry: false, prices: {} });
const costUsd = (counts: ClaudeTokenCounts, model: string, isFast: boolean): number =>
  costBy(counts, terms(model, isFast));

// Costs that Claude Code 2.1.330 printed for a million tokens of each kind; Sonnet 4 costs twice as much for such a
// long input.
test.each<[string, number, number, number]>([
  ['claude-opus-5-5', 4, 20, 0.2],
  ['claude-sonnet-5-5', 2, 10, 0.1],
  ['claude-haiku-5-5', 0.5, 0.5, 0.05],
  ['claude-opus-5', 5, 25, 0.5],
  ['claude-opus-4-8', 5, 25, 0.5],
  ['claude-opus-4-5', 5, 25, 0.5],
  ['claude-sonnet-5', 2, 10, 0.2],
  ['claude-sonnet-4-5', 6, 15, 0.6],
  ['claude-3-7-sonnet-latest', 3, 15, 0.3],
  ['claude-haiku-4-5', 1, 5, 0.1],
  ['claude-mythos-5', 10, 50, 1],
  ['claude-fable-5', 10, 50, 1],
  // The CLI does not know this model's price: it asks for a newer one instead.
  ['claude-opus-4-1-20250805', 15, 75, 1.5],
  ['claude-opus-4-20250514', 15, 75, 1.5],
  ['anthropic/claude-opus-4.1', 15, 75, 1.5],
  ['anthropic/claude-opus-4:thinking', 15, 75, 1.5],
  ['claude-opus-4[1m]', 15, 75, 1.5],
  ['claude-opus-4-latest', 15, 75, 1.5],
  ['anthropic.claude-opus-4-v1:0', 15, 75, 1.5],
  ['claude-4-opus-20250514', 15, 75, 1.5],
  ['claude-opus-4-6-v1', 5, 25, 0.5],
  ['claude-opus-4-5[1m]', 5, 25, 0.5],
  ['claude-opus-4-10', 5, 25, 0.5],
  // The names that a cloud and a gateway use.
  ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 6, 15, 0.6],
  ['Anthropic/Claude-Haiku-4.5', 1, 5, 0.1],
  ['some-model-of-a-gateway', 5, 25, 0.5],
  ['', 5, 25, 0.5],
])('%s: $%d, $%d, $%d', (model, input, output, cacheRead) => {
  expect(costUsd({ ...none, input: MILLION }, model, false)).toBeCloseTo(input, 6);
  expect(costUsd({ ...none, output: MILLION }, model, false)).toBeCloseTo(output, 6);
  expect(costUsd({ ...none, cacheRead: MILLION }, model, false)).toBeCloseTo(cacheRead, 6);
});

test('the cache costs more to write, a search its own price, the fast mode several times as much', () => {
  expect(costUsd({ ...none, cacheWrite: MILLION }, 'claude-opus-5-5', false)).toBeCloseTo(5, 6);
  expect(costUsd({ ...none, cacheWriteHour: MILLION }, 'claude-opus-5-5', false)).toBeCloseTo(8, 6);
  expect(costUsd({ ...none, webSearches: 1 }, 'claude-opus-5-5', false)).toBeCloseTo(0.01, 6);
  expect(costUsd({ ...none, output: MILLION }, 'claude-opus-5-5', true)).toBeCloseTo(120, 6);
});

test('a long question to Sonnet 4 makes its answer dearer, and a promise to stay in one place makes all of it dearer', () => {
  const long = { ...none, input: 200_001, output: MILLION };
  expect(costUsd(long, 'claude-sonnet-4-5', false)).toBeCloseTo(0.400002 * 3 + 22.5, 6);
  expect(costUsd({ ...long, input: 200_000 }, 'claude-sonnet-4-5', false)).toBeCloseTo(0.6 + 15, 6);
  expect(
    costBy({ ...none, output: MILLION }, { ...terms('claude-opus-5-5', false), staysInOneCountry: true }),
  ).toBeCloseTo(22, 6);
});

test.each<[string, boolean]>([
  ['claude-sonnet-4-5-20250929', true],
  ['us.anthropic.claude-opus-4-5-20251101-v1:0', true],
  ['global.anthropic.claude-sonnet-4-5-20250929-v1:0', true],
  ['anthropic.claude-3-5-haiku-20241022-v1:0', true],
  ['arn:aws:bedrock:us-east-1:123:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0', true],
  ['claude-sonnet-4-5@20250929', true],
  ['claude-3-5-haiku', true],
  ['anthropic/claude-opus-4.1', true],
  ['opus', true],
  ['sonnet[1m]', true],
  ['default', true],
  ['opusplan', true],
  ['CLAUDE-OPUS-5-5', true],
  ['claude-2.1', false],
  ['claude-next', false],
  ['opus-of-a-gateway', false],
  ['my-claude-opus', false],
  ['some-model-of-a-gateway', false],
  ['arn:aws:bedrock:us-east-1:123:application-inference-profile/abc123', false],
  ['glm-4.6', false],
  ['', false],
])('the price of %j is known: %j', (model, expected) => {
  expect(priceOfClaude(model, {}) !== null).toBe(expected);
});

test('what the user says comes before the list', () => {
  const prices = { 'glm-4': { input: 0.6, cachedInput: 0.1, output: 2.2 } };
  expect(priceOfClaude('glm-4.6', prices)).toEqual({ input: 0.6, output: 2.2, cacheRead: 0.1 });
});
