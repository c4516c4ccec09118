import { expect, test } from 'vitest';
import { codexDialect } from '../../../../src/agents/codex/events/dialect.ts';
import {
  analyzeIn,
  ended,
  failed,
  kindsOf,
  limited,
  NO_RESULT,
  readIn,
  recording,
  refused,
  testRecordings,
} from '../reading/fixtures.ts';

testRecordings('codex', codexDialect, {
  'builtin-websocket-fallback.jsonl': { ...ended, tokens: 150 },
  'empty-answer.jsonl': { ...ended, tokens: 150 },
  'error-401.jsonl': failed('auth', /^unexpected status 401 Unauthorized: Incorrect API key/),
  'error-404-model.jsonl': failed('model', /does not exist or you do not have access/),
  'error-429-retry-after-3600-killed.jsonl': failed(
    'other',
    /^The agent's output ends.*exceeded retry limit, last status: 429/,
  ),
  'error-429.jsonl': refused(/^exceeded retry limit/),
  'error-503.jsonl': failed('server', /^unexpected status 503/),
  'error-context.jsonl': failed('prompt-too-long', /^Codex ran out of room/),
  'error-quota.jsonl': limited(/^Quota exceeded/, null),
  'error-refused-killed.jsonl': failed('other', /^The agent's output ends.*Connection failed/),
  'error-usage-limit-days.jsonl': limited(/^You’ve hit your usage limit/, '2026-11-25T11:01:00.000Z'),
  'error-usage-limit-noreset.jsonl': limited(/^You’ve hit your usage limit/, null),
  'error-usage-limit.jsonl': limited(/^You’ve hit your usage limit/, '2026-11-22T11:01:00.000Z'),
  'full-run.jsonl': { ...ended, tokens: 750, sessionId: '01a2027c-165f-7602-a480-99aaae3e2241' },
  'home-under-tmp.jsonl': { ...ended, tokens: 450 },
  'ratelimit-in-stream-then-ok.jsonl': { ...ended, tokens: 150 },
  'resume.jsonl': { ...ended, tokens: 900, sessionId: '01a2027c-165f-7602-a480-99aaae3e2241' },
  'signal-sigterm.jsonl': failed('other', NO_RESULT),
  'token-budget.jsonl': failed('budget', /^budget reached$/),
  'unknown-session-stderr.txt': {
    ...failed('unknown-session', /no rollout found for thread id/),
    format: 'text',
    sessionId: null,
  },
});

test.each([
  ['full-run.jsonl', 'done'],
  ['builtin-websocket-fallback.jsonl', 'ok'],
  ['empty-answer.jsonl', ''],
  ['signal-sigterm.jsonl', ''],
])('the last words of %s', (name, message) => {
  expect(readIn(codexDialect, recording('codex', name)).finalMessage).toBe(message);
});

test('the sum of a session counts from what it was before the call', () => {
  expect(analyzeIn(codexDialect, recording('codex', 'resume.jsonl'), { tokensBefore: 750 }).tokens).toBe(150);
  expect(analyzeIn(codexDialect, recording('codex', 'full-run.jsonl'), { tokensBefore: 800 }).tokens).toBe(750);
});

test.each([
  ['error-429.jsonl', ['session', 'activity', 'retry', 'end']],
  ['error-refused-killed.jsonl', ['session', 'activity', 'retry']],
  ['ratelimit-in-stream-then-ok.jsonl', ['session', 'activity', 'retry', 'text', 'session-used', 'end']],
  ['builtin-websocket-fallback.jsonl', ['session', 'activity', 'retry', 'text', 'session-used', 'end']],
])('%s: a retry is distinguished from work', (name, kinds) => {
  expect(kindsOf(readIn(codexDialect, recording('codex', name)).events)).toEqual(kinds);
});

test('a retry carries cause and status', () => {
  expect(readIn(codexDialect, recording('codex', 'error-429.jsonl')).events).toContainEqual({
    kind: 'retry',
    cause: expect.stringMatching(/^exceeded retry limit, last status: 429/),
    status: 429,
  });
});
