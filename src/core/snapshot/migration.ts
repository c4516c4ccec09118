import { z } from 'zod';
import { parseBudget } from '../sharing/budget.ts';
import { parseRecord } from '../sharing/lane-record.ts';
import { examinedPullSchema, MAX_WAITING, openCircuitSchema, waitingIssueSchema } from '../sharing/waiting-issues.ts';
import { isIssueTask, isLaneId, type LaneId } from '../tasks/ids.ts';
import { tryJson } from '../text/try-json.ts';
import {
  emptySnapshot,
  withBudget,
  withLane as withRecordOf,
  withRecord,
  withWaiting,
  type Snapshot,
} from './snapshot.ts';

/** The name under which earlier versions stored the data that all lanes share, next to the lanes. */
const BUDGET_NAME = 'budget';

/** Returns true if earlier versions stored something under this name: a lane, or the budget. */
export function isEarlierName(name: string): boolean {
  return name === BUDGET_NAME || isLaneId(name);
}

/**
 * Returns the texts that earlier versions stored under the names of lanes and `budget` as one snapshot. Unreadable ones
 * stay unreadable, so that the loss is reported and not forgotten.
 */
export function migrateSnapshot(texts: ReadonlyMap<LaneId, string>, now: number): Snapshot {
  const lanes = [...texts].filter(([name]) => isLaneId(name)).reduce(withMigratedLane, emptySnapshot);
  const text = texts.get(BUDGET_NAME);
  if (text === undefined) return lanes;
  const parsed = parseBudget(text, now);
  // Only earlier versions stored separate texts, so the counters of a newer version are kept unchanged.
  if (parsed.kind === 'newer') return new Map([...lanes, ['usage.json', text]]);
  const { waiting, unfinished, unanswered, looked } = earlierSchema.parse(tryJson(text));
  const marks = [
    ...unfinished.map((lane) => [lane, { goesOn: 'unfinished' }] as const),
    ...unanswered.map((lane) => [lane, { goesOn: 'unanswered' }] as const),
    ...looked.map(({ lane, ...look }) => [lane, { looked: look }] as const),
  ];
  return marks
    .filter(([lane]) => isLaneId(lane))
    .reduce(
      (next, [lane, mark]) => withRecordOf(next, lane, (record) => ({ ...record, ...mark })),
      withWaiting(withBudget(lanes, parsed.budget, now), waiting),
    );
}

/**
 * The parts of an earlier version's budget other than usage. Unreadable parts are looked up again when they are needed.
 */
const earlierSchema = z
  .object({
    /** Records of open circuits by the first versions. */
    circuits: z.array(openCircuitSchema).catch([]),
    waiting: z.array(waitingIssueSchema).catch([]),
    unfinished: z.array(z.string()).catch([]),
    unanswered: z.array(z.string()).catch([]),
    looked: z.array(examinedPullSchema).catch([]),
  })
  .transform(({ circuits, waiting, ...marks }) => {
    const isKnown = (id: string): boolean => waiting.some(({ task }) => task === id);
    const opened = circuits
      .filter(({ task }) => isIssueTask(task) && !isKnown(task))
      .map(({ openedAt, ...opener }) => ({ ...opener, at: openedAt, attempts: 1, isAsked: false }));
    return { ...marks, waiting: [...opened, ...waiting].slice(-MAX_WAITING) };
  })
  .catch({ waiting: [], unfinished: [], unanswered: [], looked: [] });

function withMigratedLane(snapshot: Snapshot, [lane, text]: readonly [LaneId, string]): Snapshot {
  const parsed = parseRecord(text, lane);
  return parsed.kind === 'record'
    ? withRecord(snapshot, parsed.record)
    : new Map([...snapshot, [`lanes/${lane}.json`, text]]);
}
