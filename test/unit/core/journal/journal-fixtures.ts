import { addIterationToRun, nextStep, startRun } from '../../../../src/core/lane/decide.ts';
import { serializeEnd, serializeEntry, serializeStart } from '../../../../src/core/journal/journal.ts';
import type { KindsOfDenial } from '../../../../src/core/journal/replay.ts';
import { passedOverAgents } from '../../../../src/core/agents/providers.ts';
import { beginIteration, bookCallUsage, settleIteration } from '../../../../src/core/lane/settle/settle.ts';
import { initialState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import type { Task } from '../../../../src/core/tasks/task.ts';
import { evidence, MINUTE, noon, policy, analyzed, task, type Play, type Start } from '../core-fixtures.ts';

export interface Recorded {
  /** The journal as on disk. */
  readonly text: string;
  readonly iterations: number;
  readonly state: LaneState;
  readonly now: number;
  readonly tree: string;
}

/**
 * Plays a run on the pure core as the loop drives it, and returns its journal. The clock moves by `clockMs` and may
 * jump; `found` are tasks that an iteration added; `kindsOf` are the agents' rules, see `analyzed`.
 */
export function record(
  script: readonly (Play & { readonly clockMs?: number; readonly found?: readonly Task[] })[],
  start: Start = {},
  kindsOf: KindsOfDenial | null = null,
): Recorded {
  let tasks = start.tasks ?? [task(1)];
  const bounds = start.policy ?? policy;
  let now = start.now ?? noon;
  let tree = start.tree ?? 'start';
  let state = start.state ?? initialState('queue', now);
  let run = startRun(state, now);
  const lines = [serializeStart({ version: 1, lane: 'queue', startedAt: now, policy: bounds, tasks, state })];
  for (let iteration = 1; ; iteration += 1) {
    const step = nextStep({ state, tasks, run, policy: bounds, now });
    const play = script[iteration - 1];
    if (step.kind === 'stop')
      lines.push(serializeEnd({ version: 1, lane: 'queue', decidedAt: now, cancelled: false, outcome: step.outcome }));
    // A script that ends before the run does simulates a kill.
    if (step.kind === 'stop' || play === undefined)
      return { text: `${lines.join('\n')}\n`, iterations: iteration - 1, state, now, tree };
    const startedAt = now;
    const begun = beginIteration(state, { taskId: step.task.id, tree, agent: step.agent }, bounds, now);
    now = Math.max(0, now + (play.clockMs ?? (play.minutes ?? 1) * MINUTE));
    const known = tasks;
    const found = (play.found ?? []).filter(({ id }) => !known.some((other) => other.id === id));
    tasks = [...tasks, ...found];
    const facts = {
      task: step.task,
      tasks,
      ...analyzed(play.output, bounds, kindsOf?.(step.agent)),
      evidence: evidence(tree, play),
      startedAt,
    };
    const { tokens, costUsd } = facts.analysis;
    const settled = settleIteration(
      bookCallUsage(begun, { startedAt, endedAt: now, tokens, costUsd }),
      facts,
      bounds,
      now,
    );
    lines.push(
      serializeEntry({
        version: 1,
        lane: 'queue',
        iteration,
        taskId: step.task.id,
        taskTitle: step.task.title,
        agent: step.agent,
        passedOver: passedOverAgents(bounds.agents, state.providers, step.agent, startedAt),
        startedAt,
        taskTree: tree,
        sessionDroppedAt: null,
        madeAgain: null,
        endedAt: now,
        analysis: facts.analysis,
        evidence: facts.evidence,
        found,
        commit: null,
        verdict: settled.verdict,
        lines: null,
      }),
    );
    state = settled.state;
    tree = facts.evidence.after.tree;
    run = addIterationToRun(run, { analysis: facts.analysis, verdict: settled.verdict, end: facts.evidence.end }, 1);
  }
}
