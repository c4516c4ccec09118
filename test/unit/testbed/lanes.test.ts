import { expect, test } from 'vitest';
import { type LanesSetting, playLanes, renderLanes } from '../../../bench/fleet/lanes.ts';
import { runs } from '../../runs.ts';

const quiet = { seed: 1, callsOfTask: 2, files: 'apart', killed: 0, inputs: { 'max-iterations': '80' } } as const;

test.each([2, 3, 5, 10, 20])(
  '%i independent tasks on as many branches take 1/N of the time and 20 percent',
  async (parallel) => {
    const [one, many] = [
      await playLanes({ ...quiet, tasks: parallel, parallel: 1 }),
      await playLanes({ ...quiet, tasks: parallel, parallel }),
    ];
    expect([...one.problems, ...many.problems]).toEqual([]);
    expect(many.calls).toBe(one.calls);
    expect(many.minutes / one.minutes).toBeLessThanOrEqual(1 / parallel + 0.2);
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
      inputs: { 'max-iterations': String(4 + (seed % 9)), 'max-calls-per-hour': String(6 + (seed % 20)) },
    };
    expect({ setting, problems: (await playLanes(setting)).problems }).toEqual({ setting, problems: [] });
  }
});
