import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { runSchema } from '../../../src/cli/run/run.ts';
import { runStatusSchema } from '../../../src/core/local/status-document.ts';
import { parseBudgetIn, parseSnapshot, parseRecordIn, type Snapshot } from '../../../src/core/snapshot/snapshot.ts';
import { createCheckoutFiles } from '../../../src/wiring/home/checkout-state.ts';
import { addIssue } from '../../../testbed/github/state.ts';
import { now, openForge, TOKEN } from '../github/github-fixture.ts';
import { noOwnMachine, startOwnMachine } from '../../own-machine.ts';
import { processesWith } from '../processes/process-fixture.ts';
import { type HomeRun, personsCheckout } from './home-fixture.ts';

/** Creates a checkout whose repository on GitHub has a labelled issue for each of these files. */
async function checkoutWithIssues(...files: readonly string[]) {
  const scene = await personsCheckout();
  const world = await openForge();
  await mkdir(join(scene.checkout, 'src'));
  for (const file of files) {
    await writeFile(join(scene.checkout, file), 'export {};\n');
    addIssue(
      world.github.state,
      { title: `Extend ${file}`, body: `Change \`${file}\`.`, labels: ['ralph'], author: 'octo' },
      now,
    );
  }
  scene.git('rm', '--quiet', '.ralph/fix_plan.md');
  scene.git('add', '--all');
  scene.git('commit', '--quiet', '--message=Files');
  scene.git('remote', 'add', 'origin', 'git@github.com:octo/demo.git');
  const environment = { GITHUB_TOKEN: TOKEN, GITHUB_API_URL: world.github.url };
  return {
    ...scene,
    start: (args: readonly string[], more: Readonly<Record<string, string>> = {}, around: readonly string[] = []) =>
      scene.start([...args, '--input', 'agent-env=RALPH_PAUSE_MS,RALPH_SCRIPT'], { ...environment, ...more }, around),
    [Symbol.asyncDispose]: async () => {
      await world[Symbol.asyncDispose]();
      await scene[Symbol.asyncDispose]();
    },
  };
}

type Scene = Awaited<ReturnType<typeof checkoutWithIssues>>;

const twoIssues = (): Promise<Scene> => checkoutWithIssues('src/cart.ts', 'src/till.ts');

const json = async (scene: Scene, path: string): Promise<unknown> =>
  JSON.parse(await readFile(join(scene.checkout, path), 'utf8'));

/** Returns the status of the process that works on issue #2. */
const statusBeside = async (scene: Scene) =>
  runStatusSchema.parse(((await json(scene, '.ralph/logs/issue-2/status.json')) as { run: unknown }).run);

const commitsOn = ({ git }: Scene, branch: string): number => Number(git('rev-list', '--count', `main..${branch}`));

/** Returns what is left in the person's cache. */
async function leftIn({ folder }: Scene): Promise<readonly string[]> {
  const homes = join(folder, 'home/.cache/ralph-action/home');
  return (await Promise.all((await readdir(homes)).map((name) => readdir(join(homes, name))))).flat();
}

/** Returns the processes of the checkout's last run, on all of its branches. */
async function processesOf(scene: Scene): Promise<readonly number[]> {
  const claims = (await readdir(join(scene.checkout, '.ralph/state'))).filter((name) => /^run\.\d+\.json$/.test(name));
  const number = Math.max(...claims.map((name) => Number(name.split('.')[1])));
  const { runTag } = (await json(scene, `.ralph/state/run.${String(number)}.json`)) as { runTag: string };
  return ['', ':beside', ':issue-2'].flatMap((lane) => processesWith(`${runTag}${lane}`));
}

/** Settles when both branches are in an iteration. */
const bothWork = (run: HomeRun): Promise<unknown> =>
  Promise.all([run.says('\n▶ Iteration 1'), run.says('#2 │ ▶ Iteration 1')]);

/**
 * Lets each call run a bash script, which knows as `$own` whether it works on the first branch or beside it, and can
 * leave files in `$meet`. `status` null: no call claims to have finished anything.
 */
