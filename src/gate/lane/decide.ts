import { leftChecks } from '../../core/feedback/checks/checks.ts';
import { holdOf } from '../../core/feedback/pull-request-now.ts';
import { hasUnpostedAnswers } from '../../core/feedback/memory.ts';
import { forgetFeedback } from '../../core/feedback/rounds.ts';
import { noChange } from '../../core/lane/change.ts';
import { checkSubject, reconsiderBase } from '../../core/lane/check.ts';
import { stopBeforeWork } from '../../core/loop/next-deed.ts';
import { probeNow } from '../../core/lane/settle.ts';
import type { LaneState } from '../../core/lane/state.ts';
import type { Windows } from '../../core/lane/windows.ts';
import type { Outcome } from '../../core/outcome.ts';
import { isKnownReady } from '../../core/people/needs.ts';
import { goesOn as goesOnByItself, withAsked } from '../../core/snapshot/going-on.ts';
import type { Snapshot } from '../../core/snapshot/snapshot.ts';
import { reservedByOthers } from '../../core/sharing/budget.ts';
import { waitForOthers } from '../../core/sharing/elsewhere.ts';
import type { JudgedTasks } from '../../core/tasks/admission.ts';
import { issueLane, nameOfLane, taskIdOfIssue, type LaneId, type TaskId } from '../../core/tasks/ids.ts';
import { wakeEdited } from '../../core/tasks/preparation.ts';
import { isPlanComplete, progressOf } from '../../core/tasks/queue.ts';
import { isSettled, type Task } from '../../core/tasks/task.ts';
import { namesOf, sentence } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import { endIntake, type Answer, type Intake, type Lane, type Notes } from '../../handover/intake.ts';
import type { Issue } from '../../ports/forge.ts';
import type { GateDeps } from '../deps.ts';
import { readFeedback, type PullRequestStanding, type ReadFeedback } from '../feedback/read.ts';
import { hashOfText } from '../people/trust.ts';
import {
  findTasks,
  issuesOfLane,
  issuesWithBranch,
  listTasks,
  prepareOpenTasks,
  type Request,
} from '../tasks/sources.ts';
import { anotherRun } from './claim.ts';
import {
  baseBranch,
  checkBeforeSpending,
  judgeLane,
  type KeptLane,
  loadLane,
  reopenProgress,
  type RestoredLane,
  tooManyOpen,
} from './restore.ts';
import type { FoundStart } from './start.ts';

type EndIntake = Extract<Intake, { kind: 'end' }>;

/** The end of a run that makes no call on its lane, and issues whose own lanes could go on instead. */
export interface Ended {
  readonly kind: 'end';
  readonly intake: EndIntake;
  readonly goesOn: readonly Issue[];
  readonly kept: KeptLane;
}

/** A lane that may be worked on, as far as is known without claiming it. */
export interface Admissible {
  readonly kind: 'admissible';
  readonly lane: Lane;
  readonly tasks: readonly Task[];
  readonly state: LaneState;
  readonly ownWindows: Windows;
  /** What this was decided by; null: nothing that keeps runs apart. */
  readonly snapshot: Snapshot | null;
  /** Whether people wait for words of an earlier run. */
  readonly owes: boolean;
  /** What people have decided of its open pull request; null: there is none, or it could not be read. */
  readonly standing: PullRequestStanding | null;
  readonly notes: Notes;
  readonly end: (outcome: Outcome) => EndIntake;
}

