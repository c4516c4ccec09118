import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { baseMayHave } from '../../../src/git/checkout/on-disk.ts';
import { readBaseTexts } from '../../../src/git/checkout/texts.ts';
import { setScene } from './git-fixture.ts';

const paths = ['.ralph/.ralphrc', '.ralphrc'];

type Scene = Awaited<ReturnType<typeof setScene>>;
const ask = (scene: Scene, baseBranch: string | null = 'main') =>
  readBaseTexts({ folder: scene.folder, paths, baseBranch, branchPrefix: 'ralph/', env: process.env });
const textsOf = async (scene: Scene, baseBranch: string | null = 'main') => {
  const found = await ask(scene, baseBranch);
  return found.kind === 'texts' ? found.read : found.kind;
};

async function commit(scene: Scene, text: string): Promise<void> {
  await writeFile(join(scene.folder, '.ralphrc'), text);
  await scene.git('add', '--force', '.');
  await scene.git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '-m', 'settings');
}

test('the base branch as it is committed, not the work tree', async () => {
  await using scene = await setScene();
  expect(await textsOf(scene)).toEqual({ texts: {}, unread: {} });
  await writeFile(join(scene.folder, '.ralphrc'), 'A=0');
  expect(await textsOf(scene)).toEqual({ texts: {}, unread: {} });
  await commit(scene, 'A=1');
  await writeFile(join(scene.folder, '.ralphrc'), 'A=2');
  expect(await textsOf(scene)).toEqual({ texts: { '.ralphrc': 'A=1' }, unread: {} });
  expect(await textsOf(scene, null)).toEqual({ texts: { '.ralphrc': 'A=1' }, unread: {} });
});

test('on another branch, and where none is checked out: that of the remote, or nobody knows', async () => {
  await using scene = await setScene();
  await commit(scene, 'A=base');
  await scene.git('update-ref', 'refs/remotes/origin/main', 'HEAD');
  await scene.git('checkout', '--quiet', '-b', 'ralph/queue');
  await commit(scene, 'A=lane');
  expect(await textsOf(scene)).toMatchObject({ texts: { '.ralphrc': 'A=base' } });
  expect(await textsOf(scene, null)).toBe('unknown');
  await scene.git('checkout', '--quiet', '--detach');
  expect(await textsOf(scene)).toMatchObject({ texts: { '.ralphrc': 'A=base' } });
  await scene.git('update-ref', '-d', 'refs/remotes/origin/main');
  expect(await textsOf(scene)).toBe('unknown');
  await rm(join(scene.folder, '.ralphrc'));
  expect(await textsOf(scene)).toEqual({ texts: {}, unread: {} });
});

test('a link, a text with NUL and one of more than 1 MiB are named, not read', async () => {
  await using scene = await setScene();
  await mkdir(join(scene.folder, '.ralph'), { recursive: true });
  await symlink('/etc/passwd', join(scene.folder, '.ralph/.ralphrc'));
  await commit(scene, 'A=\0');
  expect(await textsOf(scene)).toEqual({
    texts: {},
    unread: {
      '.ralph/.ralphrc': 'is a symbolic link, which is not followed: put a file there',
      '.ralphrc': 'contains NUL bytes, so it is not UTF-8 text',
    },
  });
  await commit(scene, 'x'.repeat(1024 * 1024 + 1));
  expect(await textsOf(scene)).toMatchObject({ unread: { '.ralphrc': 'is larger than 1 MiB' } });
});

test('where there is nothing on the disk and the base is checked out, git is not asked', async () => {
  await using scene = await setScene();
  const asked = { folder: scene.folder, paths, branchPrefix: 'ralph/' };
  const may = (baseBranch: string | null): Promise<boolean> => baseMayHave({ ...asked, baseBranch });
  expect([await may('main'), await may(null), await may('develop')]).toEqual([false, false, true]);
  await scene.git('checkout', '--quiet', '-b', 'ralph/queue');
  expect([await may('main'), await may(null)]).toEqual([true, true]);
  await rm(join(scene.folder, '.git'), { recursive: true });
  expect([await may('main'), await textsOf(scene)]).toEqual([false, { texts: {}, unread: {} }]);
});
