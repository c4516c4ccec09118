import { isIssueTask, type LaneId, QUEUE, type TaskId } from '../tasks/ids.ts';
import { isEligible, chooseNextTask, getProgress, listTasksWithinReach } from '../tasks/queue.ts';
import { isTaskBegun, type QueuedTask, type TaskProgress } from '../tasks/task.ts';
import { type PredictedFiles, findSharedFile } from './predict-files.ts';

/** Maximum number of lanes per machine in a run. People cannot stop a lane that waits, which may take hours. */
const MAX_PER_MACHINE = 4;

/** A lane and the files that its work probably touches. */
export interface LaneFiles {
  readonly lane: LaneId;
  readonly files: PredictedFiles;
}

/** The queue's lane and all facts that decide which of its tasks get their own lane. */
export interface QueueNow {
  readonly tasks: readonly QueuedTask[];
  readonly progress: Readonly<Record<TaskId, TaskProgress>>;
  readonly currentTask: TaskId | null;
  readonly maxIterations: number;
  /** Files that the queue's branch has already changed. */
  readonly changed: readonly string[];
  readonly filesOf: (id: TaskId) => PredictedFiles;
  /** Returns true if the state of a task's own lane allows the task to move there. */
  readonly mayLeave: (id: TaskId) => boolean;
  /** Lanes that other runs are working on. */
  readonly busy: readonly LaneFiles[];
  /** Lanes whose pull requests this run must work on first. */
  readonly urgent: readonly LaneFiles[];
  /** Unfinished lanes that this run can continue, in the order of the queue. */
  readonly continuable: readonly LaneFiles[];
  /** Number of machines for lanes other than the queue. */
  readonly maxBeside: number;
  /**
   * Maximum number of new lanes. It may exceed the number of machines, so that some lanes wait for one, but not while
   * other runs use machines or one of the lanes is urgent.
   */
  readonly maxNew: number;
}

/** A task that waits for a lane. */
export interface WaitingTask {
  readonly task: TaskId;
  readonly lane: LaneId;
  /** A file that both touch; null if the files of either are unknown. */
  readonly path: string | null;
}

/** The lanes that work side by side, and the tasks that wait for one of them. */
export interface ChosenLanes {
  /** The queue's own lane; null if the whole queue waits for an urgent lane. */
  readonly own: LaneFiles | null;
  readonly continued: readonly LaneFiles[];
  readonly begun: readonly LaneFiles[];
  readonly waiting: readonly WaitingTask[];
}

/**
 * Chooses the lanes that work side by side, greedily in the order of the queue. The queue's lane keeps its first task,
 * tasks that it has begun, and tasks that are not issues. Two lanes work side by side only if the files of both are
 * known and do not overlap. A task that depends on a listed task gets no lane of its own, because that dependency is
 * not in the base branch yet.
 */
export function chooseLanes(queue: QueueNow): ChosenLanes {
  const { tasks, progress, filesOf, changed, busy, urgent } = queue;
  const listed = new Map(tasks.map((task) => [task.id, task]));
  const open = listTasksWithinReach(tasks, progress, queue.maxIterations).flatMap((id) => listed.get(id) ?? []);
  const first = chooseNextTask(tasks, progress, queue.currentTask);
  const stays = ({ id }: QueuedTask): boolean =>
    id === first?.id || !isIssueTask(id) || isTaskBegun(getProgress(progress, id));
  const mayLeave = (task: QueuedTask): boolean =>
    isEligible(task, progress) && task.dependsOn.every((id) => !listed.has(id)) && queue.mayLeave(task.id);

  const wanted = { lane: QUEUE, files: unionOf([changed, ...open.filter(stays).map(({ id }) => filesOf(id))]) };
  const own = urgent.every((one) => conflictOf(wanted, one) === null) ? wanted : null;
  const continued: LaneFiles[] = [];
  const begun: LaneFiles[] = [];
  const isFree = (one: LaneFiles): boolean =>
    [...(own === null ? [] : [own]), ...urgent, ...busy, ...continued, ...begun].every(
      (other) => conflictOf(one, other) === null,
    );
  for (const one of queue.continuable) if (continued.length < queue.maxBeside && isFree(one)) continued.push(one);
  const left = own === null ? [] : open.filter((task) => !stays(task));
  const machines = queue.maxBeside;
  const most = Math.min(
    queue.maxNew,
    busy.length + urgent.length > 0
      ? machines - continued.length
      : countNewLanes(open.length, machines, continued.length),
  );
  for (const task of left.filter(mayLeave)) {
    const one = ownLaneOf(queue, task);
    if (begun.length < most && isFree(one)) begun.push(one);
  }
  const waiting = left
    .filter(({ id }) => begun.every(({ lane }) => lane !== id))
    .flatMap((task) =>
      [...urgent, ...continued, ...begun]
        .flatMap((other) => conflictOf(ownLaneOf(queue, task), other) ?? [])
        .slice(0, 1),
    );
  return { own, continued, begun, waiting };
}

/**
 * Returns the number of new lanes with which the run ends soonest. `machines` take them one after another, after the
 * `continued` lanes, while the queue takes the other tasks. Assumes that a task takes twice as long as the set-up of a
 * machine.
 */
function countNewLanes(tasks: number, machines: number, continued: number): number {
  if (machines < 1) return 0;
  const lengthWith = (lanes: number): number =>
    Math.max(2 * (tasks - lanes) + 1, 3 * Math.ceil((lanes + continued) / machines));
  const numbers = Array.from({ length: Math.min(tasks, machines * MAX_PER_MACHINE - continued + 1) }, (_, at) => at);
  return numbers.reduce((best, lanes) => (lengthWith(lanes) < lengthWith(best) ? lanes : best), 0);
}

/** Returns an issue's own lane, whose id is the task's id. */
function ownLaneOf({ filesOf }: QueueNow, { id }: QueuedTask): LaneFiles {
  return { lane: id, files: filesOf(id) };
}

/** Returns why two lanes must not work side by side; null if they may. */
function conflictOf(one: LaneFiles, other: LaneFiles): WaitingTask | null {
  const { lane: task } = one;
  const { lane } = other;
  // A lane without work touches no files, so it conflicts with no other lane.
  if (one.files?.size === 0 || other.files?.size === 0) return null;
  if (one.files === null || other.files === null) return { task, lane, path: null };
  const path = findSharedFile(one.files, other.files);
  return path === null ? null : { task, lane, path };
}

/** Returns the union of the files; null if some are unknown. */
function unionOf(all: readonly (PredictedFiles | readonly string[])[]): PredictedFiles {
  return all.some((files) => files === null) ? null : new Set(all.flatMap((files) => [...(files ?? [])]));
}
