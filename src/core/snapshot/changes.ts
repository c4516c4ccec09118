import { endReservations, settleBudget, settleRun, type Budget, type LaneRun } from '../sharing/budget.ts';
import { updateWaitingIssues } from '../sharing/waiting-issues.ts';
import {
  advanceRecord,
  claimRecord,
  addOrderToRecord,
  releaseRecord,
  renewRecord,
  finishRecord,
  type LaneRecord,
} from '../sharing/lane-record.ts';
import {
  type Claim,
  computeExpiry,
  belongsToEndedAttempt,
  blocksOtherHolder,
  type Lease,
  type LeaseHolder,
  type LiveAttempt,
  runTagOfLane,
} from '../sharing/lease.ts';
import type { OrderGiven } from '../sharing/orders.ts';
import { nameOfLane, type LaneId, type TaskId } from '../tasks/ids.ts';
import { toOneLine } from '../text/phrase.ts';
import { formatInstant } from '../countdown.ts';
import { withAskedTasks } from './going-on.ts';
import { type StoredRun, withRun } from './stored-run.ts';
import {
  listLaneAnswers,
  parseBudgetIn,
  parseLaneIn,
  listLanes,
  parseRecordIn,
  listWaitingIssues,
  withBudget,
  withLane,
  withRecord,
  withWaiting,
  type SnapshotChange,
  type Changed,
  type Snapshot,
} from './snapshot.ts';

/** The answer to a claim of a lane. */
export type ClaimAnswer =
  /**
   * `sequence` is that of the lane's copy; a new copy must exceed it. `problem` is a sentence about damaged counters.
   */
  | { readonly kind: 'claimed'; readonly sequence: number; readonly problem: string | null }
  /** Another run has the lane. */
  | { readonly kind: 'leased'; readonly lease: Lease }
  /** The lane has changed since the run restored it, and must be restored again. */
  | { readonly kind: 'changed' };

/** A run that claims a lane. */
export interface Claiming {
  readonly lane: LaneId;
  /** The snapshot that the run knows. */
  readonly seen: Snapshot;
  readonly lease: Lease;
  readonly now: number;
  /** Tasks that a person requested, so that they no longer wait. */
  readonly named: readonly TaskId[];
  /**
   * The purpose, which decides what is recorded: a run that answers feedback leaves the lane `unfinished` in case it
   * dies, and a run that only notifies people does not mark feedback as read.
   */
  readonly purpose: 'tasks' | 'answers' | 'notice';
  /** Changes the counters together with the claim. */
  readonly reserve: (budget: Budget) => Budget;
}

/** Makes the run the only one that works on the lane, and reserves what it may use. */
export function claimInSnapshot(claiming: Claiming): SnapshotChange<ClaimAnswer> {
  const { lane, seen, lease, now, named, purpose, reserve } = claiming;
  return (snapshot) => {
    const record = parseRecordIn(snapshot, lane);
    const refused = (answer: ClaimAnswer): Changed<ClaimAnswer> => ({ snapshot, message: '', answer });
    if (record === null) return refused({ kind: 'changed' });
    // The claim was already written, and only the answer to it was lost.
    const isOurs = record.lease?.runTag === lease.runTag;
    if (!isOurs && !isSameLane(parseLaneIn(seen, lane), parseLaneIn(snapshot, lane))) {
      const again = claimRecord(record, lease, now);
      return refused(again.kind === 'leased' ? again : { kind: 'changed' });
    }
    const claimed = claimRecord(record, lease, now);
    if (claimed.kind === 'leased') return refused(claimed);
    const budget = parseBudgetIn(snapshot, now);
    // This run reads everything that was requested so far; only later requests count as unread.
    const isRead = purpose === 'answers' || (purpose === 'tasks' && record.goesOn !== null);
    const asked: LaneRecord = isRead ? { ...claimed.record, goesOn: 'unfinished' } : claimed.record;
    const leased = withAskedTasks(withRecord(snapshot, asked), named, now);
    return {
      snapshot: budget.kind === 'newer' ? leased : withBudget(leased, reserve(budget.budget), now),
      message: `${nameOfLane(lane)}: claimed by run ${holderOf(lease)} until ${formatInstant(computeExpiry(lease))}`,
      answer: { kind: 'claimed', sequence: record.sequence, problem: budget.kind === 'newer' ? null : budget.problem },
    };
  };
}

