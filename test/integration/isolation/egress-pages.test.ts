import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../eventually.ts';
import { createPeer, createScene, createSite, greet, headersFor, PUBLIC, silent } from './egress-fixture.ts';

const site = (port: number) => ({
  allowed: ['site.example:80'],
  names: { 'site.example': [PUBLIC] },
  servers: { [`${PUBLIC}:80`]: port },
});
describe('a page', () => {
  test('is asked for and answered without what is between client and proxy', async () => {
    await using server = await createSite((_request, response) =>
      response
        .writeHead(302, ['Location', 'http://10.0.0.1/', 'Set-Cookie', 'a', 'Set-Cookie', 'b', 'Keep-Alive', 'x'])
        .end('moved'),
    );
    await using scene = await createScene(site(server.port));
    const request = headersFor(
      ...(['GET', 'http://Site.example/a/../b?q=%41'] as const),
      ...[
        'Proxy-Authorization: Basic eA==',
        'Proxy-Connection: keep-alive',
        'Connection: X-Hop',
        'X-Hop: 1',
        'TE: trailers',
      ],
      ...['Cookie: a', 'Authorization: mine'],
    );
    const answer = await scene.raw(`${request}\r\n`);
    expect(server.seen).toEqual([
      {
        method: 'GET',
        url: '/a/../b?q=%41',
        headers: ['Host', 'site.example', 'Cookie', 'a', 'Authorization', 'mine', 'Connection', 'close'],
        body: '',
      },
    ]);
    expect(answer).toMatch(
      /^HTTP\/1\.1 302 Found\r\nLocation: http:\/\/10\.0\.0\.1\/\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n/,
    );
    expect(answer).not.toMatch(/x-proxy|Keep-Alive: x/i);
    expect(answer).toContain('moved');
    expect(scene.dialled).toEqual([`${PUBLIC}:80`]);
    await eventually(() => expect(scene.outward.size).toBe(0));
  });

  test.each([
    ['a body of known length', 'POST', ['Content-Length: 5'], 'abcde', 'abcde'],
    ['chunks', 'PUT', ['Transfer-Encoding: chunked'], '3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n', 'abcde'],
    ['a body that is not usual', 'DELETE', ['Content-Length: 5'], 'abcde', 'abcde'],
    ['chunks that are not usual', 'GET', ['Transfer-Encoding: chunked'], '5\r\nabcde\r\n0\r\n\r\n', 'abcde'],
    ['a length that Connection names', 'GET', ['Connection: content-length', 'Content-Length: 5'], 'abcde', 'abcde'],
    ['nothing', 'POST', [], '', ''],
    ['what waits for a word', 'POST', ['Expect: 100-continue', 'Content-Length: 5'], 'abcde', 'abcde'],
  ])('gets %s', async (_, method, headers, sent, body) => {
    await using server = await createSite(greet);
    await using scene = await createScene(site(server.port));
    const answer = await scene.raw(`${headersFor(method, 'http://site.example/', ...headers)}\r\n${sent}`);
    expect(answer).toMatch(/200 OK\r\n[^]*hello/);
    expect(server.seen).toMatchObject([{ method, url: '/', body }]);
  });

  test('a request inside a body stays in the body, and one behind it is not answered', async () => {
    await using server = await createSite(greet);
    await using scene = await createScene(site(server.port));
    const hidden = 'GET /hidden HTTP/1.1\r\nHost: site.example\r\n\r\n';
    const outer = (url: string) =>
      `GET ${url} HTTP/1.1\r\nHost: x\r\nContent-Length: ${String(hidden.length)}\r\n\r\n${hidden}`;
    const answer = await scene.raw(
      outer('http://site.example/') + headersFor('GET', 'http://site.example/next') + '\r\n',
    );
    expect(answer.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 200']);
    expect(server.seen.map(({ url, body }) => [url, body])).toEqual([['/', hidden]]);
  });

  test('that is refused is counted', async () => {
    await using scene = await createScene({ allowed: ['site.example'] });
    const answer = await scene.raw(`${headersFor('POST', 'http://site.example/?secret', 'Content-Length: 3')}\r\nabc`);
    expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\nx-proxy-error: blocked-by-ralph\r\n/);
    expect(answer).toMatch(/reach site\.example:80: to allow it, add site\.example:80 to the input allowed-hosts\.\n/);
    expect(scene.egress.refused()).toEqual({ 'site.example:80': 1 });
  });

  test.each<[string, (port: number) => Parameters<typeof createScene>[0], RegExp]>([
    ['does not exist', () => ({ allowed: ['site.example:80'] }), /502 Bad Gateway[^]*site\.example:80: ENOTFOUND/],
    ['leads inside', (port) => ({ ...site(port), names: { 'site.example': ['127.0.0.1'] } }), /403 Forbidden/],
  ])('of a host that %s', async (_, scenery, expected) => {
    await using scene = await createScene(scenery(1));
    expect(await scene.raw(`${headersFor('GET', 'http://site.example/')}\r\n`)).toMatch(expected);
  });

  test.each([
    ['hangs up', ''],
    ['speaks another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['switches protocols', 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'],
    ['has a header without end', `HTTP/1.1 200 OK\r\nA: ${'x'.repeat(20_000)}\r\n\r\n`],
  ])('of a server that %s', async (_, answer) => {
    await using peer = await createPeer((socket) => socket.once('data', () => socket.end(answer)));
    await using scene = await createScene(site(peer.port));
    expect(await scene.raw(`${headersFor('GET', 'http://site.example/')}\r\n`)).toMatch(
      /^HTTP\/1\.1 502 [^]*its answer is not valid HTTP/,
    );
    await eventually(() => expect(scene.outward.size).toBe(0));
  });

  test.each([
    ['in its length', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'],
    ['in its chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n'],
  ])('that breaks off %s does not look whole', async (_, answer) => {
    await using peer = await createPeer((socket) => socket.once('data', () => socket.end(answer)));
    await using scene = await createScene(site(peer.port));
    const back = await scene.raw(`${headersFor('GET', 'http://site.example/')}\r\n`);
    expect(back).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(back).not.toMatch(/\r\n0\r\n\r\n$/);
  });

  test('a client that hangs up takes the server along', async () => {
    await using peer = await silent();
    await using scene = await createScene(site(peer.port));
    const client = connect({ port: scene.port, host: '127.0.0.1' });
    client.write(`${headersFor('POST', 'http://site.example/', 'Content-Length: 100')}\r\nhalf`);
    await eventually(() => expect(scene.outward.size).toBe(1));
    client.resetAndDestroy();
    await eventually(() => expect(scene.outward.size).toBe(0));
  });

  test('curl gets it', async () => {
    await using server = await createSite(greet);
    await using scene = await createScene(site(server.port));
    const curl = async (url: string) => {
      const proxy = `http://user:password@127.0.0.1:${String(scene.port)}`;
      const { stdout } = await promisify(execFile)('curl', ['-sS', '--noproxy', '', '-x', proxy, '-d', 'body', url]);
      return stdout;
    };
    expect(await curl('http://site.example/')).toBe('hello');
    expect(await curl('http://evil.example/')).toMatch(/add evil\.example:80 to the input allowed-hosts/);
    expect(server.seen).toMatchObject([{ method: 'POST', body: 'body' }]);
    expect(server.seen[0]?.headers.join()).not.toMatch(/proxy-/i);
  });
});
