import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { NamedTexts } from '../../../src/ports/state.ts';
import { createGenerationFiles, type GenerationFilesOptions } from '../../../src/state/generation-files.ts';

const run = promisify(execFile);
const source = new URL('../../../src/state/generation-files.ts', import.meta.url).href;

/** Creates the cell `queue`, with `one` written first and then `two`. */
async function fixture() {
  const parent = await mkdtemp(join(tmpdir(), 'ralph-directory-'));
  const folder = join(parent, 'state');
  const open = (change: Partial<GenerationFilesOptions> = {}): NamedTexts =>
    createGenerationFiles({ folder, now: Date.now, ...change });
  const cells = open();
  const first = await cells.write('queue', null, 'one');
  const second = first.kind === 'written' ? await cells.write('queue', first.head, 'two') : first;
  if (second.kind !== 'written') throw new Error(JSON.stringify(second));
  return {
    parent,
    folder,
    open,
    cells,
    head: second.head,
    file: (name: string) => join(folder, name),
    [Symbol.asyncDispose]: () => rm(parent, { recursive: true, force: true }),
  };
}

async function read(cells: NamedTexts) {
  const found = await cells.read('queue');
  if (found.kind !== 'found') throw new Error(JSON.stringify(found));
  return found;
}

const longAgo = new Date(Date.now() - 3_600_000);

describe('a damaged newest file', () => {
  test.each<[string, (file: string) => Promise<void>]>([
    ['empty', (file) => truncate(file)],
    ['huge', (file) => truncate(file, 32 * 1024 * 1024 + 1)],
  ])('%s: the one before is read, and the next write goes above both', async (_, damage) => {
    await using scene = await fixture();
    await damage(scene.file('queue.2.json'));
    await utimes(scene.file('queue.2.json'), longAgo, longAgo);
    const found = await read(scene.cells);
    expect(found.text).toBe('one');
    expect(found.head).not.toBe(scene.head);
    expect(await scene.cells.write('queue', scene.head, 'of before the damage')).toEqual({ kind: 'conflict' });
    expect(await scene.cells.write('queue', found.head, 'three')).toMatchObject({ kind: 'written' });
    expect((await readdir(scene.folder)).sort()).toEqual([
      '.gitignore',
      'queue.1.json',
      'queue.2.json',
      'queue.3.json',
    ]);
    expect((await read(scene.cells)).text).toBe('three');
  });

  test('and none before it: found without a text, never absent, and written again', async () => {
    await using scene = await fixture();
    await rm(scene.file('queue.1.json'));
    await truncate(scene.file('queue.2.json'));
    await utimes(scene.file('queue.2.json'), longAgo, longAgo);
    const found = await read(scene.cells);
    expect(found.text).toBe('');
    expect(await scene.cells.write('queue', null, 'three')).toEqual({ kind: 'conflict' });
    expect(await scene.cells.write('queue', found.head, 'three')).toMatchObject({ kind: 'written' });
    expect((await read(scene.cells)).text).toBe('three');
  });

  test('that a person edited is a new text: who wrote the old one must look again', async () => {
    await using scene = await fixture();
    await writeFile(scene.file('queue.2.json'), 'edited');
    expect((await read(scene.cells)).text).toBe('edited');
    expect(await scene.cells.write('queue', scene.head, 'three')).toEqual({ kind: 'conflict' });
  });
});

describe('files that a person removed', () => {
  test('the newest: the one before is the newest now', async () => {
    await using scene = await fixture();
    await rm(scene.file('queue.2.json'));
    expect((await read(scene.cells)).text).toBe('one');
    expect(await scene.cells.write('queue', scene.head, 'three')).toEqual({ kind: 'conflict' });
  });

  test('all: the cell begins again, and a head of before does not fit', async () => {
    await using scene = await fixture();
    await rm(scene.folder, { recursive: true });
    expect(await scene.cells.read('queue')).toEqual({ kind: 'absent' });
    expect(await scene.cells.write('queue', scene.head, 'three')).toEqual({ kind: 'conflict' });
    expect(await scene.cells.write('queue', null, 'three')).toMatchObject({ kind: 'written' });
    expect(await scene.cells.write('queue', scene.head, 'four')).toEqual({ kind: 'conflict' });
  });
});

describe('links are refused, never followed', () => {
  test('a cell that is a link', async () => {
    await using scene = await fixture();
    await writeFile(join(scene.parent, 'outside.json'), 'outside');
    await symlink(join(scene.parent, 'outside.json'), scene.file('queue.3.json'));
    const refused = { kind: 'unavailable', why: `${scene.file('queue.3.json')} is not a plain file; remove it` };
    expect(await scene.cells.read('queue')).toEqual(refused);
    expect(await scene.cells.write('queue', scene.head, 'three')).toEqual(refused);
    expect(await scene.cells.read('budget')).toEqual({ kind: 'absent' });
  });

  test.each(['existing', 'missing'])('a folder that is a link to an %s one', async (target) => {
    await using scene = await fixture();
    const elsewhere = join(scene.parent, 'elsewhere');
    if (target === 'existing') await mkdir(elsewhere);
    await rm(scene.folder, { recursive: true });
    await symlink(elsewhere, scene.folder);
    const refused = { kind: 'unavailable', why: `${scene.folder} is a link; put a folder in its place` };
    expect(await scene.cells.read('queue')).toEqual(refused);
    expect(await scene.cells.write('queue', null, 'three')).toEqual(refused);
    if (target === 'existing') expect(await readdir(elsewhere)).toEqual([]);
  });

  test('a cell that is a folder or a pipe', async () => {
    await using scene = await fixture();
    await run('mkfifo', [scene.file('issue-1.1.json')]);
    await mkdir(scene.file('issue-2.1.json'));
    expect(await scene.cells.read('issue-1')).toMatchObject({ kind: 'unavailable' });
    expect(await scene.cells.read('issue-2')).toMatchObject({ kind: 'unavailable' });
    expect(await scene.cells.read('queue')).toMatchObject({ text: 'two' });
  });
});

