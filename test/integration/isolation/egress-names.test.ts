import { execFile } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../eventually.ts';
import { createPeer, createScene, createSite, greet, PUBLIC } from './egress-fixture.ts';

/** Returns a program's first message on a TLS connection with this server name; an empty name sends none. */
async function helloTo(servername: string): Promise<Buffer> {
  const sent = Promise.withResolvers<Buffer>();
  const socket = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      sent.resolve(chunk);
      done();
    },
  });
  const tls = connectTls({ socket, servername }).on('error', () => undefined);
  const hello = await sent.promise;
  tls.destroy();
  return hello;
}

function parted(bytes: Buffer, size: number): readonly Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, nth) =>
    bytes.subarray(nth * size, (nth + 1) * size),
  );
}

/** Splits the message into records of at most `bytes` bytes. */
function inRecords(hello: Buffer, bytes: number): Buffer {
  const records = parted(hello.subarray(5), bytes).map((part) =>
    Buffer.concat([Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part]),
  );
  return Buffer.concat(records);
}

/** The beginning of a server's request for another ClientHello. */
const RETRY = Buffer.from(
  '160303002a020000260303cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c',
  'hex',
);

/** Creates a server of an allowed host that keeps the received bytes and gives the same answer to each part. */
async function createTarget(
  scenery: Partial<Parameters<typeof createScene>[0]> = {},
  answer: string | Buffer = 'heard',
) {
  const heard: Buffer[] = [];
  const peer = await createPeer((socket) => {
    socket.on('data', (chunk: Buffer) => {
      heard.push(chunk);
      socket.write(answer);
    });
  });
  const scene = await createScene({
    allowed: ['api.example.com', 'api.example.com:8443', `${PUBLIC}:443`],
    names: { 'api.example.com': [PUBLIC] },
    servers: Object.fromEntries([443, 8443].map((port) => [`${PUBLIC}:${String(port)}`, peer.port])),
    lingerMs: 50,
    ...scenery,
  });
  return {
    scene,
    heard: () => Buffer.concat(heard),
    [Symbol.asyncDispose]: async () => {
      await scene[Symbol.asyncDispose]();
      await peer[Symbol.asyncDispose]();
    },
  };
}

const API = 'api.example.com:443';

describe('TLS with the name of the host that was asked for', () => {
  test.each<[string, (hello: Buffer) => readonly Buffer[]]>([
    ['at once', (hello) => [hello]],
    ['in many segments', (hello) => parted(hello, 50)],
    ['in many records', (hello) => [inRecords(hello, 7)]],
    ['in records that are cut anywhere', (hello) => parted(inRecords(hello, 64), 7)],
  ])('passes %s, as it was sent', async (_, cut) => {
    await using target = await createTarget();
    const parts = cut(await helloTo('API.example.com'));
    const { socket } = await target.scene.tunnel(API);
    for (const part of parts) {
      socket.write(part);
      await turn();
    }
    expect(String((await once(socket, 'data'))[0])).toBe('heard');
    await eventually(() => expect(target.heard()).toEqual(Buffer.concat(parts)));
    expect(target.scene.egress.refused()).toEqual({});
  });

  test('passes with what follows it', async () => {
    await using target = await createTarget();
    const hello = await helloTo('api.example.com');
    const { socket } = await target.scene.tunnel(API);
    socket.write(hello);
    await once(socket, 'data');
    socket.end('and more');
    await eventually(() => expect(target.heard()).toEqual(Buffer.concat([hello, Buffer.from('and more')])));
  });

  test('passes to an address without a name, which no address has', async () => {
    await using target = await createTarget();
    const { socket } = await target.scene.tunnel(`${PUBLIC}:443`);
    socket.write(await helloTo(''));
    expect(String((await once(socket, 'data'))[0])).toBe('heard');
  });

  test('passes on another port', async () => {
    await using target = await createTarget();
    const { socket } = await target.scene.tunnel('api.example.com:8443');
    socket.write(await helloTo('api.example.com'));
    expect(String((await once(socket, 'data'))[0])).toBe('heard');
  });
});

