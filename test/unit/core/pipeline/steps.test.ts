import { describe, expect, test } from 'vitest';
import { explainRunEnd, joinOutputs } from '../../../../src/core/pipeline/step-output.ts';
import { countCallsPerIteration } from '../../../../src/core/pipeline/pipeline.ts';
import { findObstacle } from '../../../../src/core/lane/decide.ts';
import { findReadmeProblem } from '../../../../src/core/pipeline/readme-check.ts';
import { renderStepNotes, type StepRecord } from '../../../../src/core/pipeline/step-record.ts';
import { expandVariables, parseDuration } from '../../../../src/core/pipeline/reading/command-variables.ts';
import { countMaxCalls } from '../../../../src/core/policy.ts';
import { analysis, evidence, HOUR, MINUTE, noon, play, policy } from '../core-fixtures.ts';
import { agentStep, commandStep, record } from './pipeline-fixtures.ts';

test.each<[string | number, number | null]>([
  ['10m', 10 * MINUTE],
  ['1h30m', 1.5 * HOUR],
  ['1.5h', 1.5 * HOUR],
  ['90s', 90_000],
  ['500ms', 500],
  ['45', 45_000],
  [45, 45_000],
  [0.5, 500],
  [0.0015, 2],
  ['0.4ms', 0],
  ['0', 0],
  ['-5m', -5 * MINUTE],
  [-5, -5000],
  ['5 m', null],
  ['m', null],
  ['soon', null],
  ['', null],
  [Infinity, null],
])('the duration %j is %j ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each<[string, string, readonly string[]]>([
  ['${A}', 'one', []],
  ['x${A}y${A}', 'xoneyone', []],
  ['${NONE}', '', ['NONE']],
  ['${NONE:-two}', 'two', []],
  ['${EMPTY:-two}', 'two', []],
  ['${EMPTY}', '', []],
  ['${A:-two}', 'one', []],
  ['$A ${1} ${} $(A)', '$A ${1} ${} $(A)', []],
  ['${NESTED}', '${A}', []],
  ['${constructor}', '', ['constructor']],
])('%s becomes %j', (text, expanded, missing) => {
  expect(expandVariables(text, { A: 'one', EMPTY: '', NESTED: '${A}' })).toEqual({ text: expanded, missing });
});

describe('the calls of an iteration together', () => {
  const one = {
    analysis: analysis({ tokens: 10, costUsd: 1, denials: [{ tool: 'Bash', command: 'a' }] }),
    end: { kind: 'exited', code: 0 },
    outputChars: 5,
    fencedBlock: true,
    failedServers: [],
  } as const;
  const two = {
    ...one,
    analysis: analysis({ tokens: null, costUsd: 2, signal: { status: 'COMPLETE' } }),
    outputChars: 9,
    fencedBlock: false,
    failedServers: [],
  };

  test('say what the last one says, and used what all of them used', () => {
    expect(joinOutputs([one, two], { failed: [], sessionId: 's', cancelled: false })).toMatchObject({
      analysis: { signal: { status: 'COMPLETE' }, tokens: 10, costUsd: 3, denials: [{ command: 'a' }], sessionId: 's' },
      outputChars: 9,
      fencedBlock: false,
      failedServers: [],
    });
  });

  test.each<[string, Parameters<typeof analysis>[0] & object, string | null]>([
    ['a usage limit', { usageLimit: { window: 'unknown', resumeAt: null } }, "the provider's usage limit is reached"],
    ['a wrong key', { agentError: { kind: 'auth', text: 'x' } }, 'the agent cannot work (auth)'],
    ['no credit', { agentError: { kind: 'billing', text: 'x' } }, 'the agent cannot work (billing)'],
    ['an unknown model', { agentError: { kind: 'model', text: 'x' } }, 'the agent cannot work (model)'],
    ['an error that passes', { agentError: { kind: 'server', text: 'x' } }, null],
    ['nothing', {}, null],
  ])('with %s in one of them', (_, change, why) => {
    const first = { ...one, analysis: analysis({ ...change, signal: { summary: 'first' } }) };
    expect(explainRunEnd(first)).toBe(why);
    const together = joinOutputs([first, two], { failed: [], sessionId: 's', cancelled: false });
    expect(together.analysis).toMatchObject(
      why === null ? { signal: two.analysis.signal } : { ...change, signal: { summary: 'first' }, costUsd: 2.01 },
    );
  });

  test('where one of a step that may fail did, it overrules nothing and its cost counts', () => {
    const failed = { ...one, analysis: analysis({ costUsd: 5 }), end: { kind: 'exited', code: 1 } } as const;
    const together = joinOutputs([two, failed], { failed: [failed], sessionId: 's', cancelled: false });
    expect(together).toMatchObject({
      analysis: { signal: { status: 'COMPLETE' }, costUsd: 7 },
      end: { kind: 'exited', code: 0 },
    });
    expect(joinOutputs([failed], { failed: [failed], sessionId: 's', cancelled: false }).end).toBe(failed.end);
  });

  test('say nothing without any', () => {
    expect(joinOutputs([], { failed: [], sessionId: null, cancelled: true })).toMatchObject({
      analysis: { signal: { from: 'none' }, tokens: null, costUsd: null },
      end: { kind: 'cancelled' },
    });
  });
});

test('the calls of an iteration limit those of a run', () => {
  const steps = [agentStep('a'), commandStep('b', { maxRetries: 5 }), agentStep('c', { maxRetries: 2 })];
  expect(countCallsPerIteration({ steps })).toBe(4);
  const bounds = { maxIterations: 10, callsPerIteration: 4 };
  expect([countMaxCalls({ ...bounds, maxCalls: 0 }), countMaxCalls({ ...bounds, maxCalls: 7 })]).toEqual([40, 7]);
});

