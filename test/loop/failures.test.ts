import { describe, expect, test } from 'vitest';
import { UserError } from '../../src/errors.ts';
import { finisher, steadyWorker, type Behaviour } from './stage/behaviours.ts';
import { createProject, finishOnce, runOnce, savedState } from './stage/run-action.ts';
import type { Checkout } from './stage/in-memory.ts';
import type { Project } from './stage/project.ts';
import { notices } from './feedback/reviewing.ts';
import { MINUTE } from '../unit/core/core-fixtures.ts';

describe('the records on disk', () => {
  test('charge each call before it is made; its work and verdict follow', async () => {
    const project = createProject({ issues: [1, 2], agent: [steadyWorker, finisher] });
    const run = await runOnce(project);
    expect(run.calls).toBe(3);
    for (const { work, callsSoFar } of run.records) {
      const charged = work.state.windows.hour?.calls ?? 0;
      // Right before a call, one more may be charged than was made; never fewer.
      expect(charged === callsSoFar || charged === callsSoFar + 1).toBe(true);
    }
    const beforeCall = (call: number) =>
      run.records.findLast(
        ({ work, callsSoFar }) => callsSoFar === call - 1 && work.state.windows.hour?.calls === call,
      );
    for (const call of [1, 2, 3]) expect(beforeCall(call)).toBeDefined();
    expect(beforeCall(1)?.work).toMatchObject({
      hasNewCommits: false,
      state: { tasks: { 'issue-1': { state: 'in-progress', attempts: 1 } } },
      outcome: { kind: 'cancelled', reason: 'killed' },
    });
    expect(beforeCall(2)?.work).toMatchObject({ hasNewCommits: true, journal: [{ iteration: 1 }] });
    expect(run.records.at(-1)?.work).toMatchObject({
      outcome: { kind: 'complete' },
      journal: [{ iteration: 1 }, { iteration: 2 }, { iteration: 3 }],
    });
  });

  test('contain the commit of an iteration before its verdict', async () => {
    const project = createProject({ agent: [finisher] });
    const run = await runOnce(project);
    const behindCall = run.records.filter(({ work, callsSoFar }) => callsSoFar === 1 && work.journal.length === 0);
    // The call's cost is recorded first, and its commit afterwards.
    expect(behindCall[0]?.work).toMatchObject({ hasNewCommits: false, state: { windows: { day: { costUsd: 0.01 } } } });
    expect(behindCall.at(-1)?.work).toMatchObject({
      hasNewCommits: true,
      head: project.origin.branches.get('ralph/queue'),
    });
  });

  test('contain no secret and no endless text of the agent', async () => {
    const chatty: Behaviour = (call) => ({
      ...finisher(call),
      output: {
        signal: { status: 'COMPLETE', tasksCompleted: 1, recommendation: `hunter2 ${'x'.repeat(10_000)}` },
        errors: Array.from({ length: 500 }, () => ({ text: 'hunter2', fingerprint: 'hunter2' })),
      },
    });
    const run = await runOnce(createProject({ agent: [chatty] }), {
      redact: (text) => text.replaceAll('hunter2', '***'),
    });
    const kept = JSON.stringify(run.records.at(-1)?.work);
    expect(kept).toContain('*** xxx');
    expect(kept).not.toContain('hunter2');
    expect(kept.length).toBeLessThan(16_000);
  });

  test.each([
    ['true', '\nCo-authored-by: Claude <noreply@anthropic.com>'],
    ['false', ''],
  ])('are named in commits by run, iteration and task, and with co-author %s by agent', async (coAuthor, trailer) => {
    const project = createProject({ agent: [finisher], inputs: { 'co-author': coAuthor } });
    await runOnce(project);
    expect(project.origin.commits.get(project.origin.branches.get('ralph/queue') ?? '')?.message).toBe(
      `Title 1\n\nPart of #1\n\nRalph-Run: 1\nRalph-Iteration: 1\nRalph-Task: issue-1${trailer}`,
    );
  });
});

