import type { WaitingPullRequest } from '../feedback/pull-request-now.ts';
import type { ClosedPull } from '../snapshot/stored-pull.ts';
import type { LaneState } from '../lane/state/state.ts';
import type { LookAtKind } from '../review/manifest.ts';
import type { ObjectId } from '../evidence.ts';

/** The comparison of an open pull request with the others and with its base branch, made by git. */
export interface ComparedPull {
  readonly number: number;
  /** Numbers of the open pull requests that conflict with it. */
  readonly conflictsWith: readonly number[];
  readonly isBehind: boolean;
  /** Files of the pull request that its base branch has changed since the branch left it. */
  readonly changedInBase: readonly string[];
}

/**
 * The reason why a pull request cannot be merged. `update`: a rule requires it to be up to date with its base.
 * `foreign`: it conflicts with a base branch that runs do not merge.
 */
export type MergeObstacle =
  | 'conflict'
  | 'foreign'
  | 'checks'
  | 'changes-requested'
  | 'unfinished'
  | 'unknown'
  | 'update';

/** An open pull request in the order in which people merge them; plain data. */
export interface TrainPull extends Pick<WaitingPullRequest, 'number' | 'branch' | 'head' | 'isArmed' | 'createdAt'> {
  /** The obstacle to a merge; null if nothing keeps people from merging it. */
  readonly obstacle: MergeObstacle | null;
  readonly needsReview: boolean;
  /** True if a review was requested although no rule requires one. */
  readonly isReviewRequested: boolean;
  readonly conflictsWith: readonly number[];
  /** `left`: it lacks commits of its base branch, but no rule requires them. */
  readonly behind: 'no' | 'left' | 'rule' | 'unknown';
  /** Files whose verification is stale, because the base branch has changed them as well. */
  readonly stale: readonly string[];
}

/** Ralph's open pull requests, the next to merge first. */
export interface Train {
  readonly pulls: readonly TrainPull[];
  /** True once git has compared the pull requests. */
  readonly isCompared: boolean;
  /** The state of auto-merge; null if no run has decided about it yet. */
  readonly autoMerge: AutoMerge | null;
  /** The listed pull requests of these branches that are no longer open, and pull requests that revert one of them. */
  readonly closed: readonly ClosedPull[];
}

/** Maximum number of files named for one pull request. */
const MAX_STALE = 20;

/**
 * Orders the open pull requests: first those that can be merged, by the number of their conflicts with the others and
 * then by age. `compared` is null if git could not compare them; `base` is the branch that runs merge.
 */
export function orderMergeTrain(
  open: readonly WaitingPullRequest[],
  compared: readonly ComparedPull[] | null,
  base: string,
): Train {
  const known = new Map((compared ?? []).map((one) => [one.number, one]));
  return inOrder({
    pulls: open.map((pull) => toTrainPull(pull, known.get(pull.number), base)),
    isCompared: compared !== null,
    autoMerge: null,
    closed: [],
  });
}

/** Returns the pull request to merge next; null if none can be merged. */
export function findNextPull({ pulls: [first] }: Train): TrainPull | null {
  return first !== undefined && rankOf(first) === 0 ? first : null;
}

/**
 * Returns the number of the next pull request to merge if a rule requires its branch to be updated first; null
 * otherwise.
 */
export function findPullToUpdate(train: Train): number | null {
  const next = findNextPull(train);
  return next?.obstacle === 'update' ? next.number : null;
}

/**
 * Returns the pull requests further ahead that conflict with this one: once one of them is merged, this one conflicts
 * with the base branch.
 */
export function listPullsAhead({ pulls }: Train, { number, conflictsWith }: TrainPull): readonly number[] {
  const ahead = pulls.slice(
    0,
    pulls.findIndex((one) => one.number === number),
  );
  return ahead.map((one) => one.number).filter((one) => conflictsWith.includes(one));
}

