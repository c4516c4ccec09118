import { describe, expect, test } from 'vitest';
import { emptyBudget, reserveUsage, type Reservation } from '../../../../src/core/sharing/budget.ts';
import { createLaneRecord } from '../../../../src/core/sharing/lane-record.ts';
import { createInitialState } from '../../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../../src/core/lane/state/serialize-state.ts';
import {
  amendInSnapshot,
  claimsOfRun,
  changeUsage,
  orderInSnapshot,
  releaseInSnapshot,
  finishInSnapshot,
  withoutLeases,
} from '../../../../src/core/snapshot/changes.ts';
import {
  parseBudgetIn,
  emptySnapshot,
  parseLaneIn,
  withRecord,
  type Snapshot,
} from '../../../../src/core/snapshot/snapshot.ts';
import { withUnansweredRequest } from '../../../../src/core/snapshot/going-on.ts';
import { HOUR, noon } from '../core-fixtures.ts';
import { claimOf } from './claim-fixture.ts';
import { leaseOf } from '../sharing/lease-fixtures.ts';
import { runTagOfLane } from '../../../../src/core/sharing/lease.ts';

const LANE = 'issue-7';
const a = leaseOf('a', { runId: '42' });
const reservation: Reservation = {
  ...{ runTag: 'a', lane: LANE, runUrl: '', runId: '42', runAttempt: 1, expiresAt: noon + HOUR, tasks: [LANE] },
  ...{ calls: 5, tokens: 0, costUsd: 1 },
};
const claimed = (seen: Snapshot, by = a) =>
  claimOf(LANE, { seen, lease: by, reserve: (budget) => reserveUsage(budget, reservation, noon) });
const ofBudget = (snapshot: Snapshot) => {
  const found = parseBudgetIn(snapshot, noon);
  if (found.kind !== 'budget') throw new Error(found.kind);
  return found.budget;
};
const day = { day: '2026-11-21', calls: 2, tokens: 0, costUsd: 0.5, minutes: 0 };
const before = createInitialState(LANE, noon);
const after = { ...before, sequence: 1, ledger: [day] };
const saving = (saver = a) =>
  finishInSnapshot({
    ...{ lane: LANE, sequence: 1, document: serializeState(after), saver, now: noon },
    run: { before, after, isPublished: true },
    stored: null,
  });

