import { expect, test } from 'vitest';
import type { AgentName } from '../../../src/core/agent-names.ts';
import { describeAmbiguousLogins } from '../../../src/wiring/agents/providers.ts';

const BEDROCK = { CLAUDE_CODE_USE_BEDROCK: '1' };
const KEY = { ANTHROPIC_API_KEY: 'k' };

test.each<[string, Readonly<Record<string, string>>, readonly AgentName[], boolean, string | null]>([
  ['a cloud by a gateway', { ...BEDROCK, ANTHROPIC_AUTH_TOKEN: 't' }, ['claude'], false, null],
  ['one cloud', BEDROCK, ['claude'], false, null],
  ['two keys of one provider', { ...KEY, CLAUDE_CODE_OAUTH_TOKEN: 't' }, ['claude'], false, null],
  ['a switch that is off', { ...KEY, CLAUDE_CODE_USE_BEDROCK: '' }, ['claude'], false, null],
  ['a key that another agent takes', { ...BEDROCK, ...KEY }, ['claude', 'opencode'], false, null],
  ['a key of another agent', { ...BEDROCK, OPENAI_API_KEY: 'k' }, ['claude', 'codex'], false, null],
  [
    'two clouds',
    { ...BEDROCK, CLAUDE_CODE_USE_VERTEX: '1' },
    ['claude'],
    false,
    '`CLAUDE_CODE_USE_BEDROCK`, `CLAUDE_CODE_USE_VERTEX`',
  ],
  ['a cloud and a key', { ...BEDROCK, ...KEY }, ['claude'], false, '`CLAUDE_CODE_USE_BEDROCK`, `ANTHROPIC_API_KEY`'],
  ['a login by a role, and a stored key', { ...BEDROCK, ...KEY }, ['claude'], true, '`aws-role`, `ANTHROPIC_API_KEY`'],
  [
    'a login of Anthropic, and a stored key',
    { CLAUDE_CODE_OAUTH_TOKEN: 't', ...KEY },
    ['claude'],
    true,
    '`ANTHROPIC_API_KEY`, `anthropic-federation-rule`',
  ],
  ['a login of Anthropic', { CLAUDE_CODE_OAUTH_TOKEN: 't' }, ['claude'], true, null],
])('%s', (_, environment, agents, logsIn, names) => {
  const found = describeAmbiguousLogins(
    environment,
    agents.map((name) => ({ name })),
    logsIn,
  );
  expect(found).toEqual(
    names === null ? [] : [`The agent has several logins but uses only one of them: ${names}. Remove the others.`],
  );
});
