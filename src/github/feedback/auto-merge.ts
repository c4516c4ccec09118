import type { ObjectId } from '../../core/evidence.ts';
import type { ForgeAdapter } from '../../ports/forge.ts';
import { UserError } from '../../errors.ts';
import type { Client } from '../client.ts';
import { graphqlAnswerOf } from '../graphql/errors.ts';

const PULL = `query ($owner: String!, $repo: String!, $branch: String!) {
  repository(owner: $owner, name: $repo) {
    viewerDefaultMergeMethod
    ref(qualifiedName: $branch) {
      associatedPullRequests(states: OPEN, first: 1, orderBy: { field: CREATED_AT, direction: DESC }) {
        nodes { id isCrossRepository headRefOid }
      }
    }
  }
}`;

const ARM = `mutation ($input: EnablePullRequestAutoMergeInput!) {
  enablePullRequestAutoMerge(input: $input) { clientMutationId }
}`;

interface PullAnswer {
  readonly repository: {
    readonly viewerDefaultMergeMethod: string;
    readonly ref: {
      readonly associatedPullRequests: {
        readonly nodes:
          | readonly ({
              readonly id: string;
              readonly isCrossRepository: boolean;
              readonly headRefOid: string;
            } | null)[]
          | null;
      };
    } | null;
  };
}

/**
 * Switches on auto-merge. GitHub refuses that for a pull request that can be merged at once, so this never merges.
 */
export function armAutoMerge(
  { ask }: Client,
  { branch, head }: { readonly branch: string; readonly head: ObjectId },
): ReturnType<ForgeAdapter['armAutoMerge']> {
  const needs = ['pull-requests: write', 'contents: write'];
  return ask({ doing: `switch on auto-merge of ${branch}`, needs }, async (octokit, at) => {
    const { repository } = await octokit.graphql<PullAnswer>(PULL, { ...at, branch: `refs/heads/${branch}` });
    const pull = repository.ref?.associatedPullRequests.nodes?.[0] ?? null;
    if (pull === null || pull.isCrossRepository || pull.headRefOid !== head)
      throw new UserError('infrastructure', `Branch ${branch} is no longer at the commit that was verified.`);
    try {
      // With the expected head, GitHub also refuses if somebody pushes in between.
      const input = { pullRequestId: pull.id, expectedHeadOid: head, mergeMethod: repository.viewerDefaultMergeMethod };
      await octokit.graphql(ARM, { input });
      return { kind: 'armed', detail: '' } as const;
    } catch (error) {
      const { errors = [] } = graphqlAnswerOf(error);
      const said = errors.map(({ message = '' }) => message).join(' ');
      if (/is in (?:clean|unstable|has_hooks) status|protected branch rules not configured/i.test(said))
        return { kind: 'at-once', detail: said };
      if (/auto.?merge is not allowed/i.test(said)) return { kind: 'not-allowed', detail: said };
      throw error;
    }
  });
}
