import type { LedgerDay } from '../../core/lane/ledger.ts';
import { initialState } from '../../core/lane/state/state.ts';
import { runsIn, type StoredRun } from '../../core/snapshot/stored-run.ts';
import { applyOrders } from '../../core/sharing/orders.ts';
import { addLedgers, totalOf } from '../../core/sharing/spend.ts';
import { isFileSource, isIssueTask, issueOfId, type LaneId, QUEUE, type TaskId } from '../../core/tasks/ids.ts';
import { progressOf } from '../../core/tasks/queue.ts';
import { isBegun, isFinished, shownProgress, type Task, type TaskState } from '../../core/tasks/task.ts';
import type { FileTask } from '../../core/tasks/files/form/root-plan.ts';
import { requestsIn } from '../../report/sentences/feedback.ts';
import { isFeedback } from '../../core/feedback/subject.ts';
import { mapTexts } from '../../core/text/redact.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import type { ReportedSettings } from '../../core/settings/effective.ts';
import { restoredStateOf, describeNewerState, type StatePlace } from '../lane/read-lane.ts';
import { type LookAtGitHub, plainLine, type ReadEffectiveSettings, type Viewer } from '../arguments.ts';
import { readIssueTasks } from '../tasks/issue-tasks.ts';
import { readCheckoutTasks } from '../tasks/read-tasks.ts';
import { taskSettings, type TaskSettings } from '../tasks/task-settings.ts';
import {
  type KnownTask,
  laneOption,
  nameOfKnownTask,
  type Overview,
  type OverviewLane,
  waitsOf,
} from './lane-waits.ts';
import { MINUTE_MS } from '../../core/countdown.ts';
import { DEFAULT_COOLDOWN_MINUTES } from '../defaults.ts';

const MAX_TEXT_CHARS = 300;
const LAST_RUNS = 10;
/** Maximum number of issues that are queried one by one because they are closed or have lost their label. */
const MAX_ASKED = 20;

/** The checkout that the overview reads; `remote` is null for origin. */
export interface Looked {
  readonly folder: string;
  readonly remote: string | null;
  readonly places: readonly StatePlace[];
  readonly look: LookAtGitHub;
  readonly readEffective: ReadEffectiveSettings;
  readonly log: (line: string) => void;
}

const unset: ReportedSettings = { workflow: '', settings: [], problems: [] };

type Stored = ReturnType<typeof restoredStateOf>;

interface FoundLane {
  readonly lane: LaneId;
  readonly place: string;
  readonly stored: Stored;
}

/** Reads every lane of the repository in each place. Every text in the overview is one clean line. */
export async function readOverview(
  { folder, remote, places, look, readEffective, log }: Looked,
  now: number,
): Promise<Overview> {
  const listed = await Promise.all(
    places.map(async (place) => {
      const found = await place.lanes();
      // A place that has just not answered is not asked again.
      return { place, found, read: found.kind === 'unavailable' ? found : await place.store.read() };
    }),
  );
  const unlisted = listed.flatMap(({ place, found }) =>
    found.kind === 'unavailable' ? [`The ${place.name} cannot be reached: ${completeSentence(found.why)}`] : [],
  );
  const lanes = listed.flatMap(({ place: { name: place }, found, read }, index) =>
    found.kind === 'lanes'
      ? lanesAtPlace(found.lanes, index).map((lane) => ({
          lane,
          place,
          stored: restoredStateOf(place, read, { lane, now }),
        }))
      : [],
  );
  const effective = await readEffective(folder);
  const [answered = unset] = effective;
  const { sources, label, optionalSections, branchPrefix } = taskSettings(answered, {});
  const files = sources.filter(isFileSource);
  const [found, seen] = await Promise.all([
    readCheckoutTasks(folder, { sources: files, optionalSections }),
    look({ folder, remote, log }, (viewer) => readGitHub(viewer, lanes, { label, branchPrefix })),
  ]);
  const github = seen.kind === 'seen' ? seen.value : null;
  const known = {
    files: found.tasks,
    github,
    ownLanes: new Set(lanes.map(({ lane }) => lane)),
    cooldownMs: longestCooldown(effective),
    now,
  };
  const overview: Overview = {
    at: new Date(now).toISOString(),
    repository: github?.repository ?? null,
    lanes: lanes.map((found) => overviewOf(found, known)),
    spend: addLedgers(lanes.map(ledgerOf), now).map((day) => ({ ...day })),
    runs: listed
      .flatMap(({ place: { name }, read }) =>
        read.kind === 'snapshot' ? runsIn(read.snapshot).map((run) => runAt(name, run)) : [],
      )
      .toSorted((one, other) => Date.parse(other.endedAt) - Date.parse(one.endedAt))
      .slice(0, LAST_RUNS),
    problems: [
      ...unlisted,
      ...(seen.kind === 'failed' ? [`GitHub cannot be asked for titles: ${completeSentence(seen.why)}`] : []),
    ],
  };
  return mapTexts(overview, (text) => plainLine(text, MAX_TEXT_CHARS));
}

