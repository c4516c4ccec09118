import { expect, test } from 'vitest';
import { parseRecord } from '../../src/core/sharing/lane-record.ts';
import { parseState, type LaneState } from '../../src/core/lane/state.ts';
import { git } from '../../sandbox/git.ts';
import { events } from '../../sandbox/sandbox.ts';
import { createScene, type Run, type Scene } from './e2e-fixture.ts';

/** What a label or comment event gets from GitHub. */
const readOnlyCache = { ACTIONS_CACHE_MODE: 'read' };
const LANE = 'issue-1';
const TRANSCRIPT = `refs/ralph/state/${LANE}-transcript`;

/** The labelled issue, and two runs of one call each; the second as `change` has it. */
async function twice(scene: Scene, change: Readonly<Record<string, string>>): Promise<readonly [Run, Run]> {
  const issue = scene.openIssue('One');
  const job = { inputs: { 'max-iterations': '1' }, agent: [{ kind: 'idle' as const }], env: readOnlyCache };
  const first = await scene.run({ ...job, event: events.labeled(issue) });
  const event = events.comment(scene.sandbox.github, { issue, body: '/ralph run' });
  return [first, await scene.run({ ...job, event, env: { ...readOnlyCache, ...change } })];
}

async function storedState(scene: Scene): Promise<LaneState> {
  const text = await scene.sandbox.git('show', `refs/ralph/state/${LANE}:state.json`);
  const record = parseRecord(text, LANE);
  const parsed = record.kind === 'record' ? parseState(record.record.document ?? '', LANE) : null;
  if (parsed?.kind !== 'state') throw new Error(`No state: ${text}`);
  return parsed.state;
}

test('the conversation of a labelled issue goes on where the cache is read-only, and nobody can read it', async () => {
  await using scene = await createScene();
  const [first, second] = await twice(scene, {});
  expect(first).toMatchObject({ calls: 1, outputs: { 'state-saved': 'true' } });
  expect(second).toMatchObject({ calls: 1, outputs: { 'state-saved': 'true' } });
  expect(second.main.log).toMatch(/session: resumed \([0-9a-f]{8}\)/);
  const { session, transcript } = await storedState(scene);
  expect(await scene.sandbox.git('cat-file', '-s', `${TRANSCRIPT}:transcript`)).toBe(String(transcript?.bytes));
  const stored = await scene.sandbox.git('cat-file', 'blob', `${TRANSCRIPT}:transcript`);
  expect(session).not.toBeNull();
  expect(stored).toMatch(/^RALPHTR/);
  expect(stored).not.toContain(session?.id);
  expect(await scene.sandbox.git('rev-list', '--count', TRANSCRIPT)).toBe('1');
});

test('with another key a new conversation begins, which is one line, and nothing else is lost', async () => {
  await using scene = await createScene();
  const [, second] = await twice(scene, { ANTHROPIC_API_KEY: 'sk-ant-sandbox-another-key' });
  expect(second).toMatchObject({ calls: 1, outputs: { 'state-saved': 'true' } });
  expect(second.main.log.match(/^.*session: .*$/gm)).toEqual([
    expect.stringContaining("session: its transcript does not open with this run's key, so a new one begins"),
  ]);
  expect(second.main.log).toContain('state: restored #1 (ref)');
});

test('a transcript that somebody else put there is not the one that the state names', async () => {
  await using scene = await createScene();
  const issue = scene.openIssue('One');
  const job = { inputs: { 'max-iterations': '1' }, agent: [{ kind: 'idle' as const }], env: readOnlyCache };
  await scene.run({ ...job, event: events.labeled(issue) });
  const { repositoryFolder } = scene.sandbox.remote;
  const blob = await git(repositoryFolder, ['hash-object', '-w', '--stdin'], { input: 'planted' });
  const tree = await git(repositoryFolder, ['mktree'], { input: `100644 blob ${blob}\ttranscript\n` });
  await git(repositoryFolder, [
    'update-ref',
    TRANSCRIPT,
    await git(repositoryFolder, ['commit-tree', tree, '-m', 'x']),
  ]);
  const event = events.comment(scene.sandbox.github, { issue, body: '/ralph run' });
  const second = await scene.run({ ...job, event });
  expect(second.main.log).toContain('session: its transcript is not here, so a new one begins');
  expect(second).toMatchObject({ calls: 1, outputs: { 'state-saved': 'true' } });
});
