import { z } from 'zod';
import { MINUTE_MS } from '../countdown.ts';
import {
  isSameBox,
  MAX_TICKS,
  type ObeyedPage,
  obeyedPageSchema,
  type Revision,
  type Tick,
  tickSchema,
  findPageTicks,
} from '../dashboard/boxes.ts';
import { type Immutable, instantSchema } from '../policy.ts';
import { isIssueTask } from '../tasks/ids.ts';
import { nameOfTask, type Task, taskObstacles } from '../tasks/task.ts';
import { tryJson } from '../text/try-json.ts';
import { DASHBOARD_FILE, type Snapshot, type SnapshotChange, withFile } from './snapshot.ts';

const MAX_NAME_CHARS = 120;
const MAX_TITLE_CHARS = 200;
const MAX_DEPENDENCIES = 20;

/** Maximum number of tasks of the queue that are remembered. */
const MAX_LISTED = 500;

/** Time in ms after which a tick is free again if its run was killed before it obeyed the tick. */
const TAKEN_MS = 10 * MINUTE_MS;

const keptTickSchema = tickSchema.unwrap().extend({
  /** The run that is obeying the tick; null if no run is obeying it. */
  taken: z
    .object({ runTag: z.string().max(200), until: instantSchema })
    .nullable()
    .default(null),
});

const recordSchema = z.object({
  version: z.literal(1),
  /** The issue; null until it is made. */
  issue: z.object({ number: z.number().int().positive(), id: z.string().min(1).max(200) }).nullable(),
  /** Boxes that were ticked while a run wrote the page; the next run of the queue judges them. */
  ticks: z.array(keptTickSchema).max(MAX_TICKS),
  /** The page as a run last obeyed it; null if no box was ever ticked. */
  read: obeyedPageSchema.nullable().default(null),
  /** The queue in its order, as a run last listed it. */
  queue: z
    .array(
      z.object({
        id: z.string().max(MAX_NAME_CHARS),
        name: z.string().max(MAX_NAME_CHARS),
        title: z.string().max(MAX_TITLE_CHARS),
        obstacle: z.enum(taskObstacles).nullable(),
        dependsOn: z.array(z.string().max(MAX_NAME_CHARS)).max(MAX_DEPENDENCIES),
      }),
    )
    .max(MAX_LISTED),
});

/** The state that the repository keeps about its dashboard. */
export type DashboardRecord = Immutable<z.infer<typeof recordSchema>>;

/** A task in a list of the queue; `name` is what people call it. */
export type QueuedEntry = DashboardRecord['queue'][number];

const EMPTY: DashboardRecord = { version: 1, issue: null, ticks: [], read: null, queue: [] };

/** Returns the record of the dashboard; an empty one if it is missing or unreadable. */
export function parseDashboardIn(snapshot: Snapshot): DashboardRecord {
  const parsed = recordSchema.safeParse(tryJson(snapshot.get(DASHBOARD_FILE) ?? ''));
  return parsed.success ? parsed.data : EMPTY;
}

/** Returns a change of the dashboard's record whose answer is the new record. A record of a newer version stays. */
export function changeDashboard(
  change: (record: DashboardRecord) => DashboardRecord,
  message: string,
): SnapshotChange<DashboardRecord> {
  return (snapshot) => {
    const answer = change(parseDashboardIn(snapshot));
    const isNewer = newerSchema.safeParse(tryJson(snapshot.get(DASHBOARD_FILE) ?? '')).success;
    const isSame = JSON.stringify(answer) === JSON.stringify(parseDashboardIn(snapshot));
    const text = `${JSON.stringify(answer, null, 1)}\n`;
    return { snapshot: isNewer || isSame ? snapshot : withFile(snapshot, DASHBOARD_FILE, text), message, answer };
  };
}

