import { expect, test } from 'vitest';
import { type DashboardBox, renderBox, findTickedBoxes } from '../../../src/core/dashboard/boxes.ts';
import { closeIssue, deleteIssue, editIssue } from '../../../testbed/github/people.ts';
import type { StoredIssue } from '../../../testbed/github/state.ts';
import { events } from '../../../testbed/testbed.ts';
import { createScene, type Scene } from '../e2e-fixture.ts';
import { runSplit } from '../split-fixture.ts';

const inputs = { dashboard: 'true' };
const PAUSE: DashboardBox = { kind: 'pause', subject: 'queue' };
const RESUME: DashboardBox = { kind: 'resume', subject: 'queue' };

function dashboardsOf({ testbed }: Scene): readonly StoredIssue[] {
  return testbed.github.state.issues.filter(({ title }) => title === 'Ralph: dashboard');
}

/** Ticks a box as a person does on GitHub. */
function tick(
  { testbed }: Scene,
  { number, body }: StoredIssue,
  { box, by }: { readonly box: DashboardBox; readonly by: string },
) {
  expect(body).toContain(renderBox(box));
  const ticked = body.replace(renderBox(box), renderBox(box).replace('[ ]', '[x]'));
  editIssue(testbed.github.state, number, { body: ticked, by, now: Date.now() + 60_000 });
}

test('the dashboard over several runs: made, kept, its boxes obeyed, closed, deleted', async () => {
  await using scene = await createScene();
  scene.openIssue('Greet');
  expect(await scene.run({ inputs })).toMatchObject({ calls: 2, outputs: { outcome: 'complete' } });
  const [page, ...others] = dashboardsOf(scene);
  if (page === undefined) return expect.fail('There is no dashboard.');
  expect([others, page.labels, page.state]).toEqual([[], [], 'open']);
  expect(page.body).toContain('is ready: review and merge it.');

  tick(scene, page, { box: PAUSE, by: 'stranger' });
  await scene.run({ inputs });
  expect(page.body).toContain('- Pause the queue (ticked by `stranger`): undone');
  expect(findTickedBoxes(page.body)).toEqual([]);

  tick(scene, page, { box: PAUSE, by: 'octo' });
  scene.openIssue('Count');
  expect(await scene.run({ inputs })).toMatchObject({ calls: 0, outputs: { outcome: 'paused' } });
  expect(page.body).toContain('The queue is paused by octo.');

  // The event of the edit starts the jobs of the reusable workflow.
  tick(scene, page, { box: RESUME, by: 'octo' });
  const { gate } = await runSplit(scene, { event: events.edited(page, 'octo'), inputs });
  expect(gate.outputs).toMatchObject({ outcome: 'idle', reason: 'updated' });
  expect(page.body).not.toContain('is paused');

  const { state } = scene.testbed.github;
  closeIssue(state, page.number, { by: 'octo', now: Date.now() });
  const { body } = page;
  expect(await scene.run({ inputs })).toMatchObject({ calls: 2, outputs: { outcome: 'complete' } });
  expect([page.state, page.body]).toEqual(['closed', body]);

  deleteIssue(state, page.number);
  await scene.run({ inputs });
  expect(dashboardsOf(scene)).toMatchObject([{ state: 'open' }]);
  expect(scene.testbed.github.violations).toEqual([]);
});
