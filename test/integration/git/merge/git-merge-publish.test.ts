import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BRANCH, reachByFolder, runGit } from '../git-fixture.ts';
import { commitToMain, edit, openAgain, resolve, setConflict, type Conflict } from './merge-fixture.ts';

reachByFolder();

const SIDES = {
  first: { 'a.txt': 'first\n', 'b.txt': 'b\n', '.github/ci.yml': 'on: push\n' },
  lane: { 'a.txt': 'lane\n', 'own.txt': 'own\n' },
  base: { 'a.txt': 'base\n', 'b.txt': 'b of the base\n', '.github/ci.yml': 'on: pull_request\n' },
};

async function merged(conflict: Conflict, content = 'lane and base\n'): Promise<string> {
  await conflict.repository.beginMerge();
  const { committed } = await resolve(conflict, () => conflict.scene.write('a.txt', content));
  expect(committed.merge).toBe('made');
  return committed.head;
}

test.each<['push' | 'pushOn']>([['push'], ['pushOn']])(
  '%s publishes a merge, though its base has moved on',
  async (how) => {
    await using conflict = await setConflict(SIDES);
    const { scene, head, base } = conflict;
    const commit = await merged(conflict);
    await commitToMain(scene, { 'later.txt': 'later\n' });
    const push = { branch: BRANCH, commit, since: head };
    const pushed =
      how === 'push'
        ? await scene.remote().push({ ...push, start: { kind: 'continue', remoteHead: head } })
        : await scene.remote().pushOn({ ...push, at: head });
    expect(pushed).toMatchObject({ kind: 'pushed' });
    expect(await scene.serverGit('log', '-1', '--format=%P', BRANCH)).toBe(`${head} ${base}`);
    expect(await scene.serverGit('fsck', '--connectivity-only')).not.toContain('missing');
  },
);

test('the next run continues from a merge, and merges once more', async () => {
  await using conflict = await setConflict(SIDES);
  const { scene, head } = conflict;
  const commit = await merged(conflict);
  const start = { kind: 'continue', remoteHead: head } as const;
  expect(await scene.remote().push({ branch: BRANCH, commit, start })).toEqual({ kind: 'pushed' });
  const base = await commitToMain(scene, { 'a.txt': 'base, later\n' });
  const repository = await openAgain(scene, commit);
  // The quarantine does not contain the commits before the merge.
  expect(await scene.quarantineGit('rev-list', '--count', '--all')).toBe('4');
  expect(await repository.review()).toMatchObject({ lines: 3 });
  expect(await repository.beginMerge()).toEqual({ kind: 'begun', conflicts: ['a.txt'], lockFiles: [] });
  const { committed } = await resolve({ scene, repository }, () => scene.write('a.txt', 'all three\n'));
  const again = { branch: BRANCH, commit: committed.head, start: { kind: 'continue', remoteHead: commit } } as const;
  expect(await scene.remote().push(again)).toEqual({ kind: 'pushed' });
  expect(await scene.serverGit('log', '-1', '--format=%P', BRANCH)).toBe(`${commit} ${base}`);
});

test('a submodule that the base moved comes with the merge; tags named like both branches change nothing', async () => {
  await using conflict = await setConflict(SIDES);
  const { scene, head, base, fork } = conflict;
  const { serverGit } = scene;
  const bump = ['160000', '1'.repeat(40), 'lib/sub'];
  await serverGit('read-tree', base);
  await serverGit('update-index', '--add', '--cacheinfo', bump.join(','));
  const moved = await serverGit('commit-tree', await serverGit('write-tree'), '-p', base, '-m', 'Move the submodule');
  await serverGit('update-ref', 'refs/heads/main', moved);
  for (const name of ['main', BRANCH]) await serverGit('update-ref', `refs/tags/${name}`, fork);
  const commit = await merged({ ...conflict, repository: await openAgain(scene, head) });
  const start = { kind: 'continue', remoteHead: head } as const;
  expect(await scene.remote().push({ branch: BRANCH, commit, since: head, start })).toEqual({ kind: 'pushed' });
  expect(await serverGit('log', '-1', '--format=%P', `refs/heads/${BRANCH}`)).toBe(`${head} ${moved}`);
  expect(await serverGit('ls-tree', `refs/heads/${BRANCH}`, 'lib/sub')).toContain(`160000 commit ${bump[1] ?? ''}`);
});

