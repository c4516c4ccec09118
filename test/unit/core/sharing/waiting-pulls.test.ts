import { describe, expect, test } from 'vitest';
import type { WaitingPullRequest } from '../../../../src/core/feedback/pull-request-now.ts';
import { listLanesNeedingWork, type ExaminedPullRequest } from '../../../../src/core/sharing/waiting-issues.ts';

const HOUR = 3_600_000;
const NOW = 100 * HOUR;

function pull(branch: string, change: Partial<WaitingPullRequest> = {}): WaitingPullRequest {
  return {
    ...{ number: 1, branch, head: 'aaa', base: 'bbb', baseBranch: 'main', createdAt: 0 },
    ...{ mergeable: 'conflicting', checks: 'unknown', isDraft: false, decision: null },
    ...{ isReviewRequested: false, isArmed: false, armedAt: null, isBehind: false, mustBeCurrent: false },
    ...change,
  };
}

function lanes(
  open: readonly WaitingPullRequest[],
  looked: readonly ExaminedPullRequest[] = [],
  toUpdate: number | null = null,
): readonly string[] {
  return listLanesNeedingWork(open, { prefix: 'ralph/', looked, now: NOW, toUpdate }).map(({ lane }) => lane);
}

const SEEN = 'aaa bbb conflicting unknown';

describe('the pull requests that need work', () => {
  test.each<[string, Partial<WaitingPullRequest>, boolean]>([
    ['one that conflicts does', {}, true],
    ['one whose checks fail does', { mergeable: 'mergeable', checks: 'failed' }, true],
    ['one that can be merged does not', { mergeable: 'mergeable', checks: 'passed' }, false],
    ['one of which GitHub does not know yet does not', { mergeable: 'unknown' }, false],
    ['one without checks does not', { mergeable: 'mergeable' }, false],
  ])('%s', (_, change, expected) => {
    expect(lanes([pull('ralph/issue-2', change)])).toEqual(expected ? ['issue-2'] : []);
  });

  test('are also the one that is next and must have the newest base, which a look at its checks does not settle', () => {
    const open = [1, 2].map((number) => pull(`ralph/issue-${String(number)}`, { number, mergeable: 'mergeable' }));
    expect(lanes(open, [], 2)).toEqual(['issue-2']);
    const looked = { lane: 'issue-2', at: NOW - HOUR };
    expect(lanes(open, [{ ...looked, seen: 'aaa bbb mergeable unknown' }], 2)).toEqual(['issue-2']);
    expect(lanes(open, [{ ...looked, seen: 'aaa bbb mergeable update' }], 2)).toEqual([]);
  });

  test('are of the queue and of issues, and of no branch that a person made', () => {
    expect(lanes([pull('ralph/queue'), pull('ralph/issue-12'), pull('ralph/spike'), pull('ralph/issue-x')])).toEqual([
      'queue',
      'issue-12',
    ]);
  });

  test.each<[string, Partial<ExaminedPullRequest>, boolean]>([
    ['stands as it did an hour ago', {}, false],
    ['has another head', { seen: 'abc bbb conflicting unknown' }, true],
    ['has another base', { seen: 'aaa abc conflicting unknown' }, true],
    ['was looked at half a day ago', { at: NOW - 12 * HOUR }, true],
    ['was looked at by a machine whose clock is a day ahead', { at: NOW + 24 * HOUR }, true],
  ])('one for which nothing could be done and that %s', (_, change, expected) => {
    const looked = [{ lane: 'issue-2', seen: SEEN, at: NOW - HOUR, ...change }];
    expect(lanes([pull('ralph/issue-2')], looked)).toEqual(expected ? ['issue-2'] : []);
  });

  test('come in the order in which they were looked at, those that nobody looked at first', () => {
    const looked = [
      { lane: 'issue-1', seen: 'x', at: NOW - HOUR },
      { lane: 'issue-2', seen: 'x', at: NOW - 2 * HOUR },
    ];
    expect(lanes([pull('ralph/issue-1'), pull('ralph/issue-2'), pull('ralph/issue-3')], looked)).toEqual([
      'issue-3',
      'issue-2',
      'issue-1',
    ]);
  });
});
