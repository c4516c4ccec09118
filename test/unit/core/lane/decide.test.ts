import { describe, expect, test } from 'vitest';
import { decideNextStep, createRunSoFar } from '../../../../src/core/lane/decide.ts';
import { isWorthWaiting } from '../../../../src/core/loop/next-action.ts';
import { endRun } from '../../../../src/core/lane/settle/settle.ts';
import { recordPublished } from '../../../../src/core/lane/settle/settle-published.ts';
import { resetCircuit, retryTask } from '../../../../src/core/lane/settle/settle-circuit.ts';
import { createInitialState, createProbeState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import type { Outcome } from '../../../../src/core/outcome.ts';
import type { Policy } from '../../../../src/core/policy.ts';
import type { TaskProgress } from '../../../../src/core/tasks/task.ts';
import {
  HOUR,
  idle,
  MINUTE,
  noon,
  play,
  playAgain,
  policy,
  progress,
  describeStep,
  task,
  type Play,
} from '../core-fixtures.ts';

const done: TaskProgress = {
  state: 'done',
  attempts: 1,
  startedTree: 'a',
  doneCommit: 'c',
  reason: null,
  setAside: null,
};
const fresh = createInitialState('queue', noon);
const exit: Play['output'] = { signal: { status: 'COMPLETE', exitSignal: true } };
const finishes: Play['output'] = { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } };
const working: Play['output'] = { signal: { status: 'IN_PROGRESS', exitSignal: false } };
const denial: Play['output'] = { ...working, denials: [{ tool: 'Bash', command: 'docker ps' }] };
const limit = (resumeAt: string | null): Play['output'] => ({ usageLimit: { window: 'five-hour', resumeAt } });
const failing = { ...policy, verifies: true };

type Start = Parameters<typeof play>[1];
/** Turns rows into a table: name, given values, start of the run, end of the run. */
function named<Given>(rows: readonly (readonly [string, Given, Start, string])[]) {
  return rows.map(([name, given, start, expected]) => ({ name, given, start, expected }));
}

