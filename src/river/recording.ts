import type { LaneId } from '../core/tasks/ids.ts';
import { messageOf } from '../errors.ts';
import type { Work } from '../handover/work.ts';
import type { RiverDeps } from './deps.ts';
import type { RunRecord } from './run-record.ts';

/** What main knows of its own run, kept on disk for post. */
export interface Recording {
  /** The newest work; null until the loop begins. */
  readonly work: () => Work | null;
  /** The lane that this run may have claimed, and has not given back for certain; null: none. */
  readonly claimed: () => LaneId | null;
  /** On disk before the claim is made: a run that is killed right behind its claim has its lane given back by post. Throws a UserError. */
  readonly claiming: (lane: LaneId) => void;
  /** The lane is given back. */
  readonly released: () => void;
  /** Throws a UserError when the work cannot be put on disk. */
  readonly keep: (work: Work) => void;
  /** For where no new call depends on the record any more: the work is in memory, and publishing it matters more. Warns once. */
  readonly tryToKeep: (work: Work) => void;
  readonly tryToRecord: (stage: RunRecord['stage']) => void;
}

/** Nothing is on disk before the first claim but what the entry wrote. */
export function createRecording({ machine, log }: Pick<RiverDeps, 'machine' | 'log'>): Recording {
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
