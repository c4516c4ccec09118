import { describe, expect, test } from 'vitest';
import { parseJournal } from '../../../src/core/journal/parse-journal.ts';
import type { StepRecord } from '../../../src/core/pipeline/step-record.ts';
import { HOUR, MINUTE, noon } from '../../unit/core/core-fixtures.ts';
import { crashing, finisher, steadyWorker, stuck, usageLimited, type Behaviour } from '../stage/behaviours.ts';
import type { Project } from '../stage/project.ts';
import {
  commented,
  createProject,
  finishOnce,
  runOnce,
  savedState,
  warningsIn,
  type Run,
} from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';
import { killAt } from '../stage/tap.ts';

const FILE = '.ralph/config.json';

/** Returns the files of a base branch with a pipeline of these steps. */
function filesWith(steps: readonly object[], others: Readonly<Record<string, string>> = {}) {
  return { [FILE]: JSON.stringify({ steps }), ...others };
}

const work = { type: 'agent', name: 'work' };
const lint = (change: object = {}): object => ({
  type: 'command',
  name: 'lint',
  config: { command: 'npm run lint' },
  ...change,
});

/** Returns the steps of each iteration of a run according to its journal. */
function stepsIn({ journal }: Run): readonly (readonly StepRecord[])[] {
  const parsed = parseJournal(journal);
  if (parsed.kind !== 'journal') throw new Error('no journal');
  return parsed.journal.entries.map(({ evidence }) => evidence.steps);
}

function resultsIn(run: Run): readonly (readonly string[])[] {
  return stepsIn(run).map((steps) =>
    steps.map(({ name, result }) => `${name}: ${result.kind}${'why' in result ? ` (${result.why})` : ''}`),
  );
}

const exits = (code: number, tail = '') => ({ end: { kind: 'exited', code }, tail }) as const;

describe('a pipeline that is a symbolic link', () => {
  const link = 'is a symbolic link, which is not followed: put a file there';
  const runWithLink = (at: string, files: Readonly<Record<string, string>> = {}): Promise<Run> =>
    runOnce(createProject({ agent: [finisher], files, inputs: { 'max-iterations': '1' } }), {
      prepare: (checkout) => {
        const { readTexts } = checkout;
        checkout.readTexts = async (paths, lane) => {
          const read = await readTexts(paths, lane);
          return paths.includes(at) ? { ...read, links: { [at]: link } } : read;
        };
      },
    });

  test.each(['.ralph/config.json', '.ralph/configs/default.json', '.ralph/config.yaml'])(
    'ends the run before a call: %s',
    async (file) => {
      const run = await runWithLink(file);
      expect(run).toMatchObject({ end: 'failed (configuration)', calls: 0 });
      expect(run.outcome).toMatchObject({ message: expect.stringContaining(`- ${file} ${link}`) as string });
    },
  );

  test('is reported without details of `config.yaml`, which may belong to another tool', async () => {
    const run = await runWithLink('config.yaml');
    expect(run.calls).toBe(1);
    expect(run.log).toContain(`info: No steps are read from config.yaml: it ${link}.`);
  });

  test('ends the run if it is the prompt of a step', async () => {
    const step = { type: 'agent', name: 'work', config: { prompt_file: 'work.md' } };
    const run = await runWithLink('work.md', filesWith([step]));
    expect(run).toMatchObject({ end: 'failed (configuration)', calls: 0 });
    expect(run.outcome).toMatchObject({ message: expect.stringContaining(`work.md ${link}`) as string });
  });
});

