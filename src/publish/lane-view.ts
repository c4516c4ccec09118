import { jobsOf, type Config, type RunContext } from '../config/config.ts';
import { shareOf, type TaskShare } from '../core/lane/change.ts';
import { viewCircuit } from '../core/lane/circuit.ts';
import { initialState, type LaneState } from '../core/lane/state.ts';
import { progressOf } from '../core/tasks/queue.ts';
import { isListed, type Task } from '../core/tasks/task.ts';
import { usageAt } from '../core/lane/windows.ts';
import type { Intake } from '../handover/intake.ts';
import type { LaneView, TaskReport } from '../handover/report.ts';
import { QUEUE, type TaskId } from '../core/tasks/ids.ts';

/** How the lane of a run that the gate ended stands. */
export function laneViewOf(
  { lane, state, tasks, notes, answer }: Extract<Intake, { kind: 'end' }>,
  run: {
    readonly config: Pick<Config, 'policy' | 'taskLabel' | 'handoff'>;
    readonly context: RunContext;
    readonly now: number;
  },
): LaneView {
  const { config, context, now } = run;
  const id = lane?.id ?? state?.lane ?? QUEUE;
  const known = state ?? initialState(id, now);
  const circuit = viewCircuit(known.circuit, config.policy.circuit, now);
  return {
    lane: id,
    state,
    restored: notes.restored,
    claimedBy: notes.claimedBy,
    tasks: tasksWithProgress(tasks.filter(isListed), known, context),
    circuit: circuit.kind,
    probeAt: circuit.kind === 'open' ? circuit.probeAt : null,
    usage: usageAt(known.windows, now),
    limits: config.policy,
    receipt: answer?.text.kind === 'status' ? answer.text.receipt : null,
    pullRequest: lane?.pullRequest ?? known.lastRun?.published?.pullRequest ?? null,
    taskLabel: config.taskLabel,
    jobs: jobsOf(config),
    runUrl: context.runUrl,
    now,
  };
}

/** Tasks with how far the lane got with each. */
export function tasksWithProgress(
  tasks: readonly Task[],
  state: LaneState,
  { serverUrl, repository: { owner, repo } }: Pick<RunContext, 'serverUrl' | 'repository'>,
): TaskReport[] {
  const asked = (id: TaskId): string | null => {
    const notice = state.notified.findLast(({ about }) => about === id);
    return notice === undefined
      ? null
      : `${serverUrl}/${owner}/${repo}/issues/${String(notice.thread)}#issuecomment-${String(notice.comment)}`;
  };
  return tasks.map((task) => {
    const share = isListed(task) ? shareOf(state.change, task.id) : answeredShare(state, task.id);
    const progress = progressOf(state.tasks, task.id);
    return Object.hasOwn(state.answers, task.id)
      ? { task, progress, share: { ...share, ...unsaid }, asked: asked(task.id) }
      : { task, progress, share, asked: null };
  });
}

/** What answers people or CI is no share of the branch by itself: the agent's words are in its answer. */
function answeredShare({ change, feedback }: LaneState, id: TaskId): TaskShare {
  const answer = Object.hasOwn(feedback.items, id) ? feedback.items[id]?.answer : null;
  return { ...shareOf(change, id), summary: answer?.words ?? null };
}

/** What the agent said here is not what another branch asks. */
const unsaid = { question: null, summary: null, recommendation: null };
