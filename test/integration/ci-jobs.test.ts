import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { git } from '../../testbed/git.ts';

/** Notes its words and its priority, once the script had the time to lower it. */
const NPM = '#!/bin/sh\nsleep 0.2\necho "$* ($(nice))" >> "$PLAYED"\n';

test.each([
  { where: 'on main', changed: null, times: 1 },
  { where: 'on a branch that changes one of its folders', changed: 'src/isolation/new.ts', times: 1 },
  { where: 'on another branch', changed: 'src/core/new.ts', times: 0 },
])('.ci/run plays the attacks at `namespace` to their end $where: $times', async ({ changed, times }) => {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-ci-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const checkout = join(folder, 'checkout');
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text, { mode: 0o755 });
  };
  write('bin/npm', NPM);
  write('bin/sudo', '#!/bin/sh\nexit 1\n');
  mkdirSync(join(checkout, 'scripts'), { recursive: true });
  cpSync(join(import.meta.dirname, '../../scripts/ci.mjs'), join(checkout, 'scripts/ci.mjs'));
  await git(checkout, ['init', '-q', '-b', 'main']);
  await git(checkout, ['add', '.']);
  await git(checkout, ['commit', '-q', '-m', 'Jobs']);
  if (changed !== null) {
    await git(checkout, ['switch', '-q', '-c', 'branch']);
    write(join('checkout', changed), '');
    await git(checkout, ['add', '.']);
    await git(checkout, ['commit', '-q', '-m', 'Change']);
  }

  const played = join(folder, 'played');
  execFileSync(process.execPath, ['scripts/ci.mjs'], {
    cwd: checkout,
    env: { PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`, PLAYED: played },
  });
  const jobs = readFileSync(played, 'utf8').split('\n');
  // Jobs that may be cut short have a lower priority than the tests.
  const priority = /^test .*(\(\d+\))$/.exec(jobs.find((job) => job.startsWith('test ')) ?? '')?.[1];
  expect(jobs.filter((job) => job.endsWith(`--project attacks-namespace ${String(priority)}`))).toHaveLength(times);
  expect(jobs.find((job) => job.includes('test:rest'))).toContain('--project !attacks-namespace');
});