describe('implement → review → fix', () => {
  const steps = [
    { type: 'agent', name: 'implement', timeout: '5m' },
    {
      type: 'agent',
      name: 'review',
      config: { prompt_file: 'review.md', model: '${MODEL}', allowed_tools: 'Read,Grep', session: 'fresh' },
    },
    { type: 'agent', name: 'fix', config: { prompt_file: 'fix.md' } },
  ];
  const reviewer: Behaviour = () => ({
    output: { signal: { status: 'BLOCKED', exitSignal: false, summary: 'The name is wrong.' } },
  });

  test('makes three calls in one iteration, each with its prompt, model, tools and conversation', async () => {
    const project = createProject({
      agent: [steadyWorker, reviewer, finisher],
      files: filesWith(steps, { 'review.md': 'Review it.', 'fix.md': 'Fix what the review says.' }),
      inputs: { 'max-iterations': '5' },
    });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 3 });
    expect(resultsIn(run)).toEqual([['implement: passed', 'review: passed', 'fix: passed']]);
    expect(
      project.script.calls.map(({ model, allowedTools, resume, timeoutMs }) => [
        model,
        allowedTools,
        resume,
        timeoutMs / MINUTE,
      ]),
    ).toEqual([
      [null, null, null, 5],
      ['sonnet', ['Read', 'Grep'], null, 15],
      [null, null, 'session-1', 15],
    ]);
    const [first, second, third] = project.script.calls.map(({ prompt }) => prompt);
    expect(first).toContain('\nWork.\n');
    expect(second).toContain('Review it.');
    expect(second).toContain("This is step review, 2 of 3 of this iteration's pipeline.");
    expect(first).toContain('# Your task: issue-1');
    expect(second).toContain('# The task of the iteration: issue-1');
    expect(third).toContain('Fix what the review says.');
    expect(third).toContain('Step review passed: The name is wrong.');
  });

  test("charges each call, by its own amounts, and keeps the branch's conversation", async () => {
    const project = createProject({
      agent: [steadyWorker, reviewer, finisher],
      files: filesWith(steps, { 'review.md': 'Review it.', 'fix.md': 'Fix.' }),
    });
    const run = await runOnce(project);
    const state = savedState(project);
    expect(state.ledger).toMatchObject([{ calls: 3, tokens: 300, minutes: 3 }]);
    expect(state.windows.hour).toMatchObject({ calls: 3, tokens: 300 });
    expect(run.report).toMatchObject({ tokens: 300 });
    expect(run.work?.journal[0]?.analysis.sessionId).toBe('session-1');
    expect(state.tasks['issue-1']).toMatchObject({ state: 'done', attempts: 1 });
  });

  test('makes no call beyond those of the hour: the iteration says so, and is not done', async () => {
    const project = createProject({
      agent: [finisher],
      files: filesWith(steps, { 'review.md': 'Review it.', 'fix.md': 'Fix.' }),
      inputs: { 'max-calls-per-hour': '2' },
    });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'parked (calls_per_hour)', calls: 2 });
    expect(resultsIn(run)).toEqual([
      ['implement: passed', 'review: passed', 'fix: not-reached (its limit is reached (calls_per_hour))'],
    ]);
    expect(savedState(project).tasks['issue-1']).toMatchObject({ state: 'in-progress' });
    project.clock.advance(HOUR);
    expect(await runOnce(project)).toMatchObject({ calls: 2, end: 'parked (calls_per_hour)' });
  });

  test("spends no more than the run's budget, from call to call", async () => {
    const project = createProject({
      agent: [steadyWorker],
      files: filesWith(steps, { 'review.md': 'Review it.', 'fix.md': 'Fix.' }),
      inputs: { 'max-cost-usd': '0.02' },
    });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'limit (cost)', calls: 2 });
    expect(project.script.calls.map(({ budgetUsd }) => budgetUsd?.toFixed(2))).toEqual(['0.02', '0.01']);
  });
});