/** Decides on the lane as it is now, and claims nothing. What asks for the least comes first: each step may be the end. */
export async function decide(deps: GateDeps, request: Request): Promise<Admissible | Ended> {
  const look = await lookAtLane(deps, request);
  const ended = (intake: EndIntake): Ended => ({ kind: 'end', intake, goesOn: look.goesOn, kept: look.kept });
  if (isWorkedElsewhere(deps, request, look)) return ended(allElsewhere(request));

  if (isOfEarlierCommit(request, look)) return ended(ofEarlierCommit(deps, look));

  const restored = restoreFrom(look, deps, request);
  const { pause } = restored.state;
  if (pause !== null) return ended(await paused(deps, request, { look, restored, by: pause.by }));

  // Whoever works on the lane keeps it, so nothing can be answered now, and nothing needs to be read.
  if (request.purpose.kind === 'answers' && restored.claimedBy !== null)
    return ended({ ...endIntake(anotherRun(request.id, restored.claimedBy)), notes: notesOf(restored, unread) });

  // What people and CI say of the lane's pull request comes before everything that it was made for.
  const { branch, remoteHead } = look;
  const said = await readFeedback(deps, {
    branch,
    hasBranch: remoteHead !== null,
    state: restored.state,
    isAsked: request.purpose.kind === 'answers' && request.purpose.of === 'event',
  });
  const owes = hasUnpostedAnswers(said.state.feedback, restored.state.feedback);
  const isAsked = owes || said.asksForWork;
  if (request.purpose.kind === 'answers' && !isAsked) {
    throwIfUnread(request, branch, said);
    return ended(nothingAsked(request, branch, { said, notes: notesOf(restored, said) }));
  }
  if (isLeftToRest(request, said.state))
    return ended(nothingAsked(request, branch, { said, notes: notesOf(restored, said) }));

  const rests = !isAsked && doesRest(deps, request, { look, restored });
  const work = await findWork(deps, request, { look, restored, said, rests });
  if (work.tasks.length === 0) return ended(noTasks(request, work));
  const allDone = isPlanComplete(work.tasks, work.state.tasks);
  if (rests && allDone) return ended(resting(work));

  const place = await withBase(deps, request, await findPlace(deps, request, { look, restored, work }));
  if (place.closedBy !== null && request.requested !== 'by-name')
    return ended(place.end({ kind: 'paused', reason: 'by_person', by: place.closedBy }));
  // Everything is done and merged, or was done before the first run: nothing is left to publish either.
  if (place.lane.start.kind !== 'continue' && allDone) return ended(place.end(allMerged(work.state)));
  if (restored.claimedBy !== null) return ended(place.end(anotherRun(request.id, restored.claimedBy)));
  const stopped =
    stopBeforeWork({ ...work, state: place.state, owes }, deps.config.policy, deps.clock.now()) ??
    (await tooManyOpen(deps, { request, ...look, hasPullRequest: place.lane.pullRequest !== null }));
  if (stopped !== null) return ended(await stop(deps, request, { look, intake: place.end(stopped) }));

  await checkBeforeSpending(deps, { base: place.lane.baseBranch, branch, branches: look.branches });
  return admissible(deps, { look, restored, said, owes, work, place });
}

/** The tasks that a person asks for by name. */
export function namedBy({ requested, issues }: Request): readonly TaskId[] {
  return requested === 'by-name' ? issues.map(({ number }) => taskIdOfIssue(number)) : [];
}

/** What is kept of a lane, and the branches of all. */
interface Look {
  readonly kept: KeptLane;
  readonly branch: string;
  readonly branches: Readonly<Record<string, string>>;
  /** null: it has no branch. */
  readonly remoteHead: string | null;
  readonly goesOn: readonly Issue[];
}

async function lookAtLane(deps: GateDeps, { id, requested, issues }: Request): Promise<Look> {
  const { branchPrefix } = deps.config;
  const branch = branchPrefix + id;
  // The state before the branches: of a run that ends between the two we see the branch, and our claim sees that it saved.
  const kept = await loadLane({ lane: id, deps });
  const branches = await deps.remote.branches(branchPrefix);
  const { snapshot } = kept;
  const asker = { runTag: deps.runTag, ...deps.context, now: deps.clock.now() };
  // What is left on a lane is on its branch.
  const isLeft = (lane: LaneId): boolean =>
    branches[branchPrefix + lane] !== undefined && snapshot !== null && goesOnByItself(snapshot, lane, asker);
  const goesOn = requested === 'by-queue' ? issues.filter(({ number }) => isLeft(issueLane(number))) : [];
  return { kept, branch, branches, remoteHead: branches[branch] ?? null, goesOn };
}

