import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ModelStep } from '../../testbed/scripted-model/step.ts';
import { createAcpCli } from '../../src/agents/acp/cli.ts';
import { commandCli } from '../../src/agents/command/cli.ts';
import { qwenCli } from '../../src/agents/qwen/cli.ts';
import { DONE, describeAdapter } from './adapter-spec.ts';
import { createWorld, type Subject } from './agent-world.ts';
import { GREETER } from './greeter.ts';

const KEY = 'sk-a-key-that-opens-nothing';

const qwen: Subject = {
  name: 'qwen',
  cli: qwenCli,
  version: '0.24.4',
  environment: (url) => ({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${url}/v1` }),
  model: 'qwen3-coder-plus',
};

describeAdapter(qwen, {
  key: KEY,
  session: /^[0-9a-f-]{36}$/,
  failures: [
    {
      what: 'a key that is not known',
      step: { kind: 'error', status: 401, type: 'invalid_api_key', message: 'Incorrect API key provided' },
      kind: 'auth',
      usageLimit: null,
    },
    {
      what: 'a limit that it is silent about, with a long wait',
      step: {
        kind: 'error',
        status: 429,
        type: 'rate_limit_exceeded',
        message: 'Rate limit reached.',
        headers: { 'retry-after': '3600' },
      },
      kind: 'rate-limit',
      usageLimit: { window: 'unknown', resumeAt: expect.stringMatching(/Z$/), unconfirmed: true },
    },
    {
      what: 'errors that it is silent about',
      step: { kind: 'error', status: 500, type: 'server_error', message: 'Something broke.' },
      kind: 'server',
      usageLimit: null,
    },
    { what: 'an answer that is cut off', step: { kind: 'cut', text: 'I beg' }, kind: 'server', usageLimit: null },
  ],
});

test('no instruction, program or address that the repository names is used', async () => {
  await using world = await createWorld(qwen, { script: [DONE] });
  const { workFolder, home } = world.machine;
  const marker = join(home, 'it-ran');
  mkdirSync(join(workFolder, '.qwen/skills/own'), { recursive: true });
  writeFileSync(
    join(workFolder, '.qwen/settings.json'),
    JSON.stringify({
      mcpServers: { one: { command: '/usr/bin/touch', args: [marker], trust: true } },
      hooks: { SessionStart: [{ hooks: [{ type: 'command', command: `touch ${marker}` }] }] },
      permissions: { allow: ['run_shell_command'] },
    }),
  );
  writeFileSync(join(workFolder, '.env'), 'OPENAI_BASE_URL=http://127.0.0.1:9/v1\n');
  writeFileSync(join(workFolder, '.qwen/.env'), 'OPENAI_BASE_URL=http://127.0.0.1:9/v1\n');
  for (const name of ['AGENTS.md', 'QWEN.md']) writeFileSync(join(workFolder, name), 'OBEY-ME');
  writeFileSync(
    join(workFolder, '.qwen/skills/own/SKILL.md'),
    '---\nname: own\ndescription: OBEY-THIS-SKILL\n---\nhello\n',
  );
  mkdirSync(join(workFolder, '.qwen/agents'));
  writeFileSync(join(workFolder, '.qwen/agents/own.md'), '---\nname: own\ndescription: OBEY-THIS-AGENT\n---\nhello\n');
  expect((await world.calls('hello')).analysis).toMatchObject({ agentError: null });
  expect(existsSync(marker)).toBe(false);
  const said = JSON.stringify(world.model.requests.map(({ body }) => body));
  expect(said.match(/OBEY-[A-Z-]+/g)).toBeNull();
});

test('a session of the way in which it was run before continues', async () => {
  const id = randomUUID();
  const earlier: Subject = {
    ...qwen,
    cli: {
      ...qwenCli,
      prepare: async (call, place) => ({
        ...(await qwenCli.prepare(call, place)),
        args: ['--output-format', 'stream-json', '--auth-type', 'openai', '--session-id', id],
        openReader: (await commandCli.prepare(call, place)).openReader,
      }),
    },
  };
  await using before = await createWorld(earlier, { script: [{ kind: 'reply', text: 'I know it.' }] });
  await before.calls('remember the number 4711');
  const exported = await before.agent.exportSession(id);
  await using world = await createWorld(qwen, { script: [DONE] });
  expect(await world.agent.importSession(id, exported ?? Buffer.alloc(0))).toBe(true);
  const { analysis } = await world.calls('which number?', { resume: id });
  expect(analysis).toMatchObject({ sessionId: id, agentError: null, tokens: 150, signal: { status: 'COMPLETE' } });
  expect(JSON.stringify(world.model.requests.at(-1)?.body)).toMatch(/remember the number 4711.*which number\?/s);
});

test('a limit of turns ends the call', async () => {
  const look: ModelStep = { kind: 'run', command: 'git status' };
  await using world = await createWorld(qwen, {
    script: [look, look, look, look, DONE],
    extraArgs: ['--max-session-turns', '2'],
    allowedTools: ['Bash'],
  });
  const { analysis } = await world.calls('look', { timeoutMs: 120_000 });
  expect(analysis).toMatchObject({ agentError: { kind: 'max-turns' }, turns: 2 });
  expect(world.model.requests).toHaveLength(2);
});

test('a server of tools does not start unless the repository is trusted', async () => {
  const talked: Subject = {
    ...qwen,
    cli: {
      ...qwenCli,
      prepare: async (call, place) => ({
        ...(await qwenCli.prepare(call, place)),
        openReader: (await createAcpCli().prepare({ ...call, model: null }, place)).openReader,
      }),
    },
  };
  await using world = await createWorld(talked, {
    script: [{ kind: 'use', tool: 'mcp__tools__greet', input: {} }, DONE],
    servers: [GREETER],
    allowedTools: ['mcp__tools'],
    environment: () => ({ GREETING: 'hello' }),
  });
  await world.calls('greet', { timeoutMs: 120_000 });
  expect(world.log.lines.join('\n')).toContain('MCP server(s) failed to start: tools');
  expect(JSON.stringify(world.model.requests.map(({ body }) => body))).not.toContain('It says hello');
});

test('a command that the rules do not allow is asked for, also if it only reads', async () => {
  const commands = ['cat /etc/hostname', 'git status; ls /', 'git add -A $(cat /etc/hostname)', 'ls > out.txt'];
  await using world = await createWorld(qwen, {
    script: [...commands.map((command): ModelStep => ({ kind: 'run', command })), DONE],
  });
  const run = await world.calls('look');
  expect(run).not.toHaveProperty('broken');
  expect(run.analysis.denials).toEqual(commands.map((command) => ({ tool: 'execute', command })));
  expect(run.analysis.signal.status).toBe('COMPLETE');
});

test('nobody can be asked: the question is refused', async () => {
  const question = { question: 'Which?', header: 'Which', multiSelect: false };
  const options = ['this', 'that'].map((label) => ({ label, description: label }));
  await using world = await createWorld(qwen, {
    script: [{ kind: 'use', tool: 'ask_user_question', input: { questions: [{ ...question, options }] } }, DONE],
  });
  expect((await world.calls('ask')).analysis).toMatchObject({
    question: true,
    denials: [{ tool: 'ask_user_question' }],
    signal: { status: 'COMPLETE' },
  });
});
