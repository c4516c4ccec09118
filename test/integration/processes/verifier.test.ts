import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createVerifier } from '../../../src/processes/verifier.ts';
import type { Verification } from '../../../src/core/evidence.ts';
import { createMachine, createMemoryLog } from '../agents/agent-fixture.ts';
import { isRunning, processesWith } from './process-fixture.ts';

test.each<{ rule: string; commands: string[]; result: Record<string, unknown> }>([
  { rule: 'no commands', commands: [], result: { kind: 'not-run' } },
  { rule: 'commands that all pass', commands: ['true', 'test -d .git'], result: { kind: 'passed' } },
  {
    rule: 'the first that fails',
    commands: ['true', 'echo broken >&2; exit 3', 'echo not reached'],
    result: { kind: 'failed', command: 'echo broken >&2; exit 3', code: 3, tail: 'broken\n' },
  },
  { rule: 'a failure within a command line', commands: ['false; true'], result: { kind: 'failed', code: 1 } },
  { rule: 'a failure at the head of a pipe', commands: ['false | cat'], result: { kind: 'failed', code: 1 } },
  {
    rule: 'a command that does not exist',
    commands: ['no-such-command'],
    result: { kind: 'failed', code: 127, tail: expect.stringContaining('not found') },
  },
  { rule: 'colours', commands: [`printf '\\033[31mred\\033[0m'; exit 1`], result: { kind: 'failed', tail: 'red' } },
])('$rule: $result.kind', async ({ commands, result }) => {
  expect((await verify(commands)).verification).toMatchObject(result);
});

test('a verification begins at a later command, without a trace of those before it', async () => {
  const later = 'test ! -e ran && echo later; exit 4';
  const reports: string[] = [];
  const given = { from: 1, onReport: (report: string) => void reports.push(report) };
  const { verification } = await verify(['echo first | tee ran; exit 3', later, 'echo last'], given);
  expect(verification).toMatchObject({ kind: 'failed', command: later, code: 4, tail: 'later\n' });
  expect(reports.map((report) => report.trim())).toEqual(['later']);
  expect((await verify(['exit 3'], { from: 1 })).verification).toEqual({ kind: 'not-run' });
});

test('runs in the folder that the run works in', async () => {
  const inFolder = await verify(['test "$(basename "$PWD")" = a'], {
    folder: 'a',
    prepare: (top) => mkdirSync(join(top, 'a')),
  });
  expect(inFolder.verification.kind).toBe('passed');
});

test('of a long output the end is kept, 4 KiB of it', async () => {
  const { verification } = await verify(['seq 1 100000; exit 1']);
  const tail = verification.kind === 'failed' ? verification.tail : '';
  expect(tail.length).toBe(4096);
  expect(tail.endsWith('99999\n100000\n')).toBe(true);
});

test('what a command writes to both of its outputs stays in order', async () => {
  // cargo names a file on one of them, and its tests on the other.
  const lines = Array.from({ length: 200 }, (_, at) => `Running ${String(at)}\ntest ${String(at)}\n`).join('');
  const command = 'for at in $(seq 0 199); do echo "Running $at" >&2; echo "test $at"; done; exit 1';
  expect((await verify([command])).verification).toMatchObject({ tail: lines.slice(-4096) });
});

test('a command that takes too long has failed, and is gone with its children', async () => {
  const { verification, runTag } = await verify(['sleep 1000 & sleep 1000'], { timeoutMs: 300 });
  expect(verification).toMatchObject({ kind: 'failed', code: null, tail: '(took too long)' });
  expect(processesWith(runTag)).toEqual([]);
});

test('commands share one time limit', async () => {
  let now = 0;
  const { verification } = await verify(['true', 'sleep 1000'], { timeoutMs: 10_000, now: () => (now += 5_000) });
  expect(verification).toMatchObject({ kind: 'failed', command: 'sleep 1000', tail: '(took too long)' });
});

test('a cancelled verification was not run', async () => {
  expect((await verify(['true'], { signal: AbortSignal.abort() })).verification).toEqual({ kind: 'not-run' });
});

test('without a bash that can be trusted nothing is verified', async () => {
  await expect(verify(['true'], { bash: () => null })).rejects.toThrow(/bash was not found on PATH/);
});