/** Whether nothing is left that this lane could work on. */
function isWorkedElsewhere({ config }: GateDeps, request: Request, { branches }: Look): boolean {
  const { purpose, files, prompt } = request;
  return (
    purpose.kind === 'tasks' &&
    files === null &&
    prompt === null &&
    issuesOfLane(request, config, branches).length === 0
  );
}

/** Every issue of the queue has its own lane. */
function allElsewhere({ issues }: Request): EndIntake {
  const named = namesOf(issues.map(({ number }) => `#${String(number)}`));
  return withWarning(
    endIntake({ kind: 'idle', reason: 'no_tasks' }),
    `Worked on branches of their own, not by the queue: ${named}. To continue with one that is not done, comment \`/ralph run\` on it.`,
  );
}

/** What failed on an earlier commit is checked again on the newest one, whose checks speak for themselves. */
function isOfEarlierCommit({ purpose }: Request, { remoteHead }: Look): boolean {
  return purpose.kind === 'answers' && purpose.failedOn !== null && purpose.failedOn !== remoteHead;
}

function ofEarlierCommit({ log }: GateDeps, { branch }: Look): EndIntake {
  log.info(`Nothing to do: the check is not of the newest commit of ${branch}.`);
  return endIntake({ kind: 'idle', reason: 'not_for_us' });
}

function restoreFrom({ kept, branches, remoteHead }: Look, deps: GateDeps, { id, requested }: Request): RestoredLane {
  const restored = judgeLane(kept, {
    lane: id,
    expected: remoteHead !== null,
    elsewhere: requested === 'by-queue' ? issuesWithBranch(branches, deps.config) : [],
    deps,
  });
  deps.log.info(`state: ${restored.note}`);
  return restored;
}

function notesOf(
  restored: RestoredLane,
  said: Pick<ReadFeedback, 'warnings' | 'checks' | 'standing'>,
  { warnings, notices }: Pick<Notes, 'warnings' | 'notices'> = { warnings: [], notices: [] },
): Notes {
  return {
    restored: restored.note,
    notices,
    warnings: [...restored.warnings, ...said.warnings, ...warnings],
    claimedBy: restored.claimedBy,
    found: [],
    checks: said.checks,
    held: heldBy(said),
  };
}

const unread = { warnings: [], checks: null, standing: null };

function heldBy({ standing }: Pick<ReadFeedback, 'standing'>): Notes['held'] {
  const hold = standing === null ? null : holdOf(standing);
  return standing === null || hold === null ? null : { hold, isDraft: standing.isDraft, refusal: null };
}

interface Restored {
  readonly look: Look;
  readonly restored: RestoredLane;
}

async function paused(
  deps: GateDeps,
  request: Request,
  { look, restored, by }: Restored & { readonly by: string },
): Promise<EndIntake> {
  return {
    ...endIntake({ kind: 'paused', reason: 'by_person', by }),
    ...(await listTasks(deps, request, { branches: look.branches, state: restored.state })),
    notes: notesOf(restored, unread),
  };
}

/** Our own replies are events as well, with a token that is not the job's: they start no task before its time. */
function nothingAsked(
  { purpose }: Request,
  branch: string,
  { said: { checks }, notes }: { readonly said: ReadFeedback; readonly notes: Notes },
): EndIntake {
  const isOfChecks = purpose.kind === 'answers' && purpose.failedOn !== null;
  const left = isOfChecks && checks !== null ? leftChecks(checks) : '';
  const message = left === '' ? `Nothing on the pull request of ${branch} asks for an answer now.` : left;
  return { ...endIntake({ kind: 'idle', reason: 'updated', message }), notes };
}

/** A check failed, and nobody can say which one and whether it is ours: the event gets no answer. */
function throwIfUnread({ purpose }: Request, branch: string, { checks }: ReadFeedback): void {
  if (purpose.kind !== 'answers' || purpose.of !== 'event' || purpose.failedOn === null) return;
  if (checks?.isForNow !== true || checks.unreadable === null) return;
  throw new UserError(
    'infrastructure',
    `The checks of the pull request of ${branch} could not be read, so the one that failed is not worked on. ${sentence(checks.unreadable)} A later run reads them again.`,
  );
}

