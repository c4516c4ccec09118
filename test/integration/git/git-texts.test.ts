import { rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BRANCH, iterate, openFresh, setScene, type Scene } from './git-fixture.ts';

const PLAN = '.ralph/fix_plan.md';

describe('namesOf()', () => {
  test('names files, links and folders of the commit that the job checked out, and no others', async () => {
    await using scene = await setScene();
    await commitFiles(scene, { '.ralph/lib/a.sh': 'a', '.ralph/.call_count': '3', 'tasks/prd-a.md': 'a', logs: 'a' });
    await symlink('.call_count', join(scene.folder, '.ralph/.last_reset'));
    await scene.git('add', '--all', '--force');
    await scene.git('commit', '--quiet', '-m', 'Link');
    await scene.write('.ralph/status.json', '{}');
    await scene.write('.ralph/examples/a.md', 'a');
    const asked = ['.ralph/lib/', '.ralph/.call_count', '.ralph/.last_reset', 'tasks/prd-*.md', 'tasks/other-*.md'];
    const found = await scene.repository.namesOf([...asked, 'logs/', '.ralph/status.json', '.ralph/examples/']);
    expect([...found].sort()).toEqual(['.ralph/.call_count', '.ralph/.last_reset', '.ralph/lib/', 'tasks/prd-a.md']);
  });
});

