import { isLeftOutByRun, nameWithheldFiles } from './ends/withheld.ts';
import type { JournalEntry } from '../../core/journal/journal.ts';
import { isStuck } from '../../core/tasks/task.ts';
import { computeNextTurn } from '../../core/tasks/ids.ts';
import { formatInstantFrom } from '../format.ts';
import { renderCode, renderCodeElement, renderFence, renderProse, renderText } from '../markdown.ts';
import { describeIterationResult } from '../pages/progress.ts';
import type { RunReport, TaskReport } from '../../handover/report.ts';
import { listAllTasks, listIterationsOn, selectReportSetting } from '../facts.ts';
import { suggestForTask } from '../next/for-tasks.ts';
import { buildStepList, renderWords } from '../next/step.ts';
import { describeTaskTrouble, YOU_ARE_NEEDED } from './trouble.ts';
import { renderVerificationWord } from '../pages/sections.ts';
import { capLines, joinCountedNames } from '../../core/text/phrase.ts';
import { policyInputs } from '../../config/agent-inputs.ts';

const SHOWN_ITERATIONS = 3;
const MAX_TAIL_CHARS = 1500;

/** Returns the tasks that failed or became blocked in this run, about which a person has to decide. */
export function listStuckTasks(report: RunReport): readonly TaskReport[] {
  return listAllTasks(report).filter((task) => gotStuck(task, report));
}

/**
 * Explains why Ralph gave a task up or cannot continue with it, what was tried, and what a person can do. Empty if this
 * run did neither.
 */
export function renderStuckTask(one: TaskReport, report: RunReport): string {
  if (!gotStuck(one, report)) return '';
  const entries = listIterationsOn(report, one.task.id);
  const words = lastWordsOnTask(one, entries);
  return [
    opening(one, report),
    ...(words === null ? [] : [`The agent says: “${renderText(words, 500)}”`]),
    `What was tried last:\n\n${entries
      .slice(-SHOWN_ITERATIONS)
      .map((entry) => `- ${iterationLine(entry)}`)
      .join('\n')}`,
    ...failingOutput(entries),
    `What you can do:\n\n${buildStepList(suggestForTask(one, report), 'markdown')
      .map((line) => `- ${line}`)
      .join('\n')}`,
  ].join('\n\n');
}

function gotStuck({ task, progress }: TaskReport, report: RunReport): boolean {
  return isStuck(progress) && listIterationsOn(report, task.id).length > 0;
}

/** Returns the agent's last words on the task, preferably its question; null if none. */
function lastWordsOnTask({ share }: TaskReport, entries: readonly JournalEntry[]): string | null {
  const newest = (of: (entry: JournalEntry) => string | null): string | null =>
    entries.map(of).findLast((words) => words !== null) ?? null;
  return (
    share.question ??
    newest(({ analysis }) => analysis.signal.asks) ??
    newest(({ analysis }) => analysis.signal.summary) ??
    newest(({ analysis: { signal } }) => signal.recommendation ?? signal.lastWords ?? null)
  );
}

function opening(one: TaskReport, report: RunReport): string {
  const { progress } = one;
  const trouble = renderWords([...describeTaskTrouble(one), YOU_ARE_NEEDED], 'markdown');
  return `**${trouble.charAt(0).toUpperCase()}${trouble.slice(1)}.** ${why()}`.trimEnd();

  function why(): string {
    const policy = selectReportSetting(report)?.policy ?? null;
    if (progress.reason === 'ceiling') return 'A retry allows as much once more.';
    if (progress.state === 'failed')
      return policy === null ? '' : `\`${policyInputs.maxIterationsPerTask.name}\` is ${policy.maxIterationsPerTask}.`;
    if (progress.state === 'stuck') {
      const turn = computeNextTurn(progress, policy?.circuit.cooldownMs ?? 0);
      const again = turn === null ? '' : ` Ralph tries it again after ${formatInstantFrom(turn, report.endedAt)}.`;
      return `Other tasks go first.${again}`;
    }
    switch (progress.reason) {
      case 'withheld':
        // The page names the files that the run left out.
        return isLeftOutByRun(one, report)
          ? 'It cannot do without the files that are left out.'
          : `Left out: ${renderProse(nameWithheldFiles(one, report), 500)}.`;
      case 'push_refused':
        return renderText(progress.refused?.words ?? '', 900);
      case 'nothing_to_do':
        return 'The agent says so, and changed nothing.';
      default:
        return '';
    }
  }
}

function iterationLine({ iteration, evidence, verdict, analysis, ...entry }: JournalEntry): string {
  const { files, fileCount, insertions, deletions, verification } = evidence;
  const shown = files.slice(0, 4).map((file) => renderCode(file, 100));
  return [
    `Iteration ${iteration}: ${describeIterationResult({ iteration, evidence, verdict, analysis, ...entry })}`,
    fileCount === 0
      ? 'nothing changed'
      : `changed ${joinCountedNames(shown, fileCount)} (+${insertions} −${deletions})`,
    ...(verification.kind === 'not-run' ? [] : [`verification ${renderVerificationWord(verification)}`]),
    ...capLines(
      verdict.discrepancies.map((line) => renderProse(line, 300)),
      3,
    ),
  ].join('; ');
}

/** Renders the end of the output of the newest verification if it failed. */
function failingOutput(entries: readonly JournalEntry[]): readonly string[] {
  const newest = entries.map(({ evidence }) => evidence.verification).findLast(({ kind }) => kind !== 'not-run');
  if (newest?.kind !== 'failed' || newest.tail.trim() === '') return [];
  return [
    `<details>\n<summary>Last output of ${renderCodeElement(newest.command, 80)}</summary>\n\n${renderFence(newest.tail, MAX_TAIL_CHARS)}\n\n</details>`,
  ];
}
