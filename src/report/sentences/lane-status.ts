import type { AgentName } from '../../core/agent-names.ts';
import type { ProviderTrouble } from '../../core/agents/providers.ts';
import { formatInstant } from '../../core/countdown.ts';
import { withoutUnprovenAnswers } from '../../core/feedback/unproven.ts';
import type { JournalEntry } from '../../core/journal/journal.ts';
import type { BranchChange } from '../../core/lane/change.ts';
import type { LaneState } from '../../core/lane/state/state.ts';
import { computeExpiry } from '../../core/sharing/lease.ts';
import { nameOfLane, nameOfTaskId, QUEUE } from '../../core/tasks/ids.ts';
import { nameOfTask, type Task } from '../../core/tasks/task.ts';
import { formatTasksDone } from '../../core/tasks/queue.ts';
import { listFirstNames, toOneLine } from '../../core/text/phrase.ts';
import type { Receipt } from '../../handover/intake.ts';
import type { LaneView } from '../../handover/report.ts';
import { formatCount, formatCost, formatInstantFrom, formatTokens, renderTasksBar } from '../format.ts';
import { renderCode, renderLink, linkPages, renderText } from '../markdown.ts';
import { renderCommand, renderContinuation, type ReadingPlace } from '../next/step.ts';
import { nameOutcome } from './ends/outcome-name.ts';
import { listStoredRequests, renderFeedbackCounts } from './feedback.ts';
import { describeObstacles, describeStuckTasks } from './waiting.ts';

type Turn = Pick<JournalEntry, 'iteration' | 'agent' | 'passedOver'>;

const TROUBLE_WORDS: Readonly<Record<ProviderTrouble, string>> = {
  limit: 'its usage limit is reached',
  billing: 'it has no credit',
  auth: 'its key was refused',
  failing: 'its provider kept failing',
};

const SHOWN_TRANSITIONS = 5;

const SHOWN_WAITING = 5;

/** A number above any limit, which makes counters that could not be read look used up. */
const UNREADABLE = 1e12;

/** The way that facts are written: as Markdown or as lines of a log. */
interface Style {
  readonly target: ReadingPlace;
  text(foreign: string, maxChars: number): string;
  code(foreign: string, maxChars: number): string;
  /** Renders our own words as code. */
  own(words: string): string;
  strong(words: string): string;
  link(label: string, url: string): string;
}

const markdownStyle: Style = {
  target: 'markdown',
  text: renderText,
  code: renderCode,
  own: (words) => `\`${words}\``,
  strong: (words) => `**${words}**`,
  link: renderLink,
};

const logStyle: Style = {
  target: 'log',
  text: toOneLine,
  code: toOneLine,
  own: (words) => words,
  strong: (words) => words,
  link: (label, url) => `${label} (${toOneLine(url, 300)})`,
};

/** Renders the lane's status as Markdown: the answer to `/ralph status` and to orders. */
export function renderLaneStatus(view: LaneView): string {
  const changes = transitionLines(view, markdownStyle);
  return [
    ...receiptLines(view, markdownStyle),
    `**Status of ${nameOfLane(view.lane)}**`,
    linkPages(list(laneFacts(view, markdownStyle)), view.runUrl.replace(/\/actions\/runs\/.*$/, '')),
    ...(changes.length === 0 ? [] : ['Last changes:', list(changes)]),
    `<sub>${formatInstant(view.now)}, ${renderLink('run', view.runUrl)}</sub>`,
  ].join('\n\n');
}

/** Renders the lane's status as lines of the job log. */
export function describeLaneStatus(view: LaneView): readonly string[] {
  return [
    ...receiptLines(view, logStyle),
    ...laneFacts(view, logStyle),
    ...transitionLines(view, logStyle).map((line) => `change: ${line}`),
  ];
}

