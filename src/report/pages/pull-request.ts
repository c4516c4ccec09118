import { AGENTS } from '../../core/agent-names.ts';
import { formatTasksDone } from '../../core/tasks/queue.ts';
import { hasTaskShare } from '../../core/lane/change.ts';
import { capLines, listFirstNames, toPlainTitle, capitalizeFirst } from '../../core/text/phrase.ts';
import { findIssueToClose, nameOfTask } from '../../core/tasks/task.ts';
import type { TaskReport, WorkedReport } from '../../handover/report.ts';
import { listAllTasks, listDoneTasks, listStartedTasks, listLaneTasks } from '../facts.ts';
import { formatCount, formatDuration, formatTokens } from '../format.ts';
import { renderCode, renderLink, linkPages, renderProse, renderProseLines, renderText } from '../markdown.ts';
import { listBranchAlarms, findTestState, type TestState, renderTestState } from '../sentences/alarms.ts';
import { describeReviewHold, renderFindingsSection } from '../sentences/iteration-problems.ts';
import { renderIsolation, describeIsolationProblems } from '../sentences/isolation.ts';
import { agentsOfChange } from '../sentences/lane-status.ts';
import { listStillRedChecks, describeObjections } from '../sentences/feedback.ts';
import { describeOutcomeAlone } from '../sentences/outcome-text.ts';
import { renderBranchCost } from '../sentences/spend.ts';
import { renderTrainPart } from '../sentences/train.ts';
import { describeObstacles, findOnlyTrouble, describeStuckTasks, quoteWordsOn } from '../sentences/waiting.ts';
import { wrapInMarkers, type PullRequestText } from './pull-request-body.ts';
import { renderFeedbackSection, renderFeedbackItem } from './feedback-section.ts';
import {
  renderBaseVerification,
  fitSections,
  renderHeadVerification,
  renderLeftOutSection,
  renderLookAtSection,
  renderNextLine,
  renderOverruledSection,
  renderStatusTable,
  renderVerifyOutput,
  renderWarningSection,
  type PageSection,
} from './sections.ts';
import { renderPullRequestTasks } from './pull-request-tasks.ts';
import { renderWords } from '../next/step.ts';
import { renderHiddenStatus } from './status-json.ts';

/**
 * Maximum length of a body. GitHub refuses more than 65,536 characters; the difference allows for how GitHub counts
 * them.
 */
const MAX_BODY_CHARS = 65_000;
/** Minimum number of characters of our own part, regardless of how much people wrote. */
const MIN_BODY_CHARS = 10_000;
/** Number of characters below which names and text for machines are shortened, so that the facts for people fit. */
const ENOUGH_CHARS = 35_000;

/**
 * Builds title and body of a branch's pull request, about the whole change over all runs. `taken` is the number of
 * characters that people have written in the body.
 */
export function buildPullRequestText(report: WorkedReport, taken: number): PullRequestText {
  const title = renderPullRequestTitle(report);
  const room = Math.max(MIN_BODY_CHARS, MAX_BODY_CHARS - taken);
  return { title, body: wrapInMarkers(ownPart(report, title, room)) };
}

/** Returns the task's own title, or the number of tasks and the first two titles; plain text without line breaks. */
function renderPullRequestTitle(report: WorkedReport): string {
  const tasks = branchTasks(report).map(({ task }) => task.title);
  const [first, second] = tasks.length > 0 ? tasks : report.tasks.map(({ task }) => task.title);
  if (first === undefined) return 'Work in progress';
  if (second === undefined || tasks.length < 2) return toPlainTitle(first, 120);
  const names = [first, second].map((title) => toPlainTitle(title, 80)).join(', ');
  return `${tasks.length} tasks: ${names}${tasks.length > 2 ? ' …' : ''}`;
}

