import { describe, expect, test } from 'vitest';
import { MAX_USAGE_WAIT_MS } from '../../../src/core/agents/providers.ts';
import { computeExpiry } from '../../../src/core/sharing/lease.ts';
import { HOUR, MINUTE, noon } from '../../unit/core/core-fixtures.ts';
import { finisher, steadyWorker, usageLimited, type Behaviour } from '../stage/behaviours.ts';
import type { Project } from '../stage/project.ts';
import { createProject, runOnce, savedState, storedRecord } from '../stage/run-action.ts';

const waiting = {
  'on-limit': 'wait',
  'max-calls-per-hour': '2',
  'max-iterations': '5',
  'max-minutes': '300',
  'max-iterations-per-task': '0',
} as const;

describe('on-limit: wait', () => {
  test('a run waits for the next hour, as often as necessary, and never makes more calls in one than allowed', async () => {
    const project = createProject({ agent: [steadyWorker], inputs: waiting });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'limit (iterations)', calls: 5 });
    const begun = run.work?.journal.map(({ startedAt }) => Math.floor((startedAt - noon) / HOUR));
    expect(begun).toEqual([0, 0, 1, 1, 2]);
    expect(run.log).toContainEqual(
      expect.stringMatching(
        /^info: The limit of calls per hour is reached\. Waiting until 2026-11-21 13:00 UTC \(\d+ min\)/,
      ),
    );
    expect(run.log.filter((line) => /^info: Still waiting: \d+ min left\.$/.test(line)).length).toBeGreaterThan(2);
    // The journal replays to the same decisions, including the results of the waits.
    expect(run.journal.split('\n').filter((line) => line.includes('"kind":"wait"'))).toHaveLength(2);
  });

  test('a run that finds its limit reached waits before its first call, and holds its lane', async () => {
    const project = createProject({ agent: [steadyWorker], inputs: { ...waiting, 'max-iterations': '2' } });
    await runOnce(project);
    const slept: number[] = [];
    const second = await runOnce(project, { onSleep: (ms) => void slept.push(ms) });
    expect(second).toMatchObject({ end: 'parked (calls_per_hour)', calls: 2 });
    expect(Math.max(...slept)).toBeLessThanOrEqual(MINUTE);
    expect(second.work?.journal[0]?.startedAt).toBeGreaterThanOrEqual(noon + HOUR);
  });

  test.each([
    ['parks at once where its own time ends before', { 'max-minutes': '50' }, 'parked (calls_per_hour)', 2],
    ['parks where less than a call would be left', { 'max-minutes': '60' }, 'parked (calls_per_hour)', 2],
    ['waits where a call is left', { 'max-minutes': '61', 'max-iterations': '3' }, 'limit (iterations)', 3],
    ['does not wait for a call that it may not make', { 'max-iterations': '2' }, 'parked (calls_per_hour)', 2],
    ['park is the default', { 'on-limit': 'park' }, 'parked (calls_per_hour)', 2],
  ])('%s', async (_title, inputs, end, calls) => {
    const project = createProject({ agent: [steadyWorker], inputs: { ...waiting, ...inputs } });
    expect(await runOnce(project)).toMatchObject({ end, calls });
    expect(savedState(project).lastRun?.outcome).toBe(end.split(' ')[0]);
  });

  test("the run waits for the provider's own limit as well", async () => {
    const project = createProject({ agent: [usageLimited(noon + 2 * HOUR), finisher], inputs: waiting });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    expect(run.work?.journal[1]?.startedAt).toBeGreaterThanOrEqual(noon + 2 * HOUR);
  });

  test('a cancel ends the wait, and finished work is kept', async () => {
    const project = createProject({ agent: [steadyWorker], inputs: waiting });
    const cancel = new AbortController();
    const run = await runOnce(project, {
      signal: cancel.signal,
      onSleep: () => {
        cancel.abort();
      },
    });
    expect(run).toMatchObject({ end: 'cancelled (signal)', calls: 2 });
    expect(project.clock.now()).toBeLessThan(noon + HOUR);
  });

  test('an order to stop ends the wait', async () => {
    const project = createProject({ agent: [steadyWorker], inputs: waiting });
    let isGiven = false;
    const run = await runOnce(project, {
      onSleep: async () => {
        if (!isGiven)
          await runOnce(project, { event: { name: 'workflow_dispatch', payload: { inputs: { command: 'stop' } } } });
        isGiven = true;
      },
    });
    expect(run).toMatchObject({ end: 'parked (calls_per_hour)', calls: 2 });
    expect(project.clock.now()).toBeLessThan(noon + 30 * MINUTE);
    expect((await runOnce(project)).end).toBe('paused (by_person)');
  });
});

