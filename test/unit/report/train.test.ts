import { describe, expect, test } from 'vitest';
import type { Train, TrainPull } from '../../../src/core/train/train.ts';
import {
  nextToMerge,
  standingOf,
  trainPart,
  trainSection,
  withTrainPart,
} from '../../../src/report/sentences/train.ts';

function pull(number: number, change: Partial<TrainPull> = {}): TrainPull {
  return {
    ...{ number, branch: `ralph/issue-${String(number)}`, head: 'h', createdAt: number, obstacle: null },
    ...{ needsReview: false, conflictsWith: [], behind: 'no', stale: [] },
    ...change,
  };
}

const of = (...pulls: readonly TrainPull[]): Train => ({ pulls, isCompared: true });

describe('which to merge next is said with the reason', () => {
  test.each<[string, Train]>([
    ['', of(pull(1))],
    ['Merge #1 next: it conflicts with none of the others, and has waited longest of those.', of(pull(1), pull(2))],
    [
      'Review and merge #1 next: it conflicts with the fewest others (#2).',
      of(pull(1, { needsReview: true, conflictsWith: [2] }), pull(2, { conflictsWith: [1] })),
    ],
    [
      'Merge #1 next: it has waited longest (git could not tell which of them conflict with each other).',
      { ...of(pull(1), pull(2)), isCompared: false },
    ],
    [
      '#1 is the next to merge: a rule wants it up to date with its base branch, which the next run merges into it.',
      of(pull(1, { obstacle: 'update' }), pull(2)),
    ],
    [
      'None of the 2 open pull requests can be merged now.',
      of(pull(1, { obstacle: 'checks' }), pull(2, { obstacle: 'unfinished' })),
    ],
  ])('%s', (expected, train) => {
    expect(nextToMerge(train)).toBe(expected);
  });
});

test.each<[string, Partial<TrainPull>]>([
  ['', {}],
  ['#2: it conflicts with #1, which comes first.', { conflictsWith: [1] }],
  ['#2: it is only behind its base branch, and is left so, since no rule asks for more.', { behind: 'left' }],
  ['#2: it conflicts with its base branch, which a run merges into it.', { obstacle: 'conflict', behind: 'left' }],
  ['#2: it was verified before its base branch changed the same files (`a.ts`).', { stale: ['a.ts'] }],
])('of one it is said: %s', (expected, change) => {
  const second = pull(2, change);
  expect(standingOf(of(pull(1), second), second)).toBe(expected);
});

test('the section of the summary has the next one, and each that waits', () => {
  expect(trainSection(of(pull(1), pull(2, { obstacle: 'checks' })))).toBe(
    [
      '### Merge order',
      '- Merge #1 next: it conflicts with none of the others, and has waited longest of those.',
      '- #2: a check fails, which a run works on.',
    ].join('\n'),
  );
  expect([trainSection(null), trainSection(of(pull(1)))]).toEqual(['', '']);
});

describe('the order on the page of a pull request', () => {
  const part = trainPart(of(pull(1), pull(2, { behind: 'left' })), 2);
  const body = 'Mine\n\n<!-- ralph:begin -->\n## done\n<!-- ralph:end -->\n\nAlso mine';

  test('is put into our part, replaced and taken out, and nothing else changes', () => {
    const written = withTrainPart(body, part);
    expect(written).toContain('Merge #1 next');
    expect(written).toContain('#2: it is only behind');
    expect(written.indexOf('Merge #1 next')).toBeLessThan(written.indexOf('<!-- ralph:end -->'));
    expect(withTrainPart(written, part)).toBe(written);
    const other = trainPart(of(pull(2), pull(1)), 2);
    const rewritten = withTrainPart(written, other);
    expect(rewritten).toContain('Merge #2 next');
    expect(rewritten).not.toContain('Merge #1 next');
    expect(withTrainPart(rewritten, '').replaceAll(/\s+/g, ' ')).toBe(body.replaceAll(/\s+/g, ' '));
  });

  test('stays out of a description that has no part of ours', () => {
    expect(withTrainPart('Only mine', part)).toBe('Only mine');
    expect(withTrainPart(body, '')).toBe(body);
  });
});
