import type { LaneId } from '../core/tasks/ids.ts';
import { messageOf } from '../errors.ts';
import type { Work } from '../handover/intake.ts';
import type { RunRecord } from './run-record.ts';
import type { ActionDeps } from './deps.ts';

/** The facts that main knows of its own run, kept on disk for post. */
export interface Recording {
  /** Returns the newest work; null until the loop begins. */
  readonly work: () => Work | null;
  /** Returns the lane that this run may have claimed and has not certainly given back; null when there is none. */
  readonly claimed: () => LaneId | null;
  /**
   * Records a lane on disk before it is claimed, so that post gives it back if the run is killed right after its claim.
   * Throws a UserError when it cannot.
   */
  readonly claiming: (lane: LaneId) => void;
  /** Records that the lane is given back. */
  readonly released: () => void;
  /** Writes the work to disk; throws a UserError when it cannot. */
  readonly keep: (work: Work) => void;
  /**
   * Writes the work to disk if possible, and warns once if not. It is for the end of a run, when no new call depends on
   * the record and publishing the work in memory matters more.
   */
  readonly tryToKeep: (work: Work) => void;
  readonly tryToRecord: (stage: RunRecord['stage']) => void;
}

/** Creates the recording of a run. Nothing is written to disk before the first claim. */
export function createRecording({ machine, log }: Pick<ActionDeps, 'machine' | 'log'>): Recording {
  let work: Work | null = null;
  let claimed: LaneId | null = null;
  let hasWarned = false;
  const record = (stage: RunRecord['stage']): void => {
    machine.record({ stage, claimed, work });
  };
  const tryToRecord = (stage: RunRecord['stage']): void => {
    try {
      record(stage);
    } catch (error) {
      if (!hasWarned) log.warning(messageOf(error));
      hasWarned = true;
    }
  };
  return {
    work: () => work,
    claimed: () => claimed,
    claiming: (lane) => {
      claimed = lane;
      record('gate');
    },
    released: () => {
      claimed = null;
    },
    keep: (latest) => {
      work = latest;
      record('work');
    },
    tryToKeep: (latest) => {
      work = latest;
      tryToRecord('work');
    },
    tryToRecord,
  };
}
