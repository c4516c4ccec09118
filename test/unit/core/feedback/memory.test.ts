import { expect, test } from 'vitest';
import {
  keepNewestItems,
  noFeedback,
  withoutWords,
  withShorterWords,
  type Feedback,
  type FeedbackItem,
} from '../../../../src/core/feedback/memory.ts';

const open: FeedbackItem = {
  kind: 'thread',
  title: 'x'.repeat(100),
  url: 'https://example.test/1',
  rounds: 2,
  asked: '10',
  answer: null,
};
const answered = (posted: boolean): FeedbackItem => ({
  ...open,
  answer: { kind: 'changed', commit: 'c1', words: 'y'.repeat(300), isOurs: false, at: 1, posted },
});
const items: Feedback['items'] = {
  'thread-1': open,
  'thread-2': answered(false),
  'thread-3': answered(true),
  'thread-4': answered(true),
};

test.each<[number, readonly string[]]>([
  [9, ['thread-1', 'thread-2', 'thread-3', 'thread-4']],
  [3, ['thread-1', 'thread-2', 'thread-4']],
  [2, ['thread-1', 'thread-2']],
  [1, ['thread-1']],
  [0, []],
])('of %i items those are kept that matter most', (most, expected) => {
  expect(Object.keys(keepNewestItems(items, most))).toEqual(expected);
});

test('an answered review is kept before threads that say themselves that they are answered', () => {
  const review: FeedbackItem = { ...answered(true), kind: 'review' };
  expect(Object.keys(keepNewestItems({ 'review-1': review, ...items }, 3))).toEqual([
    'review-1',
    'thread-1',
    'thread-2',
  ]);
});

test('with shorter words it decides the same', () => {
  const round = { at: 1, head: 'h', asked: 1, answered: 1, checks: null };
  const short = withShorterWords({ ...noFeedback, items, rounds: Array.from({ length: 9 }, () => round) });
  expect(short.rounds).toHaveLength(5);
  expect(short.items['thread-1']).toEqual({ ...open, title: `${'x'.repeat(59)}…` });
  expect(short.items['thread-2']).toMatchObject({ rounds: 2, asked: '10', answer: { words: `${'y'.repeat(99)}…` } });
});

test('without words there is nothing to show or to post', () => {
  const silent = withoutWords({ ...noFeedback, items: { ...items, 'thread-1': { ...open, workedIn: 'c1' } } });
  expect(silent.items['thread-1']).toEqual({ ...open, title: '', url: null });
  expect(silent.items['thread-2']).toEqual({ ...open, title: '', url: null });
  const answer = { kind: 'changed', commit: null, words: null, isOurs: false, at: 1, posted: true };
  expect(silent.items['thread-3']).toEqual({ ...open, title: '', url: null, answer });
});
