import { describe, expect, test } from 'vitest';
import { parseCliEvent, type CliEvent } from '../../../../../src/agents/claude/events/cli-event.ts';

const FAILURE = { text: '', subtype: null, error: null, apiError: null, terminalReason: null, status: null };
const RESULT = {
  text: null,
  failure: null,
  denials: [],
  turns: null,
  tokens: null,
  outputTokens: null,
  costSinceLastResultUsd: null,
  totalCostUsd: null,
};
const ASSISTANT = { kind: 'assistant', session: null, nested: false, text: null, tools: [], failure: null };

describe('no event of the CLI is', () => {
  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a number', 7],
    ['a text', 'result'],
    ['an array', [{ type: 'result', result: 'x' }]],
    ['an object without type', { session_id: 's' }],
    ['an object whose type is not a text', { type: 1, session_id: 's' }],
    ['an object of unknown type without session', { type: 'item' }],
    ['an assistant without message', { type: 'assistant', session_id: 's' }],
    ['an assistant whose message is a text', { type: 'assistant', message: 'hi' }],
    ['a user without message', { type: 'user', session_id: 's' }],
    ['a system event without subtype', { type: 'system', session_id: 's' }],
    ['a rate limit event without information', { type: 'rate_limit_event', session_id: 's' }],
    ['a result with nothing of a result', { type: 'result', session_id: 's' }],
  ])('%s', (_what, value) => {
    expect(parseCliEvent(value)).toBeNull();
  });
});

describe('an event is', () => {
  test.each<[string, object, CliEvent]>([
    ['another of a session', { type: 'item', session_id: 's' }, { kind: 'other', session: 's' }],
    ['another of the system', { type: 'system', subtype: 'init' }, { kind: 'other', session: null }],
    [
      'a denial',
      { type: 'system', subtype: 'permission_denied', tool_name: 'Bash', tool_use_id: 't' },
      { kind: 'denied', session: null, tool: 'Bash', toolUseId: 't' },
    ],
    [
      'a denial of an unknown tool',
      { type: 'system', subtype: 'permission_denied' },
      { kind: 'denied', session: null, tool: 'unknown', toolUseId: null },
    ],
    [
      'a retry',
      {
        type: 'system',
        subtype: 'api_retry',
        attempt: 2,
        max_retries: 10,
        retry_delay_ms: 549,
        error_status: 529,
        error: 'overloaded',
      },
      { kind: 'retry', session: null, attempt: 2, maxRetries: 10, delayMs: 549, status: 529, error: 'overloaded' },
    ],
    [
      'a retry without numbers',
      { type: 'system', subtype: 'api_retry' },
      { kind: 'retry', session: null, attempt: 0, maxRetries: 0, delayMs: 0, status: null, error: null },
    ],
    [
      'a rejection',
      { type: 'rate_limit_event', rate_limit_info: { status: 'rejected', rateLimitType: 'five_hour', resetsAt: 9 } },
      { kind: 'rate-limit', session: null, limit: { rejected: true, type: 'five_hour', resetsAt: 9 } },
    ],
    [
      'no rejection while extra usage is being used',
      { type: 'rate_limit_event', rate_limit_info: { status: 'rejected', isUsingOverage: true } },
      { kind: 'rate-limit', session: null, limit: { rejected: false, type: null, resetsAt: null } },
    ],
    [
      'no rejection when only a warning',
      { type: 'rate_limit_event', rate_limit_info: { status: 'allowed_warning' } },
      { kind: 'rate-limit', session: null, limit: { rejected: false, type: null, resetsAt: null } },
    ],
    [
      'tool results, and nothing else of its message',
      {
        type: 'user',
        message: {
          content: [
            { type: 'tool_result', is_error: true },
            { type: 'text', is_error: true },
            null,
            { type: 'tool_result' },
            { type: 'tool_result', is_error: 'true' },
          ],
        },
      },
      { kind: 'tool-results', session: null, failed: [true, false, false] },
    ],
    [
      'no tool results of a prompt',
      { type: 'user', message: { content: 'do it' } },
      { kind: 'tool-results', session: null, failed: [] },
    ],
  ])('%s', (_what, value, event) => {
    expect(parseCliEvent(value)).toEqual(event);
  });
});

