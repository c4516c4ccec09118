import { z } from 'zod';
import type { TaskShare } from '../../core/lane/change.ts';
import { withKnownLimits } from '../../core/lane/known-limits.ts';
import { createInitialState, type LaneState, createProbeState } from '../../core/lane/state/state.ts';
import type { Windows } from '../../core/lane/windows.ts';
import { honourLeftCircuit, type LeftCircuit } from '../../core/others/left-circuit.ts';
import type { Outcome } from '../../core/outcome.ts';
import { findConflictingBranch, explainInTheWay } from '../../core/refusals/refusal.ts';
import { endReservations, type ParsedBudget, seedBudget, sumWindows } from '../../core/sharing/budget.ts';
import { blocksOtherHolder, type Lease } from '../../core/sharing/lease.ts';
import { applyOrders, type Order, findOrderSubject } from '../../core/sharing/orders.ts';
import { withAnswers } from '../../core/sharing/waiting-issues.ts';
import { endClaimsInSnapshot } from '../../core/snapshot/changes.ts';
import { listLaneAnswers, listLanesWithLimits, parseBudgetIn, type Snapshot } from '../../core/snapshot/snapshot.ts';
import { isPromptTask, type LaneId, nameOfLane, QUEUE, type TaskId } from '../../core/tasks/ids.ts';
import { isFinished, isSettled, isStuck, type TaskProgress } from '../../core/tasks/task.ts';
import { getProgress, resetProgress, untouchedProgress, withChangedTasks } from '../../core/tasks/queue.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import type { OpenedLane } from '../../ports/repository.ts';
import type { RestoredState } from '../../ports/state.ts';
import type { GateDeps } from '../deps.ts';
import type { WorkRequest } from '../tasks/sources.ts';
import { readLiveAttempts } from './live-attempts.ts';

const defaultBranchOfEvent = z.object({ repository: z.object({ default_branch: z.string().min(1) }) });

/** A lane's state as this run finds it, after people's orders were obeyed. */
export interface RestoredLane {
  readonly state: LaneState;
  /** A line for people that says where the state came from. */
  readonly note: string;
  readonly warnings: readonly string[];
  /** The lease of another run, or null if the lane is free. */
  readonly claimedBy: Lease | null;
  /** Usage in the lane's own document; `state` has the repository's. */
  readonly ownWindows: Windows;
}

interface RestoreRequest {
  readonly lane: LaneId;
  /**
   * True if the lane's branch exists. A missing state is then a loss, and the lane gets one probe instead of a clean
   * slate.
   */
  readonly expected: boolean;
  /** Issues that have their own branches, if that matters; empty for an issue's lane. */
  readonly elsewhere: readonly TaskId[];
  readonly deps: Pick<
    GateDeps,
    'config' | 'context' | 'store' | 'forge' | 'clock' | 'runTag' | 'readLeftCircuit' | 'sha256'
  >;
}

/** The stored lane and the repository's usage; `restored` is null if nothing is stored. */
export interface KeptLane {
  readonly restored: RestoredState | null;
  /** The snapshot that was read, or null if the store has none yet. */
  readonly snapshot: Snapshot | null;
  readonly budget: KnownBudget | null;
  /** The circuit that another Ralph left in the checkout for the queue; null if none, or for another lane. */
  readonly left: LeftCircuit | null;
}

type KnownBudget = Extract<ParsedBudget, { kind: 'budget' }>;

/**
 * Restores a lane's state, with the repository's usage windows in it. Throws a UserError if a newer version wrote it.
 */
export async function restoreLane(request: RestoreRequest): Promise<RestoredLane> {
  return judgeLane(await loadLane(request), request);
}

/**
 * Reads the store and the checkout. Throws a UserError if a required part does not answer, before anything else is
 * read.
 */
export async function loadLane({ lane, deps }: Pick<RestoreRequest, 'lane' | 'deps'>): Promise<KeptLane> {
  const left = await leftCircuitOf(lane, deps);
  if (deps.config.stateStore === 'none') return { restored: null, snapshot: null, budget: null, left };
  const { lane: restored, snapshot } = await restoreOrThrow(lane, deps);
  if (snapshot === null) return { restored, snapshot, budget: null, left };
  const cleaned = await cleanedCounters(snapshot, lane, deps);
  // The claim on this lane may have ended with the counters.
  const again = cleaned.snapshot === snapshot ? restored : (await restoreOrThrow(lane, deps)).lane;
  return { restored: again, left, ...cleaned };
}

