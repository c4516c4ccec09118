import { isIssueTask, type TaskId } from '../../core/tasks/ids.ts';
import { isFeedback } from '../../core/feedback/subject.ts';
import { capLines } from '../../core/text/phrase.ts';
import type { JournalEntry } from '../../core/journal/journal.ts';
import type { RunReport, TaskReport } from '../../handover/report.ts';
import {
  listAllTasks,
  listFindings,
  hasAnyUsage,
  listIterations,
  listIterationsOn,
  selectLaneReport,
  selectReportSetting,
  listLaneTasks,
  selectWorkedReport,
} from '../facts.ts';
import { renderApiUsage, formatCount, formatCost, formatDuration, formatTokens } from '../format.ts';
import {
  renderCode,
  renderLink,
  linkPages,
  renderProse,
  renderProseLines,
  renderText,
  renderTaskLink,
  renderTaskWithTitle,
} from '../markdown.ts';
import { renderIsolation } from '../sentences/isolation.ts';
import { describeDenials, renderFindingsSection, describeIterationProblems } from '../sentences/iteration-problems.ts';
import { countCalledAgents, describeHandOvers, renderLaneStatus } from '../sentences/lane-status.ts';
import { renderSetUp } from '../sentences/set-up.ts';
import { explainUnknownCost, renderRunCost, listIterationCost } from '../sentences/spend.ts';
import { describeOutcome, renderHeadline } from '../sentences/outcome-text.ts';
import { findOnlyTrouble } from '../sentences/waiting.ts';
import { renderStuckTask, listStuckTasks } from '../sentences/stuck.ts';
import { renderTrainSection } from '../sentences/train.ts';
import { renderFeedbackLine } from './feedback-section.ts';
import { describeIterationResult } from './progress.ts';
import {
  renderVerificationSection,
  renderCommitLink,
  fitSections,
  renderOtherRalphs,
  renderList,
  renderLookAtSection,
  renderNextLine,
  renderStateWord,
  renderStatusTable,
  renderUnlistedTasks,
  renderVerifyOutput,
  renderWaitingSection,
  renderWarningSection,
  renderWithheldSection,
} from './sections.ts';

/**
 * Maximum length of the summary. GitHub drops a whole step summary of more than 1 MiB, and a character takes at most
 * three bytes.
 */
const MAX_SUMMARY_CHARS = 200_000;

const SHOWN_ITERATIONS = 60;

/**
 * Renders the job summary as Markdown: the result of the work, what to do, the cost, the iterations, and last the
 * machine.
 */
export function renderSummary(report: RunReport): string {
  return fitSections(
    [
      { name: 'outcome', rank: 0, markdown: opening(report) },
      { name: 'event', rank: 2, markdown: renderProse(selectReportSetting(report)?.before ?? '', 1000) },
      { name: 'set-up', rank: 0, markdown: setUpSection(report) },
      { name: 'verification', rank: 0, markdown: renderVerificationSection(report) },
      // A person who asks for the status needs the lane's state and not that of the run that looked, so put it first.
      { name: 'status', rank: 0, markdown: report.kind === 'answered' ? renderLaneStatus(report.view) : '' },
      { name: 'cost', rank: 0, markdown: costLine(report) },
      { name: 'verification output', rank: 6, markdown: renderVerifyOutput(report) },
      { name: 'tasks', rank: 2, markdown: taskSection(report) },
      { name: 'review and checks', rank: 2, markdown: renderFeedbackLine(report) },
      {
        name: 'findings of reviews',
        rank: 3,
        markdown: renderFindingsSection(selectWorkedReport(report)?.change ?? { reviews: [], tasks: {} }),
      },
      { name: 'merge order', rank: 3, markdown: renderTrainSection(selectReportSetting(report)?.train ?? null) },
      { name: 'tasks that need a person', rank: 2, markdown: stuckSection(report) },
      { name: 'waiting tasks', rank: 3, markdown: renderWaitingSection(report) },
      { name: 'look at first', rank: 5, markdown: renderLookAtSection(report, 300) },
      { name: 'iterations', rank: 1, markdown: iterationSection(report) },
      { name: 'hand-overs', rank: 3, markdown: renderList('Agents', describeHandOvers(listIterations(report))) },
      { name: 'timeline', rank: 7, markdown: timeline(report) },
      { name: 'problems', rank: 3, markdown: renderList('Problems', describeIterationProblems(report)) },
      { name: 'denied tools', rank: 4, markdown: renderList('Denied tools', describeDenials(report)) },
      { name: 'left out', rank: 3, markdown: renderWithheldSection(report) },
      { name: 'warnings', rank: 3, markdown: renderWarningSection(report, 'Warnings') },
      { name: 'found', rank: 5, markdown: renderOtherRalphs(report) },
      { name: 'machine', rank: 0, markdown: machine(report) },
    ],
    MAX_SUMMARY_CHARS,
  );
}

