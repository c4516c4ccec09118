import { describe, expect, test } from 'vitest';
import { MAX_USAGE_WAIT_MS } from '../../../src/core/agents/providers.ts';
import { HOUR } from '../../unit/core/core-fixtures.ts';
import { finisher, steadyWorker } from '../stage/behaviours.ts';
import type { Project } from '../stage/project.ts';
import { createProject, labeled, runOnce, storedRecord, type Run } from '../stage/run-action.ts';
import { killAt, open, type Tap } from '../stage/tap.ts';

const event = labeled(1);

/** Returns a tap that holds the run before its first call of this name, while `held` does its part. */
function holdAt(at: string, held: () => Promise<unknown>): Tap & { readonly after: string[] } {
  const after: string[] = [];
  let hasCalled = false;
  let isHeld = false;
  return {
    ...open,
    after,
    call: async (name, call) => {
      hasCalled ||= name === 'agent.call';
      if (isHeld) after.push(name);
      if (hasCalled && !isHeld && name === at) {
        isHeld = true;
        await held();
      }
      return open.call(name, call);
    },
  };
}

function seenIn({ origin, forge }: Project) {
  return structuredClone([[...origin.branches], forge.pulls, forge.saidOf, forge.comments, forge.issues]);
}

/** A machine that sleeps until after the end of its run's claim, while another run takes the lane over. */
describe('a run that wakes up after its claim ended', () => {
  test.each([
    ['repository.commit', 'at work'],
    ['repository.commit', 'done'],
    ['remote.sign', 'at work'],
    ['remote.pushWithState', 'at work'],
    ['remote.pushWithState', 'done'],
    ['agent.sweep', 'at work'],
    ['agent.sweep', 'done'],
  ])('at %s, while the other run is %s: pushes nothing and leaves its pages alone', async (at, other) => {
    const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project, { event });
    const others: { run?: Promise<Run>; release?: () => void } = {};
    let before: unknown;
    const tap = holdAt(at, async () => {
      project.clock.advance(9 * HOUR);
      project.script.behaviours = [finisher];
      const reached = Promise.withResolvers<null>();
      const held = Promise.withResolvers<null>();
      others.release = () => {
        held.resolve(null);
      };
      const pausing = holdAt('repository.snapshot', () => {
        reached.resolve(null);
        return other === 'done' ? Promise.resolve(null) : held.promise;
      });
      others.run = runOnce(project, { event, tap: pausing });
      await (other === 'done' ? others.run : Promise.race([reached.promise, others.run]));
      project.forge.saidOf.set('ralph/issue-1', { autoMerge: true });
      before = seenIn(project);
    });
    const late = await runOnce(project, { event, tap });
    expect(late).toMatchObject({ end: 'failed (infrastructure)', calls: 1 });
    expect(late.outcome).toMatchObject({
      message: expect.stringContaining('This run publishes nothing more, because its claim has ended') as string,
    });
    // The push with the state reaches nothing, because the state has changed.
    expect(tap.after).not.toContain('remote.pushOn');
    expect(seenIn(project)).toEqual(before);
    others.release?.();
    expect(await others.run).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(storedRecord(project, 'issue-1').lease).toBeNull();
  });

  test('while it waited for a limit makes no further call', async () => {
    const inputs = { 'on-limit': 'wait', 'max-calls-per-hour': '2', 'max-iterations': '5', 'max-minutes': '25' };
    const project = createProject({ agent: [steadyWorker], inputs });
    let other: Run | null = null;
    const late = await runOnce(project, {
      maxWaitMs: MAX_USAGE_WAIT_MS,
      onSleep: async () => {
        if (other !== null) return;
        project.clock.advance(9 * HOUR);
        project.script.behaviours = [finisher];
        other = await runOnce(project);
      },
    });
    expect(other).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(late).toMatchObject({ end: 'failed (infrastructure)', calls: 2 });
  });

  test('by a clock that stopped in the meantime pushes nothing', async () => {
    const project = createProject({ agent: [steadyWorker] });
    let before: unknown;
    const tap = holdAt('remote.pushWithState', async () => {
      project.clock.advance(9 * HOUR);
      await runOnce(project, { event, tap: killAt((name) => name === 'agent.call', 'before') });
      before = seenIn(project);
      project.clock.advance(-9 * HOUR);
    });
    expect(await runOnce(project, { event, tap })).toMatchObject({ end: 'failed (infrastructure)', calls: 1 });
    expect(tap.after).not.toContain('remote.pushOn');
    expect(seenIn(project)).toEqual(before);
  });

  test('continues if no other run has taken its lane', async () => {
    const project = createProject({ agent: [finisher] });
    const tap = holdAt('repository.commit', () => {
      project.clock.advance(9 * HOUR);
      return Promise.resolve();
    });
    expect(await runOnce(project, { event, tap })).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });
});
