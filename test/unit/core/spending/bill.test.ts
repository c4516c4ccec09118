import { expect, test } from 'vitest';
import { withBilledUsage, type MeteredUsage } from '../../../../src/core/spending/meter.ts';
import { analysis as analysisOf } from '../core-fixtures.ts';

const spent = { tokens: 1_000, outputTokens: 100, costUsd: 0.5 };
const bill: MeteredUsage = { requests: 2, ...spent, exhausted: null, refused: [], unpriced: null };
const billing = { kind: 'billing', text: 'Credit balance is too low' } as const;

test.each<[string, Parameters<typeof analysisOf>[0], Partial<MeteredUsage>, object]>([
  [
    'no request was made',
    { tokens: 7, costUsd: 0.1 },
    { requests: 0, tokens: 0, costUsd: 0 },
    { tokens: 7, costUsd: 0.1 },
  ],
  ['it tells a lower cost', { tokens: 1_000, costUsd: 0.4 }, {}, { tokens: 1_000, costUsd: 0.5 }],
  ['it tells many tokens that cost nothing', { tokens: 1e9, costUsd: 0 }, {}, { tokens: 1e9, costUsd: 0.5 }],
  ['it was killed before it reported', { tokens: null, costUsd: null }, {}, { ...spent }],
  ['it tells of longer answers', { tokens: 1_100, outputTokens: 200 }, {}, { tokens: 1_100, outputTokens: 200 }],
  ['it tells tokens alone', { tokens: 2_000, costUsd: null }, {}, { tokens: 2_000, costUsd: 0.5 }],
  ['its model has no price', { tokens: null, costUsd: null }, { costUsd: 0 }, { tokens: 1_000, costUsd: null }],
  [
    'its model has no price, and it tells a cost',
    { tokens: 900, costUsd: 0.4 },
    { costUsd: 0 },
    { tokens: 1_000, costUsd: 0.4 },
  ],
  [
    'no request was answered with more than an error',
    { tokens: null, costUsd: null },
    { tokens: 0, costUsd: 0 },
    { tokens: 0, costUsd: 0 },
  ],
  ['requests went past the CLI', { tokens: 900, costUsd: 0.4 }, {}, { tokens: 1_000, costUsd: 0.5 }],
  ['requests went past the CLI, which is dearer', { tokens: 900, costUsd: 0.6 }, {}, { tokens: 1_000, costUsd: 0.6 }],
  [
    'a limit ended it',
    { tokens: 1_000, costUsd: 0.4, agentError: billing },
    { exhausted: 'cost' },
    { costUsd: 0.5, agentError: { kind: 'budget', text: 'The call reached its limit: the maximum cost.' } },
  ],
  [
    'the tokens ended it',
    { tokens: 1_000, costUsd: 0.4, agentError: billing },
    { exhausted: 'tokens' },
    { agentError: { kind: 'budget', text: 'The call reached its limit: the remaining tokens.' } },
  ],
  [
    'it ended well with the last cent',
    { tokens: 1_000, costUsd: 0.4 },
    { exhausted: 'cost' },
    { costUsd: 0.5, agentError: null },
  ],
  [
    'the provider itself wants money',
    { tokens: 1_000, costUsd: 0.4, agentError: billing },
    {},
    { agentError: billing },
  ],
])('when %s', (_when, analysis, change, expected) => {
  expect(withBilledUsage(analysisOf(analysis), { ...bill, ...change })).toMatchObject(expected);
});

test.each<[string, Parameters<typeof analysisOf>[0], Partial<MeteredUsage>, boolean]>([
  ['the only request asks for it, whatever the CLI says', {}, { requests: 0 }, true],
  ['the call failed', { agentError: { kind: 'other', text: 'API Error: 400' } }, {}, true],
  ['the call continued with another model', {}, {}, false],
])('a model without a price: %s', (_when, analysis, change, ends) => {
  const { agentError } = withBilledUsage(analysisOf(analysis), { ...bill, ...change, unpriced: 'gpt-9' });
  if (!ends) expect(agentError).toBeNull();
  else {
    expect(agentError?.kind).toBe('model');
    expect(agentError?.text).toMatch(/gpt-9=INPUT\/OUTPUT.*max-cost-usd: 0.*max-cost-usd-per-day: 0/);
  }
});
