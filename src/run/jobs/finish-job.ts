import { deriveRunTag } from '../../core/sharing/lease.ts';
import { parseState } from '../../core/lane/state/state.ts';
import { claimsOfRun } from '../../core/snapshot/changes.ts';
import { parseRecordIn, type Snapshot } from '../../core/snapshot/snapshot.ts';
import { listStoredRuns } from '../../core/snapshot/stored-run.ts';
import { type LaneId, nameOfLane } from '../../core/tasks/ids.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { withPublished } from '../../core/train/train.ts';
import { UserError } from '../../errors.ts';
import { publishDashboard } from '../../publish/dashboard.ts';
import { publishTrain } from '../../publish/train.ts';
import { connectStages, giveBackLane } from '../stages.ts';
import type { ActionDeps, RunEnd } from '../deps.ts';
import { takeIntake } from './parcels.ts';

/**
 * Runs the last job of a run of several lanes, after all other jobs: sums up their ends, writes the order of merges on
 * all pages, and releases the lanes that a dead job still holds. Their reservations stay until they expire, because it
 * is unknown how much of them was used.
 */
export async function finishJob(deps: ActionDeps): Promise<RunEnd> {
  const { config, connect, context, log } = deps;
  const { handed } = await takeIntake(await connect.handoff(null), config.handoff);
  const read = await (await connect.store()).read();
  if (read.kind !== 'snapshot')
    throw new UserError(
      'infrastructure',
      `The ends of this run's branches are unknown, because the state could not be read: ${completeSentence(read.kind === 'none' ? 'the store has no state' : read.why)} The jobs of each branch have published its work themselves.`,
    );
  const { snapshot } = read;
  for (const { lane, runTag } of claimsOfRun(snapshot, deriveRunTag(handed.runTag, handed.intake.lane.id))) {
    const released = await giveBackLane({ ...deps, runTag }, lane, 'claim');
    if (released.kind === 'claimed')
      log.warning(`The claim on ${nameOfLane(lane)} could not be released: ${completeSentence(released.why)}`);
    else log.info(`The claim on ${nameOfLane(lane)} is released: the jobs that held it are over.`);
  }
  // In another attempt of the workflow run, jobs that succeeded before do not run again, so accept their earlier
  // results.
  const runs = listStoredRuns(snapshot).filter(({ runId }) => runId === context.runId);
  const { owner, repo } = context.repository;
  const lanes = handed.lanes.map((lane) => ({
    lane,
    branch: config.branchPrefix + lane,
    run: runs.find((run) => run.lane === lane) ?? null,
  }));
  const { notes, tasks } = handed.intake;
  // A record of an earlier version lacks this field, so it may be missing.
  const published =
    notes.train &&
    lanes.reduce((known, { lane, branch, run }) => {
      if (run === null || run.head === null || run.pullRequest === null) return known;
      const pull = { number: run.pullRequest, branch, head: run.head, isDraft: run.outcome.kind !== 'complete' };
      return withPublished(known, { ...pull, isOvertaken: isOvertaken(snapshot, lane), now: deps.clock.now() });
    }, notes.train);
  const stages = await connectStages(deps, { exporters: null, stepWithinMs: null });
  const train = published && (await publishTrain(stages, published, 1));
  for (const warning of await publishDashboard(stages, { ...notes, tasks, train })) log.warning(warning);
  return { kind: 'summed-up', together: { lanes, repositoryUrl: `${context.serverUrl}/${owner}/${repo}`, train } };
}

/** Returns true if commits of the lane have overtaken an approval, so that a new review may be on its way. */
function isOvertaken(snapshot: Snapshot, lane: LaneId): boolean {
  const document = parseRecordIn(snapshot, lane)?.document ?? null;
  const parsed = document === null ? null : parseState(document, lane);
  const overtaken = parsed?.kind === 'state' ? parsed.state.feedback.overtaken : null;
  return overtaken !== null && overtaken.wasApproved !== false;
}
