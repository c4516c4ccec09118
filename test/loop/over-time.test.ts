import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HOUR, MINUTE, noon } from '../unit/core/core-fixtures.ts';
import {
  asker,
  crashing,
  denied,
  endless,
  finisher,
  liar,
  claimsBlocked,
  silent,
  steadyWorker,
  stuck,
  usageLimited,
  type Behaviour,
} from './stage/behaviours.ts';
import { createProject, runOnce, savedDocument, savedState } from './stage/run-action.ts';
import { runs } from '../runs.ts';

const DAY = 24 * HOUR;

describe('limits over many runs', () => {
  test('never more calls in an hour than max-calls-per-hour: the run parks, later ones end in the gate, the next hour works again', async () => {
    const project = createProject({
      agent: [steadyWorker],
      inputs: { 'max-calls-per-hour': '5', 'max-iterations': '3', 'max-iterations-per-task': '0' },
    });
    const runs = [];
    for (let count = 0; count < 6; count += 1) {
      runs.push(await runOnce(project));
      project.clock.advance(5 * MINUTE);
    }
    expect(runs.map(({ end, calls }) => [end, calls])).toEqual([
      ['limit (iterations)', 3],
      ['parked (calls_per_hour)', 2],
      ...Array.from({ length: 4 }, () => ['parked (calls_per_hour)', 0]),
    ]);
    expect(runs[1]?.outcome).toMatchObject({ resumeAt: noon + HOUR });
    expect(runs[2]?.work).toBeNull();

    project.clock.advance(noon + HOUR - project.clock.now());
    expect(await runOnce(project)).toMatchObject({ end: 'limit (iterations)', calls: 3 });
  });

  test.each<readonly [string, readonly Behaviour[], Readonly<Record<string, string>>]>([
    ['an open circuit', [stuck], {}],
    ['a task that was set aside', [stuck, stuck, stuck, finisher, finisher, finisher], { 'max-iterations': '4' }],
    ['a usage limit', [usageLimited(noon + 366 * DAY + 2 * HOUR)], {}],
    ['a window', [steadyWorker], { 'max-calls-per-hour': '2', 'max-iterations-per-task': '0' }],
  ])('%s of a machine whose clock was a year ahead ends in hours', async (_, agent, inputs) => {
    const project = createProject({ issues: [1, 2], agent, inputs });
    project.clock.advance(366 * DAY);
    await runOnce(project);
    project.clock.advance(-366 * DAY);
    project.script.behaviours = [finisher];
    const ends: string[] = [];
    for (let hours = 0; hours < 6; hours += 1) {
      ends.push((await runOnce(project)).end);
      project.clock.advance(HOUR);
    }
    expect(ends).toContain('complete (plan_complete)');
  });

  const behaviours = [
    steadyWorker,
    finisher,
    liar,
    stuck,
    asker,
    denied,
    crashing,
    silent,
    endless,
    claimsBlocked,
    usageLimited(noon + 2 * HOUR),
  ];
  test('with any agents and any starts of runs, no hour window exceeds its calls, and no run its iterations', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            gapMinutes: fc.integer({ min: 0, max: 40 }),
            agent: fc.array(fc.constantFrom(...behaviours), { minLength: 1, maxLength: 4 }),
          }),
          { minLength: 1, maxLength: 8 },
        ),
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 4 }),
        async (plan, perHour, perRun) => {
          const project = createProject({
            issues: [1, 2, 3],
            inputs: { 'max-calls-per-hour': String(perHour), 'max-iterations': String(perRun) },
          });
          const charges: { readonly openedAt: number; readonly calls: number }[] = [];
          for (const { gapMinutes, agent } of plan) {
            project.clock.advance(gapMinutes * MINUTE);
            project.script.behaviours = agent;
            const run = await runOnce(project);
            expect(run.work?.journal.length ?? 0).toBeLessThanOrEqual(perRun);
            charges.push(
              ...run.records.flatMap(({ work }) =>
                work.state.windows.hour === null || work.state.windows.hour.calls === 0
                  ? []
                  : [work.state.windows.hour],
              ),
            );
          }
          // Every call was charged.
          expect(savedState(project).ledger.reduce((sum, { calls }) => sum + calls, 0)).toBe(
            project.script.calls.length,
          );
          for (const { calls } of charges) expect(calls).toBeLessThanOrEqual(perHour);
          // The windows follow one another without overlaps.
          const opened = [...new Set(charges.map(({ openedAt }) => openedAt))].sort((a, b) => a - b);
          opened.slice(1).forEach((openedAt, index) => {
            expect(openedAt - (opened[index] ?? 0)).toBeGreaterThanOrEqual(HOUR);
          });
        },
      ),
      { numRuns: runs(60) },
    );
  });

  test('the money limit of a day parks the lane until midnight UTC', async () => {
    const project = createProject({ agent: [steadyWorker], inputs: { 'max-cost-usd-per-day': '0.02' } });
    expect(await runOnce(project)).toMatchObject({
      end: 'parked (cost_per_day)',
      calls: 2,
      outcome: { resumeAt: Date.parse('2026-11-22T00:00:00Z') },
    });
    project.clock.advance(11 * HOUR);
    expect(await runOnce(project)).toMatchObject({ end: 'parked (cost_per_day)', calls: 0 });
    project.clock.advance(HOUR);
    expect((await runOnce(project)).calls).toBe(2);
  });

  test("the agent's budget shrinks by what the run has spent", async () => {
    const project = createProject({ agent: [steadyWorker], inputs: { 'max-cost-usd': '0.035' } });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'limit (cost)', calls: 4 });
    expect(project.script.calls.map(({ budgetUsd }) => budgetUsd?.toFixed(3))).toEqual([
      '0.035',
      '0.025',
      '0.015',
      '0.005',
    ]);
  });

  test('without a limit the agent has no budget', async () => {
    const project = createProject({ agent: [finisher], inputs: { 'max-cost-usd': '0', 'max-cost-usd-per-day': '0' } });
    await runOnce(project);
    expect(project.script.calls[0]?.budgetUsd).toBeNull();
  });

  test("the agent's time shrinks with the run's, and names the limit that sets it", async () => {
    const project = createProject({
      agent: [steadyWorker],
      inputs: { 'max-minutes': '3', 'agent-timeout-minutes': '2' },
    });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'limit (minutes)', calls: 3 });
    expect(project.script.calls.map(({ timeoutMs, timeoutOf }) => [timeoutMs / MINUTE, timeoutOf])).toEqual([
      [2, 'call'],
      [2, 'call'],
      [1, 'run'],
    ]);
  });
});

