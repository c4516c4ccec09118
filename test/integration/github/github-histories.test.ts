import { describe, expect, test } from 'vitest';
import {
  closeIssue,
  deleteIssue,
  editComment,
  editIssue,
  labelIssue,
  minimizeComment,
  reopenIssue,
  transferIssue,
  unlabelIssue,
} from '../../../testbed/github/people.ts';
import { addComment, addIssue } from '../../../testbed/github/state.ts';
import type { IssueHistory } from '../../../src/ports/forge.ts';
import { type ForgeFixture, now, openForge, openPull, refusedWith } from './github-fixture.ts';

const issue = { title: 'Add a greeting', body: 'Say hello.', labels: [], author: 'stranger' };
const MINUTE = 60_000;
const user = (login: string) =>
  expect.objectContaining({ login, kind: 'user', id: expect.any(Number) as number }) as unknown;

describe('the person who labelled an issue', () => {
  test('is reported with the account, its id and the instant, oldest first', async () => {
    await using at = await openForge();
    addIssue(at.github.state, issue, now);
    at.github.state.accounts.set('octo', { id: 583231, type: 'User' });
    labelIssue(at.github.state, 1, { label: 'ralph', by: 'octo', now: now + MINUTE });
    unlabelIssue(at.github.state, 1, { label: 'ralph', by: 'stranger', now: now + 2 * MINUTE });
    labelIssue(at.github.state, 1, { label: 'ralph', by: 'octo', now: now + 3 * MINUTE });
    const octo = { login: 'octo', id: 583231, kind: 'user' };
    expect((await historyOf(at)).labelings).toEqual([
      { kind: 'labeled', label: 'ralph', by: octo, at: now + MINUTE },
      { kind: 'unlabeled', label: 'ralph', by: user('stranger'), at: now + 2 * MINUTE },
      { kind: 'labeled', label: 'ralph', by: octo, at: now + 3 * MINUTE },
    ]);
  });

  test('only the task label, in any case, and ralph:needs-approval count', async () => {
    await using at = await openForge();
    addIssue(at.github.state, { ...issue, labels: ['Ralph', 'bug', 'ralph:needs-approval', 'ralph:done'] }, now);
    expect((await historyOf(at)).labelings.map(({ label }) => label)).toEqual(['Ralph', 'ralph:needs-approval']);
  });

  test('a task label with blanks, quotes and braces is compared, never written into the query', async () => {
    await using at = await openForge();
    const label = 'go: "ralph" } \\ 🚀/\n#x';
    addIssue(at.github.state, { ...issue, labels: [label] }, now);
    expect((await at.forge.issueHistories([1], label)).get(1)?.labelings).toMatchObject([{ label }]);
    expect(JSON.stringify(at.github.requests)).not.toContain('🚀');
  });

  test('labels that our token puts on are reported as those of the bot', async () => {
    await using at = await openForge();
    addIssue(at.github.state, issue, now);
    await at.forge.changeLabels(1, {
      from: [],
      add: [{ name: 'ralph:needs-approval', color: 'fbca04', description: '' }],
      remove: [],
    });
    expect((await historyOf(at)).labelings).toMatchObject([
      { kind: 'labeled', by: { login: 'github-actions[bot]', kind: 'bot' } },
    ]);
  });

  test('of labels given with the issue it is the author if they may write, and the owner if not', async () => {
    await using at = await openForge();
    at.github.state.collaborators.set('writer', { permission: 'write', roleName: 'write' });
    for (const author of ['stranger', 'writer'])
      addIssue(at.github.state, { ...issue, labels: ['ralph'], author }, now);
    addIssue(at.github.state, { ...issue, labels: ['ralph'], labelledBy: 'stranger' }, now);
    const histories = await at.forge.issueHistories([1, 2, 3], 'ralph');
    expect([...histories.values()].map(({ labelings }) => labelings[0]?.by?.login)).toEqual([
      'octo',
      'writer',
      'stranger',
    ]);
  });
});

