import type { CheckNow } from '../../core/feedback/pull-request-now.ts';
import { UserError } from '../../errors.ts';
import type { Client, Octokit, RepositoryName } from '../client.ts';
import { checksOf } from './checks-now.ts';
import { commitsBefore, EARLIER_CHECKS_QUERY, type EarlierChecksAnswer } from './pull-request-query.ts';
import { besideRefused } from './refused-parts.ts';

/** Checks of the commits before one, the oldest commit first; empty where they cannot be read. */
export async function checksBefore({ ask }: Client, tip: string): Promise<readonly CheckNow[]> {
  try {
    const { repository } = await ask(
      { doing: 'read earlier checks of the base branch', needs: ['checks: read', 'actions: read'] },
      async (octokit, at) => send(octokit, { ...at, tip }),
    );
    return commitsBefore(repository.object ?? {}).flatMap(checksOf);
  } catch (error) {
    // Then what fails is worked on, as if it had never run there.
    if (!(error instanceof UserError)) throw error;
    return [];
  }
}

async function send(
  octokit: Octokit,
  variables: RepositoryName & { readonly tip: string },
): Promise<EarlierChecksAnswer> {
  try {
    return await octokit.graphql<EarlierChecksAnswer>(EARLIER_CHECKS_QUERY, { ...variables });
  } catch (error) {
    // Checks are of use without statuses.
    const found = besideRefused<EarlierChecksAnswer['repository']>(error);
    if (found === null) throw error;
    return found.data;
  }
}
