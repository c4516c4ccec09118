import { describe, expect, test } from 'vitest';
import { closePull, createStoredIssue } from '../../../testbed/github/state.ts';
import { type ForgeFixture, now, openForge, openPull, refusedWith } from './github-fixture.ts';

const request = { title: 'Ralph: work', body: 'What was done.', head: 'ralph/queue', base: 'main', draft: true };

test.each<[string, boolean, number | null]>([
  ['deletes its base branch, which closes it', true, 0],
  ['closes it, and deletes its base branch later', false, 3_600_000],
  ['closes it', false, null],
])('a pull request is closed with its base branch if a person %s: %s', async (_, isClosedWithBase, laterMs) => {
  await using at = await openForge();
  const { number } = await openPull(at, request);
  closePull(at.github.state, number, { kind: 'closed', at: now });
  const issue = at.github.state.issues.find((one) => one.number === number) ?? expect.fail();
  const { by } = issue.events[0] ?? expect.fail();
  if (laterMs !== null) issue.events.push({ kind: 'base-deleted', by, at: now + laterMs });
  expect(await at.forge.wasClosedWithBase(number)).toBe(isClosedWithBase);
});

describe('opening', () => {
  test('makes a draft of the branch, in one request', async () => {
    await using at = await openForge();
    expect(await at.forge.openPullRequest(request)).toEqual({
      number: 1,
      url: `${at.github.url}/octo/demo/pull/1`,
      state: 'open',
      headSha: 'b'.repeat(40),
      draft: true,
      base: 'main',
      title: 'Ralph: work',
      body: 'What was done.',
      labels: [],
    });
    expect(at.sent()).toEqual(['POST /pulls']);
  });

  test('takes the one that is open already when its answer was lost', async () => {
    await using at = await openForge();
    at.github.faults.inject({ match: { method: 'POST', path: /pulls$/ }, times: 1, effect: { kind: 'lost' } });
    expect(await at.forge.openPullRequest(request)).toMatchObject({ number: 1, state: 'open', body: 'What was done.' });
    expect(at.github.state.pulls).toHaveLength(1);
  });

  test('makes a normal one where there are no drafts, and says so', async () => {
    await using at = await openForge();
    at.github.state.settings.draftsSupported = false;
    expect(await at.forge.openPullRequest(request)).toMatchObject({ draft: false });
    expect(at.logged).toEqual([
      'This repository has no draft pull requests (they need a paid plan in a private repository): opening a normal one.',
    ]);
  });

  test('cuts title and body to what GitHub takes', async () => {
    await using at = await openForge();
    const { number } = await openPull(at, { ...request, title: 'T'.repeat(300), body: 'x'.repeat(70_000) });
    const stored = at.github.state.issues.find((issue) => issue.number === number);
    expect(stored?.title).toHaveLength(256);
    expect(stored?.body).toHaveLength(65_536);
  });

  test('is null for a head without commits of its own', async () => {
    await using at = await openForge();
    at.branches['same'] = at.branches['main'] ?? '';
    expect(await at.forge.openPullRequest({ ...request, head: 'same' })).toBeNull();
    expect(at.github.state.pulls).toEqual([]);
  });

  test.each<[string, Partial<typeof request>, string]>([
    ['a head that is not there', { head: 'ralph/gone' }, '"field":"head"'],
    ['a base that is not there', { base: 'trunk' }, '"field":"base"'],
  ])('of %s ends with what GitHub says', async (_case, change, words) => {
    await using at = await openForge();
    const { message } = await refusedWith(at.forge.openPullRequest({ ...request, ...change }));
    expect(message).toMatch(
      /^GitHub did not let us open a pull request of .* into .* in octo\/demo \(422 Validation Failed: /,
    );
    expect(message).toContain(words);
    expect(at.github.state.pulls).toEqual([]);
  });
});

describe('the pull request of a branch', () => {
  test('is null without one', async () => {
    await using at = await openForge();
    expect(await at.forge.pullRequestOf('ralph/queue')).toBeNull();
    expect(at.sent()).toEqual([
      'GET /pulls?head=octo%3Aralph%2Fqueue&state=all&sort=created&direction=desc&per_page=10',
    ]);
  });

  test.each([
    ['open', 'open'],
    ['merged', 'merged'],
    ['closed', 'closed'],
  ] as const)('that was left %s is %s', async (end, state) => {
    await using at = await openForge();
    await at.forge.openPullRequest(request);
    if (end !== 'open') closePull(at.github.state, 1, { kind: end, at: now });
    expect(await at.forge.pullRequestOf('ralph/queue')).toMatchObject({ number: 1, state });
  });

  test('is the newest of several', async () => {
    await using at = await openForge();
    await at.forge.openPullRequest(request);
    closePull(at.github.state, 1, { kind: 'merged', at: now });
    await at.forge.openPullRequest(request);
    expect(await at.forge.pullRequestOf('ralph/queue')).toMatchObject({ number: 2, state: 'open' });
  });

  test('shows the tip of the branch', async () => {
    await using at = await openForge();
    await at.forge.openPullRequest(request);
    at.branches['ralph/queue'] = 'c'.repeat(40);
    expect(await at.forge.pullRequestOf('ralph/queue')).toMatchObject({ headSha: 'c'.repeat(40) });
  });

  test('is not one of a fork with a branch of the same name', async () => {
    await using at = await openForge();
    await openFromFork(at);
    expect(await at.forge.pullRequestOf('ralph/queue')).toBeNull();
  });
});

describe('the head of a pull request', () => {
  test.each([
    ['this repository', false],
    ['a fork', true],
  ])('in %s: fromFork is %s', async (_where, fromFork) => {
    await using at = await openForge();
    await (fromFork ? openFromFork(at) : at.forge.openPullRequest(request));
    expect(await at.forge.pullRequestHead(1)).toEqual({ branch: 'ralph/queue', fromFork });
  });

  test('whose fork was deleted is a fork', async () => {
    await using at = await openForge();
    at.github.faults.inject({
      match: { path: /pulls\/5$/ },
      times: 1,
      effect: {
        kind: 'answer',
        status: 200,
        body: { number: 5, head: { ref: 'x', repo: null }, base: { repo: { id: 1 } } },
      },
    });
    expect(await at.forge.pullRequestHead(5)).toEqual({ branch: 'x', fromFork: true });
  });

  test('that is absent is null', async () => {
    await using at = await openForge();
    expect(await at.forge.pullRequestHead(9)).toBeNull();
  });
});

describe('whether this token may open pull requests', () => {
  test('yes: one request, and nothing is left behind', async () => {
    await using at = await openForge();
    await at.forge.checkMayOpenPullRequests('main');
    expect(at.sent()).toEqual(['POST /pulls']);
    expect(at.github.state.pulls).toEqual([]);
  });

  test('the setting is off: names it', async () => {
    await using at = await openForge();
    at.github.state.settings.actionsMayOpenPullRequests = false;
    const { kind, message } = await refusedWith(at.forge.checkMayOpenPullRequests('main'));
    expect(kind).toBe('configuration');
    expect(message).toBe(
      'GitHub did not let us open pull requests in octo/demo (403 GitHub Actions is not permitted to create or approve pull requests.). Turn on Settings → Actions → General → "Allow GitHub Actions to create and approve pull requests" (in an organisation the same setting may have to be allowed there first), or give the input `github-token` a token of an App or a person.',
    );
  });

  test('the setting does not concern a personal token', async () => {
    await using at = await openForge({ kind: 'user' });
    at.github.state.settings.actionsMayOpenPullRequests = false;
    await at.forge.checkMayOpenPullRequests('main');
    expect(at.sent()).toEqual(['POST /pulls']);
  });

  test('the base branch is not there: says so', async () => {
    await using at = await openForge();
    const { message } = await refusedWith(at.forge.checkMayOpenPullRequests('trunk'));
    expect(message).toContain('"field":"base"');
  });

  test('a server that takes the absent branch: the pull request is closed at once', async () => {
    await using at = await openForge();
    at.branches['ralph-action-permission-check/does-not-exist'] = 'd'.repeat(40);
    await at.forge.checkMayOpenPullRequests('main');
    expect(at.sent()).toEqual(['POST /pulls', 'PATCH /pulls/1']);
    expect(at.github.state.issues).toMatchObject([{ number: 1, state: 'closed' }]);
  });
});

describe('changing', () => {
  test('title and body are updated, in one request', async () => {
    await using at = await openForge();
    await at.forge.openPullRequest(request);
    await at.forge.updatePullRequest(1, { title: 'Ralph: done', body: 'All.' });
    expect(at.github.state.issues).toMatchObject([{ title: 'Ralph: done', body: 'All.' }]);
    expect(at.forge.requests().sent).toBe(2);
  });

  test('a draft becomes ready, in one request when the run has seen it', async () => {
    await using at = await openForge();
    await at.forge.openPullRequest(request);
    await at.forge.markReady(1);
    expect(at.github.state.pulls).toMatchObject([{ draft: false }]);
    expect(at.sent()).toEqual(['POST /pulls', 'POST /graphql']);
  });

  test('a draft of an earlier run is looked up first', async () => {
    await using at = await openForge();
    await at.forge.openPullRequest(request);
    await at.nextRun().markReady(1);
    expect(at.sent().slice(1)).toEqual(['GET /pulls/1', 'POST /graphql']);
  });

  test('a token that may not mark it ready: names the permissions', async () => {
    await using at = await openForge({ permissions: { metadata: 'read', pull_requests: 'read' } });
    at.github.state.pulls.push({
      id: 50,
      number: 1,
      head: 'ralph/queue',
      fork: null,
      maintainerCanModify: false,
      base: 'main',
      draft: true,
      headSha: 'b'.repeat(40),
      baseSha: 'a'.repeat(40),
      mergedAt: null,
      reviewers: [],
    });
    createStoredIssue(at.github.state, { title: 'Work', body: '', author: { login: 'octo', type: 'User' } }, now);
    const { message } = await refusedWith(at.forge.markReady(1));
    expect(message).toBe(
      'GitHub did not let us mark pull request #1 as ready for review in octo/demo (403 Resource not accessible by integration). Add `pull-requests: write` and `contents: write` under `permissions:` in the workflow, or to the token that the input `github-token` gets.',
    );
  });
});

describe('the requested reviewers', () => {
  test('for a review: people and teams, but never the author', async () => {
    await using at = await openForge();
    at.github.state.collaborators.set('ann', { permission: 'write', roleName: 'write' });
    await at.forge.openPullRequest(request);
    const opener = at.github.state.issues.at(-1)?.author.login ?? '';
    await at.forge.requestReview(1, { logins: ['ann', opener.toUpperCase()], teams: ['core'] });
    expect(at.github.state.pulls).toMatchObject([{ reviewers: ['ann', 'team:core'] }]);
  });

  test('for a review: nobody is left, so nothing is asked', async () => {
    await using at = await openForge();
    await at.forge.openPullRequest(request);
    const opener = at.github.state.issues.at(-1)?.author.login ?? '';
    await at.forge.requestReview(1, { logins: [opener], teams: [] });
    expect(at.sent()).toEqual(['POST /pulls']);
  });

  test('for a review: those who can review are asked although another one cannot', async () => {
    await using at = await openForge();
    for (const login of ['ann', 'bob'])
      at.github.state.collaborators.set(login, { permission: 'write', roleName: 'write' });
    await at.forge.openPullRequest(request);
    const { message } = await refusedWith(
      at.forge.requestReview(1, { logins: ['ann', 'stranger', 'bob'], teams: ['core'] }),
    );
    expect(message).toContain('(422');
    expect(at.github.state.pulls[0]?.reviewers.toSorted()).toEqual(['ann', 'bob', 'team:core']);
  });

  test('for a review, and cannot: says why', async () => {
    await using at = await openForge();
    await at.forge.openPullRequest(request);
    const { message } = await refusedWith(at.forge.requestReview(1, { logins: ['stranger'], teams: [] }));
    expect(message).toContain('did not let us request reviews of pull request #1 in octo/demo (422');
  });

  test('to take it over', async () => {
    await using at = await openForge();
    at.github.state.collaborators.set('ann', { permission: 'write', roleName: 'write' });
    await at.forge.openPullRequest(request);
    await at.forge.assign(1, ['ann']);
    expect(at.github.state.issues).toMatchObject([{ assignees: ['ann'] }]);
  });
});

async function openFromFork({ forge, github }: ForgeFixture): Promise<void> {
  await forge.openPullRequest(request);
  const [opened] = github.state.pulls;
  if (opened === undefined) throw new Error('no pull request was opened');
  github.state.pulls[0] = { ...opened, fork: 'stranger' };
}
