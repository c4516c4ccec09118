import type { JournalEntry } from '../../core/journal/journal.ts';
import { formatTasksDone } from '../../core/tasks/queue.ts';
import { findTaskShare, type BranchChange, type TaskShare } from '../../core/lane/change.ts';
import type { ApprovalNotice } from '../../core/people/consent.ts';
import type { Settlement } from '../../core/people/needs.ts';
import { formatNeedsMarker, type Need, type Notification } from '../../core/people/notifications.ts';
import { issueOfId, nameOfTaskId, type TaskId, computeNextTurn } from '../../core/tasks/ids.ts';
import type { FeedbackItem } from '../../core/feedback/memory.ts';
import { isFeedback } from '../../core/feedback/subject.ts';
import { isListedTask, findMarkingFile } from '../../core/tasks/task.ts';
import { listFirstNames, capitalizeFirst } from '../../core/text/phrase.ts';
import { policyInputs } from '../../config/agent-inputs.ts';
import type { RunReport, TaskReport } from '../../handover/report.ts';
import {
  listAllTasks,
  listDoneTasks,
  listIterations,
  listIterationsOn,
  selectLaneReport,
  pickVerification,
  listPassedCommands,
  selectReportSetting,
  listLaneTasks,
} from '../facts.ts';
import { formatCount, formatInstantFrom } from '../format.ts';
import { renderCode, renderLink, renderProse, renderText, renderTaskLink } from '../markdown.ts';
import { nameWithheldFiles } from '../sentences/ends/withheld.ts';
import { renderApprovalNotice } from './status-comment.ts';
import { findFeedbackRequest, findRequestPage, describeObjections } from '../sentences/feedback.ts';
import { suggestForTask } from '../next/for-tasks.ts';
import { STEPS_AFTER_DISARMING, suggestAfterRounds, suggestWhenReady, renderSteps, renderWords } from '../next/step.ts';
import { describeTaskTrouble, YOU_ARE_NEEDED } from '../sentences/trouble.ts';
import { renderHeadline } from '../sentences/outcome-text.ts';
import { describePassedSteps } from '../sentences/alarms.ts';
import { renderAnswerWords } from './feedback-section.ts';
import { renderCommitLink, renderHeadlineSection, renderVerificationWord } from './sections.ts';

/** Maximum number of needs that are described; of further ones, only the number is given. */
const SHOWN_NEEDS = 10;
/** Maximum number of attempts listed. */
const SHOWN_TRIES = 5;
/** Maximum number of tasks named as the place of a stop. */
const SHOWN_TASKS = 3;

export interface NotificationText {
  readonly needs: readonly Need[];
  readonly report: RunReport;
  /** The lane's change, with the agent's words on each task. */
  readonly change: BranchChange;
  /** The task of the last iteration, or null if it is not known. */
  readonly lastTask: TaskId | null;
  /** Issues that wait for approval. */
  readonly notices: readonly ApprovalNotice[];
  /** Validated logins, which are the only mentions in anything that the product writes. */
  readonly mentions: readonly string[];
}

/**
 * Renders the comment that notifies people: what happened, the agent's last words, and the command or click that
 * continues.
 */
export function renderNotification(notification: NotificationText): string {
  const { needs, report, mentions } = notification;
  const left = needs.length - SHOWN_NEEDS;
  return [
    formatNeedsMarker(needs),
    ...(mentions.length === 0 ? [] : [mentions.map((login) => `@${login}`).join(' ')]),
    ...needs.slice(0, SHOWN_NEEDS).map((need) => renderNeed(need, notification)),
    ...(left > 0 ? [`And ${formatCount(left, 'more task')}: see the job summary.`] : []),
    renderLink('Log of the run', report.logUrl),
  ].join('\n\n');
}

/** Renders the settled parts of a notification on one line. */
export function renderSettled(
  settled: readonly { readonly notification: Pick<Notification, 'about'>; readonly why: Settlement }[],
): string {
  return `**Settled:** ${settled.map(({ notification: { about }, why }) => settledWords(about, why)).join(' ')}`;
}

