import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

if (Number(process.versions.node.split('.')[0]) < 24) {
  console.error(
    `The tests need Node 24, and this is ${process.version}: run "npm test", or "npm run test:only -- FILE", which bring their own.`,
  );
  process.exit(1);
}

// Tests create and remove a thousand small repositories: in memory, if it is large enough and programs may run there.
const memory = '/dev/shm';
if (process.env['TMPDIR'] === undefined && isRoomy(memory)) {
  const folder = mkdtempSync(join(memory, 'ralph-tests-'));
  // Other users may pass through.
  chmodSync(folder, 0o711);
  process.env['TMPDIR'] = folder;
  process.on('exit', () => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
}

/** Maximum number of workers; lower when `.ci/run` starts two of these projects at once. */
const MAX_WORKERS = Number(process.env['RALPH_TEST_WORKERS'] ?? 4);
/**
 * Options of tests without programs. They share imports: one worker runs file after file without loading them again.
 */
const shared = { setupFiles: ['test/seeds.ts'], isolate: false, maxWorkers: MAX_WORKERS };
/**
 * Options of tests that start real programs and mostly wait for them. The limit ends hanging tests; it does not judge a
 * busy machine.
 */
const waiting = { globalSetup: ['test/programs.ts'], maxWorkers: MAX_WORKERS, testTimeout: 240_000 };

const E2E = 'test/e2e';
const ATTACKS = `${E2E}/attacks`;
/** The attacks that succeed without isolation. `npm run test:deep` checks that they still do. */
const DOORS = `${ATTACKS}/open-doors.test.ts`;
const isDeep = process.env['RALPH_TEST_DEEP'] === '1';
/** Whole runs that are played first: most changes that break a run break these. */
const EVERYDAY = `${E2E}/everyday`;

/**
 * The tests that take too long for `npm test` and that `.ci/run` always plays: git, the sandboxes of agents, the
 * command line, long waits. Each has a worker of its own, because starting git from a large one takes longer.
 */
const SLOW_INTEGRATION = [
  'test/integration/cli/**/*.test.ts',
  'test/integration/isolation/*{sandbox,probe}*.test.ts',
  'test/integration/git/{,work-tree/,remote/}*.test.ts',
  'test/integration/state/state-{cache-store,poisoned-entry}.test.ts',
  'test/integration/agents/{agent-session-files,scripted-agent}.test.ts',
];
/**
 * Tests of the Claude Code CLI (downloaded first), `ralph` at home, work trees that change hands, merges, and twenty
 * lanes at once.
 */
const PROGRAMS = [
  'test/integration/home/**/*.test.ts',
  'test/integration/agents/claude-*.test.ts',
  'test/integration/git/{sandbox,merge,contention}/**/*.test.ts',
];
/** Tests that kill a run at each moment, or play two runs in each order. */
const MOMENTS = ['test/loop/{kill,two-runs}.test.ts'];

/** The files in the folder of a project that belong to another project. */
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  loop: MOMENTS,
  integration: [...SLOW_INTEGRATION, ...PROGRAMS],
  e2e: [`${ATTACKS}/**`, `${EVERYDAY}/**`],
  attacks: isDeep ? [] : [DOORS],
};

function project(name: string, how: typeof shared | typeof waiting, folder = `test/${name}`) {
  const exclude = [...(elsewhere[name] ?? [])];
  return { extends: true as const, test: { name, include: [`${folder}/**/*.test.ts`], exclude, ...how } };
}

/**
 * The attacks on an isolated agent, or in the job of the loop: all of them in `npm run test:deep`, otherwise only those
 * that succeed without isolation.
 */
function corpus(name: string, env: Readonly<Record<string, string>>) {
  const include = [isDeep ? `${ATTACKS}/**/*.test.ts` : DOORS];
  return { extends: true as const, test: { name, include, env, ...waiting } };
}
const isolatedCorpora = [
  corpus('attacks-namespace', { RALPH_TEST_ISOLATION: 'namespace' }),
  ...(isDeep
    ? [
        corpus('attacks-user', { RALPH_TEST_ISOLATION: 'user' }),
        corpus('attacks-three-jobs', { RALPH_TEST_ISOLATION: 'namespace', RALPH_TEST_JOBS: 'three' }),
      ]
    : []),
];

export default defineConfig({
  test: {
    testTimeout: 180_000,
    hookTimeout: 120_000,
    restoreMocks: true,
    // A program may be late if jobs share two cores: the report names a test that fails once, and a test that fails
    // each time is red.
    retry: Number(process.env['RALPH_TEST_RETRIES'] ?? 0),
    // The same limit as in test/eventually.ts.
    expect: { poll: { timeout: 30_000 } },
    projects: [
      project('unit', shared),
      project('loop', shared),
      // Its files leave nothing behind in a worker, and most take less time than loading what they import.
      project('integration', { ...waiting, isolate: false }),
      { extends: true as const, test: { name: 'moments', include: MOMENTS, ...shared } },
      { extends: true as const, test: { name: 'slow-integration', include: SLOW_INTEGRATION, ...waiting } },
      { extends: true as const, test: { name: 'programs', include: PROGRAMS, ...waiting } },
      project('everyday', waiting, EVERYDAY),
      project('e2e', waiting, E2E),
      project('attacks', waiting, ATTACKS),
      // The real CLIs of other agents: 1.2 GB, installed once.
      project('agents', {
        ...waiting,
        globalSetup: ['test/programs.ts', 'test/agents/install.ts'],
        testTimeout: 300_000,
      }),
      ...isolatedCorpora,
    ],
  },
});

function isRoomy(folder: string): boolean {
  let own = '';
  try {
    const { bavail, bsize } = statfsSync(folder);
    if (bavail * bsize < 4 * 2 ** 30) return false;
    own = mkdtempSync(join(folder, 'ralph-'));
    writeFileSync(join(own, 'program'), '#!/bin/sh\n', { mode: 0o755 });
    execFileSync(join(own, 'program'));
    return true;
  } catch {
    return false;
  } finally {
    if (own !== '') rmSync(own, { recursive: true });
  }
}