/** A reading of the dashboard by a run. */
interface ReadPage extends Pick<ObeyedPage, 'number' | 'edits'> {
  /** The page's versions; null if the page is closed, so that its boxes are ignored. */
  readonly revisions: readonly Revision[] | null;
}

/**
 * Returns the record after a run has taken all ticks that no other run is obeying: the new ones on the page, and the
 * remembered ones. Returns the same record without any ticks to take.
 */
export function takeTicks(
  record: DashboardRecord,
  { number, edits, revisions }: ReadPage,
  { runTag, now }: { readonly runTag: string; readonly now: number },
): DashboardRecord {
  const { read } = record;
  // Another run has read a newer version of the page, so this reading adds nothing.
  const isOlder = read !== null && read.number === number && read.edits > edits;
  const { all, fresh } =
    revisions === null || isOlder ? { all: [], fresh: [] } : findPageTicks({ number, edits, revisions }, read);
  const isHeld = ({ taken }: DashboardRecord['ticks'][number]): boolean =>
    taken !== null && taken.runTag !== runTag && taken.until > now;
  const held = record.ticks.filter(isHeld);
  const earlier = record.ticks.filter((one) => !isHeld(one) && !fresh.some(({ box }) => isSameBox(box, one.box)));
  const taken = [...earlier, ...fresh].map((tick) => ({ ...tick, taken: { runTag, until: now + TAKEN_MS } }));
  if (taken.length === 0) return record;
  const ticks = [...held, ...taken].slice(0, MAX_TICKS);
  return { ...record, ticks, read: isOlder ? read : { number, edits, ticks: all } };
}

/** Returns the ticks that a run has taken. */
export function listTicksTakenBy({ ticks }: DashboardRecord, runTag: string): readonly Tick[] {
  return ticks.flatMap(({ taken, box, by }) => (taken?.runTag === runTag ? [{ box, by }] : []));
}

/** Returns the record without the ticks that a run had taken. */
export function dropTakenTicks(record: DashboardRecord, runTag: string): DashboardRecord {
  return { ...record, ticks: record.ticks.filter(({ taken }) => taken?.runTag !== runTag) };
}

const newerSchema = z.object({ version: z.int().min(2) });

/** Returns the entry of a task in a list of the queue. */
export function toQueuedEntry(task: Task): QueuedEntry {
  const { id, title, obstacle, dependsOn } = task;
  return {
    id: id.slice(0, MAX_NAME_CHARS),
    name: nameOfTask(task).slice(0, MAX_NAME_CHARS),
    title: title.slice(0, MAX_TITLE_CHARS),
    obstacle,
    dependsOn: dependsOn.slice(0, MAX_DEPENDENCIES).map((other) => other.slice(0, MAX_NAME_CHARS)),
  };
}

/** Returns the known queue with the issues of a run that did not list it. */
export function addToQueue(known: readonly QueuedEntry[], tasks: readonly QueuedEntry[]): readonly QueuedEntry[] {
  const added = tasks.filter(({ id }) => isIssueTask(id) && known.every((one) => one.id !== id));
  return added.length === 0 ? known : [...known, ...added].slice(0, MAX_LISTED);
}

/** A run's list of the queue. */
export interface ListedQueue {
  readonly tasks: readonly QueuedEntry[];
  /** False if the list lacks dependencies and the tasks of files. */
  readonly isWhole: boolean;
}

/** Returns the known queue after a run listed it. A list that is not whole replaces only the issues. */
export function rememberQueue(known: readonly QueuedEntry[], { tasks, isWhole }: ListedQueue): readonly QueuedEntry[] {
  if (isWhole) return tasks.slice(0, MAX_LISTED);
  const before = new Map(known.map((task) => [task.id, task]));
  const issues = tasks.map((task) => ({ ...task, dependsOn: before.get(task.id)?.dependsOn ?? task.dependsOn }));
  return [...issues, ...known.filter(({ id }) => !isIssueTask(id))].slice(0, MAX_LISTED);
}