describe('a step that runs once', () => {
  const setup = { type: 'agent', name: 'setup', config: { marker_file: '.ralph/.setup-done' } };

  test('runs on a branch once, over all runs', async () => {
    const project = createProject({
      agent: [steadyWorker],
      files: filesWith([setup, work]),
      inputs: { 'max-iterations': '1' },
    });
    const runs = [await runOnce(project), await runOnce(project), await runOnce(project)];
    expect(runs.map(resultsIn)).toEqual([
      [['setup: passed', 'work: passed']],
      [['setup: skipped (done-once)', 'work: passed']],
      [['setup: skipped (done-once)', 'work: passed']],
    ]);
    expect(savedState(project).steps.markers).toEqual(['.ralph/.setup-done']);
  });

  test('runs again if it failed', async () => {
    const crash: Behaviour = () => ({ exitCode: 1, output: { sessionId: null } });
    const project = createProject({
      agent: [crash],
      files: filesWith([setup, work]),
      inputs: { 'max-iterations': '1' },
    });
    expect(resultsIn(await runOnce(project))).toEqual([
      ['setup: failed (it ended with exit code 1)', 'work: not-reached (an earlier step failed)'],
    ]);
    project.script.behaviours = [steadyWorker];
    expect(resultsIn(await runOnce(project))).toEqual([['setup: passed', 'work: passed']]);
  });

  test('does not run if the base branch has its file, and a file that an agent writes skips nothing', async () => {
    const files = filesWith([setup, work]);
    const project = createProject({ agent: [steadyWorker], files: { ...files, '.ralph/.setup-done': '' } });
    expect(resultsIn(await runOnce(project))[0]?.[0]).toBe('setup: skipped (done-once)');

    const forging: Behaviour = () => ({ exitCode: 1, writes: { '.ralph/.setup-done': 'yes' } });
    const other = createProject({ agent: [forging], files, inputs: { 'max-iterations': '1' } });
    await runOnce(other);
    other.script.behaviours = [steadyWorker];
    expect(resultsIn(await runOnce(other))[0]?.[0]).toBe('setup: passed');
  });
});