/**
 * Returns true if two lanes are equal, ignoring the fields that others may write at any time and that affect no
 * decision of a run: `goesOn`, `restsAt`, `looked`.
 */
function isSameLane(one: ReturnType<typeof parseLaneIn>, other: ReturnType<typeof parseLaneIn>): boolean {
  const decided = (parsed: ReturnType<typeof parseLaneIn>): unknown =>
    parsed.kind === 'record' ? { ...parsed.record, goesOn: null, restsAt: null, looked: null } : parsed;
  return JSON.stringify(decided(one)) === JSON.stringify(decided(other));
}

/** The answer to a save. */
export type SaveAnswer =
  | { readonly kind: 'saved' }
  /** This run has already saved it; nothing is written again. */
  | { readonly kind: 'already' }
  /** Another run has the lane or has saved since; this run's copy must not be kept anywhere. */
  | { readonly kind: 'outrun'; readonly why: string };

/** A lane's new state at the end of a run. */
export interface Saving {
  readonly lane: LaneId;
  readonly sequence: number;
  readonly document: string;
  readonly saver: LeaseHolder;
  readonly now: number;
  /** The run's effect on its lane, which settles its reservation; null without a reservation. */
  readonly run: LaneRun | null;
  /** The memory of the run to keep; null for one that did not work. */
  readonly stored: StoredRun | null;
}

/**
 * Stores the lane's state at the end of a run in the snapshot, releases the lane, and replaces the reservation by the
 * actual usage, even if another run's state stays.
 */
export function finishInSnapshot(saving: Saving): SnapshotChange<SaveAnswer> {
  const { lane, sequence, document, saver, now, run, stored } = saving;
  return (snapshot) => {
    const record = parseRecordIn(snapshot, lane);
    const saved = record === null ? null : finishRecord(record, { sequence, document }, saver, now);
    const answer: SaveAnswer =
      record === null || saved === null
        ? { kind: 'outrun', why: 'a newer version of this action has written its state' }
        : saved.kind === 'record'
          ? { kind: 'saved' }
          : saved.kind === 'already'
            ? saved
            : { kind: 'outrun', why: describeOutrun(record) };
    const remembered = stored === null ? snapshot : withRun(snapshot, stored);
    const kept = saved?.kind === 'record' ? withRecord(remembered, saved.record) : remembered;
    return {
      snapshot: run === null ? kept : settleSnapshot(kept, run, { runTag: saver.runTag, now }),
      message:
        saved?.kind === 'record'
          ? `${nameOfLane(lane)}: saved as #${sequence} by run ${holderOf(saver)}, which ends`
          : `${nameOfLane(lane)}: settled by run ${holderOf(saver)}`,
      answer,
    };
  };
}

/**
 * Returns the snapshot after a run: the waiting issues, the usage in place of the reservation, and whether a later run
 * must publish the rest.
 */
export function settleSnapshot(
  snapshot: Snapshot,
  run: LaneRun,
  { runTag, now }: { readonly runTag: string; readonly now: number },
): Snapshot {
  const left = run.isPublished ? null : 'unfinished';
  const marked = withLane(snapshot, run.after.lane, (record) =>
    record.goesOn === 'unanswered' || record.goesOn === left ? record : { ...record, goesOn: left },
  );
  const waiting = withWaiting(marked, updateWaitingIssues(listWaitingIssues(marked), run, now));
  const budget = parseBudgetIn(waiting, now);
  return budget.kind === 'newer' ? waiting : withBudget(waiting, settleRun(budget.budget, runTag, run, now), now);
}

/**
 * Returns why a run must leave a lane alone, because another run has claimed it or saved it since; null if the run can
 * still save a state with this sequence.
 */
export function explainOutrun(
  snapshot: Snapshot,
  { lane, sequence }: Pick<Saving, 'lane' | 'sequence'>,
  { saver, now }: { readonly saver: LeaseHolder; readonly now: number },
): string | null {
  const record = parseRecordIn(snapshot, lane);
  const isOutrun = record !== null && finishRecord(record, { sequence, document: '' }, saver, now).kind === 'outrun';
  return isOutrun ? describeOutrun(record) : null;
}

