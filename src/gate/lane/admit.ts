import { countJobs, createLease } from '../../config/config.ts';
import { formatInstant } from '../../core/countdown.ts';
import { isFeedback } from '../../core/feedback/subject.ts';
import { createInitialState, type LaneState } from '../../core/lane/state/state.ts';
import { serializeState } from '../../core/lane/state/serialize-state.ts';
import { combineWindows } from '../../core/lane/windows.ts';
import { computeAverageCost } from '../../core/lane/ledger.ts';
import { stopBeforeWork } from '../../core/loop/next-action.ts';
import type { McpServer } from '../../core/mcp/values.ts';
import { honourLeftCircuit } from '../../core/others/left-circuit.ts';
import type { Policy } from '../../core/policy.ts';
import { explainRefusal } from '../../core/refusals/refusal.ts';
import { buildOtherRunRefusal } from '../../core/sharing/elsewhere.ts';
import { computeMaxLeaseMs } from '../../core/sharing/lease.ts';
import { amendInSnapshot } from '../../core/snapshot/changes.ts';
import { emptySnapshot } from '../../core/snapshot/snapshot.ts';
import {
  reopenTasksDueInRun,
  type LaneId,
  nameOfLane,
  nameOfTaskId,
  QUEUE,
  type TaskId,
} from '../../core/tasks/ids.ts';
import type { Task } from '../../core/tasks/task.ts';
import { isEligible, listTasksWithinReach } from '../../core/tasks/queue.ts';
import type { ObjectId } from '../../core/evidence.ts';
import { completeSentence, listFirstNames } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import { recordOvertakenHold } from '../../handover/clear-head.ts';
import { endIntake, type Intake, type IntakeLane, type RunNotes, type EndIntake } from '../../handover/intake.ts';
import type { OpenedLane } from '../../ports/repository.ts';
import type { GateDeps } from '../deps.ts';
import type { WorkRequest } from '../tasks/sources.ts';
import { type LaneClaim, releaseLane, type WantedClaim } from './claim.ts';
import { type AdmissibleLane, decideOnLane, type EndWithoutCall, listTasksAskedFor } from './decide.ts';
import { findReverts } from './train.ts';
import { readMcpServers, readPipeline, type ReadPipeline } from './pipeline.ts';
import { findRemovedWork, forgetWork, type KeptLane } from './restore.ts';

/** Maximum number of attempts to claim a lane that changes in the meantime. */
export const MAX_CLAIM_TRIES = 3;

/** Returns the claim of a run on the lane that it decided on, with the run tag of `deps`. */
export function buildWantedClaim(
  { clock, runTag, policy }: Pick<GateDeps, 'clock' | 'runTag'> & { readonly policy: Policy },
  request: WorkRequest,
  decided: AdmissibleLane,
): WantedClaim {
  const { snapshot, ownWindows, state } = decided;
  return {
    ...{ lane: request.id, runTag, seen: snapshot, sequence: state.sequence, windows: ownWindows },
    ...{ named: listTasksAskedFor(request), costOfCallUsd: computeAverageCost(state.ledger) },
    // A proposal does not settle what people asked the lane for, so it claims the lane only as a notice does.
    purpose: request.purpose.kind === 'proposal' ? 'notice' : request.purpose.kind,
    tasks: (elsewhere) =>
      listTasksWithinReach(
        // Feedback on this pull request is never another lane's work, so it is not named.
        decided.tasks.filter(({ id }) => !elsewhere.has(id) && !isFeedback(id)),
        reopenTasksDueInRun(state.tasks, policy, clock.now()),
        policy.maxIterations,
      ),
  };
}

/** Ends a run that could not claim its lane because other runs changed the lane at every attempt. */
export function endChangedTooOften({ clock, config }: Pick<GateDeps, 'clock' | 'config'>, { id }: WorkRequest): Intake {
  return endIntake({
    kind: 'refused',
    reason: 'another_run',
    message: `The state of ${nameOfLane(id)} changed ${String(MAX_CLAIM_TRIES)} times while this run tried to claim it. The run that has it now holds it until ${formatInstant(clock.now() + computeMaxLeaseMs(config.policy.maxRunMs, countJobs(config)))} at the latest.`,
  });
}

