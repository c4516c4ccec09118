import { meaningOfRun } from '../gate/event/event-table.ts';
import { isAskedFor } from '../gate/people/trust.ts';
import type { RunReport } from '../handover/report.ts';
import type { Work } from '../handover/intake.ts';
import { publishWork } from '../publish/publish.ts';
import type { PublishDeps } from '../publish/deps.ts';
import { notifyOfConfiguration } from '../publish/notifications.ts';
import type { ActionDeps } from './deps.ts';
import type { Recording } from './recording.ts';
import { connectStages, giveBackLane } from './stages.ts';
import { createUnpublishedReport, createWorklessReport } from './reports.ts';
import { type FailedOutcome, convertErrorToOutcome, renderUnnotified } from './failure.ts';
import { nameOfLane } from '../core/tasks/ids.ts';
import { completeSentence } from '../core/text/phrase.ts';

/** After a failure, publishes the work that was finished before it, or releases the lane of a run that never began. */
export async function salvageRun(deps: ActionDeps, recording: Recording, error: unknown): Promise<RunReport> {
  const outcome = whatFailed(deps, error);
  const work = recording.work();
  if (work === null) {
    await giveBackClaims(deps, recording, 'claim-and-reservation');
    // Record the end; if a lane is still claimed, post releases it.
    recording.tryToRecord('ended');
    const report = createWorklessReport(deps, outcome, deps.startedAt);
    if (outcome.reason === 'configuration') await tryToNotify(deps, outcome, report);
    return report;
  }
  const isolation = deps.connect.isolation() ?? work.isolation;
  const unfinished: Work = { ...work, isolation, outcome, endedAt: deps.clock.now() };
  recording.tryToKeep(unfinished);
  try {
    const stages = await connectStages(deps, { exporters: null, stepWithinMs: null });
    return await publishRecorded(stages, recording, unfinished);
  } catch (second) {
    // Do not fail here, because post tries again.
    return createUnpublishedReport(deps, { ...unfinished, outcome: convertErrorToOutcome(second, deps.debug) });
  }
}

/** Releases the lanes that this run may still hold, each under its own tag. */
export async function giveBackClaims(
  deps: ActionDeps,
  recording: Recording,
  what: Parameters<typeof giveBackLane>[2],
): Promise<void> {
  for (const { lane, runTag } of recording.claimed())
    if ((await giveBackLane({ ...deps, runTag }, lane, what)).kind === 'free') recording.released(lane);
}

/** Notifies people of the failure, because nobody reads the log of a scheduled run that fails. */
async function tryToNotify(deps: ActionDeps, outcome: FailedOutcome, report: RunReport): Promise<void> {
  // Notify nobody: the job of the loop has no token, and without an intake it has nothing to hand over either.
  if (deps.config.handoff.phase === 'loop') return;
  try {
    const meaning = meaningOfRun(deps);
    const stages = await connectStages(deps, { exporters: null, stepWithinMs: null });
    if (await isAskedFor(stages, meaning)) await notifyOfConfiguration(stages, report);
  } catch (error) {
    deps.log.warning(renderUnnotified(outcome, error));
  }
}

/** Publishes work, and records whether post still has to publish or release anything. */
export async function publishRecorded(deps: PublishDeps, recording: Recording, work: Work): Promise<RunReport> {
  const { report, lane, isOnRemote } = await publishWork(deps, work);
  if (lane.kind === 'free') recording.released(work.lane.id);
  else
    deps.log.warning(
      `The claim on ${nameOfLane(work.lane.id)} is not released yet: ${completeSentence(lane.why)} The post step tries again.`,
    );
  // Publishing may have deleted a branch that was made for commits that never reached it; post must not take that for
  // a person's order.
  if (!isOnRemote) recording.tryToKeep({ ...work, remoteHead: report.headSha });
  // If commits are only on this machine, or a lane is still claimed, post must try as well.
  recording.tryToRecord(recording.claimed().length === 0 && isOnRemote ? 'ended' : 'work');
  return report;
}

/** Ends a cancelled run that is not done in time. */
export async function giveUpRun(deps: ActionDeps, recording: Recording, why: string): Promise<void> {
  await deps.machine.endAgent();
  const outcome = { kind: 'cancelled', reason: 'signal' } as const;
  const work = recording.work();
  if (work !== null) {
    const rest =
      deps.config.handoff.phase === 'loop' ? 'what was handed over before is published' : 'the post step does the rest';
    deps.log.warning(`Cancelled (${why}) and not finished in time: ${rest}.`);
    deps.leave(createUnpublishedReport(deps, { ...work, outcome, endedAt: deps.clock.now() }));
    return;
  }
  recording.tryToRecord('ended');
  deps.leave(createWorklessReport(deps, outcome, deps.startedAt));
}

function whatFailed({ machine, debug }: ActionDeps, error: unknown): FailedOutcome {
  const failure = convertErrorToOutcome(error, debug);
  // Losing the folder makes everything fail in different ways, so report only the loss.
  const loss = machine.loss();
  return loss === null ? failure : { kind: 'failed', reason: 'infrastructure', message: loss };
}
