import { formatInstant } from '../../core/countdown.ts';
import {
  type AnsweredTick,
  type DashboardBox,
  DASHBOARD_MARKER,
  renderBox,
  type Tick,
  TIME_MARKER,
  wordsOfBox,
} from '../../core/dashboard/boxes.ts';
import { isFeedback } from '../../core/feedback/subject.ts';
import type { Policy } from '../../core/policy.ts';
import { isIssueTask, type LaneId, nameOfLane, QUEUE } from '../../core/tasks/ids.ts';
import { formatMoreLine, capitalizeFirst } from '../../core/text/phrase.ts';
import { findNextPull, type Train } from '../../core/train/train.ts';
import type { LaneView } from '../../handover/report.ts';
import { formatCost, formatCount, formatTaskState, formatTokens } from '../format.ts';
import { renderCode, renderLink, renderProse, renderTable, renderText } from '../markdown.ts';
import type { FoundLane } from '../overview/build-overview.ts';
import type { LaneWait, Overview, OverviewLane } from '../overview/lane-waits.ts';
import { nameOutcome } from '../sentences/ends/outcome-name.ts';
import { describeOpenCircuit, listTroubles, type Trouble, wordsOfReason } from '../sentences/health.ts';
import { renderCostInList, listKnownCost, summarizeSpend } from '../sentences/spend.ts';
import { renderNextToMerge } from '../sentences/train.ts';

/** Title of the dashboard's issue. */
export const DASHBOARD_TITLE = 'Ralph: dashboard';

/** Facts that the dashboard shows, in addition to the overview that all views share. */
export interface DashboardFacts {
  readonly overview: Overview;
  readonly train: Train;
  /** The lanes as they are stored, for their health. */
  readonly lanes: readonly FoundLane[];
  readonly usage: LaneView['usage'];
  readonly limits: Pick<Policy, 'maxCallsPerHour' | 'maxTokensPerHour' | 'maxCostUsdPerDay'>;
  /** Judged ticks, and those that a run of the queue has yet to judge. */
  readonly answers: readonly AnsweredTick[];
  readonly pending: readonly Tick[];
  readonly branchPrefix: string;
  readonly taskLabel: string;
  readonly runUrl: string;
  readonly now: number;
}

/** Maximum length. GitHub accepts 65,536 characters; the margin allows for how GitHub counts them. */
const MAX_CHARS = 60_000;
const MAX_TITLE_CHARS = 100;
/** Maximum numbers of lines in a list. The first pair that makes the page short enough is used. */
const SIZES: readonly ListSize[] = [
  { first: 25, folded: 120 },
  { first: 25, folded: 40 },
  { first: 25, folded: 5 },
  { first: 5, folded: 0 },
];
const MAX_BOXES = 20;

/** Maximum numbers of lines of a list: of those that are visible, and of those in its folded part. */
interface ListSize {
  readonly first: number;
  readonly folded: number;
}

/** Renders the text of the dashboard's issue, which begins with everything that needs a person. */
export function renderDashboard(facts: DashboardFacts): string {
  const pages = SIZES.map((size) => renderPage(facts, size));
  return pages.find((page) => page.length <= MAX_CHARS) ?? pages.at(-1) ?? '';
}

