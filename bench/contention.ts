import { emptySnapshot, listLanes, type Snapshot } from '../src/core/snapshot/snapshot.ts';
import type { SnapshotPlace } from '../src/ports/state.ts';
import { createSnapshotStore } from '../src/state/snapshot-store.ts';
import { createRandom } from './simulator/random.ts';

/** The result for lanes that all update the state at the same moment. */
export interface Contended {
  /** Number of lanes whose update is in the state at the end. */
  readonly kept: number;
  /** Largest number of writes that one lane needed. */
  readonly mostWrites: number;
  readonly seconds: number;
}

/** Time in ms after which GitHub answers a fetch or a push; half of it passes in each direction. */
const FETCH_MS = 800;
const PUSH_MS = 1_000;
/** Ratio of the slowest request to the fastest, at most. */
const SPREAD = 1.5;

/** Updates one ref with the real store of each lane at once. The server's answers are delayed on a simulated clock. */
export async function contend(lanes: number, seed: number): Promise<Contended> {
  const random = createRandom(seed);
  const waiting: { readonly at: number; readonly go: () => void }[] = [];
  let now = 0;
  const sleep = (ms: number): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    waiting.push({
      at: now + ms,
      go: () => {
        resolve(undefined);
      },
    });
    return promise;
  };
  let head = 0;
  let snapshot: Snapshot = emptySnapshot;
  const slow = (ms: number): number => (ms / 2) * (1 + random() * (SPREAD - 1));
  const place = (written: () => void): SnapshotPlace => ({
    name: 'ref',
    read: async () => {
      await sleep(slow(FETCH_MS));
      const found = { kind: 'snapshot', head: head === 0 ? null : String(head), snapshot } as const;
      await sleep(slow(FETCH_MS));
      return found;
    },
    write: async ({ from, snapshot: next }) => {
      written();
      await sleep(slow(PUSH_MS));
      const isNewest = (from.head ?? '0') === String(head);
      if (isNewest) {
        head += 1;
        snapshot = next;
      }
      await sleep(slow(PUSH_MS));
      return isNewest ? { kind: 'written', head: String(head) } : { kind: 'conflict' };
    },
    carry: () => null,
    settle: () => Promise.resolve(),
  });
  let mostWrites = 0;
  let left = lanes;
  const updates = Array.from({ length: lanes }, async (_, lane) => {
    let writes = 0;
    const own = place(() => {
      writes += 1;
    });
    const store = createSnapshotStore({
      place: own,
      copies: null,
      conversations: null,
      now: () => now,
      pace: { random, sleep },
    });
    await store.update((known) => {
      const path = `lanes/issue-${String(lane + 1)}.json`;
      return { snapshot: new Map([...known, [path, 'claimed']]), message: path, answer: null };
    });
    mostWrites = Math.max(mostWrites, writes);
    left -= 1;
  });
  while (left > 0) {
    await new Promise(setImmediate);
    const next = waiting.reduce((first, one) => (one.at < first.at ? one : first), waiting[0] ?? NOBODY);
    if (next === NOBODY) continue;
    waiting.splice(waiting.indexOf(next), 1);
    now = Math.max(now, next.at);
    next.go();
  }
  await Promise.all(updates);
  return { kept: listLanes(snapshot).length, mostWrites, seconds: Math.round(now / 1000) };
}

const NOBODY = { at: Number.POSITIVE_INFINITY, go: () => undefined };
