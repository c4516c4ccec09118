import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../eventually.ts';
import { connectionsOf, createScene, echo, OTHER_PUBLIC, PUBLIC } from './egress-fixture.ts';

describe('refused requests', () => {
  const world = {
    never: ['api.model.example'],
    names: {
      'api.model.example': [PUBLIC],
      'inside.example': ['10.0.0.5'],
      'metadata.example': ['169.254.169.254', 'fd00:ec2::254', '::ffff:169.254.169.254'],
      'mixed.example': ['127.0.0.1', '::1', PUBLIC],
      'own.example': ['198.51.100.9', '2606:0:0::9'],
      'evil.example': [PUBLIC],
    },
    own: ['198.51.100.9', '2606::9'],
    servers: { [`${PUBLIC}:443`]: 1 },
  };

  test.each<[string, string, string, RegExp]>([
    [
      'a host that is not listed',
      'api.example.com',
      'evil.example:443',
      /add evil\.example to the input allowed-hosts/,
    ],
    ['another port', 'api.example.com', 'api.example.com:22', /add api\.example\.com:22 to the input/],
    ['a name that leads into a private network', 'inside.example', 'inside.example:443', /not a public address/],
    ['a name that leads to metadata', 'any', 'metadata.example:443', /not a public address/],
    ['a name that leads to this very machine', 'any', 'own.example:443', /not a public address/],
    ['this very machine in another notation', 'any', '[::ffff:198.51.100.9]:443', /not a public address/],
    ['an address in a private network', 'any', '10.0.0.1:80', /not a public address/],
    ['in IPv6', 'any', '[::ffff:127.0.0.1]:80', /not a public address/],
    ['a name that only this machine knows', 'any', 'localhost:5432', /not a public address/],
    ['the model', 'any', 'api.model.example:443', /only through the action/],
    ['the model by name', 'api.model.example', 'API.model.example.:443', /only through the action/],
    ['everything', 'none', 'registry.npmjs.org:443', /add registry\.npmjs\.org to the input/],
  ])('%s', async (_, allowed, target, why) => {
    await using scene = await createScene({ ...world, allowed: [allowed] });
    const { status, blocked, socket } = await scene.tunnel(target);
    expect([status, blocked]).toEqual([403, 'blocked-by-ralph']);
    socket.write('whatever the client goes on with');
    const body = await text(socket);
    expect(body).toMatch(why);
    expect(body.trimEnd()).not.toMatch(/\n/);
    expect(scene.dialled).toEqual([]);
    const [name = ''] = Object.keys(scene.egress.refused());
    expect(scene.egress.refused()).toEqual({ [name]: 1 });
    expect(body).toContain(name);
    await eventually(async () => expect(await connectionsOf(scene.egress.server)).toBe(0));
  });

  test('a name that is not allowed is not even asked for', async () => {
    await using scene = await createScene({ ...world, allowed: ['api.example.com'] });
    await scene.tunnel('c2VjcmV0.evil.example:443');
    expect(scene.asked).toEqual([]);
  });

  test('of several addresses the first public one is dialled, and no name is asked for twice', async () => {
    await using peer = await echo();
    const names: Record<string, readonly string[]> = { 'mixed.example': ['127.0.0.1', '::1', PUBLIC, OTHER_PUBLIC] };
    await using scene = await createScene({
      allowed: ['mixed.example'],
      servers: { [`${PUBLIC}:443`]: peer.port },
      // Returns the next answer of a name server that rebinds.
      names: new Proxy(names, {
        get: (known, host: string) => {
          const answer = known[host];
          known[host] = ['127.0.0.1'];
          return answer;
        },
      }),
    });
    expect((await scene.tunnel('mixed.example:443')).status).toBe(200);
    expect([scene.asked, scene.dialled]).toEqual([['mixed.example'], [`${PUBLIC}:443`]]);
    expect((await scene.tunnel('mixed.example:443')).status).toBe(403);
  });

  test('is counted, up to a bound', async () => {
    await using scene = await createScene({ allowed: ['none'] });
    const targets = ['evil.example:443', 'EVIL.example.:443', ...numbered(150), 'evil.example:443'];
    for (const target of targets) await scene.tunnel(target);
    await scene.raw('GET http://evil.example:443/?q HTTP/1.1\r\nHost: x\r\n\r\n');
    const refused = scene.egress.refused();
    expect(Object.keys(refused)).toHaveLength(100);
    expect(refused).toMatchObject({ 'evil.example:443': 4, 'h97.example:443': 1, others: 52 });
  });

  test('a name like a property of objects is counted, too', async () => {
    await using scene = await createScene({ allowed: ['none'] });
    await scene.tunnel('__proto__:443');
    expect(Object.entries(scene.egress.refused())).toEqual([['__proto__:443', 1]]);
  });
});

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `h${String(at)}.example:443`);