describe('between two steps no call is made', () => {
  const used = { windows: { hour: null, day: null }, startedAt: noon, calls: 3, costUsd: 1, task: {} };
  test.each<[string, Partial<Parameters<typeof findObstacle>[0]>, Partial<typeof policy>, number, string | null]>([
    ['unless nothing is used up', {}, {}, noon, null],
    ['beyond what the run reserved', {}, { maxCalls: 3 }, noon, 'the run has no calls left'],
    ['beyond its money', {}, { maxCostUsd: 1 }, noon, 'the run has no money left'],
    [
      "beyond its task's ceiling",
      { task: { ceiling: { usd: 1, spentUsd: 1 } } },
      {},
      noon,
      'the amount approved for its task is used up',
    ],
    ['beyond its time', {}, {}, noon + policy.maxRunMs - MINUTE + 1, 'the run has no time left'],
  ])('%s', (_, change, bounds, now, expected) => {
    expect(findObstacle({ ...used, ...change }, { ...policy, ...bounds }, now)).toBe(expected);
  });

  test('beyond the calls of the hour', () => {
    const windows = { hour: { openedAt: noon, calls: 100, tokens: 0 }, day: null };
    expect(findObstacle({ ...used, windows }, policy, noon)).toBe('its limit is reached (calls_per_hour)');
  });
});

describe('the README needs a look', () => {
  const facts: Parameters<typeof findReadmeProblem>[0] = {
    path: 'README.md',
    exists: true,
    patterns: ['*.go', 'cmd/**/*.go', 'src/*/?.ts'],
    changed: [],
  };
  test.each<[string, Partial<Parameters<typeof findReadmeProblem>[0]>, string | null]>([
    ['when it is missing', { exists: false }, 'README.md does not exist'],
    ['not when nothing changed', {}, null],
    ['when code changed without it', { changed: ['main.go'] }, 'README.md was not changed together with main.go'],
    ['not when it changed as well', { changed: ['main.go', 'README.md'] }, null],
    ['not for a test', { changed: ['main_test.go'] }, null],
    ['not for what no pattern names', { changed: ['docs/a.md', 'pkg/a.go'] }, null],
    [
      'for a file below folders',
      { changed: ['cmd/a.go', 'cmd/x/y/b.go'] },
      'README.md was not changed together with cmd/a.go, cmd/x/y/b.go',
    ],
    ['for one sign', { changed: ['src/a/b.ts', 'src/a/bc.ts'] }, 'README.md was not changed together with src/a/b.ts'],
  ])('%s', (_, change, expected) => {
    expect(findReadmeProblem({ ...facts, ...change })).toBe(expected);
  });
});

test('the next agent reads what the steps before it said, else what failed last', () => {
  const failed = record('lint', { result: { kind: 'failed', why: 'exit code 1', code: 1 }, tail: 'line 3: oops' });
  const review = { record: record('review', { kind: 'agent' }), message: 'Rename\n it.' };
  expect(renderStepNotes([review, { record: failed, message: null }], [failed])).toBe(
    'Step review passed: Rename it.\nStep lint failed (exit code 1)\nline 3: oops',
  );
  expect(renderStepNotes([], [failed, record('fine')])).toBe(
    'In the last iteration: Step lint failed (exit code 1)\nline 3: oops',
  );
  expect(renderStepNotes([], [])).toBe('');
});

describe('an iteration with steps', () => {
  const done = { signal: { status: 'COMPLETE', exitSignal: true, tasksCompleted: 1 } } as const;
  const agent = record('work', {
    kind: 'agent',
    changed: true,
    calls: [{ startedAt: noon, endedAt: noon + 1, tokens: 1, costUsd: 1 }],
  });
  const failed: StepRecord['result'] = { kind: 'failed', why: 'exit code 1', code: 1 };

  test.each<[string, readonly StepRecord[], boolean]>([
    ['all passed', [agent, record('lint')], true],
    ['one failed', [agent, record('lint', { result: failed })], false],
    ['one that may fail failed', [agent, record('lint', { result: failed, optional: true })], true],
    ['one was not reached', [agent, record('lint', { result: { kind: 'not-reached', why: 'no money' } })], false],
    ['one has run before', [agent, record('setup', { result: { kind: 'skipped', why: 'done-once' } })], true],
    ["one's circuit is open", [agent, record('lint', { result: { kind: 'skipped', why: 'circuit-open' } })], false],
  ])('whose %s: the task is done is %j', (_, steps, isDone) => {
    const { verdicts } = play([{ to: 'b', output: done, steps }]);
    expect(verdicts[0]?.taskDone).toBe(isDone);
    expect(verdicts[0]?.vetoes.some((veto) => veto.includes('steps of the pipeline did not pass'))).toBe(!isDone);
  });

  test('is not progress when commands alone changed content, however often', () => {
    const idle = { ...agent, changed: false };
    const steps = [idle, record('stamp', { changed: true })];
    const { verdicts, step } = play([
      { to: 'b', steps },
      { to: 'c', output: done, steps },
      { to: 'd', steps },
    ]);
    expect(verdicts.map(({ progress, taskDone }) => [progress, taskDone])).toEqual(verdicts.map(() => [false, false]));
    expect(step).toMatchObject({ kind: 'stop' });
  });

  test("does not count as the agent's silence when it was not called", () => {
    const { state } = play([{ chars: 0, steps: [record('lint', { result: failed })] }]);
    expect(state.lastIteration?.hints).toEqual(['step_failed']);
    expect(state.signals.outputChars).toEqual([]);
  });

  test('evidence of before there were any has none', () => {
    expect(evidence('a', {}).steps).toEqual([]);
  });
});
