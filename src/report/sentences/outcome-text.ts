import type { CircuitReason } from '../../core/lane/circuit.ts';
import type { Outcome, OutcomeKind, ParkReason, RunBound } from '../../core/outcome.ts';
import { count, formatCost, formatInstantFrom, formatTokens } from '../format.ts';
import type { HeldHead } from '../../handover/intake.ts';
import type { RunReport, TaskReport } from '../../handover/report.ts';
import {
  allTasksOf,
  doneTasks,
  findingsOf,
  isQueue,
  isScheduled,
  iterationsOf,
  lastVerification,
  passedCommands,
  laneOf,
  settingOf,
  tasksOf,
  warningsOf,
  workOf,
} from '../facts.ts';
import { failedWords } from '../agent-failures.ts';
import { alarms } from './alarms.ts';
import { stillAgainst } from './feedback.ts';
import type { OutcomeText } from './ends/outcome-words.ts';
import { baseIsRed } from './ends/red-base.ts';
import { noTasks, taskInvitation, type TaskSources } from './task-sources.ts';
import { passedWords } from './test-state.ts';
import { unblocking } from './unblocking.ts';
import { obstacleLines, stuckLines } from './waiting.ts';
import { firstLines, namesOf } from '../../core/text/lists.ts';
import { MINUTE_MS } from '../../core/time.ts';
import { policyInputs } from '../../config/policy-inputs.ts';
import { cut } from '../../core/text/cut.ts';
import { tasksDone } from '../../core/tasks/queue.ts';
import { isListed, nameOfTask } from '../../core/tasks/task.ts';

/** So many waiting tasks the headline names. */
const SHOWN_WAITING = 5;

type ReasonOf<Kind extends OutcomeKind> = Extract<Outcome, { kind: Kind }>['reason'];

/** One text per outcome kind and reason, with the run's numbers. */
export function describeOutcome(report: RunReport): OutcomeText {
  const text = describeEnd(report);
  const { outcome } = report;
  // What nobody worked on has nothing to say of tests.
  if (outcome.kind === 'refused' || iterationsOf(report).length === 0) return text;
  // It says itself which command fails.
  if (outcome.reason === 'base_is_red') return text;
  return { ...text, what: [withTests(text.what, report), ...alarms(report).map((line) => `- ${line}`)].join('\n') };
}

