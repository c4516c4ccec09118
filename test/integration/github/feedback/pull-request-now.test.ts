import { describe, expect, test } from 'vitest';
import { addCheck, addStatus, addWorkflowRun, STEP_MS } from '../../../../testbed/github/feedback/checks.ts';
import {
  answerThread,
  deleteReviewComment,
  dismissReview,
  editReviewComment,
  outdateThread,
  submitReview,
} from '../../../../testbed/github/feedback/reviews.ts';
import type { StoredThread } from '../../../../testbed/github/feedback/stored.ts';
import { addComment, closePull, createStoredId, createStoredIssue } from '../../../../testbed/github/state.ts';
import type { TokenIdentity } from '../../../../testbed/github/route.ts';
import type { CheckNow, PullRequestNow } from '../../../../src/core/feedback/pull-request-now.ts';
import { type ForgeFixture, now, openForge, refusedWith } from '../github-fixture.ts';

const HEAD = 'b'.repeat(40);
const BASE = 'a'.repeat(40);
const MINUTE = 60_000;
const everything: TokenIdentity['permissions'] = {
  metadata: 'read',
  contents: 'write',
  pull_requests: 'write',
  checks: 'read',
  actions: 'read',
  statuses: 'read',
};

describe('what people and CI say about a pull request', () => {
  test('comes with one request', async () => {
    await using at = await openPull();
    submitReview(
      at.github.state,
      {
        pull: 1,
        by: 'octo',
        state: 'CHANGES_REQUESTED',
        body: 'Nearly.',
        comments: [
          { path: 'src/a.ts', startLine: 3, startSide: 'LEFT', line: 5, body: 'Why?', hunk: '@@ -1 +1,5 @@\n+x' },
        ],
      },
      now,
    );
    const said = { issue: 1, body: '/ralph please count', author: { login: 'octo', type: 'User' } } as const;
    const { id } = addComment(at.github.state, said, now);
    addComment(at.github.state, { ...said, body: 'Spam.' }, now).minimized = true;
    expect(await at.forge.pullRequestNow('ralph/queue')).toEqual({
      comments: [
        {
          id,
          url: `${at.github.url}/octo/demo/issues/1#issuecomment-${String(id)}`,
          by: { login: 'octo', id: expect.any(Number), kind: 'user' },
          state: 'comment',
          text: said.body,
          at: now,
        },
      ],
      ...{ id: expect.stringMatching(/^PR_/), isDraft: true, decision: null, autoMerge: false, isQueued: false },
      ...{ approvedBy: [], changesRequestedBy: ['octo'] },
      number: 1,
      url: `${at.github.url}/octo/demo/pull/1`,
      head: HEAD,
      heads: [HEAD],
      base: { branch: 'main', tip: BASE },
      mergeable: 'mergeable',
      moreThreads: 0,
      threads: [
        {
          id: expect.stringMatching(/^PRRT_/),
          path: 'src/a.ts',
          line: 5,
          startLine: 3,
          originalLine: 5,
          side: 'right',
          startSide: 'left',
          isOutdated: false,
          comments: [
            {
              id: expect.any(Number),
              review: expect.any(Number),
              by: { login: 'octo', id: expect.any(Number), kind: 'user' },
              text: 'Why?',
              at: now,
              hunk: '@@ -1 +1,5 @@\n+x',
            },
          ],
        },
      ],
      reviews: [
        {
          id: expect.any(Number),
          url: expect.stringMatching(/\/octo\/demo\/pull\/1#pullrequestreview-\d+$/),
          by: { login: 'octo', id: expect.any(Number), kind: 'user' },
          state: 'changes-requested',
          text: 'Nearly.',
          at: now,
        },
      ],
      checks: { kind: 'known', head: [], base: [] },
    });
    expect(at.sent()).toEqual(['POST /graphql']);
    expect(at.forge.requests().sent).toBe(1);
  });

  test.each([
    ['a branch without a pull request', 'main'],
    ['a branch that is not there', 'ralph/issue-9'],
    ['a name that is not a branch', 'a b\n"'],
  ])('is nothing for %s', async (_what, branch) => {
    await using at = await openPull();
    expect(await at.forge.pullRequestNow(branch)).toBeNull();
  });

  test('is empty once the pull request is closed, and comes from the newer one if there are two', async () => {
    await using at = await openPull();
    closePull(at.github.state, 1, { kind: 'closed', at: now });
    expect(await at.forge.pullRequestNow('ralph/queue')).toBeNull();
    addPull(at, null);
    expect((await nowOf(at)).number).toBe(2);
  });

  test('is not read from a fork with a branch of the same name', async () => {
    await using at = await openPull();
    addPull(at, 'stranger');
    expect((await nowOf(at)).number).toBe(1);
  });

  test.each([
    ['MERGEABLE', 'mergeable'],
    ['CONFLICTING', 'conflicting'],
    ['UNKNOWN', 'unknown'],
  ] as const)('%s is %s', async (given, expected) => {
    await using at = await openPull();
    at.github.state.mergeable.set(1, given);
    expect((await nowOf(at)).mergeable).toBe(expected);
  });

  test('needs the permission to read pull requests', async () => {
    await using at = await openPull({ metadata: 'read', contents: 'read' });
    expect((await refusedWith(at.forge.pullRequestNow('ralph/queue'))).message).toBe(
      'GitHub did not let us read the comments and checks on the pull request of ralph/queue in octo/demo (403 Resource not accessible by integration). Add `pull-requests: read` under `permissions:` in the workflow, or to the token that the input `github-token` gets.',
    );
  });

  test('a base branch that was deleted is known by its last commit', async () => {
    await using at = await openPull();
    delete at.branches['main'];
    expect((await nowOf(at)).base).toEqual({ branch: 'main', tip: BASE });
  });
});

describe('threads', () => {
  test('hold the conversation, oldest first, with outdated lines', async () => {
    await using at = await openPull();
    const thread = reviewed(at, 1)[0];
    answerThread(at.github.state, thread, { by: 'github-actions[bot]', body: 'Done.', now: now + MINUTE });
    answerThread(at.github.state, thread, { by: 'octo', body: 'Not quite.', now: now + 2 * MINUTE });
    outdateThread(thread);
    const [read] = (await nowOf(at)).threads;
    expect(read).toMatchObject({ isOutdated: true, line: null, originalLine: 1 });
    expect(read?.comments.map(({ by, text }) => [by?.login, by?.kind, text])).toEqual([
      ['octo', 'user', 'Comment 1.'],
      ['github-actions[bot]', 'bot', 'Done.'],
      ['octo', 'user', 'Not quite.'],
    ]);
  });

  test('of 60 comments give the first and the newest 50', async () => {
    await using at = await openPull();
    const thread = reviewed(at, 1)[0];
    for (let count = 2; count <= 60; count += 1)
      answerThread(at.github.state, thread, { by: 'octo', body: `Comment ${String(count)}.`, now: now + count });
    const texts = (await nowOf(at)).threads[0]?.comments.map(({ text }) => text);
    expect(texts).toHaveLength(51);
    expect([texts?.[0], texts?.[1], texts?.at(-1)]).toEqual(['Comment 1.', 'Comment 11.', 'Comment 60.']);
  });

  test('that are resolved are left out', async () => {
    await using at = await openPull();
    const [first, second] = reviewed(at, 2);
    await at.forge.resolveThread(`PRRT_${String(first.id)}`);
    expect((await nowOf(at)).threads.map(({ id }) => id)).toEqual([`PRRT_${String(second?.id)}`]);
  });

  test('60 of one review all come with the one request', async () => {
    await using at = await openPull();
    reviewed(at, 60);
    expect(await nowOf(at)).toMatchObject({ moreThreads: 0, threads: { length: 60 } });
    expect(at.sent()).toEqual(['POST /graphql']);
  });

  test('beyond 100 are counted, and the newest come', async () => {
    await using at = await openPull();
    reviewed(at, 130);
    const { threads, moreThreads } = await nowOf(at);
    expect([threads.length, moreThreads]).toEqual([100, 30]);
    expect([threads[0]?.path, threads.at(-1)?.path]).toEqual(['src/31.ts', 'src/130.ts']);
  });

  test('that are open are found behind hundreds that are resolved', async () => {
    await using at = await openPull();
    for (const thread of reviewed(at, 350).slice(2)) thread.isResolved = true;
    const { threads, moreThreads } = await nowOf(at);
    expect(threads.map(({ path }) => path)).toEqual(['src/1.ts', 'src/2.ts']);
    expect(moreThreads).toBe(0);
    expect(at.sent()).toHaveLength(4);
  });

  test('are looked for in 500 at most', async () => {
    await using at = await openPull();
    for (const thread of reviewed(at, 620).slice(1)) thread.isResolved = true;
    expect(await nowOf(at)).toMatchObject({ threads: [], moreThreads: 120 });
    expect(at.sent()).toHaveLength(5);
  });

  test('leave out hidden comments, and what is said in one that begins the thread', async () => {
    await using at = await openPull();
    const thread = reviewed(at, 1)[0];
    answerThread(at.github.state, thread, { by: 'stranger', body: 'Buy this.', now: now + 1 });
    answerThread(at.github.state, thread, { by: 'octo', body: 'Hidden.', now: now + 2 });
    for (const comment of thread.comments) comment.minimized = comment.author.login !== 'stranger';
    expect((await nowOf(at)).threads[0]?.comments.map(({ text }) => text)).toEqual(['', 'Buy this.']);
  });

  test('whose first comment was deleted begin with the next one, and go with the last', async () => {
    await using at = await openPull();
    const thread = reviewed(at, 1)[0];
    const answer = answerThread(at.github.state, thread, { by: 'octo', body: 'Well.', now: now + 1 });
    deleteReviewComment(at.github.state, thread.comments[0]?.id ?? 0);
    expect((await nowOf(at)).threads[0]?.comments.map(({ id }) => id)).toEqual([answer.id]);
    deleteReviewComment(at.github.state, answer.id);
    expect((await nowOf(at)).threads).toEqual([]);
  });

  test('have the words that a comment was changed to', async () => {
    await using at = await openPull();
    const [first] = reviewed(at, 1)[0].comments;
    if (first !== undefined) editReviewComment(first, { body: 'Never mind.', now: now + MINUTE });
    expect((await nowOf(at)).threads[0]?.comments).toMatchObject([{ id: first?.id, text: 'Never mind.', at: now }]);
  });

  test('stay when their review is dismissed', async () => {
    await using at = await openPull();
    reviewed(at, 1);
    at.github.state.reviews.forEach(dismissReview);
    expect(await nowOf(at)).toMatchObject({ threads: { length: 1 }, reviews: [{ state: 'dismissed' }] });
  });

  test('of a review that is not submitted are nobody else’s business, and not the token’s own either', async () => {
    await using at = await openPull(everything, 'user');
    submitReview(
      at.github.state,
      { pull: 1, by: 'octo', state: 'PENDING', comments: [{ path: 'a', line: 1, body: 'Hm' }] },
      now,
    );
    expect(await nowOf(at)).toMatchObject({ threads: [], reviews: [{ state: 'pending', at: null }] });
  });

  test('by accounts that are gone have no author, and numbers beyond 32 bits are read', async () => {
    await using at = await openPull();
    at.github.state.nextId = 2_219_379_513;
    submitReview(
      at.github.state,
      { pull: 1, by: 'ghost-deleted', state: 'COMMENTED', comments: [{ path: 'a', line: null, body: 'Hm' }] },
      now,
    );
    const { threads, reviews } = await nowOf(at);
    expect(reviews).toMatchObject([{ id: 2_219_379_513, by: null }]);
    expect(threads).toMatchObject([{ line: null, comments: [{ id: 2_219_379_515, review: 2_219_379_513, by: null }] }]);
  });
});

describe('checks', () => {
  const ci = { path: '.github/workflows/ci.yml', name: 'CI', run: expect.any(Number), event: 'pull_request' };

  test('of head and base are read with their workflow, app and result', async () => {
    await using at = await openPull();
    const { state } = at.github;
    addCheck(state, { head: HEAD, name: 'test', conclusion: 'FAILURE', title: 'Two failed', summary: 'a and b' }, now);
    addCheck(state, { head: HEAD, name: 'cov', workflow: null, app: 'codecov', conclusion: 'NEUTRAL' }, now + MINUTE);
    addStatus(state, { head: HEAD, context: 'ci/old', state: 'ERROR', description: 'Broke' }, now + 2 * MINUTE);
    addCheck(state, { head: BASE, name: 'test', conclusion: 'SUCCESS', summary: 'fine' }, now);
    const { head, base } = known(await nowOf(at));
    expect(head).toEqual([
      {
        of: 'check-run',
        id: expect.any(Number),
        name: 'test',
        app: 'github-actions',
        workflow: ci,
        result: 'failed',
        conclusion: 'failure',
        summary: 'Two failed\n\na and b',
        url: expect.stringMatching(/\/octo\/demo\/actions\/runs\/\d+\/job\/\d+$/),
        began: now,
        at: now + 3 * STEP_MS,
      },
      expect.objectContaining({ name: 'cov', app: 'codecov', workflow: null, result: 'passed', conclusion: 'neutral' }),
      {
        of: 'status',
        id: null,
        name: 'ci/old',
        app: null,
        workflow: null,
        result: 'failed',
        conclusion: 'error',
        summary: 'Broke',
        url: null,
        began: null,
        at: now + 2 * MINUTE,
      },
    ]);
    expect(base).toMatchObject([{ name: 'test', result: 'passed', summary: '' }]);
  });

  test.each<[string | null, string, CheckNow['result']]>([
    ['SUCCESS', 'COMPLETED', 'passed'],
    ['NEUTRAL', 'COMPLETED', 'passed'],
    ['SKIPPED', 'COMPLETED', 'skipped'],
    ['CANCELLED', 'COMPLETED', 'skipped'],
    ['STALE', 'COMPLETED', 'skipped'],
    ['FAILURE', 'COMPLETED', 'failed'],
    ['TIMED_OUT', 'COMPLETED', 'failed'],
    ['STARTUP_FAILURE', 'COMPLETED', 'failed'],
    ['ACTION_REQUIRED', 'COMPLETED', 'waiting'],
    [null, 'IN_PROGRESS', 'running'],
    [null, 'QUEUED', 'running'],
    [null, 'WAITING', 'waiting'],
  ])('conclusion %s with status %s is %s', async (conclusion, status, result) => {
    await using at = await openPull();
    const given = { conclusion, status } as Pick<Parameters<typeof addCheck>[1], 'conclusion' | 'status'>;
    addCheck(at.github.state, { head: HEAD, name: 'x', workflow: null, ...given }, now);
    expect(known(await nowOf(at)).head.map((check) => check.result)).toEqual([result]);
  });

  test('that were run again are all there, the oldest first; of the base only the newest', async () => {
    await using at = await openPull();
    for (const head of [HEAD, BASE]) {
      addCheck(at.github.state, { head, name: 'test', conclusion: 'FAILURE' }, now);
      addCheck(at.github.state, { head, name: 'test', conclusion: 'SUCCESS' }, now + MINUTE);
    }
    const { head, base } = known(await nowOf(at));
    expect(head.map(({ result }) => result)).toEqual(['failed', 'passed']);
    expect(base.map(({ result }) => result)).toEqual(['passed']);
  });

  test('a job that failed is found in a matrix that is larger than a page', async () => {
    await using at = await openPull();
    for (let count = 0; count < 150; count += 1)
      addCheck(
        at.github.state,
        { head: HEAD, name: `test ${String(count)}`, conclusion: count === 0 ? 'FAILURE' : 'SUCCESS' },
        now,
      );
    const { head } = known(await nowOf(at));
    expect(head.filter(({ result }) => result === 'failed').map(({ name }) => name)).toEqual(['test 0']);
    expect(new Set(head.map(({ id }) => id)).size).toBe(head.length);
  });

  test.each<[string, Pick<Parameters<typeof addWorkflowRun>[1], 'status' | 'conclusion'>, CheckNow['result']]>([
    ['waits for approval', { status: 'COMPLETED', conclusion: 'ACTION_REQUIRED' }, 'waiting'],
    ['waits for an environment', { status: 'WAITING', conclusion: null }, 'waiting'],
    ['is on its way', { status: 'QUEUED', conclusion: null }, 'running'],
    ['has a file that cannot be read', { status: 'COMPLETED', conclusion: 'STARTUP_FAILURE' }, 'failed'],
  ])('a workflow without jobs that %s is a check', async (_what, given, result) => {
    await using at = await openPull();
    addWorkflowRun(at.github.state, { head: HEAD, workflow: { name: 'CI' }, ...given }, now);
    expect(known(await nowOf(at)).head).toMatchObject([
      { of: 'workflow', id: null, name: 'CI', workflow: ci, result, at: now },
    ]);
  });

  test('an app that checks nothing has no check', async () => {
    await using at = await openPull();
    at.github.state.suites.push({
      id: createStoredId(at.github.state),
      head: HEAD,
      app: 'dependabot',
      workflow: null,
      status: 'QUEUED',
      conclusion: null,
      createdAt: now,
      runs: [],
    });
    expect(known(await nowOf(at)).head).toEqual([]);
  });

  test.each<[string, readonly (keyof TokenIdentity['permissions'])[]]>([
    ['checks', ['checks']],
    ['workflow runs', ['actions']],
    ['any of it', ['checks', 'actions', 'statuses']],
  ])('cannot be read by a token that may not read %s; the rest can', async (_what, lacking) => {
    await using at = await openPull(without(...lacking));
    reviewed(at, 1);
    addCheck(at.github.state, { head: HEAD, name: 'test', conclusion: 'FAILURE' }, now);
    expect(await nowOf(at)).toMatchObject({
      threads: { length: 1 },
      checks: {
        kind: 'unreadable',
        why: 'The token may not read them. Add `checks: read` and `actions: read` under `permissions:` in the workflow, or to the token that the input `github-token` gets.',
      },
    });
    expect(at.logged).toEqual([]);
  });

  test('of the commits before the tip of the base branch, five at most, come the oldest first, along first parents', async () => {
    await using at = await openPull();
    const { state } = at.github;
    const line = [BASE, ...['1', '2', '3', '4', '5', '6'].map((digit) => digit.repeat(40))];
    line.slice(1).forEach((parent, age) => {
      state.parents.set(line[age] ?? '', parent);
      addCheck(state, { head: parent, name: `test ${String(age + 1)}`, conclusion: 'FAILURE' }, now - age * MINUTE);
    });
    addStatus(state, { head: line[2] ?? '', context: 'ci/other', state: 'ERROR' }, now);
    const names = (await at.forge.checksBefore(BASE)).map(({ name }) => name);
    expect(names).toEqual(['test 5', 'test 4', 'test 3', 'test 2', 'ci/other', 'test 1']);
    expect(at.sent()).toEqual(['POST /graphql']);
  });

  test.each<[string, TokenIdentity['permissions'], readonly string[]]>([
    ['without statuses, where only those are not for the token', without('statuses'), ['test']],
    ['without checks, where those are not', without('checks'), ['ci/other']],
  ])('of earlier commits are read %s', async (_, permissions, names) => {
    await using at = await openPull(permissions);
    const { state } = at.github;
    state.parents.set(BASE, '1'.repeat(40));
    addCheck(state, { head: '1'.repeat(40), name: 'test', conclusion: 'FAILURE' }, now);
    addStatus(state, { head: '1'.repeat(40), context: 'ci/other', state: 'ERROR' }, now);
    expect((await at.forge.checksBefore(BASE)).map(({ name }) => name)).toEqual(names);
  });

  test('of the commits before a first commit are ignored', async () => {
    await using at = await openPull();
    expect(await at.forge.checksBefore(BASE)).toEqual([]);
  });

  test('of a token that may not read statuses are known without them, and the log says so', async () => {
    await using at = await openPull(without('statuses'));
    addCheck(at.github.state, { head: HEAD, name: 'test', conclusion: 'FAILURE' }, now);
    addStatus(at.github.state, { head: HEAD, context: 'ci/old', state: 'ERROR' }, now);
    expect(known(await nowOf(at)).head.map(({ name }) => name)).toEqual(['test']);
    expect(at.logged).toEqual([
      expect.stringMatching(/^Commit statuses are not read\. The token may not read them\. Add `statuses: read`/),
    ]);
  });

  test('that GitHub fails to give are unreadable, in its words', async () => {
    await using at = await openPull();
    const error = { message: 'Something went wrong.', path: ['repository', 'ref', 'x', 0, 'baseRef', 'checkSuites'] };
    const { body } = await answerOf(at);
    at.github.faults.inject({
      match: { path: /graphql/ },
      times: 9,
      effect: { kind: 'answer', status: 200, body: { ...body, errors: [error] } },
    });
    expect((await nowOf(at)).checks).toEqual({
      ...{ kind: 'unreadable', why: 'GitHub answers: Something went wrong.', isTemporary: true },
    });
  });
});

describe('an answer', () => {
  test('is posted in the thread of the comment', async () => {
    await using at = await openPull();
    const [, thread] = reviewed(at, 2);
    const first = thread?.comments[0]?.id ?? 0;
    const { id } = await at.forge.replyInThread(1, { replyTo: first, body: 'Changed in abc.' });
    expect(thread?.comments.map(({ body }) => body)).toEqual(['Comment 2.', 'Changed in abc.']);
    expect(thread?.comments.at(-1)).toMatchObject({ id, author: { login: 'github-actions[bot]' } });
    expect((await nowOf(at)).threads[1]?.comments.at(-1)).toMatchObject({ id, by: { kind: 'bot' } });
  });

  test('to a comment that was deleted is refused with what to do', async () => {
    await using at = await openPull();
    expect((await refusedWith(at.forge.replyInThread(1, { replyTo: 99, body: 'x' }))).message).toMatch(
      /^GitHub did not let us answer a review of #1 in octo\/demo: with this token, GitHub finds nothing there \(404 Not Found\)/,
    );
  });

  test('is sent once, even when GitHub fails after it has written it', async () => {
    await using at = await openPull();
    const [thread] = reviewed(at, 1);
    at.github.faults.inject({ match: { path: /replies$/ }, times: 1, effect: { kind: 'lost' } });
    await refusedWith(at.forge.replyInThread(1, { replyTo: thread.comments[0]?.id ?? 0, body: 'Done.' }));
    expect(thread.comments.map(({ body }) => body)).toEqual(['Comment 1.', 'Done.']);
  });

  test('longer than GitHub takes is cut', async () => {
    await using at = await openPull();
    const [thread] = reviewed(at, 1);
    await at.forge.replyInThread(1, { replyTo: thread.comments[0]?.id ?? 0, body: 'x'.repeat(70_000) });
    expect(thread.comments.at(-1)?.body).toMatch(/\(Cut here: GitHub does not accept a longer text\.\)$/);
  });

  test('needs the permission to write', async () => {
    await using at = await openPull({ ...everything, pull_requests: 'read' });
    const [thread] = reviewed(at, 1);
    const reply = at.forge.replyInThread(1, { replyTo: thread.comments[0]?.id ?? 0, body: 'x' });
    expect((await refusedWith(reply)).message).toContain('Add `pull-requests: write` under `permissions:`');
    expect((await refusedWith(at.forge.resolveThread(`PRRT_${String(thread.id)}`))).message).toContain(
      'Add `pull-requests: write` and `contents: write` under `permissions:`',
    );
  });

  test('a thread that is gone cannot be resolved', async () => {
    await using at = await openPull();
    expect((await refusedWith(at.forge.resolveThread('PRRT_9'))).message).toMatch(
      /^GitHub did not let us resolve a thread of a review/,
    );
  });
});

/** Opens a stand-in with an open pull request of ralph/queue, #1. */
async function openPull(
  permissions: TokenIdentity['permissions'] = everything,
  kind: TokenIdentity['kind'] = 'app',
): Promise<ForgeFixture> {
  const at = await openForge({ permissions, kind, retries: 0 });
  addPull(at, null);
  return at;
}

function addPull({ github: { state } }: ForgeFixture, fork: string | null): void {
  const { number } = createStoredIssue(
    state,
    { title: 'Work', body: '', author: { login: fork ?? 'github-actions[bot]', type: fork === null ? 'Bot' : 'User' } },
    now,
  );
  state.pulls.push({
    id: createStoredId(state),
    number,
    head: 'ralph/queue',
    fork,
    maintainerCanModify: false,
    base: 'main',
    draft: true,
    headSha: HEAD,
    baseSha: BASE,
    mergedAt: null,
    reviewers: [],
  });
}

function without(...lacking: readonly (keyof TokenIdentity['permissions'])[]): TokenIdentity['permissions'] {
  return Object.fromEntries(Object.entries(everything).filter(([area]) => !lacking.some((one) => one === area)));
}

/** Adds a review by octo with this many threads, one second apart. */
function reviewed({ github: { state } }: ForgeFixture, count: number): readonly [StoredThread, ...StoredThread[]] {
  const comments = Array.from({ length: count }, (_none, index) => ({
    path: `src/${String(index + 1)}.ts`,
    line: 1,
    body: `Comment ${String(index + 1)}.`,
  }));
  const { threads } = submitReview(state, { pull: 1, by: 'octo', state: 'COMMENTED', comments }, now);
  const [first, ...others] = threads;
  if (first === undefined) throw new Error('A review without threads.');
  return [first, ...others];
}

test('a head that only brings the branch up to date is known with the one below', async () => {
  await using at = await openPull();
  const { state } = at.github;
  state.parents.set(HEAD, 'd'.repeat(40));
  state.mergedParents.set(HEAD, BASE);
  expect((await nowOf(at)).heads).toEqual([HEAD, 'd'.repeat(40)]);
});

test('a head of a bot is known with the one below', async () => {
  await using at = await openPull();
  const { state } = at.github;
  state.parents.set(HEAD, 'd'.repeat(40));
  expect((await nowOf(at)).heads).toEqual([HEAD]);
  state.emails.set(HEAD, '66853113+pre-commit-ci[bot]@users.noreply.github.com');
  expect((await nowOf(at)).heads).toEqual([HEAD, 'd'.repeat(40)]);
});

async function nowOf({ forge }: ForgeFixture): Promise<PullRequestNow> {
  const found = await forge.pullRequestNow('ralph/queue');
  if (found === null) throw new Error('There is no pull request.');
  return found;
}

function known({ checks }: PullRequestNow): { readonly head: readonly CheckNow[]; readonly base: readonly CheckNow[] } {
  if (checks.kind !== 'known') throw new Error(checks.why);
  return checks;
}

/** Returns the stand-in's answer to a run's query. */
async function answerOf(at: ForgeFixture): Promise<{ readonly body: object }> {
  await nowOf(at);
  const sent = at.github.requests.at(-1)?.body;
  const answer = await fetch(`${at.github.url}/graphql`, {
    method: 'POST',
    headers: { authorization: 'Bearer ghs_theTokenOfThisJob' },
    body: JSON.stringify(sent),
  });
  return { body: (await answer.json()) as object };
}
