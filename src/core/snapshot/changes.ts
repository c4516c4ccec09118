import { settleBudget, settleRun, type Budget, type LaneRun } from '../sharing/budget.ts';
import { waitingAfter } from '../sharing/waiting-issues.ts';
import {
  advanceRecord,
  claimRecord,
  orderRecord,
  releaseRecord,
  renewRecord,
  saveRecord,
  type LaneRecord,
} from '../sharing/lane-record.ts';
import { expiryOf, keepsOut, type Lease, type LeaseHolder } from '../sharing/lease.ts';
import type { OrderGiven } from '../sharing/orders.ts';
import { nameOfLane, type LaneId, type TaskId } from '../tasks/ids.ts';
import { oneLine } from '../text/phrase.ts';
import { formatInstant } from '../countdown.ts';
import { withAsked } from './going-on.ts';
import {
  budgetIn,
  laneIn,
  lanesIn,
  recordIn,
  waitingIn,
  withBudget,
  withLane,
  withRecord,
  withWaiting,
  type Change,
  type Changed,
  type Snapshot,
} from './snapshot.ts';

/** What came of asking for a lane. */
export type ClaimAnswer =
  /** `sequence`: of the copy that the lane has; a new copy must go beyond it. `problem`: what was wrong with the counters, as a sentence. */
  | { readonly kind: 'claimed'; readonly sequence: number; readonly problem: string | null }
  /** Another run has the lane. */
  | { readonly kind: 'leased'; readonly lease: Lease }
  /** The lane is not any more what was restored: restore it again. */
  | { readonly kind: 'changed' };

/**
 * A run that asks for a lane which it knows as `seen`. `named`: tasks that a person asks for, which wait no more; `purpose`:
 * who answers what people or CI said is remembered, in case nothing more is heard of it, and who only notifies people reads
 * nothing of what they asked; `reserve`: what becomes of the counters with it.
 */
export interface Claiming {
  readonly lane: LaneId;
  readonly seen: Snapshot;
  readonly lease: Lease;
  readonly now: number;
  readonly named: readonly TaskId[];
  readonly purpose: 'tasks' | 'answers' | 'notice';
  readonly reserve: (budget: Budget) => Budget;
}

/** Makes the run the only one that works on the lane, and reserves what it may use. */
export function claim({ lane, seen, lease, now, named, purpose, reserve }: Claiming): Change<ClaimAnswer> {
  return (snapshot) => {
    const record = recordIn(snapshot, lane);
    const refused = (answer: ClaimAnswer): Changed<ClaimAnswer> => ({ snapshot, message: '', answer });
    if (record === null) return refused({ kind: 'changed' });
    // Only the answer to our own write was lost.
    const isOurs = record.lease?.runTag === lease.runTag;
    if (!isOurs && !isSame(laneIn(seen, lane), laneIn(snapshot, lane))) {
      const again = claimRecord(record, lease, now);
      return refused(again.kind === 'leased' ? again : { kind: 'changed' });
    }
    const claimed = claimRecord(record, lease, now);
    if (claimed.kind === 'leased') return refused(claimed);
    const budget = budgetIn(snapshot, now);
    // What was asked before is read by this run: only what is asked from now on is not.
    const isRead = purpose === 'answers' || (purpose === 'tasks' && record.goesOn !== null);
    const asked: LaneRecord = isRead ? { ...claimed.record, goesOn: 'unfinished' } : claimed.record;
    const leased = withAsked(withRecord(snapshot, asked), named, now);
    return {
      snapshot: budget.kind === 'newer' ? leased : withBudget(leased, reserve(budget.budget), now),
      message: `${nameOfLane(lane)}: claimed by run ${holderOf(lease)} until ${formatInstant(expiryOf(lease))}`,
      answer: { kind: 'claimed', sequence: record.sequence, problem: budget.kind === 'newer' ? null : budget.problem },
    };
  };
}

/** What others may write of a lane at any time, its order in a list and its looks, is not what a run decides by. */
function isSame(one: ReturnType<typeof laneIn>, other: ReturnType<typeof laneIn>): boolean {
  const decided = (parsed: ReturnType<typeof laneIn>): unknown =>
    parsed.kind === 'record' ? { ...parsed.record, goesOn: null, restsAt: null, looked: null } : parsed;
  return JSON.stringify(decided(one)) === JSON.stringify(decided(other));
}

