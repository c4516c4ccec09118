import { describe, expect, test } from 'vitest';
import {
  analyzeAt,
  assistantLine,
  failedLine,
  INIT,
  jsonLines,
  resultLine,
  syntheticLine,
  toolResultLine,
} from '../fixtures.ts';

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
    [
      'API Error: 400 Your credit balance is too low to access the Anthropic API.',
      { api_error_status: 400 },
      'billing',
    ],
    ['API Error: 400 This organization has been disabled.', { api_error_status: 400 }, 'auth'],
    ['OAuth token revoked · Please run /login', {}, 'auth'],
    ['Your organization does not have access to Claude. Please login again.', {}, 'auth'],
    ['Claude Opus is not available with the Claude Pro plan. Run /logout and /login.', {}, 'model'],
    ['API Error: 400 input length and `max_tokens` exceed context limit: 9 + 9 > 10', {}, 'prompt-too-long'],
    ['Your organization has reached its monthly spend limit', {}, 'rate-limit'],
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
    'API Error: 500 Internal server error.\n\nThat is what the handler returned; I fixed it.',
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
describe('a line of prose that begins like an error of the CLI does not count', () => {
  test.each([
    'API Error: 429 handled with retry in client.ts',
    'API Error: the new class is exported from src/errors.ts',
    '5-hour limit reached ∙ resets 5pm and 3 more strings translated',
    '5-hour limit reached, resets 5pm and 3 more strings translated',
    'Usage limit reached handling is implemented. All tasks complete.',
    'Weekly limit reached is now shown in the UI.',
    "You've hit your goal of covering the limit parser.",
    "You've hit your goal of 80 percent; the rate limit is next.",
    "You've hit your 5-hour limit is a message I now parse.",
    "You're out of extra usage is translated.",
    'Failed to authenticate users are now redirected.',
    'Invalid API key handling is done.',
    'Not logged in users see the start page.',
    'Please run /login tests; they pass.',
    'Credit balance is too low is now translated.',
    'Request timed out errors are retried now.',
    'Prompt is too long errors are handled now; done.',
    'No conversation found with session ID is handled.',
    'Reached max turns in the game; it ends now.',
    'Reached maximum budget in the form shows a hint.',
    "There's an issue with the selected model dropdown, I fixed it.",
  ])('%j', (line) => {
    expect(analyzeAt(line)).toMatchObject({ format: 'text', agentError: null, usageLimit: null });
  });
});

test.each([
  ['Invalid API key · Fix external API key', 'auth'],
  ['Invalid API key · Please run /login', 'auth'],
  ['Not logged in · Please run /login', 'auth'],
  ['Please run /login · API Error: 401 expired', 'auth'],
  ['Failed to authenticate. API Error: 401 OAuth token has expired. Please renew it.', 'auth'],
  ['Credit balance is too low', 'billing'],
  [
    "There's an issue with the selected model (claude-nope-1). It may not exist or you may not have access to it.",
    'model',
  ],
  ['Prompt is too long', 'prompt-too-long'],
  ['Reached max turns (3)', 'max-turns'],
  ['Error: Reached max turns (3)', 'max-turns'],
  ['Reached maximum budget ($0.001)', 'budget'],
  ['Exceeded USD budget (0.5)', 'budget'],
  ['API Error: Connection dropped (ECONNRESET). Try again.', 'server'],
  ['Request timed out. Check your internet connection.', 'server'],
  ['API Error: 400 messages.0: bad thing', 'other'],
])('as the whole output, %j is the CLI’s own: %s', (text, kind) => {
  expect(analyzeAt(`${text}\n`).agentError).toEqual({ kind, text });
});

describe('kind and limit agree', () => {
  test.each([
    ["You've hit your limit · resets 5pm", 'unknown', '2026-11-21T17:00:00.000Z'],
    ['You’ve hit your weekly limit ∙ resets 5pm (UTC)', 'weekly', '2026-11-21T17:00:00.000Z'],
    ['You’re out of extra usage · resets 9pm', 'extra', '2026-11-21T21:00:00.000Z'],
    ['Opus weekly limit reached ∙ resets Dec 1, 5pm', 'weekly', '2026-12-01T17:00:00.000Z'],
    ['5-hour limit reached ∙ resets 5pm', 'five-hour', '2026-11-21T17:00:00.000Z'],
    ['Claude usage limit reached. Your limit will reset at 5pm', 'unknown', '2026-11-21T17:00:00.000Z'],
    [
      'Claude usage limit reached · resets 17:30 (UTC) · /upgrade to increase your usage limit',
      'unknown',
      '2026-11-21T17:30:00.000Z',
    ],
    ['Weekly limit reached ∙ resets Dec 1, 5pm (Europe/Berlin)', 'weekly', '2026-12-01T16:00:00.000Z'],
    ['API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}', 'unknown', null],
  ])('%j', (text, window, resumeAt) => {
    for (const output of [text, failedLine(text), JSON.stringify({ type: 'result', is_error: true, result: text })]) {
      expect(analyzeAt(output)).toMatchObject({
        agentError: { kind: 'rate-limit', text },
        usageLimit: { window, resumeAt },
      });
    }
  });

  test('a 529 in the older shape is the server’s, to be waited for', () => {
    const text = 'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}';
    for (const output of [text, JSON.stringify({ type: 'result', is_error: true, result: text })]) {
      expect(analyzeAt(output)).toMatchObject({
        agentError: { kind: 'server' },
        usageLimit: { window: 'unknown', resumeAt: null },
      });
    }
  });

  test.each([
    'I now show "You\'ve hit your 5-hour limit · resets 5pm" in the UI.',
    'The log has: Claude AI usage limit reached|1795303952',
    'Usage limit reached handling is half done.',
    "You've hit your 5-hour limit is a message I now parse.",
  ])('a failed result that only quotes one has none: %j', (text) => {
    expect(analyzeAt(failedLine(text, { subtype: 'error_during_execution' }))).toMatchObject({
      agentError: { kind: 'other' },
      usageLimit: null,
    });
  });
});
