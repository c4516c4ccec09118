import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createLaneRecord, serializeRecord, type LaneRecord } from '../../../src/core/sharing/lane-record.ts';
import type { Session } from '../../../src/core/lane/session.ts';
import { serializeState } from '../../../src/core/lane/state/serialize-state.ts';
import { untouchedProgress } from '../../../src/core/tasks/queue.ts';
import type {
  Conversations,
  CopyStore,
  FoundCopy,
  PartialCopy,
  RestoredCopy,
  SealedTranscript,
} from '../../../src/ports/state.ts';
import { createSnapshotStore } from '../../../src/state/snapshot-store.ts';
import { MINUTE, noon } from '../core/core-fixtures.ts';
import { leaseOf } from '../core/sharing/lease-fixtures.ts';
import { copyOf, places, putText, startRun, stateOf, textIn, verbsOf, type SharedPlace } from './place-fixtures.ts';

const session: Session = { id: 'session-1', startedAt: noon, lastUsedAt: noon, taskId: 'issue-1' };
const later: Session = { ...session, lastUsedAt: noon + MINUTE };
const order = { kind: 'pause', task: null, run: null, by: 'ada', from: 'comment', at: noon, number: noon } as const;

/** Returns the record of a lane at `sequence`. */
const record = (sequence: number, change: Partial<LaneRecord> = {}): LaneRecord => ({
  ...createLaneRecord('queue'),
  sequence,
  document: copyOf(sequence).document,
  savedBy: 'old',
  orders: [order],
  ...change,
});
const copy = (
  sequence: number,
  change: Parameters<typeof stateOf>[1] = {},
  rest: Partial<FoundCopy> = {},
): FoundCopy & { readonly kind: 'found' } => ({
  kind: 'found',
  sequence,
  document: serializeState(stateOf(sequence, change)),
  transcript: null,
  signed: true,
  ...rest,
});
const transcriptOf = (text: string): SealedTranscript => ({
  sha256: createHash('sha256').update(text).digest('hex'),
  content: Buffer.from(text),
});
const named = (text: string) => ({ sha256: transcriptOf(text).sha256, bytes: text.length });
const NEWER = '{"version":99,"lane":"queue"}';

