import { isIssueTask, nameOfTaskId, parseTaskName, QUEUE, type TaskId } from '../../core/tasks/ids.ts';
import { calledAs, calledById, findNamed } from '../../core/people/named-task.ts';
import { cut } from '../../core/text/cut.ts';
import { namesOf } from '../../core/text/lists.ts';
import { taskFilePaths } from '../../core/tasks/files/file-task.ts';
import { fileSources } from '../../core/tasks/task-sources.ts';
import { UsageError } from '../command.ts';
import { DEFAULT_OPTIONAL_SECTIONS } from '../defaults.ts';
import { readCheckoutTasks } from '../tasks/read-tasks.ts';
import type { LaneArguments } from './lane-arguments.ts';
import { budgetIn } from '../../core/snapshot/snapshot.ts';
import { laneAt } from './read-lane.ts';
import type { StatePlace } from './state-places.ts';

/** Throws a UsageError when the order's lane does not exist. What cannot be read may well have it. */
export async function refuseUnknownLane({ lane, opened: { places } }: LaneArguments): Promise<void> {
  const lanes = await lanesOf(places);
  if (lane !== QUEUE && lanes !== null && !lanes.includes(lane))
    throw new UsageError([
      `--lane: ${nameOfTaskId(lane)} does not have a branch of its own yet, so it cannot get an order. Known: ${namesOf([QUEUE, ...lanes.filter((name) => name !== QUEUE)])}.`,
    ]);
}

/** The task of the lane that a person calls so, by its id or name. Throws a UsageError when there is none; what cannot be read may well have the id. */
export async function findTask({ lane, opened }: LaneArguments, name: string, now: number): Promise<TaskId> {
  const id = parseTaskName(name);
  const [known, listed] = await Promise.all([
    tasksOf(opened.places, lane, now),
    lane === QUEUE
      ? readCheckoutTasks(opened.folder, {
          sources: fileSources,
          optionalSections: DEFAULT_OPTIONAL_SECTIONS.split(','),
        })
      : null,
  ]);
  if (id !== null && known === null) return id;
  const ofFiles = listed?.tasks.map(({ task }) => calledAs(task)) ?? [];
  const named = findNamed(name, [...ofFiles, ...(known ?? []).map(calledById)]);
  if (named.kind === 'task') return named.id;
  if (named.kind === 'several') throw new UsageError([named.why]);
  if (id !== null && !isIssueTask(id) && listed !== null && listed.problems.length > 0) return id;
  const branch = lane === QUEUE ? 'the queue' : `${nameOfTaskId(lane)}'s own branch`;
  const hasBranch = id !== null && (await lanesOf(opened.places))?.includes(id) === true;
  const what =
    id !== null && isIssueTask(id)
      ? `No run of ${branch} has worked on ${nameOfTaskId(id)}.`
      : `There is no task ${cut(name, 80)} in ${branch} or in ${namesOf(fileSources.flatMap((source) => taskFilePaths[source]))}.`;
  throw new UsageError([
    `${what} ${named.nearest}${hasBranch ? ` It has a branch of its own: add --lane ${id}.` : ''}`,
  ]);
}

/** The lanes of all places; null: one of them did not answer. */
async function lanesOf(places: readonly StatePlace[]): Promise<readonly string[] | null> {
  const found = await Promise.all(places.map((place) => place.lanes()));
  return found.every((each) => each.kind === 'lanes') ? [...new Set(found.flatMap(({ lanes }) => lanes))] : null;
}

/** What runs of the lane worked on, or may be working on now; null: a place cannot be read. */
async function tasksOf(places: readonly StatePlace[], lane: string, now: number): Promise<readonly TaskId[] | null> {
  const found = await Promise.all(
    places.map(async ({ name, store }) => {
      const read = await store.read();
      const restored = laneAt(name, read, { lane, now });
      const counters = read.kind === 'snapshot' ? budgetIn(read.snapshot, now) : null;
      if (counters?.kind !== 'budget' || (restored.kind !== 'found' && restored.kind !== 'absent')) return null;
      const reserved = counters.budget.reservations.filter((each) => each.lane === lane && now < each.expiresAt);
      return [
        ...(restored.kind === 'found' ? Object.keys(restored.state.tasks) : []),
        ...reserved.flatMap(({ tasks }) => tasks),
      ];
    }),
  );
  return found.every((tasks) => tasks !== null) ? found.flat() : null;
}
