import { describe, expect, test } from 'vitest';
import {
  asker,
  boaster,
  crashing,
  denied,
  endless,
  finisher,
  forgetful,
  liar,
  claimsBlocked,
  silent,
  steadyWorker,
  stuck,
  usageLimited,
  type Behaviour,
} from './stage/behaviours.ts';
import { HOUR, MINUTE, noon } from '../unit/core/core-fixtures.ts';
import { createProject, green, labeled, makeRed, red, runOnce, savedState } from './stage/run-action.ts';

const row = (
  name: string,
  agent: readonly Behaviour[],
  expected: {
    readonly end: string;
    readonly calls: number;
    readonly task: string;
    readonly pushed: boolean;
    readonly inputs?: Readonly<Record<string, string>>;
  },
) => ({ name, agent, inputs: {}, ...expected });

describe('one run over one issue, by the kind of agent', () => {
  test.each([
    row('finishes in one call', [finisher], { end: 'complete (plan_complete)', calls: 1, task: 'done', pushed: true }),
    row('works on and on', [steadyWorker], {
      end: 'limit (iterations)',
      calls: 8,
      task: 'in-progress',
      pushed: true,
      inputs: { 'max-iterations': '8', 'max-iterations-per-task': '0' },
    }),
    row('finishes on the last allowed iteration', [steadyWorker, steadyWorker, finisher], {
      end: 'complete (plan_complete)',
      calls: 3,
      task: 'done',
      pushed: true,
      inputs: { 'max-iterations': '3' },
    }),
    row('claims everything without a change', [liar], {
      end: 'halted (circuit_open)',
      calls: 3,
      task: 'in-progress',
      pushed: false,
    }),
    row('is stuck', [stuck], { end: 'halted (circuit_open)', calls: 3, task: 'in-progress', pushed: false }),
    row('asks a person: the first question is forgiven', [asker], {
      end: 'halted (circuit_open)',
      calls: 4,
      task: 'in-progress',
      pushed: false,
    }),
    row('is refused a tool twice', [denied], {
      end: 'halted (circuit_open)',
      calls: 2,
      task: 'in-progress',
      pushed: false,
    }),
    row('is refused a tool, with on-permission-denied: halt', [denied], {
      end: 'halted (permission_denied)',
      calls: 1,
      task: 'in-progress',
      pushed: false,
      inputs: { 'on-permission-denied': 'halt' },
    }),
    row('is refused tools, with on-permission-denied: continue', [denied], {
      end: 'halted (circuit_open)',
      calls: 3,
      task: 'in-progress',
      pushed: false,
      inputs: { 'on-permission-denied': 'continue' },
    }),
    row('meets the limit of its provider', [steadyWorker, usageLimited(noon + 3 * HOUR)], {
      end: 'parked (usage_limit)',
      calls: 2,
      task: 'in-progress',
      pushed: true,
    }),
    row('crashes', [crashing], { end: 'halted (circuit_open)', calls: 3, task: 'in-progress', pushed: false }),
    row('works but never says so', [silent], { end: 'blocked (needs_human)', calls: 8, task: 'failed', pushed: true }),
    row('never comes to an end: each call is cut off', [endless], {
      end: 'halted (circuit_open)',
      calls: 3,
      task: 'in-progress',
      pushed: false,
    }),
    row("never comes to an end: the run's own deadline is no fault of the agent", [endless], {
      end: 'limit (minutes)',
      calls: 1,
      task: 'in-progress',
      pushed: false,
      inputs: { 'max-minutes': '10' },
    }),
    row('says BLOCKED', [claimsBlocked], { end: 'blocked (needs_human)', calls: 2, task: 'blocked', pushed: false }),
  ])('$name', async ({ agent, inputs, end, calls, task, pushed }) => {
    const project = createProject({ agent, inputs });
    const run = await runOnce(project);
    expect({
      end: run.end,
      calls: run.calls,
      task: savedState(project).tasks['issue-1']?.state,
      pushed: project.origin.branches.has('ralph/queue'),
    }).toEqual({ end, calls, task, pushed });
    expect(run.work?.journal.length).toBe(calls);
    expect(project.script.calls.every(({ isLaid }) => isLaid)).toBe(true);
  });
});

