import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ACTION_FOLDER } from '../../testbed/testbed.ts';

// Starts the bundle as a person does, possibly on an older Node than the tests': features newer than Node 20 are
// removed first.
const younger = [
  'Map.groupBy',
  'Object.groupBy',
  'Promise.withResolvers',
  'Promise.try',
  'Array.fromAsync',
  'RegExp.escape',
  'Error.isError',
  ...['union', 'intersection', 'difference', 'isSubsetOf', 'isSupersetOf', 'isDisjointFrom', 'symmetricDifference'].map(
    (name) => `Set.prototype.${name}`,
  ),
  ...['map', 'filter', 'take', 'drop', 'flatMap', 'reduce', 'toArray', 'forEach', 'some', 'every', 'find'].map(
    (name) => `Iterator.prototype.${name}`,
  ),
];
const OLDER = `data:text/javascript,${encodeURIComponent(younger.map((name) => `delete ${name};`).join(''))}`;

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
): Promise<{ readonly code: number; readonly out: string; readonly error: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--import', OLDER, join(ACTION_FOLDER, 'dist', 'cli', 'index.js'), ...args],
      { cwd: folder, env: {} },
      (error, out, reported) => {
        resolve({ code: error === null ? 0 : Number(error.code), out, error: reported });
      },
    );
    child.stdin?.end(input);
  });
}

describe('on Node 20', () => {
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
