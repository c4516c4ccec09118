import { describe, expect, test } from 'vitest';
import { bedrockApi, createClaudeProtocol, messagesApi } from '../../../../../src/agents/claude/messages/protocol.ts';
import type { AgentRequest, Reading } from '../../../../../src/ports/broker.ts';

const KEYS: Readonly<Record<string, string>> = {
  'a-placeholder': 'sk-ant-api-real',
  'b-placeholder': 'sk-ant-oat-real',
};
const read = (request: Partial<AgentRequest>, mayWebSearch = false, api = messagesApi): Reading =>
  createClaudeProtocol({ api, headers: { 'x-gateway': 'secret' }, mayWebSearch, prices: {} }).read(
    {
      method: 'POST',
      target: '/v1/messages?beta=true',
      headers: { 'x-api-key': 'a-placeholder' },
      body: '{"model":"claude-sonnet-5-5","max_tokens":100,"messages":[]}',
      ...request,
    },
    (placeholder) => KEYS[placeholder] ?? null,
  );
const body = (more: object): Partial<AgentRequest> => ({
  body: JSON.stringify({ model: 'claude-sonnet-5-5', max_tokens: 100, messages: [], ...more }),
});
const said = (content: unknown): object => ({ messages: [{ role: 'user', content }] });

test.each<[string, Partial<AgentRequest>, number, RegExp]>([
  ['no credential', { headers: {} }, 401, /without the placeholder/],
  ['a key of its own', { headers: { 'x-api-key': 'sk-ant-api-of-an-attacker' } }, 401, /without the placeholder/],
  ['another scheme', { headers: { authorization: 'Basic a-placeholder' } }, 401, /without the placeholder/],
  ['another method', { method: 'GET' }, 403, /GET \/v1\/messages/],
  ['files', { target: '/v1/files' }, 403, /\/v1\/files/],
  ['batches', { target: '/v1/messages/batches' }, 403, /batches/],
  ['a way up', { target: '/v1/messages/../files' }, 403, /files/],
  ['an encoded way up', { target: '/v1/messages/%2e%2e/files' }, 403, /files/],
  ['another query', { target: '/v1/messages?beta=true&x=1' }, 403, /x=1/],
  ['another host', { target: 'http://evil.example/v1/messages' }, 403, /evil/],
  ['no JSON', { body: '{"model":' }, 400, /not a JSON object/],
  ['no object', { body: '[]' }, 400, /not a JSON object/],
  ['MCP servers', body({ mcp_servers: [{ url: 'https://evil.example' }] }), 403, /MCP servers/],
  ['a container', body({ container: 'c1' }), 403, /container/],
  ['a search', body({ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }), 403, /web_search_20250305/],
  ['a fetch', body({ tools: [{ name: 'Read', input_schema: {} }, { type: 'web_fetch_20250910' }] }), 403, /web_fetch/],
  ['code', body({ tools: [{ type: 'code_execution_20250825' }] }), 403, /code_execution/],
  ['a toolset', body({ tools: [{ type: 'mcp_toolset' }] }), 403, /mcp_toolset/],
  ['tools in another form', body({ tools: { type: 'web_fetch_20250910' } }), 403, /unknown form/],
  [
    'an image by address',
    body(said([{ type: 'image', source: { type: 'url', url: 'https://evil.example' } }])),
    403,
    /an address/,
  ],
  ['a bucket', body(said([{ type: 'document', source: { type: 's3', uri: 's3://b/k' } }])), 403, /kind "s3"/],
  ['a file', body(said([{ type: 'document', source: { type: 'file', file_id: 'f' } }])), 403, /stored file/],
  [
    'an address in a result',
    body(said([{ type: 'tool_result', content: [{ type: 'document', source: { type: 'url' } }] }])),
    403,
    /an address/,
  ],
  [
    'an address in a document',
    body(said([{ type: 'document', source: { type: 'content', content: [{ source: { type: 'url' } }] } }])),
    403,
    /an address/,
  ],
  ['an upload', body(said([{ type: 'container_upload', file_id: 'f' }])), 403, /stored file/],
  ['too deep', body(said(JSON.parse('['.repeat(100) + ']'.repeat(100)))), 403, /too deep/],
])('refused: %s', (_what, request, status, why) => {
  const reading = read(request);
  expect(reading).toMatchObject({ kind: 'refused', answer: { status, headers: { 'x-should-retry': 'false' } } });
  expect(reading.kind === 'refused' && reading.why).toMatch(why);
});

