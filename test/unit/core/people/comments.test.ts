import { describe, expect, test } from 'vitest';
import { readableComments, type RawComment } from '../../../../src/core/people/comments.ts';
import { MINUTE, noon } from '../core-fixtures.ts';

interface Account {
  readonly login: string;
  readonly kind: 'user' | 'bot';
}
type Comment = RawComment<Account>;

const user = (login: string): Account => ({ login, kind: 'user' });
const ann = user('ann');
const eve = user('eve');
const bot: Account = { login: 'helper', kind: 'bot' };
const said = (by: Account | null, body: string, change: Partial<Comment> = {}): Comment => ({
  by,
  body,
  at: noon - MINUTE,
  edited: null,
  minimized: false,
  ...change,
});

interface Reading {
  readonly from?: 'writers' | 'everybody';
  readonly until?: number;
}

/** Reads the comments of issue 1, and of others; `trusted` are the logins that count, `asked` those that were asked about. */
function read(
  comments: readonly Comment[],
  { from = 'writers', until = noon }: Reading = {},
  others: readonly (readonly Comment[])[] = [],
) {
  const trusted = ['ann', 'helper'];
  const asked: string[] = [];
  const reading = readableComments(
    [comments, ...others].map((list, index) => ({ number: index + 1, until, comments: list })),
    from,
  );
  let step = reading.next();
  while (step.done !== true) {
    asked.push(step.value.login);
    step = reading.next(trusted.includes(step.value.login));
  }
  const read = step.value.get(1);
  return {
    texts: read?.comments.map(({ by, text }) => `${by}: ${text}`),
    unseen: read?.unseen,
    asked,
    all: step.value,
  };
}

