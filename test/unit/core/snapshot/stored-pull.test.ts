import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../../src/core/countdown.ts';
import {
  emptySnapshot,
  isSnapshotFile,
  parseSnapshot,
  serializeSnapshot,
  type Snapshot,
} from '../../../../src/core/snapshot/snapshot.ts';
import {
  type ClosedPull,
  MAX_PULLS,
  MAX_TASKS_OF_PULL,
  listMergesToJudge,
  listStoredPulls,
  type StoredPull,
  withPublishedPull,
  withPullNews,
} from '../../../../src/core/snapshot/stored-pull.ts';
import { noon } from '../core-fixtures.ts';
import { closedPull, HEAD, publishedPull, pullTask, withEnded } from '../history/history-fixture.ts';

const only = (snapshot: Snapshot): StoredPull | undefined => listStoredPulls(snapshot)[0];
const published = withPublishedPull(emptySnapshot, publishedPull());
const merged = withEnded(emptySnapshot, publishedPull(), {});
const reverts = (message: string, at = noon + DAY_MS): StoredPull | undefined =>
  only(withPullNews(merged, { closed: [], reverts: [{ at, message }] }));

describe('the pull requests that a repository remembers', () => {
  test('are files of the snapshot, those opened last first, and survive being stored', () => {
    const all = [1, 3, 2].reduce(
      (next, number) => withPublishedPull(next, publishedPull({ number, publishedAt: noon + number })),
      emptySnapshot,
    );
    expect([...all.keys()].every(isSnapshotFile)).toBe(true);
    expect(listStoredPulls(parseSnapshot(serializeSnapshot(all))).map(({ number }) => number)).toEqual([3, 2, 1]);
  });

  test('are one each, however often a run publishes them', () => {
    const again = publishedPull({ reviewedAt: noon, personHead: 'b'.repeat(40) });
    const once = withPublishedPull(published, again);
    expect(only(once)).toMatchObject({ openedAt: noon, reviewRounds: 1, peoplePushes: 1 });
    expect(withPublishedPull(once, again)).toBe(once);
    const later = { reviewedAt: noon + HOUR_MS, personHead: 'd'.repeat(40), publishedAt: noon + HOUR_MS };
    const next = withPublishedPull(once, publishedPull({ ...later, tasks: [pullTask({ id: 'issue-8' })] }));
    expect(only(next)).toMatchObject({ openedAt: noon, publishedAt: noon + HOUR_MS, reviewRounds: 2, peoplePushes: 2 });
    expect(only(next)?.tasks.map(({ id }) => id)).toEqual(['issue-7', 'issue-8']);
  });

  test('stay within their bounds: the first are dropped first', () => {
    const tasks = Array.from({ length: MAX_TASKS_OF_PULL }, (_, index) => pullTask({ id: `issue-${String(index)}` }));
    const many = Array.from({ length: MAX_PULLS + 5 }, (_, index) => index + 1);
    const kept = many.reduce(
      (next, number) => withPublishedPull(next, publishedPull({ number, publishedAt: noon + number })),
      emptySnapshot,
    );
    expect(listStoredPulls(kept)).toHaveLength(MAX_PULLS);
    expect(listStoredPulls(kept).at(-1)?.number).toBe(6);
    const large = many
      .slice(0, 200)
      .reduce(
        (next, number) => withPublishedPull(next, publishedPull({ number, publishedAt: noon + number, tasks })),
        emptySnapshot,
      );
    expect(listStoredPulls(large).length).toBeLessThan(200);
    expect(listStoredPulls(large)[0]?.number).toBe(200);
    expect([...large.values()].join('').length).toBeLessThanOrEqual(512 * 1024);
  });

  test.each([
    ['another version', { version: 2 }],
    ['an invalid cost', { costUsd: -1 }],
    ['the name of another one', { number: 99 }],
  ])('leave out a file with %s', (_, own) => {
    const [[path, text]] = [...published] as [[string, string]];
    expect(listStoredPulls(new Map([[path, JSON.stringify({ ...(JSON.parse(text) as object), ...own })]]))).toEqual([]);
  });
});

