import { expect, test } from 'vitest';
import { parseState, type LaneState } from '../../src/core/lane/state/state.ts';
import { parseRecord } from '../../src/core/sharing/lane-record.ts';
import { git } from '../../testbed/git.ts';
import { events } from '../../testbed/testbed.ts';
import { deepTest } from '../runs.ts';
import { createScene, type Run, type Scene } from './e2e-fixture.ts';

/** GitHub gives this to label and comment events. */
const readOnlyCache = { ACTIONS_CACHE_MODE: 'read' };
const LANE = 'issue-1';
const STATE = 'refs/ralph/v2/state';
const TRANSCRIPT = `refs/ralph/v2/conversations/${LANE}`;
const tokenOfNoCache = { ACTIONS_RUNTIME_TOKEN: '' };

// Also tested by everyday/issues-and-comments.
deepTest('the state survives where the cache may not be written', async () => {
  await using scene = await createScene();
  scene.openIssue('One');
  const first = await scene.run({ inputs: { 'max-iterations': '1' }, agent: [{ kind: 'idle' }], env: readOnlyCache });
  expect(first.outputs).toMatchObject({ outcome: 'limit', 'state-saved': 'true' });
  expect(first.main.log).toMatch(/state: none yet \(first run\) … saved #1 \(cache ✗: .*read-only.*, ref ✓\)/);
  const second = await scene.run({ env: readOnlyCache });
  expect(second.main.log).toContain('state: restored #1 (ref)');
});

// Also tested by unit/state/snapshot-copies.
deepTest('both places keep it; the ref decides, and what it lost is said', async () => {
  await using scene = await createScene();
  scene.openIssue('One');
  await scene.run({ inputs: { 'max-iterations': '1' }, agent: [{ kind: 'idle' }] });
  await scene.run({ inputs: { 'max-iterations': '1' }, agent: [{ kind: 'idle' }], env: tokenOfNoCache });
  const third = await scene.run();
  expect(third.main.log).toMatch(/state: restored #2 \(ref\) … saved #5 \(cache ✓ ref ✓\)/);
  await scene.testbed.git('update-ref', '-d', STATE);
  const fourth = await scene.run();
  expect(fourth.main.log).not.toContain('state: restored');
  expect(fourth.summary).toContain('The cache has #\u200B5 of this state and the ref has none');
});

// Also tested by workflows/template and loop/two-runs.
deepTest('two runs at once on one lane: one works, the other is refused before it spends anything', async () => {
  await using scene = await createScene();
  scene.openIssue('One');
  let second: Promise<Run> | null = null;
  const first = await scene.run({
    agent: [{ kind: 'work' }],
    env: { RALPH_PAUSE_MS: '2500' },
    when: {
      text: 'Iteration 1/',
      act: () => {
        second = scene.run();
      },
    },
  });
  const other = await (second as Promise<Run> | null);
  expect(first).toMatchObject({ calls: 2, outputs: { outcome: 'complete' } });
  expect(other).toMatchObject({
    calls: 0,
    main: { exitCode: 0 },
    outputs: { outcome: 'refused', reason: 'another_run' },
  });
  expect(other?.main.log).toMatch(/Another run is working on the queue: http.*\/actions\/runs\/1001/);
});

deepTest('two lanes at once both work, and limits hold over both', async () => {
  await using scene = await createScene();
  scene.openIssue('Of the queue');
  const inputs = { 'max-calls-per-hour': '3', 'max-iterations': '2' };
  let second: Promise<Run> | null = null;
  const first = await scene.run({
    inputs,
    agent: [{ kind: 'idle' }, { kind: 'idle' }],
    env: { RALPH_PAUSE_MS: '1500' },
    when: {
      text: 'Iteration 1/',
      act: () => {
        second = scene.run({
          inputs,
          event: events.labeled(scene.openIssue('On its own')),
          agent: [{ kind: 'idle' }, { kind: 'idle' }],
          env: { RALPH_PAUSE_MS: '0' },
        });
      },
    },
  });
  const other = await (second as Promise<Run> | null);
  expect([first.calls, other?.calls]).toEqual([2, 1]);
  expect(other?.outputs).toMatchObject({ outcome: 'parked', reason: 'calls_per_hour', 'calls-remaining': '0' });
  expect(await scene.run({ inputs })).toMatchObject({
    calls: 0,
    outputs: { outcome: 'parked', reason: 'calls_per_hour' },
  });
});

// Also tested by everyday/lifecycle, loop/people/orders and loop/two-runs.
deepTest.each(['pause', 'reset session', 'reset circuit'] as const)(
  '/ralph %s is kept, acknowledged, obeyed by the next run and remembered with who asked',
  async (command) => {
    await using scene = await createScene();
    const issue = scene.openIssue('One');
    await scene.run({ inputs: { 'max-iterations': '1' }, agent: [{ kind: 'work-without-block' }] });
    const answer = await giveCommand(scene, issue.number, `/ralph ${command}`);
    expect(answer).toMatchObject({ calls: 0, outputs: { outcome: 'idle', reason: 'answered' } });
    const status = scene.commentsOn(issue.number).find(({ body }) => body.includes('Status of the queue'));
    expect(status?.body).toContain('octo');
    const next = await scene.run();
    if (command === 'pause') {
      expect(next).toMatchObject({ calls: 0, outputs: { outcome: 'paused', reason: 'by_person' } });
      await giveCommand(scene, issue.number, '/ralph resume');
      expect(await scene.run()).toMatchObject({ calls: 1, outputs: { outcome: 'complete' } });
    } else expect(next.outputs.outcome).toBe('complete');
    expect(await scene.testbed.git('show', `${STATE}:lanes/queue.json`)).toContain('by octo (comment)');
  },
);

// Also tested by events, with every command as a dispatch.
deepTest('a dispatch commands the queue; a word that is no command is an error before anything is spent', async () => {
  await using scene = await createScene();
  scene.openIssue('One');
  expect(await scene.run({ event: events.dispatch(), inputs: { command: 'pause' } })).toMatchObject({
    calls: 0,
    outputs: { outcome: 'idle', reason: 'answered' },
  });
  expect(await scene.run()).toMatchObject({ calls: 0, outputs: { outcome: 'paused' } });
  expect(await scene.run({ event: events.dispatch(), inputs: { command: 'resmue' } })).toMatchObject({
    calls: 0,
    main: { exitCode: 1 },
    outputs: { outcome: 'failed', reason: 'configuration' },
  });
  expect(await scene.run({ event: events.dispatch(), inputs: { command: 'resume' } })).toMatchObject({ calls: 0 });
  expect(await scene.run()).toMatchObject({ outputs: { outcome: 'complete' } });
});

// Also tested by loop/faults.
deepTest('a state of a newer version is refused and not overwritten', async () => {
  await using scene = await createScene();
  scene.openIssue('One');
  await scene.run({ inputs: { 'max-iterations': '1' }, agent: [{ kind: 'idle' }] });
  const blob = await scene.testbed.git('rev-parse', STATE);
  await putRecord(scene, (record) => ({ ...record, version: 9 }));
  const newer = await scene.testbed.git('rev-parse', STATE);
  expect(newer).not.toBe(blob);
  const run = await scene.run();
  expect(run).toMatchObject({
    calls: 0,
    main: { exitCode: 1 },
    outputs: { outcome: 'failed', reason: 'configuration' },
  });
  expect(run.main.log).toMatch(/written by a newer version of this action \(version 9\)/);
  expect(await scene.testbed.git('rev-parse', STATE)).toBe(newer);
});

// Also tested by attacks/state.
deepTest(
  'the conversation of a labelled issue continues where the cache is read-only, and nobody can read it',
  async () => {
    await using scene = await createScene();
    const [first, second] = await twice(scene, {});
    expect(first).toMatchObject({ calls: 1, outputs: { 'state-saved': 'true' } });
    expect(second).toMatchObject({ calls: 1, outputs: { 'state-saved': 'true' } });
    expect(second.main.log).toMatch(/session: resumed \([0-9a-f]{8}\)/);
    const { session, transcript } = await storedState(scene);
    expect(await scene.testbed.git('cat-file', '-s', `${TRANSCRIPT}:transcript`)).toBe(String(transcript?.bytes));
    const stored = await scene.testbed.git('cat-file', 'blob', `${TRANSCRIPT}:transcript`);
    expect(session).not.toBeNull();
    expect(stored).toMatch(/^RALPHTR/);
    expect(stored).not.toContain(session?.id);
    expect(await scene.testbed.git('rev-list', '--count', TRANSCRIPT)).toBe('1');
  },
);

deepTest('with another key a new conversation begins, which is one line, and nothing else is lost', async () => {
  await using scene = await createScene();
  const [, second] = await twice(scene, { ANTHROPIC_API_KEY: 'sk-ant-sandbox-another-key' });
  expect(second).toMatchObject({ calls: 1, outputs: { 'state-saved': 'true' } });
  expect(second.main.log.match(/^.*session: .*$/gm)).toEqual([
    expect.stringContaining("session: its transcript cannot be decrypted with this run's key, so a new one starts"),
  ]);
  expect(second.main.log).toContain('state: restored #1 (ref)');
});

test('a transcript planted by somebody else is not the one that the state names', async () => {
  await using scene = await createScene();
  const issue = scene.openIssue('One');
  const job = { inputs: { 'max-iterations': '1' }, agent: [{ kind: 'idle' as const }], env: readOnlyCache };
  await scene.run({ ...job, event: events.labeled(issue) });
  const { repositoryFolder } = scene.testbed.remote;
  const blob = await git(repositoryFolder, ['hash-object', '-w', '--stdin'], { input: 'planted' });
  const tree = await git(repositoryFolder, ['mktree'], { input: `100644 blob ${blob}\ttranscript\n` });
  await git(repositoryFolder, [
    'update-ref',
    TRANSCRIPT,
    await git(repositoryFolder, ['commit-tree', tree, '-m', 'x']),
  ]);
  const event = events.comment(scene.testbed.github, { issue, body: '/ralph run' });
  const second = await scene.run({ ...job, event });
  expect(second.main.log).toContain('session: its transcript is not here, so a new one starts');
  expect(second).toMatchObject({ calls: 1, outputs: { 'state-saved': 'true' } });
});

/** Labels an issue and makes two runs of one call each; the second with the environment in `change`. */
async function twice(scene: Scene, change: Readonly<Record<string, string>>): Promise<readonly [Run, Run]> {
  const issue = scene.openIssue('One');
  const job = { inputs: { 'max-iterations': '1' }, agent: [{ kind: 'idle' as const }], env: readOnlyCache };
  const first = await scene.run({ ...job, event: events.labeled(issue) });
  const event = events.comment(scene.testbed.github, { issue, body: '/ralph run' });
  return [first, await scene.run({ ...job, event, env: { ...readOnlyCache, ...change } })];
}

async function storedState(scene: Scene): Promise<LaneState> {
  const text = await scene.testbed.git('show', `${STATE}:lanes/${LANE}.json`);
  const record = parseRecord(text, LANE);
  const parsed = record.kind === 'record' ? parseState(record.record.document ?? '', LANE) : null;
  if (parsed?.kind !== 'state') throw new Error(`No state: ${text}`);
  return parsed.state;
}

async function giveCommand(scene: Scene, number: number, body: string): Promise<Run> {
  const issue = scene.testbed.github.state.issues.find((found) => found.number === number);
  if (issue === undefined) throw new Error(`There is no issue ${String(number)}.`);
  return scene.run({ event: events.comment(scene.testbed.github, { issue, body }), env: readOnlyCache });
}

async function putRecord(
  scene: Scene,
  change: (record: Record<string, unknown>) => Record<string, unknown>,
): Promise<void> {
  const record = JSON.parse(await scene.testbed.git('show', `${STATE}:lanes/queue.json`)) as Record<string, unknown>;
  const { repositoryFolder } = scene.testbed.remote;
  const blob = await git(repositoryFolder, ['hash-object', '-w', '--stdin'], { input: JSON.stringify(change(record)) });
  const lanes = await git(repositoryFolder, ['mktree'], { input: `100644 blob ${blob}\tqueue.json\n` });
  const files = await scene.testbed.git('ls-tree', STATE);
  const input = `${files.replace(/tree \w+\tlanes$/m, `tree ${lanes}\tlanes`)}\n`;
  const tree = await git(repositoryFolder, ['mktree'], { input });
  const commit = await git(repositoryFolder, ['commit-tree', tree, '-m', 'changed']);
  await git(repositoryFolder, ['update-ref', STATE, commit]);
}