/** Hands the merge over to the job that publishes, which has only the bundle. */
async function handOver({ scene, repository, head }: Conflict) {
  const path = join(await mkdtemp(join(tmpdir(), 'ralph-bundle-')), 'commits.bundle');
  await repository.bundle({ path, since: head });
  const workFolder = await mkdtemp(join(tmpdir(), 'ralph-publishing-'));
  return { path, remote: scene.remote({ workFolder, quarantineFolder: join(workFolder, 'git', 'quarantine') }) };
}

test('a merge comes from a bundle, is measured without the base, and pushed', async () => {
  await using conflict = await setConflict(SIDES);
  const { scene, head, base, fork } = conflict;
  const commit = await merged(conflict);
  const { path, remote } = await handOver(conflict);
  await commitToMain(scene, { 'later.txt': 'later\n' });
  const received = await remote.receive({ fork, base, since: head, bundle: { path, commit }, names: [] });
  expect(received).toMatchObject({ kind: 'received', review: { lines: 3 } });
  const start = { kind: 'continue', remoteHead: head } as const;
  expect(await remote.push({ branch: BRANCH, commit, since: head, start })).toEqual({ kind: 'pushed' });
});

test('three jobs continue from a merge, and merge once more', async () => {
  await using conflict = await setConflict(SIDES);
  const { scene, head } = conflict;
  const commit = await merged(conflict);
  const start = { kind: 'continue', remoteHead: head } as const;
  await scene.remote().push({ branch: BRANCH, commit, start });
  const fork = conflict.base;
  const base = await commitToMain(scene, { 'a.txt': 'base, later\n' });
  await conflict.repository.leave();
  const next = { ...conflict, head: commit, repository: await openAgain(scene, commit) };
  const newest = await merged(next, 'all three\n');
  const { path, remote } = await handOver(next);
  const bundle = { path, commit: newest };
  expect(await remote.receive({ fork, base, since: commit, bundle, names: [] })).toMatchObject({
    kind: 'received',
    review: { lines: 3 },
  });
  const push = { branch: BRANCH, commit: newest, since: commit };
  expect(await remote.push({ ...push, start: { kind: 'continue', remoteHead: commit } })).toEqual({ kind: 'pushed' });
});

test('a branch that has merged its base continues without another merge', async () => {
  await using conflict = await setConflict(SIDES);
  const { scene, head, base } = conflict;
  const commit = await merged(conflict);
  await scene.remote().push({ branch: BRANCH, commit, start: { kind: 'continue', remoteHead: head } });
  await conflict.repository.leave();
  const next = { ...conflict, head: commit, repository: await openAgain(scene, commit) };
  const { committed } = await resolve(next, () => scene.write('own.txt', 'own, and more\n'));
  expect(committed.merge).toBe('none');
  const { path, remote } = await handOver(next);
  const bundle = { path, commit: committed.head };
  expect(await remote.receive({ fork: base, base, since: commit, bundle, names: [] })).toMatchObject({
    kind: 'received',
  });
  const push = { branch: BRANCH, commit: committed.head, since: commit };
  expect(await remote.push({ ...push, start: { kind: 'continue', remoteHead: commit } })).toEqual({ kind: 'pushed' });
});

const OURS = {
  GIT_AUTHOR_NAME: 'ralph',
  GIT_AUTHOR_EMAIL: 'ralph@example.com',
  GIT_COMMITTER_NAME: 'ralph',
  GIT_COMMITTER_EMAIL: 'ralph@example.com',
};

/** Makes a commit in the action's name in the quarantine, with a changed version of the merge. */
async function forge(
  { scene }: Conflict,
  tree: Readonly<Record<string, string>>,
  of: string,
  parents: readonly string[],
) {
  const git = (...args: readonly string[]): Promise<string> =>
    runGit(scene.folder, args, {
      ...OURS,
      GIT_DIR: join(scene.workFolder, 'quarantine'),
      GIT_INDEX_FILE: join(scene.workFolder, 'forged-index'),
      GIT_WORK_TREE: scene.folder,
    });
  await git('read-tree', of);
  for (const [path, content] of Object.entries(tree)) {
    await scene.write('forged', content);
    const id = await git('hash-object', '-w', join(scene.folder, 'forged'));
    await git('update-index', '--add', '--cacheinfo', `100644,${id},${path}`);
  }
  const how = parents.flatMap((parent) => ['-p', parent]);
  const commit = await git('commit-tree', await git('write-tree'), ...how, '-m', 'Add a feature');
  await git('update-ref', 'refs/heads/published', commit);
  return commit;
}

