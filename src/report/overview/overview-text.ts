import { formatTasksDone } from '../../core/tasks/queue.ts';
import { formatMoreLine } from '../../core/text/phrase.ts';
import { formatCount, formatInstantFrom, formatTaskState } from '../format.ts';
import { nameOutcome } from '../sentences/ends/outcome-name.ts';
import { renderCostInList, drawSpendBars, summarizeSpend } from '../sentences/spend.ts';
import { formatInstant } from '../../core/countdown.ts';
import type { Overview, OverviewLane, LaneWait } from './lane-waits.ts';

const SHOWN_TASKS = 8;
const SHOWN_RUNS = 5;

/** Renders the overview as text: a summary line, each lane with what it waits for, and the spending. */
export function renderOverview(overview: Overview): string {
  const now = Date.parse(overview.at);
  const lanes = overview.branches.filter((lane) => lane.kind === 'branch');
  const width = Math.max(...lanes.map(({ branchId: lane, place }) => nameOfLaneAt(lane, place).length), 0);
  const spending = `Spending of the last 31 days: ${summarizeSpend(overview.spend)}`;
  const blocks: readonly (readonly string[])[] = [
    [heading(overview, lanes)],
    ...lanes.map((lane) => laneLines(lane, width, now)),
    overview.runs.length === 0 ? [] : ['Last runs:', ...overview.runs.slice(0, SHOWN_RUNS).map(runLine)],
    isUnseen(overview) ? [] : [spending, ...drawSpendBars(overview.spend).map((line) => `  ${line}`)],
    overview.repository === null
      ? ['Set GITHUB_TOKEN to see titles, pull requests, and issues that no run has begun.']
      : [],
  ];
  return blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n');
}

/** Returns a line such as `2026-11-21 12:00 UTC  queue  complete; 1 task done, 2 iterations, $0.40`. */
function runLine(run: Overview['runs'][number]): string {
  const { branchId: lane, place, endedAt, outcome, reason, tasksDone, iterations, costUsd, unpriced, url } = run;
  const done = tasksDone === 0 ? [] : [`${formatCount(tasksDone, 'task')} done`];
  const used = [...done, formatCount(iterations, 'iteration'), renderCostInList({ costUsd, unpriced })].join(', ');
  const where = url === null ? '' : `  ${url}`;
  return `  ${formatInstant(Date.parse(endedAt))}  ${nameOfLaneAt(lane, place)}  ${nameOutcome({ kind: outcome, reason })}; ${used}${where}`;
}

function heading(overview: Overview, lanes: readonly OverviewLane[]): string {
  const { repository, at } = overview;
  const summary = isUnseen(overview) ? 'no branch was seen' : summarizeLanes(lanes);
  return `${repository === null ? '' : `${repository}, `}${formatInstant(Date.parse(at))}: ${summary}`;
}

/** Returns true if no branch was seen and a part could not be read, so that a count would be misleading. */
export function isUnseen({ branches: lanes, problems }: Pick<Overview, 'branches' | 'problems'>): boolean {
  return lanes.length === 0 && problems.length > 0;
}

/** Returns a summary of the lanes: `3 branches, 1 at work, 2 tasks waiting for a person`. */
export function summarizeLanes(lanes: readonly OverviewLane[]): string {
  const number = (kinds: readonly LaneWait['kind'][]): number =>
    lanes.reduce((all, { waits }) => all + waits.filter(({ kind }) => kinds.includes(kind)).length, 0);
  const [running, stuck, reviews] = [number(['run']), number(['person', 'approval']), number(['review'])];
  return [
    `${String(lanes.length)} ${lanes.length === 1 ? 'branch' : 'branches'}`,
    ...(running === 0 ? [] : [`${String(running)} at work`]),
    ...(stuck === 0 ? [] : [`${formatCount(stuck, 'task')} waiting for a person`]),
    ...(reviews === 0 ? [] : [`${formatCount(reviews, 'pull request')} to review`]),
  ].join(', ');
}

export type Condition =
  | 'works'
  | 'paused'
  | 'parked'
  | 'circuit open'
  | 'to review'
  | 'stuck'
  | 'ready'
  | 'waits'
  | 'done'
  | 'idle';

