import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseBudget } from '../../src/core/sharing/budget.ts';
import { parseRecord } from '../../src/core/sharing/lane-record.ts';
import { parseState, type LaneState } from '../../src/core/lane/state/state.ts';
import { IS_DEEP } from '../runs.ts';
import { ACTION_FOLDER } from '../../testbed/testbed.ts';
import { createScene, type Run, type Scene } from './e2e-fixture.ts';

const PRELOAD = join(ACTION_FOLDER, 'testbed', 'kill-at.ts');
/**
 * `npm run faults` kills before every effect; this file kills before some of the visible effects, and of those that
 * write the run's record to disk.
 */
const EVERY = process.env.RALPH_FAULTS === 'every';
const SEEN_BY_OTHERS = /^request (?!GET)|^process git push|^process (?!git)|^renameSync/;
const EVERY_NTH = IS_DEEP ? 5 : 30;

/** Main's external effects in order: two tasks with two iterations each. */
const effects = (await namesOfEffects()).map((name, index) => ({ name, at: index + 1 }));
const chosen = EVERY
  ? effects
  : effects.filter(({ name }) => SEEN_BY_OTHERS.test(name)).filter((_, index) => index % EVERY_NTH === 2);

test.each(chosen)(
  'SIGKILL before effect $at ($name): no finished work is lost, no second pull request is opened, and the next runs complete the queue',
  async ({ at }) => {
    await using scene = await createScene();
    scene.openIssue('One');
    scene.openIssue('Two');
    const killed = await runKilledAt(scene, at);
    expect(killed.main.signal).toBe('SIGKILL');
    const before = await commitsNow(scene);

    let calls = killed.calls;
    let last: Run = killed;
    for (let run = 0; run < 4 && last.outputs.outcome !== 'idle'; run += 1) {
      last = await scene.run();
      calls += last.calls;
      expect(last.outputs.outcome).not.toBe('refused');
    }
    expect(last.outputs).toMatchObject({ outcome: 'idle', reason: 'all_done' });
    // Four iterations do the work; at most the interrupted one is repeated.
    expect(calls).toBeLessThanOrEqual(5);
    const commits = await scene.commitsOf('ralph/queue');
    expect(commits.slice(0, before.length)).toEqual(before);
    // Work that was finished but not pushed together with its state is done once more.
    expect(['One One Two Two', 'One One One Two Two', 'One One Two Two Two']).toContain(
      commits.map((subject) => subject.replace(/, with a test$/, '')).join(' '),
    );
    expect(scene.pullOf('ralph/queue')).toMatchObject({ draft: false, status: { outcome: 'complete' } });

    const { state, lease } = await laneNow(scene);
    expect(lease).toBeNull();
    expect(Object.values(state.tasks).map((task) => task.state)).toEqual(['done', 'done']);
    const budget = parseBudget(await scene.testbed.git('show', 'refs/ralph/v2/state:usage.json'), Date.now());
    const counted = budget.kind === 'budget' ? (budget.budget.windows.hour?.calls ?? 0) : 0;
    expect(budget).toMatchObject({ kind: 'budget', budget: { reservations: [] } });
    // A call is charged before it is made.
    expect([calls, calls + 1]).toContain(counted);
  },
);

async function namesOfEffects(): Promise<readonly string[]> {
  await using scene = await createScene();
  scene.openIssue('One');
  scene.openIssue('Two');
  const run = await runKilledAt(scene, 0);
  expect(run, run.main.log).toMatchObject({ calls: 4, outputs: { outcome: 'complete' } });
  return readFileSync(effectsFile(scene), 'utf8').split('\n').filter(Boolean);
}

function runKilledAt(scene: Scene, at: number): Promise<Run> {
  return scene.run({
    env: {
      NODE_OPTIONS: `--no-warnings --import ${PRELOAD}`,
      RALPH_KILL_AT: String(at),
      RALPH_EFFECTS_FILE: effectsFile(scene),
    },
  });
}

function effectsFile(scene: Scene): string {
  return join(scene.testbed.folder, 'effects.txt');
}

async function commitsNow(scene: Scene): Promise<string[]> {
  const branches = await scene.testbed.git('branch', '--format=%(refname:short)');
  return branches.split('\n').includes('ralph/queue') ? scene.commitsOf('ralph/queue') : [];
}

async function laneNow(scene: Scene): Promise<{ readonly state: LaneState; readonly lease: unknown }> {
  const parsed = parseRecord(await scene.testbed.git('show', 'refs/ralph/v2/state:lanes/queue.json'), 'queue');
  if (parsed.kind !== 'record') throw new Error(`The record cannot be read: ${parsed.kind}`);
  const state = parseState(parsed.record.document ?? '', 'queue');
  if (state.kind !== 'state') throw new Error(`The state cannot be read: ${state.kind}`);
  return { state: state.state, lease: parsed.record.lease };
}
