import { expect, test } from 'vitest';
import { qwenDialect } from '../../../../src/agents/qwen/events/dialect.ts';
import {
  analyzeIn,
  ended,
  failed,
  jsonLines,
  NO_RESULT,
  readIn,
  recording,
  refused,
  testRecordings,
} from '../reading/fixtures.ts';

testRecordings('qwen', qwenDialect, {
  'error-401.jsonl': failed('auth', /^\[API Error: 401 Incorrect API key provided\]$/),
  'full-run.jsonl': { ...ended, turns: 2, tokens: 300, sessionId: 'f55053c1-a9e2-47e0-bd20-11b4803428e2' },
  'permission-denials.jsonl': {
    ...ended,
    turns: 2,
    tokens: 300,
    denials: [{ tool: 'run_shell_command', command: 'npm test' }],
  },
  'unknown-session-stderr.txt': { ...failed('unknown-session', /^No saved session found/), format: 'text' },
});

test.each([
  ['full-run.jsonl', 'done'],
  ['permission-denials.jsonl', 'ok'],
  // The CLI's error does not count as a message of the agent.
  ['error-401.jsonl', ''],
])('the last words of %s', (name, message) => {
  expect(readIn(qwenDialect, recording('qwen', name)).finalMessage).toBe(message);
});

test('the sum of a session counts from what it was before the call', () => {
  expect(analyzeIn(qwenDialect, recording('qwen', 'full-run.jsonl'), { tokensBefore: 200 }).tokens).toBe(100);
});

const say = (text: string) => ({ type: 'assistant', message: { content: [{ type: 'text', text }] } });
const error = (message: string) => ({
  type: 'result',
  subtype: 'error_during_execution',
  is_error: true,
  error: { message },
});

test.each([
  ['error_during_execution', failed('other', /^error_during_execution$/)],
  ['error_max_turns', failed('max-turns', /^error_max_turns$/)],
])('what the agent said last is not the reason of %s', (subtype, expected) => {
  const prose = 'The client now maps "You exceeded your current quota" to HTTP 429.';
  const lines = jsonLines(say(prose), { type: 'result', subtype, is_error: true, result: prose });
  expect(analyzeIn(qwenDialect, lines)).toMatchObject({ ...expected, usageLimit: null });
});

test('at the limit of turns it ends without a result', () => {
  expect(analyzeIn(qwenDialect, jsonLines(say('Looking.')))).toMatchObject(failed('other', NO_RESULT));
});

test.each([
  ['[API Error: 429 Too many requests]', refused(/429/)],
  ['[API Error: 503 overloaded]', failed('server', /503/)],
  ['[API Error: Connection error.]', failed('server', /Connection/)],
])('%s', (message, expected) => {
  const { analysis, finalMessage } = readIn(qwenDialect, jsonLines(say('Looking.'), say(message), error(message)));
  expect(analysis).toMatchObject(expected);
  expect(finalMessage).toBe('Looking.');
});
