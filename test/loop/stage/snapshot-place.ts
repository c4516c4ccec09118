import { emptySnapshot, type Snapshot } from '../../../src/core/snapshot/snapshot.ts';
import type { Head, SnapshotPlace, SnapshotSwap, WriteResult } from '../../../src/ports/state.ts';

/** The data that all machines share: the newest snapshot, and the history of its writes. */
export interface SharedSnapshot {
  head: Head | null;
  snapshot: Snapshot;
  /** One line for each write. */
  readonly messages: string[];
}

export function createShared(snapshot: Snapshot = emptySnapshot): SharedSnapshot {
  return { head: null, snapshot, messages: [] };
}

/** Creates one machine's access. Each call is answered at once and is atomic. */
export function createMemoryPlace(shared: SharedSnapshot): SnapshotPlace {
  return {
    name: 'memory',
    read: (known) =>
      Promise.resolve(
        known !== null && known === shared.head
          ? { kind: 'known' }
          : { kind: 'snapshot', head: shared.head, snapshot: shared.snapshot },
      ),
    write: (swap) => Promise.resolve(writeTo(shared, swap)),
    carry: () => null,
    settle: () => Promise.resolve(),
  };
}

export function writeTo(shared: SharedSnapshot, { from, snapshot, message }: SnapshotSwap): WriteResult {
  if (shared.head !== from.head) return { kind: 'conflict' };
  shared.messages.push(message);
  shared.head = `write-${String(shared.messages.length)}`;
  shared.snapshot = snapshot;
  return { kind: 'written', head: shared.head };
}

type PlaceMethod = 'read' | 'write';

/**
 * `refused`: the call has no effect and the caller is informed. `answer-lost`: the call takes effect, but the caller
 * gets no answer.
 * `taken-for-conflict`: the call takes effect, but the caller gets a conflict (a write that was sent twice).
 */
export type PlaceFault = 'refused' | 'answer-lost' | 'taken-for-conflict';

export interface FaultyPlace extends SnapshotPlace {
  /** The calls so far, oldest first. */
  readonly asked: PlaceMethod[];
  /** The reason why no call is answered, or null if calls work. */
  outage: string | null;
  /** The refusal of every write from now on, or null to accept them. */
  refusal: string | null;
  /** Sets the fault of the method's next call. */
  fail(method: PlaceMethod, fault: PlaceFault): void;
  /** Runs an action of another machine just before the method's next call. */
  meanwhile(method: PlaceMethod, action: () => Promise<unknown>): void;
}

/** Wraps a place in faults between it and this machine. */
export function withFaults(place: SnapshotPlace): FaultyPlace {
  const faults = new Map<PlaceMethod, PlaceFault>();
  const actions = new Map<PlaceMethod, () => Promise<unknown>>();
  const faulty: FaultyPlace = {
    ...place,
    asked: [],
    outage: null,
    refusal: null,
    fail: (method, fault) => {
      faults.set(method, fault);
    },
    meanwhile: (method, action) => {
      actions.set(method, action);
    },
    read: (known) => ask('read', () => place.read(known)),
    write: async (swap) => {
      const fault = faults.get('write');
      const written = await ask<WriteResult>('write', () =>
        faulty.refusal === null ? place.write(swap) : Promise.resolve({ kind: 'refused', why: faulty.refusal }),
      );
      return fault === 'taken-for-conflict' && written.kind === 'written' ? { kind: 'conflict' } : written;
    },
  };
  return faulty;

  async function ask<Answer>(
    method: PlaceMethod,
    call: () => Promise<Answer>,
  ): Promise<Answer | { readonly kind: 'unavailable'; readonly why: string }> {
    faulty.asked.push(method);
    const [action, fault] = [actions.get(method), faults.get(method)];
    actions.delete(method);
    faults.delete(method);
    await action?.();
    if (faulty.outage !== null) return unavailable(faulty.outage);
    if (fault === 'refused') return unavailable('the server refuses');
    const answer = await call();
    return fault === 'answer-lost' ? unavailable('the server did not answer') : answer;
  }
}

function unavailable(why: string): { readonly kind: 'unavailable'; readonly why: string } {
  return { kind: 'unavailable', why };
}

/** Wraps a place so that every request and answer waits for its turn, in the order of a scheduler. */
export function paced(place: SnapshotPlace, turn: () => Promise<unknown>): SnapshotPlace {
  return {
    ...place,
    read: (known) => inTurn(() => place.read(known)),
    write: (swap) => inTurn(() => place.write(swap)),
  };

  async function inTurn<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    await turn();
    const answer = await call();
    await turn();
    return answer;
  }
}
