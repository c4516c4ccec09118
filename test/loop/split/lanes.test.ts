import { ASSUMED } from '../../../bench/fleet/fleet.ts';
import { failAt } from '../stage/faults/behind-the-call.ts';
import { describe, expect, test } from 'vitest';
import { deepTest, IS_DEEP } from '../../runs.ts';
import { MINUTE } from '../../unit/core/core-fixtures.ts';
import { finisher } from '../stage/behaviours.ts';
import { deriveConclusion } from '../../../src/core/outcome.ts';
import type { LaneId } from '../../../src/core/tasks/ids.ts';
import type { Project } from '../stage/project.ts';
import {
  addIssue,
  commented,
  createProject,
  type Event,
  finishOnce,
  labeled,
  runOnce,
  senderOf,
  storedBudget,
  storedRecord,
  type Run,
} from '../stage/run-action.ts';
import { type LanesRun, runLanes, runSplit } from '../stage/split.ts';
import { byChance, sideBySide } from '../stage/side-by-side.ts';
import { killAt, type KillingTap, open, type Tap, type When } from '../stage/tap.ts';

const LANES = ['queue', 'issue-2', 'issue-3'];

function dispatched(command: string): Event {
  return { name: 'workflow_dispatch', payload: { inputs: { command }, sender: senderOf('ann') } };
}

/** Creates a project with three issues that may be worked on side by side. */
function createShop(
  inputs: Readonly<Record<string, string>> = {},
  more: Readonly<Record<string, string>> = {},
): Project {
  const files = { 'src/a.ts': '', 'src/b.ts': '', 'src/c.ts': '', 'src/d.ts': '', 'src/e.ts': '', ...more };
  const project = createProject({ issues: [], files, agent: [finisher], inputs: { parallel: '3', ...inputs } });
  for (const [at, path] of Object.keys(files).slice(0, 3).entries())
    addIssue(project.forge, at + 1, { body: `Change ${path}` });
  return project;
}

/** Returns the lanes that a run still holds, and the number of reservations. */
function heldIn(project: Project): { readonly held: readonly string[]; readonly reserved: number } {
  return {
    held: LANES.filter((lane) => storedRecord(project, lane).lease !== null),
    reserved: storedBudget(project).reservations.length,
  };
}

const FREE = { held: [], reserved: 0 };

function endsOf({ lanes }: LanesRun): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries([...lanes].map(([lane, { publish }]) => [lane, publish?.end]));
}

function summedUp({ finish }: LanesRun): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries((finish?.together?.lanes ?? []).map(({ lane, run }) => [lane, run?.outcome.kind]));
}

test('a red base that several branches find at once is mailed once', async () => {
  const project = createShop({ verify: 'npm test' });
  project.verifier = {
    verify: () =>
      Promise.resolve({ kind: 'failed', command: 'npm test', code: 1, tail: '✖ main is red', durationMs: 1 }),
  };
  const run = await runLanes(project);
  expect(Object.values(endsOf(run))).toEqual(LANES.map(() => 'blocked (base_is_red)'));
  const texts = [...project.forge.notifications.values()].flatMap((thread) => [...thread.values()]);
  expect(texts.filter((text) => text.includes('base_is_red'))).toHaveLength(1);
  // The branches without a comment of their own stay silent as well.
  project.clock.advance(61 * MINUTE);
  await runLanes(project);
  const later = [...project.forge.notifications.values()].flatMap((thread) => [...thread.values()]);
  expect(later).toHaveLength(texts.length);
});

test('a run of one lane hands over in a folder of that name, and needs no summing up', async () => {
  const [plain, named] = [createProject({ agent: [finisher] }), createProject({ agent: [finisher] })];
  const { publish } = await runSplit(plain, { event: labeled(1) });
  const run = await runLanes(named, { event: labeled(1) });
  expect([...named.handoff.keys(), ...named.handoffs.keys()]).toEqual(['issue-1']);
  expect(endsOf(run)).toEqual({ 'issue-1': publish?.end });
  expect(named.origin.branches).toEqual(plain.origin.branches);
  expect(run.finish).toBeNull();
});

