import type { JournalEntry } from '../../core/journal/journal.ts';
import { apiUsageLine, formatCost, formatDuration, formatTokens } from '../format.ts';
import { renderLaneStatus } from '../sentences/lane-status.ts';
import { code, link, linkRuns, prose, proseLines, table, text } from '../markdown.ts';
import { describeOutcome } from '../sentences/outcome-text.ts';
import { iterationResult } from './progress.ts';
import type { RunReport } from '../../handover/report.ts';
import { iterationsOf, iterationsOn, laneOf, tasksOf } from '../facts.ts';
import { renderStuckTask, stuckTasks } from '../sentences/stuck.ts';
import {
  checkSection,
  commitLink,
  discrepancySection,
  fitSections,
  list,
  stateWord,
  statusTable,
  taskLink,
  unlistedLine,
  verificationWord,
  verifyOutputSection,
  waitingSection,
  warningSection,
  withheldSection,
} from './sections.ts';
import { moreLine } from '../../core/text/lists.ts';

/** GitHub drops a step summary of more than 1 MiB whole; a character is at most three bytes. */
const MAX_SUMMARY_CHARS = 200_000;

const SHOWN_ITERATIONS = 60;

/** The job summary, Markdown. */
export function renderSummary(report: RunReport): string {
  return fitSections(
    [
      { name: 'outcome', rank: 0, markdown: opening(report) },
      { name: 'verification', rank: 0, markdown: checkSection(report) },
      // A person who asks how the lane stands wants to know about the lane, not about the run that looked.
      {
        name: 'status',
        rank: 0,
        markdown: report.kind === 'answered' ? renderLaneStatus(report.view) : statusTable(report),
      },
      { name: 'tasks', rank: 2, markdown: taskSection(report) },
      { name: 'tasks that need a person', rank: 2, markdown: stuckSection(report) },
      { name: 'waiting tasks', rank: 3, markdown: waitingSection(report) },
      { name: 'iterations', rank: 1, markdown: timeline(report) },
      { name: 'cost and progress', rank: 7, markdown: chart(report) },
      { name: 'verification output', rank: 6, markdown: verifyOutputSection(report) },
      { name: 'discrepancies', rank: 3, markdown: discrepancySection(report) },
      {
        name: 'vetoes',
        rank: 4,
        markdown: list(
          'Completion claims that were overruled',
          perIteration(report, (entry) => entry.verdict.vetoes),
        ),
      },
      {
        name: 'advice',
        rank: 5,
        markdown: list(
          'Denied commands that allowed parts would cover',
          perIteration(report, (entry) => entry.verdict.advice),
        ),
      },
      { name: 'withheld files', rank: 3, markdown: withheldSection(report) },
      { name: 'warnings', rank: 3, markdown: warningSection(report) },
      { name: 'where', rank: 0, markdown: where(report) },
    ],
    MAX_SUMMARY_CHARS,
  );
}

function opening(report: RunReport): string {
  const { title, what, next } = describeOutcome(report);
  return linkRuns(
    `## Ralph: ${title}\n\n${proseLines(what, 1000)}\n\n**Next:** ${prose(next, 1000)}`,
    report.repositoryUrl,
  );
}

function taskSection(report: RunReport): string {
  const tasks = tasksOf(report);
  const rows = tasks
    .slice(0, 100)
    .map(({ task, progress }) => [
      taskLink(task),
      text(task.title, 120),
      stateWord(progress.state),
      `${progress.attempts}`,
      `${iterationsOn(report, task.id).length}`,
    ]);
  if (rows.length === 0) return '';
  const gone = unlistedLine(report);
  return [
    '### Tasks',
    table(['From', 'Task', 'State', 'Iterations in all', 'In this run'], rows),
    ...moreLine(tasks.length - rows.length),
    ...(gone === '' ? [] : [gone]),
  ].join('\n\n');
}