describe('forwarded', () => {
  const forwarded = (request: Partial<AgentRequest>, mayWebSearch = false) => {
    const reading = read(request, mayWebSearch);
    if (reading.kind !== 'forwarded') throw new Error(JSON.stringify(reading));
    return reading;
  };

  test('with the real key, the headers of the CLI and those of the user, and nothing else', () => {
    const { headers } = forwarded({
      headers: {
        'x-api-key': 'a-placeholder',
        'anthropic-version': '2023-06-01',
        'anthropic-beta': 'claude-code-20250219, mcp-client-2025-11-20,files-api-2025-04-14,web-fetch-2025-09-10',
        'content-type': 'application/json; charset=utf-7',
        'x-stainless-arch': 'x64',
        'user-agent': 'claude-cli',
        'x-gateway': 'of the agent',
        authorization: 'Bearer sk-ant-of-an-attacker',
        cookie: 'a=b',
        host: '127.0.0.1',
        connection: 'keep-alive',
        'x-forwarded-for': '10.0.0.1',
      },
    });
    expect(headers).toEqual({
      'x-api-key': 'sk-ant-api-real',
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'claude-code-20250219',
      'x-stainless-arch': 'x64',
      'user-agent': 'claude-cli',
      'x-gateway': 'secret',
      'content-type': 'application/json',
      'accept-encoding': 'identity',
    });
  });

  test('a subscription is asked with its token', () => {
    expect(forwarded({ headers: { authorization: 'Bearer b-placeholder' } }).headers).toEqual({
      authorization: 'Bearer sk-ant-oat-real',
      'anthropic-beta': 'oauth-2025-04-20',
      'x-gateway': 'secret',
      'content-type': 'application/json',
      'accept-encoding': 'identity',
    });
  });

  test.each<[string, Partial<AgentRequest>]>([
    [
      'tools of the CLI',
      body({
        tools: [
          { name: 'Bash', input_schema: { properties: { source: { type: 'url' } } } },
          { type: 'custom', name: 'x' },
          { type: 'bash_20250124' },
          { type: 'tool_search_tool_regex_20251119' },
        ],
      }),
    ],
    [
      'what a tool was called with',
      body(said([{ type: 'tool_use', input: { source: { type: 'url' }, mcp_servers: [1] } }])),
    ],
    ['an image', body(said([{ type: 'image', source: { type: 'base64', data: 'AA==' } }]))],
    ['empty lists', body({ mcp_servers: [], tools: [], container: null })],
  ])('%s', (_what, request) => {
    expect(forwarded(request).target).toBe('/v1/messages?beta=true');
  });

  test('a search that the user allows', () => {
    expect(forwarded(body({ tools: [{ type: 'web_search_20250305' }] }), true).kind).toBe('forwarded');
    expect(read(body({ tools: [{ type: 'web_fetch_20250910' }] }), true).kind).toBe('refused');
  });

  test('a key that comes twice is sent once, as it was checked', () => {
    const twice = '{"mcp_servers":[{"url":"x"}],"model":"m","messages":[],"mcp_servers":[]}';
    expect(forwarded({ body: twice }).body).toBe('{"mcp_servers":[],"model":"m","messages":[]}');
  });

  test('what it will come to, and what it came to', () => {
    const request = forwarded(body({ stream: true, max_tokens: 128_000, system: 'x'.repeat(4_000) }));
    expect(request.expected.tokens).toBeGreaterThan(17_000);
    expect(request.expected.tokens).toBeLessThan(17_100);
    expect(request.expected.costUsd).toBeCloseTo(0.162, 3);
    const account = request.account?.('application/json');
    account?.push('{"usage":{"input_tokens":1000,"output_tokens":2000}}');
    expect(account?.spent()).toEqual({ tokens: 3_000, outputTokens: 2_000, costUsd: 0.022 });
  });

  test('an answer without usage is counted by its length, and counting costs nothing', () => {
    const account = forwarded(body({ system: 'x'.repeat(4_000) })).account?.('text/event-stream');
    account?.push('y'.repeat(400));
    expect(account?.spent().tokens).toBeGreaterThan(1_100);
    const count = forwarded({ target: '/v1/messages/count_tokens' });
    expect(count).toMatchObject({
      target: '/v1/messages/count_tokens',
      account: null,
      expected: { tokens: 0, costUsd: 0 },
    });
  });
});

