import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { assistantLine, block, resultLine } from '../../unit/agents/claude/fixtures.ts';
import { idle, progress, task } from '../../unit/core/core-fixtures.ts';
import { record } from '../../unit/core/journal/journal-fixtures.ts';
import { runGit } from '../git/git-fixture.ts';
import { withoutWaits } from './without-waits.ts';

const { text: journal } = record([progress(), idle, idle, idle]);
const { text: twoTasks } = record([progress(), idle, idle, idle], { tasks: [task(1), task(2)] });
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ralph-cli-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

/** Starts the command line from source, as a separate process. */
function ralph(...args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, starting(args), { maxBuffer: 64 * 1024 * 1024 }, (error, out, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, error: withoutWaits(stderr) });
    });
  });
}

function starting(args: readonly string[]): string[] {
  return [join(inject('programs'), 'ralph.mjs'), ...args];
}

async function fileOf(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

describe('ralph analyze', () => {
  test('a file', async () => {
    const { code, out } = await ralph('analyze', await fileOf('out.txt', block('STATUS: BLOCKED')), '--json');
    expect({ code, status: (JSON.parse(out) as { signal: { status: string } }).signal.status }).toEqual({
      code: 0,
      status: 'BLOCKED',
    });
  });

  test('a missing file ends with 2', async () => {
    expect(await ralph('analyze', join(folder, 'nothing'), '--json')).toMatchObject({
      code: 2,
      out: '',
      error: expect.stringContaining('there is no such file') as string,
    });
  });

  test('stdin of 40 MB in bounded memory', async () => {
    const line = `${JSON.stringify({ type: 'user', message: { content: [{ type: 'tool_result', content: 'x'.repeat(100_000) }] }, session_id: 's-1' })}\n`;
    const child = spawn(process.execPath, ['--max-old-space-size=64', ...starting(['analyze', '-', '--json'])], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      out += chunk;
    });
    for (let written = 0; written < 400; written += 1)
      if (!child.stdin.write(line)) await new Promise((resolve) => child.stdin.once('drain', resolve));
    child.stdin.end(`${assistantLine('x')}\n${resultLine(block('STATUS: COMPLETE'))}\n`);
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ format: 'jsonl', signal: { status: 'COMPLETE' } });
  });
});

describe('ralph replay', () => {
  test('a journal whose decisions come out the same ends with 0', async () => {
    const { code, out, error } = await ralph('replay', await fileOf('journal.jsonl', journal));
    expect({ code, error }).toEqual({ code: 0, error: '' });
    expect(out).toContain('4 iterations.');
    expect(out).toContain('End: halted (circuit_open, no_progress)');
    expect(out).toContain('5 decisions repeated: no difference.');
  });

  test('a journal that was tampered with ends with 1 and shows what differs', async () => {
    const path = await fileOf(
      'tampered.jsonl',
      twoTasks
        .replace('"taskId":"issue-1"', '"taskId":"issue-2"')
        .replace('"circuitReason":"no_progress"', '"circuitReason":"same_error"'),
    );
    const { code, out } = await ralph('replay', path);
    expect(code).toBe(1);
    expect(out).toContain('line 2: task was "issue-2", and is "issue-1" now');
    const json = await ralph('replay', path, '--json');
    expect(json.code).toBe(1);
    expect((JSON.parse(json.out) as { differences: unknown[] }).differences[0]).toEqual({
      line: 2,
      of: 'task',
      recorded: 'issue-2',
      replayed: 'issue-1',
    });
  });

  test('a journal that cannot be read ends with 1 and names every bad line', async () => {
    const lines = journal.split('\n');
    const { code, error } = await ralph(
      'replay',
      await fileOf('broken.jsonl', [lines[0], 'nonsense', lines[2], '{}', ''].join('\n')),
    );
    expect(code).toBe(1);
    expect(error).toContain('line 2: it is not JSON');
    expect(error).toContain('line 4: kind: missing');
  });

  test('one bad line is one sentence', async () => {
    const name = await fileOf('start.jsonl', '{"kind":"start","lane":"queue"}\n');
    expect(await ralph('replay', name)).toEqual({
      code: 1,
      out: '',
      error: `ralph replay: ${JSON.stringify(name)} cannot be replayed: line 1: version, startedAt, policy, tasks, state: missing, or does not match the schema\n`,
    });
  });

  test.each<[string, () => Promise<string>, string]>([
    [
      'a file that is not there',
      () => Promise.resolve(join(folder, 'nothing')),
      'cannot be read: there is no such file',
    ],
    ['a folder', () => Promise.resolve(folder), 'is a folder'],
    ['an empty file', () => fileOf('empty', '\n'), 'is not a journal: it is empty'],
    ['a binary', () => fileOf('binary', '\u007fELF\0\0\u0001'), 'is not a journal: it is a binary file'],
    ['prose', () => fileOf('prose.md', '# Title\n\nText\n'), 'is not a journal: it does not contain JSON lines'],
    [
      'JSON of something else',
      () => fileOf('a.json', '{\n "a": 1\n}\n'),
      'is not a journal: it has no line about a run',
    ],
    [
      'other JSON lines',
      () => fileOf('a.jsonl', '{"kind":"end"}\n[1]\n'),
      'is not a journal: it has no line about a run',
    ],
  ])('%s is one sentence and ends with 2', async (_, path, why) => {
    const name = await path();
    expect(await ralph('replay', name)).toEqual({
      code: 2,
      out: '',
      error: `ralph replay: ${JSON.stringify(name)} ${why}; give the file that the action's output journal-path names.\n`,
    });
  });

  test('a journal that a kill cut off replays as far as it goes, and says so', async () => {
    const { code, out } = await ralph(
      'replay',
      await fileOf('cut.jsonl', journal.slice(0, journal.indexOf('"iteration":3'))),
    );
    expect(code).toBe(0);
    expect(out).toContain('The journal has no end');
    expect(out).toContain('The last line is cut off');
  });

  test('--set says where the run would have ended; a different end is not a failure', async () => {
    const path = await fileOf('what-if.jsonl', journal);
    const { code, out } = await ralph('replay', path, '--set', 'circuit-no-progress=2');
    expect(code).toBe(0);
    expect(out).toContain(
      'What if circuit-no-progress=2:\n  It would have ended after 3 iterations: halted (circuit_open, no_progress).\n  It was: halted (circuit_open, no_progress), after 4 iterations.',
    );
    const patient = await ralph('replay', path, '--set', 'circuit-no-progress=9', '--json');
    expect(JSON.parse(patient.out)).toEqual({
      branchId: 'queue',
      iterations: 4,
      torn: false,
      chain: { kind: 'unchained', last: expect.stringMatching(/^[0-9a-f]{64}$/) as string },
      answers: [],
      differences: [],
      outcome: {
        kind: 'halted',
        reason: 'circuit_open',
        circuitReason: 'no_progress',
        tripped: 'this-run',
        probeAt: expect.any(Number) as number,
      },
      whatIf: { set: { 'circuit-no-progress': '9' }, kind: 'goes-on', iterations: 4, taskId: 'issue-1' },
    });
  });
});