describe('an account', () => {
  test.each([
    { what: 'that was deleted', login: 'ghost-deleted', type: 'User', by: null },
    { what: 'of an app', login: 'renovate[bot]', type: 'Bot', by: { login: 'renovate[bot]', id: 7, kind: 'bot' } },
    {
      what: 'of a person with the name of an app',
      login: 'renovate',
      type: 'User',
      by: { login: 'renovate', id: 7, kind: 'user' },
    },
    { what: 'that an import made up, with the name of a person', login: 'octo', type: 'Mannequin', by: null },
  ] as const)('$what is $by', async ({ login, type, by }) => {
    await using at = await openForge();
    at.github.state.accounts.set(login, { id: 7, type });
    addIssue(at.github.state, { ...issue, labels: ['ralph'], labelledBy: login }, now);
    expect((await historyOf(at)).labelings).toMatchObject([{ by }]);
  });
});

describe('the people who reopened and changed an issue', () => {
  test('reopenings are reported, closings are not', async () => {
    await using at = await openForge();
    addIssue(at.github.state, issue, now);
    closeIssue(at.github.state, 1, { by: 'octo', now: now + MINUTE });
    reopenIssue(at.github.state, 1, { by: 'stranger', now: now + 2 * MINUTE });
    expect(await historyOf(at)).toEqual({
      given: [],
      labelings: [],
      reopenings: [{ by: user('stranger'), at: now + 2 * MINUTE }],
      edits: [],
      truncated: false,
    });
  });

  test('changes of title and body are one list, which leaves out the first version', async () => {
    await using at = await openForge();
    addIssue(at.github.state, issue, now);
    editIssue(at.github.state, 1, { body: 'Say hi.', by: 'octo', now: now + MINUTE });
    editIssue(at.github.state, 1, { title: 'Greet', by: 'stranger', now: now + 2 * MINUTE });
    editIssue(at.github.state, 1, { body: 'Say good day.', by: 'stranger', now: now + 3 * MINUTE });
    expect(await historyOf(at)).toMatchObject({
      edits: [
        { by: user('octo'), at: now + MINUTE },
        { by: user('stranger'), at: now + 2 * MINUTE },
        { by: user('stranger'), at: now + 3 * MINUTE },
      ],
      truncated: false,
    });
  });

  test('an issue that nobody changed has no edits', async () => {
    await using at = await openForge();
    addIssue(at.github.state, issue, now);
    expect(await historyOf(at)).toEqual({ given: [], labelings: [], reopenings: [], edits: [], truncated: false });
  });

  test('a change by an account that is gone is a change by nobody known', async () => {
    await using at = await openForge();
    addIssue(at.github.state, issue, now);
    editIssue(at.github.state, 1, { body: 'Other.', by: 'ghost-deleted', now: now + MINUTE });
    expect((await historyOf(at)).edits).toEqual([{ by: null, at: now + MINUTE }]);
  });
});

describe('a history is marked as cut', () => {
  test.each([
    { what: '49 changes of the body', edits: 49, events: 0, truncated: false },
    { what: '50 changes, so that the first writing is beyond the 50 entries', edits: 50, events: 0, truncated: true },
    { what: '100 events', edits: 0, events: 100, truncated: false },
    { what: '101 events', edits: 0, events: 101, truncated: true },
  ])('$what: $truncated; the newest are there', async ({ edits, events, truncated }) => {
    await using at = await openForge();
    addIssue(at.github.state, issue, now);
    for (let count = 1; count <= edits; count += 1)
      editIssue(at.github.state, 1, { body: `Text ${String(count)}`, by: 'octo', now: now + count * MINUTE });
    for (let count = 1; count <= events; count += 1)
      editIssue(at.github.state, 1, { title: `Title ${String(count)}`, by: 'octo', now: now + count * MINUTE });
    const history = await historyOf(at);
    expect(history.truncated).toBe(truncated);
    expect(history.edits.at(-1)?.at).toBe(now + (edits + events) * MINUTE);
    expect(history.edits).toHaveLength(Math.min(edits, 50) + Math.min(events, 100));
  });

  const quiet = {
    lastEditedAt: null,
    editor: null,
    includesCreatedEdit: false,
    userContentEdits: { pageInfo: { hasNextPage: false }, nodes: [] as unknown[] },
    timelineItems: { pageInfo: { hasPreviousPage: false }, nodes: [] as unknown[] },
  };
  const person = { __typename: 'User', login: 'stranger', databaseId: 9 };
  const edited = { lastEditedAt: '2026-11-21T12:01:00Z', editor: person };
  const entry = (editedAt: string) => ({ editedAt, editor: person });
  const stranger = { login: 'stranger', id: 9, kind: 'user' };

  test.each([
    {
      what: 'the last change is not in the list of changes: it is added',
      answer: { ...quiet, ...edited },
      edits: [{ by: stranger, at: now + MINUTE }],
    },
    {
      what: 'the list has older changes only: the last one is added',
      answer: {
        ...quiet,
        ...edited,
        userContentEdits: { ...quiet.userContentEdits, nodes: [entry('2026-11-21T11:00:00Z')] },
      },
      edits: [
        { by: stranger, at: now - 60 * MINUTE },
        { by: stranger, at: now + MINUTE },
      ],
    },
    {
      what: 'GitHub gives no list of changes at all',
      answer: { ...quiet, ...edited, userContentEdits: null },
      edits: [{ by: stranger, at: now + MINUTE }],
    },
    {
      what: 'a change is kept back: anybody may have made it, as late as the last',
      answer: {
        ...quiet,
        ...edited,
        userContentEdits: { ...quiet.userContentEdits, nodes: [null, entry('2026-11-21T12:01:00Z')] },
      },
      edits: [
        { by: stranger, at: now + MINUTE },
        { by: null, at: now + MINUTE },
      ],
    },
    {
      what: 'an event is kept back',
      answer: { ...quiet, timelineItems: { ...quiet.timelineItems, nodes: [null] } },
      edits: [],
    },
  ])('when $what', async ({ answer, edits }) => {
    await using at = await openForge();
    at.github.faults.inject({
      match: { path: /graphql$/ },
      times: 1,
      effect: { kind: 'answer', status: 200, body: { data: { repository: { i1: answer } } } },
    });
    expect(await historyOf(at)).toEqual({ given: [], labelings: [], reopenings: [], edits, truncated: true });
  });
});

