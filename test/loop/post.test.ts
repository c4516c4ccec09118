import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { hour, minute } from '../unit/core-fixtures.ts';
import { finisher } from './behaviours.ts';
import { createProject, finishOnce, runOnce, savedDocument, savedState } from './river.ts';
import { killAt, open, type Tap } from './tap.ts';

const hanging: Tap = { ...open, call: () => new Promise<never>(() => undefined) };

/** A run of two issues that was killed at that call. */
async function killedAt(call: string) {
  const project = createProject({ issues: [1, 2], agent: [finisher] });
  const main = await runOnce(project, { tap: killAt((name) => name === call, 'before') });
  return { project, main };
}

describe('post, when nothing answers any more,', () => {
  beforeEach(() => { vi.useFakeTimers(); });
  afterEach(() => { vi.useRealTimers(); });

  test.each([
    ['agent.sweep', 'failed (infrastructure)', /could not publish this run: it ran out of time after 50 s/],
    ['repository.openLane', 'cancelled (killed)', /Lane queue could not be given back: it ran out of time after 50 s.*free again when this run's time is over/],
  ])('after a kill at %s ends after 50 s and says so; the lane waits for the end of the lease, and what was on this machine is done again', async (call, end, told) => {
    const { project, main } = await killedAt(call);
    const finishing = finishOnce(project, main, { tap: hanging });
    await vi.advanceTimersByTimeAsync(50_000);
    const post = await finishing;
    expect(post?.end).toBe(end);
    expect(post?.log.join('\n')).toMatch(told);
    expect(await runOnce(project)).toMatchObject({ end: 'refused (another_run)', calls: 0 });
    project.clock.advance(hour);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    expect(project.forge.pulls).toHaveLength(1);
  });

  test('can be repeated once something answers again: nothing is lost then', async () => {
    const { project, main } = await killedAt('agent.sweep');
    const finishing = finishOnce(project, main, { tap: hanging });
    await vi.advanceTimersByTimeAsync(50_000);
    await finishing;
    expect((await finishOnce(project, main))?.end).toBe('complete (plan_complete)');
    expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
  });
});

describe('post, without a record of main,', () => {
  test('says so, publishes nothing, and the lane is free when the lease is over', async () => {
    const { project, main } = await killedAt('agent.sweep');
    main.machine.record = 'null';
    const post = await finishOnce(project, main);
    expect(post).toMatchObject({ end: 'failed (infrastructure)', outcome: { message: expect.stringContaining('is gone or unreadable') as string } });
    expect({ pulls: project.forge.pulls, saved: savedDocument(project) }).toEqual({ pulls: [], saved: null });
    project.clock.advance(hour);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
  });
});

describe('post, when another run was faster,', () => {
  test('keeps nothing of its own state: the other run builds on what it found', async () => {
    const { project, main } = await killedAt('agent.sweep');
    project.clock.advance(hour);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    const saved = savedDocument(project);
    project.clock.advance(minute);
    const post = await finishOnce(project, main);
    // Same content, other commits: the branch has moved.
    expect(post).toMatchObject({ end: 'failed (infrastructure)', report: { saved: { kind: 'not-saved' } } });
    expect(savedDocument(project)).toBe(saved);
    expect(project.kept.cache.saved.get('queue')?.document).toBe(saved);
    expect(savedState(project).tasks).toMatchObject({ 'issue-1': { state: 'done' }, 'issue-2': { state: 'done' } });
    expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
  });
});
