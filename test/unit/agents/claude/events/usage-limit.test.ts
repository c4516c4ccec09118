import { buildPrintedAnalysis, type Analysis } from '../../../../../src/core/analysis/analysis.ts';
import { describe, expect, test } from 'vitest';
import {
  analyzeAt,
  assistantLine,
  failedLine,
  INIT,
  jsonLines,
  NOW,
  rateLimitLine,
  resultLine,
  syntheticLine,
  toolResultLine,
} from '../fixtures.ts';

const RESETS_AT = 1795304042;
const rejected = rateLimitLine({ status: 'rejected', resetsAt: RESETS_AT, rateLimitType: 'five_hour' });

/** Returns the limit without the count of characters. */
function limitOf(output: string, now?: number): unknown {
  return (buildPrintedAnalysis(analyzeAt(output, now)) as Analysis).usageLimit;
}

describe('a limit needs two signs', () => {
  const text = "You've hit your weekly limit · resets 1am (UTC)";
  const eventOf = (rateLimitType: string, resetsAt: number): string =>
    rateLimitLine({ status: 'rejected', resetsAt, rateLimitType });
  const [soon, late] = [NOW / 1000 + 3600, NOW / 1000 + 4 * 24 * 3600];
  const weekly = eventOf('seven_day', late);
  test.each([
    ['an event and the text', jsonLines(INIT, weekly, failedLine(text)), undefined],
    ['an event and a status', jsonLines(INIT, weekly, failedLine('No.', { api_error_status: 429 })), undefined],
    ['an event and an error of a message', jsonLines(INIT, weekly, syntheticLine('No.', 'rate_limit')), undefined],
    [
      'an event and another limit of more than hours',
      jsonLines(INIT, weekly, failedLine("You've hit your Opus limit")),
      undefined,
    ],
    ['an event and a failure that is about something else', jsonLines(INIT, weekly, failedLine('I give up.')), true],
    [
      'an event and a status of another kind',
      jsonLines(INIT, weekly, failedLine('API Error: 500 Internal server error', { api_error_status: 500 })),
      true,
    ],
    [
      'an event and an overload',
      jsonLines(INIT, weekly, failedLine('API Error: Repeated 529 Overloaded errors.', { api_error_status: 529 })),
      true,
    ],
    ['an event and the turns used up', jsonLines(INIT, weekly, failedLine('', { subtype: 'error_max_turns' })), true],
    [
      'an event, and the text of a shorter limit',
      jsonLines(INIT, weekly, failedLine("You've hit your session limit")),
      true,
    ],
    ['an event of five hours that lasts for days', jsonLines(INIT, eventOf('five_hour', late), failedLine(text)), true],
    [
      'both of five hours',
      jsonLines(INIT, eventOf('five_hour', soon), failedLine("You've hit your session limit")),
      undefined,
    ],
    ['a status and the text', failedLine(text, { api_error_status: 429 }), undefined],
    ['an error of a message and the text', jsonLines(INIT, syntheticLine(text, 'rate_limit')), undefined],
    ['the text alone', failedLine(text), true],
    ['the text alone, as the whole output', text, true],
    ['an event alone', jsonLines(INIT, rejected), true],
    ['a status alone', failedLine('API Error: 429 slow down', { api_error_status: 429 }), true],
  ])('%s', (_, output, unconfirmed) => {
    expect(analyzeAt(output).usageLimit?.unconfirmed).toBe(unconfirmed);
  });
});

test.each([
  ['five_hour', 'five-hour'],
  ['seven_day', 'weekly'],
  ['seven_day_opus', 'weekly'],
  ['overage', 'extra'],
  ['another', 'unknown'],
])('a rejected event of type %s comes before the text', (rateLimitType, window) => {
  const output = jsonLines(
    INIT,
    rateLimitLine({ status: 'rejected', resetsAt: RESETS_AT, rateLimitType }),
    failedLine("You've hit your weekly limit · resets 1am (UTC)"),
  );
  expect(limitOf(output)).toEqual({ window, resumeAt: '2026-11-21T23:34:02.000Z' });
});

