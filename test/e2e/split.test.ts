import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { events } from '../../testbed/testbed.ts';
import { createScene, type Scene } from './e2e-fixture.ts';
import { startReceiver } from './outward/receiver.ts';
import { runSplit } from './split-fixture.ts';
import { decodeSpans } from '../otlp.ts';
import { deepTest, rows } from '../runs.ts';

deepTest('the conversation goes on from one split run to the next', async () => {
  await using scene = await createScene();
  scene.openIssue('Greet');
  const first = await runSplit(scene, { inputs: { 'max-iterations': '1' } });
  expect(first.publish?.outputs).toMatchObject({ outcome: 'limit', 'state-saved': 'true' });
  const second = await runSplit(scene);
  expect(second.loop?.main.log).toContain('session: resumed');
  expect(second.publish?.outputs).toMatchObject({ outcome: 'complete', branch: 'ralph/queue' });
  expect(await scene.commitsOf('ralph/queue')).toHaveLength(2);
});

test('killed in its second call, the job of the loop has handed over what was finished; the lane is free for the next run', async () => {
  await using scene = await createScene();
  await using receiver = await startReceiver();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.origin };
  scene.openIssue('One');
  scene.openIssue('Two');
  const { loop, publish } = await runSplit(scene, {
    agent: [{ kind: 'work' }, { kind: 'work' }, { kind: 'hang', ignoreSigterm: false }],
    loop: {
      env,
      when: {
        text: 'Iteration 3/',
        act: (main) => {
          main.kill('SIGKILL');
        },
      },
    },
    publish: { env },
  });
  expect(loop?.main.signal).toBe('SIGKILL');
  expect(publish?.outputs).toMatchObject({ outcome: 'cancelled', 'tasks-done': '1', iterations: '2' });
  const spans = receiver.traces().flatMap(({ body }) => decodeSpans(body));
  const iteration = ['ralph iteration', 'invoke_agent claude'];
  expect(spans.map(({ name }) => name)).toEqual(['ralph run', 'ralph publish', ...iteration, ...iteration]);
  expect(await scene.commitsOf('ralph/queue')).toHaveLength(2);
  expect(await runSplit(scene)).toMatchObject({ publish: { outputs: { outcome: 'complete', 'tasks-done': '2' } } });
});

// Also tested by loop/split/jobs.
deepTest(
  'the job that publishes, killed while it works: its post gives the lane back, and what it pushed counts',
  async () => {
    await using scene = await createScene();
    const issue = scene.openIssue('Greet');
    const { publish } = await runSplit(scene, {
      event: events.labeled(issue),
      publish: {
        when: {
          text: 'pushed ',
          act: (main) => {
            main.kill('SIGKILL');
          },
        },
      },
    });
    expect(publish?.main.signal).toBe('SIGKILL');
    expect(await scene.commitsOf('ralph/issue-1')).toHaveLength(2);
    expect(publish?.post.log).toContain('labels of #1: +ralph:done');
    // The next run waits for no lease, and has no reason for a call.
    const next = await runSplit(scene);
    expect([next.gate.main.exitCode, next.loop?.calls ?? 0]).toEqual([0, 0]);
    expect(issue.labels).toContain('ralph:done');
  },
);

test('a commit of a person while the loop works is merged by the job that publishes, and verified by the next run', async () => {
  await using scene = await createScene();
  scene.openIssue('Greet');
  const { git } = scene.testbed;
  const commit = async () => {
    const by = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
    const made = await git(...by, 'commit-tree', 'main^{tree}', '-p', 'ralph/queue', '-m', 'By hand');
    await git('update-ref', 'refs/heads/ralph/queue', made);
  };
  const inputs = { verify: 'test -f README.md' };
  const { publish } = await runSplit(scene, { inputs, loop: { when: { text: 'Iteration 1/', act: commit } } });
  expect(publish).toMatchObject({ main: { exitCode: 0 }, outputs: { outcome: 'limit', reason: 'unverified' } });
  expect(publish?.outputs['tasks-done']).toBe('0');
  expect(scene.pullOf('ralph/queue')).toMatchObject({ draft: true });
  const names = 'Merge what others pushed to ralph/queue';
  expect(await git('log', '-1', '--format=%s', 'ralph/queue')).toBe(names);
  expect(await git('log', '-1', '--format=%s', 'ralph/queue^2')).toBe('By hand');
  const next = await runSplit(scene, { inputs });
  expect(next).toMatchObject({ loop: { calls: 0 }, publish: { outputs: { outcome: 'complete', 'tasks-done': '1' } } });
  expect(scene.pullOf('ralph/queue')).toMatchObject({ draft: false });
});

