import { listUnstoredTasks } from '../core/sharing/trusted-state.ts';
import type { Claim } from '../core/sharing/lease.ts';
import { isLaneId, nameOfLane, type LaneId } from '../core/tasks/ids.ts';
import type { Outcome } from '../core/outcome.ts';
import { meaningOfRun } from '../gate/event/event-table.ts';
import type { RunReport } from '../handover/report.ts';
import type { Work } from '../handover/intake.ts';
import { getErrorMessage } from '../errors.ts';
import type { ReleaseResult, RestoredState, RestoredStore } from '../ports/state.ts';
import { publishWork } from '../publish/publish.ts';
import { withTimeLimit } from '../publish/answers.ts';
import { selectTrustedPart, type KnownFacts } from './trusted-part.ts';
import type { RunRecord } from './run-record.ts';
import { claimsOfRun } from '../core/snapshot/changes.ts';
import type { RunDeps } from './deps.ts';
import { takeIntake } from './jobs/parcels.ts';
import { listRecordedExporters } from './agents.ts';
import { connectStages, giveBackLane } from './stages.ts';
import { logRefusedWishes, createUnpublishedReport, createWorklessReport, withGitHubFacts } from './reports.ts';
import { convertErrorToOutcome } from './failure.ts';
import { completeSentence } from '../core/text/phrase.ts';
import { listLaneAnswers } from '../core/snapshot/snapshot.ts';

/** The dependencies of post for a run that main did not end itself. */
export interface RescueDeps extends RunDeps {
  /** The record, or null if main did not write the file in `folder`. */
  readonly record: RunRecord | null;
  /** The folder of the run's files. */
  readonly folder: string;
  readonly limits: RescueLimits;
}

/** Time limits in ms. Work that exceeds them is abandoned, because the state must be saved in any case. */
export interface RescueLimits {
  /** Time for all of publishing. */
  readonly publishMs: number;
  /** Time for each step of publishing whose port sets no limit of its own. */
  readonly stepMs: number;
  /** Time for releasing the lane, if publishing did not do so. */
  readonly releaseMs: number;
}

/** Result of the rescue. `report` is null if there was nothing to report. `lane` is the result of releasing it. */
interface Rescued {
  readonly report: RunReport | null;
  readonly lane: ReleaseResult;
}

const untried: ReleaseResult = { kind: 'claimed', why: 'it was not tried' };

/**
 * Finishes what main could not: pushes commits, writes the pull request, saves the state and releases the lane. Returns
 * null if main had at most to release its lane. Safe to repeat.
 */
export async function rescueRun(run: RescueDeps): Promise<RunReport | null> {
  const { record } = run;
  // In a run of several lanes, each lane is claimed under its own tag.
  const claim = record?.claimed.find(({ lane }) => lane === record.work?.lane.id);
  const deps = claim === undefined ? run : { ...run, runTag: claim.runTag };
  const { report, lane } = await rescue(deps).catch((error: unknown) =>
    unusable(deps, `The record of this run in ${deps.folder} cannot be used: ${getErrorMessage(error)}`),
  );
  if (record === null) {
    for (const claim of await claimable(deps)) await giveBackInTime(deps, claim, 'claim');
    return report;
  }
  const { work } = record;
  const { phase, loopResult } = run.config.handoff;
  // The job of the loop may have made calls of which this job has not read yet.
  const hasLooped = phase === 'publish' && loopResult !== 'skipped';
  for (const claim of await recordedClaims(deps, record)) {
    const isOfWork = claim.lane === work?.lane.id;
    if (!isLaneId(claim.lane) || (isOfWork && lane.kind === 'free')) continue;
    await giveBackInTime(deps, claim, isOfWork || hasLooped ? 'claim' : 'claim-and-reservation');
  }
  return report;
}

/** Returns the claims of this run. In the job that publishes, its lane was claimed before main began. */
async function recordedClaims(
  { config, connect, runTag, debug }: RescueDeps,
  record: RunRecord,
): Promise<readonly Claim[]> {
  if (record.claimed.length > 0 || record.stage !== 'gate' || config.handoff.phase !== 'publish') return record.claimed;
  try {
    const { handed } = await takeIntake(await connect.handoff(null), config.handoff);
    return [{ lane: handed.intake.lane.id, runTag }];
  } catch (error) {
    debug(getErrorMessage(error));
    return [];
  }
}

