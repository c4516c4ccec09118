import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../../src/core/countdown.ts';
import {
  computeMergedTaskCost,
  summarizeHistory,
  type HistoryTotals,
  formatWeek,
  type TaskHistory,
  listTaskHistories,
} from '../../../../src/core/history/task-history.ts';
import { emptySnapshot } from '../../../../src/core/snapshot/snapshot.ts';
import type { ClosedPull, PublishedPull } from '../../../../src/core/snapshot/stored-pull.ts';
import { noon } from '../core-fixtures.ts';
import { publishedPull, pullTask, wholeHistory, withEnded } from './history-fixture.ts';

const historiesOf = (published: Partial<PublishedPull>, closed: Partial<ClosedPull> | null): readonly TaskHistory[] =>
  listTaskHistories(withEnded(emptySnapshot, publishedPull(published), closed));

describe('the history of a task', () => {
  const person = {
    head: 'b'.repeat(40),
    commits: [{ id: 'b'.repeat(40), message: 'Rename it', email: 'ann@example.com' }],
  };
  test.each<[string, Partial<PublishedPull>, Partial<ClosedPull> | null, Partial<TaskHistory>]>([
    ['open', {}, null, { end: 'open', endedAt: null, isUntouched: null }],
    ['merged untouched', {}, {}, { end: 'merged', endedAt: noon + HOUR_MS, isUntouched: true, peopleCommits: 0 }],
    ['merged with a commit on top', {}, person, { isUntouched: false, peopleCommits: 1 }],
    ['merged after a push on the way', { personHead: 'd' }, {}, { isUntouched: false, peopleCommits: 1 }],
    ['merged with unread commits', {}, { ...person, commits: [] }, { isUntouched: null, peopleCommits: null }],
    ['a push and unread commits', { personHead: 'd' }, { ...person, commits: [] }, { isUntouched: false }],
    ['closed', {}, { kind: 'closed' }, { end: 'closed', isUntouched: null }],
    ['merged before it was done', { tasks: [pullTask({ state: 'blocked' })] }, {}, { end: 'unfinished' }],
  ])('%s', (_, published, closed, expected) => {
    expect(historiesOf(published, closed)).toEqual([expect.objectContaining(expected)]);
  });

  test.each<[string, number | null, readonly (number | null)[], readonly (number | null)[]]>([
    ['its own cost', 1, [1], [1]],
    ['and an equal part of what answers to reviews cost', 4, [1, 2], [1.5, 2.5]],
    ['unknown if its own is', null, [1, null], [null, null]],
    ['never less than its own', 1, [1, 2], [1, 2]],
  ])('costs %s', (_, costUsd, own, expected) => {
    const tasks = own.map((cost, index) => pullTask({ id: `issue-${String(index + 1)}`, costUsd: cost }));
    expect(historiesOf({ costUsd, tasks }, {}).map((task) => task.costUsd)).toEqual(expected);
  });
});

describe('the totals', () => {
  test('of nothing are unknown, not 0', () => {
    expect(summarizeHistory([]).all).toMatchObject({ tasks: 0, costUsd: null, lostUsd: null, medianMs: null });
    expect(computeMergedTaskCost(summarizeHistory([]).all)).toBeNull();
  });

  test('leave unknown costs out of the average', () => {
    const tasks = [
      ...historiesOf({}, {}),
      ...historiesOf({ costUsd: null }, {}),
      ...historiesOf({}, { kind: 'closed' }),
    ];
    const { all } = summarizeHistory(tasks);
    expect(all).toMatchObject({ tasks: 3, merged: 2, priced: 1, costUsd: 1, lostUsd: 1, notMerged: 1 });
    expect(computeMergedTaskCost(all)).toBe(1);
  });

  test('give the median time from the label to the merge', () => {
    const after = (hours: number | null) =>
      historiesOf({ tasks: [pullTask({ labelledAt: hours === null ? null : noon - hours * HOUR_MS })] }, {});
    expect(summarizeHistory([after(0), after(4), after(null), after(100)].flat()).all).toMatchObject({
      medianMs: 5 * HOUR_MS,
    });
  });

  test('of a task with two labels are in both groups, and those without any come under none', () => {
    const tasks = [
      ...historiesOf({ tasks: [pullTask({ labels: ['bug', 'P1', 'bug'] })] }, {}),
      ...historiesOf({ tasks: [pullTask({ model: 'opus' })] }, null),
    ];
    const { labels, models, agents } = summarizeHistory(tasks);
    expect(labels.map(({ name, tasks: count }) => [name, count])).toEqual([
      ['P1', 1],
      ['bug', 1],
      [null, 1],
    ]);
    expect(models.map(({ name }) => name)).toEqual([null, 'opus']);
    expect(agents).toMatchObject([{ name: 'claude', tasks: 2 }]);
  });

  test.each([
    ['2026-11-23T00:00:00Z', '2026-11-23'],
    ['2026-11-29T23:59:59Z', '2026-11-23'],
    ['2026-01-01T00:00:00Z', '2025-12-29'],
    ['1970-01-01T00:00:00Z', '1969-12-29'],
  ])('of %s belong to the week from %s', (instant, monday) => {
    expect(formatWeek(Date.parse(instant))).toBe(monday);
  });

  test('of the weeks, and of the agents, add up to those of all tasks', () => {
    const instant = fc.integer({ min: noon - 90 * DAY_MS, max: noon });
    const cost = fc.option(fc.integer({ min: 0, max: 500 }).map((cents) => cents / 100));
    const task = fc.record({
      openedAt: instant,
      endedAt: fc.option(instant),
      end: fc.constantFrom('open', 'merged', 'unfinished', 'closed'),
      agent: fc.option(fc.constantFrom('claude', 'codex')),
      costUsd: cost,
      isUntouched: fc.option(fc.boolean()),
      reviewRounds: fc.nat(3),
      revertedAt: fc.option(instant),
    });
    const [model] = historiesOf({}, {}) as [TaskHistory];
    const sums = (groups: readonly HistoryTotals[]) => {
      const of = (key: Exclude<keyof HistoryTotals, 'medianMs'>): number =>
        groups.reduce((sum, group) => sum + (group[key] ?? 0), 0);
      const counts = [
        'tasks',
        'merged',
        'notMerged',
        'open',
        'priced',
        'judged',
        'untouched',
        'reverted',
        'reviewRounds',
      ] as const;
      return [...counts.map(of), Math.round(100 * of('costUsd')), Math.round(100 * of('lostUsd'))];
    };
    fc.assert(
      fc.property(fc.array(task, { maxLength: 30 }), (some) => {
        const { all, weeks, agents } = summarizeHistory(some.map((own) => ({ ...model, ...own })));
        expect(sums(weeks)).toEqual(sums([all]));
        expect(sums(agents)).toEqual(sums([all]));
        expect(all.merged + all.notMerged + all.open).toBe(all.tasks);
        expect(weeks.map(({ name }) => name)).toEqual(weeks.map(({ name }) => name).toSorted());
      }),
    );
  });

  test('of a whole repository', () => {
    expect(summarizeHistory(listTaskHistories(wholeHistory())).all).toMatchObject({
      tasks: 45,
      merged: 35,
      notMerged: 7,
      open: 3,
      reverted: 2,
    });
  });
});
