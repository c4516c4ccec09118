import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TOOL_CACHE } from '../../testbed/testbed.ts';
import type { ModelStep } from '../../testbed/scripted-model/step.ts';
import { copilotCli } from '../../src/agents/copilot/cli.ts';
import { MAX_SESSION_BYTES } from '../../src/core/lane/state/state.ts';
import { callOf } from '../integration/agents/agent-fixture.ts';
import { DONE, describeAdapter } from './adapter-spec.ts';
import { GREETER } from './greeter.ts';
import { createWorld, type Subject } from './agent-world.ts';

const KEY = 'sk-proj-a-key-that-opens-nothing';
const VERSION = '1.0.102';

const copilot: Subject = {
  name: 'copilot',
  cli: copilotCli,
  version: VERSION,
  environment: (url) => ({
    COPILOT_PROVIDER_API_KEY: KEY,
    COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
    // The CLI is unpacked once and not in each test.
    COPILOT_CACHE_HOME: join(TOOL_CACHE, 'ralph-action', `copilot-${VERSION}`, 'unpacked'),
  }),
  model: 'scripted',
};

const failing = (
  status: number,
  type: string,
  more: Partial<Extract<ModelStep, { kind: 'error' }>> = {},
): ModelStep => ({ kind: 'error', status, type, message: 'no', ...more });

describeAdapter(copilot, {
  key: KEY,
  session: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  hidesItsKey: true,
  failures: [
    { what: 'a key that is not known', step: failing(401, 'invalid_api_key'), kind: 'auth', usageLimit: null },
    {
      what: 'too many requests for an hour',
      step: failing(429, 'rate_limit_exceeded', { headers: { 'retry-after': '3600' } }),
      kind: 'rate-limit',
      usageLimit: { window: 'unknown', resumeAt: expect.stringMatching(/Z$/), unconfirmed: true },
    },
    { what: 'an allowance that is used up', step: failing(402, 'quota_exceeded'), kind: 'billing', usageLimit: null },
    { what: 'an answer that is cut off', step: { kind: 'cut', text: 'I beg' }, kind: 'server', usageLimit: null },
  ],
});

test.each<{ what: string; path: RegExp; header: string; given: (url: string) => Readonly<Record<string, string>> }>([
  {
    what: "OpenAI's newer protocol",
    path: /\/v1\/responses$/,
    header: 'authorization',
    given: () => ({ COPILOT_PROVIDER_WIRE_API: 'responses' }),
  },
  {
    what: "Anthropic's protocol",
    path: /^\/v1\/messages$/,
    header: 'x-api-key',
    given: (url) => ({ COPILOT_PROVIDER_TYPE: 'anthropic', COPILOT_PROVIDER_BASE_URL: url }),
  },
])('a provider with $what', async ({ path, header, given }) => {
  await using world = await createWorld(copilot, { script: [DONE], environment: given });
  expect((await world.calls('hello')).analysis).toMatchObject({ agentError: null, tokens: expect.any(Number) });
  const asked = world.model.requests.filter(({ conversation }) => conversation !== null);
  expect(asked.map((request) => request.path)).toEqual([expect.stringMatching(path)]);
  expect(String(asked[0]?.headers[header])).toContain(KEY);
});

test('nothing that the repository says is obeyed', async () => {
  await using world = await createWorld(copilot, { script: [DONE] });
  const { workFolder, home } = world.machine;
  const marker = join(home, 'it-ran');
  const file = (path: string, text: string): void => {
    mkdirSync(join(workFolder, path, '..'), { recursive: true });
    writeFileSync(join(workFolder, path), text);
  };
  const servers = JSON.stringify({ mcpServers: { one: { command: '/usr/bin/touch', args: [marker] } } });
  file('.mcp.json', servers);
  file('.github/mcp.json', servers);
  file(
    '.github/hooks/own.json',
    JSON.stringify({ version: 1, hooks: { sessionStart: [{ type: 'command', bash: `touch ${marker}` }] } }),
  );
  for (const path of ['AGENTS.md', 'CLAUDE.md', 'GEMINI.md', '.github/copilot-instructions.md']) file(path, 'OBEY-ME');
  for (const folder of ['.agents', '.github'])
    file(`${folder}/skills/own/SKILL.md`, '---\nname: own\ndescription: OBEY-THIS-SKILL\n---\nhello\n');
  expect((await world.calls('hello')).analysis).toMatchObject({ agentError: null });
  expect(existsSync(marker)).toBe(false);
  expect(JSON.stringify(world.model.requests)).not.toMatch(/OBEY-/);
});

test('what the agent put into its own folder is gone before the next call, and nobody is named in commits twice', async () => {
  await using world = await createWorld(copilot, { script: [DONE] });
  await world.calls('hello');
  const marker = join(world.machine.home, 'it-ran');
  writeFileSync(
    join(world.configFolder, 'mcp-config.json'),
    JSON.stringify({ mcpServers: { one: { type: 'local', command: '/usr/bin/touch', args: [marker], tools: ['*'] } } }),
  );
  expect((await world.calls('hello again')).analysis).toMatchObject({ agentError: null });
  expect(existsSync(marker)).toBe(false);
  expect(JSON.stringify(world.model.requests)).not.toContain('Co-authored-by');
});

test('continues from a session whose beginning was cut', async () => {
  await using world = await createWorld(copilot, { script: [{ kind: 'reply', text: 'I know it.' }, DONE] });
  const id = (await world.calls('FIRST PROMPT')).analysis.sessionId ?? '';
  const [events = ''] = execFileSync('find', [world.configFolder, '-path', `*${id}/events.jsonl`], {
    encoding: 'utf8',
  }).split('\n');
  await appendFile(events, `${JSON.stringify({ type: 'padding', text: 'x'.repeat(MAX_SESSION_BYTES) })}\n`);
  await appendFile(
    events,
    `${JSON.stringify({ type: 'user.message', data: { content: 'SECOND PROMPT' }, id: 'b3b5f6b2-6b1a-4b5e-8c0a-0a6d1c1c7f11', timestamp: new Date().toISOString(), parentId: null })}\n`,
  );
  const exported = await world.agent.exportSession(id);
  expect(world.log.lines).toContain('session: its transcript is long, so its oldest prompts are not kept');
  const other = await world.elsewhere();
  expect(await other.agent.importSession(id, exported ?? Buffer.alloc(0))).toBe(true);
  const { analysis } = await other.agent.call(callOf({ prompt: 'THIRD PROMPT', resume: id }));
  expect(analysis).toMatchObject({ sessionId: id, agentError: null, tokens: 150 });
  const prompts = world.model.requests.at(-1)?.conversation?.prompts ?? [];
  expect(prompts.join('\n')).not.toContain('FIRST PROMPT');
  expect(prompts.join('\n')).toContain('THIRD PROMPT');
});

test('a server of tools gets variables by name, and its tool is run', async () => {
  await using world = await createWorld(copilot, {
    script: [{ kind: 'use', tool: 'tools-greet', input: {} }, DONE],
    servers: [GREETER],
    // The wiring adds this tool to the rules.
    allowedTools: ['Read', 'mcp__tools__greet'],
    environment: () => ({ GREETING: 'hello, "you"' }),
  });
  expect((await world.calls('greet')).analysis).toMatchObject({ agentError: null, denials: [] });
  const results = world.model.requests.flatMap(({ conversation }) => conversation?.results ?? []);
  expect(JSON.stringify(results)).toContain('It says hello, ');
});
