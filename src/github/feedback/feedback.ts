import { setTimeout } from 'node:timers/promises';
import type { CheckNow, WaitingPullRequest } from '../../core/feedback/pull-request-now.ts';
import type { ClosedPull } from '../../core/snapshot/stored-pull.ts';
import { UserError } from '../../errors.ts';
import type { ForgeAdapter } from '../../ports/forge.ts';
import { fitBody, readPullsByNumber } from '../pull-requests.ts';
import { type Client, type ForgeOptions, usualPace } from '../client.ts';
import { mayWorkInParts } from '../graphql/errors.ts';
import { loadCheckDetails } from './check-details.ts';
import { armAutoMerge, disarmAutoMerge } from './auto-merge.ts';
import { readAllowedParts, listChecks } from './checks-now.ts';
import { COMPUTES_SECONDS, withdrawFromMerging, createPullRequestReader } from './pull-request-now.ts';
import {
  type CommitAuthor,
  selectCommitsBefore,
  emailOfAuthor,
  EARLIER_CHECKS_QUERY,
  type EarlierChecksAnswer,
  type Nodes,
  keepShownEntries,
  readStanding,
} from './pull-request-query.ts';
import {
  askWithKnownFields,
  convertDecision,
  type LackingFields,
  parseMergeability,
  type StandingAnswer,
} from './standing.ts';

/** Maximum number of open pull requests that are read; those with the oldest changes wait until others are merged. */
const MAX_READ = 200;

/** Number of pull requests per page; GitHub is asked again for small pages if it fails on large ones. */
const PAGE = 50;

const SMALL_PAGE = 10;

/** Number of the newest commits of each closed pull request. */
const NEWEST_COMMITS = 5;

/**
 * Fields that an older Enterprise server may not know. It is then unknown whether a rule requires an up-to-date branch.
 */
const RULES =
  'defaultBranchRef { name rules(first: 100) { nodes { parameters { ... on RequiredStatusChecksParameters { strictRequiredStatusChecksPolicy } } } } }';

const CLOSED = `number isCrossRepository headRefName headRefOid state closedAt mergeCommit { oid }
        newest: commits(last: ${String(NEWEST_COMMITS)}) { nodes { commit { oid message author { email } } } }`;

const queryWithout = (
  lacking: LackingFields,
): string => `query ($owner: String!, $repo: String!, $first: Int!, $after: String) {
  repository(owner: $owner, name: $repo) {
    ${lacking.has('rules') || lacking.has('RequiredStatusChecksParameters') ? '' : RULES}
    pullRequests(states: OPEN, first: $first, after: $after, orderBy: { field: UPDATED_AT, direction: DESC }) {
      pageInfo { hasNextPage endCursor }
      nodes {
        number isCrossRepository headRefName headRefOid baseRefName baseRefOid mergeable baseRef { target { oid } }
        isDraft reviewDecision reviewRequests(first: 1) { totalCount } createdAt ${['mergeStateStatus', 'autoMergeRequest { enabledAt }'].filter((field) => !lacking.has(field.split(' ')[0] ?? '')).join(' ')}
        commits(last: 1) { nodes { commit { statusCheckRollup { state } } } }
      }
    }
    closed: pullRequests(states: [MERGED, CLOSED], first: $first, orderBy: { field: UPDATED_AT, direction: DESC }) {
      nodes {
        ${CLOSED}
      }
    }
  }
}`;

interface PageAnswer {
  readonly repository: {
    readonly defaultBranchRef?: {
      readonly name: string;
      readonly rules: Nodes<{
        readonly parameters: { readonly strictRequiredStatusChecksPolicy?: boolean } | null;
      }> | null;
    } | null;
    readonly pullRequests: Nodes<PullAnswer> & {
      readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
    };
    readonly closed?: Nodes<ClosedAnswer> | null;
  };
}

interface ClosedAnswer extends Pick<PullAnswer, 'number' | 'isCrossRepository' | 'headRefName' | 'headRefOid'> {
  readonly state: 'MERGED' | 'CLOSED' | 'OPEN';
  readonly closedAt: string | null;
  readonly mergeCommit: { readonly oid: string } | null;
  readonly newest: Nodes<{ readonly commit: CommitAuthor & { readonly oid: string; readonly message: string } }> | null;
}

