// Plain JavaScript on purpose, like dev.mjs: it runs on whatever Node (18 or newer) a machine has.
// Runs everything that must hold before a change lands, several jobs at a time. Each log is printed in one piece when its
// job ends; a job that fails stops no other, and the last lines name all that failed.
import { execFileSync, spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const startedAt = Date.now();
/** More than a small runner has cores: the tests wait for programs a good part of their time. */
const AT_ONCE = 3;
/** Jobs with `inTime` begin no later than the first instant and end no later than the second, so that the whole stays within twelve minutes, the installation included. */
const BEGINS_UNTIL_MS = 9.5 * 60_000;
const ENDS_UNTIL_MS = 10.5 * 60_000;

/** What decides how an agent is isolated. The corpus of attacks is played at `namespace` for a branch that changes one of these. */
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
  'sandbox/',
  'test/e2e/attacks/',
  'test/e2e/e2e-fixture.ts',
  'test/own-machine.ts',
  'scripts/',
  'package-lock.json',
  'vitest.config.ts',
  '.ci/',
];

const command = (name, ...args) => ['npm', 'run', '--silent', name, '--', ...args];

/**
 * In the order in which they begin. `inTime`: a job that is played as far as there is time. It ends with the first test that
 * fails, and that decides; what it had no time for is played by the workflow `ci`, in parts, for each push.
 */
const jobs = [
  { name: 'tests', argv: ['npm', 'test', '--silent'] },
  { name: 'slow integration tests', argv: command('test:only', '--project', 'slow-integration') },
  { name: 'types', argv: command('types') },
  { name: 'lint', argv: command('lint') },
  { name: 'dist is fresh', argv: command('check-dist') },
  {
    name: 'size, requests, processes',
    argv: command('bench', '--check', 'bundle', 'light-event', 'requests', 'git-processes', 'orchestration'),
  },
  { name: 'sandbox', argv: ['npm', 'start', '--silent'] },
  // Users and namespaces of their own need root.
  ...(process.getuid?.() !== 0 && canSudo()
    ? [
        {
          name: 'isolation, as root',
          argv: [
            ...['sudo', 'env', `PATH=${process.env.PATH ?? ''}`, 'CI=true'],
            ...command('test:only', '--project', '!attacks', 'isolation', 'open-doors'),
          ],
        },
      ]
    : []),
  { name: 'everyday runs', argv: command('test:only', '--project', 'everyday', '--bail=1'), inTime: true },
  {
    name: 'whole runs and attacks',
    argv: command(
      'test:rest',
      ...['slow-integration', 'everyday', ...(mayChangeIsolation() ? [] : ['attacks-namespace'])].flatMap((name) => [
        '--project',
        `!${name}`,
      ]),
      // Another part each time.
      ...['--bail=1', '--sequence.shuffle.files', `--sequence.seed=${String(startedAt)}`],
    ),
    inTime: true,
  },
  // The CLIs of other agents are large: one of them is fetched. All: npm run test:agents.
  {
    name: 'a real agent',
    argv: command('test:agents', 'test/agents/gemini.test.ts', '-t', 'it answers|writes a file|fresh folder'),
    env: { RALPH_TEST_AGENTS: 'gemini' },
    inTime: true,
  },
];

/** Leaders of the process groups that run. */
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
  if (job.inTime && Date.now() - startedAt > BEGINS_UNTIL_MS)
    return void console.log(`== ${job.name} == skipped: no time is left for it`);
  console.log(`== ${job.name} == begins`);
  const began = Date.now();
  const { printed, status, isLate } = await run(job);
  const end = isLate ? 'played as far as there was time, ok' : status === 0 ? 'ok' : 'FAILED';
  if (end === 'FAILED') failed.push(job.name);
  // In one piece: the other job writes as well.
  process.stdout.write(
    Buffer.concat([Buffer.from(`\n== ${job.name} == ${end}, ${seconds(Date.now() - began)}\n`), ...printed]),
  );
}

function run({ argv: [file, ...args], env = {}, inTime = false }) {
  return new Promise((resolve) => {
    const printed = [];
    let isLate = false;
    const child = spawn(file, args, {
      cwd: root,
      env: { ...process.env, CI: 'true', RALPH_TEST_WORKERS: '2', RALPH_TEST_RETRIES: '2', ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (child.pid !== undefined) running.add(child.pid);
    const late = inTime
      ? setTimeout(
          () => {
            isLate = true;
            endGroup(child.pid);
            setTimeout(() => endGroup(child.pid, 'SIGKILL'), 10_000).unref();
          },
          Math.max(0, ENDS_UNTIL_MS - (Date.now() - startedAt)),
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

function endGroup(leader, signal = 'SIGTERM') {
  try {
    process.kill(-leader, signal);
  } catch {
    // It has ended.
  }
}

/** False only for a branch of which git can say that nothing in these folders differs from main. */
function mayChangeIsolation() {
  const paths = changedPaths();
  return paths === null || paths.some((path) => ISOLATION.some((start) => path.startsWith(start)));
}

/** What differs from where this branch left main, uncommitted changes included; null: this is main, or it cannot be said. */
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
