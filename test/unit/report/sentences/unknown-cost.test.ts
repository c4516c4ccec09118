import { expect, test } from 'vitest';
import { renderSummary } from '../../../../src/report/pages/summary.ts';
import { renderClosingBlock } from '../../../../src/report/pages/progress.ts';
import { renderEndAtHome } from '../../../../src/report/sentences/at-home.ts';
import { explainUnknownCost, renderCostNoun, renderRunCost } from '../../../../src/report/sentences/spend.ts';
import { entry, policy, report } from '../fixtures.ts';

const withCost = entry(1);
const withoutCost = entry(2, { analysis: { costUsd: null } });
const killed = entry(3, { analysis: { tokens: null, costUsd: null } });
const mute = entry(5, { agent: 'command', analysis: { tokens: null, costUsd: null } });
const idle = entry(4, { analysis: { tokens: 0, costUsd: null } });
const codex = (change: Parameters<typeof report>[1] = {}) =>
  report(
    { kind: 'limit', reason: 'iterations' },
    { agents: [{ name: 'codex', model: 'gpt-5.5' }], iterations: [withoutCost, withoutCost], costUsd: 0, ...change },
  );
const prices = { 'gpt-5': { input: 1, cachedInput: 0.1, output: 10 } };
const free = { 'gpt-5': { input: 0, cachedInput: 0, output: 0 } };

test.each<[string, Parameters<typeof codex>[0], string, string]>([
  ['every cost is known', { iterations: [withCost, withCost], costUsd: 0.24 }, '$0.24', '$0.24'],
  ['no iteration ran', { iterations: [] }, '$0.00', '$0.00'],
  ['a call was ended before it reported anything', { iterations: [withCost, killed], costUsd: 0.12 }, '$0.12', '$0.12'],
  ['nothing was used', { iterations: [idle] }, '$0.00', '$0.00'],
  ['no cost is known', {}, 'not known', 'cost not known'],
  ['an agent tells nothing', { iterations: [mute] }, 'not known', 'cost not known'],
  ['some are known', { iterations: [withCost, withoutCost], costUsd: 0.12 }, 'at least $0.12', 'at least $0.12'],
  ['the model is free', { prices: free }, '$0.00', '$0.00'],
  ['the model has a price that was not used', { prices }, 'not known', 'cost not known'],
])('the cost when %s', (_when, change, word, noun) => {
  expect(renderRunCost(codex(change))).toBe(word);
  expect(renderCostNoun(codex(change))).toBe(noun);
  expect(explainUnknownCost(codex(change)) === null).toBe(word.startsWith('$'));
});

const LIMITS = '`max-iterations`, `max-minutes`, `max-calls-per-hour` and `max-tokens-per-hour`';

test.each<[string, Parameters<typeof codex>[0], string]>([
  [
    'no prices at all',
    {},
    `Codex reports no cost, and \`prices\` is empty. This run is limited by ${LIMITS}, but not by \`max-cost-usd\` and \`max-cost-usd-per-day\`.`,
  ],
  [
    'prices of other models',
    { agents: [{ name: 'codex', model: 'o5-mini' }], prices, policy: { ...policy, maxCostUsdPerDay: 0 } },
    `Codex reports no cost, and \`prices\` has no entry for o5-mini. This run is limited by ${LIMITS}, but not by \`max-cost-usd\`.`,
  ],
  [
    'a model of its own choice',
    { agents: [{ name: 'codex', model: null }], prices, policy: { ...policy, maxCostUsd: 0, maxCostUsdPerDay: 0 } },
    `Codex reports no cost, and no entry of \`prices\` fits the model that was chosen. This run is limited by ${LIMITS}.`,
  ],
  [
    'an agent of the user that tells its tokens',
    { agents: [{ name: 'acp', model: null }], prices },
    `Your agent reports no cost, and the requests were not counted, so \`prices\` does not help. This run is limited by ${LIMITS}, but not by \`max-cost-usd\` and \`max-cost-usd-per-day\`.`,
  ],
  [
    'a price, and nobody who counts',
    { prices, iterations: [withCost, withoutCost, killed], costUsd: 0.12, policy: { ...policy, maxCostUsd: 0 } },
    `Codex reports no cost, and the requests were not counted, so \`prices\` does not help. 1 of 3 iterations is limited by ${LIMITS}, but not by \`max-cost-usd-per-day\`.`,
  ],
  [
    'several agents, of which one reports it',
    {
      agents: [
        { name: 'claude', model: null },
        { name: 'codex', model: 'o5' },
        { name: 'gemini', model: 'gemini-3' },
        { name: 'qwen', model: 'gpt-5' },
      ],
      prices,
      policy: { ...policy, maxCostUsd: 0, maxCostUsdPerDay: 0 },
    },
    `Codex, Gemini CLI and Qwen Code report no cost, and \`prices\` has no entry for o5 and gemini-3. This run is limited by ${LIMITS}.`,
  ],
  [
    'an agent that reports it of some models',
    { agents: [{ name: 'opencode', model: 'x/y' }], policy: { ...policy, maxCostUsd: 0, maxCostUsdPerDay: 0 } },
    `OpenCode reports no cost, and \`prices\` is empty. This run is limited by ${LIMITS}.`,
  ],
  [
    'an agent that tells nothing at all',
    { agents: [{ name: 'command', model: null }], iterations: [mute] },
    'Your command reports no cost and no tokens. This run is limited by `max-iterations`, `max-minutes` and `max-calls-per-hour`, but not by `max-cost-usd`, `max-cost-usd-per-day` and `max-tokens-per-hour`.',
  ],
  [
    'no bound on tokens',
    { policy: { ...policy, maxTokensPerHour: 0, maxCostUsdPerDay: 0 } },
    'Codex reports no cost, and `prices` is empty. This run is limited by `max-iterations`, `max-minutes` and `max-calls-per-hour`, but not by `max-cost-usd`. Set `max-tokens-per-hour` to limit the tokens, too.',
  ],
])('why it is not known: %s', (_why, change, expected) => {
  expect(explainUnknownCost(codex(change))).toBe(expected);
});

test('the summary says so below the cost, which has no limit then', () => {
  const summary = renderSummary(codex()).replaceAll('\u200B', '');
  expect(summary).toMatch(
    /\*\*Cost:\*\* not known, 12\.3k tokens · 2 iterations in 10 min · .*\n\nCodex reports no cost, and `prices` is empty\. This run is limited/,
  );
  expect(summary).toContain('| Cost | not known, 12.3k tokens |');
  expect(summary).not.toContain('$0.00');
  const partly = renderSummary(codex({ iterations: [withCost, withoutCost], costUsd: 0.12 }));
  expect(partly).toContain('**Cost:** at least $0.12, 12.3k tokens');
  expect(renderSummary(codex({ iterations: [withCost], costUsd: 0.12 }))).not.toContain('reports no cost');
});

test('a name of a model is text', () => {
  const summary = renderSummary(codex({ agents: [{ name: 'codex', model: '<b>@team `x` [a](b)' }], prices }));
  expect(summary).not.toContain('<b>');
  expect(summary).not.toContain('@team');
});

test('the log and the end at home leave no false amount', () => {
  expect(renderEndAtHome(codex())).toContain('12.3k tokens · cost not known');
  expect(renderClosingBlock(codex())).toContain('2 iterations in 10 min, cost not known, 12.3k tokens');
});