function settledWords(id: string, why: Settlement): string {
  const task = isFeedback(id) ? feedbackNoun(id) : renderText(nameOfTaskId(id), 80);
  if (isFeedback(id) && why === 'done') return `${capitalizeFirst(task)} is answered.`;
  if (isFeedback(id) && why === 'gone') return `${capitalizeFirst(task)} is settled, and nothing more is asked for.`;
  switch (why) {
    case 'done':
      return `${task} is done.`;
    case 'goes_on':
      return `Work on ${task} has continued.`;
    case 'more_work':
      return 'There has been more work on the pull request since.';
    case 'held_up':
      return 'It is no longer ready: something that people or CI asked for is open.';
    case 'approved':
      return `${task} no longer waits for approval.`;
    case 'gone':
      return `${task} is no longer on the task list.`;
    case 'circuit_closed':
      return 'The circuit is closed.';
    case 'another_task':
      return 'The circuit is open because of another task now: see the newer comment.';
    case 'works_again':
      return 'Runs work again.';
    case 'base_passes':
      return '`verify` passes on the base branch again.';
    case 'pull_request_over':
      return 'The pull request was merged or closed.';
  }
}

/** Returns a noun for the request to a pull request that has this id. */
function feedbackNoun(id: TaskId): string {
  if (id.startsWith('thread-')) return 'the review thread';
  if (id.startsWith('review-')) return 'the review';
  return id.startsWith('check-') ? 'the failed check' : 'the conflict with the base branch';
}

/** The text added to a notification about the configuration when something else stops the runs now. */
export const SETTLED_BY_ANOTHER_REASON = '\n**Settled:** Something else stops the runs now: see the newer comment.';

/** The text added to a notification that no state remembers, when the lane works again. */
export const SETTLED_BY_WORKING = '\n**Settled:** Runs work again.';

function renderNeed({ kind, about }: Need, notification: NotificationText): string {
  const { report } = notification;
  const notice = notification.notices.find(({ issue }) => kind === 'needs_approval' && issue === issueOfId(about));
  if (notice !== undefined) return renderNotice(notice, notification);
  if (kind === 'feedback_rounds') return renderRounds(about, notification);
  const task = listAllTasks(report).find((one) => one.task.id === about);
  if (task !== undefined) return renderTask(kind, task, notification);
  if (kind === 'ready') return renderReady(report);
  if (kind === 'auto_merge_off') return renderDisarmed(report);
  return [
    renderHeadlineSection(report),
    ...((kind === 'circuit_open' && !isOfAgent(report)) || kind === 'halted' ? stopWords(notification) : []),
    ...(kind === 'configuration' ? settingsLinks(report) : []),
  ].join('\n\n');
}

/** Returns true if the circuit opened because calls failed, which says nothing about a task. */
function isOfAgent({ outcome }: RunReport): boolean {
  return outcome.reason === 'circuit_open' && outcome.circuitReason === 'agent_error';
}

/** Names the tasks on which the lane stopped, with the agent's words about each. */
function stopWords(notification: NotificationText): readonly string[] {
  const { change, report } = notification;
  return stoppedOn(notification).flatMap((id) => {
    const task = listAllTasks(report).find((one) => one.task.id === id)?.task;
    return [
      // Do not repeat a task that the headline already names.
      ...(task === undefined || renderHeadline(report, 'markdown').includes(renderTaskLink(task))
        ? []
        : [`It stopped on ${renderTaskLink(task)} “${renderText(task.title, 120)}”.`]),
      ...ownWords(findTaskShare(change, id)),
    ];
  });
}

/**
 * Returns the task of the last iteration and those of the idle iterations before it, except tasks with a need of their
 * own.
 */
function stoppedOn({ lastTask, needs, report }: NotificationText): readonly TaskId[] {
  const iterations = listIterations(report);
  const idle = iterations.slice(iterations.findLastIndex(({ verdict }) => verdict.progress) + 1);
  const ids = [...idle.map(({ taskId }) => taskId), ...(lastTask === null ? [] : [lastTask])];
  return [...new Set(ids)].filter((id) => !needs.some(({ about }) => about === id)).slice(-SHOWN_TASKS);
}