test.each([
  [
    'an allowed event',
    jsonLines(
      INIT,
      rateLimitLine({ status: 'allowed', resetsAt: RESETS_AT, rateLimitType: 'five_hour' }),
      resultLine('fine'),
    ),
  ],
  [
    'a rejected event after which the agent continued',
    jsonLines(INIT, rejected, assistantLine('on the fallback model'), resultLine('fine')),
  ],
  [
    'retries that succeeded',
    jsonLines(
      INIT,
      ...[1, 2].map((attempt) =>
        JSON.stringify({
          type: 'system',
          subtype: 'api_retry',
          attempt,
          max_retries: 10,
          error_status: 429,
          error: 'rate_limit',
          session_id: 's',
        }),
      ),
      resultLine('fine'),
    ),
  ],
  ['prose', resultLine('The page says: Claude AI usage limit reached|1795303952')],
  ['plain prose', "I documented that You've hit your 5-hour limit · resets 5pm (UTC) may appear."],
  [
    'a file that the agent read',
    jsonLines(INIT, toolResultLine('usage limit reached'), resultLine('usage limit reached is documented')),
  ],
  ['another failure', failedLine('API Error: 500 Internal server error', { api_error_status: 500 })],
])('%s is not a limit', (_rule, output) => {
  expect(analyzeAt(output).usageLimit).toBeNull();
});

test.each([
  ["You've hit your 5-hour limit · resets 5pm (Europe/Berlin)", 'five-hour', '2026-07-02T15:00:00.000Z'],
  ["You've hit your session limit · resets 11:50pm (UTC)", 'five-hour', '2026-07-01T23:50:00.000Z'],
  ["You've hit your weekly limit · resets Oct 9, 5pm", 'weekly', '2026-10-09T17:00:00.000Z'],
  ["You're out of extra usage · resets 9pm (UTC)", 'extra', '2026-07-01T21:00:00.000Z'],
  [
    'API Error: Request rejected (429) · Claude AI usage limit reached|1795303952',
    'unknown',
    '2026-11-21T23:32:32.000Z',
  ],
  ['Claude AI usage limit reached|1795303952', 'unknown', '2026-11-21T23:32:32.000Z'],
  ["You've hit your 5-hour limit · resets soon", 'five-hour', null],
  ['API Error: Request rejected (429) · slow down', 'unknown', null],
  ['API Error: Repeated 529 Overloaded errors. Try again in a moment.', 'unknown', null],
])('the CLI’s own error %j', (text, window, resumeAt) => {
  const now = Date.parse('2026-07-01T16:00:00Z');
  for (const output of [failedLine(text), text, jsonLines(INIT, failedLine(text))])
    expect(limitOf(output, now)).toEqual({ window, resumeAt });
});