describe('on a connection to an allowed host', () => {
  const withSuffix = async (): Promise<Buffer> => Buffer.concat([await helloTo('api.example.com'), Buffer.from([22])]);
  const withZeroByte = async (): Promise<Buffer> => {
    const hello = await helloTo('api.example.comX.evil.example');
    hello[hello.indexOf('X.evil')] = 0;
    return hello;
  };
  test.each<[string, string, () => Buffer | Promise<Buffer>, string]>([
    ['another name', API, () => helloTo('evil.example'), `${API} as evil.example`],
    ['a name below', API, () => helloTo('x.api.example.com'), `${API} as x.api.example.com`],
    ['a name that no host has', API, withZeroByte, `${API} as another name`],
    ['no name', API, () => helloTo(''), `${API} without a server name`],
    [
      'another name in many records',
      API,
      async () => inRecords(await helloTo('evil.example'), 5),
      `${API} as evil.example`,
    ],
    ['another name, of an address', `${PUBLIC}:443`, () => helloTo('evil.example'), `${PUBLIC}:443 as evil.example`],
    [
      'another name, on another port',
      'api.example.com:8443',
      () => helloTo('evil.example'),
      'api.example.com:8443 as evil.example',
    ],
    ['plain http', API, () => Buffer.from('GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n'), `${API} without TLS`],
    ['another protocol', API, () => Buffer.from('SSH-2.0-x\r\n'), `${API} without TLS`],
    [
      'another protocol on another port',
      'api.example.com:8443',
      () => Buffer.from('\0\0\0\x08\x04\xd2\x16\x2f'),
      'api.example.com:8443 without TLS',
    ],
    ['the older form of TLS', API, () => Buffer.from([0x80, 0x2e, 1, 3, 1, 0, 0x15]), `${API} without TLS`],
    [
      'a beginning without its end',
      API,
      async () => (await helloTo('api.example.com')).subarray(0, 60),
      `${API} without TLS`,
    ],
    ['something behind the name', API, withSuffix, `${API} without TLS`],
    [
      'an empty record',
      API,
      async () => Buffer.concat([Buffer.from([22, 3, 1, 0, 0]), await helloTo('api.example.com')]),
      `${API} without TLS`,
    ],
    [
      'a message that is too long',
      API,
      () =>
        Buffer.concat(
          Array.from({ length: 3 }, () =>
            Buffer.concat([Buffer.from([22, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff]), Buffer.alloc(16_380)]),
          ),
        ),
      `${API} without TLS`,
    ],
  ])('%s reaches nobody, and is counted', async (_, name, said, counted) => {
    await using target = await createTarget();
    const { status, socket } = await target.scene.tunnel(name);
    expect(status).toBe(200);
    socket.end(await said());
    const answer = await text(socket);
    // The answer is a TLS alert, or empty.
    expect(answer).toBe(/ as | without a/.test(counted) ? '\x15\x03\x01\0\x02\x02p' : '');
    await eventually(() => expect(target.scene.outward.size).toBe(0));
    expect(target.heard()).toHaveLength(0);
    expect(target.scene.egress.refused()).toEqual({ [counted]: 1 });
  });

  test('a silent client does not delay others, and has requested nothing', async () => {
    await using target = await createTarget({ openingMs: 20 });
    const { socket } = await target.scene.tunnel(API);
    expect(await text(socket)).toBe('');
    await eventually(() => expect(target.scene.outward.size).toBe(0));
    expect(target.scene.egress.refused()).toEqual({});
  });

  test('a name counts that came right behind the request', async () => {
    await using target = await createTarget();
    const hello = await helloTo('evil.example');
    await target.scene.raw(`CONNECT ${API} HTTP/1.1\r\n\r\n${hello.toString('latin1')}`);
    expect(target.heard()).toHaveLength(0);
  });

  test('the model is not reached under the name of another host, also where everything is allowed', async () => {
    await using target = await createTarget({ allowed: ['any'], never: ['api.model.example'] });
    const { socket } = await target.scene.tunnel(API);
    socket.end(await helloTo('api.model.example'));
    await text(socket);
    expect([target.heard().length, target.scene.egress.refused()]).toEqual([0, { [`${API} as api.model.example`]: 1 }]);
  });

  test('another name does not pass the proxy of a company either', async () => {
    await using company = await createSite(greet);
    await using scene = await createScene({
      allowed: ['api.example.com'],
      upstream: () => new URL('http://proxy.corp.example:3128'),
      servers: { 'proxy.corp.example:3128': company.port },
      lingerMs: 50,
    });
    const say = async (name: string): Promise<Socket> => {
      const { socket } = await scene.tunnel(API);
      socket.end(await helloTo(name));
      return socket;
    };
    // The server greets and then echoes.
    expect((await text(await say('api.example.com'))).length).toBeGreaterThan(100);
    expect(await text(await say('evil.example'))).toBe('\x15\x03\x01\0\x02\x02p');
    expect(scene.egress.refused()).toEqual({ [`${API} as evil.example`]: 1 });
  });
});

