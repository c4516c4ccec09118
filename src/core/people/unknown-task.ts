import { nameOfTaskId, type TaskId } from '../tasks/ids.ts';
import { firstNames } from '../text/lists.ts';
import { nearestFirst } from '../text/nearest.ts';

const SHOWN_TASKS = 5;

/** What whoever named a task hears when there is none: the name, and the nearest of those that there are. `whose`: continues from `no task #9`, such as ` in the queue`. */
export function unknownTask(task: TaskId, known: readonly TaskId[], whose: string): string {
  const name = nameOfTaskId(task);
  const names = nearestFirst(name, [...new Set(known)].map(nameOfTaskId));
  const others = names.length === 0 ? 'There are none at all.' : `Nearest: ${firstNames(names, SHOWN_TASKS)}.`;
  return `There is no task ${name}${whose}. ${others}`;
}
