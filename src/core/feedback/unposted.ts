import type { TaskId } from '../tasks/ids.ts';
import type { Feedback, FeedbackItem } from './memory.ts';

/** What people wait for in their threads: a later run posts it, also where it has nothing else to do. */
export function unpostedIn({ items }: Pick<Feedback, 'items'>): readonly TaskId[] {
  return Object.entries(items).flatMap(([id, item]) => (isSaidThere(item) && isUnposted(item) ? [id] : []));
}

/** Whether there is an answer that people cannot read yet. */
export function isUnposted({ answer }: Pick<FeedbackItem, 'answer'>): boolean {
  return answer !== null && !answer.posted;
}

/** What became of checks and conflicts the pull request's own text says. */
function isSaidThere({ kind }: FeedbackItem): boolean {
  return kind === 'thread' || kind === 'review';
}
