import { policyInputs } from '../../config/agent-inputs.ts';
import type { CircuitReason } from '../../core/lane/circuit.ts';
import type { Outcome, OutcomeKind } from '../../core/outcome.ts';
import { isListedTask, nameOfTask } from '../../core/tasks/task.ts';
import { completeSentence, cutText, capLines, listFirstNames, capitalizeFirst } from '../../core/text/phrase.ts';
import type { HeldHead } from '../../handover/intake.ts';
import type { RunReport, TaskReport } from '../../handover/report.ts';
import {
  listAllTasks,
  listDoneTasks,
  isPromptAlone,
  listIterations,
  selectLaneReport,
  pickVerification,
  listPassedCommands,
  nameFirstTask,
  selectReportSetting,
  listLaneTasks,
  listSettingWarnings,
  selectWorkedReport,
  describeLastFailure,
} from '../facts.ts';
import { formatCount } from '../format.ts';
import { describeAnsweredRun } from './ends/outcome-name.ts';
import { listAlarms, describePassedSteps } from './alarms.ts';
import { type ReadingPlace, type Words, renderWords } from '../next/step.ts';
import { describeProgress, describeLimit, type OutcomeText, describeParked } from './outcome-limits.ts';
import { nameBlockedRun, nameRunStop, YOU_ARE_NEEDED } from './trouble.ts';
import {
  describeRedBase,
  describeNoTasks,
  describeObstacles,
  findOnlyTrouble,
  describeTaskSources,
  describeStuckTasks,
  quoteWordsOn,
} from './waiting.ts';

/** Maximum number of waiting tasks in the headline. */
const SHOWN_WAITING = 5;

type ReasonOf<Kind extends OutcomeKind> = Extract<Outcome, { kind: Kind }>['reason'];

/** Describes the outcome with the run's numbers; every kind and reason has a text. `place`: where it is read. */
export function describeOutcome(report: RunReport, place: 'page' | 'words' = 'words'): OutcomeText {
  const text = describeOutcomeAlone(report);
  const { outcome } = report;
  // A run without iterations says nothing about tests, so return the text alone.
  if (outcome.kind === 'refused' || listIterations(report).length === 0) return text;
  // The text of this outcome already names the failing command, so do not repeat it.
  if (outcome.reason === 'base_is_red') return text;
  const red = outcome.kind === 'failed' ? null : redTests(report);
  const title = red === null ? text.title : [`❌ ${red}; `, ...lowerFirst(text.title)];
  const lines = [withTests(text.what, report), ...listAlarms(report, place).map((line) => `- ${line}`)];
  return { title, what: lines.join('\n') };
}

/**
 * Renders the headline of a run, the same on every page and in the log, with problems first and without a full stop.
 */
export function renderHeadline(report: RunReport, target: ReadingPlace): string {
  return renderWords(describeOutcome(report).title, target);
}

/** Returns the command on which `verify` fails, for a headline, or null if it does not fail. */
function redTests(report: RunReport): string | null {
  const [first, ...others] = selectReportSetting(report)?.verifyCommands ?? [];
  if (first === undefined) return null;
  const verification = pickVerification(report);
  if (verification.kind === 'failed') return `${inCode(verification.command)} fails`;
  // The failure dates from earlier runs, so say since when.
  const since = verification.kind === 'not-run' ? (selectWorkedReport(report)?.change.failingSince ?? null) : null;
  return since === null
    ? null
    : `${others.length === 0 ? inCode(first) : '`verify`'} has been failing since iteration ${String(since)}`;
}

function inCode(command: string): string {
  return `\`${cutText(command, 80).replaceAll('`', "'")}\``;
}

function lowerFirst([first, ...others]: Words): Words {
  return typeof first === 'string'
    ? [`${first.charAt(0).toLowerCase()}${first.slice(1)}`, ...others]
    : [first ?? '', ...others];
}

