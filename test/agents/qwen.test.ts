import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ModelStep } from '../../testbed/scripted-model/step.ts';
import { createAcpCli } from '../../src/agents/acp/cli.ts';
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
  expect((await world.calls('hello')).analysis).toMatchObject({ agentError: null });
  expect(existsSync(marker)).toBe(false);
  const said = JSON.stringify(world.model.requests.map(({ body }) => body));
  expect(said.match(/OBEY-[A-Z-]+/g)).toBeNull();
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

test.each(['cat /etc/hostname', 'git status; ls /', 'git add -A $(cat /etc/hostname)', 'ls > out.txt'])(
  'a command that the rules do not allow is asked for: %s',
  async (command) => {
    await using world = await createWorld(qwen, { script: [{ kind: 'run', command }, DONE] });
    const run = await world.calls('look');
    expect(run).not.toHaveProperty('broken');
    expect(run.analysis.denials).toEqual([{ tool: 'execute', command }]);
  },
);
