import { formatInstant, MINUTE_MS } from '../../core/countdown.ts';
import type { Forecast } from '../../core/forecast/forecast.ts';
import { countUnpriced, type JournalEntry } from '../../core/journal/journal.ts';
import type { ParkReason } from '../../core/outcome.ts';
import { COMMAND_HELP, findNearestCommand } from '../../core/people/command.ts';
import type { ApprovalNotice } from '../../core/people/consent.ts';
import { hasLabel } from '../../core/people/labels.ts';
import type { Policy } from '../../core/policy.ts';
import type { Order } from '../../core/sharing/orders.ts';
import { nameOfTaskId, type TaskId } from '../../core/tasks/ids.ts';
import { formatTasksDone } from '../../core/tasks/queue.ts';
import { capitalizeFirst, joinNames, toOneLine, completeSentence } from '../../core/text/phrase.ts';
import type { CommandAnswer } from '../../handover/intake.ts';
import type { LaneView, RunReport, TaskReport, WorkedReport } from '../../handover/report.ts';
import {
  listDoneTasks,
  listIterationsOn,
  selectReportSetting,
  listSettingWarnings,
  quoteAgentFailure,
} from '../facts.ts';
import { formatCount, formatCost, formatDuration, renderTasksBar } from '../format.ts';
import { renderCode, renderLink, renderProse, renderTaskLink, renderText } from '../markdown.ts';
import { type NextStep, renderSteps, createNextStep } from '../next/step.ts';
import { renderAdvice, describeForecast } from '../forecast.ts';
import { nameOutcome } from '../sentences/ends/outcome-name.ts';
import { renderLaneStatus } from '../sentences/lane-status.ts';
import { renderHeadline } from '../sentences/outcome-text.ts';
import { renderSetUp } from '../sentences/set-up.ts';
import { renderStuckTask } from '../sentences/stuck.ts';
import { renderCostInList, renderCostNoun, listIterationCost } from '../sentences/spend.ts';
import { renderTrainSection } from '../sentences/train.ts';
import { renderFeedbackLine } from './feedback-section.ts';
import { describeIterationResult } from './progress.ts';
import {
  describeVerifications,
  renderCommitLink,
  renderHeadlineSection,
  renderStateWord,
  renderTaskVerification,
  renderVerificationWord,
  renderWarningSection,
} from './sections.ts';

/** First line of the notice that earlier versions wrote on each issue that waits for approval. */
export const APPROVAL_MARKER = '<!-- ralph-action:needs-approval -->';

/** The text that ends an approval notice if the issue was worked on since. */
export const APPROVED_SINCE =
  '\n**This issue no longer waits for approval.** Ralph has worked on it since; its other comment says where that stands.';

/** The text that ends an approval notice if the approved text is back. */
export const NO_LONGER_WAITS = '\n**This issue no longer waits for approval.** Its text is approved.';

/** The text that ends an approval notice if the issue was closed or lost its label. */
export const NOT_ASKED_FOR = '\n**This issue no longer waits for approval.** It was closed, or its label was removed.';

/**
 * First line of a thread's only status comment, regardless of the lane that works there. It identifies the comment as
 * our own.
 */
export const STATUS_MARKER = '<!-- ralph-action:status -->';

/** The line of a status comment that precedes the answer to the newest command. */
const ANSWER_PART = '<!-- ralph-action:answer -->';

/**
 * First line of the only answer in a thread in which a run is at work. The answer is a separate comment, because the
 * run overwrites the status comment without reading it.
 */
export const ANSWER_MARKER = ANSWER_PART;

/** First line of the only refusal in a thread, which does not overwrite the status. */
export const REFUSAL_MARKER = '<!-- ralph-action:refusal -->';

/** The text that replaces a refusal if Ralph has worked on the thread's subject since. */
export const NO_LONGER_REFUSED = `${REFUSAL_MARKER}\n\n**No longer refused.** Ralph has worked here since then; its other comment shows the status.`;

/**
 * Renders the sticky comment on an issue (`taskId`), or on the lane's pull request (`null`), whose description explains
 * the end of the run for both.
 */
