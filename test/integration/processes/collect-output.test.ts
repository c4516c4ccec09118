import { describe, expect, test } from 'vitest';
import { collectOutput, type CollectedEnd } from '../../../src/processes/collect-output.ts';
import type { ProgramCall } from '../../../src/processes/run-program.ts';
import { isRunning } from './process-fixture.ts';

/** Runs a line of shell. */
async function sh(line: string, change: Partial<ProgramCall> = {}) {
  const { end, stdout, stderr } = await collectOutput(
    {
      file: '/bin/sh',
      args: ['-c', line],
      cwd: '/',
      environment: { PATH: process.env['PATH'] ?? '' },
      input: '',
      timeoutMs: 30_000,
      family: { kind: 'group', graceMs: 200, leftover: 'keep' },
      ...change,
    },
    1024 * 1024,
  );
  return { end, stdout: stdout.toString(), stderr: stderr.toString() };
}

describe('a program that ends by itself', () => {
  test.each<[string, string, Partial<ProgramCall>, object]>([
    [
      'its exit code and both outputs',
      'echo out; echo err >&2; exit 3',
      {},
      { code: 3, stdout: 'out\n', stderr: 'err\n' },
    ],
    ['gets its input', 'cat', { input: 'a\u0000b' }, { code: 0, stdout: 'a\u0000b' }],
    ['need not read its input', 'exec true', { input: Buffer.alloc(8 * 1024 * 1024) }, { code: 0 }],
    ['without input reads nothing', 'cat', {}, { code: 0, stdout: '' }],
    [
      'sees the given environment only',
      'env | grep -c HOME',
      { environment: { PATH: process.env['PATH'] ?? '', NAME: 'x' } },
      { stdout: '0\n' },
    ],
    ['what a child still writes after it', '(sleep 0.3; echo late) & echo early', {}, { stdout: 'early\nlate\n' }],
  ])('%s', async (_, line, change, expected) => {
    const { end, ...output } = await sh(line, change);
    expect({ ...end, ...output }).toMatchObject({ kind: 'exited', ...expected });
  });
});

describe('processes that a program leaves in its group when it ends by itself', () => {
  const leaving = '(exec >&- 2>&-; exec sleep 60) & echo $!';

  test('is kept', async () => {
    const pid = Number((await sh(leaving)).stdout);
    expect(isRunning(pid)).toBe(true);
    process.kill(pid, 'SIGKILL');
  });

  test('is ended, where it is not wanted', async () => {
    const { stdout } = await sh(leaving, { family: { kind: 'group', graceMs: 0, leftover: 'end' } });
    await expect.poll(() => isRunning(Number(stdout))).toBe(false);
  });

  test('is not waited for, where it is not wanted', async () => {
    const { end } = await sh('sleep 60 & exit 3', { family: { kind: 'group', graceMs: 0, leftover: 'end' } });
    expect(end).toEqual({ kind: 'exited', code: 3 });
  });
});

describe('a program that does not', () => {
  test.each<[string, string, Partial<ProgramCall>, CollectedEnd]>([
    ['it takes too long', 'exec sleep 60', { timeoutMs: 50 }, { kind: 'timeout' }],
    [
      'it takes too long and does not want to end',
      'trap "" TERM; while :; do :; done',
      { timeoutMs: 50 },
      { kind: 'timeout' },
    ],
    [
      'it takes too long, and a child of it holds its outputs',
      'sleep 60 & wait',
      { timeoutMs: 50 },
      { kind: 'timeout' },
    ],
    [
      'it has ended, and a child of it holds its outputs for too long',
      'sleep 60 &',
      { timeoutMs: 500 },
      { kind: 'timeout' },
    ],
    ['it prints too much', 'exec yes', {}, { kind: 'too-much-output', maxBytes: 1024 * 1024 }],
    ['it prints too many errors', 'exec yes >&2', {}, { kind: 'too-much-output', maxBytes: 1024 * 1024 }],
    ['somebody else ends it', 'kill -9 $$', {}, { kind: 'signalled', signal: 'SIGKILL' }],
    [
      'its folder is not there',
      'true',
      { cwd: '/nowhere' },
      { kind: 'not-started', why: expect.stringMatching(/ENOENT/), cause: expect.any(Error) },
    ],
    [
      'there is no such program',
      'true',
      { file: '/bin/no-such-program' },
      { kind: 'not-started', why: 'spawn /bin/no-such-program ENOENT', cause: expect.any(Error) },
    ],
    [
      'its arguments are too long for the system',
      'x'.repeat(8 * 1024 * 1024),
      {},
      { kind: 'not-started', why: 'spawn E2BIG', cause: expect.any(Error) },
    ],
  ])('%s', async (_, line, change, end) => {
    expect((await sh(line, change)).end).toEqual(end);
  });
});

test('output beyond the limit is not kept', async () => {
  const { stdout } = await sh('exec yes');
  expect(stdout.length).toBeLessThanOrEqual(1024 * 1024);
});
