import { describe, expect, test } from 'vitest';
import { deleteIssue, transferIssue } from '../../../testbed/github/people.ts';
import { addIssue } from '../../../testbed/github/state.ts';
import { withWishes } from '../../../src/github/wishes/with-wishes.ts';
import { type ForgeFixture, now, openForge, openPull, refusedWith } from './github-fixture.ts';

const working = { name: 'ralph:working', color: '1d76db', description: 'Ralph is working on this issue' };
const request = { title: 'Work', body: '', head: 'ralph/queue', base: 'main', draft: true };
const done = { name: 'ralph:done', color: '0e8a16', description: 'Ralph has finished this issue' };

test('a pull request is labelled, also with what the repository lacks, and says what it has', async () => {
  await using at = await openForge();
  const { number } = await openPull(at, request);
  await at.forge.addLabels(number, ['bot', 'needs review']);
  expect(await at.nextRun().pullRequestOf('ralph/queue')).toMatchObject({ labels: ['bot', 'needs review'] });
  expect(at.sent().slice(0, 2)).toEqual(['POST /pulls', 'POST /issues/1/labels']);
});

test('a label that GitHub does not accept costs a pull request none of the others', async () => {
  await using at = await openForge();
  const { number } = await openPull(at, request);
  const { message } = await refusedWith(at.forge.addLabels(number, ['bot', 'x'.repeat(51), 'needs review']));
  expect(message).toContain('is too long');
  expect(at.github.state.issues.at(-1)?.labels.toSorted()).toEqual(['bot', 'needs review']);
});

describe('labels of an issue', () => {
  test('one that the repository lacks is created with colour and description, then put on; another is taken off', async () => {
    await using at = await openTask(['ralph', 'ralph:working']);
    await at.forge.changeLabels(1, { from: ['ralph', 'ralph:working'], add: [done], remove: ['ralph:working'] });
    expect(labelsOf(at)).toEqual(['ralph', 'ralph:done']);
    expect(at.github.state.labels).toContainEqual(expect.objectContaining(done));
    expect(at.sent()).toEqual(['POST /labels', 'POST /issues/1/labels', 'DELETE /issues/1/labels/ralph%3Aworking']);
  });

  test('several are put on with one request', async () => {
    await using at = await openTask(['ralph']);
    await at.forge.changeLabels(1, { from: ['ralph'], add: [working, done], remove: [] });
    expect(labelsOf(at)).toEqual(['ralph', 'ralph:working', 'ralph:done']);
    expect(at.sent()).toEqual(['POST /labels', 'POST /labels', 'POST /issues/1/labels']);
  });

  test.each([
    { what: 'is there already', from: ['ralph', 'Ralph:Working'], add: [working], remove: [] },
    { what: 'was not there', from: ['ralph'], add: [], remove: ['ralph:done'] },
    { what: 'is neither put on nor taken off', from: [], add: [], remove: [] },
  ])('what $what costs no request', async ({ from, add, remove }) => {
    await using at = await openTask(from);
    await at.forge.changeLabels(1, { from, add, remove });
    expect(at.sent()).toEqual([]);
  });

  test.each(['ralph: go & do?', 'a/b', '🚀 ship', 'x%2Fy', 'עדיפות', '..#'])(
    '"%s" is taken off by its name',
    async (name) => {
      await using at = await openTask(['ralph', name]);
      await at.forge.changeLabels(1, { from: ['ralph', name], add: [], remove: [name] });
      expect(labelsOf(at)).toEqual(['ralph']);
    },
  );

  test('one that a person removed in the meantime is not an error', async () => {
    await using at = await openTask(['ralph']);
    await at.forge.changeLabels(1, {
      from: ['ralph', 'ralph:working', 'ralph:done'],
      add: [],
      remove: ['ralph:working', 'ralph:done'],
    });
    expect(at.sent()).toEqual(['DELETE /issues/1/labels/ralph%3Aworking', 'DELETE /issues/1/labels/ralph%3Adone']);
  });

  test.each([
    {
      what: 'deleted',
      take: (at: ForgeFixture) => {
        deleteIssue(at.github.state, 1);
      },
    },
    {
      what: 'transferred',
      take: (at: ForgeFixture) => {
        transferIssue(at.github.state, 1, { to: 'octo/other', as: 5 });
      },
    },
  ])(
    'an issue that was $what meanwhile ends no run: it continues without the labels, and says so',
    async ({ take }) => {
      await using at = await openTask(['ralph']);
      take(at);
      const forge = withWishes(at.forge);
      expect(await forge.changeLabels(1, { from: ['ralph'], add: [working], remove: [] })).toEqual({
        kind: 'refused',
        why: 'Issue #1 no longer exists.',
        isLasting: true,
      });
      expect(forge.refusedWishes()).toEqual(['The run continued without new labels on #1: Issue #1 no longer exists.']);
      expect(at.sent()).toEqual(['POST /labels', 'POST /issues/1/labels']);
    },
  );

  test('a label is not taken off a transferred issue in the repository that it went to', async () => {
    await using at = await openTask(['ralph', 'ralph:working']);
    transferIssue(at.github.state, 1, { to: 'octo/other', as: 5 });
    const change = at.forge.changeLabels(1, { from: ['ralph', 'ralph:working'], add: [], remove: ['ralph:working'] });
    expect((await refusedWith(change)).message).toBe('Issue #1 no longer exists.');
    expect(at.sent()).toEqual(['DELETE /issues/1/labels/ralph%3Aworking']);
  });
});

