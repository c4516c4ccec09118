import { expect, test } from 'vitest';
import { buildBrokerEnvironment, withholdClaudeKeys, type Api } from '../../../../src/agents/claude/access.ts';

const PROVIDER = 'https://api.anthropic.com';
const ADDRESS = 'http://127.0.0.1:1';
const BEDROCK = { CLAUDE_CODE_USE_BEDROCK: '1' };
const AWS_KEYS = { AWS_ACCESS_KEY_ID: 'i', AWS_SECRET_ACCESS_KEY: 's' };
const VERTEX = { CLAUDE_CODE_USE_VERTEX: '1', ANTHROPIC_VERTEX_PROJECT_ID: 'p-1', CLOUD_ML_REGION: 'us-east5' };

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
    "a cloud's login that the machine has",
    { CLAUDE_CODE_USE_BEDROCK: '1', ANTHROPIC_API_KEY: 'k' },
    { kind: 'direct', environment: { CLAUDE_CODE_USE_BEDROCK: '1', ANTHROPIC_API_KEY: 'k' } },
  ],
  [
    'a key of Bedrock',
    { ...BEDROCK, AWS_REGION: 'eu-west-1', AWS_BEARER_TOKEN_BEDROCK: ' b ', ANTHROPIC_API_KEY: 'k' },
    {
      api: { kind: 'bedrock', signing: null },
      provider: 'https://bedrock-runtime.eu-west-1.amazonaws.com',
      keys: { AWS_BEARER_TOKEN_BEDROCK: 'b' },
      environment: { ...BEDROCK, AWS_REGION: 'eu-west-1' },
    },
  ],
  [
    'keys of AWS, with which requests are signed',
    { ...BEDROCK, AWS_REGION: 'us-gov-west-1', ...AWS_KEYS, AWS_SESSION_TOKEN: 't' },
    {
      api: {
        kind: 'bedrock',
        signing: { region: 'us-gov-west-1', accessKeyId: 'i', secretAccessKey: 's', sessionToken: 't' },
      },
      keys: { AWS_BEARER_TOKEN_BEDROCK: '' },
      environment: { ...BEDROCK, AWS_REGION: 'us-gov-west-1' },
    },
  ],
  [
    'keys of AWS without a region',
    { ...BEDROCK, ...AWS_KEYS },
    {
      api: { signing: { region: 'us-east-1', sessionToken: '' } },
      provider: 'https://bedrock-runtime.us-east-1.amazonaws.com',
    },
  ],
  [
    'a key of Bedrock before keys of AWS, in the other variable for the region, and a gateway',
    {
      ...BEDROCK,
      ...AWS_KEYS,
      AWS_DEFAULT_REGION: 'eu-north-1',
      AWS_BEARER_TOKEN_BEDROCK: 'b',
      ANTHROPIC_BEDROCK_BASE_URL: 'https://gateway.example/bedrock/',
    },
    { api: { signing: null }, provider: 'https://gateway.example/bedrock', keys: { AWS_BEARER_TOKEN_BEDROCK: 'b' } },
  ],
  ['half a key of AWS', { ...BEDROCK, AWS_ACCESS_KEY_ID: 'i' }, { kind: 'direct' }],
  [
    'a region that would lead elsewhere',
    { ...BEDROCK, ...AWS_KEYS, AWS_REGION: 'evil.example/' },
    { kind: 'unusable', problem: expect.stringContaining('`AWS_REGION`') as string },
  ],
  [
    'a token of Google',
    { ...VERTEX, CLOUDSDK_AUTH_ACCESS_TOKEN: 'g', ANTHROPIC_API_KEY: 'k' },
    {
      api: { kind: 'vertex', models: '/projects/p-1/locations/us-east5/publishers/anthropic/models/' },
      provider: 'https://us-east5-aiplatform.googleapis.com/v1',
      keys: { ANTHROPIC_CUSTOM_HEADERS: 'g' },
      environment: VERTEX,
    },
  ],
  [
    'a token of Google, everywhere',
    { ...VERTEX, CLOUD_ML_REGION: 'global', GOOGLE_OAUTH_ACCESS_TOKEN: 'g' },
    { provider: 'https://aiplatform.googleapis.com/v1' },
  ],
  [
    'a token of Google, in one part of the world',
    { ...VERTEX, CLOUD_ML_REGION: 'eu', GOOGLE_OAUTH_ACCESS_TOKEN: 'g' },
    { provider: 'https://aiplatform.eu.rep.googleapis.com/v1' },
  ],
  ['credentials of Google in a file', { ...VERTEX, GOOGLE_APPLICATION_CREDENTIALS: '/x' }, { kind: 'direct' }],
  [
    'no project',
    { ...VERTEX, ANTHROPIC_VERTEX_PROJECT_ID: '', CLOUDSDK_AUTH_ACCESS_TOKEN: 'g' },
    { kind: 'unusable', problem: expect.stringContaining('`ANTHROPIC_VERTEX_PROJECT_ID`') as string },
  ],
  [
    'a place that would lead elsewhere',
    { ...VERTEX, CLOUD_ML_REGION: 'evil.example/', CLOUDSDK_AUTH_ACCESS_TOKEN: 'g' },
    { kind: 'unusable' },
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
  expect(withholdClaudeKeys(environment)).toMatchObject(expected);
});

test('requests to the broker go past a proxy, others do not', () => {
  const at = { address: ADDRESS, placeholders: { ANTHROPIC_API_KEY: 'p' } };
  const api = { kind: 'anthropic' } as const;
  expect(buildBrokerEnvironment({ api, environment: { NO_PROXY: 'intern.example' } }, at)).toEqual({
    ANTHROPIC_API_KEY: 'p',
    ANTHROPIC_BASE_URL: ADDRESS,
    NO_PROXY: 'intern.example,127.0.0.1,localhost',
    no_proxy: 'intern.example,127.0.0.1,localhost',
  });
  expect(buildBrokerEnvironment({ api, environment: {} }, at)['no_proxy']).toBe('127.0.0.1,localhost');
});

test.each<[Api, Readonly<Record<string, string>>, Readonly<Record<string, string>>]>([
  [
    { kind: 'bedrock', signing: null },
    { AWS_BEARER_TOKEN_BEDROCK: 'p' },
    { AWS_BEARER_TOKEN_BEDROCK: 'p', CLAUDE_CODE_SKIP_BEDROCK_AUTH: '1', ANTHROPIC_BEDROCK_BASE_URL: ADDRESS },
  ],
  [
    { kind: 'vertex', models: '/' },
    { ANTHROPIC_CUSTOM_HEADERS: 'p' },
    {
      ANTHROPIC_CUSTOM_HEADERS: 'Authorization: Bearer p',
      CLAUDE_CODE_SKIP_VERTEX_AUTH: '1',
      ANTHROPIC_VERTEX_BASE_URL: ADDRESS,
    },
  ],
])("%j is asked by the cloud's variables", (api, placeholders, expected) => {
  const { no_proxy, NO_PROXY, ...rest } = buildBrokerEnvironment(
    { api, environment: {} },
    { address: ADDRESS, placeholders },
  );
  expect([no_proxy, NO_PROXY]).toEqual(['127.0.0.1,localhost', '127.0.0.1,localhost']);
  expect(rest).toEqual(expected);
});
