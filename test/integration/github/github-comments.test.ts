import { describe, expect, test } from 'vitest';
import { submitReview } from '../../../testbed/github/feedback/reviews.ts';
import type { Person } from '../../../testbed/github/accounts.ts';
import { editComment, transferIssue } from '../../../testbed/github/people.ts';
import { addComment, addIssue } from '../../../testbed/github/state.ts';
import { needsOfTask } from '../../../src/core/people/notifications.ts';
import { now, openForge, refusedWith } from './github-fixture.ts';

const MARKER = '<!-- ralph-action:status:queue -->';
const bot: Person = { login: 'github-actions[bot]', type: 'Bot' };

async function openThread() {
  const at = await openForge();
  addIssue(at.github.state, { title: 'Task', body: '', labels: [], author: 'stranger' }, now);
  return Object.assign(at, { bodies: () => at.github.state.comments.map(({ body }) => body) });
}

describe('the one comment of a marker', () => {
  test('is created at first', async () => {
    await using at = await openThread();
    await at.forge.upsertComment(1, MARKER, `${MARKER}\n\nWorking.`);
    expect(at.bodies()).toEqual([`${MARKER}\n\nWorking.`]);
    expect(at.sent()).toEqual(['GET /issues/1/comments?per_page=100', 'POST /issues/1/comments']);
  });

  test('gets the marker as its first line when the text has none', async () => {
    await using at = await openThread();
    await at.forge.upsertComment(1, MARKER, 'Working.');
    expect(at.bodies()).toEqual([`${MARKER}\nWorking.`]);
  });

  test('is updated later in the run without looking for it again', async () => {
    await using at = await openThread();
    await at.forge.upsertComment(1, MARKER, 'Working.');
    await at.forge.upsertComment(1, MARKER, 'Done.');
    expect(at.bodies()).toEqual([`${MARKER}\nDone.`]);
    expect(at.sent()).toEqual([
      'GET /issues/1/comments?per_page=100',
      'POST /issues/1/comments',
      'PATCH /issues/comments/2',
    ]);
  });

  test('costs no request when the run wrote the same text already', async () => {
    await using at = await openThread();
    await at.forge.upsertComment(1, MARKER, 'Working.');
    const before = at.forge.requests().sent;
    await at.forge.upsertComment(1, MARKER, 'Working.');
    expect(at.forge.requests().sent).toBe(before);
  });

  test('of an earlier run is found, and not written when the text is there already', async () => {
    await using at = await openThread();
    addComment(at.github.state, { issue: 1, body: `${MARKER}\r\nWorking.\r\n`, author: bot }, now);
    await at.forge.upsertComment(1, MARKER, 'Working.');
    expect(at.sent()).toEqual(['GET /issues/1/comments?per_page=100']);
  });

  test('is found behind 130 comments of others', async () => {
    await using at = await openThread();
    for (let count = 0; count < 130; count += 1)
      addComment(
        at.github.state,
        { issue: 1, body: `Talk ${String(count)}`, author: { login: 'stranger', type: 'User' } },
        now,
      );
    const { id } = addComment(at.github.state, { issue: 1, body: `${MARKER}\nOld.`, author: bot }, now);
    await at.forge.upsertComment(1, MARKER, 'New.');
    expect(at.sent().at(-1)).toBe(`PATCH /issues/comments/${String(id)}`);
    expect(at.forge.requests().sent).toBe(3);
  });

  test('is not looked for in a thread that was read to its end before', async () => {
    await using at = await openThread();
    for (const marker of [MARKER, '<!-- ralph-action:notification ready:lane-queue -->'])
      await at.forge.upsertComment(1, marker, 'Working.');
    expect(at.sent()).toEqual([
      'GET /issues/1/comments?per_page=100',
      'POST /issues/1/comments',
      'POST /issues/1/comments',
    ]);
  });

  test('is its own for each marker and each issue', async () => {
    await using at = await openThread();
    addIssue(at.github.state, { title: 'Another', body: '', labels: [], author: 'stranger' }, now);
    await at.forge.upsertComment(1, MARKER, 'Working.');
    await at.forge.upsertComment(2, MARKER, 'Working.');
    await at.forge.upsertComment(1, '<!-- ralph-action:refusal:queue -->', 'Not done.');
    expect(at.github.state.comments.map(({ issue, body }) => [issue, body.split('\n')[1]])).toEqual([
      [1, 'Working.'],
      [2, 'Working.'],
      [1, 'Not done.'],
    ]);
  });

  test.each<[string, string, Person]>([
    ['quotes the marker in its text', `As it said:\n${MARKER}\nWorking.`, bot],
    ['carries the marker in a quote', `> ${MARKER}\n> Working.`, bot],
    ['has more on the first line', `${MARKER} and more`, bot],
    ['has another marker', '<!-- ralph-action:status:issue-1 -->\nWorking.', bot],
    ['is a copy by a stranger', `${MARKER}\nOwned.`, { login: 'stranger', type: 'User' }],
  ])('is not one that %s', async (_case, body, author) => {
    await using at = await openThread();
    addComment(at.github.state, { issue: 1, body, author }, now);
    await at.forge.upsertComment(1, MARKER, 'Working.');
    expect(at.bodies()).toEqual([body, `${MARKER}\nWorking.`]);
  });

  test('of a personal token is found by its owner being a collaborator', async () => {
    await using at = await openThread();
    at.github.state.collaborators.set('ralph-machine', { permission: 'write', roleName: 'write' });
    addComment(
      at.github.state,
      { issue: 1, body: `${MARKER}\nOld.`, author: { login: 'ralph-machine', type: 'User' } },
      now,
    );
    await at.forge.upsertComment(1, MARKER, 'New.');
    expect(at.bodies()).toEqual([`${MARKER}\nNew.`]);
  });

  test('follows no transferred issue into another repository', async () => {
    await using at = await openForge();
    addIssue(at.github.state, { title: 'Task', body: '', labels: [], author: 'stranger' }, now);
    transferIssue(at.github.state, 1, { to: 'octo/other', as: 5 });
    const list = {
      match: { method: 'GET', path: /comments$/ },
      times: 1,
      effect: { kind: 'answer', status: 200, body: [] },
    } as const;
    at.github.faults.inject(list);
    const { message } = await refusedWith(at.forge.upsertComment(1, '<!-- m -->', 'text'));
    expect(message).toBe(
      'GitHub did not let us write the comment on #1 in octo/demo (410 This issue was transferred, or the repository was renamed.).',
    );
    expect(at.sent()).toEqual(['GET /issues/1/comments?per_page=100', 'POST /issues/1/comments']);
  });

  test('is written again when somebody deleted it in the meantime', async () => {
    await using at = await openThread();
    await at.forge.upsertComment(1, MARKER, 'Working.');
    at.github.state.comments.length = 0;
    await at.forge.upsertComment(1, MARKER, 'Done.');
    expect(at.bodies()).toEqual([`${MARKER}\nDone.`]);
  });

  test('is cut to what GitHub takes, between characters', async () => {
    await using at = await openThread();
    await at.forge.upsertComment(1, MARKER, '😀'.repeat(40_000));
    const [body = ''] = at.bodies();
    expect(body.length).toBeLessThanOrEqual(65_536);
    expect(body.length).toBeGreaterThan(65_530);
    expect(body.isWellFormed()).toBe(true);
    expect(body.endsWith('(Cut here: GitHub does not accept a longer text.)')).toBe(true);
  });

  test('is not written twice when the answer to the first write is lost', async () => {
    await using at = await openThread();
    at.github.faults.inject({ match: { method: 'POST', path: /comments$/ }, times: 1, effect: { kind: 'lost' } });
    await at.forge.upsertComment(1, MARKER, 'Working.').catch(() => undefined);
    await at.forge.upsertComment(1, MARKER, 'Working.');
    expect(at.bodies()).toEqual([`${MARKER}\nWorking.`]);
  });
});

