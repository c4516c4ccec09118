import { describe, expect, test } from 'vitest';
import { analyzeAt, assistantLine, failedLine, INIT, jsonLines, rateLimitLine, resultLine, toolResultLine } from './analysis-fixtures.ts';

const RESETS_AT = 1795304042;
const rejected = rateLimitLine({ status: 'rejected', resetsAt: RESETS_AT, rateLimitType: 'five_hour' });

test.each([
  ['five_hour', 'five-hour'],
  ['seven_day', 'weekly'],
  ['seven_day_opus', 'weekly'],
  ['overage', 'extra'],
  ['another', 'unknown'],
])('a rejected event of type %s comes before the text', (rateLimitType, window) => {
  const output = jsonLines(INIT, rateLimitLine({ status: 'rejected', resetsAt: RESETS_AT, rateLimitType }), failedLine("You've hit your weekly limit · resets 1am (UTC)"));
  expect(analyzeAt(output).usageLimit).toEqual({ window, resumeAt: '2026-11-21T23:34:02.000Z' });
});

test.each([
  ['an allowed event', jsonLines(INIT, rateLimitLine({ status: 'allowed', resetsAt: RESETS_AT, rateLimitType: 'five_hour' }), resultLine('fine'))],
  ['a rejected event after which the agent went on', jsonLines(INIT, rejected, assistantLine('on the fallback model'), resultLine('fine'))],
  ['retries that succeeded', jsonLines(INIT, ...[1, 2].map((attempt) => JSON.stringify({ type: 'system', subtype: 'api_retry', attempt, max_retries: 10, error_status: 429, error: 'rate_limit', session_id: 's' })), resultLine('fine'))],
  ['prose', resultLine('The page says: Claude AI usage limit reached|1795303952')],
  ['plain prose', "I documented that You've hit your 5-hour limit · resets 5pm (UTC) may appear."],
  ['a file that the agent read', jsonLines(INIT, toolResultLine('usage limit reached'), resultLine('usage limit reached is documented'))],
  ['another failure', failedLine('API Error: 500 Internal server error', { api_error_status: 500 })],
])('%s is no limit', (_rule, output) => {
  expect(analyzeAt(output).usageLimit).toBeNull();
});

test.each([
  ["You've hit your 5-hour limit · resets 5pm (Europe/Berlin)", 'five-hour', '2026-07-02T15:00:00.000Z'],
  ["You've hit your session limit · resets 11:50pm (UTC)", 'five-hour', '2026-07-01T23:50:00.000Z'],
  ["You've hit your weekly limit · resets Oct 9, 5pm", 'weekly', '2026-10-09T17:00:00.000Z'],
  ["You're out of extra usage · resets 9pm (UTC)", 'extra', '2026-07-01T21:00:00.000Z'],
  ['API Error: Request rejected (429) · Claude AI usage limit reached|1795303952', 'unknown', '2026-11-21T23:32:32.000Z'],
  ['Claude AI usage limit reached|1795303952', 'unknown', '2026-11-21T23:32:32.000Z'],
  ["You've hit your 5-hour limit · resets soon", 'five-hour', null],
  ['API Error: Request rejected (429) · slow down', 'unknown', null],
  ['API Error: Repeated 529 Overloaded errors. Try again in a moment.', 'unknown', null],
])('the CLI’s own error %j', (text, window, resumeAt) => {
  const now = Date.parse('2026-07-01T16:00:00Z');
  for (const output of [failedLine(text), text, jsonLines(INIT, failedLine(text))]) expect(analyzeAt(output, now).usageLimit).toEqual({ window, resumeAt });
});

describe('the next such instant', () => {
  test.each([
    ['5pm', '2026-07-01T16:00:00Z', '2026-07-01T17:00:00.000Z'],
    ['5pm', '2026-07-01T17:00:00Z', '2026-07-02T17:00:00.000Z'],
    ['5:30pm', '2026-07-01T16:00:00Z', '2026-07-01T17:30:00.000Z'],
    ['17:30', '2026-07-01T16:00:00Z', '2026-07-01T17:30:00.000Z'],
    ['12am', '2026-07-01T16:00:00Z', '2026-07-02T00:00:00.000Z'],
    ['12pm', '2026-07-01T16:00:00Z', '2026-07-02T12:00:00.000Z'],
    ['17:30 (Asia/Kolkata)', '2026-07-01T16:00:00Z', '2026-07-02T12:00:00.000Z'],
    ['1am (Pacific/Auckland)', '2026-07-01T11:00:00Z', '2026-07-01T13:00:00.000Z'],
    ['Oct 9, 5pm', '2026-10-09T16:59:00Z', '2026-10-09T17:00:00.000Z'],
    ['Oct 9, 5pm', '2026-10-09T17:01:00Z', '2027-10-09T17:00:00.000Z'],
    ['Oct 9, 5pm (Europe/Berlin)', '2026-07-01T00:00:00Z', '2026-10-09T15:00:00.000Z'],
    ['Jan 1, 12am (Asia/Tokyo)', '2026-12-31T14:00:00Z', '2026-12-31T15:00:00.000Z'],
    ['Feb 29, 5pm', '2026-07-01T00:00:00Z', '2028-02-29T17:00:00.000Z'],
    // Berlin's clocks: summer time ends on 25 October 2026 at 3:00, and begins on 29 March 2026 at 2:00.
    ['5pm (Europe/Berlin)', '2026-10-24T18:00:00Z', '2026-10-25T16:00:00.000Z'],
    ['2:30am (Europe/Berlin)', '2026-10-25T00:00:00Z', '2026-10-25T00:30:00.000Z'],
    ['2:30am (Europe/Berlin)', '2026-10-25T00:45:00Z', '2026-10-25T01:30:00.000Z'],
    ['2:30am (Europe/Berlin)', '2026-03-28T12:00:00Z', '2026-03-29T01:30:00.000Z'],
    ['5pm (Moon/Base)', '2026-07-01T16:00:00Z', null],
    ['25:00', '2026-07-01T16:00:00Z', null],
    ['13pm', '2026-07-01T16:00:00Z', null],
    ['Mon 5pm', '2026-07-01T16:00:00Z', null],
    ['Feb 30, 5pm', '2026-07-01T16:00:00Z', null],
  ])('of "resets %s" at %s is %s', (reset, now, resumeAt) => {
    expect(analyzeAt(failedLine(`You've hit your 5-hour limit · resets ${reset}`), Date.parse(now)).usageLimit?.resumeAt).toBe(resumeAt);
  });
});

test.each([['beyond the year 9999', 1e15], ['no instant at all', 1e300]])('a reset %s is unknown', (_, resetsAt) => {
  const output = jsonLines(INIT, rateLimitLine({ status: 'rejected', resetsAt, rateLimitType: 'five_hour' }), failedLine('x'));
  expect(analyzeAt(output).usageLimit).toEqual({ window: 'five-hour', resumeAt: null });
});
