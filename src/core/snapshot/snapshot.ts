import { z } from 'zod';
import { type LaneState, parseState } from '../lane/state/state.ts';
import { emptyBudget, parseBudget, serializeUsage, type Budget, type ParsedBudget } from '../sharing/budget.ts';
import {
  createLaneRecord,
  parseRecord,
  serializeRecord,
  type LaneRecord,
  type ParsedRecord,
} from '../sharing/lane-record.ts';
import {
  type ExaminedPullRequest,
  findAnswer,
  type LaneAnswer,
  type WaitingIssue,
  waitingIssueSchema,
} from '../sharing/waiting-issues.ts';
import { isLaneId, issueOfId, type LaneId, type TaskId } from '../tasks/ids.ts';
import { getProgress, untouchedProgress } from '../tasks/queue.ts';
import type { TaskProgress } from '../tasks/task.ts';
import { tryJson } from '../text/try-json.ts';

/**
 * The repository's data as the files of one tree: `lanes/<lane>.json`, `issues/<n>.json`, `proposals/<n>.json`,
 * `usage.json`, `dashboard.json`, `runs/<id>.json` and `pulls/<n>.json`, each with a version of its own. A file is
 * parsed when it is needed: an unreadable one, or one of a newer version, only affects its reader, and stays as it is.
 */
export type Snapshot = ReadonlyMap<string, string>;

/** The result of a change. The same snapshot object means that nothing changed. */
export interface Changed<Answer> {
  readonly snapshot: Snapshot;
  /** The author, the change and its reason, as one line of the history. */
  readonly message: string;
  /** The answer for the caller of the change. */
  readonly answer: Answer;
}

/** A pure function of the newest snapshot, which may leave it as it is. */
export type SnapshotChange<Answer> = (snapshot: Snapshot) => Changed<Answer>;

export const emptySnapshot: Snapshot = new Map();

/** The placeholder for a snapshot that cannot be read: its counters count as used up, and its lanes as lost. */
export const unreadableSnapshot: Snapshot = new Map([['usage.json', '{}']]);

/** Serializes a snapshot into one text. */
export function serializeSnapshot(snapshot: Snapshot): string {
  return `${JSON.stringify({ version: 1, files: Object.fromEntries(snapshot) }, null, 1)}\n`;
}

/** Parses a text that `serializeSnapshot` wrote. Never throws. */
export function parseSnapshot(text: string): Snapshot {
  const stored = storedSnapshotSchema.safeParse(tryJson(text));
  return stored.success
    ? new Map(Object.entries(stored.data.files).filter(([path]) => isSnapshotFile(path)))
    : unreadableSnapshot;
}

const storedSnapshotSchema = z.object({ version: z.literal(1), files: z.record(z.string(), z.string()) });

const USAGE = 'usage.json';
/** The file about the dashboard, which earlier versions do not know. */
export const DASHBOARD_FILE = 'dashboard.json';
const LANE = /^lanes\/([a-z0-9-]{1,100})\.json$/;
const PULL = /^pulls\/[1-9]\d{0,14}\.json$/;
const ISSUE = /^issues\/([1-9]\d{0,14})\.json$/;
/** The file of the sub-tasks proposed for an issue, which earlier versions do not know. */
export const PROPOSAL_FILE = /^proposals\/[1-9]\d{0,14}\.json$/;

/** Returns true if a file of the tree belongs to a snapshot; others are ignored. */
export function isSnapshotFile(path: string): boolean {
  return (
    path === USAGE ||
    path === DASHBOARD_FILE ||
    LANE.test(path) ||
    ISSUE.test(path) ||
    PULL.test(path) ||
    PROPOSAL_FILE.test(path) ||
    /^runs\/[\w.-]{1,80}\.json$/.test(path)
  );
}

/** Returns the lanes that have a file. */
export function listLanes(snapshot: Snapshot): readonly LaneId[] {
  return [...snapshot.keys()].flatMap((path) => LANE.exec(path)?.[1] ?? []).filter(isLaneId);
}

