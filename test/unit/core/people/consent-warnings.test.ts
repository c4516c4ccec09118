import { expect, test } from 'vitest';
import {
  noticeFor,
  tooManyPeople,
  warnOfChanges,
  warnOfStrangers,
} from '../../../../src/core/people/consent-warnings.ts';

const issue = { number: 7, labels: ['ralph'] };
const changed = { kind: 'changed', by: 'ada', askedAt: 3, editor: 'mallory', at: 5, isNoticed: false } as const;

test('an issue whose text changed is notified once', () => {
  expect(noticeFor(issue, changed)).toEqual({ issue: 7, labels: ['ralph'], editor: 'mallory', at: 5 });
  expect(noticeFor(issue, { ...changed, isNoticed: true })).toBe(null);
});

test('strangers who put the label on are named with their issues; none, no word', () => {
  expect(warnOfStrangers('ralph', [])).toEqual([]);
  const [warning, ...more] = warnOfStrangers('ralph', [
    { number: 7, by: 'mallory' },
    { number: 9, by: null },
  ]);
  expect(more).toEqual([]);
  expect(warning).toContain('The label "ralph" counts only');
  expect(warning).toContain('#7 (put on by mallory)');
  expect(warning).toContain('#9 (GitHub does not say who put it on)');
});

test('who changed a text after approval is named with the issue; none, no word', () => {
  expect(warnOfChanges('ralph', [])).toEqual([]);
  const [warning, ...more] = warnOfChanges('ralph', [
    { number: 7, editor: 'mallory' },
    { number: 9, editor: null },
  ]);
  expect(more).toEqual([]);
  expect(warning).toContain('#7 (by mallory)');
  expect(warning).toContain('#9 (by somebody unknown)');
  expect(warning).toContain('the label "ralph"');
});

test('how many people are asked about is said', () => {
  expect(tooManyPeople(20)).toContain('more than 20 people');
});