describe('each end, by what led to it', () => {
  test.each(
    named<readonly Play[]>([
      [
        'a denial with on-permission-denied: halt',
        [{ output: denial }],
        { policy: { ...policy, onPermissionDenied: 'halt' } },
        'halted (permission_denied)',
      ],
      ['a denial, counted', [{ output: denial }], {}, 'iterate'],
      ['two denials in a row', [{ output: denial }, { output: denial }], {}, 'halted (circuit_open)'],
      [
        'a denial that the agent recovered from',
        [progress({ output: denial }), progress({ output: denial })],
        { policy: { ...policy, onPermissionDenied: 'halt' } },
        'iterate',
      ],
      ['EXIT_SIGNAL true that finishes the only task', [progress({ output: exit })], {}, 'complete (plan_complete)'],
      [
        'the last task and a passing verification, without EXIT_SIGNAL',
        [progress({ output: finishes, verification: 'passed' })],
        { policy: failing },
        'complete (plan_complete)',
      ],
      [
        'the last task with a failing verification',
        [progress({ output: finishes, verification: 'failed' })],
        { policy: failing },
        'iterate',
      ],
      ['one task of two', [progress({ output: finishes })], { tasks: [task(1), task(2)] }, 'iterate'],
      [
        'both tasks',
        [progress({ output: finishes }), progress({ output: exit })],
        { tasks: [task(1), task(2)] },
        'complete (plan_complete)',
      ],
      [
        'EXIT_SIGNAL true with another task open',
        [progress({ output: exit }), progress({ output: working })],
        { tasks: [task(1), task(2)] },
        'iterate',
      ],
      [
        'EXIT_SIGNAL true five times against a failing verification',
        Array.from({ length: 5 }, () => progress({ output: exit, verification: 'failed' })),
        { policy: failing },
        'halted (safety)',
      ],
      [
        'four times',
        Array.from({ length: 4 }, () => progress({ output: exit, verification: 'failed' })),
        { policy: failing },
        'iterate',
      ],
      [
        'EXIT_SIGNAL true with each of six finished tasks',
        Array.from({ length: 5 }, () => progress({ output: exit })),
        { tasks: [1, 2, 3, 4, 5, 6].map((number) => task(number)) },
        'iterate',
      ],
      [
        'STATUS BLOCKED twice in a row',
        [{ output: { signal: { status: 'BLOCKED' } } }, { output: { signal: { status: 'BLOCKED' } } }],
        {},
        'blocked (needs_human)',
      ],
      [
        'STATUS BLOCKED twice in a row, with another task open',
        [{ output: { signal: { status: 'BLOCKED' } } }, { output: { signal: { status: 'BLOCKED' } } }],
        { tasks: [task(1), task(2)] },
        'iterate',
      ],
      [
        'STATUS BLOCKED with a question, and no other task to work on meanwhile',
        [{ output: { signal: { status: 'BLOCKED', asks: 'EUR or USD?' } } }],
        {},
        'iterate',
      ],
      [
        'STATUS BLOCKED with a question on every task',
        [1, 2].map((): Play => ({ output: { signal: { status: 'BLOCKED', asks: 'EUR or USD?' } } })),
        { tasks: [task(1), task(2, { dependsOn: ['issue-9'] })] },
        'blocked (needs_human)',
      ],
      [
        'STATUS BLOCKED twice, not in a row',
        [
          { output: { signal: { status: 'BLOCKED' } } },
          progress({ output: working }),
          { output: { signal: { status: 'BLOCKED' } } },
        ],
        {},
        'iterate',
      ],
      [
        'three test-only iterations in a row',
        Array.from({ length: 3 }, () =>
          progress({ output: { ...working, testOnly: true }, files: ['test/a.test.ts'] }),
        ),
        {},
        'halted (test_saturation)',
      ],
      [
        'three that also changed the code',
        Array.from({ length: 3 }, () =>
          progress({ output: { ...working, testOnly: true }, files: ['test/a.test.ts', 'src/a.ts'] }),
        ),
        {},
        'iterate',
      ],
      [
        'three tasks of testing, each finished',
        Array.from({ length: 3 }, () =>
          progress({ output: { ...finishes, testOnly: true }, files: ['test/a.test.ts'] }),
        ),
        { tasks: [1, 2, 3, 4].map((number) => task(number)) },
        'iterate',
      ],
      ['three idle iterations', [idle, idle, idle], {}, 'halted (circuit_open)'],
      [
        'an agent that fails three times',
        [
          { end: { kind: 'exited', code: 1 }, chars: 0 },
          { end: { kind: 'exited', code: 1 }, chars: 0 },
          { end: { kind: 'exited', code: 1 }, chars: 0 },
        ],
        {},
        'halted (circuit_open)',
      ],
      [
        'an agent that times out three times',
        Array.from({ length: 3 }, () => ({ end: { kind: 'timeout', of: 'call' } as const })),
        {},
        'halted (circuit_open)',
      ],
      [
        'an agent that fails twice after good iterations',
        [
          progress(),
          progress(),
          { end: { kind: 'exited', code: 1 }, chars: 0 },
          { end: { kind: 'exited', code: 1 }, chars: 0 },
        ],
        {},
        'iterate',
      ],
      [
        'output that shrinks twice without progress',
        [progress({ chars: 1_000 }), progress({ chars: 1_000 }), { chars: 200 }, { chars: 200 }],
        {},
        'halted (circuit_open)',
      ],
      [
        'output that shrinks twice with progress',
        [progress({ chars: 1_000 }), progress({ chars: 1_000 }), progress({ chars: 200 }), progress({ chars: 200 })],
        {},
        'iterate',
      ],
      ["the provider's usage limit", [{ output: limit('2026-11-21T17:00:00.000Z') }], {}, 'parked (usage_limit)'],
      [
        'the last call of the hour',
        [progress()],
        { policy: { ...policy, maxCallsPerHour: 1 } },
        'parked (calls_per_hour)',
      ],
      [
        'the tokens of the hour',
        [progress({ output: { tokens: 10 } })],
        { policy: { ...policy, maxTokensPerHour: 10 } },
        'parked (tokens_per_hour)',
      ],
      [
        'the money of the day',
        [progress({ output: { costUsd: 1 } })],
        { policy: { ...policy, maxCostUsdPerDay: 1 } },
        'parked (cost_per_day)',
      ],
      [
        'the iterations of the run',
        [progress(), progress()],
        { policy: { ...policy, maxIterations: 2 } },
        'limit (iterations)',
      ],
      ['49 of 50 minutes', [progress({ minutes: 49 })], {}, 'iterate'],
      ['less than a minute left', [progress({ minutes: 49.01 })], {}, 'limit (minutes)'],
      [
        "a call cut off by the run's deadline, whatever the clock says",
        [progress({ minutes: -5, end: { kind: 'timeout', of: 'run' } })],
        {},
        'limit (minutes)',
      ],
      [
        'the money of the run',
        [progress({ output: { costUsd: 1 } })],
        { policy: { ...policy, maxCostUsd: 1 } },
        'limit (cost)',
      ],
      ['a cancelled call', [{ end: { kind: 'cancelled' } }], {}, 'cancelled (signal)'],
      [
        'a wrong key',
        [{ output: { agentError: { kind: 'auth', text: 'Invalid API key' } } }],
        {},
        'failed (configuration)',
      ],
      [
        'no credit',
        [{ output: { agentError: { kind: 'billing', text: 'Credit balance is too low' } } }],
        {},
        'failed (configuration)',
      ],
      [
        'an unknown model',
        [{ output: { agentError: { kind: 'model', text: 'There is an issue with the selected model' } } }],
        {},
        'failed (configuration)',
      ],
      [
        'a wrong key while a usage limit holds',
        [{ output: { agentError: { kind: 'auth', text: 'x' }, usageLimit: { window: 'weekly', resumeAt: null } } }],
        {},
        'parked (usage_limit)',
      ],
      ['a server error', [{ output: { agentError: { kind: 'server', text: 'API Error: 500' } } }], {}, 'iterate'],
      [
        'eight iterations on the only task',
        Array.from({ length: 8 }, () => progress({ output: working })),
        {},
        'blocked (needs_human)',
      ],
      [
        'eight iterations on one of two',
        Array.from({ length: 8 }, () => progress({ output: working })),
        { tasks: [task(1), task(2)] },
        'iterate',
      ],
      [
        'a task that waits for one that failed',
        Array.from({ length: 8 }, () => progress({ output: working })),
        { tasks: [task(1), task(2, { dependsOn: ['issue-1'] })] },
        'blocked (needs_human)',
      ],
      [
        'many iterations with max-iterations-per-task 0',
        Array.from({ length: 9 }, () => progress({ output: working })),
        { policy: { ...policy, maxIterationsPerTask: 0 } },
        'iterate',
      ],
    ]),
  )('$name → $expected', ({ given: script, start, expected }) => {
    const { step } = play(script, start);
    expect(describeStep(step)).toBe(expected);
  });
});

