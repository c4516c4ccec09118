import type { FileTask } from './form/root-plan.ts';
import { getProgress, untouchedProgress } from '../queue.ts';
import { isTaskBegun, isFinished, withoutIssue, type Task, type TaskProgress } from '../task.ts';
import type { TaskId } from '../ids.ts';

type ProgressById = Readonly<Record<TaskId, TaskProgress>>;

/**
 * Merges the tasks of files on a lane that continues. Its branch has the current document, but the base decides what is
 * asked for and with which priority, and an item ticked in the base is always done. A task that the agent added to its
 * plan is a task of its own; one that it added and ticked at once is a note. Tasks that people removed from the base
 * since the lane left it (at `fork`) are dropped unless they are done. `lane` is null if the base has everything that
 * is needed.
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
    if (asked !== undefined) return [{ task: withPlaceOf(asked.task, item.task), state: asked.state }];
    const isNote = item.state === 'done' && !Object.hasOwn(progress, id);
    const isTakenOut = askedOnce.has(id) && !isFinished(getProgress(progress, id));
    return isNote || isTakenOut ? [] : [{ task: withoutIssue(item.task), state: 'todo' }];
  });
  return [...living, ...base.filter(({ task }) => !ofLane.has(task.id))];
}

/** Returns the task with its position on the lane's branch; the issue that it closes comes from the base. */
function withPlaceOf(asked: Task, { source }: Task): Task {
  const issue = asked.source.kind === 'prd' ? asked.source.issue : null;
  return { ...asked, source: source.kind === 'prd' ? { ...source, issue } : source };
}

/** Facts about a lane apart from its progress and its files. */
interface LaneFacts {
  readonly beginsAgain: boolean;
  /** True if a person retried all tasks that their file marks as failed or blocked. */
  readonly retriesAll: boolean;
  /**
   * True if a person started this run: then tasks that an earlier Ralph program marked as failed are tried again, which
   * a scheduled run never does.
   */
  readonly byHand: boolean;
  /** True if every file could be read: then a task in none of them is dropped. */
  readonly allFilesRead: boolean;
}

/**
 * Returns the progress combined with the files: a task done in the base is done; a task without iterations is as the
 * file says, unless a person retried it. On a lane that `beginsAgain`, all earlier work is in the base or lost, so only
 * the base says what is done, except for `unmarked` tasks.
 */
export function mergeFileProgress(
  progress: ProgressById,
  tasks: readonly FileTask[],
  { beginsAgain, retriesAll, byHand, allFilesRead }: LaneFacts,
): ProgressById {
  const own = new Map<TaskId, TaskProgress>(
    Object.entries(progress).flatMap(([id, known]) => {
      if (known.retried && !isTaskBegun(known)) return [];
      const unmarked = allFilesRead || !isFinished(known) ? undefined : known.unmarked;
      return [[id, { ...known, unmarked, retried: undefined }] as const];
    }),
  );
  const ofFile: [TaskId, TaskProgress][] = [];
  for (const {
    task: { id },
    state,
  } of tasks) {
    const known = getProgress(progress, id);
    const isOrdered = (state === 'failed' || state === 'blocked') && (retriesAll || known.retried === true);
    const retried = isOrdered || (byHand && state === 'failed') ? true : undefined;
    const isUndone = beginsAgain && isFinished(known) && state !== 'done' && known.unmarked === undefined;
    // Tasks that this lane did itself have attempts, or at least a commit, so any other progress comes from the file.
    if ((known.attempts === 0 && known.doneCommit === null) || isUndone) {
      own.delete(id);
      if (state !== 'todo')
        ofFile.push([id, { ...untouchedProgress, state: retried === true ? 'todo' : state, retried }]);
    } else if (state === 'done') own.set(id, { ...known, state, unmarked: undefined, retried: undefined });
    else own.set(id, { ...known, unmarked: isFinished(known) ? known.unmarked : undefined, retried });
  }
  // Progress that the files contain as well comes first, because a state that gets too long drops the first entries.
  return Object.fromEntries([...ofFile, ...own]);
}
