import type { SnapshotChange, Snapshot } from '../core/snapshot/snapshot.ts';
import type { SaveAnswer } from '../core/snapshot/changes.ts';
import type { Lease } from '../core/sharing/lease.ts';
import type { Order } from '../core/sharing/orders.ts';
import type { LaneState } from '../core/lane/state/state.ts';
import type { LaneId } from '../core/tasks/ids.ts';

/** Stores and changes the facts about the repository. Time-bounded; never throws. */
export interface StateStore {
  /** Returns the present snapshot. */
  read(): Promise<ReadSnapshot>;
  /** Returns the snapshot that this process last read or wrote, without reading again; null if none yet. */
  lastSeen(): Snapshot | null;
  /**
   * Reads, applies the change, and writes the result by compare-and-swap; repeats this if another run was faster. `by`
   * is the push of a branch that carries the new state.
   */
  update<Answer>(change: SnapshotChange<Answer>, by?: PushWithSnapshot): Promise<Updated<Answer>>;
  /** Returns the present snapshot and, for this lane, also the data of copies elsewhere. */
  restore(lane: LaneId): Promise<RestoredStore>;
  /**
   * Saves a lane's state for the run with this tag: applies the change, reads the snapshot back, and stores the copy
   * and its transcript next to the snapshot.
   */
  save(copy: StateCopy, change: SnapshotChange<SaveAnswer>, runTag: string): Promise<SavedState>;
  /** Returns the transcript that the lane's state names; a transcript with another hash is treated as absent. */
  transcript(lane: LaneId, named: NamedTranscript): Promise<FoundTranscript>;
}

export type ReadSnapshot =
  | { readonly kind: 'snapshot'; readonly snapshot: Snapshot }
  /** No snapshot is kept: there are only copies, or nothing at all. */
  | { readonly kind: 'none' }
  | Unavailable;

/** The answer of a store. `snapshot` is null if none, or if it could not be read. */
export interface RestoredStore {
  readonly snapshot: Snapshot | null;
  readonly lane: RestoredState;
}

/**
 * Result of an update: `place` has the snapshot, `snapshot` is the present one, and `answer` is the answer of the
 * change.
 */
export type Updated<Answer> =
  | { readonly kind: 'updated'; readonly place: string; readonly snapshot: Snapshot; readonly answer: Answer }
  | NotUpdated;

/** An update that failed. `last` is the newest snapshot that was seen, or null if none was. */
export type NotUpdated =
  /** Nothing can keep two runs apart: the place accepts no writes of this run, or there are only copies. */
  | { readonly kind: 'unguarded'; readonly why: string; readonly last: Snapshot | null }
  | (Unavailable & { readonly last: Snapshot | null });

/**
 * Pushes a branch together with the new state. Called again if another run was faster; not called if the state cannot
 * be pushed with a branch.
 */
export type PushWithSnapshot = (along: StateUpdate) => Promise<WriteResult>;

export interface StateCopy {
  readonly lane: LaneId;
  readonly sequence: number;
  readonly document: string;
  /** The transcript, which is stored next to the document; the document names it. */
  readonly transcript: SealedTranscript | null;
}

/** The write of a new state together with a push of a branch. The server accepts both, or neither. */
export interface StateUpdate {
  readonly ref: string;
  /** Required present value of the ref; null means that the ref must not exist. */
  readonly expected: Head | null;
  /** Writes the ref's new target into the repository that is pushed from, and returns its id. */
  readonly writeTarget: (repository: { readonly gitFolder: string }) => Promise<Head>;
}

/** A transcript as it is stored: encrypted. `sha256` is the hash of `content`, in hex digits. */
export interface SealedTranscript {
  readonly sha256: string;
  readonly content: Uint8Array;
}

type NamedTranscript = NonNullable<LaneState['transcript']>;

export type FoundTranscript =
  | { readonly kind: 'found'; readonly transcript: SealedTranscript }
  | { readonly kind: 'absent' }
  | Unavailable;

/**
 * Protects stored data from everybody without the agent's key: transcripts are encrypted, copies signed. Never throws.
 */
export interface Seal {
  /** Encrypts a transcript; returns null if there is no key. */
  close(content: Uint8Array, of: Sealed): Promise<SealedTranscript | null>;
  /**
   * Decrypts a transcript. `refused`: it was sealed with another key or for another conversation, or has changed since.
   */
  open(
    content: Uint8Array,
    of: Sealed,
  ): Promise<{ readonly kind: 'opened'; readonly content: Uint8Array } | { readonly kind: 'refused' }>;
  /** Returns a signature of the text that requires the key, or null if there is no key. */
  sign(text: string): string | null;
}

/** The conversation to which a transcript belongs; the transcript cannot be opened for another one. */
export interface Sealed {
  readonly lane: LaneId;
  readonly sessionId: string;
}

/** The store did not answer, or not in time, so nothing is known. `why` is a sentence part for a person. */
export interface Unavailable {
  readonly kind: 'unavailable';
  readonly why: string;
}

