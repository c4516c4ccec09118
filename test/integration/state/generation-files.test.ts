import { execFile, spawn } from 'node:child_process';
import { link, mkdir, mkdtemp, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { NamedTexts } from '../../../src/ports/state.ts';
import {
  createGenerationFiles,
  type GenerationFiles,
  type GenerationFilesOptions,
} from '../../../src/state/generation-files.ts';

const run = promisify(execFile);
const source = new URL('../../../src/state/generation-files.ts', import.meta.url).href;

/** Returns files in a folder that does not exist yet, inside a temporary one. */
async function fixture(change: Partial<GenerationFilesOptions> = {}) {
  const parent = await mkdtemp(join(tmpdir(), 'ralph-directory-'));
  const folder = join(parent, '.ralph', 'state');
  const open = (more: Partial<GenerationFilesOptions> = {}): GenerationFiles =>
    createGenerationFiles({ folder, now: Date.now, ...change, ...more });
  const file = (name: string): string => join(folder, name);
  /** Returns the cells' files without those for git. */
  const files = async (): Promise<readonly string[]> =>
    (await readdir(folder)).filter((name) => name !== '.gitignore').sort();
  return {
    parent,
    folder,
    open,
    file,
    files,
    cells: open(),
    [Symbol.asyncDispose]: () => rm(parent, { recursive: true, force: true }),
  };
}

/** Returns the names of the files of `queue` in sorted order. */
function generations(from: number, to: number): readonly string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => `queue.${from + index}.json`).sort();
}

async function read(cells: NamedTexts, name = 'queue') {
  return cells.read(name);
}

/** Replaces any existing text. */
async function replace(cells: NamedTexts, text: string, name = 'queue'): Promise<string> {
  const found = await read(cells, name);
  const written = await cells.write(name, found.kind === 'found' ? found.head : null, text);
  if (written.kind !== 'written') throw new Error(JSON.stringify(written));
  return written.head;
}

