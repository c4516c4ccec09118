import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  findPassedOverProgram,
  buildTrustedEnvironment,
  buildTrustedPath,
  findTrustedProgram,
} from '../../../src/processes/trusted-programs.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ralph-programs-'));
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

/** Creates a folder of PATH with a program in it, on a machine whose temporary folder is not the tests'. */
function plant(folder: string, name = 'git'): string {
  mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, folder, name), '#!/bin/sh\necho planted\n', { mode: 0o755 });
  return join(root, folder);
}
const machine = (...path: string[]): Record<string, string> => ({
  PATH: path.join(':'),
  HOME: join(root, 'home'),
  GITHUB_WORKSPACE: join(root, 'work'),
  RUNNER_TEMP: join(root, 'temp'),
  TMPDIR: join(root, 'tmp'),
});

test.each(['home/.local/bin', 'work/node_modules/.bin', 'temp/bin', 'tmp'])(
  'a program in %s is not taken, though it stands first on PATH',
  (folder) => {
    const planted = plant(folder);
    const environment = machine(planted, 'node_modules/.bin', '/usr/bin');
    expect(findTrustedProgram('git', environment)).toBe('/usr/bin/git');
    expect(buildTrustedPath(environment).split(':')).not.toContain(planted);
    expect(buildTrustedPath(environment)).not.toMatch(/(^|:)(?!\/)/);
  },
);

test('a link into the workspace is where it leads', () => {
  const planted = plant('work/bin');
  mkdirSync(join(root, 'opt'));
  symlinkSync(join(planted, 'git'), join(root, 'opt', 'git'));
  expect(findTrustedProgram('git', machine(join(root, 'opt'), '/usr/bin'))).toBe('/usr/bin/git');
});

test('a program that is only in the home folder is trusted there, one that is only in the workspace is not', () => {
  const home = plant('home/bin', 'frob');
  plant('work/bin', 'brof');
  const environment = machine(join(root, 'work/bin'), home);
  expect(findTrustedProgram('frob', environment)).toBe(join(home, 'frob'));
  expect(findTrustedProgram('brof', environment)).toBeNull();
});

test('a program that stands first on PATH and is not taken is named with the reason', () => {
  const [home, opt, work] = [plant('home/bin', 'frob'), plant('opt', 'frob'), plant('work/bin', 'frob')];
  const homePath = join(home, 'frob');
  expect(findPassedOverProgram('frob', machine(home, opt))).toEqual({
    path: homePath,
    why: 'any program that runs as you can replace it',
  });
  expect(findPassedOverProgram('frob', machine(work))).toMatchObject({ why: 'agents may leave files in its folder' });
  expect(findPassedOverProgram('frob', machine(opt, home))).toBeNull();
  expect(findPassedOverProgram('frob', machine(join(root, 'tmp')))).toBeNull();
});

test('the first answer stands, whatever is put on PATH later', () => {
  mkdirSync(join(root, 'early'));
  const environment = machine(join(root, 'early'), plant('late'));
  expect(findTrustedProgram('git', environment)).toBe(join(root, 'late', 'git'));
  plant('early');
  expect(findTrustedProgram('git', environment)).toBe(join(root, 'late', 'git'));
});

test.each<[string, (file: string) => void]>([
  [
    'other content',
    (file) => {
      writeFileSync(file, '#!/bin/sh\necho other\n');
    },
  ],
  [
    'another file',
    (file) => {
      copyFileSync(file, `${file}.new`);
      rmSync(file);
      copyFileSync(`${file}.new`, file);
    },
  ],
  [
    'none',
    (file) => {
      rmSync(file);
    },
  ],
])('a program that was changed (%s) is no longer started', (_, change) => {
  const folder = plant('opt');
  const environment = machine(folder);
  expect(findTrustedProgram('git', environment)).toBe(join(folder, 'git'));
  change(join(folder, 'git'));
  expect(() => findTrustedProgram('git', environment)).toThrow(
    /opt\/git was changed or removed while this run used it/,
  );
});

test("the system's folders come first, and nothing of the job's environment comes along", () => {
  const { PATH = '', ...rest } = buildTrustedEnvironment({ ...machine('/usr/bin', plant('opt', 'zstd')), SECRET: 'x' });
  expect(rest).toEqual({ LC_ALL: 'C' });
  expect(PATH.split(':')[0]).toBe('/usr/bin');
});
