import { z } from 'zod';
import { type Budget, emptyBudget, parseBudget, type ParsedBudget, serializeUsage } from '../sharing/budget.ts';
import {
  emptyRecord,
  type LaneRecord,
  type ParsedRecord,
  parseRecord,
  serializeRecord,
} from '../sharing/lane-record.ts';
import { type WaitingIssue, waitingIssueSchema } from '../sharing/waiting-issues.ts';
import { isLaneId, issueOfId, type LaneId } from '../tasks/ids.ts';
import { tryJson } from '../text/try-json.ts';

/**
 * What the repository knows, as the files of one tree: `lanes/<lane>.json`, `issues/<n>.json`, `usage.json` and
 * `runs/<id>.json`, each with a version of its own. A file is read when it is asked for: one that cannot be read, or that a
 * newer version wrote, is nobody's business but of who asks for it, and stays as it is.
 */
export type Snapshot = ReadonlyMap<string, string>;

/** What becomes of a snapshot; the very same one: nothing does. */
export interface Changed<Answer> {
  readonly snapshot: Snapshot;
  /** Who changed what and why, in one line of the history. */
  readonly message: string;
  /** What the change says of the snapshot that it was given. */
  readonly answer: Answer;
}

/** A pure function of the newest snapshot, which may leave it as it is. */
export type Change<Answer> = (snapshot: Snapshot) => Changed<Answer>;

export const emptySnapshot: Snapshot = new Map();

/** What stands for a snapshot of which nothing can be read: its counters count as used up, and its lanes as lost. */
export const unreadableSnapshot: Snapshot = new Map([['usage.json', '{}']]);

/** A snapshot as one text. */
export function serializeSnapshot(snapshot: Snapshot): string {
  return `${JSON.stringify({ version: 1, files: Object.fromEntries(snapshot) }, null, 1)}\n`;
}

/** Reads such a text. Any string is answered. */
export function parseSnapshot(text: string): Snapshot {
  const stored = storedSnapshotSchema.safeParse(tryJson(text));
  return stored.success
    ? new Map(Object.entries(stored.data.files).filter(([path]) => isSnapshotFile(path)))
    : unreadableSnapshot;
}

const storedSnapshotSchema = z.object({ version: z.literal(1), files: z.record(z.string(), z.string()) });

const USAGE = 'usage.json';

const LANE = /^lanes\/([a-z0-9-]{1,100})\.json$/;

const ISSUE = /^issues\/([1-9]\d{0,14})\.json$/;

/** What of a tree belongs to a snapshot; the rest is nobody's. */
export function isSnapshotFile(path: string): boolean {
  return path === USAGE || LANE.test(path) || ISSUE.test(path) || /^runs\/[\w.-]{1,80}\.json$/.test(path);
}

/** The lanes that have a file. */
export function lanesIn(snapshot: Snapshot): readonly LaneId[] {
  return [...snapshot.keys()].flatMap((path) => LANE.exec(path)?.[1] ?? []).filter(isLaneId);
}

/** What is kept of a lane; of one without a file an empty record. */
export function laneIn(snapshot: Snapshot, lane: LaneId): ParsedRecord {
  const text = snapshot.get(laneFile(lane));
  return text === undefined ? { kind: 'record', record: emptyRecord(lane) } : parseRecord(text, lane);
}

/** The record that a change builds on: an unreadable one begins anew; null: a newer version wrote it, and it is not replaced. */
export function recordIn(snapshot: Snapshot, lane: LaneId): LaneRecord | null {
  const parsed = laneIn(snapshot, lane);
  if (parsed.kind === 'newer') return null;
  return parsed.kind === 'record' ? parsed.record : emptyRecord(lane);
}

export function withRecord(snapshot: Snapshot, record: LaneRecord): Snapshot {
  return withFile(snapshot, laneFile(record.lane), serializeRecord(record));
}

/** What all lanes share: what is used and reserved, how issues stand, and which lanes are to be looked at. */
export function budgetIn(snapshot: Snapshot, now: number): ParsedBudget {
  const text = snapshot.get(USAGE);
  const parsed: ParsedBudget =
    text === undefined ? { kind: 'budget', budget: emptyBudget, problem: null } : parseBudget(text, now);
  if (parsed.kind === 'newer') return parsed;
  const marks = lanesIn(snapshot).map((lane) => ({ lane, ...markIn(snapshot, lane) }));
  const budget: Budget = {
    ...parsed.budget,
    waiting: waitingIn(snapshot),
    unfinished: marks.flatMap(({ lane, goesOn }) => (goesOn === 'unfinished' ? [lane] : [])),
    unanswered: marks.flatMap(({ lane, goesOn }) => (goesOn === 'unanswered' ? [lane] : [])),
    looked: marks
      .flatMap(({ lane, looked }) => (looked === null ? [] : [{ lane, ...looked }]))
      .sort((one, other) => one.at - other.at),
  };
  return { ...parsed, budget };
}

