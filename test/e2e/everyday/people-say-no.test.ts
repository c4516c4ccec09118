import { expect, test } from 'vitest';
import { closeIssue } from '../../../testbed/github/people.ts';
import { events } from '../../../testbed/testbed.ts';
import { createScene, type Scene } from '../e2e-fixture.ts';
import { runSplit } from '../split-fixture.ts';

const close = ({ testbed: { github } }: Scene, number: number): void => {
  closeIssue(github.state, number, { by: 'octo', now: Date.now() });
};

test('three issues, one of them locked, over two scheduled runs: all are worked on, and one warning names what could not be written', async () => {
  await using scene = await createScene();
  const locked = scene.openIssue('Locked');
  const others = [scene.openIssue('Second'), scene.openIssue('Third')];
  Object.assign(locked, { locked: true });
  const inputs = { 'max-iterations': '4' };
  const first = await scene.run({ inputs });
  expect(first).toMatchObject({ calls: 4, main: { exitCode: 0 }, outputs: { outcome: 'limit' } });
  const warned = first.main.log.match(/^::warning.*The run continued without .*#1.*locked.*$/gm) ?? [];
  expect(warned).toHaveLength(1);
  const second = await scene.run({ inputs });
  expect(second).toMatchObject({ calls: 2, outputs: { outcome: 'complete', 'tasks-done': '3' } });
  for (const issue of [locked, ...others]) expect(issue.labels).toContain('ralph:done');
});

test('the issue is closed during call 1 of 5: no more calls, no pull request that claims it, no label', async () => {
  await using scene = await createScene();
  const issue = scene.openIssue('Greet');
  let answering: ReturnType<Scene['run']> | null = null;
  const run = await scene.run({
    inputs: { 'max-iterations': '5' },
    env: { RALPH_PAUSE_MS: '1500' },
    when: {
      text: 'I start with',
      act: () => {
        close(scene, issue.number);
        answering = scene.run({ event: events.issue('closed', issue), env: { GITHUB_RUN_ID: '77' } });
      },
    },
  });
  const answer = await (answering as ReturnType<Scene['run']> | null);
  expect(answer).toMatchObject({ calls: 0, outputs: { outcome: 'idle', reason: 'updated' } });
  expect(answer?.summary).toMatch(
    /A run that has it among its tasks is at work .*It ends a call that runs for it within two minutes/,
  );
  expect(run).toMatchObject({ calls: 1, main: { exitCode: 0 }, outputs: { outcome: 'paused', reason: 'withdrawn' } });
  expect(issue.labels).toEqual(['ralph']);
  expect(scene.testbed.github.state.pulls).toEqual([]);
  expect(await scene.commitsOf('ralph/queue')).toHaveLength(1);
  expect(await scene.run()).toMatchObject({ calls: 0 });
});

test('the same with three jobs: the job that publishes notices it', async () => {
  await using scene = await createScene();
  const issue = scene.openIssue('Greet');
  const { publish } = await runSplit(scene, {
    loop: {
      env: { RALPH_PAUSE_MS: '500' },
      when: {
        text: 'I start with',
        act: () => {
          close(scene, issue.number);
        },
      },
    },
  });
  expect(publish).toMatchObject({ main: { exitCode: 0 }, outputs: { outcome: 'paused', reason: 'withdrawn' } });
  expect(issue.labels).toEqual(['ralph']);
  expect(scene.testbed.github.state.pulls).toEqual([]);
  // The agent's job cannot be informed while it works, so its work is kept on the branch.
  expect(await scene.commitsOf('ralph/queue')).not.toEqual([]);
});
