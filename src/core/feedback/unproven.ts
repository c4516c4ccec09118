import type { TaskId } from '../tasks/ids.ts';
import { isFinished, type TaskProgress } from '../tasks/task.ts';
import type { Feedback, FeedbackItem } from './memory.ts';

type Progress = Pick<TaskProgress, 'state'>;

/**
 * Returns true if an answer claims a change that is unproven: its verification has not passed, so the task is open
 * again and the answer is not posted.
 */
export function isUnproven({ answer }: Pick<FeedbackItem, 'answer'>, progress: Progress | null): boolean {
  const isOpen = progress !== null && !isFinished(progress);
  return answer !== null && answer.kind === 'changed' && !answer.posted && isOpen;
}

/** Returns the feedback without unproven answers, as people see it. */
export function withoutUnprovenAnswers({
  feedback,
  tasks,
}: {
  readonly feedback: Feedback;
  readonly tasks: Readonly<Record<TaskId, Progress>>;
}): Feedback {
  const items = Object.entries(feedback.items).map(([id, item]) => {
    const progress = Object.hasOwn(tasks, id) ? (tasks[id] ?? null) : null;
    return [id, isUnproven(item, progress) ? { ...item, answer: null } : item] as const;
  });
  return { ...feedback, items: Object.fromEntries(items) };
}

/**
 * Returns true if a subject has used up its rounds and waits until a person pushes or retries it. Rounds of people and
 * CI are counted per subject, those of bots per pull request, because a bot opens new threads on every push. A
 * `maxRounds` of 0 means no limit.
 */
export function isOutOfRounds(
  { rounds, botRound }: Pick<FeedbackItem, 'rounds' | 'botRound'>,
  maxRounds: number,
): boolean {
  if (maxRounds === 0) return false;
  return botRound === undefined ? rounds >= maxRounds : botRound > maxRounds;
}