const ofLane: Partial<Readonly<Record<LaneWait['kind'], Condition>>> = {
  run: 'works',
  pause: 'paused',
  circuit: 'circuit open',
  park: 'parked',
  review: 'to review',
};

/** Returns the condition of a lane in a word or two. */
export function describeLaneCondition({ waits, tasks }: OverviewLane): Condition {
  const held = waits.flatMap(({ kind, task }) => (task === null ? (ofLane[kind] ?? []) : []))[0];
  if (held !== undefined) return held;
  if (tasks.length === 0) return 'idle';
  const open = tasks.filter(({ state }) => state !== 'done');
  if (open.length === 0) return 'done';
  const waiting = open.map(({ id }) => waits.find(({ task }) => task === id)?.kind ?? null);
  if (waiting.includes(null)) return 'ready';
  return waiting.some((kind) => kind === 'person' || kind === 'approval') ? 'stuck' : 'waits';
}

function laneLines(lane: OverviewLane, width: number, now: number): readonly string[] {
  const { tasks, pullRequest, waits, warnings } = lane;
  const done = tasks.filter(({ state }) => state === 'done').length;
  const open = tasks.filter(({ state }) => state !== 'done');
  const state = pullRequest?.state ?? null;
  return [
    `${nameOfLaneAt(lane.branchId, lane.place).padEnd(width)}  ${describeLaneCondition(lane).padEnd('circuit open'.length)}  ${tasks.length === 0 ? 'no tasks' : formatTasksDone(done, tasks.length)}`,
    ...(pullRequest === null
      ? []
      : [
          `  pull request #${String(pullRequest.number)}${pullRequest.title === null ? '' : ` ${pullRequest.title}`}${state === null ? '' : ` (${state})`}  ${pullRequest.url}`,
        ]),
    ...waits.filter(({ task }) => task === null).map((wait) => `  ${describeLaneWait(wait, now)}`),
    ...open.slice(0, SHOWN_TASKS).map((task) => `  ${renderOpenTask(task, waits)}`),
    ...formatMoreLine(open.length - SHOWN_TASKS).map((line) => `  ${line}`),
    ...warnings.map((warning) => `  warning: ${warning}`),
  ];
}

/** Returns the name of a lane, with its place unless that is the ref. */
export function nameOfLaneAt(lane: string, place: string): string {
  return place === 'ref' ? lane : `${lane} (${place})`;
}

/** Describes a wait of the whole lane, and the command that ends it. */
export function describeLaneWait({ kind, on, until, command }: LaneWait, now: number): string {
  const when = until === null ? '' : formatInstantFrom(Date.parse(until), now);
  const continuing = command === null ? '' : `; to continue: ${command}`;
  switch (kind) {
    case 'run':
      return `a run is working on it, until ${when} at the latest: ${on}`;
    case 'pause':
      return `paused by ${on}${continuing}`;
    case 'circuit':
      if (until !== null && Date.parse(until) <= now)
        return `its circuit is open (${on}) and has cooled down: the next run probes with one iteration`;
      return `its circuit is open (${on}) until ${when}; to close it now: ${command ?? ''}`;
    case 'park':
      return `parked (${on}) until ${when}`;
    case 'order':
      return `the next run obeys: ${on}`;
    case 'review':
      return `waits for a review of ${on}`;
    default:
      return on;
  }
}

/** Renders an open task and what it waits for. */
export function renderOpenTask(
  { id, name, title, state, attempts, current }: OverviewLane['tasks'][number],
  waits: readonly LaneWait[],
): string {
  const wait = waits.find(({ task }) => task === id);
  const what = title === null ? name : `${name} ${title}`;
  if (wait === undefined) {
    const word = attempts === 0 && !current ? 'to do' : `in progress, ${formatCount(attempts, 'iteration')}`;
    return `${what}: ${state === 'todo' || state === 'in-progress' ? word : formatTaskState(state)}`;
  }
  if (wait.kind === 'dependency') return `${what}: waits for ${wait.on}`;
  return `${what}: ${wait.kind === 'approval' ? 'waits for approval, ' : 'needs a person, '}${wait.on}${wait.command === null ? '' : `; ${wait.command}`}`;
}
