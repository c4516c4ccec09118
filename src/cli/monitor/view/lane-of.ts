import { QUEUE, isLaneId, type LaneId } from '../../../core/tasks/ids.ts';
import type { LocalPicture } from '../monitor-schema.ts';

/** The lane that the local run works on; the queue unless it says another. */
export function laneOfLocalRun(run: LocalPicture['run']): LaneId {
  return run.kind === 'ours' && isLaneId(run.status.lane) ? run.status.lane : QUEUE;
}
