import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInitialState, type LaneState } from '../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../src/core/lane/state/serialize-state.ts';
import type { OrderGiven } from '../../../src/core/sharing/orders.ts';
import { createLaneRecord, type LaneRecord } from '../../../src/core/sharing/lane-record.ts';
import {
  advanceInSnapshot,
  claimInSnapshot,
  mayStillHoldClaim,
  orderInSnapshot,
  releaseInSnapshot,
  renewLease,
  finishInSnapshot,
  type Advancing,
  type ClaimAnswer,
} from '../../../src/core/snapshot/changes.ts';
import { emptySnapshot, parseLaneIn, withRecord, type Snapshot } from '../../../src/core/snapshot/snapshot.ts';
import type {
  PushWithSnapshot,
  FailedWrite,
  NotUpdated,
  ReleaseResult,
  RestoredState,
  SavedState,
  SnapshotPlace,
  StateStore,
  SealedTranscript,
} from '../../../src/ports/state.ts';
import { createDirectorySnapshot } from '../../../src/state/directory-snapshot.ts';
import { createGenerationFiles } from '../../../src/state/generation-files.ts';
import { createSnapshotStore, type SnapshotStoreOptions } from '../../../src/state/snapshot-store.ts';
import { createMemoryPlace, createShared, withFaults, type FaultyPlace } from '../../loop/stage/snapshot-place.ts';
import { noon } from '../core/core-fixtures.ts';
import { leaseOf } from '../core/sharing/lease-fixtures.ts';

/** A place that several machines share. */
export interface SharedPlace extends AsyncDisposable {
  /** Returns the place as another machine sees it. */
  machine(): SnapshotPlace;
}