async function restoreOrThrow(
  lane: LaneId,
  { config, store }: RestoreRequest['deps'],
): Promise<Awaited<ReturnType<GateDeps['store']['restore']>>> {
  const found = await store.restore(lane);
  if (found.lane.kind === 'unavailable' && config.stateStore !== 'cache') throw unreachableError(lane, found.lane.why);
  return found;
}

async function leftCircuitOf(
  lane: LaneId,
  { readLeftCircuit, sha256 }: RestoreRequest['deps'],
): Promise<LeftCircuit | null> {
  const found = lane === QUEUE ? await readLeftCircuit() : null;
  return found === null ? null : { ...found, hash: sha256(found.text) };
}

/**
 * Returns the counters without outdated entries, and saves them at once, even if this run will not work: other runs
 * must not wait for runs that have ended without giving back their claims, and the recorded instant at which a budget
 * was used up must not move with every run that reads it.
 */
async function cleanedCounters(
  snapshot: Snapshot,
  lane: LaneId,
  deps: RestoreRequest['deps'],
): Promise<{ readonly snapshot: Snapshot; readonly budget: KnownBudget }> {
  const { store, context, clock } = deps;
  const now = clock.now();
  const known = budgetOf(snapshot, lane, now);
  const live = [context, ...(await readLiveAttempts(deps, { budget: known.budget, lane, now }))];
  if (known.problem === null && endReservations(known.budget, live, now) === known.budget)
    return { snapshot, budget: known };
  const message = `usage: run ${context.runId} ends what runs hold that have ended`;
  const updated = await store.update(endClaimsInSnapshot(live, { message, now }));
  // Without write access the run works without the counters, just as it works without a claim.
  if (updated.kind === 'unguarded')
    return { snapshot, budget: { ...known, budget: endReservations(known.budget, live, now) } };
  if (updated.kind === 'unavailable') throw unreachableError(lane, updated.why);
  const budget = budgetOf(updated.snapshot, lane, now);
  return { snapshot: updated.snapshot, budget: { ...budget, problem: known.problem } };
}

function budgetOf(snapshot: Snapshot, lane: LaneId, now: number): KnownBudget {
  const budget = parseBudgetIn(snapshot, now);
  if (budget.kind === 'newer')
    throw unreachableError(
      lane,
      `it was written by a newer version of this action (version ${String(budget.version)})`,
    );
  return budget;
}

/** Returns the lane for this run from its stored data. Throws a UserError if a newer version stored it. */
export function judgeLane(
  { restored, snapshot, budget, left }: KeptLane,
  request: Omit<RestoreRequest, 'deps'> & {
    readonly deps: Pick<GateDeps, 'clock' | 'runTag'> & {
      readonly context: Pick<GateDeps['context'], 'runId' | 'runAttempt'>;
    };
  },
): RestoredLane {
  const { lane, expected, elsewhere, deps } = request;
  const now = deps.clock.now();
  const { orders, lease } = restored !== null && 'orders' in restored ? restored : { orders: [], lease: null };
  const isClaimed = lease !== null && blocksOtherHolder(lease, { runTag: deps.runTag, ...deps.context }, now);
  const found =
    restored === null
      ? newLane(createInitialState(lane, now), 'not kept (state-store: none)', [])
      : // The first run makes the branch before it saves a state.
        judgeState(restored, { lane, expected: expected && !isClaimed, now });
  const answers = snapshot === null ? [] : listLaneAnswers(snapshot, (issue) => lane === QUEUE || issue.task === lane);
  const limits = snapshot === null ? [] : listLanesWithLimits(snapshot, lane);
  const known = withKnownLimits(withAnswers(found.state, answers, elsewhere), limits, now);
  // Respect it before the orders, so that a person's order to close the circuit also closes this one.
  const honoured = left === null ? { state: known, warning: null } : honourLeftCircuit(known, left, now);
  const obeyed = found.isLost ? obeyAfterLoss(honoured.state, orders) : applyOrders(honoured.state, orders);
  const state =
    budget === null
      ? obeyed
      : { ...obeyed, windows: sumWindows(seedBudget(budget.budget, obeyed.windows), deps.runTag, now) };
  return {
    ...found,
    state,
    warnings: [
      ...found.warnings,
      ...(budget !== null && budget.problem !== null ? [budget.problem] : []),
      ...(honoured.warning !== null && obeyed.circuit.kind === 'open' ? [honoured.warning] : []),
    ],
    claimedBy: isClaimed ? lease : null,
    ownWindows: obeyed.windows,
  };
}

