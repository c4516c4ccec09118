import { findCircuitOpener } from '../../core/others/left-circuit.ts';
import { buildSettingLines } from '../../core/settings/effective.ts';
import { selectEffectiveOrders } from '../../core/sharing/orders.ts';
import type { FileTask } from '../../core/tasks/files/form/root-plan.ts';
import { isLaneId, issueOfId, type LaneId, nameOfTaskId, QUEUE } from '../../core/tasks/ids.ts';
import { formatTasksDone } from '../../core/tasks/queue.ts';
import { nameOfTask } from '../../core/tasks/task.ts';
import { renderMore, cutText, quoteShellText } from '../../core/text/phrase.ts';
import { formatInstant, MINUTE_MS } from '../../core/countdown.ts';
import {
  formatCount,
  formatCost,
  formatInstantFrom,
  formatTaskState,
  formatTokens,
  renderProgressBar,
} from '../../report/format.ts';
import { renderContinuation } from '../../report/next/step.ts';
import { nameOutcome } from '../../report/sentences/ends/outcome-name.ts';
import { renderFeedbackCounts } from '../../report/sentences/feedback.ts';
import { parseArguments, toPlainLine } from '../arguments.ts';
import { UsageError } from '../command.ts';
import { DEFAULT_COOLDOWN_MINUTES } from '../defaults.ts';
import type { ReportedLane, LaneStatusReport } from './lane-schema.ts';
import type { OpenedPlaces, OpenPlaces } from './read-lane.ts';
import { nameTaskIn } from '../../report/sentences/lane-status.ts';

/** The arguments that all state commands have. */
export interface LaneArguments {
  readonly lane: LaneId;
  readonly json: boolean;
  /** True if `--all` was given, which only some commands accept. */
  readonly all: boolean;
  /** The remote's name as given; null means `origin`, if that exists. */
  readonly remote: string | null;
  /** The only argument of the command; empty if the command takes none. */
  readonly subject: string;
  /** The options that select the same lane, for use in another command: ` --issue 7`, or an empty text. */
  readonly sameLane: string;
  readonly opened: Extract<OpenedPlaces, { kind: 'open' }>;
}

/** The only argument that a command accepts. */
export interface CommandArgument {
  /** The name of the argument in a message that it is missing: `circuit or session`. */
  readonly name: string;
  readonly isRequired: boolean;
  /** Returns the problem of the given argument as a sentence, or null if it is valid. */
  readonly problem: (given: string) => string | null;
}

/** The help text of the options that `readLaneArguments` reads. */
export const LANE_OPTIONS_HELP = `  --issue N      an issue with a branch of its own (default: the queue)
  --dir FOLDER   any folder of the checkout: its state is the same for every
                 working-directory (default: the current one)
  --remote NAME  the remote that holds the state (default: origin)
  --json         prints one JSON object instead, described by
                 schemas/ralph-branch.schema.json`;

const MAX_TASKS = 30;

/** The value of counters that could not be read; it is above any limit. */
const USED_UP = 1e15;

/** A task of the checkout's files. */
export type CheckoutTask = Pick<FileTask, 'task' | 'state'>;

/**
 * Renders a lane as text, place by place, without places that could not be read, and without places that have no
 * state if another one has. `sameLane` are the options that select
 * the lane, and `files` are the lane's tasks in the checkout.
 */
export function renderLane(
  { branchId: lane, at, places, settings }: LaneStatusReport,
  sameLane: string,
  files: readonly CheckoutTask[],
): string {
  const branches = places.filter((place) => place.kind === 'branch');
  const withState = branches.filter((place) => place.saved !== null || place.ordersWaiting.length > 0);
  const known = withState.length > 0 ? withState : branches;
  const cooldown = cooldownOf(settings ?? []);
  return [
    ...(places.length === 0 && settings !== undefined
      ? ['No state yet: there is no remote "origin", and no folder .ralph/state.\n']
      : []),
    ...known.map((place) => renderPlace(place, { lane, sameLane, cooldown, files, now: Date.parse(at) })),
    ...(settings ?? []).map(settingsOf),
  ].join('\n');
}