describe('a label is created', () => {
  test('once a run, although two issues get it', async () => {
    await using at = await openTask(['ralph']);
    addIssue(at.github.state, { title: 'Another', body: '', labels: ['ralph'], author: 'stranger' }, now);
    for (const number of [1, 2]) await at.forge.changeLabels(number, { from: ['ralph'], add: [working], remove: [] });
    expect(at.sent()).toEqual(['POST /labels', 'POST /issues/1/labels', 'POST /issues/2/labels']);
  });

  test('not when it was seen on an issue', async () => {
    await using at = await openTask(['ralph']);
    addIssue(
      at.github.state,
      { title: 'Another', body: '', labels: ['ralph', 'Ralph:Working'], author: 'stranger' },
      now,
    );
    await at.forge.openIssuesWithLabel('ralph');
    await at.forge.changeLabels(1, { from: ['ralph'], add: [working], remove: [] });
    expect(at.sent().slice(1)).toEqual(['POST /issues/1/labels']);
    expect(labelsOf(at)).toEqual(['ralph', 'Ralph:Working']);
  });

  test('and stays as people have made it when it exists', async () => {
    await using at = await openTask(['ralph']);
    at.github.state.labels.push({ id: 70, name: 'ralph:working', color: 'ffffff', description: 'Ours' });
    await at.forge.changeLabels(1, { from: ['ralph'], add: [working], remove: [] });
    expect(labelsOf(at)).toEqual(['ralph', 'ralph:working']);
    expect(at.github.state.labels.at(-1)).toMatchObject({ color: 'ffffff', description: 'Ours' });
  });

  test('and a refusal of it for another reason is reported', async () => {
    await using at = await openTask(['ralph']);
    at.github.faults.inject({
      match: { method: 'POST', path: /labels$/ },
      times: 1,
      effect: {
        kind: 'answer',
        status: 422,
        body: { message: 'Validation Failed', errors: [{ resource: 'Label', code: 'invalid', field: 'color' }] },
      },
    });
    expect(
      (await refusedWith(at.forge.changeLabels(1, { from: ['ralph'], add: [working], remove: [] }))).message,
    ).toContain(
      'GitHub did not let us change the labels of #1 in octo/demo (422 Validation Failed: [{"resource":"Label","code":"invalid","field":"color"}])',
    );
  });
});

async function openTask(labels: readonly string[]): Promise<ForgeFixture> {
  const at = await openForge();
  addIssue(at.github.state, { title: 'Task', body: '', labels, author: 'stranger' }, now);
  return at;
}

function labelsOf({ github }: ForgeFixture): readonly string[] {
  return github.state.issues[0]?.labels ?? [];
}
