// This file is plain JavaScript on purpose, like dev.mjs: it runs on any Node (18 or newer) that a machine has.
// It runs everything that must pass before a change lands, several jobs at a time. Each log is printed in one piece
// when its job ends; a failing job does not stop the others, and the last lines name all that failed.
import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const startedAt = Date.now();
/** Number of jobs at a time; more than a small runner's cores, because tests often wait for programs. */
const AT_ONCE = 3;
/**
 * Minimum time in ms that must be left for a job with `endsBy` to begin. `endsBy` is the latest end of the job, in ms
 * after the start of everything: the whole, with the installation, takes eight minutes, on a slow machine twelve.
 */
const BEGINS_BEFORE_MS = 30_000;
const IN_EIGHT_MINUTES = 7.25 * 60_000;
const IN_TWELVE_MINUTES = 11 * 60_000;
/** The `nice` values of jobs with `endsBy`: those that may begin late leave the cores to the others. */
const [AFTER_TESTS, AFTER_ALL] = [5, 15];

/** Folders that decide about the isolation of an agent. A branch that changes none leaves out the attacks on it. */
const ISOLATION = [
  'src/isolation/',
  'src/core/isolation/',
  'src/processes/',
  'src/ports/',
  'src/entries/',
  'src/wiring/',
  'src/loop/',
  'src/agents/cli/',
  'src/git/checkout/tree/',
  'testbed/',
  'test/e2e/attacks/',
  'test/e2e/e2e-fixture.ts',
  'test/own-machine.ts',
  'scripts/',
  'package-lock.json',
  'vitest.config.ts',
  '.ci/',
];

/** Options that run the tests in a different order each time and stop at the first failure. */
const PART = ['--bail=1', '--sequence.shuffle.files', `--sequence.seed=${String(startedAt)}`];

const command = (name, ...args) => ['npm', 'run', '--silent', name, '--', ...args];
/** The words before a command that needs separate users and namespaces; empty for root, and where nobody can be it. */
const AS_ROOT =
  process.getuid?.() !== 0 && canSudo() ? ['sudo', 'env', `PATH=${process.env.PATH ?? ''}`, 'CI=true'] : [];

/**
 * The jobs in starting order. A job with `endsBy` plays as many tests as time allows; the workflow `ci` plays all of
 * them, in parts, for each push.
 */
const jobs = [
  { name: 'tests', argv: ['npm', 'test', '--silent'] },
  // One job for both, so that the types are read only once.
  { name: 'types and lint', argv: command('lint', '--type-check') },
  { name: 'dist is fresh', argv: command('check-dist') },
  {
    name: 'size, requests, processes',
    argv: command('bench', '--check', 'bundle', 'light-event', 'requests', 'git-processes'),
  },
  { name: 'sandbox', argv: ['npm', 'start', '--silent'] },
  {
    name: 'slow integration tests',
    argv: command('test:only', '--project', 'slow-integration', ...PART),
    endsBy: IN_TWELVE_MINUTES,
  },
  // It has no limit of time, so it begins before most of the jobs that have one.
  ...(mayChangeIsolation()
    ? [{ name: 'attacks at namespace', argv: [...AS_ROOT, ...command('test:only', '--project', 'attacks-namespace')] }]
    : []),
  ...(AS_ROOT.length > 0
    ? [{ name: 'isolation, as root', argv: [...AS_ROOT, ...command('test:only', 'isolation')] }]
    : []),
  { name: 'everyday runs', argv: command('test:only', '--project', 'everyday', ...PART), endsBy: IN_EIGHT_MINUTES },
  {
    name: 'whole runs and attacks',
    argv: command(
      'test:rest',
      ...['slow-integration', 'everyday', 'attacks-namespace'].flatMap((name) => ['--project', `!${name}`]),
      ...PART,
    ),
    endsBy: IN_EIGHT_MINUTES,
  },
  // The CLIs of other agents are large, so only one of them is installed; `npm run test:agents` covers all.
  {
    name: 'a real agent',
    argv: command('test:agents', 'test/agents/gemini.test.ts', '-t', 'it answers|writes a file|fresh folder'),
    env: { RALPH_TEST_AGENTS: 'gemini' },
    endsBy: IN_EIGHT_MINUTES,
  },
];

