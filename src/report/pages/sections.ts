import type { Verification } from '../../core/evidence.ts';
import type { JournalEntry } from '../../core/journal/journal.ts';
import { issueOfId, type TaskId } from '../../core/tasks/ids.ts';
import type { TaskState } from '../../core/tasks/task.ts';
import { formatCount, formatCost, formatDuration, formatTaskState, formatTokens } from '../format.ts';
import {
  renderCode,
  renderCodeElement,
  renderCommitPageLink,
  renderFence,
  renderLink,
  linkPages,
  renderProse,
  renderProseLines,
  renderTable,
  renderText,
} from '../markdown.ts';
import { countCalledAgents } from '../sentences/lane-status.ts';
import { suggestNextSteps } from '../next/for-run.ts';
import { renderSteps } from '../next/step.ts';
import { describeOutcome, renderHeadline } from '../sentences/outcome-text.ts';
import type { HeadVerification, LaneReport, RunReport, SavedReport, WorkedReport } from '../../handover/report.ts';
import {
  listIterations,
  selectLaneReport,
  pickVerification,
  findPublishedVerification,
  selectReportSetting,
  shortenStores,
  listLaneTasks,
  listSettingWarnings,
  selectWorkedReport,
} from '../facts.ts';
import { renderRunCost } from '../sentences/spend.ts';
import { describeObstacles } from '../sentences/waiting.ts';
import { formatLeftOutReason, groupLeftOut } from '../../core/review/left-out.ts';
import type { FilesToLookAt } from '../../core/review/look-at.ts';
import { capLines, formatMoreLine, joinCountedNames } from '../../core/text/phrase.ts';
import { describeGroupedIterations, parseOverruled } from './progress.ts';
import { LOOK_AT_WORDS, describeProvenTests, describeUnprovenTests } from '../sentences/look-at.ts';

/**
 * A self-contained piece of a document. If space is short, the piece with the highest `rank` is left out first; rank 0
 * always stays.
 */
export interface PageSection {
  readonly name: string;
  readonly rank: number;
  readonly markdown: string;
}

/** Joins sections. Leaves out whole ones, least important first, until the rest fits, and lists the omitted ones. */
export function fitSections(sections: readonly PageSection[], maxChars: number): string {
  const filled = sections.filter(({ markdown }) => markdown !== '');
  const leaveOutFirst = filled.filter(({ rank }) => rank > 0).sort((a, b) => b.rank - a.rank);
  for (let left = 0; ; left += 1) {
    const out = leaveOutFirst.slice(0, left);
    const note =
      out.length === 0
        ? []
        : [
            `*Left out to stay within GitHub's size limit: ${out.map(({ name }) => name).join(', ')}. The job log has more.*`,
          ];
    const kept = filled.filter((section) => !out.includes(section)).map(({ markdown }) => markdown);
    const document = [...kept.slice(0, -1), ...note, ...kept.slice(-1)].join('\n\n');
    if (document.length <= maxChars || left === leaveOutFirst.length) return document;
  }
}

/** Renders the outcome and the next steps, which a reader sees first. */
export function renderHeadlineSection(report: RunReport): string {
  const what = renderProseLines(describeOutcome(report).what, 1000);
  return linkPages(
    `**${renderHeadline(report, 'markdown')}.** ${what}\n\n${renderNextLine(report)}`,
    report.repositoryUrl,
  );
}

/** Renders what a person can do next, as Markdown. */
export function renderNextLine(report: RunReport): string {
  return `**Next:** ${renderSteps(suggestNextSteps(report), 'markdown')}`;
}

/** Returns the symbol of a task's state, such as `✅`. */
export function renderStateGlyph(state: TaskState): string {
  return STATE_GLYPH[state];
}

/** Renders a task's state for people, such as `✅ done`. */
export function renderStateWord(state: TaskState): string {
  return `${STATE_GLYPH[state]} ${formatTaskState(state)}`;
}

const STATE_GLYPH = { todo: '⬜', 'in-progress': '🚧', done: '✅', failed: '❌', blocked: '⛔', stuck: '⛔' } as const;

