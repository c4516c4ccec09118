import type { FileTask } from './files/file-task.ts';
import { inOrderOfWork } from './queue.ts';
import { isIssueTask, type TaskId } from './ids.ts';

/**
 * Tasks in the order in which they would be worked, each done at once: what is in progress first, and nothing before what it waits for.
 * What is done keeps its rank; what cannot be worked, since it waits for itself or for what does not exist, comes last. Issues are taken for done.
 */
export function inWorkOrder(tasks: readonly FileTask[]): readonly FileTask[] {
  const byId = new Map(tasks.map((task) => [task.task.id, task]));
  const rank = inOrderOfWork(tasks.map(({ task }) => task)).flatMap(({ id }) => byId.get(id) ?? []);
  const left = [
    ...rank.filter(({ state }) => state === 'in-progress'),
    ...rank.filter(({ state }) => state !== 'in-progress'),
  ];
  const waiting = new Set<TaskId>(left.flatMap(({ task, state }) => (state === 'done' ? [] : [task.id])));
  const order: FileTask[] = [];
  while (left.length > 0) {
    const next = left.findIndex(
      ({ task, state }) =>
        state === 'done' ||
        task.dependsOn.every((id) => id === task.id || (!waiting.has(id) && (byId.has(id) || isIssueTask(id)))),
    );
    // None: the rest cannot be worked.
    const [task] = left.splice(Math.max(next, 0), 1);
    if (task === undefined) break;
    waiting.delete(task.task.id);
    order.push(task);
  }
  return order;
}
