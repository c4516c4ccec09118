import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { git } from '../../../testbed/git.ts';
import { events } from '../../../testbed/testbed.ts';
import { deepTest } from '../../runs.ts';
import { createScene, type Scene } from '../e2e-fixture.ts';
import { runSplit } from '../split-fixture.ts';

/** Creates a repository whose base branch has this settings file. */
async function sceneWith(rc: string): Promise<Scene> {
  const scene = await createScene();
  const folder = join(scene.testbed.folder, 'person');
  await rm(folder, { recursive: true, force: true });
  await git(scene.testbed.folder, ['clone', '--quiet', scene.testbed.remote.repositoryFolder, folder]);
  await writeFile(join(folder, '.ralphrc'), rc);
  await git(folder, ['add', '--all']);
  await git(folder, ['commit', '--quiet', '-m', 'Settings', '--author', 'Ada <ada@example.com>']);
  await git(folder, ['push', '--quiet', 'origin', 'HEAD']);
  return scene;
}

const RC = 'MAX_CALLS_PER_HOUR=1 # slowly\nGITHUB_TASK_LABEL="todo"\nRALPH_VERBOSE=true\n';
const FOUND = '`.ralphrc`: 2 settings used, 1 has no meaning here (RALPH_VERBOSE).';

// Also tested by ralphs/scheduled and loop/settings.
deepTest(
  'a settings file of another Ralph binds over scheduled runs, and the summary says what of it is used',
  async () => {
    await using scene = await sceneWith(RC);
    scene.openIssue('Count', ['todo']);
    const agent = [
      { kind: 'play', files: { 'a.txt': 'a', '.ralphrc': 'MAX_CALLS_PER_HOUR=50\n' }, message: 'Begun.' } as const,
    ];
    const first = await scene.run({ agent });
    expect(first).toMatchObject({ calls: 1, outputs: { outcome: 'parked', reason: 'calls_per_hour' } });
    expect(first.main.log).toContain(`found: ${FOUND}`);
    expect(first.summary).toContain('### Found from other Ralphs');
    // The agent's own settings are not published, and change nothing.
    expect(await scene.testbed.git('show', 'ralph/queue:.ralphrc')).toBe(RC.trimEnd());
    expect(first.summary).toContain('.ralphrc');
    expect(await scene.run()).toMatchObject({ calls: 0, outputs: { outcome: 'parked' } });
    expect(await scene.run({ env: { RALPH_MAX_CALLS_PER_HOUR: '9' } })).toMatchObject({
      outputs: { outcome: 'complete' },
    });
  },
);

// Also tested by loop/settings and integration/git/git-base-texts.
deepTest('what a person changes on the branch of Ralph alone changes no setting', async () => {
  await using scene = await sceneWith(RC);
  scene.openIssue('Count', ['todo']);
  expect(await scene.run()).toMatchObject({ calls: 1, outputs: { reason: 'calls_per_hour' } });
  const folder = join(scene.testbed.folder, 'person');
  await git(folder, ['fetch', '--quiet', 'origin']);
  await git(folder, ['checkout', '--quiet', 'ralph/queue']);
  await writeFile(join(folder, '.ralphrc'), 'MAX_CALLS_PER_HOUR=50\nGITHUB_TASK_LABEL="todo"\n');
  await git(folder, ['commit', '--quiet', '--all', '-m', 'More', '--author', 'Ada <ada@example.com>']);
  await git(folder, ['push', '--quiet', 'origin', 'HEAD']);
  const second = await scene.run();
  expect(second, second.main.log).toMatchObject({ calls: 0, outputs: { outcome: 'parked', reason: 'calls_per_hour' } });
  expect(second.main.log).toContain(`found: ${FOUND}`);
});

deepTest('three jobs work with what the gate has read', async () => {
  await using scene = await sceneWith(RC);
  const issue = scene.openIssue('Count', ['todo']);
  const { loop, publish } = await runSplit(scene, { event: events.labeled(issue, 'todo') });
  expect(loop?.calls).toBe(1);
  expect(publish).toMatchObject({ outputs: { outcome: 'parked', reason: 'calls_per_hour' } });
});

deepTest('post publishes what a killed main left, under the same settings', async () => {
  await using scene = await sceneWith('GITHUB_TASK_LABEL=todo\n');
  const issue = scene.openIssue('Count', ['todo']);
  const killed = await scene.run({
    event: events.labeled(issue, 'todo'),
    when: {
      text: '::group::Iteration 2',
      act: (main) => {
        main.kill('SIGKILL');
      },
    },
  });
  expect(killed.main.signal).toBe('SIGKILL');
  expect(killed.post.log).not.toContain('cannot work on');
  expect(scene.pullOf(`ralph/issue-${String(issue.number)}`).status).toMatchObject({ outcome: 'cancelled' });
});

test('shell code ends a run before a call, and every line with shell code is named', async () => {
  await using scene = await sceneWith('MAX_CALLS_PER_HOUR=$(nproc)\nif true; then\nfi\n');
  scene.openIssue('Count');
  const run = await scene.run();
  expect(run).toMatchObject({
    calls: 0,
    main: { exitCode: 1 },
    outputs: { outcome: 'failed', reason: 'configuration' },
  });
  for (const line of [1, 2, 3]) expect(run.main.log).toContain(`.ralphrc:${String(line)}: `);
});
