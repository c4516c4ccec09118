import { expect, test } from 'vitest';
import { type TaskHistory, listTaskHistories } from '../../../src/core/history/task-history.ts';
import { listStoredPulls } from '../../../src/core/snapshot/stored-pull.ts';
import { next, worker } from '../feedback/reviewing.ts';
import { comment, review, thread } from '../feedback/said.ts';
import { addCommit } from '../stage/in-memory.ts';
import type { Project } from '../stage/project.ts';
import {
  addIssue,
  commented,
  createProject,
  labeled,
  runOnce,
  schedule,
  senderOf,
  type Event,
} from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';

const BRANCH = 'ralph/issue-1';
const NUMBER = 101;

async function published(inputs: Readonly<Record<string, string>> = {}): Promise<Project> {
  const project = createProject({ issues: [1], agent: [worker], inputs });
  const issue = project.forge.issues.get(1) ?? expect.fail();
  project.forge.issues.set(1, { ...issue, labels: [...issue.labels, 'bug', 'ralph:working'] });
  expect(await runOnce(project, { event: labeled(1) })).toMatchObject({ end: 'complete (plan_complete)' });
  return project;
}

/** Merges or closes the pull request as a person does, and returns the event. */
function end(
  { forge, origin, clock }: Project,
  { how, head }: { readonly how: 'merged' | 'closed'; readonly head?: string },
): Event {
  const tip = head ?? origin.branches.get(BRANCH) ?? expect.fail();
  const at = forge.pulls.findIndex(({ number }) => number === NUMBER);
  const endedAt = clock.now();
  forge.pulls[at] = { ...(forge.pulls[at] ?? expect.fail()), state: how, headSha: tip, endedAt };
  const repo = { full_name: 'acme/shop' };
  const closed = { closed_at: new Date(endedAt).toISOString(), merge_commit_sha: 'c'.repeat(40) };
  return {
    name: 'pull_request',
    payload: {
      action: 'closed',
      pull_request: {
        ...{ number: NUMBER, merged: how === 'merged', state: 'closed', ...closed },
        ...{ head: { ref: BRANCH, sha: tip, repo }, base: { repo } },
      },
      sender: senderOf('ann'),
    },
  };
}

function historyOfTask({ kept }: Project): TaskHistory | undefined {
  return listTaskHistories(kept.refs.shared.snapshot)[0];
}

test('a run remembers what the tasks of its pull request took', async () => {
  const project = await published();
  expect(historyOfTask(project)).toMatchObject({
    ...{ id: 'issue-1', state: 'done', pullRequest: NUMBER, labels: ['bug'], agent: 'claude', model: null },
    ...{ iterations: 1, end: 'open', reviewRounds: 0, labelledAt: expect.any(Number) },
  });
});

test.each([
  ['merged', { end: 'merged', isUntouched: true }],
  ['closed', { end: 'closed', isUntouched: null }],
] as const)('the event of a pull request that was %s is remembered', async (how, expected) => {
  const project = await published();
  const event = end(project, { how });
  expect(await next(project, event)).toMatchObject({ calls: 0 });
  expect(historyOfTask(project)).toMatchObject(expected);
});

test('without a look at the open pull requests, the event alone says how one ended', async () => {
  const project = await published({ 'answer-checks': 'false', dashboard: 'false' });
  const event = end(project, {
    how: 'merged',
    head: addCommit(project.origin, { tree: {}, parent: null, message: 'Rename' }),
  });
  await next(project, event);
  expect(listStoredPulls(project.kept.refs.shared.snapshot)[0]?.end).toMatchObject({
    ...{ kind: 'merged', commit: 'c'.repeat(40), peopleCommits: null },
  });
});

test.each([
  ['one job', (project: Project) => next(project)],
  ['three jobs', (project: Project) => runSplit(project, { event: schedule })],
])('a merge that no run looked at is found by the next run that works, in %s', async (_, run) => {
  const project = await published();
  end(project, { how: 'merged' });
  addIssue(project.forge, 2);
  project.clock.advance(3_600_000);
  await run(project);
  expect(listTaskHistories(project.kept.refs.shared.snapshot).map(({ id, end: ended }) => [id, ended])).toEqual([
    ['issue-2', 'open'],
    ['issue-1', 'merged'],
  ]);
});