test('three lanes: each is published by itself, and the last job sums them up and holds nothing', async () => {
  const project = createShop();
  const run = await runLanes(project);
  const complete = 'complete (plan_complete)';
  expect(endsOf(run)).toEqual({ queue: complete, 'issue-2': complete, 'issue-3': complete });
  expect(summedUp(run)).toEqual({ queue: 'complete', 'issue-2': 'complete', 'issue-3': 'complete' });
  expect(project.forge.pulls.map(({ branch }) => branch).sort()).toEqual(LANES.map((lane) => `ralph/${lane}`).sort());
  expect(heldIn(project)).toEqual(FREE);
  expect(project.script.calls).toHaveLength(3);
});

deepTest('twenty lanes send at most the requests and writes that docs/scale.md gives', async () => {
  const inputs = { parallel: '20', 'max-open-prs': '0', 'max-iterations': '100', 'max-cost-usd': '0' };
  const paths = Array.from({ length: 17 }, (_, at) => `src/${String(at)}.ts`);
  const project = createShop(inputs, Object.fromEntries(paths.map((path) => [path, ''])));
  for (const [at, path] of paths.entries()) addIssue(project.forge, at + 4, { body: `Change ${path}` });
  const run = await runLanes(project);
  expect(run.lanes.size).toBe(20);
  expect(project.forge.requests().sent).toBeLessThanOrEqual(20 * ASSUMED.branchRequests);
  expect(project.forge.writes.length).toBeLessThanOrEqual(20 * ASSUMED.taskWrites);
});

test('the gate makes each kind of write for all lanes at the same moment, so that they go together', async () => {
  const kinds = ['forge.react', 'forge.changeLabels', 'remote.pushOn', 'forge.upsertComment'];
  const running: string[] = [];
  const seen: string[] = [];
  const tap: Tap = {
    ...open,
    call: async (name, call) => {
      if (!kinds.includes(name)) return open.call(name, call);
      running.push(name);
      // By now the others of its kind have begun.
      await new Promise(setImmediate);
      seen.push(running.join());
      const done = await call();
      await new Promise(setImmediate);
      running.splice(running.indexOf(name), 1);
      return done;
    },
  };
  await runLanes(createShop(), { gate: { tap } });
  expect(seen).toEqual(kinds.flatMap((kind) => Array(3).fill([kind, kind, kind].join())));
});

test('the dashboard is made once, by the last job, with the pull requests of all lanes', async () => {
  const project = createShop({ dashboard: 'true' });
  await runLanes(project);
  expect(project.forge.writes.filter((line) => line.includes('dashboard'))).toHaveLength(1);
  const [page] = [...project.forge.dashboards.values()];
  for (const { number } of project.forge.pulls) expect(page?.body).toContain(`**#${String(number)}**`);
});

test('auto-merge is armed for one lane alone, by the last job, and all pages have the order', async () => {
  const project = createShop({ 'auto-merge': 'true', verify: 'npm test' });
  await runLanes(project);
  expect(project.forge.writes.filter((line) => line.startsWith('armed '))).toEqual(['armed ralph/queue']);
  const [first = expect.fail()] = project.forge.pulls;
  for (const { body } of project.forge.pulls) expect(body).toContain(`Merge #${String(first.number)} next`);
  expect(first.body).toContain(`Auto-merge of #${String(first.number)} is on`);
});

/** Makes the server refuse one of the branches that the gate pushes. */
function refusePush({ remote }: Project, refused: number): Tap {
  let pushes = 0;
  return {
    ...open,
    call: async (name, call) => {
      if (name === 'remote.pushOn') remote.refusal = (pushes += 1) === refused ? 'declined' : null;
      const done = await call();
      if (name === 'remote.pushOn') remote.refusal = null;
      return done;
    },
  };
}

