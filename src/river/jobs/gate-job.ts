import { hasConversation } from '../../core/lane/session.ts';
import { nextTask } from '../../core/tasks/queue.ts';
import { mapTexts } from '../../core/text/redact.ts';
import { acknowledge } from '../../gate/people/acknowledge.ts';
import type { HandedFile, HandedIntake, WorkIntake } from '../../handover/handed.ts';
import { nameOfLane } from '../../core/tasks/ids.ts';
import { UserError } from '../../errors.ts';
import { beginWork } from '../../loop/loop.ts';
import { openBranch } from '../../loop/pushing.ts';
import { createLiveStatus } from '../../publish/live-status.ts';
import type { RiverDeps, RunEnd } from '../deps.ts';
import type { Recording } from '../recording.ts';
import { publishRecorded } from '../salvage.ts';
import type { Stages } from '../stages.ts';

/** The job of the gate, once there is work: makes the branch, shows people that it is worked on, and hands over to the job of the loop. */
export async function gateJob(
  deps: RiverDeps,
  recording: Recording,
  { stages, intake }: { readonly stages: Stages; readonly intake: WorkIntake },
): Promise<RunEnd> {
  const { clock, log, debug } = deps;
  const begun = await acknowledge(stages.forge, intake);
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
  // From here on the lane is the next job's to give back.
  recording.released();
  recording.tryToRecord('ended');
  log.info(
    `Handed over to the job of the loop: ${nameOfLane(begun.lane.id)}, ${String(begun.tasks.length)} ${begun.tasks.length === 1 ? 'task' : 'tasks'}.`,
  );
  return { handedOver: { digest, branch: begun.lane.branch }, report: null };
}

async function giveIntake({ connect, redact }: RiverDeps, { sha256 }: Stages, handed: HandedIntake): Promise<string> {
  const folder = await connect.handoff();
  const text = JSON.stringify(mapTexts(handed, redact));
  await folder.write('gate/intake.json', text);
  // Read back: what the next jobs get must be what the output says.
  const digest = sha256(text);
  if ((await folder.fingerprint('gate/intake.json'))?.sha256 !== digest)
    throw new UserError('infrastructure', 'What the gate hands over was changed on disk while it was written.');
  return digest;
}

/** Encrypted as it is stored: the key is the agent's, which only the next job has. */
async function giveSession(
  { connect }: RiverDeps,
  { store }: Stages,
  { lane, state }: WorkIntake,
): Promise<HandedFile | null> {
  const { transcript } = state;
  if (!hasConversation(state) || transcript === null) return null;
  const found = await store.transcript(lane.id, transcript);
  if (found.kind !== 'found') return null;
  const { sha256, content } = found.transcript;
  await (await connect.handoff()).write('gate/session.sealed', content);
  return { sha256, bytes: content.length };
}