describe('completion', () => {
  test('is detected at once with a passing verification: no call is spent on asking', async () => {
    const project = createProject({ agent: [finisher], inputs: { verify: 'npm test' } });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });

  test('does not come while the verification fails', async () => {
    const project = createProject({ agent: [finisher], inputs: { verify: 'npm test', 'max-iterations': '3' } });
    makeRed(project);
    expect(await runOnce(project)).toMatchObject({ end: 'limit (iterations)', calls: 3 });
    expect(savedState(project).tasks['issue-1']?.state).toBe('in-progress');
  });

  test('comes with a verification that passes the second time, whatever count of files the agent repeats', async () => {
    const signal = { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1, filesModified: 1 } as const;
    const agent: Behaviour = () => ({ writes: { 'src/a.ts': 'x' }, output: { signal } });
    const project = createProject({ agent: [agent], inputs: { verify: 'npm test' } });
    let ran = 0;
    project.verifier = { verify: (call) => ((ran += 1) === 2 ? red : green).verify(call) };
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
  });

  test('names the commit that finished each task', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher] });
    const run = await runOnce(project);
    const commits = run.work?.journal.map(({ commit }) => commit);
    expect(Object.values(savedState(project).tasks).map(({ doneCommit }) => doneCommit)).toEqual(commits);
    expect(commits?.at(-1)).toBe(project.origin.branches.get('ralph/queue'));
  });

  test('of work that an earlier run left on the branch is detected without stored memory of it', async () => {
    const confirms: Behaviour = () => ({
      output: { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } },
    });
    const project = createProject({ agent: [steadyWorker], inputs: { 'state-store': 'none', 'max-iterations': '1' } });
    await runOnce(project);
    project.script.behaviours = [confirms];
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });

  test('is vetoed while other tasks are open, and the agent learns of it', async () => {
    const project = createProject({ issues: [1, 2, 3], agent: [boaster] });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 3 });
    expect(run.work?.journal.map(({ taskId, verdict }) => [taskId, verdict.vetoes.length])).toEqual([
      ['issue-1', 1],
      ['issue-2', 1],
      ['issue-3', 0],
    ]);
    expect(project.script.calls[1]?.prompt).toContain('Your claim that everything is done was overruled');
  });

  test('is not accepted from an agent that only claims it, however often', async () => {
    const project = createProject({ issues: [1, 2], agent: [liar], inputs: { 'circuit-no-progress': '100' } });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'halted (safety)', calls: 5 });
    expect(savedState(project).tasks['issue-1']?.state).toBe('in-progress');
  });
});

describe('one task after another', () => {
  test('each gets an iteration of its own, and its own line in the pull request', async () => {
    const project = createProject({ issues: [3, 1, 2], agent: [finisher] });
    const run = await runOnce(project);
    expect(run.work?.journal.map(({ taskId }) => taskId)).toEqual(['issue-1', 'issue-2', 'issue-3']);
    expect(project.forge.pulls).toHaveLength(1);
    for (const number of [1, 2, 3]) expect(project.forge.pulls[0]?.body).toContain(`Closes #${String(number)}`);
  });

  test('beyond max-iterations-per-task a task fails, the next one begins, and in the end a person is needed', async () => {
    const project = createProject({
      issues: [1, 2, 3],
      agent: [steadyWorker, steadyWorker, finisher, steadyWorker],
      inputs: { 'max-iterations-per-task': '2' },
    });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'blocked (needs_human)', calls: 5 });
    expect(run.work?.journal.map(({ taskId }) => taskId)).toEqual([
      'issue-1',
      'issue-1',
      'issue-2',
      'issue-3',
      'issue-3',
    ]);
    expect(Object.fromEntries(Object.entries(savedState(project).tasks).map(([id, { state }]) => [id, state]))).toEqual(
      { 'issue-1': 'failed', 'issue-2': 'done', 'issue-3': 'failed' },
    );
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (needs_human)', calls: 0 });
  });

  test('a task that waits for a person does not stop the run from working on others', async () => {
    const project = createProject({ issues: [1, 2], agent: [claimsBlocked] });
    project.script.behaviours = [claimsBlocked, claimsBlocked, finisher];
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'blocked (needs_human)', calls: 3 });
    expect(run.work?.journal.map(({ taskId }) => taskId)).toEqual(['issue-1', 'issue-1', 'issue-2']);
    expect(savedState(project).tasks).toMatchObject({
      'issue-1': { state: 'blocked', reason: 'status_blocked' },
      'issue-2': { state: 'done' },
    });
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (needs_human)', calls: 0 });
    project.script.behaviours = [finisher];
    // Labelling the issue again, by name, shows that the person has looked at it.
    expect(await runOnce(project, { event: labeled(1) })).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });
});

