import { personOf } from '../accounts.ts';
import { type GitHubState, createStoredId } from '../state.ts';
import type { ReviewState, StoredReview, StoredReviewComment, StoredThread } from './stored.ts';

/** A review comment on a line, or on the lines from `startLine` to `line`. */
export interface WrittenAtLine {
  readonly path: string;
  /** The line, or null for a comment on the whole file. */
  readonly line: number | null;
  readonly startLine?: number;
  readonly side?: 'LEFT' | 'RIGHT';
  /** The side of the first line; defaults to the side of the last line. */
  readonly startSide?: 'LEFT' | 'RIGHT';
  /** The part of the diff that ends with the line. */
  readonly hunk?: string;
  readonly body: string;
}

/** Submits a review as `by` would on the site: each of its comments begins a thread. */
export function submitReview(
  state: GitHubState,
  review: {
    readonly pull: number;
    readonly by: string;
    readonly state: ReviewState;
    readonly body?: string;
    readonly comments?: readonly WrittenAtLine[];
  },
  now: number,
): { readonly review: StoredReview; readonly threads: readonly StoredThread[] } {
  const author = personOf(state, review.by);
  const submitted: StoredReview = {
    id: createStoredId(state),
    pull: review.pull,
    author,
    state: review.state,
    body: review.body ?? '',
    submittedAt: review.state === 'PENDING' ? null : now,
  };
  const threads = (review.comments ?? []).map((written) =>
    beginThread(state, written, { pull: review.pull, comment: { review: submitted.id, author, now } }),
  );
  state.reviews.push(submitted);
  state.threads.push(...threads);
  return { review: submitted, threads };
}

type Written = Pick<StoredReviewComment, 'review' | 'author'> & { readonly now: number };

function beginThread(
  state: GitHubState,
  { path, line, startLine, side = 'RIGHT', startSide = side, hunk, body }: WrittenAtLine,
  { pull, comment }: { readonly pull: number; readonly comment: Written },
): StoredThread {
  return {
    id: createStoredId(state),
    pull,
    path,
    line,
    startLine: startLine ?? null,
    originalLine: line,
    side,
    startSide: startLine === undefined ? null : startSide,
    hunk: hunk ?? `@@ -1,${String(line ?? 1)} +1,${String(line ?? 1)} @@`,
    isOutdated: false,
    isResolved: false,
    comments: [newComment(state, body, comment)],
  };
}

function newComment(state: GitHubState, body: string, { review, author, now }: Written): StoredReviewComment {
  return { id: createStoredId(state), review, author, createdAt: now, body, updatedAt: now, minimized: false };
}

/** Answers in a thread; GitHub creates a separate review for each answer. */
export function answerThread(
  state: GitHubState,
  thread: StoredThread,
  { by, body, now }: { readonly by: string; readonly body: string; readonly now: number },
): StoredReviewComment {
  const { review } = submitReview(state, { pull: thread.pull, by, state: 'COMMENTED' }, now);
  const comment = newComment(state, body, { review: review.id, author: review.author, now });
  thread.comments.push(comment);
  return comment;
}

export function editReviewComment(
  comment: StoredReviewComment,
  { body, now }: { readonly body: string; readonly now: number },
): void {
  Object.assign(comment, { body, updatedAt: now });
}

/** Deletes a review comment; a thread is deleted with its last comment. */
export function deleteReviewComment(state: GitHubState, id: number): void {
  const thread = threadWith(state, id);
  if (thread === null) throw new Error(`The stand-in has no review comment ${String(id)}.`);
  thread.comments.splice(
    thread.comments.findIndex((comment) => comment.id === id),
    1,
  );
  if (thread.comments.length === 0) state.threads.splice(state.threads.indexOf(thread), 1);
}

/** Marks the thread as outdated, because its lines have changed since. */
export function outdateThread(thread: StoredThread): void {
  Object.assign(thread, { isOutdated: true, line: null, startLine: null });
}

/** Dismisses a review; its requests no longer have to be fulfilled. */
export function dismissReview(review: StoredReview): void {
  review.state = 'DISMISSED';
}

/** Returns the thread that contains the comment, or null if none. */
function threadWith(state: GitHubState, comment: number): StoredThread | null {
  return state.threads.find(({ comments }) => comments.some(({ id }) => id === comment)) ?? null;
}
