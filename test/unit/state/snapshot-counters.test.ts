import { describe, expect, test } from 'vitest';
import {
  emptyBudget,
  planReservation,
  reserveUsage,
  serializeUsage,
  settleBudget,
  sumWindows,
  type Budget,
  type Reservation,
} from '../../../src/core/sharing/budget.ts';
import { changeUsage } from '../../../src/core/snapshot/changes.ts';
import { parseBudgetIn } from '../../../src/core/snapshot/snapshot.ts';
import type { SnapshotPlace } from '../../../src/ports/state.ts';
import { createSnapshotStore } from '../../../src/state/snapshot-store.ts';
import { withFaults } from '../../loop/stage/snapshot-place.ts';
import { HOUR, noon, policy as defaults } from '../core/core-fixtures.ts';
import { places } from './place-fixtures.ts';

const policy = { ...defaults, maxIterations: 5, maxCallsPerHour: 12 };
const reservation = (runTag: string, calls: number): Reservation => ({
  runTag,
  lane: 'queue',
  runUrl: '',
  runId: '',
  runAttempt: 1,
  expiresAt: noon + HOUR,
  tasks: [],
  calls,
  tokens: 0,
  costUsd: 0,
});
/** A run's changes at the gate and at its end. */
const begin =
  (runTag: string) =>
  (budget: Budget): Budget =>
    reserveUsage(
      budget,
      planReservation(
        { runTag, lane: 'queue', runUrl: '', runId: '', runAttempt: 1, expiresAt: noon + HOUR, tasks: [] },
        sumWindows(budget, runTag, noon),
        policy,
      ),
      noon,
    );
const end =
  (runTag: string, calls: number) =>
  (budget: Budget): Budget =>
    settleBudget(budget, runTag, { calls, tokens: 0, costUsd: 0 }, noon);

/** Returns the counters of a machine, as the stages read and change them. */
function countersOf(place: SnapshotPlace, now = noon) {
  const pace = { random: () => 0, sleep: () => Promise.resolve() };
  const state = createSnapshotStore({ place, copies: null, conversations: null, now: () => now, pace });
  return {
    read: async () => {
      const read = await state.read();
      return read.kind === 'snapshot' ? parseBudgetIn(read.snapshot, now) : read;
    },
    update: async (change: (budget: Budget) => Budget) => {
      const updated = await state.update(changeUsage(change, { message: 'usage', now }));
      if (updated.kind !== 'updated') return { kind: updated.kind, why: updated.why };
      return updated.answer === null
        ? parseBudgetIn(updated.snapshot, now)
        : { kind: 'newer' as const, why: updated.answer };
    },
  };
}

async function storedIn(place: SnapshotPlace): Promise<Budget> {
  const parsed = await countersOf(place).read();
  if (parsed.kind !== 'budget' || parsed.problem !== null) throw new Error(JSON.stringify(parsed));
  return parsed.budget;
}

const USAGE = 'usage.json';

async function textOf(place: SnapshotPlace): Promise<string | null> {
  const read = await place.read(null);
  return read.kind === 'snapshot' ? (read.snapshot.get(USAGE) ?? null) : null;
}

async function put(place: SnapshotPlace, text: string): Promise<void> {
  const from = await place.read(null);
  if (from.kind !== 'snapshot') throw new Error(from.kind);
  await place.write({ from, snapshot: new Map([...from.snapshot, [USAGE, text]]), message: 'by hand' });
}