describe('plain requests in a tunnel', () => {
  const site = (port: number) => ({
    allowed: ['site.example:80', 'site.example:443'],
    names: { 'site.example': [PUBLIC] },
    servers: { [`${PUBLIC}:80`]: port, [`${PUBLIC}:443`]: port },
    lingerMs: 50,
  });
  const ask = async (scene: Awaited<ReturnType<typeof createScene>>, request: string): Promise<string> => {
    const { socket } = await scene.tunnel('site.example:80');
    socket.write(request.replace('\r\n', '\r\nConnection: close\r\n'));
    return text(socket);
  };

  test('reach the host that they name', async () => {
    await using server = await createSite(greet);
    await using scene = await createScene(site(server.port));
    const answer = await ask(scene, 'POST /a?b HTTP/1.1\r\nHost: Site.example:80\r\nContent-Length: 2\r\n\r\nhi');
    expect(answer).toMatch(/ 200 OK[^]*hello/);
    expect(server.seen).toMatchObject([{ method: 'POST', url: '/a?b', body: 'hi' }]);
    expect(await ask(scene, 'GET http://site.example/c HTTP/1.1\r\nHost: evil.example\r\n\r\n')).toContain('hello');
    expect(server.seen.at(-1)?.headers.slice(0, 2)).toEqual(['Host', 'site.example']);
    await eventually(() => expect(scene.outward.size).toBe(0));
  });

  test.each([
    ['another host', 'GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n', 403, ['site.example:80 as evil.example']],
    ['another port', 'GET / HTTP/1.1\r\nHost: site.example:8080\r\n\r\n', 403, ['site.example:80 as site.example']],
    [
      'another host by its address',
      'GET http://evil.example/ HTTP/1.1\r\nHost: site.example\r\n\r\n',
      403,
      ['site.example:80 as evil.example'],
    ],
    ['no host', 'GET / HTTP/1.1\r\n\r\n', 400, []],
    ['another tunnel', 'CONNECT evil.example:443 HTTP/1.1\r\n\r\n', null, []],
  ])('that name %s reach nobody', async (_, request, status, counted) => {
    await using server = await createSite(greet);
    await using scene = await createScene(site(server.port));
    const answer = await ask(scene, request);
    expect(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? null).toBe(status === null ? null : String(status));
    expect(server.seen).toEqual([]);
    expect(Object.keys(scene.egress.refused())).toEqual(counted);
  });

  test('to the port of https get nowhere, in a tunnel or not', async () => {
    await using server = await createSite(greet);
    await using scene = await createScene(site(server.port));
    expect(await scene.raw('GET http://site.example:443/ HTTP/1.1\r\nHost: site.example\r\n\r\n')).toMatch(/ 403 /);
    expect(server.seen).toEqual([]);
    expect(scene.egress.refused()).toEqual({ 'site.example:443 without TLS': 1 });
  });
});

describe('a server that asks for another ClientHello', () => {
  const between = Buffer.from([20, 3, 3, 0, 1, 1, 23, 3, 3, 0, 2, 7, 7]);
  const second = async (name: string): Promise<Buffer> => Buffer.concat([between, await helloTo(name)]);

  test.each([1, 7, 5000])('gets one with the same name, in parts of %i bytes', async (size) => {
    await using target = await createTarget({}, RETRY);
    const [hello, again] = [await helloTo('api.example.com'), await second('api.example.com')];
    const { socket } = await target.scene.tunnel(API);
    socket.write(hello);
    await once(socket, 'data');
    for (const part of parted(again, size)) {
      socket.write(part);
      await turn();
    }
    await eventually(() => expect(target.heard()).toEqual(Buffer.concat([hello, again])));
    expect(target.scene.egress.refused()).toEqual({});
  });

  test.each([
    ['another name', () => second('evil.example'), `${API} as evil.example`],
    ['no name', () => second(''), `${API} without a server name`],
    ['something else', () => Promise.resolve(Buffer.from('GET / HTTP/1.1\r\n\r\n')), `${API} without TLS`],
  ])('gets nothing with %s, even if it is sent before the server asks', async (_, again, refused) => {
    for (const waits of [true, false]) {
      await using target = await createTarget({}, RETRY);
      const hello = await helloTo('api.example.com');
      const { socket } = await target.scene.tunnel(API);
      socket.write(hello);
      if (waits) await once(socket, 'data');
      else await eventually(() => expect(target.heard()).toEqual(hello));
      socket.write(await again());
      await eventually(() => expect(target.scene.egress.refused()).toEqual({ [refused]: 1 }));
      expect(target.heard()).toEqual(hello);
    }
  });

  test('is asked by a real client with another group, and the handshake ends', async () => {
    const made = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x -keyout - -out -';
    const { stdout: pem } = await promisify(execFile)('openssl', made.split(' '));
    const server = createTlsServer({ key: pem, cert: pem, ecdhCurve: 'X25519', minVersion: 'TLSv1.3' }, (tls) =>
      tls.end('done'),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await using target = await createTarget({ servers: { [`${PUBLIC}:443`]: port } });
    const { socket } = await target.scene.tunnel(API);
    const tls = connectTls({
      socket,
      servername: 'api.example.com',
      ecdhCurve: 'P-256:X25519',
      rejectUnauthorized: false,
    });
    expect(await text(tls)).toBe('done');
    server.close();
  });
});
