import type { LaneState } from '../lane/state/state.ts';
import type { LookAtKind } from '../review/manifest.ts';
import type { ObjectId } from '../evidence.ts';

/**
 * The state of GitHub's auto-merge for the next pull request to merge. `still-armed` means that it could not be
 * switched off although somebody pushed.
 */
export interface AutoMerge {
  readonly number: number;
  readonly kind: 'armed' | 'still-armed' | Refused | Prevented;
  /** GitHub's sentence, or names of *Look at first* kinds. */
  readonly detail: string;
}

/** The reason why GitHub did not arm auto-merge. `at-once`: the pull request could be merged immediately. */
type Refused = 'at-once' | 'not-allowed' | 'refused';

/** The reason why GitHub was not asked to arm auto-merge. */
type Prevented = 'unknown' | 'incomplete' | 'unverified' | 'person' | 'look-at' | 'review-again';

/**
 * Returns why auto-merge must not be armed for a pull request; null if it may be. Null requires that its work is
 * complete, is verified in a clean clone at its head, and has no person's commit on top and no *Look at first* kind
 * that prevents auto-merge. `state` is null if the lane's state is unknown.
 */
export function explainNotArmed(
  state: LaneState | null,
  pull: {
    readonly number: number;
    readonly head: ObjectId;
    readonly needsReview: boolean;
    readonly isReviewRequested: boolean;
  },
  prevents: readonly LookAtKind[],
): AutoMerge | null {
  const { number, head, needsReview, isReviewRequested } = pull;
  const not = (kind: Prevented, detail = ''): AutoMerge => ({ number, kind, detail });
  if (state === null) return not('unknown');
  const { lastRun, headVerification, change, feedback } = state;
  if (lastRun?.outcome !== 'complete' || lastRun.published === null) return not('incomplete');
  if (lastRun.published.head !== head) return not('person');
  if (headVerification?.kind !== 'passed' || headVerification.commit !== head) return not('unverified');
  // New commits have overtaken an approval, and the newly requested reviews have not arrived yet, so auto-merge must
  // wait for them.
  if (feedback.overtaken !== null && feedback.overtaken.wasApproved !== false && (needsReview || isReviewRequested))
    return not('review-again');
  if (change.lookAt === null) return not('look-at', 'not measured');
  const found = change.lookAt.filter((kind) => prevents.includes(kind));
  return found.length === 0 ? null : not('look-at', found.join(', '));
}

/** Returns true if the head is not the one that the lane's last run published; false if that is not known. */
export function isPushedByOthers(state: LaneState | null, head: ObjectId): boolean {
  const published = state?.lastRun?.published ?? null;
  return published !== null && published.head !== head;
}
