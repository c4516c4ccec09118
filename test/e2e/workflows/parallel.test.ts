import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseBudget } from '../../../src/core/sharing/budget.ts';
import type { RunningMain } from '../../../testbed/runner.ts';
import { ACTION_FOLDER, events } from '../../../testbed/testbed.ts';
import { createScene, type Scene, type SceneJob } from '../e2e-fixture.ts';
import { deepTest } from '../../runs.ts';
import { type BranchesRun, runBranches, runGateOfBranches } from '../split-fixture.ts';

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

const HANGS = { kind: 'hang', ignoreSigterm: false } as const;
const killed = (text: string) => ({ text, act: (main: RunningMain) => main.kill('SIGKILL') });

/** The end of each branch, on a machine of its own: killed at four moments, or cancelled. */
const LOOPS: Readonly<Record<string, Pick<SceneJob, 'agent' | 'when'>>> = {
  queue: { when: killed('prompt: ') },
  'issue-2': { agent: [HANGS], when: killed('Iteration 1/') },
  'issue-3': { agent: [HANGS], when: { text: 'Iteration 1/', act: (main) => main.cancel() } },
};
const PUBLISHED: Readonly<Record<string, Pick<SceneJob, 'when'>>> = {
  'issue-4': { when: killed('and state #1 with it') },
  'issue-5': { when: killed('pull request #') },
};

test('branches that are killed at any moment or cancelled lose nothing, and the next runs complete all of them', async () => {
  await using scene = await createScene();
  const { testbed } = scene;
  const paths = ['src/a.js', 'src/b.js', 'src/c.js', 'src/d.js', 'src/e.js'];
  await testbed.remote.commitByHand('main', Object.fromEntries(paths.map((path) => [path, '// Nothing yet\n'])));
  for (const path of paths) scene.openIssue(`Improve ${path}`);
  const inputs = { parallel: '5', 'max-open-prs': '0', 'max-iterations': '30' };
  const run = await runBranches(scene, {
    inputs,
    loop: (branch) => LOOPS[branch] ?? {},
    publish: (branch) => PUBLISHED[branch] ?? {},
  });
  const { branches, finish } = run;
  expect(Object.keys(branches)).toEqual(['queue', 'issue-2', 'issue-3', 'issue-4', 'issue-5']);
  const calls = callsIn(run);
  const signals = Object.values(branches).map(({ loop, publish }) => [loop?.main.signal, publish?.main.signal]);
  expect(signals).toEqual([
    ['SIGKILL', null],
    ['SIGKILL', null],
    [null, null],
    [null, 'SIGKILL'],
    [null, 'SIGKILL'],
  ]);
  expect(finish?.main.exitCode).toBe(0);
  expect(finish?.outputs).toMatchObject({ outcome: 'failed', 'tasks-done': '2' });
  expect(finish?.summary).toContain('**Next:** ');
  // The post steps of the killed jobs publish the finished work of two branches.
  const commits = await scene.commitsOf('ralph/issue-4');
  expect(await heldIn(scene)).toEqual({ leases: [], reservations: [] });

  const next = await runBranches(scene, { inputs });
  expect(Object.keys(next.branches)).toEqual(['queue', 'issue-4', 'issue-5']);
  for (const [branch, { publish }] of Object.entries(next.branches)) {
    expect(publish?.outputs).toMatchObject({ outcome: 'complete', 'tasks-open': '0' });
    expect(scene.pullOf(`ralph/${branch}`)).toMatchObject({ draft: false });
  }
  expect(await scene.commitsOf('ralph/issue-4')).toEqual(commits);
  expect(await heldIn(scene)).toEqual({ leases: [], reservations: [] });
  // Each task takes two calls; a call that hangs is not counted as one.
  expect(calls + callsIn(next)).toBe(2 * paths.length);
});

