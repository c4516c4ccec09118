import { expect, test } from 'vitest';
import { addIssue } from '../../../testbed/github/state.ts';
import { events } from '../../../testbed/testbed.ts';
import { deepTest, rows } from '../../runs.ts';
import { createScene } from '../e2e-fixture.ts';

/** The runner gives this to jobs of label and comment events. */
const readOnlyCache = { ACTIONS_CACHE_MODE: 'read' };

test('a labelled issue is worked on in its own lane; the ref keeps what the read-only cache cannot; the queue leaves it alone', async () => {
  await using scene = await createScene();
  const { testbed } = scene;
  const issue = scene.openIssue('Greet several people');
  testbed.cache.setMode('read');

  const run = await scene.run({ event: events.labeled(issue) });
  expect(run).toMatchObject({
    calls: 2,
    outputs: { outcome: 'complete', branch: 'ralph/issue-1', 'state-saved': 'true' },
  });
  expect(run.main.log).toMatch(/saved #3 \(cache ✗: this event's cache is read-only.*, ref ✓\)/);
  expect(run.summary).toContain('read-only');
  expect(scene.pullOf('ralph/issue-1')).toMatchObject({ draft: false });
  expect(scene.pullOf('ralph/issue-1').body).toContain('Closes #1');
  expect(testbed.cache.entries).toEqual([]);
  expect(testbed.github.state.reactions).toMatchObject([{ content: 'eyes', on: { kind: 'issue', number: 1 } }]);

  testbed.cache.setMode('write');
  expect(await scene.run()).toMatchObject({ calls: 0, outputs: { outcome: 'idle', reason: 'no_tasks' } });
  const other = scene.openIssue('Another one');
  expect(await scene.run()).toMatchObject({ calls: 2, outputs: { outcome: 'complete', 'tasks-done': '1' } });
  expect(scene.pullOf('ralph/queue').body).toContain(`Closes #${String(other.number)}`);
  expect(scene.pullOf('ralph/queue').body).not.toContain('#1\n');
});

test('people talk to it where they are: a request on an issue without the label, and one on its pull request', async () => {
  await using scene = await createScene();
  const { github } = scene.testbed;
  const issue = addIssue(
    github.state,
    { title: 'Greet', body: 'In any way.', labels: [], author: 'stranger' },
    Date.now(),
  );
  const first = await scene.run({
    event: events.comment(github, { issue, body: '**/ralph** please greet in\u00A0green' }),
  });
  expect(first).toMatchObject({ calls: 2, outputs: { outcome: 'complete', branch: 'ralph/issue-1' } });
  expect(issue.labels).toContain('ralph');
  const pull = github.state.issues.find(({ number }) => number === scene.pullOf('ralph/issue-1').number);
  if (pull === undefined) throw new Error('The pull request has no page.');
  const asked = await scene.run({
    event: events.comment(github, { issue: pull, body: '@github-actions please greet in blue' }),
  });
  expect(asked.calls).toBeGreaterThan(0);
  expect(scene.commentsOn(pull.number).map(({ body }) => body)).toContainEqual(
    expect.stringMatching(/^<!-- ralph-action:answer comment-\d+ asked=\d+ -->/),
  );
  expect(github.state.reactions.filter(({ on }) => on.kind === 'comment')).toMatchObject([
    { content: 'eyes' },
    { content: 'eyes' },
  ]);
});

// Also tested by loop/going-on and loop/people/orders.
deepTest(
  'a label lane that stopped at its limit continues by /ralph run, though its state could not be saved, as with the cache alone',
  async () => {
    await using scene = await createScene();
    const { github, cache } = scene.testbed;
    const issue = scene.openIssue('Greet several people');
    cache.setMode('read');
    const limited = await scene.run({
      event: events.labeled(issue),
      inputs: { 'max-iterations': '1', 'state-store': 'cache' },
    });
    expect(limited.outputs).toMatchObject({ outcome: 'limit', 'state-saved': 'false' });
    expect(limited.summary).toContain(
      'A scheduled run with nothing else to do continues from here; to continue now, comment `/ralph run` on the issue.',
    );
    const run = await scene.run({
      event: events.comment(github, { issue, body: '/ralph run' }),
      inputs: { 'state-store': 'cache' },
    });
    expect(run).toMatchObject({ calls: 1, outputs: { outcome: 'complete', circuit: 'closed' } });
    expect(run.summary).toContain('lost: no copy of it is left');
  },
);

test.each([
  { case: 'a label that is not the task label', event: 'label' },
  { case: 'a comment that is not a command', event: 'comment' },
  { case: 'a comment of our own', event: 'own' },
] as const)('$case: green, without a call or a request', async ({ event }) => {
  await using scene = await createScene();
  const { github } = scene.testbed;
  const issue = scene.openIssue('Something', ['ralph', 'bug']);
  const body = event === 'own' ? '<!-- ralph-action:status -->\n/ralph run' : 'I like /ralph run';
  const run = await scene.run({
    event: event === 'label' ? events.labeled(issue, 'bug') : events.comment(github, { issue, body }),
    env: readOnlyCache,
  });
  expect(run).toMatchObject({ calls: 0, main: { exitCode: 0 }, outputs: { outcome: 'idle', reason: 'not_for_us' } });
  expect(github.requests).toEqual([]);
});

test('commands of a writer: status and unknown ones are answered in one sticky comment, run works on the issue', async () => {
  await using scene = await createScene();
  const { github } = scene.testbed;
  const issue = scene.openIssue('Greet twice');
  const say = (body: string, by = 'octo') =>
    scene.run({ event: events.comment(github, { issue, body, by }), env: readOnlyCache });
  const ours = () => scene.commentsOn(issue.number).filter(({ author }) => author.type === 'Bot');

  expect(await say('/ralph status')).toMatchObject({
    calls: 0,
    main: { exitCode: 0 },
    outputs: { outcome: 'idle', reason: 'answered' },
  });
  expect(ours()).toMatchObject([{ body: expect.stringContaining('Last run: none yet') as string }]);
  expect(ours()[0]?.body).toContain('0 of 1 task done');

  expect(await say('/ralph stats')).toMatchObject({ calls: 0, main: { exitCode: 0 }, outputs: { reason: 'answered' } });
  expect(ours()).toMatchObject([{ body: expect.stringContaining('Did you mean `/ralph status`?') as string }]);

  expect(await say('/ralph run')).toMatchObject({
    calls: 2,
    main: { exitCode: 0 },
    outputs: { outcome: 'complete', branch: 'ralph/issue-1' },
  });
  expect(ours()).toMatchObject([{ body: expect.stringContaining('✅ done after 2 iterations') as string }]);
  const reactions = github.state.reactions.filter(({ on }) => on.kind === 'comment');
  expect(reactions.map(({ content }) => content)).toEqual(['eyes', 'eyes', 'eyes']);
});

test.each(rows(1, ['/ralph run', '/ralph status', '/ralph nonsense']))(
  '%s of a stranger gets one reaction and no comment',
  async (body) => {
    await using scene = await createScene();
    const { github } = scene.testbed;
    const issue = scene.openIssue('Greet twice');
    const run = await scene.run({ event: events.comment(github, { issue, body, by: 'stranger' }) });
    expect(run).toMatchObject({
      calls: 0,
      main: { exitCode: 0 },
      outputs: { outcome: 'refused', reason: 'not_allowed' },
    });
    expect(github.state.reactions).toMatchObject([{ content: '-1', on: { kind: 'comment' } }]);
    expect(github.state.comments).toHaveLength(1);
    expect(run.main.log).toContain('stranger may not command Ralph');
  },
);

test('a label that a stranger added is refused', async () => {
  await using scene = await createScene();
  const issue = scene.openIssue('Greet twice');
  expect(await scene.run({ event: events.labeled(issue, 'ralph', 'triager') })).toMatchObject({
    calls: 0,
    main: { exitCode: 0 },
    outputs: { outcome: 'refused' },
  });
  expect(scene.testbed.github.state).toMatchObject({ comments: [], reactions: [], pulls: [] });
});

// Also tested by loop/people/orders and loop/people/answers.
deepTest("a comment on Ralph's pull request is about its lane", async () => {
  await using scene = await createScene();
  const { github } = scene.testbed;
  scene.openIssue('First');
  scene.openIssue('Second');
  await scene.run({ inputs: { 'max-iterations': '2' } });
  const { number } = scene.pullOf('ralph/queue');
  const pull = github.state.issues.find((issue) => issue.number === number);
  if (pull === undefined) throw new Error('no pull request');
  const say = (body: string) => scene.run({ event: events.comment(github, { issue: pull, body }) });

  expect(await say('/ralph status')).toMatchObject({ calls: 0, outputs: { reason: 'answered' } });
  const status = scene.commentsOn(number).filter(({ author }) => author.type === 'Bot');
  expect(status).toHaveLength(1);
  expect(status[0]?.body).toContain('1 of 2 tasks done');
  expect(status[0]?.body).toContain('Last run: iteration limit');

  expect(await say('/ralph run')).toMatchObject({
    calls: 2,
    outputs: { outcome: 'complete', 'tasks-done': '2', branch: 'ralph/queue' },
  });
  expect(scene.pullOf('ralph/queue')).toMatchObject({ draft: false });
});

// Also tested by loop/people/answers.
deepTest('status of an issue that the queue works reports how the queue stands', async () => {
  await using scene = await createScene();
  const { github } = scene.testbed;
  const issue = scene.openIssue('First');
  scene.openIssue('Second');
  await scene.run({ inputs: { 'max-iterations': '2' } });
  await scene.run({ event: events.comment(github, { issue, body: '/ralph status' }) });
  const ours = scene.commentsOn(issue.number).filter(({ author }) => author.type === 'Bot');
  expect(ours).toHaveLength(1);
  expect(ours[0]?.body).toContain('1 of 2 tasks done');
});
