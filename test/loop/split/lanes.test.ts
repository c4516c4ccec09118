import { expect, test } from 'vitest';
import { finisher } from '../stage/behaviours.ts';
import { createProject, labeled } from '../stage/run-action.ts';
import { runLanes, runSplit } from '../stage/split.ts';

test('a run of one lane hands over in a folder of that name, and needs no summing up', async () => {
  const [plain, named] = [createProject({ agent: [finisher] }), createProject({ agent: [finisher] })];
  const { publish } = await runSplit(plain, { event: labeled(1) });
  const { lanes, finish } = await runLanes(named, { event: labeled(1) });
  expect([...lanes.keys()]).toEqual(['issue-1']);
  expect([...named.handoff.keys(), ...named.handoffs.keys()]).toEqual(['issue-1']);
  expect(lanes.get('issue-1')?.publish?.end).toBe(publish?.end);
  expect(named.origin.branches).toEqual(plain.origin.branches);
  expect(finish).toBeNull();
});
