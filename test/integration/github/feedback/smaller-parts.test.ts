import { describe, expect, test } from 'vitest';
import { addCheck } from '../../../../testbed/github/feedback/checks.ts';
import { submitReview } from '../../../../testbed/github/feedback/reviews.ts';
import { createStoredId, createStoredIssue } from '../../../../testbed/github/state.ts';
import type { FaultEffect } from '../../../../testbed/github/faults.ts';
import { buildPullRequestQuery } from '../../../../src/github/feedback/pull-request-query.ts';
import { type ForgeFixture, now, openForge, refusedWith } from '../github-fixture.ts';

const HEAD = 'b'.repeat(40);
const BASE = 'a'.repeat(40);
const SLOW =
  'Something went wrong while executing your query. This may be the result of a timeout, or it could be a GitHub bug.';
const answer = (status: number, body: unknown): FaultEffect => ({ kind: 'answer', status, body });
const words = (message: string, more: object = {}) => answer(200, { data: null, errors: [{ message, ...more }] });

/** Opens a stand-in with a reviewed pull request whose check fails. */
async function reviewedPull(): Promise<ForgeFixture> {
  const at = await openForge({
    permissions: {
      ...{ metadata: 'read', contents: 'write', pull_requests: 'write' },
      ...{ checks: 'read', actions: 'read', statuses: 'read' },
    },
  });
  const { state } = at.github;
  createStoredIssue(state, { title: 'Work', body: '', author: { login: 'octo', type: 'User' } }, now);
  state.pulls.push({
    ...{
      id: createStoredId(state),
      number: 1,
      head: 'ralph/queue',
      fork: null,
      maintainerCanModify: false,
      base: 'main',
    },
    ...{ headSha: HEAD, baseSha: BASE, draft: true, mergedAt: null, reviewers: [] },
  });
  const comments = Array.from({ length: 30 }, (_, index) => ({
    ...{ path: `src/${String(index)}.ts`, line: 1, body: 'Why?', hunk: '@@ -1 +1 @@\n+x' },
  }));
  submitReview(state, { pull: 1, by: 'octo', state: 'CHANGES_REQUESTED', body: 'Nearly.', comments }, now);
  addCheck(state, { head: HEAD, name: 'test', conclusion: 'FAILURE' }, now);
  return at;
}

describe('what people and CI say about a pull request is requested in smaller parts', () => {
  test.each<[string, FaultEffect, number]>([
    ['where GitHub answers 502 with a page', answer(502, '<html>Bad gateway</html>'), 3],
    ['where GitHub answers 504', answer(504, { message: 'timedout' }), 3],
    ['where its GraphQL servers fail', words(SLOW), 3],
    ['where they say so with 502', answer(502, { data: null, errors: [{ message: SLOW }] }), 3],
    [
      'where the question is too large',
      words('Resource limits for this query exceeded.', { type: 'RESOURCE_LIMITS_EXCEEDED' }),
      1,
    ],
    ['where it does not answer', { kind: 'drop' }, 3],
    ['where a field of the checks is not known', words("Field 'runGroup' doesn't exist on type 'CheckSuite'"), 1],
  ])('%s', async (_what, effect, times) => {
    await using at = await reviewedPull();
    at.github.faults.inject({ match: { path: /graphql$/ }, times, effect });
    const read = await at.forge.pullRequestNow('ralph/queue');
    expect(read?.threads).toHaveLength(30);
    expect(read?.checks).toMatchObject({ kind: 'known', head: [{ name: 'test', result: 'failed' }] });
    expect(at.logged.join('\n')).toContain('it is sent again in smaller parts');
  });

  test('and where only the checks fail again, the rest counts', async () => {
    await using at = await reviewedPull();
    const { faults } = at.github;
    const tooLarge = words('Resource limits for this query exceeded.', { type: 'RESOURCE_LIMITS_EXCEEDED' });
    faults.inject({ match: { path: /graphql$/ }, times: 1, effect: tooLarge });
    // The feedback of people is requested next, and arrives.
    faults.inject({ match: { path: afterOne() }, times: 2, effect: tooLarge });
    const read = await at.forge.pullRequestNow('ralph/queue');
    expect(read?.threads).toHaveLength(30);
    expect(read?.checks).toEqual({
      ...{ kind: 'unreadable', why: 'GitHub answers: Resource limits for this query exceeded.', isTemporary: true },
    });
  });
});

