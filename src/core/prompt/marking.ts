import type { Task } from '../tasks/task.ts';
import type { Aim } from './aim.ts';

/** How a call says in the file of its task that it is finished. */
export function howToMark(
  kind: Exclude<Task['source']['kind'], 'issue' | 'prompt' | 'feedback'>,
  standing: 'listed' | 'unlisted',
  aim: Exclude<Aim, 'once'>,
): string {
  if (standing === 'unlisted')
    return 'Its item is not in that file on this branch, so there is nothing to mark: only the status block says that the task is finished. Do not add it. Do not mark, delete or reword any other item.';
  const mark = {
    plan: 'tick the box of that item: `[ ]` becomes `[x]`, and its words stay as they are',
    prd: 'mark that entry: `"passes": true` or `"status": "done"`, whichever of the two fields it has',
    beads: 'set the `status` of that issue to `closed`',
  }[kind];
  // Only where it does the task at all: a review that is told to change nothing marks nothing.
  if (aim === 'step')
    return `Its first line says where its item is. A step whose instructions have it finish the task says so there once it is finished, or it does not count as finished: ${mark}. Any other step leaves that file alone.`;
  return `Its first line says where its item is. When the task is finished, and not before, ${mark}. Without that mark it does not count as finished. Do not mark, delete or reword any other item. If you find something missing, you may add it as an item of its own: it becomes a task.`;
}
