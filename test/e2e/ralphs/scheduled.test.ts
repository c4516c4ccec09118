import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { git } from '../../../testbed/git.ts';
import { events } from '../../../testbed/testbed.ts';
import type { HeardCall } from '../../../testbed/scripted-agent.ts';
import { layRalph, type Ralph } from '../../ralphs.ts';
import { deepTest, rows } from '../../runs.ts';
import { createScene, type Scene, type ScenePerformance } from '../e2e-fixture.ts';

// These tests use repositories as other Ralphs set them up, unchanged except for the added workflow of the template.

const TEMPLATE = readFileSync(new URL('../../../templates/workflows/ralph.yml', import.meta.url), 'utf8');

/** Returns the template with some inputs, as a person adds them. */
function workflowWith(inputs: Readonly<Record<string, string>>): string {
  const lines = Object.entries(inputs).map(([name, value]) => `          ${name}: ${value}\n`);
  return TEMPLATE.replace(/(?<=^ +anthropic-api-key: .*\n)/m, lines.join(''));
}

/** Creates a repository on GitHub as the other Ralph left it. */
function moveIn(ralph: Ralph): Promise<Scene> {
  return createScene({
    fill: async (remote) => {
      const seed = await mkdtemp(join(dirname(remote.repositoryFolder), 'seed-'));
      await layRalph(ralph, seed);
      await remote.importFrom(seed);
      await rm(seed, { recursive: true, force: true });
    },
  });
}

interface Ended {
  /** The end of the run, such as `complete (plan_complete), 2 calls`. */
  readonly end: string;
  readonly outputs: Readonly<Record<string, string>>;
  readonly log: string;
  readonly summary: string;
  /** The calls of the agent in this run, with their prompts. */
  readonly heard: readonly HeardCall[];
}

async function run(
  scene: Scene,
  { workflow = TEMPLATE, event = events.schedule(), agent = [] }: Partial<ScenePerformance> = {},
): Promise<Ended> {
  const heardIn = join(scene.testbed.folder, 'heard.jsonl');
  await writeFile(heardIn, '');
  const played = await scene.play({ workflow, event, agent, heardIn });
  if (played.kind !== 'ran') throw new Error(`The job did not run: ${played.kind}`);
  const { main, outputs, summary } = played.result;
  const heard = (await readFile(heardIn, 'utf8')).split('\n').filter(Boolean);
  return {
    end: `${outputs['outcome'] ?? main.log} (${outputs['reason'] ?? ''}), ${String(played.calls)} calls`,
    outputs,
    log: main.log,
    summary: asRead(summary),
    heard: heard.map((line) => JSON.parse(line) as HeardCall),
  };
}