function ownPart(report: WorkedReport, title: string, maxChars: number): string {
  const tests = findTestState(report);
  const isTight = maxChars < ENOUGH_CHARS;
  const hidden = renderHiddenStatus(report, title, isTight ? 4000 : 16_000);
  const sections: readonly PageSection[] = [
    { name: 'headline', rank: 0, markdown: headline(report, tests) },
    { name: 'what to do', rank: 0, markdown: toDo(report, tests) },
    { name: 'merge order', rank: 4, markdown: renderTrainPart(report.train, report.pullRequest?.number ?? null) },
    { name: 'verification output', rank: 6, markdown: renderVerifyOutput(report) },
    { name: 'look at first', rank: 0, markdown: renderLookAtSection(report, isTight ? 60 : 300) },
    { name: 'tasks', rank: 2, markdown: renderPullRequestTasks(report, tests) },
    { name: 'review and checks', rank: 3, markdown: renderFeedbackSection(report) },
    { name: 'findings of reviews', rank: 3, markdown: renderFindingsSection(report.change) },
    { name: 'left out', rank: 3, markdown: renderLeftOutSection(report) },
    { name: 'claims overruled', rank: 4, markdown: renderOverruledSection(report) },
    { name: 'warnings', rank: 5, markdown: renderWarningSection(report, 'Warnings of the last run') },
    { name: 'cost', rank: 0, markdown: costLine(report) },
    { name: 'issues', rank: 0, markdown: issueLine(report) },
    { name: 'state of the last run', rank: 7, markdown: details(report) },
    { name: 'hidden status', rank: 0, markdown: `${footer(report)}\n\n${hidden}` },
  ];
  return fitSections(sections, maxChars);
}

function headline(report: WorkedReport, tests: TestState): string {
  const [done, all] = [listDoneTasks(report).length, report.tasks.length];
  const tasks = all === 0 ? '' : tasksWord(report, { done, all });
  const tested = renderTestState(tests);
  // Reviewers may still object to work that is done, so mention that.
  const against = describeObjections(report);
  const ending = against === '' ? '' : `; ${against}`;
  const stopped = troubleOf(report);
  const trouble = stopped === '' ? describeReviewHold(report) : stopped;
  const [glyph, stop] = [stopped === '' ? null : '⛔', trouble === '' ? '' : `${trouble}. `];
  switch (tests.kind) {
    case 'passed':
      return `## ${glyph ?? (done === all && ending === '' ? '✅' : '🚧')} ${stop}${tasks === '' ? '' : `${tasks}, `}${tested}${ending}`;
    case 'failed':
      return `## ❌ ${tested}${trouble === '' ? '' : `. ${trouble}`}${tasks === '' ? '' : `${trouble === '' ? ';' : '.'} ${tasks}`}${ending}`;
    case 'not-run':
    case 'unseen':
    case 'unset':
      return `## ${glyph ?? '⚠️'} ${stop}${tasks === '' ? '' : `${tasks}; `}${tasks === '' ? capitalizeFirst(tested) : tested}${ending}`;
  }
}

/** Renders what stops the work, for the headline; empty if nothing does. */
function troubleOf(report: WorkedReport): string {
  const isTrouble = ['halted', 'blocked', 'failed'].includes(report.outcome.kind);
  return isTrouble ? renderWords(describeOutcomeAlone(report).title, 'markdown') : '';
}

/** Counts the tasks, except for an open-ended prompt, which has no count. */
function tasksWord({ tasks }: WorkedReport, { done, all }: { readonly done: number; readonly all: number }): string {
  const [first] = tasks;
  if (tasks.length !== 1 || first?.task.source.kind !== 'prompt') return formatTasksDone(done, all);
  return `${renderCode(nameOfTask(first.task), 80)} is ${done === all ? 'done' : 'not done yet'}`;
}

/** Renders the alarms, the decisions that people owe, and the one next step. */
function toDo(report: WorkedReport, tests: TestState): string {
  const named = report.outcome.reason === 'needs_human' ? findOnlyTrouble(listAllTasks(report)) : null;
  const waiting =
    named === null
      ? [
          // "Review and checks" below lists the requests that need a person.
          ...describeStuckTasks(report.tasks),
          ...(report.outcome.kind === 'blocked' ? describeObstacles(report.tasks) : []),
        ]
      : [];
  // The reader is on the pull request, even if it is only about to be opened, so render for that place.
  const read = { ...report, pullRequest: report.pullRequest ?? { number: 0, url: '' } };
  const verification = [
    ...(report.headVerification?.verification.kind === 'failed'
      ? [renderHeadVerification(report.headVerification, report)]
      : []),
    ...(tests.kind === 'unset'
      ? [
          `To have the work tested${tests.steps.length === 0 ? '' : ' in a clean clone'}, set \`verify\` to the command that runs the tests.`,
        ]
      : []),
  ];
  return [
    ...verification,
    ...(report.outcome.reason === 'base_is_red' ? [] : [renderBaseVerification(report)]),
    // No other part of this page explains the end of the last run, so do it here; tasks that need a person are listed
    // below.
    ...(report.outcome.kind === 'complete' || report.outcome.reason === 'needs_human'
      ? []
      : [linkPages(renderProseLines(describeOutcomeAlone(report).what, 500), report.repositoryUrl)]),
    ...listBranchAlarms(report).map((line) => renderProse(line, 500)),
    ...listStillRedChecks(report)
      .slice(0, 5)
      .map((one) => renderFeedbackItem(one, report)),
    ...(waiting.length === 0
      ? []
      : [
          capLines(waiting, 5)
            .map((line) => `- ${linkPages(renderProse(line, 500), report.repositoryUrl)}`)
            .join('\n'),
        ]),
    // The issue's own comment quotes the agent, and the next step leads there, so do not quote it here.
    ...(named === null || (named.task.source.kind === 'issue' && named.asked === null)
      ? []
      : [linkPages(renderProse(quoteWordsOn(named), 1000), report.repositoryUrl)]),
    linkPages(renderNextLine(read), report.repositoryUrl),
  ]
    .filter((block) => block !== '')
    .join('\n\n');
}

