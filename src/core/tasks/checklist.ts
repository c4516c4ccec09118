import type { Checklist } from '../evidence.ts';
import type { FileTask } from './files/form/root-plan.ts';
import { getProgress } from './queue.ts';
import { isFinished, withoutIssue, type QueuedTask, type Task, type TaskProgress } from './task.ts';
import type { TaskId } from './ids.ts';

/** The task files before and after one iteration on `taskId`, and the lane's tasks with their progress. */
export interface ChecklistFacts {
  readonly before: readonly FileTask[];
  readonly after: readonly FileTask[];
  readonly taskId: TaskId;
  readonly tasks: readonly QueuedTask[];
  readonly progress: Readonly<Record<TaskId, TaskProgress>>;
}

/**
 * Returns what an iteration did to the task files; null if no task file has items, before or after. An item that was
 * reworded when it was ticked, or moved, counts as kept.
 */
export function compareChecklists({ before, after, taskId, tasks, progress }: ChecklistFacts): Checklist | null {
  if (before.length === 0 && after.length === 0) return null;
  const now = successorsOf(before, after);
  const stateOf = (id: TaskId): NonNullable<Checklist['current']> => {
    const item = now.get(id);
    return item === undefined ? 'gone' : item.state === 'done' ? 'done' : 'open';
  };
  const known = new Set(before.map(({ task }) => task.id));
  const open = before.filter(({ state }) => state !== 'done').map(({ task }) => task.id);
  const current = known.has(taskId) ? stateOf(taskId) : null;
  const ticked = open.filter((id) => stateOf(id) === 'done');
  const done = tasks
    .filter(({ id }) => known.has(id) && stateOf(id) === 'done' && !isFinished(getProgress(progress, id)))
    .map(({ id }) => id);
  return {
    current,
    wasMarked: before.some(({ task, state }) => task.id === taskId && state === 'done'),
    done,
    finished: new Set([...ticked, ...(current === 'done' ? [taskId] : [])]).size,
    removed: open.filter((id) => stateOf(id) === 'gone').length,
    added: after.length - now.size,
  };
}

/** Maximum number of items added by one iteration that become tasks at once; the next run accepts the others. */
const MAX_FOUND = 20;

/**
 * Returns the open items that the iteration added, as tasks of the lane: they depend only on tasks that the lane knows.
 */
export function tasksOfNewItems({ before, after, tasks }: ChecklistFacts): readonly Task[] {
  const successors = new Set([...successorsOf(before, after).values()].map(({ task }) => task.id));
  const lane = new Set(tasks.map(({ id }) => id));
  const added = after
    .filter(({ task, state }) => state !== 'done' && !successors.has(task.id) && !lane.has(task.id))
    .slice(0, MAX_FOUND);
  const known = new Set([...lane, ...added.map(({ task }) => task.id)]);
  return added.map(({ task }) => ({ ...withoutIssue(task), dependsOn: task.dependsOn.filter((id) => known.has(id)) }));
}

/** Returns the current items by the ids of the earlier items that they continue. */
function successorsOf(before: readonly FileTask[], after: readonly FileTask[]): ReadonlyMap<TaskId, FileTask> {
  const byId = new Map(after.map((item) => [item.task.id, item]));
  const successors = new Map<TaskId, FileTask>();
  for (const { task } of before) {
    const item = byId.get(task.id);
    if (item !== undefined) successors.set(task.id, item);
  }
  const known = new Set(before.map(({ task }) => task.id));
  const strangers = new Set(after.filter(({ task }) => !known.has(task.id)));
  for (const [at, item] of before.entries()) {
    if (successors.has(item.task.id)) continue;
    // New items may be above or below the old one, so its place is counted from both ends.
    const atItsPlace = before.length > after.length ? [] : [after[at], after.at(at - before.length)];
    const successor = [...strangers].find(
      (stranger) => isSuccessor(item, stranger) || isReworded(item, stranger, atItsPlace.includes(stranger)),
    );
    if (successor === undefined) continue;
    strangers.delete(successor);
    successors.set(item.task.id, successor);
  }
  return successors;
}

/**
 * Returns true if an item is the earlier one, moved or ticked: it has the same words, and a ticked one may have a
 * remark: `Add a flag (done in 1a2b3c)`.
 */
function isSuccessor({ task: old }: FileTask, { task, state }: FileTask): boolean {
  if (old.source.kind !== task.source.kind) return false;
  const remark = task.title.startsWith(old.title) ? task.title.slice(old.title.length) : null;
  return remark === '' || (remark !== null && state === 'done' && /^\s*[^\s\p{L}\p{N}]/u.test(remark));
}

/** Minimum number of words of a title by which its item is recognized, unless two or more are all left in place. */
const MIN_WORDS = 3;
/** Minimum share of these words that must be left if the item is still in place. */
const MIN_SHARE_LEFT = 0.75;
/** Minimum length of a word that is recognized with another ending. */
const MIN_STEM = 3;

/**
 * Returns true if an item is the earlier one, reworded when it was ticked: `DONE: read header row (in src/header.ts)`
 * for `Read the header row`, and, in the same place, `Added tests for CSV` for `Add tests`.
 */
function isReworded({ task: old }: FileTask, { task, state }: FileTask, isInPlace: boolean): boolean {
  if (state !== 'done' || old.source.kind !== task.source.kind) return false;
  const [before, now] = [titleWords(old.title), titleWords(task.title)];
  const isLeft = (word: string): boolean =>
    now.includes(word) || (isInPlace && word.length >= MIN_STEM && now.some((other) => other.startsWith(word)));
  const left = before.filter(isLeft).length;
  if (isInPlace && left === before.length) return left > 1 && now.length <= 2 * before.length + 1;
  const share = isInPlace ? MIN_SHARE_LEFT : 1;
  return before.length >= MIN_WORDS && left >= share * before.length && now.length <= 2 * before.length;
}

function titleWords(title: string): readonly string[] {
  return title.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}
