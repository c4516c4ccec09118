import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { FaultEffect } from '../../../testbed/github/faults.ts';
import type { TokenIdentity } from '../../../testbed/github/route.ts';
import { addIssue } from '../../../testbed/github/state.ts';
import type { ForgeAdapter } from '../../../src/ports/forge.ts';
import { createForge } from '../../../src/github/forge.ts';
import { now, openForge, refusedWith, TOKEN } from './github-fixture.ts';

const request = { title: 'Work', body: '', head: 'ralph/queue', base: 'main', draft: false };

describe('a permission that the workflow does not grant is named', () => {
  test.each<{
    what: string;
    granted: TokenIdentity['permissions'];
    call: (forge: ForgeAdapter) => Promise<unknown>;
    needed: string;
  }>([
    { what: 'list issues', granted: {}, call: (forge) => forge.openIssuesWithLabel('ralph'), needed: 'issues: read' },
    { what: 'read an issue', granted: {}, call: (forge) => forge.issue(1), needed: 'issues: read' },
    {
      what: 'read histories',
      granted: {},
      call: (forge) => forge.issueHistories([1], 'ralph'),
      needed: 'issues: read',
    },
    { what: 'read comments', granted: {}, call: (forge) => forge.commentsOf([1]), needed: 'issues: read' },
    { what: 'read dependencies', granted: {}, call: (forge) => forge.dependenciesOf(1), needed: 'issues: read' },
    { what: 'read states', granted: {}, call: (forge) => forge.statesOf([1]), needed: 'issues: read' },
    {
      what: 'change labels',
      granted: { issues: 'read' },
      call: (forge) => forge.changeLabels(1, { from: ['a'], add: [], remove: ['a'] }),
      needed: 'issues: write',
    },
    {
      what: 'make a label',
      granted: { issues: 'read' },
      call: (forge) =>
        forge.changeLabels(1, { from: [], add: [{ name: 'a', color: 'ededed', description: '' }], remove: [] }),
      needed: 'issues: write',
    },
    {
      what: 'comment',
      granted: { issues: 'read' },
      call: (forge) => forge.upsertComment(1, '<!-- m -->', 'text'),
      needed: 'issues: write',
    },
    {
      what: 'react',
      granted: { issues: 'read' },
      call: (forge) => forge.react({ kind: 'issue', number: 1 }, 'eyes'),
      needed: 'issues: write',
    },
    {
      what: 'look for a pull request',
      granted: {},
      call: (forge) => forge.pullRequestOf('ralph/queue'),
      needed: 'pull-requests: read',
    },
    {
      what: 'read a pull request',
      granted: {},
      call: (forge) => forge.pullRequestHead(1),
      needed: 'pull-requests: read',
    },
    {
      what: 'check an open pull request',
      granted: { pull_requests: 'read' },
      call: (forge) => forge.checkMayUpdatePullRequest(1),
      needed: 'pull-requests: write',
    },
    {
      what: 'check pull requests',
      granted: { pull_requests: 'read' },
      call: (forge) => forge.checkMayOpenPullRequests('main'),
      needed: 'pull-requests: write',
    },
    {
      what: 'open a pull request',
      granted: { pull_requests: 'read' },
      call: (forge) => forge.openPullRequest(request),
      needed: 'pull-requests: write',
    },
    {
      what: 'update a pull request',
      granted: { pull_requests: 'read' },
      call: (forge) => forge.updatePullRequest(1, request),
      needed: 'pull-requests: write',
    },
  ])('to $what', async ({ granted, call, needed }) => {
    await using at = await openForge({ permissions: { metadata: 'read', ...granted } });
    addIssue(at.github.state, { title: 'Task', body: '', labels: [], author: 'stranger' }, now);
    const { kind, message } = await refusedWith(call(at.forge));
    expect(kind).toBe('configuration');
    expect(message).toContain('(403 Resource not accessible by integration)');
    expect(message).toMatch(
      new RegExp(`Add \`${needed}\`( and \`[a-z: -]+\`)? under \`permissions:\` in the workflow`),
    );
  });
});

