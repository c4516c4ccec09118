import type { ForgeAdapter } from '../ports/forge.ts';
import { createAccounts } from './accounts.ts';
import { createCaches } from './caches.ts';
import { createClient, type ForgeOptions } from './client.ts';
import { createComments } from './comments.ts';
import { createDependencies } from './dependencies.ts';
import { createFeedback } from './feedback/feedback.ts';
import { createHistories } from './histories.ts';
import { createIssues } from './issues.ts';
import { createJobs } from './jobs.ts';
import { createLabels, type KnownLabels } from './labels.ts';
import { createPullRequests } from './pull-requests.ts';
import { readRepositorySettings } from './settings.ts';

/** GitHub behind the port. Nothing is loaded or sent before the first method that needs the API. */
export function createForge(options: ForgeOptions): ForgeAdapter {
  const client = createClient(options);
  const { log } = options;
  const known: KnownLabels = new Set();
  return {
    ...createIssues(client, { known, log }),
    ...createAccounts(client),
    ...createHistories(client),
    ...createDependencies(client, log),
    ...createLabels(client, { known }),
    ...createComments(client),
    ...createPullRequests(client, log),
    ...createCaches(client, options),
    ...createJobs(client),
    ...createFeedback(client, options),
    settings: (query) => readRepositorySettings(client, query),
    requests: client.requests,
  };
}
