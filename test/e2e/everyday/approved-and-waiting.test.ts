import { expect, test } from 'vitest';
import { submitReview } from '../../../testbed/github/feedback/reviews.ts';
import { armAutoMerge } from '../../../testbed/github/people.ts';
import { closePull } from '../../../testbed/github/state.ts';
import { events } from '../../../testbed/testbed.ts';
import { createScene } from '../e2e-fixture.ts';
import { BRANCH, createReviewedScene, onFirstLine, pullOf, review, REVIEWER } from '../feedback/feedback-fixture.ts';

test("a pull request that is approved and armed: a new issue waits, and the reviewer's requests are pushed to a draft without auto-merge", async () => {
  await using scene = await createReviewedScene();
  const { github, git } = scene.testbed;
  const { state } = github;
  const pull = pullOf(scene);
  submitReview(state, { pull: pull.number, by: REVIEWER, state: 'APPROVED' }, Date.now());
  armAutoMerge(state, pull.number, { by: REVIEWER, now: Date.now() });
  scene.openIssue('Subtract');
  const head = await git('rev-parse', BRANCH);
  for (let run = 0; run < 2; run += 1)
    expect(await scene.run()).toMatchObject({
      calls: 0,
      main: { exitCode: 0 },
      outputs: { outcome: 'idle', reason: 'waiting_for_review' },
    });
  expect(await git('rev-parse', BRANCH)).toBe(head);
  const said = (): readonly string[] =>
    state.comments.filter(({ issue }) => issue === pull.number).map(({ body }) => body);
  expect(said().filter((body) => body.includes('1 task waits behind it'))).toHaveLength(1);

  const { event } = review(scene, [onFirstLine('Please say why.')], { state: 'COMMENTED' });
  pull.reviewers.length = 0;
  const before = github.requests.length;
  const run = await scene.run({ event });
  expect(run.calls).toBe(1);
  expect(await git('rev-parse', BRANCH)).not.toBe(head);
  expect(pull).toMatchObject({ draft: false, reviewers: [REVIEWER] });
  expect(state.autoMerge.size).toBe(0);
  expect(said().filter((body) => body.includes('was switched off'))).toHaveLength(1);
  const mutations = github.requests
    .slice(before)
    .map(({ body }) => /mutation[^{]*\{ (\w+)/.exec(JSON.stringify(body))?.[1]);
  expect(mutations.filter((name) => name !== undefined)).toEqual(
    expect.arrayContaining([
      'convertPullRequestToDraft',
      'disablePullRequestAutoMerge',
      'markPullRequestReadyForReview',
    ]),
  );
});

test('two issues on branches of their own change the same line: the run of the merge of one merges the base into the other', async () => {
  await using scene = await createScene();
  const { github, git } = scene.testbed;
  const { state } = github;
  const issues = [scene.openIssue('Count'), scene.openIssue('Subtract')];
  const waiting = scene.openIssue('Waits for the schedule');
  const write = (text: string) =>
    ({
      kind: 'shell',
      script: `mkdir -p src && echo '${text}' > src/shared.mjs`,
      text: 'Done.',
      status: { finishes: true, exit: false },
    }) as const;
  for (const [index, issue] of issues.entries())
    expect(await scene.run({ event: events.labeled(issue), agent: [write(`// ${String(index)}`)] })).toMatchObject({
      outputs: { outcome: 'complete', branch: `ralph/issue-${String(issue.number)}` },
    });
  const [first, second] = state.pulls;
  if (first === undefined || second === undefined) throw new Error('There are no two pull requests.');
  await git('update-ref', 'refs/heads/main', `refs/heads/${first.head}`);
  closePull(state, first.number, { kind: 'merged', at: Date.now() });

  const both = {
    kind: 'shell',
    script: `printf '// 0\\n// 1\\n' > src/shared.mjs`,
    text: 'Both stay.',
    status: { finishes: true, exit: false },
  } as const;
  const event = events.pullClosed(first);
  const run = await scene.run({ event, agent: [both] });
  expect(run.main.log).toContain(`Pull request #${String(first.number)} was merged. Done on its branch: #1.`);
  expect(run).toMatchObject({ calls: 1, outputs: { outcome: 'complete', branch: second.head } });
  expect(await git('for-each-ref', 'refs/heads')).not.toContain(first.head);
  expect(await git('show', `${second.head}:src/shared.mjs`)).toBe('// 0\n// 1');
  await git('merge-base', '--is-ancestor', 'main', second.head);
  expect(scene.pullOf(second.head).body).toContain('Merge main and resolve the conflicts');
  expect(await scene.run({ event })).toMatchObject({ calls: 0, outputs: { outcome: 'idle', reason: 'updated' } });
  expect(waiting.labels).toEqual(['ralph']);
  expect(await scene.run()).toMatchObject({ outputs: { outcome: 'complete', branch: 'ralph/queue' } });
});
