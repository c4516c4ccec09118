import { describe, expect, test } from 'vitest';
import {
  listAccountsToLookUp,
  findUnchangedConsent,
  judgeConsent,
  type Consent,
  type ConsentHistory,
} from '../../../../src/core/people/consent.ts';

interface Person {
  readonly login: string;
}
const ann: Person = { login: 'ann' };
const bea: Person = { login: 'bea' };
const eve: Person = { login: 'eve' };
const isTrusted = (person: Person): boolean => person !== eve;

type Event = (history: ConsentHistory<Person>) => ConsentHistory<Person>;
const label =
  (by: Person | null, at: number, name = 'ralph'): Event =>
  (h) => ({ ...h, labelings: [...h.labelings, { kind: 'labeled', label: name, by, at }] });
const unlabel =
  (by: Person | null, at: number, name = 'ralph'): Event =>
  (h) => ({ ...h, labelings: [...h.labelings, { kind: 'unlabeled', label: name, by, at }] });
const edit =
  (by: Person | null, at: number): Event =>
  (h) => ({ ...h, edits: [...h.edits, { by, at }] });
const reopen =
  (by: Person | null, at: number): Event =>
  (h) => ({ ...h, reopenings: [...h.reopenings, { by, at }] });
const cut: Event = (h) => ({ ...h, truncated: true });
const noticed = (at: number): Event => label(null, at, 'ralph:needs-approval');

const historyOf = (events: readonly Event[]): ConsentHistory<Person> =>
  events.reduce<ConsentHistory<Person>>((history, event) => event(history), {
    labelings: [],
    reopenings: [],
    edits: [],
    given: [],
    truncated: false,
  });
const judged = (
  events: readonly Event[],
  approved: string | null = null,
  at = 5,
  demands: readonly string[] = [],
): Consent =>
  judgeConsent({
    history: historyOf(events),
    taskLabel: 'ralph',
    demands,
    now: 1_000_000,
    text: 'now',
    approved: approved === null ? null : { text: approved, at },
    isTrusted,
  });
const summaryOf = (consent: Consent): string => {
  switch (consent.kind) {
    case 'given':
      return `given by ${consent.by} at ${String(consent.at)}`;
    case 'changed':
      return `changed by ${consent.editor ?? '?'} at ${String(consent.at)}${consent.isNoticed ? ', noticed' : ''}`;
    case 'never':
      return `never (${consent.by ?? '?'})`;
  }
};

describe('the label is consent', () => {
  test.each<[string, readonly Event[], string]>([
    ['when somebody trusted put it on', [label(ann, 5)], 'given by ann at 5'],
    ['whatever the case of its name', [label(ann, 5, 'RALPH')], 'given by ann at 5'],
    ['not when a stranger put it on', [label(eve, 5)], 'never (eve)'],
    ['not when nobody knows who did', [label(null, 5)], 'never (?)'],
    ['not when there is no such event', [], 'never (?)'],
    ['not another label', [label(ann, 5, 'bug')], 'never (?)'],
    ['not once it was taken off, by whomever', [label(ann, 5), unlabel(eve, 6)], 'never (?)'],
    [
      'not when a stranger put on again what somebody trusted took off',
      [label(ann, 5), unlabel(ann, 6), label(eve, 7)],
      'never (eve)',
    ],
    [
      'again when somebody trusted added it again',
      [label(eve, 5), unlabel(eve, 6), label(bea, 7)],
      'given by bea at 7',
    ],
    [
      'by its newest event: the label itself was deleted and made again between the two',
      [label(ann, 5), label(eve, 7)],
      'never (eve)',
    ],
    [
      'and not our own labels',
      [label(ann, 5), noticed(6), unlabel(eve, 7, 'ralph:needs-approval')],
      'given by ann at 5',
    ],
  ])('%s', (_, events, expected) => {
    expect(summaryOf(judged(events))).toBe(expected);
  });
});

