import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { noFeedback, type FeedbackItem } from '../../../../src/core/feedback/memory.ts';
import type { Author, ReviewNow, ThreadComment } from '../../../../src/core/feedback/pull-request-now.ts';
import { taskOfReview, taskOfThread } from '../../../../src/core/feedback/reviews/thread-task.ts';
import {
  selectReviewsToAnswer,
  selectThreadsToAnswer,
  listAuthorsToCheck,
} from '../../../../src/core/feedback/reviews/threads.ts';
import {
  actions,
  ada,
  answer,
  askedIn,
  at,
  ben,
  comment,
  eve,
  isTrusted,
  pullRequestNow,
  review,
  thread,
} from './feedback-fixtures.ts';

describe('a thread asks', () => {
  test.each<[string, readonly ThreadComment[], readonly ReviewNow[], number | null]>([
    ['what somebody with write access says in it', [comment(1, ada, 'Rename it')], [], 1],
    ['what was said last', [comment(1, ada, 'Rename it'), comment(2, ben, 'And test it')], [], 2],
    ['nothing if only a stranger speaks', [comment(1, eve, 'Delete it')], [], null],
    ['nothing if the account is gone', [comment(1, null, 'Rename it')], [], null],
    ['nothing if it is a bot that is not allowed', [comment(1, actions, 'Coverage fell')], [], null],
    ['what a writer says to a stranger', [comment(1, eve, 'Delete it'), comment(2, ada, 'Yes')], [], 2],
    ['no more because a stranger adds something', [comment(1, ada, 'Rename it'), comment(2, eve, 'No')], [], 1],
    ['no more because somebody says thanks', [comment(1, ada, 'Rename it'), comment(2, ben, 'Great, thanks!')], [], 1],
    [
      'nothing after an answer that is thanked for',
      [comment(1, ada, 'To x'), answer(2, 1), comment(3, ada, 'Thx')],
      [],
      null,
    ],
    [
      'what one asks, although another approves',
      [comment(1, ada, 'Rename it'), comment(2, ben, 'I like it')],
      [review(9, ben, 'approved', 9)],
      1,
    ],
    ['nothing if nothing is said', [comment(1, ada, ' \n')], [], null],
    ['nothing if it is a command only', [comment(1, ada, '/ralph retry thread-1')], [], null],
    ['what stands below a command', [comment(1, ada, '/ralph run\nRename it')], [], 1],
    ['nothing after an answer', [comment(1, ada, 'Rename it'), answer(2, 1)], [], null],
    ['nothing after an answer that does not say to what', [comment(1, ada, 'Rename it'), answer(2, null)], [], null],
    ['what is said after an answer', [comment(1, ada, 'Rename it'), answer(2, 1), comment(3, ada, 'To x')], [], 3],
    [
      'what was said while an answer was on its way',
      [comment(1, ada, 'Rename it'), comment(2, ada, 'To x'), answer(3, 1)],
      [],
      2,
    ],
    ['nothing after two answers', [comment(1, ada, 'A'), answer(2, 1), comment(3, ada, 'B'), answer(4, 3)], [], null],
    ['what a stranger cannot answer for us', [comment(1, ada, 'Rename it'), answer(2, 1, { by: eve })], [], 1],
    [
      'nothing after an answer with the token of a person',
      [comment(1, ada, 'Rename it'), answer(2, 1, { by: ben })],
      [],
      null,
    ],
    ['nothing after an answer to a comment that is deleted', [comment(2, ada, 'Rename it'), answer(3, 1)], [], null],
  ])('%s', (_, comments, reviews, expected) => {
    expect(askedIn(comments, reviews)?.asking.id ?? null).toBe(expected);
  });
});

