import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { addIssue } from '../../../testbed/github/state.ts';
import { startScriptedModel } from '../../../testbed/scripted-model/server.ts';
import { claudeCli } from '../../../src/agents/claude/cli.ts';
import { installCli } from '../../../src/agents/cli/install.ts';
import { claude, installOnce } from '../agents/claude-fixture.ts';
import { runGit } from '../git/git-fixture.ts';
import { now, openForge, TOKEN } from '../github/github-fixture.ts';
import { withoutWaits } from './without-waits.ts';

const program = join(inject('programs'), 'ralph.mjs');
let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ralph-import-'));
  await writeFile(join(folder, 'wishes.md'), 'A cart, please.\n');
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

/** Runs the command line from source, as a separate process with only this environment. */
function ralph(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const env = { PATH: process.env.PATH ?? '', HOME: folder, TMPDIR: folder, ...environment };
    execFile(process.execPath, [program, ...args], { cwd: folder, env }, (error, out, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, error: withoutWaits(stderr) });
    });
  });
}

/** Creates a CLI that prints its version, and otherwise runs `body` with the prompt in `prompt`. */
async function agentThat(body: string): Promise<string> {
  const path = join(folder, 'agent.mjs');
  await writeFile(
    path,
    `import { readFileSync, writeFileSync, readdirSync, symlinkSync } from 'node:fs';
if (process.argv.includes('--version')) { console.log('1.0.0 (Agent)'); process.exit(0); }
const prompt = readFileSync(0, 'utf8');
${body}
console.log(JSON.stringify({ type: 'result', subtype: 'success', is_error: false, result: 'done', session_id: '0b6f2c1e-8f0a-4b52-9d43-6f0c9b7d2a11', num_turns: 1 }));
`,
  );
  await chmod(path, 0o755);
  return path;
}

const plan = (): Promise<string> => readFile(join(folder, '.ralph/fix_plan.md'), 'utf8').catch(() => 'none');

describe('ralph import FILE', () => {
  test('runs the agent in a folder with only the document, without tokens, and accepts its list', async () => {
    const agent = await agentThat(`
      const seen = { files: readdirSync('.'), document: readFileSync('requirements.md', 'utf8'), token: process.env.GITHUB_TOKEN ?? 'none' };
      writeFileSync('tasks.json', JSON.stringify({ tasks: [{ title: 'Add a cart', body: JSON.stringify(seen) }] }));`);
    const ended = await ralph(['import', 'wishes.md', '--agent-path', agent], { GITHUB_TOKEN: 'ghs_secret' });
    expect(ended).toMatchObject({
      code: 0,
      out: expect.stringContaining('1 added, 0 not.') as string,
      error: expect.stringContaining('agent: 1.0.0 (Agent)') as string,
    });
    expect(await plan()).toContain('{"files":["requirements.md"],"document":"A cart, please.\\n","token":"none"}');
    expect((await readdir(folder)).filter((name) => name.startsWith('ralph-import-'))).toEqual([]);
  });

  test.each<[string, string, RegExp]>([
    ['writes nothing', '', /ended \(exit code 0\) without a list of tasks/],
    ['fails', 'process.exit(3);', /The agent failed: it ended without a result \(exit code 3\)/],
    ['leaves a link instead of a list', "symlinkSync('/etc/passwd', 'tasks.json');", /without a list of tasks/],
    ['writes far too much', "writeFileSync('tasks.json', 'x'.repeat(3_000_000));", /longer than 512 KiB/],
  ])('an agent that %s ends with 1 and adds nothing', async (_, body, why) => {
    expect(await ralph(['import', 'wishes.md', '--agent-path', await agentThat(body)])).toMatchObject({
      code: 1,
      error: expect.stringMatching(why) as string,
    });
    expect(await plan()).toBe('none');
  });

  test.each<[string, readonly string[], Readonly<Record<string, string>>, RegExp]>([
    [
      'by its path',
      ['--agent-path', '/nowhere/claude'],
      {},
      /There is no agent \/nowhere\/claude\. Install .*--agent-path/,
    ],
    [
      'on the PATH',
      [],
      { PATH: '/nowhere' },
      /There is no claude on the PATH\. Install Claude Code \(npm install -g @anthropic-ai\/claude-code\), or .*--agent-path/,
    ],
  ])('an agent that is not there is named %s, with what to do here', async (_, args, environment, why) => {
    expect(await ralph(['import', 'wishes.md', ...args], environment)).toMatchObject({
      code: 1,
      error: expect.stringMatching(why) as string,
    });
  });
});

