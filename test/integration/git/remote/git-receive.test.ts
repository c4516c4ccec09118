import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BRANCH, iterate, openFresh, runGit, setScene, type Scene } from '../git-fixture.ts';

/** Runs the loop here and hands the work to a job on another machine, which has only the bundle. */
async function handedOver(agent: (scene: Scene) => Promise<unknown>, task = 'issue-1') {
  const here = await setScene();
  const { head: since, fork, base } = await openFresh(here);
  const { committed } = await iterate(here, () => agent(here), here.repository, { 'Ralph-Task': task });
  const path = join(await mkdtemp(join(tmpdir(), 'ralph-bundle-')), 'commits.bundle');
  await here.repository.bundle({ path, since });
  // The server is shared, but the work folder with the quarantine is another.
  const workFolder = await mkdtemp(join(tmpdir(), 'ralph-publishing-'));
  const remote = here.remote({ workFolder, quarantineFolder: join(workFolder, 'git', 'quarantine') });
  return { here, remote, since, fork, base, path, head: committed.head };
}

test('commits come from a bundle alone, are measured, inspected and pushed', async () => {
  const { here, remote, since, fork, base, path, head } = await handedOver((scene) =>
    scene.write('a.txt', 'one\ntwo\n'),
  );
  await using scene = here;
  const received = await remote.receive({ fork, base, since, bundle: { path, commit: head }, names: [] });
  expect(received).toMatchObject({ kind: 'received', review: { lines: 2 }, made: { 'issue-1': head } });
  expect(await remote.push({ branch: BRANCH, commit: head, since, start: { kind: 'fresh' } })).toEqual({
    kind: 'pushed',
  });
  expect(await scene.serverGit('show', `${BRANCH}:a.txt`)).toBe('one\ntwo');
});