/** A red verification is the first thing to know, that nothing was tested is never left out. */
function withTests(what: string, report: RunReport): string {
  const [first, ...others] = settingOf(report)?.verifyCommands ?? [];
  const [opening, ...lines] = what.split('\n');
  const told = (sentence: string): string => [`${opening ?? ''} ${sentence}`, ...lines].join('\n');
  if (first === undefined && report.outcome.kind === 'failed') return what;
  if (first === undefined) {
    const steps = passedCommands(report).map((step) => `\`${cut(step, 60).replaceAll('`', "'")}\``);
    return told(
      steps.length === 0
        ? '⚠️ Nothing was tested: set `verify` to the command that runs the tests.'
        : `⚠️ \`verify\` is not set; ${passedWords(steps)}.`,
    );
  }
  const name = others.length === 0 ? `\`${cut(first, 80).replaceAll('`', "'")}\`` : '`verify`';
  const verification = lastVerification(report);
  switch (verification.kind) {
    case 'passed':
      // A run that failed on its way has no good news.
      return report.outcome.kind === 'failed' ? what : told(`✅ ${name} passes.`);
    case 'failed':
      return `❌ \`${cut(verification.command, 80).replaceAll('`', "'")}\` fails. ${what}`;
    case 'not-run': {
      // Earlier runs left it so.
      const since = workOf(report)?.change.failingSince ?? null;
      return since === null ? what : `❌ ${name} has been failing since iteration ${String(since)}. ${what}`;
    }
  }
}

function merging(report: RunReport): string {
  if (lastVerification(report).kind === 'failed') return 'Look at the failing tests before anything is merged.';
  return laneOf(report)?.checks?.unstarted === true && stillAgainst(report) === ''
    ? 'Have the checks run, which have not started; then review the pull request and merge it.'
    : orWhatIsAgainst(report, 'Review the pull request and merge it.');
}

function orWhatIsAgainst(report: RunReport, mergeIt: string): string {
  const against = stillAgainst(report);
  return against === '' ? mergeIt : `Look at the pull request before anything is merged: ${against}.`;
}

/** The same without what is to be known of tests, left-out files and denied tools. */
export function describeEnd(report: RunReport): OutcomeText {
  const { outcome } = report;
  switch (outcome.kind) {
    case 'complete':
      return { title: 'Complete', what: completion(outcome.reason, report), next: merging(report) };
    case 'cancelled':
      return cancelled(outcome.reason, report);
    case 'halted':
      return halted(outcome, report);
    case 'blocked':
      if (outcome.reason === 'base_is_red') return baseIsRed(report);
      return { title: 'Blocked', what: blockedTasks(allTasksOf(report)), next: unblocking(report) };
    case 'parked':
      return parked(outcome, report);
    case 'limit':
      return outcome.reason === 'checks' ? checksLeft(report) : limited(outcome.reason, report);
    case 'idle':
      switch (outcome.reason) {
        case 'updated':
          return { title: 'Updated', what: outcome.message, next: 'Nothing to do.' };
        case 'no_such_label':
          return { title: 'Idle', what: outcome.message, next: 'Until then, runs end here without a call.' };
        default:
          return idle(outcome.reason, report);
      }
    case 'paused':
      if (outcome.reason === 'withdrawn') return withdrawn(report);
      return iterationsOf(report).length === 0
        ? { title: 'Paused', what: `Paused by ${outcome.by}; no call was made.`, next: resumption(outcome.by, report) }
        : {
            title: 'Stopped',
            what: `Stopped by ${outcome.by} after ${count(iterationsOf(report).length, 'iteration')} of this run.`,
            next: `${resumption(outcome.by, report)}${kept(report)}`,
          };
    case 'refused':
      return outcome.reason === 'another_run'
        ? {
            title: 'Another run is at work',
            what: outcome.message,
            next: `This run made no call. ${isScheduled(report) ? 'Nothing to do: the next scheduled run picks up what is left.' : 'When the other run has ended, comment `/ralph run` on the issue.'}`,
          }
        : {
            title: 'Refused',
            what: outcome.message,
            next: 'Ask someone with write access to the repository to do it.',
          };
    case 'failed':
      return outcome.reason === 'configuration'
        ? {
            title: 'Failed: configuration',
            what: outcome.message,
            next:
              findingsOf(report).length > 0
                ? 'Fix what has a ✗, then give the command `doctor` again.'
                : `Fix the problems above and re-run the workflow.${kept(report)}`,
          }
        : {
            title: 'Failed: infrastructure',
            what: outcome.message,
            next: `Re-run the workflow. If it fails in the same way, follow the message above.${kept(report)}`,
          };
  }
}

/** Why a circuit opened, with the input that sets the threshold. */
function describeCircuitReason(reason: CircuitReason, report: RunReport): string {
  const policy = settingOf(report)?.policy.circuit;
  const at = (field: 'noProgress' | 'sameError' | 'permissionDenials' | 'outputDeclinePercent') =>
    `\`${policyInputs.circuit[field].name}\`${policy === undefined ? '' : ` is ${policy[field]}`}`;
  switch (reason) {
    case 'no_progress':
      return laneOf(report)?.openedBy === 'probe'
        ? 'the one iteration that tried again changed nothing'
        : `${policy === undefined ? 'several' : policy.noProgress} iterations in a row changed nothing (${at('noProgress')})`;
    case 'same_error':
      return `the same error came back every time (${at('sameError')})`;
    case 'agent_error':
      return laneOf(report)?.openedBy === 'probe'
        ? 'the one iteration that tried again failed'
        : `the agent failed in ${policy === undefined ? 'several' : policy.noProgress} iterations in a row, and nothing changed (${at('noProgress')})`;
    case 'permission_denied':
      return `the agent was denied a tool it needs: ${deniedTools(report)} (${at('permissionDenials')})`;
    case 'output_decline':
      return `the agent's answers shrank without any progress (${at('outputDeclinePercent')})`;
    case 'state_unreadable':
      return 'the saved state could not be read and a probe made no progress';
  }
}

/** Whether the prompt is all that the run had to do: then nothing is to be counted. */
function isPromptAlone(report: RunReport): boolean {
  const tasks = tasksOf(report);
  return tasks.length > 0 && tasks.every(({ task }) => task.source.kind === 'prompt');
}

function doneWords(report: RunReport): string {
  return tasksDone(doneTasks(report).length, tasksOf(report).length);
}

function promptName(report: RunReport): string {
  return tasksOf(report)
    .slice(0, 1)
    .map(({ task }) => nameOfTask(task).replaceAll('`', "'"))
    .join('');
}

function completion(reason: ReasonOf<'complete'>, report: RunReport): string {
  const done = isPromptAlone(report) ? `nothing is left of \`${promptName(report)}\`` : doneWords(report);
  switch (reason) {
    case 'plan_complete':
      return tasksOf(report).length === 1 ? 'The task is done.' : allDone(report);
    case 'project_complete':
      return `The agent says that the work is finished, and nothing contradicts it (${done}).`;
    case 'completion_signals':
      return `The agent said "done" ${settingOf(report)?.policy.completionSignals ?? 'several'} times in a row, and nothing contradicts it (${done}).`;
  }
}

function cancelled(reason: ReasonOf<'cancelled'>, report: RunReport): OutcomeText {
  const after = `after ${count(iterationsOf(report).filter(({ evidence }) => evidence.end.kind !== 'cancelled').length, 'finished iteration')}`;
  return reason === 'signal'
    ? {
        title: 'Cancelled',
        what: `The run was cancelled ${after}.`,
        next: `To continue, re-run the workflow.${kept(report)}`,
      }
    : {
        title: 'Killed',
        what: `The job was killed ${after}; the iteration that was running is lost.`,
        next: `The next run continues from here.${kept(report)} If the job ran out of time, lower \`${policyInputs.maxRunMs.name}\` or raise the job's \`timeout-minutes\`.`,
      };
}

function halted(outcome: Extract<Outcome, { kind: 'halted' }>, report: RunReport): OutcomeText {
  switch (outcome.reason) {
    case 'permission_denied':
      return {
        title: 'Stopped: permission denied',
        what: `The agent was denied a tool: ${deniedTools(report)}.`,
        next: `Add it to \`${policyInputs.allowedTools.name}\` if the agent may have it, or set \`${policyInputs.onPermissionDenied.name}: count\` so that one denial does not stop the run.${thenRetry(report)}`,
      };
    case 'test_saturation':
      return {
        title: 'Stopped: only tests',
        what: `${settingOf(report)?.policy.testOnlyIterations ?? 'Several'} iterations in a row changed nothing but tests.`,
        next: `Say in the task what is still missing in the code, or close it if nothing is. \`${policyInputs.testOnlyIterations.name}\` sets the threshold.${thenRetry(report)}`,
      };
    case 'safety':
      return {
        title: 'Stopped: claims without evidence',
        what: 'The agent said five times that it is finished, and each time open tasks or a failing `verify` command said otherwise.',
        next: `Look at the overruled claims in the job summary, then fix the \`verify\` command or make the open task clearer.${thenRetry(report)}`,
      };
    case 'circuit_open': {
      const why = describeCircuitReason(outcome.circuitReason, report);
      const until = formatInstantFrom(outcome.probeAt, report.endedAt);
      const isAgents = outcome.circuitReason === 'agent_error';
      const retry = isAgents
        ? 'No task is to blame: fix what the error names (the agent, its settings, its MCP servers, its provider), then comment `/ralph retry`.'
        : 'To continue at once, fix the cause and comment `/ralph retry`.';
      const words = isAgents ? failedWords(report) : null;
      return outcome.tripped === 'this-run'
        ? {
            title: isAgents ? 'Stopped: the agent fails' : 'Stopped: no progress',
            what: `${upperFirst(why)}, so no further call is made for now (the circuit is open).${words === null ? '' : ` The last time, ${words}`}`,
            next: `${retry} Otherwise one iteration tries again after ${until}.`,
          }
        : {
            title: 'Waiting after a stop',
            what: `No call was made: ${laneOf(report)?.openedBy === 'another-ralph' ? 'another Ralph left its circuit open' : `in an earlier run ${why} (the circuit is open)`}.`,
            next: `${retry} Otherwise the first run after ${until} tries one iteration.`,
          };
    }
  }
}

/** How work continues once the cause is fixed: the schedule works the queue, an issue's own branch waits for a person. */
function thenRetry(report: RunReport): string {
  return isScheduled(report)
    ? ' The next scheduled run continues; to continue at once, comment `/ralph retry`.'
    : ' Then comment `/ralph retry` on the issue.';
}

function parked(outcome: Extract<Outcome, { kind: 'parked' }>, report: RunReport): OutcomeText {
  const input: Readonly<Record<ParkReason, string>> = {
    calls_per_hour: ` To go faster, raise \`${policyInputs.maxCallsPerHour.name}\`.`,
    tokens_per_hour: ` To go faster, raise \`${policyInputs.maxTokensPerHour.name}\`.`,
    cost_per_day: ` To go faster, raise \`${policyInputs.maxCostUsdPerDay.name}\`.`,
    step_circuit:
      ' The journal has what failed. To try at once, comment `/ralph run`; `reset_after` in the pipeline says how long a step waits.',
    usage_limit: ` This is a limit of your plan or key with the provider, not of this action.${unconfirmedWord(outcome, report)}`,
  };
  const { needsPerson } = { needsPerson: undefined, ...outcome };
  if (needsPerson !== undefined)
    return {
      title: 'Waiting for a limit that needs a person',
      what: `The provider says: \`${cut(needsPerson, 300).replaceAll('`', "'")}\`. One call tries again after ${formatInstantFrom(outcome.resumeAt, report.endedAt)}.${notWaited(report)}`,
      next: `Raise the limit with the provider, add credit there, or give the agent another key or plan; then comment \`/ralph run\`, or wait. This is a limit of your plan or key, not of this action.${unconfirmedWord(outcome, report)}`,
    };
  return {
    title: outcome.reason === 'step_circuit' ? 'Waiting to try the agent again' : 'Waiting for a limit to reset',
    what: `${whyParked(outcome, report)} Work ${isScheduled(report) && report.runUrl !== '' ? 'continues' : 'can continue'} after ${formatInstantFrom(outcome.resumeAt, report.endedAt)}.${notWaited(report)}`,
    next: `${goesOn(report, 'after that')}${input[outcome.reason]}`,
  };
}

/** Why a run that was to wait for the limit did not; empty where nothing kept it from that. */
function notWaited(report: RunReport): string {
  switch (workOf(report)?.notWaited ?? null) {
    case 'iterations':
      return ` The run did not wait for that: it has made all the iterations that \`${policyInputs.maxIterations.name}\` allows.`;
    case 'minutes':
      return ` The run did not wait for that: \`${policyInputs.maxRunMs.name}\` would leave no time for a call.`;
    case 'cost':
      return ` The run did not wait for that: it has spent what \`${policyInputs.maxCostUsd.name}\` allows.`;
    case null:
      return '';
  }
}

/** Why the wait is shorter than the agent reported; empty when it is not. */
function unconfirmedWord({ resumeAt }: Extract<Outcome, { kind: 'parked' }>, report: RunReport): string {
  const limit = iterationsOf(report).at(-1)?.analysis.usageLimit ?? null;
  const reported = Date.parse(limit?.resumeAt ?? '');
  return limit?.unconfirmed === true && reported > resumeAt
    ? ` The agent reported a wait until ${formatInstantFrom(reported, report.endedAt)}, but only one sign points to it: the wait is 6 hours at most.`
    : '';
}

/** Who takes the work up again: the schedule works the queue, and an issue's own branch where that has nothing to do. What a person must decide comes first. */
function goesOn(report: RunReport, when: 'after that' | 'from here'): string {
  const isAsked = allTasksOf(report).some(({ progress }) => progress.state === 'blocked');
  const first = isAsked ? 'Decide what needs a person;' : 'Nothing to do:';
  if (isQueue(report)) return `${first} the next scheduled run continues ${isAsked ? 'with the rest ' : ''}${when}.`;
  if (isScheduled(report))
    return `${first} the next scheduled run${when === 'after that' ? ' after that' : ''} works on the issue.`;
  const others =
    when === 'from here'
      ? 'A scheduled run with nothing else to do continues from here; to continue now, comment `/ralph run` on the issue.'
      : 'A scheduled run with nothing else to do continues after that, and so does `/ralph run` on the issue.';
  return isAsked ? `Decide what needs a person. ${others}` : others;
}

/** People took back everything that the run worked on. */
function withdrawn(report: RunReport): OutcomeText {
  const names = tasksOf(report).flatMap(({ task }) => (task.obstacle === 'withdrawn' ? [nameOfTask(task)] : []));
  const head = laneOf(report)?.headSha ?? null;
  return {
    title: 'Stopped',
    what: `${namesOf(names)} ${names.length === 1 ? 'was' : 'were'} taken back by a person while this run worked: no further call is made, and nothing here says that it is done.`,
    next: `${head === null ? '' : 'What was done stays on the branch. '}To continue, open the issue again with the task label.`,
  };
}

/** How to continue: a lane is paused by an order, or by a pull request that was closed. */
function resumption(by: string, report: RunReport): string {
  if (by.startsWith('pull request #'))
    return 'To continue, reopen the pull request; to begin from scratch, delete its branch.';
  if (by.startsWith('the deletion of branch'))
    return 'What this run made was not pushed. The next run begins from the base branch.';
  if (!isQueue(report)) return 'To continue, comment `/ralph resume` on the issue.';
  const where =
    (laneOf(report)?.pullRequest ?? null) === null
      ? "one of the queue's issues"
      : "the pull request or one of the queue's issues";
  return `To continue, comment \`/ralph resume\` on ${where}, or run the workflow by hand with the command \`resume\`.`;
}

/** The windows do not distinguish the two. */
const USED_OR_RESERVED = 'used up, or reserved by other runs';

function whyParked(outcome: Extract<Outcome, { kind: 'parked' }>, report: RunReport): string {
  const policy = settingOf(report)?.policy;
  switch (outcome.reason) {
    case 'calls_per_hour':
      return `The hourly limit of ${policy ? count(policy.maxCallsPerHour, 'call') : 'calls'} is ${USED_OR_RESERVED}.`;
    case 'tokens_per_hour':
      return `The hourly limit of ${policy ? `${formatTokens(policy.maxTokensPerHour)} tokens` : 'tokens'} is ${USED_OR_RESERVED}.`;
    case 'cost_per_day':
      return `Today's budget${policy ? ` of ${formatCost(policy.maxCostUsdPerDay)}` : ''} is ${USED_OR_RESERVED}.`;
    case 'step_circuit':
      return outcome.step === null
        ? "No step of the pipeline may call the agent: each one's own circuit is open after failures in a row."
        : `The step \`${outcome.step.replaceAll('`', "'")}\` of the pipeline failed several times in a row, so its circuit is open. It is required, so nothing can be finished without it.`;
    case 'usage_limit':
      return (policy?.agents.length ?? 1) > 1
        ? 'None of the agents can be called for now: a usage limit is reached.'
        : "The provider's usage limit is reached.";
  }
}

function checksLeft(report: RunReport): OutcomeText {
  const left = allTasksOf(report).filter(({ task }) => task.obstacle === 'unread').length;
  return {
    title: 'More checks to look at',
    what: `Stopped with ${doneWords(report)}: ${count(left, 'more failed check')} ${left === 1 ? 'waits' : 'wait'} for what CI says of this work.`,
    next: goesOn(report, 'from here'),
  };
}

function limited(reason: RunBound, report: RunReport): OutcomeText {
  const policy = settingOf(report)?.policy;
  const done = doneWords(report);
  const limits = {
    iterations: {
      title: 'Iteration limit',
      value: count(policy?.maxIterations ?? iterationsOf(report).length, 'iteration'),
      input: policyInputs.maxIterations.name,
    },
    minutes: {
      title: 'Time limit',
      value: policy ? count(Math.round(policy.maxRunMs / MINUTE_MS), 'minute') : 'its time',
      input: policyInputs.maxRunMs.name,
    },
    cost: {
      title: 'Cost limit',
      value: policy ? formatCost(policy.maxCostUsd) : 'its budget',
      input: policyInputs.maxCostUsd.name,
    },
  } as const;
  const { title, value, input } = limits[reason];
  return {
    title,
    what: isPromptAlone(report)
      ? `Stopped at the limit of ${value} for one run; \`${promptName(report)}\` is not done yet.`
      : `Stopped at the limit of ${value} for one run, with ${done}.`,
    next: `${goesOn(report, 'from here')}${more(input, report)}`,
  };
}

/** A higher limit is a choice, where more of the same would help. */
function more(input: string, report: RunReport): string {
  return lastVerification(report).kind === 'failed' ? '' : ` A higher \`${input}\` lets one run do more.`;
}

function idle(reason: Exclude<ReasonOf<'idle'>, 'updated' | 'no_such_label'>, report: RunReport): OutcomeText {
  const setting = settingOf(report);
  const warned = warningsOf(report).length > 0;
  const label = setting === null ? 'the task label' : `the label \`${setting.taskLabel}\``;
  const where: TaskSources = { sources: setting?.taskSources ?? [], label };
  switch (reason) {
    case 'no_tasks':
      return {
        title: 'Idle',
        what: `Nothing to do: ${noTasks(where, warned)}.${warned ? ' The warnings say what was left out.' : ''}`,
        next: sentence(taskInvitation(where)),
      };
    case 'all_done':
      return {
        title: 'Idle',
        what: isPromptAlone(report)
          ? 'Nothing to do: what the prompt asks for is done already.'
          : `Nothing to do: ${doneWords(report)} already.`,
        next: isPromptAlone(report)
          ? `${orWhatIsAgainst(report, 'Merge the pull request.')} Work begins again when \`${promptName(report)}\` or a document that it points to changes on the base branch, or by \`/ralph run\` on the pull request, or the command \`run\`.`
          : `${orWhatIsAgainst(report, 'Merge the pull request.')} For more work, ${taskInvitation(where)}.`,
      };
    case 'waiting_for_review':
      return { title: 'Waiting for review', what: waitingForReview(report), next: afterReview(report) };
    case 'not_for_us':
      return {
        title: 'Not for Ralph',
        what: `This event has neither ${label} nor a known \`/ralph\` command, and no review or failed check to answer.`,
        next: 'Nothing to do.',
      };
    case 'answered':
      return { title: 'Answered', what: 'The command was answered; no call was made.', next: 'Nothing to do.' };
  }
}

/** What people have to review before the queue continues. */
function waitingForReview(report: RunReport): string {
  const lane = laneOf(report);
  const pull = lane?.pullRequest ?? null;
  if (lane !== null && lane.held !== null && pull !== null) return waitingForMerge(report, lane.held, pull.number);
  const open = tasksOf(report).length - doneTasks(report).length;
  const left =
    open === 0 || isPromptAlone(report) ? '' : ` ${count(open, 'task')} ${open === 1 ? 'waits' : 'wait'} behind it.`;
  return pull === null && report.kind !== 'worked'
    ? `Ralph has as many open pull requests as \`max-open-prs\` allows, so the queue opens no more.${left}`
    : `${pull === null ? 'The pull request' : `Pull request #${pull.number}`} is as large as one review should be (\`max-tasks-per-pr\`, \`max-lines-per-pr\`).${left}`;
}

/** Why nothing new is pushed to a pull request, and what waits for that. */
function waitingForMerge(report: RunReport, { hold, refusal }: HeldHead, number: number): string {
  const held = tasksOf(report).filter(({ task }) => task.obstacle === 'held').length;
  const left = held === 0 ? '' : ` ${count(held, 'task')} ${held === 1 ? 'waits' : 'wait'} behind it.`;
  const name = `Pull request #${number}`;
  if (report.kind === 'worked') return `${name} has new commits to review.${left}`;
  const decided = `${name} is ${holdWords(hold)}`;
  return refusal === null
    ? `${decided}, so nothing new is pushed to it.${left}`
    : `${decided}. What is asked of it needs new commits, and this token could not make it a draft first, so nothing is pushed: ${refusal}`;
}

/** `approved and set to merge automatically` */
function holdWords({ approvedBy, autoMerge, queued }: HeldHead['hold']): string {
  const merging = queued ? 'in the merge queue' : autoMerge ? 'set to merge automatically' : '';
  if (merging === '') return 'approved';
  return approvedBy.length > 0 ? `approved and ${merging}` : merging;
}

function afterReview(report: RunReport): string {
  const held = laneOf(report)?.held ?? null;
  if (held === null || report.kind === 'worked')
    return 'Review and merge what is open, or close it: then the queue continues by itself.';
  return held.refusal === null
    ? 'Merge it: then work continues by itself. To have more work in it first, switch auto-merge off and convert it to a draft, or comment `/ralph run`.'
    : 'Switch auto-merge off and convert the pull request to a draft by hand, or merge it: then the next run continues.';
}

/** Which tasks wait for what: the first five, each in a line of its own. */
function blockedTasks(tasks: readonly TaskReport[]): string {
  const waiting = [...stuckLines(tasks), ...obstacleLines(tasks)];
  if (waiting.length === 0) return 'The agent says that it cannot continue without a person.';
  const done = tasks.filter(({ task, progress }) => isListed(task) && progress.state === 'done').length;
  return [
    `${count(waiting.length, 'task')} ${waiting.length === 1 ? 'needs' : 'need'} a person${done === 0 ? '' : `; ${done} ${done === 1 ? 'is' : 'are'} done`}.`,
    ...firstLines(waiting, SHOWN_WAITING).map((line) => `- ${line}`),
  ].join('\n');
}

/** `#12 and #14 are done.` */
function allDone(report: RunReport): string {
  const done = doneTasks(report);
  const all = tasksOf(report).length;
  if (done.length < all) return `Everything required is done (${done.length} of ${count(all, 'task')}).`;
  return done.length > 2
    ? `All ${count(done.length, 'task')} are done.`
    : `${done.map(({ task }) => nameOfTask(task)).join(' and ')} are done.`;
}

function upperFirst(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

function sentence(words: string): string {
  return `${upperFirst(words)}.`;
}

function deniedTools(report: RunReport): string {
  const denials = iterationsOf(report).findLast((entry) => entry.analysis.denials.length > 0)?.analysis.denials ?? [];
  const shown = denials
    .slice(0, 3)
    .map(
      ({ tool, command }) =>
        `\`${tool.replaceAll('`', "'")}${command === null ? '' : `: ${cut(command, 80).replaceAll('`', "'")}`}\``,
    );
  return shown.length === 0 ? 'see the job log' : shown.join(', ');
}

/** Where finished work is; says nothing when there is none, or none that was published. */
function kept(report: RunReport): string {
  if (report.kind !== 'worked' || report.iterations.length === 0 || report.headSha === null) return '';
  return ` What is finished is on \`${report.branch}\`.`;
}
