import { expect, test } from 'vitest';
import { copilotDialect } from '../../../../src/agents/copilot/events/dialect.ts';
import {
  analyzeIn,
  ended,
  failed,
  jsonLines,
  kindsOf,
  limited,
  readIn,
  recording,
  refused,
  testRecordings,
} from '../reading/fixtures.ts';

testRecordings('copilot', copilotDialect, {
  'empty-answer.jsonl': failed('other', /^No response was returned/),
  'error-401.jsonl': failed('auth', /^Authentication failed with provider/),
  'error-402-quota.jsonl': limited(/^402 You have no quota$/, null),
  'error-404-model.jsonl': failed('model', /^Model 'gpt-5.4' not found/),
  'error-429-quota.jsonl': limited(/exceeded your current quota/, null),
  'error-429.jsonl': refused(/^429 Rate limit reached$/),
  'error-context.jsonl': failed('prompt-too-long', /maximum context length/),
  'error-refused.jsonl': { ...failed('server', /^Could not connect to local model provider/), turns: 1 },
  'full-run-denials.jsonl': {
    ...ended,
    turns: 5,
    tokens: null,
    sessionId: '3f6ff0ee-922d-43ac-a6b9-fcc8282b5314',
    denials: [
      { tool: 'bash', command: 'npm test' },
      { tool: 'bash', command: 'git push origin' },
    ],
  },
  'hello-streaming.jsonl': { ...ended, turns: 1, sessionId: '2db7fe0c-113b-4db4-8616-7501ac8ea461' },
  'noauth-stderr.txt': { ...failed('auth', /^Error: No authentication information found/), format: 'text' },
  'signal-sigterm.jsonl': failed('other', /^Operation cancelled$/),
  'token-not-validated-stderr.txt': { ...failed('auth', /^Error: Authentication token found/), format: 'text' },
});

test.each([
  ['full-run-denials.jsonl', 'done'],
  ['hello-streaming.jsonl', 'ok'],
])('the last words of %s', (name, message) => {
  expect(readIn(copilotDialect, recording('copilot', name)).finalMessage).toBe(message);
});

test('a failed call and its repetition are not work, and carry the words of the provider', () => {
  expect(kindsOf(readIn(copilotDialect, recording('copilot', 'error-refused.jsonl')).events)).toEqual([
    'turns',
    'retry',
    'end',
    'session',
    'end',
  ]);
  expect(readIn(copilotDialect, recording('copilot', 'error-429.jsonl')).events).toContainEqual({
    kind: 'retry',
    cause: 'Rate limit reached',
    status: 429,
  });
});

const usage = { modelMetrics: { a: { usage: { inputTokens: 500, outputTokens: 250, cacheReadTokens: 50 } }, b: {} } };
const say = (content: string, more = {}) => ({ type: 'assistant.message', data: { content }, ...more });
const result = (exitCode: number) => ({ type: 'result', sessionId: 'x', exitCode });
const error = (message: string) => ({ type: 'session.error', data: { errorType: 'query', message } });

test('tokens come from the usage file, less what the session had used before', () => {
  const output = jsonLines(say('ok'), result(0), usage);
  expect(analyzeIn(copilotDialect, output)).toMatchObject({ agentError: null, tokens: 750 });
  expect(analyzeIn(copilotDialect, output, { tokensBefore: 600 }).tokens).toBe(150);
});

test.each([
  ['429', 'Failed to get response from the AI model; retried 5 times. Last error: 429 Too many', 'rate-limit'],
  ['500', 'Failed to get response from the AI model; retried 5 times. Last error: 500 no', 'server'],
  ['400', '400 bad thing', 'other'],
])('the status %s is read from the text', (_, message, kind) => {
  expect(analyzeIn(copilotDialect, jsonLines(error(message), result(1))).agentError).toEqual({ kind, text: message });
});

test('no exit code is believed alone', () => {
  expect(analyzeIn(copilotDialect, jsonLines(say('ok'), result(1))).agentError?.kind).toBe('other');
  expect(analyzeIn(copilotDialect, jsonLines(error('no'), result(0))).agentError?.text).toBe('no');
  expect(analyzeIn(copilotDialect, jsonLines(error('no'), say('I go on.'), result(0))).agentError).toBeNull();
});

test("a subagent's message is not the final one", () => {
  expect(readIn(copilotDialect, jsonLines(say('mine'), say('its', { agentId: 'a' }), result(0))).finalMessage).toBe(
    'mine',
  );
});
