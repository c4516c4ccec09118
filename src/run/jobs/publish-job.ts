import { mergeReceivedFeedback } from '../../core/feedback/answered.ts';
import { withMeasuredSizes } from '../../core/lane/change.ts';
import { hasAnySession } from '../../core/lane/session.ts';
import type { Outcome } from '../../core/outcome.ts';
import { nameOfLane } from '../../core/tasks/ids.ts';
import { nextTask } from '../../core/tasks/queue.ts';
import { nameInMessage } from '../../core/text/commit-message.ts';
import { mapTexts } from '../../core/text/redact.ts';
import { UserError } from '../../errors.ts';
import { meaningOfRun } from '../../gate/event/event-table.ts';
import { acknowledgeIssue, isAskedFor } from '../../gate/people/trust.ts';
import type { HandedFile, HandedIntake, Work, WorkIntake } from '../../handover/intake.ts';
import type { RunReport } from '../../handover/report.ts';
import { lostWork, type ReceivedWork, receiveWork } from '../../handover/work-parcel.ts';
import { beginWork } from '../../loop/loop.ts';
import { openBranch, pushIteration } from '../../loop/pushing.ts';
import type { PublishDeps } from '../../publish/deps.ts';
import { createLiveStatus } from '../../publish/end.ts';
import { notifyOfConfiguration } from '../../publish/notifications.ts';
import { connectStages, type Stages } from '../agents.ts';
import type { ActionDeps, RunEnd } from '../deps.ts';
import type { Recording } from '../recording.ts';
import { publishRecorded } from '../salvage.ts';
import { namedBundle, namedFile, takeIntake, type TakenIntake } from './parcels.ts';

type WholeWork = Extract<ReceivedWork, { readonly kind: 'work' }>;

/**
 * Runs the job that publishes: takes what the loop handed over as untrusted data, checks it against what the gate
 * handed over, and publishes the rest. No agent, and no code of the repository, runs here.
 */
export async function publishJob(deps: ActionDeps, recording: Recording): Promise<RunReport> {
  const { config, connect, clock, log } = deps;
  const folder = await connect.handoff();
  const taken = await takeIntake(folder, config.handoff);
  const { handed, of } = taken;
  // If the run is killed from here on, post gives its lane back.
  recording.claiming([{ lane: handed.intake.lane.id, runTag: deps.runTag }]);
  const stages = await connectStages(deps, { exporters: null, stepWithinMs: null });
  const text = await folder.read('loop/work.json');
  const received = receiveWork(text === null ? null : Buffer.from(text).toString(), { handed, of, now: clock.now() });
  const whole = received.kind === 'work' ? await withCommits(deps, taken, received) : received;
  switch (whole.kind) {
    case 'work': {
      recording.keep(whole.work);
      const work = await pushWithState(deps, stages, whole.work);
      recording.keep(work);
      const exportSessions: PublishDeps['exportSessions'] = () =>
        namedFile(folder, 'loop/session.sealed', whole.session);
      return publishRecorded({ ...stages, exportSessions }, recording, work);
    }
    case 'failed': {
      const { outcome } = whole;
      const work = lostWork(handed, { outcome, spent: 'nothing', now: clock.now() });
      recording.keep(work);
      const report = await publishRecorded(stages, recording, work);
      const isWrong = outcome.reason === 'configuration';
      if (isWrong && (await isAskedFor(stages, meaningOfRun(deps)))) await notifyOfConfiguration(stages, report);
      return report;
    }
    case 'unusable': {
      const outcome = lost(whole.why);
      log.error(outcome.message);
      const work = lostWork(handed, { outcome, spent: 'reservation', now: clock.now() });
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
  // The work tree and the journal are in the job of the loop.
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
  const folder = await connect.handoff();
  const name = commits === null ? null : await namedBundle(folder, commits);
  if (commits !== null && name === null) return { kind: 'unusable', why: 'Its commits are missing, or were changed.' };
  const bundle = name === null ? null : { path: await folder.pathOf(name), commit: work.head };
  const names = work.tasks.map(nameInMessage);
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

function lost(why: string): Extract<Outcome, { kind: 'failed' }> {
  return {
    kind: 'failed',
    reason: 'infrastructure',
    message: `The job of the loop left no work that can be published. ${why} None of its work counts as done, and everything that it reserved counts as used: calls for an hour, cost for the day. Its log says what happened.`,
  };
}

/**
 * Runs the gate's job once there is work: creates the branch, shows people that the run is at work, and hands over to
 * the job of the loop.
 */
export async function gateJob(
  deps: ActionDeps,
  recording: Recording,
  { stages, intake }: { readonly stages: Stages; readonly intake: WorkIntake },
): Promise<RunEnd> {
  const { clock, log, debug } = deps;
  const begun = await acknowledgeIssue(stages.forge, intake);
  const outlet = { kind: 'push', remote: stages.remote, forge: stages.forge } as const;
  const unbegun = beginWork(begun, { state: begun.state, agent: { name: '', version: '' }, now: clock.now() });
  recording.keep(unbegun);
  const opening = { outlet, clock, log, redact: deps.redact, appendJournal: null };
  const { work, end } = await openBranch(opening, unbegun, begun.opened.base);
  if (end !== null) {
    const ended = { ...work, outcome: end, endedAt: clock.now() };
    recording.keep(ended);
    return { handedOver: null, report: await publishRecorded(stages, recording, ended) };
  }
  const task = nextTask(begun.tasks, begun.state.tasks, begun.state.currentTask);
  const { showLive } = createLiveStatus({ ...stages, config: { ...deps.config, policy: begun.policy }, debug });
  if (task !== null) await showLive(work, { task, iteration: 1, orders: [] });
  const digest = await giveIntake(deps, stages, {
    version: 1,
    kind: 'intake',
    runTag: deps.runTag,
    intake: { ...begun, state: { ...begun.state, refusedPush: work.state.refusedPush, tasks: work.state.tasks } },
    remoteHead: work.remoteHead,
    shown: task?.id ?? null,
    session: await giveSession(deps, stages, begun),
    settings: deps.config.settings.found,
  });
  // The next job must give the lane back from here on.
  recording.released(begun.lane.id);
  recording.tryToRecord('ended');
  log.info(
    `Handed over to the job of the loop: ${nameOfLane(begun.lane.id)}, ${String(begun.tasks.length)} ${begun.tasks.length === 1 ? 'task' : 'tasks'}.`,
  );
  return { handedOver: { digest, branch: begun.lane.branch }, report: null };
}

async function giveIntake({ connect, redact }: ActionDeps, { sha256 }: Stages, handed: HandedIntake): Promise<string> {
  const folder = await connect.handoff();
  const text = JSON.stringify(mapTexts(handed, redact));
  await folder.write('gate/intake.json', text);
  // The file is read back, because the next jobs must receive what the output says.
  const digest = sha256(text);
  if ((await folder.fingerprint('gate/intake.json'))?.sha256 !== digest)
    throw new UserError('infrastructure', 'The hand-over of the gate was changed on disk while it was being written.');
  return digest;
}

/** Hands over the session's transcript, encrypted as it is stored: only the next job has the agent's key. */
async function giveSession(
  { connect }: ActionDeps,
  { store }: Stages,
  { lane, state }: WorkIntake,
): Promise<HandedFile | null> {
  const { transcript } = state;
  if (!hasAnySession(state) || transcript === null) return null;
  const found = await store.transcript(lane.id, transcript);
  if (found.kind !== 'found') return null;
  const { sha256, content } = found.transcript;
  await (await connect.handoff()).write('gate/session.sealed', content);
  return { sha256, bytes: content.length };
}
