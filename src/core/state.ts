import type { CircuitReason, OutcomeKind, ParkReason } from './outcome.ts';
import type { TaskId, TaskProgress } from './tasks/task.ts';

/** `queue` or `issue-N`. */
export type LaneId = string;

/** Everything that survives from one run of a lane to the next. Instants in ms since the epoch (UTC). */
export interface LaneState {
  readonly version: 1;
  readonly lane: LaneId;
  /** Grows by one with every save; the higher of two copies is the newer. */
  readonly sequence: number;
  readonly savedAt: number;
  readonly circuit: Circuit;
  readonly windows: Windows;
  readonly signals: Signals;
  readonly session: Session | null;
  readonly tasks: Readonly<Record<TaskId, TaskProgress>>;
  readonly currentTask: TaskId | null;
  readonly park: { readonly reason: ParkReason; readonly resumeAt: number; readonly taskId: TaskId | null; readonly branchHead: string | null } | null;
  readonly pause: { readonly by: string; readonly at: number } | null;
  /** Calls, tokens, cost and minutes per UTC day, newest last, at most 31. */
  readonly ledger: readonly LedgerDay[];
  /** Newest last, at most 50. */
  readonly transitions: readonly Transition[];
  /** How the last run that worked ended; `publishedHead` is what is on the remote branch. */
  readonly lastRun: { readonly outcome: OutcomeKind; readonly reason: string; readonly at: number; readonly publishedHead: string | null } | null;
  /** What the next prompt says of the last iteration; composed by us, free of agent prose. */
  readonly lastIteration: LastIteration | null;
}

/**
 * HALF_OPEN is never stored: it follows from `noProgress` (diagnosis) or from `openedAt` and the clock (probe).
 * `totalOpens` counts trips over the lane's life.
 */
export type Circuit =
  | { readonly kind: 'closed'; readonly totalOpens: number; readonly noProgress: number; readonly sameError: { readonly fingerprint: string; readonly count: number } | null; readonly denials: number; readonly decline: number; readonly questionHeld: boolean }
  | { readonly kind: 'open'; readonly totalOpens: number; readonly reason: CircuitReason; readonly openedAt: number };

/** Usage windows: opened by their first call, ended an hour (a UTC day) later. `null`: none is open. */
export interface Windows {
  readonly hour: { readonly openedAt: number; readonly calls: number; readonly tokens: number } | null;
  readonly day: { readonly openedAt: number; readonly costUsd: number } | null;
}

/** Rolling windows over the lane's last five iterations, newest last. */
export interface Signals {
  /** Completion indicators. */
  readonly indicators: readonly boolean[];
  /** EXIT_SIGNAL true that something vetoed. */
  readonly vetoed: readonly boolean[];
  /** Characters of the final messages. */
  readonly outputChars: readonly number[];
  /** Streaks that end at the newest iteration. */
  readonly doneInARow: number;
  readonly blockedInARow: number;
  readonly testOnlyInARow: number;
}

export interface Session {
  readonly id: string;
  readonly startedAt: number;
  readonly lastUsedAt: number;
  readonly taskId: TaskId | null;
}

export interface LedgerDay {
  /** `2026-11-21`, UTC. */
  readonly day: string;
  readonly calls: number;
  readonly tokens: number;
  readonly costUsd: number;
  readonly minutes: number;
}

export interface Transition {
  readonly at: number;
  readonly subject: 'circuit' | 'session' | 'task' | 'pause' | 'park' | 'state';
  readonly from: string;
  readonly to: string;
  readonly reason: string;
}

export interface LastIteration {
  readonly taskId: TaskId | null;
  readonly progress: boolean;
  readonly fileCount: number;
  readonly verification: 'not-run' | 'passed' | 'failed';
  /** Codes of `prompt.ts`, turned into fixed sentences there. */
  readonly hints: readonly string[];
}