/** Renders the RALPH_STATUS table, with rows of work only for a run that worked; empty for a run without a lane. */
export function renderStatusTable(report: RunReport): string {
  const lane = selectLaneReport(report);
  if (lane === null) return '';
  const { outcome, policy } = lane;
  const work = selectWorkedReport(report);
  const rows: readonly (readonly [string, string])[] = [
    ['Outcome', `${outcome.kind} (${renderCode(outcome.reason, 40)})`],
    [
      'Iterations',
      `${listIterations(lane).length} of ${policy.maxIterations}, ${formatDuration(lane.endedAt - lane.startedAt)}`,
    ],
    ['Calls left', `${lane.callsRemaining} of ${policy.maxCallsPerHour} this hour`],
    ['Circuit', lane.circuit],
    ...(work === null ? [] : [['Session', renderText(work.session, 120)] as const]),
    ['Tests', testsWord(lane)],
    ['Cost', `${work === null ? formatCost(0) : renderRunCost(work)}, ${formatTokens(work?.tokens ?? 0)} tokens`],
    ['State', [renderText(lane.restored, 200), ...savedWord(work?.saved ?? null)].join(' … ')],
    ...(work === null || work.agent.name === '' ? [] : [['Agent', agentWord(work)] as const]),
  ];
  return renderTable(['RALPH_STATUS', ''], rows);
}

/** Returns the agent's name and version, or each agent with its number of iterations if the run called several. */
function agentWord({ agent, iterations }: WorkedReport): string {
  const called = countCalledAgents(iterations);
  return called.length < 2
    ? renderText(`${agent.name} ${agent.version}`, 80)
    : called.map(({ agent: name, iterations: made }) => `${name} (${formatCount(made, 'iteration')})`).join(', ');
}

/** Renders `passed (8 s)`, ``failed: `npm test` exited with code 1`` or `not run`. */
export function renderVerificationWord(verification: Verification): string {
  switch (verification.kind) {
    case 'passed':
      return verification.durationMs === 0 ? 'passed' : `passed (${formatDuration(verification.durationMs)})`;
    case 'failed':
      return `**failed**: ${renderCode(verification.command, 80)} ${verification.code === null ? 'ran out of time' : `exited with code ${verification.code}`}`;
    case 'not-run':
      return 'not run';
  }
}

/**
 * Renders the verification of a task's iterations. One in a clean clone of the published head takes precedence over one
 * in the work tree.
 */
export function renderTaskVerification(entries: readonly JournalEntry[], report: RunReport): string {
  const inWorkTree = newestThatRan(entries);
  const published = findPublishedVerification(report);
  if (inWorkTree.kind === 'not-run' || published === null) return renderVerificationWord(inWorkTree);
  const { verification } = published;
  return verification.kind === 'passed'
    ? `passed in a clean clone of ${renderCommitLink(published.commit, report)}`
    : `${renderVerificationWord(verification)} in a clean clone`;
}

/**
 * Renders the result of `verify` that decides: on the branch in a clean clone, and on the untouched base if it failed
 * there. Empty if neither is known.
 */
export function renderVerificationSection(report: RunReport): string {
  const work = selectWorkedReport(report);
  if (work === null) return '';
  const { headVerification } = work;
  return headVerification !== null && isSaid(headVerification)
    ? [verifiedLine(headVerification, work), ...describeProvenTests(report), ...describeVerifications(work)].join(
        '\n\n',
      )
    : describeVerifications(work).join('\n\n');
}

/**
 * Renders the verifications for the page of an issue. Leaves out a head that passes, because the issue's own state
 * already says so.
 */
export function describeVerifications(work: WorkedReport): readonly string[] {
  const { headVerification } = work;
  const head =
    headVerification === null || isSaid(headVerification) ? '' : renderHeadVerification(headVerification, work);
  return [head, renderBaseVerification(work)].filter((line) => line !== '');
}

/** Returns true if the outcome already says that the head passes, so that only its commit must be named. */
function isSaid({ of, verification }: HeadVerification): boolean {
  return of === 'head' && verification.kind === 'passed';
}

function verifiedLine({ commit }: HeadVerification, report: WorkedReport): string {
  return `Verified in a clean clone: ${renderCommitLink(commit, report)}.`;
}

/** Reports a verification that failed on the base branch before this work; empty if it did not fail. */
export function renderBaseVerification({ baseVerification, baseBranch }: WorkedReport): string {
  if (baseVerification?.kind !== 'failed') return '';
  return `⚠️ ${renderCode(baseVerification.command ?? 'verify', 80)} already failed on ${baseBranch === null ? 'the base branch' : renderCode(baseBranch, 120)} before this work.`;
}

