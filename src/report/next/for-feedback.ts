import type { FeedbackItem } from '../../core/feedback/memory.ts';
import type { TaskId } from '../../core/tasks/ids.ts';
import { command, step, type NextStep } from './step.ts';

/** Returns how a person goes on with what was asked of the pull request. `rounds`: `unknown` where nothing says that no more are allowed. */
export function nextStepsForFeedback(
  id: TaskId,
  kind: FeedbackItem['kind'],
  rounds: 'used-up' | 'unknown',
): readonly NextStep[] {
  const retry = command(`retry ${id}`, ['the pull request']);
  const push = step('push', 'a fix yourself (Ralph counts its rounds from there)');
  const orRetry: NextStep = { ...retry, joint: '; or ' };
  switch (kind) {
    case 'thread':
      if (rounds === 'unknown')
        return [
          ...[
            step('reply', 'the thread'),
            step('push', 'a fix yourself', ', '),
            step('resolve', 'the thread', ', or '),
          ],
          ...[step('note', 'if a reply starts nothing, its rounds are used up'), { ...retry, joint: ': ' }],
        ];
      return [
        ...[push, step('say', 'more in the thread', '; or '), { ...retry, joint: ', then ' }],
        step('resolve', 'the thread', '; or '),
      ];
    case 'review':
      return [push, step('say', 'in a new review what is missing', '; or '), orRetry];
    case 'check':
      return [push, orRetry];
    case 'conflict':
      return [step('merge', 'the base branch yourself and push'), orRetry];
  }
}

/** Returns the same once no more rounds are allowed. `stands`: the last answer was not taken back, and may be enough. */
export function nextStepsAfterRounds(id: TaskId, kind: FeedbackItem['kind'], stands: boolean): readonly NextStep[] {
  const steps = nextStepsForFeedback(id, kind, 'used-up');
  if (!stands) return steps;
  return [step('nothing', ENOUGH_IF[kind]), ...steps.map((one, at) => (at === 0 ? { ...one, lead: 'if not, ' } : one))];
}

const ENOUGH_IF: Readonly<Record<FeedbackItem['kind'], string>> = {
  thread: ', if that is what you wanted',
  review: ', if that is what you wanted',
  check: ', if the check passes now',
  conflict: ', if the pull request can be merged now',
};
