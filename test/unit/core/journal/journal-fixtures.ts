import fc from 'fast-check';
import { addIterationToRun, decideNextStep, createRunSoFar } from '../../../../src/core/lane/decide.ts';
import { serializeEntry, serializeEvent, serializeStart } from '../../../../src/core/journal/journal.ts';
import type { KindsOfDenial } from '../../../../src/core/journal/replay.ts';
import { listPassedOverAgents } from '../../../../src/core/agents/providers.ts';
import { beginIteration, bookCallUsage, settleIteration } from '../../../../src/core/lane/settle/settle.ts';
import { createInitialState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import type { Task } from '../../../../src/core/tasks/task.ts';
import { evidence, HOUR, MINUTE, noon, policy, analyzed, task, type Play, type Start } from '../core-fixtures.ts';

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
  let state = start.state ?? createInitialState('queue', now);
  let run = createRunSoFar(state, now);
  const lines = [serializeStart({ version: 1, lane: 'queue', startedAt: now, policy: bounds, tasks, state })];
  for (let iteration = 1; ; iteration += 1) {
    const step = decideNextStep({ state, tasks, run, policy: bounds, now });
    const play = script[iteration - 1];
    if (step.kind === 'stop')
      lines.push(
        serializeEvent({
          ...{ kind: 'end', version: 1, lane: 'queue', decidedAt: now, cancelled: false },
          outcome: step.outcome,
        }),
      );
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
        passedOver: listPassedOverAgents(bounds.agents, state.providers, step.agent, startedAt),
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
    const { end, steps } = facts.evidence;
    run = addIterationToRun(run, { analysis: facts.analysis, verdict: settled.verdict, end, steps }, 1);
  }
}

const amount = fc.oneof(fc.constant(null), fc.double({ noNaN: true, noDefaultInfinity: true, min: 0, max: 1e9 }));
/** Anything that an agent and the clock can do in an iteration. */
export const anyPlay = fc.record({
  to: fc.constantFrom('a', 'b', 'c'),
  output: fc.record({
    completionIndicator: fc.boolean(),
    testOnly: fc.boolean(),
    question: fc.boolean(),
    tokens: amount,
    costUsd: amount,
    agentError: fc.option(
      fc.record({
        kind: fc.constantFrom('server' as const, 'auth' as const, 'unknown-session' as const),
        text: fc.string(),
      }),
      { freq: 8 },
    ),
    errors: fc.array(
      fc.constantFrom('a', 'b').map((fingerprint) => ({ text: fingerprint, fingerprint })),
      { maxLength: 2 },
    ),
    denials: fc.subarray([
      { tool: 'Bash', command: 'docker ps' },
      { tool: 'Bash', command: 'npm ci && npm test' },
      { tool: 'AskUserQuestion', command: null },
    ]),
    usageLimit: fc.option(
      fc.record({
        window: fc.constant('weekly' as const),
        resumeAt: fc.constantFrom(null, '2999-01-01T00:00:00.000Z'),
      }),
      { freq: 12 },
    ),
    sessionId: fc.constantFrom(null, 'one', 'two'),
    signal: fc.record({
      status: fc.constantFrom(null, 'IN_PROGRESS' as const, 'COMPLETE' as const, 'BLOCKED' as const),
      exitSignal: fc.constantFrom(null, true, false),
      tasksCompleted: fc.constantFrom(null, 0, 1),
    }),
  }),
  end: fc.constantFrom(
    { kind: 'exited', code: 0 } as const,
    { kind: 'exited', code: 0 } as const,
    { kind: 'timeout', of: 'call' } as const,
  ),
  verification: fc.constantFrom('passed' as const, 'failed' as const),
  fencedBlock: fc.boolean(),
  withheld: fc.array(fc.constantFrom('action.yml', '.github/x'), { maxLength: 2 }),
  checklist: fc.record({
    current: fc.constantFrom(null, 'open' as const, 'done' as const, 'gone' as const),
    done: fc.subarray(['issue-1', 'issue-2', 'issue-4', 'unknown']),
    finished: fc.nat(2),
    removed: fc.constantFrom(0, 0, 1),
    added: fc.nat(2),
  }),
  found: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.constant([task(4)]) }),
  clockMs: fc.oneof(fc.integer({ min: 0, max: 5 * MINUTE }), fc.integer({ min: -2 * HOUR, max: 2 * HOUR })),
});
