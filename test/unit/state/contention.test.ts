import { expect, test } from 'vitest';
import { contend } from '../../../bench/contention.ts';

test.each([
  [2, 2, 10],
  [20, 15, 60],
  [100, 35, 240],
  [200, 50, 360],
])(
  '%i lanes that update at once are all kept: in %i writes each at most, and %i s of GitHub',
  async (lanes, writes, seconds) => {
    for (const seed of [1, 2, 3]) {
      const contended = await contend(lanes, seed);
      expect(contended.kept).toBe(lanes);
      expect(contended.mostWrites).toBeLessThanOrEqual(writes);
      expect(contended.seconds).toBeLessThanOrEqual(seconds);
    }
  },
);
