import { beforeAll, expect, test } from 'vitest';
import type { Step } from '../../../sandbox/scripted-model.ts';
import { callOf } from './agent-fixture.ts';
import { createWorld, installOnce } from './claude-fixture.ts';

// The real Claude Code CLI, whose model key the broker holds.
beforeAll(installOnce, 300_000);

const KEY = 'sk-ant-api03-not-a-key';
const TOKEN = 'sk-ant-oat01-not-a-token';
const run = (command: string): Step => ({ kind: 'use', tool: 'Bash', input: { command } });
const done: Step = { kind: 'reply', text: 'Done.' };

test('the agent finds no key in its environment or its files, and the model gets it', async () => {
  await using world = await createWorld({
    script: [run('env | sort; cat "$CLAUDE_CONFIG_DIR"/*.json 2>/dev/null; true'), done],
    allowedTools: ['Bash'],
  });
  const { analysis } = await world.call('look around');
  expect(analysis).toMatchObject({ agentError: null, denials: [] });
  const [printed] = world.model.requests.flatMap(({ conversation }) => conversation?.results ?? []);
  expect(printed?.text).toMatch(/ANTHROPIC_API_KEY=ralph-placeholder-[0-9a-f]{32}\n/);
  expect(printed?.text).not.toContain(KEY);
  const messages = world.model.requests.filter(({ method }) => method === 'POST');
  expect(messages.map(({ headers }) => headers['x-api-key'])).toEqual([KEY, KEY]);
});

test('a subscription is asked with its token', async () => {
  await using world = await createWorld({
    script: [done],
    environment: { ANTHROPIC_API_KEY: '', CLAUDE_CODE_OAUTH_TOKEN: TOKEN },
  });
  expect((await world.call('hello')).analysis).toMatchObject({ agentError: null });
  const message = world.model.requests.find(({ method }) => method === 'POST');
  expect(message?.headers).toMatchObject({ authorization: `Bearer ${TOKEN}` });
  expect(message?.headers['anthropic-beta']).toContain('oauth-2025-04-20');
});

test('who asks the model behind the back of the CLI is counted', async () => {
  const again = `curl -s "$ANTHROPIC_BASE_URL/v1/messages" -H "x-api-key: $ANTHROPIC_API_KEY" -d '{"model":"claude-opus-5-5","max_tokens":9,"messages":[]}' || true`;
  await using world = await createWorld({ script: [run(again), done], allowedTools: ['Bash'] });
  const { analysis } = await world.call('ask yourself');
  const asked = world.model.requests.filter(({ method }) => method === 'POST').length;
  expect(asked).toBe(3);
  // The CLI knows of two of them.
  expect(analysis.tokens).toBeGreaterThanOrEqual(150 * 2 + 101);
});

test('tokens that are used up end the call at once, as a limit and not as an error of the account', async () => {
  await using world = await createWorld({ script: [run('true')], allowedTools: ['Bash'] });
  const { analysis, end, durationMs } = await world.agent.call(callOf({ prompt: 'go on for ever', tokensLeft: 400 }));
  expect(world.model.requests.filter(({ method }) => method === 'POST')).toHaveLength(3);
  expect(analysis.agentError).toEqual({
    kind: 'budget',
    text: 'The call reached its limit: the tokens that are left.',
  });
  expect(analysis.tokens).toBe(450);
  expect(end).toMatchObject({ kind: 'exited' });
  expect(durationMs).toBeLessThan(20_000);
});

test('a call that was killed has its cost', async () => {
  await using world = await createWorld({ script: [run('sleep 60')], allowedTools: ['Bash'] });
  const { analysis, end } = await world.agent.call(callOf({ prompt: 'sleep', timeoutMs: 4_000 }));
  expect(end).toMatchObject({ kind: 'timeout' });
  expect(analysis.tokens).toBe(150);
  expect(analysis.costUsd).toBeCloseTo(0.0014, 6);
});

test('what Claude Code does not ask for by itself is refused and said', async () => {
  const fetchByServer = `curl -s "$ANTHROPIC_BASE_URL/v1/messages" -H "x-api-key: $ANTHROPIC_API_KEY" -d '{"model":"m","messages":[],"tools":[{"type":"web_fetch_20250910"}]}' || true`;
  await using world = await createWorld({ script: [run(fetchByServer), done], allowedTools: ['Bash'] });
  await world.call('fetch');
  expect(world.model.requests.filter(({ method }) => method === 'POST')).toHaveLength(2);
  expect(world.log.lines.join('\n')).toMatch(
    /a request was stopped: the tool "web_fetch_20250910" of the provider's servers/,
  );
});
