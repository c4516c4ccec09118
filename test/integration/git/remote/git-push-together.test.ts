import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openFresh, READ_ONLY_TOKEN, setScene, type Scene } from '../git-fixture.ts';

const BRANCHES = ['ralph/queue', 'ralph/issue-2', 'ralph/issue-3'];

const tips = (scene: Scene) => scene.serverGit('for-each-ref', '--format=%(refname:short)', 'refs/heads/ralph/');
const pushesTo = ({ server }: Scene): number =>
  server.requests.filter(({ method, path }) => method === 'POST' && path.endsWith('git-receive-pack')).length;

/** Pushes the base to all branches at once. */
async function pushAll(scene: Scene, branches = BRANCHES, change: Parameters<Scene['remote']>[0] = {}) {
  await openFresh(scene);
  const base = await scene.serverGit('rev-parse', 'refs/heads/main');
  const remote = scene.remote(change);
  return Promise.all(branches.map((branch) => remote.pushOn({ branch, commit: base, since: base, at: null })));
}

/** Makes the server run this script on each push. */
async function setHook(scene: Scene, name: 'update' | 'pre-receive', script: string): Promise<void> {
  const folder = join(scene.server.repositoryFolder, 'hooks');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

test('branches that are pushed at once take one push', async () => {
  await using scene = await setScene();
  expect(await pushAll(scene)).toEqual(Array(3).fill({ kind: 'pushed' }));
  expect((await tips(scene)).split('\n').toSorted()).toEqual(BRANCHES.toSorted());
  expect(pushesTo(scene)).toBe(1);
});

test.each([
  ['by itself', 'update', 'test "$1" != refs/heads/ralph/issue-2 || { echo "It is protected." >&2; exit 1; }', 2],
  ['with all others', 'pre-receive', 'grep -q ralph/issue-2 && { echo "It is protected." >&2; exit 1; }; exit 0', 4],
] as const)('one that the server refuses %s takes nothing from the others', async (_, hook, script, pushes) => {
  await using scene = await setScene();
  await setHook(scene, hook, script);
  const results = await pushAll(scene);
  expect(results.map(({ kind }) => kind)).toEqual(['pushed', 'refused', 'pushed']);
  expect(JSON.stringify(results[1])).toContain('It is protected.');
  expect((await tips(scene)).split('\n').toSorted()).toEqual(['ralph/issue-3', 'ralph/queue']);
  expect(pushesTo(scene)).toBe(pushes);
});

test('one that somebody else has made meanwhile stays, and the others are pushed', async () => {
  await using scene = await setScene();
  const main = await scene.serverGit('rev-parse', 'refs/heads/main');
  const theirs = await scene.serverGit('commit-tree', `${main}^{tree}`, '-p', main, '-m', 'theirs');
  await scene.serverGit('update-ref', 'refs/heads/ralph/issue-2', theirs);
  expect((await pushAll(scene)).map(({ kind }) => kind)).toEqual(['pushed', 'moved', 'pushed']);
  expect(await scene.serverGit('rev-parse', 'refs/heads/ralph/issue-2')).toBe(theirs);
});

test('a name that is never pushed is left out, and without another one nothing is pushed', async () => {
  await using scene = await setScene();
  expect((await pushAll(scene, ['main', 'ralph/queue', 'ralph/issue-2'])).map(({ kind }) => kind)).toEqual([
    'rejected',
    'pushed',
    'pushed',
  ]);
  expect((await pushAll(scene, ['main', 'feature'])).map(({ kind }) => kind)).toEqual(['rejected', 'rejected']);
  expect(pushesTo(scene)).toBe(1);
});

test('a token that may only read is refused for each, and a server that is away is asked twice for all', async () => {
  await using scene = await setScene();
  const refused = await pushAll(scene, BRANCHES, { token: READ_ONLY_TOKEN });
  expect(refused.map(({ kind }) => kind)).toEqual(Array(3).fill('refused'));
  const base = await scene.serverGit('rev-parse', 'refs/heads/main');
  await scene.server[Symbol.asyncDispose]();
  const remote = scene.remote({ retryAfterMs: 1 });
  const pushed = await Promise.all(
    BRANCHES.map((branch) => remote.pushOn({ branch, commit: base, since: base, at: null })),
  );
  expect(pushed.map(({ kind }) => kind)).toEqual(Array(3).fill('unreachable'));
});
