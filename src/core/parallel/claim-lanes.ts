import type { Budget } from '../sharing/budget.ts';
import { claimInSnapshot, type ClaimAnswer, type Claiming } from '../snapshot/changes.ts';
import type { LaneRecord } from '../sharing/lane-record.ts';
import { parseBudgetIn, type SnapshotChange, withBudget, withLane } from '../snapshot/snapshot.ts';
import { isIssueTask, nameOfLane } from '../tasks/ids.ts';

/**
 * The answer to one of several claims. `dropped`: the first lane could not be claimed, or no budget is left for this
 * one.
 */
export type SideClaimAnswer = ClaimAnswer | { readonly kind: 'dropped' };

/** The claims of one run, the most important lane first. */
export interface ClaimingLanes {
  readonly claims: readonly Omit<Claiming, 'reserve'>[];
  readonly now: number;
  /**
   * Reserves budget for these claims, replacing the run's earlier reservations, and returns the number of claims,
   * counted from the first, that got some.
   */
  readonly reserve: (
    budget: Budget,
    claims: readonly Omit<Claiming, 'reserve'>[],
  ) => { readonly budget: Budget; readonly count: number };
}

/**
 * Claims the lanes of a run in one change and reserves each lane's budget. A lane that another run holds is left out;
 * if this is the first lane, none is claimed. Only one lane is claimed with counters of a newer version, because they
 * cannot be divided.
 */
export function claimLanesInSnapshot(claiming: ClaimingLanes): SnapshotChange<readonly SideClaimAnswer[]> {
  const { claims, now, reserve } = claiming;
  return (snapshot) => {
    const tried = claims.map((claim) => ({ claim, ...claimInSnapshot({ ...claim, reserve: keepBudget })(snapshot) }));
    const free = tried.filter(({ answer }) => answer.kind === 'claimed').map(({ claim }) => claim);
    const answersFor = (taken: readonly unknown[]): readonly SideClaimAnswer[] =>
      tried.map(({ claim, answer }) =>
        answer.kind === 'claimed' && !taken.includes(claim) ? { kind: 'dropped' } : answer,
      );
    if (tried[0]?.answer.kind !== 'claimed') return { snapshot, message: '', answer: answersFor([]) };
    const known = parseBudgetIn(snapshot, now);
    const reserved = known.kind === 'newer' ? { budget: null, count: 1 } : reserve(known.budget, free);
    const taken = free.slice(0, reserved.count);
    const leased = taken.reduce((next, claim) => {
      const claimed = claimInSnapshot({ ...claim, reserve: keepBudget })(next).snapshot;
      return taken.length > 1 ? withLane(claimed, claim.lane, leftUntilPublished) : claimed;
    }, snapshot);
    const message = tried.find(({ claim }) => claim === taken.at(-1))?.message ?? '';
    const before = taken.slice(0, -1).map(({ lane }) => `${nameOfLane(lane)}, `);
    return {
      snapshot: reserved.budget === null ? leased : withBudget(leased, reserved.budget, now),
      message: `${before.join('')}${message}`,
      answer: answersFor(taken),
    };
  };
}

/**
 * Returns the record of an issue's lane, marked as unfinished until its work is published. Without the mark, no lane
 * would continue the issue after a killed run, because it has left the queue for its own branch.
 */
function leftUntilPublished(record: LaneRecord): LaneRecord {
  return record.goesOn === null && isIssueTask(record.lane) ? { ...record, goesOn: 'unfinished' } : record;
}

function keepBudget(budget: Budget): Budget {
  return budget;
}
