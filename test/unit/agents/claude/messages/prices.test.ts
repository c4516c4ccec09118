import { expect, test } from 'vitest';
import { costUsd, type TokenCounts } from '../../../../../src/agents/claude/messages/prices.ts';

const none: TokenCounts = { input: 0, cacheWrite: 0, cacheWriteHour: 0, cacheRead: 0, output: 0, webSearches: 0 };
const MILLION = 1_000_000;

// What Claude Code 2.1.330 printed for a million tokens of each kind.
test.each<[string, number, number, number]>([
  ['claude-opus-5-5', 4, 20, 0.2],
  ['claude-sonnet-5-5', 2, 10, 0.1],
  ['claude-haiku-5-5', 0.5, 0.5, 0.05],
  ['claude-opus-5', 5, 25, 0.5],
  ['claude-opus-4-8', 5, 25, 0.5],
  ['claude-opus-4-5', 5, 25, 0.5],
  ['claude-sonnet-5', 2, 10, 0.2],
  ['claude-sonnet-4-5', 3, 15, 0.3],
  ['claude-3-7-sonnet-latest', 3, 15, 0.3],
  ['claude-haiku-4-5', 1, 5, 0.1],
  ['claude-mythos-5', 10, 50, 1],
  ['claude-fable-5', 10, 50, 1],
  // Not the CLI's: it asks for a newer one instead.
  ['claude-opus-4-1-20250805', 15, 75, 1.5],
  ['claude-opus-4-20250514', 15, 75, 1.5],
  ['anthropic/claude-opus-4.1', 15, 75, 1.5],
  // As a cloud and a gateway name them.
  ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 3, 15, 0.3],
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
