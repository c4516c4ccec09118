import { describe, expect, test } from 'vitest';
import { selectReadableComments, type RawComment } from '../../../../src/core/people/comments.ts';
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
const commentBy = (by: Account | null, body: string, change: Partial<Comment> = {}): Comment => ({
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

/**
 * Reads the comments of issue 1 and of others; `trusted` are the logins that count, `asked` those whose permission was
 * read.
 */
function read(
  comments: readonly Comment[],
  { from = 'writers', until = noon }: Reading = {},
  others: readonly (readonly Comment[])[] = [],
) {
  const trusted = ['ann', 'helper'];
  const asked: string[] = [];
  const reading = selectReadableComments(
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
    ['what a writer said, oldest first', [commentBy(ann, 'One'), commentBy(ann, 'Two')], {}, ['ann: One', 'ann: Two']],
    ['not what others said', [commentBy(eve, 'In red')], {}, []],
    [
      'unless everybody may be read',
      [commentBy(eve, 'In red'), commentBy(bot, 'Done')],
      { from: 'everybody' },
      ['eve: In red', 'helper: Done'],
    ],
    ['of bots only those that count', [commentBy({ login: 'other', kind: 'bot' }, 'Hello')], { from: 'everybody' }, []],
    ['nothing of nobody', [commentBy(null, 'Gone')], { from: 'everybody' }, []],
    ['nothing that is hidden', [commentBy(ann, 'Spam', { minimized: true })], {}, []],
    [
      'what was said until the work was asked for',
      [commentBy(ann, 'Then', { at: noon }), commentBy(ann, 'Later', { at: noon + 1 })],
      {},
      ['ann: Then'],
    ],
    ['nothing of our own', [commentBy(ann, ' <!-- ralph-action:status -->\nWorking')], {}, []],
    [
      'what its writer edited since',
      [commentBy(ann, 'In blue', { edited: { by: ann, at: later } })],
      {},
      ['ann: In blue'],
    ],
    [
      'what was edited until then, by whomever',
      [commentBy(ann, 'In blue', { edited: { by: eve, at: noon } })],
      {},
      ['ann: In blue'],
    ],
    ['not what somebody else edited since', [commentBy(ann, 'In red', { edited: { by: eve, at: later } })], {}, []],
    ['nor what nobody edited since', [commentBy(ann, 'In red', { edited: { by: null, at: later } })], {}, []],
    ['what stands below a command', [commentBy(ann, ' /ralph run\nIn blue')], {}, ['ann: In blue']],
    ['no blanks at its ends', [commentBy(ann, ' \n In blue \n ')], {}, ['ann: In blue']],
    ['nothing of a command alone', [commentBy(ann, '/Ralph status')], {}, []],
    ['a word that only begins so', [commentBy(ann, '/ralph-x runs')], {}, ['ann: /ralph-x runs']],
    [
      'what was said until a writer asked again',
      [
        commentBy(ann, 'Late', { at: noon + 2 }),
        commentBy(ann, ' /ralph \t run', { at: noon + 3 }),
        commentBy(ann, 'Later', { at: noon + 4 }),
      ],
      {},
      ['ann: Late'],
    ],
    [
      'or asked for a retry',
      [commentBy(ann, 'Late', { at: noon + 2 }), commentBy(ann, '/ralph retry', { at: noon + 3 })],
      {},
      ['ann: Late'],
    ],
    [
      'not until somebody else did',
      [commentBy(ann, 'Late', { at: noon + 2 }), commentBy(eve, '/ralph run', { at: noon + 3 })],
      {},
      [],
    ],
    [
      'nor until a command that was edited',
      [
        commentBy(ann, 'Late', { at: noon + 2 }),
        commentBy(ann, '/ralph run', { at: noon + 3, edited: { by: ann, at: noon + 3 } }),
      ],
      {},
      [],
    ],
    [
      'nor until another command',
      [commentBy(ann, 'Late', { at: noon + 2 }), commentBy(ann, '/ralph status', { at: noon + 3 })],
      {},
      [],
    ],
    [
      'nor until one in the middle of a text',
      [commentBy(ann, 'Late', { at: noon + 2 }), commentBy(ann, 'So /ralph run', { at: noon + 3 })],
      {},
      [],
    ],
  ])('%s', (_, comments, reading, expected) => {
    expect(read(comments, reading).texts).toEqual(expected);
  });

  test('the newest 6,000 characters of an issue, 2,000 of a comment', () => {
    const long = (letter: string) => commentBy(ann, letter.repeat(2_001));
    const { texts } = read([commentBy(ann, 'first'), long('a'), long('b'), long('c')]);
    expect(texts?.map((text) => [text[5], text.length])).toEqual([
      ['a', 2_005],
      ['b', 2_005],
      ['c', 2_005],
    ]);
  });

  test('no blanks where it is cut, nor before', () => {
    const { texts } = read([commentBy(ann, `\n${'a'.repeat(1_999)} b`), commentBy(ann, `\n${'a'.repeat(2_000)}`)]);
    expect(texts?.map((text) => text.length)).toEqual([2_004, 2_005]);
  });

  test('no older one once a comment finds no room', () => {
    const { texts, asked } = read([
      commentBy(eve, 'a'),
      commentBy(ann, 'b'.repeat(2_000)),
      commentBy(ann, 'c'),
      commentBy(ann, 'd'.repeat(2_000)),
      commentBy(ann, 'e'.repeat(2_000)),
    ]);
    expect(texts?.map((text) => text.length)).toEqual([6, 2_005, 2_005]);
    expect(asked).not.toContain('eve');
  });

  test('the authors of comments without room are not looked up', () => {
    const full = ['a', 'b', 'c'].map((letter) => commentBy(ann, letter.repeat(2_000)));
    expect(read([commentBy(eve, 'first'), ...full]).asked).toEqual(['ann', 'ann', 'ann']);
  });

  test('nothing that a reader does not see, which is counted', () => {
    expect(read([commentBy(ann, 'In <!-- red -->blue'), commentBy(ann, '<!-- x -->')])).toMatchObject({
      texts: ['ann: In blue'],
      unseen: '<!-- red -->'.length + '<!-- x -->'.length,
    });
  });

  test('no half of a character at the end of what is cut', () => {
    expect(read([commentBy(ann, `${'a'.repeat(1_999)}😀`)]).texts).toEqual([`ann: ${'a'.repeat(1_999)}\uFFFD`]);
  });
});

