import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { WaitingPullRequest } from '../../../../src/core/feedback/pull-request-now.ts';
import {
  listPullsAhead,
  type ComparedPull,
  findNextPull,
  findPullToUpdate,
  orderMergeTrain as trainOn,
  withPublished,
} from '../../../../src/core/train/train.ts';
import { runs } from '../../../runs.ts';

type Change = Partial<WaitingPullRequest>;

const trainOf = (
  pulls: readonly WaitingPullRequest[],
  facts: readonly ComparedPull[] | null,
): ReturnType<typeof trainOn> => trainOn(pulls, facts, 'main');

/** Returns an open pull request that can be merged; a higher number is younger. */
function open(number: number, change: Change = {}): WaitingPullRequest {
  return {
    ...{ number, branch: `ralph/issue-${String(number)}`, head: `h${String(number)}`, base: 'b', baseBranch: 'main' },
    ...{ mergeable: 'mergeable', checks: 'passed', isDraft: false, decision: null },
    ...{
      isReviewRequested: false,
      isArmed: false,
      armedAt: null,
      isBehind: false,
      mustBeCurrent: false,
      createdAt: number,
    },
    ...change,
  };
}

/** Returns what git says of pull requests in which these pairs conflict. */
function compared(numbers: readonly number[], pairs: readonly (readonly number[])[], behind: readonly number[] = []) {
  return numbers.map((number): ComparedPull => ({
    number,
    conflictsWith: pairs.filter((pair) => pair.includes(number)).map(([a = 0, b = 0]) => (a === number ? b : a)),
    isBehind: behind.includes(number),
    changedInBase: [],
  }));
}

function numbersIn({ pulls }: ReturnType<typeof trainOf>): readonly number[] {
  return pulls.map(({ number }) => number);
}

describe('the order', () => {
  test.each<[string, readonly WaitingPullRequest[], readonly (readonly number[])[], readonly number[]]>([
    ['is by age where nothing conflicts', [open(3), open(1), open(2)], [], [1, 2, 3]],
    ['begins with the fewest conflicts with the others', [open(1), open(2), open(3)], [[1, 2]], [3, 1, 2]],
    [
      'counts each conflict',
      [open(1), open(2), open(3)],
      [
        [1, 2],
        [1, 3],
      ],
      [2, 3, 1],
    ],
    ['puts drafts behind what can be merged', [open(1, { isDraft: true }), open(2)], [], [2, 1]],
    ['puts what conflicts with the base behind', [open(1, { mergeable: 'conflicting' }), open(2)], [], [2, 1]],
    ['puts failed checks behind', [open(1, { checks: 'failed' }), open(2)], [], [2, 1]],
    ['is by number for the same moment', [open(2, { createdAt: 5 }), open(1, { createdAt: 5 })], [], [1, 2]],
  ])('%s', (_, pulls, pairs, expected) => {
    expect(
      numbersIn(
        trainOf(
          pulls,
          compared(
            pulls.map(({ number }) => number),
            pairs,
          ),
        ),
      ),
    ).toEqual(expected);
  });

  test('is by age where git could not compare', () => {
    const train = trainOf([open(2), open(1)], null);
    expect([numbersIn(train), train.isCompared]).toEqual([[1, 2], false]);
  });

  test('does not depend on the order in which GitHub lists', () => {
    const some = fc.uniqueArray(fc.integer({ min: 1, max: 8 }), { minLength: 1 });
    const pair = fc.tuple(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 8 }));
    fc.assert(
      fc.property(some, fc.array(pair), (numbers, pairs) => {
        const facts = compared(
          numbers,
          pairs.filter(([a, b]) => a !== b && numbers.includes(a) && numbers.includes(b)),
        );
        const train = trainOf(
          numbers.map((number) => open(number)),
          facts,
        );
        expect(
          trainOf(
            numbers.toReversed().map((number) => open(number)),
            facts,
          ),
        ).toEqual(train);
        const counts = train.pulls.map(({ conflictsWith }) => conflictsWith.length);
        expect(counts).toEqual(counts.toSorted((a, b) => a - b));
      }),
      { numRuns: runs(100) },
    );
  });
});

