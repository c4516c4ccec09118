import { readFileSync } from 'node:fs';
import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { deepTest } from '../../runs.ts';
import { runSplit } from '../split-fixture.ts';
import type { Run, Scene, SceneJob } from '../e2e-fixture.ts';
import { BRANCH, createReviewedScene, heard, MODULE, report } from './feedback-fixture.ts';

const MEBIBYTE = 1024 * 1024;
const EARLY = 'EARLY-WORDS-OF-THE-LOG';
const WANTED = `##[error]${MODULE}: the first line must be "// MIT"`;

/** Returns a log of this many bytes whose end names the problem. */
function longLog(bytes: number): string {
  const line = `2026-11-21T12:00:11.0000000Z ${EARLY} ${'x'.repeat(2000)}\n`;
  const at = '2026-11-21T12:00:12.0000000Z';
  const rest = Array.from({ length: 300 }, (_, index) => `${at} line ${String(index)}\n`).join('');
  return `${line.repeat(Math.ceil(bytes / line.length))}${rest}${at} ${WANTED}\n`;
}

test("a failed check starts a run that gets the end of its log and compares it with the check's result on the next head", async () => {
  await using scene = await createReviewedScene();
  const log = { kind: 'text', content: longLog(10_000) } as const;
  const { event } = await report(scene, { log, annotations: [annotation('Line 1 is wrong.')] });
  const run = await heard(scene, { event });
  expect(run).toMatchObject({ calls: 1, outputs: { outcome: 'complete' } });
  expect(run.prompts[0]).toMatch(/BEGIN TASK[^]*Line 1 is wrong\.[^]*line 299\nError: src\/issue-1\.mjs[^]*END TASK/);
  expect(run.prompts[0]).not.toContain(EARLY);
  expect(run.prompts[0]).not.toContain('line 50\n');
  expect(scene.pullOf(BRANCH).body).toMatch(/✅ \[Check "test" fails\]/);
  // No check has reported on the new head yet, so there is nothing to do.
  expect(await scene.run()).toMatchObject({ calls: 0 });
  await report(scene, { conclusion: 'SUCCESS' });
  expect(await scene.run()).toMatchObject({ calls: 0, outputs: { outcome: 'idle' } });
});

test('a check that fails on the base branch as well, or passes when it is run again, is not worked on', async () => {
  await using scene = await createReviewedScene();
  const { git, github } = scene.testbed;
  await report(scene, { name: 'flaky' });
  await report(scene, { name: 'flaky', conclusion: 'SUCCESS' });
  const { suite, event } = await report(scene, { name: 'old', workflow: { name: 'Old' } });
  github.state.suites.push({ ...suite, id: suite.id + 100_000, head: await git('rev-parse', 'main') });
  expect(await scene.run({ event })).toMatchObject({ calls: 0 });
});

test("a failed run of Ralph's own workflow is not answered, but that of another workflow with the same name is", async () => {
  await using scene = await createReviewedScene();
  const own = await report(scene, { name: 'ralph', workflow: { name: 'ralph', path: '.github/workflows/ralph.yml' } });
  expect(await scene.run({ event: own.event })).toMatchObject({ calls: 0, outputs: { reason: 'not_for_us' } });
  // The schedule does not ask for checks either.
  expect(await scene.run()).toMatchObject({ calls: 0 });
  const log = { kind: 'text', content: longLog(1000) } as const;
  const path = '.github/workflows/other.yml';
  const other = await report(scene, { name: 'ralph', workflow: { name: 'Ralph', path }, log });
  expect(await scene.run({ event: other.event })).toMatchObject({ calls: 1 });
});

test('a log of 48 MiB is streamed: it costs no memory, and does not reach a prompt, state or page', async () => {
  await using scene = await createReviewedScene();
  const content = longLog(1000);
  const first = await report(scene, { log: { kind: 'text', content } });
  const little = await peakOf(scene, { event: first.event });
  const next = await report(scene, {
    name: 'lint',
    log: { kind: 'text', content: longLog(48 * MEBIBYTE).replace('MIT', 'BSD') },
  });
  const run = await peakOf(scene, { event: next.event });
  expect(run).toMatchObject({ calls: 1, outputs: { outcome: 'complete' } });
  expect(run.prompts[0]).toContain('the first line must be "// BSD"');
  expect(run.prompts[0]).not.toContain(EARLY);
  expect(run.prompts[0]?.length).toBeLessThan(40_000);
  expect(little.peakBytes).toBeGreaterThan(20 * MEBIBYTE);
  expect(run.peakBytes - little.peakBytes).toBeLessThan(40 * MEBIBYTE);
  const { issues, comments, threads } = scene.testbed.github.state;
  const refs = await scene.testbed.git('log', '--all', '--patch', '--text', '--format=%B');
  expect([JSON.stringify([issues, comments, threads]), refs, run.main.log, run.summary].join()).not.toContain(EARLY);
});

test('of a log of 10 MB the three jobs hand over only the shown part', async () => {
  await using scene = await createReviewedScene();
  const { event } = await report(scene, { log: { kind: 'text', content: longLog(10 * MEBIBYTE) } });
  const kept = join(scene.testbed.folder, 'kept');
  const { gate, publish } = await runSplit(scene, {
    event,
    beforePublish: (folder) => cp(folder, kept, { recursive: true }),
  });
  expect(publish?.outputs).toMatchObject({ outcome: 'complete' });
  const parcels = [kept, join(gate.machine, 'temp', 'ralph-handoff', 'gate')];
  const files = await Promise.all(
    parcels.map(async (folder) => (await readdir(folder)).map((name) => readFileSync(join(folder, name), 'utf8'))),
  );
  const everything = files.flat().join('\n');
  expect(everything).toContain('the first line must be');
  expect(everything).not.toContain(EARLY);
  expect(everything.length).toBeLessThan(MEBIBYTE);
});

// Also tested by integration/github/feedback.
deepTest.each([
  ['never-ends', /^The log of the job did not arrive within \d+ s: its end is missing\.$/m],
  ['endless', /^The log of the job is larger than 64 MiB: its end is missing\.$/m],
] as const)(
  'a log that %s does not hold the run up, and the agent is told that its end is missing',
  async (kind, missing) => {
    await using scene = await createReviewedScene();
    const { event } = await report(scene, { log: { kind, content: longLog(2000) } });
    const run = await heard(scene, { event });
    // The number of calls depends on where the log is cut: the shown part may lack the line that says what to do.
    expect(run).toMatchObject({ outputs: { outcome: 'complete' } });
    expect(run.prompts[0]).toMatch(missing);
  },
);

function annotation(message: string) {
  return { path: MODULE, line: 1, level: 'failure', message } as const;
}

/** Returns main's peak memory. */
async function peakOf(
  scene: Scene,
  job: SceneJob,
): Promise<Run & { readonly prompts: readonly string[]; readonly peakBytes: number }> {
  let peakBytes = 0;
  let watch: NodeJS.Timeout | undefined;
  const run = await heard(scene, {
    ...job,
    onStart: ({ pid }) => {
      watch = setInterval(() => {
        peakBytes = Math.max(peakBytes, peakNow(pid));
      }, 20);
    },
  });
  clearInterval(watch);
  return { ...run, peakBytes };
}

/** Returns 0 for a process that has ended. */
function peakNow(pid: number): number {
  try {
    const [, kib = '0'] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8')) ?? [];
    return Number(kib) * 1024;
  } catch {
    return 0;
  }
}
