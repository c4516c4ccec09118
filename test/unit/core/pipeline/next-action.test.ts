import { describe, expect, test } from 'vitest';
import {
  judgeAgentAttempt,
  findFirstAgentStep,
  decideStepAction,
  computeRetryDelay,
  type PipelineProgress,
} from '../../../../src/core/pipeline/step-output.ts';
import {
  listAgentSteps,
  listOtherSteps,
  type AgentStep,
  type CommandStep,
  type Step,
} from '../../../../src/core/pipeline/pipeline.ts';
import {
  recordStepRun,
  limitStepMemory,
  noStepMemory,
  findOpenSteps,
  type OpenSteps,
  computeProbeInstant,
  allowStepProbes,
  updateStepMemory,
  type StepCircuit,
  type StepMemory,
  type StepRecord,
} from '../../../../src/core/pipeline/step-record.ts';
import type { Policy } from '../../../../src/core/policy.ts';
import { analysis, HOUR, MINUTE, noon } from '../core-fixtures.ts';
import { agentStep, commandStep, record } from './pipeline-fixtures.ts';

type AgentStepFacts = Policy['agentSteps'][number];

const failed: StepRecord['result'] = { kind: 'failed', why: 'exit code 1', code: 1 };

describe('the first call of an iteration', () => {
  const once = (isOnBase: boolean): AgentStep => agentStep('set up', { marker: { file: 'done', isOnBase } });
  const opened = { threshold: 3, resetAfterMs: MINUTE };
  const memory: StepMemory = {
    ...noStepMemory,
    markers: ['done'],
    circuits: { lint: { failures: 3, openedAt: noon - 1 } },
  };

  test.each<[string, readonly Step[], StepMemory, string | null]>([
    ['comes behind what is not an agent', [commandStep('lint'), agentStep('work')], noStepMemory, 'work'],
    ['is for a step that runs once and has not', [once(false), agentStep('work')], noStepMemory, 'set up'],
    ['is not for one that the base branch calls done', [once(true), agentStep('work')], noStepMemory, 'work'],
    ['is not for one that has run', [once(false), agentStep('work')], memory, 'work'],
    [
      'is not for one whose circuit is open',
      [agentStep('lint', { breaker: opened }), agentStep('work')],
      memory,
      'work',
    ],
    ['does not exist without an agent that may run', [once(true)], noStepMemory, null],
  ])('%s', (_, steps, known, called) => {
    expect(findFirstAgentStep({ steps, memory: known, now: noon })?.name ?? null).toBe(called);
  });
});

