import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { git } from '../../../testbed/git.ts';
import { ACTION_FOLDER, TESTBED_KEY } from '../../../testbed/testbed.ts';
import { runStatusSchema } from '../../../src/core/local/status-document.ts';
import { layRalph, type Ralph } from '../../ralphs.ts';
import { rows } from '../../runs.ts';

// These tests use repositories as other Ralphs set them up, unchanged, on a person's own machine.

let folder = '';
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'ralph-home-')));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** Creates a person's checkout as the other Ralph left it, and an empty home. */
async function moveIn(ralph: Ralph): Promise<string> {
  const checkout = join(folder, 'checkout');
  await mkdir(join(folder, 'home'));
  await mkdir(checkout);
  await layRalph(ralph, checkout);
  return checkout;
}

/** Runs `ralph run` in the checkout; CLAUDE_CODE_CMD names the scripted agent. */
function ralphRun(
  checkout: string,
  args: readonly string[] = [],
): Promise<{ readonly code: number; readonly out: string }> {
  const env = {
    PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
    HOME: join(folder, 'home'),
    TMPDIR: tmpdir(),
    ANTHROPIC_API_KEY: TESTBED_KEY,
    CLAUDE_CODE_CMD: join(inject('programs'), 'scripted-agent.mjs'),
    GIT_CONFIG_GLOBAL: '/dev/null',
  };
  const program = join(ACTION_FOLDER, 'dist', 'cli', 'index.js');
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [program, 'run', '--isolation', 'none', ...args],
      { cwd: checkout, env },
      (error, out, reported) => {
        resolve({ code: error === null ? 0 : Number(error.code), out: `${out}${reported}` });
      },
    );
  });
}

/** The fields of `status.json` that readers of other Ralphs know, and those that bmalph has a word for. */
interface StatusFile {
  readonly loop_count: number;
  readonly calls_made_this_hour: number;
  readonly max_calls_per_hour: number;
  readonly status: string;
  readonly run: unknown;
}
const KNOWN_STATUSES = [
  ...['running', 'halted', 'stopped', 'completed', 'success'],
  ...['graceful_exit', 'paused', 'error'],
];

interface Expected {
  readonly ralph: Ralph;
  /** The run's outcome, its number of agent calls, and the hourly limit. */
  readonly outcome: string;
  readonly calls: number;
  readonly perHour: number;
  /** Titles of the tasks, in the order of the commits. */
  readonly titles: readonly string[];
  /** A file of the branch afterwards. */
  readonly file: string;
  readonly holds: RegExp;
  /** The message about the other Ralph's files. */
  readonly says: string;
}

// ralphs/scheduled plays the others.
test.each<Expected>(
  rows<Expected>(3, [
    {
      ralph: 'bmalph',
      ...{ outcome: 'parked', calls: 3, perHour: 3 },
      titles: ['Story 1.2: Turn umlauts into two letters', 'Story 2.1: Cut at sixty characters'],
      file: '.ralph/@fix_plan.md',
      holds: /- \[x\] Story 1\.2[^]*- \[ \] Story 2\.1/,
      says: '.ralph/.ralphrc',
    },
    {
      ralph: 'early-bash',
      ...{ outcome: 'complete', calls: 6, perHour: 100 },
      titles: ['Roll one die', 'Roll several dice', 'Add the dice up'],
      file: '@fix_plan.md',
      holds: /- \[x\] Add the dice up/,
      says: '@fix_plan.md',
    },
    {
      ralph: 'snarktank',
      ...{ outcome: 'complete', calls: 4, perHour: 100 },
      titles: ['Sort a shelf', 'Sort backwards'],
      file: 'scripts/ralph/progress.txt',
      holds: /Functions never change what they are given/,
      says: 'scripts/ralph/prd.json',
    },
    {
      ralph: 'ralph-claude-code',
      ...{ outcome: 'complete', calls: 4, perHour: 40 },
      titles: ['Greet several people at once', 'Say goodbye'],
      file: '.ralph/fix_plan.md',
      holds: /- \[x\] Say goodbye[^]*- \[ \] Greet by voice/,
      says: '.ralphrc',
    },
    {
      ralph: 'go-ralph',
      ...{ outcome: 'complete', calls: 6, perHour: 100 },
      // A person's manual run retries what failed before.
      titles: ['Read from standard input', 'Count characters', 'Say which file is missing'],
      file: 'INDEX.txt',
      holds: /^(.+\n){3}$/,
      says: '.ralph/config.json',
    },
  ]),
)('ralph run on a repository of $ralph: $outcome after $calls calls', async (expected) => {
  const { outcome, calls, perHour, titles, file, holds, says } = expected;
  const checkout = await moveIn(expected.ralph);
  const before = await git(checkout, ['rev-parse', 'HEAD']);

  const dry = await ralphRun(checkout, ['--dry-run']);
  expect(dry.code, dry.out).toBe(0);
  expect(dry.out).toContain(titles[0]);
  expect(await git(checkout, ['status', '--porcelain'])).toBe('');

  const { code, out } = await ralphRun(checkout);
  expect(code, out).toBe(0);
  expect(out).toContain(says);
  // The work is on a branch; the person's own branch and files are unchanged.
  const subjects = (await git(checkout, ['log', '--reverse', '--format=%s', 'main..ralph/queue'])).split('\n');
  const worked = subjects.map((subject) => titles.find((title) => subject.includes(title))).filter(Boolean);
  expect(worked.filter((title, at) => title !== worked[at - 1])).toEqual(titles);
  expect(await git(checkout, ['rev-parse', 'HEAD'])).toBe(before);
  expect(await git(checkout, ['branch', '--show-current'])).toBe('main');
  expect(await git(checkout, ['status', '--porcelain', '--', '.', ':!.ralph'])).toBe('');
  expect(`${await git(checkout, ['show', `ralph/queue:${file}`])}\n`).toMatch(holds);

  const status = JSON.parse(await readFile(join(checkout, '.ralph/status.json'), 'utf8')) as StatusFile;
  expect(status).toMatchObject({
    loop_count: calls,
    calls_made_this_hour: calls,
    max_calls_per_hour: perHour,
    run: { doing: 'ended', branch: 'ralph/queue', outcome: { kind: outcome } },
  });
  expect(KNOWN_STATUSES).toContain(status.status);
  expect(runStatusSchema.safeParse(status.run).success).toBe(true);

  // The remaining work is done or waits, and a run needs no call to find that out.
  const again = await ralphRun(checkout);
  expect(again.code, again.out).toBe(0);
  expect(await git(checkout, ['rev-list', '--count', 'main..ralph/queue'])).toBe(String(subjects.length));
});