test('who asks whether anybody is there is answered', () => {
  expect(read({ method: 'HEAD', target: '/', headers: {} })).toMatchObject({
    kind: 'answered',
    answer: { status: 200 },
  });
});

describe('where the path names the model, and the body the betas', () => {
  const target = '/model/eu.anthropic.claude-haiku-5-5-v1:0/invoke-with-response-stream';
  const invoke = (more: object): Reading => read({ target, ...body(more) }, false, bedrockApi);

  test.each<[unknown, unknown]>([
    [
      ['interleaved-thinking-2025-05-14', 'mcp-client-2025-11-20', ' context-1m-2025-08-07', 7],
      ['interleaved-thinking-2025-05-14', 'context-1m-2025-08-07'],
    ],
    [['files-api-2025-04-14'], undefined],
    ['code-execution-2025-08-25', undefined],
    ['effort-2025-11-24', ['effort-2025-11-24']],
  ])('betas %j pass as %j', (given, passed) => {
    const reading = invoke({ anthropic_beta: given });
    expect(reading.kind === 'forwarded' && (JSON.parse(reading.body) as object)).toEqual({
      model: 'claude-sonnet-5-5',
      max_tokens: 100,
      messages: [],
      ...(passed === undefined ? {} : { anthropic_beta: passed }),
    });
  });

  test('the path counts, whatever the body says', () => {
    const reading = invoke({ model: 'claude-opus-5-5', max_tokens: 16_000 });
    expect(reading).toMatchObject({ kind: 'forwarded', target });
    // The expected cost is that of 16,000 tokens of this model at 0.5 dollars per million, plus the prompt.
    expect(reading.kind === 'forwarded' && reading.expected.costUsd).toBeCloseTo(0.008, 4);
  });

  test('what reaches out is refused here, too', () => {
    expect(invoke({ mcp_servers: [{ url: 'https://evil.example' }] })).toMatchObject({ kind: 'refused' });
  });

  test('the question for profiles is answered without a word', () => {
    const question = { method: 'GET', target: '/inference-profiles?type=SYSTEM_DEFINED', headers: {}, body: '' };
    expect(read(question, false, bedrockApi)).toMatchObject({ kind: 'answered', answer: { status: 404 } });
    expect(read(question)).toMatchObject({ kind: 'refused' });
  });
});

describe("answers of our own, in the provider's words", () => {
  const protocol = createClaudeProtocol({ api: messagesApi, headers: {}, mayWebSearch: false, prices: {} });
  const error = (type: string, message: string): string => JSON.stringify({ type: 'error', error: { type, message } });
  const final = { 'content-type': 'application/json', 'x-should-retry': 'false' };
  const refusal = (request: Partial<AgentRequest>) => {
    const reading = read(request);
    return reading.kind === 'refused' ? reading.answer : null;
  };

  test.each([
    [
      'nothing is left',
      protocol.exhausted,
      400,
      error('invalid_request_error', 'Credit balance is too low: the limit of this run is reached'),
      final,
    ],
    [
      'too large',
      protocol.tooLarge,
      413,
      error('request_too_large', 'Prompt is too long: the request is larger than 32 MB'),
      final,
    ],
    [
      'not reached, which another try may change',
      protocol.unreachable('ECONNREFUSED'),
      502,
      error('api_error', 'The provider cannot be reached: ECONNREFUSED'),
      { 'content-type': 'application/json' },
    ],
    [
      'no credential',
      refusal({ headers: {} }),
      401,
      error('authentication_error', 'ralph-action does not pass on a request without the placeholder of this call.'),
      final,
    ],
    [
      'no endpoint, cut',
      refusal({ target: `/v1/${'x'.repeat(500)}` }),
      403,
      error('permission_error', `ralph-action does not pass on POST /v1/${'x'.repeat(71)}.`),
      final,
    ],
    [
      'no JSON',
      refusal({ body: 'null' }),
      400,
      error('invalid_request_error', 'ralph-action does not pass on a body that is not a JSON object.'),
      final,
    ],
    [
      'reaching out',
      refusal(body({ container: 'c' })),
      403,
      error('permission_error', 'ralph-action does not pass on a container.'),
      final,
    ],
  ])('%s', (_what, answer, status, text, headers) => {
    expect(answer).toEqual({ status, headers, body: text });
  });

  test.each(['7', '"text"', 'true'])('%s is not an object', (text) => {
    expect(refusal({ body: text })?.status).toBe(400);
  });

  test('a request that only asks whether the server is there gets only that answer', () => {
    expect(read({ method: 'HEAD', target: '/', headers: {} })).toEqual({
      kind: 'answered',
      answer: { status: 200, headers: {}, body: '' },
    });
  });
});

