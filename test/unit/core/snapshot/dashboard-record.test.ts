import { describe, expect, test } from 'vitest';
import {
  addToQueue,
  changeDashboard,
  parseDashboardIn,
  dropTakenTicks,
  type QueuedEntry,
  rememberQueue,
  takeTicks,
  listTicksTakenBy,
  toQueuedEntry,
} from '../../../../src/core/snapshot/dashboard-record.ts';
import {
  DASHBOARD_FILE,
  emptySnapshot,
  isSnapshotFile,
  type Snapshot,
} from '../../../../src/core/snapshot/snapshot.ts';
import { type DashboardBox, renderBox } from '../../../../src/core/dashboard/boxes.ts';
import { task as taskOf } from '../core-fixtures.ts';

const issue = { number: 7, id: 'I_7' };

function task(id: string, dependsOn: readonly string[] = []): QueuedEntry {
  return { id, name: id, title: `Title of ${id}`, obstacle: null, dependsOn: [...dependsOn] };
}

test('the record is kept in a file of its own, and older states have none', () => {
  expect(isSnapshotFile(DASHBOARD_FILE)).toBe(true);
  expect(parseDashboardIn(emptySnapshot)).toEqual({ version: 1, issue: null, ticks: [], read: null, queue: [] });
  const { snapshot, answer } = changeDashboard((record) => ({ ...record, issue }), 'why')(emptySnapshot);
  expect([parseDashboardIn(snapshot), answer.issue]).toEqual([answer, issue]);
  // Before a reading was kept.
  const earlier = JSON.stringify({ version: 1, issue, ticks: [], queue: [] });
  expect(parseDashboardIn(new Map([[DASHBOARD_FILE, earlier]]))).toEqual(answer);
});

test('a change that changes nothing returns the snapshot itself', () => {
  expect(changeDashboard((record) => ({ ...record }), '')(emptySnapshot).snapshot).toBe(emptySnapshot);
});

test.each([
  { what: 'damaged', text: '{', isReplaced: true },
  { what: 'of a newer version', text: '{"version":2}', isReplaced: false },
])('a file that is $what counts as empty', ({ text, isReplaced }) => {
  const before: Snapshot = new Map([[DASHBOARD_FILE, text]]);
  expect(parseDashboardIn(before).issue).toBeNull();
  const { snapshot } = changeDashboard((record) => ({ ...record, issue }), '')(before);
  expect(parseDashboardIn(snapshot).issue).toEqual(isReplaced ? issue : null);
});

test('a list of issues alone keeps entries of files and what tasks wait for', () => {
  const known = [task('issue-1', ['issue-2']), task('issue-2'), task('plan-0a')];
  const listed = [task('issue-3'), task('issue-1')];
  expect(rememberQueue(known, { tasks: listed, isWhole: false }).map(({ id, dependsOn }) => [id, dependsOn])).toEqual([
    ['issue-3', []],
    ['issue-1', ['issue-2']],
    ['plan-0a', []],
  ]);
  expect(rememberQueue(known, { tasks: listed, isWhole: true })).toEqual(listed);
});

test('a run that has not listed the queue adds its own issue', () => {
  const known = [task('issue-1'), task('plan-0a')];
  expect(addToQueue(known, [task('issue-1', ['issue-9']), task('plan-0b')])).toBe(known);
  expect(addToQueue(known, [task('issue-2')]).map(({ id }) => id)).toEqual(['issue-1', 'plan-0a', 'issue-2']);
});

test('texts that are too long are cut, so that the file stays readable', () => {
  const long = 'x'.repeat(500);
  const queue = Array.from({ length: 600 }, (_, at) =>
    toQueuedEntry({ ...taskOf(at + 1), title: long, dependsOn: Array.from({ length: 50 }, () => long) }),
  );
  const { snapshot } = changeDashboard(
    (record) => ({ ...record, queue: rememberQueue([], { tasks: queue, isWhole: true }) }),
    '',
  )(emptySnapshot);
  expect(parseDashboardIn(snapshot).queue).toHaveLength(500);
});

describe('ticks', () => {
  const now = Date.parse('2026-11-27T12:00:00Z');
  const later = now + 10 * 60_000;
  const ann = { login: 'ann', id: 1, kind: 'user' } as const;
  const pause: DashboardBox = { kind: 'pause', subject: 'queue' };
  const text = renderBox(pause);
  const page = {
    ...{ number: 7, edits: 2 },
    revisions: [
      { by: null, text },
      { by: ann, text: text.replace('[ ]', '[x]') },
    ],
  };
  const empty = parseDashboardIn(emptySnapshot);
  const taken = takeTicks(empty, page, { runTag: 'one', now });

  test('of a page are taken by the run that is first, and left by all others', () => {
    expect(listTicksTakenBy(taken, 'one')).toEqual([{ box: pause, by: ann }]);
    expect(takeTicks(taken, page, { runTag: 'two', now })).toBe(taken);
    expect(takeTicks(taken, { ...page, edits: 1, revisions: [] }, { runTag: 'two', now })).toBe(taken);
    expect(dropTakenTicks(taken, 'two')).toEqual(taken);
    const judged = dropTakenTicks(taken, 'one');
    expect(judged).toEqual({ ...empty, read: taken.read });
    expect(takeTicks(judged, page, { runTag: 'two', now })).toBe(judged);
  });

  test('of an older version than another run has read are its own', () => {
    const newer = { ...empty, read: { number: 7, edits: 3, ticks: [] } };
    expect(takeTicks(newer, page, { runTag: 'two', now })).toBe(newer);
  });

  test('are free again when the run that took them has not obeyed them in ten minutes', () => {
    expect(listTicksTakenBy(takeTicks(taken, page, { runTag: 'two', now: later - 1 }), 'two')).toEqual([]);
    const again = takeTicks(taken, page, { runTag: 'two', now: later });
    expect([listTicksTakenBy(again, 'one'), listTicksTakenBy(again, 'two')]).toEqual([[], [{ box: pause, by: ann }]]);
  });

  test('that are remembered are taken even where the page is closed', () => {
    const kept = { ...empty, ticks: [{ box: pause, by: ann, taken: null }] };
    const closed = takeTicks(kept, { ...page, revisions: null }, { runTag: 'one', now });
    expect(listTicksTakenBy(closed, 'one')).toEqual([{ box: pause, by: ann }]);
    expect(takeTicks(empty, { ...page, revisions: null }, { runTag: 'one', now })).toBe(empty);
  });
});