describe('the accounts to look up', () => {
  test('no author of a comment that does not count anyhow', () => {
    const comments = [
      commentBy(eve, 'Later', { at: noon + 1 }),
      commentBy(eve, 'Spam', { minimized: true }),
      commentBy(eve, '<!-- ralph-action:status -->'),
      commentBy(eve, '/ralph run', { at: noon }),
    ];
    expect(read(comments).asked).toEqual(['eve']);
  });

  test('nobody but bots, where everybody may be read', () => {
    expect(read([commentBy(eve, 'In red'), commentBy(bot, 'Done')], { from: 'everybody' }).asked).toEqual(['helper']);
  });

  test('30 people at most, of all issues; the others count as strangers', () => {
    const crowd = Array.from({ length: 28 }, (_, index) => commentBy(user(`user-${String(index)}`), 'Hello'));
    const { asked, all } = read(crowd, {}, [
      [commentBy(ann, 'One'), commentBy(eve, 'Two')],
      [commentBy(user('ANN'), 'Three'), commentBy(bot, 'Four'), commentBy(ann, 'Five')],
    ]);
    expect(asked).toHaveLength(32);
    expect(asked.slice(28)).toEqual(['eve', 'ann', 'ann', 'ANN']);
    expect(all.get(3)?.comments).toEqual([{ by: 'ann', text: 'Five' }]);
  });
});

test('every issue has its own', () => {
  expect([...read([commentBy(ann, 'One')], {}, [[commentBy(ann, 'Two')], []]).all]).toEqual([
    [1, { comments: [{ by: 'ann', text: 'One' }], unseen: 0 }],
    [2, { comments: [{ by: 'ann', text: 'Two' }], unseen: 0 }],
    [3, { comments: [], unseen: 0 }],
  ]);
});
