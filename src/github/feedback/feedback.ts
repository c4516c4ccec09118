import type { ForgeAdapter } from '../../ports/forge.ts';
import { fitBody } from '../body.ts';
import type { Client, ForgeOptions } from '../client.ts';
import { detailsOf } from './check-details.ts';
import { checksBefore } from './earlier-checks.ts';
import { freeHead } from './free-head.ts';
import { readPullRequest } from './pull-request-now.ts';
import { readStanding } from './standing.ts';
import { waitingPullRequests } from './waiting.ts';

type FeedbackMethods = Pick<
  ForgeAdapter,
  | 'pullRequestNow'
  | 'headNow'
  | 'freeHead'
  | 'waitingPullRequests'
  | 'checksBefore'
  | 'checkDetails'
  | 'replyInThread'
  | 'resolveThread'
>;

/** What people and CI say of a pull request, and answers to it. */
export function createFeedback(
  client: Client,
  options: Pick<ForgeOptions, 'apiUrl' | 'log' | 'pace'>,
): FeedbackMethods {
  const { ask } = client;
  return {
    pullRequestNow: readPullRequest(client, options),
    headNow: (branch) =>
      ask(
        { doing: `read what was decided of the pull request of ${branch}`, needs: ['pull-requests: read'] },
        (octokit, at) => readStanding(octokit, at, branch),
      ),
    freeHead: (number, standing) => freeHead(client, number, standing),
    waitingPullRequests: (prefix) => waitingPullRequests(client, prefix),
    checksBefore: (tip) => checksBefore(client, tip),
    checkDetails: (check) => detailsOf(client, check, options),

    replyInThread: (number, { replyTo, body }) =>
      ask({ doing: `answer a review of #${String(number)}`, needs: ['pull-requests: write'] }, async (octokit, at) => {
        const { data } = await octokit.rest.pulls.createReplyForReviewComment({
          ...at,
          pull_number: number,
          comment_id: replyTo,
          body: fitBody(body),
          // GitHub may have written it before it failed, and a thread gets one answer.
          request: { retries: 0 },
        });
        return { id: data.id };
      }),

    resolveThread: (thread) =>
      // GitHub asks for the right to push as well.
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
