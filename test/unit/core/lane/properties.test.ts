import fc from 'fast-check';
import { expect, test } from 'vitest';
import { viewCircuit } from '../../../../src/core/lane/circuit.ts';
import { addIterationToRun, decideNextStep, createRunSoFar } from '../../../../src/core/lane/decide.ts';
import type { Policy } from '../../../../src/core/policy.ts';
import { beginIteration, bookCallUsage, endRun, settleIteration } from '../../../../src/core/lane/settle/settle.ts';
import { createInitialState, type LaneState, parseState } from '../../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../../src/core/lane/state/serialize-state.ts';
import { chargeCall, findExhaustedWindow } from '../../../../src/core/lane/windows.ts';
import { evidence, HOUR, MINUTE, noon, policy, analyzed, task, type Play } from '../core-fixtures.ts';
import { runs } from '../../../runs.ts';

const output = fc.record({
  completionIndicator: fc.boolean(),
  testOnly: fc.boolean(),
  question: fc.boolean(),
  agentError: fc.option(
    fc.record({
      kind: fc.constantFrom('auth' as const, 'server' as const, 'unknown-session' as const, 'max-turns' as const),
      text: fc.constant('x'),
    }),
    { freq: 10 },
  ),
  errors: fc.array(
    fc.constantFrom('a', 'b').map((fingerprint) => ({ text: fingerprint, fingerprint })),
    { maxLength: 2 },
  ),
  denials: fc.oneof(
    fc.constant([]),
    fc.constant([{ tool: 'Bash', command: 'docker ps' }]),
    fc.constant([{ tool: 'AskUserQuestion', command: null }]),
  ),
  usageLimit: fc.option(
    fc.record({
      window: fc.constant('weekly' as const),
      resumeAt: fc.constantFrom(null, '2000-01-01T00:00:00.000Z', '2999-01-01T00:00:00.000Z'),
    }),
    { freq: 10 },
  ),
  sessionId: fc.constantFrom(null, 'one', 'two'),
  tokens: fc.option(fc.integer()),
  costUsd: fc.option(fc.double()),
  signal: fc.record({
    status: fc.constantFrom(null, 'IN_PROGRESS' as const, 'COMPLETE' as const, 'BLOCKED' as const),
    exitSignal: fc.constantFrom(null, true, false),
    tasksCompleted: fc.constantFrom(null, 0, 1),
    filesModified: fc.constantFrom(null, 0, 2),
  }),
});

const anyEnd = fc.oneof(
  { arbitrary: fc.constant({ kind: 'exited', code: 0 } as const), weight: 6 },
  {
    arbitrary: fc.constantFrom(
      { kind: 'exited', code: 1 } as const,
      { kind: 'timeout', of: 'call' } as const,
      { kind: 'timeout', of: 'run' } as const,
      { kind: 'stalled' } as const,
      { kind: 'signalled', signal: 'SIGKILL' } as const,
      { kind: 'cancelled' } as const,
    ),
    weight: 1,
  },
);

/** An iteration, and the movement of the clock during it, which may jump either way. */
const anyPlay: fc.Arbitrary<{ readonly play: Play; readonly clockMs: number }> = fc.record({
  play: fc.record({
    to: fc.constantFrom('a', 'b', 'c', 'd'),
    output,
    end: anyEnd,
    chars: fc.nat(2_000),
    verification: fc.constantFrom('passed' as const, 'failed' as const),
  }),
  clockMs: fc.oneof(fc.integer({ min: 0, max: 5 * MINUTE }), fc.integer({ min: -3 * HOUR, max: 3 * HOUR })),
});

const anyPolicy: fc.Arbitrary<Policy> = fc
  .record({
    maxIterations: fc.integer({ min: 1, max: 12 }),
    maxIterationsPerTask: fc.constantFrom(0, 2, 8),
    maxCallsPerHour: fc.constantFrom(3, 100),
    onPermissionDenied: fc.constantFrom('count' as const, 'continue' as const),
    verifies: fc.boolean(),
    session: fc.constantFrom('resume' as const, 'fresh' as const, 'task' as const),
    autoReset: fc.boolean(),
    noProgress: fc.integer({ min: 1, max: 4 }),
  })
  .map(({ autoReset, noProgress, ...rest }) => ({
    ...policy,
    ...rest,
    maxRunMs: 1_000 * HOUR,
    circuit: { ...policy.circuit, autoReset, noProgress },
  }));

interface Call {
  readonly before: LaneState;
  readonly after: LaneState;
  readonly progress: boolean;
}