function describeOutrun({ lease, sequence }: LaneRecord): string {
  return lease === null
    ? `another run saved #${sequence} in the meantime`
    : `another run has the claim now (${lease.runUrl || lease.runId}), until ${formatInstant(computeExpiry(lease))} at the latest`;
}

/** A copy whose sequence is only known when it is written. */
export interface Advancing {
  readonly lane: LaneId;
  /** A sequence that the copy's own must exceed, in addition to the stored one. */
  readonly after: number;
  readonly document: (sequence: number) => string;
  readonly holder: LeaseHolder;
}

/**
 * Saves the lane's newest state and keeps the claim; answers its sequence, or null if this run does not hold the lane.
 */
export function advanceInSnapshot({ lane, after, document, holder }: Advancing): SnapshotChange<number | null> {
  return (snapshot) => {
    const record = parseRecordIn(snapshot, lane);
    const sequence = Math.max(after, record?.sequence ?? 0) + 1;
    const advanced =
      record?.lease?.runTag === holder.runTag
        ? advanceRecord(record, { sequence, document: document(sequence) }, holder.runTag)
        : null;
    return advanced === null
      ? { snapshot, message: '', answer: null }
      : {
          snapshot: withRecord(snapshot, advanced),
          message: `${nameOfLane(lane)}: saved as #${sequence} by run ${holderOf(holder)}, which continues`,
          answer: sequence,
        };
  };
}

/** A run that writes a lane's state without working on it. */
export interface Amending extends Pick<Advancing, 'lane' | 'document' | 'holder'> {
  /** The snapshot of the run's decision. */
  readonly seen: Snapshot;
  readonly now: number;
  readonly why: string;
}

/**
 * Replaces the state of a lane that no other run has, if it is unchanged since the decision. Answers true if it was
 * replaced.
 */
export function amendInSnapshot({ lane, document, holder, seen, now, why }: Amending): SnapshotChange<boolean> {
  return (snapshot) => {
    const record = parseRecordIn(snapshot, lane);
    const isFree = record !== null && (record.lease === null || !blocksOtherHolder(record.lease, holder, now));
    if (!isFree || !isSameLane(parseLaneIn(seen, lane), parseLaneIn(snapshot, lane)))
      return { snapshot, message: '', answer: false };
    const sequence = record.sequence + 1;
    return {
      snapshot: withRecord(snapshot, { ...record, sequence, document: document(sequence), savedBy: holder.runTag }),
      message: `${nameOfLane(lane)}: saved as #${sequence} by run ${holderOf(holder)}: ${why}`,
      answer: true,
    };
  };
}

/** Renews the run's claim on the lane: its duration begins again. */
export function renewLease(lane: LaneId, lease: Lease): SnapshotChange<null> {
  return (snapshot) => ({
    snapshot: withLane(snapshot, lane, (record) => renewRecord(record, lease) ?? record),
    message: `${nameOfLane(lane)}: claim renewed by run ${holderOf(lease)} until ${formatInstant(computeExpiry(lease))}`,
    answer: null,
  });
}

/** Releases the lane, and the reservation if the run used nothing of it. */
export function releaseInSnapshot(
  lane: LaneId,
  { holder, isUnused, now }: { readonly holder: LeaseHolder; readonly isUnused: boolean; readonly now: number },
): SnapshotChange<null> {
  return (snapshot) => {
    const free = withLane(snapshot, lane, (record) => releaseRecord(record, holder.runTag) ?? record);
    const budget = isUnused ? parseBudgetIn(free, now) : null;
    return {
      snapshot:
        budget?.kind === 'budget'
          ? withBudget(free, settleBudget(budget.budget, holder.runTag, NOTHING, now), now)
          : free,
      message: `${nameOfLane(lane)}: released by run ${holderOf(holder)}`,
      answer: null,
    };
  };
}

const NOTHING = { calls: 0, tokens: 0, costUsd: 0 };

/**
 * Ends the reservations and claims of attempts of runs that have ended, as if their time were over: a claim that has
 * expired shows later runs that the work was cut off.
 */