describe('compare-and-swap', () => {
  test('a new cell is created once, then replaced by a writer that has seen the newest', async () => {
    await using scene = await fixture();
    expect(await read(scene.cells)).toEqual({ kind: 'absent' });
    const first = await scene.cells.write('queue', null, 'one');
    if (first.kind !== 'written') throw new Error(JSON.stringify(first));
    expect(await scene.cells.write('queue', null, 'two')).toEqual({ kind: 'conflict' });
    const second = await scene.open().write('queue', first.head, 'two');
    expect(await scene.cells.write('queue', first.head, 'three')).toEqual({ kind: 'conflict' });
    expect(await read(scene.cells)).toEqual({
      kind: 'found',
      head: second.kind === 'written' ? second.head : '',
      text: 'two',
    });
  });

  test('one of many that write in the same moment wins', async () => {
    await using scene = await fixture();
    const head = await replace(scene.cells, 'start');
    const written = await Promise.all(
      Array.from({ length: 20 }, (_, index) => scene.open().write('queue', head, `writer ${index}`)),
    );
    expect(written.map(({ kind }) => kind).sort()).toEqual([
      ...Array.from({ length: 19 }, () => 'conflict'),
      'written',
    ]);
    expect(await read(scene.cells)).toMatchObject({
      text: `writer ${written.findIndex(({ kind }) => kind === 'written')}`,
    });
  });

  test('a writer that slept until its generation was written, replaced and removed by others has not won', async () => {
    await using scene = await fixture();
    const head = await replace(scene.cells, 'zero');
    const sleeper = scene.open({
      link: async (existing, name) => {
        for (let others = 1; others <= 9; others += 1) await replace(scene.cells, String(others));
        await link(existing, name);
      },
    });
    expect(await sleeper.write('queue', head, 'from the past')).toEqual({ kind: 'conflict' });
    expect(await read(scene.cells)).toMatchObject({ text: '9' });
    expect(await scene.files()).toEqual(generations(3, 10));
  });

  test('processes that count together lose no count', async () => {
    await using scene = await fixture();
    const counter = `
      import { createGenerationFiles } from ${JSON.stringify(source)};
      const cells = createGenerationFiles({ folder: ${JSON.stringify(scene.folder)}, now: Date.now });
      for (let counted = 0; counted < 20; ) {
        const found = await cells.read('queue');
        if (found.kind === 'unavailable') throw new Error(found.why);
        const written = await cells.write('queue', found.kind === 'found' ? found.head : null, String(found.kind === 'found' ? Number(found.text) + 1 : 1));
        if ('why' in written) throw new Error(written.why);
        if (written.kind === 'written') counted += 1;
      }`;
    await Promise.all(Array.from({ length: 4 }, () => run(process.execPath, ['--input-type=module', '-e', counter])));
    expect(await read(scene.cells)).toMatchObject({ text: '80' });
    expect(await scene.files()).toEqual(generations(73, 80));
  });

  test('a process that is killed while it writes blocks nobody and leaves a whole text', async () => {
    await using scene = await fixture();
    const writer = `
      import { createGenerationFiles } from ${JSON.stringify(source)};
      const cells = createGenerationFiles({ folder: ${JSON.stringify(scene.folder)}, now: Date.now });
      let head = null;
      for (let written = 0; ; written += 1) {
        head = (await cells.write('queue', head, String(written % 10).repeat(100_000))).head;
        if (written % 5 === 0) process.stdout.write('.');
      }`;
    for (let killed = 0; killed < 5; killed += 1) {
      await rm(scene.folder, { recursive: true, force: true });
      const child = spawn(process.execPath, ['--input-type=module', '-e', writer], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let dots = 0;
      child.stdout.on('data', (data: Buffer) => {
        dots += data.length;
        if (dots > killed) child.kill('SIGKILL');
      });
      await new Promise((resolve) => child.once('close', resolve));
      const found = await read(scene.cells);
      expect(found).toMatchObject({ kind: 'found', text: expect.stringMatching(/^(\d)\1{99999}$/) });
      await replace(scene.cells, 'next');
      expect(await read(scene.cells)).toMatchObject({ text: 'next' });
    }
  });
});

describe('the stored generations', () => {
  test.each([
    ['64 KiB', 'x'.repeat(64 * 1024)],
    ['the most', 'x'.repeat(256 * 1024)],
    ['zero bytes, quotes, emoji and line ends', 'a\0"\'\\\r\n\u2028👩‍👩‍👧🏽\uFEFF'],
    ['a byte order mark at the start', '\uFEFF{}'],
  ])('%s is read back as it was', async (_, text) => {
    await using scene = await fixture();
    await replace(scene.cells, text);
    expect(await read(scene.open())).toMatchObject({ kind: 'found', text });
  });

  test('more than 32 MiB are not', async () => {
    await using scene = await fixture();
    expect(await scene.cells.write('queue', null, '€'.repeat(12_000_000))).toEqual({
      kind: 'unavailable',
      why: 'the text is larger than 32768 KiB',
    });
    expect(await read(scene.cells)).toEqual({ kind: 'absent' });
  });

  test('eight generations of each cell', async () => {
    await using scene = await fixture();
    for (let written = 1; written <= 9; written += 1) await replace(scene.cells, String(written));
    await replace(scene.cells, 'another', 'issue-7');
    expect(await scene.files()).toEqual(['issue-7.1.json', ...generations(2, 9)]);
    expect(await scene.cells.names()).toEqual(expect.arrayContaining(['issue-7', 'queue']));
    expect(await scene.cells.read('budget')).toEqual({ kind: 'absent' });
    expect(await scene.cells.read('issue-7')).toMatchObject({ text: 'another' });
    expect(await scene.cells.read('queue')).toMatchObject({ text: '9' });
    await scene.cells.remove('queue');
    expect(await scene.files()).toEqual(['issue-7.1.json']);
  });

  test('the tenth generation is newer than the ninth', async () => {
    await using scene = await fixture();
    for (let written = 1; written <= 11; written += 1) await replace(scene.cells, String(written));
    expect(await read(scene.cells)).toMatchObject({ text: '11' });
  });

  test('a lane is not taken for one whose name it begins or ends with', async () => {
    await using scene = await fixture();
    await replace(scene.cells, 'eleven', 'issue-11');
    expect(await read(scene.cells, 'issue-1')).toEqual({ kind: 'absent' });
    expect(await read(scene.cells, 'e-11')).toEqual({ kind: 'absent' });
  });

  test('git does not see it', async () => {
    await using scene = await fixture();
    await replace(scene.cells, 'secret');
    await run('git', ['init', '--quiet', scene.parent]);
    expect((await run('git', ['-C', scene.parent, 'status', '--porcelain', '--untracked-files=all'])).stdout).toBe('');
  });

  test('reading creates nothing', async () => {
    await using scene = await fixture();
    await scene.cells.read('queue');
    expect(await scene.cells.names()).toEqual([]);
    expect(await readdir(scene.parent)).toEqual([]);
  });

  test('what a killed process left goes with a later write, what a living one writes stays', async () => {
    await using scene = await fixture();
    await replace(scene.cells, 'one');
    const [old, fresh] = ['.0b6f2c1e-8f0a-4b52-9d43-6f0c9b7d2a11.tmp', '.1b6f2c1e-8f0a-4b52-9d43-6f0c9b7d2a11.tmp'];
    await Promise.all([
      writeFile(scene.file(old), 'x'),
      writeFile(scene.file(fresh), 'x'),
      writeFile(scene.file('notes.tmp'), 'x'),
    ]);
    const anHourAgo = new Date(Date.now() - 3_600_000);
    await Promise.all([
      utimes(scene.file(old), anHourAgo, anHourAgo),
      utimes(scene.file('notes.tmp'), anHourAgo, anHourAgo),
    ]);
    await replace(scene.cells, 'two');
    expect(await scene.files()).toEqual([fresh, 'notes.tmp', 'queue.1.json', 'queue.2.json']);
  });

  test("a person's own .gitignore stays", async () => {
    await using scene = await fixture();
    await mkdir(scene.folder, { recursive: true });
    await writeFile(scene.file('.gitignore'), '!*\n');
    await replace(scene.cells, 'one');
    expect(await readFile(scene.file('.gitignore'), 'utf8')).toBe('!*\n');
  });
});