/**
 * Rescues a run whose folder is missing, because main never made it or it was removed. Returns null if no lane is
 * claimed by this run, because there is then nothing to rescue.
 */
export async function rescueLostRun(deps: RescueDeps): Promise<RunReport | null> {
  for (const { lane, runTag } of await claimable(deps))
    if (await isOurs({ ...deps, runTag }, lane)) return rescueRun(deps);
  return null;
}

/** Returns the possible claims of a run that left no record: the lanes of its event, and those that it holds. */
async function claimable(deps: RescueDeps): Promise<readonly Claim[]> {
  const { connect, limits, runTag, debug } = deps;
  const named = lanesOf(deps).map((lane) => ({ lane, runTag }));
  try {
    const read = await withTimeLimit(limits.stepMs, (await connect.store()).read());
    const held = read.kind === 'snapshot' ? claimsOfRun(read.snapshot, runTag) : [];
    return [...named.filter(({ lane }) => held.every((claim) => claim.lane !== lane)), ...held];
  } catch (error) {
    debug(getErrorMessage(error));
    return named;
  }
}

/**
 * Returns the lanes that the event names, even if another run claimed them, because a run can only release its own
 * claims.
 */
function lanesOf(deps: RescueDeps): readonly LaneId[] {
  const meaning = meaningOfRun(deps);
  return meaning.kind === 'for-us' ? meaning.lanes : [];
}

/** Returns true if this run may have worked on the lane of the record. */
function isPossible(deps: RescueDeps, { lane }: Work): boolean {
  const meaning = meaningOfRun(deps);
  const isMeant = meaning.kind === 'for-us' && (meaning.mayBeOtherLane || lanesOf(deps).includes(lane.id));
  return isMeant && isLaneId(lane.id) && lane.branch === deps.config.branchPrefix + lane.id;
}

/** Returns true if this run holds the lane of the record, according to the store. */
async function isClaimed(deps: RescueDeps, { lane }: Work): Promise<boolean> {
  return isLaneId(lane.id) && lane.branch === deps.config.branchPrefix + lane.id && (await isOurs(deps, lane.id));
}

async function isOurs({ connect, limits, runTag, debug }: RescueDeps, lane: LaneId): Promise<boolean> {
  try {
    const { lane: restored } = await withTimeLimit(limits.stepMs, (await connect.store()).restore(lane));
    return 'lease' in restored && restored.lease?.runTag === runTag;
  } catch (error) {
    debug(getErrorMessage(error));
    return false;
  }
}

async function rescue(deps: RescueDeps): Promise<Rescued> {
  const { record, limits } = deps;
  if (record === null)
    return unusable(
      deps,
      `The record of this run in ${deps.folder} is gone or unreadable, or it is not the one that the main step wrote: the agent or another program on this machine removed or changed it. Nothing more is published; processes that the agent left behind were ended.`,
    );
  const { work, stage } = record;
  if (stage === 'ended') return { report: null, lane: untried };
  if (work === null) {
    const killed: Outcome = { kind: 'cancelled', reason: 'killed' };
    return { report: createWorklessReport(deps, killed, record.startedAt), lane: untried };
  }
  // A run of the queue may have claimed the branch of an issue whose work continues, or whose pull request needs work,
  // so also ask the store.
  if (!isPossible(deps, work) && !(await isClaimed(deps, work)))
    return unusable(
      deps,
      'The record of this run is about a branch that this run cannot work on: the agent or another program on this machine changed it. Nothing more is published; processes that the agent left behind were ended.',
    );
  return withTimeLimit(limits.publishMs, publishRescued(deps, work)).catch((error: unknown) => ({
    report: unpublished(deps, selectTrustedPart(work, knownTo(deps, null)), error),
    lane: untried,
  }));
}