export function endClaimsInSnapshot(
  live: readonly LiveAttempt[],
  { message, now }: { readonly message: string; readonly now: number },
): SnapshotChange<null> {
  return (snapshot) => {
    const budget = parseBudgetIn(snapshot, now);
    if (budget.kind === 'newer') return { snapshot, message: '', answer: null };
    const ended = withBudget(snapshot, endReservations(budget.budget, live, now), now);
    const lanes = budget.budget.reservations.flatMap((one) => (belongsToEndedAttempt(one, live) ? [one.lane] : []));
    const freed = lanes.reduce((next, lane) => withLane(next, lane, (record) => endClaim(record, live, now)), ended);
    return { snapshot: freed, message, answer: null };
  };
}

function endClaim(record: LaneRecord, live: readonly LiveAttempt[], now: number): LaneRecord {
  const { lease } = record;
  return lease === null || computeExpiry(lease) <= now || !belongsToEndedAttempt(lease, live)
    ? record
    : { ...record, lease: { ...lease, durationMs: Math.max(0, now - lease.acquiredAt) } };
}

/** Returns the lanes that a run still holds, under its own tag or under those of its lanes. */
export function claimsOfRun(snapshot: Snapshot, runTag: string): readonly Claim[] {
  return listLanes(snapshot).flatMap((lane) => {
    const held = parseRecordIn(snapshot, lane)?.lease?.runTag;
    return held === runTag || held === runTagOfLane(runTag, lane) ? [{ lane, runTag: held }] : [];
  });
}

/** Returns the snapshot without any lease, as it is when no run is in progress. */
export function withoutLeases(snapshot: Snapshot): Snapshot {
  return listLanes(snapshot).reduce(
    (next, lane) => withLane(next, lane, (record) => (record.lease === null ? record : { ...record, lease: null })),
    snapshot,
  );
}

/**
 * Returns true if a run may still hold its claim after a change could not be written. The claim is certainly gone if
 * the last snapshot shows none, and never existed if the store does not support claims.
 */
export function mayStillHoldClaim(
  { kind, last }: { readonly kind: 'unguarded' | 'unavailable'; readonly last: Snapshot | null },
  lane: LaneId,
  runTag: string,
): boolean {
  if (last === null) return kind === 'unavailable';
  const record = parseRecordIn(last, lane);
  return record === null || record.lease?.runTag === runTag;
}

/**
 * Leaves an order for the lane's next run, even if a run works on the lane now. Answers why the order cannot be kept;
 * null if it is kept. Issues that wait for the probe of a circuit that the order closes no longer wait, on any lane.
 */
export function orderInSnapshot(lane: LaneId, given: OrderGiven): SnapshotChange<string | null> {
  return (snapshot) => {
    const parsed = parseLaneIn(snapshot, lane);
    if (parsed.kind === 'newer')
      return {
        snapshot,
        message: '',
        answer: `it was written by a newer version of this action (record version ${parsed.version})`,
      };
    const ordered = withLane(snapshot, lane, (record) => addOrderToRecord(record, given));
    const own = listLaneAnswers(ordered, (issue) => issue.lane === lane);
    const opened = own.filter(({ progress }) => progress.state === 'stuck');
    const asked = given.kind === 'reset-circuit' ? opened.map(({ task }) => task) : [];
    return {
      snapshot: withAskedTasks(ordered, asked, given.at),
      message: `${nameOfLane(lane)}: ${given.kind.replace('-', ' ')}${given.task === null ? '' : ` ${toOneLine(given.task, 80)}`}, ordered by ${toOneLine(given.by, 100)} (${given.from})`,
      answer: null,
    };
  };
}

/** Changes the counters that all lanes share. Answers why that is impossible; null if they are changed. */
export function changeUsage(
  change: (budget: Budget) => Budget,
  { message, now }: { readonly message: string; readonly now: number },
): SnapshotChange<string | null> {
  return (snapshot) => {
    const budget = parseBudgetIn(snapshot, now);
    return budget.kind === 'newer'
      ? { snapshot, message, answer: `it was written by a newer version of this action (version ${budget.version})` }
      : { snapshot: withBudget(snapshot, change(budget.budget), now), message, answer: null };
  };
}

/** Formats a run's id for the history, such as `8812093911`, with the number of the attempt if it is not the first. */
function holderOf({ runId, runAttempt }: LeaseHolder): string {
  return runAttempt === 1 ? runId : `${runId} (attempt ${runAttempt})`;
}