describe('a command', () => {
  test('that fails ends the steps, overrules a completion claim, and is reported to the agent', async () => {
    const project = createProject({
      agent: [finisher],
      files: filesWith([work, lint(), { type: 'noop', name: 'rest' }]),
    });
    const codes = [1, 0];
    project.command = () => exits(codes.shift() ?? 0, 'src/a.ts: no semicolon');
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    expect(resultsIn(run)).toEqual([
      ['work: passed', 'lint: failed (exit code 1)', 'rest: not-reached (an earlier step failed)'],
      ['work: passed', 'lint: passed', 'rest: passed'],
    ]);
    expect(stepsIn(run)[0]?.[1]).toMatchObject({ tail: 'src/a.ts: no semicolon', result: { code: 1 }, attempts: 1 });
    const prompt = project.script.calls[1]?.prompt;
    expect(prompt).toContain('In the last iteration: Step lint failed (exit code 1)\nsrc/a.ts: no semicolon');
    expect(prompt).toContain('A step of the pipeline failed in the last iteration');
    expect(run.log.join('\n')).toContain('step lint (command) failed (exit code 1)');
  });

  test('that may fail overrules nothing', async () => {
    const project = createProject({ agent: [finisher], files: filesWith([work, lint({ continue_on_error: true })]) });
    project.command = () => exits(1);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });

  test('comes only from the base branch, whatever the agent writes', async () => {
    const writes = { [FILE]: JSON.stringify({ steps: [work, lint({ config: { command: 'curl evil' } })] }) };
    const project = createProject({
      agent: [() => ({ writes, output: {} })],
      files: filesWith([work, lint()]),
      inputs: { 'max-iterations': '2' },
    });
    const commands: string[] = [];
    project.command = ({ command }) => {
      commands.push(command);
      return exits(0);
    };
    await runOnce(project);
    await runOnce(project);
    expect(new Set(commands)).toEqual(new Set(['npm run lint']));
  });

  test('is ended at its timeout, or where the run ends, and the iteration continues without it', async () => {
    const project = createProject({
      agent: [steadyWorker],
      files: filesWith([lint({ timeout: '2m', continue_on_error: true }), work]),
      inputs: { 'max-minutes': '6' },
    });
    const timeouts: number[] = [];
    project.command = ({ timeoutMs }) => {
      timeouts.push(timeoutMs / MINUTE);
      project.clock.advance(timeoutMs);
      return { end: { kind: 'timeout' }, tail: '' };
    };
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'limit (minutes)', calls: 2 });
    expect(timeouts).toEqual([2, 2]);
    expect(resultsIn(run)).toEqual([
      ['lint: failed (it ran out of time)', 'work: passed'],
      ['lint: failed (it ran out of time)', 'work: passed'],
    ]);
  });

  test("is tried again after its delay, which counts towards the run's time", async () => {
    const project = createProject({
      agent: [finisher],
      files: filesWith([work, lint({ max_retries: 2, retry_delay: '10s' })]),
    });
    const at: number[] = [];
    const begun = project.clock.now();
    project.command = () => {
      at.push(project.clock.now() - begun);
      return exits(at.length < 3 ? 1 : 0);
    };
    const run = await runOnce(project);
    expect(at).toEqual([MINUTE, MINUTE + 10_000, MINUTE + 30_000]);
    expect(stepsIn(run)[0]?.[1]).toMatchObject({ attempts: 3, result: { kind: 'passed' } });
  });

  test('that changes files each time does not keep an idle agent working', async () => {
    const project = createProject({ agent: [stuck], files: filesWith([work, lint()]) });
    let stamp = 0;
    project.command = (_call, { checkout }) => {
      stamp += 1;
      checkout.files['stamp.txt'] = String(stamp);
      return exits(0);
    };
    expect(await runOnce(project)).toMatchObject({ end: 'halted (circuit_open)', calls: 3 });
  });

  test('with an open circuit is skipped if it may fail, also by later runs; otherwise they wait for it', async () => {
    const breaker = { circuit_breaker: { threshold: 2, reset_after: '1h' } };
    const lastOfRuns = async (step: object, count: number) => {
      const project = createProject({
        agent: [steadyWorker],
        files: filesWith([work, step]),
        inputs: { 'max-iterations': '1' },
      });
      project.command = () => exits(1);
      const results: unknown[] = [];
      for (let run = 0; run < count; run += 1)
        results.push(
          resultsIn(await runOnce(project))
            .flat()
            .at(-1),
        );
      return { project, results };
    };
    const failed = 'lint: failed (exit code 1)';
    const optional = await lastOfRuns(lint({ ...breaker, continue_on_error: true }), 3);
    expect(optional.results).toEqual([failed, failed, 'lint: skipped (circuit-open)']);

    const { project, results } = await lastOfRuns(lint(breaker), 2);
    expect(results).toEqual([failed, failed]);
    project.script.behaviours = [finisher];
    expect(await runOnce(project)).toMatchObject({ end: 'parked (step_circuit)', calls: 0 });
    expect(savedState(project)).toMatchObject({
      steps: { circuits: { lint: { failures: 2 } } },
      tasks: { 'issue-1': { state: 'in-progress' } },
    });

    project.clock.advance(HOUR);
    project.command = () => exits(0);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)' });
    expect(savedState(project).steps.circuits).toEqual({});
  });
});

test('an agent that fails for a while is called again, with a charge for each call', async () => {
  const failing: Behaviour = () => ({
    exitCode: 1,
    output: { agentError: { kind: 'server', text: 'overloaded' }, sessionId: null },
  });
  const project = createProject({
    agent: [failing, finisher],
    files: filesWith([{ ...work, max_retries: 3, retry_delay: '30s' }]),
  });
  const run = await runOnce(project);
  expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
  expect(stepsIn(run)[0]).toMatchObject([{ attempts: 2, calls: [{ tokens: 100 }, { tokens: 100 }] }]);
  expect(savedState(project).windows.hour?.calls).toBe(2);
});

