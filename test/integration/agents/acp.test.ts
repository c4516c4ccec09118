import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { AcpScript, AcpStep } from '../../../testbed/acp/scripted-agent.ts';
import { createAcpCli, createAcpBase } from '../../../src/agents/acp/cli.ts';
import { createAcpScene, DONE, oneTurn } from './acp-scene.ts';
import { callOf, createAgentOn, createMachine } from './agent-fixture.ts';

function command(line: string, more: object = {}): AcpStep {
  return { kind: 'ask', call: { kind: 'execute', title: 'a step', rawInput: { command: line } }, run: line, ...more };
}

test('it gets the prompt, its answer is read, and what it used counts', async () => {
  await using scene = await createAcpScene({
    prompts: [[{ kind: 'say', text: 'I look around.', tokens: 100 }, command('git status'), DONE]],
  });
  const run = await scene.calls(`${'x'.repeat(200_000)} the end`);
  expect(run).toMatchObject({
    end: { kind: 'exited', code: 0 },
    analysis: {
      format: 'jsonl',
      agentError: null,
      usageLimit: null,
      sessionId: expect.stringMatching(/^[\da-f-]{36}$/),
      turns: 2,
      tokens: 250,
      costUsd: null,
      signal: { from: 'block', status: 'COMPLETE', exitSignal: true },
    },
  });
  expect(scene.heard('session/prompt')).toMatchObject([{ prompt: expect.stringMatching(/^x{200000} the end$/) }]);
  expect(scene.heard('initialize')).toMatchObject([
    { clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false } },
  ]);
  expect(scene.log.lines).toEqual(expect.arrayContaining(['I look around.', 'agent done']));
});

test.each(['/init', '!ls', '@README.md', '$x', '#context', ' /init'])(
  'the prompt %j does not begin like a command',
  async (prompt) => {
    await using scene = await createAcpScene(oneTurn());
    await scene.calls(prompt);
    expect(scene.heard('session/prompt')).toMatchObject([{ prompt: `Prompt:\n\n${prompt}` }]);
  },
);

test('another process continues its session, and what came before does not count again', async () => {
  await using scene = await createAcpScene(oneTurn());
  const { sessionId } = (await scene.calls('remember 4711')).analysis;
  const second = await scene.calls('which number?', { resume: sessionId });
  expect(second.analysis).toMatchObject({ sessionId, agentError: null, tokens: 150, signal: { status: 'COMPLETE' } });
  expect(scene.heard('session/load')).toMatchObject([{ sessionId }]);
  expect(scene.heard('session/new')).toHaveLength(1);
});

test('a session that it does not know is an unknown session', async () => {
  await using scene = await createAcpScene(oneTurn());
  const { analysis } = await scene.calls('go on', { resume: 'elsewhere' });
  expect(analysis.agentError).toMatchObject({ kind: 'unknown-session' });
  expect(scene.heard('session/prompt')).toEqual([]);
});

test('an agent that keeps no session is not asked to', async () => {
  await using scene = await createAcpScene({ ...oneTurn(), abilities: { loadSession: false } });
  expect((await scene.calls('hello')).analysis).toMatchObject({ agentError: null, sessionId: null });
});

test('a refused call does not end the work, and an allowed one is made once, not always', async () => {
  await using scene = await createAcpScene({
    prompts: [[command('touch allowed; git add allowed'), command('curl http://127.0.0.1:9/')], [DONE]],
  });
  const { analysis } = await scene.calls('work', { allowedTools: ['Bash(git add:*)', 'Bash(touch:*)'] });
  expect(analysis).toMatchObject({
    agentError: null,
    denials: [{ tool: 'execute', command: 'curl http://127.0.0.1:9/' }],
    signal: { status: 'COMPLETE' },
  });
  expect(existsSync(join(scene.workFolder, 'allowed'))).toBe(true);
  expect(scene.heard('permission')).toMatchObject([
    { outcome: { optionId: 'id-allow_once' } },
    { outcome: { optionId: 'id-reject_once' } },
  ]);
  // It ended its turn with the refusal, so it was asked to continue.
  expect(scene.heard('session/prompt')).toMatchObject([
    { prompt: 'work' },
    { prompt: expect.stringMatching(/^The last tool call was refused/) },
  ]);
});