/** The start of a possible run, or the reason why it would make no call. */
export type Preview =
  | ({ readonly kind: 'work' } & Pick<AdmissibleLane, 'lane' | 'tasks' | 'state' | 'notes'>)
  | { readonly kind: 'end'; readonly intake: EndWithoutCall['intake'] };

/** Decides on the lane as it is now, without claiming anything. */
export async function previewLane(deps: GateDeps, request: WorkRequest): Promise<Preview> {
  const decided = await decideOnLane(deps, request);
  if (decided.kind === 'end') return { kind: 'end', intake: decided.intake };
  const { lane, tasks, state, notes } = decided;
  return { kind: 'work', lane, tasks, state, notes };
}

/** The settings of a run from the checkout, with warnings for people. */
export type SettingsInCheckout = ReadPipeline & { readonly mcpServers: readonly McpServer[] };

/** Reads the settings of a run on this lane from the checkout. */
export async function readSettings(deps: GateDeps, { id }: WorkRequest): Promise<SettingsInCheckout> {
  const pipeline = await readPipeline(deps);
  const unheard = await missingReviewEvent(deps, id);
  const warnings = unheard === null ? pipeline.warnings : [...pipeline.warnings, unheard];
  return { ...pipeline, warnings, mcpServers: await readMcpServers(deps) };
}

/** Opens the lane that this run has claimed, and releases it if that fails. */
export async function openOrRelease(deps: GateDeps, decided: AdmissibleLane, claimed: ClaimedWork): Promise<Intake> {
  try {
    return await open(deps, decided, claimed);
  } catch (error) {
    await releaseLane(deps, decided.lane.id);
    throw error;
  }
}

/** A claim of this run, and the settings with which it works. */
export interface ClaimedWork {
  readonly claim: Extract<LaneClaim, { kind: 'claimed' }>;
  readonly read: SettingsInCheckout;
  /** Facts from a lane that this run has already opened, which also apply to this one; null for the first lane. */
  readonly beside: OpenedBeside | null;
}

/**
 * Facts that are the same for every new lane. `base` is the tip of the base branch, and `fresh` is a lane that began
 * there.
 */
export interface OpenedBeside {
  readonly base: ObjectId;
  readonly fresh: OpenedLane | null;
}

async function open(deps: GateDeps, decided: AdmissibleLane, { claim, read, beside }: ClaimedWork): Promise<Intake> {
  // A person and the schedule may ask for the same issue at the same moment, so drop what another run works on.
  const tasks = decided.tasks.filter(({ id }) => !claim.elsewhere.has(id));
  const state: LaneState = {
    ...decided.state,
    // A lost state starts its sequence at zero again, so exceed the state that it replaces, which must never look
    // newer.
    sequence: Math.max(decided.state.sequence, claim.sequence),
    // Without a lease, the repository's counters do not change while the lane's own do, so combine both.
    windows: claim.windows ?? combineWindows(decided.state.windows, decided.ownWindows),
  };
  const notes: RunNotes = {
    ...decided.notes,
    warnings: [...decided.notes.warnings, ...read.warnings, ...claim.warnings],
  };
  // Other lanes may have reserved the rest of the hour in the meantime, so check the limits again.
  const stopped =
    tasks.length === 0
      ? buildOtherRunRefusal(decided.tasks, claim.elsewhere)
      : stopBeforeWork({ state, tasks, hasUnpostedAnswers: decided.hasUnpostedAnswers }, read.policy, deps.clock.now());
  if (stopped !== null) {
    await releaseLane(deps, decided.lane.id);
    return { ...decided.end(stopped), state, notes };
  }
  const lane = await leaveMergedBranch(deps, decided.lane);
  const known = lane.start.kind === 'fresh' ? (beside?.fresh ?? null) : null;
  const opened = known ?? (await deps.repository.openLane(lane, beside?.base));
  if (beside === null) {
    if (lane.pullRequest === null) await deps.forge.checkMayOpenPullRequests(lane.baseBranch);
    else await deps.forge.checkMayUpdatePullRequest(lane.pullRequest.number);
  }
  const reverts = await findReverts(deps, decided.snapshot ?? emptySnapshot, opened.base);
  // Without an open pull request, the branch may have been merged with other commits, so do not look for removed ones.
  const removed = lane.pullRequest === null ? [] : findRemovedWork(state, opened);
  const asOnBranch = {
    tasks,
    state: removed.length === 0 ? state : forgetWork(state, removed),
    notes: {
      ...notes,
      reverts,
      warnings: [
        ...notes.warnings,
        ...opened.warnings,
        ...(removed.length === 0 ? [] : [removedWorkWarning(lane.branch, removed)]),
        ...(lane.pullRequest === null || opened.below === 0 ? [] : [rewrittenBaseWarning(lane, opened.below)]),
      ],
    },
  };
  const freed = await freeForWork(deps, { ...decided, lane }, asOnBranch);
  if (freed.kind === 'held') {
    await releaseLane(deps, lane.id);
    const outcome = { kind: 'idle', reason: 'waiting_for_review' } as const;
    return { ...decided.end(outcome), state, notes: freed.notes };
  }
  const { pipeline, mcpServers } = read;
  const { policy, at: claimedAt, startBy } = claim;
  const { start } = freed.lane;
  const begun = {
    lane:
      start.kind === 'continue' ? { ...freed.lane, start: { ...start, personHead: opened.personHead } } : freed.lane,
    opened,
    ...{ tasks, state: freed.state, policy, claimedAt, startBy },
  };
  return { kind: 'work', ...begun, pipeline, mcpServers, notes: freed.notes, proposes: null };
}

