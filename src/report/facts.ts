import type { Finding } from '../core/doctor/finding.ts';
import type { Verification } from '../core/evidence.ts';
import type { JournalEntry } from '../core/journal/journal.ts';
import type { Outcome } from '../core/outcome.ts';
import { QUEUE } from '../core/tasks/ids.ts';
import { nameOfTask } from '../core/tasks/task.ts';
import type {
  HeadVerification,
  LaneReport,
  RunReport,
  ReportSetting,
  TaskReport,
  WorkedReport,
} from '../handover/report.ts';
import { type CallFailure, describeFailure } from '../core/analysis/failure-words.ts';
import { formatCount } from './format.ts';

// These functions read any kind of report. A run that ended early has no iterations, no tasks and no lane, so their
// results may be empty.

/** Returns the settings of the run, or null if it ended before it knew them. */
export function selectReportSetting(report: RunReport): ReportSetting | null {
  return report.kind === 'without-lane' ? null : report;
}

/** Returns the report if its run had a lane, otherwise null. */
export function selectLaneReport(report: RunReport): LaneReport | null {
  return report.kind === 'without-lane' || report.kind === 'at-gate' ? null : report;
}

/** Returns the report if its run worked, otherwise null. */
export function selectWorkedReport(report: RunReport): WorkedReport | null {
  return report.kind === 'worked' ? report : null;
}

/** Returns the warnings about the settings; empty before the settings are known. */
export function listSettingWarnings(report: RunReport): readonly string[] {
  return selectReportSetting(report)?.warnings ?? [];
}

/** Returns the findings of `doctor`; empty if nobody asked for them. */
export function listFindings(report: RunReport): readonly Finding[] {
  return report.kind === 'at-gate' || report.kind === 'ended' ? report.findings : [];
}

/** Returns the lane's tasks, in the order of work. */
export function listLaneTasks(report: RunReport): readonly TaskReport[] {
  return selectLaneReport(report)?.tasks ?? [];
}

/** Returns the lane's tasks, preceded by the requests of people and CI on the pull request. */
export function listAllTasks(report: RunReport): readonly TaskReport[] {
  return [...(selectLaneReport(report)?.feedback ?? []), ...listLaneTasks(report)];
}

/** Returns this run's iterations, oldest first. */
export function listIterations(report: RunReport): readonly JournalEntry[] {
  return selectWorkedReport(report)?.iterations ?? [];
}

/** Returns true if the run has used anything, in finished or unfinished iterations. */
export function hasAnyUsage({ iterations, tokens, costUsd }: WorkedReport): boolean {
  return iterations.length > 0 || tokens > 0 || costUsd > 0;
}

/** Returns true if the run belongs to the queue, or ended before it had a lane. */
export function isQueue(report: RunReport): boolean {
  return (selectLaneReport(report)?.lane ?? QUEUE) === QUEUE;
}

/**
 * Returns true if the next scheduled run continues the work, because the queue works on every issue without its own
 * branch.
 */
export function isScheduled(report: RunReport): boolean {
  return isQueue(report) || selectLaneReport(report)?.headSha === null;
}

/** Returns true if the prompt is the run's only task, so that there is nothing to count. */
export function isPromptAlone(report: RunReport): boolean {
  const tasks = listLaneTasks(report);
  return tasks.length > 0 && tasks.every(({ task }) => task.source.kind === 'prompt');
}

/** Returns the name of the first task, without backticks, so that `backticks` can enclose it. */
export function nameFirstTask(report: RunReport): string {
  return listLaneTasks(report)
    .slice(0, 1)
    .map(({ task }) => nameOfTask(task).replaceAll('`', "'"))
    .join('');
}

/** Returns the lane's tasks that are done, regardless of the run that finished them. */
export function listDoneTasks(report: RunReport): readonly TaskReport[] {
  return listLaneTasks(report).filter(({ progress }) => progress.state === 'done');
}

/** Returns the tasks that were worked on or finished, in this run or before. */
export function listStartedTasks({ tasks }: WorkedReport): readonly TaskReport[] {
  return tasks.filter(({ progress }) => progress.state === 'done' || progress.attempts > 0);
}

