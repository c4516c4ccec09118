import type { Config } from '../config/config.ts';
import { shareOf } from '../core/lane/change.ts';
import { viewCircuit } from '../core/lane/circuit.ts';
import { initialState, type LaneState } from '../core/lane/state.ts';
import { progressOf } from '../core/tasks/queue.ts';
import type { Task } from '../core/tasks/task.ts';
import { usageAt } from '../core/lane/windows.ts';
import type { Intake } from '../handover/intake.ts';
import type { LaneView, TaskReport } from '../handover/report.ts';
import { QUEUE } from '../core/tasks/ids.ts';

/** How the lane of a run that the gate ended stands. */
export function laneViewOf(
  { lane, state, tasks, notes, answer }: Extract<Intake, { kind: 'end' }>,
  run: { readonly config: Pick<Config, 'policy' | 'taskLabel'>; readonly runUrl: string; readonly now: number },
): LaneView {
  const { config, runUrl, now } = run;
  const id = lane?.id ?? state?.lane ?? QUEUE;
  const known = state ?? initialState(id, now);
  const circuit = viewCircuit(known.circuit, config.policy.circuit, now);
  return {
    lane: id,
    state,
    restored: notes.restored,
    claimedBy: notes.claimedBy,
    tasks: tasksWithProgress(tasks, known),
    circuit: circuit.kind,
    probeAt: circuit.kind === 'open' ? circuit.probeAt : null,
    usage: usageAt(known.windows, now),
    limits: config.policy,
    receipt: answer?.text.kind === 'status' ? answer.text.receipt : null,
    pullRequest: lane?.pullRequest ?? known.lastRun?.published?.pullRequest ?? null,
    taskLabel: config.taskLabel,
    runUrl,
    now,
  };
}

/** Tasks with how far the lane got with each. */
export function tasksWithProgress(tasks: readonly Task[], state: LaneState): TaskReport[] {
  return tasks.map((task) => ({
    task,
    progress: progressOf(state.tasks, task.id),
    share: shareOf(state.change, task.id),
  }));
}