/** Renders a notice; it does not name the issue on the issue itself. */
function renderNotice(notice: ApprovalNotice, { needs, report }: NotificationText): string {
  const taskLabel = selectReportSetting(report)?.taskLabel ?? 'ralph';
  if (needs.length === 1) return renderApprovalNotice(notice, taskLabel);
  const number = String(notice.issue);
  return renderApprovalNotice(notice, taskLabel, renderLink(`#${number}`, `${report.repositoryUrl}/issues/${number}`));
}

function settingsLinks({ repositoryUrl }: RunReport): readonly string[] {
  if (repositoryUrl === '') return [];
  const at = `${repositoryUrl}/settings`;
  return [`${renderLink('Secrets', `${at}/secrets/actions`)} · ${renderLink('Actions settings', `${at}/actions`)}`];
}

function renderTask(kind: Need['kind'], one: TaskReport, { report, change }: NotificationText): string {
  const { task } = one;
  // A task of a file is already named by its title, so do not repeat that.
  const named = task.source.kind === 'issue' ? `“${renderText(task.title, 120)}”.` : '';
  return [
    `**${capitalizeFirst(renderWords([...describeTaskTrouble(one), YOU_ARE_NEEDED], 'markdown'))}.** ${[named, whyOf(kind, one, report)].filter((words) => words !== '').join(' ')}`.trimEnd(),
    ...ownWords(isListedTask(task) ? findTaskShare(change, task.id) : one.share),
    `**Next:** ${renderSteps(suggestForTask(one, report), 'markdown')}`,
  ].join('\n\n');
}

function whyOf(kind: Need['kind'], one: TaskReport, report: RunReport): string {
  const { task, progress } = one;
  const file = findMarkingFile(task, progress);
  if (file !== null)
    return `It is marked as ${progress.state} in ${renderCode(file, 80)}, and nothing was tried here yet.`;
  switch (kind) {
    case 'blocked':
      return '';
    case 'withheld':
      return renderProse(`Left out: ${nameWithheldFiles(one, report)}. The rest of its work is on the branch.`, 600);
    case 'push_refused':
      return refusedWords(progress);
    case 'nothing_to_do':
      return 'The agent says so, and changed nothing.';
    case 'failed':
      return `\`${policyInputs.maxIterationsPerTask.name}\` allows no more.`;
    default: {
      const turn = computeNextTurn(progress, selectReportSetting(report)?.policy.circuit.cooldownMs ?? 0);
      const again = turn === null ? '' : ` Ralph tries it again after ${formatInstantFrom(turn, report.endedAt)}.`;
      return `${progress.reason === 'output_decline' ? "The agent's answers shrank. " : ''}Other tasks go first.${again}`;
    }
  }
}

/** Quotes the server's words about its refusal. */
function refusedWords({ refused }: TaskReport['progress']): string {
  if (refused === undefined) return 'See the job summary for its words.';
  const { files, words } = refused;
  const named = files.length === 0 ? '' : ` It is about ${listFirstNames(files.map((path) => renderCode(path, 100)))}.`;
  return `${renderText(words, 900)}${named}`;
}

/** Quotes the agent's words, one line each, so that they cannot mention anybody. */
function ownWords({ question, summary, recommendation }: TaskShare): readonly string[] {
  const quoted = [
    ...(summary === null ? [] : [`“${renderText(summary, 500)}”`]),
    ...(recommendation === null || recommendation === summary || recommendation === question
      ? []
      : [`“${renderText(recommendation, 500)}”`]),
    ...(question === null ? [] : [`**Question:** “${renderText(question, 500)}”`]),
  ];
  return quoted.length === 0 ? [] : [`The agent says:\n\n${quoted.map((line) => `> ${line}`).join('\n>\n')}`];
}