/** The snapshot with another budget: of each part its file, where that changes. */
export function withBudget(snapshot: Snapshot, budget: Budget, now: number): Snapshot {
  const known = budgetIn(snapshot, now);
  if (known.kind === 'newer' || (known.budget === budget && known.problem === null)) return snapshot;
  const before = known.budget;
  const isUnused = !snapshot.has(USAGE) && isSameUsage(budget, emptyBudget);
  const withUsage = isUnused ? snapshot : withFile(snapshot, USAGE, serializeUsage(budget));
  return withMarks(withWaiting(withUsage, before.waiting, budget.waiting), before, budget);
}

function isSameUsage(one: Budget, other: Budget): boolean {
  return serializeUsage(one) === serializeUsage(other);
}

function withWaiting(snapshot: Snapshot, before: readonly WaitingIssue[], after: readonly WaitingIssue[]): Snapshot {
  const gone = before.filter(({ task }) => after.every((one) => one.task !== task));
  const cleared = gone.reduce((next, { task }) => withFile(next, issueFile(task), null), snapshot);
  return after.reduce(
    (next, issue) => withFile(next, issueFile(issue.task), `${JSON.stringify({ version: 1, ...issue }, null, 1)}\n`),
    cleared,
  );
}

function withMarks(snapshot: Snapshot, before: Budget, after: Budget): Snapshot {
  const lanes = new Set(
    [before, after].flatMap((one) => [...one.unfinished, ...one.unanswered, ...one.looked.map(({ lane }) => lane)]),
  );
  return [...lanes].reduce((next, lane) => {
    const goesOn = after.unanswered.includes(lane)
      ? 'unanswered'
      : after.unfinished.includes(lane)
        ? 'unfinished'
        : null;
    const look = after.looked.find((one) => one.lane === lane);
    const looked = look === undefined ? null : { seen: look.seen, at: look.at };
    const record = recordIn(next, lane);
    if (record === null) return next;
    const isKnown =
      record.goesOn === goesOn && record.looked?.seen === looked?.seen && record.looked?.at === looked?.at;
    return isKnown ? next : withRecord(next, { ...record, goesOn, looked });
  }, snapshot);
}

const storedIssueSchema = waitingIssueSchema.extend({ version: z.literal(1) });

/** At most one for each issue, oldest first. What cannot be read is asked again where it comes up. */
function waitingIn(snapshot: Snapshot): readonly WaitingIssue[] {
  return [...snapshot]
    .flatMap(([path, text]) => {
      const parsed = ISSUE.test(path) ? storedIssueSchema.safeParse(tryJson(text)) : null;
      if (parsed?.success !== true || issueFile(parsed.data.task) !== path) return [];
      return [waitingIssueSchema.parse(parsed.data)];
    })
    .sort((one, other) => one.at - other.at);
}

/** Of a record that cannot be read nothing is known. */
function markIn(snapshot: Snapshot, lane: LaneId): Pick<LaneRecord, 'goesOn' | 'looked'> {
  const parsed = laneIn(snapshot, lane);
  return parsed.kind === 'record' ? parsed.record : { goesOn: null, looked: null };
}

/** The snapshot with a text under this path; null: with none. A text that is there already changes nothing. */
function withFile(snapshot: Snapshot, path: string, text: string | null): Snapshot {
  if ((snapshot.get(path) ?? null) === text) return snapshot;
  const next = new Map(snapshot);
  if (text === null) next.delete(path);
  else next.set(path, text);
  return next;
}

function laneFile(lane: LaneId): string {
  return `lanes/${lane}.json`;
}

/** Only issues wait. */
function issueFile(task: string): string {
  return `issues/${String(issueOfId(task) ?? 0)}.json`;
}

/** The name under which earlier versions kept what all lanes share, beside the lanes. */
const BUDGET_NAME = 'budget';

/** Whether earlier versions kept something under this name: a lane, or the budget. */
export function isEarlierName(name: string): boolean {
  return name === BUDGET_NAME || isLaneId(name);
}

/**
 * What earlier versions kept, in texts of their own under the names of lanes and `budget`, as one snapshot. What cannot be
 * read stays unreadable: as a loss it is reported and not forgotten.
 */
export function migrated(texts: ReadonlyMap<LaneId, string>, now: number): Snapshot {
  const lanes = [...texts].filter(([name]) => isLaneId(name)).reduce(withLane, emptySnapshot);
  const text = texts.get(BUDGET_NAME);
  if (text === undefined) return lanes;
  const parsed = parseBudget(text, now);
  // Counters that a newer version wrote were never beside texts of their own.
  if (parsed.kind === 'newer') return new Map([...lanes, ['usage.json', text]]);
  return withBudget(lanes, parsed.budget, now);
}

function withLane(snapshot: Snapshot, [lane, text]: readonly [LaneId, string]): Snapshot {
  const parsed = parseRecord(text, lane);
  return parsed.kind === 'record'
    ? withRecord(snapshot, parsed.record)
    : new Map([...snapshot, [`lanes/${lane}.json`, text]]);
}