test('what says that it resolves a conflict, and merges nothing, does not count as done for it', async () => {
  const { here, remote, since, fork, base, path, head } = await handedOver(
    (scene) => scene.write('a.txt', 'one\n'),
    'conflict-base',
  );
  await using scene = here;
  const received = await remote.receive({ fork, base, since, bundle: { path, commit: head }, names: [] });
  expect(received).toMatchObject({ kind: 'received', made: {} });
  expect(await scene.serverGit('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
});

test('a branch that continues is measured from where it left its base, also without new commits', async () => {
  const { here, remote, since, fork, base, path, head } = await handedOver((scene) => scene.write('a.txt', 'one\n'));
  await using scene = here;
  await remote.receive({ fork, base, since, bundle: { path, commit: head }, names: [] });
  await remote.push({ branch: BRANCH, commit: head, since, start: { kind: 'fresh' } });
  // Main moves on, so the branch is no longer at its tip.
  const main = await scene.serverGit('commit-tree', 'main^{tree}', '-p', 'main', '-m', 'later');
  await scene.serverGit('update-ref', 'refs/heads/main', main);
  const received = await remote.receive({ fork, base, since: head, bundle: null, names: [] });
  expect(received).toMatchObject({ kind: 'received', review: { lines: 1 }, made: {} });
});

test.each<[string, (path: string, head: string) => Promise<{ path?: string; commit?: string }>, RegExp]>([
  [
    'no bundle',
    async (path) => {
      await writeFile(path, 'not a bundle');
      return {};
    },
    /cannot be read/,
  ],
  [
    'a bundle that was cut off',
    async (path) => {
      const whole = await readFile(path);
      await writeFile(path, whole.subarray(0, whole.length - 30));
      return {};
    },
    /cannot be read/,
  ],
  ['another commit than was said', () => Promise.resolve({ commit: 'a'.repeat(40) }), /end at/],
  ['a file that is not there', (path) => Promise.resolve({ path: `${path}.gone` }), /cannot be read/],
])('%s is refused, with the reason', async (_, change, why) => {
  const { here, remote, since, fork, base, path, head } = await handedOver((scene) => scene.write('a.txt', 'one\n'));
  await using scene = here;
  const bundle = { path, commit: head, ...(await change(path, head)) };
  expect(await remote.receive({ fork, base, since, bundle, names: [] })).toMatchObject({
    kind: 'refused',
    why: expect.stringMatching(why),
  });
  expect(await scene.serverGit('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
});

/** Forges a bundle as an agent with git can: `make` returns the commit, made on `since`. */
async function forged(scene: Scene, path: string, make: () => Promise<string>): Promise<string> {
  const commit = await make();
  await scene.git('update-ref', 'refs/heads/published', commit);
  await runGit(scene.folder, ['bundle', 'create', '--quiet', path, 'refs/heads/published', '^main']);
  return commit;
}

test('an object that is not well formed does not get in', async () => {
  const { here, remote, since, fork, base, path } = await handedOver((scene) => scene.write('a.txt', 'one\n'));
  await using scene = here;
  const commit = await forged(scene, path, async () => {
    // A folder with a name that no tree may have: after a checkout, it would be a git directory.
    const empty = Buffer.from('4b825dc642cb6eb9a060e54bf8d69288fbee4904', 'hex');
    const tree = execFileSync('git', ['hash-object', '-t', 'tree', '-w', '--stdin', '--literally'], {
      cwd: scene.folder,
      input: Buffer.concat([Buffer.from('40000 .git\0'), empty]),
    });
    await scene.git('hash-object', '-t', 'tree', '-w', '/dev/null');
    return await scene.git('commit-tree', tree.toString().trim(), '-p', since, '-m', 'evil');
  });
  expect(await remote.receive({ fork, base, since, bundle: { path, commit }, names: [] })).toMatchObject({
    kind: 'refused',
    why: expect.stringMatching(/not well formed.*\.git/s),
  });
});

/** The author of this program's own commits. */
const OURS = {
  GIT_AUTHOR_NAME: 'ralph',
  GIT_AUTHOR_EMAIL: 'ralph@example.com',
  GIT_COMMITTER_NAME: 'ralph',
  GIT_COMMITTER_EMAIL: 'ralph@example.com',
};

test('well-formed commits in our name are inspected like any others before the push', async () => {
  const { here, remote, since, fork, base, path } = await handedOver((scene) => scene.write('a.txt', 'one\n'));
  await using scene = here;
  const commit = await forged(scene, path, async () => {
    await scene.write('.github/workflows/evil.yml', 'on: push\n');
    const index = join(scene.workFolder, 'evil-index');
    const git = (...args: readonly string[]) => runGit(scene.folder, args, { ...OURS, GIT_INDEX_FILE: index });
    await git('read-tree', since);
    await git('add', '--force', '.github/workflows/evil.yml');
    return await git('commit-tree', await git('write-tree'), '-p', since, '-m', 'Add a feature');
  });
  const bundle = { path, commit };
  expect(await remote.receive({ fork, base, since, bundle, names: [] })).toMatchObject({ kind: 'received' });
  expect(await remote.push({ branch: BRANCH, commit, since, start: { kind: 'fresh' } })).toMatchObject({
    kind: 'rejected',
    why: expect.stringContaining('.github/workflows/evil.yml'),
  });
});

test.each<[string, Readonly<Record<string, string>>, string, RegExp]>([
  ['in the name of somebody else', { ...OURS, GIT_AUTHOR_NAME: 'Ada' }, 'Add a feature', /author/],
  ['committed by somebody else', { ...OURS, GIT_COMMITTER_EMAIL: 'ada@example.com' }, 'Add a feature', /author/],
  ['whose message closes an issue', OURS, 'Closes #7', /closes/],
  ['whose message mentions people', OURS, 'Thanks, @octo', /mentions/],
  ['whose message keeps CI from running', OURS, 'Add a feature [skip ci]', /steers/],
  ['with a co-author of nobody', OURS, 'Add a feature\n\nCo-authored-by: Ada <ada@example.com>', /trailers/],
])('commits %s are not taken', async (_, identity, message, why) => {
  const { here, remote, since, fork, base, path } = await handedOver((scene) => scene.write('a.txt', 'one\n'));
  await using scene = here;
  const commit = await forged(scene, path, () =>
    runGit(scene.folder, ['commit-tree', 'main^{tree}', '-p', since, '-m', message], identity),
  );
  expect(await remote.receive({ fork, base, since, bundle: { path, commit }, names: ['#1'] })).toMatchObject({
    kind: 'refused',
    why: expect.stringMatching(why),
  });
});

test('commits with what looks like a signature are not taken', async () => {
  const { here, remote, since, fork, base, path } = await handedOver((scene) => scene.write('a.txt', 'one\n'));
  await using scene = here;
  const commit = await forged(scene, path, async () => {
    const plain = await runGit(scene.folder, ['commit-tree', 'main^{tree}', '-p', since, '-m', 'Add a feature'], OURS);
    const text = await scene.git('cat-file', 'commit', plain);
    const input = `${text.replace('\n\n', '\ngpgsig forged\n\n')}\n`;
    const how = { cwd: scene.folder, input };
    return execFileSync('git', ['hash-object', '-t', 'commit', '-w', '--stdin'], how).toString().trim();
  });
  expect(await remote.receive({ fork, base, since, bundle: { path, commit }, names: [] })).toMatchObject({
    kind: 'refused',
    why: expect.stringContaining('carries a signature'),
  });
});

test('commits that build on something else than the gate found are not taken', async () => {
  const { here, remote, since, fork, base, path } = await handedOver((scene) => scene.write('a.txt', 'one\n'));
  await using scene = here;
  const commit = await forged(scene, path, () =>
    runGit(scene.folder, ['commit-tree', 'main^{tree}', '-m', 'no parent'], OURS),
  );
  expect(await remote.receive({ fork, base, since, bundle: { path, commit }, names: [] })).toMatchObject({
    kind: 'refused',
    why: expect.stringContaining('one by one'),
  });
});