describe('a decision about the pull request', () => {
  const asking = (id: number, of: number | null = null, change: Partial<ThreadComment> = {}) =>
    comment(id, ada, 'Rename it', { review: of, ...change });
  test.each<[string, readonly ThreadComment[], readonly ReviewNow[], number | null]>([
    ['ends with a later approval', [asking(1)], [review(7, ada, 'approved', 2)], null],
    ['ends with the approval that the comment is part of', [asking(1, 7)], [review(7, ada, 'approved', 2)], null],
    ['is not ended by an earlier approval', [asking(3)], [review(7, ada, 'approved', 2)], 3],
    ['is not ended by the approval of another', [asking(1)], [review(7, ben, 'approved', 2)], 1],
    ['is not ended by a comment after it', [asking(1)], [review(7, ada, 'commented', 2, 'Hm')], 1],
    [
      'stays ended when comments follow',
      [asking(1)],
      [review(7, ada, 'approved', 2), review(8, ada, 'commented', 3)],
      null,
    ],
    [
      'begins again with changes requested later',
      [asking(1)],
      [review(7, ada, 'approved', 2), review(8, ada, 'changes-requested', 3)],
      1,
    ],
    ['is not ended by an approval that was dismissed', [asking(1)], [review(7, ada, 'dismissed', 2)], 1],
    [
      'stays ended when a later request is dismissed',
      [asking(1)],
      [review(7, ada, 'approved', 2), review(8, ada, 'dismissed', 3)],
      null,
    ],
    ['ends with the dismissal of its review', [asking(1, 7)], [review(7, ada, 'dismissed', 2)], null],
    [
      'continues when somebody replies to a dismissed one',
      [asking(1, 7), comment(3, ben, 'Do it')],
      [review(7, ada, 'dismissed', 2)],
      3,
    ],
    ['is not heard before its review is submitted', [asking(1, 7)], [review(7, ada, 'pending', 0)], null],
    [
      'is heard when its review is submitted, whenever it was written',
      [asking(1), answer(3, 1), asking(2, 7, { text: 'No' })],
      [review(7, ada, 'commented', 4)],
      2,
    ],
    [
      'counts for an account, whatever it is called now',
      [asking(1)],
      [review(7, { ...ada, login: 'Ada2' }, 'approved', 2)],
      null,
    ],
    [
      'counts for a name where GitHub gives no number',
      [asking(1, null, { by: { ...ada, id: null } })],
      [review(7, { ...ada, id: null }, 'approved', 2)],
      null,
    ],
  ])('%s', (_, comments, reviews, expected) => {
    expect(askedIn(comments, reviews)?.asking.id ?? null).toBe(expected);
  });

  test('does not take back what another asked before', () => {
    const comments = [comment(1, ben, 'Test it'), asking(2, 7)];
    expect(askedIn(comments, [review(7, ada, 'dismissed', 3)])?.asking.id).toBe(1);
  });
});

test('the conversation has what may be read, oldest first, and what we said', () => {
  const comments = [
    comment(1, eve, 'Delete it'),
    comment(2, ada, 'Rename it', { review: 7 }),
    answer(3, 2),
    comment(4, ada, 'To x'),
    comment(5, actions, 'Coverage fell'),
    comment(6, ben, 'Forget it', { review: 8 }),
  ];
  const reviews = [review(7, ada, 'commented', 2, 'Nearly there'), review(8, ben, 'dismissed', 6)];
  expect(askedIn(comments, reviews)).toMatchObject({
    by: ada,
    leftOut: 1,
    conversation: [
      { by: 'Ada', text: 'Rename it', isOurs: false },
      { by: 'github-actions', isOurs: true },
      { by: 'Ada', text: 'To x', isOurs: false },
    ],
  });
});

test.each<[string, readonly ReviewNow[], string | null]>([
  ['what its review says', [review(7, ada, 'commented', 1, 'Nearly there')], 'Nearly there'],
  ['nothing of a stranger', [review(7, eve, 'commented', 1, 'Nearly there')], null],
  ['nothing of a review that was dismissed', [review(7, ada, 'dismissed', 1, 'Nearly there')], null],
  ['nothing where the review has no words', [review(7, ada, 'commented', 1)], null],
  ['nothing where the review is not known', [], null],
])('around the thread stands %s', (_, reviews, expected) => {
  expect(askedIn([comment(1, ada, 'Rename it', { review: 7 }), comment(2, ben, 'Yes')], reviews)?.review).toBe(
    expected,
  );
});

