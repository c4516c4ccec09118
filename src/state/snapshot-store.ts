import { createHash } from 'node:crypto';
import { mayStillHoldClaim, type SaveAnswer } from '../core/snapshot/changes.ts';
import { judgeCopy, judgeRecord, findSufficientSequence } from '../core/snapshot/judged.ts';
import {
  emptySnapshot,
  parseLaneIn,
  parseRecordIn,
  type SnapshotChange,
  type Snapshot,
} from '../core/snapshot/snapshot.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import type {
  PushWithSnapshot,
  Conversations,
  CopyStore,
  FoundCopy,
  FoundTranscript,
  FailedWrite,
  NotUpdated,
  PlacedSnapshot,
  ReadSnapshot,
  ReleaseResult,
  RestoredStore,
  SavedState,
  SnapshotPlace,
  StateCopy,
  StateStore,
  Unavailable,
  Updated,
} from '../ports/state.ts';

/** The stores that keep a run's state. */
export interface SnapshotStoreOptions {
  /** The store that decides, or null if there are only copies or nothing is kept. */
  readonly place: SnapshotPlace | null;
  /** The store of copies of lanes, with the name that people know, or null if there are no copies. */
  readonly copies: { readonly place: string; readonly store: CopyStore } | null;
  /** The store for transcripts that are not in the copies, or null if they are not kept. */
  readonly conversations: Conversations | null;
  readonly now: () => number;
  readonly pace: UpdatePace;
}

/**
 * The timing of an update while other writers are faster. `random` returns a number from 0 up to, but not including, 1.
 */
export interface UpdatePace {
  readonly random: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
}

/** Maximum number of attempts at an update. Whenever all writers try at once, one of them succeeds. */
const MAX_TRIES = 60;
/**
 * Maximum number of attempts to push a branch together with the state. After that the branch is pushed alone, because
 * it must not wait.
 */
const MAX_CARRIED = 8;
const ALONE = 'the state cannot be pushed with a branch';
/** Maximum pause between two attempts, in ms. */
const MAX_PAUSE_MS = 16_000;

/**
 * Returns the pause before the next attempt, in ms: random, so that writers that collided do not collide again, and
 * longer after more attempts.
 */
function pauseBefore(tries: number, random: () => number): number {
  return Math.floor(random() * Math.min(MAX_PAUSE_MS, 100 * 2 ** Math.min(tries, 10)));
}

/**
 * Creates the state store of a run. The snapshot decides; a copy is used only while the snapshot's store accepts no
 * writes. Without such a store, the copy is the state.
 */
