import type { FeedbackRound } from '../memory.ts';

/** What the gate saw of the checks of a pull request's head, beside those that are tasks. Names are raw. */
export interface ChecksSummary {
  /** Of the head; null: they could not be read. */
  readonly counts: NonNullable<FeedbackRound['checks']> | null;
  /** They fail on the base branch as well, so that nobody works on them here. */
  readonly alsoOnBase: readonly string[];
  /** They passed and failed on the same commit. */
  readonly flaky: readonly string[];
  /** They wait for a person's approval, or never began. */
  readonly waiting: readonly string[];
  /** Whether checks are expected and none has started. */
  readonly unstarted: boolean;
  /** Why the checks could not be read, as a sentence; null: they were. */
  readonly unreadable: string | null;
  /** True if GitHub failed as they were read, so that the next run may read them. */
  readonly isForNow?: boolean;
  /** How many there are on the head. */
  readonly runs: number;
}
