import { describe, expect, test } from 'vitest';
import { fingerprintOf } from '../../../../src/core/analysis/errors.ts';
import {
  analyzeAt,
  assistantLine,
  failedLine,
  INIT,
  inEveryFormat,
  jsonLines,
  resultLine,
  syntheticLine,
  toolResultLine,
} from '../../agents/claude/fixtures.ts';

test.each([
  '"is_error": false',
  '"error_count": 0',
  'is_error: false',
  'Error: none',
  'I added exception handling',
  'catch (error: Error)',
  'function fail(error: Error): void',
  'The error message is nicer now.',
  '```\nError: in a fence\n```',
  'It prints `Error: in a code span`.',
])('a field name, a declaration, prose or code is no error: %j', (message) => {
  for (const [, output] of inEveryFormat(message)) expect(analyzeAt(output).errors).toEqual([]);
});

test.each([
  ['Error: cannot open /a/b.txt (code 17)', 'Error: cannot open /a/b.txt (code 17)'],
  ['- **Error:** no such table', 'Error: no such table'],
  ['It fails with TypeError: x is not a function', 'TypeError: x is not a function'],
  ['java.io.IOException: broken pipe', 'java.io.IOException: broken pipe'],
  ["src/a.ts(3,5): error TS2322: Type 'a' is wrong.", "error TS2322: Type 'a' is wrong."],
  ['error[E0308]: mismatched types', 'error[E0308]: mismatched types'],
  ['fatal: not a git repository', 'fatal: not a git repository'],
  ['npm ERR! missing script: build', 'npm ERR! missing script: build'],
  ['_Error: no such table_ ', 'Error: no such table'],
])('a real error form is read: %j', (message, text) => {
  expect(analyzeAt(message).errors.map((error) => error.text)).toEqual([text]);
});

test.each([
  ['within the first 1,000 characters of a line', `${'x'.repeat(985)} Error: no such table`, 'Error: no such'],
  ['not behind them', `${'x'.repeat(993)} Error: no such table`, undefined],
  ['with its first 300 characters', `Error: ${'x'.repeat(293)}`, `Error: ${'x'.repeat(293)}`],
  ['with an ellipsis where it is longer', `Error: ${'x'.repeat(294)}`, `Error: ${'x'.repeat(292)}…`],
])('an error is read %s', (_where, message, text) => {
  expect(analyzeAt(message).errors[0]?.text).toBe(text);
});

test.each([
  ['in a quote', '> Error: no such table'],
  ['in a quote amid prose', 'It says:\n\n> Error: no such table\n\nThat was it.'],
])('an error is read %s too', (_where, message) => {
  expect(analyzeAt(message).errors.map(({ text }) => text)).toEqual(['Error: no such table']);
});

describe('fingerprint', () => {
  test.each([
    ['Error: cannot open /a/b.txt (code 17)', 'Error: cannot open /c.txt (code 4)'],
    ['Error: bad object 4f2a9c1d', 'Error: bad object 77aa01ff'],
    ['Error: timeout at 2026-11-21T10:00:00Z', 'Error: timeout at 2026-11-22T11:30:59.123Z'],
    ['Error: timeout at 10:59:01', 'Error: timeout at 9:03:44'],
    ['Error: src/a.ts:12:3 is wrong', 'Error: src/long/b.ts:4:44 is wrong'],
    ['Error: GET https://a.example/x?y=1 failed', 'Error: GET http://b.example failed'],
    ['Error: waited 30s', 'Error: waited 5s'],
    ['Error: no such table', ' ERROR:\tno  such\n table '],
  ])('is the same for %j and %j', (one, other) => {
    expect(fingerprintOf(one)).toBe(fingerprintOf(other));
  });
  test('differs for another error', () => {
    expect(fingerprintOf('Error: cannot open /a')).not.toBe(fingerprintOf('Error: cannot close /a'));
  });
  test('is that of the first 1,000 characters', () => {
    const start = `Error: ${'no '.repeat(330)}ta`;
    expect(fingerprintOf(`${start}b here`)).toBe(fingerprintOf(`${start}b there`));
    expect(fingerprintOf(`${start}a`)).not.toBe(fingerprintOf(`${start}b`));
  });
  test('differs for other words', () => {
    expect(fingerprintOf('Error: no table')).not.toBe(fingerprintOf('Error: notable'));
  });
  test('appears once, with the text that came first', () => {
    expect(
      analyzeAt('Error: cannot open /a/b.txt (code 17)\nError: cannot open /c.txt (code 4)\nError: other').errors.map(
        ({ text }) => text,
      ),
    ).toEqual(['Error: cannot open /a/b.txt (code 17)', 'Error: other']);
  });
  test.each([
    ['Error: cannot open /a/b.txt (code 17)', '34fd3bdd4e3af490'],
    ['Error: no module', '037d84501f52bcf5'],
  ])('stays what it is in the states of earlier runs: %j', (text, fingerprint) => {
    expect(fingerprintOf(text)).toBe(fingerprint);
  });
  test('is listed for the first twenty errors', () => {
    const errors = Array.from({ length: 21 }, (_, index) => `Error: no table ${'x'.repeat(index + 1)}`);
    expect(analyzeAt(errors.join('\n')).errors.map(({ text }) => text)).toEqual(errors.slice(0, 20));
  });
});