/** Renders a request whose rounds are used up: the attempts, the last answer, and what a person can do now. */
function renderRounds(id: TaskId, { report }: NotificationText): string {
  const item = findFeedbackRequest(report, id);
  if (item === null) return renderHeadlineSection(report);
  const itemLink = renderLink(renderText(item.title, 120), findRequestPage(item, report));
  // The last answer already describes the iteration that made its commit.
  const answered = item.answer?.kind === 'changed' ? item.answer.commit : null;
  const tried = listIterationsOn(report, id)
    .filter(({ commit }) => commit === null || commit !== answered)
    .map((entry) => `- ${triedWords(entry, report)}`);
  const came = item.answer === null ? '' : renderAnswerWords(item.answer, report);
  const earlier = (item.tried ?? []).map((one) => `- ${earlierWords(one, report)}`);
  const stands = item.answer?.kind === 'changed' || item.answer?.kind === 'unchanged';
  return [
    `**${roundsSoFar(item, report)}, and does not try again by itself** (\`max-feedback-rounds\`): ${itemLink}`,
    ...(earlier.length === 0 ? [] : [`Answered before, the oldest first:\n\n${earlier.join('\n')}`]),
    ...(came === '' ? [] : [`${capitalizeFirst(stands ? 'the last answer' : 'how it ended')}: ${came}`]),
    ...(tried.length === 0 ? [] : [`Tried in this run:\n\n${tried.slice(-SHOWN_TRIES).join('\n')}`]),
    `**Next:** ${renderSteps(suggestAfterRounds(item.kind, stands), 'markdown')}`,
  ].join('\n\n');
}

function roundsSoFar({ rounds, botRound }: FeedbackItem, report: RunReport): string {
  if (botRound === undefined) return `Ralph has worked on this in ${formatCount(rounds, 'round')}`;
  const ofBots = selectLaneReport(report)?.answers.botRounds ?? 0;
  return `Ralph has worked on what bots asked of this pull request in ${formatCount(ofBots, 'round')}`;
}

/** Describes the answer of an earlier round. */
function earlierWords({ commit, words }: NonNullable<FeedbackItem['tried']>[number], report: RunReport): string {
  const what = commit === null ? 'not changed' : `done in ${renderCommitLink(commit, report)}`;
  return `${what}${words === null ? '' : `: “${renderText(words, 200)}”`}`;
}

/** Describes the changes and the words of one iteration. */
function triedWords({ iteration, commit, evidence, analysis }: JournalEntry, report: RunReport): string {
  const { summary } = analysis.signal;
  const what =
    evidence.fileCount === 0
      ? 'nothing changed'
      : `changed ${formatCount(evidence.fileCount, 'file')} (+${evidence.insertions} −${evidence.deletions})`;
  return [
    `Iteration ${iteration}: ${what}${commit === null ? '' : ` in ${renderCommitLink(commit, report)}`}`,
    ...(summary === null ? [] : [`the agent says: “${renderText(summary, 200)}”`]),
  ].join('; ');
}

function renderDisarmed(report: RunReport): string {
  const pull = selectLaneReport(report)?.pullRequest ?? null;
  const name = pull === null ? 'the pull request' : `pull request ${renderLink(`#${String(pull.number)}`, pull.url)}`;
  return [
    `**Auto-merge of ${name} was switched off**, so that no new commit is merged unreviewed. It does not come on again by itself.`,
    `**Next:** ${renderSteps(STEPS_AFTER_DISARMING, 'markdown')}`,
  ].join('\n\n');
}

function renderReady(report: RunReport): string {
  const pull = selectLaneReport(report)?.pullRequest ?? null;
  const name = pull === null ? 'The pull request' : `Pull request ${renderLink(`#${String(pull.number)}`, pull.url)}`;
  const tasks = listLaneTasks(report);
  const verification = pickVerification(report);
  const steps = listPassedCommands(report).map((step) => renderCode(step, 60));
  const untested = steps.length === 0 ? 'Nothing was tested.' : `No \`verify\` is set; ${describePassedSteps(steps)}.`;
  const tested = verification.kind === 'not-run' ? untested : `\`verify\`: ${renderVerificationWord(verification)}.`;
  const against = describeObjections(report);
  // Add this reason, because it names the permission that the token lacks.
  const unread = selectLaneReport(report)?.checks?.unreadable ?? null;
  const because = unread === null ? '' : ` ${renderProse(unread, 400)}`;
  const what = against === '' ? 'is ready for review.' : `waits for a person: ${against}.${because}`;
  return [
    `**${name} ${what}** ${formatTasksDone(listDoneTasks(report).length, tasks.length)}. ${tested}`,
    `**Next:** ${renderSteps(suggestWhenReady(report), 'markdown')}`,
  ].join('\n\n');
}