describe('more branches than machines', () => {
  const inputs = {
    parallel: '2',
    'max-open-prs': '0',
    'max-iterations': '40',
    'max-cost-usd': '0',
    'max-tasks-per-pr': '7',
  };

  async function openLongQueue({ openIssue, testbed }: Scene): Promise<void> {
    const paths = Array.from({ length: 7 }, (_, at) => `src/${String(at)}.js`);
    await testbed.remote.commitByHand('main', Object.fromEntries(paths.map((path) => [path, '// Nothing yet\n'])));
    for (const path of paths) openIssue(`Improve ${path}`);
  }

  test('are worked on one after another; those that are killed while they work or wait, or cancelled, lose nothing', async () => {
    await using scene = await createScene();
    await openLongQueue(scene);
    const run = await runBranches(scene, {
      inputs,
      loop: (branch) => (branch === 'issue-4' ? 'never' : (LOOPS[branch === 'queue' ? '' : branch] ?? {})),
      publish: (branch) => (branch === 'issue-4' ? 'never' : {}),
    });
    expect(Object.keys(run.branches)).toEqual(['queue', 'issue-2', 'issue-3', 'issue-4']);
    expect(run.gate.outputs['handoff-parallel']).toBe('2');
    expect(run.gate.main.log).toContain('Works on 4 branches, 2 at once');
    const signals = Object.values(run.branches).map(({ loop }) => loop?.main.signal);
    expect(signals).toEqual([null, 'SIGKILL', null, undefined]);
    expect(run.finish?.outputs).toMatchObject({ 'tasks-done': '4' });
    expect((await heldIn(scene)).leases).toEqual([]);
    const next = await runBranches(scene, { inputs });
    for (const { publish } of Object.values(next.branches))
      expect(publish?.outputs).toMatchObject({ outcome: 'complete' });
    // Each task takes two calls; a call that hangs is not counted as one.
    expect(callsIn(run) + callsIn(next)).toBe(14);
    expect((await heldIn(scene)).leases).toEqual([]);
  });

  test('are not begun without a budget for their tasks', async () => {
    await using scene = await createScene();
    await openLongQueue(scene);
    // $4 are enough for eight calls of the assumed cost, half of them beside the queue.
    const { main, outputs } = await runGateOfBranches(scene, { inputs: { ...inputs, 'max-cost-usd': '4' } }, '5001');
    expect(outputs['handoff-branches']).toBe('["queue","issue-2"]');
    expect(main.log).toContain('The limits of this run are enough for 2 of 4 branches.');
  });
});

function callsIn({ branches }: BranchesRun): number {
  return Object.values(branches).reduce((sum, { loop }) => sum + (loop?.calls ?? 0), 0);
}

/** Returns the lanes that are claimed, and the run tags of reservations. */
async function heldIn({ testbed }: Scene) {
  const read = (path: string): Promise<string> => testbed.git('show', `refs/ralph/v2/state:${path}`);
  const names = (await testbed.git('ls-tree', '--name-only', 'refs/ralph/v2/state', 'lanes/')).split('\n');
  const records = await Promise.all(names.map(async (name) => JSON.parse(await read(name)) as { lease: unknown }));
  const budget = parseBudget(await read('usage.json'), Date.now());
  return {
    leases: names.filter((_, at) => records[at]?.lease !== null),
    reservations: budget.kind === 'budget' ? budget.budget.reservations.map(({ runTag }) => runTag) : 'unreadable',
  };
}

// Also tested by loop/split/lanes.
deepTest('the last job gives back what a machine that is gone still holds', async () => {
  await using scene = await createScene();
  openTasks(scene);
  const { finish } = await runBranches(scene, {
    inputs: { parallel: '3' },
    loop: (branch) => (branch === 'issue-3' ? 'never' : {}),
    publish: (branch) => (branch === 'issue-3' ? 'never' : {}),
  });
  expect(finish?.main.log).toContain('The claim on issue #3 is released');
  expect(finish?.outputs).toMatchObject({ outcome: 'failed', 'tasks-done': '2' });
  expect(finish?.summary).toContain('Issue #3: its jobs published nothing');
  const next = await runBranches(scene, { inputs: { parallel: '3' } });
  expect(next.branches['issue-3']?.publish?.outputs).toMatchObject({ outcome: 'complete' });
});

test('a budget that is enough for one of three gives one branch, which gets all of it', async () => {
  await using scene = await createScene();
  openTasks(scene);
  const inputs = { parallel: '3', 'max-cost-usd': '0.6' };
  const { main, outputs } = await runGateOfBranches(scene, { inputs }, '5001');
  expect(outputs['handoff-branches']).toBe('["queue"]');
  expect(main.log).toContain('The limits of this run are enough for 1 of 3 branches.');
  const budget = parseBudget(await scene.testbed.git('show', 'refs/ralph/v2/state:usage.json'), Date.now());
  expect(budget).toMatchObject({ budget: { reservations: [{ lane: 'queue', costUsd: 0.6 }] } });
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