/** What came of saving. */
export type SaveAnswer =
  | { readonly kind: 'saved' }
  /** This run saved it before, and the lane is written no more. */
  | { readonly kind: 'already' }
  /** Another run has the lane or has saved since; this run's copy must be kept nowhere. */
  | { readonly kind: 'outrun'; readonly why: string };

/** A lane's new state at the end of a run. */
export interface Saving {
  readonly lane: LaneId;
  readonly sequence: number;
  readonly document: string;
  readonly saver: LeaseHolder;
  readonly now: number;
  /** What the run made of its lane, by which it settles what it has reserved; null: it has reserved nothing. */
  readonly run: LaneRun | null;
}

/** Keeps the lane's new state, gives the lane back, and puts what was used in place of what was reserved, even where the state of another run stays. */
export function save({ lane, sequence, document, saver, now, run }: Saving): Change<SaveAnswer> {
  return (snapshot) => {
    const record = recordIn(snapshot, lane);
    const saved = record === null ? null : saveRecord(record, { sequence, document }, saver, now);
    const answer: SaveAnswer =
      record === null || saved === null
        ? { kind: 'outrun', why: 'a newer version of this action has written its state' }
        : saved.kind === 'record'
          ? { kind: 'saved' }
          : saved.kind === 'already'
            ? saved
            : { kind: 'outrun', why: describeOutrun(record) };
    const kept = saved?.kind === 'record' ? withRecord(snapshot, saved.record) : snapshot;
    return {
      snapshot: run === null ? kept : settled(kept, run, { runTag: saver.runTag, now }),
      message:
        saved?.kind === 'record'
          ? `${nameOfLane(lane)}: saved as #${sequence} by run ${holderOf(saver)}, which ends`
          : `${nameOfLane(lane)}: settled by run ${holderOf(saver)}`,
      answer,
    };
  };
}

/** The snapshot after a run: what waits since, what it used in place of what it had reserved, and that a later run publishes what is left. */
export function settled(
  snapshot: Snapshot,
  run: LaneRun,
  { runTag, now }: { readonly runTag: string; readonly now: number },
): Snapshot {
  const left = run.isPublished ? null : 'unfinished';
  const marked = withLane(snapshot, run.after.lane, (record) =>
    record.goesOn === 'unanswered' || record.goesOn === left ? record : { ...record, goesOn: left },
  );
  const waiting = withWaiting(marked, waitingAfter(waitingIn(marked), run, now));
  const budget = budgetIn(waiting, now);
  return budget.kind === 'newer' ? waiting : withBudget(waiting, settleRun(budget.budget, runTag, run, now), now);
}

function describeOutrun({ lease, sequence }: LaneRecord): string {
  return lease === null
    ? `another run saved #${sequence} in the meantime`
    : `another run has the claim now (${lease.runUrl || lease.runId}), until ${formatInstant(expiryOf(lease))} at the latest`;
}

/** A copy whose number is known only when it is written: beyond `after`, and beyond what is stored. */
export interface Advancing {
  readonly lane: LaneId;
  readonly after: number;
  readonly document: (sequence: number) => string;
  readonly holder: LeaseHolder;
}

/** Keeps the lane's newest state and the claim with it; answers its number, null: the lane is not this run's. */
export function advance({ lane, after, document, holder }: Advancing): Change<number | null> {
  return (snapshot) => {
    const record = recordIn(snapshot, lane);
    const sequence = Math.max(after, record?.sequence ?? 0) + 1;
    const advanced =
      record?.lease?.runTag === holder.runTag
        ? advanceRecord(record, { sequence, document: document(sequence) }, holder.runTag)
        : null;
    return advanced === null
      ? { snapshot, message: '', answer: null }
      : {
          snapshot: withRecord(snapshot, advanced),
          message: `${nameOfLane(lane)}: saved as #${sequence} by run ${holderOf(holder)}, which goes on`,
          answer: sequence,
        };
  };
}

/** A run that writes a lane's state without working on it. `seen`: what it decided by. */
export interface Amending extends Pick<Advancing, 'lane' | 'document' | 'holder'> {
  readonly seen: Snapshot;
  readonly now: number;
  readonly why: string;
}

