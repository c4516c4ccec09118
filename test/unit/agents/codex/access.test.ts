import { expect, test } from 'vitest';
import { findCodexAccess } from '../../../../src/agents/codex/cli.ts';

const KEY = 'sk-proj-a-key-that-opens-nothing';

test.each<[string, Readonly<Record<string, string>>, object]>([
  [
    'an API key',
    { OPENAI_API_KEY: ` ${KEY} `, PATH: '/bin' },
    {
      kind: 'brokered',
      provider: 'https://api.openai.com/v1',
      keys: { OPENAI_API_KEY: KEY },
      secrets: [KEY],
      environment: { PATH: '/bin' },
      signWith: null,
    },
  ],
  ["the CLI's own name for it", { CODEX_API_KEY: KEY }, { keys: { OPENAI_API_KEY: KEY }, environment: {} }],
  [
    'two keys: the CLI would take one',
    { OPENAI_API_KEY: KEY, CODEX_API_KEY: 'sk-other' },
    { keys: { OPENAI_API_KEY: KEY }, environment: {} },
  ],
  [
    'a gateway',
    { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: 'https://gateway.example/openai/v1/' },
    { provider: 'https://gateway.example/openai/v1', environment: {} },
  ],
  ['an empty address', { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: ' ' }, { provider: 'https://api.openai.com/v1' }],
  ['no key', { PATH: '/bin' }, { kind: 'direct', environment: { PATH: '/bin' } }],
  [
    'an invalid address',
    { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: 'api.openai.com' },
    { kind: 'unusable', problem: expect.stringContaining('`OPENAI_BASE_URL`') },
  ],
  [
    'an address with a password',
    { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: 'https://me:secret@gateway.example' },
    { kind: 'unusable', problem: expect.not.stringContaining('secret@') },
  ],
])('%s', (_what, given, access) => {
  expect(findCodexAccess(given, { allowedTools: [], model: null, prices: {} })).toMatchObject(access);
});

test('the agent holds a placeholder, and asks the broker past the proxy', () => {
  const access = findCodexAccess(
    { OPENAI_API_KEY: KEY, OPENAI_ORGANIZATION: 'org-1', NO_PROXY: 'intra' },
    { allowedTools: [], model: null, prices: {} },
  );
  const environment =
    access.kind === 'brokered'
      ? access.environmentFor({ address: 'http://127.0.0.1:1', placeholders: { OPENAI_API_KEY: 'p' } })
      : {};
  expect(environment).toEqual({
    OPENAI_API_KEY: 'p',
    OPENAI_BASE_URL: 'http://127.0.0.1:1/v1',
    NO_PROXY: 'intra,127.0.0.1,localhost',
    no_proxy: 'intra,127.0.0.1,localhost',
  });
});

test('each request names the account that pays', () => {
  const access = findCodexAccess(
    { OPENAI_API_KEY: KEY, OPENAI_PROJECT: 'proj_1' },
    { allowedTools: [], model: null, prices: {} },
  );
  const reading =
    access.kind === 'brokered'
      ? access.protocol.read(
          {
            method: 'POST',
            target: '/v1/responses',
            headers: { authorization: 'Bearer p', 'openai-project': 'proj_2' },
            body: JSON.stringify({ model: 'gpt-5.5', input: [], store: false }),
          },
          (placeholder) => (placeholder === 'p' ? KEY : null),
        )
      : null;
  expect(reading).toMatchObject({
    kind: 'forwarded',
    target: '/responses',
    headers: { authorization: `Bearer ${KEY}`, 'openai-project': 'proj_1' },
  });
});
