import { describe, expect, test } from 'vitest';
import { hideSecrets } from '../../../../src/agents/cli/signed-texts.ts';
import { createRedactor, createSecretFinder } from '../../../../src/core/text/redact.ts';

const SECRET = 'hunter2-of-the-job';
const KEY = `AIza${'x'.repeat(35)}`;
const SIGNED = `Eq0BCkYIBxgCKkA+/${KEY}/kwE=`;
const hiding = { redact: createRedactor([SECRET]), holdsSecret: createSecretFinder([SECRET]) };
const claude = (...content: readonly object[]) => ({ type: 'assistant', message: { role: 'assistant', content } });

describe('texts that a provider signed or encrypted stay unchanged', () => {
  test.each<[string, object]>([
    ['a signature of Claude', claude({ type: 'thinking', thinking: 'Look.', signature: SIGNED })],
    ['an encrypted thought of Claude', claude({ type: 'redacted_thinking', data: SIGNED })],
    ['a reasoning item of Codex', { type: 'response_item', payload: { type: 'reasoning', encrypted_content: SIGNED } }],
    ['a thought signature of Gemini', { parts: [{ functionCall: { name: 'ls' }, thoughtSignature: SIGNED }] }],
    ['one in snake case', { parts: [{ text: 'x', thought_signature: SIGNED }] }],
    ['opaque reasoning of Copilot', { data: { reasoningOpaque: SIGNED, encryptedContent: SIGNED } }],
    [
      'metadata of OpenCode',
      { part: { type: 'reasoning', text: 'Look.', metadata: { anthropic: { signature: SIGNED } } } },
    ],
    ['encrypted reasoning of OpenCode', { metadata: { openai: { reasoningEncryptedContent: SIGNED } } }],
  ])('%s', (_, entry) => {
    expect(hideSecrets(entry as never, hiding)).toEqual({ kind: 'unchanged' });
    const beside = { ...entry, note: `${SECRET} and ${KEY}` };
    const hidden = hideSecrets(beside, hiding);
    expect(hidden.kind === 'changed' && JSON.parse(hidden.json)).toEqual({ ...entry, note: '*** and ***' });
  });
});

test.each<[string, object]>([
  ['a known secret in a signature', claude({ type: 'thinking', thinking: 'x', signature: `ab${SECRET}cd` })],
  ['a known secret in a signed thought', claude({ type: 'thinking', thinking: `It is ${SECRET}.`, signature: 'sig' })],
  ['a key in a signed thought', claude({ type: 'thinking', thinking: `It is ${KEY}.`, signature: 'sig' })],
  ['a known secret that is encrypted', { payload: { encrypted_content: `ab${SECRET}cd` } }],
])('with %s, nothing is kept', (_, entry) => {
  expect(hideSecrets(entry as never, hiding)).toEqual({ kind: 'signed' });
});

test.each<[string, object, object]>([
  ['a text', { text: `${SECRET}!` }, { text: '***!' }],
  ['a thought that nobody signed', { type: 'thinking', thinking: KEY }, { type: 'thinking', thinking: '***' }],
  ['a text of such a name', { signature: `signed by ${SECRET} today` }, { signature: 'signed by *** today' }],
  ['a name of a property', { input: { [SECRET]: 1 } }, { input: { '***': 1 } }],
])('%s is hidden', (_, entry, expected) => {
  const hidden = hideSecrets(entry as never, hiding);
  expect(hidden.kind === 'changed' && JSON.parse(hidden.json)).toEqual(expected);
});
