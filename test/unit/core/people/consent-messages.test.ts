import { expect, test } from 'vitest';
import {
  buildApprovalNotice,
  warnOfTooManyPeople,
  warnOfChanges,
  warnOfUntrustedLabels,
} from '../../../../src/core/people/consent.ts';

const issue = { number: 7, labels: ['ralph'] };
const changed = { kind: 'changed', by: 'ada', askedAt: 3, editor: 'mallory', at: 5, isNoticed: false } as const;

test('an issue whose text changed is notified once', () => {
  expect(buildApprovalNotice(issue, changed)).toEqual({
    issue: 7,
    labels: ['ralph'],
    by: 'ada',
    editor: 'mallory',
    at: 5,
  });
  expect(buildApprovalNotice(issue, { ...changed, isNoticed: true })).toBe(null);
});

test.each<[string, readonly { readonly number: number; readonly by: string | null }[], readonly string[]]>([
  ['nobody, no word', [], []],
  [
    'one',
    [{ number: 7, by: 'mallory' }],
    [
      'The label "ralph" counts only when somebody with write permission, or a bot of `allowed-bots`, adds it. Left out: #7 (added by mallory). To have Ralph work on one, remove the label and add it again.',
    ],
  ],
  [
    'several, one of them unknown',
    [
      { number: 7, by: 'mallory' },
      { number: 9, by: null },
    ],
    [
      'The label "ralph" counts only when somebody with write permission, or a bot of `allowed-bots`, adds it. Left out: #7 (added by mallory), #9 (GitHub does not say who added it). To have Ralph work on one, remove the label and add it again.',
    ],
  ],
])('strangers who put the label on: %s', (_, strangers, warnings) => {
  expect(warnOfUntrustedLabels('ralph', strangers)).toEqual(warnings);
});

test.each<[string, readonly { readonly number: number; readonly editor: string | null }[], readonly string[]]>([
  ['nobody, no word', [], []],
  [
    'one who is known, and one who is not',
    [
      { number: 7, editor: 'mallory' },
      { number: 9, editor: null },
    ],
    [
      'Changed after approval by somebody without write permission, so not worked on: #7 (by mallory), #9 (by somebody unknown). Read the text; if it is fine, add the label "ralph", or remove it and add it again.',
    ],
  ],
])('the person who changed a text after approval: %s', (_, changed, warnings) => {
  expect(warnOfChanges('ralph', changed)).toEqual(warnings);
});

test('the number of looked-up people is reported', () => {
  expect(warnOfTooManyPeople(20)).toBe(
    'More than 20 people have labelled or changed the issues at the head of the queue, and a run checks at most 20 permissions. Remove the label from issues that Ralph should not work on; the issues behind them wait.',
  );
});
