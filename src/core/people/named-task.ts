import { isIssueTask, nameOfTaskId, parseTaskName, type TaskId } from '../tasks/ids.ts';
import { nameOfTask, type Task } from '../tasks/task.ts';
import { joinNames } from '../text/phrase.ts';
import { sortByNearness } from '../text/nearest.ts';

/** The two names by which people may refer to a task: its id, and the name under which it is shown. */
export interface TaskReference {
  readonly id: TaskId;
  readonly name: string;
}

type NameMatch =
  | { readonly kind: 'task'; readonly id: TaskId }
  | { readonly kind: 'several'; readonly why: string }
  /** `nearest`: a sentence with tasks that may have been meant. */
  | { readonly kind: 'none'; readonly nearest: string };

const SHOWN_TASKS = 5;

/** Maximum length of a task's name in a command. */
export const MAX_TASK_NAME_CHARS = 300;

/** Returns how people refer to a task, with the name that its source gives: `#12`, `.ralph/fix_plan.md:7`, `US-001`. */
export function nameTaskReference(task: Pick<Task, 'id' | 'source'>): TaskReference {
  return { id: task.id, name: nameOfTask(task) };
}

/** Returns how people refer to a task known only by its id; the name is derived from the id. */
export function nameReferenceById(id: TaskId): TaskReference {
  return { id, name: /^(?:prd|beads)-(.+)$/.exec(id)?.[1] ?? nameOfTaskId(id) };
}

/** Finds the task that a person named. If several entries have the same id, the first is used. */
export function findTaskByName(given: string, tasks: readonly TaskReference[]): NameMatch {
  const known = [...new Map(tasks.toReversed().map((task) => [task.id, task])).values()].toReversed();
  const called = known.filter(({ name }) => name === given);
  const alike = called.length > 0 ? called : known.filter(({ name }) => name.toLowerCase() === given.toLowerCase());
  const byId = known.find(({ id }) => id === given);
  const issue = known.find(({ id }) => id === parseTaskName(given));
  const matches = byId === undefined ? [...new Set([...alike, ...(issue === undefined ? [] : [issue])])] : [byId];
  const [first, ...others] = matches;
  if (first === undefined) return { kind: 'none', nearest: nearestTo(given, known) };
  if (others.length === 0) return { kind: 'task', id: first.id };
  const ids = joinNames(
    matches.map(({ id }) => id),
    SHOWN_TASKS,
  );
  return { kind: 'several', why: `Several tasks are called ${given}: ${ids}. Name one by its id.` };
}

function nearestTo(given: string, known: readonly TaskReference[]): string {
  if (known.length === 0) return 'No tasks are known yet.';
  const labels = new Map(
    known.flatMap((task) => [task.name, task.id].map((name) => [name, describeReference(task)] as const)),
  );
  const nearest = new Set(sortByNearness(given, [...labels.keys()]).map((name) => labels.get(name) ?? name));
  return `Nearest: ${joinNames([...nearest], SHOWN_TASKS)}.`;
}

function describeReference({ id, name }: TaskReference): string {
  return name === id || isIssueTask(id) ? name : `${name} (${id})`;
}

/** Returns the message about an unknown task: `what` says what is wrong, followed by the nearest known tasks. */
export function describeUnknownTask(task: TaskId, known: readonly TaskId[], what: string): string {
  const names = sortByNearness(nameOfTaskId(task), [...new Set(known)].map(nameOfTaskId));
  const others = names.length === 0 ? 'No tasks are known yet.' : `Nearest: ${joinNames(names, SHOWN_TASKS)}.`;
  return `${what} ${others}`;
}
