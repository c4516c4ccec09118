import { explainOutrun } from '../core/snapshot/changes.ts';
import { parseRecordIn } from '../core/snapshot/snapshot.ts';
import { computeExpiry, type LeaseHolder } from '../core/sharing/lease.ts';
import type { Outcome } from '../core/outcome.ts';
import type { StateStore } from '../ports/state.ts';
import type { Work } from './intake.ts';

/** The dependencies of finding out whether another run has taken a lane over. */
interface OutrunDeps {
  readonly store: Pick<StateStore, 'lastSeen' | 'read'>;
  readonly context: Pick<LeaseHolder, 'runId' | 'runAttempt'>;
  readonly runTag: string;
  readonly clock: { readonly now: () => number };
}

/**
 * Returns why this run must publish nothing, as a sentence part: its claim ended, and another run has the lane or has
 * saved it since. Returns null otherwise. Sends a request only if the run's own claim has ended, as on a machine that
 * slept; otherwise, the last known snapshot decides.
 */
export async function findOutrun(
  { store, context: { runId, runAttempt }, runTag, clock }: OutrunDeps,
  { lane: { id: lane }, state }: Pick<Work, 'lane' | 'state'>,
): Promise<string | null> {
  const now = clock.now();
  const known = store.lastSeen();
  const lease = known === null ? null : (parseRecordIn(known, lane)?.lease ?? null);
  if (lease?.runTag === runTag && computeExpiry(lease) <= now) await store.read();
  const seen = store.lastSeen();
  const saver = { runTag, runId, runAttempt };
  return seen === null ? null : explainOutrun(seen, { lane, sequence: state.sequence + 1 }, { saver, now });
}

/** Returns the end of a run whose lane another run has taken over; `why` is the answer of `findOutrun`. */
export function createOutrunEnd(why: string): Outcome {
  const message = `This run publishes nothing more, because its claim has ended: ${why}.`;
  return { kind: 'failed', reason: 'infrastructure', message };
}
