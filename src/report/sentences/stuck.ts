import { waysForWithheld, withheldFiles } from './ends/withheld.ts';
import type { JournalEntry } from '../../core/journal/journal.ts';
import { issueOfTask, isStuck, type Task } from '../../core/tasks/task.ts';
import { turnOf } from '../../core/tasks/set-aside.ts';
import { count, formatInstantFrom } from '../format.ts';
import { code, codeElement, fence, prose, text } from '../markdown.ts';
import { iterationResult } from '../pages/progress.ts';
import type { RunReport, TaskReport } from '../../handover/report.ts';
import { allTasksOf, iterationsOn, laneOf, settingOf } from '../facts.ts';
import { choices, roundsOf, whereToSay } from './feedback.ts';
import { taskLink, verificationWord } from '../pages/sections.ts';
import { firstLines, namesOutOf } from '../../core/text/lists.ts';
import { policyInputs } from '../../config/policy-inputs.ts';

const SHOWN_ITERATIONS = 3;
const MAX_TAIL_CHARS = 1500;

/** Tasks that failed or became blocked in this run: a person has to decide about them. */
export function stuckTasks(report: RunReport): readonly TaskReport[] {
  return allTasksOf(report).filter((task) => gotStuck(task, report));
}

/** Why Ralph gave a task up or cannot continue with it, what was tried, and what a person can do; empty for a task that is neither, or was so before this run. */
export function renderStuckTask(one: TaskReport, report: RunReport): string {
  if (!gotStuck(one, report)) return '';
  const entries = iterationsOn(report, one.task.id);
  const said = lastWords(one, entries);
  return [
    opening(one, report),
    ...(said === null ? [] : [`The agent says: “${text(said, 500)}”`]),
    `What was tried last:\n\n${entries
      .slice(-SHOWN_ITERATIONS)
      .map((entry) => `- ${iterationLine(entry)}`)
      .join('\n')}`,
    ...failingOutput(entries),
    `What you can do:\n\n${remedies(one, report)
      .map((line) => `- ${line}`)
      .join('\n')}`,
  ].join('\n\n');
}

function gotStuck({ task, progress }: TaskReport, report: RunReport): boolean {
  return isStuck(progress) && iterationsOn(report, task.id).length > 0;
}

/** What the agent last said of the task: its question before all else. */
function lastWords({ share }: TaskReport, entries: readonly JournalEntry[]): string | null {
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
  switch (progress.state) {
    case 'failed':
      return givenUp(one, report);
    case 'stuck': {
      const turn = turnOf(progress, settingOf(report)?.policy.circuit.cooldownMs ?? 0);
      const again = turn === null ? '' : ` Ralph tries it again after ${formatInstantFrom(turn, report.endedAt)}.`;
      return `**Set aside** after ${count(progress.attempts, 'iteration')}: it stopped making progress, so other tasks go first.${again}`;
    }
    default:
      if (progress.reason === 'withheld')
        return `**A person must decide about files that Ralph does not publish:** ${prose(withheldFiles(one, report), 500)}.`;
      if (progress.reason === 'push_refused')
        return `**The git server does not take this work.** ${text(progress.refused?.words ?? '', 900)}`;
      return progress.reason === 'nothing_to_do'
        ? '**Is this done already?** The agent says so, and changed nothing.'
        : '**The agent needs a person.** It says that it cannot continue.';
  }
}

function givenUp({ progress }: TaskReport, report: RunReport): string {
  const setting = settingOf(report);
  const limit =
    setting === null
      ? ''
      : ` (\`${policyInputs.maxIterationsPerTask.name}\` is ${setting.policy.maxIterationsPerTask})`;
  return `**Ralph gave this task up** after ${count(progress.attempts, 'iteration')}${limit}.`;
}

