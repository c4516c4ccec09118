import type { Config } from '../../src/config/config.ts';
import { DAY_MS, MINUTE_MS } from '../../src/core/countdown.ts';
import { bookCall, bookUsage } from '../../src/core/lane/ledger.ts';
import { serializeState } from '../../src/core/lane/state/serialize-state.ts';
import { createInitialState, type LaneState } from '../../src/core/lane/state/state.ts';
import { chooseLanes, type LaneFiles } from '../../src/core/parallel/choose-lanes.ts';
import { findSharedFile } from '../../src/core/parallel/predict-files.ts';
import { sumWindows } from '../../src/core/sharing/budget.ts';
import { blocksOtherHolder, type Lease, runTagOfLane } from '../../src/core/sharing/lease.ts';
import { finishInSnapshot } from '../../src/core/snapshot/changes.ts';
import { parseBudgetIn, emptySnapshot, parseRecordIn, type Snapshot } from '../../src/core/snapshot/snapshot.ts';
import { type LaneId, QUEUE, type TaskId, taskIdOfIssue } from '../../src/core/tasks/ids.ts';
import { untouchedProgress } from '../../src/core/tasks/queue.ts';
import type { QueuedTask } from '../../src/core/tasks/task.ts';
import { MAX_NEW_LANES } from '../../src/gate/lane/plan-lanes.ts';
import { claimLanes, type LaneClaim, releaseLane, type WantedClaim } from '../../src/gate/lane/claim.ts';
import type { SnapshotPlace } from '../../src/ports/state.ts';
import { createSnapshotStore } from '../../src/state/snapshot-store.ts';
import { configOf } from '../simulator/policies.ts';
import { createRandom } from '../simulator/random.ts';

/** A queue, and the faults of its runs. */
export interface LanesSetting {
  readonly seed: number;
  readonly parallel: number;
  /** Number of tasks, and the calls that each takes. */
  readonly tasks: number;
  readonly callsOfTask: number;
  /** `apart`: each task has a file of its own; `mixed`: tasks share files, and the files of some are unknown. */
  readonly files: 'apart' | 'mixed';
  /** Probability that a lane's job is killed; half of the killed jobs still release the lane. */
  readonly killed: number;
  readonly inputs: Readonly<Record<string, string>>;
}

/** The result: minutes until all tasks are done, and each rule that was broken, as a sentence. */
export interface PlayedLanes {
  readonly minutes: number;
  readonly calls: number;
  /** Maximum number of calls at the same time. */
  readonly atOnce: number;
  readonly problems: readonly string[];
}

const CALL_MS = 4 * MINUTE_MS;

/** Time in ms of the gate, and of a lane's own jobs before and after its calls. */
const GATE_MS = MINUTE_MS;
const JOBS_MS = 2 * MINUTE_MS;
/** Interval of the schedule; short, so that the total time is that of the work. */
const SCHEDULE_MS = 5 * MINUTE_MS;
const HORIZON_MS = 6 * DAY_MS;
const MIDNIGHT = Date.parse('2026-11-21T00:00:00Z');

interface SimulatedTask extends QueuedTask {
  readonly files: ReadonlySet<string> | null;
  callsLeft: number;
  callsMade: number;
  /** The lane that has begun it; null if none has. */
  lane: LaneId | null;
}

interface Call {
  readonly task: SimulatedTask;
  readonly lane: LaneId;
  readonly from: number;
}

interface Event {
  readonly at: number;
  readonly act: () => Promise<void>;
}

