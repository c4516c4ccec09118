import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ACTION_FOLDER, events } from '../../../testbed/testbed.ts';
import { createScene, type Scene } from '../e2e-fixture.ts';
import { deepTest } from '../../runs.ts';
import { runBranches, runGateOfBranches } from '../split-fixture.ts';

const template = readFileSync(join(ACTION_FOLDER, 'templates/workflows/three-jobs.yml'), 'utf8');

/** Opens issues about different files of the sample project, which may be worked on side by side. */
function openTasks(scene: Scene) {
  return ['src/sum.js', 'src/greet.js', 'README.md'].map((path) => scene.openIssue(`Improve ${path}`));
}

const THREE = ['queue', 'issue-2', 'issue-3'];

test('the workflow works on three branches, each with jobs of its own, and a last job sums them up', async () => {
  await using scene = await createScene();
  openTasks(scene);
  const workflow = template.replace(
    /^ {4}# with:\n {4}# {3}verify:.*$/m,
    '    with:\n      settings: |\n        parallel: 3',
  );
  const played = await scene.play({ workflow, event: events.schedule('17 * * * *') });
  if (played.kind !== 'called') throw new Error('It did not call the workflow.');
  expect(Object.keys(played.jobs)).toEqual([
    'gate',
    ...THREE.flatMap((branch) => [`branch (${branch}) / loop`, `branch (${branch}) / publish`]),
    'finish',
  ]);
  expect(Object.values(played.jobs).map((job) => (job === 'skipped' ? job : job.status))).toEqual(
    Array(8).fill('success'),
  );
  expect(played.outputs).toMatchObject({ outcome: 'complete', 'pr-number': '', branch: '' });
  for (const branch of THREE) expect(scene.pullOf(`ralph/${branch}`)).toMatchObject({ draft: false });
  const { finish } = played.jobs;
  if (finish === undefined || finish === 'skipped' || finish.end.kind !== 'ran') throw new Error('It did not sum up.');
  for (const branch of THREE) expect(finish.end.result.summary).toContain(`| \`ralph/${branch}\` | complete`);
  // Nothing is left to do, and nothing starts that costs a minute.
  const idle = await scene.play({ workflow, event: events.schedule('17 * * * *') });
  expect(idle).toMatchObject({ jobs: { branch: 'skipped', finish: 'skipped' }, outputs: { outcome: 'idle' } });
});

test('a killed loop is published as far as it came, and the branches beside it are complete', async () => {
  await using scene = await createScene();
  openTasks(scene);
  const { branches, finish } = await runBranches(scene, {
    inputs: { parallel: '3' },
    loop: (branch) =>
      branch === 'issue-2'
        ? {
            agent: [{ kind: 'hang', ignoreSigterm: false }],
            when: { text: 'Iteration 1/', act: (main) => main.kill('SIGKILL') },
          }
        : {},
  });
  expect(branches['issue-2']?.publish?.outputs).toMatchObject({ outcome: 'cancelled' });
  for (const branch of ['queue', 'issue-3'])
    expect(branches[branch]?.publish?.outputs).toMatchObject({ outcome: 'complete', branch: `ralph/${branch}` });
  expect(finish?.outputs).toMatchObject({ outcome: 'cancelled', 'tasks-done': '2' });
  expect(finish?.main.exitCode).toBe(0);
  // Nothing of the issue was begun, so it is the queue's again.
  const next = await runBranches(scene, { inputs: { parallel: '3' } });
  expect(next.branches['queue']?.publish?.outputs).toMatchObject({ outcome: 'complete', 'tasks-open': '0' });
});

// Also tested by loop/split/lanes.
deepTest('the last job gives back what a machine that is gone still holds', async () => {
  await using scene = await createScene();
  openTasks(scene);
  const { finish } = await runBranches(scene, {
    inputs: { parallel: '3' },
    loop: (branch) => (branch === 'issue-3' ? 'never' : {}),
    unpublished: ['issue-3'],
  });
  expect(finish?.main.log).toContain('The claim on issue #3 is released');
  expect(finish?.outputs).toMatchObject({ outcome: 'failed', 'tasks-done': '2' });
  expect(finish?.summary).toContain('Issue #3: its jobs published nothing');
  const next = await runBranches(scene, { inputs: { parallel: '3' } });
  expect(next.branches['issue-3']?.publish?.outputs).toMatchObject({ outcome: 'complete' });
});

// Also tested by loop/parallel/gate.
deepTest('a budget for one of three gives one branch', async () => {
  await using scene = await createScene();
  openTasks(scene);
  const { branches, finish } = await runBranches(scene, { inputs: { parallel: '3', 'max-iterations': '1' } });
  expect(Object.keys(branches)).toEqual(['queue']);
  expect(finish).toBeNull();
});

test('two schedules at once share no branch', async () => {
  await using scene = await createScene();
  openTasks(scene);
  const inputs = { parallel: '3' };
  const gates = await Promise.all(['5001', '5002'].map((runId) => runGateOfBranches(scene, { inputs }, runId)));
  const named = gates.flatMap(({ outputs }) => JSON.parse(outputs['handoff-branches'] || '[]') as string[]);
  expect(named.length).toBeGreaterThan(0);
  expect(named.toSorted()).toEqual([...new Set(named)].toSorted());
});