describe('the next step', () => {
  const steps: readonly Step[] = [commandStep('lint'), agentStep('work')];
  const at = (change: Partial<PipelineProgress>): PipelineProgress => ({
    steps,
    records: [],
    memory: noStepMemory,
    callObstacle: null,
    limited: [],
    runEnds: null,
    cancelled: false,
    now: noon,
    ...change,
  });
  const open = { lint: { failures: 3, openedAt: noon - 1 } };
  const breaker = { threshold: 3, resetAfterMs: MINUTE };

  test.each<[string, Partial<PipelineProgress>, string, unknown]>([
    ['is the first', {}, 'run', 'lint'],
    ['is the one behind those that are over', { records: [record('lint')] }, 'run', 'work'],
    ['does not exist behind the last', { records: [record('lint'), record('work')] }, 'over', undefined],
    [
      'does not run behind a failure',
      { records: [record('lint', { result: failed })] },
      'leave',
      { kind: 'not-reached', why: 'an earlier step failed' },
    ],
    [
      'runs behind a failure that may be',
      { records: [record('lint', { result: failed, optional: true })] },
      'run',
      'work',
    ],
    [
      'does not run in a run that was cancelled',
      { cancelled: true },
      'leave',
      { kind: 'not-reached', why: 'the run was cancelled' },
    ],
    [
      'does not run behind a call that ends the run, whatever may fail',
      { records: [record('lint', { optional: true, result: failed })], runEnds: 'no credit' },
      'leave',
      { kind: 'not-reached', why: 'no credit' },
    ],
    ['runs without the agent whatever is left for calls', { callObstacle: 'no money' }, 'run', 'lint'],
    [
      'does not call where no call may be made',
      { records: [record('lint')], callObstacle: 'no money' },
      'leave',
      { kind: 'not-reached', why: 'no money' },
    ],
    [
      'does not run behind a call that was not made, and says the same',
      { records: [record('work', { optional: true, result: { kind: 'not-reached', why: 'no money' } })] },
      'leave',
      { kind: 'not-reached', why: 'no money' },
    ],
    [
      'is skipped where it ran once on this branch',
      {
        steps: [agentStep('setup', { marker: { file: 'm', isOnBase: false } })],
        memory: { markers: ['m'], circuits: {} },
      },
      'leave',
      { kind: 'skipped', why: 'done-once' },
    ],
    [
      'is skipped where the base branch has its marker',
      { steps: [agentStep('setup', { marker: { file: 'm', isOnBase: true } })] },
      'leave',
      { kind: 'skipped', why: 'done-once' },
    ],
    [
      'runs once more where another marker is set',
      {
        steps: [agentStep('setup', { marker: { file: 'm', isOnBase: false } })],
        memory: { markers: ['n'], circuits: {} },
      },
      'run',
      'setup',
    ],
    [
      'is skipped while its circuit is open',
      { steps: [commandStep('lint', { breaker })], memory: { markers: [], circuits: open } },
      'leave',
      { kind: 'skipped', why: 'circuit-open' },
    ],
    [
      'is tried once its circuit has cooled down',
      { steps: [commandStep('lint', { breaker })], memory: { markers: [], circuits: open }, now: noon + MINUTE },
      'run',
      'lint',
    ],
    ['has no circuit when its file has none', { memory: { markers: [], circuits: open } }, 'run', 'lint'],
  ])('%s', (_, change, kind, expected) => {
    const action = decideStepAction(at(change));
    expect(action.kind).toBe(kind);
    expect(action.kind === 'run' ? action.step.name : action.kind === 'leave' ? action.result : undefined).toEqual(
      expected,
    );
  });
});

