import { initialState } from '../../core/lane/state/state.ts';
import { type ChosenLanes, chooseLanes, type LaneFiles } from '../../core/parallel/choose-lanes.ts';
import { type FileHistory, indexHistory, predictFiles } from '../../core/parallel/predict-files.ts';
import { branchInTheWay } from '../../core/refusals/refusal.ts';
import { keepsOut } from '../../core/sharing/lease.ts';
import { recordIn, type Snapshot } from '../../core/snapshot/snapshot.ts';
import { issueLane, type LaneId, reopenTasksDueInRun, type TaskId } from '../../core/tasks/ids.ts';
import { isEligible, progressOf } from '../../core/tasks/queue.ts';
import type { Task } from '../../core/tasks/task.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { textOf } from '../../errors.ts';
import type { Issue } from '../../ports/forge.ts';
import type { FilesByBranch, RemoteBranch } from '../../ports/repository.ts';
import type { GateDeps } from '../deps.ts';
import { FOR_TASKS, requestByItself, type Request } from '../tasks/sources.ts';
import { type Admissible, endOn } from './decide.ts';

/** A lane on which this run may work, as far as is known without claiming it. */
export interface PlannedLane {
  readonly request: Request;
  readonly decided: Admissible;
}

/** The lanes of a run, the first of which matters most, and what was chosen for them. */
export interface LanePlan extends Pick<ChosenLanes, 'waiting'> {
  readonly lanes: readonly PlannedLane[];
  /** The files that each lane probably touches, for people. */
  readonly files: readonly LaneFiles[];
}

/**
 * Plans the lanes of a run: the queue if it has work (else null), those of its unfinished issues, and new ones for its
 * tasks. Makes at most two requests.
 */
export async function planLanes(
  deps: GateDeps,
  request: Request,
  { queue, unfinished }: { readonly queue: Admissible | null; readonly unfinished: readonly PlannedLane[] },
): Promise<LanePlan> {
  const own = queue === null ? [] : [{ request, decided: queue }];
  const alone = { lanes: [...own, ...unfinished].slice(0, 1), files: [], waiting: [] };
  const { snapshot = null, look } = queue ?? unfinished[0]?.decided ?? {};
  if (snapshot === null || look === undefined) return alone;
  const tasks = queue?.tasks ?? [];
  const progress = queue === null ? {} : reopenTasksDueInRun(queue.state.tasks, deps.config.policy, deps.clock.now());
  const mayLeave = (id: TaskId): boolean =>
    hasNothingStored(snapshot, id) &&
    branchInTheWay(deps.config.branchPrefix + id, Object.keys(look.branches)) === null;
  const eligible = tasks.filter((task) => isEligible(task, progress));
  const isAlone = eligible.length < 2 || !eligible.some(({ id }) => mayLeave(id));
  if (unfinished.length < (queue === null ? 2 : 1) && isAlone) return alone;

  const busy = busyIssues(deps, request, snapshot);
  const read = await readFiles(deps, {
    ...look,
    lanes: [...busy.map(({ number }) => issueLane(number)), ...lanesOf(unfinished)],
    queue,
  });
  if (read === null) return alone;
  const { filesOf, changedBy } = read;
  const ofIssue = ({ number, title, body }: Issue): LaneFiles => {
    const lane = issueLane(number);
    return { lane, files: filesOf(`${title}\n${body}`, changedBy(lane)) };
  };
  const ofPlanned = ({ decided }: PlannedLane): LaneFiles => {
    const lane = decided.lane.id;
    return { lane, files: filesOf(decided.tasks.map(wordsOfTask).join('\n'), changedBy(lane)) };
  };
  const texts = new Map(tasks.map((task) => [task.id, wordsOfTask(task)]));
  const chosen = chooseLanes({
    ...{ tasks, progress, currentTask: queue?.state.currentTask ?? null, mayLeave },
    maxIterations: deps.config.policy.maxIterations,
    changed: queue === null ? [] : changedBy(queue.lane.id),
    filesOf: (id) => filesOf(texts.get(id) ?? '', []),
    busy: busy.map(ofIssue),
    continuable: unfinished.map(ofPlanned),
    maxBeside: deps.config.parallel - own.length,
    maxNew: queue === null ? 0 : await roomForNew(deps, queue),
  });
  const continued = unfinished.filter(({ decided }) => chosen.continued.some(({ lane }) => lane === decided.lane.id));
  const begun = chosen.begun.flatMap(({ lane }) => {
    const task = tasks.find(({ id }) => id === lane);
    const issue = request.issues.find(({ number }) => issueLane(number) === lane);
    if (task === undefined || issue === undefined || queue === null) return [];
    return [{ request: requestByItself(issue, FOR_TASKS), decided: newLane(deps, queue, task) }];
  });
  const lanes = [...own, ...continued, ...begun];
  const files = [chosen.own, ...chosen.continued, ...chosen.begun];
  return lanes.length < 2 ? alone : { lanes, files, waiting: chosen.waiting };
}