function laneFacts(view: LaneView, style: Style): readonly string[] {
  const { state, tasks, claimedBy, now } = view;
  const done = tasks.filter(({ progress }) => progress.state === 'done').length;
  const current = tasks.find(({ task }) => task.id === state?.currentTask);
  return [
    tasks.length === 0
      ? 'No task is open here.'
      : `${style.own(renderTasksBar(tasks))} ${formatTasksDone(done, tasks.length)}`,
    ...(current === undefined
      ? []
      : [
          `${claimedBy === null ? 'Next' : 'Working on'}: ${style.text(current.task.title, 120)} (${formatCount(current.progress.attempts, 'iteration')} so far)`,
        ]),
    ...answersLine(state),
    ...[...describeStuckTasks(tasks), ...describeObstacles(tasks)]
      .slice(0, SHOWN_WAITING)
      .map((line) => `Waits: ${style.text(line, 300)}`),
    ...(claimedBy === null
      ? []
      : [
          `A ${style.link('run', claimedBy.runUrl)} is at work now, until ${formatInstantFrom(computeExpiry(claimedBy), now)} at the latest${state?.pause && view.jobs === 'one' ? `; a pause lets it continue, ${renderCommand('stop', style.target)} ends it after its iteration` : ''}`,
        ]),
    ...(state?.pause
      ? [
          `Paused by ${style.text(state.pause.by, 60)}, ${formatInstant(state.pause.at)}; to continue: ${renderContinuation('pause', style.target)}`,
        ]
      : []),
    ...(state?.park
      ? [
          `Waits for ${waitedFor(state.park, style)} (${style.code(state.park.reason, 40)}): continues after ${formatInstantFrom(state.park.resumeAt, now)}`,
        ]
      : []),
    `Circuit: ${circuitWord(view, style)}`,
    ...(state === null ? [] : describeIdleAgents(state, now)),
    ...usageFacts(view),
    state?.lastRun
      ? `Last run: ${style.text(nameOutcome({ kind: state.lastRun.outcome, reason: state.lastRun.reason }), 80)}, ${formatInstant(state.lastRun.at)}`
      : 'Last run: none yet',
    `State: ${style.text(view.restored, 200)}`,
    ...(view.pullRequest === null
      ? []
      : [`Pull request: ${style.link(`#${view.pullRequest.number}`, view.pullRequest.url)}`]),
  ];
}

function usageFacts({ usage: { hour, day }, limits, now }: LaneView): readonly string[] {
  const { maxCallsPerHour, maxTokensPerHour, maxCostUsdPerDay } = limits;
  const until = (window: { readonly endsAt: number } | null) =>
    window === null ? '' : `, until ${formatInstantFrom(window.endsAt, now)}`;
  const of = (used: number, limit: number, write: (amount: number) => string) =>
    `${used >= UNREADABLE ? 'all' : write(used)} of ${write(limit)}`;
  const tokens = maxTokensPerHour === 0 ? '' : `, ${of(hour?.tokens ?? 0, maxTokensPerHour, formatTokens)} tokens`;
  return [
    `This hour, used or reserved: ${of(hour?.calls ?? 0, maxCallsPerHour, String)} calls${tokens}${until(hour)}`,
    ...(maxCostUsdPerDay === 0
      ? []
      : [
          `This day (UTC), used or reserved: ${of(day?.costUsd ?? 0, maxCostUsdPerDay, (usd) => (usd === 0 && day !== null ? 'no known cost' : formatCost(usd)))}${until(day)}`,
        ]),
  ];
}

/** Summarizes the requests on the pull request, in our own words only. */
function answersLine(state: LaneState | null): readonly string[] {
  const words = state === null ? '' : renderFeedbackCounts(listStoredRequests(withoutUnprovenAnswers(state).items));
  return words === '' ? [] : [`Review and checks: ${words}`];
}

/** Reports the effect of an order, which the person who gave it wants to know first. */
function receiptLines(view: LaneView, style: Style): readonly string[] {
  const { receipt, claimedBy } = view;
  if (receipt === null) return [];
  const ends =
    receipt.order === 'stop'
      ? view.jobs === 'one'
        ? 'ends after its current iteration.'
        : 'continues to its end: to end it now, cancel it. What is finished is kept.'
      : 'continues to its end; the order takes effect with the next one.';
  const tail = claimedBy === null ? '' : ` The ${style.link('run', claimedBy.runUrl)} in progress ${ends}`;
  return [receiptWord(receipt, view, style) + (receipt.changed ? tail : '')];
}

function receiptWord({ order, changed }: Receipt, { state, lane }: LaneView, style: Style): string {
  const whose = lane === QUEUE ? 'the queue (all tasks without a branch of their own)' : nameOfLane(lane);
  switch (order) {
    case 'pause':
    case 'stop': {
      // Name the person only if this order paused the lane, because somebody else may have paused it before.
      const by = changed && order === 'pause' ? ` by ${style.text(`@${state?.pause?.by ?? ''}`, 61)}` : '';
      const word = order === 'stop' ? 'Stopped' : 'Paused';
      return `${style.strong(changed ? word : 'Already paused')}${by}: no run works on ${whose} until ${renderContinuation('pause', style.target)}.`;
    }
    case 'resume':
      return changed
        ? `${style.strong('Resumed')}: work on ${whose} continues.`
        : `${style.strong('Nothing to resume')}: nothing is paused here.`;
    case 'retry':
      return changed
        ? `${style.strong('Kept for another try')}: what failed or was blocked gets all its iterations again.`
        : `${style.strong('Nothing to try again')}: no such task has failed or is blocked.`;
    case 'reset-circuit':
      return `${style.strong(changed ? 'Circuit closed.' : 'The circuit was already closed.')} The agent begins a new conversation with the next iteration.`;
    case 'reset-session':
      return changed
        ? `${style.strong('Session reset')}: the agent begins a new conversation with the next iteration.`
        : `${style.strong('No session to reset')}: the agent begins a new conversation with the next iteration anyway.`;
    case 'request':
      return `${style.strong('Request kept')}: the next run that may work on ${whose} picks it up.`;
  }
}

function waitedFor(park: NonNullable<LaneState['park']>, style: Style): string {
  if (park.reason !== 'step_circuit') return 'a limit';
  return park.step === null ? 'a step of the pipeline' : `the step ${style.code(park.step, 60)} of the pipeline`;
}

function circuitWord({ circuit, probeAt, state, now }: LaneView, style: Style): string {
  if (circuit !== 'open' || probeAt === null) return circuit;
  const open = state?.circuit.kind === 'open' ? state.circuit : null;
  const why = open === null ? '' : ` (${style.code(open.reason, 40)})`;
  const failure = open?.failure ?? null;
  const words = failure?.words ?? null;
  const quoted = failure === null ? '' : `; ${failure.how}${words === null ? '' : `: ${style.code(words, 300)}`}`;
  return `open${why}${quoted}; the first run after ${formatInstantFrom(probeAt, now)} tries one iteration; to continue at once: ${renderContinuation('circuit', style.target)}`;
}

/** Lists the last transitions, newest last; the reason of an order names the person. */
function transitionLines({ state, tasks }: LaneView, style: Style): readonly string[] {
  // An order may find nothing to change, for example a reset of a closed circuit.
  const shown = state?.transitions.filter(({ from, to }) => from !== to).slice(-SHOWN_TRANSITIONS) ?? [];
  return shown.map(
    ({ at, subject, from, to, reason }) =>
      `${formatInstant(at)}, ${subject}: ${style.text(subject === 'task' ? nameTaskIn(from, tasks) : from, 60)} → ${style.text(to, 60)} (${style.text(reason, 150)})`,
  );
}

/** Replaces the task id with which a text begins by the task's name. */
export function nameTaskIn(text: string, tasks: readonly { readonly task: Task }[]): string {
  return text.replace(/^\S+/, (id) => {
    const known = tasks.find(({ task }) => task.id === id);
    return known === undefined ? nameOfTaskId(id) : nameOfTask(known.task);
  });
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join('\n');
}

/**
 * Describes each hand-over between agents of a run with its reason, in one plain sentence each. Empty if the first
 * agent of the order did everything.
 */
export function describeHandOvers(iterations: readonly Turn[]): readonly string[] {
  return iterations.flatMap((turn, at) => describeHandOver(turn, iterations[at - 1] ?? null));
}

/** Describes the hand-over at one iteration; `before` is the previous iteration of the run. */
export function describeHandOver({ iteration, agent, passedOver }: Turn, before: Turn | null): readonly string[] {
  if (agent === null || agent === (before?.agent ?? null)) return [];
  const taken =
    before === null ? `${agent} worked from iteration ${iteration} on` : `${agent} took over in iteration ${iteration}`;
  const reasons = passedOver.filter(({ name }) => before === null || name === before.agent).map(reasonWords);
  if (reasons.length > 0) return [`${listFirstNames(reasons)}, so ${taken}.`];
  return before === null ? [] : [`${agent} could be called again, so it continued in iteration ${iteration}.`];
}

/** Returns the agents that a run called, with their numbers of iterations, in the order of their first iterations. */
export function countCalledAgents(
  iterations: readonly Turn[],
): readonly { readonly agent: AgentName; readonly iterations: number }[] {
  const names = iterations.flatMap(({ agent }) => agent ?? []);
  return [...new Set(names)].map((agent) => ({ agent, iterations: names.filter((name) => name === agent).length }));
}

/** Returns the agents that have worked on the branch's change. */
export function agentsOfChange({ tasks }: BranchChange): readonly AgentName[] {
  return [...new Set(Object.values(tasks).flatMap(({ agents }) => agents))];
}

/** Lists the agents that get no call now while another agent works. */
export function describeIdleAgents(
  { agent, providers }: Pick<LaneState, 'agent' | 'providers'>,
  now: number,
): readonly string[] {
  const names = Object.keys(providers) as readonly AgentName[];
  return names.flatMap((name) => {
    const provider = providers[name];
    if (name === agent || provider?.kind !== 'open' || provider.until <= now) return [];
    return [`${name} is not called until ${formatInstantFrom(provider.until, now)}: ${TROUBLE_WORDS[provider.why]}`];
  });
}

function reasonWords({ name, why, until }: Turn['passedOver'][number]): string {
  switch (why) {
    case 'limit':
      return `${name} was at its usage limit until ${formatInstant(until)}`;
    case 'billing':
      return `${name} had no credit`;
    case 'auth':
      return `${name}'s key was refused`;
    case 'failing':
      return `${name}'s provider kept failing`;
  }
}
