import type { Task } from '../tasks/task.ts';
import { oneLine } from '../text/one-line.ts';
import { MAX_TRIED_CHARS, type FeedbackItem } from './memory.ts';

/** The task with what was answered to the same before, so that it is not tried again. */
export function withTried<T extends Pick<Task, 'body'>>(task: T, { tried = [] }: Pick<FeedbackItem, 'tried'>): T {
  if (tried.length === 0) return task;
  const lines = tried.map(({ commit, words }) =>
    [
      commit === null ? '- nothing was changed' : `- changed in commit ${oneLine(commit, 64)}`,
      ...(words === null ? [] : [oneLine(words, MAX_TRIED_CHARS)]),
    ].join(': '),
  );
  return { ...task, body: `${task.body}\n\nAnswered before, and it was not enough:\n${lines.join('\n')}` };
}
