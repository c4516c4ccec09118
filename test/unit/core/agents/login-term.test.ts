import { describe, expect, test } from 'vitest';
import { loginTermField, parseInputText } from '../../../../src/config/fields.ts';
import { describeMissingIsolation, limitRunTime, type LoginTerm } from '../../../../src/core/agents/login-term.ts';
import { MINUTE_MS } from '../../../../src/core/countdown.ts';

const NOW = Date.UTC(2026, 0, 31, 12);
const endsIn = (minutes: number): LoginTerm => ({ kind: 'until', endsAt: NOW + minutes * MINUTE_MS });

describe('how long a run of 50 minutes works', () => {
  test.each<[string, LoginTerm, number | null]>([
    ['with a stored key', { kind: 'lasting' }, 50],
    ['with a login of an hour', endsIn(60), 50],
    ['with a login that ends a minute later', endsIn(51), 50],
    ['with a login that ends with it: a minute is spared', endsIn(50), 49],
    ['with a login of half an hour', endsIn(30), 29],
    ['with the shortest login that allows a run', endsIn(3), 2],
    ['with a shorter one', endsIn(2.9), null],
    ['with a login that is over', endsIn(-1), null],
    ['without the login that it asked for', { kind: 'absent' }, null],
  ])('%s', (_, term, minutes) => {
    const time = limitRunTime(term, { now: NOW, maxRunMs: 50 * MINUTE_MS });
    if (minutes === null) expect(time).toMatchObject({ kind: 'unusable' });
    else expect(time).toMatchObject({ kind: 'limit', maxRunMs: minutes * MINUTE_MS });
    expect(time.kind === 'limit' && time.warning === null).toBe(minutes === 50);
  });

  test('people read the instant, what it means and what to do', () => {
    expect(limitRunTime(endsIn(30), { now: NOW, maxRunMs: 50 * MINUTE_MS })).toMatchObject({
      warning:
        "The agent's login ends at 2026-01-31 12:30 UTC, before the 50 minutes of `max-minutes` are over, so this run works for 29 min only. Let the provider give a longer login, or lower `max-minutes`.",
    });
    expect(limitRunTime(endsIn(1), { now: NOW, maxRunMs: 50 * MINUTE_MS })).toMatchObject({
      problem: expect.stringMatching(
        /^The agent's login ends at 2026-01-31 12:01 UTC, too early .* `max-minutes`/,
      ) as string,
    });
    expect(limitRunTime({ kind: 'absent' }, { now: NOW, maxRunMs: 1 })).toMatchObject({
      problem: expect.stringMatching(/`aws-role`.*`timeout-minutes`/) as string,
    });
    expect(describeMissingIsolation('No sudo.')).toMatch(
      /`id-token: write`.* No call was made\. No sudo\. Use a runner with sudo/,
    );
    expect(describeMissingIsolation(null)).toContain('No call was made. Use a runner');
  });
});

describe('the input login-ends', () => {
  test.each<[string, LoginTerm]>([
    ['', { kind: 'lasting' }],
    ['none', { kind: 'absent' }],
    ['2026-01-31T12:00:00Z', { kind: 'until', endsAt: NOW }],
    // As the action of AWS gives it.
    ['"2026-01-31T12:00:00.000Z"', { kind: 'until', endsAt: NOW }],
    ['2026-01-31T13:00:00+01:00', { kind: 'until', endsAt: NOW }],
  ])('%j', (text, term) => {
    expect(parseInputText(loginTermField, text)).toEqual({ value: term, problems: [] });
  });

  test.each(['soon', '60', '2026-01-31', '""', 'None'])('%j is refused', (text) => {
    expect(parseInputText(loginTermField, text).problems).toEqual([
      'must be `none`, or an instant such as 2026-01-31T12:00:00Z',
    ]);
  });
});