describe('an agent step whose own circuit is open', () => {
  const once = { ...work, circuit_breaker: { threshold: 1, reset_after: '1h' } };

  test("parks the run until it may be tried, without an attempt of the task or an effect on the lane's circuit", async () => {
    const project = createProject({ agent: [crashing], files: filesWith([lint(), once]) });
    const first = await runOnce(project);
    const begun = project.clock.now();
    expect(first).toMatchObject({ end: 'parked (step_circuit)', calls: 1, outcome: { step: 'work' } });
    expect(resultsIn(first)).toHaveLength(1);
    const { resumeAt } = first.outcome as { readonly resumeAt: number };
    expect([begun < resumeAt, resumeAt <= begun + HOUR]).toEqual([true, true]);
    const after = savedState(project);

    const second = await runOnce(project);
    expect(second).toMatchObject({ end: 'parked (step_circuit)', calls: 0, outcome: { resumeAt, step: 'work' } });
    expect(savedState(project)).toMatchObject({ tasks: after.tasks, circuit: after.circuit });

    project.script.behaviours = [finisher];
    project.clock.advance(HOUR);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });

  test('is tried at once for a person who asks', async () => {
    const project = createProject({ agent: [crashing], files: filesWith([once]) });
    expect(await runOnce(project)).toMatchObject({ end: 'parked (step_circuit)', calls: 1 });
    project.script.behaviours = [finisher];
    expect(await runOnce(project, { event: commented('/ralph run', { issue: 1 }) })).toMatchObject({ calls: 1 });
  });

  test('parks the run before a call if it is required, although another step could call', async () => {
    const project = createProject({
      // The step is repeated in a new conversation.
      agent: [steadyWorker, crashing, crashing, steadyWorker],
      files: filesWith([work, { ...once, name: 'review' }]),
    });
    const first = await runOnce(project);
    expect(first).toMatchObject({ end: 'parked (step_circuit)', calls: 3, outcome: { step: 'review' } });
    expect(savedState(project).park).toMatchObject({ reason: 'step_circuit', step: 'review' });
    expect(await runOnce(project)).toMatchObject({ end: 'parked (step_circuit)', calls: 0 });
  });

  test('parks the run as well if the step calls no agent, since nothing is done before it passes', async () => {
    const project = createProject({
      issues: [1, 2],
      agent: [finisher],
      files: filesWith([work, lint({ circuit_breaker: { threshold: 1, reset_after: '1h' } })]),
    });
    project.command = () => ({ end: { kind: 'exited', code: 3 }, tail: '' });
    expect(await runOnce(project)).toMatchObject({
      end: 'parked (step_circuit)',
      calls: 1,
      outcome: { step: 'lint', resumeAt: expect.any(Number) },
    });
    expect(await runOnce(project)).toMatchObject({ end: 'parked (step_circuit)', calls: 0 });
  });

  test('is waited for in the run if it is open only for a moment', async () => {
    const brief = { ...once, circuit_breaker: { threshold: 1, reset_after: '90s' } };
    const project = createProject({ agent: [crashing, finisher], files: filesWith([brief]) });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    const [before, behind] = run.work?.journal ?? [];
    expect((behind?.startedAt ?? 0) - (before?.endedAt ?? 0)).toBe(90_000);
    expect(run.journal.split('\n').filter((line) => line.includes('"kind":"wait"'))).toHaveLength(1);

    const split = createProject({ agent: [crashing, finisher], files: filesWith([brief]) });
    expect(await runSplit(split)).toMatchObject({ loop: { calls: 2 }, publish: { end: 'complete (plan_complete)' } });
  });

  test("is not waited for beyond the run's time, but by the next run before its first call", async () => {
    const brief = { ...once, circuit_breaker: { threshold: 1, reset_after: '90s' } };
    const inputs = { 'max-minutes': '3' };
    const project = createProject({ agent: [crashing, finisher], files: filesWith([brief]), inputs });
    const first = await runOnce(project);
    expect(first).toMatchObject({ end: 'parked (step_circuit)', calls: 1 });
    const { resumeAt } = first.outcome as { readonly resumeAt: number };
    project.script.behaviours = [finisher];
    const second = await runOnce(project);
    expect(second).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(second.work?.journal[0]?.startedAt).toBe(resumeAt);
  });

  test('does not stop the other steps', async () => {
    const project = createProject({
      agent: [crashing, finisher],
      files: filesWith([{ ...once, name: 'first', continue_on_error: true }, work]),
    });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
  });

  test.each<[string, Behaviour, string, number]>([
    [
      'the tries of its task, where the agent changed something before it failed',
      (call) => ({ ...crashing(call), writes: { 'src/half.ts': `half ${String(call.turn)}` } }),
      'blocked (needs_human)',
      2,
    ],
    [
      'failures of the agent in a row, which do not count as attempts at the task',
      crashing,
      'halted (circuit_open)',
      3,
    ],
  ])('ends a run that waits for it at its own limits, with each try an iteration: %s', async (_, agent, end, calls) => {
    const project = createProject({
      agent: [agent],
      files: { [FILE]: JSON.stringify({ max_loops_per_task: 2, steps: [once] }) },
      inputs: { 'on-limit': 'wait', 'max-minutes': '350' },
    });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end, calls });
    expect(run.work?.journal).toHaveLength(calls);
    expect(run.log.join('\n')).toContain('while the circuit of the required step work is open. Waiting until');
  });
});

