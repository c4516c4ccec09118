import { expect, test } from 'vitest';
import { DAY_MS, formatInstant, HOUR_MS, MINUTE_MS } from '../../../src/core/countdown.ts';

test('units of time are in milliseconds', () => {
  expect([MINUTE_MS, HOUR_MS, DAY_MS]).toEqual([60_000, 3_600_000, 86_400_000]);
});

test('an instant is shown to the minute, in UTC', () => {
  expect(formatInstant(Date.UTC(2026, 10, 22, 4, 16, 59, 999))).toBe('2026-11-22 04:16 UTC');
});
