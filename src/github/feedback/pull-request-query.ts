import { ACCOUNT_FRAGMENT, type Actor, type Octokit, type RepositoryName } from '../client.ts';
import type { PullRequestNow, ReviewState, ThreadNow } from '../../core/feedback/pull-request-now.ts';
import {
  askWithKnownFields,
  buildStandingFields,
  parseMergeability,
  convertStanding,
  removeUnknownFields,
  type LackingFields,
  type StandingAnswer,
} from './standing.ts';

/** Maximum number of unresolved threads, and of threads per page. */
export const MAX_UNRESOLVED_THREADS = 100;
/** Number of threads, reviews and comments per page after a query for all of them failed. */
export const SMALL_PAGE = 20;

const THREADS = `totalCount pageInfo { hasPreviousPage startCursor } nodes { ...Thread }`;

/**
 * The fields of threads. Comment numbers have outgrown `databaseId`, which has 32 bits, so `fullDatabaseId` is read.
 */
const THREAD_FRAGMENTS = `fragment Thread on PullRequestReviewThread {
  id isResolved isOutdated path line startLine originalLine diffSide startDiffSide
  first: comments(first: 1) { nodes { ...Said } }
  newest: comments(last: 50) { nodes { ...Said } }
}
fragment Said on PullRequestReviewComment {
  fullDatabaseId state isMinimized body createdAt diffHunk author { ...Account } pullRequestReview { fullDatabaseId }
}
${ACCOUNT_FRAGMENT}`;

/** Maximum number of suites of one commit; a suite is a workflow run, or the checks of another app. */
const SUITES = 50;

const suite = (runs: string) => `checkSuites(first: ${String(SUITES)}) {
  nodes {
    status conclusion createdAt url app { slug } workflowRun { databaseId url event workflow { name } file { path } }
    ${runs}
  }
}
status { contexts { context state description targetUrl createdAt } }`;

/** The checks of the head. Failed ones are requested separately, because a large matrix has more jobs than a page. */
const HEAD_FRAGMENT = `fragment Head on Commit {
  ${suite(`runs: checkRuns(first: 100, filterBy: { checkType: ALL }) { nodes { ...Run summary } }
    failed: checkRuns(first: 50, filterBy: { checkType: ALL, conclusions: [FAILURE, TIMED_OUT, STARTUP_FAILURE] }) { nodes { ...Run summary } }`)}
}`;

const BASE_FRAGMENT = `fragment Base on Commit {
  ${suite(`runs: checkRuns(first: 100, filterBy: { checkType: LATEST }) { nodes { ...Run } }
    failed: checkRuns(first: 50, filterBy: { checkType: LATEST, conclusions: [FAILURE, TIMED_OUT, STARTUP_FAILURE] }) { nodes { ...Run } }`)}
}`;

const RUN_FRAGMENT = `fragment Run on CheckRun { databaseId name status conclusion startedAt completedAt detailsUrl title }`;

/** The commit whose checks a query requests: the head, or the base branch's commit. */
export type ChecksPart = 'head' | 'base';

const CHECKS: Readonly<Record<ChecksPart, string>> = {
  head: 'commits(last: 1) { nodes { commit { ...Head } } }',
  base: 'baseRef { target { oid ...Base } }',
};

/**
 * Builds a query about the pull request of this repository's branch, because a fork may have a branch of the same name.
 */
const ofPullRequest = (fields: string) => `query ($owner: String!, $repo: String!, $branch: String!) {
  repository(owner: $owner, name: $repo) {
    ref(qualifiedName: $branch) {
      associatedPullRequests(states: OPEN, first: 1, orderBy: { field: CREATED_AT, direction: DESC }) {
        nodes { ${fields} }
      }
    }
  }
}`;

const conversationFields = (lacking: LackingFields, page: number) =>
  `number url isCrossRepository headRefOid mergeable baseRefName baseRefOid ${buildStandingFields(lacking)}
          newest: commits(last: 10) { nodes { commit { oid author { email } parents(first: 2) { nodes { oid } } } } }
          reviewThreads(last: ${String(page)}) { ${THREADS} }
          reviews(last: ${String(page)}) { nodes { fullDatabaseId url state body submittedAt author { ...Account } } }
          comments(last: ${String(page)}) { nodes { fullDatabaseId url isMinimized body createdAt author { ...Account } } }`;

/** Builds the query for everything at once. */
export const buildPullRequestQuery = (lacking: LackingFields): string =>
  removeUnknownFields(
    `${ofPullRequest(`${conversationFields(lacking, MAX_UNRESOLVED_THREADS)} ${CHECKS.base} ${CHECKS.head}`)}
${HEAD_FRAGMENT}
${BASE_FRAGMENT}
${RUN_FRAGMENT}
${THREAD_FRAGMENTS}`,
    lacking,
  );