describe('a lane that fails takes nothing from the others', () => {
  test('killed in its loop', async () => {
    const project = createShop();
    const tap = killAt((name) => name === 'agent.call', 'before');
    const run = await runLanes(project, { loop: (lane) => (lane === 'issue-2' ? { tap } : {}) });
    expect(endsOf(run)).toMatchObject({ queue: 'complete (plan_complete)', 'issue-3': 'complete (plan_complete)' });
    expect(summedUp(run)).toEqual({ queue: 'complete', 'issue-2': 'cancelled', 'issue-3': 'complete' });
    expect(heldIn(project)).toEqual(FREE);
    // Nothing of the issue was begun, so it is the queue's again.
    expect(endsOf(await runLanes(project))).toEqual({ queue: 'complete (plan_complete)' });
  });

  test('cancelled in its loop; `fail-on` is its own', async () => {
    const project = createShop({ 'fail-on': 'cancelled' });
    const signal = AbortSignal.abort();
    const run = await runLanes(project, { loop: (lane) => (lane === 'issue-2' ? { signal } : {}) });
    expect(summedUp(run)).toEqual({ queue: 'complete', 'issue-2': 'cancelled', 'issue-3': 'complete' });
    const conclusions = [...run.lanes].map(([lane, { publish }]) => {
      const { report, machine } = publish ?? expect.fail();
      return [lane, deriveConclusion(report?.outcome ?? expect.fail(), machine.config.failOn)];
    });
    expect(Object.fromEntries(conclusions)).toEqual({ queue: 'success', 'issue-2': 'failure', 'issue-3': 'success' });
    expect(heldIn(project)).toEqual(FREE);
  });

  test('whose machine begins after its claim ended makes no call', async () => {
    const project = createShop();
    const run = await runLanes(project, { loop: (lane) => (lane === 'issue-3' ? { skewMs: 61 * MINUTE } : {}) });
    expect(run.lanes.get('issue-3')?.loop?.calls).toBe(0);
    expect(summedUp(run)).toEqual({ queue: 'complete', 'issue-2': 'complete', 'issue-3': 'failed' });
    expect(heldIn(project)).toEqual(FREE);
  });

  test('whose jobs are gone: the last job gives it back, and the next run continues with it', async () => {
    const project = createShop();
    const run = await runLanes(project, {
      loop: (lane) => (lane === 'issue-3' ? 'never' : {}),
      publish: (lane) => (lane === 'issue-3' ? 'never' : {}),
    });
    expect(summedUp(run)).toEqual({ queue: 'complete', 'issue-2': 'complete', 'issue-3': undefined });
    expect(heldIn(project).held).toEqual([]);
    const next = await runLanes(project);
    expect(endsOf(next)).toEqual({ 'issue-3': 'complete (plan_complete)' });
    // Nobody knows how much of its share the lost run has used, so that stays reserved.
    expect(heldIn(project)).toEqual({ held: [], reserved: 1 });
  });

  test('whose branch the server refuses ends in the gate', async () => {
    const project = createShop();
    const run = await runLanes(project, { gate: { tap: refusePush(project, 2) } });
    expect([...run.lanes.keys()]).toEqual(['queue', 'issue-3']);
    expect(run.gate.handedOver?.beside.map(({ outcome }) => outcome.kind)).toEqual(['failed']);
    expect(summedUp(run)).toEqual({ queue: 'complete', 'issue-2': 'failed', 'issue-3': 'complete' });
    expect(heldIn(project)).toEqual(FREE);
  });
});