test('an agent without access is reported in its own words, cut short, with what to check', () => {
  const { step } = play([{ output: { agentError: { kind: 'auth', text: `Invalid API key ${'x'.repeat(5_000)}` } } }]);
  const message = step.kind === 'stop' && step.outcome.kind === 'failed' ? step.outcome.message : '';
  expect(message).toMatch(/Invalid API key .*Check its key/);
  expect(message.length).toBeLessThan(700);
});

describe('project_complete and completion_signals, where no list of tasks decides', () => {
  // Only an optional task is open: no required one is open, and none is done either.
  const open = { tasks: [task(1, { optional: true })] };
  const claim: Play = { output: exit };
  const phrase: Play = progress({ output: { completionIndicator: true } });
  const busy = (): Play => progress({ output: working });

  test.each(
    named<readonly Play[]>([
      ['EXIT_SIGNAL true twice in a row', [claim, claim], open, 'complete (project_complete)'],
      ['EXIT_SIGNAL true twice in the window', [claim, busy(), claim], open, 'complete (project_complete)'],
      [
        'EXIT_SIGNAL true in iterations 1 and 6',
        [claim, busy(), busy(), busy(), busy(), claim],
        { tasks: [...open.tasks, task(2, { optional: true })], policy: { ...policy, maxIterationsPerTask: 0 } },
        'iterate',
      ],
      ['EXIT_SIGNAL true once', [claim], open, 'iterate'],
      [
        'two phrases in a row',
        [phrase, progress({ output: { completionIndicator: true } })],
        open,
        'complete (completion_signals)',
      ],
      [
        'two phrases, one with an explicit false',
        [phrase, progress({ output: { completionIndicator: true, signal: { exitSignal: false } } })],
        open,
        'iterate',
      ],
      ['completion-signals 3', [phrase, phrase], { ...open, policy: { ...policy, completionSignals: 3 } }, 'iterate'],
      [
        'the same with a required task open',
        [phrase, progress({ output: { completionIndicator: true } })],
        { tasks: [task(1)] },
        'iterate',
      ],
      [
        'EXIT_SIGNAL true against a failing verification',
        [progress({ output: exit, verification: 'failed' }), progress({ output: exit, verification: 'failed' })],
        { ...open, policy: failing },
        'iterate',
      ],
      [
        'two phrases, then EXIT_SIGNAL true against the evidence',
        [phrase, phrase, { output: { signal: { exitSignal: true, filesModified: 2 } } }],
        { ...open, policy: { ...policy, completionSignals: 3 } },
        'iterate',
      ],
      [
        'two phrases, then EXIT_SIGNAL true against a failing verification',
        [phrase, phrase, progress({ output: exit, verification: 'failed' })],
        { ...open, policy: { ...failing, completionSignals: 3 } },
        'iterate',
      ],
      [
        'two phrases, then EXIT_SIGNAL true unopposed',
        [phrase, phrase, claim],
        { ...open, policy: { ...policy, completionSignals: 4 } },
        'complete (project_complete)',
      ],
      [
        'a claim that the evidence contradicts',
        [
          { output: { signal: { exitSignal: true, filesModified: 2 } } },
          { output: { signal: { exitSignal: true, filesModified: 2 } } },
        ],
        open,
        'iterate',
      ],
    ]),
  )('$name → $expected', ({ given: script, start, expected }) => {
    expect(describeStep(play(script, start).step)).toBe(expected);
  });
});

