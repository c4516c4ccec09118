import { describe, expect, test } from 'vitest';
import {
  classifyClaudeFailure,
  parseFailureText,
  findLimitText,
  parseStatusIn,
} from '../../../../../src/agents/claude/events/failure.ts';
import type { AgentError } from '../../../../../src/core/analysis/analysis.ts';
import type { ClaudeFailure } from '../../../../../src/agents/claude/events/cli-event.ts';
import { analyzeAt, failedLine } from '../fixtures.ts';

type Kind = AgentError['kind'];

const FAILURE: ClaudeFailure = {
  text: 'Hm.',
  subtype: null,
  error: null,
  apiError: null,
  terminalReason: null,
  status: null,
};

function kindOf(fields: Partial<ClaudeFailure>): Kind {
  return classifyClaudeFailure({ ...FAILURE, ...fields }).kind;
}

describe('a failure is named by', () => {
  test.each<[string, Partial<ClaudeFailure>, Kind]>([
    ['its subtype', { subtype: 'error_max_turns' }, 'max-turns'],
    ['its subtype', { subtype: 'error_max_budget_usd' }, 'budget'],
    ['no subtype that may mean anything', { subtype: 'error_during_execution' }, 'other'],
    ['its terminal reason', { terminalReason: 'prompt_too_long' }, 'prompt-too-long'],
    ['its terminal reason', { terminalReason: 'max_turns' }, 'max-turns'],
    ['its terminal reason', { terminalReason: 'budget_exhausted' }, 'budget'],
    ['the synthetic message', { error: 'authentication_failed' }, 'auth'],
    ['the synthetic message', { error: 'billing_error' }, 'billing'],
    ['the synthetic message', { error: 'rate_limit' }, 'rate-limit'],
    ['the synthetic message', { error: 'server_error' }, 'server'],
    ['the synthetic message', { error: 'overloaded' }, 'server'],
    ['the synthetic message', { error: 'model_not_found' }, 'model'],
    ['the provider’s error', { apiError: 'connection_failed' }, 'server'],
    ['the provider’s error', { apiError: 'usage_limit_reached' }, 'rate-limit'],
    ['no name that every object has', { error: 'constructor', apiError: 'toString' }, 'other'],
    ['its status', { status: 401 }, 'auth'],
    ['its status', { status: 403 }, 'auth'],
    ['its status', { status: 402 }, 'billing'],
    ['its status', { status: 404 }, 'model'],
    ['its status', { status: 413 }, 'prompt-too-long'],
    ['its status', { status: 429 }, 'rate-limit'],
    ['its status', { status: 500 }, 'server'],
    ['its status', { status: 529 }, 'server'],
    ['no status of the request', { status: 400 }, 'other'],
    ['no status below 500 that is not known', { status: 499 }, 'other'],
    ['its text, though blanks stand before it', { text: '\n Credit balance is too low' }, 'billing'],
    ['a limit in its text, though blanks stand before it', { text: "\n You've hit your weekly limit" }, 'rate-limit'],
  ])('%s: %j is %s', (_rule, fields, kind) => {
    expect(kindOf(fields)).toBe(kind);
  });

  test.each<[string, Partial<ClaudeFailure>, Kind]>([
    ['subtype, terminal reason', { subtype: 'error_max_turns', terminalReason: 'budget_exhausted' }, 'max-turns'],
    ['terminal reason, limit in the text', { terminalReason: 'max_turns', text: 'Weekly limit reached' }, 'max-turns'],
    ['limit in the text, synthetic message', { text: 'Weekly limit reached', error: 'server_error' }, 'rate-limit'],
    ['synthetic message, provider’s error', { error: 'billing_error', apiError: 'connection_failed' }, 'billing'],
    ['synthetic message that stands for nothing else', { error: 'max_output_tokens', status: 500 }, 'other'],
    ['provider’s error, text', { apiError: 'connection_failed', text: 'Credit balance is too low' }, 'server'],
    ['text, status', { text: 'Credit balance is too low', status: 401 }, 'billing'],
  ])('what says most, in this order: %s', (_rule, fields, kind) => {
    expect(kindOf(fields)).toBe(kind);
  });

  test('a text of which 2,000 characters are kept', () => {
    expect(classifyClaudeFailure({ ...FAILURE, text: 'x'.repeat(2_000) }).text).toBe('x'.repeat(2_000));
    expect(classifyClaudeFailure({ ...FAILURE, text: 'x'.repeat(2_001) }).text).toBe(`${'x'.repeat(1_999)}…`);
  });
});