/** Reports the result of `verify` in a clean clone. */
export function renderHeadVerification({ of, commit, verification }: HeadVerification, report: WorkedReport): string {
  const where = `in a clean clone of ${renderCommitLink(commit, report)}`;
  const isLast = of === 'head';
  const rest = isLast ? '' : ' The commits after it have not been verified in this way.';
  if (verification.kind === 'passed')
    return `✅ ${verifyNames(report)} ${report.verifyCommands.length === 1 ? 'passes' : 'pass'} ${where}.${rest}`;
  const command = renderCode(verification.command, 80);
  if (!isLast) return `❌ ${command} **failed** ${where}: what was finished by then is open again.${rest}`;
  const passedBefore =
    newestThatRan(report.iterations).kind === 'passed' ? ', although it passed in the work tree' : '';
  return `❌ ${command} **fails** ${where}${passedBefore}: nothing that this run finished counts as done yet.${passedBefore === '' ? '' : ' The next prompt says so. What `verify` needs must be committed, or installed by `verify` itself.'}`;
}

function newestThatRan(entries: readonly JournalEntry[]): Verification {
  return entries.map(({ evidence }) => evidence.verification).findLast(({ kind }) => kind !== 'not-run') ?? NOT_RUN;
}

const NOT_RUN: Verification = { kind: 'not-run' };

/** Renders a short commit id that links to the commit. */
export function renderCommitLink(sha: string, report: RunReport): string {
  return renderCommitPageLink(sha, report.repositoryUrl);
}

/** Lists what open tasks wait for, other than failures of the agent. */
export function renderWaitingSection(report: RunReport): string {
  const lines = describeObstacles(listLaneTasks(report)).map((line) => renderProse(line, 300));
  const unchecked = listLaneTasks(report).filter(({ task }) => task.obstacle === 'unchecked').length;
  const more =
    unchecked === 0 || lines.length === 0
      ? []
      : [`${formatCount(unchecked, 'task')} further down ${unchecked === 1 ? 'has' : 'have'} not been looked at yet`];
  return renderList('What tasks wait for', [...lines, ...more]);
}

/** Reports tasks with work on the branch that are no longer listed; empty if none. */
export function renderUnlistedTasks(report: RunReport): string {
  const { unlisted, change } = selectWorkedReport(report) ?? { unlisted: [], change: null };
  if (unlisted.length === 0) return '';
  const nameOf = (id: TaskId): string => {
    const [issue, title] = [issueOfId(id), change?.tasks[id]?.title ?? null];
    if (issue !== null) return renderLink(`#${String(issue)}`, `${report.repositoryUrl}/issues/${String(issue)}`);
    return title === null ? renderCode(id, 80) : `“${renderText(title, 80)}”`;
  };
  const names = capLines(unlisted.map(nameOf), 10).join(', ');
  return `${formatCount(unlisted.length, 'task')} of this branch ${unlisted.length === 1 ? 'is' : 'are'} no longer in the queue, and nothing here closes ${unlisted.length === 1 ? 'it' : 'them'}: ${names}.`;
}

/**
 * Renders the changes that a reviewer looks at first, one line per kind, with about `maxNamesChars` characters of
 * names, regardless of the number of files.
 */
export function renderLookAtSection(report: RunReport, maxNamesChars: number): string {
  const lines = [
    ...describeUnprovenTests(report).map((line) => `- ${line}`),
    ...(selectWorkedReport(report)?.lookAt ?? []).map((one) => `- ${lookAtLine(one, maxNamesChars)}`),
  ];
  return lines.length === 0 ? '' : `### Look at first\n\n${lines.join('\n')}`;
}

function lookAtLine({ kind, fileCount, files }: FilesToLookAt, maxNamesChars: number): string {
  const names = files.map(
    ({ path, what }) => `${renderCode(path, 120)}${what === null ? '' : ` (${renderProse(what, 120)})`}`,
  );
  const fitting = names.filter((_, i) => names.slice(0, i + 1).join(', ').length <= maxNamesChars);
  const shown = fitting.length > 0 ? fitting : files.slice(0, 1).map(({ path }) => renderCode(path, 40));
  return `**${LOOK_AT_WORDS[kind]}** (${formatCount(fileCount, 'file')}): ${joinCountedNames(shown, fileCount)}`;
}

/** Lists the files that the run left out of its commits, with the reasons. */
export function renderWithheldSection(report: RunReport): string {
  return renderList('Left out', leftOutLines(selectWorkedReport(report)?.withheld ?? []));
}