test("without the gate's hand-over, or with a wrong one, neither job does anything", async () => {
  await using scene = await createScene();
  scene.openIssue('Greet');
  const other = { 'handoff-digest': 'f'.repeat(64), 'handoff-path': join(scene.testbed.folder, 'nothing') };
  for (const phase of ['loop', 'publish']) {
    const run = await scene.run({ inputs: { ...other, phase } });
    expect(run).toMatchObject({ calls: 0, main: { exitCode: 1 }, outputs: { outcome: 'failed' } });
    expect(run.main.log).toContain('The hand-over of the gate is missing');
  }
  const unset = await scene.run({ inputs: { phase: 'publish' } });
  expect(unset.main.log).toContain('handoff-digest: "" is empty: with `phase: publish` give it the output');
});

/** Puts a commit of `make` into the bundle that the loop left, and names it as the work in the parcel. */
function forge(scene: Scene, folder: string, make: (git: (...args: readonly string[]) => string) => string): void {
  const bare = scene.testbed.remote.repositoryFolder;
  const bundle = join(folder, 'commits.bundle');
  const identity = ['-c', 'user.name=agent', '-c', 'user.email=agent@example.com'];
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-C', bare, ...identity, ...args], { encoding: 'utf8' }).trim();
  const commit = make(git);
  git('update-ref', 'refs/heads/published', commit);
  git('bundle', 'create', '--quiet', bundle, 'refs/heads/published', '^main');
  git('update-ref', '-d', 'refs/heads/published');
  const path = join(folder, 'work.json');
  const parcel = JSON.parse(readFileSync(path, 'utf8')) as { work: { head: string }; commits: object };
  const content = readFileSync(bundle);
  const sha256 = createHash('sha256').update(content).digest('hex');
  parcel.work.head = commit;
  parcel.commits = { sha256, bytes: content.length };
  writeFileSync(path, JSON.stringify(parcel));
}

test.each<[string, (git: (...args: readonly string[]) => string) => string]>(
  rows<[string, (git: (...args: readonly string[]) => string) => string]>(1, [
    [
      'a workflow',
      (git) => {
        const blob = git('hash-object', '-w', '/etc/hostname');
        git('read-tree', 'main');
        git('update-index', '--add', '--cacheinfo', `100644,${blob},.github/workflows/evil.yml`);
        return git('commit-tree', git('write-tree'), '-p', 'main', '-m', 'evil');
      },
    ],
    ['a history of its own', (git) => git('commit-tree', 'main^{tree}', '-m', 'evil')],
    ['a message that skips CI', (git) => git('commit-tree', 'main^{tree}', '-p', 'main', '-m', 'evil [skip ci]')],
  ]),
)('commits planted in the job of the loop are not pushed: %s', async (_, make) => {
  await using scene = await createScene();
  scene.openIssue('Greet');
  const { publish } = await runSplit(scene, {
    beforePublish: (folder) => {
      forge(scene, folder, make);
      return Promise.resolve();
    },
  });
  expect(publish?.outputs).toMatchObject({ outcome: 'failed', reason: 'infrastructure', 'tasks-done': '0' });
  expect(await scene.testbed.git('for-each-ref', '--format=%(refname)', 'refs/heads')).toBe('refs/heads/main');
  expect(scene.testbed.github.state.pulls).toEqual([]);
});

// Also tested by loop/split/jobs.
deepTest('a job of the loop that left nothing: the run is published as failed, and the next one works', async () => {
  await using scene = await createScene();
  const issue = scene.openIssue('Greet');
  const { publish } = await runSplit(scene, {
    event: events.labeled(issue),
    beforePublish: (folder) => rm(folder, { recursive: true }),
  });
  expect(publish?.outputs).toMatchObject({ outcome: 'failed', branch: 'ralph/issue-1' });
  const [status] = scene.commentsOn(issue.number);
  expect(status?.body).toContain('left no work that can be published');
  expect(await runSplit(scene, { event: events.labeled(issue) })).toMatchObject({
    publish: { outputs: { outcome: 'complete' } },
  });
});
