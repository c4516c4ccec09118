import { kindOfDenialBy } from '../src/agents/rules/shell-rules.ts';
import type { Analysis } from '../src/core/analysis/analysis.ts';
import { addIterationToRun, decideNextStep, createRunSoFar, type RunSoFar } from '../src/core/lane/decide.ts';
import { classifyDenials } from '../src/core/lane/denials.ts';
import type { Evidence } from '../src/core/evidence.ts';
import type { Policy } from '../src/core/policy.ts';
import { MAX_LEDGER_DAYS } from '../src/core/lane/ledger.ts';
import { beginIteration, bookCallUsage, settleIteration } from '../src/core/lane/settle/settle.ts';
import { createInitialState, type LaneState } from '../src/core/lane/state/state.ts';
import { MAX_TRANSITIONS } from '../src/core/lane/session.ts';
import type { Task } from '../src/core/tasks/task.ts';
import { spread, type Row } from './measure.ts';
import { configOf } from './simulator/policies.ts';
import { print } from './simulator/agent-output.ts';
import { createWorld } from './simulator/world.ts';
import { analyzeOutput } from './analyze-output.ts';

const kindOfDenial = kindOfDenialBy('claude');

const GOAL_MS = 1;
const STEPS = 2_000;
const TASK_COUNT = 100;
const HOUR_MS = 3_600_000;
const firstCallAt = Date.parse('2026-10-01T00:00:00Z');

/**
 * Measures the decisions around one call (begin, settle and next decision) on a lane whose windows, ledger and history
 * are full.
 */
export function measureDecisions(): Promise<readonly Row[]> {
  const policy: Policy = {
    ...configOf({
      verify: 'npm test',
      'max-iterations-per-task': '0',
      'max-cost-usd': '0',
      'max-cost-usd-per-day': '0',
    }).policy,
    maxIterations: 1e6,
    maxRunMs: 1e12,
  };
  const { tasks } = createWorld(
    Array.from({ length: TASK_COUNT }, () => 1),
    false,
  );
  let lane: Lane = {
    state: createInitialState('queue', firstCallAt),
    run: createRunSoFar(createInitialState('queue', firstCallAt), firstCallAt),
  };
  const times: number[] = [];
  for (let nth = 0; nth < STEPS; nth += 1) {
    const call = callOf(nth, tasks);
    const startedAt = performance.now();
    lane = step(lane, { ...call, tasks, policy });
    times.push(performance.now() - startedAt);
  }
  const { transitions, ledger, signals } = lane.state;
  if (transitions.length !== MAX_TRANSITIONS || ledger.length !== MAX_LEDGER_DAYS || signals.outputChars.length !== 5)
    throw new Error('The windows did not fill up: what was measured means nothing.');
  const { median, max } = spread(times.slice(STEPS / 2));
  return Promise.resolve([
    {
      measure: 'decide + settle, full windows',
      value: `${median.toFixed(3)} ms (≤ ${max.toFixed(1)} ms)`,
      goal: `< ${String(GOAL_MS)} ms`,
      isMet: median < GOAL_MS,
    },
  ]);
}

interface Lane {
  readonly state: LaneState;
  readonly run: RunSoFar;
}

interface Call {
  readonly now: number;
  readonly analysis: Analysis;
  readonly evidence: Evidence;
}

function step(
  { state, run }: Lane,
  { now, analysis, evidence, tasks, policy }: Call & { readonly tasks: readonly Task[]; readonly policy: Policy },
): Lane {
  const next = decideNextStep({ state, tasks, run, policy, now });
  if (next.kind === 'stop') throw new Error(`The lane stopped: ${next.outcome.reason}`);
  const begun = beginIteration(
    state,
    { taskId: next.task.id, tree: evidence.before.tree, agent: next.agent },
    policy,
    now,
  );
  const denials = classifyDenials(analysis.denials, policy, kindOfDenial);
  const facts = { task: next.task, tasks, analysis, denials, evidence, startedAt: now };
  const { tokens, costUsd } = analysis;
  const called = bookCallUsage(begun, { startedAt: now, endedAt: now + 60_000, tokens, costUsd });
  const settled = settleIteration(called, facts, policy, now + 60_000);
  return {
    state: settled.state,
    run: addIterationToRun(run, { analysis, verdict: settled.verdict, end: evidence.end, steps: [] }, 1),
  };
}

/** Returns a call with about the maximum number of claims and changes, after which the loop continues. */
function callOf(nth: number, tasks: readonly Task[]): Call {
  const now = firstCallAt + nth * HOUR_MS;
  const errors = Array.from(
    { length: 20 },
    (_, at) => `TypeError: ${'x'.repeat(at + 1)}${nth % 4 === 0 ? 'y' : ''} is not a function`,
  ).join('\n');
  const isLast = nth % Math.ceil(STEPS / (tasks.length - 1)) === 0;
  const outputs = {
    kind: 'block',
    status: isLast ? 'COMPLETE' : 'IN_PROGRESS',
    exit: false,
    tasks: isLast ? 1 : 0,
    files: 200,
    tests: 'PASSING',
    work: 'IMPLEMENTATION',
    asks: null,
    text: errors,
    chars: 20_000,
    denied: Array.from({ length: 20 }, (_, at) => `npm ci && npm run part-${String(at)}`),
  } as const;
  return {
    now,
    analysis: analyzeOutput(print(outputs, `session-${String(nth % 7)}`), now).analysis,
    evidence: {
      before: { head: `head-${String(nth)}`, tree: `tree-${String(nth)}` },
      after: { head: `head-${String(nth + 1)}`, tree: `tree-${String(nth + 1)}` },
      steps: [],
      files: Array.from({ length: 200 }, (_, at) => `src/some/folder/file-${String(at)}.ts`),
      fileCount: 200,
      agentCommits: 2,
      insertions: 900,
      deletions: 300,
      end: { kind: 'exited', code: 0 },
      outputChars: 20_000,
      fencedBlock: false,
      withheld: [],
      verification: { kind: 'passed', durationMs: 1 },
      checklist: null,
      doneMarker: null,
      merge: 'none',
    },
  };
}