function settingsOf({ workflow, settings, problems }: NonNullable<LaneStatusReport['settings']>[number]): string {
  const lines = [...buildSettingLines(settings), ...problems.map((line) => `not usable: ${line}`)];
  return `${[`settings (${workflow})`, ...lines.map((line) => `  ${toPlainLine(line, 1_000)}`)].join('\n')}\n`;
}

interface Place {
  readonly files: readonly CheckoutTask[];
  readonly sameLane: string;
  readonly cooldown: Cooldown;
  readonly now: number;
}

function renderPlace(
  place: ReportedLane,
  { lane, files, sameLane, cooldown, now }: Place & { readonly lane: string },
): string {
  const { saved, working, pause, park, session, lastRun, usage } = place;
  const facts: readonly (readonly [string, string])[] = [
    [
      'state',
      saved === null
        ? 'none yet'
        : `restored #${String(saved.sequence)} (${saved.origin}), saved ${formatIso(saved.at)}`,
    ],
    [
      'works now',
      working === null
        ? 'nobody'
        : `${working.runUrl || `run ${working.runId}`}, until ${formatIsoFrom(working.until, now)} at the latest`,
    ],
    [
      'pause',
      pause === null
        ? 'none'
        : `by ${pause.by}, since ${formatIso(pause.at)}; to continue: ${renderContinuation('pause', 'terminal')}${sameLane}`,
    ],
    ['circuit', describeCircuit(place, { files, sameLane, cooldown, now })],
    ['parked', park === null ? 'no' : `${park.reason}, continues from ${formatIsoFrom(park.resumeAt, now)}`],
    [
      'session',
      session === null ? 'none' : `since ${formatIso(session.startedAt)}, last used ${formatIso(session.lastUsedAt)}`,
    ],
    ...(usage === null ? [] : describeUsage(usage, now)),
    [
      'last run',
      lastRun === null
        ? 'none that saved its state'
        : `${nameOutcome({ kind: lastRun.outcome, reason: lastRun.reason })}, ${formatIso(lastRun.at)}`,
    ],
    ...(lastRun?.pullRequest ? [['pull request', lastRun.pullRequest] as const] : []),
    ...(place.feedback.length === 0 ? [] : [['feedback', describeFeedback(place)] as const]),
    ...selectEffectiveOrders(place.ordersWaiting.map((waiting) => ({ ...waiting, kind: waiting.order }))).map(
      ({ order, task, by, from, at }) =>
        [
          'waits',
          `${order.replace('-', ' ')}${task === null ? '' : ` ${task}`}, by ${by} (${from}), ${formatIso(at)}: the next run obeys it first`,
        ] as const,
    ),
    ...place.warnings.map((warning) => ['warning', warning] as const),
  ];
  return [
    `${lane} (${place.place}): runs ${place.place === 'directory' ? 'on this machine' : 'of the workflow'}`,
    ...describeTasks(place, files).map((line) => `  ${line}`),
    ...facts.map(([name, value]) => `  ${`${name}:`.padEnd(14)}${value}`),
    ...listed(
      'Last changes',
      place.transitions
        .filter(({ from, to }) => from !== to)
        .map(
          ({ at, subject, from, to, reason }) =>
            `${formatIso(at)}  ${subject}: ${subject === 'task' ? nameTaskIn(from, files) : from} → ${to} (${reason})`,
        ),
    ),
    '',
  ].join('\n');
}

interface Cooldown {
  readonly ms: number;
  /** True if this is only the default, so runs may use another cooldown. */
  readonly isDefault: boolean;
}