describe('sessions', () => {
  test('are resumed from iteration to iteration, and from run to run with their transcript', async () => {
    const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations': '2' } });
    await runOnce(project);
    await runOnce(project);
    expect(project.script.calls.map(({ resume }) => resume)).toEqual([null, 'session-1', 'session-1', 'session-1']);
  });

  test('without their transcript are dropped before a call is spent', async () => {
    const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    project.kept.cache.saved.clear();
    await runOnce(project);
    expect(project.script.calls.map(({ resume }) => resume)).toEqual([null, null]);
    expect(savedState(project).session?.id).toBe('session-2');
    expect(savedState(project).transitions).toContainEqual(
      expect.objectContaining({ subject: 'session', reason: 'unknown_session' }),
    );
  });

  test('that the CLI does not know are dropped, and the call is repeated once without a session: one charge, one iteration', async () => {
    const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    project.script.behaviours = [forgetful];
    const run = await runOnce(project);
    expect(project.script.calls.slice(1).map(({ resume }) => resume)).toEqual(['session-1', null]);
    expect(run.work?.journal).toHaveLength(1);
    expect(savedState(project).windows.hour?.calls).toBe(2);
    expect(savedState(project).session?.id).toBe('session-3');
  });

  test('that the CLI disowns after paid requests cost what they cost: no further call beyond the limit', async () => {
    const inputs = { 'max-iterations': '1', 'max-cost-usd': '3' };
    const project = createProject({ agent: [steadyWorker], inputs });
    await runOnce(project);
    project.script.behaviours = [
      ({ task }) => ({
        exitCode: 1,
        output: { agentError: { kind: 'unknown-session', text: `No session for ${task}` }, tokens: 1_000, costUsd: 3 },
      }),
    ];
    await runOnce(project);
    expect(project.script.calls.slice(1).map(({ resume }) => resume)).toEqual(['session-1']);
    expect(savedState(project).windows.hour?.calls).toBe(2);
  });

  test('that the CLI does not know are not tried again when the call without them crashes', async () => {
    const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    project.script.behaviours = [forgetful, crashing, steadyWorker];
    project.inputs = { 'max-iterations': '2' };
    await runOnce(project);
    expect(project.script.calls.slice(1).map(({ resume }) => resume)).toEqual(['session-1', null, null]);
  });

  test.each([
    ['fresh', [null, null, null]],
    ['task', [null, 'session-1', null]],
    ['resume', [null, 'session-1', 'session-1']],
  ])('session: %s', async (session, resumed) => {
    const project = createProject({ issues: [1, 2], agent: [steadyWorker, finisher], inputs: { session } });
    await runOnce(project);
    expect(project.script.calls.map(({ resume }) => resume)).toEqual(resumed);
  });

  test('that were idle for too long are not resumed', async () => {
    const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    project.clock.advance(24 * HOUR + MINUTE);
    await runOnce(project);
    expect(project.script.calls.map(({ resume }) => resume)).toEqual([null, null]);
  });
});
