import { expect, test } from 'vitest';
import type { Snapshot } from '../../../src/core/snapshot/snapshot.ts';
import { withPublishedPull, withPullNews } from '../../../src/core/snapshot/stored-pull.ts';
import type { Project } from '../stage/project.ts';
import { finisher, stuck } from '../stage/behaviours.ts';
import { runSplit } from '../stage/split.ts';
import { addIssue, createProject, type Event, runOnce, schedule, senderOf } from '../stage/run-action.ts';

const HEAD = 'a'.repeat(40);
const THIN = '**This issue may be too thin.**';

/** Remembers merged pull requests with a task each. */
function remember(project: Project, count: number): void {
  const { shared } = project.kept.refs;
  const now = project.clock.now();
  const after = Array.from({ length: count }, (_, at) => at + 700).reduce((snapshot: Snapshot, number) => {
    const task = {
      id: `issue-${String(number)}`,
      title: 'Before',
      state: 'done',
      labels: [],
      labelledAt: null,
    } as const;
    const used = { iterations: 2, costUsd: 1.4 };
    const published = withPublishedPull(snapshot, {
      ...{ number, lane: task.id, baseBranch: 'main', publishedAt: now, head: HEAD, personHead: null },
      ...{ reviewedAt: null, ...used, tasks: [{ ...task, agent: 'claude', model: null, ...used }] },
    });
    const closed = { number, branch: `ralph/${task.id}`, kind: 'merged', at: now, head: HEAD, commit: HEAD } as const;
    return withPullNews(published, { closed: [{ ...closed, commits: [] }], reverts: [] });
  }, shared.snapshot);
  shared.snapshot = after;
  shared.head = 'remembered';
}

/** Returns the event that somebody labels the issue with the text that it has. */
function labelNow({ forge }: Project, number: number): Event {
  const { title, body } = forge.issues.get(number) ?? { title: '', body: '' };
  const label = { name: 'ralph' };
  const issue = { number, title, body, labels: [label] };
  return { name: 'issues', payload: { action: 'labeled', label, issue, sender: senderOf('ann') } };
}

/** Runs once for an event, and returns the texts that the issue's status comment had, without the marker. */
async function statusOf(project: Project, issue: number, event = labelNow(project, issue)): Promise<readonly string[]> {
  const texts: string[] = [];
  const { upsertComment } = project.forge;
  project.forge.upsertComment = async (number, marker, body) => {
    const written = await upsertComment(number, marker, body);
    if (number === issue) texts.push([...(project.forge.comments.get(number)?.values() ?? [])].join('\n'));
    return written;
  };
  await runOnce(project, { event });
  project.forge.upsertComment = upsertComment;
  return texts;
}

test('the answer to a label says what similar tasks cost here, once there are five', async () => {
  const project = createProject({ issues: [1, 2], agent: [finisher] });
  remember(project, 4);
  expect((await statusOf(project, 1)).join('\n')).not.toContain('tasks here');
  remember(project, 5);
  const [live = '', end = ''] = await statusOf(project, 2);
  expect(live).toContain('**The last 5 tasks here:** about $1.40, 2 iterations each; 100 % merged untouched.');
  expect(end).not.toContain('tasks here');
});

test('it warns of an issue that is too thin, and the run begins anyway', async () => {
  const project = createProject({ issues: [], agent: [stuck], files: { 'src/cart.ts': 'function addToCart() {}' } });
  addIssue(project.forge, 1, { title: 'Add an option to the shop', body: '' });
  const [live = '', ...others] = await statusOf(project, 1);
  expect(live).toContain('Ralph is at work');
  expect(live).toContain(THIN);
  // The advice stays where the run did not finish the issue.
  expect(others.at(-1)).toContain(THIN);
});

test.each([
  ['a file', 'Add an option to cart.ts'],
  ['a symbol', 'Add an option to addToCart'],
  ['what should be', 'The shop should have an option'],
])('but not of one that names %s', async (_, title) => {
  const project = createProject({ issues: [], agent: [finisher], files: { 'src/cart.ts': 'function addToCart() {}' } });
  addIssue(project.forge, 1, { title, body: '' });
  expect((await statusOf(project, 1)).join('\n')).not.toContain('too thin');
});

test('it warns of an issue that is too large', async () => {
  const project = createProject({ issues: [], agent: [finisher] });
  const words = ['dates', 'colours', 'queries', 'menus', 'prices', 'logos', 'mails', 'tables', 'fonts'];
  addIssue(project.forge, 1, { title: 'Release', body: words.map((word) => `- [ ] ${word}\n`).join('') });
  const [live = ''] = await statusOf(project, 1);
  expect(live).toContain('**This issue may be too large.** It has 9 boxes that have little to do with one another.');
  expect(live).toContain('to have them proposed, remove the label and comment `/ralph plan`.');
});

test('a run that cannot begin answers with it as well', async () => {
  const project = createProject({ issues: [], agent: [finisher], inputs: { 'max-cost-usd-per-day': '0' } });
  addIssue(project.forge, 1, { title: 'Add an option to the shop', body: 'Depends on #2', blockedBy: 1 });
  addIssue(project.forge, 2, { title: 'Other', body: '', labels: [] });
  project.forge.dependencies.set(1, [{ number: 2, state: 'open', elsewhere: null }]);
  remember(project, 5);
  const [answer = ''] = await statusOf(project, 1);
  expect(answer).not.toContain('at work');
  expect(answer).toContain('**The last 5 tasks here:**');
});

test('three jobs show it while the loop works, and the advice at the end', async () => {
  const project = createProject({ issues: [], agent: [stuck] });
  addIssue(project.forge, 1, { title: 'Add an option to the shop', body: '' });
  remember(project, 5);
  const shown = (): string => [...(project.forge.comments.get(1)?.values() ?? [])].join('\n');
  let live = '';
  const beforePublish = (): void => void (live = shown());
  await runSplit(project, { event: labelNow(project, 1), beforePublish });
  expect(live).toContain('Ralph is at work');
  for (const words of ['**The last 5 tasks here:**', THIN]) expect(live).toContain(words);
  expect(shown()).not.toContain('Ralph is at work');
  expect(shown()).toContain(THIN);
});

test('neither a scheduled run nor a task that was begun has a forecast', async () => {
  const project = createProject({ issues: [], agent: [stuck] });
  addIssue(project.forge, 1, { title: 'Add an option to the shop', body: '' });
  expect((await statusOf(project, 1, schedule)).join('\n')).not.toContain('too thin');
  expect((await statusOf(project, 1)).join('\n')).not.toContain('too thin');
});
