import { expect, test } from 'vitest';
import { geminiDialect } from '../../../../src/agents/gemini/events/dialect.ts';
import {
  analyzeIn,
  ended,
  failed,
  jsonLines,
  limited,
  NO_RESULT,
  NOW,
  readIn,
  recording,
  refused,
  testRecordings,
} from '../reading/fixtures.ts';

testRecordings('gemini', geminiDialect, {
  'empty-answer.jsonl': { ...failed('other', /^The model returned an empty response/), tokens: 620 },
  'error-400-key.jsonl': failed('auth', /API key not valid/),
  'error-401.jsonl': failed('auth', /invalid authentication/),
  'error-403.jsonl': failed('auth', /Permission denied/),
  'error-404-model.jsonl': failed('model', /is not found for API version/),
  'error-429-daily.jsonl': limited(/exhausted your daily quota/, null),
  'error-429-long.jsonl': limited(/exceeded your current quota/, '2026-11-22T10:01:30.996Z'),
  'error-429-plain.jsonl': refused(/Resource has been exhausted/),
  'error-500.jsonl': failed('server', /internal error/),
  'error-context.jsonl': failed('prompt-too-long', /exceeds the maximum number of tokens/),
  'error-refused.jsonl': failed('server', /fetch failed/),
  'error-stream-cut.jsonl': failed('server', /terminated/),
  'full-run.jsonl': { ...ended, tokens: 310, turns: null, sessionId: '3208c0c2-88bf-496c-920f-2082f2bbe890' },
  'max-turns.jsonl': { ...failed('max-turns', /Reached max session turns/), tokens: 310 },
  'nokey-stderr.txt': { ...failed('auth', /GEMINI_API_KEY/), format: 'text' },
  'resume.jsonl': { ...ended, tokens: 155, sessionId: '3208c0c2-88bf-496c-920f-2082f2bbe890' },
  'signal-sigterm.jsonl': { ...failed('other', NO_RESULT), tokens: null },
  'unknown-session-stderr.txt': { ...failed('unknown-session', /^Error resuming session/), format: 'text' },
  'untrusted-stderr.txt': { ...failed('other', /^Gemini CLI is not running in a trusted directory/), format: 'text' },
});

test.each([
  ['full-run.jsonl', 'one'],
  ['resume.jsonl', 'two'],
  ['signal-sigterm.jsonl', ''],
])('the last words of %s', (name, message) => {
  expect(readIn(geminiDialect, recording('gemini', name)).finalMessage).toBe(message);
});

const say = (content: string, role = 'assistant') => ({ type: 'message', role, content, delta: true });
const use = { type: 'tool_use', tool_name: 'run_shell_command', tool_id: 't1', parameters: { command: 'npm test' } };
const resultOf = (fields: object) => ({ type: 'tool_result', tool_id: 't1', ...fields });
const success = { type: 'result', status: 'success', stats: { total_tokens: 7 } };

test('pieces of a message are joined as far as the next tool', () => {
  const { finalMessage } = readIn(
    geminiDialect,
    jsonLines(say('a'), say('b'), use, resultOf({ status: 'success' }), say('c'), say('d\n'), say('e'), success),
  );
  expect(finalMessage).toBe('cd\ne');
});

test('what the policy refuses is a denial, with the command of its call', () => {
  const refusal = resultOf({ status: 'error', error: { type: 'policy_violation', message: 'no' } });
  expect(analyzeIn(geminiDialect, jsonLines(use, refusal, success))).toMatchObject({
    denials: [{ tool: 'run_shell_command', command: 'npm test' }],
    agentError: null,
    question: false,
  });
  const missing = resultOf({ status: 'error', error: { type: 'tool_not_registered', message: 'no' } });
  expect(analyzeIn(geminiDialect, jsonLines(use, missing, success)).denials).toEqual([]);
});

test('a refused question is one for a person', () => {
  const ask = { type: 'tool_use', tool_name: 'ask_user', tool_id: 't1', parameters: {} };
  const refusal = resultOf({ status: 'error', error: { type: 'policy_violation' } });
  expect(analyzeIn(geminiDialect, jsonLines(ask, refusal, success)).question).toBe(true);
});

test.each([
  ['Please retry in 90s.', '2026-11-22T09:01:30.000Z'],
  ['Please retry in 1.5s.', '2026-11-22T09:00:01.500Z'],
  ['Suggested retry after 86400s.', '2026-11-23T09:00:00.000Z'],
  ['Please wait and try again later.', null],
])('%s is understood from when it was said', (text, resumeAt) => {
  const message = `[API Error: You exceeded your current quota. ${text}]`;
  const output = jsonLines({ type: 'result', status: 'error', error: { type: 'unknown', message }, stats: {} });
  expect(analyzeIn(geminiDialect, output, { now: NOW }).usageLimit).toEqual({ window: 'unknown', resumeAt });
});