/** Creates a cache that holds one copy, and accepts new ones unless there is an obstacle. */
function cacheOf(cached: RestoredCopy, obstacle: string | null = null) {
  const kept: PartialCopy[] = [];
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

/** Creates a store of conversations that accepts them unless there is an obstacle. */
function conversationsOf(
  obstacle: string | null = null,
): Conversations & { readonly contents: Map<string, Uint8Array> } {
  const contents = new Map<string, Uint8Array>();
  return {
    contents,
    read: (lane) => {
      const content = contents.get(lane);
      return Promise.resolve(content === undefined ? { kind: 'absent' } : { kind: 'found', content });
    },
    write: (lane, content) => {
      if (obstacle !== null) return Promise.resolve({ kind: 'not-kept', why: obstacle });
      contents.set(lane, content);
      return Promise.resolve({ kind: 'written' });
    },
  };
}

/** Starts a run on a separate machine with its own cache. */
function startCached(
  shared: SharedPlace,
  cache: ReturnType<typeof cacheOf>,
  runTag = 'a',
  conversations = conversationsOf(),
) {
  const copies = { place: 'cache', store: cache.store };
  return { ...startRun(runTag, shared.machine(), { copies, conversations }), cache, conversations };
}

const free = { kind: 'free' };
const stillClaimed = { kind: 'claimed', why: 'the server is on fire' };

const absent: RestoredCopy = { kind: 'absent' };
const down: RestoredCopy = { kind: 'unavailable', why: 'the service hangs' };

describe.each(places)('the cache over a $place', ({ place, open }) => {
  async function restore(text: string | null, cached: RestoredCopy, outage: string | null = null) {
    await using shared = await open();
    if (text !== null) await putText(shared.machine(), text);
    const { store, place: at } = startCached(shared, cacheOf(cached));
    at.outage = outage;
    return await store.restore('queue');
  }

  describe('the document there is restored, whatever the cache has', () => {
    const ahead = [`The cache has #900 of this state and the ${place} has #40: it was reset`];
    test.each<[string, RestoredCopy, readonly string[]]>([
      ['the same', copy(40), []],
      ['an older one: events that may not write it, or evicted', copy(37), []],
      ['one that is further, which is reported', copy(900), ahead],
      ['one that is further without a document', copy(900, {}, { document: null }), ahead],
      [
        'one that is further and of somebody without the key',
        copy(900, {}, { signed: false }),
        [
          `The cache has #900 of this state and the ${place} has #40, which decides; the copy in the cache is not signed`,
        ],
      ],
      ['none', absent, []],
      ['no answer', down, ['the service hangs']],
      ['garbage', copy(40, {}, { document: 'garbage' }), []],
      ['one of a newer version', copy(40, {}, { document: NEWER }), []],
    ])('%s', async (_, cached, warnings) => {
      expect(await restore(serializeRecord(record(40)), cached)).toMatchObject({
        kind: 'found',
        state: stateOf(40),
        origin: place,
        warnings: warnings.map((text) => expect.stringContaining(text)),
      });
    });

    test.each<[string, Partial<Parameters<typeof stateOf>[1]>, string | null, number | undefined]>([
      ['no further than it, if that is all there is to know', {}, null, 40],
      ['in any case for the transcript that it names', { session, transcript: named('own') }, null, undefined],
      ['in any case if it cannot be read', {}, 'garbage', undefined],
    ])('the cache is asked %s', async (_, state, garbage, expected) => {
      await using shared = await open();
      const document = garbage ?? copyOf(40, state).document;
      await putText(shared.machine(), serializeRecord(record(40, { document })));
      const asked: (number | undefined)[] = [];
      const { kept, store } = cacheOf(absent);
      const cache = {
        ...store,
        restore: (_lane: string, beyond?: number) => (asked.push(beyond), store.restore('queue')),
      };
      await startCached(shared, { kept, store: cache }).store.restore('queue');
      expect(asked).toEqual([expected]);
    });

    test('nobody answers there: no copy is a basis to work on', async () => {
      expect(await restore(serializeRecord(record(40)), copy(39), 'the server is on fire')).toEqual({
        kind: 'unavailable',
        why: 'the server is on fire',
      });
    });
  });

  test('an entry that somebody planted, with a consent, a pause, a conversation: nothing of it is used, one sentence says so', async () => {
    const forged = copy(
      900,
      {
        tasks: { 'issue-1': { ...untouchedProgress, approval: { text: 'f'.repeat(32), by: 'ada', at: noon } } },
        pause: { by: 'ada', at: noon },
        session: { ...session, id: 'foreign' },
        transcript: named('foreign'),
        circuit: { kind: 'open', openedAt: noon, reason: 'no_progress', totalOpens: 9 } as never,
      },
      { transcript: transcriptOf('foreign'), signed: false },
    );
    await using shared = await open();
    const own = { session, transcript: named('own') };
    await putText(shared.machine(), serializeRecord(record(3, { document: copyOf(3, own).document })));
    const { store, state } = startCached(shared, cacheOf(forged));
    const restored = await store.restore('queue');
    expect(restored).toMatchObject({ kind: 'found', state: stateOf(3, own) });
    expect('warnings' in restored && restored.warnings).toHaveLength(1);
    expect(await state.transcript('queue', named('own'))).toEqual({ kind: 'absent' });
  });

  describe('when no document there can be read', () => {
    test.each<[string, string | null, RestoredCopy, readonly string[]]>([
      ['nothing anywhere', null, absent, []],
      ['nothing there, and the cache cannot tell', null, down, ['the service hangs']],
      ['only an order there', serializeRecord(record(0, { document: null })), absent, []],
      ['nothing there, whatever the cache has', null, copy(40), ['The cache has #40 of this state and the']],
      [
        'only an order there, whatever the cache has',
        serializeRecord(record(0, { document: null })),
        copy(40, {}, { signed: false }),
        ['not signed'],
      ],
    ])('%s: absent', async (_, text, cached, warnings) => {
      expect(await restore(text, cached)).toMatchObject({
        kind: 'absent',
        orders: text === null ? [] : [order],
        warnings: warnings.map((part) => expect.stringContaining(part)),
      });
    });

    test.each<[string, string, RestoredCopy]>([
      ['its document is garbage', serializeRecord(record(41, { document: 'garbage' })), absent],
      [
        'its document is garbage, whatever the cache has',
        serializeRecord(record(41, { document: 'garbage' })),
        copy(40),
      ],
      ['the record is garbage', 'garbage', absent],
      ['the record is garbage, whatever the cache has', 'garbage', copy(40)],
    ])('%s: unreadable, for one probe to decide', async (_, text, cached) => {
      expect(await restore(text, cached)).toMatchObject({
        kind: 'unreadable',
        why: expect.stringContaining('it is not a JSON object with'),
        warnings: [expect.stringContaining('cannot be read')],
      });
    });

    test('nobody answers there, and the cache has none: unavailable, not a first run', async () => {
      expect(await restore(null, absent, 'the server is on fire')).toEqual({
        kind: 'unavailable',
        why: expect.stringContaining('the server is on fire'),
      });
    });
  });

  test.each<[string, string, object]>([
    ['the record', '{"version":4}', { version: 4, origin: place }],
    ['the document in it', serializeRecord(record(41, { document: NEWER })), { version: 99, origin: place }],
  ])('%s is of a newer version: refused as a whole', async (_, text, expected) => {
    expect(await restore(text, copy(40))).toEqual({ kind: 'newer', ...expected });
  });

  describe('where the place takes no writes of this run', () => {
    const progress = {
      tasks: {
        'issue-1': { state: 'done', attempts: 1, startedTree: null, doneCommit: null, reason: null, setAside: null },
      },
    } as const;
    const words = {
      tasks: { 'issue-1': { ...progress.tasks['issue-1'], approval: { text: 'f'.repeat(32), by: 'ada', at: noon } } },
      pause: { by: 'ada', at: noon },
      session,
    };
    async function restoreRefused(text: string | null, cached: RestoredCopy) {
      await using shared = await open();
      if (text !== null) await putText(shared.machine(), text);
      const { store, place: at } = startCached(shared, cacheOf(cached));
      await store.restore('queue');
      at.refusal = 'a ruleset forbids it';
      const { kind } = await store.claim('queue');
      return { kind, restored: await store.restore('queue') };
    }

    test('and never did, a copy counts for what is safe, and the rest of it is named', async () => {
      const cached = copy(40, { ...progress, ...words, ordersApplied: 7 }, { signed: false });
      expect(await restoreRefused(null, cached)).toEqual({
        kind: 'unguarded',
        restored: {
          savedBy: null,
          kind: 'found',
          state: stateOf(40, progress),
          origin: 'cache',
          orders: [],
          lease: null,
          warnings: [
            `Ignored in the state #40 from the cache: approvals, a pause, a conversation, since the ${place} does not accept writes.`,
          ],
        },
      });
    });

    test('later, a run with the key that saved since decides what is safe', async () => {
      const { kind, restored } = await restoreRefused(
        serializeRecord(record(38, { document: copyOf(38, { session: later }).document })),
        copy(40, { ...progress, ...words }),
      );
      expect(kind).toBe('unguarded');
      expect(restored).toMatchObject({ state: stateOf(40, { ...progress, session: later }), warnings: [] });
    });

    test.each<[string, RestoredCopy]>([
      ['a copy of somebody without the key', copy(40, progress, { signed: false })],
      ['an older copy', copy(37, progress)],
      ['a copy without a document', copy(40, progress, { document: null })],
      ['no copy', absent],
    ])('later, %s changes nothing', async (_, cached) => {
      expect((await restoreRefused(serializeRecord(record(38)), cached)).restored).toMatchObject({
        state: stateOf(38),
        origin: place,
      });
    });
  });

  test('the holder of the lane and the orders come with any copy', async () => {
    const recordText = serializeRecord(record(38, { lease: leaseOf('b') }));
    for (const copied of [copy(37), copy(40), absent])
      expect(await restore(recordText, copied)).toMatchObject({
        kind: 'found',
        lease: { runTag: 'b' },
        orders: [order],
      });
  });

  describe('the transcript that the document names', () => {
    test.each<[string, string | null, string | null, string | null]>([
      ['is the one in the cache', 'own', null, 'own'],
      ['is the one on the ref where the cache has none', null, 'own', 'own'],
      ['is the one on the ref where the cache has another', 'foreign', 'own', 'own'],
      ['is not another, wherever it is', 'foreign', 'foreign too', null],
      ['may be nowhere', null, null, null],
    ])('%s', async (_, cached, stored, expected) => {
      await using shared = await open();
      const transcript = cached === null ? null : transcriptOf(cached);
      const { store, state, conversations } = startCached(
        shared,
        cacheOf(copy(40, {}, { document: null, transcript })),
      );
      if (stored !== null) conversations.contents.set('queue', Buffer.from(stored));
      await store.restore('queue');
      expect(await state.transcript('queue', named('own'))).toEqual(
        expected === null ? { kind: 'absent' } : { kind: 'found', transcript: transcriptOf(expected) },
      );
    });
  });

  describe('where a copy is saved', () => {
    const whole = { ...copyOf(41), transcript: transcriptOf('own') };
    test.each<[string, string | null, string | null, object, readonly (string | null)[], boolean]>([
      ['both', null, null, { kind: 'saved', where: `cache ✓ ${place} ✓`, lane: free }, [null], false],
      [
        'the cache does not take it: the transcript is kept beside the document',
        'this event may not',
        null,
        { kind: 'saved', where: `cache ✗: this event may not, ${place} ✓`, lane: free },
        [],
        true,
      ],
      [
        'only the cache takes it, and the document then',
        null,
        'the server is on fire',
        { kind: 'saved', where: `cache ✓, ${place} ✗: the server is on fire`, lane: stillClaimed },
        [whole.document],
        false,
      ],
      [
        'none',
        'this event may not',
        'the server is on fire',
        { kind: 'not-kept', why: `cache ✗: this event may not, ${place} ✗: the server is on fire`, lane: stillClaimed },
        [],
        false,
      ],
    ])('%s', async (_, obstacle, outage, expected, documents, isOnRef) => {
      await using shared = await open();
      const { store, place: at, cache, conversations } = startCached(shared, cacheOf(absent, obstacle));
      await store.restore('queue');
      await store.claim('queue');
      at.outage = outage;
      expect(await store.save(whole)).toEqual(expected);
      expect(cache.kept).toEqual(documents.map((document) => ({ ...whole, document })));
      expect([...conversations.contents.values()]).toEqual(isOnRef ? [whole.transcript.content] : []);
    });

    test('a transcript that is kept nowhere is reported, and nothing else is lost', async () => {
      await using shared = await open();
      const { store } = startCached(
        shared,
        cacheOf(absent, 'this event may not'),
        'a',
        conversationsOf('it is too large'),
      );
      await store.restore('queue');
      await store.claim('queue');
      expect(await store.save(whole)).toEqual({
        kind: 'saved',
        where: `cache ✗: this event may not, ${place} ✓, transcript ✗: it is too large`,
        lane: free,
      });
    });

    test('nowhere, the cache included, when another run has the lane', async () => {
      await using shared = await open();
      await putText(shared.machine(), serializeRecord(record(40, { lease: leaseOf('b') })));
      const { store, cache } = startCached(shared, cacheOf(absent));
      expect(await store.save(copyOf(41))).toEqual({
        kind: 'not-kept',
        why: expect.stringContaining('/actions/runs/b'),
        lane: free,
      });
      expect(cache.kept).toEqual([]);
      expect(await textIn(shared.machine())).toBe(serializeRecord(record(40, { lease: leaseOf('b') })));
    });
  });

  describe('what this run saved before', () => {
    test('is not copied once more: another run may save its own while we do, and an old number would be the newest entry', async () => {
      await using shared = await open();
      const main = startCached(shared, cacheOf(absent));
      await main.store.restore('queue');
      await main.store.claim('queue');
      await main.store.save(copyOf(41));
      const other = startCached(shared, cacheOf(absent), 'b').store;
      await other.restore('queue');
      await other.claim('queue');
      const post = startCached(shared, cacheOf(absent));
      expect(await post.store.save(copyOf(41, { savedAt: noon + MINUTE }))).toEqual({
        kind: 'saved',
        where: `${place} ✓`,
        lane: free,
      });
      expect(post.cache.kept).toEqual([]);
    });

    test('is copied once when only the answer to the write was lost', async () => {
      await using shared = await open();
      const { store, place: at, cache } = startCached(shared, cacheOf(absent));
      await store.restore('queue');
      await store.claim('queue');
      at.fail('write', 'taken-for-conflict');
      expect(await store.save(copyOf(41))).toEqual({ kind: 'saved', where: `cache ✓ ${place} ✓`, lane: free });
      expect(cache.kept).toEqual([{ ...copyOf(41), document: null }]);
    });
  });

  test('claims, releases and orders are those of the place', async () => {
    await using shared = await open();
    const { store } = startCached(shared, cacheOf(absent));
    const second = startCached(shared, cacheOf(absent), 'b').store;
    await store.restore('queue');
    expect(await store.claim('queue')).toMatchObject({ kind: 'claimed', sequence: 0 });
    expect(await second.restore('queue')).toMatchObject({ kind: 'absent', lease: { runTag: 'a' } });
    expect(await second.claim('queue')).toMatchObject({ kind: 'leased', lease: { runTag: 'a' } });
    expect(await second.order('queue', order)).toEqual({ kind: 'kept' });
    expect(await store.release('queue')).toEqual(free);
    expect(await second.restore('queue')).toMatchObject({ kind: 'absent', lease: null, orders: [{ kind: 'pause' }] });
  });

  test('without a cache the transcript is kept beside the document', async () => {
    await using shared = await open();
    const { store, state } = startRun('a', shared.machine(), { conversations: conversationsOf() });
    expect(await store.restore('queue')).toMatchObject({ kind: 'absent' });
    await store.claim('queue');
    const transcript = transcriptOf('own');
    expect(await store.save({ ...copyOf(1), transcript })).toEqual({ kind: 'saved', where: `${place} ✓`, lane: free });
    expect(await store.restore('queue')).toMatchObject({ kind: 'found', state: stateOf(1), origin: place });
    expect(await state.transcript('queue', named('own'))).toEqual({ kind: 'found', transcript });
  });
});

describe('the cache alone', () => {
  const tasks = { 'issue-1': { ...untouchedProgress, approval: { text: 'f'.repeat(32), by: 'ada', at: noon } } };
  const pause = { by: 'ada', at: noon };
  const storeOver = (cached: RestoredCopy) =>
    verbsOf(
      createSnapshotStore({
        place: null,
        copies: { place: 'cache', store: cacheOf(cached).store },
        conversations: null,
        now: () => noon,
        pace: { random: () => 0, sleep: () => Promise.resolve() },
      }),
      'a',
      () => noon,
    );

  test.each<[string, RestoredCopy, object]>([
    [
      'has a copy',
      copy(40),
      { kind: 'found', state: stateOf(40), origin: 'cache', orders: [], lease: null, warnings: [] },
    ],
    ['has none', absent, { kind: 'absent', orders: [], lease: null }],
    ['has one without a document', copy(40, {}, { document: null }), { kind: 'absent', orders: [], lease: null }],
    [
      'has one with approvals: they are asked again',
      copy(40, { tasks, pause, session }),
      {
        kind: 'found',
        state: stateOf(40, { pause, session }),
        origin: 'cache; approvals are checked again',
        warnings: [],
      },
    ],
    [
      'has one of somebody without the key: nothing that a person said, no conversation',
      copy(40, { tasks, pause, session }, { signed: false }),
      {
        kind: 'found',
        state: stateOf(40),
        warnings: [
          "Ignored in the state #40 from the cache: a pause, a conversation, since it is not signed with this run's key.",
        ],
      },
    ],
    ['cannot tell', down, { kind: 'unavailable', why: expect.stringContaining('the service hangs') }],
    ['has one of a newer version', copy(40, {}, { document: NEWER }), { kind: 'newer', version: 99 }],
    [
      'has garbage',
      copy(40, {}, { document: 'garbage' }),
      { kind: 'unreadable', warnings: [expect.stringContaining('#40')] },
    ],
  ])('%s', async (_, cached, expected) => {
    expect(await storeOver(cached).restore('queue')).toMatchObject(expected);
  });

  test('keeps copies, but no two runs apart and no orders', async () => {
    const store = storeOver(absent);
    expect(await store.claim('queue')).toEqual({ kind: 'unguarded', why: expect.stringContaining('cache') });
    expect(await store.save(copyOf(1))).toEqual({ kind: 'saved', where: 'cache ✓', lane: free });
    expect(await store.order('queue', order)).toEqual({ kind: 'not-kept', why: expect.stringContaining('cache') });
    expect(await store.release('queue')).toEqual(free);
  });
});
