import { hasAnswersToPost } from '../../core/feedback/memory.ts';
import { forgetFeedback } from '../../core/feedback/rounds.ts';
import { noChange } from '../../core/lane/change.ts';
import { probeNow } from '../../core/lane/settle/settle-circuit.ts';
import type { LaneState } from '../../core/lane/state/state.ts';
import type { Windows } from '../../core/lane/windows.ts';
import { stopBeforeWork } from '../../core/loop/next-action.ts';
import type { Outcome } from '../../core/outcome.ts';
import { isKnownReady } from '../../core/people/needs.ts';
import { listOtherReservations } from '../../core/sharing/budget.ts';
import { shortenPark } from '../../core/sharing/elsewhere.ts';
import { withAskedTasks } from '../../core/snapshot/going-on.ts';
import { listCeilings, listGrants, listSplitIssues } from '../../core/snapshot/proposals.ts';
import { findProgressIn, type Snapshot } from '../../core/snapshot/snapshot.ts';
import type { JudgedTasks } from '../../core/tasks/admission.ts';
import { nameOfLane, QUEUE, type TaskId, taskIdOfIssue } from '../../core/tasks/ids.ts';
import { reopenWaitingTasks } from '../../core/tasks/preparation.ts';
import { isPlanComplete, getProgress } from '../../core/tasks/queue.ts';
import { withCeilings } from '../../core/tasks/stepping-aside.ts';
import { isSettled, type Task } from '../../core/tasks/task.ts';
import { endIntake, type EndIntake, type IntakeLane, type RunNotes } from '../../handover/intake.ts';
import type { Issue } from '../../ports/forge.ts';
import type { GateDeps } from '../deps.ts';
import { type PullRequestStanding, readFeedback, type ReadFeedback } from '../feedback/read.ts';
import { hashOfText } from '../people/trust.ts';
import { findTasks, issuesOfLane, prepareOpenTasks, type WorkRequest } from '../tasks/sources.ts';
import { outcomeOfHeldLane } from './claim.ts';
import {
  endNothingAsked,
  endOfEarlierCommit,
  endOfSplitOrBegun,
  endPaused,
  endRenamed,
  endWorkedElsewhere,
  throwIfBaseIsGone,
  throwIfUnread,
  withWarning,
} from './idle-ends.ts';
import {
  type LaneLookup,
  readKeptLane,
  buildLaneNotes,
  type LaneRestoration,
  findLaneStart,
  refuseOtherPrefix,
  restoreFrom,
  unreadFeedback,
} from './kept-lane.ts';
import { findBaseBranch, checkBeforeSpending, type KeptLane, dropStaleProgress, endIfTooManyPulls } from './restore.ts';
import { reconsiderRedBase } from './red-base.ts';
import type { FoundStart } from './start.ts';

/** The end of a run that makes no call on its lane, with the issues whose own lanes could be continued instead. */
export interface EndWithoutCall {
  readonly kind: 'end';
  readonly intake: EndIntake;
  readonly continuable: readonly Issue[];
  readonly kept: KeptLane;
}

/** A lane that may be worked on, as far as is known without claiming it. */
export interface AdmissibleLane {
  readonly kind: 'admissible';
  readonly lane: IntakeLane;
  readonly tasks: readonly Task[];
  readonly state: LaneState;
  readonly ownWindows: Windows;
  readonly look: Pick<LaneLookup, 'branches' | 'remoteHead' | 'continuable'>;
  /** The snapshot on which this run decided, or null if nothing keeps runs apart. */
  readonly snapshot: Snapshot | null;
  /** The progress of tasks as it was restored, which a run that only reads leaves as it is. */
  readonly restoredTasks: LaneState['tasks'];
  /** True if answers of an earlier run are still unposted. */
  readonly hasUnpostedAnswers: boolean;
  /** People's decisions on its open pull request; null if none, or GitHub did not answer. */
  readonly standing: PullRequestStanding | null;
  readonly notes: RunNotes;
  readonly end: (outcome: Outcome) => EndIntake;
}

/**
 * Decides on the lane as it is now, without claiming anything. Asks the cheapest questions first, because each step may
 * end the run.
 */