describe('the order of the rules', () => {
  const last = { maxIterations: 1 };
  test.each(
    named<readonly Play[]>([
      [
        'completion on the last allowed iteration is a completion',
        [progress({ output: finishes })],
        { policy: { ...policy, ...last } },
        'complete (plan_complete)',
      ],
      [
        'on the last call of the hour as well',
        [progress({ output: finishes })],
        { policy: { ...policy, maxCallsPerHour: 1 } },
        'complete (plan_complete)',
      ],
      ['and when the time is up', [progress({ output: finishes, minutes: 60 })], {}, 'complete (plan_complete)'],
      [
        'a completion does not hide a cancel',
        [progress({ output: finishes, end: { kind: 'cancelled' } })],
        {},
        'cancelled (signal)',
      ],
      [
        'a wrong key is reported before limits',
        [{ output: { agentError: { kind: 'auth', text: 'x' } } }],
        { policy: { ...policy, ...last } },
        'failed (configuration)',
      ],
      [
        'a circuit that opens on the last iteration is reported',
        [idle, idle, idle],
        { policy: { ...policy, maxIterations: 3 } },
        'halted (circuit_open)',
      ],
      [
        'a used up hour is reported before the iterations',
        [progress()],
        { policy: { ...policy, ...last, maxCallsPerHour: 1 } },
        'parked (calls_per_hour)',
      ],
      [
        'BLOCKED twice is reported before an open circuit',
        [{}, { output: { signal: { status: 'BLOCKED' } } }, { output: { signal: { status: 'BLOCKED' } } }],
        {},
        'blocked (needs_human)',
      ],
    ]),
  )('$name: $expected', ({ given: script, start, expected }) => {
    expect(describeStep(play(script, start).step)).toBe(expected);
  });
});

