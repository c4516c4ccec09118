import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../eventually.ts';
import {
  connectionsOf,
  createPeer,
  createScene,
  echo,
  OTHER_PUBLIC,
  PUBLIC,
  silent,
  textOf,
} from './egress-fixture.ts';

describe('a tunnel', () => {
  const toEcho = (port: number) => ({
    // If everything is allowed, tunnels to other ports than https carry any protocol.
    allowed: ['any'],
    names: { 'api.example.com': [PUBLIC] },
    servers: { [`${PUBLIC}:7000`]: port },
  });

  test('carries bytes both ways', async () => {
    await using peer = await echo();
    await using scene = await createScene(toEcho(peer.port));
    const { status, socket } = await scene.tunnel('API.example.com.:7000', { host: 'other.example' });
    expect(status).toBe(200);
    socket.write('ping');
    expect(String((await once(socket, 'data'))[0])).toBe('ping');
    expect([scene.asked, scene.dialled]).toEqual([['api.example.com'], [`${PUBLIC}:7000`]]);
    socket.end();
    expect(await text(socket)).toBe('');
    await eventually(() => expect(scene.outward.size).toBe(0));
    expect(scene.egress.refused()).toEqual({});
  });

  test('carries what came right after the request', async () => {
    await using peer = await echo();
    await using scene = await createScene(toEcho(peer.port));
    const client = connect({ port: scene.port, host: '127.0.0.1', allowHalfOpen: true });
    client.end('CONNECT api.example.com:7000 HTTP/1.1\r\nContent-Length: 5\r\n\r\nearly bird');
    expect(await text(client)).toBe('HTTP/1.1 200 Connection established\r\n\r\nearly bird');
  });

  test('carries 10 MB there and back, and what is still on its way when a side ends', async () => {
    const bytes = randomBytes(10 * 1024 * 1024);
    await using peer = await echo();
    await using scene = await createScene(toEcho(peer.port));
    const { socket } = await scene.tunnel('api.example.com:7000');
    socket.end(bytes);
    const back = await buffer(socket);
    expect(createHash('sha256').update(back).digest('hex')).toBe(createHash('sha256').update(bytes).digest('hex'));
  });

  test('a server that has sent everything can still receive', async () => {
    const heard = Promise.withResolvers<string>();
    await using peer = await createPeer((socket) => {
      socket.end('all');
      void text(socket).then(heard.resolve, heard.reject);
    });
    await using scene = await createScene(toEcho(peer.port));
    const client = connect({ port: scene.port, host: '127.0.0.1', allowHalfOpen: true });
    client.write('CONNECT api.example.com:7000 HTTP/1.1\r\n\r\n');
    expect(await text(client)).toMatch(/\r\n\r\nall$/);
    client.end('later');
    expect(await heard.promise).toBe('later');
  });

  test('a half that is over does not stay forever', async () => {
    await using peer = await silent();
    await using scene = await createScene({ ...toEcho(peer.port), lingerMs: 20 });
    const { socket } = await scene.tunnel('api.example.com:7000');
    socket.end();
    expect(await text(socket)).toBe('');
    await eventually(() => expect(scene.outward.size).toBe(0));
  });

  test('a client that breaks off takes the server along', async () => {
    await using peer = await silent();
    await using scene = await createScene(toEcho(peer.port));
    const { socket } = await scene.tunnel('api.example.com:7000');
    await eventually(() => expect(scene.outward.size).toBe(1));
    socket.resetAndDestroy();
    await eventually(() => expect(scene.outward.size).toBe(0));
  });

  test('a server that breaks off takes the client along', async () => {
    await using peer = await createPeer((socket) => socket.resetAndDestroy());
    await using scene = await createScene(toEcho(peer.port));
    const { socket } = await scene.tunnel('api.example.com:7000');
    socket.resume();
    await eventually(() => expect(socket.destroyed).toBe(true));
  });

  test('ends when the proxy is closed', async () => {
    await using peer = await silent();
    const scene = await createScene(toEcho(peer.port));
    const { socket } = await scene.tunnel('api.example.com:7000');
    await scene.egress.close();
    await eventually(() => expect([scene.outward.size, socket.resume().destroyed]).toEqual([0, true]));
    await scene.egress.close();
  });
});

describe('what cannot be reached', () => {
  test.each<[string, Partial<Parameters<typeof createScene>[0]>, RegExp]>([
    ['does not exist', {}, /cannot reach api\.example\.com:443: ENOTFOUND/],
    ['refuses connections', { names: { 'api.example.com': [PUBLIC] } }, /: ECONNREFUSED/],
    [
      'does not answer',
      { names: { 'api.example.com': [PUBLIC] }, servers: { [`${PUBLIC}:443`]: null }, connectTimeoutMs: 30 },
      /: it does not answer/,
    ],
    [
      'has a silent name server',
      { names: { 'api.example.com': new Promise<never>(() => undefined) }, connectTimeoutMs: 30 },
      /: it does not answer/,
    ],
  ])('%s', async (_, scenery, why) => {
    await using scene = await createScene({ allowed: ['api.example.com'], ...scenery });
    const { status, blocked, socket } = await scene.tunnel('api.example.com:443');
    expect([status, blocked]).toEqual([502, null]);
    expect(await text(socket)).toMatch(why);
    expect(scene.egress.refused()).toEqual({});
  });

  test('a client that does not wait leaves nothing behind', async () => {
    const late = Promise.withResolvers<readonly string[]>();
    await using scene = await createScene({ allowed: ['any'], names: { 'slow.example': late.promise } });
    const client = connect({ port: scene.port, host: '127.0.0.1' });
    client.write('CONNECT slow.example:443 HTTP/1.1\r\n\r\n');
    await eventually(() => expect(scene.asked).toHaveLength(1));
    client.resetAndDestroy();
    await eventually(async () => expect(await connectionsOf(scene.egress.server)).toBe(0));
    late.resolve([PUBLIC]);
    await scene.tunnel(`${OTHER_PUBLIC}:443`);
    expect(scene.dialled).toEqual([`${OTHER_PUBLIC}:443`]);
  });
});

