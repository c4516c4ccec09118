import type { JournalEntry } from '../../core/journal/journal.ts';
import { count, formatCost } from '../format.ts';
import { plainTitle } from '../../core/text/plain-text.ts';
import { issueOfTask } from '../../core/tasks/task.ts';
import { code, link, table, text } from '../markdown.ts';
import type { TaskReport, WorkedReport } from '../../handover/report.ts';
import { doneTasks, iterationsOn, startedTasks } from '../facts.ts';
import {
  checkSection,
  commitLink,
  discrepancySection,
  fitSections,
  headline,
  lookAtSection,
  stateWord,
  statusTable,
  taskLink,
  taskVerificationWord,
  unlistedLine,
  verifyOutputSection,
  warningSection,
  withheldSection,
  type Section,
} from './sections.ts';
import { renderHiddenStatus } from './status-json.ts';
import { andMore, firstLines } from '../../core/text/lists.ts';

/** GitHub refuses a body of more than 65,536 characters; the rest is room for how it counts them. */
const MAX_BODY_CHARS = 65_000;

/** Title of the lane's pull request: its first task, and how many more. Plain text without line breaks. */
export function renderPullRequestTitle(report: WorkedReport): string {
  const started = startedTasks(report);
  const [first, ...others] = started.length > 0 ? started : report.tasks;
  if (first === undefined) return 'Ralph: work in progress';
  return `Ralph: ${plainTitle(first.task.title, 120)}${andMore(others.length)}`;
}

/** Body of the lane's pull request, Markdown within GitHub's limit, with the hidden RALPH_STATUS at its end. */
export function renderPullRequestBody(report: WorkedReport): string {
  const sections: readonly Section[] = [
    { name: 'outcome', rank: 0, markdown: headline(report) },
    { name: 'verification', rank: 0, markdown: checkSection(report) },
    { name: 'look at first', rank: 0, markdown: lookAtSection(report) },
    { name: 'what was done', rank: 1, markdown: workSection(report) },
    { name: 'status', rank: 0, markdown: statusTable(report) },
    { name: 'evidence', rank: 2, markdown: evidenceSection(report) },
    { name: 'verification output', rank: 6, markdown: verifyOutputSection(report) },
    { name: 'discrepancies', rank: 3, markdown: discrepancySection(report) },
    { name: 'withheld files', rank: 4, markdown: withheldSection(report) },
    { name: 'warnings', rank: 5, markdown: warningSection(report) },
    { name: 'issues', rank: 0, markdown: issueLines(report) },
    { name: 'hidden status', rank: 0, markdown: `${footer(report)}\n\n${renderHiddenStatus(report)}` },
  ];
  return fitSections(sections, MAX_BODY_CHARS);
}

function workSection(report: WorkedReport): string {
  const begun = startedTasks(report);
  const started = begun.map((task) => taskItem(task, report));
  const waiting = report.tasks.filter((task) => !begun.includes(task)).map(({ task }) => text(task.title, 80));
  const gone = unlistedLine(report);
  const items = [
    ...firstLines(started, 40),
    ...(waiting.length > 0 ? [`Not started: ${firstLines(waiting, 10).join('; ')}`] : []),
    ...(gone === '' ? [] : [gone]),
  ];
  if (items.length === 0) return '';
  return [`### What was done`, items.map((item) => `- ${item}`).join('\n')].join('\n\n');
}

function taskItem({ task, progress }: TaskReport, report: WorkedReport): string {
  const entries = iterationsOn(report, task.id);
  const files = [...new Set(entries.flatMap((entry) => entry.evidence.files))];
  const recommendation = entries.at(-1)?.analysis.signal.recommendation ?? null;
  return [
    `**${text(task.title, 120)}** (${taskLink(task)}): ${stateWord(progress.state)}${entries.length === 0 ? ', not touched in this run' : ''}`,
    ...(report.unmarked.includes(task.id) ? ["Not marked as done in this branch's file: do that after merging"] : []),
    ...(files.length > 0
      ? [
          `Files: ${firstLines(
            files.map((file) => code(file, 120)),
            8,
          ).join(', ')}`,
        ]
      : []),
    ...(recommendation === null ? [] : [`The agent says: “${text(recommendation, 300)}”`]),
  ].join('<br>\n  ');
}

function evidenceSection(report: WorkedReport): string {
  const rows = startedTasks(report)
    .slice(0, 40)
    .map(({ task, progress }) => {
      const entries = iterationsOn(report, task.id);
      const commit = entries.findLast((entry) => entry.commit !== null)?.commit ?? progress.doneCommit;
      return [
        taskLink(task),
        commit === null ? 'none' : commitLink(commit, report),
        changeWord(entries),
        entries.length === 0 ? '–' : taskVerificationWord(entries, report),
        `${progress.attempts}`,
        entries.length === 0 ? '–' : formatCost(costOf(entries)),
      ];
    });
  if (rows.length === 0) return '';
  const commands =
    report.verifyCommands.length === 0
      ? ''
      : `Verified by ${firstLines(
          report.verifyCommands.map((command) => code(command, 120)),
          5,
        ).join(', ')} after each iteration that changed something.`;
  return [
    '### Evidence',
    ...(commands === '' ? [] : [commands]),
    table(['Task', 'Commit', 'Changed in this run', 'Verification', 'Iterations in all', 'Cost of this run'], rows),
  ].join('\n\n');
}

/** `Closes` for what is done; `Part of` mentions an issue without closing it. */
function issueLines(report: WorkedReport): string {
  const numbers = (tasks: readonly TaskReport[]): readonly number[] =>
    tasks.map(({ task }) => issueOfTask(task)).filter((number) => number !== null);
  const done = numbers(doneTasks(report)).map((number) => `Closes #${number}`);
  const unfinished = numbers(startedTasks(report).filter(({ progress }) => progress.state !== 'done')).map(
    (number) => `Part of #${number}`,
  );
  return [...done.slice(0, 500), ...unfinished.slice(0, 200)].join('\n');
}

function footer(report: WorkedReport): string {
  const by = text(`${report.agent.name} ${report.agent.version}`, 80);
  return `<sub>Written by ${by} in a bounded loop, ${link('see the run', report.runUrl)}. Review it like the work of a stranger.</sub>`;
}

function changeWord(entries: readonly JournalEntry[]): string {
  if (entries.length === 0) return '–';
  const files = new Set(entries.flatMap((entry) => entry.evidence.files)).size;
  const most = Math.max(files, ...entries.map((entry) => entry.evidence.fileCount));
  const sum = (of: (entry: JournalEntry) => number) => entries.reduce((total, entry) => total + of(entry), 0);
  return most === 0
    ? 'nothing'
    : `${count(most, 'file')}, +${sum((entry) => entry.evidence.insertions)} −${sum((entry) => entry.evidence.deletions)}`;
}

function costOf(entries: readonly JournalEntry[]): number {
  return entries.reduce((total, entry) => total + (entry.analysis.costUsd ?? 0), 0);
}