describe('state commands in a checkout', () => {
  /** Creates a checkout of a new bare repository; its remote is a relative path. */
  async function checkout(name: string): Promise<string> {
    const place = join(folder, name);
    await mkdir(place);
    await runGit(place, ['init', '--quiet', '--bare', 'server.git']);
    await runGit(place, ['init', '--quiet', 'checkout']);
    const top = join(place, 'checkout');
    await runGit(top, ['config', 'user.name', 'Ann Other']);
    await runGit(top, ['remote', 'add', 'origin', '../server.git']);
    await mkdir(join(top, 'src'));
    return top;
  }
  const placesOf = (
    out: string,
  ): readonly { place: string; pause: unknown; ordersWaiting: { by: string; order: string }[] }[] =>
    (JSON.parse(out) as { places: [] }).places;

  test('orders are kept on the ref of the remote and are seen from anywhere in the checkout', async () => {
    const top = await checkout('orders');
    expect(await ralph('pause', '--dir', join(top, 'src'))).toMatchObject({
      code: 0,
      error: '',
      out: expect.stringMatching(/^Order saved \(ref\): pause\./) as string,
    });
    expect(await ralph('reset', 'session', '--dir', top)).toMatchObject({ code: 0 });
    const { code, out } = await ralph('status', '--json', '--dir', top);
    expect(code).toBe(0);
    expect(placesOf(out)).toMatchObject([
      {
        place: 'ref',
        pause: { by: 'Ann Other' },
        ordersWaiting: [{ by: 'Ann Other', order: 'pause' }, { order: 'reset-session' }],
      },
    ]);
    expect(await runGit(top, ['ls-remote', 'origin'])).toMatch(/^[0-9a-f]{40}\trefs\/ralph\/v2\/state$/);
    // Nothing is left in the checkout.
    expect(await runGit(top, ['for-each-ref'])).toBe('');
    expect((await readdir(top)).sort()).toEqual(['.git', 'src']);
  });

  test('with .ralph/state in the checkout they hold there as well', async () => {
    const top = await checkout('both');
    await mkdir(join(top, '.ralph', 'state'), { recursive: true });
    expect(await ralph('pause', '--dir', top)).toMatchObject({
      code: 0,
      out: expect.stringContaining('Order saved (ref and directory)') as string,
    });
    expect(
      placesOf((await ralph('status', '--json', '--dir', top)).out).map(({ place, pause }) => [place, pause !== null]),
    ).toEqual([
      ['ref', true],
      ['directory', true],
    ]);
    await runGit(top, ['remote', 'remove', 'origin']);
    expect(placesOf((await ralph('status', '--json', '--dir', top)).out).map(({ place }) => place)).toEqual([
      'directory',
    ]);
  });

  test('a remote that does not answer: why, and it ends with 1', async () => {
    const top = await checkout('gone');
    await runGit(top, ['remote', 'set-url', 'origin', 'http://ann:hunter2hunter2@127.0.0.1:9/x.git']);
    const { code, out, error } = await ralph('pause', '--dir', top);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(error).toContain('ralph pause: the order could not be saved in the ref, and nothing was changed there:');
    expect(error).not.toContain('hunter2');
  });

  test.each<[string, (top: string) => readonly string[], string]>([
    ['a folder that is not there', (top) => ['--dir', join(top, 'nothing')], 'does not exist'],
    ['a folder in no checkout', (top) => ['--dir', join(top, '..')], 'is not in a git checkout'],
    ['a remote of another name', (top) => ['--dir', top, '--remote', 'upstream'], 'has no remote "upstream"'],
  ])('%s ends with 2', async (name, args, why) => {
    const top = await checkout(name.replaceAll(' ', '-'));
    expect(await ralph('status', ...args(top))).toMatchObject({
      code: 2,
      out: '',
      error: expect.stringContaining(why) as string,
    });
  });
});
