import type { Feedback } from './memory.ts';
import { unpostedIn } from './unposted.ts';

/** Whether people wait for words that a run can say without a call: an answer that an earlier run could not post; or that checks do not start, which the pull request says once and takes back once. */
export function hasUnpostedAnswers(now: Feedback, before: Feedback): boolean {
  const isSaid = (now.unstarted === null) === (before.unstarted === null);
  return unpostedIn(now).length > 0 || !isSaid;
}
