import { formatInstant } from '../../core/countdown.ts';
import type { ChecksSummary } from '../../core/feedback/checks/checks.ts';
import { type LockFile, describeLockFile } from '../../core/feedback/conflict/lock-tools.ts';
import type { FeedbackItem, FeedbackRound } from '../../core/feedback/memory.ts';
import { renderMore, capLines, joinNames, formatMoreLine } from '../../core/text/phrase.ts';
import type { RunReport, TaskReport, WorkedReport } from '../../handover/report.ts';
import { formatCount } from '../format.ts';
import { renderCode, renderCommitPageLink, renderLink, renderProse, renderTable, renderText } from '../markdown.ts';
import {
  type FeedbackRequest,
  renderFeedbackCounts,
  listFeedbackRequests,
  findRequestPage,
} from '../sentences/feedback.ts';

const SHOWN_OPEN = 20;

const SHOWN_ANSWERED = 10;

const SHOWN_CHECKS = 5;

const SHOWN_LOCK_FILES = 3;

/**
 * Renders the requests of people and CI on the pull request, the answers, and the state of its checks. Empty if there
 * is no request and no check needs a comment.
 */
export function renderFeedbackSection(report: WorkedReport): string {
  const requests = listFeedbackRequests(report);
  const open = requests.filter(({ isOpen }) => isOpen);
  const answered = requests
    .filter(({ isOpen }) => !isOpen)
    .sort((one, other) => (other.item.answer?.at ?? 0) - (one.item.answer?.at ?? 0));
  const shown = [
    ...capLines(
      open.map((one) => renderFeedbackItem(one, report)),
      SHOWN_OPEN,
    ),
    ...answered.slice(0, SHOWN_ANSWERED).map((one) => renderFeedbackItem(one, report)),
    ...renderChecksToKnow(report),
  ];
  const older = answered.slice(SHOWN_ANSWERED).map((one) => `- ${renderFeedbackItem(one, report)}`);
  const blocks = [
    shown.map((line) => `- ${line}`).join('\n'),
    ...folded(formatCount(older.length, 'older answer'), older),
    ...folded(formatCount(report.answers.rounds.length, 'round'), roundLines(report)),
  ].filter((block) => block !== '');
  return blocks.length === 0 ? '' : ['### Review and checks', ...blocks].join('\n\n');
}

/** Summarizes review and checks in one line; empty if there was no request. */
export function renderFeedbackLine(report: RunReport): string {
  const words = renderFeedbackCounts(listFeedbackRequests(report));
  return words === '' ? '' : `**Review and checks:** ${words}`;
}

/** Renders an answer on one line, in our words or with the agent's as a quotation. */
export function renderAnswerWords(
  { kind, commit, words, isOurs, lockFiles }: NonNullable<FeedbackItem['answer']>,
  { repositoryUrl }: Pick<RunReport, 'repositoryUrl'>,
): string {
  const where =
    commit === null ? '' : ` in ${renderCommitPageLink(commit, repositoryUrl)}${lockWords(lockFiles ?? [])}`;
  if (isOurs && words !== null) return `${lowerFirst(renderProse(words, 200))}${where}`;
  const last = commit === null ? '' : ` (last commit ${renderCommitPageLink(commit, repositoryUrl)})`;
  const what = { changed: `done${where}`, unchanged: 'not changed', 'given-up': `a person must decide${last}` }[kind];
  return `${what}${words === null ? '' : `: “${renderText(words, 200)}”`}`;
}

/** Names the tool that made each lock file, or the reason why it did not. */
function lockWords(lockFiles: readonly LockFile[]): string {
  if (lockFiles.length === 0) return '';
  const shown = lockFiles.slice(0, SHOWN_LOCK_FILES).map((file) => renderProse(describeLockFile(file), 400));
  return ` (${shown.join('; ')}${renderMore(lockFiles.length - shown.length)})`;
}