/** Returns the states of the other lanes that know of a base on which `verify` fails. */
export function listLanesOnRedBase(snapshot: Snapshot, lane: LaneId): readonly LaneState[] {
  return listOtherLanes(snapshot, lane, /"redBase": ?\{/).filter(({ redBase }) => redBase !== null);
}

/** Returns the states of the other lanes with circuits of providers if any lane is at a usage limit; otherwise none. */
export function listLanesWithLimits(snapshot: Snapshot, lane: LaneId): readonly LaneState[] {
  const isLimited = listLanes(snapshot).some((id) => /"why": ?"limit"/.test(snapshot.get(laneFile(id)) ?? ''));
  return isLimited ? listOtherLanes(snapshot, lane, /"providers": ?\{\s*"/) : [];
}

/** Returns the states of the other lanes whose files match, because reading every state would take long. */
function listOtherLanes(snapshot: Snapshot, lane: LaneId, mark: RegExp): readonly LaneState[] {
  return listLanes(snapshot).flatMap((other) => {
    if (other === lane || !mark.test(snapshot.get(laneFile(other)) ?? '')) return [];
    const document = parseRecordIn(snapshot, other)?.document ?? null;
    const parsed = document === null ? null : parseState(document, other);
    return parsed?.kind === 'state' ? [parsed.state] : [];
  });
}

/** Returns the record of a lane; an empty one if it has no file. */
export function parseLaneIn(snapshot: Snapshot, lane: LaneId): ParsedRecord {
  const text = snapshot.get(laneFile(lane));
  return text === undefined ? { kind: 'record', record: createLaneRecord(lane) } : parseRecord(text, lane);
}

/**
 * Returns the record that a change builds on: an empty one in place of an unreadable one; null if a newer version wrote
 * it, because such a record is never replaced.
 */
export function parseRecordIn(snapshot: Snapshot, lane: LaneId): LaneRecord | null {
  const parsed = parseLaneIn(snapshot, lane);
  if (parsed.kind === 'newer') return null;
  return parsed.kind === 'record' ? parsed.record : createLaneRecord(lane);
}

/** Returns the snapshot with the record of a lane, in place of an earlier one. */
export function withRecord(snapshot: Snapshot, record: LaneRecord): Snapshot {
  return withFile(snapshot, laneFile(record.lane), serializeRecord(record));
}

/** Returns the usage and reservations that all lanes share. */
export function parseBudgetIn(snapshot: Snapshot, now: number): ParsedBudget {
  const text = snapshot.get(USAGE);
  return text === undefined ? { kind: 'budget', budget: emptyBudget, problem: null } : parseBudget(text, now);
}

/** Returns the snapshot with this budget in place of the earlier one; a newer version's budget stays as it is. */
export function withBudget(snapshot: Snapshot, budget: Budget, now: number): Snapshot {
  const known = parseBudgetIn(snapshot, now);
  const isUnused = !snapshot.has(USAGE) && serializeUsage(budget) === serializeUsage(emptyBudget);
  return known.kind === 'newer' || isUnused ? snapshot : withFile(snapshot, USAGE, serializeUsage(budget));
}

/** Returns the snapshot with these waiting issues in place of the earlier ones. */
export function withWaiting(snapshot: Snapshot, issues: readonly WaitingIssue[]): Snapshot {
  const gone = listWaitingIssues(snapshot).filter(({ task }) => issues.every((one) => one.task !== task));
  const cleared = gone.reduce((next, { task }) => withFile(next, issueFile(task), null), snapshot);
  return issues.reduce(
    (next, issue) => withFile(next, issueFile(issue.task), `${JSON.stringify({ version: 2, ...issue }, null, 1)}\n`),
    cleared,
  );
}

/**
 * Returns the waiting issues, at most one for each issue, oldest first. Unreadable ones are looked up again when they
 * are needed.
 */
export function listWaitingIssues(snapshot: Snapshot): readonly WaitingIssue[] {
  return [...snapshot]
    .flatMap(([path, text]) => {
      const parsed = ISSUE.test(path) ? waitingIssueSchema.safeParse(tryJson(text)) : null;
      return parsed?.success === true && issueFile(parsed.data.task) === path ? [parsed.data] : [];
    })
    .sort((one, other) => one.at - other.at);
}

/** Returns the answers of the lanes of waiting issues; lanes with unreadable states are left out. */
export function listLaneAnswers(
  snapshot: Snapshot,
  isWanted: (issue: WaitingIssue) => boolean = () => true,
): readonly LaneAnswer[] {
  const waiting = listWaitingIssues(snapshot).filter(isWanted);
  return [...new Set(waiting.map(({ lane }) => lane))].flatMap((lane) => {
    const document = parseRecordIn(snapshot, lane)?.document ?? null;
    const parsed = document === null ? null : parseState(document, lane);
    return parsed?.kind !== 'state'
      ? []
      : waiting.flatMap((issue) => (issue.lane === lane ? (findAnswer(issue, parsed.state) ?? []) : []));
  });
}

/** Returns a lane's progress on a task; one that cannot be read has not begun it. */
export function findProgressIn(snapshot: Snapshot, lane: LaneId, task: TaskId): TaskProgress {
  const document = parseRecordIn(snapshot, lane)?.document ?? null;
  const parsed = document === null ? null : parseState(document, lane);
  return parsed?.kind === 'state' ? getProgress(parsed.state.tasks, task) : untouchedProgress;
}

/** Returns the states of pull requests when runs last examined them. */
export function listExaminedPulls(snapshot: Snapshot): readonly ExaminedPullRequest[] {
  return listLanes(snapshot).flatMap((lane) => {
    const look = parseRecordIn(snapshot, lane)?.looked ?? null;
    return look === null ? [] : [{ lane, ...look }];
  });
}

/** Returns the snapshot with a changed record of a lane; a newer version's record stays as it is. */
export function withLane(snapshot: Snapshot, lane: LaneId, change: (record: LaneRecord) => LaneRecord): Snapshot {
  const record = parseRecordIn(snapshot, lane);
  const changed = record === null ? null : change(record);
  return changed === null || changed === record ? snapshot : withRecord(snapshot, changed);
}

/**
 * Returns the snapshot with a text under this path, or without the file for null. An identical text changes nothing.
 */
export function withFile(snapshot: Snapshot, path: string, text: string | null): Snapshot {
  if ((snapshot.get(path) ?? null) === text) return snapshot;
  const next = new Map(snapshot);
  if (text === null) next.delete(path);
  else next.set(path, text);
  return next;
}

function laneFile(lane: LaneId): string {
  return `lanes/${lane}.json`;
}

/** Returns the file of a waiting task, which is always an issue. */
function issueFile(task: string): string {
  return `issues/${String(issueOfId(task) ?? 0)}.json`;
}
