import type { Violation } from '../openapi/validator.ts';
import { type Answer, type Call, text } from './route.ts';

/** GraphQL answers 200 with `errors`. One operation is understood: marking a pull request ready for review. */
export function answerGraphql({ state, body, token }: Call): Answer {
  if (!text(body['query']).includes('markPullRequestReadyForReview')) return failed('FORBIDDEN', 'The stand-in knows only markPullRequestReadyForReview.');
  const refused = token.kind === 'app' ? 'integration' : 'personal access token';
  if (token.permissions.pull_requests !== 'write') return failed('FORBIDDEN', `Resource not accessible by ${refused}`);
  const pull = state.pulls.find(({ id }) => Object.values(Object(body['variables']) as object).includes(`PR_${String(id)}`));
  if (pull === undefined) return failed('NOT_FOUND', 'Could not resolve to a node with the global id of the given value.');
  pull.draft = false;
  return { status: 200, body: { data: { markPullRequestReadyForReview: { pullRequest: { isDraft: false } } } } };
}

function failed(type: string, message: string): Answer {
  return { status: 200, body: { data: { markPullRequestReadyForReview: null }, errors: [{ type, path: ['markPullRequestReadyForReview'], message }] } };
}

/** Judges a query by GitHub's schema. Loaded when the first query comes: the schema is 5 MB. */
export async function graphqlViolations(query: string): Promise<readonly Violation[]> {
  const { validate } = await import('@octokit/graphql-schema');
  try {
    return validate(query).map((error) => ({ where: 'request POST /graphql', problem: error.message }));
  } catch (error) {
    return [{ where: 'request POST /graphql', problem: `is no GraphQL: ${String(error)}` }];
  }
}
