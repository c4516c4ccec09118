import type { ObjectId } from '../evidence.ts';

/** What a feedback task answers: a thread of a review, what a review says as a whole, a failed check, a base branch that conflicts. */
export type Subject = ThreadSubject | ReviewSubject | CheckSubject | ConflictSubject;

export interface ThreadSubject {
  readonly kind: 'thread';
  /** GraphQL id of the thread, and REST id of its first comment. */
  readonly thread: string;
  readonly replyTo: number;
  /** REST id of the newest comment that asks. */
  readonly asked: number;
  readonly by: string;
  readonly path: string;
  readonly line: number | null;
  /** A change that its newest comment spells out and that nobody has applied; null: there is none. */
  readonly suggestion: Suggestion | null;
}

/** Lines of a file to replace, 1-based and both included, and what a reviewer saw there and wants there. */
export interface Suggestion {
  readonly from: number;
  readonly to: number;
  readonly old: readonly string[];
  readonly lines: readonly string[];
}

interface ReviewSubject {
  readonly kind: 'review';
  /** REST id of the review. */
  readonly review: number;
  readonly by: string;
}

interface CheckSubject {
  readonly kind: 'check';
  readonly name: string;
  /** The commit that it failed on. */
  readonly head: ObjectId;
}

interface ConflictSubject {
  readonly kind: 'conflict';
  readonly branch: string;
  /** The tip that conflicts. */
  readonly base: ObjectId;
}

/** They come before every other task: 1 is the highest that people can give. */
export const FEEDBACK_PRIORITY: Readonly<Record<Subject['kind'], number>> = {
  conflict: -3,
  thread: -2,
  review: -1,
  check: 0,
};

/** Id of the task that a thread is, by the REST id of its first comment. */
export function threadTaskId(comment: number): string {
  return `thread-${comment}`;
}

/** Id of the task that a review as a whole is, by its REST id. */
export function reviewTaskId(review: number): string {
  return `review-${review}`;
}

/** Id of the task that a merge of the base branch is: a lane has one base. */
export const CONFLICT_TASK = 'conflict-base';

/** Whether the task answers people or CI: the lane was not made for it. */
export function isFeedback(id: string): boolean {
  return /^(?:thread|review)-[1-9]\d{0,15}$|^check-[0-9a-f]{12}$/.test(id) || id === CONFLICT_TASK;
}
