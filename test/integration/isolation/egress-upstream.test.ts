import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { promisify } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import { createProxyFinder } from '../../../src/github/proxied-fetch.ts';
import { createEgress } from '../../../src/isolation/egress.ts';
import { eventually } from '../../eventually.ts';
import { createPeer, createScene, createSite, greet, headersFor, listening, silent, textOf } from './egress-fixture.ts';

describe('behind a proxy of the company', () => {
  const behind = (port: number, more: Partial<Parameters<typeof createScene>[0]> = {}) => ({
    allowed: ['any'],
    upstream: (url: URL) =>
      url.hostname === 'direct.example' ? null : new URL('http://us%40er:pass%21@proxy.corp.example:3128'),
    servers: { 'proxy.corp.example:3128': port },
    ...more,
  });
  const authorization = `Basic ${Buffer.from('us@er:pass!').toString('base64')}`;

  test('a tunnel goes through it, without a name being asked for here', async () => {
    await using company = await createSite(greet);
    await using scene = await createScene(behind(company.port));
    const { status, socket } = await scene.tunnel('API.example.com:7000', { 'proxy-authorization': 'Basic mine' });
    expect(status).toBe(200);
    socket.end(' and back');
    expect(await text(socket)).toBe('hello and back');
    const expected = ['host', 'api.example.com:7000', 'proxy-authorization', authorization, 'Connection', 'close'];
    expect(company.seen).toEqual([{ method: 'CONNECT', url: 'api.example.com:7000', headers: expected, body: '' }]);
    expect([scene.asked, scene.dialled]).toEqual([[], ['proxy.corp.example:3128']]);
  });

  test('it gets user name and password as the variable of the runner has them', async () => {
    await using company = await createSite(greet);
    const variables = { HTTPS_PROXY: 'http://user:50%25%2541@proxy.corp.example:3128', NO_PROXY: undefined };
    for (const [name, value] of Object.entries(variables)) {
      vi.stubEnv(name, value);
      vi.stubEnv(name.toLowerCase(), value);
    }
    try {
      await using scene = await createScene(behind(company.port, { upstream: await createProxyFinder() }));
      expect((await scene.tunnel('api.example.com:443')).status).toBe(200);
    } finally {
      vi.unstubAllEnvs();
    }
    expect(company.seen[0]?.headers).toContain(`Basic ${Buffer.from('user:50%%41').toString('base64')}`);
  });

  test('a page is asked of it by its whole address', async () => {
    await using company = await createSite(greet);
    await using scene = await createScene(behind(company.port));
    const request = headersFor('GET', 'http://site.example:8080/a?b', 'Proxy-Authorization: Basic mine');
    expect(await scene.raw(`${request}\r\n`)).toMatch(/200 OK[^]*hello/);
    const expected = ['Host', 'site.example:8080', 'Proxy-Authorization', authorization, 'Connection', 'close'];
    expect(company.seen).toEqual([{ method: 'GET', url: 'http://site.example:8080/a?b', headers: expected, body: '' }]);
  });

  test.each([
    ['an address that is not public', '10.0.0.1:443', 403],
    ['a name of its network', 'nexus.internal:443', 403],
    ['the model', 'api.model.example:443', 403],
    ['what it refuses', 'closed.example:443', 502],
    ['what goes past it, which does not exist', 'direct.example:443', 502],
  ])('%s: %s is %i', async (_, target, expected) => {
    await using company = await createSite(greet);
    await using scene = await createScene(behind(company.port, { never: ['api.model.example'] }));
    const { status, socket } = await scene.tunnel(target);
    expect(status).toBe(expected);
    expect(await text(socket)).not.toMatch(/us%40er|pass/);
  });

  test.each([
    ['is silent', 'http://proxy.corp.example:3128', /it does not answer/],
    ['is not there', 'http://other.corp.example', /ECONNREFUSED/],
    ['has another kind', 'socks5://proxy.corp.example:3128', /is not an HTTP proxy/],
    ['should speak TLS', 'https://proxy.corp.example:3128', /it does not answer/],
  ])('that %s', async (_, proxy, why) => {
    await using peer = await silent();
    await using scene = await createScene(behind(peer.port, { upstream: () => new URL(proxy), connectTimeoutMs: 100 }));
    const { status, socket } = await scene.tunnel('api.example.com:443');
    expect(status).toBe(502);
    expect(await text(socket)).toMatch(why);
    await eventually(() => expect(scene.outward.size).toBe(0));
  });

  test('that takes TLS', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ralph-egress-'));
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')] as const;
    const how =
      'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=proxy.corp.example';
    const name = ['-addext', 'subjectAltName=DNS:proxy.corp.example'];
    await promisify(execFile)('openssl', [...how.split(' '), ...name, '-keyout', key, '-out', cert]);
    const [keyText, certText] = [await readFile(key, 'utf8'), await readFile(cert, 'utf8')];
    await rm(folder, { recursive: true });
    await using company = await createSite(greet, { key: keyText, cert: certText });
    const upstream = () => new URL('https://user:pass@proxy.corp.example:3128');
    await using scene = await createScene(behind(company.port, { upstream }));
    expect((await scene.tunnel('api.example.com:443')).status).toBe(502);
    const known = getCACertificates('default');
    setDefaultCACertificates([...known, certText]);
    try {
      const { status, socket } = await scene.tunnel('api.example.com:7000');
      expect(status).toBe(200);
      socket.end(' and back');
      expect(await text(socket)).toBe('hello and back');
      expect(await scene.raw(`${headersFor('GET', 'http://site.example/')}\r\n`)).toMatch(/200 OK[^]*hello/);
    } finally {
      setDefaultCACertificates(known);
    }
    await eventually(() => expect(scene.outward.size).toBe(0));
  });

  test('that hangs up, or speaks nonsense', async () => {
    for (const answer of ['', 'nonsense\r\n\r\n']) {
      await using peer = await createPeer((socket) => socket.once('data', () => socket.end(answer)));
      await using scene = await createScene(behind(peer.port));
      expect((await scene.tunnel('api.example.com:443')).status).toBe(502);
      await eventually(() => expect(scene.outward.size).toBe(0));
    }
  });
});

test('in the network of this machine, what leads to it is refused, and a proxy on it is used', async () => {
  await using company = await createSite(greet);
  const rule = (host: string) => ({ host, port: company.port });
  const egress = createEgress({
    allowed: { kind: 'listed', hosts: [rule('localhost'), rule('10.0.0.1'), rule('a.example')] },
    never: [],
    upstreamFor: ({ hostname, port }) => (hostname === 'localhost' ? null : new URL(`http://127.0.0.1:${port}`)),
  });
  const port = await listening(egress.server);
  const asked = (text: string) => textOf(connect(port, '127.0.0.1'), `${text}\r\n`);
  const at = `:${String(company.port)}`;
  expect(await asked(`CONNECT localhost${at} HTTP/1.1\r\n`)).toMatch(/ 403 [^]*not a public address/);
  expect(await asked(`CONNECT 10.0.0.1${at} HTTP/1.1\r\n`)).toMatch(/ 403 [^]*not a public address/);
  expect(await asked(headersFor('GET', `http://a.example${at}/`))).toMatch(/ 200 [^]*hello/);
  expect(company.seen.map(({ url }) => url)).toEqual([`http://a.example${at}/`]);
  await egress.close();
});
