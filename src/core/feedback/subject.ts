import type { ObjectId } from '../evidence.ts';

/**
 * The subject of a feedback task: a review thread, a review as a whole, a comment on the pull request, a failed check,
 * or a conflict with the base branch.
 */
export type FeedbackSubject = ThreadSubject | ReviewSubject | CheckSubject | ConflictSubject;

export interface ThreadSubject {
  readonly kind: 'thread';
  /** GraphQL id of the thread. */
  readonly thread: string;
  /** REST id of the thread's first comment. */
  readonly replyTo: number;
  /** REST id of the newest comment that requests something. */
  readonly asked: number;
  readonly by: string;
  readonly path: string;
  readonly line: number | null;
  /** The suggested change of that comment, if nobody has applied it; null if none. */
  readonly suggestion: Suggestion | null;
}

/** Lines of a file to replace, 1-based and inclusive. */
export interface Suggestion {
  readonly from: number;
  readonly to: number;
  /** The text that the reviewer saw. */
  readonly old: readonly string[];
  /** The suggested text. */
  readonly lines: readonly string[];
}

interface ReviewSubject {
  readonly kind: 'review' | 'comment';
  /** REST id of the review, or of the comment. */
  readonly review: number;
  readonly by: string;
}

interface CheckSubject {
  readonly kind: 'check';
  readonly name: string;
  /** The commit that the check failed on. */
  readonly head: ObjectId;
}

interface ConflictSubject {
  readonly kind: 'conflict';
  readonly branch: string;
  /** The tip of the conflicting base branch. */
  readonly base: ObjectId;
}

/** Priorities of feedback tasks. All are ahead of 1, the highest priority that people can set. */
export const FEEDBACK_PRIORITY: Readonly<Record<FeedbackSubject['kind'], number>> = {
  conflict: -3,
  thread: -2,
  review: -1,
  comment: -1,
  check: 0,
};

/** Returns the id of a thread's task, from the REST id of the thread's first comment. */
export function formatThreadTaskId(comment: number): string {
  return `thread-${comment}`;
}

/** Returns the id of a review's task, from the review's REST id. */
export function formatReviewTaskId(review: number): string {
  return `review-${review}`;
}

/** Returns the id of a pull request comment's task, from the comment's REST id. */
export function formatCommentTaskId(comment: number): string {
  return `comment-${comment}`;
}

/** Returns true if a person requests the change, rather than CI or the base branch. */
export function isOfPeople(kind: FeedbackSubject['kind']): kind is 'thread' | 'review' | 'comment' {
  return kind === 'thread' || isAnsweredByComment(kind);
}

/** Returns true if Ralph answers with a comment on the pull request. */
export function isAnsweredByComment(kind: FeedbackSubject['kind']): kind is 'review' | 'comment' {
  return kind === 'review' || kind === 'comment';
}

/** Id of the task that merges the base branch; a lane has only one base. */
export const CONFLICT_TASK = 'conflict-base';

/** Returns true if a task comes from people or CI on the pull request, rather than from the lane's own sources. */
export function isFeedback(id: string): boolean {
  return /^(?:thread|review|comment)-[1-9]\d{0,15}$|^check-[0-9a-f]{12}$/.test(id) || id === CONFLICT_TASK;
}