describe('what a request is expected to come to', () => {
  const costOf = (more: object): number => {
    const reading = read(body({ stream: true, ...more }));
    return reading.kind === 'forwarded' ? reading.expected.costUsd : NaN;
  };
  const usual = costOf({ max_tokens: 1_000_000 });

  test.each<[string, unknown]>([
    ['no limit', undefined],
    ['none that is a number', '100'],
    ['none that is above zero', 0],
    ['a negative one', -5],
  ])('%s: as much as an answer usually takes', (_what, limit) => {
    expect(costOf({ max_tokens: limit })).toBeCloseTo(usual, 4);
  });

  test('a limit below that', () => {
    // The cost is that of 100 tokens at 10 dollars per million, plus the prompt.
    expect(costOf({ max_tokens: 100 })).toBeCloseTo(0.001, 3);
    expect(costOf({ max_tokens: 100 })).toBeLessThan(0.002);
  });

  test('the fast mode is dearer, another is not', () => {
    expect(costOf({ speed: 'fast', max_tokens: 1_000_000 }) / usual).toBeCloseTo(6, 1);
    expect(costOf({ speed: 'standard', max_tokens: 1_000_000 })).toBeCloseTo(usual, 4);
  });

  test('an invalid model name is counted as an unknown model', () => {
    expect(costOf({ model: { opus: 1 }, max_tokens: 1_000_000 })).toBeCloseTo(0.4, 3);
  });

  test('an answer that does not stream is made to its end', () => {
    expect(costOf({ stream: false, max_tokens: 64_000 })).toBeCloseTo(0.64, 3);
  });

  test('tokens of every kind count', () => {
    const reading = read({});
    const account = reading.kind === 'forwarded' ? reading.account?.('application/json') : null;
    account?.push(
      JSON.stringify({
        usage: {
          input_tokens: 1,
          cache_creation_input_tokens: 110,
          cache_creation: { ephemeral_1h_input_tokens: 100 },
          cache_read_input_tokens: 1_000,
          output_tokens: 10_000,
        },
      }),
    );
    expect(account?.spent().tokens).toBe(11_111);
  });
});

describe('headers', () => {
  const headersOf = (headers: AgentRequest['headers']) => {
    const reading = read({ headers });
    return reading.kind === 'forwarded' ? reading.headers : null;
  };

  test.each(['Bearer b-placeholder x', 'x Bearer b-placeholder', 'Bearerb-placeholder', 'Bearer '])(
    'the authorization %j is not accepted',
    (authorization) => {
      expect(headersOf({ authorization })).toBeNull();
    },
  );

  test('several betas, in one header or in several, keep their order; without one there is no header', () => {
    expect(headersOf({ 'x-api-key': 'a-placeholder', 'anthropic-beta': ['a-1, b-2', 'c-3'] })?.['anthropic-beta']).toBe(
      'a-1,b-2,c-3',
    );
    expect(headersOf({ 'x-api-key': 'a-placeholder', 'anthropic-beta': 'mcp-client-2025-11-20' })).not.toHaveProperty(
      'anthropic-beta',
    );
    expect(headersOf({ 'x-api-key': 'a-placeholder', 'x-app': undefined })).not.toHaveProperty('x-app');
  });

  test("only a subscription's token gets the beta of subscriptions, and gets it once", () => {
    expect(headersOf({ authorization: 'Bearer a-placeholder' })).not.toHaveProperty('anthropic-beta');
    const twice = { authorization: 'Bearer b-placeholder', 'anthropic-beta': 'oauth-2025-04-20' };
    expect(headersOf(twice)?.['anthropic-beta']).toBe('oauth-2025-04-20');
  });
});

