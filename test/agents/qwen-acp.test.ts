import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { acpCli } from '../../src/agents/acp/cli.ts';
import type { AgentCli } from '../../src/agents/cli/cli.ts';
import { qwenCli, qwenEnvironment, qwenFiles, resetQwenHome } from '../../src/agents/qwen/cli.ts';
import { DONE, describeAdapter } from './adapter-spec.ts';
import { createWorld, type Subject } from './agent-world.ts';
import { GREETER } from './greeter.ts';

const KEY = 'sk-a-key-that-opens-nothing';

/** Qwen Code, talked to in the Agent Client Protocol. */
const cli: AgentCli = {
  ...qwenCli,
  kindOfDenial: acpCli.kindOfDenial,
  judgeStall: acpCli.judgeStall,
  prepare: async (call, place) => {
    await resetQwenHome(place);
    const model = call.model === null ? [] : ['--model', call.model];
    return {
      ...(await acpCli.prepare({ ...call, model: null }, place)),
      args: ['--acp', '--auth-type', 'openai', '--approval-mode', 'default', ...model, ...call.extraArgs],
      environment: qwenEnvironment(call.environment, place),
      // Its own rules allow nothing, so that it asks for everything.
      files: qwenFiles({ allowedTools: [] }),
    };
  },
};

const qwen: Subject = {
  name: 'qwen',
  cli,
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

test('MCP', async ({ skip }) => {
  skip(inject('missing')['qwen'] !== undefined);
  await using world = await createWorld(qwen, {
    script: [{ kind: 'use', tool: 'mcp__tools__greet', input: {} }, DONE],
    servers: [GREETER],
    allowedTools: ['mcp__tools'],
    environment: () => ({ GREETING: 'hello' }),
  });
  await world.calls('greet');
  expect(JSON.stringify(world.model.requests.map(({ body }) => body))).toContain('It says hello');
  expect(join('a')).toBe('a');
});

test('a limit of turns', async ({ skip }) => {
  skip(inject('missing')['qwen'] !== undefined);
  await using world = await createWorld(qwen, {
    script: [{ kind: 'run', command: 'git status' }],
    extraArgs: ['--max-session-turns', '3'],
    allowedTools: ['Bash'],
  });
  const { analysis } = await world.calls('look', { timeoutMs: 60_000 });
  expect(analysis.agentError).toMatchObject({ kind: 'max-turns' });
});
