import type { CheckNow } from '../../core/feedback/pull-request-now.ts';
import { UserError } from '../../errors.ts';
import type { Client } from '../client.ts';
import { checksOf } from './checks-now.ts';
import { commitsBefore, EARLIER_CHECKS_QUERY, type EarlierChecksAnswer } from './pull-request-query.ts';
import { besideRefused } from './refused-parts.ts';

/** Checks of the commits before one, the oldest commit first; empty where they cannot be read. */
export async function checksBefore({ ask }: Client, tip: string): Promise<readonly CheckNow[]> {
  try {
    // They are of use without statuses.
    const { data } = await ask(
      { doing: 'read earlier checks of the base branch', needs: ['checks: read', 'actions: read'] },
      async (octokit, at) => besideRefused(octokit.graphql<EarlierChecksAnswer>(EARLIER_CHECKS_QUERY, { ...at, tip })),
    );
    return commitsBefore(data.repository.object ?? {}).flatMap(checksOf);
  } catch (error) {
    // Then what fails is worked on, as if it had never run there.
    if (!(error instanceof UserError)) throw error;
    return [];
  }
}