/** Builds the query for everything but checks (threads, reviews, decisions), in smaller pages. */
export const buildConversationQuery = (lacking: LackingFields): string =>
  removeUnknownFields(
    `${ofPullRequest(`${conversationFields(lacking, SMALL_PAGE)} baseRef { target { oid } }`)}\n${THREAD_FRAGMENTS}`,
    lacking,
  );

/** Builds the query for the checks of one commit only. */
export const buildChecksQuery = (part: ChecksPart, lacking: LackingFields): string =>
  removeUnknownFields(
    `${ofPullRequest(`number isCrossRepository ${CHECKS[part]}`)}
${part === 'head' ? HEAD_FRAGMENT : BASE_FRAGMENT}
${RUN_FRAGMENT}`,
    lacking,
  );

/** Builds the query for threads before the known ones, in pages of this size. */
export const buildThreadsQuery = (page: number, lacking: LackingFields): string =>
  removeUnknownFields(
    `query ($owner: String!, $repo: String!, $number: Int!, $before: String!) {
  repository(owner: $owner, name: $repo) {
    pullRequest(number: $number) { reviewThreads(last: ${String(page)}, before: $before) { ${THREADS} } }
  }
}
${THREAD_FRAGMENTS}`,
    lacking,
  );

/** Number of commits before the tip of a base branch that are searched for the state of a check. */
const EARLIER_COMMITS = 5;

/**
 * Builds the fields of earlier commits. Follows only the first parent of a merge, not the commits of the merged pull
 * request.
 */
const before = (more: number): string =>
  `parents(first: 1) { nodes { ...Base ${more === 1 ? '' : before(more - 1)} } }`;

/** The query for the checks of the commits before a commit. */
export const EARLIER_CHECKS_QUERY = `query ($owner: String!, $repo: String!, $tip: GitObjectID!) {
  repository(owner: $owner, name: $repo) { object(oid: $tip) { ... on Commit { ${before(EARLIER_COMMITS)} } } }
}
${BASE_FRAGMENT}
${RUN_FRAGMENT}`;

/** A commit with the requested number of commits before it. */
interface EarlierCommit extends CommitAnswer {
  readonly parents?: Nodes<EarlierCommit>;
}

export interface EarlierChecksAnswer {
  readonly repository: { readonly object: Pick<EarlierCommit, 'parents'> | null };
}

/** Returns the commits before a commit, oldest first. */
export function selectCommitsBefore({ parents }: Pick<EarlierCommit, 'parents'>): readonly CommitAnswer[] {
  return keepShownEntries(parents).flatMap((parent) => [...selectCommitsBefore(parent), parent]);
}

/** The answer to a query about the pull request of a branch, with the requested fields. */
export interface BranchAnswer<Fields> {
  readonly repository: { readonly ref: { readonly associatedPullRequests: Nodes<Fields> } | null };
}

/** The answer to `buildChecksQuery`. */
export type ChecksAnswer = BranchAnswer<Partial<Pick<PullAnswer, 'baseRef' | 'commits'>>>;

export interface ThreadsAnswer {
  readonly repository: { readonly pullRequest: { readonly reviewThreads: ThreadPage } };
}

/** A list in GraphQL. An entry that could not be shown is null, and a list that was refused is null as a whole. */
export interface Nodes<T> {
  readonly nodes: readonly (T | null)[] | null;
}

/** The author of a commit as git names it; each part that git lacks is null. */
export interface CommitAuthor {
  readonly author: { readonly email: string | null } | null;
}

/** Returns the address of a commit's author; empty if it has none. */
export function emailOfAuthor({ author }: CommitAuthor): string {
  return author?.email ?? '';
}

export interface PullAnswer extends StandingAnswer {
  readonly number: number;
  readonly url: string;
  readonly isCrossRepository: boolean;
  readonly headRefOid: string;
  readonly mergeable: 'MERGEABLE' | 'CONFLICTING' | 'UNKNOWN';
  readonly baseRefName: string;
  readonly baseRefOid: string;
  /** The base branch, or null if it was deleted. */
  readonly baseRef: { readonly target: (CommitAnswer & { readonly oid: string }) | null } | null;
  readonly commits: Nodes<{ readonly commit: CommitAnswer }>;
  readonly newest: Nodes<{
    readonly commit: CommitAuthor & { readonly oid: string; readonly parents: Nodes<{ readonly oid: string }> };
  }>;
  readonly reviewThreads: ThreadPage;
  readonly reviews: Nodes<ReviewAnswer> | null;
  readonly comments: Nodes<PlainCommentAnswer> | null;
}