/** All places, which must behave identically. */
export const places: readonly { readonly place: string; open(): Promise<SharedPlace> }[] = [
  {
    place: 'memory',
    open: () => {
      const shared = createShared();
      return Promise.resolve({
        machine: () => createMemoryPlace(shared),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      });
    },
  },
  {
    place: 'directory',
    open: async () => {
      const folder = await mkdtemp(join(tmpdir(), 'ralph-snapshot-'));
      return {
        machine: () => createDirectorySnapshot(createGenerationFiles({ folder, now: Date.now }), () => noon),
        [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
      };
    },
  },
];

const QUEUE_FILE = 'lanes/queue.json';

/** Replaces the queue's record with any text. */
export async function putText(place: SnapshotPlace, text: string): Promise<void> {
  await change(place, (snapshot) => new Map([...snapshot, [QUEUE_FILE, text]]));
}

export async function putRecord(place: SnapshotPlace, record: LaneRecord): Promise<void> {
  await change(place, (snapshot) => withRecord(snapshot, record));
}

async function change(place: SnapshotPlace, to: (snapshot: Snapshot) => Snapshot): Promise<void> {
  const from = await place.read(null);
  if (from.kind !== 'snapshot') throw new Error(JSON.stringify(from));
  const written = await place.write({ from, snapshot: to(from.snapshot), message: 'by hand' });
  if (written.kind !== 'written') throw new Error(JSON.stringify(written));
}

/** Returns the queue's record. */
export async function recordIn(place: SnapshotPlace): Promise<LaneRecord> {
  const read = await place.read(null);
  const parsed = parseLaneIn(read.kind === 'snapshot' ? read.snapshot : emptySnapshot, 'queue');
  if (parsed.kind !== 'record') throw new Error(JSON.stringify(parsed));
  return parsed.record;
}

export async function textIn(place: SnapshotPlace): Promise<string | null> {
  const read = await place.read(null);
  return read.kind === 'snapshot' ? (read.snapshot.get(QUEUE_FILE) ?? null) : null;
}

/** Returns a readable state of the lane `queue`. */
export function stateOf(sequence: number, changed: Partial<LaneState> = {}): LaneState {
  return { ...createInitialState('queue', noon), sequence, ...changed };
}

/** Returns a copy of the lane `queue` to save. */
export function copyOf(
  sequence: number,
  changed: Partial<LaneState> = {},
): { readonly lane: string; readonly sequence: number; readonly document: string; readonly transcript: null } {
  return { lane: 'queue', sequence, document: serializeState(stateOf(sequence, changed)), transcript: null };
}

/** A lane at #40 without a lease. */
export const freeAt40: LaneRecord = {
  ...createLaneRecord('queue'),
  sequence: 40,
  document: copyOf(40).document,
  savedBy: 'old',
};

type Answered<Answer> = Answer | { readonly kind: NotUpdated['kind']; readonly why: string };

/** A run's operations on lanes, made of the changes that the stages make. */
export interface Verbs {
  restore(lane: string): Promise<RestoredState>;
  claim(lane: string): Promise<Answered<ClaimAnswer>>;
  save(copy: {
    lane: string;
    sequence: number;
    document: string;
    transcript: SealedTranscript | null;
  }): Promise<SavedState>;
  advance(copy: Omit<Advancing, 'holder'>, by?: PushWithSnapshot): Promise<number | null>;
  renew(lane: string): Promise<void>;
  release(lane: string): Promise<ReleaseResult>;
  order(lane: string, given: OrderGiven): Promise<{ readonly kind: 'kept' } | FailedWrite>;
  orders(lane: string): Promise<readonly string[] | string>;
}

export interface StartedRun {
  readonly place: FaultyPlace;
  readonly state: StateStore;
  readonly store: Verbs;
}

/** Starts a process of the run `runTag` on a separate machine, `at` ms after noon. */
export function startRun(
  runTag: string,
  machine: SnapshotPlace,
  {
    at = 0,
    ...beside
  }: Partial<Pick<SnapshotStoreOptions, 'copies' | 'conversations'>> & { readonly at?: number } = {},
): StartedRun {
  const place = withFaults(machine);
  const now = noon + at;
  const state = createSnapshotStore({
    copies: null,
    conversations: null,
    ...beside,
    place,
    now: () => now,
    pace: { random: () => 0, sleep: () => Promise.resolve() },
  });
  return { place, state, store: verbsOf(state, runTag, () => now) };
}

export function verbsOf(state: StateStore, runTag: string, now: () => number): Verbs {
  const lease = () => leaseOf(runTag, { acquiredAt: now() });
  let seen: Snapshot = emptySnapshot;
  return {
    restore: async (lane) => {
      const restored = await state.restore(lane);
      seen = restored.snapshot ?? emptySnapshot;
      return restored.lane;
    },
    claim: async (lane) => {
      const asking = { named: [], purpose: 'tasks' as const, reserve: <Budget>(budget: Budget): Budget => budget };
      const updated = await state.update(claimInSnapshot({ lane, seen, lease: lease(), now: now(), ...asking }));
      return updated.kind === 'updated' ? updated.answer : { kind: updated.kind, why: updated.why };
    },
    save: ({ transcript, ...copy }) =>
      state.save(
        { ...copy, transcript },
        finishInSnapshot({ ...copy, saver: lease(), now: now(), run: null, stored: null }),
        runTag,
      ),
    advance: async (copy, by) => {
      const updated = await state.update(advanceInSnapshot({ ...copy, holder: lease() }), by);
      return updated.kind === 'updated' ? updated.answer : null;
    },
    renew: async (lane) => {
      await state.update(renewLease(lane, lease()));
    },
    release: async (lane) => {
      const updated = await state.update(releaseInSnapshot(lane, { holder: lease(), isUnused: true, now: now() }));
      if (updated.kind === 'updated' || !mayStillHoldClaim(updated, lane, runTag)) return { kind: 'free' };
      return { kind: 'claimed', why: updated.why };
    },
    order: async (lane, given) => {
      const updated = await state.update(orderInSnapshot(lane, given));
      const why = updated.kind === 'updated' ? updated.answer : updated.why;
      return why === null ? { kind: 'kept' } : { kind: 'not-kept', why };
    },
    orders: async (lane) => {
      const read = await state.read();
      if (read.kind !== 'snapshot') return read.kind === 'none' ? 'none' : read.why;
      const parsed = parseLaneIn(read.snapshot, lane);
      return parsed.kind === 'record' ? parsed.record.orders.map(({ kind }) => kind) : parsed.kind;
    },
  };
}