export function renderStatusComment(report: WorkedReport, taskId: TaskId | null): string {
  const task = report.tasks.find((candidate) => candidate.task.id === taskId) ?? null;
  const unsaved =
    report.saved?.kind === 'not-saved'
      ? [
          `State was **not saved**: ${completeSentence(renderProse(report.saved.why, 300))} The next run does not know what this one used and did.`,
        ]
      : [];
  const at = `<sub>${formatInstant(report.endedAt)}</sub>`;
  const { pullRequest, outcome } = report;
  const headline = renderHeadline(report, 'markdown');
  // The description has the headline, except of a failed run, which could not publish its results.
  const end = outcome.kind === 'failed' ? headline : capitalizeFirst(nameOutcome(outcome));
  const log = renderLink('log of the run', report.logUrl);
  if (taskId === null)
    return [STATUS_MARKER, seeLine(end, `the description, or the ${log}`), ...unsaved, at].join('\n\n');
  const pull = pullRequest === null ? null : `pull request ${renderLink(`#${pullRequest.number}`, pullRequest.url)}`;
  const where = [...(pull === null ? [] : [pull]), `branch ${renderCode(report.branch, 120)}`, log];
  const stuck = task === null ? '' : renderStuckTask(task, report);
  const counts = [formatCount(report.iterations.length, 'iteration'), renderCostNoun(report)];
  const done = formatTasksDone(listDoneTasks(report).length, report.tasks.length);
  return [
    STATUS_MARKER,
    // Put the state of the issue, and what a person must do, before the end of the run.
    ...(task === null || stuck !== '' ? [stuck] : [`**This issue:** ${taskWord(task, report)}`]),
    // A failed run could not publish its results, so put its headline on every issue that it worked on.
    ...((stuck !== '' || task?.progress.state === 'done') && outcome.kind !== 'failed'
      ? []
      : [pull === null || outcome.kind === 'failed' ? renderHeadlineSection(report) : seeLine(headline, pull)]),
    ...describeVerifications(report),
    // A single task needs no bar, because its state is already above.
    report.tasks.length < 2
      ? report.iterations.length === 0
        ? ''
        : counts.join(' · ')
      : `\`${renderTasksBar(report.tasks)}\` ${[done, ...counts].join(' · ')}`,
    renderFeedbackLine(report),
    ...(task?.progress.state === 'done' ? [] : (report.forecast?.advice ?? []).map(renderAdvice)),
    `Where: ${where.join(' · ')}`,
    ...unsaved,
    at,
  ]
    .filter((block) => block !== '')
    .join('\n\n');
}

/** Renders the end of the run, and the place with more information. */
function seeLine(end: string, place: string): string {
  return `**${end}.** See ${place}.`;
}

/** Adds an answer below the status of a status comment. `current` is null if there is no comment yet. */
export function withAnswer(current: string | null, answer: string): string {
  const status = (current ?? STATUS_MARKER).split(ANSWER_PART)[0]?.trimEnd() ?? STATUS_MARKER;
  const part = `${ANSWER_PART}\n\n${answer}`;
  return status === STATUS_MARKER
    ? `${STATUS_MARKER}\n\n${part}`
    : `${status}\n\n${part.replace(ANSWER_PART, `${ANSWER_PART}\n\n---`)}`;
}

/**
 * Renders the answer to a label or a `/ralph` comment; a refusal has its own first line. Unless the person only asked
 * for the status, the answer gives the reason why nothing was done; with `view`, it shows the lane's state. `notice` is
 * set if the issue waits for approval.
 */
export function renderAnswer(
  answer: CommandAnswer['text'],
  report: RunReport,
  known: { readonly view: LaneView | null; readonly notice: ApprovalNotice | null; readonly forecast: Forecast | null },
): string {
  const { view, notice, forecast } = known;
  const asAsked = report.outcome.kind === 'idle' && report.outcome.reason === 'answered';
  const taskLabel = selectReportSetting(report)?.taskLabel ?? 'ralph';
  const why = [
    ...noticeOf(notice, taskLabel),
    ...(asAsked ? [] : [renderHeadlineSection(report)]),
    ...(listSettingWarnings(report).length === 0 ? [] : [renderWarningSection(report, 'Warnings')]),
    ...describeForecast(forecast),
    ...(answer.kind === 'status'
      ? [renderTrainSection(selectReportSetting(report)?.train ?? null)].filter((part) => part !== '')
      : []),
  ];
  const status =
    view === null
      ? [`<sub>${formatInstant(report.endedAt)}, ${renderLink('run', report.runUrl)}</sub>`]
      : [renderLaneStatus(view)];
  switch (answer.kind) {
    case 'status':
      return [...why, ...status].join('\n\n');
    case 'doctor':
      return [
        renderSetUp(answer.findings),
        `<sub>${formatInstant(report.endedAt)}, ${renderLink('run', report.runUrl)}</sub>`,
      ].join('\n\n');
    case 'help':
      return [...why, help(answer.word, view), ...status].join('\n\n');
    case 'approved':
      return [...why, approvedWords(answer), ...status].join('\n\n');
    case 'refusal':
      return [
        REFUSAL_MARKER,
        report.outcome.kind === 'failed'
          ? renderHeadlineSection(report)
          : `**Not done.** ${renderProse(answer.why, 500)}`,
        ...noticeOf(notice, taskLabel),
      ].join('\n\n');
  }
}