function opening(report: RunReport): string {
  const what = renderProseLines(describeOutcome(report, 'page').what, 1000);
  return linkPages(
    `## Ralph: ${renderHeadline(report, 'markdown')}\n\n${what}\n\n${renderNextLine(report)}`,
    report.repositoryUrl,
  );
}

function setUpSection(report: RunReport): string {
  const findings = listFindings(report);
  return findings.length === 0 ? '' : renderSetUp(findings);
}

function costLine(report: RunReport): string {
  const lane = selectLaneReport(report);
  const work = selectWorkedReport(report);
  if (lane === null) return '';
  const pull = lane.pullRequest;
  const unknown = work === null ? null : explainUnknownCost(work);
  const spent =
    work === null || !hasAnyUsage(work)
      ? []
      : [
          `**Cost:** ${renderRunCost(work)}${work.policy.maxCostUsd > 0 && unknown === null ? ` of ${formatCost(work.policy.maxCostUsd)}` : ''}, ${formatTokens(work.tokens)} tokens`,
          `${formatCount(work.iterations.length, 'iteration')} in ${formatDuration(work.endedAt - work.startedAt)}`,
        ];
  const line = [...spent, ...(pull === null ? [] : [renderLink(`pull request #${pull.number}`, pull.url)])].join(' · ');
  return unknown === null ? line : `${line}\n\n${renderProse(unknown, 1000)}`;
}

/** Maximum number of tasks listed without folding. */
const SHOWN_TASKS = 30;
const NAMED_TASKS = 100;

function taskSection(report: RunReport): string {
  const all = listLaneTasks(report);
  if (all.length === 0) return '';
  const wasBegun = ({ task, progress }: TaskReport): boolean =>
    progress.state !== 'todo' || progress.attempts > 0 || listIterationsOn(report, task.id).length > 0;
  const begun = all.filter(wasBegun).map((one) => taskLine(one, report));
  const waiting = all
    .filter((one) => !wasBegun(one))
    .map(({ task }) => `- ${renderTaskLink(task)} ${renderText(task.title, 120)}`);
  const gone = renderUnlistedTasks(report);
  return [
    '### Tasks',
    ...(begun.length > 0 ? [begun.slice(0, SHOWN_TASKS).join('\n')] : []),
    ...folded(formatCount(begun.length - SHOWN_TASKS, 'more task'), [
      capLines(begun.slice(SHOWN_TASKS), NAMED_TASKS - SHOWN_TASKS).join('\n'),
    ]),
    ...folded(`${formatCount(waiting.length, 'task')} not started`, [capLines(waiting, NAMED_TASKS).join('\n')]),
    ...(gone === '' ? [] : [gone]),
  ].join('\n\n');
}

function taskLine({ task, progress, share }: TaskReport, report: RunReport): string {
  const here = listIterationsOn(report, task.id).length;
  const earlier = share.iterations - here;
  const iterations =
    here === 0 && earlier > 0
      ? `${formatCount(earlier, 'iteration')} before this run`
      : `${formatCount(here, 'iteration')}${earlier > 0 ? ` (and ${earlier} before)` : ''}`;
  return `- ${renderStateWord(progress.state)}: ${renderTaskLink(task)} ${renderText(task.title, 120)}, ${iterations}`;
}

/** Folds a part of a page; empty if all blocks are empty. */
function folded(summary: string, blocks: readonly string[]): readonly string[] {
  const filled = blocks.filter((block) => block !== '');
  return filled.length === 0
    ? []
    : [['<details>\n<summary>' + summary + '</summary>', ...filled, '</details>'].join('\n\n')];
}

/** Describes the attempts at the tasks that this run gave up, and advice. */
function stuckSection(report: RunReport): string {
  // If only one task is in trouble, the headline and the lines below it already describe it, so leave it out.
  const named = report.outcome.reason === 'needs_human' ? findOnlyTrouble(listAllTasks(report)) : null;
  const stuck = listStuckTasks(report)
    .filter((one) => one !== named)
    .slice(0, 10);
  if (stuck.length === 0) return '';
  return [
    '### Tasks that need a person',
    ...stuck.flatMap((one) => [`#### ${renderTaskWithTitle(one.task)}`, renderStuckTask(one, report)]),
  ].join('\n\n');
}

