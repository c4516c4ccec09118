import { expect, test } from 'vitest';
import { type LanesSetting, limitsFor, partOfOne, playLanes, UNLIMITED } from '../../../bench/fleet/lanes.ts';
import { IS_DEEP, runs } from '../../runs.ts';

const TIMES = IS_DEEP ? [1, 2, 4, 6, 10] : [1, 4, 6];
const CASES = [2, 3, 5].flatMap((callsOfTask) => TIMES.map((times) => [callsOfTask, times] as const));

test.each(CASES)(
  'independent tasks of %i calls on N branches at once, %i for each, take at most 1/N of the time and 20 percent',
  async (callsOfTask, times) => {
    for (let parallel = 2; parallel <= 20; parallel += IS_DEEP ? 1 : 6) {
      const setting = { seed: 1, parallel, callsOfTask, tasks: times * parallel };
      const { part, bound, played } = await partOfOne(setting, limitsFor);
      expect(played.flatMap(({ problems }) => problems)).toEqual([]);
      expect(new Set(played.map(({ calls }) => calls)).size).toBe(1);
      expect(part, String(parallel)).toBeLessThanOrEqual(bound);
      // The queue of the next run may begin while the last branches of the one before are worked on.
      for (const { atOnce } of played) expect(atOnce).toBeLessThanOrEqual(parallel + 1);
    }
  },
);

test('several branches never take longer than one, also with the default limits and with tasks of one call', async () => {
  for (const callsOfTask of [1, 2, 3])
    for (const parallel of [2, 3, 5, 10])
      for (const limits of [limitsFor, () => ({})])
        for (const times of [1, 4]) {
          const { part } = await partOfOne({ seed: 1, parallel, callsOfTask, tasks: times * parallel }, limits);
          expect(part, `${String(parallel)} branches, ${String(callsOfTask)} calls`).toBeLessThan(1);
        }
});

test('no task is worked on twice, no reservation is lost, and nothing waits forever, whatever is killed', async () => {
  for (let seed = 1; seed <= runs(300); seed += 1) {
    const setting: LanesSetting = {
      ...{ seed, parallel: 1 + (seed % 7), tasks: 3 + (seed % 11), callsOfTask: 1 + (seed % 3) },
      ...{ files: seed % 4 === 0 ? 'apart' : 'mixed', killed: (seed % 3) * 0.2 },
      // Without such limits, branches wait for machines.
      inputs:
        seed % 2 === 0
          ? UNLIMITED
          : { 'max-iterations': String(4 + (seed % 9)), 'max-calls-per-hour': String(6 + (seed % 20)) },
    };
    expect({ setting, problems: (await playLanes(setting)).problems }).toEqual({ setting, problems: [] });
  }
});
