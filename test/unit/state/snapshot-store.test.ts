import { describe, expect, test } from 'vitest';
import { MAX_ORDERS } from '../../../src/core/sharing/lane-record.ts';
import type { OrderGiven } from '../../../src/core/sharing/orders.ts';
import { HOUR, MINUTE, noon } from '../core/core-fixtures.ts';
import { leaseOf } from '../core/sharing/lease-fixtures.ts';
import { copyOf, freeAt40, places, putRecord, recordIn, startRun } from './place-fixtures.ts';

const pause: OrderGiven = { kind: 'pause', task: null, run: null, by: 'ada', from: 'comment', at: noon };

describe.each(places)('lanes in a place: $place', ({ open }) => {
  /** Creates two runs on two machines, with a free lane at #40. */
  async function twoRuns() {
    const shared = await open();
    const place = shared.machine();
    await putRecord(place, freeAt40);
    return {
      place,
      a: startRun('a', shared.machine()),
      b: startRun('b', shared.machine()),
      later: (runTag: string, at: number) => startRun(runTag, shared.machine(), { at }),
      [Symbol.asyncDispose]: () => shared[Symbol.asyncDispose](),
    };
  }

  test('a lane that nobody ever had is restored as an empty one, claimed and saved', async () => {
    await using shared = await open();
    const { store, place } = startRun('a', shared.machine());
    expect(await store.restore('queue')).toEqual({
      kind: 'absent',
      savedBy: null,
      orders: [],
      lease: null,
      warnings: [],
    });
    expect(await store.claim('queue')).toMatchObject({ kind: 'claimed', sequence: 0 });
    expect(await store.save(copyOf(1))).toMatchObject({ kind: 'saved' });
    // Nothing was stored before, so there is nothing to delete, and the first write is not read back.
    expect(place.asked).toEqual(['read', 'write', 'write', 'read']);
    expect(await recordIn(shared.machine())).toMatchObject({
      sequence: 1,
      document: copyOf(1).document,
      savedBy: 'a',
      lease: null,
    });
  });

  test('a claim says what sequence a new copy must go beyond', async () => {
    await using lane = await twoRuns();
    await lane.a.store.restore('queue');
    expect(await lane.a.store.claim('queue')).toEqual({ kind: 'claimed', sequence: 40, problem: null });
  });

  test('a claim without a restore is refused', async () => {
    await using lane = await twoRuns();
    expect(await lane.a.store.claim('queue')).toEqual({ kind: 'changed' });
  });

  test('lanes do not block each other', async () => {
    await using lane = await twoRuns();
    for (const [{ store }, name] of [
      [lane.a, 'queue'],
      [lane.b, 'issue-7'],
    ] as const) {
      await store.restore(name);
      expect(await store.claim(name)).toMatchObject({ kind: 'claimed' });
    }
  });

  describe('two runs at once', () => {
    test('both restored, one claims: the other learns which run has the lane', async () => {
      await using lane = await twoRuns();
      await Promise.all([lane.a.store.restore('queue'), lane.b.store.restore('queue')]);
      expect(await lane.a.store.claim('queue')).toEqual({ kind: 'claimed', sequence: 40, problem: null });
      expect(await lane.b.store.claim('queue')).toEqual({ kind: 'leased', lease: leaseOf('a') });
    });

    test('both claim in the same moment: one has the lane', async () => {
      await using lane = await twoRuns();
      await Promise.all([lane.a.store.restore('queue'), lane.b.store.restore('queue')]);
      const claimed = await Promise.all([lane.a.store.claim('queue'), lane.b.store.claim('queue')]);
      expect(claimed.map(({ kind }) => kind).sort()).toEqual(['claimed', 'leased']);
    });

    test('one worked and saved between the restore and the claim of the other: it must restore again', async () => {
      await using lane = await twoRuns();
      await lane.b.store.restore('queue');
      await lane.a.store.restore('queue');
      await lane.a.store.claim('queue');
      await lane.a.store.save(copyOf(41));
      expect(await lane.b.store.claim('queue')).toEqual({ kind: 'changed' });
      expect(await lane.b.store.restore('queue')).toMatchObject({ kind: 'found', state: { sequence: 41 } });
      expect(await lane.b.store.claim('queue')).toEqual({ kind: 'claimed', sequence: 41, problem: null });
    });

    test.each([
      ['until its lease is over', HOUR - 1, 'leased'],
      ['and no longer', HOUR, 'claimed'],
    ])('a killed owner blocks the lane %s', async (_, at, expected) => {
      await using lane = await twoRuns();
      await lane.a.store.restore('queue');
      await lane.a.store.claim('queue');
      const { store } = lane.later('b', at);
      await store.restore('queue');
      expect(await store.claim('queue')).toMatchObject({ kind: expected });
    });

    test('a run that outlived its lease keeps its work while nobody claims the lane', async () => {
      await using lane = await twoRuns();
      await lane.a.store.restore('queue');
      await lane.a.store.claim('queue');
      expect(await lane.later('a', 2 * HOUR).store.save(copyOf(41))).toMatchObject({ kind: 'saved' });
    });

    test('a run that outlived its lease keeps nothing once another has the lane', async () => {
      await using lane = await twoRuns();
      await lane.a.store.restore('queue');
      await lane.a.store.claim('queue');
      const second = lane.later('b', HOUR);
      await second.store.restore('queue');
      await second.store.claim('queue');
      expect(await lane.a.store.save(copyOf(41))).toEqual({
        kind: 'not-kept',
        why: expect.stringContaining('/actions/runs/b'),
        lane: { kind: 'free' },
      });
      expect(await recordIn(lane.place)).toMatchObject({ sequence: 40, lease: { runTag: 'b' } });
      await second.store.save(copyOf(41, { savedAt: noon + 2 * HOUR }));
      expect(await lane.later('a', HOUR).store.save(copyOf(41))).toEqual({
        kind: 'not-kept',
        why: expect.stringContaining('another run saved #41'),
        lane: { kind: 'free' },
      });
      expect(await recordIn(lane.place)).toMatchObject({ sequence: 41, savedBy: 'b', lease: null });
    });
  });

  describe('main and post of one run, in two processes', () => {
    test('post saves what main claimed', async () => {
      await using lane = await twoRuns();
      await lane.a.store.restore('queue');
      await lane.a.store.claim('queue');
      expect(await lane.later('a', MINUTE).store.save(copyOf(41))).toMatchObject({ kind: 'saved' });
      expect(await recordIn(lane.place)).toMatchObject({ sequence: 41, lease: null });
    });

    test('what main saved is saved for post as well, and not written again', async () => {
      await using lane = await twoRuns();
      await lane.a.store.restore('queue');
      await lane.a.store.claim('queue');
      await lane.a.store.save(copyOf(41));
      const post = lane.later('a', MINUTE);
      expect(await post.store.save(copyOf(41))).toMatchObject({ kind: 'saved', lane: { kind: 'free' } });
      expect(post.place.asked).toEqual(['read']);
    });
  });

  describe('renewing the claim', () => {
    test('lets its time begin again, and keeps what somebody ordered in the meantime', async () => {
      await using lane = await twoRuns();
      await lane.a.store.restore('queue');
      await lane.a.store.claim('queue');
      await lane.b.store.order('queue', pause);
      const later = lane.later('a', HOUR);
      await later.store.renew('queue');
      expect(await recordIn(lane.place)).toMatchObject({
        lease: { runTag: 'a', acquiredAt: noon + HOUR },
        sequence: 40,
        orders: [{ kind: 'pause' }],
      });
    });

    test('does not take the lane from another run', async () => {
      await using lane = await twoRuns();
      await lane.b.store.restore('queue');
      await lane.b.store.claim('queue');
      await lane.a.store.renew('queue');
      expect(await recordIn(lane.place)).toMatchObject({ lease: { runTag: 'b' } });
    });
  });

  describe('giving the lane back without a copy', () => {
    test('frees it at once, for whoever comes next', async () => {
      await using lane = await twoRuns();
      await lane.a.store.restore('queue');
      await lane.a.store.claim('queue');
      expect(await lane.a.store.release('queue')).toEqual({ kind: 'free' });
      expect(await recordIn(lane.place)).toEqual(freeAt40);
    });

    test('does not take it from another run', async () => {
      await using lane = await twoRuns();
      await lane.b.store.restore('queue');
      await lane.b.store.claim('queue');
      expect(await lane.a.store.release('queue')).toEqual({ kind: 'free' });
      expect(await recordIn(lane.place)).toMatchObject({ lease: { runTag: 'b' } });
      expect(lane.a.place.asked).toEqual(['read']);
    });
  });

  describe('orders', () => {
    test('are kept, whoever works on the lane', async () => {
      await using lane = await twoRuns();
      await lane.a.store.restore('queue');
      await lane.a.store.claim('queue');
      expect(await lane.b.store.order('queue', pause)).toEqual({ kind: 'kept' });
      expect(await recordIn(lane.place)).toMatchObject({
        lease: { runTag: 'a' },
        orders: [{ kind: 'pause', by: 'ada', number: noon }],
      });
    });

    test('that are left during a run survive its save', async () => {
      await using lane = await twoRuns();
      await lane.a.store.restore('queue');
      await lane.a.store.claim('queue');
      await lane.b.store.order('queue', pause);
      expect(await lane.a.store.save(copyOf(41))).toMatchObject({ kind: 'saved' });
      expect(await lane.b.store.restore('queue')).toMatchObject({
        state: { sequence: 41 },
        lease: null,
        orders: [{ kind: 'pause' }],
      });
    });

    test('make a run that did not know of them restore again', async () => {
      await using lane = await twoRuns();
      await lane.a.store.restore('queue');
      await lane.b.store.order('queue', pause);
      expect(await lane.a.store.claim('queue')).toEqual({ kind: 'changed' });
      expect(await recordIn(lane.place)).toMatchObject({ lease: null });
    });

    test('of two people in the same moment are both kept', async () => {
      await using lane = await twoRuns();
      await Promise.all([
        lane.a.store.order('queue', pause),
        lane.b.store.order('queue', { ...pause, kind: 'reset-session', by: 'bob' }),
      ]);
      expect((await recordIn(lane.place)).orders.map(({ by }) => by).sort()).toEqual(['ada', 'bob']);
    });

    test('beyond the most that are kept: the newest stay', async () => {
      await using lane = await twoRuns();
      for (let given = 0; given <= MAX_ORDERS; given += 1)
        await lane.a.store.order('queue', { ...pause, at: noon + given });
      expect((await recordIn(lane.place)).orders.map(({ at }) => at - noon)).toEqual(
        Array.from({ length: MAX_ORDERS }, (_, index) => index + 1),
      );
    });

    test('are seen by the run that works', async () => {
      await using lane = await twoRuns();
      await lane.a.store.restore('queue');
      await lane.a.store.claim('queue');
      expect(await lane.a.store.orders('queue')).toEqual([]);
      await lane.b.store.order('queue', { ...pause, kind: 'stop' });
      expect(await lane.a.store.orders('queue')).toEqual(['stop']);
      expect(await lane.a.store.save(copyOf(41))).toMatchObject({ kind: 'saved' });
      expect(await recordIn(lane.place)).toMatchObject({ sequence: 41, lease: null, orders: [{ kind: 'stop' }] });
    });

    test('that cannot be asked for are not known, and the run still saves', async () => {
      await using lane = await twoRuns();
      await lane.a.store.restore('queue');
      await lane.a.store.claim('queue');
      await lane.b.store.order('queue', pause);
      lane.a.place.fail('read', 'refused');
      expect(await lane.a.store.orders('queue')).toBe('the server refuses');
      expect(await lane.a.store.save(copyOf(41))).toMatchObject({ kind: 'saved' });
    });

    test('on a lane that never ran wait for its first run', async () => {
      await using shared = await open();
      await startRun('a', shared.machine()).store.order('issue-7', pause);
      expect(await startRun('b', shared.machine()).store.restore('issue-7')).toMatchObject({
        kind: 'absent',
        orders: [{ kind: 'pause' }],
      });
    });
  });
});
