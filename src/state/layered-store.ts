import { parseState, type LaneId, type LaneState, type ParsedState } from '../core/lane/state.ts';
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

/** A guarded store that decides, and copies that also carry session folders. Each may be absent, but not both. */
export interface LayeredStoreOptions {
  readonly guarded: GuardedStore | null;
  readonly copies: { readonly place: string; readonly store: CopyStore } | null;
}

/** One place's copy of a lane. */
interface Candidate {
  readonly place: string;
  readonly sequence: number;
  readonly document: string;
  readonly sessionFolder: string | null;
  readonly parsed: ParsedState;
}

/** The state store of a run: the newest readable copy wins, whatever place it comes from. */
export function createLayeredStore({ guarded, copies }: LayeredStoreOptions): StateStore {
  return { restore, claim, save, release, order, orders };

  async function restore(lane: LaneId): Promise<RestoredState> {
    const [record, copy] = await Promise.all([guarded?.restore(lane) ?? null, copies?.store.restore(lane) ?? null]);
    // Leases, orders and often the newest copy are there alone: without it a copy is no basis to work on.
    if (record?.kind === 'unavailable') return record;
    if (record?.kind === 'newer') return { kind: 'newer', version: record.version, origin: guarded?.place ?? '' };
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
    const readable = found.filter(({ parsed }) => parsed.kind === 'state').sort((a, b) => b.sequence - a.sequence);
    const [newest] = readable;
    if (newest === undefined) {
      const [unreadable] = found;
      if (unreadable !== undefined)
        return {
          kind: 'found',
          document: unreadable.document,
          sessionFolder: null,
          origin: unreadable.place,
          orders,
          lease,
          warnings,
        };
      if (record?.kind === 'record' && record.problem !== null)
        return {
          kind: 'found',
          document: '',
          sessionFolder: null,
          origin: guarded?.place ?? '',
          orders,
          lease,
          warnings,
        };
      // Nothing is kept where it decides: what the cache cannot tell does not matter then.
      const isAbsent = record === null ? copy?.kind === 'absent' : record.kind === 'record';
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
      document: newest.document,
      sessionFolder: sessionFor(newest, readable),
      origin: describeOrigin(newest, others),
      orders,
      lease,
      warnings: [...warnings, ...rollbacks],
    };
  }

  function candidates(lane: LaneId, record: RestoredRecord | null, copy: RestoredCopy | null): readonly Candidate[] {
    const fromRecord =
      record?.kind === 'record' && record.record.document !== null
        ? [
            {
              place: guarded?.place ?? '',
              sequence: record.record.sequence,
              document: record.record.document,
              sessionFolder: null,
              parsed: parseState(record.record.document, lane),
            },
          ]
        : [];
    const fromCopy =
      copy?.kind === 'found'
        ? [
            {
              place: copies?.place ?? '',
              sequence: copy.sequence,
              document: copy.document,
              sessionFolder: copy.sessionFolder,
              parsed: parseState(copy.document, lane),
            },
          ]
        : [];
    return [...fromRecord, ...fromCopy];
  }

  function problemsOf(record: RestoredRecord | null, copy: RestoredCopy | null): readonly string[] {
    return [
      ...(record?.kind === 'record' && record.problem !== null
        ? [`The state's ${guarded?.place ?? ''} cannot be read: ${record.problem}. It is written anew.`]
        : []),
      ...(copy?.kind === 'unavailable' ? [`The state's ${copies?.place ?? ''} cannot be read: ${copy.why}.`] : []),
    ];
  }

  async function claim(lane: LaneId): Promise<Claimed> {
    if (guarded === null)
      return { kind: 'unguarded', why: `the ${copies?.place ?? 'store'} alone cannot keep two runs apart` };
    return guarded.claim(lane);
  }

  async function save(copy: StateCopy): Promise<SavedState> {
    const record = guarded === null ? null : await guarded.save(copy);
    // A copy of a run that lost its lane would come back as the newest one day.
    if (record?.kind === 'outrun') return { kind: 'not-saved', why: record.why, lane: free };
    // Others may have built on it since: copied now, an old number would be the newest entry.
    if (record?.kind === 'already') return { kind: 'saved', where: `${guarded?.place ?? ''} ✓`, lane: free };
    const kept = copies === null ? null : await copies.store.save(copy);
    const results = [
      ...(kept === null ? [] : [{ place: copies?.place ?? '', result: kept }]),
      ...(record === null ? [] : [{ place: guarded?.place ?? '', result: record }]),
    ];
    const isWhole = results.every(({ result }) => result.kind === 'saved');
    const where = results
      .map(({ place, result }) => (result.kind === 'saved' ? `${place} ✓` : `${place} ✗: ${result.why}`))
      .join(isWhole ? ' ' : ', ');
    const laneNow = record?.kind === 'not-saved' ? record.lane : free;
    return results.some(({ result }) => result.kind === 'saved')
      ? { kind: 'saved', where, lane: laneNow }
      : { kind: 'not-saved', why: where, lane: laneNow };
  }

  async function release(lane: LaneId): Promise<Released> {
    return guarded === null ? free : guarded.release(lane);
  }

  async function order(...[lane, given]: Parameters<StateStore['order']>): Promise<Ordered> {
    return guarded === null
      ? { kind: 'unsupported', why: `the ${copies?.place ?? 'store'} keeps no orders` }
      : guarded.order(lane, given);
  }

  async function orders(lane: LaneId): Promise<OrdersNow> {
    return guarded === null ? { kind: 'unsupported' } : guarded.orders(lane);
  }
}

/** Also of a lane that nothing can hold. */
const free: Released = { kind: 'free' };

/** `ref, cache was 3 behind`; `cache and ref` when they agree. */
function describeOrigin(newest: Candidate, others: readonly Candidate[]): string {
  const equal = others.filter(({ sequence }) => sequence === newest.sequence).map(({ place }) => place);
  const behind = others
    .filter(({ sequence }) => sequence < newest.sequence)
    .map(({ place, sequence }) => `${place} was ${newest.sequence - sequence} behind`);
  return [[newest.place, ...equal].sort().join(' and '), ...behind].join(', ');
}

/** A transcript belongs to the state that was saved with it: with any other, the agent would go on from an older conversation. */
function sessionFor(newest: Candidate, readable: readonly Candidate[]): string | null {
  if (sessionOf(newest.parsed) === null) return null;
  const session = JSON.stringify(sessionOf(newest.parsed));
  return (
    readable.find(
      ({ sessionFolder, parsed }) => sessionFolder !== null && JSON.stringify(sessionOf(parsed)) === session,
    )?.sessionFolder ?? null
  );
}

function sessionOf(parsed: ParsedState): LaneState['session'] {
  return parsed.kind === 'state' ? parsed.state.session : null;
}