const NPM_TOKEN = `npm_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8`;

test.each<[string, (conflict: Conflict, merge: string) => Promise<string>, RegExp]>([
  [
    'merges a commit of its own',
    async (conflict, merge) => {
      const own = await forge(conflict, { '.github/ci.yml': 'on: evil\n' }, merge, [conflict.base]);
      return await forge(conflict, { '.github/ci.yml': 'on: evil\n' }, merge, [conflict.head, own]);
    },
    /not on the base branch/,
  ],
  [
    'has three parents',
    (conflict, merge) => forge(conflict, {}, merge, [conflict.head, conflict.base, conflict.fork]),
    /does not build on/,
  ],
  [
    'changes a protected path',
    (conflict, merge) => forge(conflict, { '.github/ci.yml': 'on: evil\n' }, merge, [conflict.head, conflict.base]),
    /\.github\/ci\.yml/,
  ],
  [
    'takes back what the base changed at a protected path',
    (conflict, merge) => forge(conflict, { '.github/ci.yml': 'on: push\n' }, merge, [conflict.head, conflict.base]),
    /\.github\/ci\.yml/,
  ],
  [
    'adds a protected path',
    (conflict, merge) => forge(conflict, { '.github/x.yml': 'on: evil\n' }, merge, [conflict.head, conflict.base]),
    /\.github\/x\.yml/,
  ],
  [
    'brings a key',
    (conflict, merge) => forge(conflict, { 'a.txt': `${NPM_TOKEN}\n` }, merge, [conflict.head, conflict.base]),
    /a\.txt/,
  ],
  [
    'has the base as its first parent',
    (conflict, merge) => forge(conflict, {}, merge, [conflict.base, conflict.head]),
    /not on the base branch|does not build on/,
  ],
])('a forged commit that %s is refused, as it is pushed and as it is received', async (_name, make, why) => {
  await using conflict = await setConflict(SIDES);
  const { scene, head, base, fork } = conflict;
  const merge = await merged(conflict);
  const commit = await make(conflict, merge);
  const refused = { kind: 'rejected', why: expect.stringMatching(why) as string };
  const push = { branch: BRANCH, commit, since: head };
  expect(await scene.remote().push({ ...push, start: { kind: 'continue', remoteHead: head } })).toMatchObject(refused);
  expect(await scene.remote().pushOn({ ...push, at: head })).toMatchObject(refused);

  const { path, remote } = await handOver(conflict);
  const received = await remote.receive({ fork, base, since: head, bundle: { path, commit }, names: [] });
  if (received.kind === 'received')
    expect(await remote.push({ ...push, start: { kind: 'continue', remoteHead: head } })).toMatchObject(refused);
  expect(await scene.serverGit('rev-parse', BRANCH)).toBe(head);
});

test('a bundle with a merge of another commit than the one of the gate is not taken', async () => {
  await using conflict = await setConflict(SIDES);
  const { scene, head, fork } = conflict;
  const commit = await merged(conflict);
  const { path, remote } = await handOver(conflict);
  const base = await commitToMain(scene, { 'later.txt': 'later\n' });
  expect(await remote.receive({ fork, base, since: head, bundle: { path, commit }, names: [] })).toMatchObject({
    kind: 'refused',
  });
});

test('what the branch alone changed at a protected path may stay', async () => {
  await using conflict = await setConflict(SIDES);
  const { scene, head, base } = conflict;
  // A person merged in the meantime.
  await conflict.repository.leave();
  await scene.git('checkout', '--quiet', '--force', head);
  await edit(scene, { '.github/own.yml': 'on: push\n' });
  await scene.git('add', '--all', '--force');
  await scene.git('commit', '--quiet', '-m', 'mine');
  const person = await scene.git('rev-parse', 'HEAD');
  await scene.git('push', '--quiet', scene.server.repositoryFolder, `${person}:${BRANCH}`);
  const repository = await openAgain(scene, person);
  const commit = await merged({ ...conflict, repository });
  const start = { kind: 'continue', remoteHead: person } as const;
  expect(await scene.remote().push({ branch: BRANCH, commit, start })).toEqual({ kind: 'pushed' });
  expect(await scene.serverGit('show', `${BRANCH}:.github/own.yml`)).toBe('on: push');
  expect(await scene.serverGit('log', '-1', '--format=%P', BRANCH)).toBe(`${person} ${base}`);
});