describe('an older comment of another marker', () => {
  const other = '<!-- ralph-action:refusal -->';
  const amended = async (writtenAt: number, amend: readonly string[] = ['Settled.']) => {
    const at = await openThread();
    const { id } = addComment(at.github.state, { issue: 1, body: `${other}\nNot done.`, author: bot }, writtenAt);
    await at.forge.upsertComment(1, MARKER, 'Working.');
    for (const body of amend) await at.forge.amendComment(1, other, { body, writtenBefore: now, closing: false });
    return Object.assign(at, { id });
  };

  test('is rewritten without looking for it, and once', async () => {
    await using at = await amended(now - 60_000, ['Settled.', 'Settled.']);
    expect(at.bodies()).toEqual([`${other}\nSettled.`, `${MARKER}\nWorking.`]);
    expect(at.sent()).toEqual([
      'GET /issues/1/comments?per_page=100',
      'POST /issues/1/comments',
      `GET /issues/comments/${String(at.id)}`,
      `PATCH /issues/comments/${String(at.id)}`,
    ]);
  });

  test('stays when another run writes into it in the meantime', async () => {
    await using at = await amended(now - 60_000, []);
    const words = `${other}\n\nPaused by octo.`;
    editComment(at.github.state, at.id, { body: words, by: 'octo', now: now + 60_000 });
    await at.forge.amendComment(1, other, { body: 'Settled.', writtenBefore: now, closing: false });
    expect(at.bodies()).toEqual([words, `${MARKER}\nWorking.`]);
  });

  test('stays when it is newer than that', async () => {
    await using at = await amended(now + 60_000);
    expect(at.bodies()).toEqual([`${other}\nNot done.`, `${MARKER}\nWorking.`]);
  });

  test('is not made without a comment of Ralph', async () => {
    await using at = await openThread();
    addComment(
      at.github.state,
      { issue: 1, body: `${other}\nMine.`, author: { login: 'stranger', type: 'User' } },
      now,
    );
    await at.forge.upsertComment(1, MARKER, 'Working.');
    await at.forge.amendComment(1, other, { body: 'Settled.', writtenBefore: now + 60_000, closing: false });
    expect(at.bodies()).toEqual([`${other}\nMine.`, `${MARKER}\nWorking.`]);
  });
});

