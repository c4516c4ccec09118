import { describe, expect, test } from 'vitest';
import { addIssue, ensureLabel } from '../../sandbox/github/state.ts';
import { now, openForge, refusedWith } from './github-fixture.ts';

const issue = { title: 'Add a greeting', body: 'Say hello.', labels: ['ralph'], author: 'stranger' };

describe('the repository', () => {
  test('its default branch is what GitHub says, in one request', async () => {
    await using at = await openForge();
    expect(await at.forge.defaultBranch()).toBe('main');
    expect(at.forge.requestCount()).toBe(1);
  });

  test('nothing is sent before a method needs the API', async () => {
    await using at = await openForge();
    expect(at.forge.requestCount()).toBe(0);
    expect(at.sent()).toEqual([]);
  });
});

describe('open issues with a label', () => {
  test('all pages are read, oldest first, 100 at a time', async () => {
    await using at = await openForge();
    for (let count = 0; count < 250; count += 1) addIssue(at.github.state, { ...issue, title: `Task ${String(count + 1)}` }, now);
    const found = await at.forge.openIssuesWithLabel('ralph');
    expect(found.map(({ number }) => number)).toEqual(Array.from({ length: 250 }, (_, index) => index + 1));
    expect(at.forge.requestCount()).toBe(3);
  });

  test('closed ones, others and pull requests are left out', async () => {
    await using at = await openForge();
    addIssue(at.github.state, issue, now);
    addIssue(at.github.state, { ...issue, labels: ['bug'] }, now);
    addIssue(at.github.state, issue, now).state = 'closed';
    const { number } = await at.forge.openPullRequest({ title: 'Work', body: '', head: 'ralph/queue', base: 'main', draft: true });
    at.github.state.issues.find((candidate) => candidate.number === number)?.labels.push('ralph');
    expect((await at.forge.openIssuesWithLabel('ralph')).map((found) => found.number)).toEqual([1]);
  });

  test('an issue comes with its text, labels and address', async () => {
    await using at = await openForge();
    addIssue(at.github.state, { ...issue, labels: ['ralph', 'priority: high'] }, now);
    expect(await at.forge.openIssuesWithLabel('ralph')).toEqual([
      { number: 1, title: 'Add a greeting', body: 'Say hello.', url: `${at.github.url}/octo/demo/issues/1`, labels: ['ralph', 'priority: high'], state: 'open', isPullRequest: false },
    ]);
  });

  test('a label with blanks and signs is one label', async () => {
    await using at = await openForge();
    addIssue(at.github.state, { ...issue, labels: ['ralph: go & do?'] }, now);
    expect(await at.forge.openIssuesWithLabel('ralph: go & do?')).toHaveLength(1);
  });

  test('issues that are switched off end with where to switch them on', async () => {
    await using at = await openForge();
    at.github.state.settings.issuesEnabled = false;
    const { kind, message } = await refusedWith(at.forge.openIssuesWithLabel('ralph'));
    expect(kind).toBe('configuration');
    expect(message).toBe('GitHub did not let us list the open issues labelled "ralph" in octo/demo (410 Issues has been disabled in this repository.). If issues are switched off, switch them on: Settings → General → Features → Issues.');
  });
});

describe('one issue', () => {
  test('is read by its number', async () => {
    await using at = await openForge();
    addIssue(at.github.state, issue, now).state = 'closed';
    expect(await at.forge.issue(1)).toMatchObject({ number: 1, state: 'closed', isPullRequest: false });
  });

  test('a pull request says that it is one', async () => {
    await using at = await openForge();
    const { number } = await at.forge.openPullRequest({ title: 'Work', body: '', head: 'ralph/queue', base: 'main', draft: false });
    expect(await at.forge.issue(number)).toMatchObject({ isPullRequest: true });
  });

  test('an absent one is null', async () => {
    await using at = await openForge();
    expect(await at.forge.issue(7)).toBeNull();
  });

  test.each([
    ['This issue was deleted', null],
    ['Issues has been disabled in this repository.', 'UserError'],
  ])('410 "%s" is %s', async (message, expected) => {
    await using at = await openForge();
    at.github.faults.inject({ match: { path: /issues\/7$/ }, times: 1, effect: { kind: 'answer', status: 410, body: { message } } });
    const answer: unknown = await at.forge.issue(7).catch((error: unknown) => (error as Error).name);
    expect(answer).toBe(expected);
  });
});

describe('permission of a person', () => {
  test.each([
    ['admin', 'admin', 'admin'],
    ['write', 'maintain', 'maintain'],
    ['write', 'write', 'write'],
    ['read', 'triage', 'triage'],
    ['read', 'read', 'read'],
    ['write', 'release-crew', 'write'],
  ] as const)('%s with the role %s is %s', async (permission, roleName, expected) => {
    await using at = await openForge();
    at.github.state.collaborators.set('someone', { permission, roleName });
    expect(await at.forge.permissionOf('someone')).toBe(expected);
  });

  test('a stranger in a public repository may read', async () => {
    await using at = await openForge();
    expect(await at.forge.permissionOf('stranger')).toBe('read');
  });

  test('who has no account any more has none', async () => {
    await using at = await openForge();
    expect(await at.forge.permissionOf('gone-deleted')).toBe('none');
  });

  test('a login is data, never a path', async () => {
    await using at = await openForge();
    await at.forge.permissionOf('dependabot[bot]/../admin');
    expect(at.sent()).toEqual(['GET /collaborators/dependabot%5Bbot%5D%2F..%2Fadmin/permission']);
  });
});

test('labels of the stand-in are compared without case, as GitHub does', async () => {
  await using at = await openForge();
  ensureLabel(at.github.state, 'Ralph');
  addIssue(at.github.state, { ...issue, labels: ['Ralph'] }, now);
  expect(await at.forge.openIssuesWithLabel('ralph')).toHaveLength(1);
});
