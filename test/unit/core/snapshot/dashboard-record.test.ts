import { expect, test } from 'vitest';
import {
  addToQueue,
  changeDashboard,
  dashboardIn,
  type QueuedEntry,
  rememberQueue,
  toQueuedEntry,
} from '../../../../src/core/snapshot/dashboard-record.ts';
import {
  DASHBOARD_FILE,
  emptySnapshot,
  isSnapshotFile,
  type Snapshot,
} from '../../../../src/core/snapshot/snapshot.ts';
import { task as taskOf } from '../core-fixtures.ts';

const issue = { number: 7, id: 'I_7' };

function task(id: string, dependsOn: readonly string[] = []): QueuedEntry {
  return { id, name: id, title: `Title of ${id}`, obstacle: null, dependsOn: [...dependsOn] };
}

test('the record is kept in a file of its own, and older states have none', () => {
  expect(isSnapshotFile(DASHBOARD_FILE)).toBe(true);
  expect(dashboardIn(emptySnapshot)).toEqual({ version: 1, issue: null, ticks: [], read: null, queue: [] });
  const { snapshot, answer } = changeDashboard((record) => ({ ...record, issue }), 'why')(emptySnapshot);
  expect([dashboardIn(snapshot), answer.issue]).toEqual([answer, issue]);
  // Before a reading was kept.
  const earlier = JSON.stringify({ version: 1, issue, ticks: [], queue: [] });
  expect(dashboardIn(new Map([[DASHBOARD_FILE, earlier]]))).toEqual(answer);
});

test('a change that changes nothing returns the snapshot itself', () => {
  expect(changeDashboard((record) => ({ ...record }), '')(emptySnapshot).snapshot).toBe(emptySnapshot);
});

test.each([
  { what: 'damaged', text: '{', isReplaced: true },
  { what: 'of a newer version', text: '{"version":2}', isReplaced: false },
])('a file that is $what counts as empty', ({ text, isReplaced }) => {
  const before: Snapshot = new Map([[DASHBOARD_FILE, text]]);
  expect(dashboardIn(before).issue).toBeNull();
  const { snapshot } = changeDashboard((record) => ({ ...record, issue }), '')(before);
  expect(dashboardIn(snapshot).issue).toEqual(isReplaced ? issue : null);
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
  expect(dashboardIn(snapshot).queue).toHaveLength(500);
});
