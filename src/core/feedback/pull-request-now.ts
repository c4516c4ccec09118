import { z } from 'zod';
import type { ObjectId } from '../evidence.ts';
import type { Immutable } from '../policy.ts';

/** Maximum number of approvers remembered. */
const MAX_APPROVERS = 20;

/** People's current decisions about an open pull request, as GitHub reports them: reviews, draft, auto-merge. */
export interface ReviewState {
  /** GraphQL id of the pull request. */
  readonly id: string;
  readonly isDraft: boolean;
  /** GitHub's verdict according to the base branch's rules; null if no rule requires a review. */
  readonly decision: 'approved' | 'changes-requested' | 'review-required' | null;
  /** Logins of people with write permission whose latest review approves. */
  readonly approvedBy: readonly string[];
  /** Logins of people with write permission whose latest review requests changes. */
  readonly changesRequestedBy: readonly string[];
  readonly autoMerge: boolean;
  readonly isQueued: boolean;
}

export const holdSchema = z.object({
  /** Logins of the people who approved. */
  approvedBy: z.array(z.string().max(100)).max(MAX_APPROVERS),
  autoMerge: z.boolean(),
  queued: z.boolean(),
});

/** The reason why no commit may be pushed to a pull request: people approved its head, or it is about to be merged. */
export type Hold = Immutable<z.infer<typeof holdSchema>>;

/** The author of a text. */
export interface Author {
  readonly login: string;
  /** GitHub's number of the account; null if GitHub does not give it. */
  readonly id: number | null;
  readonly kind: 'user' | 'bot';
}

/**
 * The current state of an open pull request and the words of people and CI, which are raw text from strangers. Instants
 * are in ms.
 */
export interface PullRequestNow extends ReviewState {
  readonly number: number;
  readonly url: string;
  readonly head: ObjectId;
  /**
   * The head and earlier heads, newest first. An earlier head is included only if all later commits are bots' commits
   * or merges that update the branch.
   */
  readonly heads: readonly [ObjectId, ...ObjectId[]];
  readonly base: { readonly branch: string; readonly tip: ObjectId };
  /** `unknown`: GitHub is still computing the answer after two requests. */
  readonly mergeable: 'mergeable' | 'conflicting' | 'unknown';
  /** The newest 100 unresolved threads, oldest first. */
  readonly threads: readonly ThreadNow[];
  /** Number of unresolved threads beyond the newest 100. */
  readonly moreThreads: number;
  /** The newest 100 reviews, oldest first. */
  readonly reviews: readonly ReviewNow[];
  /** The newest 100 visible comments outside of reviews, oldest first. */
  readonly comments: readonly ReviewNow[];
  readonly checks: ChecksNow;
}

/** An open pull request of one of Ralph's branches, as GitHub's list of pull requests shows it. */
export interface WaitingPullRequest {
  readonly number: number;
  readonly branch: string;
  readonly head: ObjectId;
  readonly base: ObjectId;
  readonly mergeable: PullRequestNow['mergeable'];
  /**
   * Combined result of the head's checks; `unknown`: they still run, do not exist, or the token may not read them.
   */
  readonly checks: 'passed' | 'failed' | 'unknown';
  readonly baseBranch: string;
  readonly isDraft: boolean;
  readonly decision: ReviewState['decision'];
  /** True if a review is requested and not yet submitted. */
  readonly isReviewRequested: boolean;
  /** True if auto-merge is on. */
  readonly isArmed: boolean;
  /** Instant in ms at which auto-merge was switched on; null if it is off, or if GitHub does not say. */
  readonly armedAt: number | null;
  /** True if GitHub refuses to merge the pull request until it contains the newest commits of its base branch. */
  readonly isBehind: boolean;
  /**
   * True if a ruleset requires the pull request to be up to date with its base branch, as far as the token can read
   * rulesets.
   */
  readonly mustBeCurrent: boolean;
  /** Instant of creation in ms. */
  readonly createdAt: number;
}

/** An unresolved review thread. */
export interface ThreadNow {
  /** GraphQL id, which is needed to resolve the thread. */
  readonly id: string;
  readonly isOutdated: boolean;
  readonly path: string;
  /**
   * Last line of the thread in the newest head, 1-based; null if that line no longer exists or the thread is on the
   * whole file.
   */
  readonly line: number | null;
  readonly startLine: number | null;
  /** The last line at the time when the thread was begun. */
  readonly originalLine: number | null;
  readonly side: 'left' | 'right';
  /** Side of the first of several lines, because a thread may begin at a removed line and end at an added one. */
  readonly startSide: ThreadNow['side'] | null;
  /**
   * The first comment and the newest 50, oldest first. Hidden comments are omitted, except that a hidden first comment
   * is kept with empty text.
   */
  readonly comments: readonly ThreadComment[];
}

