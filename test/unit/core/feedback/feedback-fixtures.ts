import type {
  Author,
  PullRequestNow,
  ReviewNow,
  ReviewState,
  ThreadComment,
  ThreadNow,
} from '../../../../src/core/feedback/pull-request-now.ts';
import { selectThreadsToAnswer, type AskedThread } from '../../../../src/core/feedback/reviews/threads.ts';
import { MINUTE, noon } from '../core-fixtures.ts';

export const ada: Author = { login: 'Ada', id: 1, kind: 'user' };
export const ben: Author = { login: 'ben', id: 2, kind: 'user' };
export const eve: Author = { login: 'eve', id: 9, kind: 'user' };
export const actions: Author = { login: 'github-actions', id: 41898282, kind: 'bot' };

/** True if an author may write, as Ada and Ben may. */
export function isTrusted({ login }: Author): boolean {
  return ['Ada', 'ben'].includes(login);
}

/** Returns the instant `minutes` after noon. */
export function at(minutes: number): number {
  return noon + minutes * MINUTE;
}

const HUNK = '@@ -1,2 +10,3 @@\n one\n-two\n+deux\n+trois';

/** Returns the comment `id`, written `id` minutes after noon. */
export function comment(
  id: number,
  by: Author | null,
  text: string,
  change: Partial<ThreadComment> = {},
): ThreadComment {
  return { id, review: null, by, text, at: at(id), hunk: HUNK, ...change };
}

export function answer(id: number, asked: number | null, change: Partial<ThreadComment> = {}): ThreadComment {
  const of = asked === null ? '' : ` asked=${String(asked)}`;
  return comment(id, actions, `<!-- ralph-action:answer thread-1${of} -->\nDone in abc1234.`, change);
}

export function thread(comments: readonly ThreadComment[], change: Partial<ThreadNow> = {}): ThreadNow {
  return {
    id: 'PRRT_1',
    isOutdated: false,
    path: 'src/a.js',
    line: 12,
    startLine: null,
    originalLine: 7,
    side: 'right',
    startSide: null,
    comments,
    ...change,
  };
}

/** Returns the review `id`, submitted `minutes` after noon. */
export function review(
  id: number,
  by: Author | null,
  state: ReviewNow['state'],
  minutes: number,
  text = '',
): ReviewNow {
  return {
    id,
    url: `https://example.test/pull/5#pullrequestreview-${String(id)}`,
    by,
    state,
    text,
    at: state === 'pending' ? null : at(minutes),
  };
}

/** A pull request that is ready and has no decision yet. */
export const standing: ReviewState = {
  id: 'PR_5',
  isDraft: false,
  decision: null,
  approvedBy: [],
  changesRequestedBy: [],
  autoMerge: false,
  isQueued: false,
};

export function pullRequestNow(change: Partial<PullRequestNow> = {}): PullRequestNow {
  return {
    ...standing,
    number: 5,
    url: 'https://example.test/pull/5',
    head: 'a'.repeat(40),
    heads: ['a'.repeat(40)],
    base: { branch: 'main', tip: 'b'.repeat(40) },
    mergeable: 'mergeable',
    threads: [],
    moreThreads: 0,
    reviews: [],
    comments: [],
    checks: { kind: 'known', head: [], base: [] },
    ...change,
  };
}

/** Returns the request in one thread, or null if none. */
export function askedIn(
  comments: readonly ThreadComment[],
  reviews: readonly ReviewNow[] = [],
  change: Partial<ThreadNow> = {},
): AskedThread | null {
  const now = pullRequestNow({ threads: [thread(comments, change)], reviews });
  return selectThreadsToAnswer(now, isTrusted, {}).asked[0] ?? null;
}
