import { claimRecord, emptyRecord, orderRecord, parseRecord, releaseRecord, saveRecord, serializeRecord, type LaneRecord } from '../core/lane-record.ts';
import type { Lease } from '../core/lease.ts';
import type { OrderGiven } from '../core/orders.ts';
import type { LaneId } from '../core/state.ts';
import type { CellHead, CellStore, Claimed, Ordered, SavedState, StateCopy } from '../ports.ts';

/** Lanes' records in compare-and-swap cells: one run at a time works on a lane, and nobody's order is lost. */
export interface GuardedStore {
  readonly place: string;
  restore(lane: LaneId): Promise<RestoredRecord>;
  claim(lane: LaneId): Promise<Claimed>;
  save(copy: StateCopy): Promise<SavedRecord>;
  release(lane: LaneId): Promise<void>;
  order(lane: LaneId, order: OrderGiven): Promise<Ordered>;
}

/** `problem`: the stored record could not be read and will be replaced. */
export type RestoredRecord =
  | { readonly kind: 'record'; readonly record: LaneRecord; readonly problem: string | null }
  | { readonly kind: 'newer'; readonly version: number }
  | { readonly kind: 'unavailable'; readonly why: string };

/** `outrun`: another run has the lane or has saved since; this run's copy must be kept nowhere. */
export type SavedRecord = SavedState | { readonly kind: 'outrun'; readonly why: string };

export interface GuardedStoreOptions {
  readonly cells: CellStore;
  /** The lease of this run, taken now. */
  readonly lease: () => Lease;
  readonly now: () => number;
}

/** So often a write is tried again when somebody else was faster. */
const MAX_TRIES = 5;

interface Seen {
  readonly head: CellHead | null;
  readonly record: LaneRecord;
}

type Looked = { readonly kind: 'seen'; readonly seen: Seen; readonly problem: string | null } | Exclude<RestoredRecord, { kind: 'record' }>;
type Changed = { readonly kind: 'record'; readonly record: LaneRecord } | { readonly kind: 'stop' };

