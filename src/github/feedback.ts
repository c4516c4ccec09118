import type { Forge } from '../ports/forge.ts';
import type { Client } from './client.ts';

type FeedbackMethods = Pick<Forge, 'pullRequestNow' | 'checkDetails' | 'replyInThread' | 'resolveThread'>;

/** What people and CI say of a pull request, and answers to it. */
export function createFeedback(_client: Client): FeedbackMethods {
  const unbuilt = (): never => {
    throw new Error('not built yet');
  };
  return {
    pullRequestNow: () => Promise.resolve(null),
    checkDetails: unbuilt,
    replyInThread: unbuilt,
    resolveThread: unbuilt,
  };
}