describe('more lanes than machines', () => {
  const lanes = ['queue', 'issue-2', 'issue-3'];

  /** Creates a project with five issues, of which two machines work on three lanes. */
  function createLongQueue(inputs: Readonly<Record<string, string>> = {}): Project {
    const project = createShop({ parallel: '2', 'max-iterations': '20', 'max-cost-usd': '0', ...inputs });
    for (const [at, name] of ['d', 'e'].entries()) addIssue(project.forge, at + 4, { body: `Change src/${name}.ts` });
    return project;
  }

  const tooLate = 121 * MINUTE;

  test('one that waits for a machine begins hours after the gate, and the queue takes the rest', async () => {
    const project = createLongQueue();
    const late = (lane: LaneId) => (lane === 'issue-3' ? { skewMs: tooLate } : {});
    const run = await runLanes(project, { loop: late, publish: late });
    expect([...run.lanes.keys()]).toEqual(lanes);
    expect(summedUp(run)).toEqual({ queue: 'complete', 'issue-2': 'complete', 'issue-3': 'complete' });
    expect(project.script.calls).toHaveLength(5);
    expect(heldIn(project)).toEqual(FREE);
  });

  test.each<[LaneId, number]>([
    ['issue-2', 61 * MINUTE],
    ['issue-3', 2 * tooLate],
  ])('%s, whose machine begins after its claim ended, makes no call', async (late, skewMs) => {
    const project = createLongQueue();
    const run = await runLanes(project, { loop: (lane) => (lane === late ? { skewMs } : {}) });
    expect(summedUp(run)).toMatchObject({ queue: 'complete', [late]: 'failed' });
    expect(run.lanes.get(late)?.loop?.calls).toBe(0);
    expect(heldIn(project)).toEqual(FREE);
  });

  test('one that no machine ever takes is given back, and the next run works on it', async () => {
    const project = createLongQueue();
    const never = (lane: LaneId) => (lane === 'issue-3' ? 'never' : {});
    const run = await runLanes(project, { loop: never, publish: never });
    expect(summedUp(run)).toEqual({ queue: 'complete', 'issue-2': 'complete', 'issue-3': undefined });
    expect(heldIn(project).held).toEqual([]);
    expect(endsOf(await runLanes(project))).toEqual({ 'issue-3': 'complete (plan_complete)' });
  });

  test('one whose turn never came before the run was cancelled has used nothing', async () => {
    const project = createLongQueue();
    const run = await runLanes(project, { loop: (lane) => (lane === 'issue-3' ? 'never' : {}) });
    expect(summedUp(run)).toEqual({ queue: 'complete', 'issue-2': 'complete', 'issue-3': 'cancelled' });
    expect(heldIn(project)).toEqual(FREE);
    expect(run.lanes.get('issue-3')?.publish?.log.join('\n')).not.toContain('counts as used');
    // Nothing of the issue was begun, so it is the queue's again.
    expect(endsOf(await runLanes(project))).toEqual({ queue: 'complete (plan_complete)' });
  });

  test('one that was never begun has used nothing, even if its publishing job fails', async () => {
    const project = createLongQueue();
    const fails = { tap: failAt('place.record gate', { begun: true }) };
    const run = await runLanes(project, {
      loop: (lane) => (lane === 'issue-3' ? 'never' : {}),
      publish: (lane) => (lane === 'issue-3' ? fails : {}),
    });
    expect(heldIn(project)).toEqual(FREE);
    expect(storedBudget(project).windows.hour?.calls).toBe(
      [...run.lanes.values()].reduce((sum, { loop }) => sum + (loop?.calls ?? 0), 0),
    );
    expect(run.lanes.get('issue-3')?.publish?.log.join('\n')).not.toContain('counts as used');
  });

  test('are free as soon as GitHub says that their run has ended, if all machines of it are gone', async () => {
    const project = createLongQueue({ 'max-cost-usd': '12', 'max-cost-usd-per-day': '100' });
    await runLanes(project, { loop: () => 'never', publish: () => 'never', withoutFinish: true });
    expect(heldIn(project).held).toEqual(lanes);
    for (const ended of [null, 0]) {
      if (ended !== null) project.forge.endedAttempts.set('1', ended);
      expect((await runLanes(project)).gate.end).toBe('refused (another_run)');
    }
    project.forge.endedAttempts.set('1', 1);
    const ends = [await runLanes(project), await runLanes(project)].map(endsOf);
    const complete = 'complete (plan_complete)';
    expect(Object.assign({}, ...ends)).toMatchObject({ queue: complete, 'issue-2': complete, 'issue-3': complete });
    expect(heldIn(project).held).toEqual([]);
    // Nobody knows how much the dead run has used, so its reservations count for an hour.
    expect(heldIn(project).reserved).toBe(3);
  });

  test('are not begun with limits that are too small for their tasks', async () => {
    const run = await runLanes(createLongQueue({ 'max-iterations': '10' }));
    expect([...run.lanes.keys()]).toEqual(['queue', 'issue-2']);
    expect(run.gate.log.join('\n')).toContain('The limits of this run are enough for 2 of 3 branches.');
  });

  test('are claimed for as long as those before them and they may take', async () => {
    const project = createLongQueue();
    await playGate(
      project,
      killAt(() => false, 'before'),
    );
    const said = [2, 3].map((issue) => [...(project.forge.comments.get(issue)?.values() ?? [])].join());
    expect(said).toEqual([
      expect.stringContaining('Ralph is at work.** Iteration 1 of 5 began'),
      expect.stringContaining('Ralph is at work.** The run works on other branches first, then begins with'),
    ]);
    const times = lanes.map((lane) => (storedRecord(project, lane).lease?.durationMs ?? 0) / MINUTE);
    expect(times).toEqual([120, 120, 240]);
    const { reservations } = storedBudget(project);
    expect(lanes.map((lane) => reservations.find((one) => one.lane === lane)?.calls)).toEqual([10, 5, 5]);
  });
});