describe('the next to merge', () => {
  test.each<[string, Change, string | null]>([
    ['one that nothing keeps', {}, null],
    ['one that must be reviewed', { decision: 'review-required' }, null],
    ['one whose checks still run', { checks: 'unknown' }, null],
    ['one that a rule wants up to date', { isBehind: true }, 'update'],
  ])('is %s', (_, change, obstacle) => {
    const next = findNextPull(trainOf([open(1, change)], []));
    expect(next).toMatchObject({ number: 1, obstacle });
  });

  test.each<[string, Change]>([
    ['conflict', { mergeable: 'conflicting', isBehind: true }],
    ['foreign', { mergeable: 'conflicting', baseBranch: 'develop' }],
    ['checks', { checks: 'failed' }],
    ['changes-requested', { decision: 'changes-requested' }],
    ['unfinished', { isDraft: true }],
    ['unknown', { mergeable: 'unknown' }],
  ])('does not have the obstacle %s', (obstacle, change) => {
    const train = trainOf([open(1, change)], []);
    expect([findNextPull(train), train.pulls[0]?.obstacle]).toEqual([null, obstacle]);
  });
});

describe('the base branch', () => {
  test('is merged into the next one alone, and only where a rule wants that', () => {
    const pulls = [open(1, { mustBeCurrent: true }), open(2, { mustBeCurrent: true })];
    expect(findPullToUpdate(trainOf(pulls, compared([1, 2], [], [1, 2])))).toBe(1);
    expect(findPullToUpdate(trainOf(pulls, compared([1, 2], [], [2])))).toBe(null);
    expect(findPullToUpdate(trainOf([open(1)], compared([1], [], [1])))).toBe(null);
    expect(findPullToUpdate(trainOf([open(1, { isBehind: true })], null))).toBe(1);
    expect(findPullToUpdate(trainOf([open(1, { isBehind: true, baseBranch: 'develop' })], null))).toBe(null);
  });

  test.each<[string, Change, readonly number[] | null, string]>([
    ['no', {}, [], 'no'],
    ['left, where no rule asks for it', {}, [1], 'left'],
    ['by a ruleset', { mustBeCurrent: true }, [1], 'rule'],
    ['by what GitHub says', { isBehind: true }, null, 'rule'],
    ['unknown without git', {}, null, 'unknown'],
  ])('is behind: %s', (_, change, behind, expected) => {
    const train = trainOf([open(1, change)], behind === null ? null : compared([1], [], behind));
    expect(train.pulls[0]?.behind).toBe(expected);
  });

  test('makes the verification stale of files that it has changed as well', () => {
    const [one] = compared([1], []);
    const facts = [{ number: 1, conflictsWith: [], isBehind: true, ...one, changedInBase: ['a.ts'] }];
    expect(trainOf([open(1)], facts).pulls[0]?.stale).toEqual(['a.ts']);
    expect(trainOf([open(1, { isDraft: true })], facts).pulls[0]?.stale).toEqual([]);
  });
});

test('one waits for those further ahead that conflict with it', () => {
  const train = trainOf(
    [1, 2, 3].map((number) => open(number)),
    compared([1, 2, 3], [[2, 3]]),
  );
  expect(train.pulls.map((pull) => listPullsAhead(train, pull))).toEqual([[], [], [2]]);
});

describe('after a run has published', () => {
  const own = { number: 1, branch: 'ralph/issue-1', head: 'new', isDraft: false, isOvertaken: false, now: 99 };

  test('a new pull request is the youngest', () => {
    const train = withPublished(trainOf([open(2)], []), own);
    expect([numbersIn(train), train.pulls[1]?.createdAt]).toEqual([[2, 1], 99]);
  });

  test.each<[string, Change, { readonly head?: string; readonly isDraft?: boolean }, string | null]>([
    ['what conflicted has the base', { mergeable: 'conflicting' }, {}, null],
    ['what failed is checked again', { checks: 'failed' }, {}, null],
    ['what a reviewer refused waits for the reviewer', { decision: 'changes-requested' }, {}, 'changes-requested'],
    ['what is ready now is not a draft', { isDraft: true }, { head: 'h1' }, null],
    ['what is unfinished is a draft', {}, { isDraft: true }, 'unfinished'],
    ['what was not moved still conflicts', { mergeable: 'conflicting' }, { head: 'h1' }, 'conflict'],
  ])('%s', (_, before, change, expected) => {
    const train = withPublished(trainOf([open(1, before)], []), { ...own, ...change });
    expect(train.pulls).toMatchObject([{ obstacle: expected, createdAt: 1 }]);
  });

  test('auto-merge, which no commit passes, is off for a new head, and on for the one it was armed for', () => {
    const armed = trainOf([open(1, { isArmed: true })], []);
    expect(withPublished(armed, own).pulls).toMatchObject([{ isArmed: false, needsReview: false }]);
    expect(withPublished(armed, { ...own, head: 'h1' }).pulls).toMatchObject([{ isArmed: true }]);
  });

  test('people who approved what it has overtaken review it again', () => {
    expect(withPublished(trainOf([open(1)], []), { ...own, isOvertaken: true }).pulls).toMatchObject([
      { needsReview: true },
    ]);
  });
});