/** Plays the queue until all is done, with the real choice, claims, shares and settlements. */
export async function playLanes(setting: LanesSetting): Promise<PlayedLanes> {
  const random = createRandom(setting.seed);
  const money = { 'max-cost-usd-per-day': '10000', 'max-cost-usd': '40' };
  const single = configOf({ ...money, ...setting.inputs });
  const config = { ...single, parallel: setting.parallel, handoff: { ...single.handoff, phase: 'gate' as const } };
  const tasks = createTasks(setting, random);
  const states = new Map<LaneId, LaneState>();
  const calls: Call[] = [];
  const problems: string[] = [];
  const events: Event[] = [];
  let now = MIDNIGHT;
  let runs = 0;
  const settledUsd = new Map<number, number>();
  let snapshot: Snapshot = emptySnapshot;
  const store = createSnapshotStore({
    place: placeOf(
      () => snapshot,
      (next) => (snapshot = next),
    ),
    copies: null,
    conversations: null,
    now: () => now,
    pace: { random: () => 0, sleep: () => Promise.resolve() },
  });

  const leaseOn = (lane: LaneId): Lease | null => parseRecordIn(snapshot, lane)?.lease ?? null;

  async function run(): Promise<void> {
    runs += 1;
    const context = { runId: String(runs), runAttempt: 1, runUrl: '' };
    const runTag = `run-${context.runId}`;
    const isHeld = (lane: LaneId): boolean => {
      const lease = leaseOn(lane);
      return lease !== null && blocksOtherHolder(lease, { runTag, ...context }, now);
    };
    const open = tasks.filter(({ callsLeft }) => callsLeft > 0);
    if (open.length === 0) return;
    if (now < MIDNIGHT + HORIZON_MS) events.push({ at: now + SCHEDULE_MS, act: run });
    if (isHeld(QUEUE)) return;
    const ofQueue = open.filter(({ id, lane }) => lane !== id);
    const own = (of: readonly SimulatedTask[]): readonly LaneFiles[] =>
      of.filter(({ id, lane }) => lane === id).map(({ id, files }) => ({ lane: id, files }));
    const chosen = chooseLanes({
      tasks: ofQueue,
      progress: Object.fromEntries(
        ofQueue.map(({ id, callsMade }) => [id, { ...untouchedProgress, attempts: callsMade }]),
      ),
      ...{ currentTask: null, maxIterations: config.policy.maxIterations, changed: [] },
      filesOf: (id) => tasks.find((task) => task.id === id)?.files ?? null,
      mayLeave: () => true,
      busy: tasks.flatMap(({ id, files }) => (isHeld(id) ? [{ lane: id, files }] : [])),
      ...{ urgent: [], continuable: own(open).filter(({ lane }) => !isHeld(lane)) },
      maxBeside: config.parallel - (ofQueue.length > 0 ? 1 : 0) - tasks.filter(({ id }) => isHeld(id)).length,
      maxNew: MAX_NEW_LANES,
    });
    const lanes = [
      ...(ofQueue.length > 0 ? [QUEUE] : []),
      ...[...chosen.continued, ...chosen.begun].map(({ lane }) => lane),
    ];
    checkFiles([...chosen.continued, ...chosen.begun]);
    const tasksOf = (lane: LaneId): readonly SimulatedTask[] =>
      lane === QUEUE ? ofQueue : tasks.filter(({ id }) => id === lane);
    const wanted = lanes.map((lane): WantedClaim => ({
      ...{ lane, runTag: runTagOfLane(runTag, lane), seen: snapshot, sequence: 0, windows: { hour: null, day: null } },
      ...{ named: [], purpose: 'tasks', costOfCallUsd: 1 },
      tasks: (elsewhere) => tasksOf(lane).flatMap(({ id }) => (elsewhere.has(id) ? [] : [id])),
    }));
    const [first, ...others] = wanted;
    if (first === undefined) return;
    const deps = { config, context: { ...NO_CONTEXT, ...context }, store, clock: { now: () => now } };
    const claims = await claimLanes({ ...deps, runTag }, [first, ...others]);
    checkLimits(config);
    const taken = lanes.filter((_, at) => claims[at]?.kind === 'claimed');
    const waiting = chosen.waiting.filter(({ lane }) => taken.includes(lane)).map(({ task }) => task);
    // GitHub begins a job of the matrix in its order whenever fewer than \`parallel\` are at work.
    const machines = Array.from({ length: config.parallel }, () => now + GATE_MS);
    for (const [at, lane] of lanes.entries()) {
      const claim = claims[at];
      if (claim?.kind !== 'claimed') continue;
      const list = tasksOf(lane).filter(
        ({ id }) => !claim.elsewhere.has(id) && !(lane === QUEUE && waiting.includes(id)),
      );
      // The gate ends a run without a call and releases its claims.
      if (claim.policy.maxIterations === 0) await releaseLane({ ...deps, runTag: runTagOfLane(runTag, lane) }, lane);
      else {
        const machine = machines.indexOf(Math.min(...machines));
        const from = machines[machine] ?? now;
        machines[machine] = work(lane, list, { claim, from, deps: { ...deps, runTag: runTagOfLane(runTag, lane) } });
      }
    }
  }

  /** Makes the calls of a lane, and settles it at its end, unless its job is killed. Returns the end of its jobs. */
  function work(
    lane: LaneId,
    list: readonly SimulatedTask[],
    {
      claim,
      from,
      deps,
    }: {
      readonly claim: Extract<LaneClaim, { kind: 'claimed' }>;
      readonly from: number;
      readonly deps: Parameters<typeof releaseLane>[0];
    },
  ): number {
    const before = states.get(lane) ?? createInitialState(lane, now);
    const isKilled = random() < setting.killed;
    const all = isKilled ? Math.floor(random() * claim.policy.maxIterations) : claim.policy.maxIterations;
    const most = from + JOBS_MS > claim.startBy ? 0 : all;
    let at = from + JOBS_MS;
    let ledger = before.ledger;
    let made = 0;
    for (const task of list)
      while (task.callsLeft > 0 && made < most && at + CALL_MS < from + config.policy.maxRunMs) {
        calls.push({ task, lane, from: at });
        task.lane = lane;
        task.callsLeft -= 1;
        task.callsMade += 1;
        ledger = bookUsage(bookCall(ledger, at, null), { tokens: 0, costUsd: 1, durationMs: CALL_MS }, at);
        made += 1;
        at += CALL_MS;
      }
    const lease = leaseOn(lane);
    const end = at + JOBS_MS;
    if (lease === null) return end;
    if (isKilled) {
      if (random() < 0.5) events.push({ at: end, act: async () => void (await releaseLane(deps, lane, false)) });
      return end;
    }
    const after: LaneState = { ...before, ledger, sequence: before.sequence + 1 };
    events.push({
      at: end,
      act: async () => {
        states.set(lane, after);
        settledUsd.set(dayOf(now), (settledUsd.get(dayOf(now)) ?? 0) + made);
        const document = serializeState(after);
        const saving = { lane, sequence: after.sequence, document, saver: lease, now, stored: null };
        await store.update(finishInSnapshot({ ...saving, run: { before, after, isPublished: true } }));
      },
    });
    return end;
  }

  function checkFiles(beside: readonly LaneFiles[]): void {
    for (const [at, one] of beside.entries())
      for (const other of beside.slice(at + 1))
        if (one.files === null || other.files === null || findSharedFile(one.files, other.files) !== null)
          problems.push(`${one.lane} and ${other.lane} may touch the same file.`);
  }

  function checkLimits({ policy }: Config): void {
    const parsed = parseBudgetIn(snapshot, now);
    const used = parsed.kind === 'budget' ? (sumWindows(parsed.budget, '', now).hour?.calls ?? 0) : Infinity;
    if (used > policy.maxCallsPerHour) problems.push(`${String(used)} calls are reserved for one hour.`);
  }

  events.push({ at: MIDNIGHT, act: run });
  for (;;) {
    const next = events.toSorted((one, other) => one.at - other.at)[0];
    if (next === undefined) break;
    events.splice(events.indexOf(next), 1);
    now = next.at;
    await next.act();
  }
  const left = tasks.filter(({ callsLeft }) => callsLeft > 0);
  if (left.length > 0) problems.push(`${left.map(({ id }) => id).join(', ')}: not done at the end.`);
  problems.push(...workedTwice(calls));
  const counted = parseBudgetIn(snapshot, now);
  const day = counted.kind === 'budget' ? counted.budget.windows.day : null;
  const countedUsd = day?.costUsd ?? 0;
  const settled = day === null ? 0 : (settledUsd.get(dayOf(day.openedAt)) ?? 0);
  if (countedUsd !== settled)
    problems.push(`$${String(countedUsd)} are counted, but $${String(settled)} were settled.`);
  const last = Math.max(...calls.map(({ from }) => from)) + CALL_MS + JOBS_MS;
  return { minutes: (last - MIDNIGHT) / MINUTE_MS, calls: calls.length, atOnce: countAtOnce(calls), problems };
}