/** A write that failed, temporarily or permanently. */
export interface FailedWrite {
  readonly kind: 'not-kept';
  readonly why: string;
}

/** A lane's state according to a store that answered. `origin` says where the copy came from, for a person. */
export type RestoredState =
  | (Beside & { readonly kind: 'found'; readonly state: LaneState; readonly origin: string })
  /** Copies exist, but none can be read. */
  | (Beside & { readonly kind: 'unreadable'; readonly why: string; readonly origin: string })
  | (Beside & { readonly kind: 'absent' })
  | { readonly kind: 'newer'; readonly version: number; readonly origin: string }
  | Unavailable;

/**
 * The data that is kept next to a state. `savedBy` is the tag of the run that saved it, or null if it is not known.
 * `warnings` describes problems of the state and of its copies, as sentences.
 */
interface Beside {
  readonly savedBy: string | null;
  readonly orders: readonly Order[];
  readonly lease: Lease | null;
  readonly warnings: readonly string[];
}

/** Result of releasing a claim. */
export type ReleaseResult =
  /** The run has no claim to the lane, or no longer has one. */
  | { readonly kind: 'free' }
  /** The run's claim may still be held. */
  | { readonly kind: 'claimed'; readonly why: string };

/**
 * A saved copy and the claim. `lane` may still be claimed although a copy was saved, if the claim is in another place
 * that did not answer.
 */
export type SavedState = SavedCopy & { readonly lane: ReleaseResult };

/** A saved copy; `where` is text such as `cache ✓ ref ✓`. */
export type SavedCopy = { readonly kind: 'saved'; readonly where: string } | FailedWrite;

/**
 * Keeps copies of lanes' states without any order between two writers, in the Actions cache. Time-bounded; never
 * throws.
 */
export interface CopyStore {
  /** Returns the newest copy. With `beyond`, returns only a copy with a greater number, otherwise `absent`. */
  restore(lane: LaneId, beyond?: number): Promise<RestoredCopy>;
  save(copy: PartialCopy): Promise<SavedCopy>;
}

/** A copy whose `document` is null if another place keeps it. */
export type PartialCopy = Omit<StateCopy, 'document'> & { readonly document: string | null };

export type RestoredCopy =
  /**
   * `signed` is true if a holder of the agent's key wrote the copy. Anybody with write access to the cache may have
   * written an unsigned one.
   */
  (FoundCopy & { readonly kind: 'found' }) | { readonly kind: 'absent' } | Unavailable;

export type FoundCopy = Omit<PartialCopy, 'lane'> & { readonly signed: boolean };

/**
 * Keeps one conversation of each lane without a history, so the newest replaces the one before. Time-bounded; never
 * throws.
 */
export interface Conversations {
  read(
    lane: LaneId,
  ): Promise<{ readonly kind: 'found'; readonly content: Uint8Array } | { readonly kind: 'absent' } | Unavailable>;
  write(lane: LaneId, content: Uint8Array): Promise<{ readonly kind: 'written' } | FailedWrite>;
}

/** Keeps a snapshot that only a writer who has read the newest one may replace. Time-bounded; never throws. */
export interface SnapshotPlace {
  /** Name of the place for people: `ref`, `directory`. */
  readonly name: string;
  /**
   * Returns the newest snapshot, unless it is the known one. The state of an earlier version is read as a snapshot that
   * was never written.
   */
  read(known: Head | null): Promise<PlacedSnapshot | { readonly kind: 'known' } | Unavailable>;
  write(swap: SnapshotSwap): Promise<WriteResult>;
  /** Returns the write in a form that a push of a branch can carry, or null if this place has none. */
  carry(swap: SnapshotSwap): StateUpdate | null;
  /** Deletes the data of earlier versions; called after the new snapshot, which contains it, was read back. */
  settle(): Promise<void>;
}

export interface PlacedSnapshot {
  readonly kind: 'snapshot';
  /** Identity of the snapshot, or null if it was never written. */
  readonly head: Head | null;
  readonly snapshot: Snapshot;
}

/** A replacement; `from` is the snapshot that the new one replaces. */
export interface SnapshotSwap {
  readonly from: PlacedSnapshot;
  readonly snapshot: Snapshot;
  readonly message: string;
}

/**
 * Keeps named texts on this machine. Only a writer who has read the newest one may replace it. Time-bounded; never
 * throws.
 */
export interface NamedTexts {
  read(
    name: string,
  ): Promise<
    { readonly kind: 'found'; readonly head: Head; readonly text: string } | { readonly kind: 'absent' } | Unavailable
  >;
  /** Replaces the text whose head is `expected`, by compare-and-swap; null creates it. */
  write(name: string, expected: Head | null, text: string): Promise<WriteResult>;
}

/** Identity of a stored snapshot: a commit or a generation. */
export type Head = string;

export type WriteResult =
  | { readonly kind: 'written'; readonly head: Head }
  /** Another writer was faster. */
  | { readonly kind: 'conflict' }
  /** The place refuses all writes of this run, now and later, because of a permission or a ruleset. */
  | { readonly kind: 'refused'; readonly why: string }
  | Unavailable;