describe('readTexts()', () => {
  test('reads what the job checked out, from its commit and not from the work tree, also after a lane was opened', async () => {
    await using scene = await setScene();
    await commitFiles(scene, { [PLAN]: '- [ ] one\n', '.ralph/prd.json': '{}' });
    await scene.serverGit('fetch', '--quiet', scene.folder, 'main:main');
    await scene.write(PLAN, '- [x] one\n');
    expect(await scene.repository.readTexts([PLAN, '.ralph/prd.json', '@fix_plan.md'], null)).toEqual({
      base: { [PLAN]: '- [ ] one\n', '.ralph/prd.json': '{}' },
      lane: null,
      fork: null,
      unread: {},
      links: {},
    });
    await scene.git('checkout', '--quiet', '--', '.');
    await openFresh(scene);
    await iterate(scene, () => scene.write(PLAN, '- [x] one\n'));
    expect((await scene.repository.readTexts([PLAN], null)).base).toEqual({ [PLAN]: '- [ ] one\n' });
  });

  test('`**` at the end of a path is all below the folder, and a pattern beside it stays within its own', async () => {
    await using scene = await setScene();
    const files = ['specs/a.md', 'specs/deep/er/b.md', 'specs2/c.md', '.beads/a.jsonl', '.beads/old/b.jsonl'];
    await commitFiles(scene, Object.fromEntries(files.map((path) => [path, path])));
    const asked = ['specs/**', '.ralph/specs/**', '.beads/*.jsonl'];
    expect(Object.keys((await scene.repository.readTexts(asked, null)).base).sort()).toEqual([
      '.beads/a.jsonl',
      'specs/a.md',
      'specs/deep/er/b.md',
    ]);
  });

  test('reads the branch of a lane from the remote, and leaves the checkout alone', async () => {
    await using scene = await setScene();
    const before = await scene.git('rev-parse', 'HEAD');
    const head = await pushLane(scene, { [PLAN]: '- [x] two\n' });
    const { base, lane } = await scene.repository.readTexts([PLAN], { branch: BRANCH, head });
    expect({ base, lane }).toEqual({ base: {}, lane: { [PLAN]: '- [x] two\n' } });
    expect(await scene.git('rev-parse', 'HEAD')).toBe(before);
    expect(await scene.git('status', '--porcelain')).toBe('');
    expect(await scene.git('branch', '--list', BRANCH)).toBe('');
    const opened = await scene.repository.openLane({
      branch: BRANCH,
      baseBranch: 'main',
      start: { kind: 'continue', remoteHead: head },
    });
    expect(opened.head).toBe(head);
  });

  test('reads what stood where the lane left the base', async () => {
    await using scene = await setScene();
    const head = await pushLane(scene, { [PLAN]: '- [x] two\n' }, { [PLAN]: '- [ ] two\n' });
    await scene.serverGit('fetch', '--quiet', `${scene.folder}-other`, 'main:main');
    await scene.git('pull', '--quiet', scene.server.repositoryFolder, 'main');
    await commitFiles(scene, { [PLAN]: '- [ ] three\n' });
    expect(await scene.repository.readTexts([PLAN], { branch: BRANCH, head })).toEqual({
      base: { [PLAN]: '- [ ] three\n' },
      lane: { [PLAN]: '- [x] two\n' },
      fork: { [PLAN]: '- [ ] two\n' },
      unread: {},
      links: {},
    });
  });

  test('without such a file on the disk nothing is asked of git, and there need be no checkout', async () => {
    await using scene = await setScene();
    await scene.git('update-ref', '-d', 'HEAD');
    const nothing = { base: {}, lane: null, fork: null, unread: {}, links: {} };
    expect(await scene.repository.readTexts([PLAN, '.beads/*.jsonl'], null)).toEqual(nothing);
    await rm(join(scene.folder, '.git'), { recursive: true });
    expect(await scene.repository.readTexts([PLAN], null)).toEqual(nothing);
    await scene.write(PLAN, '- [ ] one\n');
    expect(await scene.repository.readTexts([PLAN], null)).toEqual(nothing);
  });

  test('a branch that was replaced meanwhile stops the run', async () => {
    await using scene = await setScene();
    await pushLane(scene, { [PLAN]: '- [ ] two\n' });
    await expect(scene.repository.readTexts([PLAN], { branch: BRANCH, head: '1'.repeat(40) })).rejects.toThrow(
      /moved from 1{40}.*Run the workflow again/,
    );
  });

  test('asks the remote nothing where no lane is wanted, nor where its tip is here', async () => {
    await using scene = await setScene();
    await commitFiles(scene, { [PLAN]: '- [ ] one\n' });
    const head = await scene.git('rev-parse', 'HEAD');
    await scene.server[Symbol.asyncDispose]();
    expect((await scene.repository.readTexts([PLAN], null)).base).toEqual({ [PLAN]: '- [ ] one\n' });
    expect((await scene.repository.readTexts([PLAN], { branch: BRANCH, head })).lane).toEqual({
      [PLAN]: '- [ ] one\n',
    });
  });

  test('a pattern takes the files of its folder, and none below', async () => {
    await using scene = await setScene();
    await commitFiles(scene, {
      '.beads/issues.jsonl': '{}',
      '.beads/other.jsonl': '[]',
      '.beads/config.yaml': 'x',
      '.beads/old/issues.jsonl': 'old',
    });
    expect((await scene.repository.readTexts(['.beads/*.jsonl'], null)).base).toEqual({
      '.beads/issues.jsonl': '{}',
      '.beads/other.jsonl': '[]',
    });
  });

  test.each<[string, (scene: Scene) => Promise<void>, Readonly<Record<string, string>>?]>([
    [
      'a link',
      async ({ folder, write }) => {
        await write('secret.md', '- [ ] x\n');
        await write('.ralph/a.md', 'a');
        await symlink('../secret.md', join(folder, PLAN));
      },
    ],
    [
      'a file behind a link',
      async ({ folder, write }) => {
        await write('elsewhere/fix_plan.md', '- [ ] x\n');
        await symlink('elsewhere', join(folder, '.ralph'));
      },
    ],
    ['a folder', ({ write }) => write(`${PLAN}/a.md`, 'a')],
    [
      'a file with a NUL',
      ({ write }) => write(PLAN, '- [ ] x\0\n'),
      { [PLAN]: 'contains NUL bytes, so it is not UTF-8 text' },
    ],
    [
      'a file of more than 1 MiB',
      ({ write }) => write(PLAN, 'x'.repeat(1024 * 1024 + 1)),
      { [PLAN]: 'is larger than 1 MiB' },
    ],
  ])('%s is left out', async (_, lay, unread = {}) => {
    await using scene = await setScene();
    await lay(scene);
    await scene.git('add', '--all');
    await scene.git('commit', '--quiet', '-m', 'files');
    expect(await scene.repository.readTexts([PLAN], null)).toMatchObject({ base: {}, lane: null, fork: null, unread });
  });

  test.each<[string, string, string]>([
    ['at the place of a file', '.ralph/prd.json', '.ralph/prd.json'],
    ['on the way to it', '.ralph/configs', '.ralph/configs'],
    ['that a pattern names', '.beads/a.jsonl', '.beads/a.jsonl'],
  ])('a link %s is named', async (_, at, named) => {
    await using scene = await setScene();
    await scene.write('elsewhere/default.json', '{}');
    await scene.write('.beads/none', '');
    await scene.write('.ralph/none', '');
    await symlink('../elsewhere', join(scene.folder, at));
    await scene.git('add', '--all');
    await scene.git('commit', '--quiet', '-m', 'files');
    const asked = ['.ralph/prd.json', '.ralph/configs/default.json', '.beads/*.jsonl'];
    const { base, links, unread } = await scene.repository.readTexts(asked, null);
    expect({ base, links, unread }).toEqual({
      base: {},
      links: { [named]: 'is a symbolic link, which is not followed: put a file there' },
      unread: {},
    });
  });

  test('a file of 1 MiB is read, an empty one as well, whatever its line ends', async () => {
    await using scene = await setScene();
    await commitFiles(scene, { [PLAN]: 'x'.repeat(1024 * 1024), '.ralph/prd.json': '', '@fix_plan.md': '- [ ] a\r\n' });
    const { base } = await scene.repository.readTexts([PLAN, '.ralph/prd.json', '@fix_plan.md'], null);
    expect(base[PLAN]).toHaveLength(1024 * 1024);
    expect(base['.ralph/prd.json']).toBe('');
    expect(base['@fix_plan.md']).toBe('- [ ] a\r\n');
  });

  test('no program that the repository names is run', async () => {
    await using scene = await setScene();
    const mark = join(scene.folder, '..', 'ran');
    await scene.git('config', 'filter.evil.smudge', `touch ${mark}`);
    await scene.git('config', 'filter.evil.clean', 'cat');
    await commitFiles(scene, { '.gitattributes': '*.md filter=evil\n', [PLAN]: '- [ ] one\n' });
    expect((await scene.repository.readTexts([PLAN], null)).base).toEqual({ [PLAN]: '- [ ] one\n' });
    await expect(writeFile(mark, '', { flag: 'wx' })).resolves.toBeUndefined();
  });
});

async function commitFiles(scene: Scene, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) await scene.write(path, text);
  await scene.git('add', '--all');
  await scene.git('commit', '--quiet', '-m', 'files');
}

/** Pushes a lane from another clone, so that its commits are missing here. */
async function pushLane(
  scene: Scene,
  files: Readonly<Record<string, string>>,
  ofMain: Readonly<Record<string, string>> = {},
): Promise<string> {
  const other = `${scene.folder}-other`;
  await scene.serverGit('clone', '--quiet', scene.server.repositoryFolder, other);
  const git = (...args: string[]): Promise<string> => scene.git('-C', other, ...args);
  for (const [path, text] of Object.entries(ofMain)) await scene.write(join('..', 'workspace-other', path), text);
  await git('add', '--all');
  if (Object.keys(ofMain).length > 0) await git('commit', '--quiet', '-m', 'tasks');
  await git('checkout', '--quiet', '-b', BRANCH);
  for (const [path, text] of Object.entries(files)) await scene.write(join('..', 'workspace-other', path), text);
  await git('add', '--all');
  await git('commit', '--quiet', '-m', 'work');
  await git('push', '--quiet', scene.server.repositoryFolder, BRANCH);
  return git('rev-parse', 'HEAD');
}
