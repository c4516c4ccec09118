import { describe, expect, test } from 'vitest';
import { createInitialState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../../src/core/lane/state/serialize-state.ts';
import { emptyBudget } from '../../../../src/core/sharing/budget.ts';
import { MAX_WAITING, type WaitingIssue } from '../../../../src/core/sharing/waiting-issues.ts';
import {
  releaseInSnapshot,
  finishInSnapshot,
  settleSnapshot,
  type Claiming,
} from '../../../../src/core/snapshot/changes.ts';
import {
  hasWorkLeft,
  withAskedTasks,
  withNothingToDo,
  withUnansweredRequest,
} from '../../../../src/core/snapshot/going-on.ts';
import { migrateSnapshot } from '../../../../src/core/snapshot/migration.ts';
import {
  emptySnapshot,
  parseLaneIn,
  listWaitingIssues,
  withLane,
  withWaiting,
  type Snapshot,
} from '../../../../src/core/snapshot/snapshot.ts';
import { untouchedProgress } from '../../../../src/core/tasks/queue.ts';
import type { TaskProgress } from '../../../../src/core/tasks/task.ts';
import { HOUR, MINUTE, noon } from '../core-fixtures.ts';
import { leaseOf } from '../sharing/lease-fixtures.ts';
import { claimOf } from './claim-fixture.ts';

const LANE = 'issue-1';
const progress = (state: TaskProgress['state'], attempts = 1): TaskProgress => ({
  ...untouchedProgress,
  state,
  attempts,
});
const stateOf = (standing: TaskProgress, lane = LANE): LaneState => ({
  ...createInitialState(lane, noon),
  sequence: 1,
  tasks: { 'issue-1': standing },
});
const asks = (snapshot: Snapshot, lane = LANE, now = noon): boolean =>
  hasWorkLeft(snapshot, lane, { runTag: 'other', runId: '9', runAttempt: 1, now, allowed: [] });
/** Returns the snapshot after a run claims the lane and ends with this state; null for a killed run. */
function afterRun(
  snapshot: Snapshot,
  state: LaneState | null,
  {
    isPublished = true,
    purpose = 'tasks',
    meanwhile = (now) => now,
  }: {
    readonly isPublished?: boolean;
    readonly purpose?: Claiming['purpose'];
    readonly meanwhile?: (now: Snapshot) => Snapshot;
  } = {},
): Snapshot {
  const lane = state?.lane ?? LANE;
  const working = meanwhile(claimOf(lane, { seen: snapshot, purpose })(snapshot).snapshot);
  if (state === null) return working;
  const run = { before: createInitialState(lane, noon), after: state, isPublished };
  const copy = { lane, sequence: state.sequence, document: serializeState(state) };
  return finishInSnapshot({ ...copy, saver: leaseOf('a'), now: noon, run, stored: null })(working).snapshot;
}

describe('the lane of an issue continues', () => {
  test.each<[string, TaskProgress, boolean]>([
    ['that has begun its issue', progress('in-progress'), true],
    ['that has another turn', progress('todo'), true],
    ['that is stuck, until its turn comes', progress('stuck'), true],
    ['not one that never began', progress('todo', 0), false],
    ['not one that is done', progress('done'), false],
    ['not one that waits for a person', progress('blocked'), false],
    ['nor one that failed', progress('failed'), false],
  ])('%s', (_, standing, expected) => {
    expect(asks(afterRun(emptySnapshot, stateOf(standing)))).toBe(expected);
  });

  test('if something is still to publish, whatever happened to its issue', () => {
    const left = afterRun(emptySnapshot, stateOf(progress('done')), { isPublished: false });
    expect(asks(left)).toBe(true);
    expect(asks(afterRun(left, { ...stateOf(progress('done')), sequence: 2 }))).toBe(false);
  });

  test.each([
    ['cancelled', 'signal', true],
    ['limit', 'unverified', true],
    ['limit', 'cost', false],
  ] as const)('that is done, if its run could not say so or verify it: %s (%s)', (outcome, reason, expected) => {
    const lastRun = { outcome, reason, at: noon, published: null };
    expect(asks(afterRun(emptySnapshot, { ...stateOf(progress('done')), lastRun }))).toBe(expected);
  });

  test('not the queue, which each schedule works on', () => {
    expect(asks(afterRun(emptySnapshot, stateOf(progress('in-progress'), 'queue')), 'queue')).toBe(false);
    expect(asks(withUnansweredRequest(emptySnapshot, 'queue'), 'queue')).toBe(false);
  });

  test('not one that nobody knows, or that a newer version wrote', () => {
    expect(asks(emptySnapshot)).toBe(false);
    expect(asks(new Map([[`lanes/${LANE}.json`, '{"version":9}']]))).toBe(false);
  });

  test('not while a run has it; whose run was killed, once its claim is over', () => {
    const killed = afterRun(emptySnapshot, null);
    expect([asks(killed), asks(killed, LANE, noon + 2 * HOUR)]).toEqual([false, true]);
    expect(asks(withNothingToDo(killed, [LANE]), LANE, noon + 2 * HOUR)).toBe(false);
  });

  test('whose run ended before it answered, and gave the lane back', () => {
    const working = afterRun(emptySnapshot, null, { purpose: 'answers' });
    const given = releaseInSnapshot(LANE, { holder: leaseOf('a'), isUnused: true, now: noon })(working).snapshot;
    expect(asks(given)).toBe(true);
    const idle = releaseInSnapshot(LANE, { holder: leaseOf('a'), isUnused: true, now: noon })(
      afterRun(emptySnapshot, null),
    );
    expect(asks(idle.snapshot)).toBe(false);
  });

  test('if people ask something while a run works on it, whatever that run makes of the rest', () => {
    const done = stateOf(progress('done'));
    const meanwhile = (now: Snapshot): Snapshot => withUnansweredRequest(now, LANE);
    const asked = afterRun(emptySnapshot, done, { meanwhile });
    expect(asks(asked)).toBe(true);
    // The next run has read the request when it claims the lane.
    expect(asks(afterRun(asked, { ...done, sequence: 2 }))).toBe(false);
    expect(withUnansweredRequest(asked, LANE)).toBe(asked);
    // A run that only notifies people has not read it.
    expect(asks(afterRun(asked, { ...done, sequence: 2 }, { purpose: 'notice' }))).toBe(true);
  });

  test('no more once somebody looked and found nothing to do, until a run saves it again', () => {
    const open = afterRun(emptySnapshot, stateOf(progress('in-progress')));
    const rests = withNothingToDo(withUnansweredRequest(open, LANE), [LANE]);
    expect([asks(rests), asks(withUnansweredRequest(rests, LANE))]).toEqual([false, true]);
    expect(asks(afterRun(rests, { ...stateOf(progress('in-progress')), sequence: 2 }))).toBe(true);
  });
});

describe("a person's request", () => {
  const waits = (lane: string, task: string): WaitingIssue => ({
    ...{ lane, task, at: noon, attempts: 2, isAsked: false },
  });

  test.each<[string, string, readonly string[], boolean]>([
    ['continues where its own lane left it', LANE, ['issue-1'], true],
    ['not where the queue works on it', 'queue', ['issue-1'], false],
    ['not what nobody asks for', LANE, ['issue-3'], false],
  ])('%s', (_, lane, asked, expected) => {
    const snapshot = withWaiting(emptySnapshot, [waits(lane, 'issue-1'), waits('queue', 'issue-3')]);
    const after = withAskedTasks(snapshot, asked, noon + MINUTE);
    expect(asks(after)).toBe(expected);
    expect(listWaitingIssues(after).filter(({ isAsked }) => isAsked)).toMatchObject([{ task: asked[0] }]);
    expect(withAskedTasks(after, asked, noon + HOUR)).toBe(after);
  });

  test('keeps that something was asked which no run has read', () => {
    const snapshot = withUnansweredRequest(withWaiting(emptySnapshot, [waits(LANE, 'issue-1')]), LANE);
    expect(parseLaneIn(withAskedTasks(snapshot, ['issue-1'], noon), LANE)).toMatchObject({
      record: { goesOn: 'unanswered' },
    });
  });
});

test('settling a run changes what waits and what continues, also where its state is not kept', () => {
  const after = stateOf({ ...progress('blocked'), reason: 'status_blocked' });
  const run = { before: createInitialState(LANE, noon), after, isPublished: false };
  const snapshot = settleSnapshot(
    withLane(emptySnapshot, LANE, (record) => record),
    run,
    { runTag: 'a', now: noon },
  );
  expect(listWaitingIssues(snapshot)).toMatchObject([{ lane: LANE, task: LANE, at: noon, isAsked: false }]);
  expect(asks(snapshot)).toBe(true);
  expect(settleSnapshot(snapshot, run, { runTag: 'a', now: noon + MINUTE })).toBe(snapshot);
});

const waitingOf = (earlier: object): readonly WaitingIssue[] =>
  listWaitingIssues(migrateSnapshot(new Map([['budget', JSON.stringify({ ...emptyBudget, ...earlier })]]), noon));

describe('an open circuit as an earlier version wrote it', () => {
  const read = (circuits: readonly string[], waiting: readonly string[] = []): readonly string[] => {
    const open = circuits.map((task) => ({ lane: task, task, openedAt: noon - MINUTE }));
    const known = {
      progress: { ...untouchedProgress, state: 'failed', attempts: 8, reason: 'max_iterations_per_task' },
    };
    const issues = waiting.map((task) => ({ lane: task, task, ...known, notice: null, at: noon }));
    return waitingOf({ circuits: open, waiting: issues }).map(
      ({ task, attempts, at }) => `${task} ${String(attempts)} ${String(at - noon)}`,
    );
  };

  test.each<[string, readonly string[], readonly string[], readonly string[]]>([
    ['is an issue that is set aside', ['issue-1'], [], [`issue-1 1 ${String(-MINUTE)}`]],
    ['comes before what waits already', ['issue-1'], ['issue-2'], [`issue-1 1 ${String(-MINUTE)}`, 'issue-2 8 0']],
    ['says nothing new of an issue that waits', ['issue-1'], ['issue-1'], ['issue-1 8 0']],
    ['says nothing of a task of a file', ['plan-1'], [], []],
  ])('%s', (_, circuits, waiting, expected) => {
    expect(read(circuits, waiting)).toEqual(expected);
  });

  test('is forgotten where there is no room', () => {
    const issues = Array.from({ length: MAX_WAITING }, (_, i) => `issue-${String(i + 2)}`);
    expect(read(['issue-1'], issues)).toEqual(issues.map((id) => `${id} 8 0`));
  });

  test('is one iteration of the lane whose circuit it opened', () => {
    const circuits = [{ lane: 'queue', task: 'issue-1', openedAt: noon }];
    expect(waitingOf({ circuits })).toEqual([
      { lane: 'queue', task: 'issue-1', at: noon, attempts: 1, isAsked: false },
    ]);
  });
});
