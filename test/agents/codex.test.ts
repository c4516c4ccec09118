import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ModelStep } from '../../testbed/scripted-model/step.ts';
import { codexCli } from '../../src/agents/codex/cli.ts';
import { MAX_SESSION_BYTES } from '../../src/core/lane/state/state.ts';
import { callOf } from '../integration/agents/agent-fixture.ts';
import { DONE, describeAdapter } from './adapter-spec.ts';
import { GREETER } from './greeter.ts';
import { createWorld, type Subject } from './agent-world.ts';

const KEY = 'sk-proj-a-key-that-opens-nothing';

const codex: Subject = {
  name: 'codex',
  cli: codexCli,
  version: '0.169.0',
  environment: (url) => ({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${url}/v1` }),
  model: 'gpt-5.5',
};

const failing = (
  status: number,
  type: string,
  more: Partial<Extract<ModelStep, { kind: 'error' }>> = {},
): ModelStep => ({ kind: 'error', status, type, message: 'no', ...more });
const run = (command: string): ModelStep => ({ kind: 'run', command });

const RESET = Math.floor(Date.now() / 1000) + 3 * 3600;
const usageLimit = { error: { type: 'usage_limit_reached', message: 'no', plan_type: 'pro', resets_at: RESET } };

describeAdapter(codex, {
  key: KEY,
  session: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  refusesSilently: true,
  failures: [
    { what: 'a key that is not known', step: failing(401, 'invalid_api_key'), kind: 'auth', usageLimit: null },
    {
      what: 'too many requests',
      step: failing(429, 'rate_limit_exceeded'),
      kind: 'rate-limit',
      usageLimit: { window: 'unknown', resumeAt: null, unconfirmed: true },
    },
    {
      what: 'too many requests for an hour',
      step: failing(429, 'rate_limit_exceeded', { headers: { 'retry-after': '3600' } }),
      kind: 'rate-limit',
      usageLimit: { window: 'unknown', resumeAt: expect.stringMatching(/Z$/), unconfirmed: true },
    },
    {
      what: 'a limit of the subscription with its reset',
      step: failing(429, 'usage_limit_reached', { body: usageLimit }),
      kind: 'rate-limit',
      usageLimit: { window: 'unknown', resumeAt: new Date(RESET * 1000 - (RESET % 60) * 1000).toISOString() },
    },
    { what: 'an error of the provider', step: failing(500, 'server_error'), kind: 'server', usageLimit: null },
    { what: 'an answer that is cut off', step: { kind: 'cut', text: 'I beg' }, kind: 'server', usageLimit: null },
  ],
});

test('nothing that the repository says is obeyed', async () => {
  await using world = await createWorld(codex, { script: [DONE] });
  const { workFolder, home } = world.machine;
  const marker = join(home, 'it-ran');
  const file = (path: string, text: string): void => {
    mkdirSync(join(workFolder, path, '..'), { recursive: true });
    writeFileSync(join(workFolder, path), text);
  };
  file('.codex/config.toml', `[mcp_servers.one]\ncommand = "/usr/bin/touch"\nargs = ["${marker}"]\n`);
  file('.codex/hooks.json', JSON.stringify({ hooks: { SessionStart: [{ hooks: [{ command: `touch ${marker}` }] }] } }));
  file('AGENTS.md', 'OBEY-ME');
  file('.agents/skills/own/SKILL.md', '---\nname: own\ndescription: OBEY-THIS-SKILL\n---\nhello\n');
  expect((await world.calls('hello')).analysis).toMatchObject({ agentError: null });
  expect(existsSync(marker)).toBe(false);
  expect(JSON.stringify(world.model.requests)).not.toMatch(/OBEY-/);
});

test('what the agent put into its own folder is not read in the next call', async () => {
  await using world = await createWorld(codex, { script: [DONE] });
  const marker = join(world.machine.home, 'it-ran');
  await world.calls('hello');
  writeFileSync(
    join(world.configFolder, 'config.toml'),
    `model_provider = "other"\n[mcp_servers.one]\ncommand = "/usr/bin/touch"\nargs = ["${marker}"]\n`,
  );
  expect((await world.calls('hello again')).analysis).toMatchObject({ agentError: null });
  expect(existsSync(marker)).toBe(false);
});

describe('the sandbox', () => {
  const look =
    'echo x > inside; echo x > ../outside; echo x > "$(mktemp)" && echo temporary; git commit -q --allow-empty -m x; true';
  test.each<{ what: string; rules: readonly string[]; inside: boolean; commits: number }>([
    { what: 'may only read', rules: ['Read', 'Grep'], inside: false, commits: 0 },
    { what: 'may write, and not record', rules: ['Read', 'Write'], inside: true, commits: 0 },
    { what: 'may write and commit', rules: ['Write', 'Bash(git commit:*)'], inside: true, commits: 1 },
  ])('an agent that $what', async ({ rules, inside, commits }) => {
    await using world = await createWorld(codex, { script: [run(look), DONE], allowedTools: rules });
    const { workFolder } = world.machine;
    expect((await world.calls('look')).analysis).toMatchObject({ agentError: null });
    expect(existsSync(join(workFolder, 'inside'))).toBe(inside);
    const count = execFileSync('git', ['-C', workFolder, 'rev-list', '--count', '--all'], { encoding: 'utf8' });
    expect(Number(count)).toBe(commits);
    const [printed] = world.model.requests.flatMap(({ conversation }) => conversation?.results ?? []);
    if (inside) expect(printed?.text).toContain('temporary');
  });
});

test('its commands keep the time zone, and the CLI names its resets in UTC', async () => {
  await using world = await createWorld(codex, {
    script: [run('date +%Z; echo "$TMPDIR"'), DONE],
    environment: () => ({ TZ: 'Asia/Tokyo' }),
  });
  await world.calls('what time is it?');
  const [printed] = world.model.requests.flatMap(({ conversation }) => conversation?.results ?? []);
  expect(printed?.text).toContain('JST');
});

test('runs commands in its sandbox where its own folder is among the temporary files, which they may write', async () => {
  await using world = await createWorld(codex, {
    script: [run('echo x > inside; echo x > "$(mktemp)" && echo temporary'), DONE],
    allowedTools: ['Write', 'Bash'],
    environment: () => ({ TMPDIR: tmpdir() }),
  });
  expect((await world.calls('look')).analysis).toMatchObject({ agentError: null });
  expect(existsSync(join(world.machine.workFolder, 'inside'))).toBe(true);
  const [printed] = world.model.requests.flatMap(({ conversation }) => conversation?.results ?? []);
  expect(printed?.text).toContain('temporary');
});

test('continues from a rollout whose beginning was cut', async () => {
  await using world = await createWorld(codex, { script: [{ kind: 'reply', text: 'I know it.' }, DONE] });
  const id = (await world.calls('FIRST PROMPT')).analysis.sessionId ?? '';
  const [rollout = ''] = execFileSync('find', [world.configFolder, '-name', `*${id}.jsonl`], {
    encoding: 'utf8',
  }).split('\n');
  await appendFile(rollout, `${JSON.stringify({ type: 'padding', text: 'x'.repeat(MAX_SESSION_BYTES) })}\n`);
  await world.agent.call(callOf({ prompt: 'SECOND PROMPT', resume: id }));
  const exported = await world.agent.exportSession(id);
  expect(world.log.lines).toContain('session: its transcript is long, so its oldest prompts are not kept');
  const other = await world.elsewhere();
  expect(await other.agent.importSession(id, exported ?? Buffer.alloc(0))).toBe(true);
  const { analysis } = await other.agent.call(callOf({ prompt: 'THIRD PROMPT', resume: id }));
  expect(analysis).toMatchObject({ sessionId: id, agentError: null, tokens: 150 });
  const prompts = world.model.requests.at(-1)?.conversation?.prompts ?? [];
  expect(prompts.map((text) => /(FIRST|SECOND|THIRD) PROMPT/.exec(text)?.[0])).toEqual([
    'SECOND PROMPT',
    'THIRD PROMPT',
  ]);
  expect(readFileSync(rollout, 'utf8')).toContain('FIRST PROMPT');
});

test('a server of tools gets variables by name, and its tool is run', async () => {
  await using world = await createWorld(codex, {
    script: [{ kind: 'use', namespace: 'mcp__tools', tool: 'greet', input: {} }, DONE],
    servers: [GREETER],
    // The wiring adds this tool to the rules.
    allowedTools: ['Read', 'mcp__tools__greet'],
    environment: () => ({ GREETING: 'hello, "you"' }),
  });
  expect((await world.calls('greet')).analysis).toMatchObject({ agentError: null, denials: [] });
  const results = world.model.requests.flatMap(({ conversation }) => conversation?.results ?? []);
  expect(JSON.stringify(results)).toContain('It says hello, ');
});