export interface ThreadPage extends Nodes<ThreadAnswer> {
  readonly totalCount: number;
  readonly pageInfo: { readonly hasPreviousPage: boolean; readonly startCursor: string | null };
}

export interface ThreadAnswer extends Pick<
  ThreadNow,
  'id' | 'isOutdated' | 'path' | 'line' | 'startLine' | 'originalLine'
> {
  readonly isResolved: boolean;
  readonly diffSide: 'LEFT' | 'RIGHT';
  readonly startDiffSide?: 'LEFT' | 'RIGHT' | null;
  readonly first: Nodes<CommentAnswer>;
  readonly newest: Nodes<CommentAnswer>;
}

export interface CommentAnswer {
  readonly fullDatabaseId: string | null;
  readonly state: 'PENDING' | 'SUBMITTED';
  readonly isMinimized: boolean;
  readonly body: string;
  readonly createdAt: string;
  readonly diffHunk: string;
  readonly author: Actor | null;
  readonly pullRequestReview: { readonly fullDatabaseId: string | null } | null;
}

/** A comment outside of reviews. */
export type PlainCommentAnswer = Pick<
  CommentAnswer,
  'fullDatabaseId' | 'isMinimized' | 'body' | 'createdAt' | 'author'
> &
  Pick<ReviewAnswer, 'url'>;

export interface ReviewAnswer {
  readonly fullDatabaseId: string | null;
  readonly url: string;
  readonly state: 'APPROVED' | 'CHANGES_REQUESTED' | 'COMMENTED' | 'DISMISSED' | 'PENDING';
  readonly body: string;
  readonly submittedAt: string | null;
  readonly author: Actor | null;
}

export interface CommitAnswer {
  readonly checkSuites: Nodes<SuiteAnswer> | null;
  readonly status: { readonly contexts: readonly StatusAnswer[] } | null;
}

export interface SuiteAnswer {
  readonly status: string;
  readonly conclusion: string | null;
  readonly createdAt: string;
  readonly url: string;
  readonly app: { readonly slug: string } | null;
  /** The workflow run, or null if the suite does not belong to GitHub Actions. */
  readonly workflowRun: {
    readonly databaseId: number | null;
    readonly url: string;
    readonly event: string;
    readonly workflow: { readonly name: string };
    readonly file?: { readonly path: string } | null;
  } | null;
  readonly runs: Nodes<CheckRunAnswer> | null;
  readonly failed?: Nodes<CheckRunAnswer> | null;
}

export interface CheckRunAnswer {
  readonly databaseId: number | null;
  readonly name: string;
  readonly status: string;
  readonly conclusion: string | null;
  readonly startedAt: string | null;
  readonly completedAt: string | null;
  readonly detailsUrl: string | null;
  readonly title: string | null;
  /** The summary, which is requested for the head only. */
  readonly summary?: string | null;
}

export interface StatusAnswer {
  readonly context: string;
  readonly state: string;
  readonly description: string | null;
  readonly targetUrl: string | null;
  readonly createdAt: string;
}

/** Returns the entries that GitHub could show. */
export function keepShownEntries<T>(list: Nodes<T> | null | undefined): readonly T[] {
  return (list?.nodes ?? []).filter((node) => node !== null);
}

/**
 * Reads people's decisions on the open pull request of a branch, and its mergeability; returns null if there is no such
 * pull request. Sends one request, or two to a server that does not know all fields.
 */
export async function readStanding(
  octokit: Octokit,
  at: RepositoryName,
  branch: string,
): Promise<(ReviewState & Pick<PullRequestNow, 'mergeable'>) | null> {
  const queryFor = (lacking: LackingFields): string =>
    `${ofPullRequest(`isCrossRepository mergeable ${buildStandingFields(lacking)}`)}\n${ACCOUNT_FRAGMENT}`;
  const { repository } = await askWithKnownFields((lacking) =>
    octokit.graphql<BranchAnswer<StandingAnswer & Pick<PullAnswer, 'isCrossRepository' | 'mergeable'>>>(
      removeUnknownFields(queryFor(lacking), lacking),
      { ...at, branch: `refs/heads/${branch}` },
    ),
  );
  const [pull] = keepShownEntries(repository.ref?.associatedPullRequests);
  if (pull === undefined || pull.isCrossRepository) return null;
  return { ...convertStanding(pull), mergeable: parseMergeability(pull.mergeable) };
}
