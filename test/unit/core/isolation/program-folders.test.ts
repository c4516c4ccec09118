import { expect, test } from 'vitest';
import {
  findWritableFolders,
  describeWritableFolders,
  type ProgramFolder,
} from '../../../../src/core/isolation/program-folders.ts';

const folder = (change: Partial<ProgramFolder> = {}): ProgramFolder => ({
  path: '/usr/bin',
  mode: 0o40755,
  above: [0o40755, 0o40755],
  programs: [0o100755, 0o104755],
  ...change,
});

test.each<[string, Partial<ProgramFolder>, boolean]>([
  ['as on a system', {}, false],
  ['closed to others', { mode: 0o40700 }, false],
  ['writable by its group', { mode: 0o40775, programs: [0o100775] }, false],
  ['open to everybody', { mode: 0o40777 }, true],
  ['where everybody can add programs, but replace none', { mode: 0o41777 }, true],
  ['in a folder that is open to everybody', { above: [0o40755, 0o40777] }, true],
  ['in a folder for temporary files', { above: [0o40755, 0o41777] }, false],
  ['with a program that everybody can write', { programs: [0o100755, 0o100757] }, true],
])('a folder of programs %s: %s', (_, change, isOpen) => {
  expect(findWritableFolders([folder(change)])).toEqual(isOpen ? ['/usr/bin'] : []);
  expect(describeWritableFolders([folder(change)]) !== null).toBe(isOpen);
});

test('a warning names the first of them, each once', () => {
  const open = ['/a', '/b', '/a', '/c', '/d', '/e', '/f'].map((path) => folder({ path, mode: 0o40777 }));
  expect(describeWritableFolders(open)).toContain('write there: /a, /b, /c, /d, /e and 1 more. Use a runner');
});
