import { CONFLICT_TASK } from '../../core/feedback/subject.ts';
import { countLanesBefore } from '../../core/sharing/lease.ts';
import { hasAnySession } from '../../core/lane/session.ts';
import { nameOfLane, type TaskId } from '../../core/tasks/ids.ts';
import { chooseNextTask } from '../../core/tasks/queue.ts';
import { mapTexts } from '../../core/text/redact.ts';
import { UserError } from '../../errors.ts';

import { acknowledgeIssue } from '../../gate/people/trust.ts';
import type { GateResult, HandedFile, HandedIntake, Work, WorkIntake } from '../../handover/intake.ts';
import type { RunReport } from '../../handover/report.ts';
import type { WorkAfterAction } from '../../loop/deps.ts';
import { beginLoop } from '../../loop/loop.ts';
import { explainForbiddenMerge, openBranch } from '../../loop/pushing.ts';
import { createLiveStatus } from '../../publish/end.ts';
import type { Stages } from '../stages.ts';
import type { ActionDeps, HandedLane, RunEnd } from '../deps.ts';
import type { Recording } from '../recording.ts';
import { publishRecorded, salvageRun } from '../salvage.ts';

/** The lanes that the gate has claimed and opened, with the stages of the first. */
interface EnteredLanes extends Omit<GateResult, 'intake' | 'over'> {
  readonly stages: Stages;
  readonly intake: WorkIntake;
}

/**
 * Runs the gate's job once there is work: creates the branches, shows people that the run is at work, and hands over
 * each lane to its own jobs. Writes for all lanes at the same time, so that they take few requests. A lane that fails
 * here ends here, and the others continue.
 */
export async function runGateJob(
  deps: ActionDeps,
  recording: Recording,
  { stages, intake, runTag, beside }: EnteredLanes,
): Promise<RunEnd> {
  const claimed = [{ intake, runTag }, ...beside];
  const begun = await Promise.all(claimed.map((one) => acknowledgeIssue(stages.forge, one.intake)));
  const lanes = claimed.map((one, at) => ({
    deps: { ...deps, runTag: one.runTag },
    stages: { ...stages, runTag: one.runTag },
    begun: begun[at] ?? one.intake,
  }));
  const ended: RunReport[] = [];
  const continueWithout = async (lane: ClaimedLane, error: unknown): Promise<void> => {
    if (beside.length === 0) throw error;
    ended.push(await salvageRun(lane.deps, recording, error));
  };
  const pushed = await Promise.allSettled(lanes.map((lane) => createBranch(lane, recording)));
  const opened: OpenedLane[] = [];
  for (const [at, lane] of lanes.entries()) {
    const result = pushed[at];
    try {
      if (result?.status !== 'fulfilled') {
        // Record this lane, because the record would otherwise still name another one.
        recording.tryToKeep(unbegunWork(lane));
        throw result?.reason;
      }
      const { work, end, forbiddenMerge } = result.value;
      const known = end === null ? work : { ...work, outcome: end, endedAt: deps.clock.now() };
      recording.keep(known);
      if (end === null) opened.push({ ...lane, work, forbiddenMerge });
      else ended.push(await publishRecorded(lane.stages, recording, known));
    } catch (error) {
      await continueWithout(lane, error);
    }
  }
  // If only one lane is left, no other job sums up the run.
  const summedUp = (opened.length > 1 ? lanes : opened).map((one) => one.begun.lane.id);
  const shown = await Promise.all(
    opened.map((lane, place) => showBegun(lane, countLanesBefore(place, deps.config.parallel) > 0)),
  );
  const handed: HandedLane[] = [];
  for (const [at, one] of opened.entries()) {
    try {
      recording.keep(one.work);
      handed.push(await handOverLane(one, { lanes: summedUp, shown: shown[at] ?? null }));
    } catch (error) {
      await continueWithout(one, error);
    }
  }
  const [first, ...others] = handed;
  const [report, ...reports] = ended;
  if (first !== undefined) {
    // From here on, the next jobs must release the lanes; before, no other job knew of them.
    for (const { lane } of handed) recording.released(lane);
    recording.tryToRecord('ended');
    return { kind: 'handed-over', lanes: [first, ...others], report: null, beside: ended };
  }
  if (report === undefined) throw new Error('a run with work hands over or ends');
  return { kind: 'ended', report, beside: reports };
}

