import type { Answer } from '../gate/intake.ts';
import type { LaneId, LaneState } from '../core/state.ts';
import type { TaskId } from '../core/tasks/task.ts';
import { count, formatCost, formatInstant, formatInstantFrom } from './format.ts';
import { cap, flatten } from '../core/plain-text.ts';
import { code, link, prose, text } from './markdown.ts';
import { COMMANDS, nearestCommand } from './nearest-command.ts';
import { progressBar } from './progress.ts';
import { doneTasks, iterationsOn, type CircuitWord, type RunReport, type TaskReport } from './run-report.ts';
import { commitLink, headline, stateWord, verificationWord } from './sections.ts';

/** First line of a thread's one status comment, whatever lane works there; by it the comment is found again, and known as our own. */
export const STATUS_MARKER = '<!-- ralph-action:status -->';

/** First line of the one refusal in a thread: it does not overwrite the status. */
export const REFUSAL_MARKER = '<!-- ralph-action:refusal -->';

/** The sticky comment on an issue (`taskId`: what became of it) or on the lane's pull request (`null`). */
export function renderStatusComment(report: RunReport, taskId: TaskId | null): string {
  const task = report.tasks.find((candidate) => candidate.task.id === taskId) ?? null;
  const where = [
    ...(report.pullRequest === null || taskId === null ? [] : [`pull request ${link(`#${report.pullRequest.number}`, report.pullRequest.url)}`]),
    ...(report.branch === null ? [] : [`branch ${code(report.branch, 120)}`]),
    link('log of the run', report.runUrl),
  ];
  return [
    STATUS_MARKER,
    headline(report),
    ...(task === null ? [] : [`This issue: ${taskWord(task, report)}`]),
    `\`${tasksBar(report.tasks)}\` ${[`${doneTasks(report).length} of ${count(report.tasks.length, 'task')} done`, count(report.iterations.length, 'iteration'), formatCost(report.costUsd)].join(' · ')}`,
    `Where: ${where.join(' · ')}`,
    ...(report.saved?.kind === 'not-saved' ? [`State was **not saved**: ${prose(report.saved.why, 300)}. The next run of this lane does not know what this one used and did.`] : []),
    `<sub>${formatInstant(report.endedAt)}</sub>`,
  ].join('\n\n');
}

/** What a command that needs no iteration has to know of its lane. */
export interface LaneView {
  readonly lane: LaneId;
  /** null: the lane has not run yet, or its state could not be read. */
  readonly state: LaneState | null;
  readonly tasks: readonly TaskReport[];
  readonly circuit: CircuitWord;
  /** When an open circuit is probed. */
  readonly probeAt: number | null;
  readonly callsRemaining: number;
  readonly pullRequest: { readonly number: number; readonly url: string } | null;
  readonly taskLabel: string;
  readonly runUrl: string;
  readonly now: number;
}

/** The answer to a `/ralph` comment, to be upserted under its first line. */
export function renderAnswer(answer: Answer['text'], view: LaneView): string {
  switch (answer.kind) {
    case 'status':
      return [STATUS_MARKER, laneStatus(view)].join('\n\n');
    case 'help':
      return [STATUS_MARKER, help(answer.word), laneStatus(view)].join('\n\n');
    case 'refusal':
      return [REFUSAL_MARKER, `**Not done.** ${prose(answer.why, 500)}`].join('\n\n');
  }
}

function help(word: string): string {
  const meant = nearestCommand(word);
  const shown = cap(flatten(word), 40);
  const opening = shown === '' ? 'Say what to do.' : `There is no command ${code(shown, 40)}.${meant === null ? '' : ` Did you mean \`/ralph ${meant}\`?`}`;
  return [opening, '', ...Object.entries(COMMANDS).map(([name, what]) => `- \`/ralph ${name}\`: ${what}`)].join('\n');
}

function laneStatus(view: LaneView): string {
  const { state, tasks } = view;
  const done = tasks.filter(({ progress }) => progress.state === 'done').length;
  const current = tasks.find(({ task }) => task.id === state?.currentTask);
  const lines = [
    tasks.length === 0 ? `No open issue has the label ${code(view.taskLabel, 60)}.` : `\`${tasksBar(tasks)}\` ${done} of ${count(tasks.length, 'task')} done`,
    ...(current === undefined ? [] : [`Working on: ${text(current.task.title, 120)} (${count(current.progress.attempts, 'iteration')} so far)`]),
    state?.lastRun ? `Last run: ${code(`${state.lastRun.outcome} (${state.lastRun.reason})`, 80)}, ${formatInstant(state.lastRun.at)}` : 'Last run: none yet',
    `Circuit: ${circuitWord(view)}`,
    `Calls left: ${view.callsRemaining}`,
    ...(state?.park ? [`Parked (${code(state.park.reason, 40)}): goes on from ${formatInstantFrom(state.park.resumeAt, view.now)}`] : []),
    ...(state?.pause ? [`Paused by ${text(state.pause.by, 60)}, ${formatInstant(state.pause.at)}`] : []),
    ...(view.pullRequest === null ? [] : [`Pull request: ${link(`#${view.pullRequest.number}`, view.pullRequest.url)}`]),
  ];
  return [`**Status of lane ${code(view.lane, 60)}**`, lines.map((line) => `- ${line}`).join('\n'), `<sub>${formatInstant(view.now)}, ${link('run', view.runUrl)}</sub>`].join('\n\n');
}

function circuitWord({ circuit, probeAt, state, now }: LaneView): string {
  if (circuit !== 'open' || probeAt === null) return circuit;
  const why = state?.circuit.kind === 'open' ? ` (${code(state.circuit.reason, 40)})` : '';
  return `open${why}; the first run after ${formatInstantFrom(probeAt, now)} probes with one iteration`;
}

function taskWord({ task, progress }: TaskReport, report: RunReport): string {
  const entries = iterationsOn(report, task.id);
  const newest = entries.at(-1);
  const commit = entries.findLast((entry) => entry.commit !== null)?.commit ?? progress.doneCommit;
  return [
    `${stateWord(progress.state)} after ${count(progress.attempts, 'iteration')}`,
    ...(commit === null ? [] : [`commit ${commitLink(commit, report)}`]),
    ...(newest === undefined || newest.evidence.verification.kind === 'not-run' ? [] : [`verification ${verificationWord(newest.evidence.verification)}`]),
  ].join(', ');
}

function tasksBar(tasks: readonly TaskReport[]): string {
  return progressBar(tasks.filter(({ progress }) => progress.state === 'done').length, tasks.length);
}
