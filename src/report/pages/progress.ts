import { failureWords } from '../../core/analysis/failure-words.ts';
import type { JournalEntry } from '../../core/journal/journal.ts';
import type { Evidence, Verification } from '../../core/evidence.ts';
import { resultWords } from '../../core/pipeline/step-notes.ts';
import { apiUsageLine, count, formatCost, formatDuration, formatTokens } from '../format.ts';
import { flatten, oneLine } from '../../core/text/one-line.ts';
import { isolationLine, isolationProblems } from '../sentences/isolation.ts';
import { nextSteps } from '../next/for-run.ts';
import { renderSteps } from '../next/step.ts';
import { describeOutcome } from '../sentences/outcome-text.ts';
import { laneStatusLines } from '../sentences/lane-status.ts';
import { setUpLines } from '../sentences/set-up.ts';
import { costNoun } from '../sentences/unknown-cost.ts';
import { progressBar } from './progress-bar.ts';
import type { RunReport, SavedReport, WorkedReport } from '../../handover/report.ts';
import { doneTasks, findingsOf, hasUsed, laneOf, storesWord, workOf } from '../facts.ts';

/** `[████░░] 4/6 title`, a line of the job log. */
export function renderProgressLine(progress: {
  readonly done: number;
  readonly total: number;
  readonly title: string;
}): string {
  const { done, total, title } = progress;
  return `${progressBar(done, total)} ${done}/${total} ${oneLine(title, 100)}`.trimEnd();
}

/** One line of the job log for a finished iteration. */
export function renderIterationEnd(entry: JournalEntry): string {
  const { evidence, analysis, verdict } = entry;
  return [
    `iteration ${entry.iteration}: ${verdict.agentFailed ? failureWords({ analysis, end: evidence.end }) : iterationResult(entry)}`,
    evidence.fileCount === 0
      ? 'nothing changed'
      : `${count(evidence.fileCount, 'file')} +${evidence.insertions} −${evidence.deletions}`,
    ...(evidence.verification.kind === 'not-run'
      ? []
      : [`verify ${evidence.verification.kind}${verifyDetail(evidence.verification)}`]),
    ...stepFailures(evidence.steps),
    formatDuration(entry.endedAt - entry.startedAt),
    ...(analysis.tokens === null ? [] : [`${formatTokens(analysis.tokens)} tokens`]),
    ...(analysis.costUsd === null ? [] : [formatCost(analysis.costUsd)]),
    ...(verdict.circuit === 'closed' ? [] : [`circuit ${verdict.circuit}`]),
  ].join(' · ');
}

/** In two or three words, what became of an iteration. */
export function iterationResult({ verdict, evidence, analysis }: JournalEntry): string {
  if (verdict.taskDone) return 'task done';
  if (evidence.end.kind === 'cancelled') return 'cancelled';
  if (evidence.end.kind === 'withdrawn') return 'ended, its task was taken back';
  if (verdict.agentFailed) return 'agent failed';
  if (evidence.end.kind === 'timeout') return verdict.progress ? 'progress, then timed out' : 'timed out';
  if (analysis.agentError !== null) return `agent error (${analysis.agentError.kind})`;
  if (verdict.countedDenials > 0) return 'permission denied';
  if (verdict.questionOnly) return 'only asked a question';
  if (!verdict.progress) return 'no progress';
  return verdict.testOnly ? 'progress, tests only' : 'progress';
}

/** The last block of the job log: outcome, numbers, where things are, what to do next. Plain lines. */
export function renderClosingBlock(report: RunReport, continued: 'here' | 'by-another-job' = 'here'): string {
  const { title, what } = describeOutcome(report);
  const next =
    continued === 'here'
      ? renderSteps(nextSteps(report), 'log')
      : 'The job that publishes pushes this, and says what to do.';
  const lines = [
    `Ralph: ${title}`,
    ...what.split('\n').map((line) => plain(oneLine(line, 1000))),
    ...setUpLines(findingsOf(report)).map((line) => plain(line.replace(/\S.*$/s, (words) => oneLine(words, 1000)))),
    ...(report.kind === 'answered' ? [] : [`Next: ${next}`]),
    ...(report.kind === 'answered' ? laneStatusLines(report.view) : numberLines(report)),
    report.requests === null ? '' : apiUsageLine(report.requests),
  ];
  return lines.filter((line) => line !== '').join('\n');
}

/** A log renders no Markdown. */
function plain(words: string): string {
  return words.replaceAll('`', '');
}

function numberLines(report: RunReport): readonly string[] {
  const lane = laneOf(report);
  if (lane === null) return [];
  const work = workOf(report);
  const done = doneTasks(lane).length;
  return [
    ...(lane.tasks.length === 0
      ? []
      : [
          `${progressBar(done, lane.tasks.length)} ${done}/${lane.tasks.length} ${lane.tasks.length === 1 ? 'task' : 'tasks'} done`,
        ]),
    ...(work === null || !hasUsed(work)
      ? []
      : [
          `${count(work.iterations.length, 'iteration')} in ${formatDuration(work.endedAt - work.startedAt)}, ${costNoun(work)}, ${formatTokens(work.tokens)} tokens`,
        ]),
    ...(lane.pullRequest === null ? [] : [`pull request: ${lane.pullRequest.url}`]),
    `circuit: ${lane.circuit}, calls left: ${lane.callsRemaining}`,
    `state: ${[flatten(lane.restored), ...savedWord(work?.saved ?? null)].join(' … ')}`,
    ...isolationLines(work?.isolation ?? null),
  ];
}

/** How the agent was kept apart, and what is weak about it. */
function isolationLines(isolation: WorkedReport['isolation']): readonly string[] {
  if (isolation === null) return [];
  return [isolationLine(isolation), ...isolationProblems(isolation)].map((line) => plain(oneLine(line, 2000)));
}

/** `saved #41 (cache ✓ ref ✓)`. */
function savedWord(saved: SavedReport | null): readonly string[] {
  if (saved === null) return [];
  return saved.kind === 'saved'
    ? [`saved #${saved.sequence} (${flatten(storesWord(saved.where))})`]
    : [`NOT saved: ${flatten(saved.why)}`];
}

/** Steps of a pipeline that did not pass. */
function stepFailures(steps: Evidence['steps']): readonly string[] {
  return steps
    .filter(({ result }) => result.kind === 'failed')
    .map(({ name, result }) => `step ${oneLine(name, 60)} ${oneLine(resultWords(result), 100)}`);
}

function verifyDetail(verification: Verification): string {
  if (verification.kind !== 'failed') return '';
  return ` (${oneLine(verification.command, 60)}: ${verification.code === null ? 'out of time' : verification.code})`;
}
