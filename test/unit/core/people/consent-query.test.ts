import { describe, expect, test } from 'vitest';
import { listAccountsToLookUp, judgeConsent, type ConsentHistory } from '../../../../src/core/people/consent.ts';

interface Person {
  readonly login: string;
}
const ann: Person = { login: 'ann' };
const bea: Person = { login: 'bea' };
const eve: Person = { login: 'eve' };

type Event = (history: ConsentHistory<Person>) => ConsentHistory<Person>;
const give =
  (what: string, by: Person | null, at: number, kind: 'set' | 'unset' = 'set'): Event =>
  (h) => ({ ...h, given: [...h.given, { kind, what, by, at }] });
const take = (what: string, by: Person | null, at: number): Event => give(what, by, at, 'unset');
const label =
  (by: Person | null, at: number): Event =>
  (h) => ({ ...h, labelings: [...h.labelings, { kind: 'labeled', label: 'ralph', by, at }] });
const edit =
  (by: Person | null, at: number): Event =>
  (h) => ({ ...h, edits: [...h.edits, { by, at }] });
const reopen =
  (by: Person | null, at: number): Event =>
  (h) => ({ ...h, reopenings: [...h.reopenings, { by, at }] });
const cut: Event = (h) => ({ ...h, truncated: true });

const historyOf = (events: readonly Event[]): ConsentHistory<Person> =>
  events.reduce<ConsentHistory<Person>>((history, event) => event(history), {
    ...{ labelings: [], reopenings: [], edits: [], given: [], truncated: false },
  });

/** Our clock; a text is approved long before it. */
const NOW = 10_000_000;
const THEN = 5_000_000;

function judged(
  demands: readonly string[],
  events: readonly Event[],
  approved: { readonly text: string; readonly at: number } | null = null,
): string {
  const consent = judgeConsent({
    ...{ history: historyOf(events), taskLabel: 'ralph', demands, text: 'now', approved, now: NOW },
    isTrusted: (person) => person === ann || person === bea,
  });
  switch (consent.kind) {
    case 'given':
      return `given by ${consent.by} at ${String(consent.at)}`;
    case 'changed':
      return `changed by ${consent.editor ?? '?'}`;
    case 'never':
      return `never (${consent.by ?? '?'})`;
  }
}

describe('what a query demands is consent', () => {
  test.each<[string, readonly string[], readonly Event[], string]>([
    ['where a writer gave it', ['label:bug'], [give('label:bug', ann, 5)], 'given by ann at 5'],
    ['not where a template or a stranger did', ['label:bug'], [give('label:bug', eve, 5)], 'never (?)'],
    ['not where nobody knows who did', ['type:bug'], [give('type:bug', null, 5)], 'never (?)'],
    ['not without an event', ['milestone:2.0'], [], 'never (?)'],
    ['not where it is not demanded', ['label:bug'], [give('label:other', ann, 5)], 'never (?)'],
    ['not by a query that does not find the issue', [], [give('label:bug', ann, 5)], 'never (?)'],
    ['not once it was taken away', ['label:bug'], [give('label:bug', ann, 5), take('label:bug', eve, 6)], 'never (?)'],
    [
      'not when a stranger gave again what a writer took',
      ['assignee:bob'],
      [give('assignee:bob', ann, 5), take('assignee:bob', ann, 6), give('assignee:bob', eve, 7)],
      'never (?)',
    ],
    [
      'where a writer gave one part, and a template the other',
      ['type:bug', 'milestone:2.0'],
      [give('type:bug', eve, 4), give('milestone:2.0', ann, 5)],
      'given by ann at 5',
    ],
    [
      'not where a stranger gave the last part to what a writer had planned',
      ['label:ai', 'milestone:2.0'],
      [give('milestone:2.0', ann, 5), give('label:ai', eve, 6)],
      'never (?)',
    ],
    [
      'not where a stranger did it in the same second',
      ['label:ai', 'milestone:2.0'],
      [give('label:ai', eve, 5), give('milestone:2.0', ann, 5)],
      'never (?)',
    ],
    [
      'not where a stranger added it to a project last',
      ['project:', 'milestone:2.0'],
      [give('milestone:2.0', ann, 5), give('project:', ann, 4), give('project:', eve, 6)],
      'never (?)',
    ],
    [
      'where a writer planned what a stranger had added to a project',
      ['project:', 'milestone:2.0'],
      [give('project:', eve, 4), give('milestone:2.0', ann, 5)],
      'given by ann at 5',
    ],
    [
      'by the newest act of a writer',
      ['type:bug', 'milestone:2.0'],
      [give('milestone:2.0', ann, 7), give('type:bug', bea, 5)],
      'given by ann at 7',
    ],
    ['beside the label of a stranger', ['label:bug'], [label(eve, 4), give('label:bug', ann, 5)], 'given by ann at 5'],
    [
      'as well as the label of a writer',
      ['label:bug'],
      [give('label:bug', eve, 4), label(ann, 5)],
      'given by ann at 5',
    ],
    ['again after reopening', ['label:bug'], [give('label:bug', ann, 5), reopen(bea, 8)], 'given by ann at 8'],
    ['for the text as it was then', ['label:bug'], [give('label:bug', ann, 5), edit(eve, 6)], 'changed by eve'],
    ['for the edits of writers', ['label:bug'], [give('label:bug', ann, 5), edit(bea, 6)], 'given by ann at 5'],
    [
      'for an edit before the label that a writer adds after it',
      ['label:bug'],
      [give('label:bug', ann, 5), edit(eve, 6), label(bea, 7)],
      'given by bea at 7',
    ],
    ['of a project that a writer added it to', ['project:'], [give('project:', ann, 5)], 'given by ann at 5'],
    [
      'not of a project if a stranger added it to another one',
      ['project:'],
      [give('project:', eve, 4), give('project:', ann, 5)],
      'never (?)',
    ],
    ['not of a project if the events are cut', ['project:'], [give('project:', ann, 5), cut], 'never (?)'],
  ])('%s', (_, demands, events, expected) => {
    expect(judged(demands, events)).toBe(expected);
  });
});

