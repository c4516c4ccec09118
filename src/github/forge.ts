import type { Forge } from '../ports.ts';
import { createCaches } from './caches.ts';
import { createClient, type ForgeOptions } from './client.ts';
import { createComments } from './comments.ts';
import { createHistories } from './histories.ts';
import { createIssues } from './issues.ts';
import { createPullRequests } from './pull-requests.ts';

/** GitHub behind the port. Nothing is loaded or sent before the first method that needs the API. */
export function createForge(options: ForgeOptions): Forge {
  const client = createClient(options);
  return {
    ...createIssues(client),
    ...createHistories(client),
    ...createComments(client),
    ...createPullRequests(client, options.log),
    ...createCaches(client, options),
    requestCount: client.requestCount,
  };
}
