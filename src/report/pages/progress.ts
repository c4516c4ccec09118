import type { JournalEntry } from '../../core/journal/journal.ts';
import type { Verification } from '../../core/evidence.ts';
import { apiUsageLine, count, formatCost, formatDuration, formatTokens } from '../format.ts';
import { cap, flatten } from '../../core/text/plain-text.ts';
import { describeOutcome } from '../sentences/outcome-text.ts';
import { laneStatusLines } from '../sentences/lane-status.ts';
import { progressBar } from './progress-bar.ts';
import { doneTasks, placesWord, type RunReport } from '../../handover/report.ts';

/** `[████░░] 4/6 title`, a line of the job log. */
export function renderProgressLine(progress: {
  readonly done: number;
  readonly total: number;
  readonly title: string;
}): string {
  const { done, total, title } = progress;
  return `${progressBar(done, total)} ${done}/${total} ${cap(flatten(title), 100)}`.trimEnd();
}

/** One line of the job log for a finished iteration. */
export function renderIterationEnd(entry: JournalEntry): string {
  const { evidence, analysis, verdict } = entry;
  return [
    `iteration ${entry.iteration}: ${iterationResult(entry)}`,
    evidence.fileCount === 0
      ? 'nothing changed'
      : `${count(evidence.fileCount, 'file')} +${evidence.insertions} −${evidence.deletions}`,
    ...(evidence.verification.kind === 'not-run'
      ? []
      : [`verify ${evidence.verification.kind}${verifyDetail(evidence.verification)}`]),
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
  if (evidence.end.kind === 'timeout') return verdict.progress ? 'progress, then timed out' : 'timed out';
  if (analysis.agentError !== null) return `agent error (${analysis.agentError.kind})`;
  if (verdict.countedDenials > 0) return 'permission denied';
  if (verdict.questionOnly) return 'only asked a question';
  if (!verdict.progress) return 'no progress';
  return verdict.testOnly ? 'progress, tests only' : 'progress';
}

/** The last block of the job log: outcome, numbers, where things are, what to do next. Plain lines. */
export function renderClosingBlock(report: RunReport): string {
  const { title, what, next } = describeOutcome(report);
  const lines = [
    `Ralph: ${title}`,
    ...what.split('\n').map((line) => cap(flatten(line), 1000)),
    ...(report.laneView === null ? numberLines(report) : laneStatusLines(report.laneView)),
    report.requests === null ? '' : apiUsageLine(report.requests),
    `next: ${flatten(next)}`,
  ];
  return lines.filter((line) => line !== '').join('\n');
}

function numberLines(report: RunReport): readonly string[] {
  const done = doneTasks(report).length;
  return [
    ...(report.tasks.length === 0
      ? []
      : [`${progressBar(done, report.tasks.length)} ${done}/${report.tasks.length} tasks done`]),
    ...(report.iterations.length === 0
      ? []
      : [
          `${count(report.iterations.length, 'iteration')} in ${formatDuration(report.endedAt - report.startedAt)}, ${formatCost(report.costUsd)}, ${formatTokens(report.tokens)} tokens`,
        ]),
    ...(report.pullRequest === null ? [] : [`pull request: ${report.pullRequest.url}`]),
    ...(report.circuit === null
      ? []
      : [
          `circuit: ${report.circuit}${report.callsRemaining === null ? '' : `, calls left: ${report.callsRemaining}`}`,
        ]),
    ...stateLines(report),
  ];
}

/** `state: restored #40 (ref, cache was 3 behind) … saved #41 (cache ✓ ref ✓)`. */
function stateLines({ restored, saved }: RunReport): readonly string[] {
  const words = [
    ...(restored === null ? [] : [flatten(restored)]),
    ...(saved === null
      ? []
      : [
          saved.kind === 'saved'
            ? `saved #${saved.sequence} (${flatten(placesWord(saved.where))})`
            : `NOT saved: ${flatten(saved.why)}`,
        ]),
  ];
  return words.length === 0 ? [] : [`state: ${words.join(' … ')}`];
}

function verifyDetail(verification: Verification): string {
  if (verification.kind !== 'failed') return '';
  return ` (${cap(flatten(verification.command), 60)}: ${verification.code === null ? 'out of time' : verification.code})`;
}