describe('the circuit over several runs', () => {
  const openProject = async () => {
    const project = createProject({ agent: [stuck] });
    expect(await runOnce(project)).toMatchObject({
      end: 'halted (circuit_open)',
      calls: 3,
      outcome: { circuitReason: 'no_progress', tripped: 'this-run' },
    });
    return project;
  };

  test('makes a diagnosis of the last iteration before it would open', async () => {
    const project = await openProject();
    expect(project.script.calls.map(({ prompt }) => prompt.includes('This is a diagnosis'))).toEqual([
      false,
      false,
      true,
    ]);
  });

  test('while it cools down runs end in the gate, say so, and touch nothing', async () => {
    const project = await openProject();
    project.clock.advance(29 * MINUTE);
    const before = { state: savedDocument(project), writes: [...project.forge.writes] };
    const run = await runOnce(project);
    expect(run).toMatchObject({
      end: 'halted (circuit_open)',
      calls: 0,
      outcome: { tripped: 'earlier', probeAt: noon + 33 * MINUTE },
      work: null,
    });
    expect({ state: savedDocument(project), writes: project.forge.writes }).toEqual(before);
  });

  test('after the cooldown one probe without progress opens it again', async () => {
    const project = await openProject();
    project.clock.advance(30 * MINUTE);
    expect(await runOnce(project)).toMatchObject({
      end: 'halted (circuit_open)',
      calls: 1,
      outcome: { tripped: 'this-run' },
    });
    expect(savedState(project).circuit).toMatchObject({
      kind: 'open',
      totalOpens: 2,
      openedAt: project.clock.now(),
      taskId: 'issue-1',
    });
    expect(project.script.calls.at(-1)?.prompt).toContain('This is a probe');
    expect(await runOnce(project)).toMatchObject({ end: 'halted (circuit_open)', calls: 0 });
  });

  test('after the cooldown one probe with progress closes it, and the run continues', async () => {
    const project = await openProject();
    project.clock.advance(30 * MINUTE);
    project.script.behaviours = [steadyWorker, finisher];
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    expect(savedState(project).circuit).toMatchObject({ kind: 'closed', totalOpens: 1, noProgress: 0 });
  });

  test('the session does not survive it', async () => {
    expect(savedState(await openProject()).session).toBeNull();
  });

  test('circuit-auto-reset: every run begins closed', async () => {
    const project = await openProject();
    project.inputs = { 'circuit-auto-reset': 'true' };
    expect(await runOnce(project)).toMatchObject({
      end: 'halted (circuit_open)',
      calls: 3,
      outcome: { tripped: 'this-run' },
    });
  });

  test('iterations without progress add up over runs', async () => {
    const project = createProject({ agent: [stuck], inputs: { 'max-iterations': '1' } });
    expect((await runOnce(project)).end).toBe('limit (iterations)');
    expect((await runOnce(project)).end).toBe('limit (iterations)');
    expect((await runOnce(project)).end).toBe('halted (circuit_open)');
  });
});