function iterationSection(report: RunReport): string {
  const shown = listIterations(report).slice(-SHOWN_ITERATIONS);
  if (shown.length === 0) return '';
  // The list of tasks above does not show the requests of people and CI, so name them here.
  const namesTasks =
    new Set(shown.map(({ taskId }) => taskId)).size > 1 || shown.some(({ taskId }) => isFeedback(taskId));
  const earlier = listIterations(report).length - shown.length;
  return [
    '### Iterations',
    ...(earlier > 0 ? [`The first ${earlier} are not shown.`] : []),
    shown.map((entry) => iterationLine(entry, { report, namesTasks })).join('\n'),
    `The ${renderLink('log of the run', report.logUrl)} has a group for each iteration.`,
  ].join('\n\n');
}

/** Describes an iteration: its task, its result, its tests, its size, its time and its cost. */
function iterationLine(
  entry: JournalEntry,
  { report, namesTasks }: { readonly report: RunReport; readonly namesTasks: boolean },
): string {
  const { iteration, agent, evidence, commit, startedAt, endedAt } = entry;
  const took = [
    `${describeIterationResult(entry)}${verificationMark(entry, report)}`,
    evidence.fileCount === 0
      ? 'no files'
      : `${formatCount(evidence.fileCount, 'file')} (+${evidence.insertions} −${evidence.deletions})`,
    ...(commit === null ? [] : [renderCommitLink(commit, report)]),
    formatDuration(endedAt - startedAt),
    ...listIterationCost(entry),
  ];
  const by = agent !== null && countCalledAgents(listIterations(report)).length > 1 ? ` (${agent})` : '';
  return `- Iteration ${iteration}${namesTasks ? ` on ${taskName(entry, report)}` : ''}${by}: ${took.join(', ')}`;
}

function taskName({ taskId, taskTitle }: JournalEntry, report: RunReport): string {
  const task = listAllTasks(report).find((one) => one.task.id === taskId)?.task;
  return task === undefined ? renderText(taskTitle, 40) : renderTaskLink(task);
}

/** Renders how `verify` ended, after a blank. Names the command only if there are several; empty if it did not run. */
function verificationMark({ evidence: { verification } }: JournalEntry, report: RunReport): string {
  switch (verification.kind) {
    case 'passed':
      return ' ✅';
    case 'failed':
      return ` ❌${(selectReportSetting(report)?.verifyCommands.length ?? 0) > 1 ? ` ${renderCode(verification.command, 60)}` : ''}`;
    case 'not-run':
      return '';
  }
}

/** Renders a chart of the times at which each task was worked on; empty if it shows no more than the table. */
function timeline(report: RunReport): string {
  const shown = listIterations(report).slice(-SHOWN_ITERATIONS);
  const lengths = shown.map(({ startedAt, endedAt }) => endedAt - startedAt);
  if (shown.length < 3 || Math.max(...lengths) < 2 * Math.max(1000, Math.min(...lengths))) return '';
  const lines = shown.flatMap(({ iteration, taskId, taskTitle, startedAt, endedAt, verdict }, index) => [
    ...(taskId === shown[index - 1]?.taskId ? [] : [`    section ${sectionName(taskId, taskTitle)}`]),
    `    ${iteration} :${verdict.progress ? '' : 'crit, '}${startedAt}, ${Math.max(endedAt, startedAt + 1)}`,
  ]);
  return [
    ...folded('Timeline', [
      ['```mermaid', 'gantt', '    dateFormat x', '    axisFormat %H:%M', '    todayMarker off', ...lines, '```'].join(
        '\n',
      ),
      'Times are UTC. Red: nothing changed.',
    ]),
  ].join('');
}

/** Names a task in the chart, whose language knows few characters. */
function sectionName(taskId: TaskId, title: string): string {
  return (isIssueTask(taskId) ? taskId : title).replaceAll(/[^\w .-]/g, '').slice(0, 40) || 'task';
}

function machine(report: RunReport): string {
  const status = report.kind === 'answered' ? '' : renderStatusTable(report);
  const requests = report.requests === null ? '' : renderApiUsage(report.requests);
  const isolation = selectWorkedReport(report)?.isolation ?? null;
  return folded('Details of the run', [
    status,
    isolation === null ? '' : renderProse(renderIsolation(isolation), 2000),
    where(report),
    requests === '' ? '' : `<sub>${requests}</sub>`,
  ]).join('');
}

function where(report: RunReport): string {
  const lane = selectLaneReport(report);
  if (lane === null) return `<sub>${renderLink('This run', report.runUrl)}</sub>`;
  return `Branch ${renderCode(lane.branch, 120)}${lane.baseBranch === null ? '' : ` from ${renderCode(lane.baseBranch, 120)}`}`;
}
