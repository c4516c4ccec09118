import { nameOfTaskId, type TaskId } from '../../core/tasks/ids.ts';
import {
  isListedTask,
  isSettled,
  isStuck,
  findMarkingFile,
  nameOfTask,
  type TaskObstacle,
} from '../../core/tasks/task.ts';
import { cutText, joinNames, toOneLine } from '../../core/text/phrase.ts';
import type { RunReport, TaskReport } from '../../handover/report.ts';
import { listIterations, selectLaneReport, selectReportSetting } from '../facts.ts';
import { formatCount } from '../format.ts';
import { type NextStep, createNextStep, type Words } from '../next/step.ts';

/** The places in which a run looks for tasks: its sources, and the label as people call it (`the label ralph`). */
interface TaskSources {
  readonly sources: readonly string[];
  readonly label: string;
  /** The search that finds tasks in addition to the label, as code; null if none. */
  readonly query: string | null;
}

const FILES: ReadonlyMap<string, string> = new Map([
  ['plan', '`.ralph/fix_plan.md`'],
  ['prd', '`.ralph/prd.json`'],
  ['beads', '`.beads/`'],
]);

/**
 * Lists the tasks that failed, are blocked or stuck, each as one sentence part in which `backticks` mark code: its
 * name, its title, and why it does not continue.
 */
export function describeStuckTasks(tasks: readonly TaskReport[]): readonly string[] {
  return tasks.filter(({ progress }) => isStuck(progress)).map((one) => `${nameAndTitle(one)}: ${whyStuck(one)}`);
}

/**
 * Returns the only task that waits for a person, which a headline can name; returns null if there are several, or if it
 * waits for something else.
 */
export function findOnlyTrouble(tasks: readonly TaskReport[]): TaskReport | null {
  const [one, ...others] = tasks.filter(({ progress }) => isStuck(progress));
  return one === undefined || others.length > 0 || describeObstacles(tasks).length > 0 ? null : one;
}

/**
 * Quotes the agent or the server on a task that a headline names, as one sentence; empty if there is nothing to quote.
 */
export function quoteWordsOn({ task, progress, share, asked }: TaskReport): string {
  if (asked !== null) return `See ${asked}.`;
  if (findMarkingFile(task, progress) !== null) return '';
  if (progress.reason === 'feedback_rounds') return '`max-feedback-rounds` allows no more rounds.';
  if (progress.reason === 'push_refused') return `The server says: “${quietWords(progress.refused?.words ?? '')}”`;
  if (share.question !== null) return `The agent asks: “${quietWords(share.question)}”`;
  const words = share.summary ?? share.recommendation;
  return words === null ? '' : `The agent says: “${quietWords(words)}”`;
}

/** Explains why a given-up task is not worked on, with the agent's own words or a link to them. */
function whyStuck({ task, progress, share, asked }: TaskReport): string {
  const file = findMarkingFile(task, progress);
  if (file !== null)
    return `marked as ${progress.state} in \`${quiet(file)}\`${progress.state === 'failed' ? ' by an earlier Ralph' : ''}`;
  const iterations = formatCount(progress.attempts, 'iteration');
  const words = share.question ?? share.summary ?? share.recommendation;
  const quoted = words === null ? '' : ` The agent says: “${quietWords(words)}”`;
  const more = asked === null ? quoted : ` See ${asked}`;
  switch (progress.state) {
    case 'failed':
      return `gave up after ${iterations}${asked === null ? '' : `.${more}`}`;
    case 'stuck':
      return `set aside after ${iterations}, since nothing changed.${more}`;
    default:
      if (progress.reason === 'feedback_rounds')
        return 'asked for again after as many rounds as `max-feedback-rounds` allows';
      if (progress.reason === 'withheld') return `needs files that Ralph does not publish; a person decides.${more}`;
      if (progress.reason === 'push_refused')
        return `the git server refused its work: ${quietWords(progress.refused?.words ?? '')}`;
      return progress.reason === 'nothing_to_do'
        ? `the agent found nothing to change.${more}`
        : share.question === null
          ? `the agent cannot continue without a person.${more}`
          : `the agent asks: “${quietWords(share.question)}”`;
  }
}