describe('the next such instant', () => {
  test.each([
    ['5pm', '2026-07-01T16:00:00Z', '2026-07-01T17:00:00.000Z'],
    ['5pm', '2026-07-01T17:00:00Z', '2026-07-01T17:00:00.000Z'],
    ['5:30pm', '2026-07-01T16:00:00Z', '2026-07-01T17:30:00.000Z'],
    ['17:30', '2026-07-01T16:00:00Z', '2026-07-01T17:30:00.000Z'],
    ['12am', '2026-07-01T16:00:00Z', '2026-07-02T00:00:00.000Z'],
    ['12pm', '2026-07-01T16:00:00Z', '2026-07-02T12:00:00.000Z'],
    ['17:30 (Asia/Kolkata)', '2026-07-01T16:00:00Z', '2026-07-02T12:00:00.000Z'],
    ['1am (Pacific/Auckland)', '2026-07-01T11:00:00Z', '2026-07-01T13:00:00.000Z'],
    ['Oct 9, 5pm', '2026-10-09T16:59:00Z', '2026-10-09T17:00:00.000Z'],
    ['Oct 9, 5pm', '2026-10-09T18:01:00Z', '2027-10-09T17:00:00.000Z'],
    ['Oct 9, 5pm (Europe/Berlin)', '2026-07-01T00:00:00Z', '2026-10-09T15:00:00.000Z'],
    ['Jan 1, 12am (Asia/Tokyo)', '2026-12-31T14:00:00Z', '2026-12-31T15:00:00.000Z'],
    ['Feb 29, 5pm', '2026-07-01T00:00:00Z', '2028-02-29T17:00:00.000Z'],
    // In Berlin, summer time ends on 25 October 2026 at 3:00, and begins on 29 March 2026 at 2:00.
    ['5pm (Europe/Berlin)', '2026-10-24T18:00:00Z', '2026-10-25T16:00:00.000Z'],
    ['2:30am (Europe/Berlin)', '2026-10-25T00:00:00Z', '2026-10-25T00:30:00.000Z'],
    ['2:30am (Europe/Berlin)', '2026-10-25T00:45:00Z', '2026-10-25T00:30:00.000Z'],
    ['2:30am (Europe/Berlin)', '2026-03-28T12:00:00Z', '2026-03-29T01:30:00.000Z'],
    ['5pm (Moon/Base)', '2026-07-01T16:00:00Z', null],
    ['25:00', '2026-07-01T16:00:00Z', null],
    ['13pm', '2026-07-01T16:00:00Z', null],
    ['Mon 5pm', '2026-07-01T16:00:00Z', '2026-07-06T17:00:00.000Z'],
    ['Feb 30, 5pm', '2026-07-01T16:00:00Z', null],
    ['23:59', '2026-07-01T16:00:00Z', '2026-07-01T23:59:00.000Z'],
    ['24:00', '2026-07-01T16:00:00Z', null],
    ['17:60', '2026-07-01T16:00:00Z', null],
    ['0pm', '2026-07-01T16:00:00Z', null],
    ['5', '2026-07-01T16:00:00Z', null],
    ['5 pm', '2026-07-01T16:00:00Z', '2026-07-01T17:00:00.000Z'],
    ['5PM ( Europe/Berlin )', '2026-07-01T12:00:00Z', '2026-07-01T15:00:00.000Z'],
    ['October 9 at 5pm', '2026-07-01T16:00:00Z', '2026-10-09T17:00:00.000Z'],
    ['Oct. 9 17:30', '2026-07-01T16:00:00Z', '2026-10-09T17:30:00.000Z'],
    ['day 9, 5pm', '2026-07-01T16:00:00Z', null],
    ['Dec 31, 11pm (America/Los_Angeles)', '2027-01-01T06:00:00Z', '2027-01-01T07:00:00.000Z'],
    ['Feb 29, 5pm', '2096-03-01T00:00:00Z', '2104-02-29T17:00:00.000Z'],
  ])('of "resets %s" at %s is %s', (reset, now, resumeAt) => {
    expect(
      analyzeAt(failedLine(`You've hit your 5-hour limit · resets ${reset}`), Date.parse(now)).usageLimit?.resumeAt,
    ).toBe(resumeAt);
  });
});