/** Returns the cooldown that all workflows have, or the default if they differ or no workflow is known. */
function cooldownOf(settings: NonNullable<LaneStatusReport['settings']>): Cooldown {
  const texts = settings.flatMap((of) => of.settings.filter(({ input }) => input === 'circuit-cooldown-minutes'));
  const minutes = new Set(texts.map(({ text }) => Number(text)));
  const [one = Number.NaN] = minutes;
  return minutes.size === 1 && one >= 0
    ? { ms: one * MINUTE_MS, isDefault: false }
    : { ms: DEFAULT_COOLDOWN_MINUTES * MINUTE_MS, isDefault: true };
}

function describeCircuit(
  { circuit, transitions }: Pick<ReportedLane, 'circuit' | 'transitions'>,
  { sameLane, cooldown, now }: Place,
): string {
  if (circuit.kind === 'open') {
    const left = findCircuitOpener(transitions) === 'another-ralph' ? ', left by another Ralph,' : '';
    const until = Date.parse(circuit.openedAt) + cooldown.ms;
    const byDefault = cooldown.isDefault ? ' by the default cooldown' : '';
    const then =
      until <= now
        ? `has cooled down${byDefault === '' ? '' : `,${byDefault}`}: the next run probes with one iteration`
        : `cools down until ${formatInstantFrom(until, now)}${byDefault}, then one iteration probes`;
    const failure = circuit.failure === undefined ? '' : `: ${circuit.failure},`;
    return `open (${circuit.reason})${failure}${left} since ${formatIso(circuit.openedAt)}; ${then}; to close it now: ${renderContinuation('circuit', 'terminal')}${sameLane}`;
  }
  // The threshold is not stored, so only the last change says that one more iteration opens the circuit.
  const isHalfOpen =
    circuit.noProgress > 0 && transitions.findLast(({ subject }) => subject === 'circuit')?.to === 'half-open';
  return `${isHalfOpen ? 'half-open' : 'closed'}${circuit.noProgress === 0 ? '' : `, ${formatCount(circuit.noProgress, 'iteration')} without progress in a row`}`;
}

function describeUsage(
  { hour, day, reservations }: NonNullable<ReportedLane['usage']>,
  now: number,
): readonly (readonly [string, string])[] {
  return [
    [
      'this hour',
      hour === null
        ? 'nothing used'
        : hour.calls >= USED_UP
          ? `used up, until ${formatIsoFrom(hour.endsAt, now)}`
          : `${formatCount(hour.calls, 'call')}, ${formatTokens(hour.tokens)} tokens, until ${formatIsoFrom(hour.endsAt, now)}`,
    ],
    [
      'this day',
      day === null
        ? 'nothing used'
        : day.costUsd >= USED_UP
          ? `used up, until ${formatIsoFrom(day.endsAt, now)}`
          : `${day.costUsd === 0 ? 'no known cost' : formatCost(day.costUsd)}, until ${formatIsoFrom(day.endsAt, now)}`,
    ],
    ...reservations.map(({ branchId: lane, runUrl, calls, tokens, costUsd }) => {
      const parts = [
        formatCount(calls, 'call'),
        ...(tokens > 0 ? [`${formatTokens(tokens)} tokens`] : []),
        ...(costUsd > 0 ? [formatCost(costUsd)] : []),
      ];
      return [
        'reserved',
        `${parts.join(', ')} of these, by a run of ${lane}${runUrl === '' ? '' : ` (${runUrl})`}`,
      ] as const;
    }),
  ];
}

function describeFeedback({ feedback }: ReportedLane): string {
  return renderFeedbackCounts(
    feedback.map(({ kind, state }) => ({
      item: { kind, answer: state === 'open' ? null : { kind: state } },
      isOpen: state === 'open' || state === 'given-up',
    })),
  );
}

/**
 * Returns a bar of all tasks, and the open ones with names and titles. A task that is checked off in the file is shown
 * as done.
 */