/** Returns true if no run ever worked on this lane, and nobody asked anything of it. */
function hasNothingStored(snapshot: Snapshot, lane: LaneId): boolean {
  const record = recordIn(snapshot, lane);
  if (record === null) return false;
  const { sequence, document, lease, orders, goesOn } = record;
  return sequence === 0 && document === null && lease === null && orders.length === 0 && goesOn !== 'unanswered';
}

/** Returns the issues whose own lanes another run works on now. */
function busyIssues({ runTag, context, clock }: GateDeps, { issues }: Request, snapshot: Snapshot): readonly Issue[] {
  return issues.filter(({ number }) => {
    const lease = recordIn(snapshot, issueLane(number))?.lease ?? null;
    return lease !== null && keepsOut(lease, { runTag, ...context }, clock.now());
  });
}

function lanesOf(planned: readonly PlannedLane[]): readonly LaneId[] {
  return planned.map(({ decided }) => decided.lane.id);
}

interface ReadFiles {
  readonly filesOf: (text: string, touched: readonly string[]) => LaneFiles['files'];
  readonly changedBy: (lane: LaneId) => readonly string[];
}

/** Reads what predictions need; null, with a line in the log, if git cannot tell. */
async function readFiles(
  { config, repository, log }: GateDeps,
  {
    branches,
    lanes,
    queue,
  }: Pick<Admissible['look'], 'branches'> & { readonly lanes: readonly LaneId[]; readonly queue: Admissible | null },
): Promise<ReadFiles | null> {
  const wanted = [...lanes, ...(queue?.lane.start.kind === 'continue' ? [queue.lane.id] : [])];
  const heads = wanted.flatMap((lane): readonly RemoteBranch[] => {
    const branch = config.branchPrefix + lane;
    const head = branches[branch];
    return head === undefined ? [] : [{ branch, head }];
  });
  const read = await repository.history(heads).catch((error: unknown) => textOf(error));
  if (read === null || typeof read === 'string') {
    log.info(`One branch in this run: the history cannot be read. ${read === null ? '' : completeSentence(read)}`);
    return null;
  }
  return indexed(read, config.branchPrefix);
}

function indexed(read: FileHistory & { readonly changed: FilesByBranch }, prefix: string): ReadFiles {
  const index = indexHistory(read);
  return {
    filesOf: (text, touched) => predictFiles(index, { text, touched }),
    changedBy: (lane) => read.changed[prefix + lane] ?? [],
  };
}

function wordsOfTask({ title, body, comments }: Task): string {
  return [title, body, ...comments.map(({ text }) => text)].join('\n');
}

/** Returns how many more pull requests people allow beside the queue's own. */
async function roomForNew({ config, forge }: GateDeps, { lane, look }: Admissible): Promise<number> {
  const { maxOpenPrs, branchPrefix, parallel } = config;
  const own = lane.pullRequest === null ? 1 : 0;
  // There are never more pull requests than branches.
  if (maxOpenPrs === 0 || Object.keys(look.branches).length + parallel <= maxOpenPrs) return parallel;
  return Math.max(0, maxOpenPrs - own - (await forge.openPullRequests(branchPrefix)).length);
}

/** Returns the lane of a task that the queue has admitted and nothing has begun. */
function newLane({ config, clock }: GateDeps, queue: Admissible, task: Task): Admissible {
  const { id } = task;
  const fresh = initialState(id, clock.now());
  const state = { ...fresh, tasks: { [id]: progressOf(queue.state.tasks, id) }, windows: queue.state.windows };
  const branch = config.branchPrefix + id;
  const lane = { ...queue.lane, id, branch, start: { kind: 'fresh' } as const, pullRequest: null };
  const unread = { warnings: [], notices: [], claimedBy: null, checks: null, held: null };
  const notes = { ...queue.notes, ...unread, restored: 'none yet (first run)' };
  // What it depends on is done and merged, which the state of a new lane does not know.
  const tasks = [{ ...task, dependsOn: [] }];
  return {
    ...{ kind: 'admissible', lane, tasks, state, notes, ownWindows: fresh.windows, look: queue.look },
    ...{ snapshot: queue.snapshot, hasUnpostedAnswers: false, standing: null },
    end: endOn(lane, { tasks, state, notes }),
  };
}