export interface ThreadComment {
  /** REST id. A reply names the first comment of its thread by this id. */
  readonly id: number;
  /** REST id of the comment's review; null if it belongs to no review. */
  readonly review: number | null;
  /** The comment's author; null if the account no longer exists. */
  readonly by: Author | null;
  readonly text: string;
  readonly at: number;
  /** The part of the diff that the comment was written on. */
  readonly hunk: string;
}

/** An opinion on the pull request as a whole: a review, or a comment outside of reviews. */
export interface ReviewNow {
  /** REST id of the review or comment. */
  readonly id: number;
  readonly url: string;
  readonly by: Author | null;
  readonly state: 'approved' | 'changes-requested' | 'commented' | 'dismissed' | 'pending' | 'comment';
  readonly text: string;
  /** Instant when it was submitted; null if the review is not submitted yet. */
  readonly at: number | null;
}

/**
 * The checks of a pull request. `why` is a sentence with the token's missing right or GitHub's words. `isTemporary`:
 * GitHub's servers failed, so that a later run may read the checks.
 */
export type ChecksNow =
  | { readonly kind: 'known'; readonly head: readonly CheckNow[]; readonly base: readonly CheckNow[] }
  | { readonly kind: 'unreadable'; readonly why: string; readonly isTemporary?: boolean };

/**
 * A check run, a commit status, or a workflow run without jobs (because it waits for approval or its file is invalid).
 * For a head, every run is listed, oldest first.
 */
export interface CheckNow {
  readonly of: 'check-run' | 'status' | 'workflow';
  /** REST id of the check run, which for GitHub Actions is the job's id; null if it is not a check run. */
  readonly id: number | null;
  readonly name: string;
  /** Slug of the app that created the check, such as `github-actions`; null for a status. */
  readonly app: string | null;
  /** The workflow of a GitHub Actions check; null for other apps and statuses. */
  readonly workflow: WorkflowOfCheck | null;
  /**
   * `waiting`: the check waits for a person's approval or is not reported yet. `skipped`: the check was skipped,
   * cancelled or abandoned, and so does not judge the change.
   */
  readonly result: 'passed' | 'failed' | 'running' | 'waiting' | 'skipped';
  /** GitHub's own word for the result, such as `timed_out`. */
  readonly conclusion: string;
  readonly summary: string;
  readonly url: string | null;
  /** Instant when the check began; null if unknown. */
  readonly began: number | null;
  /** Instant when the check ended, or when it began if it has not ended; null if unknown. */
  readonly at: number | null;
}

/** The workflow run that a check of GitHub Actions belongs to. */
interface WorkflowOfCheck {
  /** Path such as `.github/workflows/ci.yml`; null if not known. */
  readonly path: string | null;
  readonly name: string;
  /** Id of the workflow run. */
  readonly run: number;
  /** Event that started the run, such as `push`; empty if not known. */
  readonly event: string;
}

export interface CheckDetails {
  readonly job: string | null;
  readonly step: string | null;
  readonly annotations: readonly Annotation[];
  /** The truncated raw end of the failing step's log; null if there is no log. */
  readonly log: string | null;
  /** The reason why details are missing, as a sentence; null if nothing is missing. */
  readonly missing: string | null;
}

export interface Annotation {
  readonly path: string;
  readonly line: number | null;
  readonly level: string;
  readonly message: string;
}

/**
 * Returns why no commit may be pushed to a pull request, or null if commits may be pushed. An approved draft without
 * auto-merge is not held, because people review it again before it is merged.
 */
export function findPushHold(standing: ReviewState): Hold | null {
  const { isDraft, autoMerge, isQueued, approvedBy } = standing;
  const isApproved = !isDraft && isApprovedNow(standing);
  if (!isApproved && !autoMerge && !isQueued) return null;
  return { approvedBy: isApprovedNow(standing) ? approvedBy.slice(0, MAX_APPROVERS) : [], autoMerge, queued: isQueued };
}

/**
 * Returns true if the head is approved. A single one of several required approvals is enough, because it was given for
 * this head.
 */
function isApprovedNow({ decision, approvedBy, changesRequestedBy }: ReviewState): boolean {
  if (decision === 'approved') return true;
  return decision !== 'changes-requested' && approvedBy.length > 0 && changesRequestedBy.length === 0;
}

/** Combines the holds of two earlier heads. */
export function combineHolds(known: Hold | null, more: Hold): Hold {
  return {
    approvedBy: [...new Set([...(known?.approvedBy ?? []), ...more.approvedBy])].slice(-MAX_APPROVERS),
    autoMerge: more.autoMerge || (known?.autoMerge ?? false),
    queued: more.queued || (known?.queued ?? false),
  };
}
