import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cleanLines, readLastLines } from '../../../../src/cli/monitor/local/read-local.ts';
import { runs } from '../../../runs.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ralph-lines-'));
  await mkdir(join(folder, 'logs'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const put = async (name: string, text: string | Uint8Array, age = 0): Promise<void> => {
  const path = join(folder, 'logs', name);
  await writeFile(path, text);
  await utimes(path, 1000 - age, 1000 - age);
};
const lines = async (): Promise<readonly string[] | null> => (await readLastLines(folder, 'logs'))?.lines ?? null;

test('the last twenty lines of the file that was written last', async () => {
  await put('b.log', 'old\n', 10);
  await put('a.log', Array.from({ length: 30 }, (_, index) => `line ${String(index)}`).join('\n'));
  const found = await readLastLines(folder, 'logs');
  expect(found).toMatchObject({ file: 'a.log', at: 1_000_000 });
  expect([found?.lines.length, found?.lines.at(0), found?.lines.at(-1)]).toEqual([20, 'line 10', 'line 29']);
});

test('of a huge file only the end is read, and its first line, which may lack its beginning, is left out', async () => {
  await put('a.log', `${'x'.repeat(5_000_000)}\nlast\n`);
  expect(await lines()).toEqual(['last']);
});

test('one endless line is cut', async () => {
  await put('a.log', 'é'.repeat(1_000_000));
  const [line] = (await lines()) ?? [];
  expect(line).toMatch(/^�?é+$/);
  expect(line?.length).toBe(500);
});

test('a character that the cut splits, and bytes that are not characters', async () => {
  await put('a.log', Uint8Array.from([0xff, 0xfe, 0x61, 0x0a, 0xe6, 0x97]));
  expect(await lines()).toEqual(['��a', '�']);
});

describe('an entry that is not a file of the folder is not read', () => {
  test('a link', async () => {
    await writeFile(join(folder, 'secret'), 'secret\n');
    await symlink(join(folder, 'secret'), join(folder, 'logs', 'a.log'));
    expect(await lines()).toBeNull();
  });

  test('a pipe is not waited for', async () => {
    execFileSync('mkfifo', [join(folder, 'logs', 'a.log')]);
    expect(await lines()).toBeNull();
  });

  test('a folder that leads out', async () => {
    await rm(join(folder, 'logs'), { recursive: true });
    await symlink(tmpdir(), join(folder, 'logs'));
    expect(await lines()).toBeNull();
  });

  test.each(['nothing', 'a file in its place'])('%s', async (what) => {
    await rm(join(folder, 'logs'), { recursive: true });
    if (what !== 'nothing') await writeFile(join(folder, 'logs'), 'x');
    expect(await lines()).toBeNull();
  });
});

describe('no line steers a terminal', () => {
  test.each<[string, string, readonly string[]]>([
    ['colours', '\u001b[31mred\u001b[0m', ['red']],
    ['the cursor, and the screen', 'a\u001b[2J\u001b[1;1Hb', ['ab']],
    ['its title', '\u001b]0;owned\u0007text', ['text']],
    ['a link', '\u001b]8;;https://evil.example\u0007text\u001b]8;;\u0007', ['text']],
    ['an answer it would type', '\u001b[6n\u001bc\u0005', []],
    ['an escape alone', 'a\u001b', ['a']],
    ['eight-bit controls', 'a\u009b2Jb', ['ab']],
    ['bells and backspaces', 'a\u0007\b\bb', ['ab']],
    ['direction', 'a\u202eb\u2066c', ['abc']],
    ['half a character', 'a\ud800b', ['a�b']],
    ['other line ends', 'a\u2028b', ['a b']],
    ['a bar that is drawn again', '10 %\r50 %\r100 %\n', ['100 %']],
    ['Windows', 'a\r\nb\r\n', ['a', 'b']],
    ['tabs', '\tif\n', ['  if']],
    ['empty lines', 'a\n\n  \nb\n', ['a', 'b']],
    ['a key', `key sk-ant-api03-${'a'.repeat(93)}AA\n`, ['key ***']],
  ])('%s', (_, text, expected) => {
    expect(cleanLines(text)).toEqual(expected);
  });

  test('whatever it is', () => {
    const nasty = fc.constantFrom(
      '\u001b',
      '[',
      ']',
      '2J',
      '\u0007',
      '\u009b',
      '\r',
      '\n',
      '\t',
      'a',
      '\u202e',
      '\u0000',
    );
    const text = fc.array(fc.oneof(nasty, fc.string())).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (given) => {
        for (const line of cleanLines(given)) expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      }),
      { numRuns: runs(300) },
    );
  });
});