describe('before the first call', () => {
  const ask = (state: LaneState, change: Parameters<typeof play>[1] = {}): string =>
    describeStep(play([], { state, ...change }).step);
  const open = (openedAt: number): LaneState => ({
    ...fresh,
    circuit: { kind: 'open', totalOpens: 1, reason: 'no_progress', openedAt, taskId: null },
  });

  test.each(
    named<LaneState>([
      ['every task done', { ...fresh, tasks: { 'issue-1': done } }, {}, 'complete (plan_complete)'],
      ['no task', fresh, { tasks: [] }, 'idle (no_tasks)'],
      [
        'the only task failed',
        { ...fresh, tasks: { 'issue-1': { ...done, state: 'failed' } } },
        {},
        'blocked (needs_human)',
      ],
      ['the circuit cooling down', open(noon - MINUTE), {}, 'halted (circuit_open)'],
      ['the circuit opened in the future', open(noon + MINUTE), {}, 'halted (circuit_open)'],
      ['the circuit cooled down', open(noon - 31 * MINUTE), {}, 'iterate'],
      [
        'the circuit open, circuit-auto-reset',
        open(noon - MINUTE),
        { policy: { ...policy, circuit: { ...policy.circuit, autoReset: true } } },
        'iterate',
      ],
      ['the state unreadable', createProbeState('queue', noon), {}, 'iterate'],
      [
        'parked by the provider',
        { ...fresh, providers: { claude: { kind: 'open', why: 'limit', until: noon + 1 } } },
        {},
        'parked (usage_limit)',
      ],
      [
        'parked until now',
        { ...fresh, providers: { claude: { kind: 'open', why: 'limit', until: noon } } },
        {},
        'iterate',
      ],
      [
        'calls used up',
        { ...fresh, windows: { hour: { openedAt: noon - MINUTE, calls: 100, tokens: 0 }, day: null } },
        {},
        'parked (calls_per_hour)',
      ],
      ['no minute for a call', fresh, { policy: { ...policy, maxRunMs: 59_999 } }, 'limit (minutes)'],
      [
        'streaks that a killed run left',
        {
          ...fresh,
          signals: {
            ...fresh.signals,
            testOnlyInARow: 9,
            blockedInARow: 9,
            doneInARow: 9,
            vetoed: [true, true, true, true, true],
          },
        },
        {},
        'iterate',
      ],
    ]),
  )('$name → $expected', ({ given: state, start, expected }) => {
    expect(ask(state, start)).toBe(expected);
  });

  test('no task: the run stops, idle', () => {
    expect(play([], { tasks: [] }).step).toEqual({ kind: 'stop', outcome: { kind: 'idle', reason: 'no_tasks' } });
  });

  test('a first prompt has nothing to say of an iteration before it', () => {
    expect(play([]).step).toMatchObject({ kind: 'iterate', hints: [] });
  });

  test.each([
    ['the window', 10 * MINUTE, 'calls_per_hour', 59 * MINUTE],
    ["the provider's limit", 2 * HOUR, 'usage_limit', 2 * HOUR],
    ["the provider's limit, when both end at once", 59 * MINUTE, 'usage_limit', 59 * MINUTE],
  ])(
    'of a used up window and a limit of the provider the one that ends last is reported: %s',
    (_, parkedFor, reason, expected) => {
      const both: LaneState = {
        ...fresh,
        providers: { claude: { kind: 'open', why: 'limit', until: noon + parkedFor } },
        windows: { hour: { openedAt: noon - MINUTE, calls: 100, tokens: 0 }, day: null },
      };
      expect(play([], { state: both }).step).toMatchObject({
        outcome: { kind: 'parked', reason, resumeAt: noon + expected },
      });
    },
  );

  test.each([
    ['the pipeline', 10 * MINUTE, 'step_circuit', 2 * HOUR],
    ["the provider's limit", 3 * HOUR, 'usage_limit', 3 * HOUR],
    ["the provider's limit, when both end at once", 2 * HOUR, 'usage_limit', 2 * HOUR],
  ])('the circuit of the only agent step parks as a limit does: %s', (_, parkedFor, reason, expected) => {
    const both: LaneState = {
      ...fresh,
      providers: { claude: { kind: 'open', why: 'limit', until: noon + parkedFor } },
      steps: { markers: [], circuits: { work: { failures: 1, openedAt: noon } } },
    };
    const agentSteps = [{ name: 'work', marker: null, resetAfterMs: 2 * HOUR, required: true, agent: null }];
    expect(play([], { state: both, policy: { ...policy, agentSteps } }).step).toMatchObject({
      outcome: {
        kind: 'parked',
        reason,
        resumeAt: noon + expected,
        ...(reason === 'step_circuit' ? { step: 'work' } : {}),
      },
    });
    expect(play([], { state: { ...both, providers: {} } }).step).toMatchObject({ kind: 'iterate' });
  });

  test.each<[string, Partial<Outcome>, Partial<Policy>, boolean]>([
    ['two minutes for a step', {}, {}, true],
    ['longer for a step', { resumeAt: noon + 2 * MINUTE + 1 }, {}, false],
    ['longer where it is to wait', { resumeAt: noon + 2 * MINUTE + 1 }, { onLimit: 'wait' }, true],
    ['for no limit', { reason: 'calls_per_hour' }, {}, false],
    ['not where no minute is left behind it', {}, { maxRunMs: 3 * MINUTE - 1 }, false],
    ['where a minute is left behind it', {}, { maxRunMs: 3 * MINUTE }, true],
  ])('a run waits instead of parking: %s', (_, change, bounds, waits) => {
    const outcome = { kind: 'parked', reason: 'step_circuit', resumeAt: noon + 2 * MINUTE, step: 'work', ...change };
    const run = createRunSoFar(fresh, noon);
    expect(isWorthWaiting(outcome as Outcome, { run, policy: { ...policy, ...bounds }, now: noon })).toBe(waits);
    const cancelled = { run: { ...run, cancelled: true }, policy: { ...policy, ...bounds }, now: noon };
    expect(isWorthWaiting(outcome as Outcome, cancelled)).toBe(false);
  });

  test('a cancelled run calls nothing', () => {
    expect(
      describeStep(
        decideNextStep({
          state: fresh,
          tasks: [task(1)],
          run: { ...createRunSoFar(fresh, noon), cancelled: true },
          policy,
          now: noon,
        }),
      ),
    ).toBe('cancelled (signal)');
  });
});

