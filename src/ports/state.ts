import type { Change, Snapshot } from '../core/snapshot/snapshot.ts';
import type { SaveAnswer } from '../core/snapshot/changes.ts';
import type { Lease } from '../core/sharing/lease.ts';
import type { Order } from '../core/sharing/orders.ts';
import type { LaneState } from '../core/lane/state.ts';
import type { LaneId } from '../core/tasks/ids.ts';

/** What the repository knows, and how it changes. Time-bounded; never throws. */
export interface StateStore {
  /** What is known now. */
  read(): Promise<ReadSnapshot>;
  /** Reads, applies the change, and writes it by compare-and-swap; again when somebody was faster. `by`: the push of a branch that takes it along. */
  update<Answer>(change: Change<Answer>, by?: Carrier): Promise<Updated<Answer>>;
  /** What is known now, and of this lane also what copies of it elsewhere say. */
  restore(lane: LaneId): Promise<Restored>;
  /** Updates by a change with which the run of this tag saves a copy, reads it back, and keeps what belongs to it beside the snapshot. */
  save(copy: StateCopy, change: Change<SaveAnswer>, runTag: string): Promise<SavedState>;
  /** The transcript that the lane's state names; what has another hash is not it. */
  transcript(lane: LaneId, named: NamedTranscript): Promise<FoundTranscript>;
}

export type ReadSnapshot =
  | { readonly kind: 'snapshot'; readonly snapshot: Snapshot }
  /** There is no place for one: only copies are kept, or nothing at all. */
  | { readonly kind: 'none' }
  | Unavailable;

/** `snapshot`: null: there is none, or it could not be read. */
export interface Restored {
  readonly snapshot: Snapshot | null;
  readonly lane: RestoredState;
}

/** `place`: where it is kept; `snapshot`: as it is there now; `answer`: of the change. */
export type Updated<Answer> =
  | { readonly kind: 'updated'; readonly place: string; readonly snapshot: Snapshot; readonly answer: Answer }
  | NotUpdated;

/** `last`: the newest snapshot that was seen; null: none was. */
export type NotUpdated =
  /** Nothing here can keep two runs apart: the place takes no writes of this run, or there are only copies. */
  | { readonly kind: 'unguarded'; readonly why: string; readonly last: Snapshot | null }
  | (Unavailable & { readonly last: Snapshot | null });

/** Pushes a branch and the new state with it. Called again when somebody was faster; not at all where no state can go along. */
export type Carrier = (along: StateUpdate) => Promise<Written>;

export interface StateCopy {
  readonly lane: LaneId;
  readonly sequence: number;
  readonly document: string;
  /** Kept beside the document, which names it. */
  readonly transcript: Transcript | null;
}

/** The write of a new state, to go along with a push of a branch: the server takes both, or neither. */
export interface StateUpdate {
  readonly ref: string;
  /** Where the ref must be; null: it must not be there. */
  readonly expected: Head | null;
  /** Lays what the ref is to point to into the repository that is pushed from, and returns its id. */
  readonly board: (repository: { readonly gitFolder: string }) => Promise<Head>;
}

/** A transcript as it is stored: encrypted. `sha256` of `content`, in hex digits. */
export interface Transcript {
  readonly sha256: string;
  readonly content: Uint8Array;
}

type NamedTranscript = NonNullable<LaneState['transcript']>;

export type FoundTranscript =
  | { readonly kind: 'found'; readonly transcript: Transcript }
  | { readonly kind: 'absent' }
  | Unavailable;

/** Keeps what is stored from everybody who has not the agent's key: transcripts encrypted, copies signed. Never throws. */
export interface Seal {
  /** null: there is no key. */
  close(content: Uint8Array, of: Sealed): Promise<Transcript | null>;
  /** `refused`: it was closed with another key or for another conversation, or changed since. */
  open(
    content: Uint8Array,
    of: Sealed,
  ): Promise<{ readonly kind: 'opened'; readonly content: Uint8Array } | { readonly kind: 'refused' }>;
  /** What only who has the key can say of a text; null: there is no key. */
  sign(text: string): string | null;
}

/** What a transcript is of: it opens for nothing else. */
export interface Sealed {
  readonly lane: LaneId;
  readonly sessionId: string;
}

/** Nobody answered, or not in time: nothing is known. `why` is a sentence part for a person. */
export interface Unavailable {
  readonly kind: 'unavailable';
  readonly why: string;
}

/** What was to be written is not there, for now or for good. */
export interface NotKept {
  readonly kind: 'not-kept';
  readonly why: string;
}