function countAtOnce(calls: readonly Call[]): number {
  return Math.max(
    ...calls.map(({ from }) => calls.filter((one) => one.from <= from && from < one.from + CALL_MS).length),
  );
}

function dayOf(instant: number): number {
  return Math.floor(instant / DAY_MS);
}

function createTasks({ tasks, callsOfTask, files }: LanesSetting, random: () => number): readonly SimulatedTask[] {
  return Array.from({ length: tasks }, (_, at): SimulatedTask => {
    const id: TaskId = taskIdOfIssue(at + 1);
    const shared = random() < 0.3 ? null : new Set([`f${String(Math.floor(random() * tasks))}`]);
    const of = files === 'apart' ? new Set([id]) : shared;
    const listed = { id, priority: 3, dependsOn: [], optional: false, obstacle: null };
    return { ...listed, files: of, callsLeft: callsOfTask, callsMade: 0, lane: null };
  });
}

/** Returns a sentence for each two calls on one task at the same time, and for each task that two lanes began. */
function workedTwice(calls: readonly Call[]): readonly string[] {
  return [...Map.groupBy(calls, ({ task }) => task).values()].flatMap((of) =>
    of.flatMap((one, at) =>
      of.slice(at + 1).flatMap((other) => {
        if (Math.abs(one.from - other.from) < CALL_MS) return [`${one.task.id} is worked on twice at the same time.`];
        return one.lane === other.lane ? [] : [`${one.task.id} is worked on by ${one.lane} and ${other.lane}.`];
      }),
    ),
  );
}