test('the list of open pull requests is requested again in smaller pages', async () => {
  await using at = await reviewedPull();
  const tooLarge = words('Resource limits for this query exceeded.', { type: 'RESOURCE_LIMITS_EXCEEDED' });
  at.github.faults.inject({ match: { path: /graphql$/ }, times: 1, effect: tooLarge });
  expect((await at.forge.waitingPullRequests('ralph/')).open).toMatchObject([{ number: 1 }]);
  const sizes = at.github.requests.map(({ body }) => /"first":(\d+)/.exec(JSON.stringify(body))?.[1]);
  expect(sizes).toEqual(['50', '10']);
});

/** Matches the second and every later request to GraphQL. */
function afterOne(): RegExp {
  let seen = 0;
  return Object.assign(/graphql$/, { test: (path: string) => path.endsWith('graphql') && (seen += 1) > 1 });
}

describe('an older server', () => {
  test.each(['startDiffSide', 'conclusions', 'writersOnly', 'autoMergeRequest'])(
    'that does not know %s is asked without it',
    async (name) => {
      await using at = await reviewedPull();
      at.github.state.settings.unknownFields.push(name);
      expect(await at.forge.pullRequestNow('ralph/queue')).toMatchObject({
        number: 1,
        checks: { kind: 'known', head: [{ name: 'test' }] },
      });
    },
  );
});

test('numbers that an older server does not know are asked by their older name', () => {
  const query = buildPullRequestQuery(new Set(['fullDatabaseId', 'file']));
  expect(query).toContain('nodes { fullDatabaseId: databaseId url state');
  expect(query).not.toMatch(/file \{|fullDatabaseId (?!url)/);
});

describe("errors of GitHub's GraphQL servers are weather", () => {
  test.each<[string, FaultEffect, string]>([
    ['without data', words(SLOW), 'Something went wrong'],
    [
      'with an empty repository',
      answer(200, { data: { repository: null }, errors: [{ message: SLOW }] }),
      'Something went wrong',
    ],
    [
      'of limits',
      words('Resource limits for this query exceeded.', { type: 'RESOURCE_LIMITS_EXCEEDED' }),
      'Resource limits',
    ],
    ['of limits, by its type alone', words('Ask for less.', { type: 'RESOURCE_LIMITS_EXCEEDED' }), 'Ask for less'],
    ['of its service', words('Loading', { type: 'SERVICE_UNAVAILABLE' }), 'Loading'],
    ['of time', words('timedout'), 'timedout'],
    ['as a page', answer(502, '<html>Unicorn!</html>'), '502'],
    ['as a page that says 504', answer(504, '<html></html>'), '504'],
  ])('%s', async (_what, effect, said) => {
    await using at = await openForge();
    at.github.faults.inject({ match: { path: /graphql$/ }, times: 99, effect });
    for (const read of [
      () => at.forge.statesOf([1]),
      () => at.forge.issueHistories([1], 'ralph'),
      () => at.forge.commentsOf([1]),
      () => at.forge.pullRequestNow('ralph/queue'),
      () => at.forge.waitingPullRequests('ralph/'),
    ]) {
      const { kind, message } = await refusedWith(read());
      expect(kind).toBe('infrastructure');
      expect(message).toContain(said);
      expect(message).not.toContain('Check the rules');
    }
  });

  test('are requested again, and a failure that passes is not reported', async () => {
    await using at = await openForge();
    at.github.faults.inject({ match: { path: /graphql$/ }, times: 1, effect: words(SLOW) });
    expect((await at.forge.statesOf([1])).get(1)).toBe('missing');
    expect(at.sent()).toHaveLength(2);
  });

  test('and others are not taken for it', async () => {
    await using at = await openForge();
    at.github.faults.inject({ match: { path: /graphql$/ }, times: 9, effect: words('Parse error on "}"') });
    expect((await refusedWith(at.forge.statesOf([1]))).kind).toBe('configuration');
    expect(at.sent()).toHaveLength(1);
  });
});
