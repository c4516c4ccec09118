import { parseStateAt, type ParsedState } from '../core/lane/state.ts';
import type {
  Claimed,
  CopyStore,
  Ordered,
  OrdersNow,
  Released,
  RestoredCopy,
  RestoredState,
  SavedState,
  StateCopy,
  StateStore,
} from '../ports/state.ts';
import type { GuardedStore, RestoredRecord } from './guarded-store.ts';
import type { LaneId } from '../core/tasks/ids.ts';

/** A guarded store that decides, and copies that also carry session folders. Each may be absent, but not both. */
export interface LayeredStoreOptions {
  readonly guarded: GuardedStore | null;
  readonly copies: { readonly place: string; readonly store: CopyStore } | null;
  readonly now: () => number;
}

/** One place's copy of a lane. */
interface Candidate {
  readonly place: string;
  readonly sequence: number;
  readonly sessionFolder: string | null;
  readonly parsed: ParsedState;
}

type Readable = Candidate & { readonly parsed: Extract<ParsedState, { kind: 'state' }> };

/** The state store of a run: the newest readable copy wins, whatever place it comes from. */
export function createLayeredStore({ guarded, copies, now }: LayeredStoreOptions): StateStore {
  const guardedPlace = guarded?.place ?? '';
  const copiesPlace = copies?.place ?? 'store';
  return { restore, claim, save, release, order, orders };

  async function restore(lane: LaneId): Promise<RestoredState> {
    const [record, copy] = await Promise.all([guarded?.restore(lane) ?? null, copies?.store.restore(lane) ?? null]);
    // Leases, orders and often the newest copy are there alone: without it a copy is no basis to work on.
    if (record?.kind === 'unavailable') return record;
    if (record?.kind === 'newer') return { kind: 'newer', version: record.version, origin: guardedPlace };
    const found = candidates(lane, record, copy);
    const newer = found.find(({ parsed }) => parsed.kind === 'newer');
    if (newer?.parsed.kind === 'newer') return { kind: 'newer', version: newer.parsed.version, origin: newer.place };

    const warnings = [
      ...problemsOf(record, copy),
      ...found.flatMap(({ place, sequence, parsed }) =>
        parsed.kind === 'unreadable' ? [`The state #${sequence} in the ${place} cannot be read: ${parsed.why}.`] : [],
      ),
    ];
    const lease = record?.kind === 'record' ? record.record.lease : null;
    const orders = record?.kind === 'record' ? record.record.orders : [];
    const readable = found.filter(isReadable).sort((a, b) => b.sequence - a.sequence);
    const [newest] = readable;
    if (newest === undefined) {
      const isUnreadable = record?.kind === 'record' && record.problem !== null;
      const lost =
        found[0] ??
        (isUnreadable ? candidate(lane, guardedPlace, { sequence: 0, document: '', sessionFolder: null }) : undefined);
      if (lost?.parsed.kind === 'unreadable')
        return { kind: 'unreadable', why: lost.parsed.why, origin: lost.place, orders, lease, warnings };
      // Nothing is kept where it decides: what the cache does not know does not matter then.
      const isAbsent = record !== null || copy?.kind === 'absent';
      return isAbsent ? { kind: 'absent', orders, lease, warnings } : { kind: 'unavailable', why: warnings.join(' ') };
    }
    const others = readable.slice(1);
    const rollbacks = others.flatMap(({ place, sequence }) =>
      place === guarded?.place && sequence < newest.sequence
        ? [
            `The ${place} is ${newest.sequence - sequence} behind the ${newest.place}: it was set back, or the last run could not write it.`,
          ]
        : [],
    );
    return {
      kind: 'found',
      state: newest.parsed.state,
      sessionFolder: sessionFor(newest, readable),
      origin: describeOrigin(newest, others),
      orders,
      lease,
      warnings: [...warnings, ...rollbacks, ...newest.parsed.problems],
    };
  }

  function candidates(lane: LaneId, record: RestoredRecord | null, copy: RestoredCopy | null): readonly Candidate[] {
    const { sequence, document } = record?.kind === 'record' ? record.record : { sequence: 0, document: null };
    return [
      ...(document === null ? [] : [candidate(lane, guardedPlace, { sequence, document, sessionFolder: null })]),
      ...(copy?.kind === 'found' ? [candidate(lane, copiesPlace, copy)] : []),
    ];
  }

  function candidate(
    lane: LaneId,
    place: string,
    { sequence, document, sessionFolder }: Omit<StateCopy, 'lane'>,
  ): Candidate {
    return { place, sequence, sessionFolder, parsed: parseStateAt(document, lane, now()) };
  }

  function problemsOf(record: RestoredRecord | null, copy: RestoredCopy | null): readonly string[] {
    return [
      ...(record?.kind === 'record' && record.problem !== null
        ? [`The state's ${guardedPlace} cannot be read: ${record.problem}. It is written anew.`]
        : []),
      ...(copy?.kind === 'unavailable' ? [`The state's ${copiesPlace} cannot be read: ${copy.why}.`] : []),
    ];
  }

  async function claim(lane: LaneId): Promise<Claimed> {
    if (guarded === null) return { kind: 'unguarded', why: `the ${copiesPlace} alone cannot keep two runs apart` };
    return guarded.claim(lane);
  }

  async function save(copy: StateCopy): Promise<SavedState> {
    const record = guarded === null ? null : await guarded.save(copy);
    // A copy of a run that lost its lane would come back as the newest one day.
    if (record?.kind === 'outrun') return { kind: 'not-kept', why: record.why, lane: free };
    // Others may have built on it since: copied now, an old number would be the newest entry.
    if (record?.kind === 'already') return { kind: 'saved', where: `${guardedPlace} ✓`, lane: free };
    const kept = copies === null ? null : await copies.store.save(copy);
    const results = [
      ...(kept === null ? [] : [{ place: copiesPlace, result: kept }]),
      ...(record === null ? [] : [{ place: guardedPlace, result: record }]),
    ];
    const isWhole = results.every(({ result }) => result.kind === 'saved');
    const where = results
      .map(({ place, result }) => (result.kind === 'saved' ? `${place} ✓` : `${place} ✗: ${result.why}`))
      .join(isWhole ? ' ' : ', ');
    const laneNow = record?.kind === 'not-kept' ? record.lane : free;
    return results.some(({ result }) => result.kind === 'saved')
      ? { kind: 'saved', where, lane: laneNow }
      : { kind: 'not-kept', why: where, lane: laneNow };
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

function isReadable(candidate: Candidate): candidate is Readable {
  return candidate.parsed.kind === 'state';
}

/** `ref, cache was 3 behind`; `cache and ref` when they agree. */
function describeOrigin(newest: Candidate, others: readonly Candidate[]): string {
  const equal = others.filter(({ sequence }) => sequence === newest.sequence).map(({ place }) => place);
  const behind = others
    .filter(({ sequence }) => sequence < newest.sequence)
    .map(({ place, sequence }) => `${place} was ${newest.sequence - sequence} behind`);
  return [[newest.place, ...equal].sort().join(' and '), ...behind].join(', ');
}

/** A transcript belongs to the state that was saved with it: with any other, the agent would go on from an older conversation. */
function sessionFor(newest: Readable, readable: readonly Readable[]): string | null {
  const { session } = newest.parsed.state;
  if (session === null) return null;
  const isSame = ({ parsed }: Readable): boolean => JSON.stringify(parsed.state.session) === JSON.stringify(session);
  return readable.find((candidate) => candidate.sessionFolder !== null && isSame(candidate))?.sessionFolder ?? null;
}
