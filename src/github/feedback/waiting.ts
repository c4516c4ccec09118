import type { PullRequestNow, WaitingPullRequest } from '../../core/feedback/pull-request-now.ts';
import type { Client } from '../client.ts';
import { isWorthSmaller } from '../graphql/weather.ts';
import { besideRefused } from './refused-parts.ts';
import { shown, type Nodes } from './pull-request-query.ts';
import { mergeabilityOf } from './standing.ts';

/** What is open beyond so many pull requests, the oldest changes, waits until others are merged. */
const MAX_READ = 200;
/** Pull requests per page; GitHub is asked again for small pages if it fails on large ones. */
const PAGE = 50;
const SMALL_PAGE = 10;

const QUERY = `query ($owner: String!, $repo: String!, $first: Int!, $after: String) {
  repository(owner: $owner, name: $repo) {
    pullRequests(states: OPEN, first: $first, after: $after, orderBy: { field: UPDATED_AT, direction: DESC }) {
      pageInfo { hasNextPage endCursor }
      nodes {
        number isCrossRepository headRefName headRefOid baseRefOid mergeable baseRef { target { oid } }
        commits(last: 1) { nodes { commit { statusCheckRollup { state } } } }
      }
    }
  }
}`;

interface PageAnswer {
  readonly repository: {
    readonly pullRequests: Nodes<PullAnswer> & {
      readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
    };
  };
}

interface PullAnswer {
  readonly number: number;
  readonly isCrossRepository: boolean;
  readonly headRefName: string;
  readonly headRefOid: string;
  readonly baseRefOid: string;
  readonly mergeable: string;
  readonly baseRef: { readonly target: { readonly oid: string } | null } | null;
  readonly commits: Nodes<{ readonly commit: { readonly statusCheckRollup: { readonly state: string } | null } }>;
}

/** The open pull requests of this repository whose branch begins with `prefix`. One request where there are at most 50 open ones in all. */
export function waitingPullRequests({ ask }: Client, prefix: string): Promise<readonly WaitingPullRequest[]> {
  return ask({ doing: 'look at the open pull requests', needs: ['pull-requests: read'] }, async (octokit, at) => {
    const found: WaitingPullRequest[] = [];
    let after: string | null = null;
    let first = PAGE;
    const readPage = async (): Promise<PageAnswer> =>
      (await besideRefused(octokit.graphql<PageAnswer>(QUERY, { ...at, first, after }))).data;
    for (let read = 0; read < MAX_READ; read += first) {
      const answer: PageAnswer = await readPage().catch((error: unknown) => {
        if (first === SMALL_PAGE || !isWorthSmaller(error)) throw error;
        first = SMALL_PAGE;
        return readPage();
      });
      const { pullRequests } = answer.repository;
      found.push(...shown(pullRequests).flatMap((pull) => toWaiting(pull, prefix)));
      after = pullRequests.pageInfo.endCursor;
      if (!pullRequests.pageInfo.hasNextPage || after === null) break;
    }
    return found;
  });
}

function toWaiting(pull: PullAnswer, prefix: string): readonly WaitingPullRequest[] {
  const { number, headRefName: branch, headRefOid: head, baseRef, baseRefOid, isCrossRepository } = pull;
  if (isCrossRepository || !branch.startsWith(prefix)) return [];
  const state = shown(pull.commits)[0]?.commit.statusCheckRollup?.state ?? '';
  const mergeable: PullRequestNow['mergeable'] = mergeabilityOf(pull.mergeable);
  return [
    { number, branch, head, base: baseRef?.target?.oid ?? baseRefOid, mergeable, checks: rollups[state] ?? 'unknown' },
  ];
}

const rollups: Readonly<Record<string, WaitingPullRequest['checks']>> = {
  SUCCESS: 'passed',
  FAILURE: 'failed',
  ERROR: 'failed',
};
