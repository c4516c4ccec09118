import { z } from 'zod';
import { DAY_MS, MINUTE_MS } from '../countdown.ts';
import { type Immutable, instantSchema } from '../policy.ts';
import type { LaneId } from '../tasks/ids.ts';

/** Maximum duration of a lease: a self-hosted job may take five days, which is GitHub's longest. */
export const MAX_LEASE_MS = 5 * DAY_MS;

export const leaseSchema = z.lazy(() =>
  z
    .object({
      /** UUID of the run's process tree: main and post of one job share it, two jobs of one workflow run do not. */
      mark: z.string().min(1).max(100),
      /** GitHub's run id; `local` outside of Actions. */
      runId: z.string().min(1).max(40),
      runAttempt: z.int().min(1),
      runUrl: z.string().max(500),
      acquiredAt: instantSchema,
      /** The run's own deadline plus the time for publishing, in ms. */
      durationMs: z.number().int().min(0).max(MAX_LEASE_MS),
    })
    .transform(withRunTag),
);

/** A run's exclusive claim on a lane. Instants and durations in ms. */
export type Lease = Immutable<z.infer<typeof leaseSchema>>;

/** The run that asks whether a lease keeps it out. */
export type LeaseHolder = Pick<Lease, 'runTag' | 'runId' | 'runAttempt'>;

/** A workflow run on GitHub, and its first attempt that may still be working. */
export type LiveAttempt = Pick<Lease, 'runId' | 'runAttempt'>;

/** A run's claim of a lane, and the tag under which it holds the lane and its reservation. */
export interface Claim {
  readonly lane: LaneId;
  readonly runTag: string;
}

/**
 * Returns the tag of one lane of a run that claims several, so that each lane releases, reserves and settles only its
 * own.
 */
export function runTagOfLane(runTag: string, lane: LaneId): string {
  return `${runTag}:${lane}`;
}

/** Returns the run's own tag, given the tag of one of its lanes; a run that claims one lane uses its own tag for it. */
export function deriveRunTag(runTag: string, lane: LaneId): string {
  const ending = runTagOfLane('', lane);
  return runTag.endsWith(ending) ? runTag.slice(0, -ending.length) : runTag;
}

/** Time in ms that a run may need beyond `max-minutes`: a last verification, publishing, and post. */
const PUBLISH_MS = 10 * MINUTE_MS;

/** Maximum total time in ms for the jobs of a split run to wait for their runners and set themselves up. */
const MAX_WAIT_FOR_JOBS_MS = 60 * MINUTE_MS;

/**
 * Returns the maximum time for which a run of up to `maxRunMs` holds its lane, in one job or in three consecutive ones,
 * if its machine first works on `before` other lanes.
 */
export function computeMaxLeaseMs(maxRunMs: number, jobs: 'one' | 'three', before = 0): number {
  return Math.min(computeMaxStartMs(maxRunMs, jobs, before) + maxRunMs + PUBLISH_MS, MAX_LEASE_MS);
}

/** Returns the maximum time from the claim of a lane to its first call; later calls might outlast the claim. */
export function computeMaxStartMs(maxRunMs: number, jobs: 'one' | 'three', before: number): number {
  const wait = jobs === 'three' ? MAX_WAIT_FOR_JOBS_MS : 0;
  const ofLane = maxRunMs + PUBLISH_MS;
  return wait + Math.max(0, Math.min((ofLane + wait) * before, MAX_LEASE_MS - wait - ofLane));
}

/** Returns the number of lanes that a machine works on before the lane at this place in the run's list. */
export function countLanesBefore(place: number, atOnce: number): number {
  return Math.floor(place / atOnce);
}

/**
 * Returns true if the lease keeps another holder off the lane at `now`: it is not the holder's own, has not expired,
 * and its owner may still run.
 */
export function blocksOtherHolder(lease: Lease, other: LeaseHolder, now: number): boolean {
  if (lease.runTag === other.runTag) return false;
  if (belongsToEndedAttempt(lease, [other])) return false;
  // If the lease begins further in the future than it lasts, one of the two clocks is wrong, and a lane must not wait
  // for that.
  const isPlausible = lease.acquiredAt - lease.durationMs <= now;
  return isPlausible && now < computeExpiry(lease);
}

/**
 * Returns true if a claim or a reservation belongs to an attempt that has ended: GitHub starts an attempt only when the
 * one before has ended.
 */
export function belongsToEndedAttempt({ runId, runAttempt }: LiveAttempt, live: readonly LiveAttempt[]): boolean {
  return runId !== '' && live.some((one) => one.runId === runId && runAttempt < one.runAttempt);
}

/** Returns the instant at which the lease ends by itself. */
export function computeExpiry(lease: Lease): number {
  return lease.acquiredAt + lease.durationMs;
}

/** Returns an object with a run tag in its stored form, where the tag is called `mark` since the first version. */
export function withStoredTag<T extends { readonly runTag: string }>({
  runTag,
  ...rest
}: T): { readonly mark: string } & Omit<T, 'runTag'> {
  return { mark: runTag, ...rest };
}

/** Returns the object of a stored form; the inverse of `withStoredTag`. */
export function withRunTag<T extends { readonly mark: string }>({
  mark,
  ...rest
}: T): { readonly runTag: string } & Omit<T, 'mark'> {
  return { runTag: mark, ...rest };
}
