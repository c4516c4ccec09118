import type { Outcome } from '../../core/outcome.ts';
import { isListedTask, isStuck, findMarkingFile, type Task } from '../../core/tasks/task.ts';
import { toOneLine } from '../../core/text/phrase.ts';
import type { RunReport, TaskReport } from '../../handover/report.ts';
import { listAllTasks, listIterations, selectLaneReport, selectReportSetting } from '../facts.ts';
import { formatCost, formatCount } from '../format.ts';
import type { Words } from '../next/step.ts';
import { describeObstacles, findOnlyTrouble } from './waiting.ts';

/** The end of each headline about work that does not continue without a person. */
export const YOU_ARE_NEEDED = '; you are needed';

/** Names a task that was given up, set aside or needs a person, and its problem. */
export function describeTaskTrouble(one: TaskReport): Words {
  const { task, progress, share } = one;
  const name = nameIn(task);
  if (findMarkingFile(task, progress) !== null) return [name, ` is marked as ${progress.state}`];
  const calls = formatCount(progress.attempts, 'call');
  if (progress.reason === 'ceiling')
    return [name, ` has used up the ${formatCost(progress.ceiling?.usd ?? 0)} approved for it`];
  if (progress.state === 'failed') return [name, ` is not done after ${calls}`];
  if (progress.state === 'stuck') return [name, ` stopped making progress after ${calls}`];
  switch (progress.reason) {
    case 'feedback_rounds':
      return [name, ' is still open after all its rounds'];
    case 'withheld':
      return [name, ' needs files that Ralph does not publish'];
    case 'push_refused':
      return ['the git server refuses the work on ', name];
    case 'nothing_to_do':
      return [name, ' seems to be done already'];
    default:
      return share.question === null ? ['the agent cannot continue with ', name] : [name, ' has a question for you'];
  }
}

/** Names what a blocked run waits for: one task with its problem, or the number of tasks. */
export function nameBlockedRun(report: RunReport): Words {
  const tasks = listAllTasks(report);
  const one = findOnlyTrouble(tasks);
  if (one !== null) return ['Blocked: ', ...describeTaskTrouble(one), YOU_ARE_NEEDED];
  const number = tasks.filter(({ progress }) => isStuck(progress)).length + describeObstacles(tasks).length;
  return number === 0
    ? ['Blocked: the agent cannot continue', YOU_ARE_NEEDED]
    : [`Blocked: ${formatCount(number, 'task')} ${number === 1 ? 'waits' : 'wait'} for a person`, YOU_ARE_NEEDED];
}

type Halt = Extract<Outcome, { kind: 'halted' }>;

/** Returns why a run stopped, and the task if it is the cause. */
export function nameRunStop(outcome: Halt, report: RunReport): Words {
  return ['Stopped: ', ...stopWords(outcome, report), YOU_ARE_NEEDED];
}

function stopWords(outcome: Halt, report: RunReport): Words {
  const policy = selectReportSetting(report)?.policy ?? null;
  const times = (number: number | undefined): string =>
    number === undefined ? 'several calls' : formatCount(number, 'call');
  switch (outcome.reason) {
    case 'permission_denied':
      return ['the agent was denied a tool'];
    case 'test_saturation':
      return [`${times(policy?.testOnlyIterations)} in a row changed only tests`];
    case 'safety':
      return ['the agent says that it is finished, and is not'];
    case 'circuit_open':
      break;
  }
  const isProbe = selectLaneReport(report)?.openedBy === 'probe';
  const task = stoppedOn(report);
  const name = task === null ? 'the agent' : nameIn(task);
  switch (outcome.circuitReason) {
    case 'no_progress':
      return [
        name,
        ` made no progress in ${isProbe ? 'the call that tried again' : times(policy?.circuit.noProgress)}`,
      ];
    case 'same_error':
      return [name, ` met the same error in ${times(policy?.circuit.sameError)}`];
    case 'agent_error':
      return [`the agent failed in ${isProbe ? 'the call that tried again' : times(policy?.circuit.noProgress)}`];
    case 'permission_denied':
      return ['the agent was denied a tool'];
    case 'output_decline':
      return ["the agent's answers shrank", ...(task === null ? [] : [' on ', nameIn(task)])];
    case 'state_unreadable':
      return ['the saved state cannot be read'];
  }
}

/** Returns the task of all iterations since the last progress; returns null if there are several, or none is known. */
function stoppedOn(report: RunReport): Task | null {
  const iterations = listIterations(report);
  const idle = iterations.slice(iterations.findLastIndex(({ verdict }) => verdict.progress) + 1);
  const ids = new Set(idle.map(({ taskId }) => taskId));
  return ids.size === 1 ? (listAllTasks(report).find(({ task }) => ids.has(task.id))?.task ?? null) : null;
}

/** Names a task in a headline: by its number, or by its title if the name is a place in a file. */
function nameIn(task: Task): string | Task {
  return task.source.kind === 'issue' || !isListedTask(task) || task.source.kind === 'prompt'
    ? task
    : `“${toOneLine(task.title, 60).replaceAll('`', "'")}”`;
}
