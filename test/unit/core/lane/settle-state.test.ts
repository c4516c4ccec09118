import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../../../src/core/outcome.ts';
import { createClosedCircuit, noSignals } from '../../../../src/core/lane/circuit.ts';
import { endRun } from '../../../../src/core/lane/settle/settle.ts';
import { discountProgress, recordPublished } from '../../../../src/core/lane/settle/settle-published.ts';
import { resetCircuit, retryTask } from '../../../../src/core/lane/settle/settle-circuit.ts';
import { createInitialState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import { untouchedProgress } from '../../../../src/core/tasks/queue.ts';
import type { TaskProgress } from '../../../../src/core/tasks/task.ts';
import { HOUR, idle, noon, play, policy, progress, task, type Play } from '../core-fixtures.ts';

const finishes: Play['output'] = { signal: { status: 'COMPLETE', exitSignal: false } };
const working: Play['output'] = { signal: { status: 'IN_PROGRESS', exitSignal: false } };

describe('every change of circuit, task, session and park is noted, with its reason', () => {
  const summaryOf = (state: LaneState): readonly string[] =>
    state.transitions.map(({ subject, from, to, reason }) => `${subject}: ${from} → ${to} (${reason})`);
  const blocked: Play = { output: { signal: { status: 'BLOCKED' } } };
  const started = 'task: issue-1 todo → in-progress (started)';
  const quick = { ...policy, maxIterationsPerTask: 2 };

  test.each<[string, readonly Play[], typeof policy, readonly string[]]>([
    ['a task that continues', [progress({ output: working }), progress({ output: working })], policy, [started]],
    [
      'a task that is done',
      [progress({ output: finishes })],
      policy,
      [started, 'task: issue-1 in-progress → finished (finished)'],
    ],
    [
      'a task that the agent calls blocked',
      [progress(blocked), progress(blocked)],
      policy,
      [started, 'task: issue-1 in-progress → blocked (status_blocked)'],
    ],
    [
      'a task out of iterations',
      [progress({ output: working }), progress({ output: working })],
      quick,
      [started, 'task: issue-1 in-progress → failed (max_iterations_per_task)'],
    ],
    [
      'a diagnosis that ends in progress',
      [idle, idle, progress({ output: working })],
      policy,
      [started, 'circuit: closed → half-open (no_progress)', 'circuit: half-open → closed (progress)'],
    ],
    [
      'a circuit that trips',
      [idle, idle, idle],
      policy,
      [
        started,
        'circuit: closed → half-open (no_progress)',
        'circuit: half-open → open (no_progress)',
        'session: active → none (circuit_opened)',
      ],
    ],
    [
      'a circuit that trips by errors',
      Array.from({ length: 5 }, () => ({ output: { errors: [{ text: 'Error: x', fingerprint: 'x' }] } })),
      { ...policy, circuit: { ...policy.circuit, noProgress: 9 } },
      [started, 'circuit: closed → open (same_error)', 'session: active → none (circuit_opened)'],
    ],
  ])('%s', (_, script, bounds, expected) => {
    expect(summaryOf(play(script, { policy: bounds }).state)).toEqual(expected);
  });

  const open: LaneState = {
    ...createInitialState('queue', noon),
    circuit: { kind: 'open', totalOpens: 1, reason: 'no_progress', openedAt: noon - HOUR, taskId: null },
  };
  test.each<[string, LaneState, typeof policy, Play, readonly string[]]>([
    [
      'a probe with progress',
      open,
      policy,
      progress(),
      ['circuit: open → half-open (cooled_down)', started, 'circuit: half-open → closed (progress)'],
    ],
    [
      'an idle probe',
      open,
      policy,
      idle,
      [
        'circuit: open → half-open (cooled_down)',
        started,
        'circuit: half-open → open (no_progress)',
        'session: active → none (circuit_opened)',
      ],
    ],
    [
      'circuit-auto-reset',
      open,
      { ...policy, circuit: { ...policy.circuit, autoReset: true } },
      progress(),
      ['circuit: open → closed (auto_reset)', started],
    ],
    [
      'a state that could not be read',
      { ...open, circuit: { ...open.circuit, reason: 'state_unreadable' } as LaneState['circuit'] },
      policy,
      progress(),
      ['circuit: open → half-open (state_unreadable)', started, 'circuit: half-open → closed (progress)'],
    ],
  ])('%s', (_, state, bounds, iteration, expected) => {
    expect(summaryOf(play([iteration], { state, policy: bounds }).state)).toEqual(expected);
  });

  const worked = (): LaneState => play([progress({ output: working })]).state;
  const failed: TaskProgress = {
    state: 'failed',
    attempts: 8,
    startedTree: 'a',
    doneCommit: null,
    reason: null,
    setAside: null,
  };
  test.each<[string, () => LaneState, readonly string[]]>([
    [
      'a run that completes',
      () => endRun(worked(), { kind: 'complete', reason: 'plan_complete' }, null, noon),
      ['session: active → none (completed)'],
    ],
    [
      'a run that is cancelled',
      () => endRun(worked(), { kind: 'cancelled', reason: 'signal' }, null, noon),
      ['session: active → none (cancelled)'],
    ],
    [
      'a run that is parked',
      () => endRun(worked(), { kind: 'parked', reason: 'calls_per_hour', resumeAt: noon + HOUR }, null, noon),
      ['park: running → parked (calls_per_hour)'],
    ],
    ['a run that reaches its limit', () => endRun(worked(), { kind: 'limit', reason: 'iterations' }, null, noon), []],
    [
      'a person resets the circuit',
      () => resetCircuit({ ...worked(), circuit: open.circuit }, 'by ann (comment)', noon),
      ['circuit: open → closed (by ann (comment))'],
    ],
    [
      'a person resets a circuit that is closed',
      () => resetCircuit(play([idle, idle]).state, 'by ann (comment)', noon),
      ['circuit: closed → half-open (no_progress)', 'circuit: closed → closed (by ann (comment))'],
    ],
    [
      'a person asks for a failed task again',
      () => retryTask({ ...worked(), tasks: { 'issue-1': failed } }, 'issue-1', 'retry', noon),
      ['task: issue-1 failed → todo (retry)'],
    ],
  ])('%s', (_, change, expected) => {
    expect(summaryOf(change())).toEqual([started, ...expected]);
  });

  test('a person resets what a closed circuit has counted, too', () => {
    expect(resetCircuit(play([idle, idle]).state, 'by ann (comment)', noon).circuit).toEqual(createClosedCircuit(0));
  });
});

describe('the end of a run', () => {
  const streaks = (): LaneState =>
    play([progress({ output: { ...working, testOnly: true }, files: ['test/a.test.ts'] })]).state;

  test.each<[Outcome, boolean]>([
    [{ kind: 'blocked', reason: 'needs_human' }, true],
    [{ kind: 'halted', reason: 'test_saturation' }, true],
    [
      { kind: 'halted', reason: 'circuit_open', circuitReason: 'no_progress', tripped: 'this-run', probeAt: noon },
      false,
    ],
    [{ kind: 'complete', reason: 'plan_complete' }, true],
    [{ kind: 'limit', reason: 'iterations' }, false],
    [{ kind: 'cancelled', reason: 'signal' }, false],
  ])('%j: the signals start again: %s', (outcome, startsAgain) => {
    const before = streaks();
    expect(endRun(before, outcome, null, noon).signals).toEqual(startsAgain ? noSignals : before.signals);
  });

  test('is noted, and what was published stays known', () => {
    const published = { head: 'abc', pullRequest: null };
    const first = recordPublished(endRun(streaks(), { kind: 'limit', reason: 'iterations' }, null, noon), published);
    expect(endRun(first, { kind: 'limit', reason: 'minutes' }, null, noon + HOUR).lastRun).toEqual({
      outcome: 'limit',
      reason: 'minutes',
      at: noon + HOUR,
      published,
    });
    const never = streaks();
    expect(recordPublished(never, published)).toBe(never);
  });
});

describe('what of an iteration counts', () => {
  const signalsOf = (...script: readonly Play[]): LaneState['signals'] =>
    play(script, { tasks: [task(1, { optional: true })] }).state.signals;

  test.each<[string, Play, Partial<LaneState['signals']>]>([
    [
      'a claim to be done',
      { output: { signal: { exitSignal: true } } },
      { indicators: [true], vetoed: [false], doneInARow: 1 },
    ],
    [
      'a claim that the evidence contradicts',
      { output: { signal: { exitSignal: true, filesModified: 2 } } },
      { indicators: [false], vetoed: [true], doneInARow: 0 },
    ],
    ['a contradicted claim about files alone', { output: { signal: { filesModified: 2 } } }, { vetoed: [false] }],
    ['a final message', { chars: 70 }, { outputChars: [70] }],
    ['an agent that ended with an error', { chars: 70, end: { kind: 'exited', code: 1 } }, { outputChars: [] }],
    ['a call that was cut off', { chars: 70, end: { kind: 'timeout', of: 'call' } }, { outputChars: [] }],
    ['a CLI that failed', { chars: 70, output: { agentError: { kind: 'server', text: 'x' } } }, { outputChars: [] }],
  ])('%s', (_, iteration, expected) => {
    expect(signalsOf(iteration)).toMatchObject(expected);
  });

  test('errors are distinguished by their fingerprints, which keep 400 characters', () => {
    const failing = (fingerprint: string): Play => ({ output: { errors: [{ text: 'Error', fingerprint }] } });
    expect(play([failing('a'), failing('b')]).state.circuit).toMatchObject({
      errorStreaks: [{ fingerprint: 'b', count: 1 }],
    });
    expect(play([failing('x'.repeat(500))]).state.circuit).toMatchObject({
      errorStreaks: [{ fingerprint: 'x'.repeat(400), count: 1 }],
    });
  });

  test('progress on a call that was cut off is an attempt', () => {
    expect(play([progress({ end: { kind: 'timeout', of: 'run' } })]).state.tasks['issue-1']?.attempts).toBe(1);
  });

  test('a task that is over is no longer the current one', () => {
    expect(play([progress({ output: working })]).state.currentTask).toBe('issue-1');
    expect(play([progress({ output: finishes })]).state.currentTask).toBeNull();
  });
});

describe('a run whose commits did not reach the remote', () => {
  const lose = (before: LaneState, script: readonly Play[], bounds = policy): LaneState => {
    const { state: after, verdicts } = play(script, { state: before, policy: bounds });
    return discountProgress({ before, after, iterations: verdicts.length }, bounds, noon + HOUR);
  };
  const fresh = createInitialState('queue', noon);
  const made = (count: number): readonly Play[] => Array.from({ length: count }, () => progress({ output: working }));
  const tripped = { kind: 'open', totalOpens: 1, reason: 'no_progress', openedAt: noon + HOUR, taskId: null } as const;
  const opened = { kind: 'open', totalOpens: 1, reason: 'no_progress', openedAt: noon - HOUR, taskId: null } as const;

  test.each<[string, LaneState['circuit'], readonly Play[], Partial<LaneState['circuit']>]>([
    ['two iterations are two without progress', createClosedCircuit(0), made(2), { kind: 'closed', noProgress: 2 }],
    ['three trip the circuit', createClosedCircuit(0), made(3), tripped],
    ['five trip it once', createClosedCircuit(0), made(5), tripped],
    ['what was counted before continues', { ...createClosedCircuit(0), noProgress: 2 }, made(1), tripped],
    ['no iteration changes nothing', createClosedCircuit(4), [], createClosedCircuit(4)],
    [
      'output that declined before is not judged again',
      { ...createClosedCircuit(0), decline: 1 },
      made(1),
      { decline: 1, denials: 0, errorStreaks: [], questionHeld: false, probes: false },
    ],
    ['a probe has failed', opened, made(1), { ...tripped, totalOpens: 2 }],
    ['a probe that was not made is still due', opened, [], opened],
  ])('%s', (_, circuit, script, expected) => {
    expect(lose({ ...fresh, circuit }, script).circuit).toMatchObject(expected);
  });

  const own = (attempts: number, state: TaskProgress['state']): TaskProgress => ({
    state,
    attempts,
    startedTree: 'a',
    doneCommit: null,
    reason: null,
    setAside: null,
  });
  test.each<[string, TaskProgress, readonly Play[], number, Partial<TaskProgress>]>([
    [
      'keeps its attempts, and is where it was',
      own(1, 'in-progress'),
      made(2),
      8,
      { state: 'in-progress', attempts: 3, startedTree: 'a' },
    ],
    ['that it finished is open', own(0, 'todo'), [progress({ output: finishes })], 8, { state: 'todo', attempts: 1 }],
    ['fails when its attempts are used up', own(7, 'in-progress'), made(1), 8, { state: 'failed', attempts: 8 }],
    [
      'does not fail with max-iterations-per-task 0',
      own(7, 'in-progress'),
      made(1),
      0,
      { state: 'in-progress', attempts: 8 },
    ],
    ['that was done before stays done', own(8, 'done'), [], 8, { state: 'done', attempts: 8 }],
  ])('a task %s', (_, known, script, maxIterationsPerTask, expected) => {
    expect(
      lose({ ...fresh, tasks: { 'issue-1': known } }, script, { ...policy, maxIterationsPerTask }).tasks['issue-1'],
    ).toMatchObject(expected);
  });

  test('has made its calls; task, signals and last iteration are those of before, and no session is resumed', () => {
    const before = play([idle]).state;
    const after = lose(before, made(1));
    expect(after.windows.hour?.calls).toBe(2);
    expect(after).toMatchObject({
      currentTask: before.currentTask,
      signals: before.signals,
      lastIteration: before.lastIteration,
      session: null,
    });
  });
});

describe('a task of a file that is done is remembered as unmarked', () => {
  const item = task(1, { id: 'plan-a', source: { kind: 'plan', path: '.ralph/fix_plan.md', line: 1 } });
  test.each<[string, Play, true | undefined]>([
    ['when its file does not list it', progress({ output: finishes, checklist: { current: null } }), true],
    ['when the file no longer exists', progress({ output: finishes }), true],
    [
      'but not when it is marked',
      progress({ output: finishes, checklist: { current: 'done', done: ['plan-a'], finished: 1 } }),
      undefined,
    ],
    ['nor before it is done', progress({ output: working, checklist: { current: null } }), undefined],
  ])('%s', (_, iteration, expected) => {
    expect(play([iteration], { tasks: [item] }).state.tasks['plan-a']?.unmarked).toBe(expected);
  });

  test('and an issue never', () => {
    const { state } = play([progress({ output: finishes, checklist: { current: null } })]);
    expect(state.tasks['issue-1']).toMatchObject({ state: 'finished' });
    expect(state.tasks['issue-1']?.unmarked).toBeUndefined();
  });

  test('until it is begun again; and as it was before, when its work is lost', () => {
    const known: TaskProgress = { ...untouchedProgress, state: 'in-progress', attempts: 1, unmarked: true };
    const before: LaneState = { ...createInitialState('queue', noon), tasks: { 'plan-a': known } };
    const after = play([progress({ output: finishes, checklist: { current: null } })], {
      state: before,
      tasks: [item],
    }).state;
    const begun = play([progress({ output: working })], { state: before, tasks: [item] }).state;
    expect(begun.tasks['plan-a']?.unmarked).toBeUndefined();
    const unlisted: LaneState = { ...before, tasks: {} };
    for (const [was, expected] of [
      [before, true],
      [unlisted, undefined],
    ] as const)
      expect(discountProgress({ before: was, after, iterations: 1 }, policy, noon).tasks['plan-a']?.unmarked).toBe(
        expected,
      );
  });
});