describe('a request that a proxy cannot handle', () => {
  test.each([
    ['no port', 'CONNECT evil.example HTTP/1.1\r\n\r\n'],
    ['a URL', 'CONNECT https://api.example.com:443 HTTP/1.1\r\n\r\n'],
    ['a path', 'CONNECT api.example.com:443/ HTTP/1.1\r\n\r\n'],
    ['a user name', 'CONNECT api.example.com:443@evil.example:443 HTTP/1.1\r\n\r\n'],
    ['two ports', 'CONNECT api.example.com:443:443 HTTP/1.1\r\n\r\n'],
    ['a port out of range', 'CONNECT api.example.com:65979 HTTP/1.1\r\n\r\n'],
    ['an address as a number', 'CONNECT 2130706433:443 HTTP/1.1\r\n\r\n'],
    ['an address in octal', 'CONNECT 0177.0.0.1:443 HTTP/1.1\r\n\r\n'],
    ['a line end inside', 'CONNECT api.example.com:443\rHost:x HTTP/1.1\r\n\r\n'],
    ['a zero byte', 'CONNECT api.example.com\0.evil.example:443 HTTP/1.1\r\n\r\n'],
    ['blanks', 'CONNECT api.example.com:443 evil.example:443 HTTP/1.1\r\n\r\n'],
    ['an origin form', 'GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n'],
    ['https without a tunnel', 'GET https://api.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a user name in a URL', 'GET http://api.example.com@evil.example/ HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a backslash in a URL', 'GET http://api.example.com\\@evil.example/ HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['the server as a whole', 'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n'],
    [
      'an upgrade',
      'GET http://api.example.com/ HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
    ],
    [
      'two lengths',
      'POST http://api.example.com/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    ],
    [
      'a length and chunks',
      'POST http://api.example.com/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'another coding',
      'POST http://api.example.com/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a folded header', 'GET http://api.example.com/ HTTP/1.1\r\nHost: x\r\nA: b\r\n c: d\r\n \r\n\r\n'],
    ['a blank before a colon', 'GET http://api.example.com/ HTTP/1.1\r\nHost : x\r\n\r\n'],
    ['nonsense', 'nonsense\r\n\r\n'],
    ['TLS', '\x16\x03\x01\x02\0\x01\0'],
  ])('%s', async (_, request) => {
    await using scene = await createScene({ allowed: ['any'], lingerMs: 50 });
    expect(await scene.raw(request)).toMatch(/^HTTP\/1\.1 400 /);
    expect([scene.asked, scene.dialled, scene.egress.refused()]).toEqual([[], [], {}]);
  });

  test('headers have a bound', async () => {
    await using scene = await createScene({ allowed: ['any'] });
    expect(await scene.raw(`CONNECT a.example:443 HTTP/1.1\r\nA: ${'x'.repeat(20_000)}\r\n\r\n`)).toMatch(/ 431 /);
    expect(scene.asked).toEqual([]);
  });

  test('a second request behind one that is refused gets nowhere', async () => {
    await using scene = await createScene({ allowed: ['api.example.com'], lingerMs: 50 });
    const answer = await scene.raw(
      'CONNECT evil.example:443 HTTP/1.1\r\n\r\nCONNECT api.example.com:443 HTTP/1.1\r\n\r\n',
    );
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(scene.asked).toEqual([]);
  });
});

test('there is room for 256 connections, and again when some have ended', async () => {
  await using peer = await silent();
  await using scene = await createScene({
    allowed: ['any'],
    names: { 'api.example.com': [PUBLIC] },
    servers: { [`${PUBLIC}:443`]: peer.port },
  });
  const tunnels = await Promise.all(Array.from({ length: 256 }, () => scene.tunnel('api.example.com:443')));
  expect(new Set(tunnels.map(({ status }) => status))).toEqual(new Set([200]));
  expect(await textOf(connect({ port: scene.port, host: '127.0.0.1' }), 'CONNECT a.example:1 HTTP/1.1\r\n\r\n')).toBe(
    '',
  );
  for (const { socket } of tunnels.slice(0, 10)) socket.resetAndDestroy();
  await eventually(() => expect(scene.outward.size).toBe(246));
  expect((await scene.tunnel('api.example.com:443')).status).toBe(200);
});