/** Plays consecutive runs of one lane, each ended and stored as a real one; returns the calls of each run. */
function history(
  runs: readonly (readonly { readonly play: Play; readonly clockMs: number }[])[],
  bounds: Policy,
): readonly (readonly Call[])[] {
  const tasks = [task(1), task(2, { dependsOn: ['issue-1'] }), task(3), task(4, { optional: true })];
  let now = noon;
  let tree = 'a';
  let stored = serializeState(createInitialState('queue', now));
  return runs.map((script) => {
    const calls: Call[] = [];
    const restored = parseState(stored, 'queue');
    if (restored.kind !== 'state' || restored.problems.length > 0)
      throw new Error(`a stored state cannot be read: ${stored}`);
    let state = restored.state;
    let run = createRunSoFar(state, now);
    for (let at = 0; ; at += 1) {
      const step = decideNextStep({ state, tasks, run, policy: bounds, now });
      if (step.kind === 'stop') {
        state = endRun(state, step.outcome, 'head', now);
        break;
      }
      // A script that ends is repeated: only the decisions may end a run.
      const { play, clockMs } = script[at % script.length] ?? { play: {}, clockMs: 0 };
      const begun = beginIteration(state, { taskId: step.task.id, tree, agent: step.agent }, bounds, now);
      const facts = {
        task: step.task,
        tasks,
        ...analyzed(play.output, bounds),
        evidence: evidence(tree, play),
        startedAt: now,
      };
      now = Math.max(0, now + clockMs);
      const { tokens, costUsd } = facts.analysis;
      const called = bookCallUsage(begun, { startedAt: facts.startedAt, endedAt: now, tokens, costUsd });
      const settled = settleIteration(called, facts, bounds, now);
      calls.push({ before: state, after: settled.state, progress: settled.verdict.progress });
      state = settled.state;
      tree = facts.evidence.after.tree;
      const { end, steps } = facts.evidence;
      run = addIterationToRun(run, { analysis: facts.analysis, verdict: settled.verdict, end, steps }, 1);
      if (calls.length > 1_000) throw new Error('it never stops');
    }
    stored = serializeState(state);
    now += 31 * MINUTE;
    return calls;
  });
}

const histories = fc.array(fc.array(anyPlay, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 6 });

test('no run makes more calls than max-iterations, whatever agent and clock do', () => {
  fc.assert(
    fc.property(histories, anyPolicy, (runs, bounds) => {
      for (const calls of history(runs, bounds)) expect(calls.length).toBeLessThanOrEqual(bounds.maxIterations);
    }),
    { numRuns: runs(300) },
  );
});

test('OPEN becomes CLOSED by a probe with progress only, and one idle probe is all that a run gets', () => {
  fc.assert(
    fc.property(histories, anyPolicy, (runs, bounds) => {
      const manual = { ...bounds, circuit: { ...bounds.circuit, autoReset: false } };
      for (const calls of history(runs, manual)) {
        for (const { before, after, progress } of calls) {
          if (before.circuit.kind === 'open' && after.circuit.kind === 'closed') expect(progress).toBe(true);
        }
        const trips = calls.filter(({ before, after }) => after.circuit.totalOpens > before.circuit.totalOpens);
        expect(trips.length).toBeLessThanOrEqual(1);
        // No call follows after the circuit has tripped in this run.
        if (trips[0] !== undefined) expect(calls.at(-1)).toBe(trips[0]);
      }
    }),
    { numRuns: runs(300) },
  );
});

test('a task gets no more counted attempts than max-iterations-per-task', () => {
  fc.assert(
    fc.property(histories, anyPolicy, (runs, bounds) => {
      const capped = { ...bounds, maxIterationsPerTask: 2 };
      const last = history(runs, capped).flat().at(-1);
      for (const { attempts } of Object.values(last?.after.tasks ?? {})) expect(attempts).toBeLessThanOrEqual(2);
    }),
  );
});

test('a circuit opened in the future is open at every earlier instant', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10 * HOUR }), fc.integer({ min: 0, max: HOUR }), (ahead, cooldownMs) => {
      const circuit = {
        kind: 'open',
        totalOpens: 1,
        reason: 'no_progress',
        openedAt: noon + ahead,
        taskId: null,
      } as const;
      expect(viewCircuit(circuit, { ...policy.circuit, cooldownMs }, noon).kind).toBe('open');
    }),
  );
});

test('a clock that jumps never grants calls: one quota per hour that it ever moved on', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: -5 * HOUR, max: 2 * HOUR }), { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 1, max: 4 }),
      (jumps, maxCallsPerHour) => {
        let windows = createInitialState('queue', noon).windows;
        let now = noon;
        let granted = 0;
        let latest = noon;
        let first: number | null = null;
        for (const jump of jumps) {
          now += jump;
          while (findExhaustedWindow(windows, { ...policy, maxCallsPerHour }, now) === null) {
            first ??= now;
            windows = chargeCall(windows, now);
            granted += 1;
          }
          latest = Math.max(latest, now);
        }
        expect(granted).toBeLessThanOrEqual(maxCallsPerHour * (Math.floor((latest - (first ?? latest)) / HOUR) + 1));
      },
    ),
    { numRuns: runs(300) },
  );
});
