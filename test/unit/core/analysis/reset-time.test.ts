import { describe, expect, test } from 'vitest';
import { parseResetEpoch, parseResetTime } from '../../../../src/core/analysis/reset-time.ts';

const at = (text: string, now: string): string | null => parseResetTime(text, Date.parse(now));
const NOON = '2026-11-26T12:00:00Z';

describe('a clock', () => {
  test.each([
    ['later today', 'try again at 10:38 AM.', '2026-11-22T09:00:00Z', '2026-11-22T10:38:00.000Z'],
    ['with a narrow blank', 'try again at 8:05\u202fPM.', '2026-11-22T09:00:00Z', '2026-11-22T20:05:00.000Z'],
    ['over midnight', 'try again at 1:05 AM.', '2026-11-22T23:50:00Z', '2026-11-23T01:05:00.000Z'],
    ['12 AM', 'try again at 12:00 AM.', '2026-11-22T23:50:00Z', '2026-11-23T00:00:00.000Z'],
    ['12 PM', 'try again at 12:00 PM.', '2026-11-22T09:00:00Z', '2026-11-22T12:00:00.000Z'],
    ['over the end of the year', 'try again at 12:30 AM.', '2026-12-31T23:59:30Z', '2027-01-01T00:30:00.000Z'],
    ['in a zone', 'resets 5pm (Europe/Berlin)', NOON, '2026-11-26T16:00:00.000Z'],
    ['24 hours', 'resets 17:30', NOON, '2026-11-26T17:30:00.000Z'],
    ['noon', 'resets at noon', '2026-11-26T09:00:00Z', '2026-11-26T12:00:00.000Z'],
    ['midnight', 'Your quota resets at midnight.', NOON, '2026-11-27T00:00:00.000Z'],
    ['midnight of the Pacific', 'resets at midnight Pacific time', NOON, '2026-11-27T08:00:00.000Z'],
    [
      'of the session behind a spend limit',
      'your session limit resets 2:40pm (Asia/Jakarta)',
      '2026-09-02T05:00:00Z',
      '2026-09-02T07:40:00.000Z',
    ],
    ['the 31st of a month of 30 days', 'resets on the 31st', NOON, '2026-11-30T00:00:00.000Z'],
    ['the 31st of a month with it', 'resets on the 31st', '2026-12-01T12:00:00Z', '2026-12-31T00:00:00.000Z'],
    ['the 30th of February', 'resets on the 30th at 9am', '2027-02-10T12:00:00Z', '2027-02-28T09:00:00.000Z'],
    ['tomorrow', 'resets tomorrow at 9am', NOON, '2026-11-27T09:00:00.000Z'],
    ['a weekday', 'resets Monday at 9am (UTC)', NOON, '2026-11-30T09:00:00.000Z'],
    ['the next weekday', 'resets next Monday at 9am (UTC)', NOON, '2026-11-30T09:00:00.000Z'],
    ['a weekday alone', 'Your weekly limit resets on Friday.', NOON, '2026-11-27T00:00:00.000Z'],
    ['tomorrow alone', 'Please try again tomorrow.', NOON, '2026-11-27T00:00:00.000Z'],
    ['an offset', 'resets 3:30pm (UTC+2)', NOON, '2026-11-26T13:30:00.000Z'],
    ['an offset of half an hour', 'resets at 15:00 (GMT+05:30)', '2026-11-26T09:00:00Z', '2026-11-26T09:30:00.000Z'],
    ['an offset behind the time', 'resets at 16:00 +0200', NOON, '2026-11-26T14:00:00.000Z'],
    ['a zone in words', 'Your limit resets at 6 p.m. Eastern', NOON, '2026-11-26T23:00:00.000Z'],
    ['a zone in many words', 'resets at 6pm Central Standard Time', NOON, '2026-11-27T00:00:00.000Z'],
    ['a zone of Australia', 'available again at 23:30 AEST', NOON, '2026-11-26T13:30:00.000Z'],
    ['to continue', 'You can continue at 3:00 PM UTC', NOON, '2026-11-26T15:00:00.000Z'],
    ['an offset of three quarters', 'resets 5pm (UTC+05:45)', '2026-11-26T09:00:00Z', '2026-11-26T11:15:00.000Z'],
    ['an offset with a minus sign', 'resets at 5 pm (UTC−3)', NOON, '2026-11-26T20:00:00.000Z'],
    ['today', 'resets today at 5pm', NOON, '2026-11-26T17:00:00.000Z'],
    ['tomorrow behind the time', 'resets at 5pm tomorrow', NOON, '2026-11-27T17:00:00.000Z'],
    ['a weekday behind the time', 'resets 9am Monday', NOON, '2026-11-30T09:00:00.000Z'],
    ['every day', 'Quota resets daily at midnight Pacific Time', NOON, '2026-11-27T08:00:00.000Z'],
    ['every week', 'resets every Monday 00:00 UTC', NOON, '2026-11-30T00:00:00.000Z'],
    ['the same weekday', 'resets Thu 9am (UTC)', NOON, '2026-12-03T09:00:00.000Z'],
    ['every such weekday', 'Usage resets weekly on Mondays at 9:00 AM UTC', NOON, '2026-11-30T09:00:00.000Z'],
    ['tonight', 'resets tonight at midnight', NOON, '2026-11-27T00:00:00.000Z'],
    ['tonight alone', 'Your limit resets tonight.', NOON, '2026-11-27T00:00:00.000Z'],
    ['tonight behind the time', 'resets at midnight tonight', NOON, '2026-11-27T00:00:00.000Z'],
    ['12 noon', 'resets at 12 noon', '2026-11-26T09:00:00Z', '2026-11-26T12:00:00.000Z'],
    ['tomorrow morning', 'resets tomorrow morning at 9am', NOON, '2026-11-27T09:00:00.000Z'],
    ['by itself', 'your free usage resets automatically at midnight Pacific.', NOON, '2026-11-27T08:00:00.000Z'],
    ['a zone without brackets', 'resets at 3pm Europe/Berlin', NOON, '2026-11-26T14:00:00.000Z'],
    ['in a zone', 'resets at 3 PM in America/New_York', NOON, '2026-11-26T20:00:00.000Z'],
    ['of access', 'Access resets at 10:57 PM GMT-3.', NOON, '2026-11-27T01:57:00.000Z'],
    ['until', 'You are rate limited until 5:00 PM.', NOON, '2026-11-26T17:00:00.000Z'],
    ['restored', 'Your access will be restored at 5pm UTC', NOON, '2026-11-26T17:00:00.000Z'],
  ])('%s: %s at %s', (_rule, text, now, instant) => {
    expect(at(`You’ve hit your usage limit. ${text}`, now)).toBe(instant);
  });
});

