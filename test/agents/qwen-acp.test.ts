import { beforeEach, describe, expect, inject, test } from 'vitest';
import type { ModelStep } from '../../testbed/scripted-model/step.ts';
import { acpCli } from '../../src/agents/acp/cli.ts';
import type { AgentCli } from '../../src/agents/cli/cli.ts';
import { qwenCli, qwenEnvironment, qwenFiles, resetQwenHome } from '../../src/agents/qwen/cli.ts';
import { DONE, describeAdapter } from './adapter-spec.ts';
import { createWorld, type Subject } from './agent-world.ts';
import { GREETER } from './greeter.ts';

const KEY = 'sk-a-key-that-opens-nothing';

/** Qwen Code, talked to in the Agent Client Protocol. The action runs it in its older way, for the reasons below. */
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

describe('what keeps it from being run in this way', () => {
  beforeEach(({ skip }) => {
    skip(inject('missing')['qwen'] !== undefined, inject('missing')['qwen']);
  });

  test('a limit of turns has no effect', async () => {
    const look: ModelStep = { kind: 'run', command: 'git status' };
    await using world = await createWorld(qwen, {
      script: [look, look, look, look, DONE],
      extraArgs: ['--max-session-turns', '2'],
      allowedTools: ['Bash'],
    });
    const { analysis } = await world.calls('look', { timeoutMs: 120_000 });
    expect(analysis).toMatchObject({ agentError: null, signal: { status: 'COMPLETE' } });
  });

  test('a server does not start unless the repository is trusted', async () => {
    await using world = await createWorld(qwen, {
      script: [{ kind: 'use', tool: 'mcp__tools__greet', input: {} }, DONE],
      servers: [GREETER],
      allowedTools: ['mcp__tools'],
      environment: () => ({ GREETING: 'hello' }),
    });
    await world.calls('greet', { timeoutMs: 120_000 });
    expect(JSON.stringify(world.model.requests.map(({ body }) => body))).not.toContain('It says hello');
  });
});
