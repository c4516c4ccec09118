import type { Budget } from '../core/sharing/budget.ts';
import type { Lease } from '../core/sharing/lease.ts';
import type { Order, OrderGiven } from '../core/sharing/orders.ts';
import type { LaneId } from '../core/lane/state.ts';

/** Where a lane's state is kept between runs, and which run may write it. Time-bounded; never throws. */
export interface StateStore {
  restore(lane: LaneId): Promise<RestoredState>;
  /** Makes this run the only one that works on the lane; it must have been restored before. */
  claim(lane: LaneId): Promise<Claimed>;
  /** Keeps a new copy, reads it back, and gives the claim back. */
  save(copy: StateCopy): Promise<SavedState>;
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
  /** A folder to keep beside the document, or null. */
  readonly sessionFolder: string | null;
}

/** `origin`: where the copy came from, for a person; `warnings`: what was wrong with other copies, as sentences. */
export type RestoredState =
  | {
      readonly kind: 'found';
      readonly document: string;
      readonly sessionFolder: string | null;
      readonly origin: string;
      readonly orders: readonly Order[];
      readonly lease: Lease | null;
      readonly warnings: readonly string[];
    }
  | {
      readonly kind: 'absent';
      readonly orders: readonly Order[];
      readonly lease: Lease | null;
      readonly warnings: readonly string[];
    }
  | { readonly kind: 'newer'; readonly version: number; readonly origin: string }
  | { readonly kind: 'unavailable'; readonly why: string };

export type Claimed =
  /** `sequence`: of the copy that the lane has where the claim was made; a new copy must go beyond it. */
  | { readonly kind: 'claimed'; readonly sequence: number }
  /** Another run has the lane. */
  | { readonly kind: 'taken'; readonly lease: Lease }
  /** The lane is not any more what was restored: restore it again. */
  | { readonly kind: 'changed' }
  /** This store can never keep two runs apart here: it takes no writes, or it is the cache alone. */
  | { readonly kind: 'unguarded'; readonly why: string }
  /** It did not answer: whether another run has the lane is not known. */
  | { readonly kind: 'unavailable'; readonly why: string };

/** Whether a run has given its lane back. */
export type Released =
  /** It does not hold the lane, or not any more. */
  | { readonly kind: 'free' }
  /** It may still hold it. */
  | { readonly kind: 'held'; readonly why: string };

/** `lane`: a copy may be kept in one place, and the claim stand in another that did not answer. */
export type SavedState = SavedCopy & { readonly lane: Released };

/** `where`: `cache ✓ ref ✓`. */
export type SavedCopy =
  { readonly kind: 'saved'; readonly where: string } | { readonly kind: 'not-saved'; readonly why: string };

export type Ordered =
  | { readonly kind: 'kept'; readonly where: string }
  /** Only a store with compare-and-swap takes orders. */
  | { readonly kind: 'unsupported'; readonly why: string }
  | { readonly kind: 'not-kept'; readonly why: string };

export type OrdersNow =
  | { readonly kind: 'orders'; readonly orders: readonly Order[] }
  /** Only a store with compare-and-swap takes orders. */
  | { readonly kind: 'unsupported' }
  | { readonly kind: 'unavailable'; readonly why: string };

/** Copies of lanes' states with their session folders, without any order between two writers: the Actions cache. Time-bounded; never throws. */
export interface CopyStore {
  restore(lane: LaneId): Promise<RestoredCopy>;
  save(copy: StateCopy): Promise<SavedCopy>;
}

export type RestoredCopy =
  | {
      readonly kind: 'found';
      readonly sequence: number;
      readonly document: string;
      readonly sessionFolder: string | null;
    }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unavailable'; readonly why: string };

/** Named texts that several machines may change: only who has read the newest may replace it. Time-bounded; never throws. */
export interface CellStore {
  /** What people call the place: `ref`, `directory`. */
  readonly place: string;
  /** The texts under these names, in their order, asked for at once. */
  read(names: readonly CellName[]): Promise<readonly CellRead[]>;
  /** Compare-and-swap: replaces the text that has `expected` as its head, null: creates it. */
  write(name: CellName, expected: CellHead | null, text: string): Promise<CellWritten>;
  /** What the place itself says is the head now. */
  readHead(
    name: CellName,
  ): Promise<
    { readonly kind: 'head'; readonly head: CellHead | null } | { readonly kind: 'unavailable'; readonly why: string }
  >;
}

/** `queue`, `issue-7`, `budget`. */
export type CellName = string;
/** Identity of a stored text: a commit, a generation. */
export type CellHead = string;

export type CellRead =
  | { readonly kind: 'found'; readonly head: CellHead; readonly text: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unavailable'; readonly why: string };

export type CellWritten =
  | { readonly kind: 'written'; readonly head: CellHead }
  /** Somebody was faster. */
  | { readonly kind: 'conflict' }
  /** The place lets this run write nothing, now or later: a permission, a ruleset. */
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'unavailable'; readonly why: string };

/** The repository's usage windows, over all lanes. Time-bounded; never throws. */
export interface BudgetStore {
  /** The newest budget; `problem` is a sentence about a stored one that had to be replaced. */
  read(): Promise<ReadBudget>;
  /** Changes the newest budget; asked again when somebody was faster. */
  update(change: (budget: Budget) => Budget): Promise<ReadBudget>;
}

export type ReadBudget =
  | { readonly kind: 'budget'; readonly budget: Budget; readonly problem: string | null }
  | { readonly kind: 'unavailable'; readonly why: string };