test('a refused edit, which is reported only when it has failed, does not end the work either', async () => {
  const edit = { kind: 'edit', title: 'x', rawInput: { file_path: '/etc/hosts' } } as const;
  await using scene = await createAcpScene({ prompts: [[{ kind: 'ask', call: edit }], [DONE]] });
  expect((await scene.calls('work')).analysis).toMatchObject({
    denials: [{ tool: 'edit', command: null }],
    signal: { status: 'COMPLETE' },
  });
});

describe('a limit of turns that this client holds', () => {
  const look: AcpStep = { kind: 'say', text: 'Next.', tokens: 10 };
  test.each<readonly [what: string, prompts: AcpScript['prompts'], prompted: number]>([
    ['with the result of a call', [[look, command('git status'), look, command('git status'), { kind: 'hang' }]], 1],
    ['with a refused call', [[look, command('curl x')], [look, command('curl y')], [DONE]], 2],
  ])('ends the call %s', async (_what, prompts, prompted) => {
    const cli = createAcpCli();
    const base = createAcpBase('acp');
    await using scene = await createAcpScene(
      { prompts },
      {
        cli: { ...cli, prepare: (call, place) => base.prepare({ ...call, turnLimit: 2 }, place) },
        allowedTools: ['Bash(git:*)'],
      },
    );
    const { analysis } = await scene.calls('work');
    expect(analysis).toMatchObject({ agentError: { kind: 'max-turns' }, turns: 2, tokens: 20 });
    expect(scene.heard('session/prompt')).toHaveLength(prompted);
  });
});

test('MCP servers are given with their values, and one that it cannot reach is named', async () => {
  await using scene = await createAcpScene(oneTurn(), {
    environment: { WORD: 'hello' },
    allowedTools: ['mcp__tools', 'mcp__docs'],
    servers: [
      { kind: 'command', name: 'tools', command: 'serve', args: ['-x'], env: { GREETING: '${WORD}' }, tools: [] },
      { kind: 'remote', name: 'docs', transport: 'http', url: 'https://docs.example.com', headers: {}, tools: [] },
    ],
  });
  const { failedServers } = await scene.calls('hello');
  expect(scene.heard('session/new')).toMatchObject([
    { mcpServers: [{ name: 'tools', command: 'serve', args: ['-x'], env: [{ name: 'GREETING', value: 'hello' }] }] },
  ]);
  expect(failedServers).toEqual(['docs (the agent reaches no server at an address)']);
});

test.each<readonly [what: string, model: string, kind: string | null]>([
  ['one that it offers is chosen', 'large', null],
  ['one that it does not offer is an error', 'huge', 'model'],
])('of the models, %s', async (_what, model, kind) => {
  await using scene = await createAcpScene({
    ...oneTurn(),
    opened: {
      configOptions: [
        {
          ...{ id: 'm', name: 'Model', category: 'model', type: 'select', currentValue: 'small' },
          options: ['small', 'large'].map((value) => ({ value, name: value })),
        },
      ],
    },
  });
  const { analysis } = await scene.calls('hello', { model });
  expect(analysis.agentError?.kind ?? null).toBe(kind);
  expect(scene.heard('session/set_config_option')).toMatchObject(
    kind === null ? [{ configId: 'm', value: model }] : [],
  );
});

const cost = (amount: number): AcpStep => ({
  kind: 'update',
  update: { sessionUpdate: 'usage_update', used: 10, size: 100, cost: { amount, currency: 'USD' } },
});

test('an agent that offers no models gets it in another way', async () => {
  await using scene = await createAcpScene(oneTurn());
  const { agentError } = (await scene.calls('hello', { model: 'm' })).analysis;
  expect(agentError?.text).toBe(
    'The model m is not available: the agent offers none, so name it in `agent-args` instead of `model`.',
  );
});

