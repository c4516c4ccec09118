import { z } from 'zod';
import type { WaitingPullRequest } from '../feedback/pull-request-now.ts';
import type { Immutable } from '../immutable.ts';
import { instant } from '../numbers.ts';
import { isLaneId, type LaneId } from '../tasks/ids.ts';
import { HOUR_MS } from '../time.ts';

/** Lanes whose last look is remembered. */
export const MAX_LOOKED = 50;
/** After this a pull request is looked at again although it stands as it did: a task that was set aside may have another turn. */
const LOOK_AGAIN_MS = 6 * HOUR_MS;

/** How a pull request stood: its head, its base, and what GitHub said of them. */
export const lookSchema = z.object({ seen: z.string().max(200), at: instant });

export const lookedSchema = lookSchema.extend({ lane: z.string().max(120) });

/** A pull request that a run worked on, or had nothing to do for. */
export type Looked = Immutable<z.infer<typeof lookedSchema>>;

/** An open pull request that conflicts with its base, or whose checks fail. */
export interface LaneInNeed {
  readonly lane: LaneId;
  readonly seen: string;
}

/** The lanes whose pull requests need work, those that nobody looked at for longest first. What stands as it did when a run looked after it is left out: no pull request keeps the queue from its tasks run after run. */
export function lanesInNeed(
  open: readonly WaitingPullRequest[],
  { prefix, looked, now }: { readonly prefix: string; readonly looked: readonly Looked[]; readonly now: number },
): readonly LaneInNeed[] {
  const before = new Map(looked.map((one) => [one.lane, one]));
  const lookedAt = (lane: LaneId): number => before.get(lane)?.at ?? 0;
  return open
    .filter(needsWork)
    .map((pull) => ({ lane: pull.branch.slice(prefix.length), seen: seenOf(pull) }))
    .filter(({ lane, seen }) => {
      const last = before.get(lane);
      const isKnown = last?.seen === seen && Math.abs(now - last.at) < LOOK_AGAIN_MS;
      return isLaneId(lane) && !isKnown;
    })
    .toSorted((one, other) => lookedAt(one.lane) - lookedAt(other.lane));
}

/** What is remembered with one more look. */
export function withLook(looked: readonly Looked[], look: Looked): readonly Looked[] {
  return [...looked.filter(({ lane }) => lane !== look.lane), look].slice(-MAX_LOOKED);
}

function needsWork({ mergeable, checks }: Pick<WaitingPullRequest, 'mergeable' | 'checks'>): boolean {
  return mergeable === 'conflicting' || checks === 'failed';
}

function seenOf({ head, base, mergeable, checks }: WaitingPullRequest): string {
  return [head, base, mergeable, checks].join(' ').slice(0, 200);
}
