import { expect, test } from 'vitest';
import { findCopilotAccess } from '../../../../src/agents/copilot/cli.ts';

const KEY = 'sk-proj-a-key-that-opens-nothing';
const TOKEN = 'github_pat_that_opens_nothing';
const OWN = { COPILOT_PROVIDER_BASE_URL: 'https://api.openai.com/v1', COPILOT_PROVIDER_API_KEY: KEY };

test.each<[string, Readonly<Record<string, string>>, object]>([
  [
    "GitHub's own service",
    { COPILOT_GITHUB_TOKEN: TOKEN },
    { kind: 'direct', environment: { COPILOT_GITHUB_TOKEN: TOKEN } },
  ],
  [
    'a provider of the user',
    { ...OWN, COPILOT_MODEL: 'gpt-5.5' },
    {
      kind: 'brokered',
      provider: 'https://api.openai.com/v1',
      keys: { COPILOT_PROVIDER_API_KEY: KEY },
      secrets: [KEY],
      environment: { COPILOT_MODEL: 'gpt-5.5' },
    },
  ],
  [
    'a token of GitHub beside it: nobody needs it',
    { ...OWN, COPILOT_GITHUB_TOKEN: TOKEN },
    { kind: 'brokered', environment: {} },
  ],
  [
    'a bearer token',
    { COPILOT_PROVIDER_BASE_URL: 'https://gateway.example', COPILOT_PROVIDER_BEARER_TOKEN: KEY },
    { kind: 'brokered', keys: { COPILOT_PROVIDER_BEARER_TOKEN: KEY } },
  ],
  [
    'headers for a gateway',
    { ...OWN, COPILOT_PROVIDER_HEADERS: 'X-Team: a-team-of-ours\\nX-Key: not-to-be-seen' },
    { secrets: [KEY, 'a-team-of-ours', 'not-to-be-seen'], environment: {} },
  ],
  ['Azure', { ...OWN, COPILOT_PROVIDER_TYPE: 'azure' }, { kind: 'direct' }],
  ['a provider without a key', { COPILOT_PROVIDER_BASE_URL: 'http://localhost:11434/v1' }, { kind: 'direct' }],
  [
    'an unknown kind',
    { ...OWN, COPILOT_PROVIDER_TYPE: 'google' },
    { kind: 'unusable', problem: expect.stringContaining('`COPILOT_PROVIDER_TYPE`') },
  ],
  [
    'an invalid address',
    { ...OWN, COPILOT_PROVIDER_BASE_URL: 'gateway' },
    { kind: 'unusable', problem: expect.stringContaining('`COPILOT_PROVIDER_BASE_URL`') },
  ],
])('%s', (_what, given, access) => {
  expect(findCopilotAccess(given, { allowedTools: [], model: null, prices: {} })).toMatchObject(access);
});

test.each([
  { type: 'openai', address: 'http://127.0.0.1:1/v1' },
  { type: 'anthropic', address: 'http://127.0.0.1:1' },
])('the agent holds a placeholder, and asks the broker as $type is asked', ({ type, address }) => {
  const access = findCopilotAccess(
    { ...OWN, COPILOT_PROVIDER_TYPE: type },
    { allowedTools: [], model: null, prices: {} },
  );
  const environment =
    access.kind === 'brokered'
      ? access.environmentFor({ address: 'http://127.0.0.1:1', placeholders: { COPILOT_PROVIDER_API_KEY: 'p' } })
      : {};
  expect(environment).toMatchObject({
    COPILOT_PROVIDER_API_KEY: 'p',
    COPILOT_PROVIDER_BASE_URL: address,
    COPILOT_OFFLINE: 'true',
  });
});
