import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const source = (path: string): string => fileURLToPath(new URL(`../../../src/${path}`, import.meta.url));

/** Starts a program that prints a line every few ms until it ends; `prepare` runs first. */
function printing(prepare: string) {
  const program = `
    import { appendFileSync } from 'node:fs';
    import { endWhenUnread } from ${JSON.stringify(source('cli/run-command.ts'))};
    import { listenForInterruption } from ${JSON.stringify(source('home/status-files.ts'))};
    import { makeTemporaryFolder } from ${JSON.stringify(source('home/own-folder.ts'))};
    endWhenUnread();
    ${prepare}
    setInterval(() => process.stdout.write('line\\n'), 5);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let error = '';
  child.stderr.on('data', (chunk: Buffer) => (error += chunk.toString()));
  return {
    firstLine: new Promise<string>((resolve) =>
      child.stdout.once('data', (chunk: Buffer) => {
        resolve(chunk.toString());
      }),
    ),
    close: () => child.stdout.destroy(),
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    ended: new Promise<{ code: number | null; error: string }>((resolve) => {
      child.on('close', (code) => {
        resolve({ code, error });
      });
    }),
  };
}

const KEEP = `const { path } = makeTemporaryFolder('ralph-test-'); process.stdout.write(path + '\\n');`;

describe('nobody still reads the output', () => {
  test('a command that has nothing to finish ends, without a failure', async () => {
    const program = printing('');
    await program.firstLine;
    program.close();
    expect(await program.ended).toEqual({ code: 0, error: '' });
  });

  test('a run is interrupted, once, and has the time to end by itself', async () => {
    const program = printing(`
      const { signal } = listenForInterruption({
        say: (text) => process.stdout.write(text), giveUp: () => process.exit(9), withinMs: 10_000,
      });
      signal.addEventListener('abort', () => {
        process.stderr.write(signal.reason.message);
        setTimeout(() => process.exit(3), 50);
      });`);
    await program.firstLine;
    program.close();
    expect(await program.ended).toEqual({ code: 3, error: 'the run was cancelled (SIGHUP)' });
  });
});

test.each([
  ['closed output', null, 0],
  ['Ctrl-C', 'SIGINT', 130],
  ['SIGTERM', 'SIGTERM', 143],
  ['SIGHUP', 'SIGHUP', 0],
] as const)('a temporary folder does not outlive its process: %s', async (_, signal, code) => {
  const program = printing(KEEP);
  const [path = ''] = (await program.firstLine).split('\n');
  expect(existsSync(path)).toBe(true);
  if (signal === null) program.close();
  else program.kill(signal);
  expect(await program.ended).toEqual({ code, error: '' });
  expect(existsSync(path)).toBe(false);
});
