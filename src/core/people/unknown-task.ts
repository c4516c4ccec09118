import { nameOfTaskId, type TaskId } from '../tasks/ids.ts';
import { firstNames } from '../text/lists.ts';
import { nearestFirst } from '../text/nearest.ts';

const SHOWN_TASKS = 5;

/** What a person who named an unknown task gets: `what` is wrong, as a sentence, and the nearest of the known ones. */
export function unknownTask(task: TaskId, known: readonly TaskId[], what: string): string {
  const names = nearestFirst(nameOfTaskId(task), [...new Set(known)].map(nameOfTaskId));
  const others = names.length === 0 ? 'No tasks are known yet.' : `Nearest: ${firstNames(names, SHOWN_TASKS)}.`;
  return `${what} ${others}`;
}
