import type { TaskShare } from '../../core/lane/change.ts';
import { isStuck } from '../../core/tasks/task.ts';
import { capLines, listFirstNames, capitalizeFirst } from '../../core/text/phrase.ts';
import type { TaskReport, WorkedReport } from '../../handover/report.ts';
import { listIterationsOn, listStartedTasks } from '../facts.ts';
import { formatCount, formatTaskState } from '../format.ts';
import { renderLink, renderTaskLink, renderText } from '../markdown.ts';
import type { TestState } from '../sentences/alarms.ts';
import { listProofSentences } from '../sentences/look-at.ts';
import { agentsOfChange } from '../sentences/lane-status.ts';
import { renderBranchCost } from '../sentences/spend.ts';
import { renderCommitLink, renderStateGlyph, renderUnlistedTasks } from './sections.ts';

/** Maximum number of tasks that are described in full; if there are more, each gets one line. */
const DESCRIBED_TASKS = 5;
const UNMARKED = "it is not marked as done in this branch's file: do that after merging";
/** Maximum number of tasks that are named at all. */
const NAMED_TASKS = 60;
const SHOWN_COMMITS = 5;

/**
 * Renders the tasks of a branch: a few of them in full, many on one line each, and those that are not started folded.
 */
export function renderPullRequestTasks(report: WorkedReport, tests: TestState): string {
  const begun = listStartedTasks(report);
  const waiting = report.tasks.filter((task) => !begun.includes(task)).map(({ task }) => taskName(task));
  const described =
    begun.length > DESCRIBED_TASKS
      ? bulletList(begun.map((task) => taskLine(task, report, tests)))
      : begun.map((task) => taskItem(task, report, tests)).join('\n\n');
  const gone = renderUnlistedTasks(report);
  const blocks = [
    ...(begun.length > 0 ? [described] : []),
    ...folded(`${formatCount(waiting.length, 'task')} not started`, waiting),
    ...(gone === '' ? [] : [gone]),
  ];
  if (blocks.length === 0) return '';
  return ['### Tasks', ...blocks].join('\n\n');
}

function taskName(task: TaskReport['task']): string {
  return `${renderTaskLink(task)} ${renderText(task.title, 120)}`;
}

function bulletList(lines: readonly string[]): string {
  return capLines(lines, NAMED_TASKS)
    .map((line) => `- ${line}`)
    .join('\n');
}

/** Renders a folded list; empty if there are no lines. */
function folded(summary: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [`<details>\n<summary>${summary}</summary>\n\n${bulletList(lines)}\n\n</details>`];
}

/**
 * Renders one of many tasks on one line: its state, its size and its newest commit, or the reason why it is not done.
 */
function taskLine(one: TaskReport, report: WorkedReport, tests: TestState): string {
  const { task, progress, share } = one;
  const commit = share.commits.at(-1) ?? progress.doneCommit;
  const facts = [
    ...(progress.state === 'done' ? [] : [formatTaskState(progress.state)]),
    ...sizeWords(share, one, report),
    ...(commit === null ? [] : [renderCommitLink(commit, report)]),
    ...verificationWords(one, tests),
    ...(progress.unmarked ? [UNMARKED] : []),
    // Leave out a summary that a failed verification would contradict.
    ...(share.summary === null || tests.kind === 'failed' ? [] : [`“${renderText(share.summary, 100)}”`]),
  ];
  return `${renderStateGlyph(progress.state)} ${taskName(task)}${facts.length === 0 ? '' : `: ${facts.join(', ')}`}`;
}

function taskItem(one: TaskReport, report: WorkedReport, tests: TestState): string {
  const { task, progress, share } = one;
  const facts = [
    ...sizeWords(share, one, report),
    ...commitWords(share, one, report),
    ...verificationWords(one, tests),
    ...(share.iterations > 0 ? [formatCount(share.iterations, 'iteration')] : []),
    ...(share.costUsd > 0 || share.unpriced > 0 ? [renderBranchCost(share)] : []),
    ...(agentsOfChange(report.change).length > 1 && share.agents.length > 0
      ? [`by ${listFirstNames(share.agents)}`]
      : []),
  ].join(' · ');
  const words = ownWords(one, report, tests);
  return [
    `- ${renderStateGlyph(progress.state)} **${renderText(task.title, 120)}** (${renderTaskLink(task)})${progress.state === 'done' ? '' : `: ${formatTaskState(progress.state)}`}`,
    ...words.map((line) => `  ${line}`),
    ...(words.length > 0 && facts !== '' ? [''] : []),
    ...(facts === '' ? [] : [`  ${facts}`]),
    ...(share.proof === undefined ? [] : listProofSentences(share.proof).map((line) => `\n  ${line}`)),
    ...(progress.unmarked ? [`\n  ${capitalizeFirst(UNMARKED)}.`] : []),
  ].join('\n');
}

/**
 * Quotes the agent's words and the facts that contradict them. The words on a task that waits for a person are quoted
 * further up.
 */
function ownWords({ task, progress, share }: TaskReport, report: WorkedReport, tests: TestState): readonly string[] {
  const recommended = listIterationsOn(report, task.id).at(-1)?.analysis.signal.recommendation ?? null;
  const words = share.summary ?? share.recommendation ?? recommended;
  if (words === null || (isStuck(progress) && progress.state !== 'failed')) return [];
  const contradicted = tests.kind === 'failed' ? ['>', '> ⚠️ The agent says so; `verify` says otherwise.'] : [];
  return [`> “${renderText(words, 500)}”`, ...contradicted];
}

function sizeWords({ size }: TaskShare, { task }: TaskReport, report: WorkedReport): readonly string[] {
  if (size !== null)
    return size.files === 0 ? [] : [`${formatCount(size.files, 'file')} (+${size.insertions} −${size.deletions})`];
  const files = new Set(listIterationsOn(report, task.id).flatMap(({ evidence }) => evidence.files)).size;
  return files === 0 ? [] : [formatCount(files, 'file')];
}

function commitWords(
  { commits, commitCount, size }: TaskShare,
  one: TaskReport,
  report: WorkedReport,
): readonly string[] {
  const known = commits.length > 0 ? commits : [one.progress.doneCommit].filter((commit) => commit !== null);
  const newest = known.at(-1);
  if (newest === undefined) return [];
  const shown = known.slice(-SHOWN_COMMITS).map((sha) => renderCommitLink(sha, report));
  const left = Math.max(0, commitCount - shown.length);
  const compare =
    size?.since == null || commitCount < 2
      ? []
      : [renderLink('compare', `${report.repositoryUrl}/compare/${size.since}...${newest}`)];
  return [
    `${shown.length === 1 ? 'commit' : 'commits'} ${shown.join(' ')}${left > 0 ? ` and ${left} more` : ''}`,
    ...compare,
  ];
}

/** Returns the verification of a task if the headline does not contain it. */
function verificationWords({ share }: TaskReport, tests: TestState): readonly string[] {
  if (share.verification === 'not-run' || share.verification === tests.kind) return [];
  return [share.verification === 'failed' ? '`verify` **failed**' : '`verify` passed'];
}