describe('an iteration would be in vain', () => {
  const of = (name: string, change: Partial<AgentStep> = {}) =>
    listAgentSteps({ steps: [agentStep(name, { continueOnError: true, ...change })] });
  const required = { continueOnError: false };
  const breaker = { threshold: 1, resetAfterMs: 5 * MINUTE };
  const openAt = (openedAt: number) => ({ failures: 1, openedAt });
  const setup = of('setup', { marker: { file: 'm', isOnBase: false } });
  const [a, b] = [of('a', { breaker }), of('b', { breaker: { threshold: 1, resetAfterMs: MINUTE } })];

  test.each<[string, readonly AgentStepFacts[], StepMemory['circuits'], OpenSteps | null]>([
    ['never where there is no pipeline', [], {}, null],
    ['never where none has a circuit', of('work'), { work: openAt(noon) }, null],
    ['not where one is closed', [...a, ...b], { a: openAt(noon) }, null],
    ['not where one has no circuit', [...a, ...of('work')], { a: openAt(noon) }, null],
    [
      'until the first may be tried',
      [...a, ...b],
      { a: openAt(noon), b: openAt(noon) },
      { step: null, resumeAt: noon + MINUTE },
    ],
    ['not once it may be tried', b, { b: openAt(noon - MINUTE) }, null],
    [
      'until the required one may be tried, whichever else may run',
      [...a, ...of('c', { breaker, ...required }), ...of('work', required)],
      { c: openAt(noon) },
      { step: 'c', resumeAt: noon + 5 * MINUTE },
    ],
    [
      'until the last of the required ones may be tried',
      [
        ...of('c', { breaker: { threshold: 1, resetAfterMs: HOUR }, ...required }),
        ...of('d', { breaker, ...required }),
        ...b,
      ],
      { c: openAt(noon), d: openAt(noon), b: openAt(noon) },
      { step: 'c', resumeAt: noon + HOUR },
    ],
    ['not once the required one may be tried', of('c', { breaker, ...required }), { c: openAt(noon - HOUR) }, null],
    [
      'not for a required one that ran once',
      [...of('setup', { breaker, marker: { file: 'm', isOnBase: false }, ...required }), ...of('work', required)],
      { setup: openAt(noon) },
      null,
    ],
    ['also beside one that ran once', [...setup, ...b], { b: openAt(noon) }, { step: null, resumeAt: noon + MINUTE }],
    [
      'also beside one that the base branch marks',
      [...of('s', { marker: { file: 'x', isOnBase: true } }), ...b],
      { b: openAt(noon) },
      { step: null, resumeAt: noon + MINUTE },
    ],
    [
      'not beside one that is still to run once',
      [...of('s', { marker: { file: 'x', isOnBase: false } }), ...b],
      { b: openAt(noon) },
      null,
    ],
  ])('%s', (_, agentSteps, circuits, until) => {
    const memory = { markers: ['m'], circuits };
    expect(findOpenSteps(memory, { agentSteps, otherSteps: [] }, noon)).toEqual(until);
    expect(findOpenSteps(allowStepProbes(memory), { agentSteps, otherSteps: [] }, noon)).toBeNull();
  });

  test.each<[string, Partial<CommandStep>, OpenSteps | null]>([
    ['until a required command may be tried', { breaker }, { step: 'lint', resumeAt: noon + 5 * MINUTE }],
    ['not for a command that may fail', { breaker, continueOnError: true }, null],
    ['not for a command without a circuit', {}, null],
  ])('%s', (_, change, until) => {
    const steps = [agentStep('work'), commandStep('lint', { continueOnError: false, ...change })];
    const policies = { agentSteps: listAgentSteps({ steps }), otherSteps: listOtherSteps({ steps }) };
    expect(findOpenSteps({ markers: [], circuits: { lint: openAt(noon) } }, policies, noon)).toEqual(until);
  });
});

describe('a failure is tried again', () => {
  const attempt = { result: { kind: 'failed', why: 'x', code: 1 }, isWorthAnother: true } as const;
  test.each<[string, Parameters<typeof computeRetryDelay>, number | null]>([
    ['after the delay', [{ maxRetries: 2, retryDelayMs: 1000 }, attempt, { attempts: 1, leftMs: MINUTE }], 1000],
    ['later each time', [{ maxRetries: 9, retryDelayMs: 1000 }, attempt, { attempts: 3, leftMs: MINUTE }], 4000],
    [
      'after half a minute at most',
      [{ maxRetries: 9, retryDelayMs: 1000 }, attempt, { attempts: 9, leftMs: MINUTE }],
      30_000,
    ],
    [
      'after a long delay each time',
      [{ maxRetries: 9, retryDelayMs: 40_000 }, attempt, { attempts: 2, leftMs: MINUTE }],
      40_000,
    ],
    ['not without retries', [{ maxRetries: 0, retryDelayMs: 1000 }, attempt, { attempts: 1, leftMs: MINUTE }], null],
    ['not more often', [{ maxRetries: 2, retryDelayMs: 1000 }, attempt, { attempts: 3, leftMs: MINUTE }], null],
    ['not beyond the run', [{ maxRetries: 2, retryDelayMs: 1000 }, attempt, { attempts: 1, leftMs: 1000 }], null],
    [
      'not where it would be the same',
      [
        { maxRetries: 2, retryDelayMs: 1 },
        { ...attempt, isWorthAnother: false },
        { attempts: 1, leftMs: MINUTE },
      ],
      null,
    ],
    [
      'never once it passed',
      [
        { maxRetries: 2, retryDelayMs: 1 },
        { result: { kind: 'passed' }, isWorthAnother: true },
        { attempts: 1, leftMs: MINUTE },
      ],
      null,
    ],
  ])('%s', (_, given, expected) => {
    expect(computeRetryDelay(...given)).toBe(expected);
  });
});

