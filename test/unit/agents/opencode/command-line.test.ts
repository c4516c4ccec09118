import { describe, expect, test } from 'vitest';
import { findOpencodeAccess } from '../../../../src/agents/opencode/access.ts';
import { opencodeCli, isOpenCodeSession, buildOpencodeEnvironment } from '../../../../src/agents/opencode/cli.ts';
import { sumUsageSince } from '../../../../src/agents/opencode/usage.ts';
import { identifyProgram } from '../../../../src/agents/cli/agent.ts';

const ID = `ses_${'a'.repeat(26)}`;
const anthropic = { ANTHROPIC_API_KEY: 'p', ANTHROPIC_BASE_URL: 'http://127.0.0.1:1/v1' };
const openai = { OPENAI_API_KEY: 'p', OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' };
const gateway = { OPENAI_API_KEY: 'p', OPENAI_BASE_URL: 'http://127.0.0.1:1/chat/v1' };
test.each([
  { what: 'Anthropic', environment: anthropic, id: 'anthropic', npm: undefined },
  { what: 'OpenAI', environment: openai, id: 'openai', npm: undefined },
  { what: 'what speaks like OpenAI', environment: gateway, id: 'gateway', npm: '@ai-sdk/openai-compatible' },
])('$what is the only provider', ({ environment, id, npm }) => {
  const given = { ...environment, OPENCODE_PERMISSION: '{"*":"allow"}', XDG_DATA_HOME: '/x', KEPT: 'yes' };
  const made = buildOpencodeEnvironment(
    { environment: given, model: 'm', allowedTools: ['Read'], servers: [] },
    '/config',
  );
  expect(made).toMatchObject({
    KEPT: 'yes',
    XDG_DATA_HOME: '/config/data',
    OPENCODE_DISABLE_PROJECT_CONFIG: '1',
    OPENCODE_CONFIG_DIR: '/config/config/own',
  });
  expect(made).not.toHaveProperty('OPENCODE_PERMISSION');
  const settings = JSON.parse(made['OPENCODE_CONFIG_CONTENT'] ?? '') as { provider: Record<string, { npm?: string }> };
  expect(settings).toMatchObject({
    share: 'disabled',
    autoupdate: false,
    enabled_providers: [id],
    model: `${id}/m`,
    permission: { '*': 'deny', bash: 'deny', edit: 'deny' },
  });
  expect(Object.keys(settings.provider)).toEqual([id]);
  expect(settings.provider[id]?.npm).toBe(npm);
});

test.each([
  { given: { ANTHROPIC_API_KEY: 'sk-ant-api03-x' }, provider: 'https://api.anthropic.com', path: '/v1' },
  { given: { OPENAI_API_KEY: 'sk-proj-xxxx' }, provider: 'https://api.openai.com/v1', path: '/v1' },
  {
    given: { OPENAI_API_KEY: 'sk-or-xxxxx', OPENAI_BASE_URL: 'https://openrouter.ai/api/v1/' },
    provider: 'https://openrouter.ai/api/v1',
    path: '/chat/v1',
  },
])('$provider', ({ given, provider, path }) => {
  const access = findOpencodeAccess({ ...given, PATH: '/bin' }, { allowedTools: [], model: null, prices: {} });
  expect(access).toMatchObject({ kind: 'brokered', provider, environment: { PATH: '/bin' } });
  if (access.kind !== 'brokered') return;
  const made = access.environmentFor({ address: 'http://127.0.0.1:1', placeholders: {} });
  expect(Object.values(made)).toContain(`http://127.0.0.1:1${path}`);
});

test.each([
  { what: 'two keys', given: { ANTHROPIC_API_KEY: 'sk-ant-api03-x', OPENAI_API_KEY: 'sk-x' }, kind: 'unusable' },
  { what: 'no address', given: { OPENAI_API_KEY: 'sk-x', OPENAI_BASE_URL: 'nowhere' }, kind: 'unusable' },
  { what: 'no key', given: {}, kind: 'direct' },
])('$what', ({ given, kind }) => {
  expect(findOpencodeAccess(given, { allowedTools: [], model: null, prices: {} }).kind).toBe(kind);
});

test.each([
  { id: ID, is: true },
  { id: 'ses_', is: false },
  { id: `ses_${'/'.repeat(26)}`, is: false },
  { id: `${ID}\n`, is: false },
])('$id', ({ id, is }) => {
  expect(isOpenCodeSession(id)).toBe(is);
});

test('its version is all that it prints', () => {
  expect(identifyProgram(opencodeCli, '1.18.33')).toEqual({ name: 'OpenCode', version: '1.18.33' });
  expect(identifyProgram(opencodeCli, 'something else')).toEqual({ name: 'something else', version: '' });
});

describe('the usage of a call', () => {
  const answer = (created: number, cost: number, modelID = 'm') => ({
    info: {
      ...{ role: 'assistant', providerID: 'own', modelID, cost, time: { created } },
      tokens: { input: 100, output: 40, reasoning: 10, cache: { read: 50, write: 0 } },
    },
  });
  const before = { role: 'user', time: { created: 10 }, tokens: { input: 7 } };
  const prices = { 'own/priced': { input: 1, cachedInput: 0, output: 2 } };

  test.each([
    ['all its answers', [answer(10, 0.1), answer(11, 0.2)], 400, expect.closeTo(0.3)],
    ['none of an earlier run', [answer(9, 0.1), answer(10, 0.2)], 200, 0.2],
    ['a model without a price', [answer(10, 0)], 200, null],
    ['a price of the user', [answer(10, 0, 'priced')], 200, 0.0002],
    ['a failed answer', [{ info: { role: 'assistant', cost: 0, time: { created: 10 } } }], 0, 0],
  ])('is that of %s', (_what, messages, tokens, costUsd) => {
    const session = { messages: [{ info: before }, ...messages] };
    expect(sumUsageSince(session, { since: 10, prices })).toEqual({ tokens, costUsd });
  });

  test.each([[null], [{}], [{ messages: [null, 1, { info: [] }, { info: before }] }]])('is not in %j', (session) => {
    expect(sumUsageSince(session, { since: 0, prices })).toEqual({});
  });
});
