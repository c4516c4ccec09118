import { AGENTS } from '../../core/agent-names.ts';
import type { Denial } from '../../core/analysis/analysis.ts';
import type { JournalEntry } from '../../core/journal/journal.ts';
import { findTaskShare, type BranchChange } from '../../core/lane/change.ts';
import { suggestRulesToAllow } from '../../core/people/rules-to-allow.ts';
import { isHeldBy } from '../../core/pipeline/review.ts';
import { describeStepResult } from '../../core/pipeline/step-record.ts';
import { issueOfId, nameOfTaskId } from '../../core/tasks/ids.ts';
import { formatMoreLine, toOneLine } from '../../core/text/phrase.ts';
import { isFinished } from '../../core/tasks/task.ts';
import type { RunReport, WorkedReport } from '../../handover/report.ts';
import { listAllTasks, listIterations, selectReportSetting, selectWorkedReport, quoteAgentFailure } from '../facts.ts';
import { formatCount } from '../format.ts';
import { renderCodeElement, renderCode, renderProse, renderText } from '../markdown.ts';
import { rewordClaim, describeGroupedIterations } from '../pages/progress.ts';
import { describeIsolationProblems } from './isolation.ts';

/** Returns a line for each problem of a run, with its iterations. */
export function describeIterationProblems(report: RunReport): readonly string[] {
  const remarks = listIterations(report).flatMap(({ verdict, analysis, evidence, ...entry }) =>
    [
      ...[...verdict.discrepancies, ...verdict.vetoes].map(rewordClaim),
      ...errorLine({ analysis, evidence, verdict, ...entry }),
      ...(evidence.failedServers ?? []).map((name) =>
        renderProse(`The agent could not use the tools of the MCP server ${toOneLine(name, 100)}.`, 300),
      ),
      ...stepProblems(evidence.steps),
    ].map((line) => ({ iteration: entry.iteration, text: line })),
  );
  const isolation = selectWorkedReport(report)?.isolation ?? null;
  return [
    ...(isolation === null ? [] : describeIsolationProblems(isolation).map((line) => renderProse(line, 2000))),
    ...describeGroupedIterations(remarks).map((line) => `${line.charAt(0).toUpperCase()}${line.slice(1)}`),
    ...testOnlyLine(report),
  ];
}

/** Quotes how the agent failed, in its own words. */
function errorLine(entry: JournalEntry): readonly string[] {
  const { analysis, evidence, verdict, madeAgain } = entry;
  const { agentError } = analysis;
  const quoted = (foreign: string): string => renderCode(toOneLine(foreign, 300), 300);
  const again =
    madeAgain === null
      ? []
      : [`A conversation could not be continued, so a new one was started: ${quoted(madeAgain.why)}`];
  if (verdict.agentFailed) return [...again, renderProse(quoteAgentFailure(entry), 400)];
  if (agentError === null) return again;
  const words = quoted(agentError.text);
  // No other line says that the call was ended, and after how long, so say it here.
  return evidence.end.kind === 'stalled'
    ? [...again, `The agent's call was ended: ${words}`]
    : [...again, `The agent ended with an error (${agentError.kind}): ${words}`];
}

/** Mentions a run that mostly tests existing code, because it may have nothing left to do. */
function testOnlyLine(report: RunReport): readonly string[] {
  const iterations = listIterations(report);
  const testing = iterations.filter(({ verdict }) => verdict.testOnly && !verdict.taskDone).length;
  const percent = selectReportSetting(report)?.testOnlyPercent ?? 100;
  return testing === 0 || testing * 100 < percent * iterations.length
    ? []
    : [
        `${testing} of ${formatCount(iterations.length, 'iteration')} changed only tests (\`test-only-percent\`: ${percent}).`,
      ];
}

/** Lists the pipeline steps that failed or were skipped. */
function stepProblems(steps: JournalEntry['evidence']['steps']): readonly string[] {
  return steps
    .filter(({ result }) => result.kind !== 'passed' && !(result.kind === 'skipped' && result.why === 'done-once'))
    .map(({ name, result }) => `Step "${toOneLine(name, 60)}" ${toOneLine(describeStepResult(result), 200)}.`);
}

/** Renders the findings of the last reviews of a branch, each folded; empty if they found nothing. */
export function renderFindingsSection(change: Pick<BranchChange, 'reviews' | 'tasks'>): string {
  return change.reviews.length === 0
    ? ''
    : ['### Findings of reviews', ...change.reviews.map((one) => reviewBlock(change, one))].join('\n\n');
}

function reviewBlock(
  change: Pick<BranchChange, 'tasks'>,
  { task, step, review }: BranchChange['reviews'][number],
): string {
  const { agent, unreadable, findings, more, holding } = review;
  const count = unreadable === null ? formatCount(findings.length + more, 'finding') : 'its findings cannot be read';
  const held = holding === 0 ? 'held by review' : `held by review: ${formatCount(holding, 'finding')}`;
  const lines = [
    ...(unreadable === null ? [] : [`⚠️ ${renderProse(unreadable, 300)}`]),
    ...findings.map(
      ({ file, line, severity, text }) =>
        `**${severity}** ${renderCode(line === null ? file : `${file}:${String(line)}`, 220)}: ${renderText(text, 400)}`,
    ),
    ...formatMoreLine(more),
  ].map((line) => `- ${line}`);
  const name = nameOfTaskId(task);
  // The branch has no share of a request, so its title is unknown here.
  const subject = issueOfId(task) === null ? renderCodeElement(findTaskShare(change, task).title || name, 60) : name;
  const title = `Step ${renderCodeElement(step, 60)} (${AGENTS[agent].title}) on ${subject}: ${count}`;
  return `<details>\n<summary>${title}${isHeldBy(review) ? `; ${held}` : ''}</summary>\n\n${lines.join('\n')}\n\n</details>`;
}

/** Describes the reviews that keep open tasks from being done, as a headline part; empty if none does. */
export function describeReviewHold(report: WorkedReport): string {
  const open = listAllTasks(report).filter(({ progress }) => !isFinished(progress));
  const held = report.change.reviews.filter(
    ({ task, review }) => isHeldBy(review) && open.some((one) => one.task.id === task),
  );
  if (held.length === 0) return '';
  const holding = held.reduce((sum, { review }) => sum + review.holding, 0);
  return `Held by review${holding === 0 ? '' : `: ${formatCount(holding, 'finding')}`}`;
}

/** Returns a line for each denied tool of a run, with the rule that would allow it. */
export function describeDenials(report: RunReport): readonly string[] {
  const allowed = selectReportSetting(report)?.policy.allowedTools ?? [];
  const denials = listIterations(report).flatMap(({ iteration, analysis, verdict }) => [
    ...analysis.denials.map((denial) => ({ iteration, text: denialWords(denial, allowed) })),
    ...verdict.advice.map((advice) => ({ iteration, text: advice })),
  ]);
  return describeGroupedIterations(denials).map((line) => `${line.charAt(0).toUpperCase()}${line.slice(1)}`);
}

function denialWords(denial: Denial, allowed: readonly string[]): string {
  const rules = suggestRulesToAllow(denial, allowed);
  const what = `\`${(denial.command ?? denial.tool).slice(0, 150).replaceAll('`', "'")}\``;
  return rules.length === 0
    ? `${what} was denied.`
    : `${what} was denied. This allows it: \`allowed-tools: ${rules
        .map((rule) => `+${rule}`)
        .join(',')
        .replaceAll('`', "'")}\``;
}