describe('of an output in plain text', () => {
  const error = (length: number): string => `API Error: ${'x'.repeat(length - 11)}`;
  test.each<[string, string, boolean]>([
    ['of 2,000 characters may be the CLI’s error', error(2_000), true],
    ['of 2,001 characters is a message', error(2_001), false],
    ['with blanks around is the CLI’s error', `\n ${error(20)} \n`, true],
    ['with a second line is a message', `${error(20)}\nso I stopped`, false],
    [
      'of several paragraphs may be a refusal',
      "API Error: Opus's safeguards flagged this message.\n\nTry again.",
      true,
    ],
    ['with words before it is a message', `It said: ${error(20)}`, false],
    ['may be a wrong option', "error: option '--max-turns <n>' argument 'x' is invalid", true],
    ['may be a missing argument', "error: missing required argument 'prompt'", true],
    ['may be too many arguments', 'error: too many arguments', true],
    ['may be a wrong session', 'Error: Session ID 1 is already in use.', true],
    ['may be an option without its companion', 'Error: --resume requires a valid session ID', true],
    ['may be a missing prompt', 'Error: Input must be provided either through stdin or as a prompt argument', true],
    ['may be a missing file of settings', 'Error: Settings file not found: a.json', true],
    ['is not just any error', 'Error: the build is broken', false],
  ])('one %s', (_rule, output, expected) => {
    expect(parseFailureText(output) !== null).toBe(expected);
  });

  test('the error keeps its text without blanks around, and the status that it names', () => {
    expect(parseFailureText(' API Error: 503 down \n')).toEqual({
      ...FAILURE,
      text: 'API Error: 503 down',
      status: 503,
    });
  });
});

test.each<[string, number | null]>([
  ['API Error: 529 overloaded', 529],
  ['\n API Error: 529 overloaded', 529],
  ['API Error: Request rejected (429) · slow down', 429],
  ['API Error: Repeated 529 Overloaded errors', 529],
  ['API Error: 5290', null],
  ['API Error: Connection refused after 500 ms', null],
  ['It said API Error: 529', null],
])('the status in %j is %j', (text, status) => {
  expect(parseStatusIn(text)).toBe(status);
});

test.each<[string, string | null]>([
  ["You've hit your limit", "You've hit your limit"],
  ["You've hit your Opus weekly usage limit.", "You've hit your Opus weekly usage limit"],
  ["You've hit your very own Opus weekly limit", null],
  ["  You're out of extra usage · resets 9pm", "You're out of extra usage"],
  ['Claude AI usage limit reached|1795303952', 'Claude AI usage limit reached'],
  ['API Error: 429 · session limit reached', 'API Error: 429 · session limit reached'],
  ['5-hour limit reached (resets 5pm)', '5-hour limit reached'],
  ['Weekly limit reached, resets 5pm', 'Weekly limit reached'],
  ['Weekly limit reached\nresets 5pm', 'Weekly limit reached'],
  ['Weekly limit reached resets 5pm', 'Weekly limit reached'],
  ['Weekly limit reached resetting is done', null],
  ['File limit reached', null],
  ['The weekly limit reached', null],
])('the limit that %j says is reached is %j', (text, limit) => {
  expect(findLimitText(text)).toBe(limit);
});

test.each(['The log says API Error: 429 slow down', 'I saw "API Error: Repeated 529 Overloaded errors" and stopped.'])(
  'a failed result that quotes a status has none: %j',
  (text) => {
    expect(analyzeAt(failedLine(text)).usageLimit).toBeNull();
  },
);

test.each([
  'API Error: 500 responses are retried now.',
  'API Error: Connection errors are no longer fatal.',
  'API Error: 529 handling added.',
  'API Error: timeouts get a second try.',
])('%j as the whole output mentions errors but does not count as one', (text) => {
  expect(parseFailureText(text)).toBeNull();
});

test.each([
  'API Error: 500 Internal server error. This is a server-side issue, usually temporary.',
  'API Error: 502 Bad Gateway.',
  'API Error: 400 messages.0: bad thing',
  'API Error: 400 prompt is too long: 210000 tokens > 200000 maximum',
  'API Error: Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary. Try again in a moment.',
  'API Error: Request rejected (429) · Number of request tokens has exceeded your per-minute rate limit',
  'API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)',
  'API Error: Connection error.',
  "API Error: Claude's response exceeded the 128000 output token maximum. To configure this behavior, set the CLAUDE_CODE_MAX_OUTPUT_TOKENS environment variable.",
])('as the whole output, %j is the CLI’s own error', (text) => {
  expect(parseFailureText(text)?.text).toBe(text);
});