test.each([
  ['without', []],
  ['with', [2]],
])('an end that the list no longer shows is found by a run %s work', async (_, issues) => {
  const project = await published();
  end(project, { how: 'merged' });
  project.forge.unlisted.add(NUMBER);
  for (const issue of issues) addIssue(project.forge, issue);
  await next(project);
  expect(listTaskHistories(project.kept.refs.shared.snapshot).find(({ id }) => id === 'issue-1')).toMatchObject({
    end: 'merged',
  });
});

test('a run without work stores the news once, and later ones write nothing', async () => {
  const project = await published();
  end(project, { how: 'merged' });
  const { messages } = project.kept.refs.shared;
  await next(project);
  expect(historyOfTask(project)).toMatchObject({ end: 'merged' });
  const count = messages.length;
  await next(project);
  expect(messages.slice(count).filter((message) => message.includes('pull requests'))).toEqual([]);
});

test("a person's commit on the branch, and an answer to a review, count", async () => {
  const project = await published();
  const { forge, origin } = project;
  const parent = origin.branches.get(BRANCH) ?? expect.fail();
  const pushed = addCommit(origin, {
    tree: { ...origin.commits.get(parent)?.tree, 'by-hand.ts': '1' },
    parent,
    message: 'By hand',
  });
  origin.branches.set(BRANCH, pushed);
  forge.saidOf.set(BRANCH, { reviews: [review()], threads: [thread([comment(11, 'Rename it?')])] });
  const asked = commented('/ralph run', { issue: NUMBER, isPullRequest: true });
  expect(await next(project, asked)).toMatchObject({ calls: 1 });
  await next(project, end(project, { how: 'merged' }));
  expect(historyOfTask(project)).toMatchObject({
    end: 'merged',
    isUntouched: false,
    reviewRounds: 1,
    peopleCommits: 1,
  });
});

test.each([
  ["a person's commit counts where no run answers reviews or checks", 'By hand', 1],
  ["GitHub's update of the branch does not count as content of a person", "Merge branch 'main' into ralph/queue", 0],
])('%s', async (_, message, peoplePushes) => {
  const inputs = { 'answer-reviews': 'false', 'answer-checks': 'false', 'max-iterations': '1' };
  const project = createProject({ issues: [1, 2], agent: [worker], inputs });
  await runOnce(project, { event: schedule });
  const { origin } = project;
  const parent = origin.branches.get('ralph/queue') ?? expect.fail();
  const tree = { ...origin.commits.get(parent)?.tree, 'by-hand.ts': '1' };
  origin.branches.set('ralph/queue', addCommit(origin, { tree, parent, message }));
  expect(await next(project)).toMatchObject({ calls: 1 });
  expect(listStoredPulls(project.kept.refs.shared.snapshot)).toMatchObject([{ peoplePushes }]);
});

test.each([
  ['as git makes it does not count', false, 0],
  ['that people edited counts', true, 1],
])('a merge of the base branch %s, before the pull request was merged', async (_, isEdited, peopleCommits) => {
  const project = await published();
  const { origin } = project;
  const parent = origin.branches.get(BRANCH) ?? expect.fail();
  const message = "Merge branch 'main' into ralph/issue-1";
  const head = addCommit(origin, { tree: origin.commits.get(parent)?.tree ?? {}, parent, message });
  if (isEdited) origin.edited.add(head);
  origin.branches.set(BRANCH, head);
  const event = end(project, { how: 'merged', head });
  await next(project, event);
  expect(historyOfTask(project)).toMatchObject({ end: 'merged', peopleCommits, isUntouched: !isEdited });
});

test.each([
  [1, true],
  [40, true],
  [61, false],
])('a revert of the first day is found by a run that works after %i days: %s', async (days, isFound) => {
  const project = await published();
  const event = end(project, { how: 'merged' });
  await next(project, event);
  project.clock.advance(12 * 3_600_000);
  const at = project.clock.now();
  project.clock.advance(days * 24 * 3_600_000);
  project.origin.reverts.push({ at, message: `Revert "fix: it (#${String(NUMBER)})"` });
  addIssue(project.forge, 2);
  await next(project);
  expect(listTaskHistories(project.kept.refs.shared.snapshot).find(({ id }) => id === 'issue-1')).toMatchObject({
    revertedAt: isFound ? at : null,
  });
});
