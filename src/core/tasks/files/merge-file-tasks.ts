import type { FileTask } from './form/root-plan.ts';
import { progressOf, untouched } from '../queue.ts';
import { withoutIssue, type Task, type TaskProgress } from '../task.ts';
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
    if (asked !== undefined) return [{ task: placedAs(asked.task, item.task), state: asked.state }];
    const isNote = item.state === 'done' && !Object.hasOwn(progress, id);
    const isTakenOut = askedOnce.has(id) && progressOf(progress, id).state !== 'done';
    return isNote || isTakenOut ? [] : [{ task: withoutIssue(item.task), state: 'todo' }];
  });
  return [...living, ...base.filter(({ task }) => !ofLane.has(task.id))];
}

/** Where the lane's branch has it; which issue it closes is what the base says. */
function placedAs(asked: Task, { source }: Task): Task {
  const issue = asked.source.kind === 'prd' ? asked.source.issue : null;
  return { ...asked, source: source.kind === 'prd' ? { ...source, issue } : source };
}

/** What is known of a lane beside its progress and its files. */
interface LaneFacts {
  readonly beginsAgain: boolean;
  readonly unmarked: readonly TaskId[];
  /** What a person had tried again, whatever its file says. */
  readonly retried: readonly TaskId[];
}

/**
 * Progress with what the files say: done in the base is done; what no iteration was spent on is as the file has it, unless it was
 * `retried`. On a lane that `beginsAgain` everything it ever did is in the base or lost, so the base alone says what is done, but
 * for what is `unmarked`.
 */
export function fileProgress(
  progress: ProgressById,
  tasks: readonly FileTask[],
  { beginsAgain, unmarked, retried }: LaneFacts,
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
      const isRetried = retried.includes(id) && isGivenUp(state);
      if (state !== 'todo' && !isRetried) ofFile.push([id, { ...untouched, state }]);
    } else if (state === 'done') own.set(id, { ...known, state });
  }
  // What the files say anyway stands first, as the oldest: it is the first to go when the state gets too long.
  return Object.fromEntries([...ofFile, ...own]);
}

/**
 * Of tasks that their files call failed or blocked, those that a person had tried again: by an order (`all`: whichever those are),
 * or because they started this run (`byHand`), which is for what an earlier Ralph failed. No run on the schedule tries them.
 */
export function stillRetried(
  retried: 'all' | readonly TaskId[],
  tasks: readonly FileTask[],
  byHand: boolean,
): readonly TaskId[] {
  return tasks
    .filter(({ task: { id }, state }) => {
      const isOrdered = isGivenUp(state) && (retried === 'all' || retried.includes(id));
      return isOrdered || (byHand && state === 'failed');
    })
    .map(({ task }) => task.id);
}

function isGivenUp(state: TaskProgress['state']): boolean {
  return state === 'failed' || state === 'blocked';
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
