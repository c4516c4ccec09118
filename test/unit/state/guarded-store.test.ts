import { describe, expect, test } from 'vitest';
import {
  emptyRecord,
  MAX_ORDERS,
  parseRecord,
  serializeRecord,
  type LaneRecord,
} from '../../../src/core/sharing/lane-record.ts';
import type { OrderGiven } from '../../../src/core/sharing/orders.ts';
import type { CellStore } from '../../../src/ports/state.ts';
import { createGuardedStore, type GuardedStore } from '../../../src/state/guarded-store.ts';
import { withFaults, type FaultyCells } from '../../loop/stage/in-memory-cells.ts';
import { copyOf, places, put, textOf } from './cell-fixtures.ts';
import { HOUR, MINUTE, noon } from '../core/core-fixtures.ts';
import { leaseOf } from '../core/sharing/lease-fixtures.ts';

const pause: OrderGiven = { kind: 'pause', task: null, run: null, by: 'ada', from: 'comment', at: noon };
/** A lane at #40 that nobody works on. */
const free: LaneRecord = { ...emptyRecord('queue'), sequence: 40, document: copyOf(40).document, savedBy: 'old' };

interface Run {
  readonly store: GuardedStore;
  readonly cells: FaultyCells;
}

/** A process of the run `runTag` on a machine of its own, `at` so many ms after noon. */
function startRun(runTag: string, cells: CellStore, at = 0): Run {
  const faulty = withFaults(cells);
  return {
    cells: faulty,
    store: createGuardedStore({
      cells: faulty,
      carry: null,
      lease: () => leaseOf(runTag, { acquiredAt: noon + at }),
      now: () => noon + at,
    }),
  };
}

async function recordIn(cells: CellStore): Promise<LaneRecord> {
  const parsed = parseRecord((await textOf(cells, 'queue')) ?? '', 'queue');
  if (parsed.kind !== 'record') throw new Error(JSON.stringify(parsed));
  return parsed.record;
}

