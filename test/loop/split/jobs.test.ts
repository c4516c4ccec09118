import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { parseReceipts } from '../../../src/core/receipt/receipt.ts';
import { MINUTE, noon } from '../../unit/core/core-fixtures.ts';
import { asker, claimsBlocked, finisher, silent, steadyWorker, stuck, usageLimited } from '../stage/behaviours.ts';
import type { Project } from '../stage/project.ts';
import {
  commented,
  createProject,
  labeled,
  recordOf,
  runOnce,
  savedDocument,
  savedState,
  storedBudget,
  storedRecord,
  storedRuns,
  schedule,
  finishOnce,
  type Event,
} from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';
import { killAt, open, type Tap } from '../stage/tap.ts';

/**
 * Returns everything that outlives a run, except the sequence numbers of states and comments, which depend on the
 * number of writes.
 */
function outlives(project: Project, lane: string): unknown {
  const { forge, origin } = project;
  const saved = savedDocument(project, lane) === null ? null : savedState(project, lane);
  const world = {
    branches: [...origin.branches],
    pulls: forge.pulls,
    labels: [...forge.issues.values()].map(({ number, labels }) => [number, [...labels].sort()]),
    comments: [...forge.comments].map(([thread, texts]) => [thread, [...texts.values()]]),
    notifications: [...forge.notifications].map(([thread, texts]) => [thread, [...texts.values()]]),
    state: saved,
    budget: storedBudget(project),
    runs: storedRuns(project).map((run) => ({ ...run, journal: run.journal !== null, requests: null })),
  };
  return JSON.parse(
    JSON.stringify(world, (key, value: unknown) => (['sequence', 'comment', 'journalHash'].includes(key) ? 0 : value))
      // A page shows the state from which a run began.
      .replaceAll(/restored #\P{N}*\d+/gu, 'restored #N'),
  ) as unknown;
}

function leaseOf(project: Project, lane = 'queue') {
  return storedRecord(project, lane).lease;
}

test('the job that publishes keeps the receipt with the journal of the other job', async () => {
  const project = createProject({ agent: [finisher], inputs: { receipts: 'true' } });
  const { publish } = await runSplit(project, { event: labeled(1) });
  const kept = parseReceipts(gunzipSync(publish?.machine.receipt ?? Buffer.alloc(0)).toString());
  expect(kept?.map(({ journal }) => journal)).toEqual([storedRuns(project)[0]?.journal]);
});

test('a hand-over that fails after an iteration is a warning, and the next one has its work', async () => {
  const project = createProject({ issues: [1, 2], agent: [finisher] });
  let failures = 0;
  const tap: Tap = {
    ...open,
    call: (name, call) => {
      const isFirst = name === 'handoff.move' && failures === 0;
      if (!isFirst) return call();
      failures += 1;
      return Promise.reject(new Error('The disk is full.'));
    },
  };
  const { loop, publish } = await runSplit(project, { loop: { tap } });
  expect(failures).toBe(1);
  expect(loop?.log.join('\n')).toContain('the next hand-over includes it: The disk is full.');
  expect(publish).toMatchObject({ end: 'complete (plan_complete)' });
  const { commits, branches } = project.origin;
  const published = Object.keys(commits.get(branches.get('ralph/queue') ?? '')?.tree ?? {});
  expect(published).toEqual(expect.arrayContaining(['src/issue-1.ts', 'src/issue-2.ts']));
});

describe('three jobs have the same results as one job', () => {
  test.each<[string, Parameters<typeof createProject>[0], Event]>([
    ['two issues of the queue, done', { issues: [1, 2], agent: [finisher] }, schedule],
    ['a labelled issue, done', { agent: [finisher] }, labeled(1)],
    [
      'a pipeline of two calls and a command, with a step that runs once',
      {
        issues: [1, 2],
        agent: [steadyWorker, finisher],
        files: {
          '.ralph/config.json': JSON.stringify({
            steps: [
              { type: 'agent', name: 'setup', config: { marker_file: 'done', prompt_file: 'setup.md' } },
              { type: 'agent', name: 'work' },
              { type: 'command', name: 'lint', config: { command: 'npm run lint' } },
            ],
          }),
          'setup.md': 'Set it up.',
        },
      },
      schedule,
    ],
    ['an agent that comes to no end', { agent: [steadyWorker], inputs: { 'max-iterations': '3' } }, schedule],
    ['a stuck task and an easy one', { issues: [1, 2], agent: [stuck, stuck, stuck, finisher] }, schedule],
    ['an agent that is blocked', { agent: [claimsBlocked] }, schedule],
    ['an agent that asks and changes nothing', { agent: [asker] }, labeled(1)],
    ['a limit of the provider', { agent: [usageLimited(noon + 90 * MINUTE)] }, schedule],
    ['an agent that forgets its block', { agent: [silent], inputs: { 'max-iterations': '2' } }, schedule],
    ['work that is verified', { agent: [finisher], inputs: { verify: 'npm test' } }, labeled(1)],
  ])('%s', async (_, setting, event) => {
    const lane = event === schedule ? 'queue' : 'issue-1';
    const [one, three] = [createProject(setting), createProject(setting)];
    const whole = await runOnce(one, { event });
    const split = await runSplit(three, { event });
    expect([split.publish?.end, split.loop?.calls]).toEqual([whole.end, whole.calls]);
    expect(outlives(three, lane)).toEqual(outlives(one, lane));
    // The next run continues in the same way: branch, conversation, circuit.
    for (const project of [one, three]) project.clock.advance(2 * 60 * MINUTE);
    const [next, after] = [await runOnce(one), await runSplit(three)];
    expect([after.publish?.end ?? after.gate.end, after.loop?.calls ?? 0]).toEqual([next.end, next.calls]);
    expect(outlives(three, lane)).toEqual(outlives(one, lane));
    expect(three.script.calls.map(({ resume }) => resume)).toEqual(one.script.calls.map(({ resume }) => resume));
  });

  test('a command and an irrelevant event end in the gate', async () => {
    const project = createProject();
    const asked = await runSplit(project, { event: commented('/ralph status', { issue: 1 }) });
    expect([asked.gate.end, asked.loop, asked.gate.handedOver]).toEqual(['idle (answered)', null, null]);
    const other = await runSplit(project, { event: labeled(1, 'ann', 'bug') });
    expect([other.gate.end, other.loop]).toEqual(['idle (not_for_us)', null]);
  });
});

/** Returns a tap that lets a process use only some of its ports. */
function only(...ports: readonly string[]): { readonly tap: Tap; readonly refused: string[] } {
  const refused: string[] = [];
  const check = (name: string): void => {
    if (!ports.some((port) => name.startsWith(`${port}.`))) refused.push(name);
  };
  return {
    refused,
    tap: {
      ...open,
      call: (name, call) => {
        check(name);
        return call();
      },
    },
  };
}

test('the job of the loop makes no request beyond its own machine', async () => {
  const project = createProject({ issues: [1, 2], agent: [finisher] });
  const { tap, refused } = only('place', 'files', 'repository', 'agent', 'verifier', 'handoff');
  const { publish } = await runSplit(project, { loop: { tap } });
  expect([publish?.end, refused]).toEqual(['complete (plan_complete)', []]);
});

test('work that the token may not push does not start the job of the loop: the gate tries it, and says so', async () => {
  const project = createProject({ agent: [finisher] });
  project.remote.refusal = 'protected branch hook declined';
  const { gate, loop } = await runSplit(project);
  expect([gate.end, loop, project.script.calls]).toEqual(['failed (configuration)', null, []]);
  expect(gate.report?.outcome).toMatchObject({ message: expect.stringContaining('protected branch hook declined') });
  expect(leaseOf(project)).toBeNull();
});

describe('a job of the loop without usable results', () => {
  test('that never began: the lane is free, its reservation counts as used, and people see the reason', async () => {
    const project = createProject({ agent: [finisher], inputs: { 'max-cost-usd': '2', 'max-iterations': '4' } });
    const { publish } = await runSplit(project, { event: labeled(1), withoutLoop: true });
    expect(publish?.end).toBe('failed (infrastructure)');
    expect(leaseOf(project, 'issue-1')).toBeNull();
    expect(storedBudget(project)).toMatchObject({
      reservations: [],
      windows: { hour: { calls: 4 }, day: { costUsd: 2 } },
    });
    expect([...project.origin.branches.keys()]).toEqual(['main']);
    expect(JSON.stringify([...project.forge.comments].map(([, texts]) => [...texts.values()]))).toContain(
      'ended without handing over its work',
    );
    // The next run can work.
    expect(await runSplit(project, { event: labeled(1) })).toMatchObject({
      publish: { end: 'complete (plan_complete)' },
    });
  });

  test('that has no key: nothing was spent, and the requester is notified', async () => {
    const project = createProject({ agent: [finisher] });
    const { loop, publish } = await runSplit(project, { event: labeled(1), loop: { hasProviderKey: false } });
    expect([loop?.end, publish?.end]).toEqual(['failed (configuration)', 'failed (configuration)']);
    expect(publish?.outcome).toMatchObject({ message: expect.stringContaining('There is no key for the agent.') });
    expect(storedBudget(project)).toMatchObject({ reservations: [], windows: { hour: null } });
    expect(leaseOf(project, 'issue-1')).toBeNull();
    expect(project.forge.writes.filter((write) => write.startsWith('notified'))).toEqual(['notified on #1']);
  });

  test('that began more than an hour after the gate makes no call', async () => {
    const project = createProject({ agent: [finisher] });
    const { publish } = await runSplit(project, { loop: { skewMs: 61 * MINUTE } });
    expect([publish?.end, project.script.calls]).toEqual(['failed (infrastructure)', []]);
  });
});

test('killed in its second call, the job of the loop has handed over its first iteration', async () => {
  const project = createProject({ issues: [1, 2], agent: [finisher] });
  let calls = 0;
  const tap = killAt((name) => name === 'agent.call' && (calls += 1) === 2, 'before');
  const { publish } = await runSplit(project, { loop: { tap } });
  expect(publish?.end).toBe('cancelled (killed)');
  expect(savedState(project).tasks).toMatchObject({ 'issue-1': { state: 'done' } });
  expect(project.forge.pulls).toHaveLength(1);
  expect(leaseOf(project)).toBeNull();
  expect(await runSplit(project)).toMatchObject({ publish: { end: 'complete (plan_complete)' }, loop: { calls: 1 } });
});

test('killed at any call of a second hand-over, the job of the loop has handed over the first', async () => {
  const behindFirst = async (stop: number | null): Promise<{ readonly done: boolean; readonly calls: number }> => {
    const project = createProject({ issues: [1, 2], agent: [finisher] });
    let [agentCalls, handed] = [0, 0];
    const tap = killAt((name) => {
      if (name === 'agent.call') agentCalls += 1;
      return agentCalls === 2 && name.startsWith('handoff.') && (handed += 1) === stop;
    }, 'before');
    const { publish } = await runSplit(project, { loop: { tap } });
    // After its last parcel, the loop had nothing left to do.
    expect(['complete (plan_complete)', 'cancelled (killed)']).toContain(publish?.end);
    return { done: savedState(project).tasks['issue-1']?.state === 'done', calls: handed };
  };
  const { calls } = await behindFirst(null);
  expect(calls).toBeGreaterThan(4);
  for (let stop = 1; stop <= calls; stop += 1)
    expect(await behindFirst(stop), `#${String(stop)}`).toMatchObject({ done: true });
});

test('a run that left out more than fits into a parcel is published anyway', async () => {
  const project = createProject({ agent: [finisher] });
  const { publish } = await runSplit(project, {
    loop: {
      prepare: (checkout) => {
        const { commit } = checkout;
        // Only the first iteration has withheld files, so the claim of the next one is accepted.
        let left = 1500;
        checkout.commit = async (iteration) => {
          const withheld = Array.from({ length: left }, (_, at) => ({ path: `file-${String(at)}`, why: 'too large' }));
          left = 0;
          return { ...(await commit(iteration)), withheld };
        };
      },
    },
  });
  expect(publish?.end).toBe('complete (plan_complete)');
});

test('a cancelled job of the loop hands over its finished work', async () => {
  const cancel = new AbortController();
  const project = createProject({
    issues: [1, 2],
    agent: [
      finisher,
      (call) => {
        cancel.abort();
        return steadyWorker(call);
      },
    ],
  });
  const { publish } = await runSplit(project, { loop: { signal: cancel.signal } });
  expect(publish?.end).toBe('cancelled (signal)');
  expect(savedState(project).tasks).toMatchObject({ 'issue-1': { state: 'done' } });
});

test.each(['handoff.read', 'remote.push', 'forge.openPullRequest', 'refs.write'])(
  'the job that publishes, killed at its first %s: post does the rest, or gives the lane back',
  async (point) => {
    const project = createProject({ agent: [finisher] });
    const run = await runSplit(project);
    expect(run.publish?.end).toBe('complete (plan_complete)');
    const again = createProject({ agent: [finisher] });
    const split = await runSplit(again, { publish: { tap: killAt((name) => name === point, 'before') } });
    if (split.publish === null) throw new Error('It did not run.');
    await finishOnce(again, split.publish);
    expect(leaseOf(again)).toBeNull();
    expect(recordOf(split.publish.machine).claimed).not.toBeUndefined();
  },
);
