import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isRunning } from '../integration/processes/process-fixture.ts';
import { createScene, type Run, type Scene, type SceneJob } from './e2e-fixture.ts';
import { deepTest, rows } from '../runs.ts';

test("an agent that removes the run's folder in iteration 2: iteration 1 is pushed and reported, and the failure says what happened", async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const run = await scene.run({ agent: [{ kind: 'work' }, { kind: 'remove-run-folder' }] });
  expect(run).toMatchObject({
    calls: 2,
    main: { exitCode: 1 },
    outputs: { outcome: 'failed', reason: 'infrastructure', iterations: '1' },
  });
  expect(annotationOf(run)).toMatch(/The run's own folder .* was removed while it ran/);
  expect(run.main.log.match(/^::warning::The run's record could not be written/gm)).toHaveLength(1);
  expect(await scene.commitsOf('ralph/queue')).toEqual(['Count']);
  expect(scene.pullOf('ralph/queue')).toMatchObject({ draft: true, status: { outcome: 'failed' } });
  expect(run.summary.match(/^## Ralph: .*/gm)).toHaveLength(1);
  expectNoStack(run);
  expect(await scene.run()).toMatchObject({ calls: 1, outputs: { outcome: 'complete' } });
});

test.each<{ name: string; env: Record<string, string>; reason: 'configuration' | 'infrastructure'; message: string }>(
  rows<{ name: string; env: Record<string, string>; reason: 'configuration' | 'infrastructure'; message: string }>(2, [
    {
      name: 'GITHUB_OUTPUT names a missing file',
      env: { GITHUB_OUTPUT: '/nowhere/output' },
      reason: 'infrastructure',
      message: 'GITHUB_OUTPUT is "/nowhere/output": there is no such file',
    },
    {
      name: 'RUNNER_TEMP names a missing folder',
      env: { RUNNER_TEMP: '/nowhere/temp' },
      reason: 'infrastructure',
      message: 'No folder can be made in RUNNER_TEMP, which is "/nowhere/temp": ENOENT',
    },
    {
      name: 'RUNNER_TEMP is not set',
      env: { RUNNER_TEMP: '' },
      reason: 'configuration',
      message: 'RUNNER_TEMP is not set',
    },
  ]),
)(
  '$name: the run fails before anything is done, with one clear error and a summary',
  async ({ env, reason, message }) => {
    await using scene = await createScene();
    scene.openIssue('Count');
    const run = await scene.run({ env });
    expect(run).toMatchObject({ calls: 0, main: { exitCode: 1 } });
    // Without the runner's output file there are no outputs.
    expect(run.outputs).toEqual(
      env['GITHUB_OUTPUT'] === undefined ? expect.objectContaining({ outcome: 'failed', reason }) : {},
    );
    expect(annotationOf(run)).toContain(message);
    expect(run.summary.replaceAll('\\', '')).toContain(message);
    expectNoStack(run);
    expect(scene.testbed.github.state).toMatchObject({ comments: [], reactions: [], pulls: [] });
  },
);

test.each(
  rows(1, [
    { name: 'a full disk', file: '/dev/full' },
    { name: 'a folder that is gone', file: '/nowhere/summary.md' },
  ]),
)(
  'a summary that cannot be written ($name) is reported in one log line, and a good run stays green',
  async ({ file }) => {
    await using scene = await createScene();
    scene.openIssue('Count');
    const run = await scene.run({ env: { GITHUB_STEP_SUMMARY: file } });
    expect(run).toMatchObject({ main: { exitCode: 0 }, outputs: { outcome: 'complete' } });
    expect(run.main.log.match(/^::(warning|error)::.*$/gm)).toEqual([
      expect.stringMatching(
        /^::warning::The job summary could not be written: .+\. Nothing else of this run depends on it\.$/,
      ),
    ]);
    expectNoStack(run);
  },
);

/** Simulates a machine without direct access to the network. */
const DIRECT = { NODE_EXTRA_CA_CERTS: '', SSL_CERT_FILE: '', SSL_CERT_DIR: '', https_proxy: '', no_proxy: '' };

test.each<[string, Readonly<Record<string, string>>, string]>(
  rows<[string, Readonly<Record<string, string>>, string]>(1, [
    ['that nothing can be published', DIRECT, 'complete'],
    // The claim ends with the time limit of the run.
    ['that it does not know whom to trust', { ...DIRECT, NO_PROXY: 'example.org' }, 'refused'],
  ]),
)("SIGKILL after the run's folder was removed: post ends the orphan and says %s", async (_, network, nextRun) => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const pidFile = join(scene.testbed.folder, 'orphan.pid');
  const run = await scene.run({
    env: network,
    agent: [{ kind: 'work' }, { kind: 'hang-with-orphan', pidFile }],
    when: whenItThinks((main) => {
      rmSync(runFolderOf(scene), { recursive: true });
      main.kill('SIGKILL');
    }),
  });
  expect(run.main.signal).toBe('SIGKILL');
  expect(isRunning(Number(readFileSync(pidFile, 'utf8')))).toBe(false);
  expect(run.post.log).toMatch(/^::error::The record of this run in .* is gone or unreadable/m);
  expect(run.summary).toContain('is gone or unreadable');
  expectNoStack(run);
  expect(await scene.run()).toMatchObject({ outputs: { outcome: nextRun } });
});

// Also tested by loop/post.
deepTest.each<{ name: string; given: (scene: Scene) => unknown; message: RegExp }>([
  {
    name: 'a remote that cannot be reached',
    given: ({ testbed }) => testbed.remote[Symbol.asyncDispose](),
    message: /^::error::The commits of this run could not be pushed/m,
  },
  {
    name: 'a machine that cannot publish',
    given: (scene) => {
      occupy(join(runFolderOf(scene), 'push'));
    },
    message: /^::error::The commits of this run could not be pushed to ralph\/queue: EEXIST/m,
  },
])('SIGKILL, and then $name: post reports a failure with the numbers of the work', async ({ given, message }) => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const run = await scene.run({
    agent: [{ kind: 'work' }, { kind: 'hang', ignoreSigterm: false }],
    when: whenItThinks(async (main) => {
      await given(scene);
      main.kill('SIGKILL');
    }),
  });
  expect(run.main.signal).toBe('SIGKILL');
  expect(run.post.log).toMatch(message);
  expect(run.summary.match(/^## Ralph: .*/gm)).toEqual(['## Ralph: Failed: infrastructure; you are needed']);
  // One iteration of the scripted agent: its tokens and its price.
  expect(run.summary).toContain('1.5k');
  expect(run.summary).toContain('$0.01');
  expectNoStack(run);
});

test('SIGKILL, and a record whose work is not readable: post fails loudly, and nothing is thrown', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const run = await scene.run({
    agent: [{ kind: 'hang', ignoreSigterm: false }],
    when: whenItThinks((main) => {
      main.kill('SIGKILL');
      const file = join(runFolderOf(scene), 'run.json');
      const [seal = '', text = ''] = readFileSync(file, 'utf8').split('\n');
      writeFileSync(file, `${seal}\n${JSON.stringify({ ...(JSON.parse(text) as object), work: { lane: {} } })}`);
    }),
  });
  expect(run.post.log).toMatch(/^::error::/m);
  expect(run.summary).toContain('## Ralph: Failed');
  expectNoStack(run);
});

function whenItThinks(act: NonNullable<SceneJob['when']>['act']): NonNullable<SceneJob['when']> {
  return { text: 'I think for a very long time.', act };
}

/** Puts a file in the place of a folder. */
function occupy(path: string): void {
  rmSync(path, { recursive: true, force: true });
  writeFileSync(path, '');
}

/** Returns the action's own folder on the scene's first machine. */
function runFolderOf({ testbed }: Scene): string {
  const temp = join(testbed.folder, 'machine-1', 'temp');
  return join(temp, readdirSync(temp).find((name) => name.startsWith('ralph-run-')) ?? 'none');
}

function annotationOf({ main }: Run): string {
  return main.log.split('\n').findLast((line) => line.startsWith('::error::')) ?? '';
}

function expectNoStack({ main, post }: Run): void {
  expect(main.log + post.log).not.toMatch(/^(?!::debug::).*\bat .*\.js:\d+|^\s+at /m);
}
