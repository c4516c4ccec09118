import type { StoredRun } from '../core/snapshot/stored-run.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import type { Train } from '../core/train/train.ts';

/** The end of a run that worked on several lanes in parallel. */
export interface ParallelEnd {
  readonly lanes: readonly EndOfLane[];
  /** `https://github.com/owner/repo`, for links. */
  readonly repositoryUrl: string;
  /** The open pull requests after this run, in their order; null if the run did not read them. */
  readonly train: Train | null;
}

export interface EndOfLane {
  readonly lane: LaneId;
  readonly branch: string;
  /** The run on this lane as the state keeps it; null if none of its jobs published anything. */
  readonly run: StoredRun | null;
}
