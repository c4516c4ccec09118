import { describe, expect, test } from 'vitest';
import type { StoredCache } from '../../../testbed/github/state.ts';
import { type ForgeFixture, now, openForge } from './github-fixture.ts';
import { cacheFixture, copyOf } from '../state/state-cache-fixture.ts';

const PREFIX = 'ralph-state-v1/queue/';

describe('of the caches with a prefix', () => {
  test('the newest stay, and each other one is deleted by its id', async () => {
    await using at = await openWith([{ key: '1' }, { key: '2' }, { key: '3' }, { key: '4' }]);
    expect(await at.forge.deleteSupersededCaches(PREFIX, 2)).toBe(2);
    expect(keysLeft(at)).toEqual(['3', '4']);
    expect(at.sent()).toEqual([
      'GET /actions/caches?key=ralph-state-v1%2Fqueue%2F&sort=created_at&direction=desc&per_page=100',
      'DELETE /actions/caches/1',
      'DELETE /actions/caches/2',
    ]);
  });

  test.each<{ rule: string; caches: readonly Partial<StoredCache>[]; left: readonly string[] }>([
    { rule: 'nothing is superseded: all stay', caches: [{ key: '1' }, { key: '2' }], left: ['1', '2'] },
    {
      rule: 'the newest is the one made last, in whatever order they are listed',
      caches: [
        { key: '3', createdAt: 3 },
        { key: '1', createdAt: 1 },
        { key: '2', createdAt: 2 },
      ],
      left: ['3', '2'],
    },
    {
      rule: 'a newer one on another branch supersedes nothing: this branch cannot find it',
      caches: [{ key: '1' }, { key: '2' }, { key: '3', ref: 'refs/heads/x' }, { key: '4', ref: 'refs/heads/x' }],
      left: ['1', '2', '3', '4'],
    },
    {
      rule: 'on every branch the older ones go',
      caches: ['1', '2', '3'].flatMap((key) => [{ key }, { key: `x${key}`, ref: 'refs/heads/x' }]),
      left: ['2', 'x2', '3', 'x3'],
    },
    {
      rule: 'a newer one of another form supersedes nothing: a runner without zstd cannot find it',
      caches: [{ key: '1' }, { key: '2' }, { key: '3', version: 'zstd' }, { key: '4', version: 'zstd' }],
      left: ['1', '2', '3', '4'],
    },
  ])('$rule', async ({ caches, left }) => {
    await using at = await openWith(caches);
    await at.forge.deleteSupersededCaches(PREFIX, 2);
    expect(keysLeft(at)).toEqual(left);
  });

  test('at most 20 are deleted at once, the oldest first; the next call continues', async () => {
    await using at = await openWith(numbered(130));
    expect(await at.forge.deleteSupersededCaches(PREFIX, 2)).toBe(20);
    // The list shows the newest 100 of the 130: 31 is the oldest visible one.
    expect(keysLeft(at)).toEqual([...numbers(1, 30), ...numbers(51, 130)]);
    expect(await at.nextRun().deleteSupersededCaches(PREFIX, 2)).toBe(20);
    expect(at.github.requests).toHaveLength(42);
  });

  test('keep 0 keeps one: the newest is never deleted', async () => {
    await using at = await openWith([{ key: '1' }, { key: '2' }]);
    expect(await at.forge.deleteSupersededCaches(PREFIX, 0)).toBe(1);
    expect(keysLeft(at)).toEqual(['2']);
  });
});

describe('caches of others stay', () => {
  test('caches of other lanes and of other actions', async () => {
    await using at = await openWith([]);
    for (const key of ['ralph-state-v1/queue-2/1', 'ralph-state-v1/queue-2/2', 'node-modules', 'node-modules-2'])
      at.github.state.caches.push(stored({ key }));
    expect(await at.forge.deleteSupersededCaches(PREFIX, 1)).toBe(0);
    expect(at.github.state.caches).toHaveLength(4);
  });

  test('whatever the server lists: only a key that begins with the prefix is deleted', async () => {
    await using at = await openWith([{ key: '1' }, { key: '2' }]);
    const listed = [4, 3].map((id) => ({ id, key: 'node-modules', ref: 'refs/heads/main', version: 'gzip' }));
    at.github.faults.inject({
      match: { method: 'GET', path: /caches$/ },
      times: 1,
      effect: { kind: 'answer', status: 200, body: { total_count: 2, actions_caches: listed } },
    });
    expect(await at.forge.deleteSupersededCaches(PREFIX, 1)).toBe(0);
    expect(at.sent()).toHaveLength(1);
  });

  test('an empty prefix would mean every cache: it is not even asked for', async () => {
    await using at = await openWith([{ key: '1' }, { key: '2' }]);
    expect(await at.forge.deleteSupersededCaches('', 1)).toBe(0);
    expect(at.sent()).toEqual([]);
  });
});