describe('a change of the text', () => {
  test.each<[string, readonly Event[], string]>([
    ['before the label is covered by it', [edit(eve, 4), label(ann, 5)], 'given by ann at 5'],
    ['after it by a stranger is not', [label(ann, 5), edit(eve, 6)], 'changed by eve at 6'],
    ['by somebody unknown is not', [label(ann, 5), edit(null, 6)], 'changed by ? at 6'],
    ['by somebody trusted needs no new label', [label(ann, 5), edit(bea, 6)], 'given by ann at 5'],
    [
      'by a stranger is not approved by a later one of somebody trusted',
      [label(ann, 5), edit(eve, 6), edit(ann, 7)],
      'changed by eve at 6',
    ],
    [
      'by a stranger is approved by a new label',
      [label(ann, 5), edit(eve, 6), unlabel(ann, 7), label(ann, 8)],
      'given by ann at 8',
    ],
    [
      'by a stranger is not approved by reopening the issue',
      [label(ann, 5), edit(eve, 6), reopen(ann, 7)],
      'changed by eve at 6',
    ],
    ['within the second of the label may have come after it', [label(ann, 5), edit(eve, 5)], 'changed by eve at 5'],
    [
      'within that second by the person who added it does not matter',
      [label(ann, 5), edit(ann, 5)],
      'given by ann at 5',
    ],
    ['is the newest of several', [label(ann, 5), edit(eve, 6), edit(eve, 8), edit(ann, 9)], 'changed by eve at 8'],
  ])('%s', (_, events, expected) => {
    expect(summaryOf(judged(events))).toBe(expected);
  });

  test('does not matter when the text is the very one that was approved', () => {
    expect(summaryOf(judged([label(ann, 5), edit(eve, 6), edit(eve, 7)], 'now'))).toBe('given by ann at 5');
    expect(summaryOf(judged([label(ann, 5), edit(eve, 6)], 'another'))).toBe('changed by eve at 6');
  });

  test.each<[string, readonly Event[], number, string]>([
    [
      'a newer label was put on another text',
      [label(ann, 5), edit(eve, 6), unlabel(ann, 7), label(ann, 8), edit(eve, 9)],
      5,
      'changed by eve at 9',
    ],
    ['somebody trusted had corrected it', [label(ann, 5), edit(ann, 6), edit(eve, 7)], 5, 'changed by eve at 7'],
    ['did so within the same second', [label(ann, 5), edit(ann, 7), edit(eve, 7)], 5, 'changed by eve at 7'],
    [
      'but not when it is somebody trusted who brings it back',
      [label(ann, 5), edit(eve, 6), edit(ann, 7)],
      5,
      'given by ann at 5',
    ],
    [
      'but not when it was approved under that label',
      [label(ann, 5), unlabel(ann, 7), label(ann, 8), edit(eve, 9), edit(eve, 10)],
      8,
      'given by ann at 8',
    ],
    [
      'but not when it was approved as the issue was reopened',
      [label(ann, 5), reopen(ann, 6), edit(eve, 9)],
      6,
      'given by ann at 6',
    ],
  ])('matters when an old approved text is brought back and %s', (_, events, at, expected) => {
    expect(summaryOf(judged(events, 'now', at))).toBe(expected);
  });

  test('that GitHub may hide does not matter either when the text is the approved one', () => {
    expect(summaryOf(judged([label(ann, 5), edit(bea, 6), cut], 'now'))).toBe('given by ann at 5');
  });

  test('and an approved text is not a task without the label', () => {
    expect(summaryOf(judged([label(ann, 5), unlabel(ann, 6), label(eve, 7)], 'now'))).toBe('never (eve)');
  });

  test.each<[string, readonly Event[], boolean]>([
    ['nobody was notified', [label(ann, 5), edit(eve, 6)], false],
    ['our label says so', [label(ann, 5), edit(eve, 6), noticed(7)], true],
    ['our label is from the same second', [label(ann, 5), edit(eve, 6), noticed(6)], true],
    ['our label was only taken off', [label(ann, 5), edit(eve, 6), unlabel(eve, 7, 'ralph:needs-approval')], false],
    ['our label is from an earlier change', [label(ann, 5), edit(eve, 6), noticed(7), edit(eve, 8)], false],
    [
      'our label was taken off again',
      [label(ann, 5), edit(eve, 6), noticed(7), unlabel(eve, 8, 'ralph:needs-approval')],
      true,
    ],
  ])('is reported once: %s', (_, events, isNoticed) => {
    expect(judged(events)).toMatchObject({ kind: 'changed', isNoticed });
  });
});