test('tool results and earlier messages are not read for errors', () => {
  expect(
    analyzeAt(jsonLines(INIT, assistantLine('Error: early'), toolResultLine('Error: in a file'), resultLine('fine')))
      .errors,
  ).toEqual([]);
});

describe('the CLI’s own error', () => {
  test.each([
    ['Invalid API key · Fix external API key', { api_error_status: 401 }, 'auth'],
    ['Not logged in · Please run /login', {}, 'auth'],
    ['Failed to authenticate. API Error: 403 no access', { api_error_status: 403 }, 'auth'],
    ['Credit balance is too low', { api_error_status: 400 }, 'billing'],
    ['API Error: Request rejected (429) · slow down', { api_error_status: 429 }, 'rate-limit'],
    ["You've hit your weekly limit · resets 11pm (UTC)", { api_error_status: 429 }, 'rate-limit'],
    ['API Error: Repeated 529 Overloaded errors. Try again.', { api_error_status: 529 }, 'server'],
    ['API Error: Repeated 529 Overloaded errors. Try again.', { api_error_status: null }, 'server'],
    ['API Error: 502 Bad Gateway.', { api_error_status: 502 }, 'server'],
    ['API Error: Connection refused (ECONNREFUSED)', { api_error: 'connection_failed' }, 'server'],
    ['API Error: Unable to connect to API (ConnectionRefused)', {}, 'server'],
    ['Request timed out.', {}, 'server'],
    ["There's an issue with the selected model (x). It may not exist.", { api_error_status: 404 }, 'model'],
    ['Prompt is too long · cut it', { api_error_status: 400, terminal_reason: 'prompt_too_long' }, 'prompt-too-long'],
    ['API Error: 400 messages.0: bad thing', { api_error_status: 400 }, 'other'],
    ["API Error: Opus's safeguards flagged this message", { stop_reason: 'refusal' }, 'other'],
    [
      "API Error: Claude's response exceeded the 128000 output token maximum.",
      { api_error: 'max_output_tokens' },
      'other',
    ],
  ])('%j with %j is %s', (text, fields, kind) => {
    expect(analyzeAt(failedLine(text, fields)).agentError).toEqual({ kind, text });
  });

  test.each([
    ['error_max_turns', 'Reached maximum number of turns (1)', 'max-turns'],
    ['error_max_budget_usd', 'Reached maximum budget ($0.001)', 'budget'],
    ['error_during_execution', 'No conversation found with session ID: 1', 'unknown-session'],
    ['error_during_execution', '[ede_diagnostic] stopped', 'other'],
  ])('%s without a result text says %j', (subtype, text, kind) => {
    const line = JSON.stringify({ type: 'result', subtype, is_error: true, errors: [text], session_id: 's' });
    expect(analyzeAt(line).agentError).toEqual({ kind, text });
  });

  test.each([
    ['array', `[${INIT},${failedLine('Credit balance is too low')}]`],
    ['JSON lines', jsonLines(INIT, failedLine('Credit balance is too low'))],
    ['object', failedLine('Credit balance is too low')],
    ['text', 'Credit balance is too low\n'],
    [
      'stream cut behind the synthetic message',
      jsonLines(INIT, syntheticLine('Credit balance is too low', 'billing_error')),
    ],
  ])('is found in an %s', (_format, output) => {
    expect(analyzeAt(output).agentError).toEqual({ kind: 'billing', text: 'Credit balance is too low' });
  });

  test.each([
    ['No conversation found with session ID: 6f1c', 'unknown-session'],
    ["error: unknown option '--frobnicate'", 'other'],
    ['--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons', 'other'],
  ])('printed as text alone: %j is %s', (text, kind) => {
    expect(analyzeAt(`${text}\n`).agentError).toEqual({ kind, text });
  });

  test('is named by the synthetic message first', () => {
    expect(
      analyzeAt(jsonLines(INIT, syntheticLine('Hm.', 'authentication_failed'), failedLine('Hm.'))).agentError?.kind,
    ).toBe('auth');
  });

  test.each([
    'The log said: API Error: 500 Internal server error.',
    'API Error: 500 Internal server error.\n\nThat is what the handler returned; I mended it.',
    'I wrote a test for "Credit balance is too low".',
  ])('is not taken from prose: %j', (message) => {
    expect(analyzeAt(message).agentError).toBeNull();
    expect(analyzeAt(resultLine(message)).agentError).toBeNull();
  });

  test('is that of the last result', () => {
    expect(
      analyzeAt(jsonLines(INIT, failedLine('Credit balance is too low'), INIT, resultLine('fine'))).agentError,
    ).toBeNull();
  });
});
