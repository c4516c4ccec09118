import { createInitialState } from '../../core/lane/state/state.ts';
import { type ChosenLanes, chooseLanes, type LaneFiles } from '../../core/parallel/choose-lanes.ts';
import { type FileHistory, indexHistory, predictFiles, findSymbols } from '../../core/parallel/predict-files.ts';
import { findConflictingBranch } from '../../core/refusals/refusal.ts';
import { blocksOtherHolder } from '../../core/sharing/lease.ts';
import { parseRecordIn, type Snapshot } from '../../core/snapshot/snapshot.ts';
import { toIssueLane, type LaneId, reopenTasksDueInRun, type TaskId } from '../../core/tasks/ids.ts';
import { isEligible, getProgress } from '../../core/tasks/queue.ts';
import type { Task } from '../../core/tasks/task.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { getErrorText } from '../../errors.ts';
import type { Issue } from '../../ports/forge.ts';
import type { FilesByBranch, RemoteBranch } from '../../ports/repository.ts';
import type { GateDeps } from '../deps.ts';
import { TASKS_PURPOSE, createOwnRequest, type WorkRequest } from '../tasks/sources.ts';
import { type AdmissibleLane, createLaneEnder } from './decide.ts';

/** Maximum number of new lanes in one run, for each of which the gate makes some requests. */
export const MAX_NEW_LANES = 40;

/** A lane that this run may work on, unless another run claims it first. */
export interface PlannedLane {
  readonly request: WorkRequest;
  readonly decided: AdmissibleLane;
}

/** The lanes of a run, the most important first, and the tasks that wait for them. */
export interface LanePlan extends Pick<ChosenLanes, 'waiting'> {
  readonly lanes: readonly PlannedLane[];
  /** The files that each lane probably touches, for people. */
  readonly files: readonly LaneFiles[];
}

/** The lanes that a run could work on, before it chooses those for this run. */
export interface LaneCandidates {
  /** The lane whose pull request comes first, or null if none. */
  readonly urgent: PlannedLane | null;
  /** The queue's own lane if it has work, otherwise null. */
  readonly queue: PlannedLane | null;
  /** Unfinished lanes of the queue's issues. */
  readonly unfinished: readonly PlannedLane[];
}

/**
 * Plans the lanes of a run: an urgent one, the queue, those of its unfinished issues, and new ones for its tasks.
 * `issues` are those of the queue. Makes at most two requests.
 */
