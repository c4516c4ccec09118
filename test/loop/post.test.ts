import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { HOUR, MINUTE } from '../unit/core/core-fixtures.ts';
import { UserError } from '../../src/errors.ts';
import { finisher, steadyWorker, stuck } from './stage/behaviours.ts';
import { createLog } from './stage/in-memory.ts';
import type { Project } from './stage/project.ts';
import {
  addIssue,
  createProject,
  finishOnce,
  runOnce,
  savedDocument,
  savedState,
  savedIn,
  storedRecord,
} from './stage/run-action.ts';
import { killAt, open, type Tap } from './stage/tap.ts';

/** Returns a tap with calls that are never answered. */
const hanging = (hangs: (name: string) => boolean): Tap => ({
  ...open,
  call: (name, call) => (hangs(name) ? new Promise<never>(() => undefined) : call()),
});

function leaseOf(project: Project): unknown {
  return storedRecord(project).lease;
}

/** Plays a run of two issues that is killed at that call. */
async function killedAt(call: string) {
  const project = createProject({ issues: [1, 2], agent: [finisher] });
  const main = await runOnce(project, { tap: killAt((name) => name === call, 'before') });
  return { project, main };
}

describe('post, when nothing answers,', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test.each([
    [
      'agent.sweep',
      54_000,
      0,
      'failed (infrastructure)',
      /could not publish this run: it ran out of time after 50 s[^]*The claim on the queue could not be released: it ran out of time after 4 s.*expires when this run's time limit is over/,
    ],
    [
      'repository.openLane',
      50_000,
      2,
      'cancelled (killed)',
      /The claim on the queue could not be released: it ran out of time after 50 s.*expires when this run's time limit is over/,
    ],
  ])(
    'after a kill at %s ends after %i ms and says so; the lane waits for the end of the lease, and only unpushed work is repeated: %i calls',
    async (call, limitMs, calls, end, reported) => {
      const { project, main } = await killedAt(call);
      const finishing = finishOnce(project, main, { tap: hanging(() => true) });
      await vi.advanceTimersByTimeAsync(limitMs);
      const post = await finishing;
      expect(post?.end).toBe(end);
      expect(post?.log.join('\n')).toMatch(reported);
      expect(await runOnce(project)).toMatchObject({ end: 'refused (another_run)', calls: 0 });
      project.clock.advance(HOUR);
      expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls });
      expect(project.forge.pulls).toHaveLength(1);
    },
  );

  test('can be repeated once the services answer again: nothing is lost then', async () => {
    const { project, main } = await killedAt('agent.sweep');
    const finishing = finishOnce(project, main, { tap: hanging(() => true) });
    await vi.advanceTimersByTimeAsync(54_000);
    await finishing;
    expect((await finishOnce(project, main))?.end).toBe('cancelled (killed)');
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 0 });
  });
});