describe('a failure in the middle of the loop', () => {
  const afterIteration = (count: number, then: (checkout: Checkout) => void) => {
    let done = false;
    return (work: { readonly journal: readonly unknown[] }, checkout: Checkout): void => {
      if (!done && work.journal.length === count) {
        done = true;
        then(checkout);
      }
    };
  };

  test.each(['snapshot', 'compare', 'commit'] as const)(
    'a repository whose %s fails loses no finished iteration',
    async (method) => {
      const project = createProject({ issues: [1, 2], agent: [finisher] });
      const run = await runOnce(project, {
        onRecord: afterIteration(1, ({ faults }) => {
          faults.set(method, new Error('disk full'));
        }),
      });
      expect(run).toMatchObject({
        end: 'failed (infrastructure)',
        outcome: { message: 'Unexpected failure: disk full.' },
        work: { journal: [{ taskId: 'issue-1' }] },
      });
      expect(savedState(project).tasks['issue-1']?.state).toBe('done');
      expect(project.forge.pulls[0]?.body).toContain('Closes #1');
      expect(project.forge.pulls[0]?.body).not.toContain('Closes #2');

      expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    },
  );

  test('a CLI that no longer starts loses no finished iteration, and its call stays charged', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher] });
    const run = await runOnce(project, {
      onRecord: afterIteration(1, () => {
        project.script.broken = new UserError('infrastructure', 'The CLI is gone. Install it.');
      }),
    });
    expect(run).toMatchObject({ end: 'failed (infrastructure)', calls: 1 });
    expect(savedState(project)).toMatchObject({
      windows: { hour: { calls: 2 } },
      tasks: { 'issue-1': { state: 'done' }, 'issue-2': { state: 'in-progress' } },
    });
  });

  test('the tree is left after any failure', async () => {
    let checkout: Checkout | undefined;
    const project = createProject({ agent: [finisher] });
    project.script.broken = new Error('no such program');
    await runOnce(project, {
      prepare: (made) => {
        checkout = made;
      },
    });
    expect(checkout?.isLaid()).toBe(false);
  });

  test('a tree that cannot be made ends the run before a call', async () => {
    let checkout: Checkout | undefined;
    const project = createProject({ agent: [finisher] });
    const run = await runOnce(project, {
      prepare: (made) => {
        checkout = made;
        made.faults.set('checkOutTree', new UserError('infrastructure', 'Files cannot change hands.'));
      },
    });
    expect(run).toMatchObject({ end: 'failed (infrastructure)', calls: 0 });
    expect(checkout?.isLaid()).toBe(false);
  });
});

describe('a machine that loses what each run pays for', () => {
  const full = new Error('ENOSPC: no space left on device, write');
  test.each<[string, RegExp, number, (checkout: Checkout, project: Project) => unknown]>([
    ['a full disk', /runner's disk is full[^]*ENOSPC/, 0, ({ faults }) => faults.set('commit', full)],
    [
      'a remote that does not answer',
      /could not be pushed/,
      4,
      (_, { remote }) => {
        for (const push of ['push', 'pushWithState'] as const)
          remote.faults.set(push, new UserError('infrastructure', 'No answer.'));
      },
    ],
  ])('opens the circuit, and people are notified once: %s', async (_, words, attempts, breakIt) => {
    const project = createProject({ agent: [finisher] });
    const run = async () => {
      project.clock.advance(10 * MINUTE);
      const main = await runOnce(project, { prepare: (checkout) => breakIt(checkout, project) });
      await finishOnce(project, main);
      return main.calls;
    };
    const calls = [await run(), await run(), await run(), await run(), await run(), await run()];
    expect(calls.slice(0, 5)).toEqual([1, 1, 1, 0, 0]);
    const { circuit, tasks } = savedState(project);
    expect([circuit.kind, tasks['issue-1']?.reason]).toEqual(['open', null]);
    const said = notices(project);
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(words);
    expect(tasks['issue-1']?.attempts).toBe(attempts);
  });
});

describe('a cancel', () => {
  test('between iterations ends the run without another call and keeps what is finished', async () => {
    const controller = new AbortController();
    const project = createProject({ issues: [1, 2], agent: [finisher] });
    const run = await runOnce(project, {
      signal: controller.signal,
      onRecord: (work) => {
        if (work.journal.length === 1) controller.abort();
      },
    });
    await finishOnce(project, run);
    expect(run).toMatchObject({ end: 'cancelled (signal)', calls: 1 });
    expect(savedState(project)).toMatchObject({ session: null, tasks: { 'issue-1': { state: 'done' } } });
    expect(project.origin.branches.has('ralph/queue')).toBe(true);
  });

  test('during a call keeps what the agent wrote, and does not count as a fault of the agent', async () => {
    const controller = new AbortController();
    const cancelledWorker: Behaviour = (call) => ({
      ...steadyWorker(call),
      meanwhile: () => {
        controller.abort();
      },
    });
    const project = createProject({ agent: [cancelledWorker] });
    const run = await runOnce(project, { signal: controller.signal });
    await finishOnce(project, run);
    expect(run).toMatchObject({ end: 'cancelled (signal)', calls: 1 });
    expect(savedState(project).circuit).toMatchObject({ kind: 'closed', noProgress: 0 });
    expect(project.origin.branches.has('ralph/queue')).toBe(true);
  });

  test('before the first call makes no call', async () => {
    const project = createProject({ agent: [finisher] });
    expect(await runOnce(project, { signal: AbortSignal.abort() })).toMatchObject({
      end: 'cancelled (signal)',
      calls: 0,
    });
  });
});