/** Returns the train after a run that has published this pull request. Its known conflicts with others stay. */
export function withPublished(
  train: Train,
  own: Pick<TrainPull, 'number' | 'branch' | 'head'> & {
    readonly isDraft: boolean;
    /** True if people approved a commit that the run has overtaken. */
    readonly isOvertaken: boolean;
    readonly now: number;
  },
): Train {
  const { isDraft, isOvertaken, now, ...published } = own;
  const known = train.pulls.find(({ number }) => number === own.number) ?? { ...fresh, ...published, createdAt: now };
  const others = train.pulls.filter(({ number }) => number !== own.number);
  const isMoved = known.head !== own.head;
  const hasBase = isMoved && (known.obstacle === 'conflict' || known.obstacle === 'update');
  // With a new head, checks begin again, and a reviewer who requested changes must decide again.
  const isOver = isMoved ? known.obstacle !== 'changes-requested' : known.obstacle === 'unfinished';
  const standing = {
    obstacle: isDraft ? 'unfinished' : isOver ? null : known.obstacle,
    behind: hasBase ? 'no' : known.behind,
    stale: isMoved ? [] : known.stale,
    needsReview: known.needsReview || isOvertaken,
    // Runs push no commit while auto-merge is on, so it is off if the head has moved.
    isArmed: known.isArmed && !isMoved,
  } as const;
  return inOrder({ ...train, pulls: [...others, { ...known, ...published, ...standing }] });
}

const fresh = {
  obstacle: null,
  needsReview: false,
  isReviewRequested: false,
  isArmed: false,
  conflictsWith: [],
  behind: 'unknown',
  stale: [],
} as const;

function toTrainPull(pull: WaitingPullRequest, compared: ComparedPull | undefined, base: string): TrainPull {
  const { number, branch, head, decision, createdAt } = pull;
  const isBehind = pull.isBehind || (compared?.isBehind ?? null);
  const isByRule = pull.isBehind || (isBehind === true && pull.mustBeCurrent);
  const obstacle = obstacleOf(pull, isByRule && pull.baseBranch === base, base);
  return {
    ...{ number, branch, head, createdAt },
    obstacle,
    needsReview: decision === 'review-required',
    isReviewRequested: decision === null && pull.isReviewRequested,
    isArmed: pull.isArmed,
    conflictsWith: compared?.conflictsWith ?? [],
    behind: isBehind === null ? 'unknown' : isByRule ? 'rule' : isBehind ? 'left' : 'no',
    // Pull requests with other obstacles are verified again before people merge them, so no file is listed for them.
    stale: obstacle === null || obstacle === 'update' ? (compared?.changedInBase ?? []).slice(0, MAX_STALE) : [],
  };
}

function obstacleOf(pull: WaitingPullRequest, isBehindByRule: boolean, base: string): MergeObstacle | null {
  if (pull.mergeable === 'conflicting') return pull.baseBranch === base ? 'conflict' : 'foreign';
  if (pull.checks === 'failed') return 'checks';
  if (pull.decision === 'changes-requested') return 'changes-requested';
  if (pull.isDraft) return 'unfinished';
  if (pull.mergeable === 'unknown') return 'unknown';
  return isBehindByRule ? 'update' : null;
}

function inOrder(train: Train): Train {
  return {
    ...train,
    pulls: train.pulls.toSorted(
      (one, other) =>
        rankOf(one) - rankOf(other) ||
        one.conflictsWith.length - other.conflictsWith.length ||
        one.createdAt - other.createdAt ||
        one.number - other.number,
    ),
  };
}

function rankOf({ obstacle }: TrainPull): 0 | 1 {
  return obstacle === null || obstacle === 'update' ? 0 : 1;
}

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

/**
 * The reason why auto-merge was not armed. `at-once`: the pull request could be merged immediately. `switched-off`:
 * somebody else has switched auto-merge off.
 */
type Refused = 'at-once' | 'not-allowed' | 'refused' | 'switched-off';

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