describe("an agent's answer that concerns every call, in one step", () => {
  const review = { type: 'agent', name: 'review', continue_on_error: true };
  const wrongKey: Behaviour = () => ({
    exitCode: 1,
    output: { agentError: { kind: 'auth', text: 'Invalid API key' }, sessionId: null },
  });

  test('a usage limit ends the steps of the iteration and parks the run, also of a step that may fail', async () => {
    const project = createProject({
      agent: [usageLimited(noon + 2 * HOUR), steadyWorker],
      files: filesWith([{ ...review, name: 'first' }, lint(), work]),
    });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'parked (usage_limit)', calls: 1, outcome: { resumeAt: noon + 2 * HOUR } });
    expect(resultsIn(run)).toEqual([
      [
        "first: failed (the provider's usage limit is reached)",
        "lint: not-reached (the provider's usage limit is reached)",
        "work: not-reached (the provider's usage limit is reached)",
      ],
    ]);
    expect(savedState(project).tasks['issue-1']).toMatchObject({ attempts: 0 });
  });

  test('a wrong key ends the run, in any step', async () => {
    const project = createProject({
      agent: [steadyWorker, wrongKey, steadyWorker],
      files: filesWith([work, review, { ...work, name: 'more' }]),
    });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'failed (configuration)', calls: 2 });
    expect(run.outcome).toMatchObject({ message: expect.stringContaining('Invalid API key') });
    expect(resultsIn(run)[0]?.[2]).toBe('more: not-reached (the agent cannot work (auth))');
  });
});

test('a failed step that may fail overrules no claim of the step before it', async () => {
  const project = createProject({
    agent: [finisher, crashing],
    files: filesWith([work, { type: 'agent', name: 'review', continue_on_error: true }]),
  });
  // The failed step is repeated in a new conversation.
  expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 3 });
});

test('a run that is cancelled in a command ends there, and does not blame the step', async () => {
  const cancel = new AbortController();
  const breaker = { circuit_breaker: { threshold: 1 } };
  const project = createProject({
    agent: [steadyWorker],
    files: filesWith([work, lint(breaker), { ...work, name: 'more' }]),
  });
  project.command = () => {
    cancel.abort();
    return { end: { kind: 'cancelled' }, tail: '' };
  };
  const run = await runOnce(project, { signal: cancel.signal });
  expect(run).toMatchObject({ end: 'cancelled (signal)', calls: 1 });
  expect(run.work?.state.steps.circuits).toEqual({});
});

