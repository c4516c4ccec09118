import type { Finding } from '../core/doctor/finding.ts';
import type { Verification } from '../core/evidence.ts';
import type { JournalEntry } from '../core/journal/journal.ts';
import type { Outcome } from '../core/outcome.ts';
import { QUEUE } from '../core/tasks/ids.ts';
import { nameOfTask } from '../core/tasks/task.ts';
import type { HeadCheck, LaneReport, RunReport, Setting, TaskReport, WorkedReport } from '../handover/report.ts';

// What a report knows, whatever its kind: a run that ended early has no iterations, no tasks, no lane.

/** What the run was set up with; null: it ended before it knew. */
export function settingOf(report: RunReport): Setting | null {
  return report.kind === 'without-lane' ? null : report;
}

/** The report, if its run had a lane. */
export function laneOf(report: RunReport): LaneReport | null {
  return report.kind === 'without-lane' || report.kind === 'at-gate' ? null : report;
}

/** The report, if its run worked. */
export function workOf(report: RunReport): WorkedReport | null {
  return report.kind === 'worked' ? report : null;
}

export function warningsOf(report: RunReport): readonly string[] {
  return settingOf(report)?.warnings ?? [];
}

/** What `doctor` found; empty: nobody asked for it. */
export function findingsOf(report: RunReport): readonly Finding[] {
  return report.kind === 'at-gate' || report.kind === 'ended' ? report.findings : [];
}

/** The lane's tasks, in the order of work. */
export function tasksOf(report: RunReport): readonly TaskReport[] {
  return laneOf(report)?.tasks ?? [];
}

/** The same with what people and CI ask of the pull request, which comes first. */
export function allTasksOf(report: RunReport): readonly TaskReport[] {
  return [...(laneOf(report)?.feedback ?? []), ...tasksOf(report)];
}

/** This run's iterations, oldest first. */
export function iterationsOf(report: RunReport): readonly JournalEntry[] {
  return workOf(report)?.iterations ?? [];
}

/** Whether the run has used anything, in iterations that came to their end or not. */
export function hasUsed({ iterations, tokens, costUsd }: WorkedReport): boolean {
  return iterations.length > 0 || tokens > 0 || costUsd > 0;
}

/** Whether the run is the queue's; one that ended before it had a lane counts as the queue's. */
export function isQueue(report: RunReport): boolean {
  return (laneOf(report)?.lane ?? QUEUE) === QUEUE;
}

/** Whether the next scheduled run picks up what is left: the queue works on every issue that has no branch of its own. */
export function isScheduled(report: RunReport): boolean {
  return isQueue(report) || laneOf(report)?.headSha === null;
}

/** Whether the prompt is all that the run had to do: then nothing is to be counted. */
export function isPromptAlone(report: RunReport): boolean {
  const tasks = tasksOf(report);
  return tasks.length > 0 && tasks.every(({ task }) => task.source.kind === 'prompt');
}

/** Returns the name of the first task, to stand in `backticks`. */
export function promptName(report: RunReport): string {
  return tasksOf(report)
    .slice(0, 1)
    .map(({ task }) => nameOfTask(task).replaceAll('`', "'"))
    .join('');
}

/** Tasks that are done, of the lane in all. */
export function doneTasks(report: RunReport): readonly TaskReport[] {
  return tasksOf(report).filter(({ progress }) => progress.state === 'done');
}

/** Tasks that were worked on or finished, in this run or before. */
export function startedTasks({ tasks }: WorkedReport): readonly TaskReport[] {
  return tasks.filter(({ progress }) => progress.state === 'done' || progress.attempts > 0);
}

/** This run's iterations on one task. */
export function iterationsOn(report: RunReport, taskId: string): readonly JournalEntry[] {
  return iterationsOf(report).filter((entry) => entry.taskId === taskId);
}

/** What `verify` said of the published head in a clean clone; null: not known. */
export function publishedCheck(report: RunReport): HeadCheck | null {
  const check = workOf(report)?.headCheck ?? null;
  return check?.of === 'head' ? check : null;
}

/** The verification that counts: of the published head in a clean clone, else the newest that really ran in this run. */
export function lastVerification(report: RunReport): Verification {
  const published = publishedCheck(report);
  if (published !== null) return published.verification;
  const ran = iterationsOf(report)
    .map((entry) => entry.evidence.verification)
    .filter(({ kind }) => kind !== 'not-run');
  return ran.at(-1) ?? { kind: 'not-run' };
}

/** The commands of the pipeline that passed on what this run's last iteration left. */
export function passedCommands(report: RunReport): readonly string[] {
  const steps = iterationsOf(report).at(-1)?.evidence.steps ?? [];
  const lastChange = steps.findLastIndex(({ kind, changed }) => kind === 'agent' && changed);
  return steps
    .filter(({ kind, result }, index) => index > lastChange && kind === 'command' && result.kind === 'passed')
    .map(({ name }) => name);
}

/** Claims that the evidence contradicted, each with its iteration. */
export function discrepancies(report: RunReport): readonly string[] {
  return iterationsOf(report).flatMap((entry) =>
    entry.verdict.discrepancies.map((text) => `Iteration ${entry.iteration}: ${text}`),
  );
}

/** `where` of a saved state. That label and comment events may not write the cache is usual, and explained in the log where it happens. */
export function storesWord(where: string): string {
  return where.replace(/^cache ✗: this event's cache is read-only.*, ref ✓$/, 'cache ✗ (read-only event) ref ✓');
}

/** The instant from which a later run continues; null when nothing waits for a time. */
export function resumeInstant(outcome: Outcome): number | null {
  if (outcome.kind === 'parked') return outcome.resumeAt;
  if (outcome.kind === 'halted' && outcome.reason === 'circuit_open') return outcome.probeAt;
  return null;
}
