import { describe, expect, test } from 'vitest';
import { emptyRecord, serializeRecord, type LaneRecord } from '../../../src/core/sharing/lane-record.ts';
import type { Session } from '../../../src/core/lane/session.ts';
import { serializeState } from '../../../src/core/lane/state.ts';
import type { CopyStore, RestoredCopy, StateCopy } from '../../../src/ports/state.ts';
import { createGuardedStore } from '../../../src/state/guarded-store.ts';
import { createLayeredStore } from '../../../src/state/layered-store.ts';
import { withFaults } from '../../loop/stage/in-memory-cells.ts';
import { copyOf, places, put, stateOf, textOf, type SharedCells } from './cell-fixtures.ts';
import { MINUTE, noon } from '../core/core-fixtures.ts';
import { leaseOf } from '../core/sharing/lease-fixtures.ts';

const session: Session = { id: 'session-1', startedAt: noon, lastUsedAt: noon, taskId: 'issue-1' };
const later: Session = { ...session, lastUsedAt: noon + MINUTE };
const order = { kind: 'pause', task: null, run: null, by: 'ada', from: 'comment', at: noon, number: noon } as const;

/** The record of a lane at `sequence`. */
const record = (sequence: number, change: Partial<LaneRecord> = {}): LaneRecord => ({
  ...emptyRecord('queue'),
  sequence,
  document: copyOf(sequence).document,
  savedBy: 'old',
  orders: [order],
  ...change,
});
const copy = (
  sequence: number,
  change: Parameters<typeof stateOf>[1] = {},
  sessionFolder: string | null = null,
): RestoredCopy => ({ kind: 'found', sequence, document: serializeState(stateOf(sequence, change)), sessionFolder });
const NEWER = '{"version":99,"lane":"queue"}';

/** A cache that holds one copy, and keeps what is saved unless it has a reason not to. */
function cacheOf(cached: RestoredCopy, obstacle: string | null = null) {
  const kept: StateCopy[] = [];
  const store: CopyStore = {
    restore: () => Promise.resolve(cached),
    save: (saved) => {
      if (obstacle !== null) return Promise.resolve({ kind: 'not-kept', why: obstacle });
      kept.push(saved);
      return Promise.resolve({ kind: 'saved', where: 'cache' });
    },
  };
  return { kept, store };
}

/** A run on a machine of its own, with a cache of its own. */
function startRun(shared: SharedCells, cache: ReturnType<typeof cacheOf>, runTag = 'a') {
  const cells = withFaults(shared.machine());
  const guarded = createGuardedStore({ cells, lease: () => leaseOf(runTag), now: () => noon });
  return {
    cells,
    cache,
    store: createLayeredStore({ guarded, copies: { place: 'cache', store: cache.store }, now: () => noon }),
  };
}

const free = { kind: 'free' };
const stillClaimed = { kind: 'claimed', why: 'the server is on fire' };

const absent: RestoredCopy = { kind: 'absent' };
const down: RestoredCopy = { kind: 'unavailable', why: 'the service hangs' };