describe("on-limit: wait at home, where waiting does not count towards the run's time", () => {
  const atHome = { maxWaitMs: MAX_USAGE_WAIT_MS };
  const lasting =
    (minutes: number): Behaviour =>
    (call) => ({ ...steadyWorker(call), minutes });

  test('a run waits for any number of fresh hours, however short max-minutes is', async () => {
    const project = createProject({ agent: [steadyWorker], inputs: { ...waiting, 'max-minutes': '10' } });
    const run = await runOnce(project, atHome);
    expect(run).toMatchObject({ end: 'limit (iterations)', calls: 5 });
    const begun = run.work?.journal.map(({ startedAt }) => Math.floor((startedAt - noon) / HOUR));
    expect(begun).toEqual([0, 0, 1, 1, 2]);
  });

  test('after a wait it has its remaining time', async () => {
    const inputs = { ...waiting, 'max-minutes': '24.5', 'max-iterations': '9' };
    const project = createProject({ agent: [lasting(8)], inputs });
    const run = await runOnce(project, atHome);
    // Three calls take 24 minutes, and less than one minute is left.
    expect(run).toMatchObject({ end: 'limit (minutes)', calls: 3 });
    expect(run.work?.journal[2]?.startedAt).toBeGreaterThanOrEqual(noon + HOUR);
    expect(run.work?.waitSkippedBy).toBeNull();
  });

  test('in a job the same run does not wait, and says why', async () => {
    const inputs = { ...waiting, 'max-minutes': '25', 'max-iterations': '9' };
    const run = await runOnce(createProject({ agent: [lasting(8)], inputs }));
    expect(run).toMatchObject({ end: 'parked (calls_per_hour)', calls: 2, work: { waitSkippedBy: 'minutes' } });
  });

  test('it does not wait for longer than it may, and says why', async () => {
    const project = createProject({ agent: [steadyWorker], inputs: { ...waiting, 'max-minutes': '10' } });
    const run = await runOnce(project, { maxWaitMs: 70 * MINUTE });
    expect(run).toMatchObject({ end: 'parked (calls_per_hour)', calls: 4, work: { waitSkippedBy: 'minutes' } });
  });

  test('it does not wait for a call that another limit forbids, and names that limit', async () => {
    const inputs = { ...waiting, 'max-iterations': '2' };
    const run = await runOnce(createProject({ agent: [steadyWorker], inputs }), atHome);
    expect(run).toMatchObject({ end: 'parked (calls_per_hour)', work: { waitSkippedBy: 'iterations' } });
  });

  test('its claim never expires while it waits or works', async () => {
    const project = createProject({ agent: [lasting(8)], inputs: { ...waiting, 'max-minutes': '25' } });
    const leftMs: number[] = [];
    await runOnce(project, {
      ...atHome,
      onSleep: () => void leftMs.push(claimEnds(project) - project.clock.now()),
      onRecord: (work) => {
        // The final save of the run releases the claim.
        if (work.outcome.reason === 'killed') leftMs.push(claimEnds(project) - project.clock.now());
      },
    });
    expect(leftMs.length).toBeGreaterThan(20);
    expect(Math.min(...leftMs)).toBeGreaterThan(5 * MINUTE);
  });
});

function claimEnds(project: Project): number {
  const { lease } = storedRecord(project);
  if (lease === null) throw new Error('The lane is not claimed.');
  return computeExpiry(lease);
}
