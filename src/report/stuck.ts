import type { JournalEntry } from '../core/journal.ts';
import { issueOfTask } from '../core/tasks/task.ts';
import { count } from './format.ts';
import { code, codeElement, fence, prose, text } from './markdown.ts';
import { iterationResult } from './progress.ts';
import { iterationsOn, type RunReport, type TaskReport } from './run-report.ts';
import { someOf, taskLink, verificationWord } from './sections.ts';

const shownIterations = 3;
const maxTailChars = 1500;

/** Tasks that failed or became blocked in this run: a person has to decide about them. */
export function stuckTasks(report: RunReport): readonly TaskReport[] {
  return report.tasks.filter((task) => isStuck(task, report));
}

/** Why Ralph gave a task up or cannot go on with it, what was tried, and what a person can do; empty for a task that is neither, or was so before this run. */
export function renderStuckTask(one: TaskReport, report: RunReport): string {
  if (!isStuck(one, report)) return '';
  const entries = iterationsOn(report, one.task.id);
  const said = entries.findLast(({ analysis }) => analysis.signal.recommendation !== null)?.analysis.signal.recommendation ?? null;
  return [
    one.progress.state === 'failed' ? givenUp(one, report) : '**Ralph cannot go on with this task.** The agent says twice in a row that it needs a person.',
    ...(said === null ? [] : [`The agent says: “${text(said, 500)}”`]),
    `What was tried last:\n\n${entries.slice(-shownIterations).map((entry) => `- ${iterationLine(entry)}`).join('\n')}`,
    ...failingOutput(entries),
    `What you can do:\n\n${remedies(one, report).map((line) => `- ${line}`).join('\n')}`,
  ].join('\n\n');
}

function isStuck({ task, progress }: TaskReport, report: RunReport): boolean {
  return (progress.state === 'failed' || progress.state === 'blocked') && iterationsOn(report, task.id).length > 0;
}

function givenUp({ progress }: TaskReport, { policy }: RunReport): string {
  const limit = policy === null ? '' : ` (\`max-iterations-per-task\` is ${policy.maxIterationsPerTask})`;
  return `**Ralph gave this task up** after ${count(progress.attempts, 'iteration')}${limit}.`;
}

function iterationLine({ iteration, evidence, verdict, analysis, ...entry }: JournalEntry): string {
  const { files, fileCount, insertions, deletions, verification } = evidence;
  const shown = files.slice(0, 4).map((file) => code(file, 100));
  const more = fileCount > shown.length ? ` and ${fileCount - shown.length} more` : '';
  return [
    `Iteration ${iteration}: ${iterationResult({ iteration, evidence, verdict, analysis, ...entry })}`,
    fileCount === 0 ? 'nothing changed' : `changed ${shown.join(', ')}${more} (+${insertions} −${deletions})`,
    ...(verification.kind === 'not-run' ? [] : [`verification ${verificationWord(verification)}`]),
    ...someOf(verdict.discrepancies.map((line) => prose(line, 300)), 3),
  ].join('; ');
}

/** The end of what the failing command printed last. */
function failingOutput(entries: readonly JournalEntry[]): readonly string[] {
  const newest = entries.map(({ evidence }) => evidence.verification).findLast(({ kind }) => kind !== 'not-run');
  if (newest?.kind !== 'failed' || newest.tail.trim() === '') return [];
  return [`<details>\n<summary>Last output of ${codeElement(newest.command, 80)}</summary>\n\n${fence(newest.tail, maxTailChars)}\n\n</details>`];
}

function remedies({ task, progress }: TaskReport, { pullRequest }: RunReport): readonly string[] {
  const issue = issueOfTask(task);
  const isFailed = progress.state === 'failed';
  const where = issue === null ? `in ${taskLink(task)}` : `in the text of ${taskLink(task)} or in a comment on it`;
  const command = `retry ${issue ?? task.id}`;
  const threads = [...(issue === null ? [] : ['the issue']), ...(pullRequest === null ? [] : ['the pull request'])];
  const retry = threads.length === 0 ? `run the workflow by hand with the command \`${command}\`` : `comment \`/ralph ${command}\` on ${threads.join(' or ')}`;
  return [
    isFailed ? `Make the task smaller or clearer, or say what the agent should know: ${where}.` : `Answer the agent: ${where}.`,
    ...(isFailed ? ['If it only needs more iterations, raise `max-iterations-per-task`.'] : []),
    `Then ${retry}: the task gets all its iterations again.`,
  ];
}