describe('a review asks as a whole', () => {
  const item: FeedbackItem = {
    kind: 'review',
    title: '',
    url: null,
    rounds: 1,
    asked: '7',
    answer: { kind: 'changed', commit: null, words: null, isOurs: false, at: at(0), posted: true },
  };
  const answered = (change: Partial<NonNullable<FeedbackItem['answer']>>): FeedbackItem => ({
    ...item,
    answer: item.answer === null ? null : { ...item.answer, ...change },
  });
  test.each<[string, readonly ReviewNow[], readonly number[]]>([
    ['for changes', [review(7, ada, 'changes-requested', 1, 'Split it')], [7]],
    ['with a comment', [review(7, ada, 'commented', 1, 'Split it')], [7]],
    ['not without words', [review(7, ada, 'changes-requested', 1, ' ')], []],
    ['not with a command', [review(7, ada, 'commented', 1, '/ralph run')], []],
    ['not as a stranger', [review(7, eve, 'changes-requested', 1, 'Split it')], []],
    ['not of an account that is gone', [review(7, null, 'changes-requested', 1, 'Split it')], []],
    ['not with an approval', [review(7, ada, 'approved', 1, 'Fine')], []],
    [
      'not when it is dismissed, or not submitted',
      [review(7, ada, 'dismissed', 1, 'A'), review(8, ada, 'pending', 1, 'B')],
      [],
    ],
    [
      'not when its author approves later',
      [review(7, ada, 'commented', 1, 'Split it'), review(8, ada, 'approved', 2)],
      [],
    ],
    ['not in our own words', [review(7, ada, 'commented', 1, '<!-- ralph-action:answer x -->\nDone')], []],
    ['oldest first', [review(7, ada, 'commented', 1, 'A'), review(8, ben, 'commented', 2, 'B')], [7, 8]],
  ])('%s', (_, reviews, expected) => {
    const { asked } = selectReviewsToAnswer(pullRequestNow({ reviews }), isTrusted, {});
    expect(asked.map(({ review: { id } }) => id)).toEqual(expected);
  });

  test.each<[string, FeedbackItem, boolean]>([
    ['not when it has its answer', item, false],
    ['as long as it has none', { ...item, answer: null }, true],
    ['as long as nobody can read it', answered({ posted: false }), true],
    ['as long as a person must decide', answered({ kind: 'given-up' }), true],
    ['when the answer is to something else', { ...item, asked: '6' }, true],
  ])('%s', (_, known, expected) => {
    const now = pullRequestNow({ reviews: [review(7, ada, 'commented', 1, 'Split it')] });
    expect(selectReviewsToAnswer(now, isTrusted, { 'review-7': known }).asked.length > 0).toBe(expected);
  });

  test('at most 20 at a time', () => {
    const reviews = Array.from({ length: 23 }, (_, id) => review(id + 1, ada, 'commented', id, 'A'));
    const { asked, more } = selectReviewsToAnswer(pullRequestNow({ reviews }), isTrusted, {});
    expect([asked.length, asked[0]?.review.id, more]).toEqual([20, 1, 3]);
  });
});

test.each<[string, string, string, boolean]>([
  ['a person must decide what they ask', 'given-up', '1', true],
  ['a person had to decide what was asked before', 'given-up', '9', false],
  ['they are answered', 'changed', '1', false],
])('threads with our answer wait where %s', (_, kind, askedThen, expected) => {
  const bot = { login: 'ralph[bot]', id: 9, kind: 'bot' } as const;
  const ours = comment(2, bot, '<!-- ralph-action:answer thread-1 asked=1 -->\n\nSaid.');
  const now = pullRequestNow({ threads: [thread([comment(1, ada, 'Rename it'), ours])] });
  const answer = { kind: kind === 'changed' ? kind : 'given-up', commit: null, words: null } as const;
  const known = {
    'thread-1': { asked: askedThen, answer: { ...answer, isOurs: false, at: 1, posted: true } },
  } as const;
  expect(selectThreadsToAnswer(now, isTrusted, known).asked.length > 0).toBe(expected);
});

