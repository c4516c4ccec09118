import { z } from 'zod';
import { DAY_MS, MINUTE_MS } from '../countdown.ts';
import { type Immutable, instant } from '../policy.ts';

/** A self-hosted job may take five days, which is GitHub's longest. */
export const MAX_LEASE_MS = 5 * DAY_MS;

export const leaseSchema = z
  .object({
    /** UUID of the run's process tree: main and post of one job share it, two jobs of one workflow run do not. */
    mark: z.string().min(1).max(100),
    /** GitHub's run id; `local` outside of Actions. */
    runId: z.string().min(1).max(40),
    runAttempt: z.int().min(1),
    runUrl: z.string().max(500),
    acquiredAt: instant,
    /** The run's own deadline, with the time that publishing takes. */
    durationMs: z.number().int().min(0).max(MAX_LEASE_MS),
  })
  .transform(withRunTag);

/** A run's claim to be the only one that works on a lane. Instants and durations in ms. */
export type Lease = Immutable<z.infer<typeof leaseSchema>>;

/** Who asks whether a lease keeps it out. */
export type LeaseHolder = Pick<Lease, 'runTag' | 'runId' | 'runAttempt'>;

/** What a run may need beyond `max-minutes`: a last verification, publishing, and post. */
const PUBLISH_MS = 10 * MINUTE_MS;

/** How long the jobs of a split run may wait for their runners and set themselves up, together. */
export const MAX_WAIT_FOR_JOBS_MS = 60 * MINUTE_MS;

/** How long a run that may work for `maxRunMs` holds its lane at most, in one job or in three that wait for each other. */
export function leaseMs(maxRunMs: number, jobs: 'one' | 'three'): number {
  return Math.min(maxRunMs + PUBLISH_MS + (jobs === 'three' ? MAX_WAIT_FOR_JOBS_MS : 0), MAX_LEASE_MS);
}

/** Whether the lease keeps another holder off the lane at `now`: it is not its own, not over, and its owner may still live. */
export function keepsOut(lease: Lease, other: LeaseHolder, now: number): boolean {
  if (lease.runTag === other.runTag) return false;
  // GitHub starts an attempt only when the one before has ended.
  if (lease.runId === other.runId && lease.runAttempt < other.runAttempt) return false;
  // Taken further in the future than it lasts: one of the two clocks is wrong, and a lane must not wait for that one.
  const isBelievable = lease.acquiredAt - lease.durationMs <= now;
  return isBelievable && now < expiryOf(lease);
}

/** The instant at which the lease ends by itself. */
export function expiryOf(lease: Lease): number {
  return lease.acquiredAt + lease.durationMs;
}

/** What carries a run's tag as it is stored: there the tag is called `mark`, since the first version. */
export function withStoredTag<T extends { readonly runTag: string }>({
  runTag,
  ...rest
}: T): { readonly mark: string } & Omit<T, 'runTag'> {
  return { mark: runTag, ...rest };
}

/** The way back. */
export function withRunTag<T extends { readonly mark: string }>({
  mark,
  ...rest
}: T): { readonly runTag: string } & Omit<T, 'mark'> {
  return { runTag: mark, ...rest };
}
