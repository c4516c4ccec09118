import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { endTagged } from '../../../src/processes/process-tree.ts';
import { runProgram, type ProgramCall, type ProgramEnd } from '../../../src/processes/run-program.ts';
import { isRunning, processesWith } from './process-fixture.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

const environment = { PATH: process.env['PATH'] ?? '' };

test.each<{ script: string; end: ProgramEnd }>([
  { script: 'exit 0', end: { kind: 'exited', code: 0 } },
  { script: 'exit 3', end: { kind: 'exited', code: 3 } },
  { script: 'kill -USR1 $$', end: { kind: 'signalled', signal: 'SIGUSR1' } },
])('a program that does "$script" is reported as $end.kind', async ({ script, end }) => {
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

test("a command does not read the user's ~/.bashrc", async () => {
  const home = await mkdtemp(join(tmpdir(), 'ralph-bashrc-'));
  await writeFile(join(home, '.bashrc'), 'echo from the bashrc\n');
  expect((await bash('echo "$HOME"', { environment: { ...environment, HOME: home } })).stdout).toBe(`${home}\n`);
});

test("Ctrl-C in a terminal reaches no program, not even one that is being started in the terminal's group", async () => {
  const watched = spawn(process.execPath, [join(import.meta.dirname, 'interrupted-process.ts')], { detached: true });
  const interrupting = setInterval(() => {
    if (isBegun) process.kill(-(watched.pid ?? 0), 'SIGINT');
  }, 25);
  let isBegun = false;
  let out = '';
  watched.stdout.on('data', (chunk: Buffer) => {
    isBegun = true;
    out += chunk.toString();
  });
  await once(watched, 'close');
  clearInterval(interrupting);
  expect(out).toBe(`begun\n${'{"kind":"exited","code":0}: 20000\n'.repeat(40)}`);
});

test('a program that cannot be started is reported with the reason', async () => {
  expect((await bash('', { file: '/nowhere/agent' })).end).toEqual({
    kind: 'not-started',
    why: 'spawn /nowhere/agent ENOENT',
    cause: expect.objectContaining({ code: 'ENOENT' }),
  });
});

test('nothing is started when the signal was aborted before', async () => {
  const { end, stdout } = await bash('echo started', { signal: AbortSignal.abort() });
  expect({ end, stdout }).toEqual({ end: { kind: 'cancelled' }, stdout: '' });
});

test('a timeout ends the program by SIGTERM, which it may answer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { end, stdout } = await bash('trap "echo asked; exit 0" TERM; echo ready; while :; do sleep 0.05; done', {
    timeoutMs: 500,
    onOutput: () => {
      vi.advanceTimersByTime(500);
    },
  });
  expect({ end, stdout }).toEqual({ end: { kind: 'timeout' }, stdout: 'ready\nasked\n' });
});

test('an abort ends a program that ignores SIGTERM, and its children, in less than 5 s', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const cancel = new AbortController();
  const script = 'trap "" TERM; sleep 1000 & trap "echo asked" TERM; echo ready; while :; do sleep 0.05; done';
  const { end, runTag } = await bash(script, {
    signal: cancel.signal,
    onOutput: (stdout) => {
      cancel.abort();
      if (stdout === 'ready\nasked\n') vi.advanceTimersByTime(4_999);
    },
  });
  expect(end).toEqual({ kind: 'cancelled' });
  expect(processesWith(runTag)).toEqual([]);
});

test.each([
  { orphan: 'in a session of its own', command: 'setsid sleep 1000 & echo $!; ' },
  {
    orphan: 'that ignores SIGTERM and SIGHUP',
    command: `nohup setsid bash -c 'trap "" TERM; while :; do sleep 0.05; done' & echo $!; `,
  },
  { orphan: 'that holds stdout open', command: 'sleep 1000 & echo $!; ' },
])('a background process $orphan is ended after a normal end', async ({ command }) => {
  const { end, stdout, runTag } = await bash(`${command} exit 0`);
  expect(end).toEqual({ kind: 'exited', code: 0 });
  expect(isRunning(Number(stdout.trim()))).toBe(false);
  expect(processesWith(runTag)).toEqual([]);
});

test('a child that took the run tag off is found through its parent', async () => {
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
  // The process leaves the group, drops the run tag and outlives its parent, so it can no longer be identified.
  const { end, stdout } = await bash(
    `exec 9>&1; read -r pid < <(setsid env -i /bin/sh -c 'echo $$; exec /bin/sleep 1000 >&9'); echo $pid`,
  );
  const escaped = Number(stdout.trim());
  expect(isRunning(escaped)).toBe(true);
  process.kill(escaped, 'SIGKILL');
  expect(end).toEqual({ kind: 'exited', code: 0 });
});

test('processes of another run are left alone', async () => {
  const cancel = new AbortController();
  const other = Promise.withResolvers<number>();
  const running = bash('echo $$; exec sleep 1000', {
    signal: cancel.signal,
    onOutput: (text) => {
      other.resolve(Number(text.trim()));
    },
  });
  const pid = await other.promise;
  await endTagged(randomUUID());
  expect(isRunning(pid)).toBe(true);
  cancel.abort();
  await running;
  expect(isRunning(pid)).toBe(false);
});

interface Given extends Partial<Pick<ProgramCall, 'file' | 'environment' | 'input' | 'timeoutMs' | 'signal'>> {
  readonly onOutput?: (text: string) => void;
}

async function bash(
  script: string,
  { onOutput, ...given }: Given = {},
): Promise<{ end: ProgramEnd; stdout: string; runTag: string }> {
  const runTag = randomUUID();
  let stdout = '';
  const end = await runProgram({
    file: 'bash',
    args: ['-c', script],
    cwd: '/',
    environment,
    input: '',
    family: { kind: 'run', runTag },
    timeoutMs: 30_000,
    signal: new AbortController().signal,
    outputs: [
      (chunk) => {
        stdout += chunk.toString();
        onOutput?.(stdout);
      },
      () => undefined,
    ],
    ...given,
  });
  return { end, stdout, runTag };
}
