import { expect, test } from 'vitest';
import { codexReset } from '../../../../src/agents/codex/events/reset-time.ts';

test.each([
  ['later today', 'or try again at 10:38 AM.', '2026-11-22T09:00:00Z', '2026-11-22T10:38:00.000Z'],
  ['this evening', 'or try again at 8:05 PM.', '2026-11-22T09:00:00Z', '2026-11-22T20:05:00.000Z'],
  ['with a narrow blank', 'or try again at 8:05\u202fPM.', '2026-11-22T09:00:00Z', '2026-11-22T20:05:00.000Z'],
  ['over midnight', 'or try again at 1:05 AM.', '2026-11-22T23:50:00Z', '2026-11-23T01:05:00.000Z'],
  ['at midnight', 'or try again at 12:00 AM.', '2026-11-22T23:50:00Z', '2026-11-23T00:00:00.000Z'],
  ['at noon', 'or try again at 12:00 PM.', '2026-11-22T09:00:00Z', '2026-11-22T12:00:00.000Z'],
  ['over the end of the year', 'or try again at 12:30 AM.', '2026-12-31T23:59:30Z', '2027-01-01T00:30:00.000Z'],
  ['within this minute', 'or try again at 10:38 AM.', '2026-11-22T10:38:20Z', '2026-11-22T10:38:00.000Z'],
  ['on a day', 'try again at Nov 25th, 2026 8:41 AM.', '2026-11-22T09:00:00Z', '2026-11-25T08:41:00.000Z'],
  ['next year', 'try again at Jan 1st, 2027 12:00 AM.', '2026-12-29T09:00:00Z', '2027-01-01T00:00:00.000Z'],
  ['on a leap day', 'try again at Feb 29th, 2028 8:41 PM.', '2028-02-22T09:00:00Z', '2028-02-29T20:41:00.000Z'],
])('%s: %s', (_, text, now, instant) => {
  expect(codexReset(`You’ve hit your usage limit. ${text}`, Date.parse(now))).toBe(instant);
});

test.each([
  'or try again later.',
  'try again at 13:00 PM.',
  'try again at 10:75 AM.',
  'try again at 0:30 AM.',
  'try again at Feb 30th, 2027 8:41 AM.',
  'try again at Foo 3rd, 2027 8:41 AM.',
  'Please try again in 1.2s.',
  'try again at 10:38 AM. Then all is well.',
])('no time: %s', (text) => {
  expect(codexReset(text, Date.parse('2026-11-22T09:00:00Z'))).toBeNull();
});
