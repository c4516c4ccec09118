import { unknownTask } from '../../core/people/unknown-task.ts';
import { isIssueTask, nameOfTaskId, QUEUE, type TaskId } from '../../core/tasks/ids.ts';
import { namesOf } from '../../core/text/lists.ts';
import { taskFilePaths } from '../../core/tasks/files/file-task.ts';
import { fileSources } from '../../core/tasks/task-sources.ts';
import { UsageError } from '../command.ts';
import { readTasks } from '../tasks/read-tasks.ts';
import type { LaneArguments } from './lane-arguments.ts';
import type { StatePlace } from './state-places.ts';

/** Throws a UsageError when the order's lane or task does not exist. What cannot be read may well have it. */
export async function refuseUnknown(
  { lane, opened: { folder, places } }: LaneArguments,
  task: TaskId | null,
  now: number,
): Promise<void> {
  const lanes = await lanesOf(places);
  if (lane !== QUEUE && lanes !== null && !lanes.includes(lane))
    throw new UsageError([
      `--lane: ${nameOfTaskId(lane)} does not have a branch of its own yet, so it cannot get an order. Known: ${namesOf([QUEUE, ...lanes.filter((name) => name !== QUEUE)])}.`,
    ]);
  if (task === null) return;
  const known = await tasksOf(places, lane, now);
  if (known === null || known.includes(task)) return;
  const listed = lane === QUEUE && !isIssueTask(task) ? await readTasks(folder, fileSources) : null;
  const ofFiles = listed?.tasks.map((found) => found.task.id) ?? [];
  if (ofFiles.includes(task) || (listed !== null && listed.problems.length > 0)) return;
  const elsewhere = lanes?.includes(task) === true ? ` It has a branch of its own: add --lane ${task}.` : '';
  const branch = lane === QUEUE ? 'the queue' : `${nameOfTaskId(lane)}'s own branch`;
  const what = isIssueTask(task)
    ? `No run of ${branch} has worked on ${nameOfTaskId(task)}.`
    : `There is no task ${nameOfTaskId(task)} in ${branch} or in ${namesOf(fileSources.flatMap((source) => taskFilePaths[source]))}.`;
  throw new UsageError([`${unknownTask(task, [...known, ...ofFiles], what)}${elsewhere}`]);
}

/** The lanes of all places; null: one of them did not answer. */
async function lanesOf(places: readonly StatePlace[]): Promise<readonly string[] | null> {
  const found = await Promise.all(places.map((place) => place.lanes()));
  return found.every((each) => each.kind === 'lanes') ? [...new Set(found.flatMap(({ lanes }) => lanes))] : null;
}

/** What runs of the lane worked on, or may be working on now; null: a place cannot be read. */
async function tasksOf(places: readonly StatePlace[], lane: string, now: number): Promise<readonly TaskId[] | null> {
  const found = await Promise.all(
    places.map(async ({ store, budget }) => {
      const [restored, counters] = await Promise.all([store.restore(lane), budget.read()]);
      if (counters.kind !== 'budget' || (restored.kind !== 'found' && restored.kind !== 'absent')) return null;
      const reserved = counters.budget.reservations.filter((each) => each.lane === lane && now < each.expiresAt);
      return [
        ...(restored.kind === 'found' ? Object.keys(restored.state.tasks) : []),
        ...reserved.flatMap(({ tasks }) => tasks),
      ];
    }),
  );
  return found.every((tasks) => tasks !== null) ? found.flat() : null;
}
