import { describe, expect, test } from 'vitest';
import type { OrderGiven } from '../../../src/core/sharing/orders.ts';
import type { PushWithSnapshot, StateUpdate, SnapshotSwap, WriteResult } from '../../../src/ports/state.ts';
import { createMemoryPlace, createShared, writeTo } from '../../loop/stage/snapshot-place.ts';
import { noon } from '../core/core-fixtures.ts';
import { copyOf, freeAt40, putRecord, recordIn, startRun } from './place-fixtures.ts';

const pause: OrderGiven = { kind: 'pause', task: null, run: null, by: 'ada', from: 'comment', at: noon };
const document = (sequence: number): string => copyOf(sequence).document;
const next = { lane: 'queue', after: 40, document };

/**
 * Lets run `a` claim the lane at #40; run `b` is another. `push` is the server's handling of the state that is pushed
 * along.
 */
async function claimedLane() {
  const shared = createShared();
  const elsewhere = createMemoryPlace(shared);
  await putRecord(elsewhere, freeAt40);
  const swaps = new Map<StateUpdate, SnapshotSwap>();
  const start = (runTag: string) =>
    startRun(runTag, {
      ...createMemoryPlace(shared),
      carry: (swap) => {
        const update = { ref: 'state', expected: swap.from.head, writeTarget: () => Promise.resolve('') };
        swaps.set(update, swap);
        return update;
      },
    });
  const push = (update: StateUpdate): Promise<WriteResult> => {
    const swap = swaps.get(update);
    if (swap === undefined) throw new Error('Nothing goes along.');
    return Promise.resolve(writeTo(shared, swap));
  };
  const a = start('a');
  await a.store.restore('queue');
  expect(await a.store.claim('queue')).toMatchObject({ kind: 'claimed' });
  return { a, b: start('b'), start, push, record: () => recordIn(elsewhere) };
}

describe('a state that goes along with a push', () => {
  test('is the lane from then on; claim and orders stay, its number goes beyond, and the save goes beyond it', async () => {
    const { a, b, push, record } = await claimedLane();
    await b.store.order('queue', pause);
    await a.store.orders('queue');
    expect(await a.store.advance(next, push)).toBe(41);
    expect(await record()).toMatchObject({
      sequence: 41,
      document: document(41),
      savedBy: 'a',
      lease: { runTag: 'a' },
      orders: [{ kind: 'pause' }],
    });
    const asked = a.place.asked.length;
    expect(await a.store.advance({ ...next, after: 41 }, push)).toBe(42);
    // No read is needed, because the written text is known.
    expect(a.place.asked.length).toBe(asked);
    expect(await a.store.orders('queue')).toEqual(['pause']);
    expect(await a.store.save(copyOf(43))).toMatchObject({ kind: 'saved' });
    expect(await record()).toMatchObject({ sequence: 43, lease: null, orders: [{ kind: 'pause' }] });
  });

  test('is pushed again after an order that came in between, which is kept', async () => {
    const { a, b, push, record } = await claimedLane();
    let pushes = 0;
    const overtaken: PushWithSnapshot = async (update) => {
      pushes += 1;
      if (pushes === 1) await b.store.order('queue', pause);
      return push(update);
    };
    expect(await a.store.advance(next, overtaken)).toBe(41);
    expect(pushes).toBe(2);
    expect(await record()).toMatchObject({ sequence: 41, orders: [{ kind: 'pause' }], lease: { runTag: 'a' } });
  });

  test('does not keep the branch waiting forever', async () => {
    const { a, b, push, record } = await claimedLane();
    let pushes = 0;
    const overtaken: PushWithSnapshot = async (update) => {
      pushes += 1;
      await b.store.order('queue', { ...pause, at: noon + pushes });
      return push(update);
    };
    expect(await a.store.advance(next, overtaken)).toBeNull();
    expect(pushes).toBe(8);
    expect((await record()).sequence).toBe(40);
  });

  test('whose answer was lost is found again, and the next one goes beyond it', async () => {
    const { a, push, record } = await claimedLane();
    const lost: PushWithSnapshot = async (update) => {
      await push(update);
      return { kind: 'unavailable', why: 'no answer' };
    };
    expect(await a.store.advance(next, lost)).toBeNull();
    expect(await a.store.advance(next, push)).toBe(42);
    expect(await record()).toMatchObject({ sequence: 42, lease: { runTag: 'a' } });
  });

  test('never goes beyond less than what the run itself counts', async () => {
    const { a, push } = await claimedLane();
    expect(await a.store.advance({ ...next, after: 900 }, push)).toBe(901);
  });

  test('is not tried again where it is refused for good; the save is', async () => {
    const { a, push } = await claimedLane();
    const refused: PushWithSnapshot = () => Promise.resolve({ kind: 'refused', why: 'a ruleset' });
    expect(await a.store.advance(next, refused)).toBeNull();
    expect(await a.store.advance(next, push)).toBeNull();
    expect(await a.store.save(copyOf(41))).toMatchObject({ kind: 'saved' });
  });

  test('is only of the run that has the lane', async () => {
    const { a, b, start, push } = await claimedLane();
    expect(await b.store.advance(next, push)).toBeNull();
    await a.store.release('queue');
    expect(await a.store.advance(next, push)).toBeNull();
    const other = start('b');
    await other.store.restore('queue');
    await other.store.claim('queue');
    expect(await a.store.advance(next, push)).toBeNull();
  });

  test('is not advanced while nobody answers', async () => {
    const { a, push } = await claimedLane();
    await a.store.advance(next, () => Promise.resolve({ kind: 'unavailable', why: 'no answer' }));
    a.place.outage = 'the server is on fire';
    expect(await a.store.advance(next, push)).toBeNull();
    a.place.outage = null;
    expect(await a.store.advance(next, push)).toBe(41);
  });
});