describe.each(places)('the cache over a $place', ({ place, open }) => {
  async function restore(text: string | null, cached: RestoredCopy, outage: string | null = null) {
    await using shared = await open();
    if (text !== null) await put(shared.machine(), 'queue', text);
    const { store, cells } = startRun(shared, cacheOf(cached));
    cells.outage = outage;
    return await store.restore('queue');
  }

  describe('which copy is restored', () => {
    test.each<[string, string | null, RestoredCopy, number, string, readonly string[]]>([
      ['both have the same', serializeRecord(record(40)), copy(40), 40, [place, 'cache'].sort().join(' and '), []],
      [
        'the cache is behind: events that may not write it, or evicted',
        serializeRecord(record(40)),
        copy(37),
        40,
        `${place}, cache was 3 behind`,
        [],
      ],
      [
        'the cache is ahead, which is reported',
        serializeRecord(record(38)),
        copy(40),
        40,
        `cache, ${place} was 2 behind`,
        [`The ${place} is 2 behind the cache`],
      ],
      ['the cache has none', serializeRecord(record(40)), absent, 40, place, []],
      ['the cache cannot be read', serializeRecord(record(40)), down, 40, place, ['the service hangs']],
      [
        'the copy in the cache is garbage',
        serializeRecord(record(40)),
        { ...copy(41), document: 'garbage' } as RestoredCopy,
        40,
        place,
        ['The state #41 in the cache cannot be read'],
      ],
      ['only the cache has one', null, copy(40), 40, 'cache', []],
      [
        'the lane was only ordered or claimed there',
        serializeRecord(record(0, { document: null })),
        copy(40),
        40,
        'cache',
        [],
      ],
      ['the record is garbage', 'garbage', copy(40), 40, 'cache', [`The state's ${place} cannot be read`]],
      [
        'the document in the record is garbage',
        serializeRecord(record(41, { document: 'garbage' })),
        copy(40),
        40,
        'cache',
        [`The state #41 in the ${place} cannot be read`],
      ],
    ])('%s', async (_, text, cached, sequence, origin, warnings) => {
      const restored = await restore(text, cached);
      if (restored.kind !== 'found') throw new Error(JSON.stringify(restored));
      expect(restored).toMatchObject({
        state: { sequence },
        origin,
        warnings: warnings.map((text) => expect.stringContaining(text)),
      });
    });

    test('nobody answers there: no copy is a basis to work on, whatever the cache has', async () => {
      expect(await restore(serializeRecord(record(40)), copy(39), 'the server is on fire')).toEqual({
        kind: 'unavailable',
        why: 'the server is on fire',
      });
    });

    test('a cache that was written by a run that lost the lane is not preferred to an equal record', async () => {
      const ours = { savedAt: noon + MINUTE };
      const text = serializeRecord(record(41, { document: copyOf(41, ours).document }));
      expect(await restore(text, copy(41))).toMatchObject({ state: stateOf(41, ours) });
    });
  });

  describe('when no copy can be read', () => {
    test.each<[string, string | null, RestoredCopy]>([
      ['nothing anywhere', null, absent],
      ['nothing there, and the cache cannot tell', null, down],
      ['only an order there', serializeRecord(record(0, { document: null })), absent],
    ])('%s: absent', async (_, text, cached) => {
      expect(await restore(text, cached)).toMatchObject({ kind: 'absent', orders: text === null ? [] : [order] });
    });

    test.each<[string, string | null, RestoredCopy, readonly string[]]>([
      [
        'both documents are garbage',
        serializeRecord(record(41, { document: 'garbage' })),
        { ...copy(40), document: 'rubbish' } as RestoredCopy,
        ['#41', '#40'],
      ],
      ['the only document is garbage', serializeRecord(record(41, { document: 'garbage' })), absent, ['#41']],
    ])('%s: unreadable, for one probe to decide, and each is reported', async (_, text, cached, numbers) => {
      expect(await restore(text, cached)).toMatchObject({
        kind: 'unreadable',
        why: 'it is not a JSON object with a version and a lane',
        warnings: numbers.map((number) => expect.stringContaining(number)),
      });
    });

    test('nobody answers there, and the cache has none: unavailable, not a first run', async () => {
      expect(await restore(null, absent, 'the server is on fire')).toEqual({
        kind: 'unavailable',
        why: expect.stringContaining('the server is on fire'),
      });
    });

    test('the record is garbage, and the cache has none: a state was there, so this is no first run', async () => {
      expect((await restore('garbage', absent)).kind).toBe('unreadable');
    });
  });

  test.each<[string, string | null, RestoredCopy, object]>([
    ['the record', '{"version":3}', copy(40), { version: 3, origin: place }],
    [
      'the document in the record',
      serializeRecord(record(41, { document: NEWER })),
      copy(40),
      { version: 99, origin: place },
    ],
    [
      'the copy in the cache',
      serializeRecord(record(40)),
      { ...copy(41), document: NEWER } as RestoredCopy,
      { version: 99, origin: 'cache' },
    ],
  ])('%s is of a newer version: refused as a whole', async (_, text, cached, expected) => {
    expect(await restore(text, cached)).toEqual({ kind: 'newer', ...expected });
  });

  test('who has the lane and what was ordered come with any copy', async () => {
    const recordText = serializeRecord(record(38, { lease: leaseOf('b') }));
    for (const copied of [copy(37), copy(40), absent])
      expect(await restore(recordText, copied)).toMatchObject({
        kind: 'found',
        lease: { runTag: 'b' },
        orders: [order],
      });
  });

  describe('the session folder of the cache is restored', () => {
    const withSession = (sequence: number, of: Session | null): string =>
      serializeRecord(record(sequence, { document: copyOf(sequence, { session: of }).document }));
    test.each<[string, string, RestoredCopy, string | null]>([
      ['with the state that it was saved with', withSession(40, session), copy(40, { session }, 'folder'), 'folder'],
      [
        'with a newer state of the same session at the same point',
        withSession(41, session),
        copy(40, { session }, 'folder'),
        'folder',
      ],
      ['not with a newer state whose session went on', withSession(41, later), copy(40, { session }, 'folder'), null],
      [
        'not with another session',
        withSession(41, { ...session, id: 'session-2' }),
        copy(40, { session }, 'folder'),
        null,
      ],
      ['not with a state whose session was reset', withSession(41, null), copy(40, { session }, 'folder'), null],
      [
        'not with a state that has no session, whatever lies in the cache',
        withSession(40, null),
        copy(40, { session: null }, 'folder'),
        null,
      ],
      [
        'with the newest state, when that is in the cache',
        withSession(39, session),
        copy(40, { session: later }, 'folder'),
        'folder',
      ],
      [
        'not when its state cannot be read',
        withSession(40, session),
        { ...copy(40, { session }, 'folder'), document: 'garbage' } as RestoredCopy,
        null,
      ],
    ])('%s', async (_, text, cached, sessionFolder) => {
      expect(await restore(text, cached)).toMatchObject({ kind: 'found', sessionFolder });
    });
  });

  describe('where a copy is saved', () => {
    test.each<[string, string | null, string | null, object]>([
      ['both', null, null, { kind: 'saved', where: `cache ✓ ${place} ✓`, lane: free }],
      [
        'the cache does not take it',
        'this event may not',
        null,
        { kind: 'saved', where: `cache ✗: this event may not, ${place} ✓`, lane: free },
      ],
      [
        'only the cache takes it',
        null,
        'the server is on fire',
        { kind: 'saved', where: `cache ✓, ${place} ✗: the server is on fire`, lane: stillClaimed },
      ],
      [
        'none',
        'this event may not',
        'the server is on fire',
        { kind: 'not-kept', why: `cache ✗: this event may not, ${place} ✗: the server is on fire`, lane: stillClaimed },
      ],
    ])('%s', async (_, obstacle, outage, expected) => {
      await using shared = await open();
      const { store, cells, cache } = startRun(shared, cacheOf(absent, obstacle));
      await store.restore('queue');
      await store.claim('queue');
      cells.outage = outage;
      expect(await store.save(copyOf(41))).toEqual(expected);
      expect(cache.kept).toEqual(obstacle === null ? [copyOf(41)] : []);
    });

    test('nowhere, the cache included, when another run has the lane', async () => {
      await using shared = await open();
      await put(shared.machine(), 'queue', serializeRecord(record(40, { lease: leaseOf('b') })));
      const { store, cache } = startRun(shared, cacheOf(absent));
      expect(await store.save(copyOf(41))).toEqual({
        kind: 'not-kept',
        why: expect.stringContaining('/actions/runs/b'),
        lane: free,
      });
      expect(cache.kept).toEqual([]);
      expect(await textOf(shared.machine(), 'queue')).toBe(serializeRecord(record(40, { lease: leaseOf('b') })));
    });
  });

  describe('what this run saved before', () => {
    test('is not copied once more: another run may save its own while we do, and an old number would be the newest entry', async () => {
      await using shared = await open();
      const main = startRun(shared, cacheOf(absent));
      await main.store.restore('queue');
      await main.store.claim('queue');
      await main.store.save(copyOf(41));
      const other = startRun(shared, cacheOf(absent), 'b').store;
      await other.restore('queue');
      await other.claim('queue');
      const post = startRun(shared, cacheOf(absent));
      expect(await post.store.save(copyOf(41, { savedAt: noon + MINUTE }))).toEqual({
        kind: 'saved',
        where: `${place} ✓`,
        lane: free,
      });
      expect(post.cache.kept).toEqual([]);
    });

    test('is copied once when only the answer to the write was lost', async () => {
      await using shared = await open();
      const { store, cells, cache } = startRun(shared, cacheOf(absent));
      await store.restore('queue');
      await store.claim('queue');
      cells.fail('write', 'taken-for-conflict');
      expect(await store.save(copyOf(41))).toEqual({ kind: 'saved', where: `cache ✓ ${place} ✓`, lane: free });
      expect(cache.kept).toEqual([copyOf(41)]);
    });
  });

  test('claims, releases and orders are those of the cells', async () => {
    await using shared = await open();
    const { store } = startRun(shared, cacheOf(absent));
    const second = startRun(shared, cacheOf(absent), 'b').store;
    await store.restore('queue');
    expect(await store.claim('queue')).toEqual({ kind: 'claimed', sequence: 0 });
    expect(await second.restore('queue')).toMatchObject({ kind: 'absent', lease: { runTag: 'a' } });
    expect(await second.claim('queue')).toMatchObject({ kind: 'leased', lease: { runTag: 'a' } });
    expect(await second.order('queue', order)).toEqual({ kind: 'kept', where: place });
    expect(await store.release('queue')).toEqual(free);
    expect(await second.restore('queue')).toMatchObject({ kind: 'absent', lease: null, orders: [{ kind: 'pause' }] });
  });

  test('without a cache the cells keep everything but the session', async () => {
    await using shared = await open();
    const store = createLayeredStore({
      guarded: createGuardedStore({ cells: shared.machine(), lease: () => leaseOf('a'), now: () => noon }),
      copies: null,
      now: () => noon,
    });
    expect(await store.restore('queue')).toMatchObject({ kind: 'absent' });
    await store.claim('queue');
    expect(await store.save({ ...copyOf(1), sessionFolder: 'folder' })).toEqual({
      kind: 'saved',
      where: `${place} ✓`,
      lane: free,
    });
    expect(await store.restore('queue')).toMatchObject({
      kind: 'found',
      state: stateOf(1),
      sessionFolder: null,
      origin: place,
    });
  });
});