function iterationLine({ iteration, evidence, verdict, analysis, ...entry }: JournalEntry): string {
  const { files, fileCount, insertions, deletions, verification } = evidence;
  const shown = files.slice(0, 4).map((file) => code(file, 100));
  return [
    `Iteration ${iteration}: ${iterationResult({ iteration, evidence, verdict, analysis, ...entry })}`,
    fileCount === 0 ? 'nothing changed' : `changed ${namesOutOf(shown, fileCount)} (+${insertions} −${deletions})`,
    ...(verification.kind === 'not-run' ? [] : [`verification ${verificationWord(verification)}`]),
    ...firstLines(
      verdict.discrepancies.map((line) => prose(line, 300)),
      3,
    ),
  ].join('; ');
}

/** The end of what the failing command printed last. */
function failingOutput(entries: readonly JournalEntry[]): readonly string[] {
  const newest = entries.map(({ evidence }) => evidence.verification).findLast(({ kind }) => kind !== 'not-run');
  if (newest?.kind !== 'failed' || newest.tail.trim() === '') return [];
  return [
    `<details>\n<summary>Last output of ${codeElement(newest.command, 80)}</summary>\n\n${fence(newest.tail, MAX_TAIL_CHARS)}\n\n</details>`,
  ];
}

function whatToSay({ task, progress: { state, reason } }: TaskReport, where: string): string {
  switch (state) {
    case 'failed':
      return `Make the task smaller or clearer, or say what the agent should know: ${where}.`;
    case 'stuck':
      return `Say what the agent should do differently: ${where}.`;
    default:
      if (reason === 'push_refused') return `Do what the server asks for, or say how to do without: ${where}.`;
      return reason === 'nothing_to_do'
        ? `If nothing is missing, ${issueOfTask(task) === null ? 'mark it as done there' : 'close the issue'}. Otherwise say what is missing: ${where}.`
        : `Answer the agent: ${where}.`;
  }
}

function remedies(one: TaskReport, report: RunReport): readonly string[] {
  const { task, progress } = one;
  const isFailed = progress.state === 'failed';
  const where = whereToAnswer(task);
  return [
    ...failingVerification(iterationsOn(report, task.id)),
    ...(task.source.kind === 'feedback'
      ? []
      : [
          progress.reason === 'withheld'
            ? `${prose(waysForWithheld(one, report, where), 600)}.`
            : whatToSay(one, where),
        ]),
    ...(isFailed ? [`If it only needs more iterations, raise \`${policyInputs.maxIterationsPerTask.name}\`.`] : []),
    task.source.kind === 'feedback'
      ? prose(choices(task.id, task.source.on.kind, roundsOf(progress)), 500)
      : `Then ${howToRetry(task, report)}: the task gets all its iterations again.`,
  ];
}

/** Where a person answers what a task asks, as words. An item of the plan is known by its title. */
export function whereToAnswer(task: Task): string {
  if (task.source.kind === 'feedback') return whereToSay(task.source.on.kind);
  if (task.source.kind === 'issue') return `in the text of ${taskLink(task)} or in a comment on it`;
  return task.source.kind === 'plan'
    ? `below the title in ${taskLink(task)} (another title makes it another task)`
    : `in ${taskLink(task)}`;
}

/** How a person has a task tried again, as words. */
export function howToRetry(task: Task, report: RunReport): string {
  const pullRequest = laneOf(report)?.pullRequest ?? null;
  const issue = issueOfTask(task);
  const threads = [...(issue === null ? [] : ['the issue']), ...(pullRequest === null ? [] : ['the pull request'])];
  if (threads.length > 0) return `comment \`/ralph retry ${issue ?? task.id}\` on ${threads.join(' or ')}`;
  return `run the workflow by hand with the command \`retry\` (for all that failed or is blocked), or \`ralph retry ${task.id}\` in a checkout (for this one)`;
}

/** Whatever the agent does, a verification that cannot pass keeps every task from being done. */
function failingVerification(entries: readonly JournalEntry[]): readonly string[] {
  const ran = entries.map(({ evidence }) => evidence.verification).filter(({ kind }) => kind !== 'not-run');
  const newest = ran.at(-1);
  if (newest?.kind !== 'failed' || ran.some(({ kind }) => kind !== 'failed')) return [];
  return [`\`verify\` never passed (${code(newest.command, 80)}): see what it printed, and fix it if it cannot pass.`];
}
