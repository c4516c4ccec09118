import { expect, test } from 'vitest';
import { labelIssue, reopenIssue } from '../../../testbed/github/people.ts';
import { closePull, type StoredPull } from '../../../testbed/github/state.ts';
import { events } from '../../../testbed/testbed.ts';
import { deepTest } from '../../runs.ts';
import { createScene, type Scene, isNotification } from '../e2e-fixture.ts';

const idle = { kind: 'idle' } as const;
const ours = (scene: Scene, number: number): readonly string[] =>
  scene
    .commentsOn(number)
    .filter((comment) => comment.author.type === 'Bot' && !isNotification(comment))
    .map(({ body }) => body);

/** Merges the newest pull request as a person would, without deleting its branch. */
async function merge({ testbed: { github, git } }: Scene): Promise<StoredPull> {
  const pull = github.state.pulls.at(-1);
  if (pull === undefined) throw new Error('There is no pull request.');
  await git('update-ref', 'refs/heads/main', `refs/heads/${pull.head}`);
  closePull(github.state, pull.number, { kind: 'merged', at: Date.now() });
  return pull;
}

async function requestsOf({ testbed: { github } }: Scene, run: () => Promise<unknown>): Promise<number> {
  const before = github.requests.length;
  await run();
  return github.requests.length - before;
}

