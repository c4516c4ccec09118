import type { FileTask } from './form/root-plan.ts';
import { progressOf, untouched } from '../queue.ts';
import { isBegun, isFinished, withoutIssue, type Task, type TaskProgress, type TaskState } from '../task.ts';
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
    const isTakenOut = askedOnce.has(id) && !isFinished(progressOf(progress, id));
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
  /** A person had everything tried again that its file calls failed or blocked. */
  readonly retriesAll: boolean;
  /** A person started this run, which is for what an earlier Ralph failed as well. No run on the schedule tries that. */
  readonly byHand: boolean;
  /** Every file could be read: what is in none is asked for no more. */
  readonly areWhole: boolean;
}

/**
 * Progress with what the files say: done in the base is done; what no iteration was spent on is as the file has it, unless a
 * person had it tried again. On a lane that `beginsAgain` everything it ever did is in the base or lost, so the base alone says
 * what is done, but for what is `unmarked`.
 */
export function fileProgress(
  progress: ProgressById,
  tasks: readonly FileTask[],
  { beginsAgain, retriesAll, byHand, areWhole }: LaneFacts,
): ProgressById {
  const own = new Map<TaskId, TaskProgress>(
    Object.entries(progress).flatMap(([id, known]) => {
      if (known.retried && !isBegun(known)) return [];
      const unmarked = areWhole || !isFinished(known) ? undefined : known.unmarked;
      return [[id, { ...known, unmarked, retried: undefined }] as const];
    }),
  );
  const ofFile: [TaskId, TaskProgress][] = [];
  for (const {
    task: { id },
    state,
  } of tasks) {
    const known = progressOf(progress, id);
    const isOrdered = isGivenUp(state) && (retriesAll || known.retried === true);
    const retried = isOrdered || (byHand && state === 'failed') ? true : undefined;
    const isUndone = beginsAgain && isFinished(known) && state !== 'done' && known.unmarked === undefined;
    // What this lane did itself took attempts, or at least a commit.
    if ((known.attempts === 0 && known.doneCommit === null) || isUndone) {
      own.delete(id);
      if (state !== 'todo') ofFile.push([id, { ...untouched, state: retried === true ? 'todo' : state, retried }]);
    } else if (state === 'done') own.set(id, { ...known, state, unmarked: undefined, retried: undefined });
    else own.set(id, { ...known, unmarked: isFinished(known) ? known.unmarked : undefined, retried });
  }
  // What the files say anyway stands first, as the oldest: it is the first to go when the state gets too long.
  return Object.fromEntries([...ofFile, ...own]);
}

function isGivenUp(state: TaskState): boolean {
  return state === 'failed' || state === 'blocked';
}
