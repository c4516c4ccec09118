import { tasksDone } from '../../core/tasks/queue.ts';
import type { ApprovalNotice } from '../../core/people/consent-messages.ts';
import type { Answer } from '../../handover/intake.ts';
import type { TaskId } from '../../core/tasks/ids.ts';
import { issueOfTask } from '../../core/tasks/task.ts';
import { count } from '../format.ts';
import { renderLaneStatus } from '../sentences/lane-status.ts';
import { renderSetUp } from '../sentences/set-up.ts';
import { oneLine } from '../../core/text/one-line.ts';
import { code, link, prose, text, taskLink } from '../markdown.ts';
import { renderApprovalNotice } from './approval-notice.ts';
import { COMMANDS, nearestCommand } from '../../core/people/command.ts';
import { feedbackLine } from './feedback-section.ts';
import { tasksBar } from './progress-bar.ts';
import type { LaneView, RunReport, TaskReport, WorkedReport } from '../../handover/report.ts';
import { doneTasks, iterationsOn, settingOf, warningsOf } from '../facts.ts';
import { checkSection, commitLink, headline, stateWord, taskVerificationWord, warningSection } from './sections.ts';
import { describeOutcome } from '../sentences/outcome-text.ts';
import { renderStuckTask, stuckTasks } from '../sentences/stuck.ts';
import { costNoun } from '../sentences/unknown-cost.ts';
import { formatInstant } from '../../core/time.ts';
import { sentence } from '../../core/text/sentence.ts';

/** First line of a thread's one status comment, whatever lane works there; by it the comment is found again, and known as our own. */
export const STATUS_MARKER = '<!-- ralph-action:status -->';

/** Line of a status comment behind which the answer to the newest command stands. */
const ANSWER_PART = '<!-- ralph-action:answer -->';

/** First line of the one answer in a thread where a run is at work, which writes its status without reading it: beside that, the answer stays. */
export const ANSWER_MARKER = ANSWER_PART;

/** First line of the one refusal in a thread: it does not overwrite the status. */
export const REFUSAL_MARKER = '<!-- ralph-action:refusal -->';

/** What becomes of a refusal when Ralph worked on what the thread is about since. */
export const REFUSED_BEFORE = `${REFUSAL_MARKER}\n\n**No longer refused.** Ralph has worked here since then; its other comment shows the status.`;

