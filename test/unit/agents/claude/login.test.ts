import { expect, test } from 'vitest';
import { brokerEnvironment, loginOf } from '../../../../src/agents/claude/login.ts';

const PROVIDER = 'https://api.anthropic.com';

test.each<[string, Readonly<Record<string, string>>, object]>([
  [
    'an API key',
    { ANTHROPIC_API_KEY: ' k ', PATH: '/bin' },
    {
      kind: 'brokered',
      provider: PROVIDER,
      keys: { ANTHROPIC_API_KEY: 'k' },
      headers: {},
      environment: { PATH: '/bin' },
    },
  ],
  [
    'a token',
    { CLAUDE_CODE_OAUTH_TOKEN: 't' },
    { kind: 'brokered', keys: { CLAUDE_CODE_OAUTH_TOKEN: 't' }, environment: {} },
  ],
  [
    'two keys',
    { ANTHROPIC_API_KEY: 'k', ANTHROPIC_AUTH_TOKEN: 'a', CLAUDE_CODE_OAUTH_TOKEN: '' },
    { keys: { ANTHROPIC_API_KEY: 'k', ANTHROPIC_AUTH_TOKEN: 'a' }, environment: {} },
  ],
  [
    'a gateway',
    {
      ANTHROPIC_AUTH_TOKEN: 'a',
      ANTHROPIC_BASE_URL: 'https://gateway.example/anthropic/',
      ANTHROPIC_CUSTOM_HEADERS: 'X-Team: a: b\nbroken\n X-Key:c ',
      ANTHROPIC_MODEL: 'm',
    },
    {
      kind: 'brokered',
      provider: 'https://gateway.example/anthropic',
      headers: { 'x-team': 'a: b', 'x-key': 'c' },
      environment: { ANTHROPIC_MODEL: 'm' },
    },
  ],
  ['an empty address', { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: ' ' }, { provider: PROVIDER }],
  [
    'a cloud',
    { CLAUDE_CODE_USE_BEDROCK: '1', ANTHROPIC_API_KEY: 'k' },
    { kind: 'direct', environment: { CLAUDE_CODE_USE_BEDROCK: '1', ANTHROPIC_API_KEY: 'k' } },
  ],
  ['none', { PATH: '/bin' }, { kind: 'direct', environment: { PATH: '/bin' } }],
  ['no address', { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: 'gateway.example' }, { kind: 'unusable' }],
  ['another protocol', { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: 'file:///etc' }, { kind: 'unusable' }],
  [
    'a password in the address',
    { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: 'https://a:b@gateway.example' },
    { kind: 'unusable' },
  ],
])('%s', (_what, environment, expected) => {
  expect(loginOf(environment)).toMatchObject(expected);
});

test('requests to the broker go past a proxy, others do not', () => {
  const at = { address: 'http://127.0.0.1:1', placeholders: { ANTHROPIC_API_KEY: 'p' } };
  expect(brokerEnvironment({ NO_PROXY: 'intern.example' }, at)).toEqual({
    ANTHROPIC_API_KEY: 'p',
    ANTHROPIC_BASE_URL: 'http://127.0.0.1:1',
    NO_PROXY: 'intern.example,127.0.0.1,localhost',
    no_proxy: 'intern.example,127.0.0.1,localhost',
  });
  expect(brokerEnvironment({}, at)['no_proxy']).toBe('127.0.0.1,localhost');
});
