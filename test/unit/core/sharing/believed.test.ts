import { describe, expect, test } from 'vitest';
import { believedBefore, believedState, unstoredTasks } from '../../../../src/core/sharing/believed.ts';
import { closedCircuit, type Circuit } from '../../../../src/core/lane/circuit.ts';
import { initialState, type LaneState } from '../../../../src/core/lane/state.ts';
import type { TaskProgress } from '../../../../src/core/tasks/task.ts';
import { HOUR, MINUTE, noon } from '../core-fixtures.ts';

const DAY = 24 * HOUR;
const stateOf = (change: Partial<LaneState>): LaneState => ({ ...initialState('queue', noon), ...change });
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

function believe(stored: Partial<LaneState>, recorded: Partial<LaneState>): LaneState {
  return believedState(stateOf(stored), stateOf(recorded), noon);
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
    [
      'is open again where the run has reopened it',
      done,
      task('in-progress'),
      { state: 'in-progress', doneCommit: null },
    ],
    ['is open again where its work was lost', done, null, { state: 'todo', doneCommit: null }],
    ['stays stuck', task('failed'), done, { state: 'failed' }],
    ['stays stuck', task('blocked'), task('in-progress'), { state: 'blocked' }],
    [
      'is stuck where the record says so',
      task('in-progress'),
      task('blocked', { attempts: 2 }),
      { state: 'blocked', attempts: 2 },
    ],
    [
      'has used the attempts of which more are known',
      task('todo', { attempts: 0 }),
      task('in-progress', { attempts: 4 }),
      { attempts: 4 },
    ],
  ])('%s: stored %j, recorded %j', (_, stored, recorded, expected) => {
    const tasks = (progress: TaskProgress | null) => ({ tasks: progress === null ? {} : { 'issue-1': progress } });
    expect(believe(tasks(stored), tasks(recorded)).tasks['issue-1']).toMatchObject(expected);
  });

  test('that is done in the record alone is one to name', () => {
    const both = { 'issue-1': done, 'issue-2': done };
    expect(unstoredTasks(stateOf({ tasks: { 'issue-1': done } }), stateOf({ tasks: both }))).toEqual(['issue-2']);
  });
});

describe('the circuit', () => {
  const counted: Circuit = { ...closedCircuit(1), noProgress: 2, denials: 1 };
  const open = {
    kind: 'open',
    totalOpens: 2,
    reason: 'no_progress',
    openedAt: noon - MINUTE,
    taskId: null,
  } as const satisfies Circuit;
  test.each<[string, Circuit, Circuit, object]>([
    ['counts what the record counts', closedCircuit(0), counted, { noProgress: 2, denials: 1, totalOpens: 1 }],
    ['forgets nothing because the record has', counted, closedCircuit(0), { noProgress: 2, denials: 1, totalOpens: 1 }],
    ['is open where the record says so', closedCircuit(0), open, open],
    ['is not closed because the record says so', open, closedCircuit(3), { ...open, totalOpens: 3 }],
    ['cools down from the later of two', open, { ...open, openedAt: noon - 1 }, { openedAt: noon - 1 }],
    ['never cools down from the future', closedCircuit(0), { ...open, openedAt: noon + DAY }, { openedAt: noon }],
  ])('%s', (_, stored, recorded, expected) => {
    expect(believe({ circuit: stored }, { circuit: recorded }).circuit).toMatchObject(expected);
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
    ['each knows of a day', [day(1, '2026-11-20')], [day(2)], [day(1, '2026-11-20'), day(2)]],
    ['neither knows of any', [], [], []],
  ])('where %s', (_, stored, recorded, expected) => {
    expect(believe({ ledger: stored }, { ledger: recorded }).ledger).toEqual(expected);
  });

  test('a window is as full as the fuller one, and one that is over does not fill the next', () => {
    expect(believe({ windows: hour(5) }, { windows: hour(7) }).windows).toEqual(hour(7));
    expect(believe({ windows: hour(7) }, { windows: hour(5) }).windows).toEqual(hour(7));
    expect(believe({ windows: hour(50, noon - 2 * HOUR) }, { windows: hour(2) }).windows.hour).toEqual(hour(2).hour);
  });

  test('before the run was never more than what is stored after it', () => {
    expect(believedBefore([day(9), day(4, '2026-11-20')], [day(3), day(5, '2026-11-20')])).toEqual([
      day(3),
      day(4, '2026-11-20'),
    ]);
    expect(believedBefore([day(2)], [])).toEqual([day(2)]);
  });
});

test('a limit of the provider is believed, but no longer than one can be', () => {
  const park = (resumeAt: number) => ({ reason: 'usage_limit', resumeAt, taskId: null, branchHead: null }) as const;
  expect(believe({}, { park: park(noon + HOUR) }).park).toEqual(park(noon + HOUR));
  expect(believe({ park: park(noon + DAY) }, { park: park(noon + HOUR) }).park).toEqual(park(noon + DAY));
  expect(believe({ park: park(noon + DAY) }, { park: null }).park).toEqual(park(noon + DAY));
  expect(believe({}, { park: park(noon + 9 * DAY) }).park).toBeNull();
});

test('what people said, what was checked and what was seen is what is stored', () => {
  const approval = { text: '0'.repeat(32), by: 'octo', at: noon };
  const check = { commit: 'c'.repeat(40), commands: '0', kind: 'passed', command: null, exitCode: 0 } as const;
  const stored = stateOf({ sequence: 7, ordersApplied: 3 });
  const believed = believedState(
    stored,
    stateOf({
      approvals: { 'issue-7': approval },
      pause: { by: 'octo', at: 1 },
      ordersApplied: 900,
      headCheck: check,
      baseCheck: check,
      unmarked: ['issue-7'],
      signals: { ...stored.signals, doneInARow: 2 },
      lastRun: { outcome: 'complete', reason: 'plan_complete', at: noon, published: null },
      transcript: { sha256: '0'.repeat(64), bytes: 1 },
    }),
    noon,
  );
  expect(believed).toEqual(stored);
});
