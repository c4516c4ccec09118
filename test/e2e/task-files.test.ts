import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { git } from '../../testbed/git.ts';
import { closePull } from '../../testbed/github/state.ts';
import type { Behaviour } from '../../testbed/scripted-agent.ts';
import { writeStatusBlock } from '../../testbed/scripted-work.ts';
import { deepTest } from '../runs.ts';
import { createScene, type Scene } from './e2e-fixture.ts';

const PLAN_PATH = '.ralph/fix_plan.md';
const PRD_PATH = '.ralph/prd.json';
const ARCHIVE_PATH = '.ralph/prd_archive.json';
const BEADS_PATH = '.beads/issues.jsonl';

const plan = (...boxes: readonly [high: string, medium: string, low: string, optional: string]): string =>
  `# Plan\n\n## High Priority\n\n- [${boxes[0]}] Add a cart\n\n## Medium\n\n- [${boxes[1]}] Add a till\n\n## Low\n\n- [${boxes[2]}] Add a bell\n\n## Optional\n\n- [${boxes[3]}] Add a horse\n`;
const bead = (id: string, fields: object): string =>
  `${JSON.stringify({ id, title: `Bead ${id}`, status: 'open', ...fields })}\n`;

/** Commits files (null removes one) to a branch of the remote, as a person does. */
async function lay({ testbed }: Scene, branch: string, files: Readonly<Record<string, string | null>>): Promise<void> {
  const folder = join(testbed.folder, 'person');
  await rm(folder, { recursive: true, force: true });
  await git(testbed.folder, ['clone', '--quiet', '--branch', branch, testbed.remote.repositoryFolder, folder]);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    if (text === null) await rm(join(folder, path));
    else await writeFile(join(folder, path), text);
  }
  await git(folder, ['add', '--all']);
  await git(folder, ['commit', '--quiet', '-m', 'Tasks', '--author', 'Ada <ada@example.com>']);
  await git(folder, ['push', '--quiet', 'origin', branch]);
}

async function sceneWith(files: Readonly<Record<string, string>>): Promise<Scene> {
  const scene = await createScene();
  await lay(scene, 'main', files);
  return scene;
}

/** Returns a file of the lane on the remote, or null if it does not exist. */
function onLane({ testbed }: Scene, path: string): Promise<string | null> {
  return testbed.git('show', `ralph/queue:${path}`).catch(() => null);
}

/** The agent changes some code and these files, and makes the claims of the status block. */
function plays(
  files: Readonly<Record<string, string | null>>,
  claims: { readonly done: number } = { done: 1 },
): Behaviour {
  const block = writeStatusBlock({
    finishes: claims.done > 0,
    exit: false,
    tests: 'NOT_RUN',
    recommendation: 'go on',
  }).replace(/(?<=LOOP: )\d/, String(claims.done));
  return { kind: 'play', files, message: `I worked.\n\n${block}` };
}