async function scripted({ folder }: Scene, script: string, status: null | object) {
  const meet = join(folder, 'meet');
  await mkdir(meet);
  const begin = `meet='${meet}'; case "$PWD" in */lanes/*) own=beside;; *) own=first;; esac`;
  const behaviour = { kind: 'shell', script: `${begin}\n${script}\ndate +%N >> $own.txt`, status };
  const file = join(folder, 'script.json');
  await writeFile(file, JSON.stringify(Array.from({ length: 9 }, () => behaviour)));
  return { meet, environment: { RALPH_SCRIPT: file } };
}

/** Returns the snapshot of the checkout's state. */
async function snapshotOf({ checkout }: Scene): Promise<Snapshot> {
  const read = await createCheckoutFiles(checkout).read('snapshot');
  if (read.kind !== 'found') throw new Error('there is no state');
  return parseSnapshot(read.text);
}

/** Returns the lanes that are claimed, and those with a reservation. */
async function heldIn(scene: Scene): Promise<readonly (readonly string[])[]> {
  const snapshot = await snapshotOf(scene);
  const budget = parseBudgetIn(snapshot, Date.now());
  const reserved = budget.kind === 'budget' ? budget.budget.reservations.map(({ lane }) => lane) : ['unknown'];
  const claimed = ['queue', 'issue-2'].filter((lane) => (parseRecordIn(snapshot, lane)?.lease ?? null) !== null);
  return [claimed, reserved];
}

