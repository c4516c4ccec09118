import { describeAgentFailure } from '../../core/analysis/failure-words.ts';
import type { Evidence, Verification } from '../../core/evidence.ts';
import type { JournalEntry } from '../../core/journal/journal.ts';
import { describeStepResult } from '../../core/pipeline/step-record.ts';
import { flattenText, toOneLine } from '../../core/text/phrase.ts';
import type { RunReport, WorkedReport } from '../../handover/report.ts';
import { listDoneTasks, listFindings, hasAnyUsage, selectLaneReport, selectWorkedReport } from '../facts.ts';
import { renderApiUsage, formatCount, formatDuration, formatTokens, renderProgressBar } from '../format.ts';
import { renderProse } from '../markdown.ts';
import { suggestNextSteps } from '../next/for-run.ts';
import { renderSteps } from '../next/step.ts';
import { renderIsolation, describeIsolationProblems } from '../sentences/isolation.ts';
import { describeLaneStatus } from '../sentences/lane-status.ts';
import { describeOutcome, renderHeadline } from '../sentences/outcome-text.ts';
import { describeSetUp } from '../sentences/set-up.ts';
import { renderCostNoun, listIterationCost } from '../sentences/spend.ts';

/** A text about one iteration. */
interface OfIteration {
  readonly iteration: number;
  readonly text: string;
}

/** Renders `[████░░] 4/6 title`, a line of the job log. */
export function renderProgressLine(progress: {
  readonly done: number;
  readonly total: number;
  readonly title: string;
}): string {
  const { done, total, title } = progress;
  return `${renderProgressBar(done, total)} ${done}/${total} ${toOneLine(title, 100)}`.trimEnd();
}

/** Renders one line of the job log for a finished iteration. */
export function renderIterationEnd(entry: JournalEntry): string {
  const { evidence, analysis, verdict } = entry;
  return [
    `iteration ${entry.iteration}: ${verdict.agentFailed ? describeAgentFailure({ analysis, end: evidence.end }) : describeIterationResult(entry)}`,
    evidence.fileCount === 0
      ? 'nothing changed'
      : `${formatCount(evidence.fileCount, 'file')} +${evidence.insertions} −${evidence.deletions}`,
    ...(evidence.verification.kind === 'not-run'
      ? []
      : [`verify ${evidence.verification.kind}${verifyDetail(evidence.verification)}`]),
    ...stepFailures(evidence.steps),
    formatDuration(entry.endedAt - entry.startedAt),
    ...(analysis.tokens === null ? [] : [`${formatTokens(analysis.tokens)} tokens`]),
    ...listIterationCost(entry),
    ...(verdict.circuit === 'closed' ? [] : [`circuit ${verdict.circuit}`]),
  ].join(' · ');
}

/** Describes the result of an iteration in two or three words. */
export function describeIterationResult({ verdict, evidence, analysis }: JournalEntry): string {
  if (verdict.taskDone) return 'task done';
  if (evidence.end.kind === 'cancelled') return 'cancelled';
  if (evidence.end.kind === 'withdrawn') return 'ended, its task was withdrawn';
  if (verdict.agentFailed) return 'agent failed';
  if (evidence.end.kind === 'timeout') return verdict.progress ? 'progress, then timed out' : 'timed out';
  if (analysis.agentError !== null) return `agent error (${analysis.agentError.kind})`;
  if (verdict.countedDenials > 0) return 'permission denied';
  if (verdict.questionOnly) return 'only asked a question';
  if (!verdict.progress) return 'no progress';
  return verdict.testOnly ? 'progress, tests only' : 'progress';
}

/** Renders the last block of the job log in plain lines: outcome, numbers, links, and next steps. */
export function renderClosingBlock(report: RunReport, continued: 'here' | 'by-another-job' = 'here'): string {
  const { what } = describeOutcome(report);
  const next =
    continued === 'here'
      ? renderSteps(suggestNextSteps(report), 'log')
      : 'The job that publishes pushes this, and says what to do.';
  const lines = [
    `Ralph: ${renderHeadline(report, 'log')}`,
    ...what.split('\n').map((line) => plain(toOneLine(line, 1000))),
    ...describeSetUp(listFindings(report)).map((line) =>
      plain(line.replace(/\S.*$/s, (words) => toOneLine(words, 1000))),
    ),
    ...(report.kind === 'answered' ? [] : [`Next: ${next}`]),
    ...(report.kind === 'answered' ? describeLaneStatus(report.view) : numberLines(report)),
    report.requests === null ? '' : renderApiUsage(report.requests),
  ];
  return lines.filter((line) => line !== '').join('\n');
}

/** Removes backticks, because a log renders no Markdown. */
function plain(words: string): string {
  return words.replaceAll('`', '');
}

