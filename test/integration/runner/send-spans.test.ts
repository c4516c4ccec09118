import { createServer, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import type { RunSpan } from '../../../src/core/journal/spans.ts';
import { proxyAgentFor } from '../../../src/github/proxied-fetch.ts';
import { sendSpans } from '../../../src/runner/send-spans.ts';
import { decodeSpans, type ReceivedSpan } from '../../otlp.ts';

const TRACE = 'b3c5d6e0b3c5d6e0b3c5d6e0b3c5d6e0';
const root: RunSpan = {
  ...{
    id: '00f067aa0ba902b7',
    parent: null,
    name: 'ralph run',
    startedAt: 1_764_000_000_123,
    endedAt: 1_764_000_009_000,
  },
  attributes: { 'ralph.outcome': 'halted', 'ralph.cost_usd': 0.25, 'ralph.tokens': 12_345 },
  failed: 'safety',
};
const child: RunSpan = {
  ...root,
  id: '00f067aa0ba902b8',
  parent: root.id,
  name: 'ralph iteration',
  attributes: {},
  failed: null,
};

const direct = { attributes: {}, proxy: null };

const closing: (() => void)[] = [];
afterEach(() => {
  vi.unstubAllEnvs();
  for (const close of closing.splice(0)) close();
});

/** Opens a collector that answers with `status`. */
async function collect(status: number) {
  const got: {
    readonly path: string;
    readonly headers: IncomingHttpHeaders;
    readonly spans: readonly ReceivedSpan[];
  }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      got.push({ path: request.url ?? '', headers: request.headers, spans: decodeSpans(Buffer.concat(chunks)) });
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return got;
}

test('spans arrive as protobuf where the standard variables say, with the headers that they name', async () => {
  const got = await collect(200);
  vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'authorization=Bearer%20key-of-the-collector');
  const attributes = { 'service.name': 'ralph-action' };
  expect(await sendSpans({ traceId: TRACE, spans: [root, child] }, { attributes, proxy: null })).toBeNull();
  expect(got).toEqual([
    {
      path: '/v1/traces',
      headers: expect.objectContaining({
        'content-type': 'application/x-protobuf',
        authorization: 'Bearer key-of-the-collector',
      }),
      spans: [
        {
          ...{
            traceId: TRACE,
            id: root.id,
            parent: '',
            name: 'ralph run',
            startedAt: root.startedAt,
            endedAt: root.endedAt,
          },
          attributes: { ...root.attributes, 'error.type': 'safety' },
          status: 2,
        },
        {
          ...{ traceId: TRACE, id: child.id, parent: root.id, name: 'ralph iteration' },
          ...{ startedAt: root.startedAt, endedAt: root.endedAt, attributes: {}, status: 0 },
        },
      ],
    },
  ]);
});

test.each([
  ['refuses them', 400, {}],
  ['is not there', 0, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }],
])('a collector that %s: the reason, and no exception', async (_, status, environment) => {
  await collect(status === 0 ? 200 : status);
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '500');
  expect(await sendSpans({ traceId: TRACE, spans: [root] }, direct)).toMatch(/\w/);
});

test('spans go through the proxy that the environment names, except to hosts that it excludes', async () => {
  const got = await collect(200);
  const proxied: string[] = [];
  const proxy = createServer().on('connect', ({ url = '' }, client) => {
    proxied.push(url);
    const there = connect(Number(url.split(':')[1]), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      there.pipe(client).pipe(there);
    });
    for (const socket of [client, there]) socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  closing.push(() => proxy.close());
  const { port } = new URL(process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? '');
  const address = `http://collector.example.test:${port}`;
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', address);
  vi.stubEnv('http_proxy', `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
  vi.stubEnv('no_proxy', 'other.example.test');
  expect(await proxyAgentFor('http://other.example.test')).toBeNull();
  const agent = await proxyAgentFor(address);
  expect(await sendSpans({ traceId: TRACE, spans: [root] }, { attributes: {}, proxy: agent })).toBeNull();
  expect([proxied, got.length]).toEqual([[`collector.example.test:${port}`], 1]);
});
