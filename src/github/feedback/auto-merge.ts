import type { ObjectId } from '../../core/evidence.ts';
import type { ForgeAdapter } from '../../ports/forge.ts';
import { UserError } from '../../errors.ts';
import type { Client } from '../client.ts';
import { extractGraphqlAnswer } from '../graphql/errors.ts';
import type { BranchAnswer } from './pull-request-query.ts';

const PULL = `query ($owner: String!, $repo: String!, $branch: String!) {
  viewer { login }
  repository(owner: $owner, name: $repo) {
    viewerDefaultMergeMethod
    ref(qualifiedName: $branch) {
      associatedPullRequests(states: OPEN, first: 1, orderBy: { field: CREATED_AT, direction: DESC }) {
        nodes {
          id isCrossRepository headRefOid autoMergeRequest { enabledBy { login } }
          timelineItems(last: 1, itemTypes: [AUTO_MERGE_DISABLED_EVENT, AUTO_MERGE_ENABLED_EVENT, AUTO_REBASE_ENABLED_EVENT, AUTO_SQUASH_ENABLED_EVENT]) {
            nodes { ... on AutoMergeDisabledEvent { disabledBy: actor { login } } }
          }
        }
      }
    }
  }
}`;

const ARM = `mutation ($input: EnablePullRequestAutoMergeInput!) {
  enablePullRequestAutoMerge(input: $input) { clientMutationId }
}`;

const DISARM = `mutation ($input: DisablePullRequestAutoMergeInput!) {
  disablePullRequestAutoMerge(input: $input) { clientMutationId }
}`;

type Named = { readonly login: string } | null;

interface PullAnswer {
  readonly viewer: { readonly login: string };
  readonly repository: BranchAnswer<{
    readonly id: string;
    readonly isCrossRepository: boolean;
    readonly headRefOid: string;
    readonly autoMergeRequest: { readonly enabledBy: Named } | null;
    readonly timelineItems: { readonly nodes: readonly ({ readonly disabledBy?: Named } | null)[] | null };
  }>['repository'] & { readonly viewerDefaultMergeMethod: string };
}

/** Enables auto-merge. GitHub refuses that for a pull request that can be merged at once, so this never merges. */
export function armAutoMerge(
  { ask }: Client,
  { branch, head }: { readonly branch: string; readonly head: ObjectId },
): ReturnType<ForgeAdapter['armAutoMerge']> {
  const needs = ['pull-requests: write', 'contents: write'];
  return ask({ doing: `switch on auto-merge of ${branch}`, needs }, async (octokit, at) => {
    const answer = await octokit.graphql<PullAnswer>(PULL, { ...at, branch: `refs/heads/${branch}` });
    const pull = pullIn(answer);
    if (pull === null || pull.headRefOid !== head)
      throw new UserError('infrastructure', `Branch ${branch} is no longer at the commit that was verified.`);
    if (pull.autoMergeRequest !== null) return { kind: 'armed', detail: '' } as const;
    const newest = pull.timelineItems.nodes?.[0];
    if (newest?.disabledBy !== undefined && !isOwnAccount(answer, newest.disabledBy))
      return { kind: 'switched-off', detail: '' } as const;
    try {
      // Send the expected head, so that GitHub also refuses if somebody pushes in between.
      const mergeMethod = answer.repository.viewerDefaultMergeMethod;
      const input = { pullRequestId: pull.id, expectedHeadOid: head, mergeMethod };
      await octokit.graphql(ARM, { input });
      return { kind: 'armed', detail: '' } as const;
    } catch (error) {
      const { errors = [] } = extractGraphqlAnswer(error);
      const said = errors.map(({ message = '' }) => message).join(' ');
      if (/is in (?:clean|unstable|has_hooks) status|protected branch rules not configured/i.test(said))
        return { kind: 'at-once', detail: said };
      if (/auto.?merge is not allowed/i.test(said)) return { kind: 'not-allowed', detail: said };
      throw error;
    }
  });
}

/** Switches auto-merge off if this token's own account switched it on; returns whether it did. */
export function disarmAutoMerge({ ask }: Client, branch: string): ReturnType<ForgeAdapter['disarmAutoMerge']> {
  const needs = ['pull-requests: write', 'contents: write'];
  return ask({ doing: `switch off auto-merge of ${branch}`, needs }, async (octokit, at) => {
    const answer = await octokit.graphql<PullAnswer>(PULL, { ...at, branch: `refs/heads/${branch}` });
    const pull = pullIn(answer);
    if (pull === null || !isOwnAccount(answer, pull.autoMergeRequest?.enabledBy ?? null)) return false;
    await octokit.graphql(DISARM, { input: { pullRequestId: pull.id } });
    return true;
  });
}

/** Returns true if the account is the token's own; GitHub names a bot without its ending where it acts. */
function isOwnAccount({ viewer }: PullAnswer, account: Named): boolean {
  const [own, other] = [viewer.login, account?.login].map((login) => login?.replace(/\[bot\]$/, ''));
  return own === other;
}

function pullIn({ repository }: PullAnswer) {
  const pull = repository.ref?.associatedPullRequests.nodes?.[0] ?? null;
  return pull === null || pull.isCrossRepository ? null : pull;
}