/**
 * Lists the open tasks that may not be worked on yet, in the form of `describeStuckTasks`, except those that were
 * merely not looked at.
 */
export function describeObstacles(tasks: readonly TaskReport[]): readonly string[] {
  return tasks.flatMap((one) => {
    if (isSettled(one.progress)) return [];
    const why = obstacleOf(one, tasks);
    return why === null ? [] : [`${nameAndTitle(one)}: ${why}`];
  });
}

const OBSTACLES: Readonly<Record<TaskObstacle, string | null>> = {
  'needs-approval': 'its text was changed after it was approved: add the label, or remove and re-add it',
  'dependency-unknown': 'what it depends on does not exist',
  'dependency-cycle': 'it depends on a task that depends on it',
  'circuit-open':
    'nothing changed when its own branch worked on it, so it is on hold: label it again, or comment `/ralph run` on it, to try now',
  unchecked: null,
  withdrawn:
    'a person took it back while this run was working, so it gets no more work and is not marked as done: open it with the task label to continue',
  unread: 'other failed checks are worked on first, since they may have the same cause',
  held: 'it waits until the pull request is merged',
  unreadable:
    'the file, or a part of it, cannot be read, so what it asks for is not known: correct it on the base branch',
};

function obstacleOf({ task }: TaskReport, tasks: readonly TaskReport[]): string | null {
  if (task.obstacle !== null) return OBSTACLES[task.obstacle];
  const open = awaitedBy(task, tasks);
  const names = open.map((id) => dependencyName(id, tasks));
  return open.length === 0 ? null : `it depends on ${joinNames(names, SHOWN_DEPENDENCIES)}, not done yet`;
}

const SHOWN_DEPENDENCIES = 3;

/** Returns the names of issues outside of the lane for which open tasks wait: `#12`, `other/repo#4`. */
export function namesOfAwaited(tasks: readonly TaskReport[]): readonly string[] {
  const open = tasks.filter(({ progress }) => !isSettled(progress));
  const ids = open
    .flatMap(({ task }) => awaitedBy(task, tasks))
    .filter((id) => tasks.every(({ task }) => task.id !== id));
  return [...new Set(ids)].map((id) => dependencyName(id, tasks));
}

function awaitedBy({ dependsOn }: TaskReport['task'], tasks: readonly TaskReport[]): readonly TaskId[] {
  return dependsOn.filter((id) => tasks.find((other) => other.task.id === id)?.progress.state !== 'done');
}

function nameAndTitle({ task }: TaskReport): string {
  // The title of such a task gives the place of the request, and ends in the words of the person who asked, so the name
  // adds nothing.
  if (!isListedTask(task)) return quiet(task.title).replace(/[.:;,!?…]+$/, '');
  return `${quiet(nameOfTask(task))} (${quiet(task.title)})`;
}

function dependencyName(id: string, tasks: readonly TaskReport[]): string {
  const known = tasks.find(({ task }) => task.id === id);
  // An unknown id is an open issue without the label, or an issue of another repository.
  return quiet(known === undefined ? nameOfTaskId(id) : nameOfTask(known.task));
}

/** Prepares the agent's words for one of our sentences. */
function quietWords(foreign: string): string {
  return toOneLine(foreign, 250).replaceAll('`', "'");
}

/** Prepares untrusted text for one of our sentences, so that it marks no code. */
function quiet(foreign: string): string {
  return toOneLine(foreign, 80).replaceAll('`', "'");
}

/**
 * Renders `no open issue has the label ralph, and no task is open in .ralph/fix_plan.md or .ralph/prd.json`. `leftOut`
 * is true if there may be tasks that this run may not work on.
 */