export async function planLanes(
  deps: GateDeps,
  issues: readonly Issue[],
  { urgent, queue, unfinished: left }: LaneCandidates,
): Promise<LanePlan> {
  const { config, clock } = deps;
  const first = urgent ?? queue ?? left[0] ?? null;
  const alone = { lanes: first === null ? [] : [first], files: [], waiting: [] };
  const { snapshot = null, look } = first?.decided ?? {};
  if (first === null || snapshot === null || look === undefined) return alone;
  const { tasks, state } = queue?.decided ?? { tasks: [], state: null };
  const progress = state === null ? {} : reopenTasksDueInRun(state.tasks, config.policy, clock.now());
  const mayLeave = (id: TaskId): boolean =>
    hasNothingStored(snapshot, id) &&
    findConflictingBranch(config.branchPrefix + id, Object.keys(look.branches)) === null;
  const eligible = tasks.filter((task) => isEligible(task, progress));
  const isWhole = eligible.length < 2 || !eligible.some(({ id }) => mayLeave(id));
  const known = [urgent, queue].filter((one) => one !== null);
  if (known.length + left.length < 2 && isWhole) return alone;

  const room = await roomForNew(deps, look, known.length > 0 ? known : [first]);
  const unpublished = left.filter((one) => one !== first && !hasPullRequest(one)).slice(0, room);
  const unfinished = left.filter((one) => one === first || hasPullRequest(one) || unpublished.includes(one));
  const busy = busyIssues(deps, issues, snapshot);
  const planned = [...known, ...unfinished];
  const ofBusy = new Map(busy.map(({ number, title, body }) => [toIssueLane(number), `${title}\n${body}`]));
  const predictions = await readPredictions(deps, look, {
    lanes: [
      ...planned.flatMap(({ decided: { lane } }) => (lane.start.kind === 'continue' ? [lane.id] : [])),
      ...ofBusy.keys(),
    ],
    texts: [...ofBusy.values(), ...planned.flatMap(({ decided }) => decided.tasks.map(wordsOfTask))],
  });
  if (predictions === null) return alone;
  const { filesOf, changedBy } = predictions;
  const filesOfLane = ({ decided }: PlannedLane): LaneFiles => {
    const lane = decided.lane.id;
    return { lane, files: filesOf(decided.tasks.map(wordsOfTask).join('\n'), changedBy(lane)) };
  };
  const texts = new Map(tasks.map((task) => [task.id, wordsOfTask(task)]));
  const chosen = chooseLanes({
    ...{ tasks, progress, mayLeave, currentTask: state?.currentTask ?? null },
    maxIterations: config.policy.maxIterations,
    changed: queue === null ? [] : changedBy(queue.decided.lane.id),
    filesOf: (id) => filesOf(texts.get(id) ?? '', []),
    busy: [...ofBusy].map(([lane, text]) => ({ lane, files: filesOf(text, changedBy(lane)) })),
    urgent: urgent === null ? [] : [filesOfLane(urgent)],
    continuable: unfinished.map(filesOfLane),
    maxBeside: config.parallel - known.length - busy.length,
    maxNew: queue === null ? 0 : room - unpublished.length,
  });
  const begun = chosen.begun.flatMap(({ lane }) => {
    const task = tasks.find(({ id }) => id === lane);
    const issue = issues.find(({ number }) => toIssueLane(number) === lane);
    if (task === undefined || issue === undefined || queue === null) return [];
    return [{ request: createOwnRequest(issue, TASKS_PURPOSE), decided: newLane(deps, queue.decided, task) }];
  });
  const lanes = [
    ...known.filter((one) => one === urgent || chosen.own !== null),
    ...unfinished.filter(({ decided }) => chosen.continued.some(({ lane }) => lane === decided.lane.id)),
    ...begun,
  ];
  const files = [
    ...(urgent === null ? [] : [filesOfLane(urgent)]),
    ...(chosen.own === null || queue === null ? [] : [chosen.own]),
    ...chosen.continued,
    ...chosen.begun,
  ];
  if (lanes.length > 1) return { lanes, files, waiting: chosen.waiting };
  deps.log.info(
    `One branch in this run: ${whyAlone(chosen)}. Name files in a task so that it can be worked on in parallel.`,
  );
  return alone;
}

function whyAlone({ own }: ChosenLanes): string {
  if (own === null) return 'the queue waits for the pull request that comes first';
  return own.files === null
    ? 'the files that the next tasks of the queue touch are unknown'
    : 'the other tasks touch the same files or unknown ones, or a limit allows no more';
}

/** Returns true if no run ever worked on this lane, and no order or request waits for it. */
function hasNothingStored(snapshot: Snapshot, lane: LaneId): boolean {
  const record = parseRecordIn(snapshot, lane);
  if (record === null) return false;
  const { sequence, document, lease, orders, goesOn } = record;
  return sequence === 0 && document === null && lease === null && orders.length === 0 && goesOn !== 'unanswered';
}

/** Returns the issues whose own lanes another run works on now. */
function busyIssues(
  { runTag, context, clock }: GateDeps,
  issues: readonly Issue[],
  snapshot: Snapshot,
): readonly Issue[] {
  return issues.filter(({ number }) => {
    const lease = parseRecordIn(snapshot, toIssueLane(number))?.lease ?? null;
    return lease !== null && blocksOtherHolder(lease, { runTag, ...context }, clock.now());
  });
}