/** The sticky comment on an issue (`taskId`: what became of it) or on the lane's pull request (`null`). */
export function renderStatusComment(report: WorkedReport, taskId: TaskId | null): string {
  const task = report.tasks.find((candidate) => candidate.task.id === taskId) ?? null;
  const where = [
    ...(report.pullRequest === null || taskId === null
      ? []
      : [`pull request ${link(`#${report.pullRequest.number}`, report.pullRequest.url)}`]),
    `branch ${code(report.branch, 120)}`,
    link('log of the run', report.logUrl),
  ];
  return [
    STATUS_MARKER,
    // What became of the issue, and what a person must do, comes before how the run ended.
    ...(task === null || needsPerson(report, task) ? [] : [`**This issue:** ${taskWord(task, report)}`]),
    ...stuckIn(report, task),
    // What a failed run could not publish is missing on every issue that it worked on.
    ...(isSettled(report, task) && report.outcome.kind !== 'failed'
      ? [`The run ended: ${describeOutcome(report).title}.`]
      : [headline(report)]),
    ...[checkSection(report)].filter((section) => section !== ''),
    `\`${tasksBar(report.tasks)}\` ${[tasksDone(doneTasks(report).length, report.tasks.length), count(report.iterations.length, 'iteration'), costNoun(report)].join(' · ')}`,
    ...[feedbackLine(report)].filter((line) => line !== ''),
    `Where: ${where.join(' · ')}`,
    ...(report.saved?.kind === 'not-saved'
      ? [
          `State was **not saved**: ${sentence(prose(report.saved.why, 300))} The next run does not know what this one used and did.`,
        ]
      : []),
    `<sub>${formatInstant(report.endedAt)}</sub>`,
  ].join('\n\n');
}

/** The status comment with an answer: how the work stands stays, and comes first. `current`: null where there is none. */
export function withAnswer(current: string | null, answer: string): string {
  const status = (current ?? STATUS_MARKER).split(ANSWER_PART)[0]?.trimEnd() ?? STATUS_MARKER;
  const part = `${ANSWER_PART}\n\n${answer}`;
  return status === STATUS_MARKER
    ? `${STATUS_MARKER}\n\n${part}`
    : `${status}\n\n${part.replace(ANSWER_PART, `${ANSWER_PART}\n\n---`)}`;
}

/** The answer to a label or a `/ralph` comment, a refusal with its own first line: why nothing was done, if that was not asked for, and how the lane stands, if it is known (`view`). `notice`: the issue waits for approval. */
export function renderAnswer(
  answer: Answer['text'],
  report: RunReport,
  { view, notice }: { readonly view: LaneView | null; readonly notice: ApprovalNotice | null },
): string {
  const asAsked = report.outcome.kind === 'idle' && report.outcome.reason === 'answered';
  const taskLabel = settingOf(report)?.taskLabel ?? 'ralph';
  const why = [
    ...noticeOf(notice, taskLabel),
    ...(asAsked ? [] : [headline(report)]),
    ...(warningsOf(report).length === 0 ? [] : [warningSection(report, 'Warnings')]),
  ];
  const status =
    view === null
      ? [`<sub>${formatInstant(report.endedAt)}, ${link('run', report.runUrl)}</sub>`]
      : [renderLaneStatus(view)];
  switch (answer.kind) {
    case 'status':
      return [...why, ...status].join('\n\n');
    case 'doctor':
      return [
        renderSetUp(answer.findings),
        `<sub>${formatInstant(report.endedAt)}, ${link('run', report.runUrl)}</sub>`,
      ].join('\n\n');
    case 'help':
      return [...why, help(answer.word, view), ...status].join('\n\n');
    case 'refusal':
      return [
        REFUSAL_MARKER,
        report.outcome.kind === 'failed' ? headline(report) : `**Not done.** ${prose(answer.why, 500)}`,
        ...noticeOf(notice, taskLabel),
      ].join('\n\n');
  }
}

/** Whether an issue's comment says all that is to be done for it: how the run ended is about the others. */
function isSettled(report: WorkedReport, task: TaskReport | null): boolean {
  return task?.progress.state === 'done' || needsPerson(report, task);
}

/** Whether the comment says already what is to be done. */
function needsPerson(report: WorkedReport, task: TaskReport | null): boolean {
  return task !== null && renderStuckTask(task, report) !== '';
}

/** On an issue its own task; on the pull request those that have no issue to be reported on. */
function stuckIn(report: WorkedReport, task: TaskReport | null): readonly string[] {
  if (task !== null) return [renderStuckTask(task, report)].filter((rendered) => rendered !== '');
  const others = stuckTasks(report)
    .filter((one) => issueOfTask(one.task) === null)
    .slice(0, 5);
  return others.map((one) => `${taskLink(one.task)}: ${text(one.task.title, 120)}\n\n${renderStuckTask(one, report)}`);
}

function noticeOf(notice: ApprovalNotice | null, taskLabel: string): readonly string[] {
  return notice === null ? [] : [renderApprovalNotice(notice, taskLabel)];
}

function help(word: string, view: LaneView | null): string {
  const meant = nearestCommand(word);
  const shown = oneLine(word, 40);
  const greeting = `Ralph works on open issues with ${view === null ? 'the task label' : `the label ${code(view.taskLabel, 60)}`}. People with write permission can comment:`;
  const opening =
    shown === ''
      ? greeting
      : `There is no command ${code(shown, 40)}.${meant === null ? '' : ` Did you mean \`/ralph ${meant}\`?`}`;
  return [opening, '', ...Object.entries(COMMANDS).map(([name, what]) => `- \`/ralph ${name}\`: ${what}`)].join('\n');
}

function taskWord({ task, progress }: TaskReport, report: RunReport): string {
  if (task.obstacle === 'withdrawn')
    return 'taken back while a run worked on it: no further call is made for it, and nothing says that it is done';
  const entries = iterationsOn(report, task.id);
  const newest = entries.at(-1);
  const commit = entries.findLast((entry) => entry.commit !== null)?.commit ?? progress.doneCommit;
  return [
    `${stateWord(progress.state)} after ${count(progress.attempts, 'iteration')}`,
    ...(commit === null ? [] : [`commit ${commitLink(commit, report)}`]),
    ...(newest === undefined || newest.evidence.verification.kind === 'not-run'
      ? []
      : [`verification ${taskVerificationWord(entries, report)}`]),
  ].join(', ');
}