describe('an instant that has passed', () => {
  test.each([
    ['six minutes ago', 'weekly limit · resets Nov 26, 11:54am (UTC)', '2026-11-26T11:54:00.000Z'],
    ['six minutes ago, without a date', 'resets 11:54am (UTC)', '2026-11-26T11:54:00.000Z'],
    ['59 minutes ago', 'resets 11:01', '2026-11-26T11:01:00.000Z'],
    ['an hour ago', 'resets 11:00', '2026-11-27T11:00:00.000Z'],
    ['an hour ago on a date', 'resets Nov 26, 11:00', '2027-11-26T11:00:00.000Z'],
  ])('%s: %s', (_rule, text, instant) => {
    expect(at(text, NOON)).toBe(instant);
  });
});

describe('a date', () => {
  test.each([
    ['of this year', 'resets Dec 1, 5pm', '2026-12-01T17:00:00.000Z'],
    ['with "at"', 'resets Dec 15 at 7pm', '2026-12-15T19:00:00.000Z'],
    ['of next year', 'resets Oct 9, 5pm', '2027-10-09T17:00:00.000Z'],
    ['with a year', 'resets Jan 3, 2027 at 5pm', '2027-01-03T17:00:00.000Z'],
    ['with a year and a zone', 'resets Jan 3, 2027 at 5pm (Europe/Berlin)', '2027-01-03T16:00:00.000Z'],
    ['with an ordinal', 'try again at Nov 30th, 2026 8:41 AM.', '2026-11-30T08:41:00.000Z'],
    [
      'written out',
      'Please wait for your limit to reset on December 2, 2026 at 2:00 AM or switch to auto',
      '2026-12-02T02:00:00.000Z',
    ],
    ['behind a time', 'resets at 5PM UTC on Dec 3', '2026-12-03T17:00:00.000Z'],
    ['behind a time and a comma', 'resets 3 PM, Nov 27th, 2027', '2027-11-27T15:00:00.000Z'],
    ['of JavaScript', 'resets at Thu Nov 26 2026 13:00:00 GMT+0000 (UTC)', '2026-11-26T13:00:00.000Z'],
    ['of an e-mail', 'reset at Thu, 26 Nov 2026 13:00:00 +0000', '2026-11-26T13:00:00.000Z'],
    ['of a field of Gemini', '"quotaResetTimeStamp":"2026-11-27T02:32:10Z"', '2026-11-27T02:32:10.000Z'],
    ['the day first', 'Resets on 1 Jan 2027', '2027-01-01T00:00:00.000Z'],
    ['the day of a month', 'resets on the 1st of December', '2026-12-01T00:00:00.000Z'],
    ['of a field', '"reset_time": "2026-11-27T09:00:00.123Z"', '2026-11-27T09:00:00.000Z'],
    ['of another field', '"resetTime":"2026-11-27T09:00:00Z"', '2026-11-27T09:00:00.000Z'],
    ['of a header of Anthropic', 'anthropic-ratelimit-tokens-reset: 2026-11-26T13:00:00Z', '2026-11-26T13:00:00.000Z'],
    ['without an hour', 'resets Dec 1', '2026-12-01T00:00:00.000Z'],
    ['a leap day', 'try again at Feb 29th, 2028 8:41 PM.', '2028-02-29T20:41:00.000Z'],
    ['ISO', 'resets at 2026-11-27T09:00:00Z', '2026-11-27T09:00:00.000Z'],
    ['ISO with an offset', 'resets at 2026-11-27T09:00:00+02:00', '2026-11-27T07:00:00.000Z'],
    ['in words and figures', 'You will regain access on 2026-12-01 at 00:00 UTC.', '2026-12-01T00:00:00.000Z'],
    ['with a zone in letters', 'resets 9:00 AM EST', '2026-11-26T14:00:00.000Z'],
    ['with another zone in letters', 'resets 5pm CET', '2026-11-26T16:00:00.000Z'],
    ['of an ISO date with a zone', 'resets at 2026-11-30 09:00 (Europe/Berlin)', '2026-11-30T08:00:00.000Z'],
    ['of an ISO date with an unknown zone', 'resets at 2026-11-30 09:00 (soon)', '2026-11-30T09:00:00.000Z'],
    ['of a header', 'Retry after Sun, 29 Nov 2026 13:00:00 GMT', '2026-11-29T13:00:00.000Z'],
    ['after a time', 'try again after 14:05', '2026-11-26T14:05:00.000Z'],
    ['to resume', 'You can resume at 6 PM', '2026-11-26T18:00:00.000Z'],
    ['of the past, with a year', 'try again at Nov 20th, 2026 8:41 AM.', '2026-11-20T08:41:00.000Z'],
    ['behind a 24-hour clock', 'Weekly limit: 0% left (resets 16:21 on 29 Nov)', '2026-11-29T16:21:00.000Z'],
    [
      'with slashes',
      'Your usage limits will reset when your monthly cycle ends on 12/2/2026.',
      '2026-12-02T00:00:00.000Z',
    ],
    ['with a slash', 'Monthly request limit reached - The limits reset on 12/01', '2026-12-01T00:00:00.000Z'],
    ['with slashes and a time', 'resets at 11/30/2026, 3:00:00 PM', '2026-11-30T15:00:00.000Z'],
    ['the first', 'Your premium requests will reset on the 1st of next month.', '2026-12-01T00:00:00.000Z'],
    ['the first in words', 'resets on the first day of next month', '2026-12-01T00:00:00.000Z'],
    ['the end of a month', 'Credits reset at the end of the month.', '2026-12-01T00:00:00.000Z'],
    ['a day of this month', 'Your plan renews on the 28th', '2026-11-28T00:00:00.000Z'],
    ['a day of any month, with a time', 'resets on the 1st at 9am (UTC)', '2026-12-01T09:00:00.000Z'],
    ['of next month, with a time', 'resets on the 1st of next month at 00:00 UTC', '2026-12-01T00:00:00.000Z'],
  ])('%s: %s', (_rule, text, instant) => {
    expect(at(text, NOON)).toBe(instant);
  });
});