/** Adds that the tests pass, or that nothing was tested. */
function withTests(what: string, report: RunReport): string {
  const [first, ...others] = selectReportSetting(report)?.verifyCommands ?? [];
  const [opening, ...lines] = what.split('\n');
  const withOpening = (sentence: string): string => [`${opening ?? ''} ${sentence}`.trim(), ...lines].join('\n');
  if (report.outcome.kind === 'failed') {
    // A failed run does not report good news, so add only failing tests.
    const red = redTests(report);
    return red === null ? what : `❌ ${red}. ${what}`;
  }
  if (first === undefined) {
    const steps = listPassedCommands(report).map((step) => inCode(cutText(step, 60)));
    return withOpening(
      steps.length === 0
        ? '⚠️ Nothing was tested: set `verify` to the command that runs the tests.'
        : `⚠️ \`verify\` is not set; ${describePassedSteps(steps)}.`,
    );
  }
  return pickVerification(report).kind === 'passed'
    ? withOpening(`✅ ${others.length === 0 ? inCode(first) : '`verify`'} passes.`)
    : what;
}

/** Describes the outcome without tests, left-out files and denied tools. */
export function describeOutcomeAlone(report: RunReport): OutcomeText {
  const { outcome } = report;
  switch (outcome.kind) {
    case 'complete':
      return { title: ['Complete'], what: completion(outcome.reason, report) };
    case 'cancelled':
      return cancelled(outcome.reason, report);
    case 'halted':
      return halted(outcome, report);
    case 'blocked':
      if (outcome.reason === 'base_is_red') return describeRedBase(report);
      return { title: nameBlockedRun(report), what: blockedTasks(listAllTasks(report)) };
    case 'parked':
      return describeParked(outcome, report);
    case 'limit':
      return outcome.reason === 'checks' ? checksLeft(report) : describeLimit(outcome.reason, report);
    case 'idle':
      switch (outcome.reason) {
        case 'updated':
          return { title: ['Updated'], what: outcome.message };
        case 'no_such_label':
          return { title: ['Idle'], what: outcome.message };
        default:
          return idle(outcome.reason, report);
      }
    case 'paused':
      if (outcome.reason === 'withdrawn') return withdrawn(report);
      if (report.kind !== 'worked') return { title: ['Paused'], what: `Paused by ${outcome.by}; no call was made.` };
      return { title: ['Stopped'], what: `Stopped by ${outcome.by}${describeCallsSoFar(report)}.` };
    case 'refused':
      return {
        title: [outcome.reason === 'another_run' ? 'Another run is at work' : 'Refused'],
        what: outcome.message,
      };
    case 'failed':
      return { title: [`Failed: ${outcome.reason}`, YOU_ARE_NEEDED], what: outcome.message };
  }
}

function describeCallsSoFar(report: RunReport): string {
  const { length } = listIterations(report);
  return length === 0 ? '; no call was made' : ` after ${formatCount(length, 'iteration')} of this run`;
}

