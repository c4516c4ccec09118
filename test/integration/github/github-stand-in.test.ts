import { describe, expect, test } from 'vitest';
import { createOpenapiValidator } from '../../../testbed/openapi/validator.ts';
import { addIssue, closePull } from '../../../testbed/github/state.ts';
import { type ForgeFixture, now, openForge, TOKEN } from './github-fixture.ts';

const ROOT = '/repos/octo/demo';

describe("GitHub's description refuses a request with", () => {
  test.each<{ what: string; method: string; path: string; query?: string; body?: unknown; problem: string }>([
    {
      what: 'a route that does not exist',
      method: 'GET',
      path: `${ROOT}/isues`,
      problem: 'is not an operation of the description',
    },
    {
      what: 'a method that the route has not',
      method: 'PUT',
      path: `${ROOT}/issues`,
      problem: 'is not an operation of the description',
    },
    {
      what: 'an unknown query parameter',
      method: 'GET',
      path: `${ROOT}/issues`,
      query: 'label=ralph',
      problem: 'must NOT have additional properties',
    },
    {
      what: 'an unknown value of an enumeration',
      method: 'GET',
      path: `${ROOT}/issues`,
      query: 'sort=bogus',
      problem: '/sort must be equal to one of the allowed values',
    },
    {
      what: 'an invalid number',
      method: 'GET',
      path: `${ROOT}/issues`,
      query: 'per_page=many',
      problem: '/per_page must be integer',
    },
    {
      what: 'a word for a number in its path',
      method: 'GET',
      path: `${ROOT}/issues/one`,
      problem: '/issue_number must be integer',
    },
    {
      what: 'a missing query parameter',
      method: 'DELETE',
      path: `${ROOT}/actions/caches`,
      problem: "must have required property 'key'",
    },
    { what: 'no body', method: 'POST', path: `${ROOT}/pulls`, problem: 'has no body' },
    { what: 'a body that it must not have', method: 'GET', path: ROOT, body: {}, problem: 'has a body, and must not' },
    {
      what: 'a missing property',
      method: 'POST',
      path: `${ROOT}/pulls`,
      body: { title: 'Work', head: 'x' },
      problem: "must have required property 'base'",
    },
    {
      what: 'an unknown property',
      method: 'POST',
      path: `${ROOT}/issues/1/comments`,
      body: { body: 'x', text: 'y' },
      problem: 'must NOT have additional properties',
    },
    {
      what: 'a property of a wrong type',
      method: 'POST',
      path: `${ROOT}/pulls`,
      body: { title: 'Work', head: 'x', base: 'y', draft: 'yes' },
      problem: '/draft must be boolean',
    },
    {
      what: 'an unknown reaction',
      method: 'POST',
      path: `${ROOT}/issues/1/reactions`,
      body: { content: 'thumbs' },
      problem: '/content must be equal to one of the allowed values',
    },
    {
      what: 'an unknown property in one of several forms',
      method: 'POST',
      path: `${ROOT}/issues/1/labels`,
      body: { labels: ['a'], label: 'b' },
      problem: 'must NOT have additional properties',
    },
  ])('$what', ({ method, path, query = '', body, problem }) => {
    const found = createOpenapiValidator().request(method, path, { query: new URLSearchParams(query), body });
    expect(found.map((violation) => violation.problem)).toContainEqual(expect.stringContaining(problem));
  });
});

describe("GitHub's description refuses an answer with", () => {
  test.each<{ what: string; path: string; status: number; body?: unknown; problem: string }>([
    {
      what: 'a status that is not documented',
      path: ROOT,
      status: 418,
      body: {},
      problem: 'is not a documented status',
    },
    {
      what: 'a missing property',
      path: ROOT,
      status: 200,
      body: {},
      problem: "must have required property 'default_branch'",
    },
    { what: 'an object for a list', path: `${ROOT}/issues`, status: 200, body: {}, problem: 'must be array' },
    { what: 'no body', path: ROOT, status: 200, problem: 'must be object' },
    {
      what: 'a message that is not a text',
      path: ROOT,
      status: 403,
      body: { message: 1 },
      problem: '/message must be string',
    },
  ])('$what', ({ path, status, body, problem }) => {
    const found = createOpenapiValidator().response('GET', path, { status, body });
    expect(found.map((violation) => violation.problem)).toContainEqual(expect.stringContaining(problem));
  });
});

