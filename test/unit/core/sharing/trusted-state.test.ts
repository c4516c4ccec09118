import { describe, expect, test } from 'vitest';
import {
  limitTrustedLedger,
  mergeTrustedState,
  listUnstoredTasks,
} from '../../../../src/core/sharing/trusted-state.ts';
import { createClosedCircuit, type Circuit } from '../../../../src/core/lane/circuit.ts';
import { createInitialState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import { untouchedProgress } from '../../../../src/core/tasks/queue.ts';
import type { TaskProgress } from '../../../../src/core/tasks/task.ts';
import { HOUR, MINUTE, noon } from '../core-fixtures.ts';

const DAY = 24 * HOUR;
const policy = { maxIterations: 10, callsPerIteration: 1, maxCalls: 0, maxCostUsd: 5, maxCostUsdPerDay: 20 };
const stateOf = (change: Partial<LaneState>): LaneState => ({ ...createInitialState('queue', noon), ...change });
const task = (state: TaskProgress['state'], change: Partial<TaskProgress> = {}): TaskProgress => ({
  state,
  attempts: 1,
  startedTree: null,
  doneCommit: null,
  reason: null,
  setAside: null,
  ...change,
});
const done = task('done', { doneCommit: 'c'.repeat(40), startedTree: 'a' });

function trust(stored: Partial<LaneState>, recorded: Partial<LaneState>): LaneState {
  return mergeTrustedState(stateOf(stored), stateOf(recorded), { now: noon, policy });
}

describe('a task', () => {
  test.each<[string, TaskProgress | null, TaskProgress | null, Partial<TaskProgress>]>([
    ['is done where both say so', done, { ...done, attempts: 2 }, { ...done, attempts: 2 }],
    ['is not done because the record says so', null, done, { state: 'in-progress', doneCommit: null, attempts: 1 }],
    [
      'is not done because the record says so',
      task('in-progress', { attempts: 3 }),
      done,
      { state: 'in-progress', attempts: 3 },
    ],
    ['is measured from where it began', task('todo', { startedTree: null }), done, { startedTree: 'a' }],
    [
      'is measured from where it was stored to begin',
      task('in-progress', { startedTree: 'b' }),
      done,
      { startedTree: 'b' },
    ],
    ['is done where it is stored so', done, task('in-progress'), { state: 'done', doneCommit: 'c'.repeat(40) }],
    ['is done where it is stored so', done, task('failed'), { state: 'done', doneCommit: 'c'.repeat(40) }],
    ['is done where it is stored so', done, null, done],
    ['stays stuck', task('failed'), done, { state: 'failed' }],
    ['stays stuck', task('blocked'), task('in-progress'), { state: 'blocked' }],
    [
      'is not stuck because the record says so',
      task('in-progress'),
      task('blocked', { attempts: 2, reason: 'status_blocked' }),
      { state: 'in-progress', reason: null, attempts: 2 },
    ],
    [
      'is not set aside because the record says so',
      task('todo'),
      task('stuck', { setAside: { times: 30, at: noon } }),
      { state: 'in-progress', setAside: null },
    ],
    [
      'has used no more attempts than the run has iterations',
      task('in-progress', { attempts: 2 }),
      task('in-progress', { attempts: 999 }),
      { attempts: 12 },
    ],
    [
      'has used the attempts of which more are known',
      task('todo', { attempts: 0 }),
      task('in-progress', { attempts: 4 }),
      { attempts: 4 },
    ],
  ])('%s: stored %j, recorded %j', (_, stored, recorded, expected) => {
    const tasks = (progress: TaskProgress | null) => ({ tasks: progress === null ? {} : { 'issue-1': progress } });
    expect(trust(tasks(stored), tasks(recorded)).tasks['issue-1']).toMatchObject(expected);
  });

  test('that is done in the record alone is one to name', () => {
    const both = { 'issue-1': done, 'issue-2': done, 'issue-3': task('in-progress') };
    expect(listUnstoredTasks(stateOf({ tasks: { 'issue-1': done } }), stateOf({ tasks: both }))).toEqual(['issue-2']);
  });
});

describe('the circuit', () => {
  const counted: Circuit = { ...createClosedCircuit(1), noProgress: 2, denials: 1 };
  const troubled = (count: number) =>
    ({
      ...createClosedCircuit(0),
      decline: 2,
      questionHeld: true,
      probes: true,
      errorStreaks: [
        { fingerprint: `seen ${String(count)} times`, count },
        { fingerprint: 'seen once', count: 1 },
      ],
    }) satisfies Circuit;
  const open = {
    kind: 'open',
    totalOpens: 2,
    reason: 'no_progress',
    openedAt: noon - MINUTE,
    taskId: null,
  } as const satisfies Circuit;
  test.each<[string, Circuit, Circuit, object]>([
    ['counts what the record counts', createClosedCircuit(0), counted, { noProgress: 2, denials: 1, totalOpens: 0 }],
    [
      'forgets nothing because the record has',
      counted,
      createClosedCircuit(0),
      { noProgress: 2, denials: 1, totalOpens: 1 },
    ],
    [
      'counts a decline, a held question, a probe and errors that the record counts',
      createClosedCircuit(0),
      troubled(3),
      { decline: 2, questionHeld: true, probes: true, errorStreaks: troubled(3).errorStreaks },
    ],
    [
      'forgets none of them because the record has',
      troubled(3),
      createClosedCircuit(0),
      { decline: 2, questionHeld: true, probes: true, errorStreaks: troubled(3).errorStreaks },
    ],
    ['counts the longer streak of errors', troubled(2), troubled(3), { errorStreaks: troubled(3).errorStreaks }],
    ['keeps the longer streak of errors', troubled(3), troubled(2), { errorStreaks: troubled(3).errorStreaks }],
    [
      'keeps its own errors where both are as long',
      troubled(3),
      { ...troubled(3), errorStreaks: [{ fingerprint: 'another', count: 3 }] },
      { errorStreaks: troubled(3).errorStreaks },
    ],
    [
      'is about to open where the record calls it open',
      { ...createClosedCircuit(1), noProgress: 2 },
      open,
      { kind: 'closed', noProgress: 2, probes: true, totalOpens: 1 },
    ],
    ['is not closed because the record says so', open, createClosedCircuit(3), open],
    ['cools down from when it is stored to have opened', open, { ...open, openedAt: noon + DAY }, open],
  ])('%s', (_, stored, recorded, expected) => {
    expect(trust({ circuit: stored }, { circuit: recorded }).circuit).toMatchObject(expected);
  });
});

describe('what was used', () => {
  const day = (calls: number, on = '2026-11-21') => ({
    day: on,
    calls,
    tokens: calls * 10,
    costUsd: calls / 10,
    minutes: calls,
  });
  const hour = (calls: number, openedAt = noon - MINUTE) => ({
    hour: { openedAt, calls, tokens: calls * 10 },
    day: { openedAt, costUsd: calls },
  });

  test.each([
    ['the record knows of more', [day(1)], [day(3)], [day(3)]],
    ['the record knows of less', [day(3)], [day(1)], [day(3)]],
    ['the record alone knows of the day before', [day(2)], [day(1, '2026-11-20')], [day(1, '2026-11-20'), day(2)]],
    ['each knows of a day', [day(1, '2026-11-20')], [day(2)], [day(1, '2026-11-20'), day(2)]],
    ['neither knows of any', [], [], []],
  ])('where %s', (_, stored, recorded, expected) => {
    expect(trust({ ledger: stored }, { ledger: recorded }).ledger).toEqual(expected);
  });

  test('a window is as full as the fuller one, and one that is over does not fill the next', () => {
    expect(trust({ windows: hour(5) }, { windows: hour(7) }).windows).toEqual(hour(7));
    expect(trust({ windows: hour(7) }, { windows: hour(5) }).windows).toEqual(hour(7));
    expect(trust({}, { windows: hour(2) }).windows).toEqual(hour(2));
    expect(trust({ windows: hour(50, noon - 2 * HOUR) }, { windows: hour(2) }).windows.hour).toEqual(hour(2).hour);
  });

  test.each([
    ['as far as the run was allowed to, and one response further', policy, { calls: 11, costUsd: 11 }],
    ['of a run without a limit of its own: as far as the day allows', { ...policy, maxCostUsd: 0 }, { costUsd: 26 }],
    ['where nothing is limited', { ...policy, maxCostUsd: 0, maxCostUsdPerDay: 0 }, { costUsd: 9_000 }],
  ])('is believed %s', (_, allowed, expected) => {
    const used = (calls: number, costUsd: number) => ({
      ledger: [{ ...day(calls), costUsd }],
      windows: { hour: { openedAt: noon, calls, tokens: 0 }, day: { openedAt: noon, costUsd } },
    });
    const { ledger, windows } = mergeTrustedState(stateOf(used(1, 1)), stateOf(used(900, 9_000)), {
      now: noon,
      policy: allowed,
    });
    expect(ledger[0]).toMatchObject(expected);
    expect({ ...windows.hour, ...windows.day }).toMatchObject(expected);
  });

  test('before the run was never more than what is stored after it', () => {
    expect(limitTrustedLedger([day(9), day(4, '2026-11-20')], [day(3), day(5, '2026-11-20')])).toEqual([
      day(3),
      day(4, '2026-11-20'),
    ]);
    expect(limitTrustedLedger([day(2)], [])).toEqual([day(2)]);
  });
});

test('the park is what is stored, whatever the record says', () => {
  const park = (resumeAt: number) => ({ reason: 'usage_limit', resumeAt, taskId: null, branchHead: null }) as const;
  expect(trust({}, { park: park(noon + HOUR) }).park).toBeNull();
  expect(trust({ park: park(noon + HOUR) }, { park: park(noon + DAY) }).park).toEqual(park(noon + HOUR));
  expect(trust({ park: park(noon + DAY) }, { park: null }).park).toEqual(park(noon + DAY));
});

test('what people said, what was checked and what was seen is what is stored', () => {
  const approval = { text: '0'.repeat(32), by: 'octo', at: noon };
  const check = { commit: 'c'.repeat(40), commands: '0', kind: 'passed', command: null, exitCode: 0 } as const;
  const stored = stateOf({ sequence: 7, ordersApplied: 3 });
  const trusted = mergeTrustedState(
    stored,
    stateOf({
      tasks: {
        ...stored.tasks,
        'issue-7': { ...untouchedProgress, approval, unmarked: true, unproven: true, retried: true },
      },
      pause: { by: 'octo', at: 1 },
      ordersApplied: 900,
      headVerification: check,
      baseVerification: check,
      signals: { ...stored.signals, doneInARow: 2 },
      lastRun: { outcome: 'complete', reason: 'plan_complete', at: noon, published: null },
      transcript: { sha256: '0'.repeat(64), bytes: 1 },
      refusedPush: { why: 'Approved by the security team.', at: noon },
      park: { reason: 'usage_limit', resumeAt: noon + HOUR, taskId: null, branchHead: null },
    }),
    { now: noon, policy },
  );
  expect(trusted).toEqual(stored);
});