describe('probes', () => {
  const tripped = play([idle, idle, idle]);

  test('a circuit that trips ends the run as its own, however short the cooldown', () => {
    const quick = { ...policy, circuit: { ...policy.circuit, cooldownMs: 0 } };
    expect(play([idle, idle, idle, progress()], { policy: quick }).step).toMatchObject({
      outcome: { reason: 'circuit_open', tripped: 'this-run' },
    });
    const reset = { ...policy, circuit: { ...policy.circuit, autoReset: true } };
    expect(play([idle, idle, idle, progress()], { policy: reset }).step).toMatchObject({
      outcome: { reason: 'circuit_open', tripped: 'this-run' },
    });
  });

  test('the next run before the cooldown makes no call and says until when', () => {
    const next = playAgain(tripped, [progress()], { gapMs: MINUTE });
    expect(next.verdicts).toHaveLength(0);
    expect(next.step).toMatchObject({
      outcome: {
        reason: 'circuit_open',
        circuitReason: 'no_progress',
        tripped: 'earlier',
        probeAt: tripped.now + 30 * MINUTE,
      },
    });
  });

  test('after it: exactly one idle probe, then open again', () => {
    const next = playAgain(tripped, [idle, progress()], { gapMs: 31 * MINUTE });
    expect(next.verdicts).toHaveLength(1);
    expect(next.step).toMatchObject({ outcome: { reason: 'circuit_open', tripped: 'this-run' } });
    expect(next.state.circuit).toMatchObject({ kind: 'open', totalOpens: 2 });
  });

  test('after it: a probe with progress, and the run continues closed', () => {
    const next = playAgain(tripped, [progress(), idle], { gapMs: 31 * MINUTE });
    expect(next.step).toMatchObject({ kind: 'iterate', circuit: { kind: 'closed' } });
    expect(
      next.state.transitions.filter(({ subject }) => subject === 'circuit').map(({ from, to }) => `${from} → ${to}`),
    ).toEqual(['closed → half-open', 'half-open → open', 'open → half-open', 'half-open → closed']);
  });

  test('a probe that met a usage limit is due again later', () => {
    const parked = playAgain(tripped, [{ output: limit(null) }], { gapMs: 31 * MINUTE });
    expect(describeStep(parked.step)).toBe('parked (usage_limit)');
    expect(describeStep(playAgain(parked, [], { gapMs: 2 * HOUR }).step)).toBe('iterate');
  });

  test('the prompt of a probe and of a diagnosis says so', () => {
    expect(playAgain(tripped, [], { gapMs: 31 * MINUTE }).step).toMatchObject({
      kind: 'iterate',
      circuit: { of: 'probe' },
      hints: ['probe', 'no_change', 'no_block'],
    });
    expect(play([idle, idle]).step).toMatchObject({
      kind: 'iterate',
      circuit: { of: 'diagnosis' },
      hints: ['diagnosis', 'no_change', 'no_block'],
    });
  });

  test('a person may reset it', () => {
    expect(
      describeStep(
        playAgain(
          {
            ...tripped,
            state: resetCircuit(tripped.state, 'by ann (comment)', tripped.now),
            step: { kind: 'iterate', task: task(1), agent: 'claude', circuit: { kind: 'closed' }, hints: [] },
          },
          [],
          { gapMs: MINUTE },
        ).step,
      ),
    ).toBe('iterate');
  });
});