describe('a rejected token', () => {
  test('GitHub does not know it: 401, at once', async () => {
    await using at = await openForge({ sentToken: 'ghs_anOldOne' });
    const { kind, message } = await refusedWith(at.forge.defaultBranch());
    expect(kind).toBe('configuration');
    expect(message).toBe(
      "GitHub does not accept the token (401 Bad credentials). It has expired or was revoked. `${{ github.token }}` ends with its job, and a GitHub App's token lasts one hour: create it in the same job right before this step. Otherwise set the input `github-token` to a valid one.",
    );
    expect(at.forge.requests().sent).toBe(1);
  });

  test("a person's own: what to set on their machine", async () => {
    await using at = await openForge({ sentToken: 'ghp_anOldOne', tokenFrom: 'person' });
    expect((await refusedWith(at.forge.defaultBranch())).message).toBe(
      'GitHub does not accept the token (401 Bad credentials). It may have expired. Set GITHUB_TOKEN to a valid one, for example to what `gh auth token` prints.',
    );
  });

  test.each([
    ['is empty', ''],
    ['ends in a line break', `${TOKEN}\n`],
    ['has a blank inside', 'ghs_one ghs_two'],
  ])('it %s: said before anything is sent, without the token', async (_case, sentToken) => {
    await using at = await openForge({ sentToken });
    const error = await refusedWith(at.forge.defaultBranch());
    expect(error.message).toMatch(/^The GitHub token is empty, or contains a space or a line break/);
    expect(inspect(error)).not.toContain('ghs_');
    expect(at.sent()).toEqual([]);
  });

  test('the repository is not visible to it: 404 names repository and permission', async () => {
    await using at = await openForge({ permissions: {} });
    const { message } = await refusedWith(at.forge.defaultBranch());
    expect(message).toBe(
      'GitHub did not let us read the repository in octo/demo: with this token, GitHub finds nothing there (404 Not Found). Check that the repository is octo/demo, and that the token can see it and has `contents: read`.',
    );
  });
});

describe('a rate limit', () => {
  test('used up: ends at once with the instant of the reset', async () => {
    await using at = await openForge();
    Object.assign(at.github.state.rate, { remaining: 0, resetAt: now + 25 * 60_000 });
    const { kind, message } = await refusedWith(at.forge.openIssuesWithLabel('ralph'));
    expect(kind).toBe('infrastructure');
    expect(message).toBe(
      'GitHub did not let us list the open issues labelled "ralph" in octo/demo: the rate limit of this token (1000 requests an hour) is used up until 2026-11-21T12:25:00.000Z, in 25 min. Run again then, or give the input `github-token` a token with a limit of its own.',
    );
    expect(at.forge.requests().sent).toBe(1);
  });

  test('of GraphQL, a budget of its own: the same, in one request', async () => {
    await using at = await openForge();
    Object.assign(at.github.state.graphqlRate, { remaining: 0, resetAt: now + 25 * 60_000 });
    const { kind, message } = await refusedWith(at.forge.issueHistories([1], 'ralph'));
    expect(kind).toBe('infrastructure');
    expect(message).toBe(
      'GitHub did not let us read who labelled and changed issues in octo/demo: the rate limit of this token (1000 requests an hour) is used up until 2026-11-21T12:25:00.000Z, in 25 min. Run again then, or give the input `github-token` a token with a limit of its own.',
    );
    expect(at.forge.requests().sent).toBe(1);
    expect(await at.forge.defaultBranch()).toBe('main');
  });

  test('of GraphQL, which says so with status 200: the same', async () => {
    await using at = await openForge();
    await at.forge.openPullRequest({ ...request, draft: true });
    const headers = {
      'x-ratelimit-limit': '1000',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(now / 1000 + 90),
    };
    at.github.faults.inject({
      match: { path: /graphql$/ },
      times: 9,
      effect: {
        kind: 'answer',
        status: 200,
        body: { errors: [{ type: 'RATE_LIMITED', message: 'API rate limit exceeded' }] },
        headers,
      },
    });
    const { message } = await refusedWith(at.forge.markReady(1));
    expect(message).toContain(
      'the rate limit of this token (1000 requests an hour) is used up until 2026-11-21T12:01:30.000Z, in 2 min.',
    );
    expect(at.sent()).toEqual(['POST /pulls', 'POST /graphql']);
  });

  test.each([
    {
      what: 'a short pause: waits it out once, and says so',
      retryAfter: '2',
      times: 1,
      requests: 2,
      logged: ['GitHub asks for a pause of 2 s (secondary rate limit).'],
    },
    {
      what: 'no pause named: waits one minute once',
      retryAfter: null,
      times: 1,
      requests: 2,
      logged: ['GitHub asks for a pause of 60 s (secondary rate limit).'],
    },
    {
      what: 'a short pause twice: gives up after the first',
      retryAfter: '2',
      times: 2,
      requests: 2,
      logged: ['GitHub asks for a pause of 2 s (secondary rate limit).'],
    },
    { what: 'a long pause: gives up at once', retryAfter: '600', times: 1, requests: 1, logged: [] },
  ])('$what', async ({ retryAfter, times, requests, logged }) => {
    await using at = await openForge();
    at.github.faults.inject({
      match: { path: /demo$/ },
      times,
      effect: {
        kind: 'answer',
        status: 403,
        body: { message: 'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.' },
        headers: retryAfter === null ? {} : { 'retry-after': retryAfter },
      },
    });
    const answer = at.forge.defaultBranch();
    if (requests > times) expect(await answer).toBe('main');
    else
      expect((await refusedWith(answer)).message).toBe(
        `GitHub did not let us read the repository in octo/demo: it received too many requests in a short time (secondary rate limit). Run again in ${String(retryAfter)} s, and let fewer workflows use this token at the same time.`,
      );
    expect(at.forge.requests().sent).toBe(requests);
    expect(at.logged).toEqual(logged);
  });
});

