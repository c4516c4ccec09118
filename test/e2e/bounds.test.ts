import { expect, test } from 'vitest';
import { deepTest } from '../runs.ts';
import { createScene } from './e2e-fixture.ts';

deepTest('calls an hour: parked across runs, which end in the gate until the window does', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const inputs = { 'max-calls-per-hour': '1' };
  const first = await scene.run({ inputs });
  expect(first).toMatchObject({
    calls: 1,
    main: { exitCode: 0 },
    outputs: { outcome: 'parked', reason: 'calls_per_hour', 'calls-remaining': '0' },
  });
  const wait = Date.parse(first.outputs['resume-at'] ?? '') - Date.now();
  expect(wait).toBeGreaterThan(3_500_000);
  expect(wait).toBeLessThanOrEqual(3_600_000);

  const second = await scene.run({ inputs });
  expect(second).toMatchObject({
    calls: 0,
    main: { exitCode: 0 },
    outputs: { outcome: 'parked', 'resume-at': first.outputs['resume-at'] },
  });
  expect(await scene.run()).toMatchObject({ calls: 1, outputs: { outcome: 'complete' } });
});

// Also tested by ralphs/scheduled and loop/over-time.
deepTest(
  'no progress: the circuit opens after three iterations, red; the next run is green, makes no call and says until when',
  async () => {
    await using scene = await createScene();
    scene.openIssue('Count');
    const idle = { kind: 'idle' } as const;
    const opened = await scene.run({ agent: [idle, idle, idle] });
    expect(opened).toMatchObject({
      calls: 3,
      main: { exitCode: 1 },
      outputs: { outcome: 'halted', reason: 'circuit_open', circuit: 'open', iterations: '3' },
    });
    expect(opened.main.log).toMatch(/^::error::Stopped: .*made no progress in 3 calls/m);

    const cooling = await scene.run();
    expect(cooling).toMatchObject({
      calls: 0,
      main: { exitCode: 0 },
      outputs: { outcome: 'halted', reason: 'circuit_open', circuit: 'open' },
    });
    expect(cooling.summary).toMatch(/Waiting after a stop[^]*the first run after .*UTC.* tries one iteration/);

    const failed = await scene.run({ agent: [idle], inputs: { 'circuit-cooldown-minutes': '0' } });
    expect(failed).toMatchObject({
      calls: 1,
      main: { exitCode: 1 },
      outputs: { outcome: 'halted', reason: 'circuit_open' },
    });
    expect(await scene.run({ inputs: { 'circuit-cooldown-minutes': '0' } })).toMatchObject({
      calls: 2,
      outputs: { outcome: 'complete', circuit: 'closed' },
    });
  },
);

deepTest('a usage limit of the provider parks until the time that it names', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const resetsAt = Math.floor(Date.now() / 1000) + 7_200;
  const resume = new Date(resetsAt * 1000).toISOString();
  const first = await scene.run({ agent: [{ kind: 'work' }, { kind: 'usage-limit', resetsAt }] });
  expect(first).toMatchObject({
    calls: 2,
    main: { exitCode: 0 },
    outputs: { outcome: 'parked', reason: 'usage_limit', 'resume-at': resume, 'state-saved': 'true' },
  });
  expect(scene.pullOf('ralph/queue').status).toMatchObject({ outcome: 'parked', resumeAt: resume });
  expect(await scene.run()).toMatchObject({
    calls: 0,
    main: { exitCode: 0 },
    outputs: { outcome: 'parked', 'resume-at': resume },
  });
});

test('an agent that takes too long is ended, and the next iteration continues', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const run = await scene.run({
    agent: [{ kind: 'hang', ignoreSigterm: false }],
    inputs: { 'agent-timeout-minutes': '0.1', 'max-iterations': '2' },
  });
  expect(run).toMatchObject({ calls: 2, outputs: { outcome: 'limit', iterations: '2' } });
  expect(run.main.log).toContain('iteration 1: the agent failed (out of time)');
  expect(run.main.log).toContain('iteration 2: progress');
});

// Also tested by attacks/verify and loop/agents.
deepTest('a failing verification: the task is never done, and the agent gets to know', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const run = await scene.run({
    inputs: {
      verify: 'test ! -e src/issue-1.mjs || { echo nothing here adds up >&2; exit 3; }',
      'max-iterations': '3',
    },
  });
  expect(run.outputs).toMatchObject({ outcome: 'limit', 'tasks-done': '0' });
  expect(run.main.log).toContain('verify failed');
  expect(scene.pullOf('ralph/queue')).toMatchObject({ draft: true, status: { tests: 'failing' } });
  expect(scene.pullOf('ralph/queue').body).not.toContain('Closes #');
  expect(scene.pullOf('ralph/queue').body).toContain('nothing here adds up');
  expect(run.summary).toMatch(/but the verification fails|they failed/);
});

// Also tested by loop/pipeline and unit/agents/claude.
deepTest('a key that the provider refuses ends the run after one call', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const run = await scene.run({
    agent: [{ kind: 'refused', status: 401, text: 'Invalid API key · Fix external API key' }],
  });
  expect(run).toMatchObject({
    calls: 1,
    main: { exitCode: 1 },
    outputs: { outcome: 'failed', reason: 'configuration' },
  });
  expect(run.main.log).toMatch(/^::error::.*Invalid API key/m);
  expect(scene.testbed.github.state.pulls).toEqual([]);

  expect(await scene.run()).toMatchObject({ calls: 2, outputs: { outcome: 'complete' } });
});

// Also tested by lifecycle and loop/agents.
deepTest('a task that does not get done fails after max-iterations-per-task, and the run is blocked', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const run = await scene.run({ inputs: { 'max-iterations-per-task': '1' } });
  expect(run).toMatchObject({
    calls: 1,
    main: { exitCode: 0 },
    outputs: { outcome: 'blocked', reason: 'needs_human', 'tasks-done': '0' },
  });
  expect(scene.pullOf('ralph/queue').status.tasks).toMatchObject([{ id: 'issue-1', state: 'failed', attempts: 1 }]);
  expect(scene.commentsOn(1)[0]?.body).toMatch(
    /\[#1\]\(\S+\) is not done after 1 call; you are needed\.\*\* `max-iterations-per-task` is 1\./,
  );
  expect(await scene.run({ inputs: { 'max-iterations-per-task': '1' } })).toMatchObject({
    calls: 0,
    main: { exitCode: 0 },
    outputs: { outcome: 'blocked' },
  });
});

// Also tested by loop/faults and integration/state.
deepTest('a state that cannot be read is reported, and gets one probe', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  await scene.run({ inputs: { 'max-iterations': '1', 'state-store': 'cache' } });
  scene.testbed.cache.faults.download = 'corrupt';
  const run = await scene.run({ agent: [{ kind: 'idle' }], inputs: { 'state-store': 'cache' } });
  expect(run).toMatchObject({
    calls: 1,
    main: { exitCode: 1 },
    outputs: { outcome: 'halted', reason: 'circuit_open' },
  });
  expect(run.summary).toMatch(/branch of the queue exists but its state is .*probe iteration/);
});
