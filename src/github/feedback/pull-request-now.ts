import type { PullRequestNow, ReviewNow, ThreadComment, ThreadNow } from '../../core/feedback/pull-request-now.ts';
import type { Log } from '../../ports/machine.ts';
import { toAccount } from '../accounts.ts';
import type { Client, Octokit, RepositoryName } from '../client.ts';
import { checksOf } from './checks-now.ts';
import {
  type CommentAnswer,
  MOST_THREADS,
  type PullAnswer,
  pullRequestQuery,
  type PullRequestAnswer,
  type ReviewAnswer,
  shown,
  type ThreadAnswer,
  type ThreadPage,
  THREADS_QUERY,
  type ThreadsAnswer,
} from './pull-request-query.ts';
import { besideRefused, type RefusedParts } from './refused-parts.ts';
import { besideUnknown, headOf, mergeabilityOf, toStanding } from './standing.ts';

/** Pages of threads beyond the first: 500 threads in all. */
const MORE_PAGES = 4;

/** Reads what people and CI say of the open pull request of a branch; null: there is none. */
export function readPullRequest({ ask }: Client, log: Log): (branch: string) => Promise<PullRequestNow | null> {
  return (branch) =>
    ask(
      { doing: `read what is said of the pull request of ${branch}`, needs: ['pull-requests: read'] },
      async (octokit, at) => {
        const { data, refused } = await besideUnknown((lacking) =>
          besideRefused(
            octokit.graphql<PullRequestAnswer>(pullRequestQuery(lacking), { ...at, branch: `refs/heads/${branch}` }),
          ),
        );
        const [pull] = shown(data.repository.ref?.associatedPullRequests);
        if (pull === undefined || pull.isCrossRepository) return null;
        if (refused.checks === null && refused.statuses !== null)
          log.info(`Commit statuses are not read. ${refused.statuses}`);
        const threads = await allThreads(octokit, at, pull);
        const mergeable = mergeabilityOf(pull.mergeable);
        const askedTwice =
          mergeable === 'unknown' ? ((await headOf(octokit, at, branch))?.mergeable ?? mergeable) : mergeable;
        return toPullRequest({ pull, threads, refused, mergeable: askedTwice });
      },
    );
}

interface Threads {
  /** Not resolved; the newest, oldest first. */
  readonly open: readonly ThreadNow[];
  readonly more: number;
}

/** GitHub cannot leave out what is resolved, so that a long review may hide an open thread behind resolved ones. */
async function allThreads(
  octokit: Octokit,
  at: RepositoryName,
  { number, reviewThreads }: PullAnswer,
): Promise<Threads> {
  const isOpen = ({ isResolved }: ThreadAnswer): boolean => !isResolved;
  let page: ThreadPage = reviewThreads;
  let unread = page.totalCount - (page.nodes?.length ?? 0);
  const open = shown(page).filter(isOpen);
  for (let more = 0; more < MORE_PAGES && open.length < MOST_THREADS && page.pageInfo.hasPreviousPage; more += 1) {
    const { repository } = await octokit.graphql<ThreadsAnswer>(THREADS_QUERY, {
      ...at,
      number,
      before: page.pageInfo.startCursor,
    });
    page = repository.pullRequest.reviewThreads;
    unread -= page.nodes?.length ?? 0;
    open.unshift(...shown(page).filter(isOpen));
  }
  const threads = open
    .map(toThread)
    .filter((thread) => thread !== null)
    .toSorted((left, right) => startOf(left) - startOf(right));
  const beyond = Math.max(0, threads.length - MOST_THREADS);
  return { open: threads.slice(beyond), more: beyond + Math.max(0, unread) };
}

function toPullRequest({
  pull,
  threads,
  refused,
  mergeable,
}: {
  readonly pull: PullAnswer;
  readonly threads: Threads;
  readonly refused: RefusedParts;
  readonly mergeable: PullRequestNow['mergeable'];
}): PullRequestNow {
  const base = pull.baseRef?.target ?? null;
  return {
    ...toStanding(pull),
    number: pull.number,
    url: pull.url,
    head: pull.headRefOid,
    base: { branch: pull.baseRefName, tip: base?.oid ?? pull.baseRefOid },
    mergeable,
    threads: threads.open,
    moreThreads: threads.more,
    reviews: shown(pull.reviews).flatMap(toReview),
    checks:
      refused.checks === null
        ? { kind: 'known', head: checksOf(shown(pull.commits)[0]?.commit ?? null), base: checksOf(base) }
        : { kind: 'unreadable', why: refused.checks },
  };
}

/** null: nothing of it was submitted yet. */
function toThread(answer: ThreadAnswer): ThreadNow | null {
  const [first] = shown(answer.first).flatMap(toComment);
  if (first === undefined) return null;
  const others = shown(answer.newest)
    .filter(({ isMinimized }) => !isMinimized)
    .flatMap(toComment)
    .filter(({ id }) => id !== first.id);
  const { id, isOutdated, path, line, startLine, originalLine, diffSide, startDiffSide } = answer;
  return {
    ...{ id, isOutdated, path, line, startLine, originalLine },
    side: sides[diffSide],
    startSide: startDiffSide === null ? null : sides[startDiffSide],
    comments: [first, ...others],
  };
}

const sides = { LEFT: 'left', RIGHT: 'right' } as const;

function startOf({ comments: [first] }: ThreadNow): number {
  return first?.at ?? 0;
}

/** A person's own comments can be seen by their token before they are submitted. What is hidden has no text. */
function toComment(answer: CommentAnswer): readonly ThreadComment[] {
  const id = numberOf(answer.fullDatabaseId);
  if (id === null || answer.state === 'PENDING') return [];
  const comment: ThreadComment = {
    id,
    review: numberOf(answer.pullRequestReview?.fullDatabaseId ?? null),
    by: toAccount(answer.author),
    text: answer.isMinimized ? '' : answer.body,
    at: Date.parse(answer.createdAt),
    hunk: answer.diffHunk,
  };
  return [comment];
}

function toReview({ fullDatabaseId, url, state, body, submittedAt, author }: ReviewAnswer): readonly ReviewNow[] {
  const id = numberOf(fullDatabaseId);
  if (id === null) return [];
  const review: ReviewNow = {
    id,
    url,
    by: toAccount(author),
    state: reviewStates[state],
    text: body,
    at: submittedAt === null ? null : Date.parse(submittedAt),
  };
  return [review];
}

const reviewStates = {
  APPROVED: 'approved',
  CHANGES_REQUESTED: 'changes-requested',
  COMMENTED: 'commented',
  DISMISSED: 'dismissed',
  PENDING: 'pending',
} as const;

/** A number with 64 bits comes as text. */
function numberOf(text: string | null): number | null {
  const number = Number(text ?? Number.NaN);
  return Number.isSafeInteger(number) && number > 0 ? number : null;
}