/** Returns the tasks with work on the branch, which the pull request is about. */
function branchTasks(report: WorkedReport): readonly TaskReport[] {
  const started = listStartedTasks(report);
  const own = started.filter(
    ({ task, progress, share }) =>
      hasTaskShare(report.change, task.id) && (progress.state === 'done' || share.commitCount > 0),
  );
  return own.length > 0 ? own : started;
}

function costLine({ change }: WorkedReport): string {
  if (change.iterations === 0) return '';
  const measured =
    change.lines === null ? [] : [`${formatCount(change.lines, 'changed line')} (generated files not counted)`];
  return `**In total:** ${[
    `${renderBranchCost(change)}, ${formatTokens(change.tokens)} tokens`,
    `${formatCount(change.iterations, 'iteration')} in ${formatCount(change.runs, 'run')}, ${formatDuration(change.durationMs)}`,
    ...measured,
  ].join(' · ')}`;
}

/**
 * Renders `Closes` for an issue that is done; renders `Part of`, which does not close the issue, while one of its tasks
 * is open.
 */
function issueLine(report: WorkedReport): string {
  const numbers = (tasks: readonly TaskReport[]): readonly number[] => [
    ...new Set(tasks.map(({ task }) => findIssueToClose(task)).filter((number) => number !== null)),
  ];
  const open = new Set(numbers(listLaneTasks(report).filter(({ progress }) => progress.state !== 'done')));
  const done = numbers(listDoneTasks(report))
    .filter((number) => !open.has(number))
    .map((number) => `Closes #${number}`);
  const begun = numbers([...listDoneTasks(report), ...listStartedTasks(report)]).filter((number) => open.has(number));
  const unfinished = begun.map((number) => `Part of #${number}`);
  return [...done.slice(0, 500), ...unfinished.slice(0, 200)].join(', ');
}

function details(report: WorkedReport): string {
  const { verifyCommands, headVerification } = report;
  const isProven = headVerification?.verification.kind === 'passed';
  const named = isProven ? 'It' : '`verify`';
  const commands =
    verifyCommands.length === 0
      ? []
      : [`${named} ran after each iteration that changed something, in the work tree and not by the agent.`];
  const evidence = [...(isProven ? [renderHeadVerification(headVerification, report)] : []), ...commands].join('\n\n');
  return [
    `<details>\n<summary>Evidence, and the state of the last run</summary>`,
    ...(evidence === '' ? [] : [evidence]),
    renderStatusTable(report),
    ...isolationBlocks(report),
    '</details>',
  ].join('\n\n');
}

/** Describes the isolation of the last run, like the table above it. */
function isolationBlocks({ isolation }: WorkedReport): readonly string[] {
  if (isolation === null) return [];
  const problems = describeIsolationProblems(isolation).map((line) => `- ${renderProse(line, 2000)}`);
  return [renderProse(renderIsolation(isolation), 2000), ...(problems.length === 0 ? [] : [problems.join('\n')])];
}

function footer(report: WorkedReport): string {
  const several = agentsOfChange(report.change);
  // A run without a call does not know an agent's version, or which agent it would have called, so name a single agent
  // without its version.
  const [one = null] = several;
  const name =
    report.agent.name === '' ? (one === null ? '' : AGENTS[one].title) : `${report.agent.name} ${report.agent.version}`;
  const by = several.length > 1 ? listFirstNames(several) : name === '' ? 'a coding agent' : renderText(name, 80);
  const isolation = report.isolation?.facts.level === 'none' ? ' **without isolation**' : '';
  return `<sub>Written by ${by} in a bounded loop${isolation}, ${renderLink('see the log', report.logUrl)}. Review it like the work of a stranger. Comment \`/ralph help\` to see what you can ask Ralph to do. Text that you add above or below is kept.</sub>`;
}