describe("an agent's call as a step", () => {
  const exited = { kind: 'exited', code: 0 } as const;
  const limit = { window: 'unknown', resumeAt: null } as const;
  const error = (kind: 'auth' | 'server') => analysis({ agentError: { kind, text: 'x' } });
  test.each<[string, Parameters<typeof judgeAgentAttempt>[0], string, boolean]>([
    ['passes whatever it says', { analysis: analysis(), end: exited }, 'passed', false],
    ['failed, and may not again', { analysis: error('server'), end: exited }, 'failed', true],
    ['failed, and will again', { analysis: error('auth'), end: exited }, 'failed', false],
    ['is not repeated at a limit', { analysis: analysis({ usageLimit: limit }), end: exited }, 'failed', false],
    ['crashed', { analysis: analysis(), end: { kind: 'exited', code: 3 } }, 'failed', true],
    ['was killed', { analysis: analysis(), end: { kind: 'signalled', signal: 'SIGKILL' } }, 'failed', true],
    ['ran out of time', { analysis: analysis(), end: { kind: 'timeout', of: 'call' } }, 'failed', false],
    ['only retried', { analysis: error('server'), end: { kind: 'stalled' } }, 'failed', true],
    ['was cancelled', { analysis: analysis(), end: { kind: 'cancelled' } }, 'failed', false],
  ])('%s', (_, run, kind, again) => {
    const { result, isWorthAnother } = judgeAgentAttempt(run);
    expect([result.kind, isWorthAnother]).toEqual([kind, again]);
  });
});

describe("a step's circuit", () => {
  const breaker = { threshold: 2, resetAfterMs: MINUTE };
  const closed: StepCircuit = { failures: 0, openedAt: null };

  test('opens after this many failures in a row, and one success closes it', () => {
    const one = recordStepRun(closed, false, breaker, noon);
    const two = recordStepRun(one, false, breaker, noon + 1);
    expect([one, two]).toEqual([
      { failures: 1, openedAt: null },
      { failures: 2, openedAt: noon + 1 },
    ]);
    expect(recordStepRun(one, true, breaker, noon)).toEqual(closed);
    expect(recordStepRun(two, true, breaker, noon)).toEqual(closed);
  });

  test('lets one try through after its time; a failure opens it for as long again', () => {
    const open: StepCircuit = { failures: 2, openedAt: noon };
    expect(computeProbeInstant(open, breaker, noon + MINUTE - 1)).toBe(noon + MINUTE);
    expect(computeProbeInstant(open, breaker, noon + MINUTE)).toBeNull();
    expect(recordStepRun(open, false, breaker, noon + MINUTE)).toEqual({ failures: 3, openedAt: noon + MINUTE });
  });

  test('stays open when the clock went back', () => {
    expect(computeProbeInstant({ failures: 2, openedAt: noon }, breaker, noon - 10 * MINUTE)).toBe(noon + MINUTE);
  });
});

describe('a lane remembers of its steps', () => {
  test('markers that were set and circuits that count; those of steps that are gone are forgotten', () => {
    const before = { markers: ['a'], circuits: { gone: { failures: 1, openedAt: null } } };
    const after = updateStepMemory(before, [
      record('setup', { marker: 'b' }),
      record('lint', { circuit: { failures: 2, openedAt: noon } }),
      record('fine', { circuit: { failures: 0, openedAt: null } }),
    ]);
    expect(after).toEqual({ markers: ['a', 'b'], circuits: { lint: { failures: 2, openedAt: noon } } });
  });

  test('nothing new without a pipeline', () => {
    const before = { markers: ['a'], circuits: {} };
    expect(updateStepMemory(before, [])).toBe(before);
  });

  test('no opening that is still to come, when another job says so', () => {
    const said = { markers: [], circuits: { lint: { failures: 2, openedAt: noon + 9 * MINUTE } } };
    expect(limitStepMemory(said, noon).circuits).toEqual({ lint: { failures: 2, openedAt: noon } });
  });
});