describe('the secondary limit of GraphQL', () => {
  const message = 'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.';

  test('with status 403: a short pause is waited out once', async () => {
    await using at = await openForge();
    addIssue(at.github.state, { title: 'Task', body: '', labels: [], author: 'stranger' }, now);
    at.github.faults.inject({
      match: { path: /graphql$/ },
      times: 1,
      effect: { kind: 'answer', status: 403, body: { message }, headers: { 'retry-after': '2' } },
    });
    expect(await at.forge.statesOf([1])).toEqual(new Map([[1, 'open']]));
    expect(at.logged).toEqual(['GitHub asks for a pause of 2 s (secondary rate limit).']);
  });

  test('with status 200: ends with how long to wait', async () => {
    await using at = await openForge();
    at.github.faults.inject({
      match: { path: /graphql$/ },
      times: 1,
      effect: { kind: 'answer', status: 200, body: { errors: [{ message }] }, headers: { 'retry-after': '90' } },
    });
    const refused = await refusedWith(at.forge.statesOf([1]));
    expect(refused.kind).toBe('infrastructure');
    expect(refused.message).toContain(
      'it received too many requests in a short time (secondary rate limit). Run again in 90 s',
    );
  });
});

describe('the requests of a run', () => {
  test('nothing is known before the first answer', async () => {
    await using at = await openForge();
    expect(at.forge.requests()).toEqual({ sent: 0, limit: null, remaining: null, resetAt: null });
  });

  test('is known by the newest answer of REST; GraphQL counts as a request, and not against that budget', async () => {
    await using at = await openForge();
    await at.forge.statesOf([1]);
    expect(at.forge.requests()).toEqual({ sent: 1, limit: null, remaining: null, resetAt: null });
    await at.forge.defaultBranch();
    await at.forge.statesOf([1]);
    expect(at.forge.requests()).toEqual({ sent: 3, limit: 1000, remaining: 999, resetAt: now + 3_600_000 });
  });

  test('a server without limits says nothing of them', async () => {
    await using at = await openForge();
    at.github.faults.inject({
      match: { path: /demo$/ },
      times: 1,
      effect: { kind: 'answer', status: 200, body: { default_branch: 'main' } },
    });
    await at.forge.defaultBranch();
    expect(at.forge.requests()).toEqual({ sent: 1, limit: null, remaining: null, resetAt: null });
  });
});