describe('never an error', () => {
  test.each<{ token: string; options: Parameters<typeof openForge>[0]; requests: number; words: string }>([
    {
      token: 'that may not list them',
      options: { permissions: { metadata: 'read' } },
      requests: 1,
      words: 'Add `actions: write` under `permissions:`',
    },
    {
      token: 'that may only read them',
      options: { permissions: { metadata: 'read', actions: 'read' } },
      requests: 2,
      words: 'Add `actions: write` under `permissions:`',
    },
    { token: 'that does not see the repository', options: { permissions: {} }, requests: 1, words: '404' },
  ])(
    'a token $token: none, a line for debugging, and no second try in this run',
    async ({ options, requests, words }) => {
      await using at = await openWith([{ key: '1' }, { key: '2' }], options);
      expect(await at.forge.deleteSupersededCaches(PREFIX, 1)).toBe(0);
      expect(at.debugLines).toEqual([expect.stringContaining(words)]);
      expect(at.logged).toEqual([]);
      expect(await at.forge.deleteSupersededCaches(PREFIX, 1)).toBe(0);
      expect(at.github.requests).toHaveLength(requests);
      expect(keysLeft(at)).toEqual(['1', '2']);
    },
  );

  test.each([
    {
      what: 'a server error',
      method: 'GET',
      effect: { kind: 'answer', status: 500, body: { message: 'Server Error' } },
      left: 3,
    },
    { what: 'a broken connection', method: 'DELETE', effect: { kind: 'drop' }, left: 3 },
    { what: 'a lost answer', method: 'DELETE', effect: { kind: 'lost' }, left: 2 },
    {
      what: 'a page of a proxy',
      method: 'GET',
      effect: { kind: 'answer', status: 200, body: '<html></html>' },
      left: 3,
    },
  ] as const)('$what ends it without a retry; it may be tried again', async ({ method, effect, left }) => {
    await using at = await openWith([{ key: '1' }, { key: '2' }, { key: '3' }]);
    at.github.faults.inject({ match: { method, path: /caches/ }, times: 1, effect });
    expect(await at.forge.deleteSupersededCaches(PREFIX, 1)).toBe(0);
    expect(at.debugLines).toHaveLength(1);
    expect(keysLeft(at)).toHaveLength(left);
    await at.forge.deleteSupersededCaches(PREFIX, 1);
    expect(keysLeft(at)).toEqual(['3']);
  });

  test.each(['GET', 'DELETE'])('a server that does not answer %s is left behind in time', async (method) => {
    await using at = await openWith([{ key: '1' }, { key: '2' }], { requestMs: 300 });
    at.github.faults.inject({ match: { method, path: /caches/ }, times: 9, effect: { kind: 'hang' } });
    const startedAt = performance.now();
    expect(await at.forge.deleteSupersededCaches(PREFIX, 1)).toBe(0);
    // This is less than the default limit of 10 s, and no request is repeated.
    expect(performance.now() - startedAt).toBeLessThan(9_000);
    expect(at.sent()).toEqual([...new Set(at.sent())]);
  });

  test('one that another run has just deleted is not counted, and the others go', async () => {
    await using at = await openWith([{ key: '1' }, { key: '2' }, { key: '3' }]);
    at.github.faults.inject({
      match: { method: 'DELETE', path: /caches\/1$/ },
      times: 1,
      effect: { kind: 'answer', status: 404, body: { message: 'Not Found' } },
    });
    expect(await at.forge.deleteSupersededCaches(PREFIX, 1)).toBe(1);
    expect(keysLeft(at)).toEqual(['1', '3']);
  });
});

test('what the state store saved with the real cache library: older entries go, and the newest is still restored', async () => {
  await using cache = await cacheFixture();
  await using at = await openForge({ caches: cache.service.shelf });
  for (const sequence of [1, 2, 3])
    expect(await cache.store().save(copyOf('queue', sequence, `{"sequence":${String(sequence)}}`, null))).toMatchObject(
      { kind: 'saved' },
    );
  await cache.store().save(copyOf('issue-7', 1, '{}', null));
  expect(await at.forge.deleteSupersededCaches(PREFIX, 1)).toBe(2);
  expect(cache.service.entries.map(({ key }) => key.split('/').slice(1, 3).join('/'))).toEqual([
    'queue/3',
    'issue-7/1',
  ]);
  expect(await cache.store().restore('queue')).toMatchObject({ kind: 'found', sequence: 3 });
}, 60_000);

/**
 * Opens a forge with caches of the lane `queue`, each a second newer than the previous one by default; `key` is without
 * the prefix.
 */
async function openWith(
  caches: readonly Partial<StoredCache>[],
  options: Parameters<typeof openForge>[0] = {},
): Promise<ForgeFixture> {
  const at = await openForge(options);
  at.github.state.caches.push(
    ...caches.map((cache, index) =>
      stored({ id: index + 1, createdAt: now + index * 1000, ...cache, key: `${PREFIX}${cache.key ?? ''}` }),
    ),
  );
  return at;
}

function stored(cache: Partial<StoredCache>): StoredCache {
  return { id: 1, key: '', ref: 'refs/heads/main', version: 'gzip', sizeInBytes: 10, createdAt: now, ...cache };
}

function keysLeft(at: ForgeFixture): readonly string[] {
  return at.github.state.caches.map(({ key }) => key.replace(PREFIX, ''));
}

function numbered(count: number): readonly Partial<StoredCache>[] {
  return numbers(1, count).map((key) => ({ key }));
}

function numbers(from: number, to: number): readonly string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => String(from + index));
}