function numberLines(report: RunReport): readonly string[] {
  const lane = selectLaneReport(report);
  if (lane === null) return [];
  const work = selectWorkedReport(report);
  const done = listDoneTasks(lane).length;
  return [
    ...(lane.tasks.length === 0
      ? []
      : [
          `${renderProgressBar(done, lane.tasks.length)} ${done}/${lane.tasks.length} ${lane.tasks.length === 1 ? 'task' : 'tasks'} done`,
        ]),
    ...(work === null || !hasAnyUsage(work)
      ? []
      : [
          `${formatCount(work.iterations.length, 'iteration')} in ${formatDuration(work.endedAt - work.startedAt)}, ${renderCostNoun(work)}, ${formatTokens(work.tokens)} tokens`,
        ]),
    ...(lane.pullRequest === null ? [] : [`pull request: ${lane.pullRequest.url}`]),
    `circuit: ${lane.circuit}, calls left: ${lane.callsRemaining}`,
    // A state that was saved has its own line above this end.
    ...(work?.saved?.kind === 'saved'
      ? []
      : [`state: ${[flattenText(lane.restored), ...unsavedWord(work)].join(' … ')}`]),
    ...isolationLines(work?.isolation ?? null),
  ];
}

/** Describes the agent's isolation and its weaknesses. */
function isolationLines(isolation: WorkedReport['isolation']): readonly string[] {
  if (isolation === null) return [];
  return [renderIsolation(isolation), ...describeIsolationProblems(isolation)].map((line) =>
    plain(toOneLine(line, 2000)),
  );
}

/** Returns why the state was not saved; empty if it was, or if there was nothing to save. */
function unsavedWord(work: WorkedReport | null): readonly string[] {
  return work?.saved?.kind === 'not-saved' ? [`NOT saved: ${flattenText(work.saved.why)}`] : [];
}

/** Lists the pipeline steps that failed. */
function stepFailures(steps: Evidence['steps']): readonly string[] {
  return steps
    .filter(({ result }) => result.kind === 'failed')
    .map(({ name, result }) => `step ${toOneLine(name, 60)} ${toOneLine(describeStepResult(result), 100)}`);
}

function verifyDetail(verification: Verification): string {
  if (verification.kind !== 'failed') return '';
  return ` (${toOneLine(verification.command, 60)}: ${verification.code === null ? 'out of time' : verification.code})`;
}

/** Renders one Markdown line per text, in the order of its first iteration: `iterations 2–5: …`. */
export function describeGroupedIterations(remarks: readonly OfIteration[]): readonly string[] {
  const byText = new Map<string, number[]>();
  for (const { iteration, text } of remarks) byText.set(text, [...(byText.get(text) ?? []), iteration]);
  return [...byText].map(
    ([text, iterations]) =>
      `${new Set(iterations).size === 1 ? 'iteration' : 'iterations'} ${ranges(iterations)}: ${renderProse(text, 300)}`,
  );
}

/** Renders `2–5, 7`. */
function ranges(iterations: readonly number[]): string {
  const sorted = [...new Set(iterations)].sort((a, b) => a - b);
  const starts = sorted.filter((one) => !sorted.includes(one - 1));
  const ends = sorted.filter((one) => !sorted.includes(one + 1));
  return starts
    .map((start, index) => (start === ends[index] ? `${start}` : `${start}–${ends[index] ?? ''}`))
    .join(', ');
}

/** Parses `Iteration 3: It …`, the form in which a lane's change keeps overruled claims. */
export function parseOverruled(line: string): OfIteration {
  const [, iteration = '', text = line] = /^Iteration (\d{1,6}): ([^]*)$/.exec(line) ?? [];
  return { iteration: Number(iteration), text: rewordClaim(text) };
}

/** Rewords a discrepancy or veto of the journal for people who do not know the status block. */
export function rewordClaim(sentence: string): string {
  return sentence
    .replace(
      /^It reported TESTS_STATUS: PASSING, but the verification failed\.$/,
      'The agent said that the tests pass; they failed.',
    )
    .replace(
      /^It reported FILES_MODIFIED: (\d+), but no file content changed\.$/,
      (_, files: string) => `The agent said that it changed ${formatCount(Number(files), 'file')}; nothing changed.`,
    )
    .replace(
      /^It reported TASKS_COMPLETED_THIS_LOOP: (\d+), but the files of tasks show (\d+)\.$/,
      (_, said: string, shown: string) =>
        `The agent said that it finished ${formatCount(Number(said), 'task')}; the task files show ${shown}.`,
    )
    .replace(/ of the files of tasks\.$/, ' from the task files.')
    .replace(/^It (?=claimed|deleted|reported)/, 'The agent ');
}