export function describeNoTasks(where: TaskSources, leftOut: boolean): string {
  const files = sourceFilesOf(where);
  const found = where.query === null ? '' : ` or is found by \`issue-query\` (${where.query})`;
  const inFiles = files.length < 2 ? files.join('') : `${files.slice(0, -1).join(', ')} or ${files.at(-1) ?? ''}`;
  return [
    ...(looksAtIssues(where)
      ? [leftOut ? `no open issue with ${where.label} is for this run` : `no open issue has ${where.label}${found}`]
      : []),
    ...(files.length === 0 ? [] : [`no task is open in ${inFiles}`]),
    ...(looksAtPrompt(where) ? ['there is no `PROMPT.md`'] : []),
  ].join(', and ');
}

/** Returns the ways to give Ralph another task. */
export function suggestAddingTask(where: TaskSources): readonly NextStep[] {
  const [file] = sourceFilesOf(where);
  const ways = [
    ...(looksAtIssues(where)
      ? [createNextStep('label', `${where.label} on an issue that an agent should work on`)]
      : []),
    ...(looksAtIssues(where) && where.query !== null
      ? [createNextStep('set', 'correct `issue-query` if what it names was renamed or deleted')]
      : []),
    ...(file === undefined ? [] : [createNextStep('write', `a task into ${file}`)]),
    ...(looksAtPrompt(where) ? [createNextStep('write', 'what you want into `PROMPT.md` on the base branch')] : []),
  ];
  return ways.map((way, at) => (at === 0 ? way : { ...way, joint: ', or ' }));
}

/** Returns the places in which the run looked for tasks. */
export function describeTaskSources(report: RunReport): TaskSources {
  const setting = selectReportSetting(report);
  const label = setting === null ? 'the task label' : `the label \`${setting.taskLabel}\``;
  const query = setting?.issueQuery ?? null;
  return {
    ...{ sources: setting?.taskSources ?? [], label },
    query: query === null ? null : `\`${cutText(query, 100).replaceAll('`', "'")}\``,
  };
}

function sourceFilesOf({ sources }: TaskSources): readonly string[] {
  return sources.map((source) => FILES.get(source)).filter((path) => path !== undefined);
}

function looksAtPrompt({ sources }: TaskSources): boolean {
  return sources.includes('prompt');
}

/** Returns true if the label is mentioned, which is also the case for a run that ended before it knew its sources. */
function looksAtIssues({ sources }: TaskSources): boolean {
  return sources.length === 0 || sources.includes('issues');
}

/**
 * Describes the end of a run whose `verify` fails on the base branch as well: what fails, and that no task is to blame.
 */
export function describeRedBase(report: RunReport): { readonly title: Words; readonly what: string } {
  const red = selectLaneReport(report)?.redBase ?? null;
  const command = red === null ? '`verify`' : code(red.command, 80);
  const words = red === null || red.words === '' ? '.' : `: ${code(red.words, 300)}.`;
  const iterations = listIterations(report).length;
  return {
    title: ['Blocked: the base branch is red; you are needed'],
    what: `${command} fails on ${nameBaseBranch(report)} as well${words} No task can be completed until it passes, and none is blamed for it.${iterations === 0 ? ' No call was made.' : ''}${newFailures(report)}`,
  };
}

/** Returns the name of the base branch in `backticks`, or `the base branch` if it is unknown. */
export function nameBaseBranch(report: RunReport): string {
  const base = selectLaneReport(report)?.baseBranch ?? null;
  return base === null ? 'the base branch' : code(base, 120);
}

/** Reports the additional failures that the last iteration caused. */
function newFailures(report: RunReport): string {
  const last = listIterations(report).at(-1)?.evidence.verification;
  const failures = last?.kind === 'failed' ? (last.newlyRed ?? []) : [];
  return failures.length === 0
    ? ''
    : ` New on this branch, and not on the base: ${failures.map((text) => code(text, 120)).join(', ')}.`;
}

function code(text: string, maxChars: number): string {
  return `\`${cutText(text, maxChars).replaceAll('`', "'")}\``;
}
