import { describe, expect, test } from 'vitest';
import { addSubIssue, blockIssue, deleteIssue, transferIssue } from '../../../testbed/github/people.ts';
import { addIssue, ensureLabel } from '../../../testbed/github/state.ts';
import { now, openForge, openPull, refusedWith } from './github-fixture.ts';

const issue = { title: 'Add a greeting', body: 'Say hello.', labels: ['ralph'], author: 'stranger' };

describe('the repository', () => {
  test('its default branch is what GitHub says, in one request', async () => {
    await using at = await openForge();
    expect(await at.forge.defaultBranch()).toBe('main');
    expect(at.forge.requests().sent).toBe(1);
  });

  test('nothing is sent before a method needs the API', async () => {
    await using at = await openForge();
    expect(at.forge.requests().sent).toBe(0);
    expect(at.sent()).toEqual([]);
  });
});

describe('open issues with a label', () => {
  test('all pages are read, oldest first, 100 at a time', async () => {
    await using at = await openForge();
    for (let count = 0; count < 250; count += 1)
      addIssue(at.github.state, { ...issue, title: `Task ${String(count + 1)}` }, now);
    const found = await at.forge.openIssuesWithLabel('ralph');
    expect(found.map(({ number }) => number)).toEqual(Array.from({ length: 250 }, (_, index) => index + 1));
    expect(at.forge.requests().sent).toBe(3);
  });

  test.each([
    { open: 1000, requests: 10, seen: 1000, warnings: 0 },
    { open: 1001, requests: 11, seen: 1001, warnings: 0 },
    { open: 2000, requests: 20, seen: 2000, warnings: 0 },
    { open: 2050, requests: 20, seen: 2000, warnings: 1 },
  ])('$open of them take $requests requests, and $seen are seen', async ({ open, requests, seen, warnings }) => {
    await using at = await openForge();
    for (let count = 0; count < open; count += 1) addIssue(at.github.state, issue, now);
    expect(await at.forge.openIssuesWithLabel('ralph')).toHaveLength(seen);
    expect(at.forge.requests().sent).toBe(requests);
    expect(at.logged).toEqual(
      Array(warnings).fill(
        'More than 2,000 open issues and pull requests have the label "ralph": this run sees the oldest 2,000 only. Close some, or remove the label.',
      ),
    );
  });

  test('one that GitHub lists by mistake, of another repository or without the label, is dropped', async () => {
    await using at = await openForge();
    addIssue(at.github.state, issue, now);
    const entry = (number: number, repository: string, label: string) => ({
      number,
      title: '',
      html_url: '',
      state: 'open',
      labels: [{ name: label }],
      repository_url: `${at.github.url}/repos/${repository}`,
    });
    at.github.faults.inject({
      match: { path: /issues$/ },
      times: 1,
      effect: {
        kind: 'answer',
        status: 200,
        body: [entry(1, 'octo/demo', 'Ralph'), entry(2, 'octo/demo2', 'ralph'), entry(3, 'octo/demo', 'bug')],
      },
    });
    expect((await at.forge.openIssuesWithLabel('ralph')).map(({ number }) => number)).toEqual([1]);
  });

  test('a label that nobody uses is not an error', async () => {
    await using at = await openForge();
    addIssue(at.github.state, issue, now);
    expect(await at.forge.openIssuesWithLabel('ralhp')).toEqual([]);
  });

  test('texts come as they are: NUL, right-to-left overrides, line breaks and comments in titles, bodies and labels', async () => {
    await using at = await openForge();
    const strange = {
      title: 'Fix\u0000 \u202Eevil\u202C\r\n--> <!-- x',
      body: '\u0000\u2066שלום\u2069',
      labels: ['ralph', 'עדיפות: גבוהה\u202E', '🚀/ship it'],
    };
    addIssue(at.github.state, { ...strange, author: 'stranger' }, now);
    expect(await at.forge.openIssuesWithLabel('ralph')).toMatchObject([strange]);
  });

  test('an issue says how many others it waits for', async () => {
    await using at = await openForge();
    for (let count = 0; count < 3; count += 1) addIssue(at.github.state, issue, now);
    blockIssue(at.github.state, 1, { number: 2 });
    addSubIssue(at.github.state, 1, { number: 3 });
    addSubIssue(at.github.state, 1, { number: 8, repository: 'octo/lib', state: 'closed' });
    expect((await at.forge.openIssuesWithLabel('ralph'))[0]).toMatchObject({ blockedBy: 1, openSubIssues: 1 });
  });

  test('closed ones, others and pull requests are left out', async () => {
    await using at = await openForge();
    addIssue(at.github.state, issue, now);
    addIssue(at.github.state, { ...issue, labels: ['bug'] }, now);
    addIssue(at.github.state, issue, now).state = 'closed';
    const { number } = await openPull(at, { title: 'Work', body: '', head: 'ralph/queue', base: 'main', draft: true });
    at.github.state.issues.find((candidate) => candidate.number === number)?.labels.push('ralph');
    expect((await at.forge.openIssuesWithLabel('ralph')).map((found) => found.number)).toEqual([1]);
  });

  test('an issue comes with its text, labels and address', async () => {
    await using at = await openForge();
    addIssue(at.github.state, { ...issue, labels: ['ralph', 'priority: high'] }, now);
    expect(await at.forge.openIssuesWithLabel('ralph')).toEqual([
      {
        number: 1,
        title: 'Add a greeting',
        body: 'Say hello.',
        url: `${at.github.url}/octo/demo/issues/1`,
        labels: ['ralph', 'priority: high'],
        state: 'open',
        isPullRequest: false,
        blockedBy: 0,
        openSubIssues: 0,
      },
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
    expect(message).toBe(
      'GitHub did not let us list the open issues labelled "ralph" in octo/demo (410 Issues has been disabled in this repository.). If issues are turned off, turn them on: Settings → General → Features → Issues.',
    );
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
    const { number } = await openPull(at, { title: 'Work', body: '', head: 'ralph/queue', base: 'main', draft: false });
    expect(await at.forge.issue(number)).toMatchObject({ isPullRequest: true });
  });

  test('an absent one is null', async () => {
    await using at = await openForge();
    expect(await at.forge.issue(7)).toBeNull();
  });

  test('a deleted one is null', async () => {
    await using at = await openForge();
    addIssue(at.github.state, issue, now);
    deleteIssue(at.github.state, 1);
    expect(await at.forge.issue(1)).toBeNull();
  });

  test('a transferred one is null, although GitHub leads to where it went', async () => {
    await using at = await openForge();
    addIssue(at.github.state, issue, now);
    transferIssue(at.github.state, 1, { to: 'octo/other', as: 5 });
    expect(await at.forge.issue(1)).toBeNull();
    expect(at.sent()).toEqual(['GET /issues/1', 'GET /repos/octo/other/issues/5']);
  });

  test.each([
    ['This issue was deleted', null],
    ['Issues has been disabled in this repository.', 'UserError'],
  ])('410 "%s" is %s', async (message, expected) => {
    await using at = await openForge();
    at.github.faults.inject({
      match: { path: /issues\/7$/ },
      times: 1,
      effect: { kind: 'answer', status: 410, body: { message } },
    });
    const answer: unknown = await at.forge.issue(7).catch((error: unknown) => (error as Error).name);
    expect(answer).toBe(expected);
  });
});

test('labels of the stand-in are compared without case, as GitHub does', async () => {
  await using at = await openForge();
  ensureLabel(at.github.state, 'Ralph');
  addIssue(at.github.state, { ...issue, labels: ['Ralph'] }, now);
  expect(await at.forge.openIssuesWithLabel('ralph')).toHaveLength(1);
});
