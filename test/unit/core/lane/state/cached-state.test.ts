import { describe, expect, test } from 'vitest';
import { selectRestrictiveParts, selectSignedParts, withSafeParts } from '../../../../../src/core/snapshot/judged.ts';
import { createInitialState, type LaneState } from '../../../../../src/core/lane/state/state.ts';
import { untouchedProgress, withChangedTasks } from '../../../../../src/core/tasks/queue.ts';
import { idle, play, progress } from '../../core-fixtures.ts';

const worked = play([progress(), idle]).state;
const check = { commit: 'c', at: 1 } as unknown as NonNullable<LaneState['baseVerification']>;
const risky = {
  tasks: withChangedTasks(worked.tasks, ['issue-1'], (known) => ({
    ...known,
    approval: { text: 'a'.repeat(32), by: 'ann', at: 1 },
  })),
  pause: { by: 'ann', at: 1 },
  session: { id: 's', startedAt: 1, lastUsedAt: 2, taskId: null },
  transcript: { sha256: 'a'.repeat(64), bytes: 3 },
  journalHash: 'b'.repeat(64),
  baseVerification: check,
  headVerification: check,
  refusedPush: { why: 'a rule', at: 1 },
  ordersApplied: 4,
} satisfies Partial<LaneState>;
const state: LaneState = { ...worked, ...risky };
const dropped = ['approvals', 'a pause', 'a conversation'];
const nothingSaid = { tasks: worked.tasks, pause: null, session: null, transcript: null };

describe('a document of a cache, where others may write', () => {
  test('has neither consent nor orders nor a conversation nor a check, and says so', () => {
    const kept = {
      ...nothingSaid,
      journalHash: null,
      baseVerification: null,
      headVerification: null,
      refusedPush: null,
    };
    expect(selectRestrictiveParts(state, false)).toEqual({ dropped, state: { ...worked, ...kept, ordersApplied: 0 } });
    expect(selectRestrictiveParts(state, true)).toEqual({ dropped, state: { ...worked, ...kept, ordersApplied: 4 } });
  });

  test('names nothing that it did not hold', () => {
    const plain = { ...state, ...nothingSaid };
    expect(selectRestrictiveParts(plain, false).dropped).toEqual([]);
    expect(selectSignedParts({ ...plain, pause: risky.pause }, false).dropped).toEqual(['a pause']);
    expect(selectSignedParts({ ...plain, session: risky.session }, false).dropped).toEqual(['a conversation']);
  });

  test('that is the only one keeps a pause and a conversation where the agent’s key wrote it', () => {
    expect(selectSignedParts(state, true)).toEqual({
      dropped: ['approvals'],
      state: { ...state, tasks: worked.tasks },
    });
    expect(selectSignedParts(state, false)).toEqual({ dropped, state: { ...state, ...nothingSaid } });
  });
});

test('what was spent and tried since counts, whatever else a place says that has become read-only', () => {
  const marked = { ...untouchedProgress, unmarked: true, unproven: true, retried: true } as const;
  const since: LaneState = { ...state, sequence: 9, savedAt: 7, tasks: { ...worked.tasks, 'plan-a': marked } };
  const said = { ...untouchedProgress, approval: { text: 'b', by: 'ann', at: 2 } };
  const decides: LaneState = {
    ...createInitialState('queue', 0),
    ordersApplied: 1,
    tasks: { 'issue-1': { ...said, attempts: 9 }, 'issue-8': said },
  };
  const merged = withSafeParts(decides, since);
  const { circuit, windows, signals, ledger, park, currentTask, lastRun, lastIteration } = since;
  const tasks = {
    ...worked.tasks,
    'plan-a': { ...marked, retried: undefined },
    'issue-1': { ...worked.tasks['issue-1'], approval: said.approval },
    'issue-8': said,
  };
  const spent = { circuit, windows, signals, tasks, ledger, park, currentTask, lastRun, lastIteration };
  expect(merged).toEqual({ ...decides, ...spent, sequence: 9, savedAt: 7 });
  expect(merged).toMatchObject({ ordersApplied: 1, pause: null, session: null });
});
