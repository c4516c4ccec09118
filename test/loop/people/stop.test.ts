import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { addOrderToRecord } from '../../../src/core/sharing/lane-record.ts';
import type { OrderKind } from '../../../src/core/sharing/orders.ts';
import { createInitialState } from '../../../src/core/lane/state/state.ts';
import { createOrderPoll } from '../../../src/loop/people/order-poll.ts';
import type { ReadSnapshot } from '../../../src/ports/state.ts';
import { noon } from '../../unit/core/core-fixtures.ts';
import { finisher, steadyWorker, type Behaviour } from '../stage/behaviours.ts';
import { createLog } from '../stage/in-memory.ts';
import type { Project } from '../stage/project.ts';
import { configOf, createProject, green, putRecord, runOnce, savedState, storedRecord } from '../stage/run-action.ts';

/** Records a person's order from elsewhere while the agent works. */
function orderNow(project: Project, kind: OrderKind, lane = 'queue'): void {
  const order = { kind, task: null, by: 'ann', from: 'comment', run: null, at: project.clock.now() } as const;
  putRecord(project, addOrderToRecord(storedRecord(project, lane), order));
}

/** Calls `happens` during the second call. */
const meanwhile = (happens: () => void): Behaviour => {
  let calls = 0;
  return (call) => ({
    ...steadyWorker(call),
    meanwhile: () => {
      if ((calls += 1) === 2) happens();
    },
  });
};

describe('while a run works', () => {
  test.each<[string, readonly OrderKind[], string, number]>([
    ['a stop ends it after its running iteration', ['stop'], 'paused (by_person)', 2],
    ['a pause lets it go on to its end', ['pause'], 'limit (iterations)', 4],
    ['a stop that was taken back lets it continue', ['stop', 'resume'], 'limit (iterations)', 4],
    ['other orders let it continue', ['retry', 'reset-session'], 'limit (iterations)', 4],
  ])('%s', async (_, kinds, end, calls) => {
    const project = createProject({ inputs: { 'max-iterations': '4' } });
    project.script.behaviours = [
      meanwhile(() => {
        for (const kind of kinds) orderNow(project, kind);
      }),
    ];
    expect(await runOnce(project)).toMatchObject({ end, calls });
  });

  test('a stop during a long verification of the base ends it before its first call', async () => {
    const project = createProject({ inputs: { verify: 'npm test' }, agent: [steadyWorker] });
    const verify: Project['verifier']['verify'] = (call) => {
      project.clock.advance(10 * 60_000);
      orderNow(project, 'stop');
      return green.verify(call);
    };
    project.verifier = { verify };
    expect(await runOnce(project)).toMatchObject({ end: 'paused (by_person)', calls: 0, outcome: { by: 'ann' } });
  });

  test('a stop loses no work: it is published, and the next run stays paused until it is resumed', async () => {
    const project = createProject();
    project.script.behaviours = [
      meanwhile(() => {
        orderNow(project, 'stop');
      }),
    ];
    expect(await runOnce(project)).toMatchObject({ end: 'paused (by_person)', outcome: { by: 'ann' } });
    expect(project.origin.branches.get('ralph/queue')).toBeDefined();
    expect(savedState(project).tasks['issue-1']).toMatchObject({ state: 'in-progress', attempts: 2 });
    expect(await runOnce(project)).toMatchObject({ end: 'paused (by_person)', calls: 0 });
    orderNow(project, 'resume');
    project.script.behaviours = [finisher];
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });

  test('a stop in the iteration that finishes everything does not hide the completion', async () => {
    const project = createProject();
    project.script.behaviours = [
      (call) => ({
        ...finisher(call),
        meanwhile: () => {
          orderNow(project, 'stop');
        },
      }),
    ];
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)' });
    expect(await runOnce(project)).toMatchObject({ end: 'paused (by_person)', calls: 0 });
  });

  test('a store that does not answer between two iterations lets it continue, with one warning', async () => {
    const project = createProject({ inputs: { 'max-iterations': '4' } });
    project.script.behaviours = [
      meanwhile(() => {
        project.kept.refs.outages.set('readAgain', 'no answer');
      }),
    ];
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'limit (iterations)', calls: 4 });
    expect(
      run.log.filter((line) => line.includes('The run cannot find out whether somebody ordered it to stop')),
    ).toHaveLength(1);
  });

  test('no store is read if none takes orders', async () => {
    const project = createProject({ inputs: { 'max-iterations': '3', 'state-store': 'cache' } });
    project.script.behaviours = [steadyWorker];
    project.kept.refs.outages.set('read', 'no answer');
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'limit (iterations)', calls: 3 });
    expect(run.log.join('\n')).not.toContain('ordered this run to stop');
  });
});

describe('the request for orders', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const poll = (
    answer: () => Promise<ReadSnapshot>,
    signal = new AbortController().signal,
    inputs: Readonly<Record<string, string>> = {},
  ) => {
    const log = createLog();
    const ask = createOrderPoll({
      config: configOf(inputs),
      store: {
        lastSeen: () => null,
        read: answer,
        update: () => Promise.reject(new Error('not asked for')),
        transcript: () => Promise.resolve({ kind: 'absent' }),
      },
      log,
      signal,
    });
    return { log, ask: () => ask(createInitialState('queue', noon)) };
  };

  test.each<[string, () => Promise<ReadSnapshot>, RegExp]>([
    ['hangs', () => new Promise(() => undefined), /did not answer within 15 s/],
    ['throws', () => Promise.reject(new Error('on fire')), /on fire/],
    ['says that it cannot be reached', () => Promise.resolve({ kind: 'unavailable', why: 'no route' }), /no route\./],
  ])('to a store that %s: no orders, and one warning for any number of requests', async (_, answer, warning) => {
    const { log, ask } = poll(answer);
    for (let asked = 0; asked < 3; asked += 1) {
      const stopped = ask();
      await vi.advanceTimersByTimeAsync(15_000);
      expect(await stopped).toEqual([]);
    }
    expect(log.lines).toEqual([expect.stringMatching(warning)]);
  });

  test('does not delay a cancelled run', async () => {
    const cancelling = new AbortController();
    const { log, ask } = poll(() => new Promise(() => undefined), cancelling.signal);
    const stopped = ask();
    cancelling.abort();
    expect(await stopped).toEqual([]);
    expect(log.lines).toEqual([]);
  });

  test('is not made without a store', async () => {
    const asked = vi.fn(() => Promise.resolve<ReadSnapshot>({ kind: 'none' }));
    expect(await poll(asked, undefined, { 'state-store': 'none' }).ask()).toEqual([]);
    expect(asked).not.toHaveBeenCalled();
  });
});
