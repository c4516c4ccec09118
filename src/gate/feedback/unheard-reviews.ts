import { QUEUE, type LaneId } from '../../core/tasks/ids.ts';
import type { GateDeps } from '../deps.ts';

/** What people must know of a lane whose reviews start no run, as the workflow in the checkout shows; null: they do, or it is not known. The schedule reads the queue's pull request by itself. */
export async function unheardReviews(
  { config, context, repository }: Pick<GateDeps, 'config' | 'context' | 'repository'>,
  lane: LaneId,
): Promise<string | null> {
  const { workflowPath: path } = context;
  // Files are read below the working directory.
  if (lane === QUEUE || !config.answers.reviews || path === null || config.workingDirectory !== '') return null;
  // What cannot be read keeps no run from working.
  const read = await repository.readTexts([path], null).catch(() => null);
  const text = read?.base[path];
  if (text === undefined || /\bpull_request_review\b/.test(text)) return null;
  return `Reviews of this pull request start no run: \`on:\` of ${path} does not name \`pull_request_review\`. Add the event with \`types: [submitted]\`, or comment \`/ralph run\` on the issue to have them answered.`;
}