/** Publishes as main does, through the same ports, which make the same inspections before a push. */
async function publishRescued(deps: RescueDeps, recorded: Work): Promise<Rescued> {
  // Export nothing: the job that publishes has no agents, and post has no time for the conversation that the loop
  // handed over.
  const exporters = deps.config.handoff.phase === 'publish' ? null : listRecordedExporters(deps.connect, recorded);
  const stages = await connectStages(deps, { exporters, stepWithinMs: deps.limits.stepMs });
  const kept = await storedLane(deps, recorded.lane.id);
  const restored = kept?.lane ?? null;
  const work = selectTrustedPart(recorded, knownTo(deps, kept));
  const unstored = listUnstoredTasks(work.state, recorded.state).length;
  if (unstored > 0)
    deps.log.info(
      `${String(unstored)} ${unstored === 1 ? 'task was' : 'tasks were'} finished after the state was last saved: the next run verifies that.`,
    );
  const { report, lane } = await publishWork({ ...stages, unsaved: whyUnsaved(restored, deps.config) }, work);
  logRefusedWishes(deps);
  return { report: withGitHubFacts(deps, report), lane };
}

function knownTo({ config, runTag, clock }: RescueDeps, kept: RestoredStore | null): KnownFacts {
  const snapshot = kept?.snapshot ?? null;
  const answers = snapshot === null ? [] : listLaneAnswers(snapshot);
  return { restored: kept?.lane ?? null, answers, snapshot, config, runTag, now: clock.now() };
}

/**
 * Returns the reason why the state must not be saved, or null if it may be. A stored state that could not be read may
 * be newer, so it is not replaced.
 */
function whyUnsaved(restored: RestoredState | null, { stateStore }: RescueDeps['config']): string | null {
  if (stateStore === 'none') return null;
  return restored === null || restored.kind === 'unavailable'
    ? `the stored state could not be read${restored === null ? '' : ` (${restored.why})`}, so it stays as it is`
    : null;
}

/**
 * Releases the lane. If the run has pushed, its reservation is booked as used by its calls, regardless of the record.
 */
async function giveBackUnused(
  deps: RescueDeps,
  { lane, runTag }: Claim,
  what: Parameters<typeof giveBackLane>[2],
): Promise<ReleaseResult> {
  const restored = what === 'claim' ? null : ((await storedLane(deps, lane))?.lane ?? null);
  const hasPushed = restored !== null && 'savedBy' in restored && restored.savedBy === runTag;
  return giveBackLane({ ...deps, runTag }, lane, hasPushed ? 'claim' : what);
}

/** Returns the lane according to the store; returns null if the store keeps nothing, or does not answer. */
async function storedLane({ config, connect, limits, debug }: RescueDeps, lane: LaneId): Promise<RestoredStore | null> {
  if (config.stateStore === 'none') return null;
  try {
    return await withTimeLimit(limits.stepMs, (await connect.store()).restore(lane));
  } catch (error) {
    debug(getErrorMessage(error));
    return null;
  }
}

async function giveBackInTime(deps: RescueDeps, claim: Claim, what: Parameters<typeof giveBackLane>[2]): Promise<void> {
  const { limits, log } = deps;
  const limitMs = what === 'claim' ? limits.releaseMs : limits.publishMs;
  const released = await withTimeLimit(limitMs, giveBackUnused(deps, claim, what)).catch(
    (error: unknown): ReleaseResult => ({ kind: 'claimed', why: getErrorMessage(error) }),
  );
  if (released.kind === 'claimed')
    log.warning(
      `The claim on ${nameOfLane(claim.lane)} could not be released: ${completeSentence(released.why)} It expires when this run's time limit is over.`,
    );
}

/** Creates the report of work that could not be published, as far as main got. */
function unpublished(deps: RescueDeps, work: Work, error: unknown): RunReport {
  convertErrorToOutcome(error, deps.debug);
  const outcome = failed(deps, `The post step could not publish this run: ${getErrorMessage(error)}`);
  return createUnpublishedReport(deps, { ...work, outcome });
}

function unusable(deps: RescueDeps, problem: string): Rescued {
  return { report: createWorklessReport(deps, failed(deps, problem), deps.clock.now()), lane: untried };
}

function failed({ log }: RescueDeps, problem: string): Outcome {
  const message = `${completeSentence(problem)} The next run continues from what was saved before.`;
  log.error(message);
  return { kind: 'failed', reason: 'infrastructure', message };
}
