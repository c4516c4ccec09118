import { expect, test } from 'vitest';
import { forwarded, KEY, PLACEHOLDER, read } from './fixtures.ts';

const BEARER = `Bearer ${PLACEHOLDER}`;
const always = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', 'accept-encoding': 'identity' };

test.each<[string, Readonly<Record<string, string>>]>([
  [
    'codex',
    {
      'x-codex-beta-features': 'remote_compaction_v2',
      'x-codex-window-id': '01a2152c:0',
      'x-codex-turn-metadata': '{}',
      'x-openai-internal-codex-responses-lite': 'true',
      'x-openai-subagent': 'review',
      'x-client-request-id': '01a2152c',
      'session-id': '01a2152c',
      session_id: '01a2152c',
      'thread-id': '01a2152c',
      accept: 'text/event-stream',
      originator: 'codex_exec',
      version: '0.169.0',
      'user-agent': 'codex_exec/0.169.0',
    },
  ],
  ['qwen', { accept: 'application/json', 'user-agent': 'QwenCode/0.24.4', 'x-stainless-retry-count': '0' }],
  ['copilot', { 'x-interaction-type': 'conversation-user', 'x-initiator': 'user', 'x-stainless-timeout': '600' }],
  ['opencode', { 'x-session-affinity': 'ses_1', 'x-session-id': 'ses_1', 'http-referer': 'a', 'x-title': 'opencode' }],
])('what %s says of itself passes', (_cli, said) => {
  expect(forwarded({ headers: { ...said, authorization: BEARER } }).headers).toEqual({ ...said, ...always });
});

test.each<[string, string]>([
  ['x-api-key', 'sk-of-an-attacker'],
  ['api-key', 'sk-of-an-attacker'],
  ['x-goog-api-key', 'a'],
  ['cookie', 'a=b'],
  ['proxy-authorization', 'Basic a'],
  ['openai-organization', 'org-of-an-attacker'],
  ['openai-project', 'proj-of-another'],
  ['openai-beta', 'assistants=v2'],
  ['chatgpt-account-id', 'a'],
  ['x-openai-actor-authorization', 'a'],
  ['x-openai-account-routing-override', 'a'],
  ['x-dashscope-ossresourceresolve', 'enable'],
  ['x-http-method-override', 'DELETE'],
  ['x-forwarded-for', '10.0.0.1'],
  ['host', '127.0.0.1'],
  ['content-length', '2'],
  ['content-encoding', 'gzip'],
  ['expect', '100-continue'],
  ['session', 'a'],
  ['x-codex-', 'a'],
])('%s does not', (name, value) => {
  expect(forwarded({ headers: { [name]: value, authorization: BEARER } }).headers).toEqual(always);
});

test("the user's headers are sent, whatever the agent says", () => {
  const headers = { 'openai-project': 'proj-of-the-user', 'user-agent': 'ours' };
  const given = { authorization: BEARER, 'user-agent': 'theirs', 'openai-project': 'other' };
  expect(forwarded({ headers: given }, { headers }).headers).toEqual({ ...headers, ...always });
});

test('a header that comes twice is one', () => {
  const { headers } = forwarded({ headers: { authorization: BEARER, accept: ['a', 'b'], version: undefined } });
  expect(headers).toEqual({ accept: 'a, b', ...always });
});

test.each<[string, Readonly<Record<string, string>>]>([
  ['none', {}],
  ['a key of its own', { authorization: 'Bearer sk-of-an-attacker' }],
  ['the placeholder in another scheme', { authorization: `Basic ${PLACEHOLDER}` }],
  ['the placeholder and more', { authorization: `${BEARER} x` }],
  ['the placeholder in another header', { 'x-api-key': PLACEHOLDER, 'api-key': PLACEHOLDER }],
])('a request is refused that has as its credential %s', (_what, headers) => {
  expect(read({ headers })).toMatchObject({
    kind: 'refused',
    answer: { status: 401, headers: { 'x-should-retry': 'false' } },
    why: 'a request without the placeholder of this call',
  });
});
