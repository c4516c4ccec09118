import type { FileTask } from './file-task.ts';
import { progressOf, untouched } from '../queue.ts';
import type { TaskProgress } from '../task.ts';
import type { TaskId } from '../ids.ts';

type ProgressById = Readonly<Record<TaskId, TaskProgress>>;

/**
 * The tasks of files on a lane that continues: its branch has the living document, but what is asked for, and how urgently,
 * is what the base says, and only where the base has an item ticked is it done whatever else is known.
 * What the agent added to its plan is a task of its own; what it added and ticked at once is a note. What people took out of the
 * base since the lane left it (at `fork`) is asked for no more, unless it is done. `lane`: null where the base has all that counts.
 */
export function mergeFileTasks(
  base: readonly FileTask[],
  lane: { readonly now: readonly FileTask[]; readonly fork: readonly FileTask[] } | null,
  progress: ProgressById,
): readonly FileTask[] {
  const ofBase = new Map(base.map((item) => [item.task.id, item]));
  const ofLane = new Set(lane?.now.map(({ task }) => task.id));
  const askedOnce = new Set(lane?.fork.map(({ task }) => task.id));
  const living = (lane?.now ?? []).flatMap((item): readonly FileTask[] => {
    const { id } = item.task;
    const asked = ofBase.get(id);
    if (asked !== undefined) return [{ task: { ...asked.task, source: item.task.source }, state: asked.state }];
    const isNote = item.state === 'done' && !Object.hasOwn(progress, id);
    const isTakenOut = askedOnce.has(id) && progressOf(progress, id).state !== 'done';
    return isNote || isTakenOut ? [] : [{ ...item, state: 'todo' }];
  });
  return [...living, ...base.filter(({ task }) => !ofLane.has(task.id))];
}

/**
 * Progress with what the files say: done in the base is done; what no iteration was spent on is as the file has it. On a lane that
 * `beginsAgain` everything it ever did is in the base or lost, so the base alone says what is done, but for what is `unmarked`.
 */
export function fileProgress(
  progress: ProgressById,
  tasks: readonly FileTask[],
  { beginsAgain, unmarked }: { readonly beginsAgain: boolean; readonly unmarked: readonly TaskId[] },
): ProgressById {
  const own = new Map(Object.entries(progress));
  const ofFile: [TaskId, TaskProgress][] = [];
  for (const {
    task: { id },
    state,
  } of tasks) {
    const known = own.get(id);
    const isUndone = beginsAgain && known?.state === 'done' && state !== 'done' && !unmarked.includes(id);
    // What this lane did itself took attempts, or at least a commit.
    const isAsInFile = known === undefined || (known.attempts === 0 && known.doneCommit === null);
    if (isAsInFile || isUndone) {
      own.delete(id);
      if (state !== 'todo') ofFile.push([id, { ...untouched, state }]);
    } else if (state === 'done') own.set(id, { ...known, state });
  }
  // What the files say anyway stands first, as the oldest: it is the first to go when the state gets too long.
  return Object.fromEntries([...ofFile, ...own]);
}

/** Those of the `unmarked` tasks that are done and that files still have open. What is in no file is asked for no more, unless one of them cannot be read: `areWhole`. */
export function stillUnmarked(
  unmarked: readonly TaskId[],
  progress: ProgressById,
  { tasks, areWhole }: { readonly tasks: readonly FileTask[]; readonly areWhole: boolean },
): readonly TaskId[] {
  const inFiles = new Map(tasks.map(({ task, state }) => [task.id, state]));
  return unmarked.filter(
    (id) => progressOf(progress, id).state === 'done' && (inFiles.has(id) ? inFiles.get(id) !== 'done' : !areWhole),
  );
}
