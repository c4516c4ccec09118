import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../eventually.ts';
import { isRunning } from './process-fixture.ts';

let folder = '';
let program = '';

/** The watched process ends on SIGINT if `obey` is set. It prints the watchdog's id. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-watchdog-'));
  program = join(folder, 'watched.mjs');
  const source = `
    import { readdirSync, readFileSync } from 'node:fs';
    import { startWatchdog } from ${JSON.stringify(join(import.meta.dirname, '../../../src/processes/run-program.ts'))};
    const [how, afterMs] = process.argv.slice(2);
    startWatchdog(process.env, { afterMs: Number(afterMs), obeySeconds: 1 });
    process.on('SIGINT', () => { tell(); if (how !== 'ignore') { console.log('cancelled'); process.exit(3); } });
    setInterval(() => undefined, 1000);
    const child = () => readdirSync('/proc').find((name) => /^\\d+$/.test(name) && parentOf(name) === process.pid);
    const parentOf = (pid) => { try { return Number(readFileSync('/proc/' + pid + '/stat', 'utf8').split(') ')[1].split(' ')[1]); } catch { return 0; } };
    const look = setInterval(tell, 10);
    let told = false;
    function tell() {
      const pid = child();
      if (told || pid === undefined) return;
      told = true;
      clearInterval(look);
      console.log('watchdog ' + pid);
      if (how === 'leave') setTimeout(() => process.exit(0), 100);
    }`;
  await build({
    stdin: { contents: source, resolveDir: import.meta.dirname },
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

interface Watched {
  readonly process: ChildProcess;
  readonly dog: number;
  readonly ended: Promise<[number | null, NodeJS.Signals | null]>;
  readonly output: () => string;
}

async function watched(how: string, afterMs: number): Promise<Watched> {
  const child = spawn(process.execPath, [program, how, String(afterMs)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const ended = new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    child.once('exit', (code, signal) => {
      resolve([code, signal]);
    });
  });
  await eventually(() => {
    expect(output).toContain('watchdog ');
  });
  return { process: child, dog: Number(/watchdog (\d+)/.exec(output)?.[1]), ended, output: () => output };
}

async function expectGone(pid: number): Promise<void> {
  await eventually(() => {
    expect(isRunning(pid)).toBe(false);
  });
}

test('a stopped process is woken and cancelled when its time is up', async () => {
  const run = await watched('obey', 1_000);
  run.process.kill('SIGSTOP');
  expect(await run.ended).toEqual([3, null]);
  expect(run.output()).toContain('cancelled');
  await expectGone(run.dog);
});

test('a process that does not obey is ended', async () => {
  const run = await watched('ignore', 1_000);
  expect(await run.ended).toEqual([null, 'SIGKILL']);
  await expectGone(run.dog);
});

test.each(['leave', 'kill'])('it does not outlive what it watches (%s)', async (how) => {
  const run = await watched(how, 60_000);
  if (how === 'kill') {
    expect(readFileSync(`/proc/${String(run.dog)}/environ`, 'utf8')).not.toMatch(/HOME|TOKEN|RALPH/);
    run.process.kill('SIGKILL');
  }
  await run.ended;
  await expectGone(run.dog);
});