/**
 * Obeys only the pause among the orders, because a lost state may already have obeyed the resets, and an old reset must
 * not close the circuit now.
 */
function obeyAfterLoss(state: LaneState, orders: readonly Order[]): LaneState {
  const paused = applyOrders(
    state,
    orders.filter((order) => findOrderSubject(order) === 'pause'),
  );
  return { ...paused, ordersApplied: Math.max(paused.ordersApplied, ...orders.map(({ number }) => number)) };
}

/** A state that was found. `isLost` is true if it existed and is gone. */
type FoundState = Pick<RestoredLane, 'state' | 'note' | 'warnings'> & { readonly isLost: boolean };

function judgeState(
  restored: RestoredState,
  { lane, expected, now }: { readonly lane: LaneId; readonly expected: boolean; readonly now: number },
): FoundState {
  switch (restored.kind) {
    case 'newer':
      throw newerStateError(lane, restored.version, restored.origin);
    case 'found': {
      const { state, origin, warnings } = restored;
      const note = `restored #${String(state.sequence)} (${origin})`;
      return { state, note, warnings, isLost: false };
    }
    case 'unreadable':
      return lostLane(
        createProbeState(lane, now),
        `unreadable (${restored.origin}): ${restored.why}`,
        restored.warnings,
      );
    case 'absent':
      return expected
        ? lostLane(createProbeState(lane, now), 'lost: no copy of it is left', restored.warnings)
        : newLane(createInitialState(lane, now), 'none yet (first run)', restored.warnings);
    case 'unavailable':
      return expected
        ? lostLane(createProbeState(lane, now), `lost: ${restored.why}`, [])
        : newLane(createInitialState(lane, now), `none (${restored.why})`, [
            `The state could not be restored: ${completeSentence(restored.why)} There is no branch yet, so this counts as the first run.`,
          ]);
  }
}

function newLane(state: LaneState, note: string, warnings: readonly string[]): FoundState {
  return { state, note, warnings, isLost: false };
}

function lostLane(state: LaneState, note: string, warnings: readonly string[]): FoundState {
  const warning = `The branch of ${nameOfLane(state.lane)} exists but its state is ${completeSentence(note)} Circuit, limits and session are unknown, so the run begins with one probe iteration.`;
  return { state, note, warnings: [...warnings, warning], isLost: true };
}

/**
 * Returns the error for an unreachable store of leases, orders and counters: without them, this run may be a second
 * one, or one that a person paused.
 */
function unreachableError(lane: LaneId, why: string): UserError {
  const said = `The state of ${nameOfLane(lane)} cannot be read, so no call is made: ${completeSentence(why)}`;
  // Permissions do not help with a token that the server does not know, so do not mention them.
  if (why.includes('has expired')) return new UserError('infrastructure', said);
  return new UserError(
    'infrastructure',
    `${said} Check that the server can be reached and that the token has "contents: read"; if both are true and it keeps failing, set \`state-store: cache\`.`,
  );
}

function newerStateError(lane: LaneId, version: number, origin: string): UserError {
  const advice =
    origin === 'directory'
      ? 'Use that version, or delete the files .ralph/state/snapshot.*.json.'
      : `Use that version in \`uses:\`, or delete the ref refs/ralph/v2/state and the cache entries that begin with ralph-state-v1/.`;
  return new UserError(
    'configuration',
    `The state of ${nameOfLane(lane)} (${origin}) was written by a newer version of this action (version ${String(version)}), which this version cannot read and does not overwrite. ${advice}`,
  );
}

/** Returns the finished tasks whose commits a person removed from the branch; empty if that is unknown. */
export function findRemovedWork(
  { change, tasks: progress }: LaneState,
  { tasks: present }: Pick<OpenedLane, 'tasks'>,
): readonly TaskId[] {
  const isRemoved = ([id, { commitCount }]: [TaskId, TaskShare]): boolean =>
    commitCount > 0 && isFinished(getProgress(progress, id)) && present?.includes(id) === false;
  return Object.entries(change.tasks)
    .filter(isRemoved)
    .map(([id]) => id);
}

/** Returns the state in which these tasks are not begun and have no share of the branch. */
export function forgetWork(state: LaneState, ids: readonly TaskId[]): LaneState {
  const kept = Object.entries(state.change.tasks).filter(([id]) => !ids.includes(id));
  return {
    ...state,
    tasks: withChangedTasks(state.tasks, ids, resetProgress),
    change: { ...state.change, tasks: Object.fromEntries(kept) },
  };
}