describe('a query that names the author', () => {
  const demands = ['author:eve'];
  const opened = give('author:eve', eve, 1);
  test.each<[string, readonly Event[], { readonly text: string; readonly at: number } | null, string]>([
    ['approves the text that is seen first', [opened], null, `given by eve at ${String(NOW)}`],
    ['also one that was edited before', [opened, edit(eve, 9)], null, `given by eve at ${String(NOW)}`],
    [
      'approves it from then on, without asking for the work again',
      [opened, edit(eve, 9)],
      { text: 'now', at: THEN },
      `given by eve at ${String(THEN)}`,
    ],
    ['not what the author edits later', [opened, edit(eve, THEN + 1)], { text: 'old', at: THEN }, 'changed by eve'],
    [
      'not what was edited while it was read, whatever the clocks say',
      [opened, edit(eve, THEN - 60_000)],
      { text: 'old', at: THEN },
      'changed by eve',
    ],
    ['not another text without a known edit', [opened], { text: 'old', at: THEN }, 'changed by ?'],
    [
      'what a writer edits later',
      [opened, edit(ann, THEN + 1)],
      { text: 'old', at: THEN },
      `given by eve at ${String(THEN)}`,
    ],
    ['the label of a writer after an edit', [opened, edit(eve, 9), label(ann, 10)], null, 'given by ann at 10'],
    [
      'asks for the work again when a writer reopens the issue',
      [opened, reopen(ann, THEN + 7)],
      { text: 'now', at: THEN },
      `given by eve at ${String(THEN + 7)}`,
    ],
  ])('%s', (_, events, approved, expected) => {
    expect(judged(demands, events, approved)).toBe(expected);
  });

  test('is not consent to what an app writes', () => {
    const app: Person = { ...eve, login: 'relay[bot]' };
    expect(judged(['author:relay[bot]'], [give('author:relay[bot]', app, 1)])).not.toContain('given by relay');
  });

  test('is not consent to the issues of other authors', () => {
    expect(judged(demands, [give('author:mallory', eve, 1)])).toBe('never (?)');
  });
});

test('those are asked about who gave the last of what is demanded, or edited since', () => {
  const history = historyOf([edit(bea, 1), give('label:bug', ann, 3), give('project:', eve, 2), edit(bea, 4)]);
  const of = { history, taskLabel: 'ralph', demands: ['label:bug', 'project:'] };
  expect(listAccountsToLookUp(of)).toEqual([ann, bea]);
});