test('a commit in the middle survives a kill after it, and the next run continues', async () => {
  const project = createProject({
    agent: [steadyWorker],
    files: filesWith([work, { type: 'git-commit', name: 'keep' }, lint()]),
    inputs: { 'max-iterations': '1' },
  });
  const tap = killAt((name) => name === 'commands.run', 'before');
  const run = await runOnce(project, { tap });
  expect(run.end).toBe('cancelled (killed)');
  await finishOnce(project, run);
  const head = project.origin.branches.get('ralph/queue') ?? '';
  expect(project.origin.commits.get(head)?.tree['src/issue-1.ts']).toBe('step 1');
  expect(savedState(project).ledger).toMatchObject([{ calls: 1 }]);
  project.clock.advance(2 * HOUR);
  expect(resultsIn(await runOnce(project))).toEqual([['work: passed', 'keep: passed', 'lint: passed']]);
});

describe('a commit in the middle is kept at once, and survives a kill after it', () => {
  const steps = [work, { type: 'git-commit', name: 'keep' }, lint()];
  const inputs = { 'max-iterations': '1' };
  const tap = () => killAt((name) => name === 'commands.run', 'before');
  const onBranch = ({ origin }: Project): string | undefined =>
    origin.commits.get(origin.branches.get('ralph/queue') ?? '')?.tree['src/issue-1.ts'];

  test('in the job of the loop', async () => {
    const project = createProject({ agent: [steadyWorker], files: filesWith(steps), inputs });
    const { loop, publish } = await runSplit(project, { loop: { tap: tap() } });
    expect([loop?.end, publish?.end]).toEqual(['cancelled (killed)', 'cancelled (killed)']);
    expect(onBranch(project)).toBe('step 1');
    expect(savedState(project)).toMatchObject({
      tasks: { 'issue-1': { state: 'in-progress', attempts: 1 } },
      ledger: [{ calls: 1, tokens: 100 }],
    });
    const next = await runSplit(project);
    expect(resultsIn(next.loop as Run)).toEqual([['work: passed', 'keep: passed', 'lint: passed']]);
    expect(onBranch(project)).toBe('step 2');
  });

  test('at home', async () => {
    const project = createProject({ agent: [steadyWorker], files: filesWith(steps), inputs });
    const run = await runOnce(project, { isAtHome: true, tap: tap() });
    expect(run.end).toBe('cancelled (killed)');
    expect(onBranch(project)).toBe('step 1');
    expect(savedState(project)).toMatchObject({
      tasks: { 'issue-1': { state: 'in-progress', attempts: 1 } },
      ledger: [{ calls: 1, tokens: 100 }],
    });
    project.clock.advance(2 * HOUR);
    const next = await runOnce(project, { isAtHome: true });
    expect(resultsIn(next)).toEqual([['work: passed', 'keep: passed', 'lint: passed']]);
    expect(onBranch(project)).toBe('step 2');
  });

  test('only if there is something to keep', async () => {
    const idle: Behaviour = () => ({ output: { signal: { status: 'IN_PROGRESS' } } });
    const project = createProject({ agent: [idle], files: filesWith(steps), inputs });
    await runOnce(project, { isAtHome: true, tap: tap() });
    expect(project.remote.pushes).toEqual([]);
  });
});

describe('the agent\'s file for "everything is done"', () => {
  const signals = { markers: ['DONE.txt'] };
  const keep = { type: 'git-commit', name: 'keep' };
  const says: Behaviour = ({ task, turn }) => ({
    writes: { [`src/${task}.ts`]: String(turn), 'DONE.txt': '' },
    output: { signal: { from: 'none' } },
  });
  const open = { 'PROMPT.md': 'Build it.' };
  const inputs = { 'task-sources': 'prompt', 'completion-signals': '2' };

  test('is in no commit in the middle, and counts at the end of each iteration', async () => {
    const project = createProject({
      agent: [says],
      files: { [FILE]: JSON.stringify({ signals, steps: [work, keep, lint()] }), ...open },
      inputs,
    });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'complete (completion_signals)', calls: 2 });
    expect(run.work?.journal.map(({ evidence }) => evidence.doneMarker)).toEqual(['DONE.txt', 'DONE.txt']);
    for (const { tree } of project.origin.commits.values()) expect(Object.keys(tree)).not.toContain('DONE.txt');
  });

  test("does not count as the agent's change, whatever a command changes", async () => {
    const project = createProject({
      agent: [() => ({ writes: { 'DONE.txt': '' }, output: { signal: { status: 'IN_PROGRESS' } } })],
      files: { [FILE]: JSON.stringify({ signals, steps: [work, lint()] }), ...open },
      inputs,
    });
    let stamp = 0;
    project.command = (_call, { checkout }) => {
      stamp += 1;
      checkout.files['stamp.txt'] = String(stamp);
      return exits(0);
    };
    const run = await runOnce(project);
    expect(stepsIn(run).map(([first]) => first?.changed)).not.toContain(true);
  });
});

