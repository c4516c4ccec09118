import { execFile, execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ACTION_FOLDER } from '../../testbed/testbed.ts';

// Starts the bundle as a person does, possibly on an older Node than the tests': features newer than the oldest supported
// one are removed first.
const younger = [
  'Map.groupBy',
  'Object.groupBy',
  'Promise.withResolvers',
  'Promise.try',
  'Array.fromAsync',
  'ArrayBuffer.prototype.transfer',
  'RegExp.escape',
  'Error.isError',
  ...['union', 'intersection', 'difference', 'isSubsetOf', 'isSupersetOf', 'isDisjointFrom', 'symmetricDifference'].map(
    (name) => `Set.prototype.${name}`,
  ),
  ...['map', 'filter', 'take', 'drop', 'flatMap', 'reduce', 'toArray', 'forEach', 'some', 'every', 'find'].map(
    (name) => `Iterator.prototype.${name}`,
  ),
];
const moduleOf = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;
const OLDER = moduleOf(younger.map((name) => `delete ${name};`).join(''));

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ralph-cli-'));
  await mkdir(join(folder, '.ralph'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const write = (path: string, text: string): Promise<void> => writeFile(join(folder, path), text);

function ralph(
  args: readonly string[],
  input = '',
  { preload = OLDER, env = {} }: { readonly preload?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<{ readonly code: number; readonly out: string; readonly error: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--import', preload, join(ACTION_FOLDER, 'dist', 'cli', 'index.js'), ...args],
      { cwd: folder, env },
      (error, out, reported) => {
        resolve({ code: error === null ? 0 : Number(error.code), out, error: reported });
      },
    );
    child.stdin?.end(input);
  });
}

describe('on the oldest Node that package.json names', () => {
  test('an output of an agent is analysed', async () => {
    const block = '---RALPH_STATUS---\nSTATUS: COMPLETE\nFILES_MODIFIED: 2\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---';
    const events = [
      { type: 'system', subtype: 'init', session_id: 's-1' },
      {
        type: 'result',
        subtype: 'success',
        is_error: false,
        session_id: 's-1',
        num_turns: 2,
        result: `Done.\n${block}`,
      },
    ];
    const { code, out, error } = await ralph(
      ['analyze', '-', '--json'],
      events.map((one) => JSON.stringify(one)).join('\n'),
    );
    expect([code, error]).toEqual([0, '']);
    expect(JSON.parse(out)).toMatchObject({
      ...{ format: 'jsonl', sessionId: 's-1', turns: 2 },
      signal: { from: 'block', status: 'COMPLETE', exitSignal: true, filesModified: 2 },
    });
  });

  test('an order is saved in the state of a remote', async () => {
    const git = (...args: readonly string[]): Buffer => execFileSync('git', args, { cwd: folder });
    await write('.ralph/fix_plan.md', '- [ ] Parser\n');
    git('init', '-q', '--bare', 'remote.git');
    git('init', '-q', '-b', 'main', '.');
    git('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '-q', '--allow-empty', '-m', 'Begin');
    git('remote', 'add', 'origin', join(folder, 'remote.git'));
    git('push', '-q', 'origin', 'main');
    const { code, out, error } = await ralph(['pause'], '', { env: { PATH: process.env['PATH'], USER: 'mona' } });
    expect([code, error]).toEqual([0, '']);
    expect(out).toContain('Order saved (ref): pause.');
  });

  test('tasks of every kind are listed', async () => {
    await write('.ralph/fix_plan.md', '- [x] Set up\n- [ ] Parser\n  - [ ] Lexer\n');
    await write('.ralph/prd.json', '{"userStories":[{"id":"US-1","title":"Log in","passes":false}]}');
    await mkdir(join(folder, '.beads'));
    await write(
      '.beads/issues.jsonl',
      '{"id":"bd-1","title":"Bead","dependencies":[{"depends_on_id":"bd-2","type":"parent-child"}]}\n{"id":"bd-2","title":"Epic"}\n',
    );
    const { code, out, error } = await ralph(['tasks', '--task-sources', 'plan,prd,beads', '--json']);
    expect([code, error]).toEqual([0, '']);
    const { tasks, problems } = JSON.parse(out) as { tasks: { title: string }[]; problems: unknown[] };
    expect(tasks.map(({ title }) => title)).toEqual(['Set up', 'Lexer', 'Parser', 'Log in', 'Bead', 'Epic']);
    expect(problems).toEqual([]);
  });

  test.each(['plan', 'prd'])('a task is added to the %s, once', async (to) => {
    expect(await ralph(['add', 'Say hello --> twice', '--to', to])).toMatchObject({
      code: 0,
      error: expect.stringContaining('Commit it: runs read the last commit.') as string,
    });
    expect(await ralph(['add', 'Say hello --> twice', '--to', to])).toMatchObject({
      code: 1,
      out: '',
      error: expect.stringContaining('exists already') as string,
    });
    expect(await readFile(join(folder, to === 'plan' ? '.ralph/fix_plan.md' : '.ralph/prd.json'), 'utf8')).toContain(
      'Say hello --> twice',
    );
  });

  test('a text is sanitised', async () => {
    expect(JSON.parse((await ralph(['clean', '--json'], '<!-- x -->a\u200Bb')).out)).toEqual({
      text: 'ab',
      removed: 11,
      kinds: { 'html-comment': 10, invisible: 1 },
    });
  });

  test('an agent that cannot be started and a missing token are reported', async () => {
    expect(await ralph(['import', '-', '--agent-path', '/nowhere/claude'], '# Shop\n')).toMatchObject({
      code: 1,
      out: '',
      error: expect.stringContaining('ralph import: There is no agent /nowhere/claude. Install Claude Code') as string,
    });
    expect(await ralph(['import', '--issues'])).toMatchObject({
      code: 1,
      out: '',
      error: expect.stringContaining('There is no token') as string,
    });
  });

  test.each(['add', 'analyze', 'clean', 'import', 'replay', 'status', 'tasks'])(
    '%s prints its usage',
    async (command) => {
      expect(await ralph([command, '--help'])).toMatchObject({
        code: 0,
        out: expect.stringContaining(`Usage: ralph ${command}`) as string,
        error: '',
      });
    },
  );
});

test('on an older Node, one sentence names the version that is needed', async () => {
  const preload = moduleOf(
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.11.1' } });",
  );
  const { engines } = JSON.parse(await readFile(join(ACTION_FOLDER, 'package.json'), 'utf8')) as {
    readonly engines: { readonly node: string };
  };
  expect(await ralph(['analyze', '-'], 'Done.', { preload })).toEqual({
    ...{ code: 2, out: '' },
    error: `ralph needs Node ${engines.node.replace('>=', '')} or newer; this is ${process.version}.\n`,
  });
});
