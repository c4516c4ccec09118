import { describe, expect, test } from 'vitest';
import { createGeminiProtocol } from '../../../../../src/agents/gemini/messages/protocol.ts';
import type { AgentRequest, Reading } from '../../../../../src/ports/broker.ts';

const KEYS: Readonly<Record<string, string>> = { 'a-placeholder': 'AIza-real' };
const prices = { 'gemini-2.5-pro': { input: 1, cachedInput: 0.1, output: 10 } };
const TARGET = '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse';
const read = (request: Partial<AgentRequest>, mayWebSearch = false): Reading =>
  createGeminiProtocol({ prices, mayWebSearch }).read(
    {
      method: 'POST',
      target: TARGET,
      headers: { 'x-goog-api-key': 'a-placeholder' },
      body: '{"contents":[]}',
      ...request,
    },
    (placeholder) => KEYS[placeholder] ?? null,
  );
const body = (more: object): Partial<AgentRequest> => ({ body: JSON.stringify({ contents: [], ...more }) });

test.each<[string, Partial<AgentRequest>, number, RegExp]>([
  ['no credential', { headers: {} }, 401, /without the placeholder/],
  ['a key of its own', { headers: { 'x-goog-api-key': 'AIza-of-an-attacker' } }, 401, /without the placeholder/],
  ['the placeholder twice', { headers: { 'x-goog-api-key': ['a-placeholder', 'x'] } }, 401, /without the placeholder/],
  ['the placeholder as a token', { headers: { authorization: 'Bearer a-placeholder' } }, 401, /without the/],
  ['the placeholder in the address', { headers: {}, target: `${TARGET}&key=a-placeholder` }, 401, /without the/],
  ['a key in the address', { target: `${TARGET}&key=AIza-x` }, 400, /^POST \/v1beta\/models\/gem.* with a query$/],
  ['another method', { method: 'GET' }, 400, /^GET \/v1beta\/models/],
  ['files', { target: '/upload/v1beta/files' }, 400, /upload/],
  ['no JSON', { body: '{"contents":' }, 400, /not a JSON object/],
  ['a list', { body: '[]' }, 400, /not a JSON object/],
  ['a number', { body: '7' }, 400, /not a JSON object/],
  ['a fetch', body({ tools: [{ urlContext: {} }] }), 400, /the tool "urlContext"/],
  ['a search', body({ tools: [{ google_search: {} }] }), 400, /the tool "google_search"/],
  [
    'a fetch in what is only counted',
    { target: '/v1/models/x:countTokens', ...body({ cachedContent: 'x' }) },
    400,
    /cached/,
  ],
])('refused: %s', (_what, request, status, why) => {
  const reading = read(request);
  expect(reading).toMatchObject({ kind: 'refused', answer: { status } });
  expect(reading.kind === 'refused' && reading.why).toMatch(why);
  expect(JSON.stringify(reading)).not.toMatch(/AIza/);
});

const forwarded = (request: Partial<AgentRequest>, mayWebSearch = false) => {
  const reading = read(request, mayWebSearch);
  if (reading.kind !== 'forwarded') throw new Error(JSON.stringify(reading));
  return reading;
};

// A million tokens cost $1 in the question and $10 in the answer.
test.each<[string, object, number]>([
  ['the longest answer of any model', {}, 0.65536],
  ['the answer that it allows', { generationConfig: { maxOutputTokens: 10_000 } }, 0.1],
  ['in the other spelling', { generation_config: { max_output_tokens: 10_000 } }, 0.1],
  ['several answers', { generationConfig: { maxOutputTokens: 10_000, candidateCount: 3 } }, 0.3],
  ['a question by its bytes', { systemInstruction: { parts: [{ text: 'x'.repeat(400_000) }] } }, 1.05536],
])('what a request may cost at most: %s', (_what, more, costUsd) => {
  const { atMost } = forwarded(body(more));
  expect(atMost.costUsd - costUsd).toBeGreaterThanOrEqual(0);
  expect(atMost.costUsd - costUsd).toBeLessThan(0.002);
});

describe('forwarded', () => {
  test('with the real key, what the CLI says of itself, and nothing else', () => {
    const { headers } = forwarded({
      headers: {
        'x-goog-api-key': 'a-placeholder',
        'user-agent': 'GeminiCLI/0.61.0',
        'x-goog-api-client': 'google-genai-sdk/1.30.0',
        'x-server-timeout': '60',
        'x-gemini-api-privileged-user-id': ['a', 'b'],
        'x-gemini-none': undefined,
        accept: 'application/x-protobuf',
        'content-type': 'application/x-protobuf',
        'accept-encoding': 'gzip',
        authorization: 'Bearer ya29.of-an-attacker',
        cookie: 'a=b',
        host: '127.0.0.1',
        'x-goog-user-project': 'a-project',
        'x-goog-fieldmask': 'candidates',
        'x-goog-request-params': 'model=x',
        'x-http-method-override': 'GET',
      },
    });
    expect(headers).toEqual({
      'x-goog-api-key': 'AIza-real',
      'user-agent': 'GeminiCLI/0.61.0',
      'x-goog-api-client': 'google-genai-sdk/1.30.0',
      'x-server-timeout': '60',
      'x-gemini-api-privileged-user-id': 'a, b',
      accept: '*/*',
      'content-type': 'application/json',
      'accept-encoding': 'identity',
    });
  });

  test('to the address it was sent to', () => {
    expect(forwarded({}).target).toBe(TARGET);
  });

  test('a search that the user allows', () => {
    expect(forwarded(body({ tools: [{ googleSearch: {} }] }), true).kind).toBe('forwarded');
    expect(read(body({ tools: [{ googleSearch: {}, urlContext: {} }] }), true).kind).toBe('refused');
  });

  test('a key that comes twice is sent once, as it was checked', () => {
    const twice = '{"tools":[{"urlContext":{}}],"contents":[],"tools":[]}';
    expect(forwarded({ body: twice }).body).toBe('{"tools":[],"contents":[]}');
  });

  test('counting costs nothing', () => {
    expect(forwarded({ target: '/v1beta/models/gemini-2.5-pro:countTokens' })).toMatchObject({
      account: null,
      expected: { tokens: 0, outputTokens: 0, costUsd: 0 },
    });
  });
});

