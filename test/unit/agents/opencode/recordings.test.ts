import { expect, test } from 'vitest';
import { opencodeDialect } from '../../../../src/agents/opencode/events/dialect.ts';
import {
  analyzeIn,
  ended,
  failed,
  jsonLines,
  kindsOf,
  NO_RESULT,
  readIn,
  recording,
  testRecordings,
} from '../reading/fixtures.ts';

const cost = (usd: number) => ({ costUsd: expect.closeTo(usd, 6) });

testRecordings('opencode', opencodeDialect, {
  'empty-answer.jsonl': { ...ended, ...cost(0.000191), turns: 1, tokens: 150 },
  'error-400.jsonl': failed('other', /^bad thing$/),
  'error-401.jsonl': failed('auth', /^Incorrect API key/),
  'error-404-model.jsonl': failed('model', /does not exist/),
  'error-429-logs-stderr.txt': {
    ...failed('other', /it tried again after: AI_APICallError: Rate limit/),
    format: 'text',
  },
  'error-context-loop.jsonl': { ...failed('prompt-too-long', /maximum context length/), ...cost(0.000191) },
  'error-context-nocompact.jsonl': failed('prompt-too-long', /maximum context length/),
  'error-unknown-model.jsonl': failed('other', /^UnknownError: Unexpected server error/),
  'full-run.jsonl': { ...ended, ...cost(0.000382), turns: 2, tokens: 300, sessionId: 'ses_dfd873624ffevkhmOGafMjYY0R' },
  'permission-ask-ends-turn.jsonl': {
    ...failed('other', NO_RESULT),
    ...cost(0.000191),
    denials: [{ tool: 'bash', command: 'touch a.txt; env | sort | cut -c1-60' }],
  },
  'permission-default-stderr.txt': { ...failed('other', NO_RESULT), format: 'text' },
  'permission-rules.jsonl': {
    ...ended,
    costUsd: expect.any(Number),
    denials: [
      { tool: 'bash', command: 'touch a.txt; env | sort | cut -c1-60' },
      { tool: 'bash', command: 'git push origin' },
      { tool: 'bash', command: 'touch /elsewhere/outside2.txt' },
      { tool: 'write', command: null },
    ],
  },
  'unknown-session-stderr.txt': { ...failed('unknown-session', /^Error: Session not found$/), format: 'text' },
});

test.each([
  ['full-run.jsonl', 'one'],
  ['permission-rules.jsonl', 'done'],
  ['empty-answer.jsonl', ''],
  ['error-context-loop.jsonl', 'A title'],
])('the last words of %s', (name, message) => {
  expect(readIn(opencodeDialect, recording('opencode', name)).finalMessage).toBe(message);
});

test('only a failed try on stderr is a retry', () => {
  const { events } = readIn(opencodeDialect, recording('opencode', 'error-429-logs-stderr.txt'));
  expect(kindsOf(events)).toEqual(['retry']);
  expect(events[0]).toEqual({ kind: 'retry', cause: 'AI_APICallError: Rate limit reached.', status: null });
  expect(readIn(opencodeDialect, recording('opencode', 'permission-default-stderr.txt')).events).toEqual([]);
});

const SESSION = 'ses_dfd873624ffevkhmOGafMjYY0R';
const step = (reason: string) => ({
  type: 'step_finish',
  sessionID: SESSION,
  part: { reason, tokens: { total: 5 }, cost: 0.5 },
});
const text = { type: 'text', sessionID: SESSION, part: { text: 'All is done.' } };

test.each(['tool-calls', 'length', 'content-filter', 'unknown'])(
  'a last step that ended with %s is not a result',
  (why) => {
    expect(analyzeIn(opencodeDialect, jsonLines(text, step('stop'), text, step(why)))).toMatchObject({
      ...failed('other', NO_RESULT),
      costUsd: 1,
    });
  },
);

test('what comes after an error does not make it a success', () => {
  const error = {
    type: 'error',
    sessionID: SESSION,
    error: { name: 'APIError', data: { message: 'no', statusCode: 500 } },
  };
  expect(analyzeIn(opencodeDialect, jsonLines(error, text, step('stop'))).agentError).toEqual({
    kind: 'server',
    text: 'no',
  });
});

test.each(['--last', 'ses_short', 'ses_dfd873624ffevkhmOGafMjYY0R; rm -rf .'])('%s is not an id', (id) => {
  expect(analyzeIn(opencodeDialect, jsonLines({ ...text, sessionID: id })).sessionId).toBeNull();
});

test('nothing is what it says of a model whose price it does not know', () => {
  const free = { ...step('stop'), part: { ...step('stop').part, cost: 0 } };
  expect(analyzeIn(opencodeDialect, jsonLines(text, free))).toMatchObject({ tokens: 5, costUsd: null });
  expect(analyzeIn(opencodeDialect, jsonLines(free, step('stop')))).toMatchObject({ tokens: 10, costUsd: 0.5 });
});

test('tokens are summed where no total is given', () => {
  const part = { reason: 'stop', tokens: { input: 1, output: 2, reasoning: 4, cache: { read: 8, write: 16 } } };
  expect(analyzeIn(opencodeDialect, jsonLines({ type: 'step_finish', sessionID: SESSION, part }))).toMatchObject({
    tokens: 31,
    costUsd: null,
  });
});
