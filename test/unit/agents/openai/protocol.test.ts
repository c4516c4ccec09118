import { describe, expect, test } from 'vitest';
import { createOpenAiProtocol } from '../../../../src/agents/openai/protocol.ts';
import { asked, chat, forwarded, options, read, responses, type Forwarded } from './fixtures.ts';

const USAGE = { input_tokens: 1_000, input_tokens_details: { cached_tokens: 800 }, output_tokens: 100 };
const spentOn = (request: Forwarded, answer: string, type = 'text/event-stream') => {
  const account = request.account?.(type);
  account?.push(answer);
  return account?.spent();
};
const COMPLETED = `data: ${JSON.stringify({ type: 'response.completed', response: { usage: USAGE } })}\n\n`;
const delta = (text: string): string =>
  `data: ${JSON.stringify({ type: 'response.output_text.delta', item_id: 'msg_1', delta: text })}\n\n`;

describe('the actual cost of a request', () => {
  test("by the user's prices: the cache's tokens are a part of the input", () => {
    const spent = spentOn(forwarded(responses({})), COMPLETED);
    // 200 tokens at 5, 800 at 0.5, 100 at 30 dollars per million.
    expect(spent?.tokens).toBe(1_100);
    expect(spent?.costUsd).toBeCloseTo(0.0044, 8);
  });

  test('of a model that nobody has said the price of: tokens alone', () => {
    for (const model of ['other', { 'gpt-5.5': 1 }])
      expect(spentOn(forwarded(responses({ model })), COMPLETED)).toEqual({
        ...{ tokens: 1_100, outputTokens: 100, costUsd: 0 },
      });
  });

  test('in the fast tier: more', () => {
    const cost = (tier: unknown) => spentOn(forwarded(responses({ service_tier: tier })), COMPLETED)?.costUsd ?? NaN;
    expect(cost('priority') / cost('default')).toBeCloseTo(2.5, 6);
    expect(cost('flex')).toBeCloseTo(cost('default'), 8);
  });

  test('not streamed', () => {
    const answer = JSON.stringify({ id: 'resp_1', usage: USAGE });
    expect(spentOn(forwarded(responses({})), answer, 'application/json')?.tokens).toBe(1_100);
  });

  test.each<[string, string, number]>([
    ['before anything has come: the question', '', 0],
    ['broken off: what has come', delta('a') + delta('x'.repeat(400)), 101],
    ['that reports no usage and no deltas: by its length', 'x'.repeat(400), 100],
  ])('an answer %s', (_how, answer, output) => {
    const request = forwarded(responses({ instructions: 'x'.repeat(4_000) }));
    const input = Math.ceil((responses({ instructions: 'x'.repeat(4_000) }).body ?? '').length / 4);
    expect(spentOn(request, answer)?.tokens).toBe(input + output);
  });

  test('searches count, although the provider reports no tokens', () => {
    const request = forwarded(responses({ tools: [{ type: 'web_search' }] }), { mayWebSearch: true });
    const usage = { input_tokens: 0, output_tokens: 0 };
    const output = [1, 2, 3].map(() => ({ type: 'web_search_call', action: { type: 'search' } }));
    for (const [type, answer] of [
      ['application/json', JSON.stringify({ usage, output })],
      ['text/event-stream', `data: ${JSON.stringify({ type: 'response.completed', response: { usage, output } })}\n\n`],
    ] as const) {
      const spent = spentOn(request, answer, type);
      expect(spent?.costUsd).toBeGreaterThan(0.03);
      expect(spent?.costUsd).toBeLessThan(0.04);
    }
  });

  test('what came after the last report is added', () => {
    const chunk = (text: string): string => `data: ${JSON.stringify({ choices: [{ delta: { content: text } }] })}\n\n`;
    const early = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 2 } })}\n\n`;
    expect(spentOn(forwarded(chat({})), early + chunk('x'.repeat(40)))?.tokens).toBe(22);
    expect(spentOn(forwarded(chat({})), early + chunk('x'))?.tokens).toBe(13);
    expect(spentOn(forwarded(chat({})), chunk('x'.repeat(40)) + early)?.tokens).toBe(12);
  });
});

describe('the expected cost of a request', () => {
  const expected = (api: 'responses' | 'chat', more: object): number => {
    const body = { model: 'gpt-5.5', stream: true, ...more };
    return forwarded(asked(api, body)).expected.tokens - Math.ceil(JSON.stringify(body).length / 4);
  };

  test.each<['responses' | 'chat', object, number]>([
    ['responses', {}, 16_000],
    ['responses', { max_output_tokens: 128_000 }, 16_000],
    ['responses', { max_output_tokens: 100 }, 100],
    ['chat', { max_tokens: 100 }, 100],
    ['chat', { max_completion_tokens: 100, max_tokens: 200 }, 200],
    ['responses', { stream: false, max_output_tokens: 64_000 }, 64_000],
    ['responses', { stream: false }, 128_000],
    ['chat', { max_tokens: 0 }, 16_000],
    ['chat', { max_tokens: -5 }, 16_000],
    ['chat', { max_tokens: '100' }, 16_000],
    ['chat', { max_tokens: 100, n: 3 }, 300],
    ['chat', { max_tokens: 100, n: 1e300 }, 12_800],
    ['chat', { max_tokens: 100, n: 0 }, 100],
  ])('%s with %j: %d tokens and its question', (api, more, tokens) => {
    expect(expected(api, more)).toBe(tokens);
  });

  test('by the same prices', () => {
    expect(forwarded(responses({ max_output_tokens: 1_000 })).expected.costUsd).toBeCloseTo(0.03, 3);
  });
});

describe('the most that a request may cost', () => {
  const most = (api: 'responses' | 'chat', more: object): number =>
    forwarded(asked(api, { model: 'gpt-5.5', stream: true, service_tier: 'default', ...more })).atMost.costUsd;

  // A token of the answer costs $30 per million.
  test.each<['responses' | 'chat', object, number]>([
    ['responses', {}, 3.84],
    ['responses', { max_output_tokens: 100_000 }, 3],
    ['chat', { max_completion_tokens: 100, max_tokens: 100_000 }, 3],
    ['chat', { max_tokens: 10_000, n: 3 }, 0.9],
    ['responses', { max_output_tokens: 100_000, service_tier: 'flex' }, 3],
    ['responses', { max_output_tokens: 100_000, service_tier: 'priority' }, 7.5],
    // The project decides, and may have chosen the fast tier.
    ['responses', { max_output_tokens: 100_000, service_tier: 'auto' }, 7.5],
    ['responses', { max_output_tokens: 100_000, service_tier: undefined }, 7.5],
  ])('%s with %j: $%d and its question', (api, more, costUsd) => {
    expect(most(api, more) - costUsd).toBeGreaterThanOrEqual(0);
    expect(most(api, more) - costUsd).toBeLessThan(0.05);
  });

  test('counts one token per byte of the question', () => {
    const question = most('responses', { max_output_tokens: 1, instructions: 'x'.repeat(100_000) });
    expect(question).toBeGreaterThanOrEqual(0.5);
    expect(question).toBeLessThan(0.52);
  });
});

describe("answers of our own, in the provider's words", () => {
  const protocol = createOpenAiProtocol(options);
  const error = (message: string, type: string, code: string): string =>
    JSON.stringify({ error: { message, type, param: null, code } });
  const final = { 'content-type': 'application/json', 'x-should-retry': 'false' };
  const refusal = (request: Parameters<typeof read>[0]) => {
    const reading = read(request);
    return reading.kind === 'refused' ? reading.answer : null;
  };

  test.each([
    [
      'nothing is left',
      protocol.exhausted,
      400,
      error(
        'The limit of this run is reached: no more requests are passed on',
        'invalid_request_error',
        'run_limit_reached',
      ),
      final,
    ],
    [
      'too large',
      protocol.tooLarge,
      400,
      error(
        "The model's maximum context length is exceeded: the request is larger than 32 MB",
        'invalid_request_error',
        'context_length_exceeded',
      ),
      final,
    ],
    [
      'not reached, which another try may change',
      protocol.unreachable('ECONNREFUSED'),
      502,
      error('The provider cannot be reached: ECONNREFUSED', 'server_error', 'provider_unreachable'),
      { 'content-type': 'application/json' },
    ],
    [
      'no credential',
      refusal({ headers: {} }),
      401,
      error(
        'ralph-action does not pass on a request without the placeholder of this call.',
        'invalid_request_error',
        'not_passed_on',
      ),
      final,
    ],
    [
      'no endpoint, cut',
      refusal({ target: `/v1/${'x'.repeat(500)}` }),
      400,
      error(`ralph-action does not pass on POST /v1/${'x'.repeat(71)}.`, 'invalid_request_error', 'not_passed_on'),
      final,
    ],
    [
      'reaching out',
      refusal(responses({ container: 'c' })),
      400,
      error('ralph-action does not pass on a container.', 'invalid_request_error', 'not_passed_on'),
      final,
    ],
  ])('%s', (_what, answer, status, text, headers) => {
    expect(answer).toEqual({ status, headers, body: text });
  });
});