describe("the provider's usage limit", () => {
  test('parks the lane: no call before its reset, work after it', async () => {
    const resetAt = noon + 3 * HOUR;
    const project = createProject({ agent: [usageLimited(resetAt)] });
    expect(await runOnce(project)).toMatchObject({
      end: 'parked (usage_limit)',
      calls: 1,
      outcome: { resumeAt: resetAt },
    });
    expect(savedState(project)).toMatchObject({
      park: { reason: 'usage_limit', resumeAt: resetAt, taskId: 'issue-1' },
      tasks: { 'issue-1': { attempts: 0 } },
      circuit: { kind: 'closed', noProgress: 0 },
    });

    project.script.behaviours = [finisher];
    project.clock.advance(resetAt - 1 - project.clock.now());
    expect(await runOnce(project)).toMatchObject({ end: 'parked (usage_limit)', calls: 0, work: null });

    project.clock.advance(1);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(savedState(project).park).toBeNull();
  });

  test('without a time parks for an hour', async () => {
    const project = createProject({
      agent: [
        () => ({
          exitCode: 1,
          output: {
            agentError: { kind: 'rate-limit', text: 'limit' },
            usageLimit: { window: 'unknown', resumeAt: null },
          },
        }),
      ],
    });
    expect(await runOnce(project)).toMatchObject({ outcome: { kind: 'parked', resumeAt: noon + MINUTE + HOUR } });
  });
});

describe('a call that only retried until it was ended', () => {
  const agentError = { kind: 'server', text: 'The provider answered HTTP 500, and the CLI only retried.' } as const;

  test('keeps its work and its conversation, and the next one continues', async () => {
    const cutOff: Behaviour = (call) => ({ ...steadyWorker(call), stalled: true, output: { agentError } });
    const project = createProject({ agent: [cutOff, finisher] });
    const run = await runOnce(project);
    expect(run).toMatchObject({
      end: 'complete (plan_complete)',
      work: {
        journal: [
          { evidence: { end: { kind: 'stalled' }, fileCount: 1 }, verdict: { progress: true, taskDone: false } },
          { evidence: { end: { kind: 'exited' } }, verdict: { taskDone: true } },
        ],
      },
    });
    expect(project.script.calls.map(({ resume }) => resume)).toEqual([null, 'session-1']);
  });

  test('does not count as an attempt at the task, but opens the circuit when nothing else comes', async () => {
    const project = createProject({ agent: [() => ({ stalled: true, output: { agentError } })] });
    expect(await runOnce(project)).toMatchObject({ end: 'halted (circuit_open)', calls: 3 });
    expect(savedState(project).tasks['issue-1']).toMatchObject({ state: 'in-progress', attempts: 0 });
  });
});
