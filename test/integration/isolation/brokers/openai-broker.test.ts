import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { createOpenAiProtocol } from '../../../../src/agents/openai/protocol.ts';
import type { CallLimits } from '../../../../src/core/spending/meter.ts';
import { createBroker } from '../../../../src/isolation/broker.ts';
import { listenOnLoopback } from '../../../../src/isolation/listening.ts';
import { createDirectSend } from '../../../../src/isolation/provider-connection.ts';
import type { BrokeredCall } from '../../../../src/ports/broker.ts';

const KEY = 'sk-proj-the-real-one';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Creates a provider on loopback with OpenAI's APIs, and a broker in front of it. */
async function createScene(handle: Handler) {
  const seen: { readonly url: string; readonly authorization: string | undefined; readonly body: string }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url = '', headers } = request;
      seen.push({ url, authorization: headers.authorization, body: Buffer.concat(chunks).toString() });
      handle(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const provider = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/api/v1`;
  const broker = createBroker({
    protocol: createOpenAiProtocol({
      apis: ['responses', 'chat'],
      basePath: '/v1',
      headers: {},
      mayWebSearch: false,
      prices: { 'gpt-5.5': { input: 5, cachedInput: 0.5, output: 30 } },
    }),
    provider,
    keys: { OPENAI_API_KEY: KEY },
    secrets: [KEY],
    environmentFor: ({ address, placeholders }) => ({ OPENAI_BASE_URL: `${address}/v1`, ...placeholders }),
    sign: null,
    connect: () => Promise.resolve(createDirectSend()),
    listen: listenOnLoopback,
  });
  return {
    seen,
    open: (limits: Partial<CallLimits> = {}) =>
      broker.open({ costUsd: null, tokens: null, ...limits }, () => undefined),
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

/** Makes a request as a CLI does. */
function ask({ environment }: BrokeredCall, path: string, body: object, signal?: AbortSignal): Promise<Response> {
  return fetch(`${environment['OPENAI_BASE_URL'] ?? ''}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${environment['OPENAI_API_KEY'] ?? ''}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-5.5', ...body }),
    ...(signal === undefined ? {} : { signal }),
  });
}

const stream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' });
const delta = (text: string): string =>
  `data: ${JSON.stringify({ type: 'response.output_text.delta', delta: text })}\n\n`;
const COMPLETED = `data: ${JSON.stringify({
  type: 'response.completed',
  response: { usage: { input_tokens: 10_000, input_tokens_details: { cached_tokens: 8_000 }, output_tokens: 1_000 } },
})}\n\n`;
/** 2,000 tokens at 5, 8,000 at 0.5 and 1,000 at 30 dollars per million. */
const COST = 0.044;

test('the agent holds a placeholder, the provider gets the key, and the bill is right', async () => {
  await using scene = await createScene((_request, response) => stream(response).end(delta('Hi') + COMPLETED));
  const call = await scene.open();
  expect(JSON.stringify(call.environment)).not.toContain(KEY);
  const answer = await ask(call, '/responses', { input: 'hi', stream: true, store: true });
  expect(await answer.text()).toBe(delta('Hi') + COMPLETED);
  expect(scene.seen).toMatchObject([{ url: '/api/v1/responses', authorization: `Bearer ${KEY}` }]);
  expect(JSON.parse(scene.seen[0]?.body ?? '')).toMatchObject({ store: false });
  expect(await call.end()).toEqual({
    requests: 1,
    tokens: 11_000,
    outputTokens: 1_000,
    costUsd: expect.closeTo(COST, 8),
    exhausted: null,
    refused: [],
    unpriced: null,
  });
});

test('Chat Completions are asked what they come to, though the CLI does not', async () => {
  const usage = { prompt_tokens: 70, completion_tokens: 30 };
  await using scene = await createScene((_request, response) =>
    stream(response).end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`),
  );
  const call = await scene.open();
  await (await ask(call, '/chat/completions', { messages: [], stream: true })).text();
  expect(JSON.parse(scene.seen[0]?.body ?? '')).toMatchObject({ stream_options: { include_usage: true } });
  expect(await call.end()).toMatchObject({ requests: 1, tokens: 100 });
});

test.each<[string, Partial<CallLimits>, 'cost' | 'tokens']>([
  ['cost', { costUsd: COST }, 'cost'],
  ['tokens', { tokens: 11_000 }, 'tokens'],
])('a limit of %s ends the call in the words of the provider', async (_what, limits, exhausted) => {
  await using scene = await createScene((_request, response) => stream(response).end(COMPLETED));
  const call = await scene.open(limits);
  await (await ask(call, '/responses', { input: 'hi', stream: true })).text();
  const last = await ask(call, '/responses', { input: 'hi', stream: true });
  expect([last.status, await last.json()]).toEqual([
    400,
    {
      error: {
        message: 'The limit of this run is reached: no more requests are passed on',
        type: 'invalid_request_error',
        param: null,
        code: 'run_limit_reached',
      },
    },
  ]);
  expect(scene.seen).toHaveLength(1);
  expect(await call.end()).toMatchObject({ requests: 1, exhausted });
});

test("a tool of the provider's servers is refused and said, and nobody is asked", async () => {
  await using scene = await createScene((_request, response) => stream(response).end(COMPLETED));
  const call = await scene.open();
  const answer = await ask(call, '/responses', { input: 'hi', tools: [{ type: 'web_search' }] });
  expect(answer.status).toBe(400);
  expect(await answer.text()).toContain('web_search');
  expect(scene.seen).toEqual([]);
  expect(await call.end()).toMatchObject({
    requests: 0,
    refused: ['the tool "web_search" of the provider\'s servers'],
  });
});

test('an answer that the agent does not wait for is counted as far as it came', async () => {
  let isOver = false;
  await using scene = await createScene((request, response) => {
    request.socket.once('close', () => (isOver = true));
    stream(response).write(delta('x'.repeat(400)));
  });
  const call = await scene.open();
  const left = new AbortController();
  const answer = await ask(call, '/responses', { input: 'y'.repeat(4_000), stream: true }, left.signal);
  await answer.body?.getReader().read();
  left.abort();
  await expect.poll(() => isOver).toBe(true);
  const { tokens } = await call.end();
  expect(tokens).toBeGreaterThan(1_100);
  expect(tokens).toBeLessThan(1_200);
});

test('the placeholder of a call is void after its end, and an error does not bring the key back', async () => {
  await using scene = await createScene((request, response) =>
    response
      .writeHead(401, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error: { message: `Incorrect API key: ${String(request.headers.authorization)}` } })),
  );
  const call = await scene.open();
  expect(await (await ask(call, '/responses', { input: 'hi' })).text()).toBe(
    '{"error":{"message":"Incorrect API key: Bearer [key]"}}',
  );
  expect(await call.end()).toMatchObject({ requests: 1, tokens: 0, costUsd: 0 });
  const late = await ask(call, '/responses', { input: 'hi' });
  expect(late.status).toBe(401);
  expect(scene.seen).toHaveLength(1);
});

test('an unreachable provider is reported', async () => {
  const scene = await createScene(() => undefined);
  const call = await scene.open();
  await scene[Symbol.asyncDispose]();
  const answer = await ask(call, '/responses', { input: 'hi' });
  expect([answer.status, await answer.text()]).toEqual([502, expect.stringContaining('ECONNREFUSED')]);
  expect(await call.end()).toMatchObject({ tokens: 0 });
});
