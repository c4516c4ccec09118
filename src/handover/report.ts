import type { Verification } from '../core/evidence.ts';
import type { JournalEntry } from '../core/journal/journal.ts';
import type { Outcome } from '../core/outcome.ts';
import type { CircuitView } from '../core/lane/circuit.ts';
import type { OpenUsage } from '../core/lane/windows.ts';
import type { Receipt } from './intake.ts';
import type { Policy } from '../core/policy.ts';
import type { Lease } from '../core/sharing/lease.ts';
import type { LaneState } from '../core/lane/state.ts';
import type { Task, TaskProgress } from '../core/tasks/task.ts';
import type { LaneId, TaskId } from '../core/tasks/ids.ts';

/** Everything a reader may see of one run. Agent text in it is redacted; `null` means "the run ended before this was known". */
export interface RunReport {
  readonly outcome: Outcome;
  readonly lane: LaneId | null;
  readonly branch: string | null;
  readonly baseBranch: string | null;
  /** Tip of the branch on the remote. */
  readonly headSha: string | null;
  readonly pullRequest: { readonly number: number; readonly url: string } | null;
  /** Every admitted task of the lane, in the order of work. */
  readonly tasks: readonly TaskReport[];
  /** Tasks that this branch has work of and that are not listed any more: closed by hand, without the label, deleted from their file. */
  readonly unlisted: readonly TaskId[];
  /** Tasks of files that are done and that the branch's files do not mark. */
  readonly unmarked: readonly TaskId[];
  /** Iterations of this run, oldest first. */
  readonly iterations: readonly JournalEntry[];
  readonly circuit: CircuitWord | null;
  /** What is left of the repository's current window. */
  readonly callsRemaining: number | null;
  /** Of this run. */
  readonly tokens: number;
  readonly costUsd: number;
  /** A sentence part for people, e.g. `resumed, 2 h old`. */
  readonly session: string | null;
  /** `restored #40 (cache)`, or why there is none. */
  readonly restored: string | null;
  readonly saved: SavedReport | null;
  readonly withheld: readonly WithheldFile[];
  readonly verifyCommands: readonly string[];
  readonly policy: Policy | null;
  readonly taskLabel: string | null;
  /** Where the run looks for tasks: `issues`, `plan`, `prd`, `beads`. */
  readonly taskSources: readonly string[];
  readonly agent: { readonly name: string; readonly version: string } | null;
  /** `https://github.com/owner/repo`, for links to commits. */
  readonly repositoryUrl: string;
  readonly runUrl: string;
  /** Instants in ms. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly warnings: readonly string[];
  /** What the run asked of GitHub's API. */
  readonly requests: ApiUsage | null;
  /** The lane as whoever gave a command asked to see it; null in a run that worked or was asked nothing. */
  readonly laneView: LaneView | null;
}

/** How a lane stands, for the answer to a command. */
export interface LaneView {
  readonly lane: LaneId;
  /** null: the lane has not run yet, or its state could not be read. */
  readonly state: LaneState | null;
  /** `restored #40 (cache and ref)`, or why there is none. */
  readonly restored: string;
  /** The lease of another run; null: the lane is free. */
  readonly claimedBy: Lease | null;
  readonly tasks: readonly TaskReport[];
  readonly circuit: CircuitWord;
  /** When an open circuit is probed. */
  readonly probeAt: number | null;
  /** What is used of the repository's windows, and reserved by runs of other lanes. */
  readonly usage: OpenUsage;
  /** 0: no limit. */
  readonly limits: Pick<Policy, 'maxCallsPerHour' | 'maxTokensPerHour' | 'maxCostUsdPerDay'>;
  /** Of the order that this run was given. */
  readonly receipt: Receipt | null;
  readonly pullRequest: { readonly number: number; readonly url: string } | null;
  readonly taskLabel: string;
  readonly runUrl: string;
  readonly now: number;
}

export interface TaskReport {
  readonly task: Task;
  readonly progress: TaskProgress;
}

/** HTTP requests sent, and what GitHub said that the token has left of its hour; null where it did not say. `resetAt` in ms. */
export interface ApiUsage {
  readonly sent: number;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly resetAt: number | null;
}

export type CircuitWord = CircuitView['kind'];

/** `where` is the store that holds the copy, e.g. `cache`. */
export type SavedReport =
  | { readonly kind: 'saved'; readonly sequence: number; readonly where: string }
  | { readonly kind: 'not-saved'; readonly why: string };

/** A changed file that was left out of the commits. */
export interface WithheldFile {
  readonly path: string;
  readonly why: string;
}

/** Facts that every run knows, however early it ends. */
export type RunFacts = Pick<RunReport, 'outcome' | 'repositoryUrl' | 'runUrl' | 'startedAt' | 'endedAt'>;

/** The report of a run that ended before it had a lane: refused, failed at its inputs, not for us. */
export function reportWithoutLane(facts: RunFacts): RunReport {
  return {
    ...facts,
    lane: null,
    branch: null,
    baseBranch: null,
    headSha: null,
    pullRequest: null,
    tasks: [],
    unlisted: [],
    unmarked: [],
    iterations: [],
    circuit: null,
    callsRemaining: null,
    tokens: 0,
    costUsd: 0,
    session: null,
    restored: null,
    saved: null,
    withheld: [],
    verifyCommands: [],
    policy: null,
    taskLabel: null,
    taskSources: [],
    agent: null,
    warnings: [],
    requests: null,
    laneView: null,
  };
}

/** Tasks that are done, of the lane in all. */
export function doneTasks(report: RunReport): readonly TaskReport[] {
  return report.tasks.filter(({ progress }) => progress.state === 'done');
}

/** Tasks that were worked on or finished, in this run or before. */
export function startedTasks(report: RunReport): readonly TaskReport[] {
  return report.tasks.filter(({ progress }) => progress.state === 'done' || progress.attempts > 0);
}

/** Tasks that nobody has touched yet. */
export function waitingTasks(report: RunReport): readonly TaskReport[] {
  const started = new Set(startedTasks(report));
  return report.tasks.filter((task) => !started.has(task));
}

/** This run's iterations on one task. */
export function iterationsOn(report: RunReport, taskId: string): readonly JournalEntry[] {
  return report.iterations.filter((entry) => entry.taskId === taskId);
}

/** The newest verification that really ran in this run. */
export function lastVerification(report: RunReport): Verification {
  const ran = report.iterations.map((entry) => entry.evidence.verification).filter(({ kind }) => kind !== 'not-run');
  return ran.at(-1) ?? { kind: 'not-run' };
}

/** Claims that the evidence contradicted, each with its iteration. */
export function discrepancies(report: RunReport): readonly string[] {
  return report.iterations.flatMap((entry) =>
    entry.verdict.discrepancies.map((text) => `Iteration ${entry.iteration}: ${text}`),
  );
}

/** `where` of a saved state. That label and comment events may not write the cache is usual, and explained in the log where it happens. */
export function placesWord(where: string): string {
  return where.replace(/^cache ✗: this event's cache is read-only.*, ref ✓$/, 'cache ✗ (read-only event) ref ✓');
}

/** The instant from which a later run goes on; null when nothing waits for a time. */
export function resumeInstant(outcome: Outcome): number | null {
  if (outcome.kind === 'parked') return outcome.resumeAt;
  if (outcome.kind === 'halted' && outcome.reason === 'circuit_open') return outcome.probeAt;
  return null;
}