describe('histories of many issues', () => {
  test('come 50 a request, each number once', async () => {
    await using at = await openForge();
    for (let count = 0; count < 51; count += 1) addIssue(at.github.state, { ...issue, labels: ['ralph'] }, now);
    const numbers = at.github.state.issues.map(({ number }) => number);
    const found = await at.forge.issueHistories([...numbers, ...numbers], 'ralph');
    expect([...found.keys()]).toEqual(numbers);
    expect([...found.values()].every(({ labelings }) => labelings.length === 1)).toBe(true);
    expect(at.sent()).toEqual(['POST /graphql', 'POST /graphql']);
  });

  test('without a requested issue no request is sent', async () => {
    await using at = await openForge();
    expect(await at.forge.issueHistories([], 'ralph')).toEqual(new Map());
    expect(at.sent()).toEqual([]);
  });

  test('deleted, transferred and unknown issues, pull requests and impossible numbers are left out, and harm no other', async () => {
    await using at = await openForge();
    for (let count = 0; count < 3; count += 1) addIssue(at.github.state, issue, now);
    deleteIssue(at.github.state, 1);
    transferIssue(at.github.state, 2, { to: 'octo/other', as: 5 });
    const { number } = await openPull(at, { title: 'Work', body: '', head: 'ralph/queue', base: 'main', draft: true });
    const found = await at.forge.issueHistories(
      [1, 2, 3, number, 99, 0, -1, 1.5, NaN, 2 ** 31, Number.MAX_SAFE_INTEGER],
      'ralph',
    );
    expect([...found.keys()]).toEqual([3]);
  });

  describe('any other error beside data', () => {
    const besideData = (type: string) => ({
      data: { repository: { i1: null } },
      errors: [
        { type: 'NOT_FOUND', path: ['repository', 'i2'], message: 'gone' },
        { type, path: ['repository', 'i1'], message: 'busy' },
      ],
    });

    test.each([
      { type: 'FORBIDDEN', times: 1, what: 'a refusal, at once' },
      { type: 'SERVICE_UNAVAILABLE', times: 10, what: 'weather that does not pass' },
    ])('fails: $what', async ({ type, times }) => {
      await using at = await openForge();
      const effect = { kind: 'answer', status: 200, body: besideData(type) } as const;
      at.github.faults.inject({ match: { path: /graphql$/ }, times, effect });
      expect((await refusedWith(at.forge.issueHistories([1, 2], 'ralph'))).message).toContain(
        'read who labelled and changed issues',
      );
    });

    test('is asked again for fewer issues, where it is weather', async () => {
      await using at = await openForge();
      addIssue(at.github.state, issue, now);
      addIssue(at.github.state, issue, now);
      const effect = { kind: 'answer', status: 200, body: besideData('SERVICE_UNAVAILABLE') } as const;
      at.github.faults.inject({ match: { path: /graphql$/ }, times: 1, effect });
      expect([...(await at.forge.issueHistories([1, 2], 'ralph')).keys()]).toEqual([1, 2]);
      expect(at.sent()).toEqual(['POST /graphql', 'POST /graphql', 'POST /graphql']);
    });
  });

  test('a repository that the token does not see fails', async () => {
    await using at = await openForge({ permissions: {} });
    expect((await refusedWith(at.forge.issueHistories([1], 'ralph'))).message).toContain(
      "(404 Could not resolve to a Repository with the name 'octo/demo'.)",
    );
  });

  test.each([502, 200])('a hiccup of GitHub (status %i) is tried again', async (status) => {
    await using at = await openForge();
    addIssue(at.github.state, issue, now);
    const body =
      status === 200
        ? {
            errors: [
              {
                message:
                  'Something went wrong while executing your query. Please include ABCD when reporting this issue.',
              },
            ],
          }
        : { message: 'Server Error' };
    at.github.faults.inject({ match: { path: /graphql$/ }, times: 1, effect: { kind: 'answer', status, body } });
    expect((await at.forge.issueHistories([1], 'ralph')).size).toBe(1);
  });
});

