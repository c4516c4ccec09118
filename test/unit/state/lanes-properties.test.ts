import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSnapshotStore } from '../../../src/state/snapshot-store.ts';
import { paced, withFaults, type PlaceFault } from '../../loop/stage/snapshot-place.ts';
import { copyOf, places, recordIn, verbsOf, type Verbs } from './place-fixtures.ts';
import { HOUR, MINUTE, noon } from '../core/core-fixtures.ts';
import { runs } from '../../runs.ts';

/** A run's behaviour after it has claimed the lane, and the fate of the answer to its claim. */
interface Plan {
  readonly end: 'save' | 'release' | 'killed';
  readonly worksMs: number;
  readonly fault: PlaceFault | null;
}

const plan: fc.Arbitrary<Plan> = fc.record({
  end: fc.constantFrom('save', 'release', 'killed'),
  // Some runs work longer than their lease lasts, while others may come and go.
  worksMs: fc.constantFrom(0, 20 * MINUTE, 90 * MINUTE),
  fault: fc.constantFrom(null, null, 'taken-for-conflict'),
});

test.each(places)(
  'whoever is next at every step: one run at most holds a lane in a $place, one gets it, and no copy and no order is lost',
  async ({ place, open }) => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.array(plan, { minLength: 2, maxLength: 5 }), async (scheduler, plans) => {
        await using shared = await open();
        let now = noon;
        const holding = new Map<string, number>();
        const saved: number[] = [];
        const ordered: string[] = [];
        let claims = 0;
        const turn = () => scheduler.schedule(Promise.resolve());

        async function work({ end, worksMs, fault }: Plan, index: number): Promise<void> {
          const runTag = `run-${index}`;
          const place = withFaults(paced(shared.machine(), turn));
          const pace = { random: () => 0, sleep: () => Promise.resolve() };
          const state = createSnapshotStore({ place, copies: null, conversations: null, now: () => now, pace });
          const store = verbsOf(state, runTag, () => now);
          const sequence = await claim(store, () => fault !== null && place.fail('write', fault));
          if (sequence === null) return;
          claims += 1;
          for (const [other, until] of holding) if (until <= now) holding.delete(other);
          expect([...holding.keys(), runTag]).toEqual([runTag]);
          holding.set(runTag, now + HOUR);
          now += worksMs;
          for (let waited = 0; waited < worksMs; waited += 5 * MINUTE) await turn();
          if (end === 'killed') return;
          // After the request, the lane may be free for others.
          holding.delete(runTag);
          if (end === 'release') await store.release('queue');
          else if ((await store.save(copyOf(sequence + 1, { savedAt: now }))).kind === 'saved')
            saved.push(sequence + 1);
          if (
            (await store.order('queue', { kind: 'pause', task: null, run: null, by: runTag, from: 'comment', at: now }))
              .kind === 'kept'
          )
            ordered.push(runTag);
        }

        await scheduler.waitFor(Promise.all(plans.map(work)));
        expect(claims).toBeGreaterThan(0);
        expect(new Set(saved).size).toBe(saved.length);
        const record = await recordIn(shared.machine());
        expect(record.sequence).toBeGreaterThanOrEqual(Math.max(0, ...saved));
        expect(record.orders.map(({ by }) => by).sort()).toEqual(ordered.sort());
      }),
      { numRuns: runs(place === 'memory' ? 200 : 25) },
    );
  },
);

/**
 * Restores and claims as the gate does, again if the lane changed in the meantime; returns the lane's sequence, or null
 * if another run holds it.
 */
async function claim(store: Verbs, before: () => unknown): Promise<number | null> {
  for (let tried = 0; tried < 10; tried += 1) {
    await store.restore('queue');
    before();
    const claimed = await store.claim('queue');
    if (claimed.kind !== 'changed')
      return claimed.kind === 'claimed' && 'sequence' in claimed ? claimed.sequence : null;
  }
  return null;
}