test('an Enterprise server has REST below /api/v3 and GraphQL at /api/graphql', async () => {
  await using at = await openForge({ basePath: '/api/v3' });
  expect(at.github.url).toMatch(/\/api\/v3$/);
  addIssue(at.github.state, { title: 'Task', body: '', labels: ['ralph'], author: 'stranger' }, now);
  expect((await at.forge.openIssuesWithLabel('ralph')).map(({ number }) => number)).toEqual([1]);
  expect([...(await at.forge.issueHistories([1], 'ralph')).keys()]).toEqual([1]);
  expect(at.sent().at(-1)).toBe('POST /graphql');
});

describe('a failure of GitHub or of the network', () => {
  const page = '<html>Bad gateway</html>';
  const failures: readonly (readonly [string, FaultEffect])[] = [
    ['a server error', { kind: 'answer', status: 502, body: { message: 'Server Error' } }],
    ['an error page', { kind: 'answer', status: 503, body: page }],
    ['a page that claims success', { kind: 'answer', status: 200, body: page }],
    ['a closed connection', { kind: 'drop' }],
    ['half an answer', { kind: 'cut' }],
    ['no answer in time', { kind: 'hang' }],
  ];

  test.each(failures)('%s is tried again, and goes unnoticed when that works', async (_what, effect) => {
    // The second attempt must be answered in time even on a busy machine.
    await using at = await openForge(effect.kind === 'hang' ? { requestMs: 2_000 } : {});
    at.github.faults.inject({ match: { path: /demo$/ }, times: 1, effect });
    expect(await at.forge.defaultBranch()).toBe('main');
    expect(at.forge.requests().sent).toBe(2);
  });

  test('a server error without a word is reported without one', async () => {
    await using at = await openForge();
    at.github.faults.inject({ match: { path: /demo$/ }, times: 9, effect: { kind: 'answer', status: 502, body: {} } });
    expect((await refusedWith(at.forge.defaultBranch())).message).toContain('its API failed (502), more than once');
  });

  test.each(failures)('%s three times ends with an explanation', async (_what, effect) => {
    await using at = await openForge({ requestMs: 100 });
    at.github.faults.inject({ match: { path: /demo$/ }, times: 9, effect });
    const { kind, message } = await refusedWith(at.forge.defaultBranch());
    expect(kind).toBe('infrastructure');
    expect(message).toMatch(
      /^GitHub (did not let us read the repository in octo\/demo: its API failed \(50[23].*Run again later|could not be reached to read the repository, at http:.*Check the runner's network and proxy, and run again\.$)/,
    );
    expect(at.forge.requests().sent).toBe(3);
  });

  test.each(failures)('%s ends at the first attempt where nobody can wait', async (_what, effect) => {
    await using at = await openForge({ requestMs: 100, retries: 0 });
    at.github.faults.inject({ match: { path: /demo$/ }, times: 1, effect });
    expect((await refusedWith(at.forge.defaultBranch())).kind).toBe('infrastructure');
    expect(at.forge.requests().sent).toBe(1);
  });

  test('a short pause that GitHub asks for is not possible in post', async () => {
    await using at = await openForge({ retries: 0 });
    at.github.faults.inject({
      match: { path: /demo$/ },
      times: 1,
      effect: {
        kind: 'answer',
        status: 403,
        body: { message: 'You have exceeded a secondary rate limit.' },
        headers: { 'retry-after': '2' },
      },
    });
    expect((await refusedWith(at.forge.defaultBranch())).message).toContain('secondary rate limit');
    expect(at.forge.requests().sent).toBe(1);
  });

  test('a server that is not there ends with its address', async () => {
    const at = await openForge();
    await at[Symbol.asyncDispose]();
    const { kind, message } = await refusedWith(at.forge.defaultBranch());
    expect(kind).toBe('infrastructure');
    expect(message).toContain(`GitHub could not be reached to read the repository, at ${at.github.url}: `);
    expect(at.forge.requests().sent).toBe(3);
  });
});

describe('an outage', () => {
  const drop = { match: { path: /demo$/ }, times: 99, effect: { kind: 'drop' } } as const;

  test('is waited for once: after ten seconds of it each request is made once, until there is an answer', async () => {
    let passedMs = 0;
    await using at = await openForge({ now: () => now + passedMs });
    const sentBy = async (act: () => Promise<unknown>): Promise<number> => {
      const before = at.forge.requests().sent;
      await act();
      return at.forge.requests().sent - before;
    };
    const ask = (): Promise<unknown> => refusedWith(at.forge.defaultBranch());
    at.github.faults.inject({ ...drop, times: 3 + 3 + 1 + 5 });
    expect(await sentBy(ask)).toBe(3);
    passedMs = 9_000;
    expect(await sentBy(ask)).toBe(3);
    passedMs = 10_000;
    expect(await sentBy(ask)).toBe(1);
    expect(await sentBy(() => Promise.all([1, 2, 3, 4, 5].map(ask)))).toBe(5);
    expect(await at.forge.defaultBranch()).toBe('main');
    at.github.faults.inject(drop);
    expect(await sentBy(ask)).toBe(3);
  });

  test('is waited for side by side by requests that are made at once', async () => {
    await using at = await openForge({ secondMs: 400 });
    at.github.faults.inject(drop);
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: 8 }, () => refusedWith(at.forge.defaultBranch())));
    expect(at.forge.requests().sent).toBe(24);
    // One request waits for two seconds; the rest is a margin for a busy machine.
    expect(performance.now() - startedAt).toBeLessThan(8 * 2000 * 0.6);
  });
});

