import { claim, type Claiming } from '../../../../src/core/snapshot/changes.ts';
import { emptySnapshot } from '../../../../src/core/snapshot/snapshot.ts';
import { noon } from '../core-fixtures.ts';
import { leaseOf } from '../sharing/lease-fixtures.ts';

/** A claim that nobody named a task for, of a run that reserves nothing. */
export function claimOf(lane: string, change: Partial<Claiming> = {}): ReturnType<typeof claim> {
  return claim({
    ...{ lane, seen: emptySnapshot, lease: leaseOf('a'), now: noon, named: [], purpose: 'tasks' as const },
    reserve: (budget) => budget,
    ...change,
  });
}