export async function decideOnLane(deps: GateDeps, asked: WorkRequest): Promise<AdmissibleLane | EndWithoutCall> {
  const look = await readKeptLane(deps, asked);
  const { continuable, kept } = look;
  const ended = (intake: EndIntake): EndWithoutCall => ({ kind: 'end', intake, continuable, kept });
  const split = listSplitIssues(kept.snapshot);
  const request = { ...asked, issues: asked.issues.filter(({ number }) => !split.has(number)) };
  const refusedNow = endOfSplitOrBegun(asked, look, split);
  if (refusedNow !== null) return ended(refusedNow);
  if (isWorkedElsewhere(deps, request, look)) return ended(endWorkedElsewhere(request));

  const { purpose } = request;
  // A check that failed on an earlier commit runs again on the newest one, so only that result matters.
  if (purpose.kind === 'answers' && purpose.failedOn !== null && purpose.failedOn !== look.remoteHead)
    return ended(endOfEarlierCommit(deps, look));

  const restored = restoreFrom(look, deps, request);
  await refuseOtherPrefix(deps, { look, restored });
  const { pause } = restored.state;
  if (pause !== null) return ended(await endPaused(deps, request, { look, restored, by: pause.by }));

  // Another run is working on the lane, so this run cannot answer now and reads nothing more.
  if (request.purpose.kind === 'answers' && restored.claimedBy !== null)
    return ended({
      ...endIntake(outcomeOfHeldLane(request.id, restored.claimedBy)),
      notes: buildLaneNotes(restored, unreadFeedback),
    });

  // Put feedback on the lane's pull request before the tasks of the lane.
  const { branch, remoteHead } = look;
  const feedback = await readFeedback(deps, {
    branch,
    hasBranch: remoteHead !== null,
    state: restored.state,
    isAsked: request.purpose.kind === 'answers' && ['event', 'person'].includes(request.purpose.of),
    update: request.update,
  });
  const hasUnpostedAnswers = hasAnswersToPost(feedback.state.feedback, restored.state.feedback);
  const isAsked = hasUnpostedAnswers || feedback.asksForWork;
  if (request.purpose.kind === 'answers' && !isAsked) {
    throwIfUnread(request, branch, feedback);
    return ended(endNothingAsked(request, branch, { feedback, notes: buildLaneNotes(restored, feedback) }));
  }
  if (isLeftToRest(request, feedback.state))
    return ended(endNothingAsked(request, branch, { feedback, notes: buildLaneNotes(restored, feedback) }));

  const isResting = !isAsked && isAtRest(deps, request, { look, restored });
  const work = await findWork(deps, request, { look, restored, feedback, isResting });
  const renamed = await endRenamed(deps, request, { look, restored, found: work.found });
  if (renamed !== null) return ended(renamed);
  if (work.tasks.length === 0) return ended(endWithoutTasks(request, work));
  const allDone = isPlanComplete(work.tasks, work.state.tasks);
  if (isResting && allDone) return ended(endResting(work));

  const known = { request, tasks: work.tasks, snapshot: kept.snapshot };
  const place = await withBase(deps, known, await findPlace(deps, request, { look, restored, work }));
  const { lane } = place;
  if (lane.start.kind === 'continue' && lane.pullRequest === null) await throwIfBaseIsGone(deps, lane.baseBranch);
  if (place.closedBy !== null && request.requested !== 'by-name')
    return ended(place.end({ kind: 'paused', reason: 'by_person', by: place.closedBy }));
  // Everything is done and merged, or was done before the first run, so there is nothing left to publish either.
  if (lane.start.kind !== 'continue' && allDone) return ended(place.end(allMerged(work.state)));
  if (restored.claimedBy !== null) return ended(place.end(outcomeOfHeldLane(request.id, restored.claimedBy)));
  const stopped =
    stopBeforeWork({ ...work, state: place.state, hasUnpostedAnswers }, deps.config.policy, deps.clock.now()) ??
    (await endIfTooManyPulls(deps, { request, ...look, hasPullRequest: lane.pullRequest !== null }));
  if (stopped !== null) return ended(await endStopped(deps, request, { look, intake: place.end(stopped) }));

  await checkBeforeSpending(deps, { base: lane.baseBranch, branch, branches: look.branches });
  return admissible(deps, { look, restored, feedback, hasUnpostedAnswers, work, place });
}

/** Returns the tasks for which a person asks by name. A proposal changes nothing about its issue. */
export function listTasksAskedFor({ requested, issues, purpose }: WorkRequest): readonly TaskId[] {
  return requested === 'by-name' && purpose.kind !== 'proposal'
    ? issues.map(({ number }) => taskIdOfIssue(number))
    : [];
}

/** Returns true if this lane has no issues, files or prompt to work on: all its issues have their own lanes. */
function isWorkedElsewhere({ config }: GateDeps, request: WorkRequest, { branches }: LaneLookup): boolean {
  const { purpose, files, prompt } = request;
  return (
    purpose.kind === 'tasks' &&
    files === null &&
    prompt === null &&
    issuesOfLane(request, config, branches).length === 0
  );
}

/**
 * Returns true if the issue of a lane was closed or lost its label before it was done. That is a person's refusal, so
 * even the lane's pull request gets no more work, unlike that of a done issue.
 */