/** Returns Markdown without the escapes that prevent external text from acting as markup. */
function asRead(markdown: string): string {
  return markdown
    .replace(/&#x([0-9a-f]+);/gi, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)))
    .replace(/\\([_*~`|<>[\]])/g, '$1');
}

/** Returns the value of an option of the agent's CLI, or null if it was not given. */
function option({ args }: HeardCall, name: string): string | null {
  const at = args.indexOf(name);
  return at === -1 ? null : (args[at + 1] ?? null);
}

/** Returns the titles of the tasks of the calls, each once. */
function titlesIn(heard: readonly HeardCall[]): readonly string[] {
  const titles = heard.map(
    ({ prompt }) => /^<<<<< BEGIN TASK-\d+\n(?:\(.+\)\n\n)?(.+)$/m.exec(prompt)?.[1] ?? 'no task',
  );
  return titles.filter((title, at) => title !== titles[at - 1]);
}

/** Returns a file of the lane on the remote, or null if it does not exist. */
function onLane({ testbed }: Scene, path: string): Promise<string | null> {
  return testbed.git('show', `ralph/queue:${path}`).catch(() => null);
}

interface Entry {
  readonly id: string;
  readonly status?: string;
  readonly passes?: boolean;
  readonly owner?: string;
}

/** Returns the entries of a prd on the lane and in the archive beside it, by id. */
async function entriesOnLane(scene: Scene, path: string): Promise<ReadonlyMap<string, Entry>> {
  const texts = await Promise.all([path, join(dirname(path), 'prd_archive.json')].map((file) => onLane(scene, file)));
  return new Map(
    texts.flatMap((text) => {
      const { tasks = [], userStories = [] } = JSON.parse(text ?? '{}') as Record<string, Entry[] | undefined>;
      return [...tasks, ...userStories].map((entry) => [entry.id, entry] as const);
    }),
  );
}

/** Commits a change of a file to main, as a person does. */
async function change({ testbed }: Scene, path: string, edit: (text: string) => string): Promise<void> {
  const folder = join(testbed.folder, 'person');
  await rm(folder, { recursive: true, force: true });
  await git(testbed.folder, ['clone', '--quiet', testbed.remote.repositoryFolder, folder]);
  await mkdir(dirname(join(folder, path)), { recursive: true });
  const text = await readFile(join(folder, path), 'utf8').catch(() => '');
  await writeFile(join(folder, path), edit(text));
  await git(folder, ['add', '--all', '--force']);
  await git(folder, ['commit', '--quiet', '-m', 'Change', '--author', 'Ada <ada@example.com>']);
  await git(folder, ['push', '--quiet', 'origin', 'main']);
}

describe('three scheduled runs, after adding only the workflow', () => {
  test('ralph-claude-code: its plan in order, its prompt, its limits; optional items do not keep it from completing', async () => {
    await using scene = await moveIn('ralph-claude-code');
    const workflow = workflowWith({ 'max-iterations': '2' });

    const first = await run(scene, { workflow });
    expect(first.end, first.log).toBe('limit (iterations), 2 calls');
    expect(titlesIn(first.heard)).toEqual(['Greet several people at once']);
    // The setting is MAX_CALLS_PER_HOUR=40.
    // Two boxes were ticked before; those under Optional and Someday (OPTIONAL_SECTIONS) are not required.
    expect(first.outputs).toMatchObject({ 'calls-remaining': '38', 'tasks-done': '3', 'tasks-open': '1' });
    expect(first.log).toContain('prompt: .ralph/PROMPT.md');
    for (const { prompt } of first.heard) {
      expect(prompt).toContain('Greetings stay polite');
      expect(prompt).toContain('---RALPH_STATUS---');
    }
    // The tools are those of ALLOWED_TOOLS in the CLI's syntax.
    const tools = first.heard.map((call) => option(call, '--allowedTools') ?? '');
    for (const allowed of tools) {
      expect(allowed).toContain('Bash(git tag:*)');
      expect(allowed).not.toContain('Grep');
    }
    // The run does not resume the other Ralph's conversation, only its own.
    expect(first.heard.map((call) => option(call, '--resume') !== null)).toEqual([false, true]);
    expect(JSON.stringify(first.heard)).not.toContain('0b0f9a52');

    // The findings are reported, one line for each file.
    for (const text of [first.log, first.summary]) {
      expect(text).toMatch(/\.ralphrc.*\d+ settings used, \d+ have no meaning here \(.*RALPH_VERBOSE/);
      expect(text).toContain('.claude_session_id');
      expect(text).toContain('.circuit_breaker_state');
    }

    const second = await run(scene, { workflow });
    expect(second.end, second.log).toBe('complete (plan_complete), 2 calls');
    expect(titlesIn(second.heard)).toEqual(['Say goodbye']);
    expect(second.outputs).toMatchObject({ 'calls-remaining': '36', circuit: 'closed', 'tasks-open': '0' });
    expect(await onLane(scene, '.ralph/fix_plan.md')).toMatch(
      /- \[x\] Greet several people at once\n[^]*- \[x\] Say goodbye\n[^]*- \[ \] Greet in Latin\n[^]*- \[ \] Greet by voice\n/,
    );
    expect(scene.pullOf('ralph/queue')).toMatchObject({ draft: false, status: { outcome: 'complete', tasksDone: 4 } });

    expect((await run(scene, { workflow })).end).toBe('idle (all_done), 0 calls');
    // The other Ralph's files are unchanged.
    for (const path of ['.ralphrc', '.ralph/.circuit_breaker_state', '.ralph/status.json', '.ralph/.claude_session_id'])
      expect(await onLane(scene, path)).toBe(await scene.testbed.git('show', `main:${path}`));
  });

  test('bmalph: its hourly limit parks, its gates verify, and an input comes before its file', async () => {
    await using scene = await moveIn('bmalph');

    const first = await run(scene);
    expect(first.end, first.log).toBe('parked (calls_per_hour), 3 calls');
    expect(titlesIn(first.heard)).toEqual([
      'Story 1.2: Turn umlauts into two letters',
      'Story 2.1: Cut at sixty characters',
    ]);
    expect(first.log).toContain('prompt: .ralph/PROMPT.md');
    expect(first.heard[0]?.prompt).toContain('Addresses stay stable');
    expect(first.heard[0] && option(first.heard[0], '--allowedTools')).toMatch(/(^|,)Bash(,|$)/);
    // The setting is SESSION_CONTINUITY=false.
    expect(first.heard.map((call) => option(call, '--resume'))).toEqual([null, null, null]);
    // TEST_COMMAND and QUALITY_GATES are separate commands.
    for (const command of ['npm test', 'npm run lint', 'node --check test/slug.test.mjs'])
      expect(first.log).toContain(command);
    expect(scene.pullOf('ralph/queue')).toMatchObject({ draft: true, status: { tests: 'passing', tasksDone: 2 } });
    for (const text of [first.log, first.summary]) {
      expect(text).toMatch(/\.ralph\/\.ralphrc.*\d+ settings used, \d+ have no meaning here \(.*WRITE_TIMEOUT_MINUTES/);
      expect(text).toContain('.claude_session_id');
    }

    const second = await run(scene);
    expect(second.end, second.log).toBe('parked (calls_per_hour), 0 calls');

    const third = await run(scene, { workflow: workflowWith({ 'max-calls-per-hour': '50' }) });
    expect(third.end, third.log).toBe('complete (plan_complete), 1 calls');
    expect(third.outputs).toMatchObject({ 'calls-remaining': '46', 'tasks-done': '3', 'tasks-open': '0' });
    expect(await onLane(scene, '.ralph/@fix_plan.md')).toMatch(/- \[x\] Story 1\.2[^]*- \[x\] Story 2\.1/);
    expect(scene.pullOf('ralph/queue')).toMatchObject({ draft: false, status: { tests: 'passing' } });
  });

  test('the Go Ralph: its steps, its marker, the states of its tasks; failed tasks wait for a person', async () => {
    await using scene = await moveIn('go-ralph');
    scene.openIssue('Say which file is missing', []);

    const first = await run(scene);
    expect(first.end, first.log).toBe('blocked (needs_human), 4 calls');
    expect(titlesIn(first.heard)).toEqual(['Read from standard input', 'Say which file is missing']);
    // The set-up ran before, so each iteration has one agent step.
    for (const call of first.heard) {
      expect(call.prompt).toContain('Keep to plain sh');
      expect(call.prompt).not.toContain('This is your first run');
      expect(option(call, '--model')).toBe('sonnet');
    }
    for (const step of ['implement', 'index', 'unit-tests', 'update-docs']) expect(first.log).toContain(step);
    // Files written by a command are part of the work.
    const listed = await onLane(scene, 'INDEX.txt');
    expect(listed?.split('\n')).toHaveLength(2);
    const after = await entriesOnLane(scene, '.ralph/prd.json');
    expect([...after].map(([id, { status }]) => `${id} ${status ?? ''}`).sort()).toEqual([
      'T000 done',
      'T001 done',
      'T002 failed',
      'T003 done',
      'T004 done',
    ]);
    expect(after.get('T003')?.owner).toBe('ann');
    expect(scene.pullOf('ralph/queue').body).toContain('Closes #1');
    for (const text of [first.log, first.summary]) expect(text).toContain('.ralph/config.json');

    const second = await run(scene);
    expect(second.end, second.log).toBe('blocked (needs_human), 0 calls');
    expect(second.log).toContain('/ralph retry');

    const third = await run(scene, { event: events.dispatch('retry') });
    expect(third.end, third.log).toBe('complete (plan_complete), 2 calls');
    expect(titlesIn(third.heard)).toEqual(['Count characters']);
    expect((await entriesOnLane(scene, '.ralph/prd.json')).get('T002')?.status).toBe('done');
    expect((await run(scene)).end).toBe('idle (all_done), 0 calls');
  });

  test('the early bash version: its plan and prompt at the root; its old end marker does not count', async () => {
    await using scene = await moveIn('early-bash');
    const workflow = workflowWith({ 'max-iterations': '2' });

    const first = await run(scene, { workflow });
    expect(first.end, first.log).toBe('limit (iterations), 2 calls');
    expect(first.log).toContain('prompt: PROMPT.md');
    expect(first.heard[0]?.prompt).toContain('never Math.random');
    expect(titlesIn(first.heard)).toEqual(['Roll one die']);
    for (const text of [first.log, first.summary]) {
      expect(text).toContain('@fix_plan.md');
      expect(text).toContain('.circuit_breaker_state');
    }

    const second = await run(scene, { workflow });
    expect(second.end, second.log).toBe('limit (iterations), 2 calls');
    expect(titlesIn(second.heard)).toEqual(['Roll several dice']);
    const third = await run(scene, { workflow });
    expect(third.end, third.log).toBe('complete (plan_complete), 2 calls');
    expect(titlesIn(third.heard)).toEqual(['Add the dice up']);
    expect(await onLane(scene, '@fix_plan.md')).not.toContain('[ ]');
    expect(await scene.commitsOf('ralph/queue')).toEqual([
      'Roll one die',
      'Roll one die, with a test',
      'Roll several dice',
      'Roll several dice, with a test',
      'Add the dice up',
      'Add the dice up, with a test',
    ]);
  });

  test('snarktank/ralph: its stories by priority, with its own prompt and notes, passes written back', async () => {
    await using scene = await moveIn('snarktank');
    const workflow = workflowWith({ 'max-iterations': '2' });

    const first = await run(scene, { workflow });
    expect(first.end, first.log).toBe('limit (iterations), 2 calls');
    expect(titlesIn(first.heard)).toEqual(['Sort a shelf']);
    for (const { prompt } of first.heard) {
      expect(prompt).toContain('titles are never changed');
      expect(prompt).toContain('Functions never change what they are given');
    }
    for (const text of [first.log, first.summary]) expect(text).toContain('scripts/ralph/prd.json');
    expect((await entriesOnLane(scene, 'scripts/ralph/prd.json')).get('US-002')?.passes).toBe(true);

    const second = await run(scene, { workflow });
    expect(second.end, second.log).toBe('complete (plan_complete), 2 calls');
    expect(titlesIn(second.heard)).toEqual(['Sort backwards']);
    expect(second.outputs).toMatchObject({ 'tasks-open': '0' });
    const stories = [...(await entriesOnLane(scene, 'scripts/ralph/prd.json')).values()];
    expect(stories.map(({ passes }) => passes)).toEqual([true, true, true]);
    expect(scene.pullOf('ralph/queue')).toMatchObject({ draft: false, status: { outcome: 'complete' } });
    expect((await run(scene, { workflow })).end).toBe('idle (all_done), 0 calls');
  });
});

describe('a circuit that another Ralph left open', () => {
  const left: readonly (readonly [Ralph, string])[] = [
    ['ralph-claude-code', '.ralph/.circuit_breaker_state'],
    ['early-bash', '.circuit_breaker_state'],
  ];
  test.each(rows(1, left))('of %s is honoured once', async (ralph, path) => {
    await using scene = await moveIn(ralph);
    const first = await run(scene, { agent: [{ kind: 'idle' }] });
    // The cooldown is over: the run makes one probe, and not the three iterations of a closed circuit.
    expect(first.end, first.log).toBe('halted (circuit_open), 1 calls');
    expect(first.outputs).toMatchObject({ circuit: 'open' });
    expect(first.log).toContain(path);

    await run(scene, { event: events.dispatch('reset circuit') });
    const third = await run(scene, { agent: [{ kind: 'idle' }], workflow: workflowWith({ 'max-iterations': '3' }) });
    expect(third.end, third.log).toBe('limit (iterations), 3 calls');
    expect(third.outputs).toMatchObject({ circuit: 'closed' });
  });

  // Also tested by loop/others/lists and integration/home/ralph-run.
  deepTest('a moment ago: no call until its cooldown is over or somebody resets it', async () => {
    await using scene = await moveIn('ralph-claude-code');
    await change(scene, '.ralph/.circuit_breaker_state', (text) =>
      text.replaceAll(/2026-10-30T[\d:+]+/g, new Date(Date.now() - 60_000).toISOString()),
    );
    const first = await run(scene);
    expect(first.end, first.log).toMatch(/, 0 calls$/);
    expect(first.outputs).toMatchObject({ circuit: 'open' });
    expect(Date.parse(first.outputs['resume-at'] ?? '')).toBeGreaterThan(Date.now() + 25 * 60_000);

    const reset = await run(scene, { event: events.dispatch('reset circuit') });
    expect(reset.log).toContain('Circuit closed.');
    const next = await run(scene, { workflow: workflowWith({ 'max-iterations': '1' }) });
    expect(next.end, next.log).toBe('limit (iterations), 1 calls');
    expect(next.outputs).toMatchObject({ circuit: 'closed' });
  });
});