test('a comment that the secondary limit puts off is written once, after the pause', async () => {
  await using at = await openThread();
  at.github.faults.inject({
    match: { method: 'POST', path: /\/comments$/ },
    times: 1,
    effect: {
      kind: 'answer',
      status: 403,
      headers: { 'retry-after': '2' },
      body: { message: 'You have exceeded a secondary rate limit.' },
    },
  });
  await at.forge.upsertComment(1, MARKER, 'Working.');
  expect(at.bodies()).toEqual([`${MARKER}\nWorking.`]);
});

test('a comment on a locked issue is refused, with the reason', async () => {
  await using at = await openThread();
  Object.assign(at.github.state.issues[0] ?? {}, { locked: true });
  const error = await refusedWith(at.forge.upsertComment(1, MARKER, 'Working.'));
  expect(error.message).toContain('issue is locked');
});

describe('a settled comment', () => {
  const question = '<!-- ralph-action:notification blocked:issue-1 -->';
  const asked = async (body = `${question}\n\n@ann Which colour?`, author = bot) => {
    const at = await openThread();
    return Object.assign(at, { id: addComment(at.github.state, { issue: 1, body, author }, now).id });
  };

  test('says so below its first line, and is hidden as resolved', async () => {
    await using at = await asked();
    await at.forge.settleComments([{ id: at.id, words: '**Settled:** #1 is done.', closing: true }]);
    expect(at.github.state.comments).toMatchObject([
      { body: '<!-- ralph-action:settled -->\n\n**Settled:** #1 is done.\n\n@ann Which colour?', minimized: true },
    ]);
    expect(at.sent()).toEqual([`GET /issues/comments/${String(at.id)}`, 'POST /graphql']);
  });

  test('with others costs one write for all; what is gone is left out', async () => {
    await using at = await asked();
    const more = [2, 3].map(
      (of) =>
        addComment(
          at.github.state,
          { issue: 1, body: `<!-- ralph-action:notification stuck:issue-${String(of)} -->\nStuck.`, author: bot },
          now,
        ).id,
    );
    const settled = [at.id, 99, ...more].map((id) => ({ id, words: '**Settled.**', closing: id !== more[1] }));
    await at.forge.settleComments(settled);
    expect(at.github.state.comments.map(({ body, minimized }) => [body.split('\n')[0], minimized])).toEqual([
      ['<!-- ralph-action:settled -->', true],
      ['<!-- ralph-action:settled -->', true],
      ['<!-- ralph-action:notification stuck:issue-3 -->', false],
    ]);
    expect(at.github.state.comments.every(({ body }) => body.includes('\n\n**Settled.**\n'))).toBe(true);
    expect(at.sent().filter((request) => request.startsWith('POST'))).toEqual(['POST /graphql']);
  });

  test('that is deleted while it is settled keeps no other from it', async () => {
    await using at = await asked();
    at.github.faults.inject({
      match: { method: 'GET', path: /\/issues\/comments\/99$/ },
      times: 1,
      effect: {
        kind: 'answer',
        status: 200,
        body: { id: 99, node_id: 'IC_99', body: question, user: { type: 'Bot' }, author_association: 'NONE' },
      },
    });
    await at.forge.settleComments([99, at.id].map((id) => ({ id, words: '**Settled.**', closing: true })));
    expect(at.github.state.comments).toMatchObject([{ minimized: true }]);
  });

  test('is settled once, whoever does it again', async () => {
    await using at = await asked();
    for (let time = 0; time < 2; time += 1)
      await at.forge.settleComments([{ id: at.id, words: '**Settled:** #1 is done.', closing: true }]);
    expect(at.bodies().join().split('**Settled:**')).toHaveLength(2);
  });

  test('in part stays to be seen and found', async () => {
    await using at = await asked();
    await at.forge.settleComments([{ id: at.id, words: '**Settled:** #2 is done.', closing: false }]);
    expect(at.github.state.comments).toMatchObject([
      { body: `${question}\n\n**Settled:** #2 is done.\n\n@ann Which colour?`, minimized: false },
    ]);
  });

  test('makes room for a new comment of the same marker, which notifies people', async () => {
    await using at = await asked();
    expect(await at.forge.upsertComment(1, question, '@ann Which colour?')).toEqual({ id: at.id });
    await at.forge.settleComments([{ id: at.id, words: '**Settled:** #1 continues.', closing: true }]);
    expect(await at.forge.upsertComment(1, question, '@ann Which size?')).not.toEqual({ id: at.id });
    expect(at.bodies()).toHaveLength(2);
  });

  test.each<[string, string, Person]>([
    ["a person's comment", 'Mine.', { login: 'octo', type: 'User' }],
    ['a copy by a stranger', `${question}\nMine.`, { login: 'stranger', type: 'User' }],
    ['another comment by Ralph', `${MARKER}\nWorking.`, bot],
  ])('is never %s', async (_case, body, author) => {
    await using at = await asked(body, author);
    await at.forge.settleComments([{ id: at.id, words: '**Settled.**', closing: true }]);
    expect(at.github.state.comments).toMatchObject([{ body, minimized: false }]);
  });

  test('on a thread: every one of these needs, hidden where it is about nothing else', async () => {
    const both = '<!-- ralph-action:notification blocked:issue-1 failed:issue-2 -->';
    const other = '<!-- ralph-action:notification blocked:issue-10 -->';
    await using at = await asked();
    for (const body of [`${both}\nTwo.`, `${other}\nOne.`])
      addComment(at.github.state, { issue: 1, body, author: bot }, now);
    addComment(at.github.state, { issue: 1, body: question, author: { login: 'stranger', type: 'User' } }, now);
    const over = { needs: needsOfTask('issue-1'), words: '**Settled.**' };
    await at.forge.settleNotifications(1, over);
    expect(at.github.state.comments).toMatchObject([
      { body: '<!-- ralph-action:settled -->\n\n**Settled.**\n\n@ann Which colour?', minimized: true },
      { body: `${both}\n\n**Settled.**\nTwo.`, minimized: false },
      { body: `${other}\nOne.`, minimized: false },
      { body: question, minimized: false },
    ]);
    expect(at.sent()).toEqual(['GET /issues/1/comments?per_page=100', 'POST /graphql']);
  });

  test('on a thread without any costs one look', async () => {
    await using at = await openThread();
    await at.forge.settleNotifications(1, { needs: needsOfTask('issue-1'), words: '**Settled.**' });
    expect(at.sent()).toEqual(['GET /issues/1/comments?per_page=100']);
  });

  test('may be gone', async () => {
    await using at = await openThread();
    await at.forge.settleComments([{ id: 99, words: '**Settled.**', closing: true }]);
    expect(at.sent()).toEqual(['GET /issues/comments/99']);
  });

  test('is closed where it was come across, too', async () => {
    await using at = await asked('<!-- ralph-action:needs-approval -->\nIt waits.');
    await at.forge.upsertComment(1, MARKER, 'Working.');
    const amendment = { body: 'Not any more.', writtenBefore: now + 1, closing: true };
    await at.forge.amendComment(1, '<!-- ralph-action:needs-approval -->', amendment);
    expect(at.github.state.comments[0]).toMatchObject({
      body: '<!-- ralph-action:settled -->\nNot any more.',
      minimized: true,
    });
  });
});

