import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ACTION_FOLDER, events } from '../../../testbed/testbed.ts';
import { feedbackEvents } from '../../../testbed/feedback-events.ts';
import { addCheck } from '../../../testbed/github/feedback/checks.ts';
import { submitReview } from '../../../testbed/github/feedback/reviews.ts';
import { createScene, type Scene } from '../e2e-fixture.ts';

type Performance = Omit<Parameters<Scene['play']>[0], 'workflow'>;

/** Plays a template; returns the end of its last job, or that none started. */
async function endIn(scene: Scene, template: string, performance: Performance): Promise<string> {
  const workflow = readFileSync(join(ACTION_FOLDER, `templates/workflows/${template}.yml`), 'utf8');
  const played = await scene.play({ workflow, ...performance });
  const ends = (
    played.kind === 'called' ? Object.values(played.jobs).map((job) => (job === 'skipped' ? null : job.end)) : [played]
  ).flatMap((end) => (end?.kind === 'ran' ? [end.result] : []));
  const { outcome = '', reason = '', iterations = '0' } = ends.at(-1)?.outputs ?? {};
  return ends.length === 0 ? 'none' : `${outcome} (${reason}), ${iterations || '0'} calls`;
}

// Each job has only its own rights: the job that answers may not read checks.
test.each([
  { template: 'ralph', startsByWorkflow: true },
  { template: 'three-jobs', startsByWorkflow: false },
])('$template: a review is answered in its threads, and a failed check', async ({ template, startsByWorkflow }) => {
  await using scene = await createScene();
  const { state } = scene.testbed.github;
  scene.openIssue('Greet');
  await endIn(scene, template, { event: events.schedule() });
  const pull = scene.pullOf('ralph/queue');

  const comments = [
    { path: 'src/index.js', line: 1, body: 'Please rename it.' },
    { path: 'src/index.js', line: 1, body: 'And explain it.' },
  ];
  const said = submitReview(state, { pull: pull.number, by: 'octo', state: 'COMMENTED', comments }, Date.now());
  const [first] = said.threads;
  if (first?.comments[0] === undefined) throw new Error('There is no thread.');
  const begun = feedbackEvents.reviewComment(state, { thread: first, comment: first.comments[0] });
  expect(await endIn(scene, template, { event: begun })).toBe('none');
  expect(await endIn(scene, template, { event: feedbackEvents.reviewed(state, said.review) })).toMatch(/^complete /);
  expect(said.threads.map((thread) => thread.comments.length)).toEqual([2, 2]);
  const answer = first.comments[1];
  expect(answer?.body).toMatch(/^<!-- ralph-action:answer /);

  // With an App's token, an answer triggers an event.
  if (answer === undefined) throw new Error('There is no answer.');
  const answered = feedbackEvents.reviewComment(state, { thread: first, comment: answer });
  const asReview = state.reviews.find(({ id }) => id === answer.review);
  expect(await endIn(scene, template, { event: answered })).toBe('none');
  if (asReview !== undefined)
    expect(await endIn(scene, template, { event: feedbackEvents.reviewed(state, asReview) })).toBe('none');

  const workflow = { name: 'CI', path: '.github/workflows/ci.yml' };
  const head = await scene.testbed.git('rev-parse', 'ralph/queue');
  addCheck(
    state,
    { head, name: 'test', workflow, conclusion: 'FAILURE', log: 'Error: 1 of 3 tests failed' },
    Date.now(),
  );
  const [suite] = state.suites.filter((one) => one.head === head);
  if (suite === undefined) throw new Error('There is no suite.');
  const failed = feedbackEvents.workflowRun(state, suite);
  // Without that trigger, the next scheduled run finds the check.
  if (!startsByWorkflow) expect(await endIn(scene, template, { event: failed })).toBe('none');
  expect(await endIn(scene, template, { event: startsByWorkflow ? failed : events.schedule() })).toMatch(/^complete /);
  expect(scene.pullOf('ralph/queue').body).toContain('Check "test" fails');
});
