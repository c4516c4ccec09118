import type { Lease } from '../../../../src/core/sharing/lease.ts';
import { HOUR, noon } from '../core-fixtures.ts';

/** Returns the lease of the run `runTag`, taken at noon for an hour. */
export function leaseOf(runTag: string, change: Partial<Lease> = {}): Lease {
  return {
    runTag,
    runId: `id-of-${runTag}`,
    runAttempt: 1,
    runUrl: `https://github.test/acme/shop/actions/runs/${runTag}`,
    acquiredAt: noon,
    durationMs: HOUR,
    ...change,
  };
}
