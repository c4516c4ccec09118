import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { runGit } from '../git/git-fixture.ts';
import { openForge, TOKEN } from '../github/github-fixture.ts';

// Nothing that a command waits for answers in these scenes, and the command says what it is.

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ralph-waits-'));
  await mkdir(join(folder, 'shop/.ralph'), { recursive: true });
  await writeFile(join(folder, 'shop/.ralph/fix_plan.md'), '- [ ] Add a cart\n');
  await runGit(join(folder, 'shop'), ['init', '-q', '-b', 'main']);
  await runGit(join(folder, 'shop'), ['add', '--all']);
  await runGit(join(folder, 'shop'), ['-c', 'user.name=ann', '-c', 'user.email=a@b.c', 'commit', '-q', '-m', 'First']);
});
afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

/** Starts a command in the checkout, and ends it once its standard error says this. Returns all that it said. */
async function ralphUntil(
  text: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<string> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, TMPDIR: folder, ...environment };
  const child = spawn(process.execPath, [join(inject('programs'), 'ralph.mjs'), ...args], {
    cwd: join(folder, 'shop'),
    env,
  });
  let said = '';
  child.stdout.resume();
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
    if (said.includes(text)) child.kill('SIGTERM');
  });
  await once(child, 'close');
  return said;
}

/** Returns the folder of a program that never ends. */
async function programThatHangs(name: string): Promise<string> {
  const programs = join(folder, 'programs');
  await mkdir(programs);
  await writeFile(join(programs, name), '#!/bin/sh\nexec sleep 600\n');
  await chmod(join(programs, name), 0o755);
  return `${programs}:${process.env['PATH'] ?? ''}`;
}

test("GitHub's API: the command names the request", async () => {
  await using world = await openForge();
  world.github.faults.inject({ match: { path: /./ }, times: 99, effect: { kind: 'hang' } });
  await runGit(join(folder, 'shop'), ['remote', 'add', 'origin', 'https://github.com/octo/demo.git']);
  const asked = { GITHUB_TOKEN: TOKEN, GITHUB_API_URL: world.github.url };
  const text = 'Waiting for GitHub, to ';
  expect(await ralphUntil(text, ['tasks', '--task-sources', 'issues'], asked)).toContain(text);
});

test('a remote of git: the command names what git does', async () => {
  const server = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await runGit(join(folder, 'shop'), ['remote', 'add', 'origin', `http://127.0.0.1:${String(port)}/octo/demo.git`]);
  const text = 'Waiting for the git server ';
  expect(await ralphUntil(text, ['status'], {})).toContain(text);
  server.close();
});

test("npm, which installs an agent's CLI: the command names the CLI", async () => {
  const text = 'Waiting for npm to install Claude Code ';
  const environment = { PATH: await programThatHangs('npm'), ANTHROPIC_API_KEY: 'sk-ant-api03-not-a-key' };
  const isolation = ['--isolation', 'none'];
  expect(await ralphUntil(text, ['run', ...isolation], environment)).toContain(text);
});

test.each([
  { what: 'verify', pause: '10', verify: 'sleep 600', text: 'Waiting for the verify command ' },
  { what: 'the agent', pause: '30000', verify: '', text: 'Waiting for Claude Code ' },
])('$what: the run says that it is not over', async ({ pause, verify, text }) => {
  const agent = ['--agent-path', join(inject('programs'), 'scripted-agent.mjs')];
  const args = [
    'run',
    '--isolation',
    'none',
    ...agent,
    '--input',
    `verify=${verify}`,
    '--input',
    'agent-env=RALPH_PAUSE_MS',
  ];
  const environment = { ANTHROPIC_API_KEY: 'sk-ant-api03-not-a-key', RALPH_PAUSE_MS: pause };
  expect(await ralphUntil(text, args, environment)).toContain(text);
});
