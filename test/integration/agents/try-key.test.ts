import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { buildTrialUrl, tryKey } from '../../../src/agents/claude/try-key.ts';
import { fetchFor } from '../../../src/github/proxied-fetch.ts';

const KEY = 'sk-ant-api03-the-key-of-this-test';

let provider: Server;
let asked: { readonly url: string; readonly key: string }[] = [];
let answer: (() => number) | null = () => 200;

beforeEach(async () => {
  asked = [];
  answer = () => 200;
  provider = createServer(({ url = '', headers }, response) => {
    asked.push({ url, key: String(headers['x-api-key']) });
    if (answer !== null) response.writeHead(answer()).end(`{"echo":"${KEY}"}`);
  });
  await once(provider.listen(0, '127.0.0.1'), 'listening');
});
afterEach(() => {
  vi.unstubAllEnvs();
  provider.closeAllConnections();
  provider.close();
});

const portOf = (server: Server): number => (server.address() as AddressInfo).port;
const local = (): string => buildTrialUrl(`http://127.0.0.1:${String(portOf(provider))}/`);
const trial = async (url: string, timeoutMs = 5_000) => tryKey(KEY, { url, timeoutMs, send: await fetchFor(url) });

test.each([
  [200, { kind: 'accepted' }],
  [401, { kind: 'refused', status: 401 }],
  [403, { kind: 'refused', status: 403 }],
  [529, { kind: 'unanswered' }],
  [302, { kind: 'unanswered' }],
])('HTTP %i', async (status, tried) => {
  answer = () => status;
  const end = await trial(local());
  expect(end).toMatchObject(tried);
  expect(JSON.stringify(end)).not.toContain(KEY);
  expect(asked).toEqual([{ url: '/v1/models?limit=1', key: KEY }]);
});

test('a provider that never answers is left at the limit', async () => {
  answer = null;
  expect(await trial(local(), 100)).toMatchObject({ kind: 'unanswered' });
});

test("the request goes through the runner's proxy", async () => {
  const through: string[] = [];
  const proxy = createServer().on('connect', (request, socket) => {
    through.push(request.url ?? '');
    const upstream = connect(portOf(provider), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    for (const end of [socket, upstream]) end.on('error', () => upstream.destroy());
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  vi.stubEnv('http_proxy', `http://127.0.0.1:${String(portOf(proxy))}`);
  expect(await trial(buildTrialUrl('http://provider.test'))).toEqual({ kind: 'accepted' });
  expect(through).toEqual(['provider.test:80']);
  expect(asked).toEqual([{ url: '/v1/models?limit=1', key: KEY }]);
  proxy.closeAllConnections();
  proxy.close();
});