describe('what GitHub says', () => {
  test('is quoted on one line and cut, so that it cannot command the log', async () => {
    await using at = await openForge();
    at.github.faults.inject({
      match: { path: /demo$/ },
      times: 1,
      effect: { kind: 'answer', status: 403, body: { message: `No.\r\n::error::${'x'.repeat(1000)}` } },
    });
    const { message } = await refusedWith(at.forge.defaultBranch());
    expect(message).not.toMatch(/[\r\n]/);
    expect(message).toContain('(403 No. ::error::xxx');
    expect(message.length).toBeLessThan(600);
  });

  test.each([401, 403, 404, 422, 500])(
    'never shows the token, not even when a %i quotes it, nor in what an inspection prints',
    async (status) => {
      await using at = await openForge();
      at.github.faults.inject({
        match: { path: /demo$/ },
        times: 9,
        effect: { kind: 'answer', status, body: { message: `token ${TOKEN} refused`, errors: [{ code: TOKEN }] } },
      });
      const error = await refusedWith(at.forge.defaultBranch());
      expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(TOKEN);
      expect(error.message).toContain('token *** refused');
    },
  );

  test('names single sign-on when that is what is missing', async () => {
    await using at = await openForge();
    at.github.faults.inject({
      match: { path: /demo$/ },
      times: 1,
      effect: {
        kind: 'answer',
        status: 403,
        body: { message: 'Resource protected by organization SAML enforcement.' },
        headers: { 'x-github-sso': 'required' },
      },
    });
    expect((await refusedWith(at.forge.defaultBranch())).message).toContain(
      'Authorise the token for the organisation (SAML single sign-on).',
    );
  });
});

test('an invalid API address ends with an explanation', async () => {
  const log = {
    info: () => undefined,
    warning: () => undefined,
    error: () => undefined,
    group: <T>(_title: string, body: () => Promise<T>) => body(),
  };
  const forge = createForge({
    token: TOKEN,
    tokenFrom: 'input',
    apiUrl: 'nonsense',
    userAgent: 'ralph-action',
    repository: { owner: 'octo', repo: 'demo' },
    log,
    now: () => now,
    pace: { requestMs: 1000, secondMs: 1, retries: 2, outageMs: 10_000, downloadMs: 10_000 },
  });
  expect((await refusedWith(forge.defaultBranch())).message).toContain(
    'GitHub could not be reached to read the repository, at nonsense: ',
  );
});