/** Whether the issue of a lane is closed or has lost its label before it was done: that was a person's no. Of one that is done the pull request still waits. */
function isLeftToRest({ purpose, issues }: Request, { tasks }: LaneState): boolean {
  if (purpose.kind !== 'answers' || purpose.of !== 'waiting-finished') return false;
  return !issues.every(({ number }) => progressOf(tasks, taskIdOfIssue(number)).state === 'done');
}

/** Whether the lane rests unless there are new tasks: what it has done is all published, and people know. Then where it begins matters only to task files. */
function doesRest({ config }: GateDeps, { redo }: Request, { look, restored: { state } }: Restored): boolean {
  const published = state.lastRun?.outcome === 'complete' ? (state.lastRun.published?.head ?? null) : null;
  // A run that was killed at its end did not report that all is complete; somebody may have changed the branch since.
  const isPublished = published !== null && published === look.remoteHead;
  return isPublished && !redo && (config.notify.kind === 'none' || isKnownReady(state));
}

/** The tasks of a lane as they may be worked now. */
interface Work {
  readonly tasks: readonly Task[];
  readonly state: LaneState;
  readonly judged: JudgedTasks;
  readonly notes: Notes;
  /** Where the lane's branch begins; null: it did not matter yet. */
  readonly found: FoundStart | null;
}

async function findWork(
  deps: GateDeps,
  request: Request,
  { look, restored, said, rests }: Restored & { readonly said: ReadFeedback; readonly rests: boolean },
): Promise<Work> {
  const found = rests && request.files === null ? null : await findStart(deps, { look, restored });
  const reopened = reopenProgress(said.state, {
    named: namedBy(request),
    redo: request.redo,
    promptAgain: request.promptAgain,
    workIsLost: found?.workIsLost ?? false,
  });
  const judged = await findTasks(deps, request, { ...look, start: found?.start ?? null, state: reopened });
  const woken = wakeEdited(judged, (text) => hashOfText(text, deps.sha256));
  const state = request.asked ? probeNow(woken, deps.config.policy, deps.clock.now()) : woken;
  const notes = notesOf(restored, said, judged);
  // Who asks for a task by name, or answers in the pull request, wants its head to move.
  const tasks = notes.held === null || request.asked ? judged.tasks : heldBack(judged.tasks, state);
  return { tasks: [...said.tasks, ...tasks], state, judged: { ...judged, tasks }, notes, found };
}

/** New tasks wait for as long as the pull request is approved, or about to be merged. */
function heldBack(tasks: readonly Task[], { tasks: progress }: LaneState): readonly Task[] {
  return tasks.map((task) =>
    task.obstacle === null && !isSettled(progressOf(progress, task.id)) ? { ...task, obstacle: 'held' } : task,
  );
}

function findStart(deps: GateDeps, { look, restored }: Restored): Promise<FoundStart> {
  const { branch, remoteHead } = look;
  return deps.findStart({ branch, remoteHead, lastHead: restored.state.lastRun?.published?.head ?? null });
}

function noTasks(request: Request, { judged, notes }: Work): EndIntake {
  return { ...endIntake({ kind: 'idle', reason: 'no_tasks' }), answer: refusal(request, judged.warnings), notes };
}

/** The answer to a person who named an issue that is not a task: why it is not. */
function refusal({ requested, issues }: Request, why: readonly string[]): Answer | null {
  const thread = requested === 'by-name' ? issues[0]?.number : undefined;
  return thread === undefined || why.length === 0 ? null : { thread, text: { kind: 'refusal', why: why.join('\n') } };
}

function resting({ tasks, state, notes }: Work): EndIntake {
  return { ...endIntake({ kind: 'idle', reason: 'all_done' }), tasks, state, notes };
}

/** Where the lane is worked on, and its state there. */
interface Place {
  readonly lane: Lane;
  readonly state: LaneState;
  readonly closedBy: string | null;
  /** Ends the run on this lane, whose state is then `state`. */
  readonly endIn: (state: LaneState) => Admissible['end'];
  readonly end: Admissible['end'];
}