describe('the pipeline file', () => {
  test('with mistakes ends the run before a call, and names all of them', async () => {
    const project = createProject({
      agent: [finisher],
      files: filesWith([
        { type: 'agent', name: 'a', timeout: '-1m' },
        { type: 'shell', name: 'b' },
        { type: 'agent', name: 'c', config: { prompt_file: 'gone.md' } },
        { type: 'agent', name: 'd', config: { allowed_tools: 'Bash(' } },
      ]),
    });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'failed (configuration)', calls: 0 });
    const { message } = run.outcome as { readonly message: string };
    expect(message).toContain(`${FILE}:1:`);
    expect(message).toContain('`timeout` must not be negative');
    expect(message).toContain('"shell", not a type of step');
    expect(message).toContain('`prompt_file` gone.md is not a file of the base branch');
    expect(message).toContain('the list of tool rules has the rule "Bash("');
  });

  test('that names a prompt missing from the base branch ends the run', async () => {
    const project = createProject({
      agent: [finisher],
      files: filesWith([{ ...work, config: { prompt_file: 'gone.md' } }]),
    });
    expect((await runOnce(project)).outcome).toMatchObject({
      message: expect.stringContaining('`prompt_file` gone.md is not a file of the base branch'),
    });
  });

  test('without steps changes nothing, and a later one with steps counts', async () => {
    const none = createProject({ agent: [finisher], files: { [FILE]: '{ "signals": {} }' } });
    const run = await runOnce(none);
    expect(stepsIn(run)).toEqual([[]]);
    expect(run.log.join('\n')).toContain(`No pipeline: ${FILE} has no \`steps\` of this action.`);

    const other = createProject({
      agent: [finisher],
      files: { [FILE]: '{}', '.ralph/config.yaml': 'steps: [{ type: agent, name: y }]', 'config.yaml': 'steps: []' },
    });
    const second = await runOnce(other);
    expect(resultsIn(second)).toEqual([['y: passed']]);
    expect(second.log.join('\n')).toContain('Not used, since .ralph/config.yaml comes first: config.yaml');
  });

  test('warns of a variable that the agent does not see', async () => {
    const project = createProject({
      agent: [finisher],
      files: filesWith([{ ...work, config: { model: '${GITHUB_TOKEN}' } }]),
    });
    const run = await runOnce(project);
    expect(project.script.calls[0]?.model).toBeNull();
    expect(warningsIn(run).join('\n')).toContain('`${GITHUB_TOKEN}`');
  });

  test('warns of a variable that a command neither sees nor sets, before the first call', async () => {
    const command = 'X=1; rm -rf build/${DIR} ${X} ${Y:-else}';
    const project = createProject({ agent: [finisher], files: filesWith([work, lint({ config: { command } })]) });
    const run = await runOnce(project);
    expect(warningsIn(run).join('\n')).toContain(
      'the command of step lint names a variable that it neither sees nor sets, so bash puts nothing in their place: `${DIR}`.',
    );
  });

  test('also bounds the iterations of a task', async () => {
    const project = createProject({
      agent: [steadyWorker],
      files: { [FILE]: JSON.stringify({ max_loops_per_task: 2, steps: [work] }) },
    });
    expect(await runOnce(project)).toMatchObject({ calls: 2 });
    expect(savedState(project).tasks['issue-1']).toMatchObject({ reason: 'max_iterations_per_task' });
  });
});