test.each<readonly [what: string, told: number, costUsd: number]>([
  ['is not charged again', 0.7, 0.2],
  ['is not taken off where it counts from zero', 0.2, 0.2],
])('what a session has cost before %s', async (_what, told, costUsd) => {
  await using scene = await createAcpScene(oneTurn(cost(0.5)));
  const { sessionId } = (await scene.calls('hello')).analysis;
  scene.play(oneTurn(cost(told)));
  expect((await scene.calls('go on', { resume: sessionId })).analysis.costUsd).toBeCloseTo(costUsd);
});

test('a plan and the cost that it tells are read', async () => {
  await using scene = await createAcpScene({
    prompts: [
      [
        cost(0.2),
        {
          kind: 'update',
          update: {
            sessionUpdate: 'plan',
            entries: [
              { content: 'read', priority: 'high', status: 'completed' },
              { content: 'write', priority: 'high', status: 'pending' },
            ],
          },
        },
        cost(0.5),
        DONE,
      ],
    ],
  });
  expect((await scene.calls('hello')).analysis.costUsd).toBeCloseTo(0.5);
  expect(scene.log.lines).toContain('→ plan: 1 of 2 done, write');
});

test.each<readonly [what: string, step: AcpStep, kind: string, usageLimit: unknown]>([
  ['no login', { kind: 'fail', code: -32000, message: 'Authentication required' }, 'auth', null],
  ['a refused key', fails('401 Incorrect API key provided'), 'auth', null],
  ['a rate limit', fails('429 Too many requests'), 'rate-limit', expect.objectContaining({ unconfirmed: true })],
  [
    'a quota',
    fails('429 You exceeded your current quota, please check your plan and billing details.'),
    'rate-limit',
    expect.objectContaining({ byPerson: true }),
  ],
  ['no credit', fails('402 Payment required'), 'billing', null],
  ['a provider without capacity', fails('529 overloaded_error'), 'server', null],
  ['a provider that fails', fails('500 Something broke'), 'server', null],
  ['no provider', fails('connect ECONNREFUSED 127.0.0.1:9'), 'server', null],
  ['a limit of turns', { kind: 'stop', reason: 'max_turn_requests' }, 'max-turns', null],
  ['a refusal', { kind: 'stop', reason: 'refusal' }, 'other', null],
])('%s is an error of its kind', async (_what, step, kind, usageLimit) => {
  await using scene = await createAcpScene({ prompts: [[step]] });
  const { analysis } = await scene.calls('hello');
  expect(analysis.agentError, JSON.stringify(analysis.agentError)).toMatchObject({ kind });
  expect(analysis.usageLimit).toEqual(usageLimit);
});

test.each<readonly [what: string, said: string, kind: string | null, usageLimit: unknown]>([
  ['a limit', 'Error: 429 no', 'rate-limit', expect.objectContaining({ unconfirmed: true })],
  [
    'a limit of a plan',
    'You’ve hit your usage limit. Try again at 3:05 PM.',
    'rate-limit',
    { window: 'unknown', resumeAt: expect.any(String) },
  ],
  ['many tries', 'exceeded retry limit, last status: 429 Too Many Requests', 'rate-limit', expect.anything()],
  ['a provider without capacity', 'We’re currently experiencing high demand, so try later.', 'server', null],
  ['work on limits', 'Users who exceeded the upload limit now get an error.', null, null],
  ['an error of the work', 'Error: the tests fail.', null, null],
  ['lines that begin so', 'Error: 429 is now handled.\n\nI added tests.', null, null],
])('an answer about %s is judged by its words', async (_what, text, kind, usageLimit) => {
  await using scene = await createAcpScene({ prompts: [[{ kind: 'say', text }]] });
  const { analysis } = await scene.calls('hello');
  expect(analysis.agentError?.kind ?? null).toBe(kind);
  expect(analysis.usageLimit).toEqual(usageLimit);
});

