import { expect, test } from 'vitest';
import { readFile } from 'node:fs/promises';
import { closePull } from '../../testbed/github/state.ts';
import type { RunningMain } from '../../testbed/runner.ts';
import type { Behaviour } from '../../testbed/scripted-agent.ts';
import { createScene, KEY, type Scene, type SceneJob } from './e2e-fixture.ts';
import { deepTest, rows } from '../runs.ts';

// Also tested by everyday/lifecycle and loop/events.
deepTest.each([{ branch: 'kept' }, { branch: 'deleted' }])(
  'merged between runs, branch $branch: the next run begins the lane again',
  async ({ branch }) => {
    await using scene = await createScene();
    const { github, git } = scene.testbed;
    const issue = scene.openIssue('First');
    await scene.run();
    closePull(github.state, scene.pullOf('ralph/queue').number, { kind: 'merged', at: Date.now() });
    issue.state = 'closed';
    await git('update-ref', 'refs/heads/main', 'refs/heads/ralph/queue');
    if (branch === 'deleted') await git('branch', '-D', 'ralph/queue');

    expect(await scene.run()).toMatchObject({ calls: 0, outputs: { outcome: 'idle' } });
    scene.openIssue('Second');
    expect(await scene.run()).toMatchObject({ calls: 2, outputs: { outcome: 'complete' } });
    expect(await scene.commitsOf('ralph/queue')).toEqual(['Second', 'Second, with a test']);
    const second = github.state.pulls.at(-1);
    expect(github.state.pulls).toHaveLength(2);
    const body = github.state.issues.find(({ number }) => number === second?.number)?.body ?? '';
    expect(body).toContain('Closes #3');
    expect(body).not.toContain('Closes #1');
  },
);

deepTest('closed without merging: the lane is paused, and says by what', async () => {
  await using scene = await createScene();
  scene.openIssue('First');
  await scene.run({ inputs: { 'max-iterations': '1' } });
  const { number } = scene.pullOf('ralph/queue');
  closePull(scene.testbed.github.state, number, { kind: 'closed', at: Date.now() });
  const run = await scene.run();
  expect(run).toMatchObject({ calls: 0, main: { exitCode: 0 }, outputs: { outcome: 'paused', reason: 'by_person' } });
  expect(run.main.log).toContain(`pull request #${String(number)}, closed without merging`);
  expect(scene.testbed.github.state.pulls).toHaveLength(1);
});