export function createSnapshotStore({ place, copies, conversations, now, pace }: SnapshotStoreOptions): StateStore {
  /**
   * The snapshot that this process last read or wrote: a change that builds on it needs no second look unless another
   * writer was faster.
   */
  let known: PlacedSnapshot | null = null;
  /** The reason why the snapshot's store accepts no writes from this run, or null if no write was refused. */
  let forbidden: string | null = null;
  /** True if no push of a branch may include the state, now or later. */
  let isBarred = false;
  /** The copies that this process has restored. */
  const seen = new Map<LaneId, FoundCopy>();
  const copiesPlace = copies?.place ?? 'store';
  return { read, lastSeen: () => known?.snapshot ?? null, update, restore, save, transcript };

  async function read(): Promise<ReadSnapshot> {
    if (place === null) return { kind: 'none' };
    const looked = await look(place);
    return looked.kind === 'snapshot' ? { kind: 'snapshot', snapshot: looked.snapshot } : looked;
  }

  async function look(from: SnapshotPlace): Promise<PlacedSnapshot | Unavailable> {
    const before = known;
    const found = await from.read(before?.head ?? null);
    if (found.kind === 'known') return before ?? { kind: 'snapshot', head: null, snapshot: emptySnapshot };
    known = found.kind === 'snapshot' ? found : null;
    return found;
  }

  async function update<Answer>(change: SnapshotChange<Answer>, by?: PushWithSnapshot): Promise<Updated<Answer>> {
    if (place === null)
      return { kind: 'unguarded', why: `the ${copiesPlace} alone cannot keep two runs apart`, last: null };
    let last: Snapshot | null = known?.snapshot ?? null;
    if (forbidden !== null) return { kind: 'unguarded', why: forbidden, last };
    let from = known;
    let isRemembered = from !== null;
    for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
      const looked: PlacedSnapshot | Unavailable = from ?? (await look(place));
      if (looked.kind === 'unavailable') return { ...looked, last };
      last = looked.snapshot;
      const changed = change(looked.snapshot);
      if (changed.snapshot === looked.snapshot) {
        // Look again: the remembered snapshot may be old, and the change may apply to the newest one.
        const newest = isRemembered ? await look(place) : null;
        isRemembered = false;
        if (newest?.kind === 'snapshot' && newest.head !== looked.head) {
          from = newest;
          continue;
        }
        return { kind: 'updated', place: place.name, snapshot: looked.snapshot, answer: changed.answer };
      }
      const swap = { from: looked, snapshot: changed.snapshot, message: changed.message };
      const along = by === undefined || isBarred || tries > MAX_CARRIED ? null : place.carry(swap);
      if (by !== undefined && along === null) return { kind: 'unavailable', why: ALONE, last };
      const written = by === undefined || along === null ? await place.write(swap) : await by(along);
      known = null;
      switch (written.kind) {
        case 'written':
          known = { kind: 'snapshot', head: written.head, snapshot: changed.snapshot };
          // Remove the data of earlier versions now: a snapshot without a head that is not empty was read from it.
          if (looked.head === null && looked.snapshot.size > 0) await settle(place, changed.snapshot);
          return { kind: 'updated', place: place.name, snapshot: changed.snapshot, answer: changed.answer };
        case 'refused':
          // Remember the refusal only of a write without a branch, because it may otherwise concern only the two
          // together.
          if (by === undefined) forbidden = written.why;
          else isBarred = true;
          return { kind: 'unguarded', why: written.why, last };
        case 'unavailable':
          return { ...written, last };
        case 'conflict':
          from = null;
          isRemembered = false;
          await pace.sleep(pauseBefore(tries, pace.random));
      }
    }
    return { kind: 'unavailable', why: `the ${place.name} changed ${MAX_TRIES} times while it was written`, last };
  }

  /** Removes the data of earlier versions, but only once the first snapshot can be read back as it was written. */
  async function settle(written: SnapshotPlace, snapshot: Snapshot): Promise<void> {
    const back = await written.read(null);
    if (back.kind !== 'snapshot' || back.head === null) return;
    const isWhole = [...snapshot].every(([path, text]) => back.snapshot.get(path) === text);
    if (isWhole || back.head !== known?.head) await written.settle();
  }

  async function restore(lane: LaneId): Promise<RestoredStore> {
    const looked = place === null ? null : await look(place);
    // Do not fall back to a copy: it has no leases and orders, which only the snapshot has.
    if (looked?.kind === 'unavailable') return { snapshot: null, lane: looked };
    const parsed = looked === null ? null : parseLaneIn(looked.snapshot, lane);
    const beyond = parsed === null || forbidden !== null ? null : findSufficientSequence(parsed, lane, now());
    const copy = (await copies?.store.restore(lane, beyond ?? undefined)) ?? null;
    if (copy?.kind === 'found') seen.set(lane, copy);
    else seen.delete(lane);
    if (looked === null || parsed === null)
      return { snapshot: null, lane: judgeCopy(copy ?? { kind: 'absent' }, { lane, copies: copiesPlace, now: now() }) };
    const stores = { decides: place?.name ?? '', copies: copiesPlace, standsIn: forbidden !== null };
    return { snapshot: looked.snapshot, lane: judgeRecord(parsed, copy, { lane, stores, now: now() }) };
  }

  async function save(copy: StateCopy, change: SnapshotChange<SaveAnswer>, runTag: string): Promise<SavedState> {
    const record = place === null ? null : await saveRecord(place, copy, { change, runTag });
    // Save no copy from a run that lost its lane: it would one day come back as the newest copy.
    if (record?.kind === 'outrun') return { kind: 'not-kept', why: record.why, lane: free };
    // Save no copy now: other runs may have built on this state, and the copy would be the newest entry with an old
    // number.
    if (record?.kind === 'already') return { kind: 'saved', where: `${place?.name ?? ''} ✓`, lane: free };
    const isDecided = record?.kind === 'saved';
    const kept =
      copies === null ? null : await copies.store.save({ ...copy, document: isDecided ? null : copy.document });
    const lost = isDecided && kept?.kind !== 'saved' ? await keepTranscript(copy) : null;
    const results: readonly {
      readonly place: string;
      readonly result: { readonly kind: string; readonly why?: string };
    }[] = [
      ...(kept === null ? [] : [{ place: copiesPlace, result: kept }]),
      ...(record === null ? [] : [{ place: place?.name ?? '', result: record }]),
      ...(lost === null ? [] : [{ place: 'transcript', result: lost }]),
    ];
    const isWhole = results.every(({ result }) => result.kind === 'saved');
    const where = results
      .map((one) => (one.result.kind === 'saved' ? `${one.place} ✓` : `${one.place} ✗: ${one.result.why ?? ''}`))
      .join(isWhole ? ' ' : ', ');
    const lane = record?.kind === 'not-kept' ? record.lane : free;
    return isDecided || kept?.kind === 'saved'
      ? { kind: 'saved', where, lane }
      : { kind: 'not-kept', why: where, lane };
  }

  async function saveRecord(
    into: SnapshotPlace,
    { lane, sequence }: StateCopy,
    { change, runTag }: { readonly change: SnapshotChange<SaveAnswer>; readonly runTag: string },
  ): Promise<SaveAnswer | (FailedWrite & { readonly lane: ReleaseResult })> {
    let isTried = false;
    const updated = await update<SaveAnswer>((snapshot) => {
      const changed = change(snapshot);
      // Report success: an earlier attempt of this process saved the state, and only the answer was lost.
      if (changed.answer.kind === 'already' && isTried) return { ...changed, answer: { kind: 'saved' } };
      isTried = changed.answer.kind === 'saved';
      return changed;
    });
    if (updated.kind !== 'updated') return notKept(updated, lane, runTag);
    if (updated.answer.kind !== 'saved') return updated.answer;
    const back = await look(into);
    if (back.kind === 'unavailable')
      return { kind: 'not-kept', why: `it could not be read back: ${back.why}`, lane: free };
    const record = parseRecordIn(back.snapshot, lane);
    const isThere =
      record !== null && (record.sequence > sequence || (record.sequence === sequence && record.savedBy === runTag));
    const why = `the state read back from the ${into.name} differs from the saved one`;
    return isThere ? { kind: 'saved' } : notKept({ kind: 'unavailable', why, last: back.snapshot }, lane, runTag);
  }

  /**
   * Keeps the transcript apart from the document if the copies do not keep it. Returns null if the transcript is kept
   * or there is nothing to keep.
   */
  async function keepTranscript({ lane, transcript: kept }: StateCopy): Promise<FailedWrite | null> {
    if (kept === null || conversations === null) return null;
    const written = await conversations.write(lane, kept.content);
    return written.kind === 'written' ? null : written;
  }

  async function transcript(...[lane, { sha256 }]: Parameters<StateStore['transcript']>): Promise<FoundTranscript> {
    const cached = seen.get(lane)?.transcript ?? null;
    if (cached?.sha256 === sha256) return { kind: 'found', transcript: cached };
    if (conversations === null) return { kind: 'absent' };
    const found = await conversations.read(lane);
    if (found.kind !== 'found') return found;
    return createHash('sha256').update(found.content).digest('hex') === sha256
      ? { kind: 'found', transcript: { sha256, content: found.content } }
      : { kind: 'absent' };
  }
}

/** The release of a lane, including a lane that cannot be claimed. */
const free: ReleaseResult = { kind: 'free' };

function notKept(failed: NotUpdated, lane: LaneId, runTag: string): FailedWrite & { readonly lane: ReleaseResult } {
  const { why } = failed;
  return { kind: 'not-kept', why, lane: mayStillHoldClaim(failed, lane, runTag) ? { kind: 'claimed', why } : free };
}