describe.each(places)("the repository's counters in a place: $place", ({ open }) => {
  async function oneRun() {
    const shared = await open();
    const place = withFaults(shared.machine());
    const elsewhere = shared.machine();
    return {
      place,
      elsewhere,
      store: countersOf(place),
      other: countersOf(elsewhere),
      [Symbol.asyncDispose]: () => shared[Symbol.asyncDispose](),
    };
  }

  test('nothing was ever used: an empty one, and looking writes nothing', async () => {
    await using run = await oneRun();
    expect(await run.store.read()).toMatchObject({ kind: 'budget', budget: emptyBudget, problem: null });
    expect(await textOf(run.elsewhere)).toBeNull();
  });

  test('what one run reserves, the next one sees, on whatever machine and lane', async () => {
    await using run = await oneRun();
    await run.store.update(begin('a'));
    expect(await run.other.read()).toMatchObject({
      kind: 'budget',
      budget: { ...emptyBudget, reservations: [reservation('a', 5)] },
      problem: null,
    });
  });

  test('runs that reserve in the same moment are granted no more than the limit', async () => {
    await using run = await oneRun();
    const stores = Array.from({ length: 4 }, () => countersOf(run.elsewhere));
    const reserved = await Promise.all(stores.map((store, index) => store.update(begin(`run-${index}`))));
    expect(reserved.map(({ kind }) => kind)).toEqual(['budget', 'budget', 'budget', 'budget']);
    expect((await storedIn(run.elsewhere)).reservations.map(({ calls }) => calls)).toEqual([5, 5, 2, 0]);
  });

  test('a change that changes nothing is not written', async () => {
    await using run = await oneRun();
    await run.store.update(end('stranger', 3));
    expect(run.place.asked).toEqual(['read']);
  });

  test.each(['answer-lost', 'taken-for-conflict'] as const)(
    'a settlement whose answer was %s is charged once, however often it is tried',
    async (fault) => {
      await using run = await oneRun();
      await run.store.update(begin('a'));
      run.place.fail('write', fault);
      await run.store.update(end('a', 3));
      await run.store.update(end('a', 3));
      expect(await storedIn(run.elsewhere)).toMatchObject({ windows: { hour: { calls: 3 } }, reservations: [] });
    },
  );

  test('a change that was overtaken is made again on the newest budget', async () => {
    await using run = await oneRun();
    run.place.meanwhile('write', () => run.other.update(begin('b')));
    expect(await run.store.update(begin('a'))).toMatchObject({
      budget: {
        reservations: [
          { runTag: 'b', calls: 5 },
          { runTag: 'a', calls: 5 },
        ],
      },
    });
  });

  test('a change that is overtaken again and again gives up with a reason', async () => {
    await using run = await oneRun();
    let others = 0;
    const overtake = async (): Promise<void> => {
      others += 1;
      run.place.meanwhile('write', overtake);
      await run.other.update(begin(`other-${others}`));
    };
    run.place.meanwhile('write', overtake);
    expect(await run.store.update(begin('a'))).toEqual({
      kind: 'unavailable',
      why: expect.stringContaining('changed 60 times'),
    });
  });

  test('nobody answers: unavailable, with the reason', async () => {
    await using run = await oneRun();
    run.place.outage = 'the server is on fire';
    expect(await run.store.read()).toEqual({ kind: 'unavailable', why: 'the server is on fire' });
    expect(await run.store.update(begin('a'))).toEqual({ kind: 'unavailable', why: 'the server is on fire' });
  });

  test('a place that refuses writes grants nothing to who would reserve, with the reason; it may still be read', async () => {
    await using run = await oneRun();
    await run.store.update(begin('b'));
    const readOnly = countersOf({
      ...run.place,
      write: () => Promise.resolve({ kind: 'refused', why: 'the token may not do this' }),
    });
    expect(await readOnly.update(begin('a'))).toEqual({ kind: 'unguarded', why: 'the token may not do this' });
    expect(await readOnly.read()).toMatchObject({ kind: 'budget', budget: { reservations: [{ runTag: 'b' }] } });
  });

  test('one of a machine years ahead is replaced by one that counts from now on, once: later looks do not prolong it', async () => {
    await using run = await oneRun();
    const ahead = noon + 1e4 * HOUR;
    await put(
      run.elsewhere,
      serializeUsage({
        ...emptyBudget,
        windows: { hour: { openedAt: ahead, calls: 12, tokens: 0 }, day: { openedAt: ahead, costUsd: 5 } },
      }),
    );
    expect(await run.store.read()).toMatchObject({ kind: 'budget', problem: expect.stringContaining('in the future') });
    await run.store.update((budget) => budget);
    const later = await countersOf(run.elsewhere, noon + HOUR / 2).read();
    expect(later).toMatchObject({
      kind: 'budget',
      budget: { windows: { hour: { openedAt: noon, calls: 12 }, day: { openedAt: noon, costUsd: 5 } } },
      problem: null,
    });
  });

  test('one that cannot be read is replaced by a used up one, once: later looks do not prolong it', async () => {
    await using run = await oneRun();
    await put(run.elsewhere, 'garbage');
    const first = await run.store.read();
    if (first.kind !== 'budget') throw new Error(JSON.stringify(first));
    expect(first.problem).toContain('cannot be read');
    expect(sumWindows(first.budget, 'a', noon).hour?.calls).toBeGreaterThan(policy.maxCallsPerHour);
    await run.store.update((budget) => budget);
    const later = countersOf(run.elsewhere, noon + HOUR);
    expect(await later.read()).toMatchObject({ kind: 'budget', budget: first.budget, problem: null });
    expect(sumWindows(first.budget, 'a', noon + HOUR).hour).toBeNull();
  });

  test('one that cannot be read grants nothing to the run that finds it', async () => {
    await using run = await oneRun();
    await put(run.elsewhere, 'garbage');
    expect(await run.store.update(begin('a'))).toMatchObject({
      kind: 'budget',
      budget: { reservations: [{ runTag: 'a', calls: 0 }] },
      problem: null,
    });
  });

  test('one of a newer version is refused and never overwritten', async () => {
    await using run = await oneRun();
    const newer = '{"version":2,"in":"another form"}';
    await put(run.elsewhere, newer);
    expect(await run.store.read()).toEqual({ kind: 'newer', version: 2 });
    expect(await run.store.update(begin('a'))).toEqual({
      kind: 'newer',
      why: expect.stringContaining('newer version'),
    });
    expect(await textOf(run.elsewhere)).toBe(newer);
  });
});