describe('post, when one operation hangs forever,', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test.each([
    [
      'forge.pullRequestOf',
      'failed (infrastructure)',
      'pull request is not up to date: it ran out of time after 15 s',
      1,
    ],
    [
      'forge.openPullRequest',
      'failed (infrastructure)',
      'pull request is not up to date: it ran out of time after 15 s',
      1,
    ],
    [
      'forge.updatePullRequest',
      'failed (infrastructure)',
      'pull request is not up to date: it ran out of time after 15 s',
      1,
    ],
    [
      'forge.upsertComment',
      'cancelled (killed)',
      'Some of the comments could not be written: it ran out of time after 15 s',
      1,
    ],
    ['forge.deleteSupersededCaches', 'cancelled (killed)', 'saved #', 1],
    [
      'agent.exportSession',
      'cancelled (killed)',
      'The session is not kept, so the next run starts a new one: it ran out of time after 15 s',
      1,
    ],
  ])('%s: the state is saved, the lane is free, the circuit remembers', async (hung, end, reported, noProgress) => {
    const { project, main } = await killedAfterStuck(hung);
    const finishing = finishOnce(project, main, { tap: hanging((name) => name === hung) });
    await vi.advanceTimersByTimeAsync(50_000);
    const post = await finishing;
    expect(post?.end).toBe(end);
    expect([...(post?.log ?? []), JSON.stringify(post?.outcome)].join('\n')).toContain(reported);
    expect(savedIn(post)).toMatchObject({ kind: 'saved' });
    expect(savedState(project).circuit).toMatchObject({ kind: 'closed', noProgress });
    expect(leaseOf(project)).toBeNull();
  });

  test('remote.push: what had been pushed stays, unpublished commits are not progress', async () => {
    const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations': '3' } });
    let pushes = 0;
    const main = await runOnce(project, {
      tap: killAt((name) => /^remote\.push(On|WithState)$/.test(name) && (pushes += 1) === 3, 'before'),
    });
    const finishing = finishOnce(project, main, { tap: hanging((name) => name === 'remote.push') });
    await vi.advanceTimersByTimeAsync(50_000);
    const post = await finishing;
    expect(post?.end).toBe('failed (infrastructure)');
    expect(JSON.stringify(post?.outcome)).toContain(
      'could not be pushed to ralph/queue: it ran out of time after 15 s',
    );
    expect(savedIn(post)).toMatchObject({ kind: 'saved' });
    expect(savedState(project).circuit).toMatchObject({ kind: 'closed', noProgress: 1 });
    expect(savedState(project).windows.hour?.calls).toBe(2);
    expect(leaseOf(project)).toBeNull();
  });

  test('forge.openPullRequest, of a complete run: the next run opens the pull request without a call', async () => {
    const { project, main } = await killedAt('forge.openPullRequest');
    const finishing = finishOnce(project, main, { tap: hanging((name) => name === 'forge.openPullRequest') });
    await vi.advanceTimersByTimeAsync(50_000);
    expect(await finishing).toMatchObject({ end: 'failed (infrastructure)', report: { saved: { kind: 'saved' } } });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 0 });
    expect(project.forge.pulls).toEqual([expect.objectContaining({ state: 'open', draft: false })]);
  });

  test('or all of GitHub but the ref: neither the state nor the lane is lost, and the report lists the finished tasks', async () => {
    const { project, main } = await killedAfterStuck('forge.pullRequestOf');
    const finishing = finishOnce(project, main, {
      tap: hanging((name) => name.startsWith('remote.') || name.startsWith('forge.')),
    });
    await vi.advanceTimersByTimeAsync(50_000);
    expect(savedIn(await finishing)).toMatchObject({ kind: 'saved' });
    expect(leaseOf(project)).toBeNull();
  });

  /** Plays one iteration with progress and one without, killed at its end; the call `hung` never returns in post. */
  async function killedAfterStuck(hung: string) {
    const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    if (hung !== 'forge.openPullRequest') await runOnce(project);
    project.inputs = { 'max-iterations': '3' };
    project.script.behaviours = [steadyWorker, stuck];
    const main = await runOnce(project, {
      tap: killAt(
        (name) => name === 'agent.call' && project.script.calls.length === (hung === 'forge.openPullRequest' ? 2 : 3),
        'before',
      ),
    });
    expect(main.end).toBe('cancelled (killed)');
    return { project, main };
  }
});