describe('a reaction', () => {
  test.each(['eyes', '-1', 'confused', '+1'] as const)('%s is put on a comment', async (reaction) => {
    await using at = await openThread();
    const { id } = addComment(
      at.github.state,
      { issue: 1, body: '/ralph run', author: { login: 'octo', type: 'User' } },
      now,
    );
    await at.forge.react({ kind: 'comment', id }, reaction);
    expect(at.github.state.reactions).toMatchObject([{ on: { kind: 'comment', id }, content: reaction }]);
  });

  test('is put on a review and on a comment in it, and a deleted one does not count as a failure', async () => {
    await using at = await openThread();
    const { state } = at.github;
    const comments = [{ path: 'a.ts', line: 1, body: 'Why?' }];
    const { review, threads } = submitReview(state, { pull: 1, by: 'octo', state: 'COMMENTED', comments }, now);
    await at.forge.react({ kind: 'review', id: `PRR_${String(review.id)}` }, 'eyes');
    await at.forge.react({ kind: 'review', id: `PRRC_${String(threads[0]?.comments[0]?.id)}` }, '-1');
    await at.forge.react({ kind: 'review', id: 'PRR_404' }, 'eyes');
    expect(state.reactions).toMatchObject([
      { on: { kind: 'review', id: review.id }, content: 'eyes' },
      { on: { kind: 'review-comment' }, content: '-1' },
    ]);
  });

  test('is put on an issue, and once however often it is asked for', async () => {
    await using at = await openThread();
    await at.forge.react({ kind: 'issue', number: 1 }, 'eyes');
    await at.forge.react({ kind: 'issue', number: 1 }, 'eyes');
    expect(at.github.state.reactions).toMatchObject([{ on: { kind: 'issue', number: 1 }, content: 'eyes' }]);
  });
});
