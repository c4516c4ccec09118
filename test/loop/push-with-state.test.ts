import { describe, expect, test } from 'vitest';
import { parseState, type LaneState } from '../../src/core/lane/state/state.ts';
import { untouchedProgress } from '../../src/core/tasks/queue.ts';
import type { Outcome } from '../../src/core/outcome.ts';
import type { RunRecord } from '../../src/run/run-record.ts';
import { HOUR } from '../unit/core/core-fixtures.ts';
import { finisher, steadyWorker, stuck } from './stage/behaviours.ts';
import type { Project } from './stage/project.ts';
import {
  commented,
  createProject,
  finishOnce,
  recordOf as runRecordOf,
  storedRecord as recordOf,
  runOnce,
  savedDocument,
  savedState,
  type Run,
} from './stage/run-action.ts';
import { counting, killAt, open, type Tap } from './stage/tap.ts';

/** Kills main right before its `number`th call of the agent. */
function killAtCall({ script }: Project, number: number): Tap {
  const made = script.calls.length;
  return killAt((name) => name === 'agent.call' && script.calls.length - made === number - 1, 'before');
}

describe('each push of an iteration includes the state', () => {
  test('with the lease of the run and the next number, and without a separate request', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher] });
    const seen: (readonly [number, string | null])[] = [];
    const tap = counting();
    const run = await runOnce(project, {
      tap,
      onRecord: () => {
        const { sequence, lease } = recordOf(project);
        if (seen.at(-1)?.[0] !== sequence) seen.push([sequence, lease?.runTag ?? null]);
      },
    });
    expect(run.end).toBe('complete (plan_complete)');
    expect(seen).toEqual([
      [0, 'run-1'],
      [1, 'run-1'],
      [2, 'run-1'],
      [3, null],
    ]);
    // The two writes are the claim with its reservation, and the save with the actual use.
    expect(tap.calls.filter((name) => name === 'refs.write')).toHaveLength(2);
    expect(tap.calls.filter((name) => name === 'remote.pushOn')).toHaveLength(1);
    expect(tap.calls.filter((name) => name === 'remote.pushWithState')).toHaveLength(2);
    expect(run.log.filter((line) => /^info: pushed .* with it$/.test(line))).toHaveLength(2);
  });

  test('redacted like the state at the end, and without unstored parts of the conversation', async () => {
    const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    const { session, transcript } = savedState(project);
    expect(transcript).not.toBeNull();
    project.inputs = {};
    const resumed = await runOnce(project, {
      tap: killAtCall(project, 2),
      redact: (text) => text.replaceAll('owner', '***'),
    });
    expect(resumed.report).toBeNull();
    // The conversation still matches the stored transcript.
    expect(savedState(project)).toMatchObject({ sequence: 3, session: { id: session?.id }, transcript });
    expect(savedDocument(project)).not.toContain('"owner"');
    project.clock.advance(HOUR);
    project.script.key = 'another key';
    await runOnce(project, { tap: killAtCall(project, 2) });
    expect(savedState(project)).toMatchObject({ sequence: 4, transcript: null });
    expect(savedState(project).session?.id).not.toBe(session?.id);
  });

  test("after a person's order in between, the same push includes both, and the order stays in effect", async () => {
    const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations': '3' } });
    let pushes = 0;
    const sequences: number[] = [];
    const tap: Tap = {
      ...open,
      call: async (name, call) => {
        if (!/^remote\.push(On|WithState)$/.test(name)) return call();
        pushes += 1;
        if (pushes === 2) await runOnce(project, { event: commented('/ralph retry', { issue: 1 }) });
        const answer = await call();
        sequences.push(recordOf(project).sequence);
        return answer;
      },
    };
    const run = await runOnce(project, { tap });
    expect(run.end).toBe('limit (iterations)');
    // The second push is made twice, because the server received nothing of the first try.
    expect(sequences).toEqual([0, 0, 1, 2, 3]);
    expect(recordOf(project)).toMatchObject({ sequence: 4, orders: [{ kind: 'retry' }] });
    expect(new Set(project.remote.pushes.map(({ result }) => result))).toEqual(new Set(['pushed']));
  });

  test('but not if the cache alone keeps it, or if it is not kept', async () => {
    for (const store of ['cache', 'none']) {
      const project = createProject({ agent: [finisher], inputs: { 'state-store': store } });
      expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)' });
      expect(project.kept.refs.shared.snapshot.size).toBe(0);
    }
  });
});