describe('the cache alone', () => {
  const storeOver = (cached: RestoredCopy) =>
    createLayeredStore({ guarded: null, copies: { place: 'cache', store: cacheOf(cached).store }, now: () => noon });

  test.each<[string, RestoredCopy, object]>([
    [
      'has a copy',
      copy(40),
      { kind: 'found', state: stateOf(40), origin: 'cache', orders: [], lease: null, warnings: [] },
    ],
    ['has none', absent, { kind: 'absent', orders: [], lease: null }],
    ['cannot tell', down, { kind: 'unavailable', why: expect.stringContaining('the service hangs') }],
    ['has one of a newer version', { ...copy(40), document: NEWER } as RestoredCopy, { kind: 'newer', version: 99 }],
    [
      'has garbage',
      { ...copy(40), document: 'garbage' } as RestoredCopy,
      { kind: 'unreadable', warnings: [expect.stringContaining('#40')] },
    ],
  ])('%s', async (_, cached, expected) => {
    expect(await storeOver(cached).restore('queue')).toMatchObject(expected);
  });

  test('keeps copies, but no two runs apart and no orders', async () => {
    const store = storeOver(absent);
    expect(await store.claim('queue')).toEqual({ kind: 'unguarded', why: expect.stringContaining('cache') });
    expect(await store.save(copyOf(1))).toEqual({ kind: 'saved', where: 'cache ✓', lane: free });
    expect(await store.order('queue', order)).toEqual({ kind: 'unsupported', why: expect.stringContaining('cache') });
    expect(await store.release('queue')).toEqual(free);
  });
});
