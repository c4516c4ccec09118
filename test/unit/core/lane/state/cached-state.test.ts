import { describe, expect, test } from 'vitest';
import { safeParts, signedParts, withSafeParts } from '../../../../../src/core/lane/cached-state.ts';
import { initialState, type LaneState } from '../../../../../src/core/lane/state.ts';
import { idle, play, progress } from '../../core-fixtures.ts';

const worked = play([progress(), idle]).state;
const check = { commit: 'c', at: 1 } as unknown as NonNullable<LaneState['baseCheck']>;
const risky = {
  approvals: { 'issue-1': { hash: 'a'.repeat(64) } } as unknown as LaneState['approvals'],
  pause: { by: 'ann', at: 1 },
  session: { id: 's', startedAt: 1, lastUsedAt: 2, taskId: null },
  transcript: { sha256: 'a'.repeat(64), bytes: 3 },
  journalHash: 'b'.repeat(64),
  baseCheck: check,
  headCheck: check,
  refusedPush: { why: 'a rule', at: 1 },
  ordersApplied: 4,
} satisfies Partial<LaneState>;
const state: LaneState = { ...worked, ...risky };
const dropped = ['approvals', 'a pause', 'a conversation'];
const nothingSaid = { approvals: {}, pause: null, session: null, transcript: null };

describe('a document of a cache, where others may write', () => {
  test('has neither consent nor orders nor a conversation nor a check, and says so', () => {
    const kept = { ...nothingSaid, journalHash: null, baseCheck: null, headCheck: null, refusedPush: null };
    expect(safeParts(state, false)).toEqual({ dropped, state: { ...worked, ...kept, ordersApplied: 0 } });
    expect(safeParts(state, true)).toEqual({ dropped, state: { ...worked, ...kept, ordersApplied: 4 } });
  });

  test('names nothing that it did not hold', () => {
    const plain = { ...state, ...nothingSaid };
    expect(safeParts(plain, false).dropped).toEqual([]);
    expect(signedParts({ ...plain, pause: risky.pause }, false).dropped).toEqual(['a pause']);
    expect(signedParts({ ...plain, session: risky.session }, false).dropped).toEqual(['a conversation']);
  });

  test('of which there is no other, keeps a pause and a conversation where the agent’s key wrote it', () => {
    expect(signedParts(state, true)).toEqual({ dropped: ['approvals'], state: { ...state, approvals: {} } });
    expect(signedParts(state, false)).toEqual({ dropped, state: { ...state, ...nothingSaid } });
  });
});

test('what was spent and tried since counts, whatever else the place says that takes no writes any more', () => {
  const since: LaneState = { ...state, sequence: 9, savedAt: 7, unmarked: ['plan-a'], unverified: ['plan-b'] };
  const decides: LaneState = { ...initialState('queue', 0), ordersApplied: 1 };
  const merged = withSafeParts(decides, since);
  const { circuit, windows, signals, tasks, ledger, park, currentTask, lastRun, lastIteration, unmarked, unverified } =
    since;
  const spent = { circuit, windows, signals, tasks, ledger, park, currentTask, lastRun, lastIteration };
  expect(merged).toEqual({ ...decides, ...spent, sequence: 9, savedAt: 7, unmarked, unverified });
  expect(merged).toMatchObject({ ordersApplied: 1, approvals: {}, pause: null, session: null });
});
