import { describe, expect, test } from 'vitest';
import { addSubIssue, blockIssue, closeIssue, deleteIssue, editComment } from '../../../testbed/github/people.ts';
import { addComment, addIssue, closePull } from '../../../testbed/github/state.ts';
import { type ForgeFixture, now, openForge, openPull } from './github-fixture.ts';

describe('the dependencies of an issue', () => {
  test('is what blocks it and its sub-issues, with their states; of other repositories as well', async () => {
    await using at = await openIssues(4);
    blockIssue(at.github.state, 1, { number: 2 });
    blockIssue(at.github.state, 1, { number: 7, repository: 'octo/lib', state: 'closed' });
    addSubIssue(at.github.state, 1, { number: 3 });
    addSubIssue(at.github.state, 1, { number: 9, repository: 'acme/demo', state: 'open' });
    closeIssue(at.github.state, 3, { by: 'octo', now });
    expect(await at.forge.dependenciesOf(1)).toEqual([
      { number: 2, state: 'open', elsewhere: null },
      { number: 7, state: 'closed', elsewhere: 'octo/lib' },
      { number: 3, state: 'closed', elsewhere: null },
      { number: 9, state: 'open', elsewhere: 'acme/demo' },
    ]);
  });

  test('may be nothing', async () => {
    await using at = await openIssues(1);
    expect(await at.forge.dependenciesOf(1)).toEqual([]);
    expect(at.logged).toEqual([]);
  });

  test('is read from all pages', async () => {
    await using at = await openIssues(102);
    for (let number = 2; number <= 102; number += 1) blockIssue(at.github.state, 1, { number });
    expect(await at.forge.dependenciesOf(1)).toHaveLength(101);
    expect(at.sent()).toEqual([
      'GET /issues/1/dependencies/blocked_by?per_page=100',
      'GET /issues/1/dependencies/blocked_by?per_page=100&page=2',
      'GET /issues/1/sub_issues?per_page=100',
    ]);
  });

  test('are empty on a server without dependencies, which is reported once', async () => {
    await using at = await openIssues(2);
    at.github.state.settings.dependenciesKnown = false;
    expect(await at.forge.dependenciesOf(1)).toEqual([]);
    expect(await at.forge.dependenciesOf(2)).toEqual([]);
    expect(at.logged).toEqual([
      'GitHub does not list dependencies or sub-issues of #1 (404): this server is too old to know them. Such issues count as having none.',
    ]);
    expect(await at.forge.openIssuesWithLabel('ralph')).toMatchObject([
      { blockedBy: 0, openSubIssues: 0 },
      { blockedBy: 0, openSubIssues: 0 },
    ]);
  });

  test('is nothing for an issue that was deleted', async () => {
    await using at = await openIssues(1);
    deleteIssue(at.github.state, 1);
    expect(await at.forge.dependenciesOf(1)).toEqual([]);
    expect(at.logged).toEqual([]);
  });
});

describe('states', () => {
  test('of issues and pull requests: open, closed (merged too) or missing', async () => {
    await using at = await openIssues(3);
    closeIssue(at.github.state, 2, { by: 'octo', now });
    deleteIssue(at.github.state, 3);
    const { number: merged } = await openPull(at, {
      title: 'Work',
      body: '',
      head: 'ralph/queue',
      base: 'main',
      draft: false,
    });
    closePull(at.github.state, merged, { kind: 'merged', at: now });
    const { number: open } = await openPull(at, {
      title: 'Work',
      body: '',
      head: 'ralph/queue',
      base: 'main',
      draft: false,
    });
    expect([...(await at.forge.statesOf([1, 2, 3, merged, open, 99]))]).toEqual([
      [1, 'open'],
      [2, 'closed'],
      [3, 'missing'],
      [merged, 'closed'],
      [open, 'open'],
      [99, 'missing'],
    ]);
  });

  test('come 100 a request', async () => {
    await using at = await openIssues(101);
    const found = await at.forge.statesOf(at.github.state.issues.map(({ number }) => number));
    expect([...found.values()].filter((state) => state === 'open')).toHaveLength(101);
    expect(at.forge.requests().sent).toBe(2);
  });

  test.each([0, -3, 1.5, 2 ** 31, Number.MAX_SAFE_INTEGER])(
    'of %s, which is not an issue number: missing, and nothing is sent',
    async (number) => {
      await using at = await openIssues(1);
      expect(await at.forge.statesOf([number])).toEqual(new Map([[number, 'missing']]));
      expect(at.sent()).toEqual([]);
    },
  );
});