describe('a span', () => {
  test.each([
    ['Please try again in 58 hours.', 58 * 3600],
    ['Your quota will reset after 14h32m10s.', 14 * 3600 + 32 * 60 + 10],
    ['Your quota will reset after 0s.', 0],
    ['or try again in 5 days 22 hours 3 minutes.', 5 * 86_400 + 22 * 3600 + 180],
    ['try again in 2h 5m', 2 * 3600 + 300],
    ['resets in 3 days', 3 * 86_400],
    ['Resets in 1 day, 2 hours and 30 minutes', 86_400 + 2 * 3600 + 1800],
    ['Please wait 587 hours 33 minutes before trying again.', 587 * 3600 + 33 * 60],
    ['wait 6 seconds for your limit to reset', 6],
    ['Please retry in 3600s.', 3600],
    ['Please retry in 41.5s.', 41.5],
    ['try again in about 2 weeks', 14 * 86_400],
    ['try again in an hour', 3600],
    ['Please try again in about an hour.', 3600],
    ['Please wait an hour.', 3600],
    ['Please try again in a few minutes.', 300],
    ['Expected quota reset within 24h.', 86_400],
    ['retry-after: 3600', 3600],
    ['Retry-After-Ms: 90000', 90],
    ['ratelimit-reset: 3600', 3600],
    ['X-RateLimit-Reset: 60', 60],
    ['x-ratelimit-reset-requests: 1m30s', 90],
    ['x-ratelimit-reset-tokens: 20s', 20],
    ['Your limit resets in three days', 3 * 86_400],
    ['You can send messages again in 2 hours', 7200],
    ['It unlocks in 45 minutes', 2700],
    ['resets in 1 month', 30 * 86_400],
    ['"quotaResetDelay":"14h32m10.5s"', 14 * 3600 + 32 * 60 + 10.5],
    ['"resets_in": "2h"', 7200],
    ['Cooldown: 30 seconds', 30],
    ['"retry_after_ms": 1500', 1.5],
    ['"retryDelay": "3600s"', 3600],
    ['"resets_in_seconds":7200', 7200],
  ])('%s', (text, seconds) => {
    expect(at(text, NOON)).toBe(new Date(Date.parse(NOON) + seconds * 1000).toISOString());
  });
});

