import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RemoteBranch } from '../../../src/ports/repository.ts';
import { runGit, setScene, type Scene } from './git-fixture.ts';

/** Commits these files in the checkout, and returns the commit. */
async function commit({ checkout }: Scene, files: Readonly<Record<string, string>>): Promise<string> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(checkout, path)), { recursive: true });
    await writeFile(join(checkout, path), text);
  }
  await runGit(checkout, ['add', '--all']);
  await runGit(checkout, ['commit', '--quiet', '-m', 'Change\n\nsrc/of-the-message.js']);
  return runGit(checkout, ['rev-parse', 'HEAD']);
}

describe('what the history tells about files', () => {
  let scene: Scene;
  let branches: readonly RemoteBranch[];

  beforeAll(async () => {
    scene = await setScene();
    const { checkout, server } = scene;
    await commit(scene, { 'src/a.js': '1', 'src/ä b.js': 'export class Cart {}\nfunction  totalOf(cart) {}' });
    await commit(scene, { 'src/a.js': 'new Cart(); totalOfAll(); function totalOf() {}' });
    await runGit(checkout, ['checkout', '--quiet', '-b', 'ralph/issue-7', 'HEAD~1']);
    const head = await commit(scene, { 'src/c.js': '1', 'src/ä b.js': '2' });
    await runGit(checkout, ['push', '--quiet', server.repositoryFolder, 'main', 'ralph/issue-7']);
    await runGit(checkout, ['checkout', '--quiet', 'main']);
    await runGit(checkout, ['branch', '--quiet', '-D', 'ralph/issue-7']);
    branches = [{ branch: 'ralph/issue-7', head }];
  });
  afterAll(() => scene[Symbol.asyncDispose]());

  test('the files of the commit, those of each of its commits, and those that branches changed', async () => {
    const read = await scene.repository.history({ branches, symbols: ['totalOf', 'Cart', '$unknown'] });
    const tracked = (await runGit(scene.checkout, ['ls-files', '-z'])).split('\0').filter((path) => path !== '');
    expect(read?.files).toEqual(tracked);
    expect(read?.commits.slice(0, 2)).toEqual([['src/a.js'], ['src/a.js', 'src/ä b.js']]);
    expect([...(read?.definitions ?? [])]).toEqual([
      ['totalOf', ['src/a.js', 'src/ä b.js']],
      ['Cart', ['src/ä b.js']],
    ]);
    expect(read?.changed).toEqual({ 'ralph/issue-7': ['src/c.js', 'src/ä b.js'] });
  });

  test('and its branches are opened one after the other', async () => {
    const { repository } = scene;
    const [{ branch, head }] = branches as [RemoteBranch];
    const queue = await repository.openLane({ branch: 'ralph/queue', baseBranch: 'main', start: { kind: 'fresh' } });
    const start = { kind: 'continue', remoteHead: head } as const;
    const lane = await repository.openLane({ branch, baseBranch: 'main', start }, queue.base);
    expect(queue).toMatchObject({ head: queue.base, fork: queue.base, ahead: 0 });
    expect(lane).toMatchObject({ head, base: queue.base, ahead: 1 });
    expect(lane.fork).not.toBe(queue.fork);
  });

  test('the branches that have a commit, also one below their tips, without those that do not', async () => {
    const { checkout, server, repository } = scene;
    const [{ head }] = branches as [RemoteBranch];
    await runGit(checkout, ['checkout', '--quiet', '-b', 'mine', head]);
    await commit(scene, { 'src/mine.js': '1' });
    await runGit(checkout, ['push', '--quiet', server.repositoryFolder, 'mine']);
    await runGit(checkout, ['checkout', '--quiet', 'main']);
    await runGit(checkout, ['branch', '--quiet', '-D', 'mine']);
    const asked = ['main', 'mine', 'ralph/issue-7'];
    expect(await repository.branchesWith(head, asked)).toEqual(['mine', 'ralph/issue-7']);
    expect(await repository.branchesWith(head, ['main'])).toEqual([]);
    expect(await repository.branchesWith('0123'.repeat(10), asked)).toEqual([]);
    expect(await repository.branchesWith(head, [...asked, 'gone'])).toEqual([]);
  });

  test('the commits that revert others, newest first, and none from before', async () => {
    const { checkout } = scene;
    await runGit(checkout, ['checkout', '--quiet', '-b', 'reverting', 'HEAD~1']);
    const body = 'x'.repeat(2_000);
    for (const message of [
      'Revert "a (#1)"\n\nThis reverts commit 0123.',
      'Mentions Revert "b"',
      `Undo\n\nThis reverts commit 4567.\n${body}`,
    ])
      await runGit(checkout, ['commit', '--quiet', '--allow-empty', '-m', message]);
    const tip = await runGit(checkout, ['rev-parse', 'HEAD']);
    const at = 1000 * Number(await runGit(checkout, ['log', '-1', '--format=%ct']));
    await runGit(checkout, ['checkout', '--quiet', 'main']);
    const { repository } = scene;
    const found = await repository.revertsIn(tip, at - 60_000);
    expect(found.map(({ message }) => message.slice(0, 40))).toEqual([
      'Undo\n\nThis reverts commit 4567.\nxxxxxxxx',
      'Revert "a (#1)"\n\nThis reverts commit 012',
    ]);
    expect(found[0]).toMatchObject({ at, message: expect.objectContaining({ length: 1_000 }) });
    expect(await repository.revertsIn(tip, at + 60_000)).toEqual([]);
    expect(await repository.revertsIn('a'.repeat(40), 0)).toEqual([]);
    expect(await scene.reopenIn(scene.workFolder).revertsIn(tip, 0)).toEqual([]);
  });

  test('merges with edits are found among those that git makes, on a branch and on an ended pull request', async () => {
    const { checkout, server, repository } = scene;
    const branch = 'ralph/merged';
    const commands = (...all: readonly (readonly string[])[]): Promise<unknown> =>
      all.reduce<Promise<unknown>>((before, args) => before.then(() => runGit(checkout, args)), Promise.resolve());
    await commands(['checkout', '--quiet', '-b', branch, 'main']);
    const own = await commit(scene, { 'src/own.js': '1' });
    await commands(['checkout', '--quiet', 'main']);
    await commit(scene, { 'src/new.js': '1' });
    await commands(['checkout', '--quiet', branch], ['merge', '--quiet', '--no-edit', 'main']);
    const plain = await runGit(checkout, ['rev-parse', 'HEAD']);
    await commands(['reset', '--quiet', '--hard', own], ['merge', '--quiet', '--no-commit', 'main']);
    const edited = await commit(scene, { 'src/own.js': '2' });
    await commands(['push', '--quiet', server.repositoryFolder, 'main', `${branch}:refs/pull/9/head`]);
    const number = 9;
    const commits = [own, plain, edited, 'a'.repeat(40)];
    // Without the pull request's commits, nothing is known.
    expect(await scene.reopen().editedMerges([{ number: 8, commits }])).toEqual([]);
    await runGit(checkout, ['reset', '--quiet', '--hard', 'main']);
    expect(await repository.editedMerges([{ number, commits }])).toEqual([own, edited]);
    const message = ['-m', 'Mine\n\nRalph-Run: 1'];
    for (const [head, personHead] of [
      [plain, null],
      [edited, edited],
    ] as const) {
      // A run has made the branch's own commit.
      const made = await runGit(checkout, ['commit-tree', `${own}^{tree}`, '-p', `${own}^`, '-m', 'A\n\nRalph-Run: 1']);
      const tip = await runGit(checkout, [
        'commit-tree',
        `${head}^{tree}`,
        '-p',
        made,
        '-p',
        'main',
        ...message.slice(0, 1),
        'M',
      ]);
      await runGit(checkout, ['push', '--quiet', '--force', server.repositoryFolder, `${tip}:refs/heads/${branch}`]);
      const start = { kind: 'continue', remoteHead: tip } as const;
      const lane = await scene.reopen().openLane({ branch, baseBranch: 'main', start });
      expect(lane.personHead).toBe(personHead === null ? null : tip);
    }
  });

  test.each<[string, readonly RemoteBranch[]]>([
    ['a branch that is gone', [{ branch: 'ralph/issue-9', head: 'a'.repeat(40) }]],
    ['a branch that moved', [{ branch: 'ralph/issue-7', head: 'a'.repeat(40) }]],
    ['a name that git does not allow', [{ branch: 'x:y', head: 'a'.repeat(40) }]],
  ])('are unknown with %s', async (_, asked) => {
    expect(await scene.reopen().history({ branches: asked, symbols: [] })).toBeNull();
  });

  test('are unknown without a checkout', async () => {
    expect(await scene.reopenIn(scene.workFolder).history({ branches: [], symbols: [] })).toBeNull();
  });
});
