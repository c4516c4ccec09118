import { mergeReceivedFeedback } from '../../core/feedback/answered.ts';
import { withMeasuredSizes } from '../../core/lane/change.ts';
import type { LaneState } from '../../core/lane/state/state.ts';
import type { Outcome } from '../../core/outcome.ts';
import { formatTaskName } from '../../core/text/commit-message.ts';
import { meaningOfRun } from '../../gate/event/event-table.ts';
import { isAskedFor } from '../../gate/people/trust.ts';
import type { Work } from '../../handover/intake.ts';
import { findOutrun } from '../../handover/outrun.ts';
import type { RunReport } from '../../handover/report.ts';
import { createLostWork, type ReceivedWork, receiveWork } from '../../handover/work-parcel.ts';
import { pushIteration } from '../../loop/pushing.ts';
import type { PublishDeps } from '../../publish/deps.ts';
import { notifyOfConfiguration } from '../../publish/notifications.ts';
import { connectStages, type Stages } from '../stages.ts';
import type { ActionDeps } from '../deps.ts';
import type { Recording } from '../recording.ts';
import { publishRecorded } from '../salvage.ts';
import { findNamedBundle, readNamedFile, takeIntake, type TakenIntake } from './parcels.ts';

type WholeWork = Extract<ReceivedWork, { readonly kind: 'work' }>;

/**
 * Runs the job that publishes: receives the loop's hand-over as untrusted data, checks it against the gate's, and
 * publishes the valid part. No agent, and no code of the repository, runs here.
 */
export async function publishJob(deps: ActionDeps, recording: Recording): Promise<RunReport> {
  const { config, connect, clock, log } = deps;
  const folder = await connect.handoff(null);
  const taken = await takeIntake(folder, config.handoff);
  const { handed, of } = taken;
  // The record makes sure that the loop's spending is booked even if this job fails.
  const keepSpent = (spent: 'reservation' | LaneState): void => {
    recording.tryToKeep(createLostWork(handed, { outcome: lost('This job failed.', spent), spent, now: clock.now() }));
  };
  keepSpent('reservation');
  const text = await folder.read('loop/work.json');
  const received: ReceivedWork =
    text === null && config.handoff.loopResult === 'skipped'
      ? { kind: 'failed', outcome: { kind: 'cancelled', reason: 'signal' } }
      : receiveWork(text === null ? null : Buffer.from(text).toString(), { handed, of, now: clock.now() });
  if (received.kind === 'work') keepSpent(received.work.state);
  if (received.kind === 'failed')
    recording.tryToKeep(createLostWork(handed, { ...received, spent: 'nothing', now: clock.now() }));
  // Record the claim, so that post releases the lane if the run is killed from here on.
  recording.claiming([{ lane: handed.intake.lane.id, runTag: deps.runTag }]);
  // In a run of several lanes, the last job arms auto-merge and updates the dashboard for all of them.
  const own = handed.lanes.length === 1 ? config : { ...config, autoMerge: null, dashboard: false };
  const stages = await connectStages({ ...deps, config: own }, { exporters: null, stepWithinMs: null });
  // The jobs may have waited for machines until the claim ended, so see whether another run has the lane now.
  await stages.store.read();
  const whole = received.kind === 'work' ? await withCommits(deps, taken, received) : received;
  switch (whole.kind) {
    case 'work': {
      recording.keep(whole.work);
      const mustPush = whole.work.proposal === null && (await findOutrun(stages, whole.work)) === null;
      const work = mustPush ? await pushWithState(deps, stages, whole.work) : whole.work;
      recording.keep(work);
      const exportSessions: PublishDeps['exportSessions'] = () =>
        readNamedFile(folder, 'loop/session.sealed', whole.session);
      return publishRecorded({ ...stages, exportSessions }, recording, work);
    }
    case 'failed': {
      const { outcome } = whole;
      const work = createLostWork(handed, { outcome, spent: 'nothing', now: clock.now() });
      recording.keep(work);
      const report = await publishRecorded(stages, recording, work);
      const isWrong = outcome.reason === 'configuration';
      if (isWrong && (await isAskedFor(stages, meaningOfRun(deps)))) await notifyOfConfiguration(stages, report);
      return report;
    }
    case 'unusable': {
      // The usage is known even if the commits cannot be taken.
      const spent = received.kind === 'work' ? received.work.state : 'reservation';
      const outcome = lost(whole.why, spent);
      log.error(outcome.message);
      const work = createLostWork(handed, { outcome, spent, now: clock.now() });
      recording.keep(work);
      return publishRecorded(stages, recording, work);
    }
  }
}

/**
 * Pushes the branch and the state in one push, as main does after each iteration, so that both agree even if the run is
 * killed afterwards.
 */
async function pushWithState(
  { config, context, runTag, clock, log, redact }: ActionDeps,
  stages: Stages,
  work: Work,
): Promise<Work> {
  const { remote, store, forge } = stages;
  const outlet = { kind: 'push', remote, forge } as const;
  const journalHash = (): string | null => work.state.journalHash;
  // This job has no work tree and no journal; the job of the loop has them.
  const elsewhere = { repository: null, appendJournal: null, record: null };
  const pushed = await pushIteration(
    { config, context, runTag, outlet, store, clock, log, redact, journalHash, ...elsewhere },
    work,
  );
  return pushed.end === null ? pushed.work : { ...pushed.work, outcome: pushed.end };
}

/** Returns the work with its commits available for inspection and push, measured by this job. */
async function withCommits(
  { connect }: ActionDeps,
  { handed }: TakenIntake,
  received: WholeWork,
): Promise<WholeWork | Extract<ReceivedWork, { kind: 'unusable' }>> {
  const { work, commits, answers } = received;
  const { fork, base, head: since } = handed.intake.opened;
  const folder = await connect.handoff(null);
  const name = commits === null ? null : await findNamedBundle(folder, commits);
  if (commits !== null && name === null) return { kind: 'unusable', why: 'Its commits are missing, or were changed.' };
  const bundle = name === null ? null : { path: await folder.pathOf(name), commit: work.head };
  const names = work.tasks.map(formatTaskName);
  const branch = await (await connect.remote()).receive({ fork, base, since, bundle, names });
  if (branch.kind === 'refused') return { kind: 'unusable', why: branch.why };
  const { stateBefore: before, tasks, lane, state, endedAt } = work;
  const seen = { before, tasks, made: branch.made, baseBranch: lane.baseBranch, endedAt };
  const answered = { ...work, state: { ...state, feedback: mergeReceivedFeedback(answers, seen) } };
  return { ...received, work: reviewed(answered, branch.review) };
}

function reviewed(work: Work, review: Parameters<typeof withMeasuredSizes>[1] & Pick<Work, 'lookAt'>): Work {
  const { state } = work;
  return { ...work, lookAt: review.lookAt, state: { ...state, change: withMeasuredSizes(state.change, review) } };
}

function lost(why: string, spent: 'reservation' | LaneState): Extract<Outcome, { kind: 'failed' }> {
  const used =
    spent === 'reservation'
      ? 'everything that it reserved counts as used: calls for an hour, cost for the day'
      : 'what its calls used is booked';
  return {
    kind: 'failed',
    reason: 'infrastructure',
    message: `The job of the loop left no work that can be published. ${why} None of its work counts as done, and ${used}. Its log says what happened.`,
  };
}
