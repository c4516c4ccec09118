import { describe, expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import { selectWorkedReport } from '../../../src/report/facts.ts';
import { buildOutputs } from '../../../src/report/pages/outputs.ts';
import { renderSummary } from '../../../src/report/pages/summary.ts';
import { HOUR } from '../../unit/core/core-fixtures.ts';
import { finisher, steadyWorker, type Behaviour } from '../stage/behaviours.ts';
import type { Machine } from '../stage/machine.ts';
import { createProject, finishOnce, green, runOnce, savedState, type Run } from '../stage/run-action.ts';
import type { Project } from '../stage/project.ts';
import { runSplit } from '../stage/split.ts';
import { killAt } from '../stage/tap.ts';

const COST = 3;
const paid =
  (behaviour: Behaviour): Behaviour =>
  (call) => {
    const act = behaviour(call);
    return { ...act, output: { ...act.output, tokens: 1_000, costUsd: COST } };
  };
const limits = { 'max-cost-usd-per-day': '5', 'max-iterations': '1', verify: 'npm test' };
const broken = new UserError('infrastructure', 'The work tree cannot be put back as it was.');
const bug = new TypeError('a bug');

/** A fault after a call, at any step of the run. */
type Fault = (project: Project, machine: Machine) => void;
const inCheckout =
  (method: Parameters<Machine['checkout']['faults']['set']>[0], error: Error): Fault =>
  (_project, { checkout }) => {
    checkout.faults.set(method, error);
  };

/** Faults for each step between the end of a call and the end of the run. */
const faults: readonly (readonly [string, Fault])[] = [
  ['the evidence', inCheckout('snapshot', broken)],
  ['the evidence, unexpectedly', inCheckout('snapshot', bug)],
  ['committing', inCheckout('commit', broken)],
  ['comparing', inCheckout('compare', bug)],
  ['putting back', inCheckout('putBack', broken)],
  [
    'verify',
    (project) => {
      Object.assign(project.verifier, { verify: () => Promise.reject(broken) });
    },
  ],
  ['leaving the tree', inCheckout('checkOutTree', broken)],
  [
    'pushing',
    ({ remote }) => {
      for (const push of ['push', 'pushOn', 'pushWithState'] as const) remote.faults.set(push, bug);
    },
  ],
  [
    'the pull request',
    ({ forge }) => {
      forge.faults.set('openPullRequest', bug);
    },
  ],
  [
    'a comment',
    ({ forge }) => {
      forge.faults.set('upsertComment', bug);
    },
  ],
  [
    "the run's record",
    (_project, machine) => {
      machine.diskProblem = broken;
    },
  ],
];

/** Plays three runs with the fault after the first call of each run. */
async function playThree(fault: Fault): Promise<{ readonly project: Project; readonly runs: readonly Run[] }> {
  const project = createProject({ issues: [1, 2, 3, 4], agent: [paid(finisher)], inputs: limits });
  const runs: Run[] = [];
  for (let nth = 0; nth < 3; nth += 1) {
    project.verifier = { ...green };
    const main = await runOnce(project, {
      onRecord: (_work, _checkout, machine) => {
        if (machine.calls() > 0) fault(project, machine);
      },
    });
    runs.push(main);
    await finishOnce(project, main);
    project.remote.faults.clear();
    project.forge.faults.clear();
    project.clock.advance(HOUR);
  }
  return { project, runs };
}

describe('a paid call is booked, whatever fails after it:', () => {
  test.each(faults)('%s', async (_what, fault) => {
    const { project, runs } = await playThree(fault);
    expect(runs.map(({ calls }) => calls)).toEqual([1, 1, 0]);
    expect(runs.at(-1)?.end).toBe('parked (cost_per_day)');
    for (const { report } of runs.slice(0, 2)) {
      if (report === null) throw new Error('a run without a report');
      const outputs = buildOutputs(report, { path: null, hash: null, receipt: null, history: null });
      expect([outputs['cost-usd'], outputs['tokens']]).toEqual(['3.0000', '1000']);
      expect(renderSummary(report)).toContain('$3.00');
      expect(selectWorkedReport(report)?.costUsd).toBe(COST);
    }
    expect(savedState(project).ledger).toMatchObject([{ calls: 2, tokens: 2_000, costUsd: 2 * COST }]);
  });
});

test.each([
  [
    'the day',
    { 'max-cost-usd-per-day': '0.8', 'max-cost-usd': '0', 'max-iterations-per-task': '20' },
    'parked (cost_per_day)',
  ],
  ['the run', { 'max-cost-usd': '0.8', 'max-iterations-per-task': '20' }, 'limit (cost)'],
])('a limit for %s that calls reach exactly is reached, whatever the sum is rounded to', async (_, inputs, end) => {
  const tenth: Behaviour = (call) => {
    const made = steadyWorker(call);
    return { ...made, output: { ...made.output, costUsd: 0.1 } };
  };
  const project = createProject({ agent: [tenth], inputs });
  // The sum of eight tenths is 0.7999999999999999.
  expect(await runOnce(project)).toMatchObject({ end, calls: 8 });
});

test('the call is recorded before anything else is done', async () => {
  const seen: (readonly [number, number])[] = [];
  const project = createProject({ agent: [paid(steadyWorker)], inputs: { 'max-iterations': '1' } });
  await runOnce(project, {
    onRecord: ({ state, journal }) => {
      seen.push([state.ledger[0]?.costUsd ?? 0, journal.length]);
    },
  });
  const [first] = seen.filter(([costUsd]) => costUsd > 0);
  expect(first).toEqual([COST, 0]);
});

test("the cost of a killed call's requests counts", async () => {
  const costly: Behaviour = (call) => ({ ...steadyWorker(call), spendsUsd: 2 });
  const project = createProject({ agent: [costly], inputs: { 'max-cost-usd-per-day': '3' } });
  const ends: string[] = [];
  for (let nth = 0; nth < 3; nth += 1) {
    const main = await runOnce(project, { tap: killAt((name) => name === 'agent.call', 'after') });
    const post = await finishOnce(project, main);
    ends.push((post ?? main).end);
    project.clock.advance(HOUR);
  }
  expect(ends).toEqual(['cancelled (killed)', 'cancelled (killed)', 'parked (cost_per_day)']);
  expect(savedState(project).ledger).toMatchObject([{ calls: 2, costUsd: 4 }]);
});

describe('three jobs', () => {
  test.each([
    ['a loop that failed behind its call', inCheckout('snapshot', broken)],
    ['a loop whose work tree is lost', inCheckout('bundle', broken)],
  ])('%s: actual use counts, and not the reservation', async (_what, fault) => {
    const project = createProject({ agent: [paid(finisher)], inputs: { 'max-iterations': '4' } });
    await runSplit(project, {
      loop: {
        onRecord: (_work, _checkout, machine) => {
          if (machine.calls() > 0) fault(project, machine);
        },
      },
    });
    expect(savedState(project).ledger).toMatchObject([{ calls: 1, costUsd: COST }]);
  });

  test("the cost of a killed call's requests counts", async () => {
    const costly: Behaviour = (call) => ({ ...steadyWorker(call), spendsUsd: 2 });
    const project = createProject({ agent: [costly], inputs: { 'max-cost-usd-per-day': '3' } });
    const ends: (string | undefined)[] = [];
    for (let nth = 0; nth < 3; nth += 1) {
      const tap = killAt((name) => name === 'agent.call', 'after');
      const { gate, publish } = await runSplit(project, { loop: { tap } });
      ends.push((publish ?? gate).end);
      project.clock.advance(HOUR);
    }
    expect(ends).toEqual(['cancelled (killed)', 'cancelled (killed)', 'parked (cost_per_day)']);
    expect(savedState(project).ledger).toMatchObject([{ calls: 2, costUsd: 4 }]);
  });

  test('a loop whose commits are lost on the way: actual use counts, and not the reservation', async () => {
    const project = createProject({ agent: [paid(finisher)], inputs: { 'max-iterations': '4' } });
    const { publish } = await runSplit(project, {
      beforePublish: (_handoff, { origin }) => {
        origin.bundles.clear();
      },
    });
    expect(publish?.outcome).toMatchObject({
      message: expect.stringMatching(/commits .*what its calls used is booked/),
    });
    expect(savedState(project).ledger).toMatchObject([{ calls: 1, costUsd: COST }]);
  });

  test('use beyond the limit counts, too, and the work is published', async () => {
    const dear: Behaviour = (call) => ({ ...finisher(call), output: { ...finisher(call).output, costUsd: 12 } });
    const project = createProject({ agent: [dear], inputs: { 'max-cost-usd': '5' } });
    const { publish } = await runSplit(project);
    expect(publish?.end).toBe('complete (plan_complete)');
    expect(savedState(project).ledger).toMatchObject([{ calls: 1, costUsd: 12 }]);
  });
});
