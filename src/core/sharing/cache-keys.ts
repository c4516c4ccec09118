import type { LaneId } from '../tasks/ids.ts';

/**
 * Returns the prefix of the keys of all cache entries of a lane. `/` ends the lane's name, and no encoded name contains
 * one: the prefix of `queue` matches no key of `queue-2`.
 */
export function formatLaneKeyPrefix(lane: LaneId): string {
  return `ralph-state-v1/${encodeURIComponent(lane)}/`;
}

/** Returns the sequence of the copy that a cache key names, or null if it names none. */
export function sequenceOfKey(lane: LaneId, key: string): number | null {
  const prefix = formatLaneKeyPrefix(lane);
  const digits = key.startsWith(prefix) ? /^(\d{1,15})\//.exec(key.slice(prefix.length))?.[1] : undefined;
  return digits === undefined ? null : Number(digits);
}

/** Returns the prefix of the keys of all cache entries with this copy of a lane. */
export function formatSequenceKeyPrefix(lane: LaneId, sequence: number): string {
  return `${formatLaneKeyPrefix(lane)}${String(sequence)}/`;
}