function isLeftToRest({ purpose, issues }: WorkRequest, { tasks }: LaneState): boolean {
  if (purpose.kind !== 'answers' || purpose.of !== 'waiting-finished') return false;
  return !issues.every(({ number }) => getProgress(tasks, taskIdOfIssue(number)).state === 'done');
}

/**
 * Returns true if all work of the lane is published and reported, so that only new tasks wake it. Then only task files
 * need the start of its branch.
 */
function isAtRest({ config }: GateDeps, { redo }: WorkRequest, { look, restored }: LaneRestoration): boolean {
  const { state } = restored;
  const published = state.lastRun?.outcome === 'complete' ? (state.lastRun.published?.head ?? null) : null;
  // A run that was killed at its end did not report completion, and the branch may have changed since, so check both.
  const isPublished = published !== null && published === look.remoteHead;
  return isPublished && !redo && (config.notify.kind === 'none' || isKnownReady(state));
}

type LaneFeedback = LaneRestoration & { readonly feedback: ReadFeedback };

/** The tasks of a lane that may be worked on now. */
interface Work {
  readonly tasks: readonly Task[];
  readonly state: LaneState;
  readonly judged: JudgedTasks;
  readonly notes: RunNotes;
  /** The start of the lane's branch, or null while it has not been needed. */
  readonly found: FoundStart | null;
}

async function findWork(
  deps: GateDeps,
  request: WorkRequest,
  { look, restored, feedback, isResting }: LaneFeedback & { readonly isResting: boolean },
): Promise<Work> {
  const found = isResting && request.files === null ? null : await findLaneStart(deps, { look, restored });
  const isProposal = request.purpose.kind === 'proposal';
  const reopened = dropStaleProgress(feedback.state, {
    named: isProposal ? request.issues.map(({ number }) => taskIdOfIssue(number)) : listTasksAskedFor(request),
    redo: request.redo,
    promptAgain: request.promptAgain,
    workIsLost: found?.workIsLost ?? false,
  });
  const grants = listGrants(
    look.kept.snapshot,
    request.issues.map(({ number }) => number),
  );
  const listed = await findTasks(deps, request, { ...look, start: found?.start ?? null, state: reopened, grants });
  // A proposal only reads the issue, so do not judge its dependencies.
  const judged = isProposal
    ? { ...listed, tasks: listed.tasks.map((task) => ({ ...task, dependsOn: [], obstacle: null })) }
    : listed;
  const ceilings = listCeilings(
    look.kept.snapshot,
    judged.tasks.map(({ id }) => id),
  );
  const woken = withCeilings(
    reopenWaitingTasks(judged, deps.config.allowProtectedPaths, (text) => hashOfText(text, deps.sha256)),
    new Map([...ceilings].map(([id, { usd }]) => [id, { usd, spentUsd: spentInQueue({ look, restored }, id) }])),
  );
  const probe = { policy: deps.config.policy, limits: request.triesLimits, now: deps.clock.now() };
  const state = request.asked ? probeNow(woken, probe) : woken;
  const notes = buildLaneNotes(restored, feedback, judged);
  // A person who asks for a task by name, or answers in the pull request, expects its head to move, so keep new tasks.
  const tasks = notes.held === null || request.asked ? judged.tasks : withoutNewTasks(judged.tasks, state);
  return { tasks: [...feedback.tasks, ...tasks], state, judged: { ...judged, tasks }, notes, found };
}

/** Returns the cost of the queue's unfinished work on a task when the task's own lane begins; 0 for any other lane. */
function spentInQueue({ look: { kept }, restored }: LaneRestoration, id: TaskId): number {
  const { lane, lastRun } = restored.state;
  if (kept.snapshot === null || lane === QUEUE || lastRun !== null) return 0;
  const progress = findProgressIn(kept.snapshot, QUEUE, id);
  return isSettled(progress) ? 0 : (progress.ceiling?.spentUsd ?? 0);
}

/** Returns the tasks that were begun; new ones wait while the pull request is approved or about to be merged. */
function withoutNewTasks(tasks: readonly Task[], { tasks: progress }: LaneState): readonly Task[] {
  return tasks.map((task) =>
    task.obstacle === null && !isSettled(getProgress(progress, task.id)) ? { ...task, obstacle: 'held' } : task,
  );
}

function endWithoutTasks(request: WorkRequest, { judged, notes }: Work): EndIntake {
  return { ...endIntake({ kind: 'idle', reason: 'no_tasks' }), answer: refusal(request, judged.warnings), notes };
}

