import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import type { ModelStep } from '../../../testbed/scripted-model/step.ts';
import { claudeCli, buildClaudeEnvironment } from '../../../src/agents/claude/cli.ts';
import { claude as claudeCode, installOnce } from '../../integration/agents/claude-fixture.ts';
import { DONE } from '../adapter-spec.ts';
import { createWorld, type Subject } from '../agent-world.ts';
import { installed } from '../install.ts';
import { talkedTo } from './talked-to.ts';

const PROGRAM = join(claudeCode.folder, 'node_modules/@anthropic-ai/claude-code-linux-x64/claude');

/** Claude Code behind its adapter for the protocol; the reasons why the action does not run it like this are below. */
const cli = talkedTo('claude', claudeCli, async (call, place) => {
  await mkdir(place.configFolder, { recursive: true });
  // In its default mode, a service of Anthropic decides instead of the client.
  writeFileSync(join(place.configFolder, 'settings.json'), JSON.stringify({ permissions: { defaultMode: 'default' } }));
  return {
    environment: { ...buildClaudeEnvironment(call.environment, place.configFolder), CLAUDE_CODE_EXECUTABLE: PROGRAM },
  };
});

const claude: Subject = {
  ...{ name: 'claude', cli, version: claudeCode.version, program: installed('claude-acp'), model: null },
  environment: (url) => ({ ANTHROPIC_API_KEY: 'sk-ant-api03-not-a-key', ANTHROPIC_BASE_URL: url }),
};

const run = (command: string): ModelStep => ({ kind: 'run', command });

const missing = inject('missing')['claude-acp'];

beforeAll(async () => {
  if (missing === undefined) await installOnce();
}, 300_000);
beforeEach(({ skip }) => {
  skip(missing !== undefined, missing);
});

test('it asks for commands with their text, continues after a refusal, and reports tokens and cost', async () => {
  await using world = await createWorld(claude, {
    script: [run('git commit -q --allow-empty -m "Say hello"'), run('curl http://127.0.0.1:9/'), DONE],
  });
  const { analysis } = await world.calls('say hello');
  expect(analysis).toMatchObject({
    agentError: null,
    denials: [{ command: 'curl http://127.0.0.1:9/' }],
    tokens: expect.any(Number),
    costUsd: expect.any(Number),
    signal: { status: 'COMPLETE' },
  });
  expect(world.log.lines).toContain('→ execute git commit -q --allow-empty -m "Say hello"');
});

describe('reasons to run it in its own way', () => {
  test('it reports no turns', async () => {
    await using world = await createWorld(claude, { script: [run('git status'), DONE], allowedTools: ['Bash'] });
    expect((await world.calls('look')).analysis).toMatchObject({ turns: null, signal: { status: 'COMPLETE' } });
  });

  test('it does not name the usage limit that is reached', async () => {
    const subject: Subject = {
      ...claude,
      environment: (url) => ({ CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-not-a-token', ANTHROPIC_BASE_URL: url }),
    };
    const headers = {
      'anthropic-ratelimit-unified-status': 'rejected',
      'anthropic-ratelimit-unified-reset': String(Math.floor(Date.now() / 1000) + 7200),
      'anthropic-ratelimit-unified-representative-claim': 'five_hour',
    };
    await using world = await createWorld(subject, {
      script: [{ kind: 'error', status: 429, type: 'rate_limit_error', message: 'no', headers }],
    });
    const { usageLimit } = (await world.calls('hello')).analysis;
    expect(usageLimit).toMatchObject({ window: 'unknown' });
  });

  test('it obeys hooks, servers and instructions of the repository, unless it gets options of its own', async () => {
    await using world = await createWorld(claude, { script: [DONE] });
    const { workFolder, home } = world.machine;
    const [hook, server] = [join(home, 'hook-ran'), join(home, 'server-ran')];
    mkdirSync(join(workFolder, '.claude'));
    writeFileSync(
      join(workFolder, '.claude/settings.json'),
      JSON.stringify({
        enableAllProjectMcpServers: true,
        hooks: { SessionStart: [{ hooks: [{ type: 'command', command: `touch ${hook}` }] }] },
      }),
    );
    const one = { command: '/usr/bin/touch', args: [server] };
    writeFileSync(join(workFolder, '.mcp.json'), JSON.stringify({ mcpServers: { one } }));
    writeFileSync(join(workFolder, 'CLAUDE.md'), 'OBEY-ME');
    await world.calls('hello');
    expect([hook, server].map((path) => existsSync(path))).toEqual([true, true]);
    expect(JSON.stringify(world.model.requests)).toContain('OBEY-ME');
  });
});