describe('comments', () => {
  test('come with author, instant, last change and whether they are hidden, oldest first', async () => {
    await using at = await openForge();
    addIssue(at.github.state, issue, now);
    const first = addComment(
      at.github.state,
      { issue: 1, body: 'First\u0000 \u202E-->', author: { login: 'octo', type: 'User' } },
      now,
    );
    const second = addComment(
      at.github.state,
      { issue: 1, body: 'Second', author: { login: 'renovate[bot]', type: 'Bot' } },
      now + MINUTE,
    );
    addComment(
      at.github.state,
      { issue: 1, body: 'Third', author: { login: 'ghost-deleted', type: 'User' } },
      now + 2 * MINUTE,
    );
    minimizeComment(at.github.state, first.id);
    editComment(at.github.state, second.id, { body: 'Second, changed', by: 'stranger', now: now + 3 * MINUTE });
    expect((await at.forge.commentsOf([1])).get(1)).toEqual([
      { by: user('octo'), body: 'First\u0000 \u202E-->', at: now, edited: null, minimized: true },
      {
        by: expect.objectContaining({ login: 'renovate[bot]', kind: 'bot' }) as unknown,
        body: 'Second, changed',
        at: now + MINUTE,
        edited: { by: user('stranger'), at: now + 3 * MINUTE },
        minimized: false,
      },
      { by: null, body: 'Third', at: now + 2 * MINUTE, edited: null, minimized: false },
    ]);
  });

  test('are the newest 50 of each issue', async () => {
    await using at = await openForge();
    addIssue(at.github.state, issue, now);
    for (let count = 1; count <= 51; count += 1)
      addComment(at.github.state, { issue: 1, body: String(count), author: { login: 'octo', type: 'User' } }, now);
    expect((await at.forge.commentsOf([1])).get(1)?.map(({ body }) => body)).toEqual(
      Array.from({ length: 50 }, (_, index) => String(index + 2)),
    );
  });

  test('of ten issues take one request; an issue that is gone is left out, one without comments has none', async () => {
    await using at = await openForge();
    for (let count = 0; count < 11; count += 1) addIssue(at.github.state, issue, now);
    deleteIssue(at.github.state, 2);
    const found = await at.forge.commentsOf(Array.from({ length: 11 }, (_, index) => index + 1));
    expect([...found.keys()]).toEqual([1, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(found.get(1)).toEqual([]);
    expect(at.forge.requests().sent).toBe(2);
  });

  test('that we changed ourselves are reported as changed by us', async () => {
    await using at = await openForge();
    addIssue(at.github.state, issue, now);
    await at.forge.upsertComment(1, '<!-- ralph -->', 'One');
    await at.forge.upsertComment(1, '<!-- ralph -->', 'Two');
    expect((await at.forge.commentsOf([1])).get(1)).toMatchObject([
      { by: { login: 'github-actions[bot]', kind: 'bot' }, edited: { by: { login: 'github-actions[bot]' }, at: now } },
    ]);
  });
});

async function historyOf({ forge }: ForgeFixture): Promise<IssueHistory> {
  const history = (await forge.issueHistories([1], 'ralph')).get(1);
  if (history === undefined) throw new Error('no history of issue 1');
  return history;
}
