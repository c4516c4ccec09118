import { expect, test } from 'vitest';
import { addCheck } from '../../testbed/github/feedback/checks.ts';
import { submitReview } from '../../testbed/github/feedback/reviews.ts';
import { createScene, type Scene } from './e2e-fixture.ts';

/** Returns a run's requests before its first write: those that look for work. The log storage is not included. */
async function readsOf({ testbed: { github } }: Scene, run: () => Promise<unknown>): Promise<readonly string[]> {
  const before = github.requests.length;
  await run();
  const asked = github.requests.slice(before);
  const written = asked.findIndex(({ method, path }) => method !== 'GET' && !path.endsWith('/graphql'));
  return asked.slice(0, written === -1 ? asked.length : written).map(({ method, path }) => `${method} ${path}`);
}

test('feedback of people and CI takes at most ten requests more than a run that finds nothing', async () => {
  await using scene = await createScene();
  const { github, git, permissions } = scene.testbed;
  Object.assign(permissions, { actions: 'read' });
  scene.openIssue('Greet');
  await scene.run();
  const idle = await readsOf(scene, () => scene.run());
  const pull = github.state.pulls.at(-1)?.number ?? 0;
  const head = (await git('rev-parse', 'refs/heads/ralph/queue')).trim();
  const now = Date.now();
  const comments = [1, 2, 3].map((line) => ({ path: 'src/a.js', line, body: `Change line ${String(line)}.` }));
  const { owner } = github.state.repository;
  submitReview(github.state, { pull, by: owner, state: 'CHANGES_REQUESTED', comments }, now);
  submitReview(github.state, { pull, by: 'stranger', state: 'COMMENTED', body: 'Me too.' }, now);
  for (const name of ['a', 'b', 'c', 'd'])
    addCheck(github.state, { head, name, conclusion: 'FAILURE', log: 'not ok' }, now);
  const asked = await readsOf(scene, async () => {
    expect((await scene.run({ inputs: { 'max-iterations': '1' } })).calls).toBe(1);
  });
  expect(asked.filter((path) => path.endsWith('/logs'))).toHaveLength(2);
  expect(asked.length - idle.length, asked.join('\n')).toBeLessThanOrEqual(10);
  console.log(`API requests to know what to do: idle ${String(idle.length)}, with feedback ${String(asked.length)}`);
});