/** What a store that answered knows of a lane. `origin`: where the copy came from, for a person. */
export type RestoredState =
  | (Beside & { readonly kind: 'found'; readonly state: LaneState; readonly origin: string })
  /** There are copies, and none of them can be read. */
  | (Beside & { readonly kind: 'unreadable'; readonly why: string; readonly origin: string })
  | (Beside & { readonly kind: 'absent' })
  | { readonly kind: 'newer'; readonly version: number; readonly origin: string }
  | Unavailable;

/** What is kept beside a state. `savedBy`: tag of the run that saved it, null: nobody knows; `warnings`: what was wrong with the state and with other copies of it, as sentences. */
interface Beside {
  readonly savedBy: string | null;
  readonly orders: readonly Order[];
  readonly lease: Lease | null;
  readonly warnings: readonly string[];
}

/** Whether a run has given its claim back. */
export type Released =
  /** It has no claim to the lane, or not any more. */
  | { readonly kind: 'free' }
  /** Its claim may still stand. */
  | { readonly kind: 'claimed'; readonly why: string };

/** `lane`: a copy may be kept in one place, and the claim stand in another that did not answer. */
export type SavedState = SavedCopy & { readonly lane: Released };

/** `where`: `cache ✓ ref ✓`. */
export type SavedCopy = { readonly kind: 'saved'; readonly where: string } | NotKept;

/** Copies of lanes' states, without any order between two writers: the Actions cache. Time-bounded; never throws. */
export interface CopyStore {
  /** The newest copy; with `beyond`, only if its number is greater: absent otherwise. */
  restore(lane: LaneId, beyond?: number): Promise<RestoredCopy>;
  save(copy: PartialCopy): Promise<SavedCopy>;
}

/** `document`: null where another place keeps it. */
export type PartialCopy = Omit<StateCopy, 'document'> & { readonly document: string | null };

export type RestoredCopy =
  /** `signed`: by who has the agent's key. Anybody else who may write the cache can have written the others. */
  (FoundCopy & { readonly kind: 'found' }) | { readonly kind: 'absent' } | Unavailable;

export type FoundCopy = Omit<PartialCopy, 'lane'> & { readonly signed: boolean };

/** One conversation of each lane, without a history: the newest takes the place of the one before. Time-bounded; never throws. */
export interface Conversations {
  read(
    lane: LaneId,
  ): Promise<{ readonly kind: 'found'; readonly content: Uint8Array } | { readonly kind: 'absent' } | Unavailable>;
  write(lane: LaneId, content: Uint8Array): Promise<{ readonly kind: 'written' } | NotKept>;
}

/** Where a snapshot is kept: only who has read the newest may replace it. Time-bounded; never throws. */
export interface SnapshotPlace {
  /** What people call it: `ref`, `directory`. */
  readonly name: string;
  /** The newest snapshot, unless it is the known one. What an earlier version kept is read as a snapshot that nobody has written yet. */
  read(known: Head | null): Promise<PlacedSnapshot | { readonly kind: 'known' } | Unavailable>;
  write(swap: Swap): Promise<Written>;
  /** The write, to go along with a push of a branch; null: there is no such way. */
  carry(swap: Swap): StateUpdate | null;
  /** Called once what was written is read back: whatever earlier versions left is in it. */
  settle(): Promise<void>;
}

export interface PlacedSnapshot {
  readonly kind: 'snapshot';
  /** null: it was never written. */
  readonly head: Head | null;
  readonly snapshot: Snapshot;
}

/** `from`: what the new snapshot takes the place of. */
export interface Swap {
  readonly from: PlacedSnapshot;
  readonly snapshot: Snapshot;
  readonly message: string;
}

/** Texts on this machine, each under a name; only who has read the newest may replace it. Time-bounded; never throws. */
export interface NamedTexts {
  read(
    name: string,
  ): Promise<
    { readonly kind: 'found'; readonly head: Head; readonly text: string } | { readonly kind: 'absent' } | Unavailable
  >;
  /** Compare-and-swap: replaces the text that has `expected` as its head, null: creates it. */
  write(name: string, expected: Head | null, text: string): Promise<Written>;
}

/** Identity of a stored snapshot: a commit, a generation. */
export type Head = string;

export type Written =
  | { readonly kind: 'written'; readonly head: Head }
  /** Somebody was faster. */
  | { readonly kind: 'conflict' }
  /** The place lets this run write nothing, now or later: a permission, a ruleset. */
  | { readonly kind: 'refused'; readonly why: string }
  | Unavailable;