describe('a machine that vanishes without post', () => {
  test('costs only the running iteration; the next run continues from the last push', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher] });
    await runOnce(project, { tap: killAtCall(project, 2) });
    expect(savedState(project)).toMatchObject({
      sequence: 1,
      lastRun: {
        outcome: 'cancelled',
        reason: 'killed',
        published: { head: project.origin.branches.get('ralph/queue') },
      },
      tasks: { 'issue-1': { state: 'done' } },
    });
    expect(await runOnce(project)).toMatchObject({ end: 'refused (another_run)', calls: 0 });
    project.clock.advance(HOUR);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(savedState(project).tasks).toMatchObject({
      'issue-1': { state: 'done', attempts: 1 },
      'issue-2': { state: 'done' },
    });
    expect(project.forge.pulls[0]?.body).toContain('Closes #1');
  });

  test('leaves a finished but unverified task open until the clean verification passes, without another call', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { verify: 'npm test' } });
    await runOnce(project, { tap: killAtCall(project, 2) });
    expect(savedState(project).tasks).toMatchObject({ 'issue-1': { state: 'in-progress', doneCommit: null } });
    project.clock.advance(HOUR);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(savedState(project).tasks).toMatchObject({ 'issue-1': { state: 'done' }, 'issue-2': { state: 'done' } });
  });

  test('does not erase the streak of iterations without progress that was pushed', async () => {
    const project = createProject({ agent: [stuck, steadyWorker], inputs: { 'max-iterations': '3' } });
    await runOnce(project, { tap: killAtCall(project, 3) });
    expect(savedState(project)).toMatchObject({ windows: { hour: { calls: 2 } }, ledger: [{ calls: 2 }] });
  });
});

describe('the lying record of a killed main with a valid seal,', () => {
  const complete: Outcome = { kind: 'complete', reason: 'plan_complete' };
  const approval = { text: '0'.repeat(32), by: 'owner', at: 1 };
  const done = {
    state: 'done',
    attempts: 1,
    startedTree: null,
    doneCommit: null,
    reason: null,
    setAside: null,
  } as const;
  const lie = (state: LaneState): LaneState => ({
    ...state,
    tasks: { 'issue-1': done, 'issue-2': done, 'issue-7': { ...untouchedProgress, approval } },
    pause: { by: 'owner', at: 1 },
    windows: { hour: null, day: null },
    ledger: [],
    headVerification: { commit: 'f'.repeat(40), commands: '', kind: 'passed', command: null, exitCode: 0 },
  });

  /** Kills main in its second iteration and forges its record as an agent with the key could. */
  async function lied(
    change: (work: NonNullable<RunRecord['work']>) => Partial<NonNullable<RunRecord['work']>>,
    inputs = {},
  ) {
    const project = createProject({ issues: [1, 2], agent: [steadyWorker], inputs });
    const main = await runOnce(project, { tap: killAtCall(project, 2) });
    const stored = storedOf(project);
    const record = runRecordOf(main.machine);
    if (record.work === null) throw new Error('There is no work.');
    main.machine.record = JSON.stringify({ ...record, work: { ...record.work, ...change(record.work) } });
    return { project, stored, post: await finishOnce(project, main) };
  }

  function storedOf(project: Project): LaneState | null {
    const parsed = parseState(savedDocument(project) ?? '', 'queue');
    return parsed.kind === 'state' ? parsed.state : null;
  }

  function expectNothing({ project, post }: { readonly project: Project; readonly post: Run | null }): void {
    expect(post?.end).toBe('cancelled (killed)');
    const { tasks, pause, headVerification } = savedState(project);
    expect(Object.values(tasks).map(({ state }) => state)).not.toContain('done');
    expect(tasks['issue-7']?.approval).toBeUndefined();
    expect({ pause, headVerification }).toEqual({ pause: null, headVerification: null });
    const [pull] = project.forge.pulls;
    expect(pull?.draft).toBe(true);
    expect(pull?.body).not.toMatch(/Closes #|"outcome\W+complete/);
  }

  test.each(['auto', 'ref', 'cache'])(
    'makes no task done, approved, verified or complete (state-store: %s)',
    async (store) => {
      const played = await lied(
        ({ state, stateBefore }) => ({ state: lie(state), stateBefore: lie(stateBefore), outcome: complete }),
        { 'state-store': store },
      );
      expectNothing(played);
      if (store === 'cache') return;
      // The stored usage counts, whatever the record says.
      const [stored, saved] = [played.stored, savedState(played.project)];
      expect(saved.sequence).toBe((stored?.sequence ?? 0) + 1);
      expect(saved.ledger).toEqual(stored?.ledger);
      expect(saved.windows).toEqual(stored?.windows);
    },
  );

  test('if it contains no state, adds nothing to the stored one', async () => {
    const progress = { ...done, state: 'splendid' } as unknown as typeof done;
    const played = await lied(({ state }) => ({
      state: { ...lie(state), tasks: { 'issue-1': progress } },
      outcome: complete,
    }));
    expectNothing(played);
    expect(savedState(played.project).tasks).toEqual(played.stored?.tasks);
  });
});