describe('the agent gets to read', () => {
  const later = noon + MINUTE;
  test.each<[string, readonly Comment[], Reading, readonly string[]]>([
    ['what a writer said, oldest first', [said(ann, 'One'), said(ann, 'Two')], {}, ['ann: One', 'ann: Two']],
    ['not what others said', [said(eve, 'In red')], {}, []],
    [
      'unless everybody may be read',
      [said(eve, 'In red'), said(bot, 'Done')],
      { from: 'everybody' },
      ['eve: In red', 'helper: Done'],
    ],
    ['of bots only those that count', [said({ login: 'other', kind: 'bot' }, 'Hello')], { from: 'everybody' }, []],
    ['nothing of nobody', [said(null, 'Gone')], { from: 'everybody' }, []],
    ['nothing that is hidden', [said(ann, 'Spam', { minimized: true })], {}, []],
    [
      'what was said until the work was asked for',
      [said(ann, 'Then', { at: noon }), said(ann, 'Later', { at: noon + 1 })],
      {},
      ['ann: Then'],
    ],
    ['nothing of our own', [said(ann, ' <!-- ralph-action:status -->\nWorking')], {}, []],
    ['what its writer edited since', [said(ann, 'In blue', { edited: { by: ann, at: later } })], {}, ['ann: In blue']],
    [
      'what was edited until then, by whomever',
      [said(ann, 'In blue', { edited: { by: eve, at: noon } })],
      {},
      ['ann: In blue'],
    ],
    ['not what somebody else edited since', [said(ann, 'In red', { edited: { by: eve, at: later } })], {}, []],
    ['nor what nobody edited since', [said(ann, 'In red', { edited: { by: null, at: later } })], {}, []],
    ['what stands below a command', [said(ann, ' /ralph run\nIn blue')], {}, ['ann: In blue']],
    ['no blanks at its ends', [said(ann, ' \n In blue \n ')], {}, ['ann: In blue']],
    ['nothing of a command alone', [said(ann, '/Ralph status')], {}, []],
    ['a word that only begins so', [said(ann, '/ralph-x runs')], {}, ['ann: /ralph-x runs']],
    [
      'what was said until a writer asked again',
      [
        said(ann, 'Late', { at: noon + 2 }),
        said(ann, ' /ralph \t run', { at: noon + 3 }),
        said(ann, 'Later', { at: noon + 4 }),
      ],
      {},
      ['ann: Late'],
    ],
    [
      'or asked to have it tried again',
      [said(ann, 'Late', { at: noon + 2 }), said(ann, '/ralph retry', { at: noon + 3 })],
      {},
      ['ann: Late'],
    ],
    [
      'not until somebody else did',
      [said(ann, 'Late', { at: noon + 2 }), said(eve, '/ralph run', { at: noon + 3 })],
      {},
      [],
    ],
    [
      'nor until a command that was edited',
      [
        said(ann, 'Late', { at: noon + 2 }),
        said(ann, '/ralph run', { at: noon + 3, edited: { by: ann, at: noon + 3 } }),
      ],
      {},
      [],
    ],
    [
      'nor until another command',
      [said(ann, 'Late', { at: noon + 2 }), said(ann, '/ralph status', { at: noon + 3 })],
      {},
      [],
    ],
    [
      'nor until one in the middle of a text',
      [said(ann, 'Late', { at: noon + 2 }), said(ann, 'So /ralph run', { at: noon + 3 })],
      {},
      [],
    ],
  ])('%s', (_, comments, reading, expected) => {
    expect(read(comments, reading).texts).toEqual(expected);
  });

  test('the newest 6,000 characters of an issue, 2,000 of a comment', () => {
    const long = (letter: string) => said(ann, letter.repeat(2_001));
    const { texts } = read([said(ann, 'first'), long('a'), long('b'), long('c')]);
    expect(texts?.map((text) => [text[5], text.length])).toEqual([
      ['a', 2_005],
      ['b', 2_005],
      ['c', 2_005],
    ]);
  });

  test('no blanks where it is cut, nor before', () => {
    const { texts } = read([said(ann, `\n${'a'.repeat(1_999)} b`), said(ann, `\n${'a'.repeat(2_000)}`)]);
    expect(texts?.map((text) => text.length)).toEqual([2_004, 2_005]);
  });

  test('no older one once a comment finds no room', () => {
    const { texts, asked } = read([
      said(eve, 'a'),
      said(ann, 'b'.repeat(2_000)),
      said(ann, 'c'),
      said(ann, 'd'.repeat(2_000)),
      said(ann, 'e'.repeat(2_000)),
    ]);
    expect(texts?.map((text) => text.length)).toEqual([6, 2_005, 2_005]);
    expect(asked).not.toContain('eve');
  });

  test('nobody is asked about who wrote what there is no room for', () => {
    const full = ['a', 'b', 'c'].map((letter) => said(ann, letter.repeat(2_000)));
    expect(read([said(eve, 'first'), ...full]).asked).toEqual(['ann', 'ann', 'ann']);
  });

  test('nothing that a reader does not see, which is counted', () => {
    expect(read([said(ann, 'In <!-- red -->blue'), said(ann, '<!-- x -->')])).toMatchObject({
      texts: ['ann: In blue'],
      unseen: '<!-- red -->'.length + '<!-- x -->'.length,
    });
  });

  test('no half of a character at the end of what is cut', () => {
    expect(read([said(ann, `${'a'.repeat(1_999)}😀`)]).texts).toEqual([`ann: ${'a'.repeat(1_999)}\uFFFD`]);
  });
});

describe('who is asked about', () => {
  test('nobody whose comment does not count anyhow', () => {
    const comments = [
      said(eve, 'Later', { at: noon + 1 }),
      said(eve, 'Spam', { minimized: true }),
      said(eve, '<!-- ralph-action:status -->'),
      said(eve, '/ralph run', { at: noon }),
    ];
    expect(read(comments).asked).toEqual(['eve']);
  });

  test('nobody but bots, where everybody may be read', () => {
    expect(read([said(eve, 'In red'), said(bot, 'Done')], { from: 'everybody' }).asked).toEqual(['helper']);
  });

  test('30 people at most, of all issues; the others count as strangers', () => {
    const crowd = Array.from({ length: 28 }, (_, index) => said(user(`user-${String(index)}`), 'Hello'));
    const { asked, all } = read(crowd, {}, [
      [said(ann, 'One'), said(eve, 'Two')],
      [said(user('ANN'), 'Three'), said(bot, 'Four'), said(ann, 'Five')],
    ]);
    expect(asked).toHaveLength(32);
    expect(asked.slice(28)).toEqual(['eve', 'ann', 'ann', 'ANN']);
    expect(all.get(3)?.comments).toEqual([{ by: 'ann', text: 'Five' }]);
  });
});

test('every issue has its own', () => {
  expect([...read([said(ann, 'One')], {}, [[said(ann, 'Two')], []]).all]).toEqual([
    [1, { comments: [{ by: 'ann', text: 'One' }], unseen: 0 }],
    [2, { comments: [{ by: 'ann', text: 'Two' }], unseen: 0 }],
    [3, { comments: [], unseen: 0 }],
  ]);
});