async function findPlace(
  deps: GateDeps,
  { id }: Request,
  { look, restored, work }: Restored & { readonly work: Work },
): Promise<Place> {
  const base = await baseBranch(deps);
  const found = work.found ?? (await findStart(deps, { look, restored }));
  const lane = { id, branch: look.branch, baseBranch: base, start: found.start, pullRequest: found.pullRequest };
  // A branch that begins again has another pull request.
  const state =
    found.start.kind === 'continue' ? work.state : { ...work.state, change: noChange, ...forgetFeedback(work.state) };
  const endIn = (known: LaneState): Admissible['end'] => endOn(lane, { ...work, state: known });
  return { lane, state, closedBy: found.closedBy, endIn, end: endIn(state) };
}

/** The place with what is known now of a base that `verify` fails on. */
async function withBase(deps: GateDeps, { asked }: Request, place: Place): Promise<Place> {
  const { state, lane } = place;
  if (state.redBase === null) return place;
  const { verify, policy } = deps.config;
  const isHeld = state.redBase.stage === 'tried' && !asked && policy.verifies;
  const tip = isHeld ? (await deps.remote.branches(lane.baseBranch))[lane.baseBranch] : undefined;
  const subject = checkSubject(verify, { commit: tip ?? '', sha256: deps.sha256 });
  const reconsidered = reconsiderBase(state, { asked, subject, verifies: policy.verifies });
  return reconsidered === state ? place : { ...place, state: reconsidered, end: place.endIn(reconsidered) };
}

function endOn(lane: Lane, { tasks, state, notes }: Pick<Admissible, 'tasks' | 'state' | 'notes'>): Admissible['end'] {
  return (outcome) => ({ ...endIntake(outcome), lane, tasks, state, notes });
}

function allMerged({ lastRun }: LaneState): Outcome {
  return lastRun === null ? { kind: 'complete', reason: 'plan_complete' } : { kind: 'idle', reason: 'all_done' };
}

/** What a person asked for and this run cannot do now is for the next run, wherever it waited; and what others reserved may be free before the limit is over. */
async function stop(
  { store, context, clock, runTag }: GateDeps,
  request: Request,
  { look, intake }: { readonly look: Look; readonly intake: EndIntake },
): Promise<EndIntake> {
  const { snapshot: known, budget } = look.kept;
  if (known === null || budget === null) return intake;
  const now = clock.now();
  const asked = (stored: Snapshot): Snapshot => withAsked(stored, namedBy(request), now);
  const message = `${nameOfLane(request.id)}: asked for in run ${context.runId}, which cannot work on it now`;
  if (asked(known) !== known) await store.update((newest) => ({ snapshot: asked(newest), message, answer: null }));
  const waits = waitForOthers(intake.outcome, reservedByOthers(budget.budget, runTag, now));
  return waits === null ? intake : { ...withWarning(intake, waits.why), outcome: waits.outcome };
}

function withWarning(intake: EndIntake, warning: string): EndIntake {
  return { ...intake, notes: { ...intake.notes, warnings: [...intake.notes.warnings, warning] } };
}

async function admissible(
  deps: GateDeps,
  {
    look,
    restored,
    said,
    owes,
    work,
    place,
  }: Restored & { readonly said: ReadFeedback; readonly owes: boolean; readonly work: Work; readonly place: Place },
): Promise<Admissible> {
  const { lane } = place;
  const { judged } = work;
  const prepared = await prepareOpenTasks(deps, { ...judged, tasks: work.tasks, state: place.state });
  const eligible = {
    tasks: prepared.tasks,
    state: prepared.state,
    notes: notesOf(restored, said, { ...judged, warnings: [...judged.warnings, ...prepared.warnings] }),
  };
  const { ownWindows } = restored;
  const { standing } = said;
  const { snapshot } = look.kept;
  return { kind: 'admissible', lane, ...eligible, ownWindows, snapshot, owes, standing, end: endOn(lane, eligible) };
}