/**
 * Forgets outdated progress: work whose branch is gone, and tasks for which a person asked again by name (done ones
 * only if they should be repeated). With `promptAgain`, work on the prompt begins again as well.
 */
export function dropStaleProgress(
  state: LaneState,
  now: {
    readonly named: readonly TaskId[];
    readonly redo: boolean;
    readonly promptAgain: boolean;
    readonly workIsLost: boolean;
  },
): LaneState {
  const holds = (id: TaskId, progress: TaskProgress): boolean => {
    if (now.workIsLost && (isFinished(progress) || progress.state === 'in-progress')) return false;
    if (now.promptAgain && isPromptTask(id) && isSettled(progress)) return false;
    const isOver = isStuck(progress) || (isFinished(progress) && now.redo);
    return !(now.named.includes(id) && isOver);
  };
  const known = Object.entries(state.tasks).map(([id, progress]) => {
    const unproven = now.workIsLost ? undefined : progress.unproven;
    return [id, holds(id, progress) ? { ...progress, unproven } : resetProgress(progress)] as const;
  });
  const tasks = Object.fromEntries(known.filter(([, progress]) => progress !== untouchedProgress));
  // The effect of a step is gone with the branch as well, so the step's marker is removed.
  const steps = now.workIsLost ? { ...state.steps, markers: [] } : state.steps;
  return { ...state, tasks, steps };
}

/**
 * Returns the end of a run if the maximum number of pull requests is open. Returns null if the run may open another
 * one, or a person asks for it.
 */
export async function endIfTooManyPulls(
  { config, forge }: GateDeps,
  lane: {
    readonly request: WorkRequest;
    readonly branches: Readonly<Record<string, string>>;
    readonly hasPullRequest: boolean;
  },
): Promise<Outcome | null> {
  const { maxOpenPrs, branchPrefix } = config;
  if (maxOpenPrs === 0 || lane.request.asked || lane.hasPullRequest) return null;
  // There are never more pull requests than branches, so no request is needed.
  if (Object.keys(lane.branches).length < maxOpenPrs) return null;
  const open = await forge.openPullRequests(branchPrefix);
  return open.length >= maxOpenPrs ? { kind: 'idle', reason: 'waiting_for_review' } : null;
}

/** Throws one UserError with all known problems that would make this run's work impossible or unpublishable. */
export async function checkBeforeSpending(
  deps: GateDeps,
  lane: {
    readonly base: string;
    readonly branch: string;
    /** Branches of the server whose names could conflict with this one. */
    readonly branches: Readonly<Record<string, string>>;
  },
): Promise<void> {
  const isNew = lane.branches[lane.branch] === undefined;
  const inTheWay = isNew ? findConflictingBranch(lane.branch, Object.keys(lane.branches)) : null;
  // If git does not allow the name, the server's answer would not help, so do not ask for it.
  const [found, pushObstacle] = await Promise.all([
    deps.repository.problems(),
    deps.remote.pushObstacle(isNew && inTheWay === null ? lane.branch : null),
  ]);
  // The agent's key is checked in the job of the loop, which has it, so it is not checked here.
  const { loginProblems, verifyProblems } = deps.context;
  const login = deps.config.handoff.phase === 'gate' ? [] : [...loginProblems, ...verifyProblems];
  const { unknown } = deps.config.settings;
  const problems = [...found, ...login, ...(unknown === null ? [] : [unknown])];
  if (lane.branch === lane.base)
    problems.push(
      `The branch to work on, "${lane.branch}", is the base branch. Set a different \`branch-prefix\` or \`base-branch\`.`,
    );
  if (inTheWay !== null) problems.push(explainInTheWay(lane.branch, inTheWay));
  if (pushObstacle !== null) problems.push(pushObstacle.why);
  // A server that may answer the next run needs no attention, so that problem is temporary.
  const isTransient = pushObstacle?.kind === 'transient' && problems.length === 1;
  if (problems.length > 0)
    throw new UserError(
      isTransient ? 'infrastructure' : 'configuration',
      `The run cannot work:\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
    );
}

/** Returns the branch that work starts from. */
export async function findBaseBranch(deps: GateDeps): Promise<string> {
  if (deps.config.baseBranch !== null) return deps.config.baseBranch;
  const event = defaultBranchOfEvent.safeParse(deps.context.event.payload);
  return event.success ? event.data.repository.default_branch : deps.forge.defaultBranch();
}
