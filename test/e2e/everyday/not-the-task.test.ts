import { expect, test } from 'vitest';
import { allNotifications, createScene, type Scene } from '../e2e-fixture.ts';

/** Returns the state and the attempts of each task that the page of the branch shows. */
const tasksOn = ({ pullOf }: Scene, branch = 'ralph/queue') =>
  pullOf(branch).status.tasks.map(({ id, state, attempts }) => ({ id, state, attempts }));

test('a continued conversation that fails is repeated in a new one, in the same iteration', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const crash = { kind: 'exit', code: 1, stderr: 'thinking blocks cannot be modified' } as const;
  const run = await scene.run({ agent: [{ kind: 'work' }, crash] });
  expect(run, run.main.log).toMatchObject({ calls: 3, outputs: { outcome: 'complete', iterations: '2' } });
  expect(tasksOn(scene)).toEqual([{ id: 'issue-1', state: 'done', attempts: 2 }]);
});

test('an agent that crashes three times opens the circuit; no task is blamed, and its words are quoted', async () => {
  await using scene = await createScene();
  for (const title of ['One', 'Two']) scene.openIssue(title);
  const crash = { kind: 'exit', code: 134, stderr: 'FATAL ERROR: heap out of memory' } as const;
  const run = await scene.run({ agent: [crash, crash, crash, crash, crash, crash] });
  expect(run, run.main.log).toMatchObject({ calls: 3, outputs: { outcome: 'halted', reason: 'circuit_open' } });
  expect(run.summary).toContain('heap out of memory');
  const notified = allNotifications(scene);
  expect(notified).toHaveLength(1);
  expect(notified[0]).toContain('heap out of memory');
  expect(await scene.run()).toMatchObject({ calls: 0 });
});

test('a limit that only a person can lift parks the work: one call and one notification over two runs, in the words of the provider', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const text = "You've hit your monthly spend limit · raise it at claude.ai/settings/usage";
  const limited = { kind: 'refused', status: 429, text } as const;
  const first = await scene.run({ agent: [limited, limited] });
  expect(first, first.main.log).toMatchObject({ calls: 1, outputs: { outcome: 'parked', 'tasks-done': '0' } });
  expect(await scene.run({ agent: [limited] })).toMatchObject({ calls: 0, outputs: { outcome: 'parked' } });
  const notified = allNotifications(scene);
  expect(notified).toHaveLength(1);
  expect(notified[0]).toContain('monthly spend limit');
});

test('what a call cost is booked and binds, whatever verify leaves behind it', async () => {
  await using scene = await createScene();
  for (const title of ['One', 'Two', 'Three']) scene.openIssue(title);
  const inputs = {
    verify:
      'rm -rf fetched && git init --quiet fetched && git -C fetched -c user.name=x -c user.email=x@example.com commit --quiet --allow-empty -m x',
    'max-iterations': '1',
    'max-cost-usd-per-day': '0.02',
  };
  const runs = [];
  for (let i = 0; i < 4; i += 1) runs.push(await scene.run({ inputs }));
  expect(runs.map(({ calls, outputs }) => [calls, outputs['cost-usd']])).toEqual([
    [1, '0.0100'],
    [1, '0.0100'],
    [0, '0.0000'],
    [0, '0.0000'],
  ]);
  for (const { main } of runs) expect(main, main.log).toMatchObject({ exitCode: 0 });
  expect(await scene.testbed.git('ls-tree', '-r', '--name-only', 'ralph/queue')).not.toContain('fetched');
});

test('a red base branch costs one call and one notification over three runs; once it is repaired, everything is done', async () => {
  await using scene = await createScene();
  const { git } = scene.testbed;
  scene.openIssue('Count');
  const inputs = { verify: 'test -f repaired || { echo the suite is red >&2; exit 3; }' };
  const runs = [await scene.run({ inputs }), await scene.run({ inputs }), await scene.run({ inputs })];
  expect(runs.map(({ calls }) => calls)).toEqual([1, 0, 0]);
  for (const run of runs) expect(run).toMatchObject({ outputs: { outcome: 'blocked', 'tasks-done': '0' } });
  const notified = allNotifications(scene);
  expect(notified).toHaveLength(1);
  expect(notified[0]).toContain('main');

  await git('read-tree', 'main');
  await git('update-index', '--add', '--cacheinfo', `100644,${await git('rev-parse', 'main:README.md')},repaired`);
  const repaired = await git('commit-tree', await git('write-tree'), '-p', 'main', '-m', 'Repair');
  await git('update-ref', 'refs/heads/main', repaired);
  const run = await scene.run({ inputs });
  expect(run, run.main.log).toMatchObject({ outputs: { outcome: 'complete', 'tasks-done': '1' } });
  await git('merge-base', '--is-ancestor', repaired, 'ralph/queue');
});

test('a protected path in finished work waits for a person, who is notified once, until the setting allows it; the queue continues', async () => {
  await using scene = await createScene();
  for (const title of ['One', 'Two']) scene.openIssue(title);
  const touching = { kind: 'work-and-write', files: { '.github/workflows/own.yml': 'on: push\n' } } as const;
  const run = await scene.run({ agent: [{ kind: 'work' }, touching] });
  expect(run, run.main.log).toMatchObject({ calls: 4, outputs: { 'tasks-done': '1' } });
  expect(await scene.testbed.git('ls-tree', '-r', '--name-only', 'ralph/queue')).not.toContain('own.yml');
  expect(scene.pullOf('ralph/queue').body).toContain('.github/workflows/own.yml');
  const notified = allNotifications(scene).filter((body) => body.includes('own.yml'));
  expect(notified).toHaveLength(1);
  expect(await scene.run()).toMatchObject({ calls: 0 });
  // Once the setting allows the file, the next run continues without a command.
  const allowed = await scene.run({
    agent: [{ kind: 'work' }, touching],
    inputs: { 'allow-protected-paths': '.github/workflows/own.yml' },
  });
  expect(allowed, allowed.main.log).toMatchObject({ outputs: { outcome: 'complete', 'tasks-done': '2' } });
  expect(await scene.testbed.git('ls-tree', '-r', '--name-only', 'ralph/queue')).toContain('own.yml');
});

test('a variable of the job that verify needs and does not get is named before the first call', async () => {
  await using scene = await createScene();
  scene.openIssue('Count');
  const run = await scene.run({ inputs: { verify: 'test "$FROM_SETUP" = yes' }, env: { FROM_SETUP: 'yes' } });
  expect(run, run.main.log).toMatchObject({ calls: 0, outputs: { outcome: 'failed', reason: 'configuration' } });
  expect(run.summary).toMatch(/FROM_SETUP.*set in this job and withheld from.*agent-env/);
});
