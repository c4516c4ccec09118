import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { WorkFiles } from '../../../src/ports/repository.ts';
import { createWorkFiles } from '../../../src/runner/workspace-files.ts';

const PRD = '.ralph/prd.json';

interface Scene {
  readonly root: string;
  readonly files: WorkFiles;
  lay(path: string, content: string | Buffer): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

async function setScene(): Promise<Scene> {
  const root = await mkdtemp(join(tmpdir(), 'ralph-files-'));
  const workspace = join(root, 'workspace');
  await mkdir(workspace);
  return {
    root: workspace,
    files: createWorkFiles(workspace),
    async lay(path, content) {
      await mkdir(dirname(join(workspace, path)), { recursive: true });
      await writeFile(join(workspace, path), content);
    },
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}

describe('read()', () => {
  test('answers with what is there, and says nothing of what is not', async () => {
    await using scene = await setScene();
    await scene.lay(PRD, '{}\r\n');
    await scene.lay('@fix_plan.md', '');
    expect(await scene.files.read([PRD, '@fix_plan.md', '.ralph/fix_plan.md'])).toEqual({
      [PRD]: '{}\r\n',
      '@fix_plan.md': '',
    });
  });

  test('a pattern takes the files of its folder in their order, and none below', async () => {
    await using scene = await setScene();
    for (const path of ['.beads/b.jsonl', '.beads/a.jsonl', '.beads/a.json', '.beads/old/c.jsonl'])
      await scene.lay(path, path);
    expect(Object.keys(await scene.files.read(['.beads/*.jsonl']))).toEqual(['.beads/a.jsonl', '.beads/b.jsonl']);
    expect(await scene.files.read(['.nothing/*.jsonl'])).toEqual({});
  });

  test.each<[string, (scene: Scene) => Promise<unknown>]>([
    [
      'a link to a file',
      async ({ root, lay }) => {
        await lay('.ralph/other.json', '{}');
        await symlink('other.json', join(root, PRD));
      },
    ],
    [
      'a link out',
      async ({ root, lay }) => {
        await lay('.ralph/a', '');
        await symlink('/proc/self/environ', join(root, PRD));
      },
    ],
    [
      'a file behind a link',
      async ({ root, lay }) => {
        await lay('other/prd.json', '{}');
        await symlink('other', join(root, '.ralph'));
      },
    ],
    ['a folder', ({ lay }) => lay(`${PRD}/a`, '')],
    ['a file with a NUL', ({ lay }) => lay(PRD, '{}\0')],
    ['a file of more than 1 MiB', ({ lay }) => lay(PRD, 'x'.repeat(1024 * 1024 + 1))],
  ])('%s is left out', async (_, lay) => {
    await using scene = await setScene();
    await lay(scene);
    expect(await scene.files.read([PRD])).toEqual({});
  });

  test('a file of 1 MiB is read whole', async () => {
    await using scene = await setScene();
    await scene.lay(PRD, 'x'.repeat(1024 * 1024));
    expect((await scene.files.read([PRD]))[PRD]).toHaveLength(1024 * 1024);
  });
});

describe('replace()', () => {
  test('writes a new file, and changes one that is as expected; its mode stays, and nothing is left beside it', async () => {
    await using scene = await setScene();
    await scene.lay(PRD, 'old');
    await chmod(join(scene.root, PRD), 0o600);
    await scene.files.replace({ path: PRD, old: 'old', text: 'new' });
    await scene.files.replace({ path: '.ralph/prd_archive.json', old: null, text: 'archived' });
    expect(await scene.files.read([PRD, '.ralph/prd_archive.json'])).toEqual({
      [PRD]: 'new',
      '.ralph/prd_archive.json': 'archived',
    });
    expect((await stat(join(scene.root, PRD))).mode & 0o777).toBe(0o600);
    expect((await readdir(join(scene.root, '.ralph'))).sort()).toEqual(['prd.json', 'prd_archive.json']);
  });

  test.each<[string, string | null, (scene: Scene) => Promise<unknown>]>([
    ['was changed in the meantime', 'old', ({ lay }) => lay(PRD, 'other')],
    ['is gone', 'old', ({ lay }) => lay('.ralph/a', '')],
    ['is there by now', null, ({ lay }) => lay(PRD, 'other')],
    ['is too long to be read', null, ({ lay }) => lay(PRD, 'x'.repeat(1024 * 1024 + 1))],
    [
      'is a link to nothing',
      null,
      async ({ root, lay }) => {
        await lay('.ralph/a', '');
        await symlink('../../outside', join(root, PRD));
      },
    ],
    [
      'is a link to what is expected',
      'old',
      async ({ root, lay }) => {
        await lay('.ralph/a', 'old');
        await symlink('a', join(root, PRD));
      },
    ],
    [
      'lies behind a link',
      'old',
      async ({ root, lay }) => {
        await lay('other/prd.json', 'old');
        await symlink('other', join(root, '.ralph'));
      },
    ],
  ])('a file that %s is not touched', async (_, old, lay) => {
    await using scene = await setScene();
    await lay(scene);
    const before = await contents(scene.root);
    await expect(scene.files.replace({ path: PRD, old, text: 'new' })).rejects.toThrow();
    expect(await contents(scene.root)).toEqual(before);
  });
});

describe('remove()', () => {
  test('removes a file, and does nothing without one', async () => {
    await using scene = await setScene();
    await scene.lay('.ralph-complete', '');
    await scene.files.remove('.ralph-complete');
    await scene.files.remove('.ralph-complete');
    await scene.files.remove('no/folder/at/all');
    expect(await readdir(scene.root)).toEqual([]);
  });

  test.each<[string, string, (scene: Scene) => Promise<unknown>]>([
    ['a folder', 'DONE', ({ root }) => mkdir(join(root, 'DONE'))],
    ['a link to a file', 'DONE', ({ root, lay }) => lay('other', 'x').then(() => symlink('other', join(root, 'DONE')))],
    [
      'a file behind a link out',
      'out/DONE',
      async ({ root }) => {
        await mkdir(join(root, '..', 'elsewhere'));
        await writeFile(join(root, '..', 'elsewhere', 'DONE'), 'x');
        await symlink('../elsewhere', join(root, 'out'));
      },
    ],
  ])('leaves %s alone', async (_, path, lay) => {
    await using scene = await setScene();
    await lay(scene);
    const before = await contents(scene.root);
    await scene.files.remove(path).catch(() => undefined);
    expect(await contents(scene.root)).toEqual(before);
  });
});

/** Returns every file below a folder by path; links are marked as links. */
async function contents(folder: string): Promise<Readonly<Record<string, string>>> {
  const entries = await readdir(join(folder, '..'), { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    await Promise.all(
      entries.map(async (entry) => [
        join(entry.parentPath, entry.name),
        entry.isFile()
          ? await readFile(join(entry.parentPath, entry.name), 'utf8')
          : entry.isSymbolicLink()
            ? 'a link'
            : 'a folder',
      ]),
    ),
  );
}