/** Replaces the state of a lane that no other run has, and that is as it was decided by. Answers whether it did. */
export function amend({ lane, document, holder, seen, now, why }: Amending): Change<boolean> {
  return (snapshot) => {
    const record = recordIn(snapshot, lane);
    const isFree = record !== null && (record.lease === null || !keepsOut(record.lease, holder, now));
    if (!isFree || !isSame(laneIn(seen, lane), laneIn(snapshot, lane))) return { snapshot, message: '', answer: false };
    const sequence = record.sequence + 1;
    return {
      snapshot: withRecord(snapshot, { ...record, sequence, document: document(sequence), savedBy: holder.runTag }),
      message: `${nameOfLane(lane)}: saved as #${sequence} by run ${holderOf(holder)}: ${why}`,
      answer: true,
    };
  };
}

/** Takes the run's claim anew: its time begins again. */
export function renewLease(lane: LaneId, lease: Lease): Change<null> {
  return (snapshot) => ({
    snapshot: withLane(snapshot, lane, (record) => renewRecord(record, lease) ?? record),
    message: `${nameOfLane(lane)}: claimed again by run ${holderOf(lease)} until ${formatInstant(expiryOf(lease))}`,
    answer: null,
  });
}

/** Gives the lane back, and what the run has reserved if it used nothing of it. */
export function release(
  lane: LaneId,
  { holder, isUnused, now }: { readonly holder: LeaseHolder; readonly isUnused: boolean; readonly now: number },
): Change<null> {
  return (snapshot) => {
    const free = withLane(snapshot, lane, (record) => releaseRecord(record, holder.runTag) ?? record);
    const budget = isUnused ? budgetIn(free, now) : null;
    return {
      snapshot:
        budget?.kind === 'budget'
          ? withBudget(free, settleBudget(budget.budget, holder.runTag, NOTHING, now), now)
          : free,
      message: `${nameOfLane(lane)}: given back by run ${holderOf(holder)}`,
      answer: null,
    };
  };
}

const NOTHING = { calls: 0, tokens: 0, costUsd: 0 };

/** The snapshot as it stands once all runs are over. */
export function withoutLeases(snapshot: Snapshot): Snapshot {
  return lanesIn(snapshot).reduce(
    (next, lane) => withLane(next, lane, (record) => (record.lease === null ? record : { ...record, lease: null })),
    snapshot,
  );
}

/** Whether a run may still have the lane, after a change that was not made. Who was never seen with a claim to it has none, nor has anybody where nothing can be claimed. */
export function mayHold(
  { kind, last }: { readonly kind: 'unguarded' | 'unavailable'; readonly last: Snapshot | null },
  lane: LaneId,
  runTag: string,
): boolean {
  if (last === null) return kind === 'unavailable';
  const record = recordIn(last, lane);
  return record === null || record.lease?.runTag === runTag;
}

/** Leaves an order for the lane's next run, whoever works on the lane now. Answers why it cannot be kept; null: it is. What waits for the probe of a circuit that it closes waits no more, wherever it is worked on next. */
export function order(lane: LaneId, given: OrderGiven): Change<string | null> {
  return (snapshot) => {
    const parsed = laneIn(snapshot, lane);
    if (parsed.kind === 'newer')
      return {
        snapshot,
        message: '',
        answer: `it was written by a newer version of this action (record version ${parsed.version})`,
      };
    const ordered = withLane(snapshot, lane, (record) => orderRecord(record, given));
    const opened = waitingIn(ordered).filter((one) => one.lane === lane && one.progress.state === 'stuck');
    const asked = given.kind === 'reset-circuit' ? opened.map(({ task }) => task) : [];
    return {
      snapshot: withAsked(ordered, asked, given.at),
      message: `${nameOfLane(lane)}: ${given.kind.replace('-', ' ')}${given.task === null ? '' : ` ${oneLine(given.task, 80)}`}, ordered by ${oneLine(given.by, 100)} (${given.from})`,
      answer: null,
    };
  };
}

/** Changes the counters that all lanes share. Answers why that cannot be; null: it is done. */
export function changeUsage(
  change: (budget: Budget) => Budget,
  { message, now }: { readonly message: string; readonly now: number },
): Change<string | null> {
  return (snapshot) => {
    const budget = budgetIn(snapshot, now);
    return budget.kind === 'newer'
      ? { snapshot, message, answer: `it was written by a newer version of this action (version ${budget.version})` }
      : { snapshot: withBudget(snapshot, change(budget.budget), now), message, answer: null };
  };
}

/** `8812093911`; with the number of a later attempt. */
function holderOf({ runId, runAttempt }: LeaseHolder): string {
  return runAttempt === 1 ? runId : `${runId} (attempt ${runAttempt})`;
}