test('--parallel 2 works on two issues at once, each on a branch of its own, and ends once', async () => {
  await using scene = await twoIssues();
  // Each call waits for the other one.
  const { environment } = await scripted(
    scene,
    'touch $meet/$own; until [ -e $meet/first ] && [ -e $meet/beside ]; do sleep 0.1; done',
    {},
  );
  const server = join(scene.folder, 'server.git');
  scene.git('init', '--quiet', '--bare', server);
  scene.git('config', `url.${server}.pushInsteadOf`, 'git@github.com:octo/demo.git');
  const asked = ['--parallel', '2', '--max-iterations', '7', '--push', '--json'];
  const { code, out } = await scene.start(asked, environment).ended;
  expect(code, out).toBe(0);
  expect(out).toContain('Works on 2 branches at once');
  // The iterations of the run are divided.
  expect(out).toMatch(/\n▶ Iteration 1\/4 .*src\/cart\.ts/);
  expect(out).toMatch(/\n#2 │ ▶ Iteration 1\/3 .*src\/till\.ts/);
  const done = { outcome: 'complete', iterations: 1, tasksDone: 1, tasks: 1, tokens: 1500, pushed: true };
  const printed = runSchema.parse(JSON.parse(out.slice(out.indexOf('\n{\n') + 1)));
  expect(printed).toMatchObject({
    ...{ outcome: 'complete', branch: null, head: null, iterations: 2, tasksDone: 2, tasks: 2, tokens: 3000 },
    branches: [
      { ...done, branch: 'ralph/queue', head: scene.git('rev-parse', 'ralph/queue') },
      { ...done, branch: 'ralph/issue-2', head: scene.git('rev-parse', 'ralph/issue-2') },
    ],
  });
  expect(scene.git('diff', '--name-only', 'main', 'ralph/queue')).toBe('first.txt');
  expect(scene.git('diff', '--name-only', 'main', 'ralph/issue-2')).toBe('beside.txt');
  expect(scene.git('status', '--porcelain')).toBe('');
  expect(scene.git('ls-remote', server)).toMatch(/refs\/heads\/ralph\/issue-2\n.*refs\/heads\/ralph\/queue$/);
  expect(await statusBeside(scene)).toMatchObject({ branch: 'ralph/issue-2', doing: 'ended', iteration: 1 });
  expect(await readdir(join(scene.checkout, '.ralph/logs/issue-2'))).toContain('journal.jsonl');
  expect(await heldIn(scene)).toEqual([[], []]);
  expect(await leftIn(scene)).toEqual(['key']);
  expect(await processesOf(scene)).toEqual([]);

  // A finished branch waits for a person to merge it.
  const again = await scene.start([]).ended;
  expect(again.out).not.toContain('▶');
  scene.git('merge', '--quiet', 'ralph/queue');
  scene.git('merge', '--quiet', 'ralph/issue-2');
  expect((await scene.start(['--parallel', '2']).ended).out).not.toContain('▶');
});

test('--dry-run names the branches of --parallel, and why other tasks would wait, and claims nothing', async () => {
  await using scene = await checkoutWithIssues('src/cart.ts', 'src/till.ts', 'src/till.ts');
  const { code, out } = await scene.start(['--dry-run', '--parallel', '2']).ended;
  expect(code, out).toBe(0);
  expect(out).toContain(
    'Works on 2 branches at once, with the files that each probably touches: the queue (src/cart.ts), issue #2 (src/till.ts).',
  );
  expect(out.match(/Issue #3 waits for a later run: it probably touches src\/till\.ts/g)).toHaveLength(1);
  expect(out).toMatch(/^Task: #1: Extend src\/cart\.ts\nBranch: ralph\/queue, from main/m);
  expect(await readdir(scene.checkout)).not.toContain('.ralph');
  const short = await scene.start(['--dry-run', '--parallel', '2', '--max-iterations', '1']).ended;
  expect(short.out).toContain('One branch in this run');
  expect((await scene.start(['--dry-run', '--parallel', '2', '--input', 'max-cost-usd=0.6']).ended).out).toContain(
    'The limits of this run are enough for 1 of 2 branches.',
  );
});

test('Ctrl-C ends each branch after its iteration', async () => {
  await using scene = await twoIssues();
  const { meet, environment } = await scripted(scene, 'until [ -e $meet/go ]; do sleep 0.1; done', null);
  const run = scene.start(['--parallel', '2'], environment);
  await bothWork(run);
  const watch = [join(inject('programs'), 'ralph.mjs'), 'monitor', '--json', '--dir', scene.checkout];
  expect(JSON.parse(execFileSync(process.execPath, watch, { encoding: 'utf8' }))).toMatchObject({
    local: {
      run: { status: { branchId: 'queue', doing: 'agent' }, isAlive: true },
      beside: [
        { status: { branchId: 'issue-2', maxIterations: 5, task: { title: 'Extend src/till.ts' } }, isAlive: true },
      ],
    },
  });
  run.kill('SIGINT');
  await run.says('Press Ctrl-C again to end now');
  await writeFile(join(meet, 'go'), '');
  const { code, out } = await run.ended;
  expect(code, out).toBe(0);
  expect(out.match(/Press Ctrl-C again to end now/g)).toHaveLength(1);
  expect(out).toMatch(/^ralph\/queue: paused .* 1 iteration .*\nralph\/issue-2: paused .* 1 iteration /m);
  expect([commitsOn(scene, 'ralph/queue'), commitsOn(scene, 'ralph/issue-2')]).toEqual([1, 1]);
});

test('Ctrl-C twice ends every branch at once, and leaves no process', async () => {
  await using scene = await twoIssues();
  const run = scene.start(['--parallel', '2'], { RALPH_PAUSE_MS: '30000' });
  await bothWork(run);
  await expect.poll(() => processesOf(scene)).not.toEqual([]);
  run.kill('SIGINT');
  await run.says('Press Ctrl-C again to end now');
  run.kill('SIGINT');
  const { out } = await run.ended;
  expect(out).toMatch(/^ralph\/queue: cancelled .*\nralph\/issue-2: cancelled /m);
  expect(await processesOf(scene)).toEqual([]);
  expect(await leftIn(scene)).toEqual(['key']);
  expect(await heldIn(scene)).toEqual([[], []]);
});

describe('a branch that waits for a machine', () => {
  const asked = ['--parallel', '2', '--max-iterations', '20', '--input', 'max-cost-usd=0'];
  const fiveIssues = (): Promise<Scene> =>
    checkoutWithIssues(...['cart', 'till', 'menu', 'shop', 'door'].map((name) => `src/${name}.ts`));

  test('is worked on once the one before has ended', async () => {
    await using scene = await fiveIssues();
    const { code, out } = await scene.start(asked).ended;
    expect(code, out).toBe(0);
    expect(out).toContain('Works on 3 branches, 2 at once');
    expect(out.indexOf('#3 │ ')).toBeGreaterThan(out.lastIndexOf('#2 │ '));
    expect(out).toMatch(
      /^ralph\/queue: complete .* 3 of 3 .*\nralph\/issue-2: complete .*\nralph\/issue-3: complete /m,
    );
    expect(await heldIn(scene)).toEqual([[], []]);
    expect(await leftIn(scene)).toEqual(['key']);
  });

  test('does not begin after Ctrl-C, and the next run works on it', async () => {
    await using scene = await fiveIssues();
    const { meet, environment } = await scripted(scene, 'until [ -e $meet/go ]; do sleep 0.1; done', null);
    const run = scene.start(asked, environment);
    await bothWork(run);
    run.kill('SIGINT');
    await run.says('Press Ctrl-C again to end now');
    await writeFile(join(meet, 'go'), '');
    const { out } = await run.ended;
    expect(out).not.toContain('#3 │ ');
    expect(out).toMatch(/^ralph\/issue-3: cancelled \(signal\) /m);
    expect(await heldIn(scene)).toEqual([[], []]);
    expect((await scene.start(asked).ended).out).toMatch(/^ralph\/issue-3: complete /m);
  });
});

test('a killed process fails its branch alone, and the next run continues it', async () => {
  await using scene = await twoIssues();
  const run = scene.start(['--parallel', '2'], { RALPH_PAUSE_MS: '3000' });
  await run.says('#2 │ ▶ Iteration 2');
  process.kill((await statusBeside(scene)).pid, 'SIGKILL');
  const { code, out } = await run.ended;
  expect(code, out).toBe(1);
  expect(out).toContain('The process for issue #2 was killed. Its finished iterations are kept on ralph/issue-2.');
  expect(out).toMatch(/^ralph\/issue-2: failed \(infrastructure\) .*\nralph\/queue: complete /m);
  expect(commitsOn(scene, 'ralph/issue-2')).toBe(1);
  // The reservation stays, since nobody knows what the killed call used.
  expect(await heldIn(scene)).toEqual([[], ['issue-2']]);
  expect(await processesOf(scene)).toEqual([]);
  expect(await leftIn(scene)).toEqual(['key']);
  const next = await scene.start(['--parallel', '2']).ended;
  expect(next.code, next.out).toBe(0);
  expect(commitsOn(scene, 'ralph/issue-2')).toBe(2);
});

test('after a SIGKILL of the run its other processes end, and the next run takes over', async () => {
  await using scene = await twoIssues();
  const run = scene.start(['--parallel', '2'], { RALPH_PAUSE_MS: '30000' });
  await bothWork(run);
  run.kill('SIGKILL');
  await run.ended;
  const next = await scene.start(['--parallel', '2']).ended;
  expect(next.code, next.out).toBe(0);
  expect(next.out).toContain('was killed. Its finished iterations are kept');
  expect(next.out).toContain('2 of 2 tasks done');
  expect(await processesOf(scene)).toEqual([]);
  expect(await leftIn(scene)).toEqual(['key']);
});

test('without issues to read there is nothing to do side by side; a single issue is worked on alone', async () => {
  await using scene = await checkoutWithIssues('src/cart.ts');
  const refused = await scene.start(['--parallel', '2'], { GITHUB_TOKEN: '' }).ended;
  expect(refused).toMatchObject({
    code: 2,
    out: expect.stringContaining('--parallel works on labelled issues at once, but they are not read:') as string,
  });
  const { code, out } = await scene.start(['--parallel', '2']).ended;
  expect(code, out).toBe(0);
  expect(out).toContain('1 of 1 task done');
  expect(out).not.toContain('The branches of this run');
});

test.skipIf(noOwnMachine !== null)(
  'at namespace each agent is isolated, and sees the files of no other branch',
  async () => {
    await using scene = await twoIssues();
    await using machine = await startOwnMachine(null);
    const caches = join(scene.folder, 'caches');
    await mkdir(caches);
    const others = `${caches}/ralph-action/home/*`;
    const asked = [
      '--parallel',
      '2',
      '--dir',
      scene.checkout,
      '--isolation',
      'namespace',
      '--input',
      `verify=test -z "$(ls -d ${others}/temp ${others}/key 2>/dev/null)"`,
    ];
    const { code, out } = await scene.start(asked, { XDG_CACHE_HOME: caches }, machine.around).ended;
    expect(code, out).toBe(0);
    expect(out.match(/Isolation: namespace — .*0 processes left/g)).toHaveLength(2);
    expect(out.match(/verify passed/g)?.length).toBeGreaterThan(1);
    expect(out).toMatch(/^ralph\/queue: complete .*\nralph\/issue-2: complete /m);
  },
);