test('the real Claude Code CLI writes the list', async () => {
  await installOnce();
  const list = JSON.stringify({ tasks: [{ title: 'Add a cart', body: 'With a total.', priority: 'high' }] });
  await using model = await startScriptedModel({
    script: [
      { kind: 'use', tool: 'Write', input: { file_path: 'tasks.json', content: list } },
      { kind: 'reply', text: 'Done.' },
    ],
  });
  const { file } = await installCli({
    ...claudeCli,
    version: claude.version,
    folder: claude.folder,
    environment: { PATH: process.env.PATH ?? '' },
    runTag: randomUUID(),
  });
  const ended = await ralph(['import', 'wishes.md', '--agent-path', file], {
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: 'sk-ant-api03-not-a-key',
  });
  expect(ended).toMatchObject({ code: 0, out: expect.stringContaining('1 added, 0 not.') as string });
  expect(await plan()).toContain('- [ ] Add a cart\n\n  With a total.');
}, 300_000);

describe('ralph import --issues', () => {
  test('adds the labelled issues of the repository that origin names', async () => {
    await using world = await openForge();
    addIssue(
      world.github.state,
      { title: 'Fix the login', body: 'It fails.', labels: ['ralph', 'P0'], author: 'octo' },
      now,
    );
    addIssue(world.github.state, { title: 'Other', body: '', labels: [], author: 'octo' }, now);
    await runGit(folder, ['init', '-q']);
    await runGit(folder, ['remote', 'add', 'origin', 'git@github.com:octo/demo.git']);
    expect(
      await ralph(['import', '--issues'], { GITHUB_TOKEN: TOKEN, GITHUB_API_URL: world.github.url }),
    ).toMatchObject({ code: 0, out: expect.stringContaining('1 added, 0 not.') as string });
    expect(await plan()).toMatch(/High[^]*- \[ \] Fix the login \(#1\)\n\n {2}It fails\./);
  });

  test('sends the token to no server that only the checkout names', async () => {
    await runGit(folder, ['init', '-q']);
    await runGit(folder, ['remote', 'add', 'origin', 'https://git.example.invalid/octo/demo.git']);
    expect(await ralph(['import', '--issues'], { GITHUB_TOKEN: TOKEN })).toMatchObject({
      code: 1,
      error: expect.stringMatching(
        /is on git\.example\.invalid\. To send the token there, set GITHUB_API_URL/,
      ) as string,
    });
  });

  test("sends no request to a server that is not GitHub's", async () => {
    await runGit(folder, ['init', '-q']);
    await runGit(folder, ['remote', 'add', 'origin', 'git@gitlab.com:octo/demo.git']);
    expect(await ralph(['import', '--issues'], { GITHUB_TOKEN: TOKEN })).toMatchObject({
      code: 1,
      error: expect.stringContaining('has no remote "origin" on a GitHub server') as string,
    });
  });

  test.each<[string, Readonly<Record<string, string>>, RegExp]>([
    ['without a token', {}, /There is no token: set GITHUB_TOKEN/],
    ['outside a checkout', { GITHUB_TOKEN: 'x' }, /is not in a checkout of git\. Go into one, or name it with --dir\./],
  ])('%s says what to do', async (_, environment, why) => {
    expect(await ralph(['import', '--issues'], environment)).toMatchObject({
      code: 1,
      error: expect.stringMatching(why) as string,
    });
  });

  test('in a checkout without a remote says what to do', async () => {
    await runGit(folder, ['init', '-q']);
    expect(await ralph(['import', '--issues'], { GITHUB_TOKEN: 'x' })).toMatchObject({
      code: 1,
      error: expect.stringContaining('has no remote "origin" on a GitHub server') as string,
    });
  });
});