describe('what a request is expected to come to', () => {
  const outputOf = (more: object): number => {
    const request = body(more);
    return forwarded(request).expected.tokens - Math.ceil((request.body ?? '').length / 4);
  };

  test.each<[string, object, number]>([
    ['no limit', {}, 16_000],
    ['a limit below what is usual', { generationConfig: { maxOutputTokens: 100 } }, 100],
    ['its other name', { generation_config: { max_output_tokens: 100 } }, 100],
    ['a limit above it', { generationConfig: { maxOutputTokens: 65_536 } }, 16_000],
    ['one that is not a number', { generationConfig: { maxOutputTokens: '100' } }, 16_000],
    ['one that is not above zero', { generationConfig: { maxOutputTokens: 0 } }, 16_000],
    ['an invalid configuration', { generationConfig: [100] }, 16_000],
  ])('%s', (_what, more, expected) => {
    expect(outputOf(more)).toBe(expected);
  });

  test('costs what the user says that the model costs', () => {
    const { expected } = forwarded(body({ generationConfig: { maxOutputTokens: 1_000 } }));
    expect(expected.costUsd).toBeCloseTo(0.01 + (expected.tokens - 1_000) / 1e6, 9);
  });

  test('has no known cost without a price, and spends tokens anyway', () => {
    const { expected } = forwarded({ target: '/v1/models/gemma-3:generateContent' });
    expect(expected.costUsd).toBe(0);
    expect(expected.tokens).toBeGreaterThan(16_000);
  });
});

describe('what it came to', () => {
  test('by its usage: what is cached is cheaper, what was thought counts', () => {
    const account = forwarded({}).account?.('text/event-stream');
    const usageMetadata = {
      promptTokenCount: 100_000,
      cachedContentTokenCount: 50_000,
      candidatesTokenCount: 1_000,
      thoughtsTokenCount: 9_000,
    };
    account?.push(`data: ${JSON.stringify({ usageMetadata })}\n\n`);
    // 50,000 tokens at 1 dollar per million, 50,000 at 0.1, 10,000 at 10.
    expect(account?.spent()).toMatchObject({ tokens: 110_000, outputTokens: 10_000 });
    expect(account?.spent().costUsd).toBeCloseTo(0.155, 9);
  });

  test('by its length where it tells none', () => {
    const account = forwarded(body({ contents: [{ parts: [{ text: 'x'.repeat(4_000) }] }] })).account?.(
      'application/json',
    );
    account?.push('y'.repeat(400));
    expect(account?.spent().tokens).toBe(
      Math.ceil(4_000 / 4) + 100 + Math.ceil('{"contents":[{"parts":[{"text":""}]}]}'.length / 4),
    );
  });
});

describe("answers of our own, in Google's words", () => {
  const protocol = createGeminiProtocol({ prices, mayWebSearch: false });
  const json = { 'content-type': 'application/json' };
  const refusal = (request: Partial<AgentRequest>) => {
    const reading = read(request);
    return reading.kind === 'refused' ? reading.answer : null;
  };

  test.each([
    ['nothing is left', protocol.exhausted, 400, 'FAILED_PRECONDITION', 'The limit of this run is reached.'],
    [
      'too large',
      protocol.tooLarge,
      400,
      'INVALID_ARGUMENT',
      'The request exceeds the maximum length: it is larger than 32 MB.',
    ],
    [
      'not reached, which another try may change',
      protocol.unreachable('ECONNREFUSED'),
      502,
      'UNAVAILABLE',
      'The provider cannot be reached: ECONNREFUSED',
    ],
    [
      'no credential',
      refusal({ headers: {} }),
      401,
      'UNAUTHENTICATED',
      'ralph-action does not pass on a request without the placeholder of this call.',
    ],
    [
      'no endpoint',
      refusal({ target: '/v1beta/files?key=AIza-x' }),
      400,
      'FAILED_PRECONDITION',
      'ralph-action does not pass on POST /v1beta/files with a query.',
    ],
    [
      'no JSON',
      refusal({ body: 'null' }),
      400,
      'INVALID_ARGUMENT',
      'ralph-action does not pass on a body that is not a JSON object.',
    ],
    [
      'reaching out',
      refusal(body({ cachedContent: 'x' })),
      400,
      'FAILED_PRECONDITION',
      'ralph-action does not pass on "cachedContent" in a request.',
    ],
  ])('%s', (_what, answer, code, status, message) => {
    expect(answer).toEqual({ status: code, headers: json, body: JSON.stringify({ error: { code, message, status } }) });
  });
});