/** Leaders of the running process groups. */
const running = new Set();
process.on('exit', () => {
  for (const group of running) endGroup(group);
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(130));

const waiting = [...jobs];
const failed = [];
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) await play(job);
  }),
);
console.log(
  `\n${seconds(Date.now() - startedAt)} in all. ${failed.length > 0 ? `FAILED: ${failed.join(', ')}` : 'Everything that was played holds.'}`,
);
process.exit(failed.length === 0 ? 0 : 1);

async function play(job) {
  if (Date.now() - startedAt > job.endsBy - BEGINS_BEFORE_MS)
    return void console.log(`== ${job.name} == skipped: no time is left for it`);
  console.log(`== ${job.name} == begins`);
  const began = Date.now();
  const { printed, status, isLate } = await run(job);
  const end = isLate ? 'played as far as there was time, ok' : status === 0 ? 'ok' : 'FAILED';
  if (end === 'FAILED') failed.push(job.name);
  // A single write, because other jobs write at the same time.
  process.stdout.write(
    Buffer.concat([Buffer.from(`\n== ${job.name} == ${end}, ${seconds(Date.now() - began)}\n`), ...printed]),
  );
}

function run({ argv: [file, ...args], env = {}, endsBy = null }) {
  return new Promise((resolve) => {
    const printed = [];
    let isLate = false;
    const child = spawn(file, args, {
      cwd: root,
      env: { ...process.env, CI: 'true', RALPH_TEST_WORKERS: '2', RALPH_TEST_RETRIES: '2', ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (child.pid !== undefined) {
      running.add(child.pid);
      // A job that may be cut short must leave the cores to jobs that must finish.
      if (endsBy !== null) lowerPriority(child.pid, endsBy === IN_EIGHT_MINUTES ? AFTER_ALL : AFTER_TESTS);
    }
    const late =
      endsBy !== null
        ? setTimeout(
            () => {
              isLate = true;
              endGroup(child.pid);
              setTimeout(() => endGroup(child.pid, 'SIGKILL'), 10_000).unref();
            },
            Math.max(0, endsBy - (Date.now() - startedAt)),
          )
        : undefined;
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => printed.push(chunk));
    child.on('error', (error) => printed.push(Buffer.from(`${file}: ${error.message}\n`)));
    child.on('close', (status) => {
      clearTimeout(late);
      running.delete(child.pid);
      resolve({ printed, status, isLate });
    });
  });
}

function lowerPriority(leader, nice) {
  setPriority(leader, nice);
  try {
    // Linux schedules by sessions first, and each session has its own priority.
    writeFileSync(`/proc/${String(leader)}/autogroup`, String(nice));
  } catch {
    // Ignored: this machine does not schedule by sessions.
  }
}

function endGroup(leader, signal = 'SIGTERM') {
  try {
    process.kill(-leader, signal);
  } catch {
    // The process group has already ended.
  }
}

/** Returns false only if git confirms that nothing in these folders differs from main. */
function mayChangeIsolation() {
  const paths = changedPaths();
  return paths === null || paths.some((path) => ISOLATION.some((start) => path.startsWith(start)));
}

/**
 * Returns the paths that differ from the branch's base in main, including uncommitted changes; null on main or if git
 * cannot tell.
 */
function changedPaths() {
  try {
    const head = git('rev-parse', 'HEAD');
    if (process.env.GITHUB_REF === 'refs/heads/main') return null;
    if (git('rev-parse', '--abbrev-ref', 'HEAD') === 'main') return null;
    const mains = git('for-each-ref', '--format=%(refname)', 'refs/remotes/origin/main', 'refs/heads/main').split('\n');
    const base = git('merge-base', head, mains[mains.length - 1] ?? '');
    if (base === head) return null;
    return `${git('diff', '--name-only', base)}\n${git('ls-files', '--others', '--exclude-standard')}`.split('\n');
  } catch {
    return null;
  }
}

function git(...args) {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

function canSudo() {
  try {
    execFileSync('sudo', ['-n', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function seconds(ms) {
  return `${String(Math.round(ms / 1000))} s`;
}