/** Renders one request and the answer to it. */
export function renderFeedbackItem({ id, item }: FeedbackRequest, report: WorkedReport): string {
  const task = report.feedback.find((one) => one.task.id === id) ?? null;
  const [glyph, words] =
    item.answer === null
      ? openState(task, item)
      : ([GLYPH[item.answer.kind], renderAnswerWords(item.answer, report)] as const);
  const rounds = item.rounds > 1 ? ` (${formatCount(item.rounds, 'round')})` : '';
  // A title that people wrote may end in a full stop, so remove it.
  const title = renderText(item.title, 120).replace(/[.:;,!]+$/, '');
  return `${glyph} ${renderLink(title, findRequestPage(item, report))}${rounds}: ${words}`;
}

const GLYPH = { changed: '✅', unchanged: '💬', 'given-up': '⛔' } as const;

function openState(task: TaskReport | null, { rounds }: FeedbackItem): readonly [string, string] {
  switch (task?.progress.state) {
    case 'in-progress':
      return ['🚧', 'in progress'];
    case 'failed':
      return ['❌', `gave up after ${formatCount(task.progress.attempts, 'iteration')}`];
    case 'stuck':
      return ['⛔', 'set aside, since nothing changed'];
    case 'blocked':
      return [
        '⛔',
        task.progress.reason === 'feedback_rounds' ? 'asked for again, so a person must decide' : 'needs a person',
      ];
    default:
      return ['⬜', rounds === 0 ? 'not worked on yet' : 'open'];
  }
}

/** Lists the checks that are not tasks but that people must know about. */
function renderChecksToKnow(report: WorkedReport): readonly string[] {
  const { checks, baseBranch, headSha, repositoryUrl } = report;
  if (checks === null) return [];
  const base = baseBranch === null ? 'the base branch' : renderCode(baseBranch, 120);
  const head = headSha === null ? 'the newest commit' : renderCommitPageLink(headSha, repositoryUrl);
  return [
    ...(checks.unstarted ? [`⏸️ Checks have not started on ${head}. ${renderProse(HOW_CHECKS_START, 600)}`] : []),
    ...named(checks, 'waiting', '⏸️ Waiting to start, or for a person to approve or re-run it'),
    ...named(checks, 'alsoOnBase', `⚠️ Failing on ${base} as well, so not worked on here`),
    ...named(checks, 'flaky', '🎲 Passed and failed on the same commit, so not worked on (flaky)'),
  ];
}

/** Advice on how to make checks start on Ralph's pushes. */
const HOW_CHECKS_START =
  'GitHub starts no workflow for what `GITHUB_TOKEN` pushes. To start them once, close and reopen the pull request. To have them start by themselves, use a GitHub App: see "A GitHub App, so that CI runs" in `docs/recipes.md` of ralph-action.';

function named(checks: ChecksSummary, which: 'alsoOnBase' | 'flaky' | 'waiting', words: string): readonly string[] {
  const names = checks[which].map((name) => renderCode(name, 80));
  return names.length === 0 ? [] : [`${words}: ${joinNames(names, SHOWN_CHECKS)}`];
}

/** Lists the rounds as a table, newest last. */
function roundLines({ answers: { rounds }, repositoryUrl }: WorkedReport): readonly string[] {
  if (rounds.length === 0) return [];
  return [
    renderTable(
      ['When', 'Commit', 'Asked', 'Answered', 'Checks'],
      rounds.map(({ at, head, asked, answered, checks }) => [
        formatInstant(at),
        renderCommitPageLink(head, repositoryUrl),
        String(asked),
        String(answered),
        checksCell(checks),
      ]),
    ),
  ];
}

/** Renders the counts as `✅ 5 · ❌ 1`, or `–` if they are not known or all zero. */
function checksCell(checks: FeedbackRound['checks']): string {
  if (checks === null) return '–';
  const { passed, failed, running, waiting } = checks;
  const cells = [
    [passed, '✅'],
    [failed, '❌'],
    [running, '⏳'],
    [waiting, '⏸️'],
  ] as const;
  return cells.flatMap(([number, glyph]) => (number === 0 ? [] : [`${glyph} ${number}`])).join(' · ') || '–';
}

function folded(summary: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  return [
    `<details>\n<summary>${summary}</summary>\n\n${[...lines.slice(0, 60), ...formatMoreLine(lines.length - 60).map((line) => `- ${line}`)].join('\n')}\n\n</details>`,
  ];
}

function lowerFirst(words: string): string {
  return `${words.charAt(0).toLowerCase()}${words.slice(1)}`;
}
