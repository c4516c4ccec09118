import { describe, expect, test } from 'vitest';
import { missingResult } from '../../../../../src/agents/claude/events/failure.ts';
import {
  classifyStall,
  retryingAfter,
  stallFailure,
  stallsAt,
  type Retrying,
} from '../../../../../src/agents/claude/events/stall.ts';
import type { StreamEvent } from '../../../../../src/agents/claude/events/stream-event.ts';
import { createOutputReader } from '../../../../../src/agents/claude/output/reader.ts';
import { assistantLine, failedLine, INIT, jsonLines, NOW, resultLine, toolUseLine } from '../fixtures.ts';

const SECOND = 1_000;
const STALL = 180 * SECOND;

/** At a second of the call: a retry that waits for so many seconds, or another event. */
type Moment = readonly [second: number, event: number | StreamEvent];

const said: StreamEvent = { kind: 'text', nested: false, text: 'hi' };
const retry = { kind: 'retry', attempt: 1, maxRetries: 10, status: 529, error: 'overloaded' } as const;

describe('a call stalls', () => {
  test.each<[string, readonly Moment[], number | null]>([
    ['never before its first event', [], null],
    ['never by silence', [[0, said]], null],
    ['not yet while it may be answered', [[10, 1]], null],
    [
      'not yet while a slow model may answer the last try',
      [
        [10, 1],
        [100, 30],
      ],
      null,
    ],
    [
      'while it waits until its time is over',
      [
        [10, 1],
        [160, 40],
      ],
      190,
    ],
    ['at the very end of a wait', [[10, 180]], 190],
    ['in a wait that is longer than its time', [[10, 3_600]], 190],
    [
      'at once by a retry that comes too late',
      [
        [10, 1],
        [400, 1],
      ],
      190,
    ],
    [
      'no more when the agent speaks',
      [
        [10, 3_600],
        [20, said],
      ],
      null,
    ],
    [
      'counted from the first retry behind the last word',
      [
        [10, 1],
        [100, said],
        [110, 1],
        [200, 3_600],
      ],
      290,
    ],
    ...(
      [
        { kind: 'text', nested: true, text: 'hi' },
        { kind: 'tool-use', nested: true, name: 'Bash', input: 'ls' },
        { kind: 'tool-result', failed: true },
        { kind: 'denied', tool: 'Bash' },
        { kind: 'result', failed: false, text: '', turns: 1 },
        { kind: 'unshown' },
      ] as const
    ).map((event): [string, readonly Moment[], null] => [
      `no more after ${event.kind}`,
      [
        [10, 3_600],
        [20, event],
      ],
      null,
    ]),
  ])('%s', (_when, moments, second) => {
    const last = moments.reduce<Retrying | null>((retrying, [at, event]) => {
      const seen: StreamEvent = typeof event === 'number' ? { ...retry, delayMs: event * SECOND } : event;
      return retryingAfter(retrying, seen, at * SECOND);
    }, null);
    expect(stallsAt(last, STALL)).toBe(second === null ? null : second * SECOND);
  });
});

test.each<[number | null, string | null, string, string]>([
  [529, 'overloaded', 'server', 'The provider answered HTTP 529 (overloaded), and'],
  [500, 'server_error', 'server', 'The provider answered HTTP 500 (server_error), and'],
  [429, 'rate_limit', 'rate-limit', 'The provider answered HTTP 429 (rate_limit), and'],
  [429, null, 'rate-limit', 'The provider answered HTTP 429, and'],
  [null, 'unknown', 'server', 'The provider did not answer, and'],
  [400, 'invalid_request', 'server', 'The provider answered HTTP 400 (invalid_request), and'],
  [401, 'authentication_failed', 'auth', 'The provider answered HTTP 401 (authentication_failed), and'],
  [503, '@octocat **hi**', 'server', 'The provider answered HTTP 503, and'],
])('a stall with HTTP %s (%s) is the failure that the CLI would report: %s', (status, error, kind, beginning) => {
  const failure = stallFailure({ status, error }, STALL);
  expect(classifyStall(failure)).toEqual({
    kind,
    text: `${beginning} the CLI only retried for 3 minutes, so the call was ended.`,
  });
});

test.each([
  [60_000, '1 minute'],
  [90_000, '1.5 minutes'],
  [6_000, '0.1 minutes'],
])('%i ms are %s', (stallMs, words) => {
  expect(stallFailure({ status: null, error: null }, stallMs).text).toContain(`retried for ${words}, so`);
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
  expect(missingResult(reader.end())?.kind ?? null).toBe(kind);
});