interface PullAnswer {
  readonly number: number;
  readonly isCrossRepository: boolean;
  readonly headRefName: string;
  readonly headRefOid: string;
  readonly baseRefName: string;
  readonly baseRefOid: string;
  readonly isDraft: boolean;
  readonly reviewDecision: StandingAnswer['reviewDecision'];
  readonly reviewRequests: { readonly totalCount: number } | null;
  readonly createdAt: string;
  readonly mergeStateStatus?: string;
  readonly autoMergeRequest?: { readonly enabledAt: string | null } | null;
  readonly mergeable: string;
  readonly baseRef: { readonly target: { readonly oid: string } | null } | null;
  readonly commits: Nodes<{ readonly commit: { readonly statusCheckRollup: { readonly state: string } | null } }>;
}

const rollups: Readonly<Record<string, WaitingPullRequest['checks']>> = {
  SUCCESS: 'passed',
  FAILURE: 'failed',
  ERROR: 'failed',
};

type FeedbackMethods = Pick<
  ForgeAdapter,
  | 'pullRequestNow'
  | 'headNow'
  | 'withdrawFromMerging'
  | 'armAutoMerge'
  | 'disarmAutoMerge'
  | 'waitingPullRequests'
  | 'closedAmong'
  | 'checksBefore'
  | 'checkDetails'
  | 'replyInThread'
  | 'resolveThread'
>;

/** Creates the access to feedback: it reads what people and CI say about a pull request, and answers them. */
export function createFeedbackMethods(
  client: Client,
  options: Pick<ForgeOptions, 'apiUrl' | 'log' | 'pace'>,
): FeedbackMethods {
  const { ask } = client;
  return {
    pullRequestNow: createPullRequestReader(client, options),
    headNow: (branch) =>
      ask(
        { doing: `read the review decision on the pull request of ${branch}`, needs: ['pull-requests: read'] },
        (octokit, at) => readStanding(octokit, at, branch),
      ),
    withdrawFromMerging: (number, standing) => withdrawFromMerging(client, number, standing),
    armAutoMerge: (branch, head) => armAutoMerge(client, { branch, head }),
    disarmAutoMerge: (branch) => disarmAutoMerge(client, branch),
    waitingPullRequests: async (prefix) => {
      const listed = await waitingPullRequests(client, prefix);
      if (listed.open.every(({ mergeable }) => mergeable !== 'unknown')) return listed;
      await setTimeout(COMPUTES_SECONDS * (options.pace ?? usualPace).secondMs);
      return waitingPullRequests(client, prefix);
    },
    closedAmong: (numbers) =>
      ask({ doing: 'look at closed pull requests', needs: ['pull-requests: read'] }, async (octokit, at) =>
        (await readPullsByNumber<ClosedAnswer>(octokit, at, { numbers, fields: CLOSED })).flatMap((pull) =>
          toClosed(pull, ''),
        ),
      ),
    checksBefore: (tip) => checksBefore(client, tip),
    checkDetails: (check) => loadCheckDetails(client, check, options),

    replyInThread: (number, { replyTo, body }) =>
      ask({ doing: `answer a review of #${String(number)}`, needs: ['pull-requests: write'] }, async (octokit, at) => {
        const { data } = await octokit.rest.pulls.createReplyForReviewComment({
          ...at,
          pull_number: number,
          comment_id: replyTo,
          body: fitBody(body),
          // Do not retry: GitHub may have written the answer before it failed, and a thread must get only one answer.
          request: { retries: 0 },
        });
        return { id: data.id };
      }),

    resolveThread: (thread) =>
      // Resolving a thread also requires the right to push.
      ask(
        { doing: 'resolve a thread of a review', needs: ['pull-requests: write', 'contents: write'] },
        async (octokit) => {
          await octokit.graphql(
            'mutation ($thread: ID!) { resolveReviewThread(input: { threadId: $thread }) { thread { isResolved } } }',
            { thread },
          );
        },
      ),
  };
}

/** Returns the checks of the commits before a commit, oldest commit first; empty if they cannot be read. */
async function checksBefore({ ask }: Client, tip: string): Promise<readonly CheckNow[]> {
  try {
    // The checks are useful even without the statuses, so ask for both but accept one.
    const { data } = await ask(
      { doing: 'read earlier checks of the base branch', needs: ['checks: read', 'actions: read'] },
      async (octokit, at) =>
        readAllowedParts(octokit.graphql<EarlierChecksAnswer>(EARLIER_CHECKS_QUERY, { ...at, tip })),
    );
    return selectCommitsBefore(data.repository.object ?? {}).flatMap(listChecks);
  } catch (error) {
    // Return no checks: a failed check is then worked on as if it had never run on the base branch.
    if (!(error instanceof UserError)) throw error;
    return [];
  }
}

