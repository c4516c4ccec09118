import { expect, test } from 'vitest';
import {
  formatNeedsMarker,
  MAX_NOTIFICATIONS,
  MAX_NOTIFICATIONS_PER_DAY,
  listNeedsIn,
  needsOfPullRequest,
  needsOfTask,
  withNotification,
  type Need,
  type Notification,
} from '../../../../src/core/people/notifications.ts';
import { noon } from '../core-fixtures.ts';

const notified = (kind: Notification['kind'], about: string, comment: number): Notification => ({
  kind,
  about,
  thread: 1,
  comment,
  at: noon,
});
const blocked: Need = { kind: 'blocked', about: 'issue-2' };
const ready: Need = { kind: 'ready', about: 'lane-queue' };

test('a comment is remembered for each of its needs, beside those before', () => {
  const before = { lane: 'queue', notified: [notified('stuck', 'issue-1', 3)], notifiedAt: [noon - 1] };
  expect(withNotification(before, [blocked, ready], { thread: 1, comment: 4, at: noon })).toEqual({
    lane: 'queue',
    notified: [notified('stuck', 'issue-1', 3), notified('blocked', 'issue-2', 4), notified('ready', 'lane-queue', 4)],
    notifiedAt: [noon - 1, noon],
  });
});

test('a memory that is full forgets the oldest', () => {
  const many = Array.from({ length: MAX_NOTIFICATIONS }, (_, i) => notified('stuck', `issue-${String(i + 3)}`, i + 1));
  const times = Array.from({ length: MAX_NOTIFICATIONS_PER_DAY }, (_, i) => noon - 100 + i);
  const last = { thread: 1, comment: 999, at: noon };
  expect(withNotification({ notified: many, notifiedAt: times }, [blocked], last)).toEqual({
    notified: [...many.slice(1), notified('blocked', 'issue-2', 999)],
    notifiedAt: [...times.slice(1), noon],
  });
});

test('a task can need a person for each of these', () => {
  expect(needsOfTask('issue-2').map(({ kind, about }) => `${kind} ${about}`)).toEqual([
    'blocked issue-2',
    'stuck issue-2',
    'failed issue-2',
    'nothing_to_do issue-2',
    'withheld issue-2',
    'push_refused issue-2',
    'needs_approval issue-2',
  ]);
});

test.each([
  ['queue', ['ready lane-queue', 'auto_merge_off lane-queue', 'waiting_for_review lane-queue']],
  [
    'issue-2',
    [
      'ready lane-issue-2',
      'auto_merge_off lane-issue-2',
      'waiting_for_review lane-issue-2',
      'waiting_for_review lane-queue',
    ],
  ],
])('an open pull request of %s can need a person for each of these', (lane, expected) => {
  expect(needsOfPullRequest(lane).map(({ kind, about }) => `${kind} ${about}`)).toEqual(expected);
});

test.each([
  [[{ kind: 'blocked', about: 'issue-1' }]],
  [
    [
      { kind: 'nothing_to_do', about: 'plan-3f9a12c0' },
      { kind: 'waiting_for_review', about: 'lane-queue' },
    ],
  ],
] as const)('a comment names its needs: %j', (needs) => {
  expect(listNeedsIn(formatNeedsMarker(needs))).toEqual(needs);
});

test('it names them the same, in whichever order they come', () => {
  const needs = (['stuck', 'blocked'] as const).map((kind) => ({ kind, about: 'issue-1' }));
  expect(formatNeedsMarker(needs)).toBe(formatNeedsMarker(needs.toReversed()));
});

test('what it is about is one word of it, whatever stands there', () => {
  expect(formatNeedsMarker([{ kind: 'blocked', about: 'a --> b/é.2-x' }])).toBe(
    '<!-- ralph-action:notification blocked:a_--_b_.2-x -->',
  );
});

test('it names no more than twenty', () => {
  const many = Array.from({ length: 21 }, (_, i): Need => ({ kind: 'blocked', about: `issue-${String(i)}` }));
  expect(listNeedsIn(formatNeedsMarker(many))).toHaveLength(20);
});

test.each([
  '<!-- ralph-action:status -->',
  '<!-- ralph-action:notification anything:else -->',
  '> <!-- ralph-action:notification blocked:issue-1 -->',
  '<!-- ralph-action:notification blocked:issue-1 --> and more',
  '',
])('another first line names none: %s', (line) => {
  expect(listNeedsIn(line)).toEqual([]);
});