function rewrittenBaseWarning({ branch, baseBranch }: IntakeLane, below: number): string {
  const commits = below === 1 ? 'a commit' : `${String(below)} commits`;
  return `Before Ralph's own commits, ${branch} has ${commits} that ${baseBranch} lacks. If ${baseBranch} was rewritten, merging the pull request would bring ${below === 1 ? 'it' : 'them'} back: rebase ${branch} onto ${baseBranch} first.`;
}

function removedWorkWarning(branch: string, removed: readonly TaskId[]): string {
  const names = listFirstNames(removed.map(nameOfTaskId));
  return `Somebody removed finished work from ${branch}, so it is open again: ${names}. To leave it out for good, close the issue or remove its label.`;
}

type Freed =
  | { readonly kind: 'free'; readonly lane: IntakeLane; readonly state: LaneState; readonly notes: RunNotes }
  | { readonly kind: 'held'; readonly notes: RunNotes };

/**
 * Makes the pull request a draft without auto-merge before the first call, so that it is not merged without the
 * requested changes. If GitHub refuses that, no task is worked on.
 */
async function freeForWork(
  deps: GateDeps,
  { lane, standing }: AdmissibleLane,
  { tasks, state, notes }: { readonly tasks: readonly Task[]; readonly state: LaneState; readonly notes: RunNotes },
): Promise<Freed> {
  const hold = notes.held?.hold ?? null;
  const progress = reopenTasksDueInRun(state.tasks, deps.config.policy, deps.clock.now());
  const isToWork = tasks.some((task) => isEligible(task, progress));
  if (standing === null || hold === null || !isToWork) return { kind: 'free', lane, state, notes };
  const name = `Pull request #${String(standing.number)}`;
  try {
    await deps.forge.withdrawFromMerging(standing.number, standing);
  } catch (error) {
    if (!(error instanceof UserError) || error.kind === 'infrastructure') throw error;
    deps.log.warning(
      `${name} is approved or about to be merged, and this token could not make it a draft again: ${error.message}`,
    );
    return { kind: 'held', notes: { ...notes, held: { hold, isDraft: standing.isDraft, refusal: error.message } } };
  }
  deps.log.info(`${name} is a draft again, with auto-merge off, because this run works on the requested changes.`);
  const feedback = recordOvertakenHold(state.feedback, hold, deps.clock.now());
  const pullRequest = lane.pullRequest === null ? null : { ...lane.pullRequest, draft: true };
  const ended = hold.queued ? 'was removed from the merge queue' : 'no longer merges automatically';
  const warning = `${name} ${ended}, because the requested changes need new commits. Switch that on again once you have reviewed them.`;
  const warnings = hold.queued || hold.autoMerge ? [...notes.warnings, warning] : notes.warnings;
  return { kind: 'free', lane: { ...lane, pullRequest }, state: { ...state, feedback }, notes: { ...notes, warnings } };
}

