import type { TaskId } from '../tasks/ids.ts';
import { isFinished, type TaskProgress } from '../tasks/task.ts';
import type { Feedback, FeedbackItem } from './memory.ts';

type Progress = Pick<TaskProgress, 'state'>;

/** Whether an answer says that something was changed, and the task is open again: nobody has seen the change pass, and nobody can read the answer. */
export function isUnproven({ answer }: Pick<FeedbackItem, 'answer'>, progress: Progress | null): boolean {
  const isOpen = progress !== null && !isFinished(progress);
  return answer !== null && answer.kind === 'changed' && !answer.posted && isOpen;
}

/** The memory as people may read it: what is unproven has no answer. */
export function provenAnswers({
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
 * True if nothing more is done about it until a person pushes or has it tried again. What people and CI ask is counted
 * by itself, what bots ask on the pull request as a whole: a bot opens new threads for every push. `maxRounds` 0: no limit.
 */
export function isOutOfRounds(
  { rounds, botRound }: Pick<FeedbackItem, 'rounds' | 'botRound'>,
  maxRounds: number,
): boolean {
  if (maxRounds === 0) return false;
  return botRound === undefined ? rounds >= maxRounds : botRound > maxRounds;
}
