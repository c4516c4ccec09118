import { expect, test } from 'vitest';
import { nextMark } from '../../../src/core/countdown.ts';

const MINUTE = 60_000;

test('a wait of five hours is told of twelve times, more often towards its end', () => {
  const marks: number[] = [];
  for (let left = nextMark(300 * MINUTE); left > 0; left = nextMark(left)) marks.push(left / MINUTE);
  expect(marks).toEqual([270, 240, 210, 180, 150, 120, 90, 60, 45, 30, 15, 10, 5]);
});
