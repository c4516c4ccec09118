import { parseBudget } from '../sharing/budget.ts';
import { parseRecord } from '../sharing/lane-record.ts';
import { isLaneId, type LaneId } from '../tasks/ids.ts';
import { emptySnapshot, withBudget, withRecord, type Snapshot } from './snapshot.ts';

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