function renderPage(facts: DashboardFacts, size: ListSize): string {
  const { now, runUrl } = facts;
  const troubles = listTroubles(facts);
  const health = troubles.map(({ line }) => line);
  return [
    DASHBOARD_MARKER,
    ...listed(answerLines(facts), size),
    section('What needs you', needs(facts, troubles), { size, none: 'Nothing.' }),
    section('At work', working(facts), { size, none: 'No run is in progress.' }),
    queueSection(facts, size),
    section('Cost and calls', money(facts), { size, none: '' }),
    `### Last runs\n\n${runTable(facts) || 'No run has called an agent yet.'}`,
    section('Health', health, { size, none: 'All is well.' }),
    'A ticked box is an order if whoever ticked it has write permission; the next run of the queue obeys it. Everything else in this text is overwritten, so write in a comment.',
    `<sub>Updated ${formatInstant(now)} by ${renderLink('a run', runUrl)}.</sub> ${TIME_MARKER}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function section(
  heading: string,
  lines: readonly string[],
  { size, none }: { readonly size: ListSize; readonly none: string },
): string {
  return [`### ${heading}`, ...(lines.length === 0 ? [none] : listed(lines, size))].join('\n\n');
}

/** Returns the first lines, and some of the others in a folded part. */
function listed(lines: readonly string[], size: ListSize): readonly string[] {
  const [first, others] = [lines.slice(0, size.first), lines.slice(size.first)];
  const more = formatMoreLine(others.length - size.folded).map((line) => `- ${line}`);
  const folded = [...others.slice(0, size.folded), ...more];
  return [
    ...(first.length === 0 ? [] : [first.join('\n')]),
    ...(folded.length === 0 ? [] : [details(`${String(others.length)} more`, folded)]),
  ];
}

function details(summary: string, lines: readonly string[]): string {
  return `<details>\n<summary>${summary}</summary>\n\n${lines.join('\n')}\n\n</details>`;
}

const ANSWERS = {
  obeyed: 'done',
  'not-allowed': 'undone, since that needs write permission',
  failed: 'not possible',
} as const;

function answerLines({ answers, pending }: DashboardFacts): readonly string[] {
  return [
    ...answers.map(
      ({ box, by, result, why }) =>
        `- ${wordsOfBox(box)} (ticked by ${nameOf(by)}): ${ANSWERS[result]}.${why === '' ? '' : ` ${renderProse(why, 300)}`}`,
    ),
    ...pending.map(
      ({ box, by }) => `- ${wordsOfBox(box)} (ticked by ${nameOf(by)}): the next run of the queue looks at it.`,
    ),
  ];
}

function nameOf(by: Tick['by']): string {
  return by === null ? 'somebody GitHub does not name' : renderCode(by.login, 100);
}

function lanesOf({ overview }: DashboardFacts): readonly OverviewLane[] {
  return overview.branches.filter((lane) => lane.kind === 'branch');
}

function needs(facts: DashboardFacts, troubles: readonly Trouble[]): readonly string[] {
  const lanes = lanesOf(facts);
  return [
    ...ready(facts),
    ...troubles.flatMap(({ line, next }) => (next === null ? [] : [`${line} ${next}`])),
    ...lanes.flatMap(({ tasks, waits }) =>
      waits.flatMap((wait) => {
        const task = tasks.find(({ id }) => id === wait.task);
        return task === undefined ? [] : taskNeeds(task, wait, facts);
      }),
    ),
    ...lanes.flatMap(({ branchId: lane, waits }) => waits.flatMap((wait) => laneNeeds(lane, wait, facts))),
  ];
}

function ready(facts: DashboardFacts): readonly string[] {
  const { train, branchPrefix } = facts;
  const next = renderNextToMerge(train);
  const pulls = train.pulls.filter(({ obstacle }) => obstacle === null);
  return [
    ...(next === '' || findNextPull(train) === null ? [] : [`- ${next}`]),
    ...pulls.map(({ number, branch, isArmed }) => {
      const how = isArmed ? 'GitHub merges it once the rules of its base branch hold' : 'review and merge it';
      return `- **#${String(number)}** (${branchSubject(branch.slice(branchPrefix.length), facts)}) is ready: ${how}.`;
    }),
  ];
}

/** Returns the subject of a branch: `the queue`, or the name and title of its issue. */
function branchSubject(lane: LaneId, facts: DashboardFacts): string {
  const task = lanesOf(facts)
    .flatMap(({ tasks }) => tasks)
    .find(({ id }) => id === lane);
  return task === undefined ? nameOfLane(lane) : nameWithTitle(task);
}

type ShownTask = OverviewLane['tasks'][number];

function nameWithTitle({ id, name, title }: ShownTask): string {
  const shown = isIssueTask(id) ? name : renderCode(name, 80);
  return title === null ? shown : `${shown} ${renderText(title, MAX_TITLE_CHARS)}`;
}

function taskNeeds(task: ShownTask, { kind, on }: LaneWait, { taskLabel }: DashboardFacts): readonly string[] {
  const { id, name } = task;
  if (kind === 'approval')
    return [
      `- ${nameWithTitle(task)}: its text was changed after it was approved. Remove and re-add the label ${renderCode(taskLabel, 50)}.`,
    ];
  if (kind !== 'person') return [];
  const line = (next: string): string => `- ${nameWithTitle(task)}: ${renderProse(on, 300)}. ${next}`;
  if (isFeedback(id)) return [line('Comment `/ralph retry` on the pull request, or push a fix yourself.')];
  const boxes: readonly DashboardBox[] = [
    { kind: 'retry', subject: id },
    ...(isIssueTask(id) ? [{ kind: 'skip', subject: id } as const] : []),
  ];
  const next = isIssueTask(id)
    ? `Answer on ${name} with one comment: first line \`/ralph retry\`, then your words. Or:`
    : 'Write in its file what is missing, then:';
  return [[line(next), ...boxes.map((box) => `  ${renderBox(box)}`)].join('\n')];
}

function laneNeeds(
  lane: LaneId,
  { kind, task, on, until }: LaneWait,
  { now, lanes }: DashboardFacts,
): readonly string[] {
  const name = capitalizeFirst(nameOfLane(lane));
  if (task !== null) return [];
  if (kind === 'pause')
    return [`- ${name} is paused by ${renderText(on, 100)}.\n  ${renderBox({ kind: 'resume', subject: lane })}`];
  const circuit = lanes
    .flatMap((one) => (one.lane === lane && one.stored.kind === 'found' ? [one.stored.state.circuit] : []))
    .find((one) => one.kind === 'open');
  if (kind !== 'circuit' || circuit === undefined) return [];
  const isDue = until !== null && Date.parse(until) <= now;
  const probe = isDue ? 'The next run tries one iteration' : `One iteration is tried from ${instantOf(until)} on`;
  const isOwn = isIssueTask(lane);
  const then = isOwn ? 'tick:' : "comment `/ralph retry` on the queue's pull request.";
  const box = isOwn ? `\n  ${renderBox({ kind: 'retry', subject: lane })}` : '';
  return [`- ${describeOpenCircuit(lane, circuit)} ${probe}; to continue at once, fix the cause and ${then}${box}`];
}

function instantOf(iso: string | null): string {
  return iso === null ? 'an unknown time' : formatInstant(Date.parse(iso));
}

function working(facts: DashboardFacts): readonly string[] {
  return lanesOf(facts).flatMap(({ branchId: lane, tasks, waits }) => {
    const current = tasks.find((task) => task.current);
    const on = current === undefined || current.id === lane ? '' : `, ${nameWithTitle(current)}`;
    return waits
      .filter(({ kind }) => kind === 'run')
      .map(
        (wait) =>
          `- ${capitalizeFirst(branchSubject(lane, facts))}${on}: ${renderLink('a run', wait.on)}, until ${instantOf(wait.until)} at the latest.`,
      );
  });
}

function queueSection(facts: DashboardFacts, size: ListSize): string {
  const lanes = lanesOf(facts);
  const queue = lanes.find(({ branchId: lane }) => lane === QUEUE);
  const waits = queue?.waits.filter(({ task }) => task === null) ?? [];
  const isPaused = waits.some(({ kind }) => kind === 'pause');
  const held = waits.flatMap(({ kind, on, until }) => {
    if (kind === 'park') return [`- It waits until ${instantOf(until)} (${wordsOfReason(on)}).`];
    return kind === 'order' ? [`- The next run obeys: ${renderText(on, 200)}.`] : [];
  });
  const open = lanes.flatMap(({ branchId: lane, tasks, waits: all }) =>
    tasks
      .filter(({ state, id }) => state !== 'done' && !isFeedback(id))
      .map((task) => ({ lane, task, wait: all.find((wait) => wait.task === task.id) })),
  );
  const boxes: readonly DashboardBox[] = [
    { kind: 'run', subject: QUEUE },
    { kind: isPaused ? 'resume' : 'pause', subject: QUEUE },
  ];
  const further = open
    .filter(({ task, wait }) => isIssueTask(task.id) && wait?.kind !== 'person')
    .map(({ lane, task }): DashboardBox =>
      lane === QUEUE ? { kind: 'skip', subject: task.id } : { kind: 'pause', subject: task.id },
    );
  return [
    `### The queue: ${formatCount(open.length, 'open task')}`,
    ...(held.length === 0 ? [] : [held.join('\n')]),
    ...listed(
      open.map(
        ({ lane, task, wait }) =>
          `1. ${nameWithTitle(task)}: ${standing(task, wait)}${lane === QUEUE ? '' : ', on a branch of its own'}`,
      ),
      size,
    ),
    boxes.map(renderBox).join('\n'),
    ...(further.length === 0
      ? []
      : [
          details(
            'Take an issue out of the queue, or pause one on a branch of its own',
            further.slice(0, MAX_BOXES).map(renderBox),
          ),
        ]),
  ].join('\n\n');
}

function standing({ state, attempts, current }: ShownTask, wait: LaneWait | undefined): string {
  if (wait?.kind === 'dependency') return `waits for ${renderText(wait.on, 200)}`;
  if (wait?.kind === 'approval') return 'waits for approval';
  if (wait !== undefined) return 'needs a person, see above';
  if (state !== 'todo' && state !== 'in-progress') return formatTaskState(state);
  return attempts === 0 && !current ? 'to do' : `in progress, ${formatCount(attempts, 'iteration')}`;
}

function money({ overview, usage: { hour, day }, limits, now }: DashboardFacts): readonly string[] {
  const today = overview.spend.find((entry) => entry.day === new Date(now).toISOString().slice(0, 10));
  const bound = (used: string, limit: number, name: string): string =>
    limit === 0 ? `${used} (no limit, \`${name}\`)` : `${used} (\`${name}\`)`;
  const of = (limit: number, format: (limit: number) => string): string => (limit === 0 ? '' : ` of ${format(limit)}`);
  const ofDay = of(limits.maxCostUsdPerDay, formatCost);
  const [spent = null] = listKnownCost({ tokens: today?.tokens ?? 0, costUsd: day?.costUsd ?? 0 });
  const [ofHour, ofTokens] = [of(limits.maxCallsPerHour, String), of(limits.maxTokensPerHour, formatTokens)];
  return [
    `- Today: ${bound(spent === null ? 'cost not known' : `${spent}${ofDay}`, limits.maxCostUsdPerDay, 'max-cost-usd-per-day')}, ${formatCount(today?.calls ?? 0, 'call')}.`,
    hour === null
      ? '- This hour: no calls.'
      : `- The hour until ${formatInstant(hour.endsAt)}: ${bound(`${String(hour.calls)}${ofHour} calls`, limits.maxCallsPerHour, 'max-calls-per-hour')}, ${formatTokens(hour.tokens)}${ofTokens} tokens.`,
    `- The last 31 days: ${summarizeSpend(overview.spend)}.`,
  ];
}

function runTable({ overview }: DashboardFacts): string {
  const rows = overview.runs.map(
    ({ branchId: lane, url, endedAt, outcome, reason, tasksDone, iterations, costUsd, unpriced }) => [
      renderLink(instantOf(endedAt), url ?? ''),
      renderText(nameOfLane(lane), 60),
      renderText(nameOutcome({ kind: outcome, reason }), 80),
      String(tasksDone),
      String(iterations),
      renderCostInList({ costUsd, unpriced }),
    ],
  );
  return renderTable(['Ended', 'Work', 'Result', 'Tasks done', 'Iterations', 'Cost'], rows);
}
