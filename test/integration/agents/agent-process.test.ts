import { randomUUID } from 'node:crypto';
import { afterEach, expect, test, vi } from 'vitest';
import { runBounded } from '../../../src/processes/bounded-process.ts';
import type { BoundedProcess, ProcessEnd } from '../../../src/processes/bounded-process.ts';
import { endTree } from '../../../src/processes/process-tree.ts';
import { isRunning, processesWith } from './process-fixture.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

const environment = { PATH: process.env['PATH'] ?? '' };

test.each<{ script: string; end: ProcessEnd }>([
  { script: 'exit 0', end: { kind: 'exited', code: 0 } },
  { script: 'exit 3', end: { kind: 'exited', code: 3 } },
  { script: 'kill -USR1 $$', end: { kind: 'signalled', signal: 'SIGUSR1' } },
])('a program that does "$script" is told as $end.kind', async ({ script, end }) => {
  expect((await bash(script)).end).toEqual(end);
});

test('the input arrives whole and is closed', async () => {
  const input = 'x'.repeat(300_000);
  expect((await bash('wc -c', { input })).stdout.trim()).toBe('300000');
});

test('a program that does not read its input (EPIPE) is judged by its end', async () => {
  expect((await bash('exec 0<&-; exit 7', { input: 'x'.repeat(5_000_000) })).end).toEqual({ kind: 'exited', code: 7 });
});

test('nothing is inherited from our own environment', async () => {
  vi.stubEnv('RALPH_TEST_SECRET', 'leaked');
  expect((await bash('echo "[$RALPH_TEST_SECRET]"')).stdout).toBe('[]\n');
});

test('a program that cannot be started rejects', async () => {
  await expect(bash('', { file: '/nowhere/agent' })).rejects.toThrow('ENOENT');
});

test('nothing is started when the signal was aborted before', async () => {
  const { end, stdout } = await bash('echo started', { signal: AbortSignal.abort() });
  expect({ end, stdout }).toEqual({ end: { kind: 'cancelled' }, stdout: '' });
});

test('a timeout ends the program by SIGTERM, which it may answer', async () => {
  const { end, stdout } = await bash('trap "echo asked; exit 0" TERM; while :; do sleep 0.05; done', {
    timeoutMs: 500,
  });
  expect({ end, stdout }).toEqual({ end: { kind: 'timeout' }, stdout: 'asked\n' });
});

test('an abort ends a program that ignores SIGTERM, and its children, in less than 5 s', async () => {
  const cancel = new AbortController();
  const startedAt = performance.now();
  const { end, mark } = await bash('trap "" TERM; sleep 1000 & echo ready; while :; do sleep 0.05; done', {
    signal: cancel.signal,
    onOutput: () => {
      cancel.abort();
    },
  });
  expect(end).toEqual({ kind: 'cancelled' });
  expect(processesWith(mark)).toEqual([]);
  expect(performance.now() - startedAt).toBeLessThan(5_000);
});

test.each([
  { orphan: 'in a session of its own', command: 'setsid sleep 1000 & echo $!; ' },
  {
    orphan: 'that ignores SIGTERM and SIGHUP',
    command: `nohup setsid bash -c 'trap "" TERM; while :; do sleep 0.05; done' & echo $!; `,
  },
  { orphan: 'that holds stdout open', command: 'sleep 1000 & echo $!; ' },
])('a background process $orphan is ended after a normal end', async ({ command }) => {
  const { end, stdout, mark } = await bash(`${command} exit 0`);
  expect(end).toEqual({ kind: 'exited', code: 0 });
  expect(isRunning(Number(stdout.trim()))).toBe(false);
  expect(processesWith(mark)).toEqual([]);
});

test('a child that took the mark off is found through its parent', async () => {
  const cancel = new AbortController();
  const { stdout } = await bash("setsid env -i /bin/sh -c 'echo $$; exec /bin/sleep 1000' & wait", {
    signal: cancel.signal,
    onOutput: () => {
      cancel.abort();
    },
  });
  expect(isRunning(Number(stdout.trim()))).toBe(false);
});

test('stdout held open by a process that escaped is not waited for', async () => {
  // It leaves the group, drops the mark and outlives its parent: nothing knows it any more.
  const startedAt = performance.now();
  const { end, stdout } = await bash(
    `exec 9>&1; read -r pid < <(setsid env -i /bin/sh -c 'echo $$; exec /bin/sleep 1000 >&9'); echo $pid`,
  );
  const escaped = Number(stdout.trim());
  expect(isRunning(escaped)).toBe(true);
  process.kill(escaped, 'SIGKILL');
  expect(end).toEqual({ kind: 'exited', code: 0 });
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});

test('processes of another mark are left alone', async () => {
  const cancel = new AbortController();
  const other = Promise.withResolvers<number>();
  const running = bash('echo $$; exec sleep 1000', {
    signal: cancel.signal,
    onOutput: (text) => {
      other.resolve(Number(text.trim()));
    },
  });
  const pid = await other.promise;
  await endTree({ mark: randomUUID(), group: null }, 0);
  expect(isRunning(pid)).toBe(true);
  cancel.abort();
  await running;
  expect(isRunning(pid)).toBe(false);
});

interface Given extends Partial<Pick<BoundedProcess, 'file' | 'input' | 'timeoutMs' | 'signal'>> {
  readonly onOutput?: (text: string) => void;
}

async function bash(
  script: string,
  { onOutput, ...given }: Given = {},
): Promise<{ end: ProcessEnd; stdout: string; mark: string }> {
  const mark = randomUUID();
  let stdout = '';
  const end = await runBounded({
    file: 'bash',
    args: ['-c', script],
    cwd: '/',
    environment,
    mark,
    input: '',
    timeoutMs: 30_000,
    signal: new AbortController().signal,
    onStdout: (chunk) => {
      stdout += Buffer.from(chunk).toString();
      onOutput?.(stdout);
    },
    onStderr: () => undefined,
    ...given,
  });
  return { end, stdout, mark };
}
