import type { AskedValue } from '../core/doctor/facts.ts';
import type { Finding } from '../core/doctor/finding.ts';
import type { VerificationRecord } from '../core/lane/state/state.ts';

/** The facts about its lane that a run knows before its set-up is checked. */
export interface KnownLane {
  readonly branch: string;
  readonly baseBranch: string;
  /** The place from which the lane's state came. */
  readonly state: AskedValue<string>;
  readonly baseVerification: VerificationRecord | null;
  /** Amount that all runs of today (UTC) used and reserved, in US dollars. */
  readonly spentTodayUsd: AskedValue<number>;
}

/** Checks everything that a run needs, without an agent call. Changes only this job's own checkout. */
export type ExamineRun = (known: KnownLane) => Promise<readonly Finding[]>;