test.each([
  ['"resets_at":1795300000', '2026-11-21T22:26:40.000Z'],
  ['"resets_at": 1795300000000', '2026-11-21T22:26:40.000Z'],
  ['"resetsAt":1795300000', '2026-11-21T22:26:40.000Z'],
  ['"resetTime": 1795300000000', '2026-11-21T22:26:40.000Z'],
  ['the limit will reset at 1795300000', '2026-11-21T22:26:40.000Z'],
  ['"next_reset": 1795300000', '2026-11-21T22:26:40.000Z'],
  ['x-ratelimit-reset: 1795300000', '2026-11-21T22:26:40.000Z'],
  ['Claude AI usage limit reached|1795300000', '2026-11-21T22:26:40.000Z'],
])('a number: %s', (text, instant) => {
  expect(at(text, NOON)).toBe(instant);
});

test('an epoch in seconds or ms, within four-digit years', () => {
  expect(parseResetEpoch(1_795_300_000)).toBe('2026-11-21T22:26:40.000Z');
  expect(parseResetEpoch(1_795_300_000_000)).toBe('2026-11-21T22:26:40.000Z');
  expect(parseResetEpoch(9e15)).toBeNull();
});

test.each([
  'or try again later.',
  'try again at 13:00 PM.',
  'try again at 10:75 AM.',
  'try again at 0:30 AM.',
  'try again at Feb 30th, 2027 8:41 AM.',
  'try again at Foo 3rd, 2027 8:41 AM.',
  'resets 5pm (Nowhere/Land)',
  'resets soon',
  'To continue, upgrade from 10 requests a day',
  'resets on 13/13/2026',
  'try again after the 2nd step',
  'resets on the 99th',
  'retried 5 times (total retry wait time: 59.35 seconds) Last error: 429',
  'raise it at claude.ai/settings/usage',
  'I resized 12 images in 5 hours',
  'resets at 15:00 (UTC+99)',
  'the monday report was reset',
  'We cannot continue after 30 turns',
  'the reset code is 123456',
])('no time: %s', (text) => {
  expect(at(text, '2026-11-22T09:00:00Z')).toBeNull();
});