test.each<[string, string, string, string | null]>([
  [
    'an event without instant leaves it to the text',
    jsonLines(
      rateLimitLine({ status: 'rejected', rateLimitType: 'five_hour' }),
      failedLine("You've hit your weekly limit · resets 5pm"),
    ),
    'five-hour',
    '2026-11-21T17:00:00.000Z',
  ],
  [
    'an event without type has an unknown window',
    jsonLines(rateLimitLine({ status: 'rejected', resetsAt: RESETS_AT }), failedLine('x')),
    'unknown',
    '2026-11-21T23:34:02.000Z',
  ],
  ['an event that ends the stream needs no result', jsonLines(INIT, rejected), 'five-hour', '2026-11-21T23:34:02.000Z'],
  [
    'a field of the result that names the limit leaves window and instant to any text',
    failedLine('Your weekly budget is used up, it resets 5pm', { api_error: 'usage_limit_reached' }),
    'weekly',
    '2026-11-21T17:00:00.000Z',
  ],
  [
    'the window is that of the limit, not of the words behind it',
    failedLine("You've hit your limit · the weekly one is next"),
    'unknown',
    null,
  ],
  [
    'extra usage comes before other windows',
    failedLine("You're out of extra usage · weekly limit as well"),
    'extra',
    null,
  ],
  [
    'the synthetic message’s rate limit needs no status',
    jsonLines(INIT, syntheticLine('Hm.', 'rate_limit')),
    'unknown',
    null,
  ],
  [
    'the synthetic message’s overload needs no status',
    jsonLines(INIT, syntheticLine('Hm.', 'overloaded')),
    'unknown',
    null,
  ],
  [
    'an epoch may stand behind blanks',
    failedLine('\n Claude AI usage limit reached|1795303952'),
    'unknown',
    '2026-11-21T23:32:32.000Z',
  ],
  [
    'an epoch may be in milliseconds',
    failedLine('Claude AI usage limit reached|1795303952000'),
    'unknown',
    '2026-11-21T23:32:32.000Z',
  ],
  [
    'an epoch stands right behind the limit',
    failedLine('Claude AI usage limit reached · code|1795303952'),
    'unknown',
    null,
  ],
  ['an epoch has no fewer than nine digits', failedLine('Claude AI usage limit reached|12345678'), 'unknown', null],
])('%s', (_rule, output, window, resumeAt) => {
  expect(limitOf(output)).toEqual({ window, resumeAt });
});

test.each<[string, number, string | null]>([
  ['in seconds up to 100 billion', 1e11, '5138-11-16T09:46:40.000Z'],
  ['in milliseconds from there', 1e11 + 1, '1973-03-03T09:46:40.001Z'],
  ['in the year 9999 at the latest', 253_402_300_799_999, '9999-12-31T23:59:59.999Z'],
  ['unknown from the year 10000 on', 253_402_300_800_000, null],
  ['unknown far beyond that', 1e15, null],
  ['unknown when it is not an instant at all', 1e300, null],
])('a reset is %s', (_rule, resetsAt, resumeAt) => {
  const output = jsonLines(
    INIT,
    rateLimitLine({ status: 'rejected', resetsAt, rateLimitType: 'five_hour' }),
    failedLine('x'),
  );
  expect(limitOf(output)).toEqual({ window: 'five-hour', resumeAt });
});

test.each([
  ['another type keeps', 'seven_day', 'five-hour'],
  ['the same type clears', 'five_hour', null],
])('an allowed event of %s the rejected one', (_rule, rateLimitType, window) => {
  const output = jsonLines(
    INIT,
    rateLimitLine({ status: 'rejected', resetsAt: 1795304042, rateLimitType: 'five_hour' }),
    rateLimitLine({ status: 'allowed', rateLimitType }),
    failedLine('x'),
  );
  expect(analyzeAt(output).usageLimit?.window ?? null).toBe(window);
});

test.each([
  ['first', [2_000_000_000, 1_900_000_000]],
  ['last', [1_900_000_000, 2_000_000_000]],
])('of two rejected events the later reset counts, be it the %s', (_rule, resets) => {
  const [first, last] = resets.map((resetsAt, index) =>
    rateLimitLine({ status: 'rejected', resetsAt, rateLimitType: index === 0 ? 'five_hour' : 'seven_day' }),
  );
  expect(analyzeAt(jsonLines(INIT, first ?? '', last ?? '', failedLine('x'))).usageLimit?.resumeAt).toBe(
    '2033-05-18T03:33:20.000Z',
  );
});
