import { expect, test } from 'vitest';
import { createUpdates } from '../../../../src/agents/acp/events/updates.ts';

test.each<readonly [what: string, response: object, tokens: number | null]>([
  ['nothing', { stopReason: 'end_turn' }, null],
  ['a sum', { usage: { inputTokens: 90, outputTokens: 45, totalTokens: 150 } }, 150],
  ['a sum beside it', { _meta: { usage: { totalTokens: 150 } } }, 150],
  ['a count of each kind', { _meta: { quota: { token_count: { input_tokens: 400, output_tokens: 200 } } } }, 600],
  ['a count that is not a number', { _meta: { quota: { token_count: { input_tokens: 'many' } } } }, null],
])('the tokens of a response with %s', (_what, response, tokens) => {
  const events = createUpdates(0).used({ ...response });
  expect(events).toEqual(tokens === null ? [] : [{ kind: 'used', tokens, costUsd: null }]);
});
