import { describe, expect, test } from 'vitest';
import { createInitialState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import {
  mergeReceivedState,
  withReservationUsed,
  type AdmittedWork,
} from '../../../../src/core/sharing/trusted-state.ts';
import { untouchedProgress } from '../../../../src/core/tasks/queue.ts';
import { HOUR, noon, policy } from '../core-fixtures.ts';

const DAY = '2026-11-21';
const MIDNIGHT = noon - 12 * HOUR;
const progress = (state: 'todo' | 'in-progress' | 'done') => ({ ...untouchedProgress, state, attempts: 1 });
const before: LaneState = {
  ...createInitialState('queue', noon - HOUR),
  sequence: 7,
  tasks: { 'issue-1': progress('done'), 'issue-2': progress('in-progress') },
  windows: { hour: { openedAt: noon - HOUR / 2, calls: 5, tokens: 50 }, day: { openedAt: MIDNIGHT, costUsd: 1 } },
  ledger: [{ day: DAY, calls: 5, tokens: 50, costUsd: 1, minutes: 5 }],
};
const admitted: AdmittedWork = {
  before,
  tasks: ['issue-2', 'issue-3'],
  policy: { ...policy, maxIterations: 4, maxCostUsd: 2 },
  base: 'base',
};
const received = (change: Partial<LaneState>): LaneState =>
  mergeReceivedState({ ...before, ...change }, admitted, noon);

describe('what the job of the loop says of', () => {
  test('tasks counts for those that were admitted, and for no others', () => {
    const tasks = {
      'issue-1': progress('todo'),
      'issue-2': progress('done'),
      'issue-3': progress('in-progress'),
      'issue-9': progress('done'),
    };
    expect(received({ tasks }).tasks).toEqual({
      'issue-1': progress('done'),
      'issue-2': progress('done'),
      'issue-3': progress('in-progress'),
    });
    expect(received({ currentTask: 'issue-3' }).currentTask).toBe('issue-3');
    expect(received({ currentTask: 'issue-9' }).currentTask).toBeNull();
    const marked = { ...progress('done'), unmarked: true, unproven: true } as const;
    expect(received({ tasks: { 'issue-1': marked, 'issue-2': marked, 'issue-9': marked } }).tasks).toEqual({
      'issue-1': progress('done'),
      'issue-2': marked,
    });
  });

  test('a step that it waits for: only one of the pipeline', () => {
    const agentSteps = [{ name: 'work', marker: null, resetAfterMs: HOUR, required: true, agent: null }];
    const of = (step: string): LaneState['park'] => {
      const park = { reason: 'step_circuit', step, resumeAt: noon + HOUR, taskId: null, branchHead: null } as const;
      return mergeReceivedState({ ...before, park }, { ...admitted, policy: { ...admitted.policy, agentSteps } }, noon)
        .park;
    };
    expect([of('work'), of('[a](https://evil.test)')]).toMatchObject([{ step: 'work' }, { step: null }]);
  });

  test('a task that people asked to retry: it may be over, and nothing is new', () => {
    const retried = { ...untouchedProgress, retried: true } as const;
    const of = (was: LaneState['tasks'], is: LaneState['tasks']): LaneState['tasks'] =>
      mergeReceivedState({ ...before, tasks: is }, { ...admitted, before: { ...before, tasks: was } }, noon).tasks;
    expect(
      of({ 'issue-2': retried, 'issue-3': retried }, { 'issue-2': untouchedProgress, 'issue-3': retried }),
    ).toEqual({ 'issue-2': untouchedProgress, 'issue-3': retried });
    expect(of({ 'issue-2': untouchedProgress }, { 'issue-2': retried })).toEqual({ 'issue-2': untouchedProgress });
    expect(received({ retriesAll: true }).retriesAll).toBe(false);
    expect(received({ leftCircuit: 'ab'.repeat(32) }).leftCircuit).toBeNull();
  });

  test('answers of other lanes: those of what it worked on may be over, and none is new', () => {
    const answer = (lane: string) => ({ ...untouchedProgress, answer: { lane, at: noon } });
    const approval = { text: 'a', by: 'ann', at: noon };
    const was: LaneState = { ...before, tasks: { 'issue-1': answer('issue-1'), 'issue-2': answer('issue-2') } };
    const of = (tasks: LaneState['tasks']) =>
      mergeReceivedState({ ...was, tasks }, { ...admitted, before: was }, noon).tasks;
    expect(of(was.tasks)).toEqual(was.tasks);
    expect(
      of({ 'issue-1': untouchedProgress, 'issue-2': { ...untouchedProgress, approval }, 'issue-3': answer('issue-9') }),
    ).toEqual({ 'issue-1': answer('issue-1'), 'issue-2': untouchedProgress, 'issue-3': untouchedProgress });
  });

  test.each<[string, number, number]>([
    ['less than before is what it was before', 0, 5],
    ['what was reserved counts', 9, 9],
    ['more than that does not', 90, 9],
  ])('calls: %s', (_, calls, expected) => {
    const hour = { openedAt: noon - HOUR / 2, calls, tokens: 0 };
    const { windows, ledger } = received({
      windows: { hour, day: null },
      ledger: [{ day: DAY, calls, tokens: 0, costUsd: 0, minutes: 0 }],
    });
    expect([windows.hour?.calls, ledger[0]?.calls]).toEqual([expected, expected]);
  });

  test.each<[string, number, number]>([
    ['less than before is what it was before', 0, 1],
    ['what was used counts', 3, 3],
    ['what was used beyond the reservation counts, too', 40, 40],
    ['no number without bounds', 1e9, 1_003],
  ])('cost: %s', (_, costUsd, expected) => {
    const { windows, ledger } = received({
      windows: { hour: null, day: { openedAt: MIDNIGHT, costUsd } },
      ledger: [{ day: DAY, calls: 5, tokens: 0, costUsd, minutes: 0 }],
    });
    expect([windows.day?.costUsd, ledger[0]?.costUsd]).toEqual([expected, expected]);
  });
});

test('an unknown run has used what it had reserved, in window and ledger', () => {
  const used = withReservationUsed(before, admitted.policy, noon);
  expect(used.windows).toMatchObject({ hour: { calls: 9 }, day: { costUsd: 3 } });
  expect(used.ledger).toMatchObject([{ calls: 9, costUsd: 3 }]);
  expect({ ...used, windows: before.windows, ledger: before.ledger }).toEqual(before);
});
