import { expect, test } from 'vitest';
import { editIssue } from '../../../testbed/github/people.ts';
import { events } from '../../../testbed/testbed.ts';
import type { Behaviour } from '../../../testbed/scripted-agent.ts';
import { createScene } from '../e2e-fixture.ts';
import { deepTest } from '../../runs.ts';

/** Changes nothing and names what it would need. */
const lost: Behaviour = {
  kind: 'shell',
  script: 'true',
  text: 'I looked around.',
  status: { finishes: false, exit: false, recommendation: 'Ask @octocat which greeting is meant' },
};

// Also tested by everyday/lifecycle and loop/people/notifications.
deepTest(
  'a task that never gets anywhere notifies who labelled it, once; the others go on; what is done is settled',
  async () => {
    await using scene = await createScene();
    const { github } = scene.testbed;
    const stuck = scene.openIssue('Greet everybody');
    const easy = scene.openIssue('Greet once');

    const first = await scene.run({ agent: [lost, lost, lost] });
    expect(first).toMatchObject({
      main: { exitCode: 0 },
      outputs: { outcome: 'blocked', 'tasks-done': '1', 'tasks-open': '1' },
    });
    const [asked, ...more] = scene.notificationsOn(stuck.number);
    expect(more).toEqual([]);
    expect(asked?.body.replaceAll('\u200B', '')).toMatch(
      /^<!-- ralph-action:notification stuck:issue-1 -->\n\n@octo\n\n\*\*\[#1\]\(\S+\) stopped making progress after .*; you are needed\.\*\* “Greet everybody”\. [^]*The agent says:[^]*\n\n\*\*Next:\*\* .*`\/ralph retry`/,
    );
    // The agent's text mentions nobody.
    expect(asked?.body.match(/@\w+/g)).toEqual(['@octo']);
    expect(scene.notificationsOn(easy.number)).toEqual([]);
    expect(scene.notificationsOn(scene.pullOf('ralph/queue').number)).toEqual([]);

    expect(await scene.run()).toMatchObject({ calls: 0, main: { exitCode: 0 } });
    expect(scene.notificationsOn(stuck.number)).toHaveLength(1);

    const retry = await scene.run({ event: events.comment(github, { issue: stuck, body: '/ralph retry' }) });
    expect(retry.outputs).toMatchObject({ outcome: 'complete', 'tasks-done': '2' });
    const settled = scene.notificationsOn(stuck.number);
    expect(settled).toMatchObject([{ id: asked?.id, minimized: true }]);
    expect(settled[0]?.body).toMatch(/^<!-- ralph-action:settled -->\n\n\*\*Settled:\*\* .*1 is done\.\n/);

    // The requester is also asked for a review.
    const pull = scene.pullOf('ralph/queue');
    expect(github.state.pulls).toMatchObject([{ draft: false, reviewers: ['octo'] }]);
    expect(scene.notificationsOn(pull.number)).toMatchObject([
      {
        body: expect.stringMatching(/@octo\n\n\*\*Pull request .* is ready for review\.\*\*/) as string,
        minimized: false,
      },
    ]);
  },
);

deepTest(
  "what an issue's own branch asks holds in the queue, which links it, until somebody who may edits its text",
  async () => {
    await using scene = await createScene();
    const { github } = scene.testbed;
    const issue = scene.openIssue('Greet everybody');
    const blocked: Behaviour = {
      kind: 'shell',
      script: 'true',
      text: [
        '---RALPH_STATUS---',
        'STATUS: BLOCKED',
        'EXIT_SIGNAL: false',
        'QUESTION: In English or in German?',
        '---END_RALPH_STATUS---',
      ].join('\n'),
      status: null,
    };
    const waits = { main: { exitCode: 0 }, outputs: { outcome: 'blocked' } };
    expect(await scene.run({ event: events.labeled(issue), agent: [blocked, blocked] })).toMatchObject({
      ...waits,
      calls: 2,
    });
    const [asked] = scene.notificationsOn(issue.number);
    const queue = await scene.run();
    expect(queue).toMatchObject({ ...waits, calls: 0 });
    expect(queue.summary).toMatch(
      new RegExp(`See \\[#1 \\(comment\\)\\]\\(http[^)]+/issues/1#issuecomment-${String(asked?.id)}\\)`),
    );
    expect(scene.notificationsOn(issue.number)).toHaveLength(1);

    editIssue(github.state, issue.number, { by: 'octo', body: 'In German.', now: Date.now() });
    expect(await scene.run()).toMatchObject({ outputs: { outcome: 'complete' } });
    expect(scene.notificationsOn(issue.number)).toMatchObject([{ id: asked?.id, minimized: true }]);
  },
);

deepTest(
  'as many pull requests as may be open: one notification on the oldest, remembered; a locked or deleted one makes no storm',
  async () => {
    await using scene = await createScene();
    const { github } = scene.testbed;
    const labelled = scene.openIssue('Greet once');
    const inputs = { 'max-open-prs': '1' };
    await scene.run({ event: events.labeled(labelled), inputs });
    const pull = scene.pullOf('ralph/issue-1');
    const waiting = { calls: 0, main: { exitCode: 0 }, outputs: { reason: 'waiting_for_review' } };
    const thread = github.state.issues.find(({ number }) => number === pull.number);
    if (thread === undefined) throw new Error('The pull request has no thread.');
    const ours = () => scene.notificationsOn(pull.number).filter(({ body }) => body.includes('waiting_for_review'));

    const [second] = [scene.openIssue('Greet twice'), scene.openIssue('Greet in German')];
    thread.locked = true;
    const locked = await scene.run({ inputs });
    expect(locked).toMatchObject(waiting);
    expect(locked.summary).toContain('Nobody could be notified');
    thread.locked = false;
    for (let run = 0; run < 2; run += 1) expect(await scene.run({ inputs })).toMatchObject(waiting);
    // The queue now begins with another task.
    second.state = 'closed';
    expect(await scene.run({ inputs })).toMatchObject(waiting);
    expect(ours()).toMatchObject([
      {
        body: expect.stringMatching(
          /^<!-- ralph-action:notification waiting_for_review:lane-queue -->\n\n@octo\n\n\*\*Waiting for review\.\*\*/,
        ) as string,
        minimized: false,
      },
    ]);
    const written = github.requests.filter(
      ({ method, path }) => method === 'POST' && path.endsWith('/comments'),
    ).length;
    github.state.comments.splice(0);
    expect(await scene.run({ inputs })).toMatchObject(waiting);
    expect(github.requests.filter(({ method, path }) => method === 'POST' && path.endsWith('/comments'))).toHaveLength(
      written,
    );
  },
);

deepTest('a configuration that stops every run notifies once, and is settled by a run that works', async () => {
  await using scene = await createScene();
  const issue = scene.openIssue('Greet once');
  const withoutKey = { env: { ANTHROPIC_API_KEY: '' } };
  for (let run = 0; run < 2; run += 1)
    expect(await scene.run(withoutKey)).toMatchObject({ calls: 0, outputs: { outcome: 'failed' } });
  expect(scene.notificationsOn(issue.number)).toMatchObject([
    {
      body: expect.stringMatching(
        /^<!-- ralph-action:notification configuration:every-run -->\n\n@octo\n\n\*\*Failed: /,
      ) as string,
    },
  ]);
  await scene.run();
  expect(scene.notificationsOn(issue.number)).toMatchObject([{ minimized: true }]);
});

// Also tested by bad-input and loop/people/notifications.
deepTest(
  'inputs that stop every run notify once, whatever runs; where somebody asked they are answered; nobody hears of strangers',
  async () => {
    await using scene = await createScene();
    const { github } = scene.testbed;
    const first = scene.openIssue('Greet once');
    const second = scene.openIssue('Greet twice');
    const broken = { inputs: { 'max-iterations': 'many', notify: '@octo' } };
    const failed = { calls: 0, main: { exitCode: 1 }, outputs: { outcome: 'failed', reason: 'configuration' } };
    for (let run = 0; run < 2; run += 1) expect(await scene.run(broken)).toMatchObject(failed);
    expect(scene.notificationsOn(first.number)).toMatchObject([
      {
        body: expect.stringMatching(
          /^<!-- ralph-action:notification configuration:every-run -->\n\n@octo\n\n\*\*Failed: configuration; you are needed\.\*\* 2 inputs are not usable:[^]*max-iterations[^]*is not a whole number[^]*\*\*Next:\*\* Fix/,
        ) as string,
        minimized: false,
      },
    ]);
    const by = (body: string, person: string) =>
      scene.run({ event: events.comment(github, { issue: second, body, by: person }), ...broken });
    await by('/ralph run', 'stranger');
    await scene.run({ event: events.labeled(second, 'ralph', 'triager'), ...broken });
    await scene.run({ event: events.labeled(second, 'bug'), ...broken });
    expect(scene.notificationsOn(second.number)).toEqual([]);
    expect(await by('/ralph status', 'octo')).toMatchObject(failed);
    expect(scene.notificationsOn(second.number)).toHaveLength(1);

    // A different reason on the same day updates the message instead of sending a new one.
    await scene.run({ inputs: { draft: 'yes' } });
    expect(scene.notificationsOn(first.number)).toMatchObject([
      { body: expect.stringMatching(/^<!-- ralph-action:notification [^]*An input is not usable:[^]*draft/) as string },
    ]);

    await scene.run({ event: events.comment(github, { issue: second, body: '/ralph status' }) });
    expect(scene.notificationsOn(second.number)).toMatchObject([{ minimized: true }]);
    expect(await scene.run()).toMatchObject({ outputs: { outcome: 'complete' } });
    expect(scene.notificationsOn(first.number)).toMatchObject([
      { body: '<!-- ralph-action:settled -->\n\n**Settled:** Runs work again.', minimized: true },
    ]);
  },
);

test('inputs that stop every run fail a run without a token or an issue in the summary alone', async () => {
  await using scene = await createScene();
  expect(await scene.run({ inputs: { draft: 'yes' } })).toMatchObject({ main: { exitCode: 1 } });
  scene.openIssue('Greet once');
  const before = scene.testbed.github.requests.length;
  const run = await scene.run({ inputs: { draft: 'yes', 'github-token': '' } });
  expect(run.summary).toContain('2 inputs are not usable');
  expect(scene.testbed.github.requests.length).toBe(before);
  expect(scene.testbed.github.state.comments).toEqual([]);
});

// Also tested by loop/people/notifications.
deepTest('nobody is notified who does not want it', async () => {
  await using scene = await createScene();
  scene.openIssue('Greet once');
  await scene.run({ inputs: { notify: 'none', 'pr-reviewers': 'none' } });
  expect(scene.testbed.github.state.comments.filter(({ body }) => body.includes('@'))).toEqual([]);
  expect(scene.testbed.github.state.pulls).toMatchObject([{ draft: false, reviewers: [] }]);
});