/** Opens a forge whose repository has `count` issues labelled ralph. */
describe('sub-issues that Ralph makes', () => {
  const text = { title: 'Ducks', body: '<!-- mark -->\nCount them' };

  test('have their parent, and no label until they get one', async () => {
    await using at = await openIssues(1);
    const made = await at.forge.openSubIssue(1, text, null);
    const [parent, sub] = at.github.state.issues;
    expect(sub).toMatchObject({
      ...text,
      labels: [],
      number: made.number,
      id: made.id,
      author: { login: 'github-actions[bot]' },
    });
    expect(parent?.subIssues).toEqual([{ number: made.number }]);
    await at.forge.addLabels(made.number, ['ralph']);
    expect(await at.forge.openIssuesWithLabel('ralph')).toMatchObject([{ openSubIssues: 1 }, { number: made.number }]);
  });

  test('are known again, and linked only once', async () => {
    await using at = await openIssues(1);
    const made = await at.forge.openSubIssue(1, text, null);
    addIssue(at.github.state, { ...text, labels: [], author: 'stranger' }, now);
    expect(await at.forge.ownIssues()).toEqual([{ ...made, body: text.body }]);
    expect(await at.forge.openSubIssue(1, text, made)).toEqual(made);
    expect(at.github.state.issues).toHaveLength(3);
    expect(at.github.state.issues[0]?.subIssues).toHaveLength(1);
  });

  test('keep the parent that a person gave them', async () => {
    await using at = await openIssues(2);
    const made = await at.forge.openSubIssue(1, text, null);
    at.github.state.issues[0]?.subIssues.pop();
    addSubIssue(at.github.state, 2, { number: made.number });
    expect(await at.forge.openSubIssue(1, text, made)).toEqual(made);
    expect(at.github.state.issues[1]?.subIssues).toEqual([{ number: made.number }]);
  });

  test('wait for each other, once', async () => {
    await using at = await openIssues(1);
    const first = await at.forge.openSubIssue(1, text, null);
    const second = await at.forge.openSubIssue(1, text, null);
    for (let times = 0; times < 2; times += 1) await at.forge.addDependency(second.number, first.id);
    expect(at.github.state.issues.at(-1)?.blockedBy).toEqual([{ number: first.number }]);
  });

  test('are refused without `issues: write`', async () => {
    await using at = await openForge({ permissions: { metadata: 'read', issues: 'read' } });
    addIssue(at.github.state, { title: 'One', body: '', labels: [], author: 'octo' }, now);
    await expect(at.forge.openSubIssue(1, text, null)).rejects.toThrow(/issues: write/);
  });
});

describe('a comment of our own', () => {
  test('is found by its first line, unless a stranger wrote it, with whether anybody has edited it', async () => {
    await using at = await openIssues(1);
    const body = '<!-- mark -->\nDucks';
    addComment(at.github.state, { issue: 1, body, author: { login: 'stranger', type: 'User' } }, now);
    expect(await at.forge.ownComment(1, '<!-- mark -->')).toBeNull();
    const { id } = await at.forge.upsertComment(1, '<!-- mark -->', body);
    expect(await at.forge.ownComment(1, '<!-- mark -->')).toEqual({ body, at: now, isEdited: false });
    editComment(at.github.state, id, { body, by: 'octo', now });
    expect(await at.forge.ownComment(1, '<!-- mark -->')).toMatchObject({ isEdited: true });
    expect(await at.forge.ownComment(1, '<!-- other -->')).toBeNull();
  });
});

async function openIssues(count: number): Promise<ForgeFixture> {
  const at = await openForge();
  for (let number = 1; number <= count; number += 1)
    addIssue(
      at.github.state,
      { title: `Task ${String(number)}`, body: '', labels: ['ralph'], author: 'stranger' },
      now,
    );
  return at;
}