/** Explains why a circuit opened, with the input that sets the threshold. */
function describeCircuitReason(reason: CircuitReason, report: RunReport): string {
  const policy = selectReportSetting(report)?.policy.circuit;
  const at = (field: 'noProgress' | 'sameError' | 'permissionDenials' | 'outputDeclinePercent') =>
    `\`${policyInputs.circuit[field].name}\`${policy === undefined ? '' : ` is ${policy[field]}`}`;
  switch (reason) {
    case 'no_progress':
      return selectLaneReport(report)?.openedBy === 'probe'
        ? 'the one iteration that tried again made no progress'
        : `${policy === undefined ? 'several' : policy.noProgress} iterations in a row made no progress (${at('noProgress')})`;
    case 'same_error':
      return `the same error came back every time (${at('sameError')})`;
    case 'agent_error':
      return selectLaneReport(report)?.openedBy === 'probe'
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

function completion(reason: ReasonOf<'complete'>, report: RunReport): string {
  const done = isPromptAlone(report) ? `nothing is left of \`${nameFirstTask(report)}\`` : describeProgress(report);
  switch (reason) {
    case 'plan_complete':
      return listLaneTasks(report).length === 1 ? 'The task is done.' : allDone(report);
    case 'project_complete':
      return `The agent says that the work is finished, and nothing contradicts it (${done}).`;
    case 'completion_signals':
      return `The agent said "done" ${selectReportSetting(report)?.policy.completionSignals ?? 'several'} times in a row, and nothing contradicts it (${done}).`;
  }
}

function cancelled(reason: ReasonOf<'cancelled'>, report: RunReport): OutcomeText {
  const after = `after ${formatCount(listIterations(report).filter(({ evidence }) => evidence.end.kind !== 'cancelled').length, 'finished iteration')}`;
  return reason === 'signal'
    ? { title: ['Cancelled'], what: `The run was cancelled ${after}.` }
    : { title: ['Killed'], what: `The job was killed ${after}; the iteration that was running is lost.` };
}

function halted(outcome: Extract<Outcome, { kind: 'halted' }>, report: RunReport): OutcomeText {
  const title = nameRunStop(outcome, report);
  switch (outcome.reason) {
    case 'permission_denied':
      return { title, what: `The agent was denied a tool: ${deniedTools(report)}.` };
    case 'test_saturation':
      return {
        title,
        what: `${selectReportSetting(report)?.policy.testOnlyIterations ?? 'Several'} iterations in a row changed only tests.`,
      };
    case 'safety':
      return {
        title,
        what: 'The agent said five times that it is finished, and each time open tasks or a failing `verify` command said otherwise.',
      };
    case 'circuit_open': {
      const why = describeCircuitReason(outcome.circuitReason, report);
      const isAgents = outcome.circuitReason === 'agent_error';
      const words = isAgents ? describeLastFailure(report) : null;
      const quoted = words === null ? '' : ` The last time, ${completeSentence(words)}`;
      return outcome.tripped === 'this-run'
        ? { title, what: `${capitalizeFirst(why)}, so no further call is made for now (the circuit is open).${quoted}` }
        : {
            title: ['Waiting after a stop'],
            what: `No call was made: ${selectLaneReport(report)?.openedBy === 'another-ralph' ? 'another Ralph left its circuit open' : `in an earlier run ${why} (the circuit is open)`}.${quoted}`,
          };
    }
  }
}

/** Describes a run whose tasks were all withdrawn by people. */
function withdrawn(report: RunReport): OutcomeText {
  const names = listLaneTasks(report).flatMap(({ task }) => (task.obstacle === 'withdrawn' ? [nameOfTask(task)] : []));
  return {
    title: ['Stopped'],
    what: `${listFirstNames(names)} ${names.length === 1 ? 'was' : 'were'} taken back by a person while this run was working: no more calls are made, and nothing is marked as done.`,
  };
}

function checksLeft(report: RunReport): OutcomeText {
  const left = listAllTasks(report).filter(({ task }) => task.obstacle === 'unread').length;
  return {
    title: ['More checks to look at'],
    what: `Stopped with ${describeProgress(report)}: ${formatCount(left, 'more failed check')} ${left === 1 ? 'waits' : 'wait'} for CI's result on this work.`,
  };
}

function idle(reason: Exclude<ReasonOf<'idle'>, 'updated' | 'no_such_label'>, report: RunReport): OutcomeText {
  const warned = listSettingWarnings(report).length > 0;
  const where = describeTaskSources(report);
  switch (reason) {
    case 'no_tasks':
      return {
        title: ['Idle'],
        what: `Nothing to do: ${describeNoTasks(where, warned)}.${warned ? ' The warnings say what was left out.' : ''}`,
      };
    case 'all_done':
      return {
        title: ['Idle'],
        what: isPromptAlone(report)
          ? 'Nothing to do: what the prompt asks for is done already.'
          : `Nothing to do: ${describeProgress(report)} already.`,
      };
    case 'waiting_for_review':
      return { title: ['Waiting for review'], what: waitingForReview(report) };
    case 'not_for_us':
      return {
        title: ['Not for Ralph'],
        what: `This event has neither ${where.label} nor a known \`/ralph\` command, and no review or failed check to answer.`,
      };
    case 'answered':
      return { title: ['Answered'], what: describeAnsweredRun(report) };
  }
}

/** Describes the pull requests that people must review before the queue continues. */
function waitingForReview(report: RunReport): string {
  const lane = selectLaneReport(report);
  const pull = lane?.pullRequest ?? null;
  if (lane !== null && lane.held !== null && pull !== null) return waitingForMerge(report, lane.held, pull.number);
  const open = listLaneTasks(report).length - listDoneTasks(report).length;
  const left =
    open === 0 || isPromptAlone(report)
      ? ''
      : ` ${formatCount(open, 'task')} ${open === 1 ? 'waits' : 'wait'} behind it.`;
  return pull === null && report.kind !== 'worked'
    ? `Ralph has as many open pull requests as \`max-open-prs\` allows, so the queue opens no more.${left}`
    : `${pull === null ? 'The pull request' : `Pull request #${pull.number}`} is as large as one review should be (\`max-tasks-per-pr\`, \`max-lines-per-pr\`).${left}`;
}

/** Explains why nothing new is pushed to a pull request, and what waits for it. */
function waitingForMerge(report: RunReport, { hold, refusal }: HeldHead, number: number): string {
  const held = listLaneTasks(report).filter(({ task }) => task.obstacle === 'held').length;
  const left = held === 0 ? '' : ` ${formatCount(held, 'task')} ${held === 1 ? 'waits' : 'wait'} behind it.`;
  const name = `Pull request #${number}`;
  if (report.kind === 'worked')
    return `${name} ${report.iterations.some(({ commit }) => commit !== null) ? 'has new commits to review' : 'waits for a person to merge it'}.${left}`;
  const decided = `${name} is ${holdWords(hold)}`;
  return refusal === null
    ? `${decided}, so nothing new is pushed to it.${left}`
    : `${decided}. The requests on it need new commits, and this token could not make it a draft first, so nothing is pushed: ${refusal}`;
}

/** Renders `approved and set to merge automatically`. */
function holdWords({ approvedBy, autoMerge, queued }: HeldHead['hold']): string {
  const merging = queued ? 'in the merge queue' : autoMerge ? 'set to merge automatically' : '';
  if (merging === '') return 'approved';
  return approvedBy.length > 0 ? `approved and ${merging}` : merging;
}

/** Quotes the words about the only waiting task, or lists the first five with the reasons for their wait. */
function blockedTasks(tasks: readonly TaskReport[]): string {
  const named = findOnlyTrouble(tasks);
  if (named !== null) return quoteWordsOn(named);
  const waiting = [...describeStuckTasks(tasks), ...describeObstacles(tasks)];
  if (waiting.length === 0) return 'The agent says that it cannot continue without a person.';
  const done = tasks.filter(({ task, progress }) => isListedTask(task) && progress.state === 'done').length;
  return [
    `${formatCount(waiting.length, 'task')} ${waiting.length === 1 ? 'needs' : 'need'} a person${done === 0 ? '' : `; ${done} ${done === 1 ? 'is' : 'are'} done`}.`,
    ...capLines(waiting, SHOWN_WAITING).map((line) => `- ${line}`),
  ].join('\n');
}

/** Renders `#12 and #14 are done.` */
function allDone(report: RunReport): string {
  const done = listDoneTasks(report);
  const all = listLaneTasks(report).length;
  if (done.length < all) return `Everything required is done (${done.length} of ${formatCount(all, 'task')}).`;
  return done.length > 2
    ? `All ${formatCount(done.length, 'task')} are done.`
    : `${done.map(({ task }) => nameOfTask(task)).join(' and ')} are done.`;
}

function deniedTools(report: RunReport): string {
  const denials = listIterations(report).findLast((entry) => entry.analysis.denials.length > 0)?.analysis.denials ?? [];
  const shown = denials
    .slice(0, 3)
    .map(
      ({ tool, command }) =>
        `\`${tool.replaceAll('`', "'")}${command === null ? '' : `: ${cutText(command, 80).replaceAll('`', "'")}`}\``,
    );
  return shown.length === 0 ? 'see the job log' : shown.join(', ');
}
