import { createHash } from 'node:crypto';
import { safeParts, signedParts, withSafeParts, type CachedState } from '../core/lane/cached-state.ts';
import { parseStateAt, type LaneState, type ParsedState } from '../core/lane/state.ts';
import { namesOf } from '../core/text/lists.ts';
import type {
  BlobStore,
  Claimed,
  CopyStore,
  FoundCopy,
  FoundTranscript,
  Ordered,
  OrdersNow,
  Released,
  RestoredCopy,
  RestoredState,
  Ride,
  RidingCopy,
  SavedCopy,
  SavedState,
  StateCopy,
  StateStore,
} from '../ports/state.ts';
import type { GuardedStore, RestoredRecord } from './guarded-store.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import { sentence } from '../core/text/sentence.ts';

/** A guarded store that decides, and copies beside it. Each may be absent, but not both. */
export interface LayeredStoreOptions {
  readonly guarded: GuardedStore | null;
  readonly copies: { readonly place: string; readonly store: CopyStore } | null;
  /** For transcripts that the copies do not keep; null: they are not kept then. */
  readonly blobs: BlobStore | null;
  readonly now: () => number;
}

type KeptRecord = Extract<RestoredRecord, { kind: 'record' }>;
type Beside = Pick<Extract<RestoredState, { kind: 'absent' }>, 'savedBy' | 'orders' | 'lease' | 'warnings'>;
type ReadableCopy = FoundCopy & { readonly parsed: Extract<ParsedState, { kind: 'state' }> };

