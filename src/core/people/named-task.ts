import { isIssueTask, nameOfTaskId, parseTaskName, type TaskId } from '../tasks/ids.ts';
import { nameOfTask, type Task } from '../tasks/task.ts';
import { firstNames } from '../text/phrase.ts';
import { nearestFirst } from '../text/nearest.ts';

/** A task as people may call it: by its id, or by the name under which it is shown. */
export interface CalledTask {
  readonly id: TaskId;
  readonly name: string;
}

type Named =
  | { readonly kind: 'task'; readonly id: TaskId }
  | { readonly kind: 'several'; readonly why: string }
  /** `nearest`: a sentence with what may have been meant. */
  | { readonly kind: 'none'; readonly nearest: string };

const SHOWN_TASKS = 5;

/** Longer ones are no names of tasks. */
export const MAX_NAME_CHARS = 300;

/** How people call a task of which the text is known: `#12`, `.ralph/fix_plan.md:7`, `US-001`. */
export function calledAs(task: Pick<Task, 'id' | 'source'>): CalledTask {
  return { id: task.id, name: nameOfTask(task) };
}

/** The same where only the id is known. */
export function calledById(id: TaskId): CalledTask {
  return { id, name: /^(?:prd|beads)-(.+)$/.exec(id)?.[1] ?? nameOfTaskId(id) };
}

/** The one of the tasks that a person calls so; of several entries for an id the first counts. */
export function findNamed(given: string, tasks: readonly CalledTask[]): Named {
  const known = [...new Map(tasks.toReversed().map((task) => [task.id, task])).values()].toReversed();
  const called = known.filter(({ name }) => name === given);
  const alike = called.length > 0 ? called : known.filter(({ name }) => name.toLowerCase() === given.toLowerCase());
  const byId = known.find(({ id }) => id === given);
  const issue = known.find(({ id }) => id === parseTaskName(given));
  const found = byId === undefined ? [...new Set([...alike, ...(issue === undefined ? [] : [issue])])] : [byId];
  const [first, ...others] = found;
  if (first === undefined) return { kind: 'none', nearest: nearestTo(given, known) };
  if (others.length === 0) return { kind: 'task', id: first.id };
  const ids = firstNames(
    found.map(({ id }) => id),
    SHOWN_TASKS,
  );
  return { kind: 'several', why: `Several tasks are called ${given}: ${ids}. Name one by its id.` };
}

function nearestTo(given: string, known: readonly CalledTask[]): string {
  if (known.length === 0) return 'No tasks are known yet.';
  const labels = new Map(known.flatMap((task) => [task.name, task.id].map((name) => [name, labelOf(task)] as const)));
  const nearest = new Set(nearestFirst(given, [...labels.keys()]).map((name) => labels.get(name) ?? name));
  return `Nearest: ${firstNames([...nearest], SHOWN_TASKS)}.`;
}

function labelOf({ id, name }: CalledTask): string {
  return name === id || isIssueTask(id) ? name : `${name} (${id})`;
}

/** What a person who named an unknown task gets: `what` is wrong, as a sentence, and the nearest of the known ones. */
export function unknownTask(task: TaskId, known: readonly TaskId[], what: string): string {
  const names = nearestFirst(nameOfTaskId(task), [...new Set(known)].map(nameOfTaskId));
  const others = names.length === 0 ? 'No tasks are known yet.' : `Nearest: ${firstNames(names, SHOWN_TASKS)}.`;
  return `${what} ${others}`;
}