describe('from run to run', () => {
  test('a halted streak does not end the next run before its first call', () => {
    const first = play(
      Array.from({ length: 3 }, () => progress({ output: { ...working, testOnly: true }, files: ['test/a.test.ts'] })),
    );
    expect(describeStep(playAgain(first, [progress({ output: working })], { gapMs: HOUR }).step)).toBe('iterate');
  });

  test('work that comes after a completed lane starts without old signals', () => {
    const first = play([progress({ output: exit })]);
    const next = playAgain(first, [progress({ output: working })], { gapMs: HOUR, tasks: [task(1), task(2)] });
    expect(next.step).toMatchObject({ kind: 'iterate', task: { id: 'issue-2' } });
  });

  test('a blocked task costs no more calls until a person asks for it again', () => {
    const blocked = { output: { signal: { status: 'BLOCKED' as const } } };
    const first = play([blocked, blocked], { tasks: [task(1), task(2)] });
    expect(playAgain(first, [], { gapMs: HOUR, tasks: [task(1), task(2)] }).step).toMatchObject({
      kind: 'iterate',
      task: { id: 'issue-2' },
    });
    expect(describeStep(playAgain(first, [], { gapMs: HOUR }).step)).toBe('blocked (needs_human)');
    const retried = { ...first, state: retryTask(first.state, 'issue-1', 'retry', noon) };
    expect(playAgain(retried, [], { gapMs: HOUR }).step).toMatchObject({ kind: 'iterate', task: { id: 'issue-1' } });
  });

  test('the iterations of a task are counted across runs', () => {
    const first = play(
      Array.from({ length: 5 }, () => progress({ output: working })),
      { policy: { ...policy, maxIterations: 5 } },
    );
    const second = playAgain(
      first,
      Array.from({ length: 5 }, () => progress({ output: working })),
      { gapMs: HOUR },
    );
    expect(second.verdicts).toHaveLength(3);
    expect(second.state.tasks['issue-1']?.state).toBe('failed');
  });

  test('a parked run keeps task, branch head and time', () => {
    const { state, step, now } = play([{ output: limit('2026-11-21T17:00:00.000Z') }]);
    expect(step).toMatchObject({ outcome: { reason: 'usage_limit', resumeAt: Date.parse('2026-11-21T17:00:00Z') } });
    const ended = endRun(state, { kind: 'parked', reason: 'usage_limit', resumeAt: noon + 5 * HOUR }, 'abc', now);
    expect(ended.park).toEqual({
      reason: 'usage_limit',
      resumeAt: noon + 5 * HOUR,
      taskId: 'issue-1',
      branchHead: 'abc',
    });
    expect(recordPublished(ended, { head: 'abc', pullRequest: null }).lastRun).toMatchObject({
      outcome: 'parked',
      reason: 'usage_limit',
      published: { head: 'abc' },
    });
  });

  test.each([
    ['unknown: an hour later', null, HOUR],
    ['unreadable: an hour later', 'soon', HOUR],
    ['past: a few minutes later', '2026-11-21T09:00:00.000Z', 5 * MINUTE],
    ['beyond a week: eight days later', '2099-01-01T00:00:00.000Z', 8 * 24 * HOUR],
  ])('a reset time that is %s', (_, reported, expected) => {
    const { step, now } = play([{ output: limit(reported) }]);
    expect(step).toMatchObject({ outcome: { reason: 'usage_limit', resumeAt: now + expected } });
  });
});

describe('a person orders the run to stop', () => {
  test.each<[string, readonly Play[], Partial<typeof policy>, string]>([
    ['and it would have continued', [progress()], {}, 'paused (by_person)'],
    ['and its iterations are used up anyhow', [progress()], { maxIterations: 1 }, 'limit (iterations)'],
    [
      'and everything is done',
      [progress({ output: { signal: { status: 'COMPLETE', exitSignal: true, tasksCompleted: 1 } } })],
      {},
      'complete (plan_complete)',
    ],
  ])('%s', (_, script, change, end) => {
    const bounds = { ...policy, ...change };
    const { state, run, now } = play(script, { policy: bounds });
    const step = decideNextStep({ state, tasks: [task(1)], run: { ...run, stoppedBy: 'ann' }, policy: bounds, now });
    expect(step.kind === 'stop' ? `${step.outcome.kind} (${step.outcome.reason})` : step.kind).toBe(end);
  });
});
