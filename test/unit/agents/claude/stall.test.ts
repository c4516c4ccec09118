import { expect, test } from 'vitest';
import { describeStall } from '../../../../src/agents/cli/stall-watch.ts';
import { convertStreamEvent, claudeCli } from '../../../../src/agents/claude/cli.ts';
import { failureOfMissingResult } from '../../../../src/agents/claude/events/failure.ts';
import { createOutputReader } from '../../../../src/agents/claude/output/reader.ts';
import { assistantLine, failedLine, INIT, jsonLines, NOW, resultLine, toolUseLine } from './fixtures.ts';

test.each<[number | null, string | null, string, string]>([
  [529, 'overloaded', 'server', 'The provider answered HTTP 529 (overloaded), and'],
  [500, 'server_error', 'server', 'The provider answered HTTP 500 (server_error), and'],
  [429, 'rate_limit', 'rate-limit', 'The provider answered HTTP 429 (rate_limit), and'],
  [429, null, 'rate-limit', 'The provider answered HTTP 429, and'],
  [null, 'unknown', 'other', 'The provider did not answer, and'],
  [400, 'invalid_request', 'other', 'The provider answered HTTP 400 (invalid_request), and'],
  [401, 'authentication_failed', 'auth', 'The provider answered HTTP 401 (authentication_failed), and'],
])('a stall with HTTP %s (%s) is the failure that the CLI would report: %s', (status, cause, kind, beginning) => {
  const text = describeStall({ status, cause }, 180_000);
  const { agentError } = claudeCli.judgeStall({ since: 0, waitsUntil: 0, status, cause, text, now: NOW });
  expect(agentError).toEqual({ kind, text: `${beginning} the CLI only retried for 3 minutes, so the call was ended.` });
});

test('what an agent could have put in the place of a name is not repeated', () => {
  const retry = { kind: 'retry', attempt: 1, maxRetries: 2, delayMs: 5, status: 503 } as const;
  expect(convertStreamEvent({ ...retry, error: '@octocat **hi**' })).toMatchObject({
    retry: { status: 503, cause: null, waitMs: 5 },
  });
  expect(convertStreamEvent({ ...retry, error: 'overloaded' })).toMatchObject({ retry: { cause: 'overloaded' } });
});

test.each<[string, string, string | null]>([
  ['nothing', '', 'other'],
  ['blanks', ' \n', 'other'],
  ['a session that only began', jsonLines(INIT), 'other'],
  ['a stream that was cut after a text', jsonLines(INIT, assistantLine('I begin.')), 'other'],
  ['a stream that was cut in a tool call', jsonLines(INIT, toolUseLine('t', 'Bash', { command: 'ls' })), 'other'],
  ['a result', jsonLines(INIT, resultLine('Done.')), null],
  ['a result without a word', jsonLines(INIT, resultLine('')), null],
  ['the one object of a CLI', resultLine('Done.'), null],
  ['a result that failed', failedLine('Request timed out'), 'server'],
  ['plain text', 'Done.\n', null],
  ['an error in plain text', 'Credit balance is too low', 'billing'],
])('with exit code 0, %s is judged by its result', (_what, output, kind) => {
  const reader = createOutputReader({ now: NOW, onEvent: null });
  reader.push(new TextEncoder().encode(output));
  expect(failureOfMissingResult(reader.end())?.kind ?? null).toBe(kind);
});
