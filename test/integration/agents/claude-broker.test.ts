import { beforeAll, describe, expect, test } from 'vitest';
import type { ModelStep } from '../../../testbed/scripted-model/step.ts';
import { eventually } from '../../eventually.ts';
import { commandOf, processesWith } from '../processes/process-fixture.ts';
import { callOf } from './agent-fixture.ts';
import { createWorld, installOnce } from './claude-fixture.ts';

// These tests use the real Claude Code CLI; the broker holds its model key.
beforeAll(installOnce, 300_000);

const KEY = 'sk-ant-api03-not-a-key';
const TOKEN = 'sk-ant-oat01-not-a-token';
const run = (command: string): ModelStep => ({ kind: 'use', tool: 'Bash', input: { command } });
const done: ModelStep = { kind: 'reply', text: 'Done.' };

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

test('a request to the model that bypasses the CLI is counted', async () => {
  const again = `curl -s "$ANTHROPIC_BASE_URL/v1/messages" -H "x-api-key: $ANTHROPIC_API_KEY" -d '{"model":"claude-opus-5-5","max_tokens":9,"messages":[]}' || true`;
  await using world = await createWorld({ script: [run(again), done], allowedTools: ['Bash'] });
  const { analysis } = await world.call('ask yourself');
  const asked = world.model.requests.filter(({ method }) => method === 'POST').length;
  expect(asked).toBe(3);
  // The CLI knows of two of the three requests.
  expect(analysis.tokens).toBeGreaterThanOrEqual(150 * 2 + 101);
});

test('tokens that are used up end the call at once, as a limit and not as an error of the account', async () => {
  await using world = await createWorld({ script: [run('true')], allowedTools: ['Bash'] });
  const { analysis, end } = await world.agent.call(callOf({ prompt: 'go on for ever', tokensLeft: 400 }));
  expect(world.model.requests.filter(({ method }) => method === 'POST')).toHaveLength(3);
  expect(analysis.agentError).toEqual({ kind: 'budget', text: 'The call reached its limit: the remaining tokens.' });
  expect(analysis.tokens).toBe(450);
  expect(end).toMatchObject({ kind: 'exited' });
});

test('a call that was killed has its cost', async () => {
  await using world = await createWorld({ script: [run('sleep 60')], allowedTools: ['Bash'] });
  const cancel = new AbortController();
  const running = world.agent.call(callOf({ prompt: 'sleep', signal: cancel.signal }));
  await eventually(() => {
    expect(processesWith(world.runTag).map(commandOf)).toContain('sleep 60 ');
  });
  cancel.abort();
  const { analysis, end } = await running;
  expect(end).toEqual({ kind: 'cancelled' });
  expect(analysis.tokens).toBe(150);
  expect(analysis.costUsd).toBeCloseTo(0.0014, 6);
});

test('what Claude Code does not ask for by itself is refused and said', async () => {
  const fetchByServer = `curl -s "$ANTHROPIC_BASE_URL/v1/messages" -H "x-api-key: $ANTHROPIC_API_KEY" -d '{"model":"m","messages":[],"tools":[{"type":"web_fetch_20250910"}]}' || true`;
  await using world = await createWorld({ script: [run(fetchByServer), done], allowedTools: ['Bash'] });
  await world.call('fetch');
  expect(world.model.requests.filter(({ method }) => method === 'POST')).toHaveLength(2);
  expect(world.log.lines.join('\n')).toMatch(
    /request from the agent to its model was blocked: the tool "web_fetch_20250910" of the provider's servers/,
  );
});

describe("a cloud's login", () => {
  const cloudKey = 'a-key-of-a-cloud-that-nobody-sees';
  const bedrock = (keys: Readonly<Record<string, string>>) => (url: string) => ({
    CLAUDE_CODE_USE_BEDROCK: '1',
    AWS_REGION: 'eu-west-1',
    ANTHROPIC_BEDROCK_BASE_URL: url,
    ...keys,
  });
  const vertex = (url: string) => ({
    CLAUDE_CODE_USE_VERTEX: '1',
    CLOUD_ML_REGION: 'us-east5',
    ANTHROPIC_VERTEX_PROJECT_ID: 'p-1',
    ANTHROPIC_VERTEX_BASE_URL: `${url}/v1`,
    CLOUDSDK_AUTH_ACCESS_TOKEN: cloudKey,
  });
  const temporary = { AWS_ACCESS_KEY_ID: 'ASIAEXAMPLE', AWS_SECRET_ACCESS_KEY: cloudKey, AWS_SESSION_TOKEN: cloudKey };

  test.each<[string, (url: string) => Readonly<Record<string, string>>, RegExp, RegExp]>([
    [
      'a key of Bedrock',
      bedrock({ AWS_BEARER_TOKEN_BEDROCK: cloudKey }),
      /^\/model\/eu\.anthropic\.claude-[\w.:-]+\/invoke-with-response-stream$/,
      /^Bearer a-key-of-a-cloud-that-nobody-sees$/,
    ],
    [
      'keys of AWS',
      bedrock(temporary),
      /^\/model\/eu\.anthropic\.claude-[\w.:-]+\/invoke-with-response-stream$/,
      /^AWS4-HMAC-SHA256 Credential=ASIAEXAMPLE\/\d{8}\/eu-west-1\/bedrock\/aws4_request, SignedHeaders=host;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}$/,
    ],
    [
      'a token of Google',
      vertex,
      /^\/v1\/projects\/p-1\/locations\/us-east5\/publishers\/anthropic\/models\/claude-[\w.@-]+:streamRawPredict$/,
      /^Bearer a-key-of-a-cloud-that-nobody-sees$/,
    ],
  ])('%s stays with the broker', async (_what, environment, path, authorization) => {
    await using world = await createWorld({ script: [run('env | sort'), done], allowedTools: ['Bash'], environment });
    const { analysis } = await world.call('look around');
    expect(analysis).toMatchObject({ agentError: null, denials: [], tokens: 300 });
    const [printed] = world.model.requests.flatMap(({ conversation }) => conversation?.results ?? []);
    expect(printed?.text).toContain('ralph-placeholder-');
    expect(printed?.text).not.toMatch(/a-key-of-a-cloud|ASIAEXAMPLE|sk-ant/);
    expect(world.model.requests.map(({ path: asked }) => asked)).toEqual([
      expect.stringMatching(path),
      expect.stringMatching(path),
    ]);
    for (const { headers } of world.model.requests) expect(headers.authorization).toMatch(authorization);
    expect(world.log.lines.join('\n')).not.toContain('was stopped');
  });

  test.each<[string, (url: string) => Readonly<Record<string, string>>]>([
    ['Bedrock', bedrock({ AWS_BEARER_TOKEN_BEDROCK: cloudKey })],
    ['Vertex', vertex],
  ])('with %s, tokens that are used up end the call at once', async (_what, environment) => {
    await using world = await createWorld({ script: [run('true')], allowedTools: ['Bash'], environment });
    const { analysis } = await world.agent.call(callOf({ prompt: 'go on for ever', tokensLeft: 400 }));
    expect(world.model.requests).toHaveLength(3);
    expect(analysis).toMatchObject({ agentError: { kind: 'budget' }, tokens: 450 });
  });
});