describe.each(places)('lanes in a $place', ({ open }) => {
  /** Two runs on two machines, at a lane that is free at #40. */
  async function twoRuns() {
    const shared = await open();
    const cells = shared.machine();
    await put(cells, 'queue', serializeRecord(free));
    return {
      cells,
      a: startRun('a', shared.machine()),
      b: startRun('b', shared.machine()),
      later: (runTag: string, at: number) => startRun(runTag, shared.machine(), at),
      [Symbol.asyncDispose]: () => shared[Symbol.asyncDispose](),
    };
  }

  test('a lane that nobody ever had is restored as an empty one, claimed and saved', async () => {
    await using shared = await open();
    const { store, cells } = startRun('a', shared.machine());
    expect(await store.restore('queue')).toEqual({
      kind: 'record',
      head: null,
      record: emptyRecord('queue'),
      problem: null,
    });
    expect(await store.claim('queue')).toEqual({ kind: 'claimed', sequence: 0 });
    expect(await store.save(copyOf(1))).toEqual({ kind: 'saved' });
    expect(cells.asked).toEqual(['read queue', 'write queue', 'write queue', 'readHead queue']);
    expect(await recordIn(cells)).toMatchObject({
      sequence: 1,
      document: copyOf(1).document,
      savedBy: 'a',
      lease: null,
    });
  });

  test('a claim says what sequence a new copy must go beyond', async () => {
    await using lane = await twoRuns();
    await lane.a.store.restore('queue');
    expect(await lane.a.store.claim('queue')).toEqual({ kind: 'claimed', sequence: 40 });
  });

  test('a claim without a restore is none', async () => {
    await using lane = await twoRuns();
    expect(await lane.a.store.claim('queue')).toEqual({ kind: 'changed' });
    expect(lane.a.cells.asked).toEqual([]);
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
    test('both restored, one claims: the other gets to know who has the lane', async () => {
      await using lane = await twoRuns();
      await Promise.all([lane.a.store.restore('queue'), lane.b.store.restore('queue')]);
      expect(await lane.a.store.claim('queue')).toEqual({ kind: 'claimed', sequence: 40 });
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
      expect(await lane.b.store.restore('queue')).toMatchObject({ record: { sequence: 41 } });
      expect(await lane.b.store.claim('queue')).toEqual({ kind: 'claimed', sequence: 41 });
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
        kind: 'outrun',
        why: expect.stringContaining('/actions/runs/b'),
      });
      expect(await recordIn(lane.cells)).toMatchObject({ sequence: 40, lease: { runTag: 'b' } });
      await second.store.save(copyOf(41, { savedAt: noon + 2 * HOUR }));
      expect(await lane.later('a', HOUR).store.save(copyOf(41))).toEqual({
        kind: 'outrun',
        why: expect.stringContaining('another run saved #41'),
      });
      expect(await recordIn(lane.cells)).toMatchObject({ sequence: 41, savedBy: 'b', lease: null });
    });
  });

  describe('main and post of one run, in two processes', () => {
    test('post saves what main claimed', async () => {
      await using lane = await twoRuns();
      await lane.a.store.restore('queue');
      await lane.a.store.claim('queue');
      expect(await lane.later('a', MINUTE).store.save(copyOf(41))).toMatchObject({ kind: 'saved' });
      expect(await recordIn(lane.cells)).toMatchObject({ sequence: 41, lease: null });
    });

    test('what main saved is saved for post as well, and not written again', async () => {
      await using lane = await twoRuns();
      await lane.a.store.restore('queue');
      await lane.a.store.claim('queue');
      await lane.a.store.save(copyOf(41));
      const post = lane.later('a', MINUTE);
      expect(await post.store.save(copyOf(41))).toEqual({ kind: 'already' });
      expect(post.cells.asked).toEqual(['read queue']);
    });
  });

  describe('taking the claim anew', () => {
    test('lets its time begin again, and keeps what somebody ordered meanwhile', async () => {
      await using lane = await twoRuns();
      await lane.a.store.restore('queue');
      await lane.a.store.claim('queue');
      await lane.b.store.order('queue', pause);
      const later = lane.later('a', HOUR);
      await later.store.renew('queue');
      expect(await recordIn(lane.cells)).toMatchObject({
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
      expect(await recordIn(lane.cells)).toMatchObject({ lease: { runTag: 'b' } });
    });
  });

  describe('giving the lane back without a copy', () => {
    test('frees it at once, for whoever comes next', async () => {
      await using lane = await twoRuns();
      await lane.a.store.restore('queue');
      await lane.a.store.claim('queue');
      expect(await lane.a.store.release('queue')).toEqual({ kind: 'free' });
      expect(await recordIn(lane.cells)).toEqual(free);
    });

    test('does not take it from another run', async () => {
      await using lane = await twoRuns();
      await lane.b.store.restore('queue');
      await lane.b.store.claim('queue');
      expect(await lane.a.store.release('queue')).toEqual({ kind: 'free' });
      expect(await recordIn(lane.cells)).toMatchObject({ lease: { runTag: 'b' } });
      expect(lane.a.cells.asked).toEqual(['read queue']);
    });
  });

  describe('orders', () => {
    test('are kept, whoever works on the lane', async () => {
      await using lane = await twoRuns();
      await lane.a.store.restore('queue');
      await lane.a.store.claim('queue');
      expect(await lane.b.store.order('queue', pause)).toEqual({ kind: 'kept', where: lane.cells.place });
      expect(await recordIn(lane.cells)).toMatchObject({
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
        record: { sequence: 41, lease: null, orders: [{ kind: 'pause' }] },
      });
    });

    test('make a run that did not know of them restore again', async () => {
      await using lane = await twoRuns();
      await lane.a.store.restore('queue');
      await lane.b.store.order('queue', pause);
      expect(await lane.a.store.claim('queue')).toEqual({ kind: 'changed' });
      expect(await recordIn(lane.cells)).toMatchObject({ lease: null });
    });

    test('of two people in the same moment are both kept', async () => {
      await using lane = await twoRuns();
      await Promise.all([
        lane.a.store.order('queue', pause),
        lane.b.store.order('queue', { ...pause, kind: 'reset-session', by: 'bob' }),
      ]);
      expect((await recordIn(lane.cells)).orders.map(({ by }) => by).sort()).toEqual(['ada', 'bob']);
    });

    test('beyond the most that are kept: the newest stay', async () => {
      await using lane = await twoRuns();
      for (let given = 0; given <= MAX_ORDERS; given += 1)
        await lane.a.store.order('queue', { ...pause, at: noon + given });
      expect((await recordIn(lane.cells)).orders.map(({ at }) => at - noon)).toEqual(
        Array.from({ length: MAX_ORDERS }, (_, index) => index + 1),
      );
    });

    test('are seen by the run that works, which asks for the head alone while nobody wrote', async () => {
      await using lane = await twoRuns();
      await lane.a.store.restore('queue');
      await lane.a.store.claim('queue');
      lane.a.cells.asked.length = 0;
      expect(await lane.a.store.orders('queue')).toEqual({ kind: 'orders', orders: [] });
      expect(lane.a.cells.asked).toEqual(['readHead queue']);
      await lane.b.store.order('queue', { ...pause, kind: 'stop' });
      for (let asked = 0; asked < 2; asked += 1)
        expect(await lane.a.store.orders('queue')).toMatchObject({
          kind: 'orders',
          orders: [{ kind: 'stop', by: 'ada' }],
        });
      expect(lane.a.cells.asked).toEqual(['readHead queue', 'readHead queue', 'read queue', 'readHead queue']);
      expect(await lane.a.store.save(copyOf(41))).toMatchObject({ kind: 'saved' });
      expect(await recordIn(lane.cells)).toMatchObject({ sequence: 41, lease: null, orders: [{ kind: 'stop' }] });
    });

    test('that cannot be asked for are not known, and the run still saves', async () => {
      await using lane = await twoRuns();
      await lane.a.store.restore('queue');
      await lane.a.store.claim('queue');
      await lane.b.store.order('queue', pause);
      lane.a.cells.fail('readHead', 'refused');
      expect(await lane.a.store.orders('queue')).toEqual({ kind: 'unavailable', why: 'the server refuses' });
      lane.a.cells.fail('read', 'refused');
      expect(await lane.a.store.orders('queue')).toEqual({ kind: 'unavailable', why: 'the server refuses' });
      expect(await lane.a.store.save(copyOf(41))).toMatchObject({ kind: 'saved' });
    });

    test('on a lane that never ran wait for its first run', async () => {
      await using shared = await open();
      await startRun('a', shared.machine()).store.order('issue-7', pause);
      expect(await startRun('b', shared.machine()).store.restore('issue-7')).toMatchObject({
        kind: 'record',
        record: { sequence: 0, document: null, orders: [{ kind: 'pause' }] },
      });
    });
  });
});
