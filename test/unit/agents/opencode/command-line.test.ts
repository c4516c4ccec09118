import { expect, test } from 'vitest';
import { opencodeAccessOf } from '../../../../src/agents/opencode/access.ts';
import { opencodeCli, isOpenCodeSession, opencodeEnvironment } from '../../../../src/agents/opencode/cli.ts';
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
  const made = opencodeEnvironment({ environment: given, model: 'm', allowedTools: ['Read'], servers: [] }, '/config');
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
  const access = opencodeAccessOf({ ...given, PATH: '/bin' }, { allowedTools: [], model: null, prices: {} });
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
  expect(opencodeAccessOf(given, { allowedTools: [], model: null, prices: {} }).kind).toBe(kind);
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