describe('what a request can come to at most', () => {
  const most = (more: object): { readonly tokens: number; readonly costUsd: number } => {
    const reading = read(body(more));
    return reading.kind === 'forwarded' ? reading.atMost : { tokens: NaN, costUsd: NaN };
  };
  const [cached, hour] = [{ type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h' }].map((kind) => ({
    system: [{ type: 'text', text: 'x'.repeat(100_000), cache_control: kind }],
    max_tokens: 1,
  }));

  const enclosed = (type: string, kind: string) => ({
    role: 'user',
    content: [{ type, source: { type: kind === 'text/plain' ? 'text' : 'base64', media_type: kind, data: 'QUJD' } }],
  });

  test('a name or value in another spelling costs the same', () => {
    const { body: text = '', ...rest } = body(hour ?? {});
    const spelled = read({ ...rest, body: text.replace('"1h"', String.raw`"1\u0068"`) });
    expect(text).toContain('"1h"');
    expect(spelled).toMatchObject({ atMost: { costUsd: expect.closeTo(most(hour ?? {}).costUsd) } });
  });

  test.each<[string, object, number]>([
    ['the answer that it allows', { max_tokens: 64_000 }, 0.64],
    ['the longest answer of any model', { max_tokens: undefined }, 1.28],
    ['no longer answer than that', { max_tokens: 1e9 }, 1.28],
    ['a question by its bytes', { max_tokens: 1, system: 'x'.repeat(100_000) }, 0.2],
    ['the bytes of other letters', { max_tokens: 1, system: '漢'.repeat(100_000) }, 0.6],
    ['a question that is written to the cache', cached ?? {}, 0.25],
    ['for an hour', hour ?? {}, 0.4],
    ['an image, however small', { max_tokens: 1, messages: [enclosed('image', 'image/png')] }, 0.1],
    ['a file of many pages, however small', { max_tokens: 1, messages: [enclosed('document', 'application/pdf')] }, 2],
    ['a file of text', { max_tokens: 1, messages: [enclosed('document', 'text/plain')] }, 0],
    ['a text about files', { max_tokens: 1, system: JSON.stringify(enclosed('document', 'application/pdf')) }, 0],
    [
      'a conversation that is compacted',
      { max_tokens: 64_000, context_management: { edits: [{ type: 'compact_20260112' }] } },
      1.28,
    ],
    ['the longest question that any model takes', { max_tokens: 1, system: 'x'.repeat(3_000_000) }, 2],
    ['the fast mode', { max_tokens: 64_000, speed: 'fast' }, 3.84],
    ['one place', { max_tokens: 64_000, inference_geo: 'us' }, 0.704],
  ])('%s', (_what, more, costUsd) => {
    // The other parts of every request cost less than this.
    expect(most(more).costUsd - costUsd).toBeGreaterThanOrEqual(-0.0001);
    expect(most(more).costUsd - costUsd).toBeLessThan(0.02);
  });
});

test.each<[string, object, string | null]>([
  ['of a family', { model: 'claude-sonnet-4-5-20250929' }, null],
  ['of nobody', { model: 'glm-4.6' }, 'glm-4.6'],
  ['that is not a name', { model: 7 }, ''],
])('a model %s: its price is known, or it is named', (_what, more, unpriced) => {
  expect(read(body(more))).toMatchObject({ kind: 'forwarded', unpriced });
});

test('a count is free, whatever its model', () => {
  expect(read({ ...body({ model: 'glm-4.6' }), target: '/v1/messages/count_tokens' })).toMatchObject({
    unpriced: null,
    atMost: { tokens: 0, costUsd: 0 },
  });
});
