import { expect, test } from 'vitest';
import { VERIFIED_COMMITS } from '../../../testbed/github/routes-commits.ts';
import { setServerRules } from '../../../testbed/server-rules.ts';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ralph } from '../../unit/cli/fixture.ts';
import { createScene, type Scene } from '../e2e-fixture.ts';
import { deepTest } from '../../runs.ts';
import { runSplit } from '../split-fixture.ts';

/** Expects that every commit of the queue's branch is signed and that nothing else is left of the signing. */
async function expectSigned({ testbed: { git, remote } }: Scene): Promise<void> {
  const verified = (await readFile(join(remote.repositoryFolder, VERIFIED_COMMITS), 'utf8')).split('\n');
  const commits = (await git('rev-list', 'main..ralph/queue')).split('\n');
  expect(commits.filter((id) => !verified.includes(id))).toEqual([]);
  expect(await git('for-each-ref', '--format=%(refname)', 'refs/ralph/v2/unsigned', 'refs/heads')).toBe(
    'refs/heads/main\nrefs/heads/ralph/queue',
  );
  const authors = await git('log', '--format=%an|%cn', 'main..ralph/queue');
  expect(new Set(authors.split('\n'))).toEqual(new Set(['github-actions[bot]|GitHub']));
}

async function createSigningScene(): Promise<Scene> {
  const scene = await createScene();
  await setServerRules(scene.testbed.remote.repositoryFolder, [{ kind: 'signatures' }]);
  for (const title of ['One', 'Two']) scene.openIssue(title);
  return scene;
}

test('a branch that requires signatures gets signed commits, and the next run continues from them', async () => {
  await using scene = await createSigningScene();
  const { git } = scene.testbed;
  const run = await scene.run({ inputs: { 'max-iterations': '3', settings: 'sign-off: true' } });
  expect(run).toMatchObject({ calls: 3, main: { exitCode: 0 }, outputs: { branch: 'ralph/queue', 'tasks-done': '1' } });
  await expectSigned(scene);
  expect(run.outputs['head-sha']).toBe(await git('rev-parse', 'ralph/queue'));
  expect(await git('log', '-1', '--format=%(trailers:only,unfold)', 'ralph/queue')).toMatch(
    /^Ralph-Run: \d+\nRalph-Iteration: 3\nRalph-Task: issue-2\n(?:Co-authored-by: .*\n)?Signed-off-by: ralph-action <ralph-action@users\.noreply\.github\.com>$/,
  );
  const { body, status } = scene.pullOf('ralph/queue');
  for (const id of (await git('rev-list', 'main..ralph/queue')).split('\n').slice(0, 2))
    expect(`${body}${JSON.stringify(status)}`).toContain(id.slice(0, 7));
  expect(await scene.run()).toMatchObject({ calls: 1, outputs: { outcome: 'complete' } });
  await expectSigned(scene);
  expect(await scene.commitsOf('ralph/queue')).toEqual(['One', 'One, with a test', 'Two', 'Two, with a test']);
  const { repositoryFolder } = scene.testbed.remote;
  const clone = join(repositoryFolder, '..', 'clone-to-verify');
  await git('clone', '--quiet', '-c', 'remote.origin.fetch=+refs/ralph/*:refs/ralph/*', repositoryFolder, clone);
  const { code, out } = await ralph(['verify', String(scene.pullOf('ralph/queue').number), '--dir', clone]);
  expect(out).toContain('Good: ');
  expect(code).toBe(0);
});

// Also tested by loop/kill, at every moment.
deepTest.each([
  ['in the middle of an iteration', 'Iteration 2/'],
  ['right after a push', 'pushed '],
])('main is killed %s: post publishes signed commits, each of them once', async (_, text) => {
  await using scene = await createSigningScene();
  await scene.run({
    when: {
      text,
      act: (main) => {
        main.kill('SIGKILL');
      },
    },
  });
  await expectSigned(scene);
  const subjects = await scene.commitsOf('ralph/queue');
  expect(new Set(subjects).size).toBe(subjects.length);
  expect(await scene.run()).toMatchObject({ outputs: { outcome: 'complete' } });
  await expectSigned(scene);
});

// Also tested by loop/refusals.
deepTest('three jobs: only the one that publishes signs', async () => {
  await using scene = await createSigningScene();
  const { publish } = await runSplit(scene);
  expect(publish).toMatchObject({ main: { exitCode: 0 }, outputs: { outcome: 'complete' } });
  await expectSigned(scene);
});

test('sign-commits: false leaves it to the rule: configuration before the first call, named with what helps', async () => {
  await using scene = await createSigningScene();
  const run = await scene.run({ inputs: { settings: 'sign-commits: false' } });
  expect(run).toMatchObject({ calls: 0, outputs: { outcome: 'failed', reason: 'configuration' } });
  expect(run.main.log).toContain('requires signed commits, and not all of these are signed');
  expect(run.main.log).toContain('`sign-commits`');
});