describe('how a pull request ended', () => {
  const person = { id: 'b'.repeat(40), message: 'Rename it', email: 'ann@example.com' };
  const ours = { id: HEAD, message: 'ours', email: 'ann@example.com' };
  test.each([
    ['merged as Ralph left it', {}, { kind: 'merged', peopleCommits: 0 }],
    ['merged with a commit of a person', { head: person.id, commits: [ours, person] }, { peopleCommits: 1 }],
    [
      'brought up to date by a button',
      {
        head: 'e',
        commits: [ours, { id: 'e', message: "Merge branch 'main' into ralph/x", email: 'ann@example.com' }],
      },
      { peopleCommits: 0 },
    ],
    [
      'rebased with the button, with a fix of a bot',
      {
        head: 'f',
        commits: [
          { ...ours, id: 'e', message: 'fix: it\n\nRalph-Run: 1' },
          { ...ours, id: 'f', email: '1+pre-commit-ci[bot]@users.noreply.github.com' },
        ],
      },
      { peopleCommits: 0 },
    ],
    [
      'brought up to date by a merge with edits',
      { head: 'e', commits: [ours, { id: 'e', message: '', email: 'ann@example.com' }] },
      { peopleCommits: 1 },
    ],
    ['rewritten by a person', { head: person.id, commits: [person, { ...person, id: 'f' }] }, { peopleCommits: 2 }],
    ['with unread commits', { head: person.id, commits: [] }, { peopleCommits: null }],
    ['closed', { kind: 'closed', commit: null }, { kind: 'closed', commit: null }],
  ] as const)('%s', (_, closed, end) => {
    expect(only(withEnded(emptySnapshot, publishedPull(), closed))?.end).toMatchObject(end);
  });

  test.each<[string, Partial<ClosedPull> & { readonly message?: string }, readonly string[]]>([
    ['a merge on top', {}, ['e']],
    ['a merge that a run made', { message: "Merge branch 'main' into ralph/x\n\nRalph-Run: 1" }, []],
    ['another commit', { message: 'Fix it' }, []],
    ['a pull request that was closed without merging', { kind: 'closed' }, []],
    ['another pull request', { number: 99 }, []],
  ])('is decided by the content of %s', (_, { message = "Merge branch 'main' into ralph/x", ...own }, commits) => {
    const after = { id: 'e', message, email: 'ann@example.com' };
    const before = { ...ours, id: 'd', message: "Merge branch 'main' into ralph/x" };
    const closed = closedPull({ head: 'e', commits: [before, ours, after], ...own });
    const snapshot = withPublishedPull(emptySnapshot, publishedPull());
    const expected = commits.length === 0 ? [] : [{ number: 12, commits }];
    expect(listMergesToJudge(snapshot, [closed])).toEqual(expected);
    expect(listMergesToJudge(withPullNews(snapshot, { closed: [closed], reverts: [] }), [closed])).toEqual([]);
  });

  test('is news once, until it is reopened and ends again', () => {
    const news = { closed: [closedPull()], reverts: [] };
    expect(withPullNews(merged, news)).toBe(merged);
    const closed = withEnded(emptySnapshot, publishedPull(), { kind: 'closed' });
    expect(only(withPublishedPull(closed, publishedPull()))?.end).toBeNull();
    expect(only(withPullNews(closed, { closed: [closedPull({ at: noon + DAY_MS })], reverts: [] }))?.end).toMatchObject(
      { kind: 'merged', at: noon + DAY_MS },
    );
  });

  test('gets the commits that an event did not tell', () => {
    const head = person.id;
    const told = withEnded(emptySnapshot, publishedPull(), { head, commits: [] });
    const known = withPullNews(told, { closed: [closedPull({ head, commits: [ours, person] })], reverts: [] });
    expect(only(known)?.end?.peopleCommits).toBe(1);
    expect(withPullNews(known, { closed: [closedPull({ head, commits: [] })], reverts: [] })).toBe(known);
  });

  test('does not matter for a pull request that no run published', () => {
    expect(withPullNews(published, { closed: [closedPull({ number: 13 })], reverts: [] })).toBe(published);
  });
});

describe('a revert', () => {
  const commit = 'c'.repeat(40);
  test.each([
    ['of a squashed commit', 'Revert "fix: the login form (#12)"\n\nThis reverts commit 0123.'],
    ['of a merge commit', 'Revert "Merge pull request #12 from acme/ralph/issue-7"'],
    ['by the commit alone', `Undo the login form\n\nThis reverts commit ${commit}.`],
    ['merged from a pull request', 'Revert "fix: the login form (#12)" (#14)'],
  ])('%s is found', (_, message) => {
    expect(reverts(message)?.reverted).toEqual({ at: noon + DAY_MS });
  });

  test.each([
    ['of another one', 'Revert "fix: the login form (#112)"', noon + DAY_MS],
    ['of a revert', 'Revert "Revert "fix: the login form (#12)""', noon + DAY_MS],
    ['that only names it', 'Revert "Mention (#12) in the docs"', noon + DAY_MS],
    ['before the merge', 'Revert "fix (#12)"', noon],
    ['after more than 30 days', 'Revert "fix (#12)"', noon + 31 * DAY_MS],
  ])('%s does not count', (_, message, at) => {
    expect(reverts(message, at)?.reverted).toBeNull();
  });

  test("by GitHub's button is a pull request of its own, which counts once merged", () => {
    const button = { number: 14, branch: 'revert-12-ralph/issue-7', at: noon + DAY_MS };
    const by = (kind: 'merged' | 'closed') =>
      only(withPullNews(merged, { closed: [closedPull({ ...button, kind })], reverts: [] }))?.reverted;
    expect(by('closed')).toBeNull();
    expect(by('merged')).toEqual({ at: noon + DAY_MS });
  });
});