/**
 * Returns the open pull requests of this repository whose branch begins with `prefix`, and the newest closed ones with
 * those that revert any of them. Sends one request if at most 50 pull requests are open.
 */
function waitingPullRequests({ ask }: Client, prefix: string): ReturnType<ForgeAdapter['waitingPullRequests']> {
  return ask({ doing: 'look at the open pull requests', needs: ['pull-requests: read'] }, async (octokit, at) => {
    const found: WaitingPullRequest[] = [];
    const closed: ClosedPull[] = [];
    let after: string | null = null;
    let first = PAGE;
    const readPage = async (): Promise<PageAnswer> =>
      askWithKnownFields(
        async (lacking) =>
          (await readAllowedParts(octokit.graphql<PageAnswer>(queryWithout(lacking), { ...at, first, after }))).data,
      );
    for (let read = 0; read < MAX_READ; read += first) {
      const answer: PageAnswer = await readPage().catch((error: unknown) => {
        if (first === SMALL_PAGE || !mayWorkInParts(error)) throw error;
        first = SMALL_PAGE;
        return readPage();
      });
      const { pullRequests, defaultBranchRef } = answer.repository;
      const isStrict = keepShownEntries(defaultBranchRef?.rules).some(
        (rule) => rule.parameters?.strictRequiredStatusChecksPolicy,
      );
      const strictBase = isStrict ? (defaultBranchRef?.name ?? null) : null;
      found.push(...keepShownEntries(pullRequests).flatMap((pull) => toWaiting(pull, { prefix, strictBase })));
      if (after === null)
        closed.push(...keepShownEntries(answer.repository.closed).flatMap((pull) => toClosed(pull, prefix)));
      after = pullRequests.pageInfo.endCursor;
      if (!pullRequests.pageInfo.hasNextPage || after === null) break;
    }
    return { open: found, closed };
  });
}

function toClosed(pull: ClosedAnswer, prefix: string): readonly ClosedPull[] {
  const { number, headRefName: branch, headRefOid: head, state, mergeCommit, newest, closedAt } = pull;
  const at = Date.parse(closedAt ?? '');
  const isOurs = branch.startsWith(prefix) || branch.startsWith('revert-');
  if (pull.isCrossRepository || !isOurs || Number.isNaN(at)) return [];
  const commits = keepShownEntries(newest).map(({ commit }) => ({
    id: commit.oid,
    message: commit.message,
    email: emailOfAuthor(commit),
  }));
  const kind = state === 'MERGED' ? 'merged' : 'closed';
  return [{ number, branch, kind, at, head, commit: mergeCommit?.oid ?? null, commits }];
}

function toWaiting(
  pull: PullAnswer,
  { prefix, strictBase }: { readonly prefix: string; readonly strictBase: string | null },
): readonly WaitingPullRequest[] {
  const { number, headRefName: branch, headRefOid: head, baseRef, baseRefOid, baseRefName: baseBranch } = pull;
  if (pull.isCrossRepository || !branch.startsWith(prefix)) return [];
  const state = keepShownEntries(pull.commits)[0]?.commit.statusCheckRollup?.state ?? '';
  return [
    {
      ...{ number, branch, head, base: baseRef?.target?.oid ?? baseRefOid, baseBranch },
      mergeable: parseMergeability(pull.mergeable),
      checks: rollups[state] ?? 'unknown',
      isDraft: pull.isDraft,
      decision: convertDecision(pull.reviewDecision),
      isReviewRequested: (pull.reviewRequests?.totalCount ?? 0) > 0,
      isArmed: pull.autoMergeRequest != null,
      armedAt: pull.autoMergeRequest?.enabledAt == null ? null : Date.parse(pull.autoMergeRequest.enabledAt),
      isBehind: pull.mergeStateStatus === 'BEHIND',
      mustBeCurrent: baseBranch === strictBase,
      createdAt: Date.parse(pull.createdAt),
    },
  ];
}