test.each(
  rows(1, [
    { how: 'merged', pulls: 2, state: 'open', says: /^Closes #1$/m, never: /^Part of #1$/m },
    // A person who closes it does not want the work, so nothing claims that the task is done.
    { how: 'closed', pulls: 1, state: 'closed', says: /^Part of #1$/m, never: /Closes #1/ },
  ] as const),
)(
  '$how during the run: its commits are not stranded on a closed branch',
  async ({ how, pulls, state, says, never }) => {
    await using scene = await createScene();
    const { github, git } = scene.testbed;
    scene.openIssue('First');
    await scene.run({ inputs: { 'max-iterations': '1' } });
    const { number } = scene.pullOf('ralph/queue');
    await scene.run({
      when: {
        text: 'Iteration 1/',
        act: async () => {
          closePull(github.state, number, { kind: how, at: Date.now() });
          if (how === 'merged') await git('update-ref', 'refs/heads/main', 'refs/heads/ralph/queue');
        },
      },
    });
    expect(github.state.pulls).toHaveLength(pulls);
    const newest = github.state.issues.find((issue) => issue.number === github.state.pulls.at(-1)?.number);
    expect(newest).toMatchObject({ state, body: expect.stringMatching(says) as string });
    expect(newest?.body).not.toMatch(never);
    expect(await scene.commitsOf('ralph/queue')).toContain('First, with a test');
    expect(await scene.run()).toMatchObject({ calls: 0, main: { exitCode: 0 } });
    expect(github.state.pulls).toHaveLength(pulls);
  },
);

deepTest('a commit of a person on the branch between runs is built upon', async () => {
  await using scene = await createScene();
  scene.openIssue('First');
  await scene.run({ inputs: { 'max-iterations': '1' } });
  await commitAsPerson(scene, 'ralph/queue', 'By hand');
  expect(await scene.run()).toMatchObject({ calls: 1, outputs: { outcome: 'complete' } });
  expect(await scene.commitsOf('ralph/queue')).toEqual(['First', 'By hand', 'First, with a test']);
});

// Also tested by loop/faults; the test of two runs at once below covers the push.
deepTest(
  'a commit of a person during the run stays, the commits of the run land on top of it, and verify decides on both',
  async () => {
    await using scene = await createScene();
    scene.openIssue('First');
    await scene.run({ inputs: { 'max-iterations': '1' } });
    const moved = await scene.run({
      agent: [{ kind: 'work' }, { kind: 'work' }],
      when: { text: 'Iteration 1/', act: () => commitAsPerson(scene, 'ralph/queue', 'By hand') },
    });
    expect(moved).toMatchObject({
      main: { exitCode: 0 },
      outputs: { outcome: 'complete', 'tasks-done': '1', 'state-saved': 'true' },
    });
    const line = await scene.testbed.git('log', '--topo-order', '--format=%s', 'main..ralph/queue');
    const merge = 'Merge what others pushed to ralph/queue';
    expect(line.split('\n')).toEqual([merge, 'By hand', 'First, with a test', 'First']);
    expect(scene.pullOf('ralph/queue')).toMatchObject({ draft: false, status: { outcome: 'complete', tasksDone: 1 } });
    expect(await scene.run()).toMatchObject({ calls: 0, main: { exitCode: 0 } });
  },
);

deepTest(
  'a git server that goes down once the commits are pushed: the state is saved, and the next run builds on them',
  async () => {
    await using scene = await createScene();
    const serve = async (is: string): Promise<void> => {
      for (const pack of ['uploadpack', 'receivepack']) await scene.testbed.git('config', `http.${pack}`, is);
    };
    scene.openIssue('First');
    const run = await scene.run({
      inputs: { 'max-iterations': '1' },
      when: { text: 'pushed ', act: () => serve('false') },
    });
    expect(run).toMatchObject({
      main: { exitCode: 0 },
      outputs: {
        outcome: 'limit',
        reason: 'iterations',
        iterations: '1',
        'calls-remaining': '99',
        'state-saved': 'true',
      },
    });
    await serve('true');
    expect(await scene.run()).toMatchObject({ calls: 1, outputs: { outcome: 'complete', 'calls-remaining': '98' } });
    expect(await scene.commitsOf('ralph/queue')).toEqual(['First', 'First, with a test']);
  },
);

// Also tested by loop/post.
deepTest('a pull request that could not be opened is made up for by the next run, without a call', async () => {
  await using scene = await createScene();
  const { rate } = scene.testbed.github.state;
  scene.openIssue('First');
  const run = await scene.run({
    when: {
      text: 'pushed ',
      act: () => {
        rate.remaining = 0;
      },
    },
  });
  expect(run).toMatchObject({
    main: { exitCode: 1 },
    outputs: { outcome: 'failed', reason: 'infrastructure', 'state-saved': 'true', 'pr-number': '' },
  });
  expect(run.summary).toContain('The commits are on ralph/queue, but the pull request is not up to date');
  rate.remaining = 1000;
  expect(await scene.run()).toMatchObject({ calls: 0, outputs: { outcome: 'complete', 'tasks-done': '1' } });
  expect(scene.pullOf('ralph/queue')).toMatchObject({ draft: false });
  expect(scene.commentsOn(1)).toMatchObject([
    { body: expect.stringMatching(/^\*\*This issue:\*\* ✅ done after 2 iterations, commit /m) as string },
  ]);
});

test('two runs at once without a lock: the second to push overwrites nothing and is red; one pull request', async () => {
  await using scene = await createScene();
  scene.openIssue('First');
  // Both runs pass the gate before one of them pushes: the first waits for the second.
  const there: RunningMain[] = [];
  const job: SceneJob = {
    env: { RALPH_PAUSE_MS: '1000' },
    inputs: { 'state-store': 'cache' },
    when: {
      text: 'Iteration 1/',
      act: (main) => {
        main.kill('SIGSTOP');
        there.push(main);
        if (there.length === 2) for (const one of there) one.kill('SIGCONT');
      },
    },
  };
  const outcomes = (await Promise.all([scene.run(job), scene.run(job)])).map(({ outputs }) => outputs.outcome);
  expect(outcomes.sort()).toEqual(['complete', 'failed']);
  expect(await scene.commitsOf('ralph/queue')).toEqual(['First', 'First, with a test']);
  expect(scene.pullOf('ralph/queue').number).toBe(2);
});

// Also tested by attacks/objects and attacks/hang.
deepTest('an agent that breaks the checkout does not keep its work from being published', async () => {
  await using scene = await createScene();
  scene.openIssue('First');
  const broken = {
    '.git/HEAD': 'garbage',
    '.git/config': '[broken',
    '.git/index': 'x',
    '.git/hooks/post-commit': '#!/bin/sh\nexit 1\n',
  };
  expect(await scene.run({ agent: [{ kind: 'work' }, { kind: 'work-and-write', files: broken }] })).toMatchObject({
    outputs: { outcome: 'complete' },
  });
  expect(await scene.commitsOf('ralph/queue')).toEqual(['First', 'First, with a test']);
});

// Also tested by attacks/paths and attacks/secrets.
deepTest('what may not be published is left out, the rest is published, and the pull request says so', async () => {
  await using scene = await createScene();
  scene.openIssue('First');
  const key = ['ghp', '16C7e42F292c6912E7710c838347Ae178B4a'].join('_');
  const run = await scene.run({
    inputs: { 'branch-prefix': 'bot/', draft: 'false', verify: `echo the key is ${KEY}` },
    agent: [
      { kind: 'garbage', text: `The key is ${KEY}.\n` },
      { kind: 'work' },
      {
        kind: 'work-and-write',
        files: {
          '.github/workflows/x.yml': 'on: push\n',
          'src/key.js': `export const key = '${key}';\n`,
          'src/our-key.js': `export const key = '${KEY}';\n`,
        },
      },
    ],
  });
  // A task whose necessary file is withheld is not done, whatever the agent claims.
  expect(run.outputs).toMatchObject({ outcome: 'blocked', 'tasks-done': '0' });
  expect((await scene.testbed.git('ls-tree', '-r', '--name-only', 'bot/queue')).split('\n')).toEqual([
    '.gitignore',
    'README.md',
    'package.json',
    'src/greet.js',
    'src/issue-1.mjs',
    'src/sum.js',
    'test/issue-1.test.mjs',
    'test/sum.test.js',
  ]);
  const pull = scene.pullOf('bot/queue');
  for (const line of [
    '- `.github/workflows/x.yml`: it is a protected path; the setting allow-protected-paths can allow it',
    '- `src/key.js`: it looks like it contains a key (github)',
    '- `src/our-key.js`: it contains the value of a secret of this job',
  ])
    expect(/^### Left out\n\n((?:- .*\n)+)/m.exec(pull.body)?.[1]?.split('\n')).toContain(line);
  expect(pull.body).not.toContain('Closes #1');
  expect(pull).toMatchObject({ draft: false, status: { withheldFiles: 3 } });
  expect(`${run.main.log}${run.summary}${pull.body}`).not.toContain(key);
});

deepTest('what an earlier run left out is named until it is published', async () => {
  await using scene = await createScene();
  scene.openIssue('First');
  const withWorkflow: Behaviour = { kind: 'work-and-write', files: { '.github/workflows/x.yml': 'on: push\n' } };
  const one = { 'max-iterations': '1' };
  await scene.run({ inputs: one, agent: [withWorkflow] });
  await scene.run({ inputs: one, agent: [{ kind: 'idle' }] });
  expect(scene.pullOf('ralph/queue')).toMatchObject({ status: { withheldFiles: 0, change: { leftOut: 1 } } });
  expect(scene.pullOf('ralph/queue').body).toMatch(/### Left out\n\n.*\.github\/workflows\/x\.yml.*protected/);
  await scene.run({ inputs: { 'allow-protected-paths': '.github/workflows/x.yml' }, agent: [withWorkflow] });
  expect(scene.pullOf('ralph/queue')).toMatchObject({ status: { outcome: 'complete', change: { leftOut: 0 } } });
  expect(scene.pullOf('ralph/queue').body).not.toContain('Left out');
});

async function commitAsPerson({ testbed: { git } }: Scene, branch: string, subject: string): Promise<void> {
  const commit = await git(
    '-c',
    'user.name=Ada',
    '-c',
    'user.email=ada@example.com',
    'commit-tree',
    `${branch}^{tree}`,
    '-p',
    branch,
    '-m',
    subject,
  );
  await git('update-ref', `refs/heads/${branch}`, commit);
}

deepTest(
  'links to the log lead to the step where the token may read actions, else to the run; never by an idle run',
  async () => {
    await using scene = await createScene();
    const { permissions, github } = scene.testbed;
    const asked = () => github.requests.filter(({ path }) => path.endsWith('/jobs')).length;
    await scene.run();
    expect(asked()).toBe(0);

    scene.openIssue('Greet');
    const whole = await scene.run({ inputs: { 'max-iterations': '1' } });
    expect(whole.summary).toMatch(/\[log of the run\]\([^)]*\/actions\/runs\/\d+\)/);
    expect(asked()).toBe(1);

    permissions['actions'] = 'read';
    const found = await scene.run();
    const step = /\/actions\/runs\/\d+\/job\/\d+#step:3:1\)/;
    expect(found.summary).toMatch(new RegExp(`\\[log of the run\\]\\([^)]*${step.source}`));
    expect(scene.pullOf('ralph/queue').body).toMatch(new RegExp(`\\[see the log\\]\\([^)]*${step.source}`));
    expect(scene.pullOf('ralph/queue').status.runUrl).toMatch(/\/actions\/runs\/\d+$/);
    expect(asked()).toBe(2);
  },
);

test('once a task is merged, the next run that works leaves the page about what it cost', async () => {
  await using scene = await createScene();
  const { github } = scene.testbed;
  const first = scene.openIssue('Count');
  expect((await scene.run()).outputs['history-path']).toBe('');
  closePull(github.state, scene.pullOf('ralph/queue').number, { kind: 'merged', at: Date.now() });
  Object.assign(first, { state: 'closed' });
  scene.openIssue('Greet');
  const { outputs } = await scene.run();
  expect(outputs['history-path']).toMatch(/\/journal\.jsonl\.history\.html$/);
  const page = await readFile(outputs['history-path'] ?? '', 'utf8');
  expect(page).toContain('<dt>merged tasks</dt><dd>1</dd>');
  expect(page).toContain('Count');
});
