import type { Lease } from '../../../../src/core/sharing/lease.ts';
import { hour, noon } from '../core-fixtures.ts';

/** The lease of the run `mark`, taken at noon for an hour. */
export function leaseOf(mark: string, change: Partial<Lease> = {}): Lease {
  return {
    mark,
    runId: `id-of-${mark}`,
    runAttempt: 1,
    runUrl: `https://github.test/acme/shop/actions/runs/${mark}`,
    acquiredAt: noon,
    durationMs: hour,
    ...change,
  };
}
