import { spawn, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { runStatus } from '../../unit/cli/monitor/monitor-fixtures.ts';
import { runGit } from '../git/git-fixture.ts';

/** `script` of util-linux creates the terminal; its options differ on other systems. */
const hasScript = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout.includes('util-linux');

const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
/** A redraw, which the terminal shows at once. */
const REDRAW = /\u001b\[\?2026h(.*?)\u001b\[\?2026l/gs;

/** A program that hangs is ended, and the test fails because of the missing output. */
const MAX_MS = 20_000;

let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ralph-monitor-'));
  await runGit(folder, ['init', '--quiet']);
  await mkdir(join(folder, '.ralph', 'logs'), { recursive: true });
  await mkdir(join(folder, '.ralph', 'state'));
  await writeFile(
    join(folder, '.ralph', 'logs', 'iteration_2026-11-21_12-04-35_003.log'),
    'one \u001b[31mred\u001b[0m \u001b]0;title\u0007\n',
  );
  await say(3);
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function say(iteration: number): Promise<void> {
  const run = { ...runStatus, pid: process.pid, iteration };
  await writeFile(join(folder, '.ralph', 'status.json'), JSON.stringify({ run }));
}

interface Played {
  readonly shown: string;
  readonly code: number | null;
}

/** Returns the output for a terminal of 80×24; `then` acts as soon as a text is visible. */
function play(
  then: readonly {
    readonly on: string;
    readonly act: (terminal: { type(keys: string): void; signal(name: string): void }) => unknown;
  }[],
  env: Readonly<Record<string, string>> = {},
): Promise<Played> {
  const program = `stty rows 24 cols 80; echo $$ > ${join(folder, 'pid')}; exec '${process.execPath}' '${join(inject('programs'), 'ralph.mjs')}' monitor --dir '${folder}'`;
  const child = spawn('script', ['--quiet', '--return', '--command', program, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, TERM: 'xterm-256color', LANG: 'C.UTF-8', HOME: folder, ...env },
  });
  const left = [...then];
  let shown = '';
  let from = 0;
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    shown += chunk;
    const next = left[0];
    if (next === undefined || !stripVTControlCharacters(shown.slice(from)).includes(next.on)) return;
    left.shift();
    from = shown.length;
    void next.act({
      type: (keys) => child.stdin.write(keys),
      signal: (name) => spawnSync('sh', ['-c', `kill -${name} $(cat ${join(folder, 'pid')})`]),
    });
  });
  const guard = setTimeout(() => child.kill('SIGTERM'), MAX_MS);
  return new Promise((resolve) => {
    child.once('close', (code) => {
      clearTimeout(guard);
      resolve({ shown, code });
    });
  });
}

describe.skipIf(!hasScript)('ralph monitor in a pseudo-terminal (needs script of util-linux)', () => {
  test('follows, draws only what changed, takes keys, and gives the terminal back', async () => {
    const { shown, code } = await play([
      { on: 'iteration 3 of 10', act: () => say(4) },
      { on: 'iteration 4 of 10', act: ({ type }) => type('s') },
      { on: 'Order saved (directory): stop', act: ({ type }) => type('q') },
    ]);
    expect(code).toBe(0);
    expect(shown.startsWith(ENTER)).toBe(true);
    expect(shown.trimEnd().endsWith(LEAVE)).toBe(true);
    const redraws = [...shown.matchAll(REDRAW)].map(([, bytes]) => bytes ?? '');
    const changed = redraws.find((bytes) => bytes.includes('iteration 4 of 10')) ?? '';
    // The change is one row or two, with their position; the first picture has 24 rows.
    expect(changed.length).toBeLessThan(400);
    expect(changed).not.toContain('\u001b[2J');
    expect(redraws.filter((bytes) => bytes.includes('\u001b[2J'))).toHaveLength(1);
    // Colours in the agent's text are removed.
    expect(shown).toContain('one red');
    expect(shown).not.toContain('\u001b]0;title');
  });

  test.each(['TERM', 'HUP', 'INT'])('gives the terminal back at SIG%s', async (name) => {
    const { shown, code } = await play([{ on: 'PID', act: ({ signal }) => signal(name) }]);
    expect(code).not.toBe(0);
    expect(shown).toContain(LEAVE);
  });

  test.each([
    ['a terminal that can do nothing', { TERM: 'dumb' }],
    ['CI', { CI: 'true' }],
  ])('prints lines in %s', async (_, env) => {
    const { shown } = await play([{ on: 'iteration', act: ({ signal }) => signal('INT') }], env);
    expect(shown).toMatch(/^\d\d:\d\d:\d\d {2}run: the agent works/);
    expect(shown).not.toContain('\u001b');
  });
});
