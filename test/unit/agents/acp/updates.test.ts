import { expect, test } from 'vitest';
import { createUpdateConverter } from '../../../../src/agents/acp/events/updates.ts';

test.each<readonly [what: string, usage: object, millionths: number]>([
  [
    'of each kind',
    { inputTokens: 60, cachedReadTokens: 40, outputTokens: 30, thoughtTokens: 20, totalTokens: 150 },
    564,
  ],
  ['in one sum', { totalTokens: 150 }, 1500],
])('tokens %s cost what the model costs', (_what, usage, millionths) => {
  const price = { input: 1, cachedInput: 0.1, output: 10 };
  const [event] = createUpdateConverter({ costBefore: 0, price: () => price, commandOf: () => null }).used({ usage });
  expect(event).toMatchObject({ tokens: 150, costUsd: expect.closeTo(millionths / 1e6, 9) });
});

test.each<readonly [what: string, response: object, tokens: number | null]>([
  ['nothing', { stopReason: 'end_turn' }, null],
  ['a sum', { usage: { inputTokens: 90, outputTokens: 45, totalTokens: 150 } }, 150],
  ['a sum beside it', { _meta: { usage: { totalTokens: 150 } } }, 150],
  ['a count of each kind', { _meta: { quota: { token_count: { input_tokens: 400, output_tokens: 200 } } } }, 600],
  ['a count that is not a number', { _meta: { quota: { token_count: { input_tokens: 'many' } } } }, null],
])('the tokens of a response with %s', (_what, response, tokens) => {
  const events = createUpdateConverter({ costBefore: 0, price: () => null, commandOf: () => null }).used({
    ...response,
  });
  expect(events).toEqual(tokens === null ? [] : [{ kind: 'used', tokens, costUsd: null }]);
});
