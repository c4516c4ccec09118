import type { Claim } from '../core/sharing/lease.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import { getErrorMessage } from '../errors.ts';
import type { Work } from '../handover/intake.ts';
import type { RunRecord } from './run-record.ts';
import type { ActionDeps } from './deps.ts';

/** Main's facts about its own run, kept on disk for post. */
export interface Recording {
  /** Returns the newest work, or null until the loop begins. */
  readonly work: () => Work | null;
  /** Returns the claims that this run may have made and may not have released. */
  readonly claimed: () => readonly Claim[];
  /**
   * Records claims on disk before they are made, in place of earlier ones, so that post releases them if the run is
   * killed right after. Throws a UserError if the disk cannot be written.
   */
  readonly claiming: (claims: readonly Claim[]) => void;
  /** Records that a lane is released, or that another job must release it. */
  readonly released: (lane: LaneId) => void;
  /** Writes the work to disk; throws a UserError if the disk cannot be written. */
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
  let claimed: readonly Claim[] = [];
  let hasWarned = false;
  const record = (stage: RunRecord['stage']): void => {
    machine.record({ stage, claimed, work });
  };
  const tryToRecord = (stage: RunRecord['stage']): void => {
    try {
      record(stage);
    } catch (error) {
      if (!hasWarned) log.warning(getErrorMessage(error));
      hasWarned = true;
    }
  };
  return {
    work: () => work,
    claimed: () => claimed,
    claiming: (claims) => {
      claimed = claims;
      record('gate');
    },
    released: (lane) => {
      claimed = claimed.filter((one) => one.lane !== lane);
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
