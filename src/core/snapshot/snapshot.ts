import { z } from 'zod';
import { emptyBudget, parseBudget, serializeUsage, type Budget, type ParsedBudget } from '../sharing/budget.ts';
import {
  emptyRecord,
  parseRecord,
  serializeRecord,
  type LaneRecord,
  type ParsedRecord,
} from '../sharing/lane-record.ts';
import { type Looked, type WaitingIssue, waitingIssueSchema } from '../sharing/waiting-issues.ts';
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

/** What is used and reserved of what all lanes share. */
export function budgetIn(snapshot: Snapshot, now: number): ParsedBudget {
  const text = snapshot.get(USAGE);
  return text === undefined ? { kind: 'budget', budget: emptyBudget, problem: null } : parseBudget(text, now);
}

/** The snapshot with another budget; what a newer version wrote stays. */
export function withBudget(snapshot: Snapshot, budget: Budget, now: number): Snapshot {
  const known = budgetIn(snapshot, now);
  const isUnused = !snapshot.has(USAGE) && serializeUsage(budget) === serializeUsage(emptyBudget);
  return known.kind === 'newer' || isUnused ? snapshot : withFile(snapshot, USAGE, serializeUsage(budget));
}

/** The snapshot with other issues that wait. */
export function withWaiting(snapshot: Snapshot, issues: readonly WaitingIssue[]): Snapshot {
  const gone = waitingIn(snapshot).filter(({ task }) => issues.every((one) => one.task !== task));
  const cleared = gone.reduce((next, { task }) => withFile(next, issueFile(task), null), snapshot);
  return issues.reduce(
    (next, issue) => withFile(next, issueFile(issue.task), `${JSON.stringify({ version: 1, ...issue }, null, 1)}\n`),
    cleared,
  );
}

/** The issues that wait, at most one for each issue, oldest first. What cannot be read is asked again where it comes up. */
export function waitingIn(snapshot: Snapshot): readonly WaitingIssue[] {
  return [...snapshot]
    .flatMap(([path, text]) => {
      const parsed = ISSUE.test(path) ? waitingIssueSchema.safeParse(tryJson(text)) : null;
      return parsed?.success === true && issueFile(parsed.data.task) === path ? [parsed.data] : [];
    })
    .sort((one, other) => one.at - other.at);
}

/** How pull requests stood when runs last looked after them. */
export function looksIn(snapshot: Snapshot): readonly Looked[] {
  return lanesIn(snapshot).flatMap((lane) => {
    const look = recordIn(snapshot, lane)?.looked ?? null;
    return look === null ? [] : [{ lane, ...look }];
  });
}

/** The snapshot with another record of a lane; what a newer version wrote stays. */
export function withLane(snapshot: Snapshot, lane: LaneId, change: (record: LaneRecord) => LaneRecord): Snapshot {
  const record = recordIn(snapshot, lane);
  const changed = record === null ? null : change(record);
  return changed === null || changed === record ? snapshot : withRecord(snapshot, changed);
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