describe('task files, over scheduled runs', () => {
  // Also tested by ralphs/scheduled, loop/sources and unit/core/tasks/files.
  deepTest(
    'plan, prd in both forms and beads are worked as one queue by honest agents, in the order of their priorities',
    async () => {
      await using scene = await sceneWith({
        [PLAN_PATH]: plan(' ', ' ', 'x', ' '),
        [PRD_PATH]: JSON.stringify({
          name: 'shop',
          tasks: [{ id: 'T1', title: 'Write terms', status: 'todo', priority: 'high' }],
          userStories: [{ id: 'US-1', title: 'Log in', passes: false, priority: 4 }],
        }),
        [BEADS_PATH]: bead('bd-1', { priority: 4 }) + bead('bd-2', { status: 'closed' }),
      });
      const inputs = { 'task-sources': 'plan,prd,beads', verify: 'npm test' };
      const asked = scene.testbed.github.requests.length;
      const first = await scene.run({ inputs: { ...inputs, 'max-iterations': '4' } });
      expect(first.outputs).toMatchObject({ outcome: 'limit', iterations: '4', 'tasks-done': '4', 'tasks-open': '3' });
      // A queue of files only does not request issues.
      expect(
        scene.testbed.github.requests
          .slice(asked)
          .map(({ path }) => path)
          .filter((path) => /\/issues(\?|$)/.test(path)),
      ).toEqual([]);
      expect(await onLane(scene, PLAN_PATH)).toBe(plan('x', ' ', 'x', ' ').trimEnd());

      const second = await scene.run({ inputs });
      expect(second.outputs).toMatchObject({
        outcome: 'complete',
        reason: 'plan_complete',
        'tasks-done': '7',
        'tasks-open': '0',
      });
      expect(await onLane(scene, PLAN_PATH)).toBe(plan('x', 'x', 'x', ' ').trimEnd());
      expect(JSON.parse((await onLane(scene, ARCHIVE_PATH)) ?? '')).toMatchObject({
        tasks: [{ id: 'T1', status: 'done' }],
        userStories: [{ id: 'US-1', passes: true }],
      });
      expect(JSON.parse((await onLane(scene, PRD_PATH)) ?? '')).toEqual({ name: 'shop', tasks: [], userStories: [] });
      const archived = 'Archive finished tasks and old notes';
      expect(await scene.commitsOf('ralph/queue')).toEqual([
        'Add a cart',
        'Add a cart, with a test',
        'Write terms',
        'Mark prd-T1 as in progress',
        'Write terms, with a test',
        archived,
        'Add a till',
        'Add a till, with a test',
        'Log in',
        'Log in, with a test',
        'Bead bd-1',
        'Bead bd-1, with a test',
        archived,
      ]);
      const pull = scene.pullOf('ralph/queue');
      expect(pull).toMatchObject({ draft: false, status: { outcome: 'complete', tasksDone: 7 } });
      for (const title of ['Add a cart', 'Write terms', 'Add a till', 'Log in', 'Bead bd-1'])
        expect(pull.body).toContain(title);
      expect(await scene.run({ inputs })).toMatchObject({ calls: 0, outputs: { outcome: 'idle', reason: 'all_done' } });
    },
  );

  test('without issues among the sources, no permission for issues is needed', async () => {
    await using scene = await sceneWith({ [PLAN_PATH]: '- [ ] Add a cart\n' });
    delete scene.testbed.permissions.issues;
    const { main, outputs } = await scene.run({ inputs: { 'task-sources': 'plan' } });
    expect(outputs, main.log).toMatchObject({ outcome: 'complete', 'pr-number': '1' });
  });

  // Also tested by loop/plan-tasks.
  deepTest(
    'what the agent claims, deletes, rewords, ticks and adds is reported, and only what holds is done',
    async () => {
      const boxes = (...lines: readonly string[]): string => lines.map((line) => `- ${line}\n`).join('');
      await using scene = await sceneWith({ [PLAN_PATH]: boxes('[ ] Add a cart', '[ ] Add a till', '[ ] Add a bell') });
      const run = await scene.run({
        inputs: { 'max-iterations': '5' },
        agent: [
          plays(
            { 'src/a.mjs': '1', [PLAN_PATH]: boxes('[ ] Add a cart', '[ ] Add a till', '[ ] Add a bell') },
            { done: 3 },
          ),
          plays({ 'src/a.mjs': '2', [PLAN_PATH]: boxes('[x] Add a cart') }),
          plays({ 'src/a.mjs': '3', [PLAN_PATH]: boxes('[ ] Add a big cart', '[ ] Add a till', '[ ] Add a bell') }),
          // The agent ticks another box.
          plays(
            { 'src/a.mjs': '4', [PLAN_PATH]: boxes('[ ] Add a cart', '[x] Add a till', '[ ] Add a bell') },
            { done: 0 },
          ),
          plays({
            'src/a.mjs': '5',
            [PLAN_PATH]: boxes('[x] Add a cart', '[x] Add a till', '[ ] Add a bell', '[ ] Oil the wheels'),
          }),
        ],
      });
      expect(run.outputs).toMatchObject({ outcome: 'limit', iterations: '5', 'tasks-done': '1' });
      const { body, status } = scene.pullOf('ralph/queue');
      expect(body.match(/^- Iteration .*$/gm)?.map((line) => line.replaceAll('\\', ''))).toEqual([
        '- Iteration 1: The agent said that it finished 3 tasks; the task files show 0.',
        '- Iteration 2: The agent deleted 2 open items from the task files.',
        '- Iteration 3: The agent said that it finished 1 task; the task files show 0.',
        '- Iteration 4: The agent deleted 1 open item from the task files.',
      ]);
      // The till was ticked in an iteration for another task, and nothing verified it.
      expect(status.tasks.filter(({ state }) => state === 'done').map(({ title }) => title)).toEqual(['Add a cart']);

      // The agent's temporary wording was never a task of the plan; the box that it added is one.
      const last = await scene.run();
      expect(last.outputs).toMatchObject({ outcome: 'complete', 'tasks-open': '0' });
      expect(scene.pullOf('ralph/queue').status.tasks.map(({ title }) => title)).toEqual([
        'Add a cart',
        'Add a till',
        'Add a bell',
        'Oil the wheels',
      ]);
    },
  );

  // Also tested by loop/plan-tasks.
  deepTest(
    'the last box and a passing verify end the run at once; a failing verify leaves the box unaccepted',
    async () => {
      await using scene = await sceneWith({ [PLAN_PATH]: '- [ ] Add a cart\n' });
      const ticks = plays({ 'src/a.mjs': '1', [PLAN_PATH]: '- [x] Add a cart\n' }, { done: 1 });
      // A command that fails on the base as well would not be held against the task.
      const red = await scene.run({ inputs: { verify: 'test ! -e src/a.mjs', 'max-iterations': '1' }, agent: [ticks] });
      expect(red.outputs).toMatchObject({ outcome: 'limit', 'tasks-done': '0', 'tasks-open': '1' });
      expect(scene.pullOf('ralph/queue')).toMatchObject({ draft: true });
      const green = await scene.run({ inputs: { verify: 'true' }, agent: [plays({}, { done: 1 })] });
      expect(green, green.main.log).toMatchObject({
        calls: 1,
        outputs: { outcome: 'complete', reason: 'plan_complete', 'tasks-done': '1' },
      });
      expect(scene.pullOf('ralph/queue')).toMatchObject({ draft: false });
    },
  );

  // Also tested by loop/sources and loop/plan-tasks.
  deepTest('what people change in the plan while the lane is open counts', async () => {
    await using scene = await sceneWith({ [PLAN_PATH]: '- [ ] Add a cart\n- [ ] Add a till\n- [ ] Add a bell\n' });
    await scene.run({ inputs: { 'max-iterations': '2' } });
    await lay(scene, 'main', { [PLAN_PATH]: '- [ ] Add a bell\n- [ ] Add a horse\n' });
    // Both sides changed the same lines. The agent's merge keeps what was done and leaves out what people removed.
    const merged = plays({ [PLAN_PATH]: '- [x] Add a cart\n- [ ] Add a bell\n- [ ] Add a horse\n' });
    const next = await scene.run({ agent: [merged] });
    expect(next.outputs, next.main.log).toMatchObject({ outcome: 'complete', 'tasks-done': '3' });
    expect(await scene.commitsOf('ralph/queue')).toEqual([
      'Add a cart',
      'Add a cart, with a test',
      'Merge main and resolve the conflicts',
      'Add a bell',
      'Add a bell, with a test',
      'Add a horse',
      'Add a horse, with a test',
    ]);
  });

  deepTest('after a merge the lane begins again with what the plan has open then', async () => {
    await using scene = await sceneWith({
      [PLAN_PATH]: '- [ ] Add a cart\n',
      [PRD_PATH]: '{"tasks":[{"id":"T1","title":"Write terms"}]}',
    });
    expect((await scene.run()).outputs).toMatchObject({ outcome: 'complete', 'tasks-done': '2' });
    closePull(scene.testbed.github.state, scene.pullOf('ralph/queue').number, { kind: 'merged', at: Date.now() });
    await scene.testbed.git('update-ref', 'refs/heads/main', 'refs/heads/ralph/queue');
    await scene.testbed.git('update-ref', '-d', 'refs/heads/ralph/queue');
    expect(await scene.run()).toMatchObject({ calls: 0, outputs: { outcome: 'idle', reason: 'all_done' } });

    await lay(scene, 'main', { [PLAN_PATH]: '- [x] Add a cart\n- [ ] Add a till\n' });
    expect((await scene.run()).outputs).toMatchObject({ outcome: 'complete' });
    expect(await scene.commitsOf('ralph/queue')).toEqual(['Add a till', 'Add a till, with a test']);
    expect(JSON.parse((await onLane(scene, ARCHIVE_PATH)) ?? '')).toMatchObject({ tasks: [{ id: 'T1' }] });
  });

  deepTest('titles and texts that nobody expects are worked, reported and kept as they are written', async () => {
    const written = `\uFEFF# Plan\r\n\r\n- [ ] \u202Eabc --> <!-- x --> \u05D0\u05D1\r\n- [ ] two\r\n  lines\r\n\r\n  ${'long '.repeat(12_000)}\r\n- [ ] same\r\n- [ ] same\r\n`;
    const prd =
      '{ "tasks": [ { "id": "T", "title": "a -->\\n::error::b\\u0000", "zz": 1 }, { "id": "T", "title": "c" } ] }';
    await using scene = await sceneWith({ [PLAN_PATH]: written, [PRD_PATH]: prd });
    const { outputs, main } = await scene.run({ inputs: { 'max-iterations': '20', 'max-tasks-per-pr': '0' } });
    expect(outputs, main.log).toMatchObject({ outcome: 'complete', 'tasks-done': '6' });
    expect(main.log).not.toMatch(/^::error::/m);
    const { body, status } = scene.pullOf('ralph/queue');
    expect(status.tasks.map(({ title }) => title)).toEqual([
      'abc --> \u05D0\u05D1',
      'two lines',
      'same',
      'same',
      'a --> ::error::b',
      'c',
    ]);
    for (const sentence of ['has the same title as line 8', 'the id "T" is already used on line 1'])
      expect(body.replaceAll('\\', '')).toContain(sentence);
    expect(await onLane(scene, PLAN_PATH)).toBe(written.replaceAll('[ ]', '[x]').trimEnd());
    expect(JSON.parse((await onLane(scene, ARCHIVE_PATH)) ?? '')).toMatchObject({ tasks: [{ zz: 1 }, { title: 'c' }] });
  });

  // Also tested by loop/sources and integration/git/git-texts.
  deepTest.each([
    { name: 'malformed', text: '{\n  "tasks": [\n    { "title": "x", }\n', message: '.ralph/prd.json:3:21' },
    {
      name: 'too long',
      text: `{"tasks":[]}${' '.repeat(1024 * 1024)}`,
      message: '.ralph/prd.json is larger than 1 MiB',
    },
    { name: 'with NUL bytes', text: '{"tasks":[]}\0', message: '.ralph/prd.json contains NUL bytes' },
  ])('a prd that is $name is reported, alone and beside others, and stays as it is', async ({ text, message }) => {
    await using scene = await sceneWith({ [PRD_PATH]: text });
    const alone = await scene.run();
    expect(alone).toMatchObject({ calls: 0, outputs: { outcome: 'failed', reason: 'configuration' } });
    expect(alone.main.log).toContain(message);
    scene.openIssue('Count');
    const beside = await scene.run();
    expect(beside).toMatchObject({
      calls: 2,
      outputs: { outcome: 'blocked', reason: 'needs_human', 'tasks-done': '1' },
    });
    expect(scene.pullOf('ralph/queue').body).toContain('.ralph/prd.json');
    expect(await scene.testbed.git('rev-parse', `ralph/queue:${PRD_PATH}`)).toBe(
      await scene.testbed.git('rev-parse', `main:${PRD_PATH}`),
    );
  });

  deepTest('a lane whose state is lost asks for each archived entry once more, and loses none', async () => {
    await using scene = await sceneWith({
      [PRD_PATH]: JSON.stringify(
        {
          userStories: [1, 2].map((number) => ({
            id: `US-${String(number)}`,
            title: `Story ${String(number)}`,
            passes: false,
          })),
        },
        null,
        2,
      ),
    });
    await scene.run({ inputs: { 'max-iterations': '2', 'state-store': 'ref' } });
    await scene.testbed.git('update-ref', '-d', 'refs/ralph/v2/state');
    const next = await scene.run({ inputs: { 'state-store': 'ref', verify: 'npm test' } });
    expect(next, next.main.log).toMatchObject({ calls: 2, outputs: { outcome: 'complete', 'tasks-done': '2' } });
    expect(JSON.parse((await onLane(scene, ARCHIVE_PATH)) ?? '')).toMatchObject({
      userStories: [{ id: 'US-1' }, { id: 'US-2' }],
    });
  });

  deepTest('killed in the middle: post publishes, and the next run continues', async () => {
    await using scene = await sceneWith({
      [PLAN_PATH]: '- [ ] Add a cart\n- [ ] Add a till\n',
      [PRD_PATH]: '{"tasks":[{"id":"T1","title":"Write terms","status":"todo","priority":1}]}',
    });
    const killed = await scene.run({
      agent: [{ kind: 'work' }, { kind: 'work' }, { kind: 'work' }, { kind: 'hang', ignoreSigterm: true }],
      when: {
        text: 'I think for a very long time',
        act: (main) => {
          main.kill('SIGKILL');
        },
      },
    });
    expect(killed.main.signal).toBe('SIGKILL');
    expect(await scene.commitsOf('ralph/queue')).toEqual([
      'Write terms',
      'Mark prd-T1 as in progress',
      'Write terms, with a test',
      'Add a cart',
    ]);
    const next = await scene.run();
    expect(next.outputs, next.main.log).toMatchObject({ outcome: 'complete', 'tasks-done': '3' });
    expect(JSON.parse((await onLane(scene, ARCHIVE_PATH)) ?? '')).toMatchObject({ tasks: [{ id: 'T1' }] });
  });

  deepTest('notes that outgrew their cap are in the archive, and none is lost', async () => {
    await using scene = await sceneWith({ [PLAN_PATH]: '- [ ] Add a cart\n' });
    const notes = Array.from({ length: 200 }, (_, at) => `- Note ${String(at)}: ${'n'.repeat(50)}\n`).join('');
    await scene.run({
      agent: [plays({ 'src/a.mjs': '1', [PLAN_PATH]: '- [x] Add a cart\n', '.ralph/learnings.md': notes })],
    });
    const [kept, archived] = [
      (await onLane(scene, '.ralph/learnings.md')) ?? '',
      (await onLane(scene, '.ralph/learnings_archive.md')) ?? '',
    ];
    expect(kept.length).toBeLessThanOrEqual(2_000);
    for (const line of notes.trimEnd().split('\n')) expect(`${archived}\n${kept}`).toContain(line);
  });

  test('a job without a checkout: with no issues it is idle and says so; if only files have tasks it fails', async () => {
    await using scene = await createScene();
    const idle = await scene.run({ checkout: 'none' });
    expect(idle.outputs).toMatchObject({ outcome: 'idle', reason: 'no_such_label' });
    expect(idle.main.log).toMatch(/^::warning::There is no git checkout in .*Run actions\/checkout/m);
    const files = await scene.run({ checkout: 'none', inputs: { 'task-sources': 'plan' } });
    expect(files.outputs).toMatchObject({ outcome: 'failed', reason: 'configuration' });
    expect(files.main.log).toContain('There is no git checkout in ');
  });
});
