import { expect, test } from 'vitest';
import { type LanesSetting, playLanes, renderLanes, UNLIMITED } from '../../../bench/fleet/lanes.ts';
import { IS_DEEP, runs } from '../../runs.ts';

const quiet = { seed: 1, callsOfTask: 2, files: 'apart', killed: 0, inputs: UNLIMITED } as const;

test.each([1, 2, 4, 10])(
  'independent tasks on N branches at once, %i for each, take at most 1/N of the time and 20 percent',
  async (times) => {
    for (let parallel = 2; parallel <= 20; parallel += IS_DEEP ? 1 : 3) {
      const tasks = times * parallel;
      const [one, many] = [
        await playLanes({ ...quiet, tasks, parallel: 1 }),
        await playLanes({ ...quiet, tasks, parallel }),
      ];
      expect([...one.problems, ...many.problems]).toEqual([]);
      expect(many.calls).toBe(one.calls);
      expect(many.minutes / one.minutes, String(parallel)).toBeLessThanOrEqual(1 / parallel + 0.2);
      // The queue of the next run may begin while the last branches of the one before are worked on.
      expect(many.atOnce).toBeLessThanOrEqual(parallel + 1);
    }
  },
);

test('several branches never take longer than one, also for queues that are longer', async () => {
  const rows = (await renderLanes(1)).split('\n').slice(2);
  for (const row of rows) expect(Number(/(\d+) % \|$/.exec(row)?.[1])).toBeLessThan(100);
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
