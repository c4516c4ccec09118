import { describe, expect, test } from 'vitest';
import type { Train, TrainPull, AutoMerge } from '../../../src/core/train/train.ts';
import { trainPull } from './fixtures.ts';
import {
  renderAutoMerge,
  renderNextToMerge,
  describePullStanding,
  renderTrainPart,
  renderTrainSection,
  withTrainPart,
} from '../../../src/report/sentences/train.ts';

const of = (...pulls: readonly TrainPull[]): Train => ({ pulls, isCompared: true, autoMerge: null, closed: [] });

describe('which to merge next is said with the reason', () => {
  test.each<[string, Train]>([
    ['', of(trainPull(1))],
    [
      'Merge #1 next: it conflicts with none of the others, and has waited longest of those.',
      of(trainPull(1), trainPull(2)),
    ],
    [
      'Review and merge #1 next: it conflicts with the fewest others (#2).',
      of(trainPull(1, { needsReview: true, conflictsWith: [2] }), trainPull(2, { conflictsWith: [1] })),
    ],
    [
      'Merge #1 next: it has waited longest (git could not tell which of them conflict with each other).',
      { ...of(trainPull(1), trainPull(2)), isCompared: false },
    ],
    [
      '#1 is the next to merge: a rule requires it to be up to date with its base branch, which the next run merges into it.',
      of(trainPull(1, { obstacle: 'update' }), trainPull(2)),
    ],
    [
      'None of the 2 open pull requests can be merged now.',
      of(trainPull(1, { obstacle: 'checks' }), trainPull(2, { obstacle: 'unfinished' })),
    ],
  ])('%s', (expected, train) => {
    expect(renderNextToMerge(train)).toBe(expected);
  });
});

test.each<[string, Partial<TrainPull>]>([
  ['', {}],
  ['#2: it conflicts with #1, which comes first.', { conflictsWith: [1] }],
  ['#2: it is only behind its base branch and stays so: no rule requires it to be up to date.', { behind: 'left' }],
  [
    '#2: it conflicts with its base branch, which one of the next runs of the queue merges into it (each takes up one pull request).',
    { obstacle: 'conflict', behind: 'left' },
  ],
  ['#2: it conflicts with its base branch, which is not the one that runs merge.', { obstacle: 'foreign' }],
  ['#2: it was verified before its base branch changed the same files (`a.ts`).', { stale: ['a.ts'] }],
])('of one it is said: %s', (expected, change) => {
  const second = trainPull(2, change);
  expect(describePullStanding(of(trainPull(1), second), second)).toBe(expected);
});

test('the section of the summary has the next one, and each that waits', () => {
  expect(renderTrainSection(of(trainPull(1), trainPull(2, { obstacle: 'checks' })))).toBe(
    [
      '### Merge order',
      '- Merge #1 next: it conflicts with none of the others, and has waited longest of those.',
      '- #2: a check fails.',
    ].join('\n'),
  );
  expect([renderTrainSection(null), renderTrainSection(of(trainPull(1)))]).toEqual(['', '']);
  // The page of the only pull request already shows these.
  for (const obstacle of ['unfinished', 'checks', 'changes-requested', 'unknown'] as const)
    expect(renderTrainSection(of(trainPull(1, { obstacle })))).toBe('');
  expect(renderTrainSection(of(trainPull(1, { obstacle: 'conflict' })))).toContain('it conflicts with its base branch');
});

test.each<[AutoMerge['kind'], string, string]>([
  [
    'armed',
    '',
    "Auto-merge of #1 is on: GitHub merges it as soon as the rules of its base branch hold. A merge that the job's own token has armed starts no workflow; the token of a GitHub App solves that.",
  ],
  [
    'at-once',
    '',
    'Auto-merge of #1 is off: nothing keeps it from being merged now, so GitHub arms nothing. Merge it yourself, or have a rule of its base branch require a review or a check.',
  ],
  [
    'not-allowed',
    '',
    'Auto-merge of #1 is off: the repository does not allow it. Turn on “Allow auto-merge” in its settings, under Pull Requests.',
  ],
  [
    'refused',
    'It is @everybody.',
    'Auto-merge of #1 is off, since GitHub refused it: It is @\u200Beverybody. Merge it yourself, or solve that: the next run tries again.',
  ],
  [
    'look-at',
    'dependencies',
    'Auto-merge of #1 is off: it has files to look at first (`dependencies`). Merge it yourself once you have reviewed them.',
  ],
  [
    'unverified',
    '',
    'Auto-merge of #1 is off: its newest commit was not verified in a clean clone. Set `verify`, or merge it yourself.',
  ],
])('auto-merge that is %s is explained on its page and in the summary', (kind, detail, expected) => {
  const autoMerge = { number: 1, kind, detail };
  expect(renderAutoMerge(autoMerge)).toBe(expected);
  const train = { ...of(trainPull(1)), autoMerge };
  expect(renderTrainSection(train)).toContain(expected);
  expect(renderTrainPart(train, 1)).toContain(expected);
  expect(renderTrainPart(train, 2)).toBe('');
});

describe('the order on the page of a pull request', () => {
  const part = renderTrainPart(of(trainPull(1), trainPull(2, { behind: 'left' })), 2);
  const body = 'Mine\n\n<!-- ralph:begin -->\n## done\n<!-- ralph:end -->\n\nAlso mine';

  test("is added to Ralph's part, replaced and removed, and nothing else changes", () => {
    const written = withTrainPart(body, part);
    expect(written).toContain('Merge #1 next');
    expect(written).toContain('#2: it is only behind');
    expect(written.indexOf('Merge #1 next')).toBeLessThan(written.indexOf('<!-- ralph:end -->'));
    expect(withTrainPart(written, part)).toBe(written);
    const other = renderTrainPart(of(trainPull(2), trainPull(1)), 2);
    const rewritten = withTrainPart(written, other);
    expect(rewritten).toContain('Merge #2 next');
    expect(rewritten).not.toContain('Merge #1 next');
    expect(withTrainPart(rewritten, '').replaceAll(/\s+/g, ' ')).toBe(body.replaceAll(/\s+/g, ' '));
  });

  test("stays out of a description without Ralph's part", () => {
    expect(withTrainPart('Only mine', part)).toBe('Only mine');
    expect(withTrainPart(body, '')).toBe(body);
  });
});
