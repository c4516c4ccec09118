import { expect, test } from 'vitest';
import { feedbackEvents } from '../../../testbed/feedback-events.ts';
import { answerThread, submitReview } from '../../../testbed/github/feedback/reviews.ts';
import { runSplit } from '../split-fixture.ts';
import {
  answersIn,
  BRANCH,
  counted,
  createReviewedScene,
  FIRST_LINE,
  heard,
  MODULE,
  onFirstLine,
  pullOf,
  report,
  review,
  REVIEWER,
  suggesting,
} from './feedback-fixture.ts';

test('a review starts a run: its suggested change is committed without a call, the other thread is worked on, and each gets one answer', async () => {
  await using scene = await createReviewedScene();
  const { threads, event } = review(scene, [suggesting('// Counted.'), onFirstLine('Please say why.')], {
    body: 'Almost there.',
  });
  const run = await heard(scene, { event });
  // The thread takes one call, the review as a whole two.
  expect(run).toMatchObject({ calls: 3, outputs: { outcome: 'complete' } });
  expect(run.prompts[0]).toMatch(
    /BEGIN TASK[^]*src\/issue-1\.mjs[^]*BEGIN COMMENTS[^]*Please say why\.[^]*END COMMENTS/,
  );
  expect((await scene.commitsOf(BRANCH))[2]).toBe(`Apply a suggestion by ${REVIEWER} to ${MODULE}:1`);
  expect(threads.map((thread) => answersIn(thread).map(({ body }) => body))).toEqual([
    [expect.stringContaining('**Applied as suggested** in')],
    [expect.stringContaining('**Done** in')],
  ]);
  expect(
    scene.commentsOn(pullOf(scene).number).filter(({ body }) => /ralph-action:answer review-/.test(body)),
  ).toHaveLength(1);
  const { body, status } = scene.pullOf(BRANCH);
  expect(body).toContain('### Review and checks');
  expect(status.feedback).toMatchObject({ open: 0, answered: 3 });

  const written = JSON.stringify([scene.testbed.github.state.threads, scene.testbed.github.state.comments]);
  for (const again of [event, undefined])
    expect(await scene.run(again === undefined ? {} : { event: again })).toMatchObject({ calls: 0 });
  expect(JSON.stringify([scene.testbed.github.state.threads, scene.testbed.github.state.comments])).toBe(written);
});

test('a person who disagrees in the thread gets one more answer', async () => {
  await using scene = await createReviewedScene();
  const { state } = scene.testbed.github;
  const { threads, event } = review(scene, [onFirstLine('Please say why.')]);
  await scene.run({ event });
  const [thread] = threads;
  if (thread === undefined) throw new Error('A review without threads.');
  const comment = answerThread(state, thread, { by: REVIEWER, body: 'In one sentence, please.', now: Date.now() });
  const again = await heard(scene, { event: feedbackEvents.reviewComment(state, { thread, comment }) });
  expect(again).toMatchObject({ calls: 1, outputs: { outcome: 'complete' } });
  expect(again.prompts[0]).toMatch(/Please say why\.[^]*In one sentence, please\./);
  expect(thread.comments.map(({ author }) => author.type)).toEqual(['User', 'Bot', 'User', 'Bot']);
});

test('an approval starts a run that makes no request to GitHub, and ends earlier requests', async () => {
  await using scene = await createReviewedScene();
  const { state } = scene.testbed.github;
  const { threads } = review(scene, [onFirstLine('Please say why.')]);
  const approval = submitReview(
    state,
    { pull: pullOf(scene).number, by: REVIEWER, state: 'APPROVED' },
    Date.now() + 1000,
  );
  const run = await counted(scene, { event: feedbackEvents.reviewed(state, approval.review) });
  expect(run).toMatchObject({ calls: 0, outputs: { outcome: 'idle', reason: 'not_for_us' }, requests: [] });
  expect(await scene.run()).toMatchObject({ calls: 0 });
  expect(threads.flatMap(answersIn)).toEqual([]);
});

test('a base branch that moved on and conflicts is merged, without a marker in any commit', async () => {
  await using scene = await createReviewedScene();
  await scene.testbed.remote.commitByHand('main', { [MODULE]: '// By hand.\nexport const byHand = true;\n' });
  const run = await scene.run({ inputs: { verify: 'npm test' } });
  expect(run).toMatchObject({ calls: 1, outputs: { outcome: 'complete' } });
  const merged = await scene.testbed.git('show', `${BRANCH}:${MODULE}`);
  expect(merged).toContain(FIRST_LINE);
  expect(merged).toContain('// By hand.');
  await scene.testbed.git('merge-base', '--is-ancestor', 'main', BRANCH);
  expect(await scene.testbed.git('log', '-m', '--patch', BRANCH)).not.toMatch(/^[+ ]*(?:<{7}|>{7}) /m);
});