test('a task that takes too many iterations gets a label and a comment that a person can act on, and another try on their word', async () => {
  await using scene = await createScene();
  const { github } = scene.testbed;
  const issue = scene.openIssue('Greet');
  const other = scene.openIssue('Another');
  expect(await scene.run({ agent: [idle, idle], inputs: { 'max-iterations-per-task': '2' } })).toMatchObject({
    calls: 4,
    main: { exitCode: 0 },
    outputs: { outcome: 'blocked', reason: 'needs_human', 'tasks-done': '1' },
  });
  expect([issue.labels, other.labels]).toEqual([
    ['ralph', 'ralph:failed'],
    ['ralph', 'ralph:done'],
  ]);
  expect(ours(scene, issue.number)).toEqual([
    expect.stringMatching(
      /\*\*\[#1\]\(\S+\) is not done after 2 calls; you are needed\.\*\*[^]*What was tried last[^]*`\/ralph retry`/,
    ),
  ]);
  expect(await scene.run()).toMatchObject({ calls: 0, outputs: { outcome: 'blocked' } });

  await scene.run({ event: events.comment(github, { issue, body: '/ralph status' }) });
  expect(ours(scene, issue.number)).toEqual([expect.stringContaining('gave up after 2 iterations')]);
  expect(await scene.run({ event: events.comment(github, { issue, body: '/ralph retry' }) })).toMatchObject({
    calls: 2,
    outputs: { outcome: 'complete', 'tasks-done': '2', branch: 'ralph/queue' },
  });
  expect(issue.labels).toEqual(['ralph', 'ralph:done']);
  expect(ours(scene, issue.number)).toEqual([expect.stringContaining('✅ done')]);
});

test('five issues in a run: one comment on each, and no more requests than an hour allows', async () => {
  await using scene = await createScene();
  const { github } = scene.testbed;
  const issues = ['One', 'Two', 'Three', 'Four', 'Five'].map((title) => scene.openIssue(title));
  let log = '';
  const first = await requestsOf(scene, async () => {
    log = (await scene.run()).main.log;
  });
  expect(github.state.comments.filter((comment) => !isNotification(comment)).map(({ issue }) => issue)).toEqual([
    1, 2, 3, 4, 5, 6,
  ]);
  expect(issues.map(({ labels }) => labels)).toEqual(issues.map(() => ['ralph', 'ralph:done']));
  // Before each further call, one request reads whether a person has taken the issue back.
  expect(first).toBeLessThanOrEqual(60);
  expect(log).toContain(`GitHub API: ${String(first)} requests`);
  const done = await requestsOf(scene, () => scene.run());
  for (const issue of issues) issue.labels.length = 0;
  const none = await requestsOf(scene, () => scene.run());
  // One request reads the feedback on the pull request, one lists the other open ones; if no issue has the label, one
  // more reads whether the label exists.
  expect([done, none]).toEqual([4, 3]);
  console.log(
    `API requests: first run over 5 issues ${String(first)}, all of them done ${String(done)}, no issue ${String(none)}`,
  );
});

test('merged: the branch is deleted, GitHub closes the issues, the next run is idle; an issue that a person reopens is worked on again in the queue', async () => {
  await using scene = await createScene();
  const { github, git } = scene.testbed;
  const issue = scene.openIssue('Greet');
  expect(await scene.run({ event: events.labeled(issue) })).toMatchObject({
    outputs: { outcome: 'complete', branch: 'ralph/issue-1' },
  });
  const pull = await merge(scene);
  const event = events.pullClosed(pull);
  expect((await scene.run({ event })).main.log).toContain(
    'was merged. Done on its branch: #1. The branch ralph/issue-1 was deleted.',
  );
  expect(await git('for-each-ref', 'refs/heads')).not.toContain('ralph/');
  expect((await scene.run({ event, env: { GITHUB_RUN_ATTEMPT: '2' } })).main.log).toContain(
    'The branch ralph/issue-1 was already deleted.',
  );
  expect(issue).toMatchObject({ state: 'closed', labels: ['ralph', 'ralph:done'] });
  await scene.run({ event: events.issue('closed', issue) });
  expect(issue.labels).toEqual(['ralph', 'ralph:done']);
  // The requests read the issues, the open pull requests, and whether the label exists.
  expect(await requestsOf(scene, () => scene.run())).toBe(3);

  reopenIssue(github.state, issue.number, { by: 'octo', now: Date.now() + 1000 });
  await scene.run({ event: events.issue('reopened', issue) });
  // The issue's own lane has ended, so pausing the issue pauses the queue, which now works on it.
  await scene.run({ event: events.comment(github, { issue, body: '/ralph pause' }) });
  expect(await scene.run()).toMatchObject({ calls: 0, outputs: { outcome: 'paused' } });
  await scene.run({ event: events.comment(github, { issue, body: '/ralph resume' }) });
  expect(
    await scene.run({
      agent: [{ kind: 'play', files: { 'src/more.mjs': 'export const more = 1;\n' }, message: 'Went on.' }],
      inputs: { 'max-iterations': '1' },
    }),
  ).toMatchObject({ calls: 1, outputs: { outcome: 'limit', branch: 'ralph/queue' } });
  expect(issue.labels).toEqual(['ralph', 'ralph:working']);
});

// Also tested by publishing and loop/events.
deepTest('closed without merging: the queue rests until the pull request is opened again', async () => {
  await using scene = await createScene();
  const { github } = scene.testbed;
  scene.openIssue('Greet');
  await scene.run({ inputs: { 'max-iterations': '1' } });
  const [pull] = github.state.pulls;
  if (pull === undefined) throw new Error('There is no pull request.');
  closePull(github.state, pull.number, { kind: 'closed', at: Date.now() });
  expect((await scene.run({ event: events.pullClosed(pull) })).main.log).toContain(
    'was closed without merging, so work on the queue is on hold.',
  );
  expect(await scene.run()).toMatchObject({ calls: 0, main: { exitCode: 0 }, outputs: { outcome: 'paused' } });
  reopenIssue(github.state, pull.number, { by: 'octo', now: Date.now() });
  expect(await scene.run()).toMatchObject({
    calls: 1,
    outputs: { outcome: 'complete', 'pr-number': String(pull.number) },
  });
});

// Also tested by loop/people/labels and loop/kill.
deepTest('labels are right after a run that was killed, and after a person who mixed them up', async () => {
  await using scene = await createScene();
  const { github } = scene.testbed;
  const issue = scene.openIssue('Greet');
  expect(
    await scene.run({
      when: {
        text: 'I finish',
        act: (main) => {
          main.kill('SIGKILL');
        },
      },
    }),
  ).toMatchObject({ main: { signal: 'SIGKILL' } });
  expect(issue.labels).toEqual(['ralph', 'ralph:working']);
  expect(await scene.run()).toMatchObject({ outputs: { outcome: 'complete' } });
  expect(issue.labels).toEqual(['ralph', 'ralph:done']);
  labelIssue(github.state, issue.number, { label: 'ralph:failed', by: 'octo', now: Date.now() });
  expect(await scene.run()).toMatchObject({ calls: 0, outputs: { outcome: 'idle', reason: 'all_done' } });
  expect(issue.labels).toEqual(['ralph', 'ralph:done']);
});