interface Predictions {
  readonly filesOf: (text: string, touched: readonly string[]) => LaneFiles['files'];
  readonly changedBy: (lane: LaneId) => readonly string[];
}

/** Reads the history, and the changes on these lanes' branches. If git fails, logs that and returns null. */
async function readPredictions(
  { config, repository, log }: GateDeps,
  { branches }: Pick<AdmissibleLane['look'], 'branches'>,
  { lanes, texts }: { readonly lanes: readonly LaneId[]; readonly texts: readonly string[] },
): Promise<Predictions | null> {
  const heads = lanes.flatMap((lane): readonly RemoteBranch[] => {
    const branch = config.branchPrefix + lane;
    const head = branches[branch];
    return head === undefined ? [] : [{ branch, head }];
  });
  const asked = { branches: heads, symbols: findSymbols(texts.join('\n')) };
  const read = await repository.history(asked).catch((error: unknown) => getErrorText(error));
  if (read === null || typeof read === 'string') {
    log.info(`One branch in this run: the history cannot be read. ${read === null ? '' : completeSentence(read)}`);
    return null;
  }
  return indexed(read, config.branchPrefix);
}

function indexed(read: FileHistory & { readonly changed: FilesByBranch }, prefix: string): Predictions {
  const index = indexHistory(read);
  return {
    filesOf: (text, touched) => predictFiles(index, { text, touched }),
    changedBy: (lane) => read.changed[prefix + lane] ?? [],
  };
}

function wordsOfTask({ title, body, comments }: Task): string {
  return [title, body, ...comments.map(({ text }) => text)].join('\n');
}

/** Returns the number of pull requests that `max-open-prs` allows in addition to those of the first lanes. */
async function roomForNew(
  { config, forge }: GateDeps,
  { branches }: Pick<AdmissibleLane['look'], 'branches'>,
  firstLanes: readonly PlannedLane[],
): Promise<number> {
  const { maxOpenPrs, branchPrefix, parallel } = config;
  if (maxOpenPrs === 0) return MAX_NEW_LANES;
  const own = firstLanes.filter((one) => !hasPullRequest(one)).length;
  // There are never more pull requests than branches, so the limit may be out of reach without a request.
  const certain = maxOpenPrs - own - Object.keys(branches).length;
  const room = certain >= parallel ? certain : maxOpenPrs - own - (await forge.openPullRequests(branchPrefix)).length;
  return Math.min(MAX_NEW_LANES, Math.max(0, room));
}

function hasPullRequest({ decided: { lane } }: PlannedLane): boolean {
  return lane.pullRequest !== null;
}

/** Returns a new lane for a task that the queue has admitted and that has not been begun. */
function newLane({ config, clock }: GateDeps, queue: AdmissibleLane, task: Task): AdmissibleLane {
  const { id } = task;
  const fresh = createInitialState(id, clock.now());
  const state = { ...fresh, tasks: { [id]: getProgress(queue.state.tasks, id) }, windows: queue.state.windows };
  const branch = config.branchPrefix + id;
  const lane = { ...queue.lane, id, branch, start: { kind: 'fresh' } as const, pullRequest: null };
  const unread = { warnings: [], notices: [], claimedBy: null, checks: null, held: null };
  const notes = { ...queue.notes, ...unread, restored: 'none yet (first run)' };
  // The state of a new lane does not show that the task's dependencies are done and merged, so drop them.
  const tasks = [{ ...task, dependsOn: [] }];
  return {
    ...{ kind: 'admissible', lane, tasks, state, notes, ownWindows: fresh.windows, look: queue.look },
    ...{ snapshot: queue.snapshot, restoredTasks: state.tasks, hasUnpostedAnswers: false, standing: null },
    end: createLaneEnder(lane, { tasks, state, notes }),
  };
}