test('an agent that leaves the markers and claims to be done has nothing published', async () => {
  await using scene = await createReviewedScene();
  await scene.testbed.remote.commitByHand('main', { [MODULE]: '// By hand.\n' });
  const before = await scene.testbed.git('rev-parse', BRANCH);
  const lazy = { kind: 'shell', script: 'git add -A; git commit -qm "All resolved"; true' } as const;
  const run = await scene.run({ inputs: { 'max-iterations': '2' }, agent: [lazy, lazy] });
  expect(run.outputs['outcome']).not.toBe('complete');
  expect(await scene.testbed.git('log', '-m', '--patch', BRANCH)).not.toMatch(/^[+ ]*(?:<{7}|>{7}) /m);
  expect(await scene.testbed.git('rev-parse', BRANCH)).toBe(before);
});

test('in three jobs the last one answers', async () => {
  await using scene = await createReviewedScene();
  const { threads, event } = review(scene, [suggesting('// Counted.'), onFirstLine('Please say why.')]);
  const { loop, publish } = await runSplit(scene, { event });
  expect(loop?.calls).toBe(1);
  expect(publish?.outputs).toMatchObject({ outcome: 'complete' });
  expect(threads.map((thread) => answersIn(thread).map(({ body }) => /\*\*(.+?)\*\*/.exec(body)?.[1]))).toEqual([
    ['Applied as suggested'],
    ['Done'],
  ]);
  expect(await runSplit(scene, { event })).toMatchObject({ loop: null });
});

test.each([
  { what: 'before the first answer', effect: { kind: 'hang' } },
  { what: 'after the first answer, which it did not learn', effect: { kind: 'lost' } },
] as const)('main is killed $what: post does the rest, and each thread has one answer', async ({ effect }) => {
  await using scene = await createReviewedScene();
  const { github } = scene.testbed;
  const { threads, event } = review(scene, [suggesting('// Counted.'), onFirstLine('Please say why.')]);
  github.faults.inject({ match: { method: 'POST', path: /\/replies$/ }, times: 1, effect });
  const isReply = ({ path }: { readonly path: string }): boolean => path.endsWith('/replies');
  const run = await scene.run({
    event,
    when: {
      text: 'pushed ',
      act: (main) => {
        const watch = setInterval(() => {
          if (!github.requests.some(isReply)) return;
          clearInterval(watch);
          main.kill('SIGKILL');
        }, 1);
      },
    },
  });
  expect(run.main.signal).toBe('SIGKILL');
  expect(threads.map((thread) => answersIn(thread).length)).toEqual([1, 1]);
  expect(scene.pullOf(BRANCH).status.feedback).toMatchObject({ open: 0, answered: 2 });
  expect(await scene.run()).toMatchObject({ calls: 0 });
  expect(threads.map((thread) => answersIn(thread).length)).toEqual([1, 1]);
});

test('a run that has only feedback to read makes at most ten requests more than an idle one', async () => {
  await using scene = await createReviewedScene();
  const idle = await counted(scene);
  expect(idle).toMatchObject({ calls: 0, outputs: { outcome: 'idle' } });
  const { github } = scene.testbed;
  github.state.collaborators.set('bob', { permission: 'write', roleName: 'write' });
  review(
    scene,
    Array.from({ length: 20 }, () => onFirstLine('Please rewrite it.')),
    { by: 'stranger' },
  );
  for (const by of ['ada', 'bob']) review(scene, [], { by, state: 'APPROVED', body: 'Good.' });
  for (const name of ['one', 'two', 'three']) await report(scene, { name, conclusion: 'SUCCESS' });
  const reading = await counted(scene);
  expect(reading).toMatchObject({ calls: 0, outputs: { outcome: 'idle' } });
  expect(reading.requests.length - idle.requests.length).toBeLessThanOrEqual(10);
  expect(reading.requests.filter((request) => request === 'POST /graphql').length).toBeLessThanOrEqual(
    idle.requests.filter((request) => request === 'POST /graphql').length + 1,
  );
});
