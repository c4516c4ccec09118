import { expect, test } from 'vitest';
import { claimLanesInSnapshot, type ClaimingLanes } from '../../../../src/core/parallel/claim-lanes.ts';
import { createLaneRecord } from '../../../../src/core/sharing/lane-record.ts';
import {
  parseBudgetIn,
  emptySnapshot,
  parseRecordIn,
  type Snapshot,
  withRecord,
} from '../../../../src/core/snapshot/snapshot.ts';
import type { LaneId } from '../../../../src/core/tasks/ids.ts';
import { noon } from '../core-fixtures.ts';
import { leaseOf } from '../sharing/lease-fixtures.ts';

const windows = { hour: { openedAt: noon, calls: 1, tokens: 0 }, day: null };

/** Returns a claim of these lanes that can afford the first `count` of those that are free, and counts a call. */
function claiming(lanes: readonly LaneId[], count: number, seen: Snapshot = emptySnapshot): ClaimingLanes {
  return {
    now: noon,
    claims: lanes.map((lane) => ({
      ...{ lane, seen, lease: leaseOf(`a:${lane}`), now: noon, named: [], purpose: 'tasks' as const },
    })),
    reserve: (budget, claims) => ({ budget: { ...budget, windows }, count: Math.min(count, claims.length) }),
  };
}

const lanes = ['queue', 'issue-7', 'issue-8'];
const held = (snapshot: Snapshot): readonly (string | undefined)[] =>
  lanes.map((lane) => parseRecordIn(snapshot, lane)?.lease?.runTag);
const taken = withRecord(emptySnapshot, { ...createLaneRecord('issue-7'), lease: leaseOf('b') });

test('all lanes are claimed in one change, which says so', () => {
  const { snapshot, message, answer } = claimLanesInSnapshot(claiming(lanes, 3))(emptySnapshot);
  expect(answer.map(({ kind }) => kind)).toEqual(['claimed', 'claimed', 'claimed']);
  expect(held(snapshot)).toEqual(['a:queue', 'a:issue-7', 'a:issue-8']);
  expect(parseBudgetIn(snapshot, noon)).toMatchObject({ budget: { windows } });
  expect(message).toBe('the queue, issue #7, issue #8: claimed by run id-of-a:issue-8 until 2026-11-21 13:00 UTC');
});

test('the last ones are dropped if nothing is left for them', () => {
  const { snapshot, answer } = claimLanesInSnapshot(claiming(lanes, 2))(emptySnapshot);
  expect(answer.map(({ kind }) => kind)).toEqual(['claimed', 'claimed', 'dropped']);
  expect(held(snapshot)).toEqual(['a:queue', 'a:issue-7', undefined]);
});

test('a lane that another run has is left out, and counts for nothing', () => {
  const { snapshot, answer } = claimLanesInSnapshot(claiming(lanes, 2, taken))(taken);
  expect(answer.map(({ kind }) => kind)).toEqual(['claimed', 'leased', 'claimed']);
  expect(held(snapshot)).toEqual(['a:queue', 'b', 'a:issue-8']);
});

test.each([
  ['another run has', taken, 'leased', taken],
  [
    'somebody has changed',
    emptySnapshot,
    'changed',
    withRecord(emptySnapshot, { ...createLaneRecord('issue-7'), sequence: 1 }),
  ],
])('nothing is claimed if %s the first lane', (_, seen, kind, now) => {
  const { snapshot, message, answer } = claimLanesInSnapshot(claiming(['issue-7', 'queue'], 2, seen))(now);
  expect(answer.map((one) => one.kind)).toEqual([kind, 'dropped']);
  expect(snapshot).toBe(now);
  expect(message).toBe('');
});

test('a repeated change, whose first answer was lost, claims the same', () => {
  const change = claimLanesInSnapshot(claiming(lanes, 3));
  const { snapshot, answer } = change(change(emptySnapshot).snapshot);
  expect(answer.map(({ kind }) => kind)).toEqual(['claimed', 'claimed', 'claimed']);
  expect(held(snapshot)).toEqual(['a:queue', 'a:issue-7', 'a:issue-8']);
});

test('counters of a newer version stay, and only one lane is claimed', () => {
  const newer = new Map([['usage.json', '{"version":2}']]);
  const { snapshot, answer } = claimLanesInSnapshot(claiming(lanes, 3))(newer);
  expect(answer.map(({ kind }) => kind)).toEqual(['claimed', 'dropped', 'dropped']);
  expect(snapshot.get('usage.json')).toBe('{"version":2}');
});