function runAt(place: string, run: StoredRun): Overview['runs'][number] {
  const { lane, runUrl, endedAt, outcome, tasks, iterations, costUsd } = run;
  return {
    ...{ lane, place, iterations, costUsd, outcome: outcome.kind, reason: outcome.reason },
    url: runUrl || null,
    endedAt: new Date(endedAt).toISOString(),
    tasksDone: tasks.filter(({ state }) => state === 'done').length,
  };
}

/** Returns the longest cooldown of all workflows in ms, after which the next run of any of them may continue. */
function longestCooldown(settings: readonly ReportedSettings[]): number {
  const minutes = settings
    .flatMap((of) => of.settings.filter(({ input }) => input === 'circuit-cooldown-minutes'))
    .map(({ text }) => Number(text))
    .filter((number) => number >= 0);
  return (minutes.length === 0 ? DEFAULT_COOLDOWN_MINUTES : Math.max(...minutes)) * MINUTE_MS;
}

interface Known {
  readonly files: readonly FileTask[];
  readonly github: OnGitHub | null;
  /** The existing lanes, whose issues are not in the queue. */
  readonly ownLanes: ReadonlySet<LaneId>;
  readonly cooldownMs: number;
  readonly now: number;
}

function overviewOf({ lane, place, stored }: FoundLane, known: Known): Overview['lanes'][number] {
  switch (stored.kind) {
    case 'unavailable':
      return {
        kind: 'unavailable',
        lane,
        place,
        why: `The ${place} cannot be reached: ${completeSentence(stored.why)}`,
      };
    case 'unreadable':
      return {
        kind: 'unreadable',
        lane,
        place,
        why: `The state in the ${place} cannot be read: ${completeSentence(stored.why)}`,
      };
    case 'newer':
      return { kind: 'newer', lane, place, why: describeNewerState(place, stored.version) };
    default:
      return overviewLaneOf({ lane, place, stored }, known);
  }
}

function overviewLaneOf(
  { lane, place, stored }: FoundLane & { readonly stored: Extract<Stored, { kind: 'found' | 'absent' }> },
  { files, github, ownLanes, cooldownMs, now }: Known,
): OverviewLane {
  const kept = stored.kind === 'found' ? stored.state : initialState(lane, now);
  const state = applyOrders(kept, stored.orders);
  const asked = state.feedback.items;
  const titleOf = (id: TaskId): string | null =>
    github?.titles.get(issueOfId(id) ?? 0) ??
    asked[id]?.title ??
    (Object.hasOwn(state.change.tasks, id) ? (state.change.tasks[id]?.title ?? null) : null);
  const issues = (github?.tasks ?? []).filter(({ id }) => (lane === QUEUE ? !ownLanes.has(id) : id === lane));
  const fileTasks = lane === QUEUE ? files : [];
  const listed = new Map<TaskId, { readonly task: Task; readonly written: TaskState }>([
    ...issues.map((task) => [task.id, { task, written: 'todo' }] as const),
    ...fileTasks.map(({ task, state: written }) => [task.id, { task, written }] as const),
  ]);
  // An issue that GitHub no longer lists is closed or has lost its label.
  const worked = Object.keys(state.tasks).filter(
    (id) =>
      !isFeedback(id) &&
      isBegun(progressOf(state.tasks, id)) &&
      (github === null || !isIssueTask(id) || listed.has(id) || isFinished(progressOf(state.tasks, id))),
  );
  // An answered request is no longer waited for.
  const unanswered = requestsIn(asked)
    .filter(({ isOpen }) => isOpen)
    .map(({ id }) => id);
  const ids = [
    ...new Set([...listed.keys(), ...unanswered, ...worked, ...(lane === QUEUE || github !== null ? [] : [lane])]),
  ];
  const tasks = ids.map((id): KnownTask => {
    const progress = shownProgress(progressOf(state.tasks, id));
    const { task, written } = listed.get(id) ?? { task: null, written: 'todo' };
    // The state of a task in runs counts more than that in the file, unless a person has checked it off.
    return { id, task, progress: written === 'done' ? { ...progress, state: 'done' } : progress };
  });
  const pullRequest = pullRequestOf(lane, state.lastRun?.published?.pullRequest ?? null, github);
  const waits = waitsOf({
    state,
    stored: kept,
    orders: stored.orders,
    lease: stored.lease,
    tasks,
    pullRequest,
    sameLane: laneOption(lane),
    cooldownMs,
    now,
  });
  return {
    kind: 'lane',
    lane,
    place,
    pullRequest,
    tasks: tasks.map((each) => ({
      id: each.id,
      name: nameOfKnownTask(each, each.id),
      title: each.task?.title ?? titleOf(each.id),
      state: each.progress.state,
      attempts: each.progress.attempts,
      current: each.id === state.currentTask,
    })),
    waits: [...waits],
    spend: totalOf(addLedgers([state.ledger], now)),
    warnings: [...stored.warnings],
  };
}

