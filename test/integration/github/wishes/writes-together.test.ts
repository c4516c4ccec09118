import { expect, test } from 'vitest';
import { addComment, addIssue } from '../../../../testbed/github/state.ts';
import { withWishes } from '../../../../src/github/wishes/with-wishes.ts';
import { type ForgeFixture, now, openForge } from '../github-fixture.ts';

const MARKER = '<!-- ralph-action:status -->';
const working = { name: 'ralph:working', color: '1d76db', description: 'Ralph is working on this issue' };
const bot = { login: 'github-actions[bot]', type: 'Bot' } as const;

/** Opens a forge that has read these many issues. */
async function openIssues(count: number, labels: readonly string[] = ['ralph']) {
  const at = await openForge();
  for (let number = 1; number <= count; number += 1)
    addIssue(at.github.state, { title: 'Task', body: '', labels, author: 'octo' }, now);
  const forge = withWishes(at.forge);
  const issues = await forge.openIssuesWithLabel('ralph');
  const read = at.sent().length;
  return Object.assign(at, { wishes: forge, issues, sentSince: () => at.sent().slice(read) });
}

const commented = ({ github }: ForgeFixture) => github.state.comments.map(({ issue, body }) => [issue, body]);
const reacted = ({ github }: ForgeFixture) =>
  github.state.reactions.flatMap(({ on, content }) => (on.kind === 'issue' ? [`${content} ${String(on.number)}`] : []));

test('reactions, labels and comments on twelve issues take eleven requests, and all are there', async () => {
  await using at = await openIssues(12, ['ralph', 'ralph:failed']);
  const numbers = at.issues.map(({ number }) => number);
  await Promise.all(numbers.map((number) => at.wishes.react({ kind: 'issue', number }, 'eyes')));
  const change = { from: ['ralph', 'ralph:failed'], add: [working], remove: ['ralph:failed'] };
  const labelled = await Promise.all(numbers.map((number) => at.wishes.changeLabels(number, change)));
  const written = await Promise.all(
    numbers.map((number) => at.wishes.upsertComment(number, MARKER, `On ${String(number)}.`)),
  );
  expect(reacted(at)).toEqual(numbers.map((number) => `eyes ${String(number)}`));
  expect(new Set(labelled.map(({ kind }) => kind))).toEqual(new Set(['granted']));
  for (const { labels } of at.github.state.issues) expect(labels).toEqual(['ralph', 'ralph:working']);
  expect(commented(at)).toEqual(numbers.map((number) => [number, `${MARKER}\nOn ${String(number)}.`]));
  const ids = at.github.state.comments.map(({ id }) => id);
  expect(written).toEqual(ids.map((id) => ({ kind: 'granted', value: { id } })));
  expect(at.sentSince()).toEqual([
    ...['POST /graphql', 'POST /graphql'],
    ...['POST /labels', 'POST /graphql', 'POST /graphql', 'POST /graphql', 'POST /graphql'],
    ...['POST /graphql', 'POST /graphql', 'POST /graphql', 'POST /graphql'],
  ]);
  // A single write later goes by REST, and needs no search.
  await at.wishes.upsertComment(1, MARKER, 'Done.');
  expect(at.sentSince().slice(11)).toEqual([`PATCH /issues/comments/${String(ids[0])}`]);
});

test('a write that is refused is named, and takes nothing from the others', async () => {
  await using at = await openIssues(3);
  const second = at.github.state.issues[1];
  if (second !== undefined) second.locked = true;
  await Promise.all([1, 2, 3].map((number) => at.wishes.react({ kind: 'issue', number }, 'eyes')));
  const written = await Promise.all([1, 2, 3].map((number) => at.wishes.upsertComment(number, MARKER, 'Working.')));
  expect(written.map(({ kind }) => kind)).toEqual(['granted', 'refused', 'granted']);
  expect(reacted(at)).toEqual(['eyes 1', 'eyes 3']);
  expect(commented(at).map(([issue]) => issue)).toEqual([1, 3]);
  expect(at.wishes.refusedWishes()).toEqual([
    'The run continued without a reaction on #2, a comment on #2: GitHub did not let us react to #2 in octo/demo: the conversation is locked (403 Unable to create reaction because issue is locked.). Unlock it to read there what runs do.',
  ]);
});

test('comments of earlier runs are updated, wherever in the thread they are, and a deleted one is written again', async () => {
  await using at = await openIssues(4);
  const { state } = at.github;
  const earlier = [1, 2].map((issue) => addComment(state, { issue, body: `${MARKER}\nOld.`, author: bot }, now));
  const stranger = { login: 'stranger', type: 'User' } as const;
  for (let talk = 0; talk < 120; talk += 1) addComment(state, { issue: 3, body: 'Talk', author: stranger }, now);
  addComment(state, { issue: 3, body: `${MARKER}\nOld.`, author: bot }, now);
  addComment(state, { issue: 4, body: `${MARKER}\nA copy.`, author: stranger }, now);
  const write = (text: string) =>
    Promise.all([1, 2, 3, 4].map((number) => at.wishes.upsertComment(number, MARKER, text)));
  await write('New.');
  const ours = () => commented(at).filter(([, body]) => body === `${MARKER}\nNew.` || body === `${MARKER}\nNewest.`);
  expect(ours().map(([issue]) => issue)).toEqual([1, 2, 3, 4]);
  state.comments.splice(
    state.comments.findIndex(({ id }) => id === earlier[1]?.id),
    1,
  );
  expect((await write('Newest.')).map(({ kind }) => kind)).toEqual(Array(4).fill('granted'));
  expect(ours().map(([issue]) => issue)).toEqual([1, 3, 4, 2]);
});

test('a label that the repository has, but no issue, is found once', async () => {
  await using at = await openIssues(3);
  addIssue(at.github.state, { title: 'Other', body: '', labels: ['ralph:working'], author: 'octo' }, now);
  const change = { from: ['ralph'], add: [working], remove: [] };
  await Promise.all([1, 2, 3].map((number) => at.wishes.changeLabels(number, change)));
  expect(at.github.state.issues.map(({ labels }) => labels.includes('ralph:working'))).toEqual(Array(4).fill(true));
  expect(at.sentSince()).toEqual(['POST /labels', 'POST /graphql', 'POST /graphql']);
});

test('an issue that the run has not read is written alone', async () => {
  await using at = await openIssues(2);
  addIssue(at.github.state, { title: 'Other', body: '', labels: [], author: 'octo' }, now);
  await Promise.all([1, 2, 3].map((number) => at.wishes.react({ kind: 'issue', number }, 'eyes')));
  expect(reacted(at)).toEqual(['eyes 1', 'eyes 2', 'eyes 3']);
  expect(at.sentSince()).toEqual(['POST /graphql', 'POST /issues/3/reactions']);
});

test('after a failure with an unknown effect no comment is written twice, and all are refused', async () => {
  await using at = await openIssues(2);
  await Promise.all([1, 2].map((number) => at.wishes.upsertComment(number, '<!-- other -->', 'Other.')));
  at.github.faults.inject({ match: { path: /graphql$/ }, times: 1, effect: { kind: 'lost' } });
  const written = await Promise.all([1, 2].map((number) => at.wishes.upsertComment(number, MARKER, 'Working.')));
  expect(written.map(({ kind }) => kind)).toEqual(['refused', 'refused']);
  expect(commented(at).filter(([, body]) => String(body).startsWith(MARKER))).toHaveLength(2);
  expect(at.wishes.refusedWishes()).toEqual([expect.stringContaining('a comment on #1, a comment on #2')]);
});
