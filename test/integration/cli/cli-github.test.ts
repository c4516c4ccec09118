import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { addIssue } from '../../../sandbox/github/state.ts';
import { runGit } from '../git/git-fixture.ts';
import { now, openForge, TOKEN } from '../github/github-fixture.ts';

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ralph-cli-github-'));
  await runGit(folder, ['init', '-q']);
  await runGit(folder, ['remote', 'add', 'origin', 'git@github.com:octo/demo.git']);
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

/** The command line from source, as its own process in the checkout with this environment alone. */
function ralph(args: readonly string[], environment: Readonly<Record<string, string>>): Promise<Ended> {
  return new Promise((resolve) => {
    const env = { PATH: process.env.PATH ?? '', HOME: folder, TMPDIR: folder, ...environment };
    execFile(
      process.execPath,
      [join(inject('programs'), 'ralph.mjs'), ...args],
      { cwd: folder, env },
      (error, out, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), out, error: stderr });
      },
    );
  });
}

describe('ralph tasks', () => {
  test.each(['GITHUB_TOKEN', 'GH_TOKEN'])(
    'with %s lists the labelled issues among the tasks of the files',
    async (name) => {
      await using world = await openForge();
      const issue = (title: string, body: string, ...labels: string[]) =>
        addIssue(world.github.state, { title, body, labels, author: 'octo' }, now);
      issue('Pay', 'Depends on #2', 'ralph');
      issue('Sign in', '', 'ralph', 'P0');
      issue('Other', '');
      issue('Ship', '', 'ralph', 'ralph:needs-approval');
      await mkdir(join(folder, '.ralph'));
      await writeFile(join(folder, '.ralph/fix_plan.md'), '- [ ] Greet\n');
      const { code, out, error } = await ralph(['tasks'], { [name]: TOKEN, GITHUB_API_URL: world.github.url });
      expect({ code, error }).toEqual({ code: 0, error: '' });
      expect(out).toMatch(
        /^4 tasks: 0 done, 4 open\n\n.*\n.* #2 +Sign in\n.* #1 +Pay {2}\(waits for #2\)\n.* #4 +Ship\n.*fix_plan\.md:1 +Greet\n\nProblems:\n.*#4 was changed after it was approved/,
      );
    },
  );

  test('with another label', async () => {
    await using world = await openForge();
    addIssue(world.github.state, { title: 'Bug', body: '', labels: ['bug'], author: 'octo' }, now);
    const { out } = await ralph(['tasks', '--json', '--task-label', 'bug'], {
      GH_TOKEN: TOKEN,
      GITHUB_API_URL: world.github.url,
    });
    expect(JSON.parse(out)).toEqual({
      tasks: [
        { id: 'issue-1', title: 'Bug', source: 'issue', state: 'todo', priority: 2, optional: false, dependsOn: [] },
      ],
      problems: [],
    });
  });

  test('with a token that is not good says so, and lists the files all the same', async () => {
    await using world = await openForge();
    const { code, out } = await ralph(['tasks'], { GITHUB_TOKEN: 'ghs_other', GITHUB_API_URL: world.github.url });
    expect(code).toBe(0);
    expect(out).toMatch(/^No tasks found in [^]*Problems:\n {2}issues: /);
  });

  test('sends the token to no server that only the checkout names', async () => {
    await runGit(folder, ['remote', 'set-url', 'origin', 'https://git.example.invalid/octo/demo.git']);
    expect((await ralph(['tasks'], { GITHUB_TOKEN: TOKEN })).out).toMatch(
      /is on git\.example\.invalid\. To send the token there/,
    );
  });
});