export function createGuardedStore({ cells, lease, now }: GuardedStoreOptions): GuardedStore {
  /** What this process last saw of a lane: a write that builds on it needs no second look unless somebody was faster. */
  const known = new Map<LaneId, Seen>();
  /** Why the newest look at a lane told nothing: who restored it so has no other run in view. */
  const outages = new Map<LaneId, string>();
  return { place: cells.place, restore, claim, save, release, order };

  async function restore(lane: LaneId): Promise<RestoredRecord> {
    const looked = await look(lane);
    return looked.kind === 'seen' ? { kind: 'record', record: looked.seen.record, problem: looked.problem } : looked;
  }

  async function claim(lane: LaneId): Promise<Claimed> {
    const wanted = lease();
    const seen = known.get(lane);
    const outage = outages.get(lane);
    if (seen === undefined) return outage === undefined ? { kind: 'changed' } : { kind: 'unguarded', why: outage };
    const claimed = claimRecord(seen.record, wanted, now());
    if (claimed.kind === 'taken') return claimed;
    const written = await write(lane, seen, claimed.record);
    if (written.kind === 'written') return { kind: 'claimed', sequence: seen.record.sequence };
    if (written.kind === 'unavailable') return { kind: 'unguarded', why: written.why };
    const looked = await look(lane);
    if (looked.kind !== 'seen') return { kind: 'changed' };
    const { record } = looked.seen;
    // Only the answer to our own write was lost.
    if (record.lease?.mark === wanted.mark) return { kind: 'claimed', sequence: record.sequence };
    const again = claimRecord(record, wanted, now());
    return again.kind === 'taken' ? again : { kind: 'changed' };
  }

  async function save({ lane, sequence, document }: StateCopy): Promise<SavedRecord> {
    let outrunBy: LaneRecord | null = null;
    const changed = await change(lane, (record) => {
      const saved = saveRecord(record, { sequence, document }, lease(), now());
      if (saved.kind === 'outrun') outrunBy = record;
      return saved.kind === 'record' ? saved : { kind: 'stop' };
    });
    if (outrunBy !== null) return { kind: 'outrun', why: describeOutrun(outrunBy) };
    if (changed.kind === 'unavailable') return { kind: 'not-saved', why: changed.why };
    const back = await cells.readHead(lane);
    if (back.kind === 'unavailable') return { kind: 'not-saved', why: `it could not be read back: ${back.why}` };
    if (back.head === known.get(lane)?.head) return { kind: 'saved', where: cells.place };
    const looked = await look(lane);
    const isThere = looked.kind === 'seen' && (looked.seen.record.sequence > sequence || (looked.seen.record.sequence === sequence && looked.seen.record.savedBy === lease().mark));
    return isThere ? { kind: 'saved', where: cells.place } : { kind: 'not-saved', why: `what was read back from the ${cells.place} is not what was saved` };
  }

  async function release(lane: LaneId): Promise<void> {
    const { mark } = lease();
    await change(lane, (record) => {
      const released = releaseRecord(record, mark);
      return released === null ? { kind: 'stop' } : { kind: 'record', record: released };
    });
  }

  async function order(lane: LaneId, given: OrderGiven): Promise<Ordered> {
    const changed = await change(lane, (record) => ({ kind: 'record', record: orderRecord(record, given) }));
    return changed.kind === 'unavailable' ? { kind: 'not-kept', why: changed.why } : { kind: 'kept', where: cells.place };
  }

  /** Changes the newest record; looks again when somebody was faster. */
  async function change(lane: LaneId, to: (record: LaneRecord) => Changed): Promise<{ readonly kind: 'done' } | { readonly kind: 'unavailable'; readonly why: string }> {
    let seen = known.get(lane);
    for (let tried = 0; tried < MAX_TRIES; tried += 1) {
      if (seen === undefined) {
        const looked = await look(lane);
        if (looked.kind === 'newer') return { kind: 'unavailable', why: `the ${cells.place} was written by a newer version of this action (record version ${looked.version})` };
        if (looked.kind === 'unavailable') return looked;
        seen = looked.seen;
      }
      const changed = to(seen.record);
      if (changed.kind === 'stop') return { kind: 'done' };
      const written = await write(lane, seen, changed.record);
      if (written.kind === 'written') return { kind: 'done' };
      if (written.kind === 'unavailable') return written;
      seen = undefined;
    }
    return { kind: 'unavailable', why: `the ${cells.place} changed ${MAX_TRIES} times while it was written` };
  }

  async function look(lane: LaneId): Promise<Looked> {
    known.delete(lane);
    outages.delete(lane);
    const [read] = await cells.read([lane]);
    if (read === undefined || read.kind === 'unavailable') {
      const why = read?.why ?? `the ${cells.place} did not answer`;
      outages.set(lane, why);
      return { kind: 'unavailable', why };
    }
    const parsed = read.kind === 'absent' ? ({ kind: 'record', record: emptyRecord(lane) } as const) : parseRecord(read.text, lane);
    if (parsed.kind === 'newer') return parsed;
    const seen: Seen = { head: read.kind === 'absent' ? null : read.head, record: parsed.kind === 'record' ? parsed.record : emptyRecord(lane) };
    known.set(lane, seen);
    return { kind: 'seen', seen, problem: parsed.kind === 'unreadable' ? parsed.why : null };
  }

  async function write(lane: LaneId, { head }: Seen, record: LaneRecord): Promise<Awaited<ReturnType<CellStore['write']>>> {
    const written = await cells.write(lane, head, serializeRecord(record));
    if (written.kind === 'written') known.set(lane, { head: written.head, record });
    else known.delete(lane);
    return written;
  }
}

function describeOutrun({ lease, sequence }: LaneRecord): string {
  return lease === null ? `another run saved #${sequence} meanwhile` : `another run has the lane now (${lease.runUrl || lease.runId})`;
}