/**
 * Returns a warning if the workflow in the checkout shows that reviews of this lane start no run; returns null if they
 * do or it is unknown. The queue's pull request is read on schedule anyway.
 */
async function missingReviewEvent(
  { config, context, repository }: Pick<GateDeps, 'config' | 'context' | 'repository'>,
  lane: LaneId,
): Promise<string | null> {
  const { workflowPath: path } = context;
  // Files are read only below the working directory. Unless that is the root, the workflow is outside of it.
  if (lane === QUEUE || !config.answers.reviews || path === null || config.workingDirectory !== '') return null;
  // An unreadable file must not stop the run, so treat it as unknown.
  const read = await repository.readTexts([path], null).catch(() => null);
  const text = read?.base[path];
  if (text === undefined || /\bpull_request_review\b/.test(text)) return null;
  return `Reviews of this pull request start no run: \`on:\` of ${path} does not name \`pull_request_review\`. Add the event with \`types: [submitted]\`, or comment \`/ralph run\` on the issue to have them answered.`;
}

/**
 * Deletes the lane's branch if it was merged, so that it begins again from the base. If the server refuses the
 * deletion, the lane begins on the existing branch.
 */
async function leaveMergedBranch(
  { remote, log }: Pick<GateDeps, 'remote' | 'log'>,
  lane: IntakeLane,
): Promise<IntakeLane> {
  const { branch, start } = lane;
  if (start.kind !== 'restart') return lane;
  const deleted = await remote.deleteBranch({ branch, head: start.mergedHead });
  switch (deleted.kind) {
    case 'deleted':
    case 'gone':
      log.info(`Removed the merged branch ${branch} (at ${start.mergedHead}) to start it again.`);
      return { ...lane, start: { kind: 'fresh' } };
    case 'refused':
      log.info(
        `The merged branch ${branch} may not be deleted, so the next work begins on it, from the base. ${completeSentence(explainRefusal(deleted.refusal))}`,
      );
      return { ...lane, start: { kind: 'reuse', mergedHead: start.mergedHead } };
    default:
      // Ignore the problem here: the push that creates the branch reports it.
      return lane;
  }
}

/**
 * Stores the open circuit of another Ralph that ended this run in the lane's state, so that status reports show it. If
 * the store cannot keep two runs apart, or another run has the lane, the next run reads the file again.
 */
export async function keepLeftCircuit(
  { store, clock, ...run }: Pick<GateDeps, 'store' | 'clock' | 'config' | 'context' | 'runTag'>,
  { lane, outcome }: Pick<EndIntake, 'lane' | 'outcome'>,
  kept: KeptLane,
): Promise<void> {
  const isHeld = outcome.kind === 'halted' && outcome.reason === 'circuit_open';
  if (!isHeld || lane === null || kept.left === null) return;
  const now = clock.now();
  const stored = storedState(kept, lane, now);
  const { state, warning } =
    stored === null ? { state: null, warning: null } : honourLeftCircuit(stored, kept.left, now);
  // Without a warning, an earlier run has already stopped for this circuit, so nothing is stored.
  if (state === null || warning === null) return;
  await store.update(
    amendInSnapshot({
      lane: lane.id,
      seen: kept.snapshot ?? emptySnapshot,
      document: (sequence) => serializeState({ ...state, sequence, savedAt: now }),
      holder: createLease(run, now),
      now,
      why: 'a circuit that another Ralph left open',
    }),
  );
}

/**
 * Returns the state without the inputs of this run's decision, which are people's orders and other lanes' usage.
 * Returns null for a lost state, which is not replaced.
 */
function storedState({ restored }: KeptLane, { id, start }: IntakeLane, now: number): LaneState | null {
  if (restored?.kind === 'found') return restored.state;
  return restored?.kind === 'absent' && start.kind === 'fresh' ? createInitialState(id, now) : null;
}