/** The state store of a run. Where there is a guarded store it decides, and a copy counts only while it takes no writes; where there is none the copy is the state. */
export function createLayeredStore({ guarded, copies, blobs, now }: LayeredStoreOptions): StateStore {
  const guardedPlace = guarded?.place ?? '';
  const copiesPlace = copies?.place ?? 'store';
  /** The copies that this process has restored. */
  const seen = new Map<LaneId, FoundCopy>();
  /** The sequences of the documents that the guarded store holds. */
  const decided = new Map<LaneId, number>();
  /** Lanes of which the guarded store takes no writes of this run. */
  const refused = new Set<LaneId>();
  return { restore, claim, save, ride, advance, renew, release, order, orders, transcript };

  async function restore(lane: LaneId): Promise<RestoredState> {
    const record = (await guarded?.restore(lane)) ?? null;
    // Leases and orders are there alone: without them a copy is no basis to work on.
    if (record?.kind === 'unavailable') return record;
    const copy = (await copies?.store.restore(lane, record === null ? undefined : sufficient(lane, record))) ?? null;
    if (copy?.kind === 'found') seen.set(lane, copy);
    else seen.delete(lane);
    if (record === null) return fromCopy(lane, copy ?? { kind: 'absent' });
    if (record.kind === 'newer') return { kind: 'newer', version: record.version, origin: guardedPlace };
    decided.set(lane, record.record.sequence);
    return fromRecord(lane, record, copy);
  }

  /** The number up to which no copy tells anything more; undefined: any copy might, or has the transcript that the document names. */
  function sufficient(lane: LaneId, record: Exclude<RestoredRecord, { kind: 'unavailable' }>): number | undefined {
    if (record.kind === 'newer' || record.record.document === null || refused.has(lane)) return undefined;
    const parsed = parseStateAt(record.record.document, lane, now());
    return parsed.kind === 'state' && parsed.state.transcript === null ? record.record.sequence : undefined;
  }

  function fromRecord(lane: LaneId, { record, problem }: KeptRecord, copy: RestoredCopy | null): RestoredState {
    const { document, sequence, savedBy, orders, lease } = record;
    const warnings = [
      ...(problem === null
        ? []
        : [`The state's ${guardedPlace} cannot be read: ${sentence(problem)} It is written again.`]),
      ...(copy?.kind === 'unavailable' ? [`The state's ${copiesPlace} cannot be read: ${sentence(copy.why)}`] : []),
    ];
    const beside = (more: readonly string[]): Beside => ({ savedBy, orders, lease, warnings: [...warnings, ...more] });
    const parsed = document === null ? null : parseStateAt(document, lane, now());
    if (parsed?.kind === 'newer') return { kind: 'newer', version: parsed.version, origin: guardedPlace };
    const since = refused.has(lane) ? readableCopy(lane, copy) : null;
    if (parsed?.kind === 'state') {
      const isBehind = since !== null && since.signed && since.sequence > sequence;
      return {
        kind: 'found',
        state: isBehind ? withSafeParts(parsed.state, safeParts(since.parsed.state, true).state) : parsed.state,
        origin: isBehind ? `${guardedPlace}, and ${copiesPlace} for what came since` : guardedPlace,
        ...beside([...(isBehind ? [] : ahead(copy, sequence)), ...parsed.problems]),
      };
    }
    if (since !== null) {
      const cached = safeParts(since.parsed.state, since.signed);
      return {
        kind: 'found',
        state: cached.state,
        origin: copiesPlace,
        ...beside([...notTaken(cached, since.sequence), ...since.parsed.problems]),
      };
    }
    if (parsed?.kind === 'unreadable')
      return {
        kind: 'unreadable',
        why: parsed.why,
        origin: guardedPlace,
        ...beside([`The state #${sequence} in the ${guardedPlace} cannot be read: ${sentence(parsed.why)}`]),
      };
    if (problem !== null) return { kind: 'unreadable', why: problem, origin: guardedPlace, ...beside([]) };
    return { kind: 'absent', ...beside(ahead(copy, 0)) };
  }

  /** A copy that is further than the place that decides, as a sentence. */
  function ahead(copy: RestoredCopy | null, sequence: number): readonly string[] {
    if (copy?.kind !== 'found' || copy.sequence <= sequence) return [];
    const name = `The ${copiesPlace} holds #${copy.sequence} of this state and the ${guardedPlace}`;
    const what = sequence === 0 ? `${name} none` : `${name} #${sequence}`;
    return [
      copy.signed
        ? `${what}: it was reset, or the last run could not write it. The ${guardedPlace} decides.`
        : `${what}, which decides; what is in the ${copiesPlace} is not signed with this run's key and is ignored.`,
    ];
  }

  function fromCopy(lane: LaneId, copy: RestoredCopy): RestoredState {
    if (copy.kind === 'unavailable')
      return { kind: 'unavailable', why: `The state's ${copiesPlace} cannot be read: ${sentence(copy.why)}` };
    const beside: Beside = { savedBy: null, orders: [], lease: null, warnings: [] };
    if (copy.kind === 'absent' || copy.document === null) return { kind: 'absent', ...beside };
    const parsed = parseStateAt(copy.document, lane, now());
    if (parsed.kind === 'newer') return { kind: 'newer', version: parsed.version, origin: copiesPlace };
    if (parsed.kind === 'unreadable')
      return {
        kind: 'unreadable',
        why: parsed.why,
        origin: copiesPlace,
        ...beside,
        warnings: [`The state #${copy.sequence} in the ${copiesPlace} cannot be read: ${sentence(parsed.why)}`],
      };
    const { state, dropped } = signedParts(parsed.state, copy.signed);
    return {
      kind: 'found',
      state,
      origin: dropped.includes('approvals') ? `${copiesPlace}; approvals are checked again` : copiesPlace,
      ...beside,
      warnings: [
        ...notTaken({ state, dropped: dropped.filter((part) => part !== 'approvals') }, copy.sequence),
        ...parsed.problems,
      ],
    };
  }

  function notTaken({ dropped }: CachedState, sequence: number): readonly string[] {
    if (dropped.length === 0) return [];
    const why = guarded === null ? "it is not signed with this run's key" : `the ${guardedPlace} takes no writes`;
    return [`Ignored in the state #${sequence} from the ${copiesPlace}: ${namesOf(dropped)}, since ${sentence(why)}`];
  }

  function readableCopy(lane: LaneId, copy: RestoredCopy | null): ReadableCopy | null {
    if (copy?.kind !== 'found' || copy.document === null) return null;
    const parsed = parseStateAt(copy.document, lane, now());
    return parsed.kind === 'state' ? { ...copy, parsed } : null;
  }

  async function claim(lane: LaneId): Promise<Claimed> {
    if (guarded === null) return { kind: 'unguarded', why: `the ${copiesPlace} alone cannot keep two runs apart` };
    const claimed = await guarded.claim(lane);
    if (claimed.kind !== 'unguarded' || refused.has(lane)) return claimed;
    refused.add(lane);
    const copy = seen.get(lane);
    // Only now it is known that the copy is where this lane's runs save.
    const counts = copy !== undefined && copy.document !== null && copy.sequence > (decided.get(lane) ?? 0);
    return counts ? { kind: 'changed' } : claimed;
  }

  async function save(copy: StateCopy): Promise<SavedState> {
    const record = guarded === null ? null : await guarded.save(copy);
    // A copy of a run that lost its lane would come back as the newest one day.
    if (record?.kind === 'outrun') return { kind: 'not-kept', why: record.why, lane: free };
    // Others may have built on it since: copied now, an old number would be the newest entry.
    if (record?.kind === 'already') return { kind: 'saved', where: `${guardedPlace} ✓`, lane: free };
    const isDecided = record?.kind === 'saved';
    const kept =
      copies === null ? null : await copies.store.save({ ...copy, document: isDecided ? null : copy.document });
    const lost = isDecided && kept?.kind !== 'saved' ? await keepTranscript(copy) : null;
    const results: readonly {
      readonly place: string;
      readonly result: { readonly kind: string; readonly why?: string };
    }[] = [
      ...(kept === null ? [] : [{ place: copiesPlace, result: kept }]),
      ...(record === null ? [] : [{ place: guardedPlace, result: record }]),
      ...(lost === null ? [] : [{ place: 'transcript', result: lost }]),
    ];
    const isWhole = results.every(({ result }) => result.kind === 'saved');
    const where = results
      .map(({ place, result }) => (result.kind === 'saved' ? `${place} ✓` : `${place} ✗: ${result.why ?? ''}`))
      .join(isWhole ? ' ' : ', ');
    const laneNow = record?.kind === 'not-kept' ? record.lane : free;
    return isDecided || kept?.kind === 'saved'
      ? { kind: 'saved', where, lane: laneNow }
      : { kind: 'not-kept', why: where, lane: laneNow };
  }

  /** Beside the document, where the copies do not take the transcript; null: it is kept, or there is none. */
  async function keepTranscript({
    lane,
    transcript,
  }: StateCopy): Promise<Extract<SavedCopy, { kind: 'not-kept' }> | null> {
    if (transcript === null || blobs === null) return null;
    const written = await blobs.write(lane, transcript.content);
    return written.kind === 'written' ? null : written;
  }

  async function transcript(lane: LaneId, { sha256 }: NonNullable<LaneState['transcript']>): Promise<FoundTranscript> {
    const cached = seen.get(lane)?.transcript ?? null;
    if (cached?.sha256 === sha256) return { kind: 'found', transcript: cached };
    if (blobs === null) return { kind: 'absent' };
    const read = await blobs.read(lane);
    if (read.kind !== 'found') return read;
    return createHash('sha256').update(read.content).digest('hex') === sha256
      ? { kind: 'found', transcript: { sha256, content: read.content } }
      : { kind: 'absent' };
  }

  async function ride(lane: LaneId, copy: RidingCopy): Promise<Ride | null> {
    return guarded === null || refused.has(lane) ? null : guarded.ride(lane, copy);
  }

  async function advance(lane: LaneId, copy: RidingCopy): Promise<number | null> {
    return guarded === null || refused.has(lane) ? null : guarded.advance(lane, copy);
  }

  async function renew(lane: LaneId): Promise<void> {
    if (guarded !== null && !refused.has(lane)) await guarded.renew(lane);
  }

  async function release(lane: LaneId): Promise<Released> {
    return guarded === null ? free : guarded.release(lane);
  }

  async function order(...[lane, given]: Parameters<StateStore['order']>): Promise<Ordered> {
    return guarded === null
      ? { kind: 'unsupported', why: `the ${copiesPlace} keeps no orders` }
      : guarded.order(lane, given);
  }

  async function orders(lane: LaneId): Promise<OrdersNow> {
    return guarded === null ? { kind: 'unsupported' } : guarded.orders(lane);
  }
}

/** Also of a lane that nothing can claim. */
const free: Released = { kind: 'free' };