/** Creates the place of a snapshot that every write reaches at once. */
function placeOf(read: () => Snapshot, write: (next: Snapshot) => void): SnapshotPlace {
  let head = 0;
  return {
    name: 'ref',
    read: () => Promise.resolve({ kind: 'snapshot', head: head === 0 ? null : String(head), snapshot: read() }),
    write: ({ snapshot }) => {
      head += 1;
      write(snapshot);
      return Promise.resolve({ kind: 'written', head: String(head) });
    },
    carry: () => null,
    settle: () => Promise.resolve(),
  };
}

const NO_CONTEXT = {
  ...{ workspace: '', temp: '', repository: { owner: '', repo: '' }, serverUrl: '', apiUrl: '', logUrl: '' },
  ...{
    runnerName: '',
    workflowPath: null,
    event: { name: '', payload: null },
    loginProblems: [],
    otherLoginProblems: {},
    verifyProblems: [],
  },
};

/** Limits that no queue reaches, so that the number of lanes alone decides on the time. */
export const UNLIMITED = { 'max-iterations': '1000', 'max-calls-per-hour': '10000', 'max-cost-usd': '10000' };

/** Minimum number of iterations for each lane with which the bound of `partOfOne` holds, if tasks take two calls. */
const ITERATIONS_OF_LANE = 15;

/** Limits that grow with the number of lanes, because a run divides them among its lanes. */
export function limitsFor(parallel: number): Readonly<Record<string, string>> {
  return { ...UNLIMITED, 'max-iterations': String(ITERATIONS_OF_LANE * parallel) };
}

/** The time of several lanes divided by that of one, and the bound for it: 1/N and 20 percent. */
export interface PartOfOne {
  readonly part: number;
  readonly bound: number;
  readonly played: readonly PlayedLanes[];
}

/** Compares the time of independent tasks on several lanes with that on one. `limits` are those of a run. */
export async function partOfOne(
  setting: Pick<LanesSetting, 'seed' | 'parallel' | 'tasks' | 'callsOfTask'>,
  limits: (parallel: number) => Readonly<Record<string, string>>,
): Promise<PartOfOne> {
  const { parallel } = setting;
  const quiet = { ...setting, files: 'apart', killed: 0 } as const;
  const one = await playLanes({ ...quiet, parallel: 1, inputs: limits(1) });
  const many = await playLanes({ ...quiet, inputs: limits(parallel) });
  return { part: many.minutes / one.minutes, bound: 1 / parallel + 0.2, played: [one, many] };
}

/** Renders the time of independent tasks on several lanes, against one lane, and the condition of the bound. */
export async function renderLanes(seed: number): Promise<string> {
  const lines: string[] = [];
  for (const callsOfTask of [1, 2, 3])
    for (const parallel of [2, 3, 5, 10, 20])
      for (const tasks of [1, 2, 4, 10].map((times) => times * parallel)) {
        const setting = { seed, parallel, tasks, callsOfTask };
        const parts = [await partOfOne(setting, limitsFor), await partOfOne(setting, () => ({}))];
        const cells = parts.map(
          ({ part, bound }) => `${(100 * part).toFixed(0)} %${part > bound ? ', above the bound' : ''}`,
        );
        const bound = `${(100 * (parts[0]?.bound ?? 0)).toFixed(0)} %`;
        lines.push(`| ${[callsOfTask, tasks, parallel, bound, ...cells].map(String).join(' | ')} |`);
      }
  const columns = [
    'calls of a task',
    'tasks',
    'branches at once',
    'bound',
    'part of the time on one',
    'default limits',
  ];
  return [
    `| ${columns.join(' | ')} |`,
    `|${' --- |'.repeat(columns.length)}`,
    ...lines,
    '',
    `The bound, 1/N of the time on one branch and 20 %, holds for tasks of two calls or more with at least ${String(ITERATIONS_OF_LANE)} iterations of \`max-iterations\` for each branch. A run divides its limits among its branches, and no division of the default 10 iterations keeps the bound for every number of branches. The other jobs of a branch take as long as the work on a task of one call.`,
  ].join('\n');
}
