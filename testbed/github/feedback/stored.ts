import type { Person } from '../accounts.ts';

export type ReviewState = 'APPROVED' | 'CHANGES_REQUESTED' | 'COMMENTED' | 'DISMISSED' | 'PENDING';

export interface StoredReview {
  readonly id: number;
  readonly pull: number;
  readonly author: Person;
  state: ReviewState;
  body: string;
  /** The time of submission, or null for a pending review, which only its author can see. */
  readonly submittedAt: number | null;
}

/** A conversation about lines of a pull request. */
export interface StoredThread {
  readonly id: number;
  readonly pull: number;
  readonly path: string;
  /** The line in the newest head, or null if it no longer exists or the thread is about the file. */
  line: number | null;
  startLine: number | null;
  readonly originalLine: number | null;
  readonly side: 'LEFT' | 'RIGHT';
  /** The side of the first line, or null for a thread about a single line. */
  readonly startSide: 'LEFT' | 'RIGHT' | null;
  readonly hunk: string;
  isOutdated: boolean;
  isResolved: boolean;
  readonly comments: StoredReviewComment[];
}

export interface StoredReviewComment {
  readonly id: number;
  readonly review: number;
  readonly author: Person;
  readonly createdAt: number;
  body: string;
  updatedAt: number;
  minimized: boolean;
}

export type Status = 'QUEUED' | 'IN_PROGRESS' | 'COMPLETED' | 'WAITING' | 'REQUESTED' | 'PENDING';
export type Conclusion =
  | 'ACTION_REQUIRED'
  | 'CANCELLED'
  | 'FAILURE'
  | 'NEUTRAL'
  | 'SKIPPED'
  | 'STALE'
  | 'STARTUP_FAILURE'
  | 'SUCCESS'
  | 'TIMED_OUT';

/** A run of a workflow, or all checks of another app for a commit. */
export interface StoredSuite {
  readonly id: number;
  readonly head: string;
  /** The slug of the app. */
  readonly app: string;
  /** The workflow run, or null if the app is not GitHub Actions. */
  readonly workflow: StoredWorkflowRun | null;
  status: Status;
  conclusion: Conclusion | null;
  readonly createdAt: number;
  readonly runs: StoredCheckRun[];
}

export interface StoredWorkflowRun {
  readonly id: number;
  readonly name: string;
  readonly path: string;
  readonly event: string;
}

/** A check run; for GitHub Actions it is also the job of the same id. */
export interface StoredCheckRun {
  readonly id: number;
  readonly name: string;
  status: Status;
  conclusion: Conclusion | null;
  readonly startedAt: number;
  completedAt: number | null;
  readonly title: string | null;
  readonly summary: string | null;
  readonly annotations: readonly StoredAnnotation[];
  readonly steps: readonly StoredCheckStep[];
  readonly log: StoredLog;
}

export interface StoredAnnotation {
  readonly path: string;
  readonly line: number;
  readonly level: 'notice' | 'warning' | 'failure';
  readonly message: string;
}

export interface StoredCheckStep {
  readonly name: string;
  readonly conclusion: 'success' | 'failure' | 'skipped' | 'cancelled';
  readonly startedAt: number;
  readonly completedAt: number;
}

/**
 * A log as GitHub keeps it. `expired`: GitHub has deleted it. `never-ends`: the storage stops halfway and keeps the
 * connection open. `endless`: the content repeats forever.
 */
export type StoredLog =
  | { readonly kind: 'text' | 'zip' | 'never-ends' | 'endless'; readonly content: string | Buffer }
  | { readonly kind: 'expired' };

export interface StoredStatus {
  readonly head: string;
  readonly context: string;
  readonly state: 'ERROR' | 'EXPECTED' | 'FAILURE' | 'PENDING' | 'SUCCESS';
  readonly description: string | null;
  readonly targetUrl: string | null;
  readonly createdAt: number;
}
