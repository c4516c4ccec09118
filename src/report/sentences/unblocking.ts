import {
  issueOfTask,
  isListed,
  isStuck,
  markedIn,
  type StuckReason,
  type TaskProgress,
} from '../../core/tasks/task.ts';
import type { RunReport, TaskReport } from '../../handover/report.ts';
import { allTasksOf, isQueue, laneOf, lastVerification, settingOf } from '../facts.ts';
import { choices, roundsOf } from './feedback.ts';
import { awaitedOutside } from './waiting.ts';

/** What a person can do when no open task can be worked on, in one or two sentences with code in `backticks`. */
export function unblocking(report: RunReport): string {
  const tasks = allTasksOf(report);
  const stuck = tasks.filter(({ progress }) => isStuck(progress));
  const hasObstacle = tasks.some(({ task, progress }) => task.obstacle !== null && progress.state !== 'done');
  const outside = awaitedOutside(tasks);
  if (stuck.length === 0 && hasObstacle) return `Do what each line says; ${lookAgain(report)}.`;
  if (stuck.length === 0 && outside.length > 0) return `${theOthers(outside, report)}; ${lookAgain(report)}.`;
  const [one, ...others] = stuck;
  if (one?.task.source.kind === 'feedback' && others.length === 0)
    return choices(one.task.id, one.task.source.on.kind, roundsOf(one.progress));
  const asked = stuck.filter(({ task }) => !isListed(task));
  const worked = stuck.filter(({ task, progress }) => isListed(task) && markedIn(task, progress) === null);
  // Nothing is known to be wrong with what nobody has tried here.
  if (stuck.length > 0 && worked.length + asked.length === 0)
    return `To have ${stuck.length === 1 ? 'it' : 'them'} tried, ${howToRetry(stuck, report)}.`;
  const is = (state: TaskProgress['state'], reason: StuckReason | null = null): boolean =>
    worked.some(({ progress }) => progress.state === state && (reason === null || progress.reason === reason));
  const asks = worked.some(
    ({ progress: { state, reason } }) =>
      state === 'blocked' && reason !== 'nothing_to_do' && reason !== 'withheld' && reason !== 'push_refused',
  );
  const hasIssue = stuck.length === 0 || worked.some(({ task }) => issueOfTask(task) !== null);
  const steps = [
    ...(asked.length === 0 ? [] : ['push a fix yourself, or say more where it was asked']),
    ...(asks || stuck.length === 0
      ? [`answer the agent in the task's text${hasIssue ? ' or in a comment on its issue' : ''}`]
      : []),
    ...(is('blocked', 'nothing_to_do')
      ? [hasIssue ? 'close the issue if nothing is missing, or say what is' : 'say what is missing, or tick the task']
      : []),
    ...(is('blocked', 'withheld')
      ? [
          'allow the files that are not published (`allow-protected-paths`), or say that the task should do without them',
        ]
      : []),
    ...(is('blocked', 'push_refused') ? ['do what the git server asks for, or say how to do without'] : []),
    ...(is('stuck') ? ['say what the agent should do differently'] : []),
    ...(is('failed')
      ? [
          lastVerification(report).kind === 'failed'
            ? 'fix what makes `verify` fail, or make the task smaller or clearer'
            : 'make the task smaller or clearer',
        ]
      : []),
  ].join('; ');
  return `${steps.charAt(0).toUpperCase()}${steps.slice(1)}; then ${howToRetry(stuck, report)}.`;
}

/** On the queue's pull request, or by hand, a retry is for all tasks that failed or are blocked. */
function howToRetry(stuck: readonly TaskReport[], report: RunReport): string {
  if (stuck.some(({ task }) => !isListed(task))) return 'comment `/ralph retry` on the pull request';
  if (!isQueue(report)) return 'comment `/ralph retry` on the issue';
  if ((laneOf(report)?.pullRequest ?? null) !== null) return 'comment `/ralph retry` on the pull request';
  return stuck.every(({ task }) => issueOfTask(task) !== null)
    ? 'comment `/ralph retry` on its issue'
    : 'run the workflow by hand with the command `retry`';
}

/** Ralph can do an issue of this repository; others are done by their own people. */
function theOthers(outside: readonly string[], report: RunReport): string {
  const here = outside.filter((name) => name.startsWith('#'));
  const taskLabel = settingOf(report)?.taskLabel;
  const label = taskLabel === undefined ? 'the task label' : `the label \`${taskLabel}\``;
  return [
    ...(here.length === 0
      ? []
      : [
          `To have Ralph work on what they wait for, put ${label} on ${here.slice(0, 5).join(', ')}${here.length > 5 ? ' and the others' : ''}; or close it`,
        ]),
    ...(here.length === outside.length
      ? []
      : [
          `${here.length === 0 ? 'What they wait for is in another repository: close it there' : 'what is in another repository must be closed there'}, or remove the dependency`,
        ]),
  ].join('; ');
}

function lookAgain(report: RunReport): string {
  return isQueue(report) ? 'the next run looks again' : 'then comment `/ralph run` on the issue';
}
