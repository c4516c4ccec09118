import { expect, test } from 'vitest';
import { setServerRules } from '../../../testbed/server-rules.ts';
import { closePull, type StoredPull } from '../../../testbed/github/state.ts';
import { allNotifications, createScene, type Scene } from '../e2e-fixture.ts';

/** A secret that Ralph's own scanner does not know, but GitHub does. */
const KNOWN_TO_GITHUB = 'partner-token 4711';

/** Merges the newest pull request as a person would, without deleting its branch. */
async function merge({ testbed: { github, git } }: Scene): Promise<StoredPull> {
  const pull = github.state.pulls.at(-1);
  if (pull === undefined) throw new Error('There is no pull request.');
  await git('update-ref', 'refs/heads/main', `refs/heads/${pull.head}`);
  closePull(github.state, pull.number, { kind: 'merged', at: Date.now() });
  return pull;
}

test("push protection refuses a file of the first of three tasks: it is left out, the others are done, and one person is notified in GitHub's words", async () => {
  await using scene = await createScene();
  for (const title of ['One', 'Two', 'Three']) scene.openIssue(title);
  await setServerRules(scene.testbed.remote.repositoryFolder, [
    { kind: 'secret', text: KNOWN_TO_GITHUB, namesFile: true },
  ]);
  const leaky = { kind: 'work-and-write', files: { 'src/config.mjs': `// ${KNOWN_TO_GITHUB}\n` } } as const;
  const run = await scene.run({ agent: [leaky, leaky] });
  // Each task takes two calls: the module, then its test.
  expect(run).toMatchObject({ calls: 6, outputs: { 'tasks-done': '2', branch: 'ralph/queue' } });
  const { git } = scene.testbed;
  expect(await git('log', '--format=', '--name-only', 'main..ralph/queue')).not.toContain('config.mjs');
  const words = allNotifications(scene).filter((body) => body.includes('The git server refuses the work on'));
  expect(words).toHaveLength(1);
  expect(words[0]).toContain('Push cannot contain secrets');
  expect(words[0]).toContain('src/config.mjs');
  expect(words[0]).not.toMatch(/exempt|bypass|allow the secret|unblock-secret/i);
  expect(run.main.log).toContain('The git server refused src/config.mjs');

  const later = await scene.run();
  expect(later).toMatchObject({ calls: 0 });
  expect(allNotifications(scene).filter((body) => body.includes('refuses the work on'))).toHaveLength(1);
});

test('a conflicting branch name, and a ruleset that accepts only its own author: no call, one notification, no leftovers; then a branch that may not be deleted', async () => {
  await using scene = await createScene();
  const { git, remote } = scene.testbed;
  const issue = scene.openIssue('One');
  await git('branch', 'ralph', 'main');
  for (let i = 0; i < 2; i += 1) {
    const run = await scene.run();
    expect(run).toMatchObject({ calls: 0, outputs: { outcome: 'failed', reason: 'configuration' } });
    expect(run.main.log).toContain('the branch "ralph" is in the way');
  }
  expect(scene.notificationsOn(issue.number)).toHaveLength(1);
  expect(scene.notificationsOn(issue.number)[0]?.body).toContain('branch-prefix');
  await git('branch', '-D', 'ralph');

  await setServerRules(remote.repositoryFolder, [{ kind: 'author', pattern: '@corp[.]example$' }]);
  const run = await scene.run();
  expect(run).toMatchObject({ calls: 0, outputs: { outcome: 'failed', reason: 'configuration' } });
  expect(run.main.log).toContain("does not accept the author of Ralph's commits");
  expect(await git('for-each-ref', '--format=%(refname)', 'refs/heads')).toBe('refs/heads/main');

  await setServerRules(remote.repositoryFolder, [{ kind: 'deletion' }]);
  for (const title of ['One', 'Two']) {
    if (title === 'Two') scene.openIssue(title);
    const worked = await scene.run();
    expect(worked).toMatchObject({ main: { exitCode: 0 }, outputs: { outcome: 'complete', branch: 'ralph/queue' } });
    await merge(scene);
  }
  expect(await scene.run()).toMatchObject({ calls: 0, main: { exitCode: 0 } });
});
