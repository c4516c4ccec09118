import type { BaseTrial } from '../../core/doctor/facts.ts';
import { MINUTE_MS } from '../../core/time.ts';

/** The longest that a check of the set-up tries the verify commands. */
export const VERIFY_MS = 15 * MINUTE_MS;

/** What a trial comes to that does not end in time: slow commands need not be wrong ones. */
export function tookTooLong(limitMs: number): BaseTrial {
  return { kind: 'impossible', why: `it did not end within ${String(Math.ceil(limitMs / MINUTE_MS))} min.` };
}
