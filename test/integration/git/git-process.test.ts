import { describe, expect, test } from 'vitest';
import { runToEnd, type ProcessOptions } from '../../../src/git/git-process.ts';

/** Runs a line of shell. */
function sh(line: string, change: Partial<ProcessOptions> = {}, program = '/bin/sh') {
  return runToEnd(program, ['-c', line], {
    folder: '/',
    env: { PATH: process.env['PATH'] ?? '' },
    input: null,
    timeoutMs: 30_000,
    ends: 'alone',
    maxBytes: 1024 * 1024,
    ...change,
  });
}

describe('a program that ends by itself', () => {
  test.each<[string, string, Partial<ProcessOptions>, object]>([
    [
      'its exit code and both outputs',
      'echo out; echo err >&2; exit 3',
      {},
      { exitCode: 3, stdout: 'out\n', stderr: 'err\n', why: '' },
    ],
    ['gets its input', 'cat', { input: 'a\u0000b' }, { exitCode: 0, stdout: 'a\u0000b' }],
    ['need not read its input', 'exec true', { input: Buffer.alloc(8 * 1024 * 1024) }, { exitCode: 0, why: '' }],
    ['without input reads nothing', 'cat', {}, { exitCode: 0, stdout: '' }],
    [
      'sees the given environment only',
      'env | grep -c HOME',
      { env: { PATH: process.env['PATH'] ?? '', NAME: 'x' } },
      { stdout: '0\n' },
    ],
  ])('%s', async (_, line, change, expected) => {
    const { exitCode, stdout, stderr, why } = await sh(line, change);
    expect({ exitCode, stdout: stdout.toString(), stderr: stderr.toString(), why }).toMatchObject(expected);
  });
});

describe('a program that does not has no exit code, but a reason', () => {
  test.each<[string, string, Partial<ProcessOptions>, string | RegExp]>([
    ['it takes too long', 'exec sleep 60', { timeoutMs: 50 }, 'it took too long'],
    [
      'it takes too long and does not want to end',
      'trap "" TERM; while :; do :; done',
      { timeoutMs: 50 },
      'it took too long',
    ],
    [
      'it takes too long, and a child of it holds its outputs',
      'sleep 60 & wait',
      { timeoutMs: 50, ends: 'group' },
      'it took too long',
    ],
    ['it prints too much', 'exec yes', { timeoutMs: 30_000 }, 'it printed more than 1 MiB'],
    ['somebody else ends it', 'kill -9 $$', {}, 'it was ended'],
    ['its folder is not there', 'true', { folder: '/nowhere' }, /ENOENT/],
  ])('%s', async (_, line, change, why) => {
    expect(await sh(line, change)).toMatchObject({
      exitCode: null,
      why: typeof why === 'string' ? why : (expect.stringMatching(why) as string),
    });
  });

  test('there is no such program', async () => {
    expect(await sh('true', {}, '/bin/no-such-program')).toMatchObject({
      exitCode: null,
      why: expect.stringContaining('ENOENT') as string,
    });
  });

  test('its arguments are too long for the system', async () => {
    expect(await sh('x'.repeat(8 * 1024 * 1024))).toMatchObject({
      exitCode: null,
      why: expect.stringContaining('E2BIG') as string,
    });
  });
});