function approvedWords({ issues, isNew }: Extract<CommandAnswer['text'], { kind: 'approved' }>): string {
  const names = issues.map((number) => `#${number}`).join(', ');
  return [
    isNew
      ? `**Approved.** These sub-issues were created: ${names}.`
      : `**Approved before.** The sub-issues are ${names}.`,
    'The next run of the queue works on them: on schedule, when you start it by hand, or at once with `/ralph run` on one of them. This issue is not a task any longer: close it when they are done.',
  ].join(' ');
}

function noticeOf(notice: ApprovalNotice | null, taskLabel: string): readonly string[] {
  return notice === null ? [] : [renderApprovalNotice(notice, taskLabel)];
}

function help(word: string, view: LaneView | null): string {
  const meant = findNearestCommand(word);
  const shown = toOneLine(word, 40);
  const greeting = `Ralph works on open issues with ${view === null ? 'the task label' : `the label ${renderCode(view.taskLabel, 60)}`}. People with write permission can comment:`;
  const opening =
    shown === ''
      ? greeting
      : `There is no command ${renderCode(shown, 40)}.${meant === null ? '' : ` Did you mean \`/ralph ${meant}\`?`}`;
  const commands = Object.entries(COMMAND_HELP).map(([name, what]) => `- \`/ralph ${name}\`: ${what}`);
  return [opening, '', ...commands, '- `/ralph` and a whole sentence: work on what it says'].join('\n');
}

function taskWord({ task, progress }: TaskReport, report: RunReport): string {
  if (task.obstacle === 'withdrawn')
    return 'taken back while a run was working on it: no more calls are made for it, and it is not marked as done';
  const entries = listIterationsOn(report, task.id);
  const newest = entries.at(-1);
  const commit = entries.findLast((entry) => entry.commit !== null)?.commit ?? progress.doneCommit;
  return [
    `${renderStateWord(progress.state)} after ${formatCount(progress.attempts, 'iteration')}`,
    ...(commit === null ? [] : [`commit ${renderCommitLink(commit, report)}`]),
    ...(newest === undefined || newest.evidence.verification.kind === 'not-run'
      ? []
      : [`verification ${renderTaskVerification(entries, report)}`]),
  ].join(', ');
}

const MAX_ORDERS = 3;

const AT_WORK = '**🚧 Ralph is at work.**';

export type CurrentActivity =
  | {
      readonly kind: 'iterates';
      readonly task: TaskReport['task'];
      /** 1-based number of the iteration that begins. */
      readonly iteration: number;
      /** Orders that people gave since the run began, oldest first. */
      readonly orders: readonly Order[];
    }
  /** `task` is the next one; `until` is an instant in ms. */
  | { readonly kind: 'waits'; readonly for: ParkReason; readonly task: TaskReport['task']; readonly until: number }
  /** Nothing has begun, because the machines of the run work on other branches first. */
  | { readonly kind: 'queued'; readonly task: TaskReport['task'] };

/** The state of a run while it works. */
interface LiveStatus {
  readonly doing: CurrentActivity;
  readonly tasks: readonly TaskReport[];
  /** This run's iterations, oldest first. */
  readonly journal: readonly JournalEntry[];
  readonly limits: Pick<Policy, 'maxIterations' | 'maxRunMs' | 'maxCostUsd'>;
  readonly startedAt: number;
  readonly now: number;
  /** Number of jobs that the run consists of. */
  readonly jobs: 'one' | 'three';
  readonly runUrl: string;
  readonly forecast: Forecast | null;
}

/**
 * Renders the sticky status comment of a run at work: the iteration, the result of the last one, time and money against
 * their limits. The text stays true until the next edit.
 */
