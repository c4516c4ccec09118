import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, inject, test } from 'vitest';
import type { ModelStep } from '../../../testbed/scripted-model/step.ts';
import { codexCli, buildCodexEnvironment, resetCodexHome } from '../../../src/agents/codex/cli.ts';
import { DONE } from '../adapter-spec.ts';
import { createWorld, type Subject } from '../agent-world.ts';
import { installed } from '../install.ts';
import { talkedTo } from './talked-to.ts';

/** Codex behind its adapter for the protocol; the reasons why the action does not run it like this are below. */
const cli = talkedTo('codex', codexCli, async (call, place) => {
  await resetCodexHome(place.configFolder);
  const provider = {
    ...{ name: 'ralph', base_url: call.environment['OPENAI_BASE_URL'], wire_api: 'responses' },
    ...{ env_key: 'OPENAI_API_KEY', request_max_retries: 1, stream_max_retries: 2 },
  };
  return {
    environment: {
      ...buildCodexEnvironment(call.environment, place.configFolder),
      CODEX_PATH: installed('codex'),
      CODEX_CONFIG: JSON.stringify({
        ...{ model: call.model, model_provider: 'ralph', model_providers: { ralph: provider } },
        ...{ web_search: 'disabled', project_doc_max_bytes: 0 },
        features: { hooks: false, unbounded_connection_retries: false },
      }),
      // Codex asks for the most in this mode; it no longer has one that asks for every command.
      INITIAL_AGENT_MODE: 'read-only',
    },
  };
});

const codex: Subject = {
  ...{ name: 'codex', cli, version: '0.169.0', program: installed('codex-acp'), model: 'gpt-5.5' },
  environment: (url) => ({ OPENAI_API_KEY: 'sk-proj-a-key-that-opens-nothing', OPENAI_BASE_URL: `${url}/v1` }),
};

/** Asks for a command outside of the sandbox. */
const escalated = (cmd: string): ModelStep => ({
  kind: 'use',
  tool: 'exec_command',
  input: { cmd, sandbox_permissions: 'require_escalated', justification: 'It is part of the task.' },
});

beforeEach(({ skip }) => {
  const { codex: program, 'codex-acp': adapter } = inject('missing');
  skip((program ?? adapter) !== undefined, program ?? adapter);
});

test('it asks for commands outside of its sandbox, and continues after a refusal and in its session', async () => {
  await using world = await createWorld(codex, {
    script: [
      escalated('git commit -q --allow-empty -m x && git log --format=%s'),
      escalated('curl http://127.0.0.1:9/'),
      DONE,
    ],
    allowedTools: ['Bash(git commit:*)', 'Bash(git log:*)'],
  });
  const { analysis } = await world.calls('say hello');
  expect(analysis).toMatchObject({
    agentError: null,
    denials: [{ command: 'curl http://127.0.0.1:9/' }],
    tokens: 450,
    signal: { status: 'COMPLETE' },
  });
  const next = await world.calls('go on', { resume: analysis.sessionId });
  expect(next.analysis).toMatchObject({ agentError: null, sessionId: analysis.sessionId, tokens: 150 });
  expect(world.model.requests.at(-1)?.conversation?.prompts).toEqual(expect.arrayContaining(['say hello', 'go on']));
});

test.each([
  [429, 'rate-limit'],
  [500, 'server'],
])('a provider that answers %i is an error, although it comes as an answer', async (status, kind) => {
  await using world = await createWorld(codex, { script: [{ kind: 'error', status, type: 'no', message: 'no' }] });
  const { analysis, finalMessage } = await world.calls('hello');
  expect(analysis).toMatchObject({ agentError: { kind } });
  expect(finalMessage).toMatch(status === 429 ? /last status: 429/ : /high demand/);
});

describe('reasons to run it in its own way', () => {
  test('it trusts the repository and starts its servers', async () => {
    await using world = await createWorld(codex, { script: [DONE] });
    const marker = join(world.machine.home, 'it-ran');
    mkdirSync(join(world.machine.workFolder, '.codex'));
    writeFileSync(
      join(world.machine.workFolder, '.codex/config.toml'),
      `[mcp_servers.one]\ncommand = "/usr/bin/touch"\nargs = ["${marker}"]\n`,
    );
    await world.calls('hello');
    expect(existsSync(marker)).toBe(true);
  });

  test('commands in its sandbox run without asking', async () => {
    await using world = await createWorld(codex, {
      script: [{ kind: 'run', command: 'date' }, DONE],
      allowedTools: ['Read', 'Edit'],
    });
    expect(String((await world.calls('look')).broken)).toContain('The agent made a call without asking');
  });

  test('options of the CLI have no effect', async () => {
    await using world = await createWorld(codex, { script: [DONE], extraArgs: ['--no-such-option'] });
    expect((await world.calls('hello')).analysis).toMatchObject({ agentError: null, signal: { status: 'COMPLETE' } });
  });
});
