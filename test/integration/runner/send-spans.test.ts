import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test, vi } from 'vitest';
import type { RunSpan } from '../../../src/core/journal/spans.ts';
import { createProxyAgent } from '../../../src/github/proxied-fetch.ts';
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

/** Makes a certificate for `collector.example.test`, and names it as the standard variable does. */
async function certify() {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-certificate-'));
  closing.push(() => {
    rmSync(folder, { recursive: true });
  });
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const how = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=collector';
  const name = ['-addext', 'subjectAltName=DNS:collector.example.test'];
  await promisify(execFile)('openssl', [...how.split(' '), ...name, '-keyout', key, '-out', cert]);
  vi.stubEnv('OTEL_EXPORTER_OTLP_CERTIFICATE', cert);
  return { key: readFileSync(key), cert: readFileSync(cert) };
}

/** Opens a collector that answers with `status`, over TLS if it gets a certificate. */
async function collect(status: number, tls: Awaited<ReturnType<typeof certify>> | null = null) {
  const got: {
    readonly path: string;
    readonly headers: IncomingHttpHeaders;
    readonly spans: readonly ReceivedSpan[];
  }[] = [];
  const receive: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      got.push({ path: request.url ?? '', headers: request.headers, spans: decodeSpans(Buffer.concat(chunks)) });
      response.writeHead(status).end();
    });
  };
  const server = tls === null ? createServer(receive) : createTlsServer(tls, receive);
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

test.each([
  ...['not an address', 'localhost:4318', 'grpc://127.0.0.1:4317', 'http://', 'http:127.0.0.1:4318'],
  ...['http://127.0.0.1:4318\n', ' http://127.0.0.1:4318'],
])('the address %j is named as what is wrong, and nothing is sent elsewhere', async (address) => {
  await collect(200);
  for (const name of ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']) {
    vi.stubEnv('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', '');
    vi.stubEnv(name, address);
    expect(await sendSpans({ traceId: TRACE, spans: [root] }, direct)).toBe(
      `${name} is not an address that begins with http:// or https:// and has no blanks`,
    );
  }
});

test.each([
  ['http', () => Promise.resolve(null)],
  ['https', certify],
])(
  'over %s, spans go through the proxy that the environment names, except to hosts that it excludes',
  async (scheme, tls) => {
    const got = await collect(200, await tls());
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
    const address = `${scheme}://collector.example.test:${port}`;
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', address);
    vi.stubEnv(`${scheme}_proxy`, `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
    vi.stubEnv('no_proxy', 'other.example.test');
    expect(await createProxyAgent('http://other.example.test')).toBeNull();
    const agent = await createProxyAgent(address);
    expect(await sendSpans({ traceId: TRACE, spans: [root] }, { attributes: {}, proxy: agent })).toBeNull();
    expect([proxied, got.length]).toEqual([[`collector.example.test:${port}`], 1]);
  },
);