export function renderLiveStatus(live: LiveStatus): string {
  const { doing, tasks, journal, limits, jobs, startedAt, now, runUrl, forecast } = live;
  const orders = doing.kind === 'iterates' ? doing.orders : [];
  const named = `${renderTaskLink(doing.task)} ${renderText(doing.task.title, 120)} (${renderLink('live log', runUrl)})`;
  const last = journal.at(-1) ?? null;
  const costUsd = journal.reduce((sum, { analysis }) => sum + (analysis.costUsd ?? 0), 0);
  const unpriced = countUnpriced(journal);
  const isKnown = costUsd > 0 || unpriced === 0;
  const ofLimit = isKnown && limits.maxCostUsd > 0 ? ` of ${formatCost(limits.maxCostUsd)}` : '';
  const cost = ` · ${renderCostInList({ costUsd: isKnown ? costUsd : null, unpriced })}${ofLimit}`;
  const done = tasks.filter(({ progress }) => progress.state === 'done').length;
  const minutes = Math.floor(Math.max(0, now - startedAt) / MINUTE_MS);
  return [
    STATUS_MARKER,
    `${AT_WORK} ${describeActivity(live)} ${named}`,
    ...(last === null ? [] : [`Last iteration: ${lastWordsOfIteration(last)}`]),
    `\`${renderTasksBar(tasks)}\` ${formatTasksDone(done, tasks.length)} · ${minutes} of ${Math.round(limits.maxRunMs / MINUTE_MS)} min${cost}`,
    ...describeForecast(forecast),
    ...(orders.length === 0 ? [] : [`For the next run: ${joinNames(orders.map(orderWords), MAX_ORDERS)}`]),
    jobs === 'one'
      ? '<sub>Updated with every iteration. To end the run after this iteration, comment `/ralph stop`.</sub>'
      : `<sub>Updated when the run ends. To end it now, cancel ${renderLink('the run', runUrl)}: what is finished is kept.</sub>`,
  ].join('\n\n');
}

function describeActivity({ doing, limits, now }: LiveStatus): string {
  switch (doing.kind) {
    case 'iterates':
      return `Iteration ${doing.iteration} of ${limits.maxIterations} began ${formatInstant(now)}:`;
    case 'waits':
      return `${doing.for === 'step_circuit' ? 'The circuit of a step is open' : 'A limit is reached'}, so the run waits until ${formatInstant(doing.until)}, then continues with`;
    case 'queued':
      return 'The run works on other branches first, then begins with';
  }
}

/** Returns true if a run at work wrote a status comment. */
export function isLiveStatus(comment: string): boolean {
  return comment.startsWith(`${STATUS_MARKER}\n\n${AT_WORK}`);
}

/** Renders an order that was given while the run works, so that its answer needs no other comment. */
function orderWords({ kind, task, by }: Order): string {
  const words = `${kind.replace('-', ' ')}${task === null ? '' : ` ${nameOfTaskId(task)}`}`;
  return `\`/ralph ${words}\` of ${renderText(by, 40)}`;
}

function lastWordsOfIteration(entry: JournalEntry): string {
  const { evidence, startedAt, endedAt } = entry;
  return [
    entry.verdict.agentFailed ? renderProse(quoteAgentFailure(entry), 300) : describeIterationResult(entry),
    evidence.fileCount === 0
      ? 'nothing changed'
      : `${formatCount(evidence.fileCount, 'file')} (+${evidence.insertions} −${evidence.deletions})`,
    ...(evidence.verification.kind === 'not-run'
      ? []
      : [`\`verify\` ${renderVerificationWord(evidence.verification)}`]),
    formatDuration(endedAt - startedAt),
    ...listIterationCost(entry),
  ].join(' · ');
}

/**
 * Renders what happened to the issue's text, and advice. The same edit always renders the same text. `name` stands for
 * the issue in the sentences.
 */
export function renderApprovalNotice(
  { editor, at, labels }: ApprovalNotice,
  taskLabel: string,
  name = 'This issue',
): string {
  const isLabelled = hasLabel(labels, taskLabel);
  const label = renderCode(taskLabel, 60);
  const consent = isLabelled
    ? [`the label ${label} was added`, 'The label is consent to the text as it was then']
    : ['it was asked for by `issue-query`', 'That was consent to the text as it was then'];
  const who =
    editor === null
      ? 'by somebody GitHub does not name'
      : `by ${renderCode(editor, 60)}, who has no write permission in this repository`;
  return [
    `**${name} waits for approval.** Its text was changed after ${consent[0]}: ${who}, ${formatInstant(at)}. ${consent[1]}, so Ralph does not work on the new one.`,
    `**Next:** ${renderSteps(nextStepsForApproval(taskLabel, isLabelled), 'markdown')}`,
  ].join('\n\n');
}

function nextStepsForApproval(taskLabel: string, isLabelled: boolean): readonly NextStep[] {
  const label = `the label \`${taskLabel.replaceAll('`', "'")}\``;
  const again = isLabelled ? createNextStep('relabel', label) : createNextStep('label', `${label} on the issue`);
  return [
    ...[createNextStep('note', 'read the text'), { ...again, lead: 'if it should be worked on as it is now, ' }],
    createNextStep('note', 'that takes write permission', '; '),
  ];
}