describe('an assistant message', () => {
  test.each<[string, object, object]>([
    [
      'says its last text',
      {
        message: {
          content: [
            { type: 'text', text: 'a' },
            { type: 'thinking', text: 'b' },
            { type: 'text', text: 'c' },
            { type: 'text' },
          ],
        },
      },
      { text: 'c' },
    ],
    [
      'calls tools',
      { message: { content: [{ type: 'tool_use', id: 't', name: 'Bash', input: { command: 'ls' } }] } },
      { tools: [{ id: 't', name: 'Bash', input: { command: 'ls' } }] },
    ],
    [
      'may call a tool without id, name and input',
      { message: { content: [{ type: 'tool_use', input: 'ls' }] } },
      { tools: [{ id: null, name: 'unknown', input: {} }] },
    ],
    ['is nested in the tool that started its agent', { parent_tool_use_id: 't', message: {} }, { nested: true }],
    [
      'is the CLI’s own if its model is synthetic',
      { message: { model: '<synthetic>', content: [{ type: 'text', text: 'a' }] } },
      { failure: { ...FAILURE, text: 'a' } },
    ],
    [
      'is the CLI’s own if it names an error',
      { error: 'rate_limit', message: { model: 'claude' } },
      { failure: { ...FAILURE, error: 'rate_limit' } },
    ],
    [
      'is the CLI’s own if it says so',
      { is_api_error_message: true, message: { content: [{ type: 'text', text: 'a' }] } },
      { failure: { ...FAILURE, text: 'a' } },
    ],
    [
      'has no subtype of failure',
      { is_api_error_message: true, subtype: 'error_max_turns', message: {} },
      { failure: FAILURE },
    ],
  ])('%s', (_rule, fields, expected) => {
    expect(parseCliEvent({ type: 'assistant', ...fields })).toEqual({ ...ASSISTANT, ...expected });
  });
});

describe('a result', () => {
  test.each<[string, object, object]>([
    ['is known by its text', { result: 'done' }, { text: 'done' }],
    ['is known by its flag', { is_error: false }, {}],
    ['is known by its subtype', { subtype: 'success' }, {}],
    [
      'failed if its flag says so',
      { is_error: true, result: 'no' },
      { text: 'no', failure: { ...FAILURE, text: 'no' } },
    ],
    [
      'failed if its subtype says so',
      { subtype: 'error_max_turns', is_error: false },
      { failure: { ...FAILURE, text: 'error_max_turns', subtype: 'error_max_turns' } },
    ],
    ['did not fail if an error stands later in its subtype', { subtype: 'no_error', is_error: false }, {}],
    [
      'without text fails with its errors',
      { is_error: true, result: '', errors: ['a', 7, 'b'] },
      { text: '', failure: { ...FAILURE, text: 'a\nb' } },
    ],
    [
      'without text and errors fails with its subtype',
      { is_error: true, subtype: 'error_during_execution', errors: [] },
      { failure: { ...FAILURE, text: 'error_during_execution', subtype: 'error_during_execution' } },
    ],
    ['may fail without a word', { is_error: true }, { failure: FAILURE }],
    [
      'reports what it knows of its failure',
      {
        is_error: true,
        result: 'x',
        error: 'rate_limit',
        api_error: 'connection_failed',
        terminal_reason: 'max_turns',
        api_error_status: 429,
      },
      {
        text: 'x',
        failure: {
          text: 'x',
          subtype: null,
          error: 'rate_limit',
          apiError: 'connection_failed',
          terminalReason: 'max_turns',
          status: 429,
        },
      },
    ],
    [
      'has turns and costs',
      { result: '', num_turns: 3, total_cost_usd: 0.5 },
      { text: '', turns: 3, totalCostUsd: 0.5 },
    ],
    ['has no negative turns', { result: '', num_turns: -1 }, { text: '' }],
    [
      'adds up the tokens that it knows',
      { result: '', usage: { input_tokens: 1, cache_read_input_tokens: 20, output_tokens: '300' } },
      { text: '', tokens: 21 },
    ],
    [
      'tells those of its answers',
      { result: '', usage: { input_tokens: 1, output_tokens: 300 } },
      { text: '', tokens: 301, outputTokens: 300 },
    ],
    [
      'adds up the costs of the models that name one',
      { result: '', model_usage_since_last_result: { a: { costUSD: 0.5 }, b: {}, c: null, d: { costUSD: 0.25 } } },
      { text: '', costSinceLastResultUsd: 0.75 },
    ],
    [
      'since which no model was used cost nothing',
      { result: '', model_usage_since_last_result: {} },
      { text: '', costSinceLastResultUsd: 0 },
    ],
  ])('%s', (_rule, fields, expected) => {
    expect(parseCliEvent({ type: 'result', ...fields })).toEqual({
      kind: 'result',
      session: null,
      result: { ...RESULT, ...expected },
    });
  });
});

test.each<[unknown, string | null]>([
  ['6f1c-4A.x:y_z', '6f1c-4A.x:y_z'],
  [`a${'b'.repeat(127)}`, `a${'b'.repeat(127)}`],
  [`a${'b'.repeat(128)}`, null],
  ['a b', null],
  ['a\nb', null],
  ['-a', null],
  ['', null],
  [7, null],
])('the session of the id %j is %j', (id, session) => {
  expect(parseCliEvent({ type: 'result', result: '', session_id: id })?.session).toBe(session);
});
