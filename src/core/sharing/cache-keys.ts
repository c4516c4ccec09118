import type { LaneId } from '../tasks/ids.ts';

/** What the keys of all cache entries of a lane begin with. `/` ends the lane's name, and no encoded name holds one: the prefix of `queue` matches no key of `queue-2`. */
export function laneKeyPrefix(lane: LaneId): string {
  return `ralph-state-v1/${encodeURIComponent(lane)}/`;
}

/** The number of the copy that a lane's entry holds, as its key says; null: it says none. */
export function sequenceOfKey(lane: LaneId, key: string): number | null {
  const prefix = laneKeyPrefix(lane);
  const digits = key.startsWith(prefix) ? /^(\d{1,15})\//.exec(key.slice(prefix.length))?.[1] : undefined;
  return digits === undefined ? null : Number(digits);
}

/** What the keys of all cache entries with this copy of a lane begin with. */
export function sequenceKeyPrefix(lane: LaneId, sequence: number): string {
  return `${laneKeyPrefix(lane)}${String(sequence)}/`;
}
