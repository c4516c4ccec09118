import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { createGeminiProtocol } from '../../../../src/agents/gemini/messages/protocol.ts';
import type { CallLimits } from '../../../../src/core/spending/meter.ts';
import { createBroker } from '../../../../src/isolation/broker.ts';
import { listenOnLoopback } from '../../../../src/isolation/listening.ts';
import { createDirectSend } from '../../../../src/isolation/provider-connection.ts';

const KEY = 'AIza-the-real-one';
const USAGE = { promptTokenCount: 10_000, cachedContentTokenCount: 5_000, candidatesTokenCount: 1_000 };
const ANSWER = `data: ${JSON.stringify({ candidates: [], usageMetadata: USAGE })}\r\n\r\n`;

/** Creates a stand-in for Google on loopback with a broker in front of it. */
async function createScene(limits: CallLimits) {
  const seen: { readonly url: string; readonly headers: IncomingMessage['headers'] }[] = [];
  const server = createServer((request, response) => {
    seen.push({ url: request.url ?? '', headers: request.headers });
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(ANSWER);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const broker = createBroker({
    // A million tokens cost 10 dollars, 1 from the cache, 100 for the answer: the answer above costs 0.155.
    protocol: createGeminiProtocol({
      prices: { gemini: { input: 10, cachedInput: 1, output: 100 } },
      mayWebSearch: false,
    }),
    provider: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    keys: { GEMINI_API_KEY: KEY },
    secrets: [KEY],
    environmentFor: ({ address, placeholders }) => ({ GOOGLE_GEMINI_BASE_URL: address, ...placeholders }),
    sign: null,
    connect: () => Promise.resolve(createDirectSend()),
    listen: listenOnLoopback,
  });
  const call = await broker.open(limits, () => undefined);
  const { GOOGLE_GEMINI_BASE_URL: address = '', GEMINI_API_KEY: placeholder = '' } = call.environment;
  return {
    seen,
    call,
    placeholder,
    ask: (
      target: string,
      {
        body = {},
        headers = { 'x-goog-api-key': placeholder },
      }: { body?: object; headers?: Record<string, string> } = {},
    ) => fetch(`${address}/v1beta/models/${target}`, { method: 'POST', headers, body: JSON.stringify(body) }),
    [Symbol.asyncDispose]: async () => {
      await call.end();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const STREAM = 'gemini-2.5-pro:streamGenerateContent?alt=sse';

test('the agent holds a placeholder, Google gets the key, and the bill is by the prices of the user', async () => {
  await using scene = await createScene({ tokens: null, costUsd: null });
  expect(JSON.stringify(scene.call.environment)).not.toContain(KEY);
  const answer = await scene.ask(STREAM);
  expect([answer.status, await answer.text()]).toEqual([200, ANSWER]);
  expect((await scene.ask('gemini-2.5-pro:countTokens')).status).toBe(200);
  expect(scene.seen).toMatchObject([
    { url: `/v1beta/models/${STREAM}`, headers: { 'x-goog-api-key': KEY } },
    { url: '/v1beta/models/gemini-2.5-pro:countTokens', headers: { 'x-goog-api-key': KEY } },
  ]);
  const bill = await scene.call.end();
  expect(bill).toMatchObject({ requests: 2, tokens: 11_000, exhausted: null, refused: [], unpriced: null });
  expect(bill.costUsd).toBeCloseTo(0.155, 9);
});

test('what is not the CLI’s never reaches Google', async () => {
  await using scene = await createScene({ tokens: null, costUsd: null });
  const statuses = [
    await scene.ask(`${STREAM}&key=${scene.placeholder}`),
    await scene.ask(STREAM, { headers: { 'x-goog-api-key': 'AIza-another' } }),
    await scene.ask(STREAM, { body: { tools: [{ urlContext: {} }] } }),
    await scene.ask('gemini-2.5-pro:embedContent'),
  ].map(({ status }) => status);
  expect(statuses).toEqual([400, 401, 400, 400]);
  expect(scene.seen).toEqual([]);
  expect((await scene.call.end()).refused).toEqual([
    `POST /v1beta/models/gemini-2.5-pro:streamGenerateContent with a query`,
    'a request without the placeholder of this call',
    'the tool "urlContext" of the provider\'s servers',
    'POST /v1beta/models/gemini-2.5-pro:embedContent',
  ]);
});

test.each<[CallLimits, string]>([
  [{ tokens: null, costUsd: 0.15 }, 'cost'],
  [{ tokens: 11_000, costUsd: null }, 'tokens'],
])('a call with the limits %j ends by its %s', async (limits, exhausted) => {
  await using scene = await createScene(limits);
  await (await scene.ask(STREAM)).text();
  const second = await scene.ask(STREAM);
  expect([second.status, await second.json()]).toEqual([
    400,
    { error: { code: 400, message: 'The limit of this run is reached.', status: 'FAILED_PRECONDITION' } },
  ]);
  expect(await scene.call.end()).toMatchObject({ requests: 1, exhausted });
});