test('the only lane that the gate can open is published like a run of one lane, with the dashboard', async () => {
  const project = createShop({ dashboard: 'true', parallel: '2' });
  project.forge.issues.delete(3);
  const run = await runLanes(project, { gate: { tap: refusePush(project, 2) } });
  expect(endsOf(run)).toEqual({ queue: 'complete (plan_complete)' });
  expect(run.finish).toBeNull();
  const [page] = [...project.forge.dashboards.values()];
  for (const { number } of project.forge.pulls) expect(page?.body).toContain(`**#${String(number)}**`);
  expect(project.forge.pulls).toHaveLength(1);
});

test('if the gate cannot open the first lane, the others are summed up with it', async () => {
  const project = createShop({ dashboard: 'true' });
  const run = await runLanes(project, { gate: { tap: refusePush(project, 1) } });
  expect([...run.lanes.keys()]).toEqual(['issue-2', 'issue-3']);
  expect(summedUp(run)).toEqual({ queue: 'failed', 'issue-2': 'complete', 'issue-3': 'complete' });
  expect(heldIn(project)).toEqual(FREE);
  const [page] = [...project.forge.dashboards.values()];
  for (const { number } of project.forge.pulls) expect(page?.body).toContain(`**#${String(number)}**`);
  expect(project.forge.pulls).toHaveLength(2);
});

describe('a run of the queue that a person asks for by name works on several lanes', () => {
  test.each<[string, Event]>([
    ['a dispatched command', dispatched('run')],
    ['a comment on the pull request of the queue', commented('/ralph run', { issue: 101, isPullRequest: true })],
  ])('%s', async (_, event) => {
    const project = createShop({ 'max-open-prs': '0' });
    await runLanes(project);
    for (const [at, name] of ['d', 'e'].entries()) addIssue(project.forge, at + 4, { body: `Change src/${name}.ts` });
    const run = await runLanes(project, { event });
    const complete = 'complete (plan_complete)';
    expect(endsOf(run)).toEqual({ queue: complete, 'issue-5': complete });
    expect(run.finish).not.toBeNull();
  });
});

describe('the publishing job of a lane, killed at any moment', () => {
  test.each<When>(['before', 'after'])(
    '%s an effect: nothing stays claimed, and the others are complete',
    async (when) => {
      const publishWith = (tap: KillingTap) => (lane: LaneId) => (lane === 'issue-2' ? { tap } : {});
      const whole = killAt(() => false, when);
      await runLanes(createShop(), { publish: publishWith(whole) });
      expect(whole.calls.length).toBeGreaterThan(20);
      for (let stop = 1; stop <= whole.calls.length; stop += IS_DEEP ? 1 : 9) {
        const project = createShop();
        const tap = killAt((_name, number) => number === stop, when);
        const run = await runLanes(project, { publish: publishWith(tap) });
        expect(summedUp(run), tap.deathPoint()).toMatchObject({ queue: 'complete', 'issue-3': 'complete' });
        expect(heldIn(project).held, tap.deathPoint()).toEqual([]);
      }
    },
  );
});

test('the post step of a killed publishing job that works beside the last job books each call once', async () => {
  const whole = killAt(() => false, 'before');
  const calm = createShop();
  await runLanes(calm, { publish: (lane) => (lane === 'issue-2' ? { tap: whole } : {}) });
  const spent = storedBudget(calm).windows;
  const choose = byChance(1);
  for (let stop = 1; stop <= whole.calls.length; stop += IS_DEEP ? 1 : 5) {
    const project = createShop();
    const tap = killAt((_name, number) => number === stop, 'after');
    const publish = (lane: LaneId) => (lane === 'issue-2' ? { tap } : {});
    const { gate, lanes } = await runLanes(project, { publish, withoutFinish: true });
    const killed = lanes.get('issue-2')?.publish ?? expect.fail();
    const [first] = gate.handedOver?.lanes ?? expect.fail();
    const job = { ...first, phase: 'finish', run: 1 } as const;
    await sideBySide(
      [
        (beside) => runOnce(project, { job, hasProviderKey: false, tap: beside }),
        async (beside) => (await finishOnce(project, killed, { tap: beside })) ?? killed,
      ],
      choose,
    );
    expect(heldIn(project).held, tap.deathPoint()).toEqual([]);
    const { windows, reservations } = storedBudget(project);
    // A job that died before it read what the loop has used leaves the reservation.
    const reserved = reservations.map(({ calls }) => calls);
    if (stop === 1) expect([windows.hour?.calls, reserved], tap.deathPoint()).toEqual([2, [3]]);
    else expect([windows, reserved], tap.deathPoint()).toEqual([spent, []]);
  }
});

