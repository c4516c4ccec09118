import { expect, test } from 'vitest';
import { formatTimeLeft, computeNextRest } from '../../../src/core/countdown.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

test('the rest of a five-hour wait is reported more often towards its end', () => {
  const told: string[] = [];
  for (let left = computeNextRest(300 * MINUTE); left > 0; left = computeNextRest(left))
    told.push(formatTimeLeft(left));
  expect(told.join(', ')).toBe(
    '4 h 30 min, 4 h, 3 h 30 min, 3 h, 2 h 30 min, 2 h, 1 h 30 min, 1 h, 45 min, 30 min, 15 min, 10 min, 5 min, 4 min, 3 min, 2 min, 1 min, 30 s',
  );
});

test.each([
  [90 * MINUTE, '1 h 30 min'],
  [60 * MINUTE, '1 h'],
  [59 * MINUTE + 1, '1 h'],
  [4 * MINUTE + 59 * SECOND, '5 min'],
  [MINUTE + 1, '2 min'],
  [MINUTE, '1 min'],
  [MINUTE - 1, '60 s'],
  [1, '1 s'],
  [0, '1 s'],
  [-5 * SECOND, '1 s'],
])('%i ms are rendered as %s: never less than the rest, and never as zero', (leftMs, words) => {
  expect(formatTimeLeft(leftMs)).toBe(words);
});
