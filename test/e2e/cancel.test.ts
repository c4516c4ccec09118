import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ACTION_FOLDER } from '../../testbed/testbed.ts';
import type { Behaviour } from '../../testbed/scripted-agent.ts';
import { isRunning } from '../integration/processes/process-fixture.ts';
import { deepTest, rows } from '../runs.ts';
import { createScene, type Run, type Scene, isNotification } from './e2e-fixture.ts';

const work: Behaviour = { kind: 'work' };
const hang: Behaviour = { kind: 'hang', ignoreSigterm: false };
const THINKS = 'I think for a very long time.';

const hanging: readonly { name: string; behaviour: (scene: Scene) => Behaviour }[] = [
  {
    name: 'an agent that ignores SIGTERM and has an orphan in a session of its own',
    behaviour: ({ testbed }) => ({ kind: 'hang-with-orphan', pidFile: join(testbed.folder, 'orphan.pid') }),
  },
  { name: 'an agent that hangs', behaviour: () => hang },
  { name: 'an agent that ignores SIGTERM', behaviour: () => ({ kind: 'hang', ignoreSigterm: true }) },
];

// The runner kills main 10 s after a cancellation. unit/runner/cancellation.test.ts tests that main gives up after five
// of them.

// The first row combines the other two.
test.each(rows(1, hanging))(
  'cancel with $name: main ends before it is killed, finished work is published, the next run continues',
  async ({ behaviour }) => {
    await using scene = await createScene();
    scene.openIssue('Count');
    const run = await scene.run({
      agent: [work, behaviour(scene)],
      when: {
        text: THINKS,
        act: (main) => {
          main.cancel();
        },
      },
    });
    expect(run.main.signal).toBeNull();
    const pidFile = join(scene.testbed.folder, 'orphan.pid');
    if (existsSync(pidFile)) expect(isRunning(Number(readFileSync(pidFile, 'utf8')))).toBe(false);
    expect(run.outputs).toMatchObject({ outcome: 'cancelled', reason: 'signal' });
    expect(run.summary.match(/## Ralph: .*/g)).toEqual(['## Ralph: Cancelled']);
    expect(run.summary).toContain('after 1 finished iteration.');
    expect(run.post.log).toContain('saved #2 (cache ✓ ref ✓)');
    expect(await scene.commitsOf('ralph/queue')).toEqual(['Count']);
    expect(scene.pullOf('ralph/queue')).toMatchObject({ draft: true, status: { outcome: 'cancelled' } });
    await expectToGoOn(scene);
  },
);

test('cancel while a verify command hangs: main ends before it is killed, and the work before it is kept', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  // The first verification is that of the base and passes; the next one hangs.
  const [seen, hangs] = [join(scene.testbed.folder, 'seen'), join(scene.testbed.folder, 'hangs')];
  const run = await scene.run({
    inputs: { verify: `[ -e '${seen}' ] || exec touch '${seen}'; trap "" TERM; touch '${hangs}'; sleep 1000` },
    when: {
      text: 'agent done',
      act: async (main) => {
        await expect.poll(() => existsSync(hangs), { timeout: 30_000 }).toBe(true);
        main.cancel();
      },
    },
  });
  expect(run).toMatchObject({ calls: 1, main: { signal: null }, outputs: { outcome: 'cancelled' } });
  await expectToGoOn(scene);
});

test('cancel while GitHub hangs on the pull request: main ends before it is killed, post opens it', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  await scene.run({ inputs: { 'max-iterations': '1' } });
  const hangOnce = (): void => {
    scene.testbed.github.faults.inject({
      match: { method: 'PATCH', path: /\/pulls\/\d+$/ },
      times: 1,
      effect: { kind: 'hang' },
    });
  };
  const run = await scene.run({
    when: {
      text: 'pushed ',
      act: (main) => {
        hangOnce();
        main.cancel();
      },
    },
  });
  // Main gives up here, as it does on a slow machine, and the later steps of the job still see how it ended.
  expect(run).toMatchObject({
    main: { signal: null },
    outputs: { outcome: 'cancelled', reason: 'signal', iterations: '1', branch: 'ralph/queue' },
  });
  expect(run.main.log).toContain('the post step does the rest');
  expect(run.post.log).toContain('saved #4 (cache ✓ ref ✓)');
  await expectToComplete(scene);
});

