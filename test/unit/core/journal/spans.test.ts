import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { JournalEntry } from '../../../../src/core/journal/journal.ts';
import { type RunSpan, spansOfJob } from '../../../../src/core/journal/spans.ts';
import type { StepRecord } from '../../../../src/core/pipeline/step-record.ts';
import { entry } from '../../report/fixtures.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const run = { startedAt: 1000, outcome: { kind: 'complete', reason: 'plan_complete' }, branch: 'ralph/queue' } as const;
const job = {
  runTag: 'b3c5d6e0-0000-8000-8000-000000000001',
  phase: 'all',
  startedAt: 1000,
  endedAt: 9000,
  beginsSeveral: false,
  run,
  iterations: [entry(1, { agent: 'claude' })],
  models: new Map([['claude', 'opus']]),
} as const;

type Job = Parameters<typeof spansOfJob>[0];
const made = (change: Partial<Job> = {}) => spansOfJob({ ...job, ...change }, sha256);

/** Returns each span with its ancestors, the outermost first. */
function pathsOf(spans: readonly RunSpan[]): readonly string[] {
  const pathOf = ({ parent, name }: RunSpan): string => {
    const above = spans.find(({ id }) => id === parent);
    return above === undefined ? name : `${pathOf(above)} > ${name}`;
  };
  return spans.map(pathOf);
}

const called = { startedAt: 2000, endedAt: 3000, tokens: 10, outputTokens: 4, costUsd: null };
const step = (name: string, change: Partial<StepRecord> = {}): StepRecord => ({
  ...{ name, kind: 'command', optional: false, result: { kind: 'passed' }, attempts: 1, durationMs: 500, tail: '' },
  ...{ changed: false, calls: [], denials: [], allowedTools: null, marker: null, circuit: null },
  ...change,
});

describe('the spans of a job', () => {
  test.each<[string, Partial<Job>, readonly string[]]>([
    ['one job', {}, ['ralph run', 'ralph run > ralph iteration', 'ralph run > ralph iteration > invoke_agent claude']],
    ['the gate', { phase: 'gate', run: null, iterations: [] }, ['ralph gate']],
    [
      'the loop',
      { phase: 'loop', run: null },
      ['ralph loop', 'ralph loop > ralph iteration', 'ralph loop > ralph iteration > invoke_agent claude'],
    ],
    ['the job that publishes', { phase: 'publish', iterations: [] }, ['ralph run', 'ralph run > ralph publish']],
    [
      'the job that publishes the work of a cancelled loop',
      { phase: 'publish', iterations: [entry(1)] },
      [
        ...['ralph run', 'ralph run > ralph publish', 'ralph run > ralph iteration'],
        'ralph run > ralph iteration > invoke_agent',
      ],
    ],
    [
      'a call that was made again',
      { iterations: [{ ...entry(1), madeAgain: { at: entry(1).startedAt + 1000, why: 'stall' } }] },
      ['ralph run', 'ralph run > ralph iteration', ...Array(2).fill('ralph run > ralph iteration > invoke_agent')],
    ],
    [
      'a pipeline, and a step with an agent of its own',
      {
        iterations: [
          entry(1, {
            agent: 'claude',
            evidence: { steps: [step('lint'), step('work', { kind: 'agent', agent: 'codex', calls: [called] })] },
          }),
        ],
      },
      [
        'ralph run',
        'ralph run > ralph iteration',
        'ralph run > ralph iteration > ralph step',
        'ralph run > ralph iteration > ralph step',
        'ralph run > ralph iteration > ralph step > invoke_agent codex',
      ],
    ],
  ])('%s', (_, change, expected) => {
    const { spans } = made(change);
    expect(pathsOf(spans)).toEqual(expected);
    expect(new Set(spans.map(({ id }) => id)).size).toBe(spans.length);
    expect(spans.every(({ startedAt, endedAt }) => startedAt <= endedAt)).toBe(true);
  });

  test('of three jobs are one tree in one trace', () => {
    const jobs = [
      made({ phase: 'gate', run: null, iterations: [] }),
      made({ phase: 'loop', run: null }),
      made({ phase: 'publish', iterations: [] }),
    ];
    expect(new Set(jobs.map(({ traceId }) => traceId))).toEqual(new Set([expect.stringMatching(/^[0-9a-f]{32}$/)]));
    const spans = jobs.flatMap((one) => one.spans);
    expect(spans.filter(({ parent }) => parent === null).map(({ name }) => name)).toEqual(['ralph run']);
    const ids = spans.map(({ id }) => id);
    expect(
      spans.every(({ id, parent }) => /^[0-9a-f]{16}$/.test(id) && (parent === null || ids.includes(parent))),
    ).toBe(true);
  });

  test('of the branches of a run are one tree in one trace, whose root is the gate', () => {
    const jobs = [
      made({ phase: 'gate', run: null, iterations: [], beginsSeveral: true }),
      ...['queue', 'issue-5'].flatMap((lane) => {
        const runTag = `${job.runTag}:${lane}`;
        return [
          made({ runTag, phase: 'loop', run: null, iterations: [] }),
          made({ runTag, phase: 'publish', iterations: [] }),
        ];
      }),
    ];
    expect(new Set(jobs.map(({ traceId }) => traceId))).toEqual(new Set([made().traceId]));
    const spans = jobs.flatMap((one) => one.spans);
    const branch = ['run > ralph loop', 'run', 'run > ralph publish'].map((path) => `ralph gate > ralph ${path}`);
    expect(pathsOf(spans)).toEqual(['ralph gate', ...branch, ...branch]);
    expect(new Set(spans.map(({ id }) => id)).size).toBe(spans.length);
  });

  test('of the branches of a run at home are one tree, whose root is the first process', () => {
    const beside = { runTag: `${job.runTag}:issue-5`, iterations: [] };
    const spans = [made({ iterations: [] }), made(beside)].flatMap((one) => one.spans);
    expect(pathsOf(spans)).toEqual(['ralph run', 'ralph run > ralph run']);
  });
});

