import { claimInSnapshot, type Claiming } from '../../../../src/core/snapshot/changes.ts';
import { emptySnapshot } from '../../../../src/core/snapshot/snapshot.ts';
import { noon } from '../core-fixtures.ts';
import { leaseOf } from '../sharing/lease-fixtures.ts';

/** Returns the claim of a run that reserves nothing, without a named task. */
export function claimOf(lane: string, change: Partial<Claiming> = {}): ReturnType<typeof claimInSnapshot> {
  return claimInSnapshot({
    ...{ lane, seen: emptySnapshot, lease: leaseOf('a'), now: noon, named: [], purpose: 'tasks' as const },
    reserve: (budget) => budget,
    ...change,
  });
}