/** Returns the answer to a person who named an issue that is not a task, with the reason. */
function refusal({ requested, issues }: WorkRequest, why: readonly string[]): EndIntake['answer'] {
  const thread = requested === 'by-name' ? issues[0]?.number : undefined;
  return thread === undefined || why.length === 0 ? null : { thread, text: { kind: 'refusal', why: why.join('\n') } };
}

function endResting({ tasks, state, notes }: Work): EndIntake {
  return { ...endIntake({ kind: 'idle', reason: 'all_done' }), tasks, state, notes };
}

/** The branch and state in which the lane is worked on. */
interface Place {
  readonly lane: IntakeLane;
  readonly state: LaneState;
  readonly closedBy: string | null;
  /** Ends the run on this lane with the given state. */
  readonly endIn: (state: LaneState) => AdmissibleLane['end'];
  readonly end: AdmissibleLane['end'];
}

async function findPlace(
  deps: GateDeps,
  { id }: WorkRequest,
  { look, restored, work }: LaneRestoration & { readonly work: Work },
): Promise<Place> {
  const base = await findBaseBranch(deps);
  const found = work.found ?? (await findLaneStart(deps, { look, restored }));
  const lane = { id, branch: look.branch, baseBranch: base, start: found.start, pullRequest: found.pullRequest };
  // A branch that begins again gets another pull request, so forget the facts about the old one.
  const state =
    found.start.kind === 'continue' ? work.state : { ...work.state, change: noChange, ...forgetFeedback(work.state) };
  const endIn = (known: LaneState): AdmissibleLane['end'] => createLaneEnder(lane, { ...work, state: known });
  return { lane, state, closedBy: found.closedBy, endIn, end: endIn(state) };
}

/** Returns the place with the known facts about a base on which `verify` fails. */
async function withBase(
  deps: GateDeps,
  known: Omit<Parameters<typeof reconsiderRedBase>[1], 'lane'>,
  place: Place,
): Promise<Place> {
  const { lane, state: before } = place;
  const state = await reconsiderRedBase(deps, { ...known, lane }, before);
  return state === before ? place : { ...place, state, end: place.endIn(state) };
}

/** Returns the function that ends a run on this lane. */
export function createLaneEnder(
  lane: IntakeLane,
  { tasks, state, notes }: Pick<AdmissibleLane, 'tasks' | 'state' | 'notes'>,
): AdmissibleLane['end'] {
  return (outcome) => ({ ...endIntake(outcome), lane, tasks, state, notes });
}

function allMerged({ lastRun }: LaneState): Outcome {
  return lastRun === null ? { kind: 'complete', reason: 'plan_complete' } : { kind: 'idle', reason: 'all_done' };
}

/**
 * Ends the run and keeps a person's request for the next one, which may be able to work earlier: reservations of other
 * runs may end before the limit does.
 */
async function endStopped(
  { store, context, clock, runTag }: GateDeps,
  request: WorkRequest,
  { look, intake }: { readonly look: LaneLookup; readonly intake: EndIntake },
): Promise<EndIntake> {
  const { snapshot: known, budget } = look.kept;
  if (known === null || budget === null) return intake;
  const now = clock.now();
  const asked = (stored: Snapshot): Snapshot => withAskedTasks(stored, listTasksAskedFor(request), now);
  const message = `${nameOfLane(request.id)}: asked for in run ${context.runId}, which cannot work on it now`;
  if (asked(known) !== known) await store.update((newest) => ({ snapshot: asked(newest), message, answer: null }));
  const waits = shortenPark(intake.outcome, listOtherReservations(budget.budget, runTag, now));
  return waits === null ? intake : { ...withWarning(intake, waits.why), outcome: waits.outcome };
}

async function admissible(
  deps: GateDeps,
  found: LaneFeedback & { readonly hasUnpostedAnswers: boolean; readonly work: Work; readonly place: Place },
): Promise<AdmissibleLane> {
  const { look, restored, feedback, hasUnpostedAnswers, work, place } = found;
  const { lane } = place;
  const { judged } = work;
  const prepared = await prepareOpenTasks(deps, { ...judged, tasks: work.tasks, state: place.state });
  const eligible = {
    tasks: prepared.tasks,
    state: prepared.state,
    notes: buildLaneNotes(restored, feedback, { ...judged, warnings: [...judged.warnings, ...prepared.warnings] }),
  };
  const { ownWindows } = restored;
  const { standing } = feedback;
  const { snapshot } = look.kept;
  return {
    kind: 'admissible',
    lane,
    ...eligible,
    ownWindows,
    look,
    snapshot,
    restoredTasks: restored.state.tasks,
    hasUnpostedAnswers,
    standing,
    end: createLaneEnder(lane, eligible),
  };
}
