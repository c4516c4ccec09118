import {
  advanceRecord,
  claimRecord,
  emptyRecord,
  orderRecord,
  parseRecord,
  releaseRecord,
  renewRecord,
  saveRecord,
  serializeRecord,
  type LaneRecord,
} from '../core/sharing/lane-record.ts';
import { expiryOf, type Lease } from '../core/sharing/lease.ts';
import type { OrderGiven } from '../core/sharing/orders.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import { formatInstant } from '../core/time.ts';
import type {
  CellHead,
  CellName,
  CellStore,
  Claimed,
  NotKept,
  Ordered,
  OrdersNow,
  Passenger,
  Released,
  Ride,
  RidingCopy,
  StateCopy,
  Unavailable,
} from '../ports/state.ts';

/** Lanes' records in compare-and-swap cells: one run at a time works on a lane, and nobody's order is lost. */
export interface GuardedStore {
  readonly place: string;
  restore(lane: LaneId): Promise<RestoredRecord>;
  claim(lane: LaneId): Promise<Claimed>;
  save(copy: StateCopy): Promise<SavedRecord>;
  ride(lane: LaneId, copy: RidingCopy): Promise<Ride | null>;
  advance(lane: LaneId, copy: RidingCopy): Promise<number | null>;
  renew(lane: LaneId): Promise<void>;
  release(lane: LaneId): Promise<Released>;
  order(lane: LaneId, order: OrderGiven): Promise<Ordered>;
  orders(lane: LaneId): Promise<Exclude<OrdersNow, { kind: 'unsupported' }>>;
}

/** `problem`: the stored record could not be read and will be replaced. */
export type RestoredRecord =
  | (Seen & { readonly kind: 'record'; readonly problem: string | null })
  | { readonly kind: 'newer'; readonly version: number }
  | Unavailable;

/** A record under the head that it was read or written at; null: nothing is stored. */
interface Seen {
  readonly head: CellHead | null;
  readonly record: LaneRecord;
}

/** The lane is free of this run, unless its claim is said to stand. */
type SavedRecord =
  | { readonly kind: 'saved' }
  /** This run saved it before, and nothing was written now. */
  | { readonly kind: 'already' }
  /** Another run has the lane or has saved since; this run's copy must be kept nowhere. */
  | { readonly kind: 'outrun'; readonly why: string }
  | (NotKept & { readonly lane: Released });

export interface GuardedStoreOptions {
  readonly cells: CellStore;
  /** The write of a cell, to go along with a push; null: there is no such way. */
  readonly carry: ((name: CellName, expected: CellHead | null, text: string) => Passenger | null) | null;
  /** The lease of this run, taken now. */
  readonly lease: () => Lease;
  readonly now: () => number;
}

/** So often a write is tried again when somebody else was faster. */
const MAX_TRIES = 5;

type Changed = { readonly kind: 'record'; readonly record: LaneRecord } | { readonly kind: 'stop' };
/** `last`: the newest record that was seen; null: none was. */
type Done =
  | { readonly kind: 'done' }
  | { readonly kind: 'undone'; readonly why: string; readonly last: LaneRecord | null };