describe('a claim', () => {
  test('takes the lane and reserves in one change, which says so', () => {
    const { snapshot, message, answer } = claimed(emptySnapshot)(emptySnapshot);
    expect(answer).toEqual({ kind: 'claimed', sequence: 0, problem: null });
    expect(message).toMatch(/^issue #7: claimed by run 42 until 2026-11-21 13:00/);
    expect(parseLaneIn(snapshot, LANE)).toMatchObject({ record: { lease: { runTag: 'a' } } });
    expect(ofBudget(snapshot).reservations).toEqual([reservation]);
  });

  test('changes nothing where another run has the LANE, or somebody changed it since', () => {
    const { snapshot: taken } = claimed(emptySnapshot)(emptySnapshot);
    const b = leaseOf('b', { runId: '43' });
    expect(claimed(emptySnapshot, b)(taken)).toEqual({
      snapshot: taken,
      message: '',
      answer: { kind: 'leased', lease: a },
    });
    const ordered = withRecord(emptySnapshot, { ...createLaneRecord(LANE), sequence: 3 });
    expect(claimed(emptySnapshot)(ordered)).toMatchObject({ snapshot: ordered, answer: { kind: 'changed' } });
  });

  test('is not stopped by what others do elsewhere, or remember of the lane', () => {
    const other = withRecord(emptySnapshot, { ...createLaneRecord('queue'), sequence: 3 });
    const marked = withUnansweredRequest(other, LANE);
    expect(claimed(emptySnapshot)(marked).answer).toMatchObject({ kind: 'claimed' });
  });
});

describe('a save', () => {
  const { snapshot: working } = claimed(emptySnapshot)(emptySnapshot);

  test('keeps the state, gives the lane back, and settles, in one change', () => {
    const { snapshot, message, answer } = saving()(working);
    expect(answer).toEqual({ kind: 'saved' });
    expect(message).toBe('issue #7: saved as #1 by run 42, which ends');
    expect(parseLaneIn(snapshot, LANE)).toMatchObject({ record: { sequence: 1, savedBy: 'a', lease: null } });
    expect(ofBudget(snapshot)).toMatchObject({
      reservations: [],
      windows: { hour: { calls: 2 }, day: { costUsd: 0.5 } },
    });
    // Repeating the change has no effect.
    expect(saving()(snapshot)).toMatchObject({ snapshot, answer: { kind: 'already' } });
  });

  test('that another run has overtaken settles anyway', () => {
    const taken = withRecord(working, { ...createLaneRecord(LANE), lease: leaseOf('b', { acquiredAt: noon + 1 }) });
    const { snapshot, answer } = saving()(taken);
    expect(answer).toMatchObject({ kind: 'outrun' });
    expect(parseLaneIn(snapshot, LANE)).toMatchObject({ record: { sequence: 0, lease: { runTag: 'b' } } });
    expect(ofBudget(snapshot)).toMatchObject({ reservations: [], windows: { hour: { calls: 2 } } });
  });
});

test('a lane that is given back unused gives back its reservation; one that was worked on keeps it', () => {
  const { snapshot: working } = claimed(emptySnapshot)(emptySnapshot);
  for (const isUnused of [true, false]) {
    const { snapshot } = releaseInSnapshot(LANE, { holder: a, isUnused, now: noon })(working);
    expect(parseLaneIn(snapshot, LANE)).toMatchObject({ record: { lease: null } });
    expect(ofBudget(snapshot).reservations).toHaveLength(isUnused ? 0 : 1);
  }
  const stranger = { ...a, runTag: 'stranger' };
  expect(releaseInSnapshot(LANE, { holder: stranger, isUnused: true, now: noon })(working).snapshot).toBe(working);
});

test('an order says in the history who gave it; a name cannot begin a line of its own', () => {
  const given = { kind: 'retry', task: LANE, by: 'ada\nRalph-Depth: 1', from: 'comment', run: null, at: noon } as const;
  const { message, answer, snapshot } = orderInSnapshot(LANE, given)(emptySnapshot);
  expect([message, answer]).toEqual(['issue #7: retry issue-7, ordered by ada Ralph-Depth: 1 (comment)', null]);
  expect(parseLaneIn(snapshot, LANE)).toMatchObject({ record: { orders: [{ kind: 'retry' }] } });
  const newer = new Map([[`lanes/${LANE}.json`, '{"version":9}']]);
  expect(orderInSnapshot(LANE, given)(newer)).toMatchObject({
    snapshot: newer,
    answer: expect.stringContaining('newer'),
  });
});

test('what decides nothing is amended where nobody works on the LANE, and it is as it was decided by', () => {
  const document = (sequence: number): string => `{"n":${String(sequence)}}`;
  const amending = (seen: Snapshot) =>
    amendInSnapshot({ lane: LANE, document, holder: a, seen, now: noon, why: 'why' });
  const { snapshot, answer } = amending(emptySnapshot)(emptySnapshot);
  expect(answer).toBe(true);
  expect(parseLaneIn(snapshot, LANE)).toMatchObject({ record: { sequence: 1, document: '{"n":1}', lease: null } });
  expect(amending(emptySnapshot)(snapshot)).toMatchObject({ snapshot, answer: false });
  const taken = withRecord(emptySnapshot, { ...createLaneRecord(LANE), lease: leaseOf('b') });
  expect(amending(taken)(taken)).toMatchObject({ snapshot: taken, answer: false });
});

test('counters of a newer version are not changed', () => {
  const newer = new Map([['usage.json', '{"version":2}']]);
  const change = changeUsage(() => emptyBudget, { message: '', now: noon });
  expect(change(newer)).toMatchObject({ snapshot: newer, answer: expect.stringContaining('newer version') });
});

test('a run holds what it claimed under its own tag, and under the tags of its lanes', () => {
  const asked = [
    ['queue', 'a'],
    ['issue-7', runTagOfLane('a', 'issue-7')],
    ['issue-8', runTagOfLane('a', 'issue-7')],
    ['issue-9', 'ab'],
  ] as const;
  const held = asked.reduce(
    (next, [lane, runTag]) => withRecord(next, { ...createLaneRecord(lane), lease: leaseOf(runTag) }),
    emptySnapshot,
  );
  expect(claimsOfRun(held, 'a')).toEqual([
    { lane: 'queue', runTag: 'a' },
    { lane: 'issue-7', runTag: 'a:issue-7' },
  ]);
});

test('once all runs are over no lane is claimed', () => {
  const { snapshot } = claimed(emptySnapshot)(emptySnapshot);
  expect(parseLaneIn(withoutLeases(snapshot), LANE)).toMatchObject({ record: { lease: null } });
});