describe('a history that GitHub cuts', () => {
  const many = (by: Person, from: number, count: number): readonly Event[] =>
    Array.from({ length: count }, (_, index) => edit(by, from + index));

  test.each<[string, readonly Event[], string]>([
    ['matters not when nothing was changed after the label', [edit(eve, 3), label(ann, 5), cut], 'given by ann at 5'],
    ['matters not when it shows no changes', [label(ann, 5), cut], 'given by ann at 5'],
    [
      'matters not when it shows changes from before the label as well',
      [edit(eve, 3), label(ann, 5), edit(bea, 6), cut],
      'given by ann at 5',
    ],
    ['may hide a stranger when it does not', [label(ann, 5), edit(bea, 6), cut], 'changed by ? at 6'],
    [
      'may hide one behind as many changes as GitHub shows',
      [edit(eve, 3), label(ann, 5), ...many(bea, 6, 50), cut],
      'changed by ? at 55',
    ],
    [
      'is undone by a new label',
      [label(ann, 5), edit(bea, 6), unlabel(bea, 7), label(bea, 8), cut],
      'given by bea at 8',
    ],
    ['without the label is not consent', [edit(ann, 3), cut], 'never (?)'],
  ])('%s', (_, events, expected) => {
    expect(summaryOf(judged(events))).toBe(expected);
  });
});

describe('when the work was asked for', () => {
  test.each<[string, readonly Event[], number]>([
    ['the label', [label(ann, 5)], 5],
    ['the newest label', [label(ann, 5), unlabel(eve, 6), label(ann, 7)], 7],
    ['reopening, by somebody trusted', [label(ann, 5), reopen(bea, 9)], 9],
    ['not by a stranger', [label(ann, 5), reopen(eve, 9)], 5],
    ['not by somebody unknown', [label(ann, 5), reopen(null, 9)], 5],
    ['not before the label', [reopen(bea, 2), label(ann, 5)], 5],
  ])('%s', (_, events, at) => {
    expect(judged(events)).toMatchObject({ kind: 'given', at });
  });
});

test('and it was asked for then although the text was changed', () => {
  expect(judged([label(ann, 5), edit(eve, 6), reopen(bea, 9), reopen(eve, 10)])).toMatchObject({
    kind: 'changed',
    askedAt: 9,
  });
});

describe('consent that was given before holds without a question', () => {
  const before = (events: readonly Event[], approved: { text: string; at: number } | null = { text: 'now', at: 5 }) =>
    findUnchangedConsent({ history: historyOf(events), taskLabel: 'ralph', text: 'now', approved });

  test('where nothing has happened since', () => {
    expect(before([label(ann, 5)])).toEqual({ kind: 'given', by: 'ann', at: 5 });
    expect(before([label(ann, 3), edit(eve, 4), reopen(bea, 5)])).toEqual({ kind: 'given', by: 'ann', at: 5 });
  });

  test.each<[string, readonly Event[], { text: string; at: number } | null]>([
    ['nothing was approved', [label(ann, 5)], null],
    ['another text was', [label(ann, 5)], { text: 'then', at: 5 }],
    ['the label was put on again', [label(ann, 5), unlabel(ann, 6), label(eve, 7)], { text: 'now', at: 5 }],
    ['the label is gone', [label(ann, 5), unlabel(ann, 6)], { text: 'now', at: 5 }],
    ['nobody knows who put it on', [label(null, 5)], { text: 'now', at: 5 }],
    ['the issue was reopened', [label(ann, 5), reopen(eve, 6)], { text: 'now', at: 5 }],
    ['the text was changed, and back', [label(ann, 5), edit(eve, 6), edit(eve, 7)], { text: 'now', at: 5 }],
    ['it was changed within the same second', [label(ann, 5), edit(eve, 5)], { text: 'now', at: 5 }],
    ['GitHub keeps something back', [label(ann, 5), cut], { text: 'now', at: 5 }],
  ])('not where %s', (_, events, approved) => {
    expect(before(events, approved)).toBeNull();
  });
});

test('nobody is asked about whose acts do not matter', () => {
  const history = historyOf([
    edit(eve, 1),
    reopen(eve, 2),
    label(bea, 3),
    unlabel(bea, 4),
    label(ann, 5),
    edit(bea, 6),
    edit(null, 7),
    reopen(bea, 8),
    // A reopening within the second of the label requires no new approval.
    reopen(eve, 5),
  ]);
  expect(listAccountsToLookUp({ history, taskLabel: 'ralph', demands: [] })).toEqual([ann, bea, bea]);
  expect(
    listAccountsToLookUp({ history: historyOf([label(eve, 5), unlabel(eve, 6)]), taskLabel: 'ralph', demands: [] }),
  ).toEqual([]);
});