test('processes that a command leaves in the background are ended', async () => {
  const { log } = await verify(['setsid sleep 1000 >/dev/null & echo pid=$!; exit 1']);
  const pid = Number(/pid=(\d+)/.exec(log.join('\n'))?.[1]);
  expect(pid).toBeGreaterThan(1);
  expect(isRunning(pid)).toBe(false);
});

test('the log says which command passed, and the end of the output of one that failed', async () => {
  const { log } = await verify(['true', 'echo broken; exit 3']);
  expect(log).toEqual([
    'verify passed: true',
    'verify failed: echo broken; exit 3 ended with exit code 3',
    '  broken',
    '  ',
  ]);
});

test('a report has what was printed and the JUnit files that were written, without the folder', async () => {
  const reports: [string, boolean][] = [];
  const junit = (name: string): string => `<testsuite><testcase name="${name}"/></testsuite>`;
  const prepare = (folder: string): void => {
    execFileSync('git', ['init', '--quiet'], { cwd: folder });
    writeFileSync(join(folder, 'fixture.xml'), junit('of the repository'));
    execFileSync('git', ['add', 'fixture.xml'], { cwd: folder });
    mkdirSync(join(folder, 'node_modules'));
    writeFileSync(join(folder, 'node_modules', 'package.xml'), junit('of a package'));
    writeFileSync(join(folder, 'old.xml'), junit('of yesterday'));
    utimesSync(join(folder, 'old.xml'), 1, 1);
  };
  const write = `mkdir -p "out put" && echo '${junit('written')}' > "out put/-r.xml" && echo '<other/>' > other.xml`;
  const commands = ['echo first', `${write} && echo "✓ $PWD/test/a.test.ts (1 test)" && exit 1`, 'echo never'];
  const onReport = (report: string, isWhole: boolean): number => reports.push([report, isWhole]);
  const { verification } = await verify(commands, { prepare, onReport });
  expect(verification).toMatchObject({ kind: 'failed', code: 1 });
  expect(reports).toEqual([[`first\n\n✓ test/a.test.ts (1 test)\n\n${junit('written')}\n`, true]]);
});

test('a report has the end of a long output, and the evidence less of it', async () => {
  const reports: [string, boolean][] = [];
  const { verification } = await verify(['seq 400000; exit 1'], {
    onReport: (report, isWhole) => reports.push([report, isWhole]),
  });
  const [[report, isWhole] = ['', true]] = reports;
  expect(isWhole).toBe(false);
  expect(report.length).toBeGreaterThan(2_000_000);
  expect(report.length).toBeLessThan(2_200_000);
  expect(report).toContain('\n400000\n');
  expect(verification.kind === 'failed' && verification.tail.length).toBe(4096);
});

test.each([
  ['that was cut off', ['sleep 1000'], { timeoutMs: 100 }],
  ['of a cancelled run', ['true'], { signal: AbortSignal.abort() }],
])('there is no report %s', async (_, commands, given) => {
  const reports: string[] = [];
  await verify(commands, { ...given, onReport: (report) => reports.push(report) });
  expect(reports).toEqual([]);
});

interface Given {
  readonly from?: number;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly now?: () => number;
  readonly bash?: () => string | null;
  readonly folder?: string;
  readonly onReport?: (report: string, isWhole: boolean) => void;
  /** Prepares the work tree before anything runs. */
  readonly prepare?: (workFolder: string) => void;
}

async function verify(
  commands: readonly string[],
  given: Given = {},
): Promise<{ verification: Verification; log: readonly string[]; runTag: string }> {
  await using machine = await createMachine();
  given.prepare?.(machine.workFolder);
  const [runTag, log] = [randomUUID(), createMemoryLog()];
  const verifier = createVerifier({
    clean: { prepareFor: () => Promise.reject(new Error('not in a clean clone')) },
    commands,
    bash: given.bash ?? (() => '/bin/bash'),
    workFolder: machine.workFolder,
    folder: given.folder ?? '',
    environment: machine.environment,
    agentSandbox: null,
    runTag,
    log,
    now: given.now ?? (() => 0),
  });
  return {
    verification: await verifier.verify({
      folder: null,
      from: given.from ?? 0,
      timeoutMs: given.timeoutMs ?? 30_000,
      signal: given.signal ?? new AbortController().signal,
      onReport: given.onReport ?? null,
    }),
    log: log.lines,
    runTag,
  };
}