test('a cancel that begins with SIGTERM counts as a cancel', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const run = await scene.run({
    agent: [work, hang],
    when: {
      text: THINKS,
      act: (main) => {
        main.kill('SIGTERM');
      },
    },
  });
  expect(run.main.signal).toBeNull();
  expect(run.outputs).toMatchObject({ outcome: 'cancelled', reason: 'signal' });
  expect(scene.pullOf('ralph/queue').status.outcome).toBe('cancelled');
  await expectToGoOn(scene);
});

test.each(
  rows(1, [
    { name: 'in the middle of a call', agent: [work, { kind: 'hang', ignoreSigterm: true }] as const, text: THINKS },
    { name: 'between two iterations', agent: [] as const, text: 'iteration 1: progress' },
  ]),
)(
  'SIGKILL $name: post ends leftover processes, publishes and saves; the next run continues',
  async ({ agent, text }) => {
    await using scene = await createScene();
    scene.openIssue('Count');
    const run = await scene.run({
      agent,
      when: {
        text,
        act: (main) => {
          main.kill('SIGKILL');
        },
      },
    });
    expect(run.main.signal).toBe('SIGKILL');
    // The state is saved with or without the push of the iteration.
    expect(run.post.log).toMatch(/saved #[12] \(cache ✓ ref ✓\)/);
    expect(run.summary).toContain('Killed');
    expect(readFileSync(join(run.workspace, '.git/config'), 'utf8')).toContain('extraheader');
    expect(await scene.commitsOf('ralph/queue')).toEqual(['Count']);
    expect(scene.pullOf('ralph/queue')).toMatchObject({
      draft: true,
      status: { outcome: 'cancelled', reason: 'killed' },
    });
    await expectToGoOn(scene);
  },
);

test.each(
  rows(1, [
    { name: 'before the pull request is opened', fault: { kind: 'hang' } as const },
    { name: 'after it was opened, before the answer', fault: { kind: 'lost' } as const },
  ]),
)(
  'SIGKILL while publishing, $name: post completes the publication without a second pull request',
  async ({ fault }) => {
    await using scene = await createScene();
    scene.openIssue('Count');
    const { faults } = scene.testbed.github;
    // The gate's permission check is the first such request.
    faults.inject({
      match: { method: 'POST', path: /\/pulls$/ },
      times: 1,
      effect: {
        kind: 'answer',
        status: 422,
        body: { message: 'Validation Failed', errors: [{ resource: 'PullRequest', field: 'head', code: 'invalid' }] },
      },
    });
    faults.inject({ match: { method: 'POST', path: /\/pulls$/ }, times: 1, effect: fault });
    const run = await scene.run({
      when: {
        text: 'pushed ',
        act: async (main) => {
          // The first push is the one of the first iteration.
          await expect
            .poll(
              () =>
                scene.testbed.github.requests.filter(({ method, path }) => method === 'POST' && path.endsWith('/pulls'))
                  .length,
            )
            .toBe(2);
          main.kill('SIGKILL');
        },
      },
    });
    expect(run.main.signal).toBe('SIGKILL');
    expect(run.post.log).toContain('saved #3 (cache ✓ ref ✓)');
    await expectToComplete(scene);
  },
);

deepTest(
  'a machine that vanishes costs the running iteration: post never comes, and the next attempt continues from the last push',
  async () => {
    await using scene = await createScene();
    scene.openIssue('One');
    scene.openIssue('Two');
    const action = join(scene.testbed.folder, 'action');
    for (const name of ['action.yml', 'dist', 'templates'])
      cpSync(join(ACTION_FOLDER, name), join(action, name), { recursive: true });
    writeFileSync(join(action, 'dist', 'post.js'), 'process.exit(0);');
    const asRun = { GITHUB_RUN_ID: '7007' };
    // The agent ends together with its parent.
    const last: Behaviour = { kind: 'shell', script: "kill -KILL $(awk '{print $4}' /proc/$PPID/stat)", status: null };
    const gone = await scene.run({ action, env: asRun, agent: [work, work, last] });
    expect(gone).toMatchObject({ calls: 3, main: { signal: 'SIGKILL' } });
    expect(gone.main.log.match(/pushed [0-9a-f]+ to ralph\/queue, and state #\d with it/g)).toHaveLength(2);
    // Other runs have to wait for the end of the lease.
    expect(await scene.run()).toMatchObject({ calls: 0, outputs: { outcome: 'refused', reason: 'another_run' } });
    const next = await scene.run({ env: { ...asRun, GITHUB_RUN_ATTEMPT: '2' } });
    expect(next.main.log).toContain('state: restored #2 (ref)');
    expect(next).toMatchObject({ calls: 2, outputs: { outcome: 'complete', 'tasks-done': '2' } });
    expect(await scene.commitsOf('ralph/queue')).toHaveLength(4);
  },
);

deepTest('SIGKILL before the loop begins leaves nothing behind and says so', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  scene.testbed.github.faults.inject({ match: { path: /\/issues$/ }, times: 1, effect: { kind: 'hang' } });
  const run = await killWhileTheGateWaits(scene, 'kill');
  expect(run).toMatchObject({ calls: 0, main: { signal: 'SIGKILL' } });
  expect(run.summary).toContain('Killed');
  expect(scene.testbed.github.state).toMatchObject({ pulls: [], comments: [], reactions: [] });
  expect(await scene.run()).toMatchObject({ calls: 2, outputs: { outcome: 'complete' } });
});

test('a cancel while the gate waits for an API that hangs: main ends before it is killed', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  scene.testbed.github.faults.inject({ match: { path: /\/issues$/ }, times: 9, effect: { kind: 'hang' } });
  const run = await killWhileTheGateWaits(scene, 'cancel');
  expect(run).toMatchObject({ calls: 0, main: { signal: null }, outputs: { outcome: 'cancelled', reason: 'signal' } });
  expect(run.summary).toContain('Cancelled');
});

function killWhileTheGateWaits(scene: Scene, how: 'kill' | 'cancel'): Promise<Run> {
  return scene.run({
    when: {
      text: '::add-mask::',
      act: async (main) => {
        await expect.poll(() => scene.testbed.github.requests.length).toBeGreaterThan(0);
        if (how === 'kill') main.kill('SIGKILL');
        else main.cancel();
      },
    },
  });
}

/**
 * Expects that the next run reports `complete` without a call: the work is done and stored, but the killed run did not
 * report it.
 */
async function expectToComplete(scene: Scene): Promise<void> {
  expect(scene.pullOf('ralph/queue')).toMatchObject({ status: { outcome: 'cancelled', reason: 'killed' } });
  expect(await scene.run()).toMatchObject({ calls: 0, outputs: { outcome: 'complete' } });
  expect(scene.pullOf('ralph/queue')).toMatchObject({ draft: false, status: { outcome: 'complete' } });
  expect(await scene.run()).toMatchObject({ calls: 0, outputs: { outcome: 'idle', reason: 'all_done' } });
}

/** Expects that the next run finishes the task without a lost commit, a second pull request or a second comment. */
async function expectToGoOn(scene: Scene): Promise<void> {
  expect(await scene.run()).toMatchObject({ calls: 1, outputs: { outcome: 'complete', iterations: '1' } });
  // A killed call counts as an iteration of the task; a cancelled one does not.
  expect(await scene.commitsOf('ralph/queue')).toEqual(['Count', 'Count, with a test']);
  const { number } = scene.pullOf('ralph/queue');
  expect(
    scene.testbed.github.state.comments.filter((comment) => !isNotification(comment)).map(({ issue }) => issue),
  ).toEqual([1, number]);
}
