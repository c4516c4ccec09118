import type { Budget } from '../core/sharing/budget.ts';
import type { Lease } from '../core/sharing/lease.ts';
import type { Order, OrderGiven } from '../core/sharing/orders.ts';
import type { LaneState } from '../core/lane/state.ts';
import type { LaneId } from '../core/tasks/ids.ts';

/** Where a lane's state is kept between runs, and which run may write it. Time-bounded; never throws. */
export interface StateStore {
  restore(lane: LaneId): Promise<RestoredState>;
  /** Makes this run the only one that works on the lane; it must have been restored before. */
  claim(lane: LaneId): Promise<Claimed>;
  /** Keeps a new copy, reads it back, and gives the claim back. */
  save(copy: StateCopy): Promise<SavedState>;
  /** The lane's newest state, to go along with a push of its branch; null where only a save keeps it, or another run has the lane. */
  ride(lane: LaneId, copy: RidingCopy): Promise<Ride | null>;
  /** Keeps the lane's newest state and the claim with it; returns its number, null: it is kept by a save only, or could not be. */
  advance(lane: LaneId, copy: RidingCopy): Promise<number | null>;
  /** Takes this run's claim anew: its time begins again. Where there is none, or the store does not answer, nothing changes. */
  renew(lane: LaneId): Promise<void>;
  /** The transcript that the lane's state names; what has another hash is not it. */
  transcript(lane: LaneId, named: NamedTranscript): Promise<FoundTranscript>;
  /** Gives the claim back without a new copy. */
  release(lane: LaneId): Promise<Released>;
  /** Leaves an order for the lane's next run, whoever works on the lane now. */
  order(lane: LaneId, order: OrderGiven): Promise<Ordered>;
  /** The lane's orders as they are now; cheap while nobody wrote since this run last looked. */
  orders(lane: LaneId): Promise<OrdersNow>;
}

export interface StateCopy {
  readonly lane: LaneId;
  readonly sequence: number;
  readonly document: string;
  /** Kept beside the document, which names it. */
  readonly transcript: Transcript | null;
}

/** A copy whose number is known only when it is written: beyond `after`, and beyond what is stored. */
export interface RidingCopy {
  readonly after: number;
  readonly document: (sequence: number) => string;
}

/** A state on its way with a push. */
export interface Ride {
  readonly sequence: number;
  readonly passenger: Passenger;
  /** Called once, with what became of it: what the store knows of the lane depends on it. */
  readonly landed: (written: CellWritten) => void;
}

/** A ref that a push of a branch takes along: the server takes both, or neither. */
export interface Passenger {
  readonly ref: string;
  /** Where the ref must be; null: it must not be there. */
  readonly expected: CellHead | null;
  /** Lays what the ref is to point to into the repository that is pushed from, and returns its id. */
  readonly board: (repository: { readonly gitFolder: string }) => Promise<CellHead>;
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

export type Claimed =
  /** `sequence`: of the copy that the lane has where the claim was made; a new copy must go beyond it. */
  | { readonly kind: 'claimed'; readonly sequence: number }
  /** Another run has the lane. */
  | { readonly kind: 'leased'; readonly lease: Lease }
  /** The lane is not any more what was restored: restore it again. */
  | { readonly kind: 'changed' }
  /** This store can never keep two runs apart here: it takes no writes, or it is the cache alone. */
  | { readonly kind: 'unguarded'; readonly why: string }
  /** Whether another run has the lane is not known. */
  | Unavailable;

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

export type Ordered =
  | { readonly kind: 'kept'; readonly where: string }
  /** Only a store with compare-and-swap takes orders. */
  | { readonly kind: 'unsupported'; readonly why: string }
  | NotKept;

export type OrdersNow =
  | { readonly kind: 'orders'; readonly orders: readonly Order[] }
  /** Only a store with compare-and-swap takes orders. */
  | { readonly kind: 'unsupported' }
  | Unavailable;

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

/** One blob under each name, without a history: the newest takes the place of the one before. Time-bounded; never throws. */
export interface BlobStore {
  read(
    name: CellName,
  ): Promise<{ readonly kind: 'found'; readonly content: Uint8Array } | { readonly kind: 'absent' } | Unavailable>;
  write(name: CellName, content: Uint8Array): Promise<{ readonly kind: 'written' } | NotKept>;
}

/** Named texts that several machines may change: only who has read the newest may replace it. Time-bounded; never throws. */
export interface CellStore {
  /** What people call the place: `ref`, `directory`. */
  readonly place: string;
  /** The texts under these names, in their order, asked for at once. */
  read(names: readonly CellName[]): Promise<readonly CellRead[]>;
  /** Compare-and-swap: replaces the text that has `expected` as its head, null: creates it. */
  write(name: CellName, expected: CellHead | null, text: string): Promise<CellWritten>;
  /** What the place itself says is the head now. */
  readHead(name: CellName): Promise<{ readonly kind: 'head'; readonly head: CellHead | null } | Unavailable>;
}

/** `queue`, `issue-7`, `budget`. */
export type CellName = string;
/** Identity of a stored text: a commit, a generation. */
export type CellHead = string;

export type CellRead =
  | { readonly kind: 'found'; readonly head: CellHead; readonly text: string }
  | { readonly kind: 'absent' }
  | Unavailable;

export type CellWritten =
  | { readonly kind: 'written'; readonly head: CellHead }
  /** Somebody was faster. */
  | { readonly kind: 'conflict' }
  /** The place lets this run write nothing, now or later: a permission, a ruleset. */
  | { readonly kind: 'refused'; readonly why: string }
  | Unavailable;

/** The repository's usage windows, over all lanes. Time-bounded; never throws. */
export interface BudgetStore {
  /** The newest budget; `problem` is a sentence about a stored one that had to be replaced. */
  read(): Promise<ReadBudget>;
  /** Changes the newest budget; asked again when somebody was faster. */
  update(change: (budget: Budget) => Budget): Promise<ReadBudget>;
}

export type ReadBudget =
  | { readonly kind: 'budget'; readonly budget: Budget; readonly problem: string | null }
  | Unavailable;
