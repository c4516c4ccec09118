import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { handedOverSchema } from '../../../../src/core/work-tree/handed-over.ts';
import { keepObjects, listObjects } from '../../../../src/git/checkout/tree/stored-objects.ts';
import { runGit } from '../git-fixture.ts';

interface Scene {
  readonly folder: string;
  readonly objects: string;
  git(...args: string[]): Promise<string>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A repository with a pack and some single objects. */
async function setScene(format = 'sha1'): Promise<Scene> {
  const folder = await mkdtemp(join(tmpdir(), 'ralph-objects-'));
  const git = (...args: string[]): Promise<string> => runGit(folder, args);
  await git('init', '--quiet', `--object-format=${format}`);
  await writeFile(join(folder, 'a.txt'), 'packed');
  await git('add', '.');
  await git('commit', '--quiet', '-m', 'one');
  await git('repack', '-adq');
  await git('prune-packed');
  await writeFile(join(folder, 'b.txt'), 'single');
  await git('add', '.');
  await git('commit', '--quiet', '-m', 'two');
  return {
    folder,
    objects: join(folder, '.git', 'objects'),
    git,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

const packOf = async ({ objects }: Scene): Promise<string> =>
  join(objects, 'pack', (await readdir(join(objects, 'pack'))).find((name) => name.endsWith('.pack')) ?? '');

const pathOf = ({ objects }: Scene, id: string): string => join(objects, id.slice(0, 2), id.slice(2));

describe('objects that are still what they were', () => {
  test.each(['sha1', 'sha256'])('stay, and others go (%s)', async (format) => {
    await using scene = await setScene(format);
    const before = await listObjects(scene.objects);
    expect(Object.keys(before.packs)).toHaveLength(2);
    expect(before.single).toHaveLength(3);
    handedOverSchema.shape.objects.parse(before);
    await scene.git('branch', 'was');
    const ids = await scene.git('rev-list', '--objects', 'was');
    await writeFile(join(scene.folder, 'c.txt'), 'new');
    await scene.git('add', '.');
    await scene.git('commit', '--quiet', '-m', 'three');
    const added = await scene.git('rev-parse', 'HEAD');
    await scene.git('pack-objects', '--all', '--quiet', join(scene.objects, 'pack', 'pack'));
    await symlink('/etc/passwd', join(scene.objects, 'pack', 'pack-link.pack'));
    await writeFile(join(scene.objects, 'pack', 'multi-pack-index'), 'rubbish');
    await chmod(await packOf(scene), 0);
    expect(await keepObjects(scene.objects, before)).toBe(true);
    expect(await listObjects(scene.objects)).toEqual(before);
    expect(await scene.git('rev-list', '--objects', 'was')).toBe(ids);
    await expect(scene.git('cat-file', '-e', added)).rejects.toThrow();
  });

  test.each<[string, (scene: Scene) => Promise<unknown>]>([
    [
      'a byte in a pack',
      async (scene) => {
        const path = await packOf(scene);
        const bytes = await readFile(path);
        await rm(path);
        await writeFile(path, bytes.fill(bytes[20] === 1 ? 2 : 1, 20, 21));
      },
    ],
    [
      'a pack with a hash of its own',
      async (scene) => {
        const path = await packOf(scene);
        const bytes = (await readFile(path)).subarray(0, -20);
        bytes.fill(0, 20, 30);
        await rm(path);
        await writeFile(path, Buffer.concat([bytes, createHash('sha1').update(bytes).digest()]));
      },
    ],
    ['an index of a pack', async (scene) => writeOver((await packOf(scene)).replace(/pack$/, 'idx'))],
    ['a pack that is gone', async (scene) => rm(await packOf(scene))],
    [
      'a pack that is a link to a copy',
      async (scene) => {
        const path = await packOf(scene);
        const copy = join(scene.folder, 'copy');
        await writeFile(copy, await readFile(path));
        await rm(path);
        await symlink(copy, path);
      },
    ],
    ['packs that were packed again', async (scene) => scene.git('gc', '--quiet', '--prune=now')],
    ['a single object', async (scene) => writeOver(pathOf(scene, await scene.git('rev-parse', 'HEAD')))],
    [
      'a single object with other content',
      async (scene) =>
        writeOver(pathOf(scene, await scene.git('rev-parse', 'HEAD:b.txt')), deflateSync('blob 6\0forged')),
    ],
    [
      'a single object that is large',
      async (scene) =>
        writeOver(
          pathOf(scene, await scene.git('rev-parse', 'HEAD:b.txt')),
          deflateSync(Buffer.alloc(300 * 2 ** 20), { level: 1 }),
        ),
    ],
    [
      'a single object that is a folder',
      async (scene) => {
        const path = pathOf(scene, await scene.git('rev-parse', 'HEAD:b.txt'));
        await rm(path);
        await mkdir(path);
      },
    ],
  ])('are told from %s: then none stay', async (_, change) => {
    await using scene = await setScene();
    const before = await listObjects(scene.objects);
    await change(scene);
    expect(await keepObjects(scene.objects, before)).toBe(false);
    expect(await listObjects(scene.objects)).toEqual({ packs: {}, single: [] });
  });
});

async function writeOver(path: string, content: string | Buffer = 'rubbish'): Promise<void> {
  await rm(path);
  await writeFile(path, content);
}