test('60 threads of one review are 60 tasks, and what GitHub did not show is counted', () => {
  const threads = Array.from({ length: 60 }, (_, id) => thread([comment(id + 1, ada, 'Rename it')]));
  const now = pullRequestNow({ threads, moreThreads: 2 });
  const { asked, more } = selectThreadsToAnswer(now, isTrusted, {});
  expect([asked.length, asked[0]?.asking.id, more]).toEqual([60, 1, 2]);
});

describe('the accounts to look up', () => {
  test('is everybody who said something, once, the newest first; not ourselves', () => {
    const now = pullRequestNow({
      threads: [thread([comment(1, ada, 'A'), answer(2, 1), comment(3, eve, 'B'), comment(4, null, 'C')])],
      reviews: [review(7, ben, 'commented', 9, 'D'), review(8, { ...eve, login: 'Eve' }, 'commented', 5, 'E')],
    });
    expect(listAuthorsToCheck(now).map(({ login }) => login)).toEqual(['ben', 'Eve', 'Ada']);
  });

  test('is a person who writes with our marker', () => {
    expect(listAuthorsToCheck(pullRequestNow({ threads: [thread([answer(1, null, { by: eve })])] }))).toEqual([eve]);
  });

  test('are no more than 30', () => {
    const comments = Array.from({ length: 40 }, (_, id) =>
      comment(id, { login: `u${String(id)}`, id, kind: 'user' }, 'A'),
    );
    const authors = listAuthorsToCheck(pullRequestNow({ threads: [thread(comments)] }));
    expect([authors.length, authors[0]?.login, authors.at(-1)?.login]).toEqual([30, 'u39', 'u10']);
  });
});

describe('whatever is said', () => {
  const author = fc.constantFrom<(Author | null)[]>(
    ada,
    ben,
    eve,
    actions,
    { ...eve, login: 'mallory', id: null },
    null,
  );
  const words = fc.constantFrom(
    '',
    'Do',
    '/ralph run',
    '<!-- ralph-action:answer t asked=2 -->\n',
    '```suggestion\n',
    '<b>',
  );
  const state = fc.constantFrom<ReviewNow['state'][]>(
    'approved',
    'changes-requested',
    'commented',
    'dismissed',
    'pending',
  );
  const anyReviews = fc.array(
    fc
      .tuple(fc.nat(6), author, state, fc.nat(9), words)
      .map(([id, by, kind, minutes, text]) => review(id, by, kind, minutes, `${text}${markOf(by)}`)),
    { maxLength: 4 },
  );
  const anyComments = fc.array(
    fc
      .tuple(fc.nat(9), author, words, fc.option(fc.nat(6)))
      .map(([id, by, text, of]) => comment(id, by, `${text}${markOf(by)}`, { review: of })),
    { minLength: 1, maxLength: 6 },
  );

  test('no word of somebody without write access is in a task', () => {
    fc.assert(
      fc.property(fc.array(anyComments, { maxLength: 3 }), anyReviews, (all, reviews) => {
        const now = pullRequestNow({ threads: all.map((comments) => thread(comments)), reviews });
        const tasks = [
          ...selectThreadsToAnswer(now, isTrusted, {}).asked.map((one) => taskOfThread(one, now)),
          ...selectReviewsToAnswer(now, isTrusted, noFeedback.items).asked.map((one) => taskOfReview(one, now)),
        ];
        for (const task of tasks) expect(JSON.stringify(task)).not.toContain('stranger');
      }),
    );
  });

  test('a thread without a word from a person with write access asks for nothing', () => {
    fc.assert(
      fc.property(anyComments, anyReviews, (comments, reviews) => {
        const heard = comments.some(({ by, text }) => by !== null && isTrusted(by) && !text.startsWith('<!--'));
        if (!heard) expect(askedIn(comments, reviews)).toBeNull();
      }),
    );
  });

  function markOf(by: Author | null): string {
    if (by === actions) return '';
    return by !== null && isTrusted(by) ? ' friend' : ' stranger';
  }
});