test('words that only repeat a refusal do not end the work', async () => {
  await using scene = await createAcpScene({
    prompts: [[command('curl x'), { kind: 'say', text: 'Info: Operation cancelled by user' }], [DONE]],
  });
  expect((await scene.calls('work')).analysis).toMatchObject({ denials: [{}], signal: { status: 'COMPLETE' } });
});

test.each<readonly [what: string, model: string, costUsd: number | null]>([
  ['counts by its output, which costs most', 'vendor/gpt-x-mini', 0.0015],
  ['of an unknown model does not count', 'other', null],
])('the cost of tokens %s', async (_what, currentValue, costUsd) => {
  const opened = {
    configOptions: [{ id: 'm', name: 'm', category: 'model', type: 'select', currentValue, options: [] }],
  };
  await using scene = await createAcpScene(
    { ...oneTurn(), opened },
    { prices: { 'gpt-x': { input: 1, cachedInput: 0.1, output: 10 } } },
  );
  expect((await scene.calls('hello')).analysis).toMatchObject({ tokens: 150, costUsd });
});

function fails(details: string): AcpStep {
  return { kind: 'fail', code: -32_603, message: 'Internal error', data: { details } };
}

test.each<readonly [what: string, more: Partial<AcpScript>, text: RegExp]>([
  ['another version of the protocol', { version: 7 }, /speaks version 7 of the Agent Client Protocol/],
])('%s is its error', async (_what, more, text) => {
  await using scene = await createAcpScene({ ...oneTurn(), ...more });
  expect((await scene.calls('hello')).analysis.agentError).toMatchObject({
    kind: 'other',
    text: expect.stringMatching(text),
  });
});

test('a program that speaks nothing of it is named by its own words', async () => {
  await using machine = await createMachine();
  const path = join(machine.home, 'other');
  writeFileSync(path, '#!/bin/sh\necho "Usage: other FILE"\n', { mode: 0o755 });
  const { agent } = createAgentOn(machine, { cli: createAcpCli(), command: { kind: 'path', path } });
  expect((await agent.call(callOf({ prompt: 'hello' }))).analysis.agentError?.text).toContain('Usage: other FILE');
});

test('a call that takes too long is cancelled in words first, and what it used is known', async () => {
  await using scene = await createAcpScene({
    prompts: [[{ kind: 'say', text: 'Half of it.', tokens: 100 }, { kind: 'hang' }]],
  });
  const run = await scene.calls('hello', { timeoutMs: 4_000 });
  expect(run).toMatchObject({
    end: { kind: 'timeout', of: 'call' },
    analysis: { tokens: 100 },
    finalMessage: 'Half of it.',
  });
  expect(scene.heard('session/cancel')).toHaveLength(1);
});

test('an agent that does not obey is ended', async () => {
  await using scene = await createAcpScene({ prompts: [[{ kind: 'hang', ignoresCancel: true }]], stays: true });
  const cancel = new AbortController();
  const running = scene.calls('hello', { signal: cancel.signal });
  await vi.waitFor(() => {
    expect(scene.heard('session/prompt')).toHaveLength(1);
  }, 20_000);
  cancel.abort();
  expect((await running).end).toEqual({ kind: 'cancelled' });
});

test('an agent that stays when its input has ended is not waited for', async () => {
  await using scene = await createAcpScene({ ...oneTurn(), stays: true });
  expect(await scene.calls('hello')).toMatchObject({
    end: { kind: 'exited', code: 0 },
    analysis: { agentError: null },
  });
}, 30_000);

test('what it is asked for is not offered: files, terminals and unknown requests have no answer', async () => {
  const secret = { path: '/etc/passwd' };
  await using scene = await createAcpScene(
    oneTurn(
      { kind: 'request', method: 'fs/read_text_file', params: secret },
      { kind: 'request', method: 'terminal/create', params: { command: 'id' } },
      { kind: 'request', method: 'ralph/keys', params: {} },
    ),
  );
  await scene.calls('hello');
  for (const method of ['fs/read_text_file', 'terminal/create', 'ralph/keys'])
    expect(scene.heard(method)).toMatchObject([{ code: -32_601 }]);
});