describe('post, when main could not give its lane back,', () => {
  const uninstallable: Tap = {
    ...open,
    call: (name, call) =>
      name === 'agent.prepare'
        ? Promise.reject(new UserError('infrastructure', 'The agent cannot be installed.'))
        : call(),
  };

  /** The agent cannot be installed, and afterwards the ref accepts no writes. */
  async function stuckWithLane() {
    const project = createProject({ agent: [finisher] });
    const tap: Tap = {
      ...uninstallable,
      call: (name, call) => {
        if (name === 'agent.prepare') project.kept.refs.outages.set('write', 'no answer');
        return uninstallable.call(name, call);
      },
    };
    return { project, main: await runOnce(project, { tap }) };
  }

  test('gives it back, and reports nothing else', async () => {
    const { project, main } = await stuckWithLane();
    expect(main).toMatchObject({
      end: 'failed (infrastructure)',
      outcome: { message: 'The agent cannot be installed.' },
    });
    project.kept.refs.outages.clear();
    expect(await finishOnce(project, main)).toBeNull();
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });

  test('says so if it cannot do that either', async () => {
    const { project, main } = await stuckWithLane();
    const log = createLog();
    await finishOnce(project, main, { log });
    expect(log.lines).toContain(
      "warning: The claim on the queue could not be released: no answer. It expires when this run's time limit is over.",
    );
    project.kept.refs.outages.clear();
    expect(await runOnce(project)).toMatchObject({ end: 'refused (another_run)' });
  });

  test('nor save its state, and cannot do either: says so, and the lane is free when the lease ends', async () => {
    const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    const main = await runOnce(project, {
      onRecord: () => {
        project.kept.refs.outages.set('write', 'no answer');
      },
    });
    const post = await finishOnce(project, main);
    expect(post?.log).toContain(
      "warning: The claim on the queue could not be released: no answer. It expires when this run's time limit is over.",
    );
    project.kept.refs.outages.clear();
    expect(await runOnce(project)).toMatchObject({ end: 'refused (another_run)', calls: 0 });
    project.clock.advance(HOUR);
    expect(await runOnce(project)).toMatchObject({
      end: 'limit (iterations)',
      calls: 1,
      // A copy that only the cache has does not count as state.
      work: { stateBefore: { sequence: 0 } },
    });
  });

  test('does nothing where a store stays read-only', async () => {
    const project = createProject({ agent: [finisher] });
    project.kept.cache.outages.set('save', 'it is read-only');
    expect(await finishOnce(project, await runOnce(project))).toBeNull();

    const refless = createProject({ agent: [finisher] });
    refless.kept.refs.refusal = 'a ruleset forbids it';
    expect(await finishOnce(refless, await runOnce(refless))).toBeNull();
  });
});

describe('post, without a record of main,', () => {
  test('says so, publishes nothing, and the lane is free when the lease ends', async () => {
    const { project, main } = await killedAt('agent.sweep');
    main.machine.record = 'null';
    const saved = savedDocument(project);
    const post = await finishOnce(project, main);
    expect(post).toMatchObject({
      end: 'failed (infrastructure)',
      outcome: { message: expect.stringContaining('is gone or unreadable') as string },
    });
    expect({ pulls: project.forge.pulls, saved: savedDocument(project) }).toEqual({ pulls: [], saved });
    project.clock.advance(HOUR);
    // The pushed work is known without it.
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 0 });
  });
});

describe('post, when another run was faster,', () => {
  test('keeps nothing of its own state, and leaves the pages alone: the other run builds on what it found', async () => {
    const { project, main } = await killedAt('agent.sweep');
    project.clock.advance(HOUR);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 0 });
    const saved = savedDocument(project);
    project.clock.advance(MINUTE);
    const pages = structuredClone([project.forge.pulls, project.forge.comments]);
    const post = await finishOnce(project, main);
    expect(post).toMatchObject({ end: 'failed (infrastructure)', report: { saved: { kind: 'not-saved' } } });
    expect([project.forge.pulls, project.forge.comments]).toEqual(pages);
    expect(savedDocument(project)).toBe(saved);
    expect(project.kept.cache.saved.get('queue')).toMatchObject({ sequence: 3, document: null });
    expect(savedState(project).tasks).toMatchObject({ 'issue-1': { state: 'done' }, 'issue-2': { state: 'done' } });
    expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
  });
});

test('post replaces no state that it could not read', async () => {
  const project = createProject({ issues: [1], agent: [finisher] });
  expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)' });
  addIssue(project.forge, 2);
  const main = await runOnce(project, { tap: killAt((name) => name === 'agent.call', 'before') });
  project.kept.refs.outages.set('read', 'no answer');
  const log = createLog();
  await finishOnce(project, main, { log });
  project.kept.refs.outages.clear();
  expect(savedState(project).tasks['issue-1']?.state).toBe('done');
  expect(log.lines.join('\n')).toContain('The state was not saved: the stored state could not be read');
});
