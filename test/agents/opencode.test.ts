import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { opencodeCli } from '../../src/agents/opencode/cli.ts';
import { DONE, describeAdapter } from './adapter-spec.ts';
import { GREETER } from './greeter.ts';
import { createWorld, type Subject } from './agent-world.ts';

const KEY = 'sk-ant-api03-a-key-that-opens-nothing';

const opencode: Subject = {
  name: 'opencode',
  cli: opencodeCli,
  version: '1.18.33',
  environment: (url) => ({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: url }),
  model: 'claude-opus-5-5',
};

describeAdapter(opencode, {
  key: KEY,
  session: /^ses_[A-Za-z0-9]{26}$/,
  failures: [
    {
      what: 'a key that is not known',
      step: { kind: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' },
      kind: 'auth',
      usageLimit: null,
    },
    {
      what: 'a model that is not there',
      step: { kind: 'error', status: 404, type: 'not_found_error', message: 'model: none' },
      kind: 'model',
      usageLimit: null,
    },
    {
      what: 'too many requests for an hour',
      step: {
        kind: 'error',
        status: 429,
        type: 'rate_limit_error',
        message: 'Rate limit reached.',
        headers: { 'retry-after': '3600' },
      },
      kind: 'rate-limit',
      usageLimit: expect.objectContaining({ window: 'unknown', resumeAt: expect.stringMatching(/Z$/) }),
    },
    {
      what: 'a prompt that is too long',
      step: {
        kind: 'error',
        status: 400,
        type: 'invalid_request_error',
        message: 'prompt is too long: 210000 tokens > 200000 maximum',
      },
      kind: 'prompt-too-long',
      usageLimit: null,
    },
    { what: 'an answer that is cut off', step: { kind: 'cut', text: 'I beg' }, kind: 'server', usageLimit: null },
  ],
});

test('what leads outside, and what no rule allows, is refused, and its work continues in the same turn', async () => {
  await using world = await createWorld(opencode, {
    script: [
      { kind: 'run', command: 'git add . ; curl http://127.0.0.1:9/' },
      { kind: 'write', path: '../out.txt', content: 'x' },
      { kind: 'use', tool: 'read', input: { filePath: '/etc/hostname' } },
      { kind: 'write', path: 'docs/a.md', content: 'x' },
      { kind: 'write', path: 'src/a.ts', content: 'x' },
      DONE,
    ],
    allowedTools: ['Edit(src/**)', 'Bash(git add:*)'],
  });
  const run = await world.calls('work', { timeoutMs: 180_000 });
  expect(run).not.toHaveProperty('broken');
  expect(run.analysis).toMatchObject({ agentError: null, signal: { status: 'COMPLETE' } });
  expect(run.analysis.denials.map(({ tool }) => tool)).toEqual(['execute', 'other', 'other', 'edit']);
  expect(
    ['../out.txt', 'docs/a.md', 'src/a.ts'].map((path) => existsSync(join(world.machine.workFolder, path))),
  ).toEqual([...[false, false, true]]);
  expect(world.model.requests.at(-1)?.conversation?.prompts).toEqual(['work']);
});

test.each([
  ['is its own without an option', [], undefined],
  ['is that of an option', ['--variant', 'high'], 'high'],
])('the effort of the model %s', async (_what, extraArgs, effort) => {
  await using world = await createWorld(opencode, { script: [DONE], extraArgs });
  expect((await world.calls('hello')).analysis).toMatchObject({ agentError: null, signal: { status: 'COMPLETE' } });
  const body = world.model.requests[0]?.body as { readonly output_config?: { readonly effort?: string } };
  expect(body.output_config?.effort).toBe(effort);
});

test('where nothing counts its requests, all answers of a prompt count', async () => {
  const subject = { ...opencode, environment: (url: string) => opencode.environment(`${url}/v1`) };
  await using world = await createWorld(subject, {
    script: [{ kind: 'run', command: 'git add .' }, DONE],
    isDirect: true,
  });
  const first = await world.calls('hello', { timeoutMs: 180_000 });
  expect(first.analysis).toMatchObject({ agentError: null, tokens: 300, costUsd: expect.closeTo(0.0028, 5) });
  const next = await world.calls('go on', { resume: first.analysis.sessionId, timeoutMs: 180_000 });
  expect(next.analysis).toMatchObject({ tokens: 150, costUsd: expect.closeTo(0.0014, 5) });
});

describe('other providers', () => {
  test.each([
    {
      what: 'an API that speaks like OpenAI is asked in its older way',
      environment: (url: string) => ({ OPENAI_API_KEY: 'sk-proj-nothing', OPENAI_BASE_URL: `${url}/v1` }),
      path: '/v1/chat/completions',
    },
  ])('$what', async ({ environment, path }) => {
    const subject: Subject = { ...opencode, environment, model: 'deepseek/deepseek-chat' };
    await using world = await createWorld(subject, {
      script: [{ kind: 'write', path: 'hello.txt', content: 'hello\n' }, DONE],
    });
    const { analysis } = await world.calls('hello');
    expect(analysis).toMatchObject({ agentError: null, denials: [], signal: { status: 'COMPLETE' } });
    expect(existsSync(join(world.machine.workFolder, 'hello.txt'))).toBe(true);
    expect(world.model.requests.map(({ path: asked }) => asked)).toEqual([path, path]);
    expect(world.model.requests[0]?.body).toMatchObject({ model: 'deepseek/deepseek-chat' });
  });
});

test('no instruction, server or address that the repository names is used', async () => {
  await using world = await createWorld(opencode, { script: [DONE] });
  const { workFolder, home } = world.machine;
  const marker = join(home, 'it-ran');
  writeFileSync(
    join(workFolder, 'opencode.json'),
    JSON.stringify({
      mcp: { one: { type: 'local', command: ['/usr/bin/touch', marker], enabled: true } },
      provider: { anthropic: { options: { baseURL: 'http://127.0.0.1:9' } } },
      instructions: ['RULES.md'],
    }),
  );
  for (const name of ['AGENTS', 'CLAUDE', 'RULES']) writeFileSync(join(workFolder, `${name}.md`), `OBEY-${name}`);
  expect((await world.calls('hello')).analysis).toMatchObject({ agentError: null });
  expect(existsSync(marker)).toBe(false);
  const said = JSON.stringify(world.model.requests.map(({ body }) => body));
  expect(said.match(/OBEY-[A-Z-]+/g)).toBeNull();
});

test('a plugin that the repository holds is not run: the call is refused', async () => {
  await using world = await createWorld(opencode, { script: [DONE] });
  mkdirSync(join(world.machine.workFolder, '.opencode/plugin'), { recursive: true });
  writeFileSync(join(world.machine.workFolder, '.opencode/plugin/own.js'), 'export const own = async () => ({});\n');
  await expect(world.calls('hello')).rejects.toThrow(/The repository has plugins for OpenCode.*`\.opencode\/plugin`/);
  expect(world.model.requests).toEqual([]);
});

test('a server of tools gets variables by name, and its tool is run', async () => {
  await using world = await createWorld(opencode, {
    script: [{ kind: 'use', tool: 'tools_greet', input: {} }, DONE],
    servers: [GREETER],
    // The wiring adds this tool to the rules.
    allowedTools: ['Read', 'mcp__tools__greet'],
    environment: () => ({ GREETING: 'hello, "you"' }),
  });
  expect((await world.calls('greet')).analysis).toMatchObject({ agentError: null, denials: [] });
  const results = world.model.requests.flatMap(({ conversation }) => conversation?.results ?? []);
  expect(JSON.stringify(results)).toContain('It says hello, ');
});
