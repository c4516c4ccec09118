import type { Standing } from '../../core/feedback/held-head.ts';
import type { Client } from '../client.ts';

const READY = 'markPullRequestReadyForReview(input: { pullRequestId: $id }) { pullRequest { id } }';
const DRAFT = 'convertPullRequestToDraft(input: { pullRequestId: $id }) { pullRequest { id } }';
const DISARM = 'disablePullRequestAutoMerge(input: { pullRequestId: $id }) { pullRequest { id } }';
const DEQUEUE = 'dequeuePullRequest(input: { id: $id }) { mergeQueueEntry { id } }';

/** Takes a pull request out of the merge queue, makes it a draft and switches its auto-merge off: as far as it is none of that. Where auto-merge stays on, the pull request is ready again as it was. */
export async function freeHead(client: Client, number: number, standing: Standing): Promise<void> {
  const { id, isDraft, autoMerge, isQueued } = standing;
  const name = `pull request #${String(number)}`;
  if (isQueued) await change(client, { doing: `remove ${name} from the merge queue`, mutation: DEQUEUE, id });
  // A draft cannot be merged: from here on nobody is faster than the rest of this.
  if (!isDraft) await change(client, { doing: `make ${name} a draft again`, mutation: DRAFT, id });
  if (!autoMerge) return;
  try {
    await change(client, { doing: `switch off auto-merge of ${name}`, mutation: DISARM, id });
  } catch (error) {
    if (!isDraft) await markReady(client, number, id).catch(() => undefined);
    throw error;
  }
}

/** Draft → ready for review. */
export function markReady(client: Client, number: number, id: string): Promise<void> {
  const doing = `mark pull request #${String(number)} as ready for review`;
  return change(client, { doing, mutation: READY, id });
}

/** Ready for review → draft. */
export function makeDraft(client: Client, number: number, id: string): Promise<void> {
  return change(client, { doing: `make pull request #${String(number)} a draft again`, mutation: DRAFT, id });
}

function change(
  { ask }: Client,
  { doing, mutation, id }: { readonly doing: string; readonly mutation: string; readonly id: string },
): Promise<void> {
  return ask({ doing, needs: ['pull-requests: write', 'contents: write'] }, async (octokit) => {
    await octokit.graphql(`mutation ($id: ID!) { ${mutation} }`, { id });
  });
}