function describeTasks({ tasks, currentTask }: ReportedLane, files: readonly CheckoutTask[]): readonly string[] {
  const known = [
    ...files.map(({ task, state }) => {
      const worked = tasks.find(({ id }) => id === task.id);
      const now = state === 'done' ? state : (worked?.state ?? state);
      return { id: task.id, name: nameOfTask(task), title: task.title, state: now, attempts: worked?.attempts ?? 0 };
    }),
    ...tasks
      .filter(({ id }) => !files.some(({ task }) => task.id === id))
      .map((task) => ({ ...task, name: nameOfTaskId(task.id) })),
  ];
  if (known.length === 0) return [];
  const open = known.filter(({ state }) => state !== 'done');
  const shown = open.slice(0, MAX_TASKS).map(({ id, name, title, state, attempts }) => {
    const worked = attempts === 0 ? '' : `, ${formatCount(attempts, 'iteration')}`;
    return `  ${name}  ${title === null ? '' : `${toPlainLine(title)}: `}${formatTaskState(state)}${worked}${id === currentTask ? ' (current)' : ''}`;
  });
  const done = known.length - open.length;
  return [
    `${renderProgressBar(done, known.length)} ${formatTasksDone(done, known.length)}`,
    ...shown,
    ...(open.length > MAX_TASKS ? [renderMore(open.length - MAX_TASKS).trim()] : []),
  ];
}

function listed(heading: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [`  ${heading}:`, ...lines.map((line) => `    ${line}`)];
}

function formatIso(instant: string): string {
  return formatInstant(Date.parse(instant));
}

function formatIsoFrom(instant: string, now: number): string {
  return formatInstantFrom(Date.parse(instant), now);
}

/**
 * Reads the options of a state command and opens the places. `takes` is the command's only argument, `all-lanes` if the
 * command has the option `--all` instead, or null if it has neither. Throws one UsageError with every problem.
 */
export async function readLaneArguments(
  args: readonly string[],
  open: OpenPlaces,
  takes: CommandArgument | 'all-lanes' | null = null,
): Promise<LaneArguments> {
  const argument = takes === 'all-lanes' ? null : takes;
  const given = parseArguments(
    args,
    { issue: 'value', dir: 'value', remote: 'value', json: 'flag', ...(takes === 'all-lanes' ? { all: 'flag' } : {}) },
    { name: argument?.name ?? '', min: argument?.isRequired === true ? 1 : 0, max: argument === null ? 0 : 1 },
  );
  const [issue = null] = given.values('issue');
  const lane = issue === null ? QUEUE : `issue-${issue.replace(/^#/, '')}`;
  const [folder = '.'] = given.values('dir');
  const [remote = null] = given.values('remote');
  const [subject] = given.positionals;
  // If one of these lacks its value, it is unknown which checkout is meant, so no place is opened.
  const opened = ['dir', 'remote'].some((name) => given.has(name) && given.values(name).length === 0)
    ? null
    : await open({ folder, remote });
  const problem = subject === undefined ? null : (argument?.problem(subject) ?? null);
  const problems = [
    ...given.problems,
    ...(problem === null ? [] : [problem]),
    ...(given.has('all') && given.has('issue') ? ['--all and --issue cannot be used together.'] : []),
    ...(isLaneId(lane) ? [] : [`--issue: ${JSON.stringify(cutText(issue ?? '', 80))} is not the number of an issue.`]),
    ...(opened?.kind === 'missing' ? [opened.why] : []),
  ];
  if (problems.length > 0 || opened?.kind !== 'open') throw new UsageError(problems);
  const number = issueOfId(lane);
  const named = {
    issue: number === null ? [] : [String(number)],
    dir: given.values('dir'),
    remote: given.values('remote'),
  };
  const sameLane = Object.entries(named)
    .flatMap(([name, values]) => values.map((value) => ` --${name} ${quoteShellText(value)}`))
    .join('');
  return { lane, json: given.has('json'), all: given.has('all'), remote, subject: subject ?? '', sameLane, opened };
}