describe('what is not known is absent', () => {
  const attributes = (iteration: JournalEntry) =>
    made({ iterations: [iteration] }).spans.map((span) => span.attributes);

  test('a cost that nobody reports, never 0', () => {
    const [, iteration, call] = attributes(entry(1, { agent: 'codex', analysis: { costUsd: null } }));
    expect(iteration).toEqual({
      'ralph.iteration': 1,
      'ralph.task': 'issue-12',
      'gen_ai.conversation.id': 's',
      'ralph.tokens': 12_345,
    });
    expect(call).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': 'openai',
      'gen_ai.agent.name': 'codex',
      'gen_ai.conversation.id': 's',
      'ralph.tokens': 12_345,
    });
  });

  test('the kinds of tokens, in the journal of an earlier version', () => {
    const tokensOf = (change: object) =>
      attributes(entry(1, { evidence: { steps: [step('work', { calls: [{ ...called, ...change }] })] } })).at(-1);
    expect(tokensOf({})).toMatchObject({
      'gen_ai.usage.input_tokens': 6,
      'gen_ai.usage.output_tokens': 4,
      'ralph.tokens': 10,
    });
    expect(Object.keys(tokensOf({ outputTokens: undefined }) ?? {})).not.toContain('gen_ai.usage.input_tokens');
  });

  test('the amounts of one of two calls', () => {
    const [, iteration, ...calls] = attributes({ ...entry(1, { agent: 'claude' }), madeAgain: { at: 1, why: '' } });
    expect(iteration).toMatchObject({ 'ralph.tokens': 12_345, 'ralph.cost_usd': 0.12 });
    const each = {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.agent.name': 'claude',
      'gen_ai.request.model': 'opus',
    };
    expect(calls).toEqual([each, each]);
  });
});

test.each<[string, Partial<Job>, number, string | null]>([
  ['a run that is complete', {}, 0, null],
  ['a run that was stopped', { run: { ...run, outcome: { kind: 'halted', reason: 'safety' } } }, 0, 'safety'],
  ['an iteration whose agent failed', { iterations: [entry(1, { verdict: { agentFailed: true } })] }, 1, 'agent'],
  [
    'a call with an error',
    { iterations: [entry(1, { analysis: { agentError: { kind: 'server', text: 'secret words' } } })] },
    2,
    'server',
  ],
  [
    'a step that failed',
    {
      iterations: [
        entry(1, { evidence: { steps: [step('lint', { result: { kind: 'failed', why: 'words', code: 1 } })] } }),
      ],
    },
    2,
    'step',
  ],
])('%s: a failure by its kind alone', (_, change, at, failed) => {
  expect(made(change).spans[at]?.failed).toBe(failed);
  expect(JSON.stringify(made(change))).not.toContain('words');
});
