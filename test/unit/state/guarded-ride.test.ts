import { describe, expect, test } from 'vitest';
import { emptyRecord, parseRecord, serializeRecord, type LaneRecord } from '../../../src/core/sharing/lane-record.ts';
import type { OrderGiven } from '../../../src/core/sharing/orders.ts';
import type { CellWritten, Ride } from '../../../src/ports/state.ts';
import { createGuardedStore } from '../../../src/state/guarded-store.ts';
import { createCellPlace, createCells, withFaults } from '../../loop/stage/in-memory-cells.ts';
import { copyOf, put, textOf } from './cell-fixtures.ts';
import { noon } from '../core/core-fixtures.ts';
import { leaseOf } from '../core/sharing/lease-fixtures.ts';

const pause: OrderGiven = { kind: 'pause', task: null, run: null, by: 'ada', from: 'comment', at: noon };
const free: LaneRecord = { ...emptyRecord('queue'), sequence: 40, document: copyOf(40).document, savedBy: 'old' };
const document = (sequence: number): string => copyOf(sequence).document;

/** Run `a` has claimed the lane of #40; run `b` is another. `push` is what a server does with what goes along. */
async function claimedLane() {
  const shared = createCellPlace();
  const elsewhere = createCells(shared);
  await put(elsewhere, 'queue', serializeRecord(free));
  const start = (runTag: string) => {
    const cells = withFaults(createCells(shared));
    const carry = (name: string, expected: string | null, text: string) => ({
      ref: name,
      expected,
      board: () => Promise.resolve(text),
    });
    return { cells, store: createGuardedStore({ cells, carry, lease: () => leaseOf(runTag), now: () => noon }) };
  };
  const push = async ({ passenger, landed }: Ride): Promise<CellWritten['kind']> => {
    const text = await passenger.board({ gitFolder: '' });
    const written = await elsewhere.write(passenger.ref, passenger.expected, text);
    landed(written);
    return written.kind;
  };
  const record = async (): Promise<LaneRecord> => {
    const parsed = parseRecord((await textOf(elsewhere, 'queue')) ?? '', 'queue');
    if (parsed.kind !== 'record') throw new Error(JSON.stringify(parsed));
    return parsed.record;
  };
  const a = start('a');
  await a.store.restore('queue');
  expect(await a.store.claim('queue')).toMatchObject({ kind: 'claimed' });
  const rideOf = async ({ store }: typeof a, after = 40): Promise<Ride> => {
    const ride = await store.ride('queue', { after, document });
    if (ride === null) throw new Error('Nothing rides.');
    return ride;
  };
  return { a, b: start('b'), start, push, record, rideOf };
}

describe('a state that goes along with a push', () => {
  test('is the lane from then on; claim and orders stay, its number goes beyond, and the save goes beyond it', async () => {
    const { a, b, push, record, rideOf } = await claimedLane();
    await b.store.order('queue', pause);
    await a.store.orders('queue');
    const first = await rideOf(a);
    expect([first.sequence, await push(first)]).toEqual([41, 'written']);
    expect(await record()).toMatchObject({
      sequence: 41,
      document: document(41),
      savedBy: 'a',
      lease: { runTag: 'a' },
      orders: [{ kind: 'pause' }],
    });
    const asked = a.cells.asked.length;
    const second = await rideOf(a, first.sequence);
    expect([second.sequence, await push(second)]).toEqual([42, 'written']);
    // Nobody is asked: what was written is known.
    expect(a.cells.asked.length).toBe(asked);
    expect(await a.store.orders('queue')).toMatchObject({ kind: 'orders', orders: [{ kind: 'pause' }] });
    expect(await a.store.save({ ...copyOf(43), transcript: null })).toEqual({ kind: 'saved' });
    expect(await record()).toMatchObject({ sequence: 43, lease: null, orders: [{ kind: 'pause' }] });
  });

  test('is not lost by an order that comes in between: what is there is read again', async () => {
    const { a, b, push, record, rideOf } = await claimedLane();
    const ride = await rideOf(a);
    await b.store.order('queue', pause);
    expect(await push(ride)).toBe('conflict');
    expect((await record()).sequence).toBe(40);
    const again = await rideOf(a);
    expect([again.sequence, await push(again)]).toEqual([41, 'written']);
    expect(await record()).toMatchObject({ orders: [{ kind: 'pause' }], lease: { runTag: 'a' } });
  });

  test('whose answer was lost is found again, and the next one goes beyond it', async () => {
    const { a, push, record, rideOf } = await claimedLane();
    const ride = await rideOf(a);
    await push({ ...ride, landed: () => undefined });
    ride.landed({ kind: 'unavailable', why: 'no answer' });
    const next = await rideOf(a);
    expect([next.sequence, await push(next)]).toEqual([42, 'written']);
    expect(await record()).toMatchObject({ sequence: 42, lease: { runTag: 'a' } });
  });

  test('never goes beyond less than what the run itself counts', async () => {
    const { a, rideOf } = await claimedLane();
    expect((await rideOf(a, 900)).sequence).toBe(901);
  });

  test('is not tried again where it is refused for good; the save is', async () => {
    const { a, rideOf } = await claimedLane();
    (await rideOf(a)).landed({ kind: 'refused', why: 'a ruleset' });
    expect(await a.store.ride('queue', { after: 40, document })).toBeNull();
    expect(await a.store.save({ ...copyOf(41), transcript: null })).toEqual({ kind: 'saved' });
  });

  test('is only of the run that has the lane', async () => {
    const { a, b, start } = await claimedLane();
    expect(await b.store.ride('queue', { after: 40, document })).toBeNull();
    await a.store.release('queue');
    expect(await a.store.ride('queue', { after: 40, document })).toBeNull();
    const next = start('b');
    await next.store.restore('queue');
    await next.store.claim('queue');
    expect(await a.store.ride('queue', { after: 40, document })).toBeNull();
  });

  test('is none while nobody answers', async () => {
    const { a, rideOf } = await claimedLane();
    (await rideOf(a)).landed({ kind: 'unavailable', why: 'no answer' });
    a.cells.outage = 'the server is on fire';
    expect(await a.store.ride('queue', { after: 40, document })).toBeNull();
    a.cells.outage = null;
    expect((await rideOf(a)).sequence).toBe(41);
  });
});
