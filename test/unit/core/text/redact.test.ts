import { Buffer } from 'node:buffer';
import { describe, expect, test } from 'vitest';
import { createRedactor, mapTexts, redactSecrets } from '../../../../src/core/text/redact.ts';
import { cpuMs } from '../../../cpu.ts';

const SECRET = 'p@ss/w0rd "Grüße" 7';

describe('a secret value is masked in every form', () => {
  test.each([
    ['as it is', SECRET],
    ['URL-encoded', encodeURIComponent(SECRET)],
    ['URL-encoded in small hex', encodeURIComponent(SECRET).replaceAll(/%[0-9A-F]{2}/g, (byte) => byte.toLowerCase())],
    ['form-encoded', encodeURIComponent(SECRET).replaceAll('%20', '+')],
    ['in JSON', JSON.stringify(SECRET).slice(1, -1)],
  ])('%s', (_, form) => {
    expect(redactSecrets(`before ${form} after`, [SECRET])).toBe('before *** after');
  });

  test.each([0, 1, 2, 3, 4])('in base64, %i bytes into a longer text', (offset) => {
    const encoded = Buffer.from(`${'u'.repeat(offset)}${SECRET}:tail`).toString('base64');
    const shown = redactSecrets(encoded, [SECRET]);
    expect(shown).toContain('***');
    // The remaining text decodes to nothing of the secret except the bits that it shares with its neighbours.
    expect(Buffer.from(shown.split('***').join(''), 'base64').toString('latin1')).not.toContain('w0rd');
  });

  test('in base64 for URLs', () => {
    const value = 'ÿþý~~~ûïÿ';
    expect(redactSecrets(Buffer.from(value).toString('base64url'), [value])).toContain('***');
  });

  test.each([
    ['each line of one with several lines', 'first-line\nsecond-line-of-it\r\n'],
    ['without the indentation of its lines', '{\n  second-line-of-it  \n}'],
    ['without the white space around it', ' \tsecond-line-of-it\n'],
  ])('%s', (_, value) => {
    expect(redactSecrets('x second-line-of-it y', [value])).toBe('x *** y');
  });

  test('one whose lines are words, without the white space around it', () => {
    expect(redactSecrets('x ab1\ncd2 y', [' ab1\ncd2\n'])).toBe('x *** y');
  });

  test('one of six characters', () => {
    expect(redactSecrets('x abc123 y', ['abc123'])).toBe('x *** y');
  });
});

test('values under six characters are words, not secrets', () => {
  expect(redactSecrets('true 12345 abcde', ['true', '12345', 'abcde', ''])).toBe('true 12345 abcde');
});

test('the longer of two overlapping secrets is masked whole', () => {
  expect(redactSecrets('secret-and-more', ['secret', 'secret-and-more'])).toBe('***');
});

test('a lone surrogate in a secret throws nothing', () => {
  expect(redactSecrets('abc\uD800def', ['abc\uD800def'])).toBe('***');
});

// Builds a key at run time, so that no scanner takes this file for a leak.
const key = (...pieces: readonly string[]): string => pieces.join('');
const pem = key('-----BEGIN RSA PRIVATE', ' KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE', ' KEY-----');

describe('keys of well-known form are masked', () => {
  test.each([
    ['Anthropic', key('sk-', 'ant-api03-', 'Abc_123-xyz')],
    ['OpenAI', key('sk-', 'proj-', 'a'.repeat(40))],
    ['OpenAI, older', key('sk-', 'a'.repeat(32))],
    ['GitHub, classic', key('gh', 'p_', 'A1'.repeat(18))],
    ['GitHub, OAuth', key('gh', 'o_', 'A1'.repeat(18))],
    ['GitHub, server', key('gh', 's_', 'A1'.repeat(18))],
    ['GitHub, fine-grained', key('github', '_pat_', 'A1_'.repeat(20))],
    ['AWS', key('AK', 'IA', 'ABCDEFGHIJKLMNOP')],
    ['Slack', key('xo', 'xb-', '1234567890-abcdef')],
    ['Google', key('AI', 'za', 'a'.repeat(35))],
    ['npm', key('np', 'm_', 'a'.repeat(36))],
    ['GitLab', key('gl', 'pat-', 'A1_-'.repeat(5))],
    ['a private key', pem],
    ['a JSON web token', key('ey', 'JhbGciOiJIUzI1', '.ey', 'JzdWIiOiIxMjM0', '.', 'SflKxwRJSMeKKF2QT4')],
  ])('%s', (_, value) => {
    expect(redactSecrets(`x ${value} y`, [])).toBe('x *** y');
  });

  test('a private key that is cut off goes to the end', () => {
    expect(redactSecrets(`x ${pem.slice(0, 45)}`, [])).toBe('x ***');
  });
});

test.each([
  'task-list and risk-free sk-short',
  'ghp_short',
  'glpat-short',
  'a commit 0123456789abcdef0123456789abcdef01234567',
  'eyJust.a.sentence',
  '-----BEGIN CERTIFICATE-----',
])('%j stays', (text) => {
  expect(redactSecrets(text, [])).toBe(text);
});

describe('data is redacted text by text', () => {
  const masked = (data: unknown): unknown => mapTexts(data, (text) => redactSecrets(text, ['hunter22']));

  test.each<[string, unknown, unknown]>([
    ['a text', 'a hunter22', 'a ***'],
    ['texts in lists', ['hunter22', ['hunter22']], ['***', ['***']]],
    ['texts in fields', { a: 'hunter22', b: { c: 'hunter22' } }, { a: '***', b: { c: '***' } }],
    ['keys stay', { hunter22: 'hunter22' }, { hunter22: '***' }],
    ['what is not a text stays', { a: 1, b: true, c: null, d: [] }, { a: 1, b: true, c: null, d: [] }],
  ])('%s', (_, data, expected) => {
    expect(masked(data)).toEqual(expected);
  });
});

test('long texts that nearly match take no long time', () => {
  const redactor = createRedactor([SECRET]);
  const text = `${'eyJ'.repeat(300_000)} ${'sk-'.repeat(100_000)} ${'-----BEGIN '.repeat(50_000)}`;
  const cost = cpuMs(() => {
    expect(redactor(text).length).toBeGreaterThan(0);
  });
  expect(cost).toBeLessThan(5_000);
});