describe('the stand-in', () => {
  test('gives pages with a Link to the next one', async () => {
    await using at = await openTask();
    for (let count = 0; count < 4; count += 1)
      addIssue(at.github.state, { title: 'More', body: '', labels: [], author: 'stranger' }, now);
    const first = await at.send('GET', '/issues?per_page=2&page=2');
    expect(first.numbers).toEqual([3, 2]);
    expect(first.link).toBe(
      `<${at.github.url}${ROOT}/issues?per_page=2&page=3>; rel="next", <${at.github.url}${ROOT}/issues?per_page=2&page=3>; rel="last"`,
    );
    expect((await at.send('GET', '/issues?per_page=2&page=3')).link).toBeNull();
  });

  test('keeps labels: adds, lists, removes, and knows what is absent', async () => {
    await using at = await openTask();
    expect((await at.send('POST', '/labels', { name: 'blocked', color: 'ff0000' })).status).toBe(201);
    expect((await at.send('POST', '/labels', { name: 'Blocked' })).status).toBe(422);
    expect((await at.send('POST', '/issues/1/labels', { labels: ['blocked'] })).body).toMatchObject([
      { name: 'ralph' },
      { name: 'blocked' },
    ]);
    expect((await at.send('DELETE', '/issues/1/labels/ralph')).body).toMatchObject([{ name: 'blocked' }]);
    expect((await at.send('DELETE', '/issues/1/labels/ralph')).status).toBe(404);
    expect((await at.send('GET', '/issues/1/labels')).body).toMatchObject([{ name: 'blocked' }]);
    expect((await at.send('GET', '/labels')).body).toMatchObject([{ name: 'ralph' }, { name: 'blocked' }]);
  });

  test('closes and opens an issue', async () => {
    await using at = await openTask();
    expect((await at.send('PATCH', '/issues/1', { state: 'closed', labels: ['done'] })).body).toMatchObject({
      state: 'closed',
      closed_at: '2026-11-21T12:00:00Z',
      labels: [{ name: 'done' }],
    });
    expect((await at.send('PATCH', '/issues/1', { state: 'open' })).body).toMatchObject({
      state: 'open',
      closed_at: null,
    });
  });

  test('a merge into the default branch closes the issues that the pull request says it closes', async () => {
    await using at = await openTask();
    for (let count = 0; count < 3; count += 1)
      addIssue(at.github.state, { title: 'More', body: '', labels: [], author: 'stranger' }, now);
    await at.send('POST', '/pulls', {
      title: 'Work',
      head: 'ralph/queue',
      base: 'main',
      body: 'Closes #1\nPart of #2\nfixed: #3, resolves #40',
    });
    closePull(at.github.state, 5, { kind: 'merged', at: now });
    expect(at.github.state.issues.filter(({ state }) => state === 'closed').map(({ number }) => number)).toEqual([
      1, 3, 5,
    ]);
  });

  test('a pull request that is closed without merging closes no issue', async () => {
    await using at = await openTask();
    await at.send('POST', '/pulls', { title: 'Work', head: 'ralph/queue', base: 'main', body: 'Closes #1' });
    closePull(at.github.state, 2, { kind: 'closed', at: now });
    expect(at.github.state.issues.map(({ state }) => state)).toEqual(['open', 'closed']);
  });

  test('what REST changes is reported by GraphQL as done by the token', async () => {
    await using at = await openTask();
    await at.send('PATCH', '/issues/1', { title: 'Other', body: 'New text', state: 'closed', labels: ['bug'] });
    await at.send('PATCH', '/issues/1', { state: 'open' });
    const answer = await at.ask(
      'issue(number: 1) { lastEditedAt editor { login } timelineItems(first: 10) { nodes { __typename ... on LabeledEvent { actor { login __typename } } } } }',
    );
    expect(answer).toEqual({
      data: {
        repository: {
          issue: {
            lastEditedAt: '2026-11-21T12:00:00Z',
            editor: { login: 'github-actions' },
            timelineItems: {
              nodes: [
                { __typename: 'LabeledEvent', actor: { login: 'octo', __typename: 'User' } },
                { __typename: 'RenamedTitleEvent' },
                { __typename: 'ClosedEvent' },
                { __typename: 'UnlabeledEvent' },
                { __typename: 'LabeledEvent', actor: { login: 'github-actions', __typename: 'Bot' } },
                { __typename: 'ReopenedEvent' },
              ],
            },
          },
        },
      },
    });
  });

  test('GraphQL answers what is there beside an error for what is not', async () => {
    await using at = await openTask();
    expect(await at.ask('a: issue(number: 1) { title } b: issue(number: 2) { title }')).toEqual({
      data: { repository: { a: { title: 'Task' }, b: null } },
      errors: [
        {
          type: 'NOT_FOUND',
          path: ['repository', 'b'],
          locations: [expect.anything()],
          message: 'Could not resolve to an Issue with the number of 2.',
        },
      ],
    });
  });

  test.each([
    ['no', 'comments { totalCount }', 'MISSING_PAGINATION_BOUNDARIES'],
    ['too large', 'comments(first: 101) { totalCount }', 'EXCESSIVE_PAGINATION'],
  ])('GraphQL refuses a list with %s bounds', async (_what, selection, type) => {
    await using at = await openTask();
    expect(await at.ask(`issue(number: 1) { ${selection} }`)).toMatchObject({ errors: [{ type }] });
  });

  test('lists and deletes caches by key', async () => {
    await using at = await openTask();
    for (const key of ['ralph-1', 'ralph-2'])
      at.github.state.caches.push({
        id: 1,
        key,
        ref: 'refs/heads/main',
        version: 'v',
        sizeInBytes: 10,
        createdAt: now,
      });
    expect((await at.send('GET', '/actions/caches?key=ralph-')).body).toMatchObject({ total_count: 2 });
    expect((await at.send('DELETE', '/actions/caches?key=ralph-1')).body).toMatchObject({ total_count: 1 });
    expect((await at.send('DELETE', '/actions/caches?key=ralph-1')).status).toBe(404);
    expect(at.github.state.caches.map(({ key }) => key)).toEqual(['ralph-2']);
  });

  test('lists reactions and shows one comment', async () => {
    await using at = await openTask();
    const { body } = await at.send('POST', '/issues/1/comments', { body: 'Hello.' });
    const id = String((body as { id: number }).id);
    await at.send('POST', `/issues/comments/${id}/reactions`, { content: 'rocket' });
    expect((await at.send('GET', `/issues/comments/${id}`)).body).toMatchObject({
      body: 'Hello.',
      user: { login: 'github-actions[bot]', type: 'Bot' },
    });
    expect((await at.send('GET', `/issues/comments/${id}/reactions`)).body).toMatchObject([{ content: 'rocket' }]);
    expect((await at.send('GET', '/issues/1/reactions')).body).toEqual([]);
  });

  test.each<[string, string, unknown]>([
    ['comment', '/issues/1/comments', { body: 'x'.repeat(65_537) }],
    ['pull request', '/pulls', { title: 'Work', head: 'ralph/queue', base: 'main', body: 'x'.repeat(65_537) }],
  ])('refuses the body of a %s beyond 65,536 characters', async (_what, path, body) => {
    await using at = await openTask();
    const answer = await at.send('POST', path, body);
    expect(answer.status).toBe(422);
    expect(answer.body).toMatchObject({
      errors: [{ code: 'custom', field: 'body', message: 'body is too long (maximum is 65536 characters)' }],
    });
  });

  test('refuses a second open pull request of a branch', async () => {
    await using at = await openTask();
    const request = { title: 'Work', head: 'ralph/queue', base: 'main' };
    expect((await at.send('POST', '/pulls', request)).status).toBe(201);
    const second = await at.send('POST', '/pulls', request);
    expect(second.status).toBe(422);
    expect(second.body).toMatchObject({ errors: [{ message: 'A pull request already exists for octo:ralph/queue.' }] });
  });

  test('refuses a comment on a locked issue', async () => {
    await using at = await openTask();
    for (const issue of at.github.state.issues) issue.locked = true;
    expect((await at.send('POST', '/issues/1/comments', { body: 'x' })).status).toBe(403);
  });

  test('counts requests against the rate limit, and begins again after the reset', async () => {
    await using at = await openTask();
    await at.send('GET', '');
    expect((await at.send('GET', '')).remaining).toBe('998');
    at.github.state.rate.remaining = 0;
    expect((await at.send('GET', '')).status).toBe(403);
    at.github.state.rate.resetAt = now;
    expect((await at.send('GET', '')).remaining).toBe('999');
    const overview = await fetch(`${at.github.url}/rate_limit`, { headers: { authorization: `Bearer ${TOKEN}` } });
    expect(await overview.json()).toMatchObject({ rate: { limit: 1000, remaining: 999 } });
  });

  test.each([
    [
      'a REST request that the description refuses',
      'GET',
      '/repos/octo/demo/issues?label=x',
      undefined,
      'must NOT have additional properties',
    ],
    [
      'a GraphQL field that the schema has not',
      'POST',
      '/graphql',
      { query: '{ viewer { logon } }' },
      'Cannot query field "logon" on type "User".',
    ],
    ['invalid GraphQL', 'POST', '/graphql', { query: '{ viewer' }, 'is not valid GraphQL'],
  ] as const)('records %s', async (...[, method, path, body, problem]) => {
    const at = await openForge();
    await fetch(`${at.github.url}${path}`, {
      method,
      headers: { authorization: `token ${TOKEN}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(at.github.violations.map((violation) => violation.problem)).toContainEqual(expect.stringContaining(problem));
    await at.github[Symbol.asyncDispose]();
  });
});

type Send = (
  method: string,
  path: string,
  body?: unknown,
) => Promise<{
  status: number;
  body: unknown;
  numbers: readonly number[];
  link: string | null;
  remaining: string | null;
}>;

/**
 * Opens a stand-in with one issue labelled ralph, and plain requests to it; `ask` queries fields of the repository by
 * GraphQL.
 */
async function openTask(): Promise<
  ForgeFixture & { readonly send: Send; readonly ask: (selection: string) => Promise<unknown> }
> {
  const at = await openForge();
  addIssue(at.github.state, { title: 'Task', body: '', labels: ['ralph'], author: 'stranger' }, now);
  const send: Send = async (method, path, body) => {
    const response = await fetch(`${at.github.url}${ROOT}${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    const numbers = Array.isArray(answer) ? answer.map(({ number }: { number: number }) => number) : [];
    return {
      status: response.status,
      body: answer,
      numbers,
      link: response.headers.get('link'),
      remaining: response.headers.get('x-ratelimit-remaining'),
    };
  };
  const ask = async (selection: string): Promise<unknown> => {
    const body = JSON.stringify({ query: `{ repository(owner: "octo", name: "demo") { ${selection} } }` });
    return (
      await fetch(`${at.github.url}/graphql`, { method: 'POST', headers: { authorization: `Bearer ${TOKEN}` }, body })
    ).json();
  };
  return Object.assign(at, { send, ask });
}