test.each([
  '',
  '.',
  '..',
  '../queue',
  'queue/1',
  'Queue',
  '-queue',
  'queue.1',
  'qu eue',
  'a'.repeat(101),
  'queue\n',
  'queue\0',
])('%j is not a name', async (name) => {
  await using scene = await fixture();
  const refused = { kind: 'unavailable', why: expect.stringContaining('cannot be the name') };
  expect(await scene.cells.read(name)).toEqual(refused);
  expect(await scene.cells.write(name, null, 'x')).toEqual(refused);
});

describe('a disk that does not do what it should', () => {
  test('a file where the folder should be', async () => {
    await using scene = await fixture();
    await rm(scene.folder, { recursive: true });
    await writeFile(scene.folder, '');
    const refused = { kind: 'unavailable', why: `${scene.folder}: a part of its path is a file` };
    expect(await scene.cells.read('queue')).toEqual(refused);
    expect(await scene.cells.write('queue', null, 'x')).toEqual(refused);
  });

  test.skipIf(process.platform === 'win32')(
    'a file that cannot be written to its end: the text before stays, and nothing is left',
    async () => {
      await using scene = await fixture();
      const writer = `
      import { createGenerationFiles } from ${JSON.stringify(source)};
      const cells = createGenerationFiles({ folder: ${JSON.stringify(scene.folder)}, now: Date.now });
      console.log(JSON.stringify(await cells.write('queue', ${JSON.stringify(scene.head)}, 'x'.repeat(200_000))));`;
      // A limit on the file size simulates a full disk.
      const { stdout } = await run('sh', [
        '-c',
        'trap "" XFSZ; ulimit -f 64; exec "$0" --input-type=module -e "$1"',
        process.execPath,
        writer,
      ]);
      expect(JSON.parse(stdout)).toEqual({
        kind: 'unavailable',
        why: expect.stringContaining('larger than this process may write'),
      });
      expect((await readdir(scene.folder)).sort()).toEqual(['.gitignore', 'queue.1.json', 'queue.2.json']);
      expect(await read(scene.cells)).toEqual({ kind: 'found', head: scene.head, text: 'two' });
    },
  );

  test.each([
    ['ENOSPC', 'unavailable', /: the disk is full$/],
    ['EDQUOT', 'unavailable', /: the disk quota is used up$/],
    ['EIO', 'unavailable', /^EIO: the system says$/],
    ['EACCES', 'refused', /: this user has no write access there$/],
    ['EROFS', 'refused', /: it is on a read-only file system$/],
  ])('%s: %s, reported as a sentence', async (code, kind, why) => {
    await using scene = await fixture();
    const cells = scene.open({
      link: () => Promise.reject(Object.assign(new Error(`${code}: the system says`), { code })),
    });
    const written = await cells.write('queue', scene.head, 'three');
    expect(written).toEqual({ kind, why: expect.stringMatching(why) });
    expect((await readdir(scene.folder)).sort()).toEqual(['.gitignore', 'queue.1.json', 'queue.2.json']);
  });

  describe('without hard links', () => {
    const link = () => Promise.reject(Object.assign(new Error('EPERM: no links here'), { code: 'EPERM' }));

    test('a cell is written, replaced and contested anyway', async () => {
      await using scene = await fixture();
      const written = await Promise.all(
        Array.from({ length: 10 }, (_, index) => scene.open({ link }).write('queue', scene.head, `writer ${index}`)),
      );
      expect(written.filter(({ kind }) => kind === 'written')).toHaveLength(1);
      expect((await read(scene.cells)).text).toBe(`writer ${written.findIndex(({ kind }) => kind === 'written')}`);
      expect(await readFile(scene.file('queue.3.json'), 'utf8')).toMatch(/^writer \d$/);
    });

    test('a file that is still empty is being written: nobody goes above it', async () => {
      await using scene = await fixture();
      await writeFile(scene.file('queue.3.json'), '');
      const found = await read(scene.cells);
      expect(found.text).toBe('two');
      expect(await scene.cells.write('queue', found.head, 'three')).toEqual({ kind: 'conflict' });
      const later = scene.open({ now: () => Date.now() + 60_001 });
      expect(await later.write('queue', found.head, 'three')).toMatchObject({ kind: 'written' });
    });
  });
});