/** A lane that the gate has claimed; `deps` have the lane's own run tag. */
interface ClaimedLane {
  readonly deps: ActionDeps;
  readonly stages: Stages;
  readonly begun: WorkIntake;
}

/** A lane whose branch exists on the server. */
interface OpenedLane extends ClaimedLane {
  readonly work: Work;
  /** The reason why the server would refuse a merge of the base; null if it would not, or if no merge is possible. */
  readonly forbiddenMerge: string | null;
}

function unbegunWork({ deps, begun }: ClaimedLane): Work {
  return beginLoop(begun, deps.clock.now());
}

async function createBranch(
  lane: ClaimedLane,
  recording: Recording,
): Promise<WorkAfterAction & Pick<OpenedLane, 'forbiddenMerge'>> {
  const { clock, log, redact } = lane.deps;
  const { remote, forge } = lane.stages;
  const work = unbegunWork(lane);
  recording.keep(work);
  // A proposal needs no branch, so create none.
  if (lane.begun.proposes !== null) return { work, end: null, forbiddenMerge: null };
  const outlet = { kind: 'push', remote, forge } as const;
  const pushing = { outlet, clock, log, redact, appendJournal: null };
  const { base, fork } = lane.begun.opened;
  const made = await openBranch(pushing, work, base);
  // The loop's job merges a base that passes again, and cannot ask whether the server would take the merge.
  const { redBase } = work.state;
  const mayMerge = redBase !== null && fork !== base && work.tasks.every(({ id }) => id !== CONFLICT_TASK);
  if (made.end !== null || !mayMerge) return { ...made, forbiddenMerge: null };
  const message = await explainForbiddenMerge(pushing, made.work, base);
  const isKnown = message !== null && redBase.stage !== 'found';
  const end = isKnown ? ({ kind: 'failed', reason: 'configuration', message } as const) : null;
  return { ...made, end, forbiddenMerge: message };
}

/** Shows on the issue of the lane's first task that the run begins with it, now or later; returns that task. */
async function showBegun({ deps, stages, begun, work }: OpenedLane, isLater: boolean): Promise<TaskId | null> {
  const { config, debug } = deps;
  const task = chooseNextTask(begun.tasks, begun.state.tasks, begun.state.currentTask);
  const live = createLiveStatus({ ...stages, config: { ...config, policy: begun.policy }, debug });
  if (task !== null && begun.proposes === null)
    await (isLater ? live.showQueued(work, task) : live.showLive(work, { task, iteration: 1, orders: [] }));
  return task?.id ?? null;
}

/** Hands over a lane to its own jobs. `lanes` are those that the last job sums up. */
async function handOverLane(
  { deps, stages, begun, work, forbiddenMerge }: OpenedLane,
  { lanes, shown }: Pick<HandedIntake, 'lanes' | 'shown'>,
): Promise<HandedLane> {
  const { log } = deps;
  const digest = await giveIntake(deps, stages, {
    version: 1,
    kind: 'intake',
    runTag: deps.runTag,
    lanes,
    intake: { ...begun, state: { ...begun.state, refusedPush: work.state.refusedPush, tasks: work.state.tasks } },
    remoteHead: work.remoteHead,
    forbiddenMerge,
    shown,
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
  // Read the file back, because the next jobs compare its content with the hash in the output.
  const digest = sha256(text);
  if ((await folder.fingerprint('gate/intake.json'))?.sha256 !== digest)
    throw new UserError('infrastructure', 'The hand-over of the gate was changed on disk while it was being written.');
  return digest;
}

/** Hands over the session's transcript, still encrypted, because only the next job has the agent's key. */
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
