import type { Forge } from '../ports.ts';
import type { Client } from './client.ts';

/** Who approved, changed and said what; and what waits for what. */
export function createHistories(_client: Client): Pick<Forge, 'account' | 'issueHistories' | 'commentsOf' | 'dependenciesOf' | 'statesOf' | 'changeLabels'> {
  const missing = (): Promise<never> => Promise.reject(new Error('Being built.'));
  return { account: missing, issueHistories: missing, commentsOf: missing, dependenciesOf: missing, statesOf: missing, changeLabels: missing };
}
