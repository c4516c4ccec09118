import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findWritableFolders } from '../../../src/core/isolation/program-folders.ts';
import { findProgramFolders } from '../../../src/isolation/program-folders.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ralph-programs-'));
  for (const name of ['closed', 'open', 'elsewhere', 'outer/inner']) mkdirSync(at(name), { recursive: true });
  writeFileSync(at('closed', 'tool'), '', { mode: 0o755 });
  writeFileSync(at('elsewhere', 'tool'), '', { mode: 0o755 });
  chmodSync(at('open'), 0o777);
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

const at = (...names: readonly string[]): string => join(root, ...names);
const openIn = async (...folders: readonly string[]): Promise<readonly string[]> =>
  findWritableFolders(await findProgramFolders(folders.join(':')));

test('folders that everybody can write are found, and those that are not there where everybody could make them', async () => {
  const [closed, open] = [at('closed'), at('open')];
  expect(await openIn(closed, open, at('open', 'new'), at('closed', 'new'), 'relative', '', '/usr/bin')).toEqual([
    open,
    at('open', 'new'),
  ]);
});

test('a folder above that is open counts, also on the way of a link', async () => {
  chmodSync(at('outer'), 0o777);
  symlinkSync(at('outer', 'inner'), at('linked'));
  expect(await openIn(at('outer', 'inner'), at('linked'))).toEqual([at('outer', 'inner'), at('linked')]);
});

test('a program that everybody can write is found, and one to which a link leads', async () => {
  expect(await openIn(at('closed'))).toEqual([]);
  symlinkSync(at('elsewhere', 'tool'), at('closed', 'linked'));
  symlinkSync('/nowhere', at('closed', 'broken'));
  expect(await openIn(at('closed'))).toEqual([]);
  chmodSync(at('elsewhere'), 0o777);
  expect(await openIn(at('closed'))).toEqual([at('closed')]);
  chmodSync(at('elsewhere'), 0o755);
  chmodSync(at('closed', 'tool'), 0o777);
  expect(await openIn(at('closed'))).toEqual([at('closed')]);
});