function pullRequestOf(
  lane: LaneId,
  published: { readonly number: number; readonly url: string } | null,
  github: OnGitHub | null,
): OverviewLane['pullRequest'] {
  const onGitHub = github?.pullRequests.get(lane) ?? null;
  if (onGitHub !== null) return onGitHub;
  return published === null ? null : { number: published.number, url: published.url, title: null, state: null };
}

function ledgerOf({ stored }: FoundLane): readonly LedgerDay[] {
  return stored.kind === 'found' ? stored.state.ledger : [];
}

interface OnGitHub {
  readonly repository: string;
  readonly tasks: readonly Task[];
  /** Titles by the issue's number. */
  readonly titles: ReadonlyMap<number, string>;
  readonly pullRequests: ReadonlyMap<LaneId, NonNullable<OverviewLane['pullRequest']>>;
}

async function readGitHub(
  viewer: Viewer,
  lanes: readonly FoundLane[],
  { label, branchPrefix }: Pick<TaskSettings, 'label' | 'branchPrefix'>,
): Promise<OnGitHub> {
  const { forge, repository } = viewer;
  const { tasks } = await readIssueTasks(viewer, label);
  const listed = new Set(tasks.map(({ id }) => id));
  const names = [...new Set(lanes.map(({ lane }) => lane))];
  const worked = [
    ...names,
    ...lanes.flatMap(({ stored }) => (stored.kind === 'found' ? Object.keys(stored.state.tasks) : [])),
  ];
  const others = [...new Set(worked)].filter((id) => !listed.has(id)).flatMap((id) => issueOfId(id) ?? []);
  const [issues, pulls] = await Promise.all([
    Promise.all(others.slice(0, MAX_ASKED).map((number) => forge.issue(number))),
    Promise.all(
      names.slice(0, MAX_ASKED).map(async (lane) => {
        const found = await forge.pullRequestOf(`${branchPrefix}${lane}`);
        const title = found === null ? null : ((await forge.issue(found.number))?.title ?? null);
        return found === null
          ? []
          : [[lane, { number: found.number, url: found.url, title, state: found.state }] as const];
      }),
    ),
  ]);
  const titles = issues.flatMap((issue) => (issue === null ? [] : [[issue.number, issue.title] as const]));
  return { repository, tasks, titles: new Map(titles), pullRequests: new Map(pulls.flat()) };
}

/**
 * Returns the queue and then the lanes by issue number. The first place always has the queue, even before its first
 * run.
 */
function lanesAtPlace(lanes: readonly LaneId[], place: number): readonly LaneId[] {
  const all = place === 0 ? [...new Set([QUEUE, ...lanes])] : lanes;
  return all.toSorted((a, b) => (issueOfId(a) ?? 0) - (issueOfId(b) ?? 0));
}
