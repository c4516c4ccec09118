import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createHandoffFolder } from '../../../src/runner/handoff-folder.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ralph-handoff-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const NAME = 'loop/work.json';

test('what one job writes another reads, with its hash; nothing half written lies beside it', async () => {
  await createHandoffFolder(folder).write(NAME, 'first');
  await createHandoffFolder(folder).write(NAME, 'second');
  const other = createHandoffFolder(folder);
  expect(Buffer.from((await other.read(NAME)) ?? '').toString()).toBe('second');
  expect(await other.fingerprint(NAME)).toEqual({
    sha256: '16367aacb67a4a017c8da8ab95682ccb390863780f7114dda0a0e0c55644c7c4',
    bytes: 6,
  });
  expect(await readdir(join(folder, 'loop'))).toEqual(['work.json']);
  await other.remove(NAME);
  expect([await other.read(NAME), await other.fingerprint(NAME)]).toEqual([null, null]);
});

test.each<[string, () => Promise<unknown>]>([
  ['nothing', () => Promise.resolve()],
  ['a link to a file of the machine', () => symlink('/etc/hostname', join(folder, NAME))],
  ['a folder', () => mkdir(join(folder, NAME))],
  ['a named pipe', () => Promise.resolve(execFileSync('mkfifo', [join(folder, NAME)]))],
  [
    'more than any parcel is',
    async () => {
      await writeFile(join(folder, NAME), '');
      await truncate(join(folder, NAME), 65 * 1024 * 1024);
    },
  ],
])('%s in the place of a parcel is rejected at once', async (_, lay) => {
  await mkdir(join(folder, 'loop'));
  await lay();
  const handoff = createHandoffFolder(folder);
  expect([await handoff.read(NAME), await handoff.fingerprint(NAME)]).toEqual([null, null]);
});

test('a folder of a job that is a link is not followed', async () => {
  await mkdir(join(folder, 'elsewhere'));
  await writeFile(join(folder, 'elsewhere', 'work.json'), '{}');
  await symlink(join(folder, 'elsewhere'), join(folder, 'loop'));
  expect(await createHandoffFolder(folder).read(NAME)).toBeNull();
});

test('a folder that cannot be written is an error that names the input', async () => {
  await writeFile(join(folder, 'file'), '');
  await expect(createHandoffFolder(join(folder, 'file')).write(NAME, '')).rejects.toThrow('handoff-path');
});