/** Returns this run's iterations on one task. */
export function listIterationsOn(report: RunReport, taskId: string): readonly JournalEntry[] {
  return listIterations(report).filter((entry) => entry.taskId === taskId);
}

/** Returns the verification of the published head in a clean clone, or null if it is not known. */
export function findPublishedVerification(report: RunReport): HeadVerification | null {
  const record = selectWorkedReport(report)?.headVerification ?? null;
  return record?.of === 'head' ? record : null;
}

/**
 * Returns the verification that decides: that of the published head in a clean clone, otherwise the newest of this run.
 * A head with commits that the run has not made has none.
 */
export function pickVerification(report: RunReport): Verification {
  const published = findPublishedVerification(report);
  if (published !== null) return published.verification;
  if (report.outcome.reason === 'unverified') return { kind: 'not-run' };
  const ran = listIterations(report)
    .map((entry) => entry.evidence.verification)
    .filter(({ kind }) => kind !== 'not-run');
  return ran.at(-1) ?? { kind: 'not-run' };
}

/** Returns the pipeline commands that passed after the last change of this run's last iteration. */
export function listPassedCommands(report: RunReport): readonly string[] {
  const steps = listIterations(report).at(-1)?.evidence.steps ?? [];
  const lastChange = steps.findLastIndex(({ kind, changed }) => kind === 'agent' && changed);
  return steps
    .filter(({ kind, result }, index) => index > lastChange && kind === 'command' && result.kind === 'passed')
    .map(({ name }) => name);
}

/** Returns the claims that the evidence contradicted, each with its iteration. */
export function listDiscrepancies(report: RunReport): readonly string[] {
  return listIterations(report).flatMap((entry) =>
    entry.verdict.discrepancies.map((text) => `Iteration ${entry.iteration}: ${text}`),
  );
}

/**
 * Shortens `where` of a saved state: a cache that is read-only for label and comment events is usual, and the log
 * explains it.
 */
export function shortenStores(where: string): string {
  return where.replace(/^cache ✗: this event's cache is read-only.*, ref ✓$/, 'cache ✗ (read-only event) ref ✓');
}

/** Returns the instant at which a later run continues, or null if nothing waits for a time. */
export function findResumeInstant(outcome: Outcome): number | null {
  if (outcome.kind === 'parked') return outcome.resumeAt;
  if (outcome.kind === 'halted' && outcome.reason === 'circuit_open') return outcome.probeAt;
  return null;
}

/**
 * Describes how the last failed call failed, in this run or the one that opened the circuit, with its own words in
 * `backticks`; null when no call failed.
 */
export function describeLastFailure(report: RunReport): string | null {
  const last = listIterations(report).findLast(({ verdict }) => verdict.agentFailed);
  if (last !== undefined) return quoteAgentFailure(last);
  const failure = selectLaneReport(report)?.failure ?? null;
  return failure === null ? null : quoteFailure(failure);
}

/** Returns text such as `the agent failed (exit code 1): ` followed by the agent's own words in `backticks`. */
export function quoteAgentFailure({ analysis, evidence }: JournalEntry): string {
  return quoteFailure(describeFailure({ analysis, end: evidence.end }));
}

/** Returns how a call failed, with its own words in `backticks`. */
export function quoteFailure({ how, words }: CallFailure): string {
  return words === null ? how : `${how}: \`${words.replaceAll('`', "'")}\``;
}

/** Returns the warning about failed calls; empty if failed calls ended the run, because the outcome reports them. */
export function warnOfFailedCalls(report: RunReport): readonly string[] {
  const { outcome } = report;
  if (outcome.reason === 'circuit_open' && outcome.circuitReason === 'agent_error' && outcome.tripped === 'this-run')
    return [];
  const failed = listIterations(report).filter(({ verdict }) => verdict.agentFailed);
  const last = failed.at(-1);
  if (last === undefined) return [];
  const where = failed.length === 1 ? `Iteration ${String(last.iteration)}` : formatCount(failed.length, 'iteration');
  return [`⚠️ ${where} came to nothing: ${quoteAgentFailure(last)}`];
}