/** Plays only the gate, and post if it was killed. */
async function playGate(project: Project, tap: KillingTap): Promise<Run> {
  const job = { phase: 'gate', digest: '', lane: 'each', run: 1 } as const;
  const gate = await runOnce(project, { tap, hasProviderKey: false, job });
  if (gate.report === null && gate.handedOver === null) await finishOnce(project, gate);
  return gate;
}

describe('the job of the gate, killed at any moment, leaves nothing claimed', () => {
  test.each<When>(['before', 'after'])('%s an effect', async (when) => {
    const whole = killAt(() => false, when);
    const { handedOver } = await playGate(createShop(), whole);
    expect(handedOver?.lanes.map(({ lane }) => lane)).toEqual(LANES);
    // The last effect is the record that says that other jobs have the lanes.
    expect(whole.calls.at(-1)).toBe('place.record ended');
    for (let stop = 1; stop < whole.calls.length; stop += 1) {
      const project = createShop();
      const tap = killAt((_name, number) => number === stop, when);
      const gate = await playGate(project, tap);
      if (gate.handedOver !== null) continue;
      expect(heldIn(project), tap.deathPoint()).toEqual(FREE);
    }
  });
});

describe('the jobs of a run whose claims ended before its machines began', () => {
  test.each([
    ['loop', 'at work'],
    ['loop', 'done'],
    ['publish', 'at work'],
    ['publish', 'done'],
  ])('%s late, while the run that took over is %s: they leave its branches and pages alone', async (late, other) => {
    const project = createShop({ 'max-cost-usd-per-day': '100' });
    const begin = () =>
      runOnce(project, {
        hasProviderKey: false,
        job: { phase: 'gate', digest: '', lane: 'each', run: (project.runs += 1) },
      });
    const copyOf = (handed: Project['handoffs']) => new Map([...handed].map(([lane, files]) => [lane, new Map(files)]));
    const play = async ({ handedOver }: Run, run: number, phase: 'loop' | 'publish') => {
      const ends = new Map<LaneId, Run>();
      for (const { lane, digest } of handedOver?.lanes ?? []) {
        const loopResult = phase === 'publish' ? { loopResult: 'success' as const } : {};
        const job = { phase, digest, lane, run, ...loopResult };
        ends.set(lane, await runOnce(project, { job, hasProviderKey: phase === 'loop' }));
      }
      return ends;
    };
    const first = await begin();
    if (late === 'publish') await play(first, 1, 'loop');
    const ofFirst = copyOf(project.handoffs);
    project.clock.advance(130 * MINUTE);
    project.handoffs.clear();
    const second = await begin();
    expect(second.handedOver?.lanes.map(({ lane }) => lane)).toEqual(LANES);
    if (other === 'done') for (const phase of ['loop', 'publish'] as const) await play(second, 2, phase);
    const ofSecond = copyOf(project.handoffs);
    const seen = () => [
      [...project.origin.branches],
      project.forge.pulls,
      project.forge.comments,
      project.forge.issues,
    ];
    const before = structuredClone(seen());

    project.handoffs.clear();
    for (const [lane, files] of ofFirst) project.handoffs.set(lane, files);
    if (late === 'loop') for (const { calls } of (await play(first, 1, 'loop')).values()) expect(calls).toBe(0);
    for (const { end } of (await play(first, 1, 'publish')).values()) expect(end).toBe('failed (infrastructure)');
    expect(seen()).toEqual(before);

    project.handoffs.clear();
    for (const [lane, files] of ofSecond) project.handoffs.set(lane, files);
    if (other === 'done') return;
    await play(second, 2, 'loop');
    for (const { end } of (await play(second, 2, 'publish')).values()) expect(end).toBe('complete (plan_complete)');
    expect(heldIn(project)).toEqual(FREE);
  });
});