/** What was tried for the tasks that this run gave up, and what to do. */
function stuckSection(report: RunReport): string {
  const stuck = stuckTasks(report).slice(0, 10);
  if (stuck.length === 0) return '';
  return [
    '### Tasks that need a person',
    ...stuck.flatMap((one) => [
      `#### ${taskLink(one.task)}: ${text(one.task.title, 120)}`,
      renderStuckTask(one, report),
    ]),
  ].join('\n\n');
}

function timeline(report: RunReport): string {
  const shown = iterationsOf(report).slice(-SHOWN_ITERATIONS);
  if (shown.length === 0) return '';
  const rows = shown.map((entry) => [
    `${entry.iteration}`,
    text(entry.taskTitle, 60),
    iterationResult(entry),
    entry.evidence.fileCount === 0
      ? '–'
      : `${entry.evidence.fileCount} (+${entry.evidence.insertions} −${entry.evidence.deletions})`,
    entry.commit === null ? '–' : commitLink(entry.commit, report),
    verificationWord(entry.evidence.verification),
    formatDuration(entry.endedAt - entry.startedAt),
    entry.analysis.tokens === null ? '?' : formatTokens(entry.analysis.tokens),
    entry.analysis.costUsd === null ? '?' : formatCost(entry.analysis.costUsd),
  ]);
  const earlier = iterationsOf(report).length - shown.length;
  return [
    '### Iterations',
    ...(earlier > 0 ? [`The first ${earlier} are not shown.`] : []),
    table(['#', 'Task', 'Result', 'Files', 'Commit', 'Verification', 'Time', 'Tokens', 'Cost'], rows),
  ].join('\n\n');
}

/** Bars of text in a code block: they render wherever Markdown does. */
function chart(report: RunReport): string {
  const shown = iterationsOf(report).slice(-SHOWN_ITERATIONS);
  if (shown.length === 0) return '';
  const dearest = Math.max(...shown.map(costOf));
  const widest = String(shown.at(-1)?.iteration ?? '').length;
  let done = 0;
  const lines = shown.map((entry) => {
    done += entry.verdict.taskDone ? 1 : 0;
    const cells = dearest === 0 ? 0 : Math.max(1, Math.round((costOf(entry) / dearest) * 20));
    const bar = '█'.repeat(cells).padEnd(20, '░');
    return `${String(entry.iteration).padStart(widest)} ${bar} ${formatCost(costOf(entry)).padStart(8)}  ${entry.verdict.progress ? '●' : '○'} ${'✓'.repeat(Math.min(done, 20))}`.trimEnd();
  });
  return [
    '### Cost and progress',
    ['```text', ...lines, '```'].join('\n'),
    '● content changed, ○ nothing changed, ✓ a task done so far',
  ].join('\n\n');
}

function costOf(entry: JournalEntry): number {
  return entry.analysis.costUsd ?? 0;
}

function perIteration(report: RunReport, of: (entry: JournalEntry) => readonly string[]): readonly string[] {
  return iterationsOf(report).flatMap((entry) =>
    of(entry).map((line) => `Iteration ${entry.iteration}: ${prose(line, 300)}`),
  );
}

function where(report: RunReport): string {
  const lane = laneOf(report);
  const parts =
    lane === null
      ? [`<sub>${link('This run', report.runUrl)}</sub>`]
      : [
          `Branch ${code(lane.branch, 120)}${lane.baseBranch === null ? '' : ` from ${code(lane.baseBranch, 120)}`}`,
          ...(lane.pullRequest === null
            ? []
            : [link(`pull request #${lane.pullRequest.number}`, lane.pullRequest.url)]),
          `lane ${code(lane.lane, 60)}`,
        ];
  const requests = report.requests === null ? '' : apiUsageLine(report.requests);
  return [parts.join(' · '), ...(requests === '' ? [] : [`<sub>${requests}</sub>`])].join('\n\n');
}
