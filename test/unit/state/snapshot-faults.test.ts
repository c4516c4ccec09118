import { describe, expect, test } from 'vitest';
import { createLaneRecord, serializeRecord } from '../../../src/core/sharing/lane-record.ts';
import type { OrderGiven } from '../../../src/core/sharing/orders.ts';
import { noon } from '../core/core-fixtures.ts';
import { copyOf, freeAt40, places, putRecord, putText, recordIn, startRun, textIn } from './place-fixtures.ts';

const pause: OrderGiven = { kind: 'pause', task: null, run: null, by: 'ada', from: 'comment', at: noon };

describe.each(places)('what can go wrong with lanes in a $place', ({ open }) => {
  /** Creates run `a`, which has restored the lane at #40, or claimed it. */
  async function runAt(progress: 'restored' | 'claimed', text = serializeRecord(freeAt40)) {
    const shared = await open();
    const elsewhere = shared.machine();
    await putText(elsewhere, text);
    const a = startRun('a', shared.machine());
    const restored = await a.store.restore('queue');
    if (progress === 'claimed') expect(await a.store.claim('queue')).toMatchObject({ kind: 'claimed' });
    return {
      ...a,
      restored,
      elsewhere,
      other: startRun('b', shared.machine()).store,
      [Symbol.asyncDispose]: () => shared[Symbol.asyncDispose](),
    };
  }

  describe('a claim', () => {
    test('whose answer looked like a conflict is a claim anyway', async () => {
      await using run = await runAt('restored');
      run.place.fail('write', 'taken-for-conflict');
      expect(await run.store.claim('queue')).toEqual({ kind: 'claimed', sequence: 40, problem: null });
    });

    test.each([
      ['refused', null],
      ['answer-lost', 'a'],
    ] as const)('%s: nobody knows who has the lane, with the reason; the save still works', async (fault, owner) => {
      await using run = await runAt('restored');
      run.place.fail('write', fault);
      expect(await run.store.claim('queue')).toEqual({
        kind: 'unavailable',
        why: expect.stringContaining('the server'),
      });
      expect((await recordIn(run.elsewhere)).lease?.runTag ?? null).toBe(owner);
      expect(await run.store.save(copyOf(41))).toMatchObject({ kind: 'saved' });
      expect(await recordIn(run.elsewhere)).toMatchObject({ sequence: 41, lease: null });
    });

    test('that lost against another one, when nobody answers later, is not known', async () => {
      await using run = await runAt('restored');
      run.place.meanwhile('write', () => run.other.order('queue', pause));
      run.place.fail('read', 'refused');
      expect(await run.store.claim('queue')).toEqual({ kind: 'unavailable', why: 'the server refuses' });
    });
  });

  describe('a save', () => {
    test('whose answer was taken for a conflict is saved, once', async () => {
      await using run = await runAt('claimed');
      run.place.fail('write', 'taken-for-conflict');
      expect(await run.store.save(copyOf(41))).toMatchObject({ kind: 'saved' });
      expect(run.place.asked.slice(2)).toEqual(['write', 'read', 'read']);
    });

    test.each(['refused', 'answer-lost'] as const)(
      '%s: not saved and perhaps still held, with the reason; saved when it is tried again',
      async (fault) => {
        await using run = await runAt('claimed');
        run.place.fail('write', fault);
        expect(await run.store.save(copyOf(41))).toEqual({
          kind: 'not-kept',
          why: expect.stringContaining('✗: the server'),
          lane: { kind: 'claimed', why: expect.stringContaining('the server') },
        });
        expect(await run.store.save(copyOf(41))).toMatchObject({ kind: 'saved', lane: { kind: 'free' } });
        expect(await recordIn(run.elsewhere)).toMatchObject({ sequence: 41, savedBy: 'a', lease: null });
      },
    );

    test('that cannot be read back is not called saved', async () => {
      await using run = await runAt('claimed');
      run.place.fail('read', 'refused');
      expect(await run.store.save(copyOf(41))).toEqual({
        kind: 'not-kept',
        why: expect.stringContaining('read back'),
        lane: { kind: 'free' },
      });
    });

    test('that somebody replaced before it was read back is not called saved', async () => {
      await using run = await runAt('claimed');
      run.place.meanwhile('read', () => putRecord(run.elsewhere, freeAt40));
      expect(await run.store.save(copyOf(41))).toEqual({
        kind: 'not-kept',
        why: expect.stringContaining('read back'),
        lane: { kind: 'free' },
      });
    });

    test('is saved also when the next run claims the lane before it was read back', async () => {
      await using run = await runAt('claimed');
      run.place.meanwhile('read', async () => {
        await run.other.restore('queue');
        await run.other.claim('queue');
      });
      expect(await run.store.save(copyOf(41))).toMatchObject({ kind: 'saved' });
      expect(await recordIn(run.elsewhere)).toMatchObject({ sequence: 41, savedBy: 'a', lease: { runTag: 'b' } });
    });

    test('is saved also when a person leaves an order before it was read back', async () => {
      await using run = await runAt('claimed');
      run.place.meanwhile('read', () => run.other.order('queue', pause));
      expect(await run.store.save(copyOf(41))).toMatchObject({ kind: 'saved' });
    });

    test('that is overtaken again and again gives up with a reason', async () => {
      await using run = await runAt('claimed');
      let others = 0;
      const overtake = async (): Promise<void> => {
        others += 1;
        run.place.meanwhile('write', overtake);
        await run.other.order('queue', { ...pause, at: noon + others });
      };
      run.place.meanwhile('write', overtake);
      expect(await run.store.save(copyOf(41))).toEqual({
        kind: 'not-kept',
        why: expect.stringContaining('changed 60 times'),
        lane: { kind: 'claimed', why: expect.stringContaining('changed 60 times') },
      });
    });

    test('of a run that never had the lane, where nothing can be written, holds nothing', async () => {
      await using run = await runAt('restored');
      run.place.fail('write', 'refused');
      expect(await run.store.save(copyOf(41))).toMatchObject({ kind: 'not-kept', lane: { kind: 'free' } });
    });
  });

  describe('giving the lane back', () => {
    test.each(['refused', 'answer-lost'] as const)(
      '%s: perhaps still held, with the reason; free when it is tried again',
      async (fault) => {
        await using run = await runAt('claimed');
        run.place.fail('write', fault);
        expect(await run.store.release('queue')).toEqual({
          kind: 'claimed',
          why: expect.stringContaining('the server'),
        });
        expect(await run.store.release('queue')).toEqual({ kind: 'free' });
        expect(await recordIn(run.elsewhere)).toEqual(freeAt40);
      },
    );

    test('that was given back before writes nothing', async () => {
      await using run = await runAt('claimed');
      await run.store.release('queue');
      const asked = run.place.asked.length;
      expect(await run.store.release('queue')).toEqual({ kind: 'free' });
      expect(run.place.asked.slice(asked)).toEqual(['read']);
    });
  });

  describe('an order', () => {
    test('whose answer was taken for a conflict is kept once', async () => {
      await using run = await runAt('restored');
      run.place.fail('write', 'taken-for-conflict');
      expect(await run.store.order('queue', pause)).toMatchObject({ kind: 'kept' });
      expect((await recordIn(run.elsewhere)).orders).toHaveLength(1);
    });

    test('that nobody took is reported', async () => {
      await using run = await runAt('restored');
      run.place.outage = 'the server is on fire';
      expect(await run.store.order('queue', pause)).toEqual({ kind: 'not-kept', why: 'the server is on fire' });
    });
  });

  test('nobody answers: each method says so, and none throws', async () => {
    await using run = await runAt('claimed');
    run.place.outage = 'the server is on fire';
    expect(await run.store.restore('queue')).toEqual({ kind: 'unavailable', why: 'the server is on fire' });
    expect(await run.store.claim('queue')).toEqual({ kind: 'unavailable', why: 'the server is on fire' });
    expect(await run.store.save(copyOf(41))).toEqual({
      kind: 'not-kept',
      why: `${run.place.name} ✗: the server is on fire`,
      lane: { kind: 'claimed', why: 'the server is on fire' },
    });
    expect(await run.store.release('queue')).toEqual({ kind: 'claimed', why: 'the server is on fire' });
  });

  test.each([
    ['a blank', ' '],
    ['half a record', serializeRecord(freeAt40).slice(0, 60)],
    ['garbage', 'garbage'],
    ['another lane', serializeRecord({ ...freeAt40, lane: 'issue-7' })],
  ])('a record that cannot be read (%s) is reported and written again', async (_, text) => {
    await using run = await runAt('claimed', text);
    expect(run.restored).toMatchObject({
      kind: 'unreadable',
      warnings: [expect.stringContaining('This run replaces it.')],
    });
    expect(await run.store.save(copyOf(41))).toMatchObject({ kind: 'saved' });
    expect(await recordIn(run.elsewhere)).toEqual({
      ...createLaneRecord('queue'),
      sequence: 41,
      document: copyOf(41).document,
      savedBy: 'a',
    });
  });

  test('a record of a newer version is refused and never overwritten', async () => {
    const newer = '{"version":4,"in":"another form"}';
    await using run = await runAt('restored', newer);
    expect(run.restored).toEqual({ kind: 'newer', version: 4, origin: run.place.name });
    expect(await run.store.claim('queue')).toEqual({ kind: 'changed' });
    expect(await run.store.save(copyOf(41))).toMatchObject({
      kind: 'not-kept',
      why: expect.stringContaining('newer version'),
    });
    expect(await run.store.order('queue', pause)).toEqual({
      kind: 'not-kept',
      why: expect.stringContaining('newer version'),
    });
    await run.store.release('queue');
    expect(await textIn(run.elsewhere)).toBe(newer);
  });
});
