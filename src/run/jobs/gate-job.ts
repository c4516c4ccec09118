import { hasAnySession } from '../../core/lane/session.ts';
import { nameOfLane, type LaneId } from '../../core/tasks/ids.ts';
import { nextTask } from '../../core/tasks/queue.ts';
import { mapTexts } from '../../core/text/redact.ts';
import { UserError } from '../../errors.ts';

import { acknowledgeIssue } from '../../gate/people/trust.ts';
import type { GateResult, HandedFile, HandedIntake, Work, WorkIntake } from '../../handover/intake.ts';
import type { RunReport } from '../../handover/report.ts';
import { beginWork } from '../../loop/loop.ts';
import { openBranch } from '../../loop/pushing.ts';
import { createLiveStatus } from '../../publish/end.ts';
import type { Stages } from '../stages.ts';
import type { ActionDeps, HandedLane, RunEnd } from '../deps.ts';
import type { Recording } from '../recording.ts';
import { publishRecorded, salvageRun } from '../salvage.ts';

/** The lanes that the gate has claimed and opened, with the stages of the first. */
interface EnteredLanes extends Omit<GateResult, 'intake'> {
  readonly stages: Stages;
  readonly intake: WorkIntake;
}

/**
 * Runs the gate's job once there is work: creates the branches, shows people that the run is at work, and hands over
 * each lane to its own jobs. A lane that fails here ends here, and the others continue.
 */
export async function gateJob(
  deps: ActionDeps,
  recording: Recording,
  { stages, intake, runTag, beside }: EnteredLanes,
): Promise<RunEnd> {
  const entered = [{ intake, runTag }, ...beside];
  const ended: RunReport[] = [];
  const goOnWithout = async (ofLane: ActionDeps, error: unknown): Promise<void> => {
    if (beside.length === 0) throw error;
    ended.push(await salvageRun(ofLane, recording, error));
  };
  const opened: BegunLane[] = [];
  for (const one of entered) {
    const lane = { deps: { ...deps, runTag: one.runTag }, stages: { ...stages, runTag: one.runTag } };
    try {
      const end = await beginLane(lane, recording, { intake: one.intake, isAlone: beside.length === 0 });
      if (end.kind === 'opened') opened.push({ ...lane, ...end });
      else ended.push(end.report);
    } catch (error) {
      await goOnWithout(lane.deps, error);
    }
  }
  // A lane that is the only one left is not summed up by another job.
  const lanes = (opened.length > 1 ? entered.map((one) => one.intake) : opened.map(({ begun }) => begun)).map(
    ({ lane }) => lane.id,
  );
  const handed: HandedLane[] = [];
  for (const one of opened) {
    try {
      recording.keep(one.work);
      handed.push(await handOverLane(one, lanes));
    } catch (error) {
      await goOnWithout(one.deps, error);
    }
  }
  const [first, ...others] = handed;
  const [report, ...reports] = ended;
  if (first !== undefined) {
    // The next jobs must give the lanes back from here on. Until now no other job could have known of them.
    for (const { lane } of handed) recording.released(lane);
    recording.tryToRecord('ended');
    return { kind: 'handed-over', lanes: [first, ...others], report: null, beside: ended };
  }
  if (report === undefined) throw new Error('a run with work hands over or ends');
  return { kind: 'ended', report, beside: reports };
}

/** The dependencies of one lane, whose run tag is its own. */
interface OfLane {
  readonly deps: ActionDeps;
  readonly stages: Stages;
}

/** A lane whose branch exists on the server. */
interface BegunLane extends OfLane {
  readonly begun: WorkIntake;
  readonly work: Work;
}

async function beginLane(
  { deps, stages }: OfLane,
  recording: Recording,
  { intake, isAlone }: { readonly intake: WorkIntake; readonly isAlone: boolean },
): Promise<
  | ({ readonly kind: 'opened' } & Pick<BegunLane, 'begun' | 'work'>)
  | { readonly kind: 'ended'; readonly report: RunReport }
> {
  const { clock, log } = deps;
  const beginIn = (begun: WorkIntake): Work =>
    beginWork(begun, { state: begun.state, agent: { name: '', version: '' }, now: clock.now() });
  // The record must not name the previous lane, even if this one fails from here on.
  if (!isAlone) recording.keep(beginIn(intake));
  const begun = await acknowledgeIssue(stages.forge, intake);
  const outlet = { kind: 'push', remote: stages.remote, forge: stages.forge } as const;
  const opening = { outlet, clock, log, redact: deps.redact, appendJournal: null };
  const unbegun = beginIn(begun);
  recording.keep(unbegun);
  // A proposal has no branch.
  if (begun.proposes !== null) return { kind: 'opened', begun, work: unbegun };
  const { work, end } = await openBranch(opening, unbegun, begun.opened.base);
  if (end === null) return { kind: 'opened', begun, work };
  const ended = { ...work, outcome: end, endedAt: clock.now() };
  recording.keep(ended);
  return { kind: 'ended', report: await publishRecorded(stages, recording, ended) };
}

/** Hands over a lane to its own jobs. `lanes` are those that the last job sums up. */
async function handOverLane({ deps, stages, begun, work }: BegunLane, lanes: readonly LaneId[]): Promise<HandedLane> {
  const { debug, log } = deps;
  const task = nextTask(begun.tasks, begun.state.tasks, begun.state.currentTask);
  const { showLive } = createLiveStatus({ ...stages, config: { ...deps.config, policy: begun.policy }, debug });
  if (task !== null && begun.proposes === null) await showLive(work, { task, iteration: 1, orders: [] });
  const digest = await giveIntake(deps, stages, {
    version: 1,
    kind: 'intake',
    runTag: deps.runTag,
    lanes,
    intake: { ...begun, state: { ...begun.state, refusedPush: work.state.refusedPush, tasks: work.state.tasks } },
    remoteHead: work.remoteHead,
    shown: task?.id ?? null,
    session: await giveSession(deps, stages, begun),
    settings: deps.config.settings.found,
  });
  const { id, branch } = begun.lane;
  log.info(
    `Handed over to the job of the loop: ${nameOfLane(id)}, ${String(begun.tasks.length)} ${begun.tasks.length === 1 ? 'task' : 'tasks'}.`,
  );
  return { lane: id, branch, digest };
}

async function giveIntake({ connect, redact }: ActionDeps, { sha256 }: Stages, handed: HandedIntake): Promise<string> {
  const folder = await connect.handoff(handed.intake.lane.id);
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
  await (await connect.handoff(lane.id)).write('gate/session.sealed', content);
  return { sha256, bytes: content.length };
}