export function createGuardedStore({ cells, carry, lease, now }: GuardedStoreOptions): GuardedStore {
  /** What this process last saw of a lane: a write that builds on it needs no second look unless somebody was faster. */
  const known = new Map<LaneId, Seen>();
  /** Why the newest look at a lane found nothing out: who restored it so has no other run in view. */
  const outages = new Map<LaneId, string>();
  /** Lanes whose cell no push may take along, now or later. */
  const barred = new Set<LaneId>();
  return { place: cells.place, restore: look, claim, save, ride, advance, renew, release, order, orders };

  async function claim(lane: LaneId): Promise<Claimed> {
    const wanted = lease();
    const seen = known.get(lane);
    const outage = outages.get(lane);
    if (seen === undefined) return outage === undefined ? { kind: 'changed' } : { kind: 'unavailable', why: outage };
    const claimed = claimRecord(seen.record, wanted, now());
    if (claimed.kind === 'leased') return claimed;
    const written = await write(lane, seen, claimed.record);
    if (written.kind === 'written') return { kind: 'claimed', sequence: seen.record.sequence };
    if (written.kind === 'refused') return { kind: 'unguarded', why: written.why };
    if (written.kind === 'unavailable') return written;
    const looked = await look(lane);
    if (looked.kind !== 'record') return { kind: 'changed' };
    const { record } = looked;
    // Only the answer to our own write was lost.
    if (record.lease?.runTag === wanted.runTag) return { kind: 'claimed', sequence: record.sequence };
    const again = claimRecord(record, wanted, now());
    return again.kind === 'leased' ? again : { kind: 'changed' };
  }

  async function save({ lane, sequence, document }: StateCopy): Promise<SavedRecord> {
    let isTried = false;
    let stopped = null as SavedRecord | null;
    const changed = await change(lane, (record) => {
      const saved = saveRecord(record, { sequence, document }, lease(), now());
      if (saved.kind === 'outrun') stopped = { kind: 'outrun', why: describeOutrun(record) };
      // After a try of our own, only the answer to it was lost.
      if (saved.kind === 'already' && !isTried) stopped = saved;
      if (saved.kind !== 'record') return { kind: 'stop' };
      isTried = true;
      return saved;
    });
    if (stopped !== null) return stopped;
    if (changed.kind === 'undone') return { kind: 'not-kept', why: changed.why, lane: laneAfter(changed) };
    const back = await cells.readHead(lane);
    if (back.kind === 'unavailable')
      return { kind: 'not-kept', why: `it could not be read back: ${back.why}`, lane: { kind: 'free' } };
    if (back.head === known.get(lane)?.head) return { kind: 'saved' };
    const looked = await look(lane);
    const isThere =
      looked.kind === 'record' &&
      (looked.record.sequence > sequence ||
        (looked.record.sequence === sequence && looked.record.savedBy === lease().runTag));
    const why = `what was read back from the ${cells.place} is not what was saved`;
    return isThere
      ? { kind: 'saved' }
      : { kind: 'not-kept', why, lane: laneAfter({ why, last: looked.kind === 'record' ? looked.record : null }) };
  }

  async function ride(lane: LaneId, copy: RidingCopy): Promise<Ride | null> {
    if (carry === null || barred.has(lane)) return null;
    const next = advanced(known.get(lane) ?? (await look(lane)), copy);
    if (next === null) return null;
    const { head, record, sequence } = next;
    const passenger = carry(lane, head, serializeRecord(record));
    if (passenger === null) return null;
    return {
      sequence,
      passenger,
      landed: (written) => {
        // Whatever else became of it, the next look finds out.
        if (written.kind === 'written') known.set(lane, { head: written.head, record });
        else known.delete(lane);
        if (written.kind === 'refused') barred.add(lane);
      },
    };
  }

  async function advance(lane: LaneId, copy: RidingCopy): Promise<number | null> {
    // Somebody may have left an order in the meantime: one more look is worth it, and no more.
    for (const seen of [known.get(lane) ?? null, null]) {
      const next = advanced(seen ?? (await look(lane)), copy);
      if (next === null) return null;
      const written = await write(lane, next, next.record);
      if (written.kind === 'written') return next.sequence;
      if (written.kind !== 'conflict') return null;
    }
    return null;
  }

  /** The record with a newer state, the claim as it was; null: this run has no claim to it. */
  function advanced(
    seen: RestoredRecord | Seen,
    { after, document }: RidingCopy,
  ): (Seen & { readonly sequence: number }) | null {
    if (!('record' in seen)) return null;
    const sequence = Math.max(after, seen.record.sequence) + 1;
    const record = advanceRecord(seen.record, { sequence, document: document(sequence) }, lease().runTag);
    return record === null ? null : { head: seen.head, record, sequence };
  }

  async function renew(lane: LaneId): Promise<void> {
    const taken = lease();
    await change(lane, (record) => {
      const renewed = renewRecord(record, taken);
      return renewed === null ? { kind: 'stop' } : { kind: 'record', record: renewed };
    });
  }

  async function release(lane: LaneId): Promise<Released> {
    const { runTag } = lease();
    const changed = await change(lane, (record) => {
      const released = releaseRecord(record, runTag);
      return released === null ? { kind: 'stop' } : { kind: 'record', record: released };
    });
    return changed.kind === 'done' ? { kind: 'free' } : laneAfter(changed);
  }

  /** Who has never been seen with a claim to the lane, as one who may not write there, has none. */
  function laneAfter({ why, last }: Pick<Extract<Done, { kind: 'undone' }>, 'why' | 'last'>): Released {
    return last !== null && last.lease?.runTag !== lease().runTag ? { kind: 'free' } : { kind: 'claimed', why };
  }

  async function order(lane: LaneId, given: OrderGiven): Promise<Ordered> {
    const changed = await change(lane, (record) => ({ kind: 'record', record: orderRecord(record, given) }));
    return changed.kind === 'undone' ? { kind: 'not-kept', why: changed.why } : { kind: 'kept', where: cells.place };
  }

  async function orders(lane: LaneId): ReturnType<GuardedStore['orders']> {
    const seen = known.get(lane);
    if (seen !== undefined) {
      const there = await cells.readHead(lane);
      if (there.kind === 'unavailable') return there;
      if (there.head === seen.head) return { kind: 'orders', orders: seen.record.orders };
    }
    const looked = await look(lane);
    if (looked.kind === 'record') return { kind: 'orders', orders: looked.record.orders };
    return looked.kind === 'unavailable' ? looked : { kind: 'unavailable', why: describeNewer(looked.version) };
  }

  /** Changes the newest record; looks again when somebody was faster. */
  async function change(lane: LaneId, to: (record: LaneRecord) => Changed): Promise<Done> {
    let seen = known.get(lane);
    let last: LaneRecord | null = null;
    for (let tried = 0; tried < MAX_TRIES; tried += 1) {
      if (seen === undefined) {
        const looked = await look(lane);
        if (looked.kind === 'newer') return { kind: 'undone', why: describeNewer(looked.version), last };
        if (looked.kind === 'unavailable') return { kind: 'undone', why: looked.why, last };
        seen = looked;
      }
      last = seen.record;
      const changed = to(seen.record);
      if (changed.kind === 'stop') return { kind: 'done' };
      const written = await write(lane, seen, changed.record);
      if (written.kind === 'written') return { kind: 'done' };
      if (written.kind !== 'conflict') return { kind: 'undone', why: written.why, last };
      seen = undefined;
    }
    return { kind: 'undone', why: `the ${cells.place} changed ${MAX_TRIES} times while it was written`, last };
  }

  function describeNewer(version: number): string {
    return `the ${cells.place} was written by a newer version of this action (record version ${version})`;
  }

  async function look(lane: LaneId): Promise<RestoredRecord> {
    known.delete(lane);
    outages.delete(lane);
    const [read] = await cells.read([lane]);
    if (read === undefined || read.kind === 'unavailable') {
      const why = read?.why ?? `the ${cells.place} did not answer`;
      outages.set(lane, why);
      return { kind: 'unavailable', why };
    }
    const parsed =
      read.kind === 'absent' ? ({ kind: 'record', record: emptyRecord(lane) } as const) : parseRecord(read.text, lane);
    if (parsed.kind === 'newer') return parsed;
    const seen: Seen = {
      head: read.kind === 'absent' ? null : read.head,
      record: parsed.kind === 'record' ? parsed.record : emptyRecord(lane),
    };
    known.set(lane, seen);
    return { kind: 'record', ...seen, problem: parsed.kind === 'unreadable' ? parsed.why : null };
  }

  async function write(
    lane: LaneId,
    { head }: Seen,
    record: LaneRecord,
  ): Promise<Awaited<ReturnType<CellStore['write']>>> {
    const written = await cells.write(lane, head, serializeRecord(record));
    if (written.kind === 'written') known.set(lane, { head: written.head, record });
    else known.delete(lane);
    return written;
  }
}

function describeOutrun({ lease, sequence }: LaneRecord): string {
  return lease === null
    ? `another run saved #${sequence} in the meantime`
    : `another run has the claim now (${lease.runUrl || lease.runId}), until ${formatInstant(expiryOf(lease))} at the latest`;
}
