import { expect, test } from 'vitest';
import { MINUTE, noon } from '../../unit/core/core-fixtures.ts';
import { steadyWorker } from '../stage/behaviours.ts';
import { createProject, labeled, storedRuns } from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';

/** Runs an agent that takes ten minutes for each call, with a login that ends that many minutes after noon. */
async function runUntil(minutes: number | 'none' | 'never') {
  const ends = typeof minutes === 'number' ? new Date(noon + minutes * MINUTE).toISOString() : minutes;
  const project = createProject({
    agent: [(call) => ({ ...steadyWorker(call), minutes: 10 })],
    inputs: { 'login-ends': ends === 'never' ? '' : ends, 'circuit-no-progress': '20' },
  });
  const { loop, publish } = await runSplit(project, { event: labeled(1) });
  const log = (loop?.log ?? []).join('\n');
  return { project, log, publish, calls: loop?.machine.calls() ?? 0 };
}

test('a run with a stored key takes its time, and one with a shorter login ends before that, and says so first', async () => {
  const whole = await runUntil('never');
  const short = await runUntil(31);
  expect([whole.publish?.end, short.publish?.end]).toEqual(['limit (minutes)', 'limit (minutes)']);
  expect([whole.calls, short.calls]).toEqual([5, 3]);
  expect(whole.log).not.toContain('login');
  expect(short.log).toMatch(/The agent's login ends at .* before the 50 minutes .*, so this run works for 30 min only/);
  expect(short.log.indexOf("The agent's login ends")).toBeLessThan(short.log.indexOf('teration 1'));
  expect(storedRuns(short.project)).toHaveLength(1);
});

test.each([
  ['', /This workflow logs in for Claude Code only, and the run calls codex\. Use the workflow ralph\.yml/],
  [JSON.stringify({ steps: [{ name: 'work', type: 'agent', config: { agent: 'claude' } }] }), null],
])('a login that only a step can use, or nobody: %j', async (steps, why) => {
  const project = createProject({
    agent: [steadyWorker],
    files: steps === '' ? {} : { '.ralph/config.json': steps },
    inputs: { agent: 'codex', 'login-ends': new Date(noon + 60 * MINUTE).toISOString(), 'max-iterations': '1' },
  });
  const { loop, publish } = await runSplit(project, { event: labeled(1) });
  expect(publish?.end).toBe(why === null ? 'limit (iterations)' : 'failed (configuration)');
  expect(loop?.machine.calls() ?? 0).toBe(why === null ? 1 : 0);
  if (why !== null)
    expect(JSON.stringify([...project.forge.notifications.values()].map((one) => [...one]))).toMatch(why);
});

test.each<[number | 'none', RegExp]>([
  [1, /The agent's login ends at .*, too early for a call/],
  ['none', /This run has no login for its agent/],
])('a login that ends at %s: no call, and people read why', async (minutes, why) => {
  const { project, publish, calls } = await runUntil(minutes);
  expect([calls, publish?.end]).toEqual([0, 'failed (configuration)']);
  const told = [...project.forge.notifications.values()].flatMap((texts) => [...texts.values()]).join('\n');
  expect(told).toMatch(why);
});