/** Lists the files that the branch lacks, over all runs, with the reasons. */
export function renderLeftOutSection({ change: { leftOut, leftOutMore } }: WorkedReport): string {
  return renderList('Left out', [...leftOutLines(leftOut), ...formatMoreLine(leftOutMore)]);
}

function leftOutLines(files: WorkedReport['withheld']): readonly string[] {
  return groupLeftOut(files, MAX_LEFT_OUT_CHARS, (path) => renderCode(path, 160)).map(
    ({ why, names, count }) =>
      `${joinCountedNames(names, count)}: ${renderProse(formatLeftOutReason(why, count), 200)}`,
  );
}

/** Maximum number of characters of names and reasons in a section; further files are only counted. */
const MAX_LEFT_OUT_CHARS = 2_500;

/**
 * Lists the agent's claims that the evidence overruled, over all runs, without the names of files that are left out.
 */
export function renderOverruledSection({ change: { leftOut, overruled, overruledMore } }: WorkedReport): string {
  const claims = overruled
    .map(parseOverruled)
    .map(({ iteration, text }) => ({
      iteration,
      text: leftOut.length === 0 ? text : text.replace(/(?<= are not in the branch): [^]*$/, '.'),
    }));
  const lines = describeGroupedIterations(claims).map((line) => `${line.charAt(0).toUpperCase()}${line.slice(1)}`);
  const shown = lines.slice(-MAX_CLAIMS);
  return renderList('Claims overruled', [...shown, ...formatMoreLine(lines.length - shown.length + overruledMore)]);
}

const MAX_CLAIMS = 19;

/** Renders the warnings about the settings under the heading; empty if none. */
export function renderWarningSection(report: RunReport, heading: string): string {
  return renderList(
    heading,
    listSettingWarnings(report).map((line) => linkPages(renderProse(line, 500), report.repositoryUrl)),
  );
}

/** Lists the files and settings of other Ralphs that the run found and uses. */
export function renderOtherRalphs(report: RunReport): string {
  const lines = (selectReportSetting(report)?.found ?? []).map((line) => renderProse(line, 600));
  return listUpTo(MAX_FOUND, 'Found from other Ralphs', lines);
}

/** Maximum number of findings listed, more than any other Ralph leaves behind. */
const MAX_FOUND = 40;

/** Renders the end of the output of the newest verification if it failed, otherwise an empty string. */
export function renderVerifyOutput(report: RunReport): string {
  const verification = pickVerification(report);
  if (verification.kind !== 'failed' || verification.tail.trim() === '') return '';
  return `<details>\n<summary>Last output of ${renderCodeElement('verify', 10)}${findPublishedVerification(report) === null ? '' : ' in the clean clone'}</summary>\n\n${renderFence(verification.tail, 2000)}\n\n</details>`;
}

/** Renders a heading and a list; empty for an empty list. */
export function renderList(heading: string, lines: readonly string[]): string {
  return listUpTo(20, heading, lines);
}

function listUpTo(max: number, heading: string, lines: readonly string[]): string {
  return joinSection(
    heading,
    [
      capLines(lines, max)
        .map((line) => `- ${line}`)
        .join('\n'),
    ],
    lines.length === 0,
  );
}

function joinSection(heading: string, blocks: readonly string[], empty: boolean): string {
  return empty ? '' : [`### ${heading}`, ...blocks].join('\n\n');
}

/** Returns the state of the tests. The headline names the command. */
function testsWord(report: LaneReport): string {
  const { kind } = pickVerification(report);
  const where = findPublishedVerification(report) === null ? '' : ' in a clean clone';
  if (kind !== 'not-run') return `${kind === 'passed' ? 'passing' : '**failing**'}${where}`;
  const claim = listIterations(report).at(-1)?.analysis.signal.testsStatus ?? null;
  const claimed = claim === null || claim === 'NOT_RUN' ? '' : `; the agent says they are ${claim.toLowerCase()}`;
  return report.verifyCommands.length === 0 ? `not run (no \`verify\` command)${claimed}` : `not run${claimed}`;
}

/** Renders the first three verify commands as Markdown. */
function verifyNames({ verifyCommands }: LaneReport): string {
  return capLines(
    verifyCommands.map((command) => renderCode(command, 80)),
    3,
  ).join(', ');
}

function savedWord(saved: SavedReport | null): readonly string[] {
  if (saved === null) return [];
  return saved.kind === 'saved'
    ? [renderText(`saved #${saved.sequence} (${shortenStores(saved.where)})`, 200)]
    : [`**not saved**: ${renderProse(saved.why, 300)}`];
}
