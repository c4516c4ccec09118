import { expect, test } from 'vitest';
import { events } from '../../sandbox/sandbox.ts';
import { createScene } from './e2e-fixture.ts';
import { runSplit } from './split-fixture.ts';

test('three jobs on three machines: work, pull request, and the next run goes on', async () => {
  await using scene = await createScene();
  const issue = scene.openIssue('Greet');
  const { gate, loop, publish } = await runSplit(scene, { event: events.labeled(issue) });
  console.log(
    gate.main.log,
    '-----\n',
    loop?.main.log,
    '-----\n',
    publish?.main.log,
    publish?.outputs,
    publish?.summary,
  );
  expect(publish?.outputs).toMatchObject({ outcome: 'complete' });
  console.log(scene.pullOf('ralph/issue-1').body);
});
